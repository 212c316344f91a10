"""Words follow the lines of a grid, and what a person typed stays."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from postprocess.editing.living import deal, place_word, reset_texts, set_words
from postprocess.editing.placing import complete
from postprocess.editing.state import State
from postprocess.editing.steps import divide, extend, insert, merge, move_line, remove, remove_line, set_text, split
from postprocess.errors import TableError
from postprocess.table import Table
from postprocess.text.assignment import place_words
from postprocess.word import Word
from tablerec.corrections.editor.words import hold

SIZE = (200, 60)


def word(text: str, x: float, y: float, width: float | None = None) -> Word:
    """A word whose letters are 5 px wide and 8 high."""
    right = x + (5 * len(text) if width is None else width)
    return Word(text, ((x, y), (right, y), (right, y + 8), (x, y + 8)))


def make_state(table: Table, *words: Word) -> State:
    """The words in a table, as they are dealt at first."""
    held = hold(place_words([table], words).tables(), words)
    return State(held.tables[0], tuple(held.words))


def blank(n_rows: int, n_cols: int) -> Table:
    return complete(Table.from_texts([[""] * n_cols] * n_rows), SIZE)


CITY = word("Los", 5, 10), word("Angeles", 25, 10), word("MK", 150, 10)


def type_in(state: State, row: int, col: int, text: str) -> State:
    return replace(state, table=set_text(state.table, row, col, text))


def grid(state: State) -> list[list[str]]:
    return state.table.to_grid()


def count_letters(state: State) -> Counter[tuple[int, int]]:
    """How often each letter of each word is in a cell or in none."""
    parts = [part for cell in state.table.cells for part in cell.words] + list(state.outside)
    return Counter(
        (index, at) for index, start, end in parts for at in range(start, end) if state.words[index].text[at] != " "
    )


def test_without_words_the_texts_are_all_there_is() -> None:
    state = State(complete(Table.from_texts([["a\nb"]]), SIZE))
    assert grid(deal(state, divide(state.table, "row", 0))) == [["a"], ["b"]]
    assert State(Table([])).outside == ()


def test_a_line_that_is_drawn_moved_and_taken_out_takes_the_words_along() -> None:
    state = make_state(blank(1, 1), *CITY)
    assert grid(state) == [["Los Angeles MK"]]
    divided = deal(state, divide(state.table, "col", 0, 0.5))
    assert grid(divided) == [["Los Angeles", "MK"]]
    moved = deal(divided, move_line(divided.table, "col", 1, -78.0))
    assert grid(moved) == [["Los", "Angeles MK"]]
    away = deal(moved, move_line(moved.table, "col", 1, 160.0))
    assert grid(away) == [["Los Angeles MK", ""]]
    assert grid(deal(moved, remove_line(moved.table, "col", 1))) == [["Los Angeles MK"]]
    merged = deal(moved, merge(moved.table, 0, 0, 1, 2))
    assert grid(merged) == [["Los Angeles MK", ""]]
    assert grid(deal(merged, split(merged.table, 0, 0))) == [["Los Angeles", "MK"]]


def test_a_word_that_a_line_passed_is_whole_again() -> None:
    state = make_state(blank(1, 2), word("12 345", 85, 10))
    passed = state
    for _ in range(8):
        passed = deal(passed, move_line(passed.table, "col", 1, 5.0))
        assert sum(count_letters(passed).values()) == 5
    assert grid(passed) == [["12 345", ""]]


def test_a_line_divides_a_word_though_another_one_is_beside_it() -> None:
    """An engine tells words apart well, but a line that a person draws counts for more."""
    state = make_state(blank(1, 1), word("10.5 km", 5, 10), word("ab", 45, 10))
    assert grid(deal(state, divide(state.table, "col", 0, 0.14))) == [["10.5", "km ab"]]


def test_a_text_that_nobody_touched_stays_as_it_is() -> None:
    table = make_state(blank(2, 2), word("a", 5, 10), word("b", 105, 10), word("c", 5, 40)).table
    state = replace(
        make_state(blank(2, 2), word("a", 5, 10), word("b", 105, 10), word("c", 5, 40)),
        table=replace(table, cells=[replace(cell, text=cell.text.upper()) for cell in table.cells]),
    )
    # The engine's words are small letters: only the cell that has other words has its text from them.
    assert grid(deal(state, move_line(state.table, "col", 1, 4.0))) == [["A", "B"], ["C", ""]]
    assert grid(deal(state, remove_line(state.table, "row", 1))) == [["a\nc", "B"]]


def test_typed_texts_stay_when_lines_move() -> None:
    state = make_state(blank(1, 1), *CITY)
    state = type_in(deal(state, divide(state.table, "col", 0, 0.11)), 0, 0, "Las")
    assert grid(state) == [["Las", "Angeles MK"]]
    narrow = deal(state, move_line(state.table, "col", 1, -18.0))
    assert grid(narrow) == [["Las", "Angeles MK"]]
    wide = deal(state, move_line(state.table, "col", 1, 60.0))
    assert grid(wide) == [["Las Angeles", "MK"]]
    assert grid(deal(wide, remove_line(wide.table, "col", 1))) == [["Las Angeles MK"]]
    joined = deal(state, remove_line(state.table, "col", 1))
    assert grid(joined) == [["Las Angeles MK"]] and joined.table[0, 0].typed
    assert grid(reset_texts(joined, 0, 0, 1, 1)) == [["Los Angeles MK"]]


def test_a_typed_text_is_whole_where_most_of_its_words_are() -> None:
    state = type_in(make_state(blank(1, 1), *CITY), 0, 0, "Las Angeles\nMKD")
    for fraction, expected in ((0.5, ["Las Angeles\nMKD", ""]), (0.05, ["", "Las Angeles\nMKD"])):
        divided = deal(state, divide(state.table, "col", 0, fraction))
        assert grid(divided) == [expected]
        assert [cell.typed for cell in divided.table.cells] == [bool(text) for text in expected]
    lower = deal(state, divide(state.table, "row", 0, 0.1))
    assert grid(lower) == [[""], ["Las Angeles\nMKD"]]
    at = 0 if grid(deal(state, divide(state.table, "col", 0, 0.5)))[0][0] else 1
    again = deal(state, divide(state.table, "col", 0, 0.5))
    assert grid(reset_texts(again, 0, at, 1, at + 1)) == [["Los Angeles", "MK"]]


def test_an_emptied_cell_stays_empty_and_gives_its_words_back() -> None:
    state = type_in(make_state(blank(1, 2), word("x", 5, 10), word("7", 105, 10)), 0, 0, "")
    moved = deal(state, move_line(state.table, "col", 1, -10.0))
    assert grid(moved) == [["", "7"]]
    assert grid(reset_texts(moved, 0, 0, 1, 1)) == [["x", "7"]]


def test_words_of_a_row_that_is_taken_out_are_outside_until_a_cell_comes() -> None:
    state = make_state(blank(2, 2), word("a", 5, 10), word("b", 105, 10), word("c", 5, 40))
    removed = deal(state, remove(state.table, "row", 1), {(1, 0), (1, 1)})
    assert grid(removed) == [["a", "b"]]
    assert [removed.part(part).text for part in removed.outside] == ["c"]
    nudged = deal(removed, move_line(removed.table, "col", 1, 3.0))
    assert grid(nudged) == [["a", "b"]]
    assert grid(deal(removed, extend(removed.table, "row"))) == [["a", "b"], ["c", ""]]
    column = deal(state, remove(state.table, "col", 1), {(0, 1), (1, 1)})
    assert grid(column) == [["a"], ["c"]] and [part[0] for part in column.outside] == [1]


def test_an_inserted_row_is_blank_and_moves_no_words() -> None:
    state = make_state(blank(2, 2), word("a", 5, 3), word("c", 5, 31))
    for index, expected in ((1, [["a", ""], ["", ""], ["c", ""]]), (0, [["", ""], ["a", ""], ["c", ""]])):
        assert grid(replace(state, table=insert(state.table, "row", index))) == expected
    spanning = merge(state.table, 0, 0, 2, 1)
    assert insert(spanning, "row", 1)[2, 0].rowspan == 3
    with pytest.raises(TableError, match="no line"):
        insert(state.table, "row", 3)


def test_words_read_again_replace_those_of_their_cells() -> None:
    state = type_in(make_state(blank(1, 2), word("lOO", 5, 10), word("7", 105, 10), word("?", 190, 90)), 0, 0, "x")
    read = set_words(state, 0, 0, 1, 1, [word("100", 5, 10)])
    assert grid(read) == [["100", "7"]] and not read.table[0, 0].typed
    assert grid(deal(read, remove_line(read.table, "col", 1))) == [["100 7"]]
    assert [read.part(part).text for part in read.outside] == [read.part(part).text for part in state.outside]
    both = set_words(read, 0, 0, 1, 2, [word("1 OO", 5, 10), word("8", 105, 10)])
    assert grid(both) == [["1 OO", "8"]]
    assert grid(set_words(both, 0, 0, 1, 2, [])) == [["", ""]]


def test_reading_again_gives_words_to_a_table_that_had_none() -> None:
    state = set_words(State(complete(Table.from_texts([["a", "b"]]), SIZE)), 0, 0, 1, 1, [word("c", 5, 10)])
    assert grid(state) == [["c", "b"]]
    assert grid(deal(state, remove_line(state.table, "col", 1))) == [["c b"]]


def test_a_word_in_no_cell_is_placed_by_hand() -> None:
    table = complete(Table.from_texts([["", ""]]), (200, 30))
    state = make_state(table, word("b", 25, 10), word("a", 5, 50))
    assert [part[0] for part in state.outside] == [1]
    placed = place_word(state, 1, 0, 0)
    assert grid(placed) == [["b\na", ""]] and placed.outside == () and placed.table[0, 0].typed
    with pytest.raises(TableError, match="in a cell"):
        place_word(placed, 1, 0, 1)
    typed = place_word(type_in(state, 0, 1, "x"), 1, 0, 1)
    assert grid(typed) == [["b", "x a"]]
    back = reset_texts(placed, 0, 0, 1, 1)
    assert grid(back) == [["b", ""]] and [part[0] for part in back.outside] == [1]


def test_from_right_to_left_too() -> None:
    state = make_state(blank(1, 2), word("a", 5, 10), word("b", 85, 10), word("c", 150, 10))
    mirrored = replace(state, table=state.table.mirrored())
    moved = deal(mirrored, move_line(mirrored.table, "col", 1, 40.0))
    assert grid(moved) == [["b c", "a"]]
    assert np.array_equal(
        moved.table.mirrored().quads, deal(state, move_line(state.table, "col", 1, -40.0)).table.quads
    )


def test_a_sign_far_before_its_number_goes_into_a_column_of_its_own_where_a_line_is_drawn_between_them() -> None:
    ends = [0.05 * at for at in range(7)]
    spans = ((0.0, 0.1), (0.1, 0.7), *((0.7 + start, 0.7 + end) for start, end in pairwise(ends)))
    amount = replace(word("$ 4,328", 5, 10, 70), char_spans=tuple(spans[:7]))
    before = make_state(blank(1, 1), amount)
    assert grid(before) == [["$ 4,328"]]
    divided = deal(before, divide(before.table, "col", 0, 0.15))
    assert grid(divided) == [["$", "4,328"]]
    assert grid(deal(divided, remove_line(divided.table, "col", 1))) == [["$ 4,328"]]
    moved = deal(before, divide(before.table, "col", 0, 0.6))
    assert grid(moved) == [["$ 4,328", ""]]


def test_a_line_drawn_through_a_blank_parts_the_words_beside_it_however_narrow_it_is() -> None:
    spans = ((0.0, 0.2), (0.2, 0.25), *((0.25 + 0.15 * at, 0.4 + 0.15 * at) for at in range(5)))
    amount = replace(word("$ 4,328", 5, 10, 40), char_spans=spans)
    before = make_state(blank(1, 1), amount)
    for x in (14, 16, 17):  # the places of characters are not known to the pixel
        divided = deal(before, divide(before.table, "col", 0, x / SIZE[0]))
        assert grid(divided) == [["$", "4,328"]]
        assert count_letters(divided) == count_letters(before)
        assert grid(deal(divided, remove_line(divided.table, "col", 1))) == [["$ 4,328"]]
