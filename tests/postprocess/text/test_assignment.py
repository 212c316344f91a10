from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.arrays import Ints
from postprocess.cell import Cell, Quad
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads, rotate_points
from postprocess.table import Table
from postprocess.text import assignment
from postprocess.text.assignment import place_words, words_to_cells, words_to_table, words_to_tables
from postprocess.text.lines import words_to_text
from postprocess.word import Unplaced, Word, Words
from tests.helpers.layouts import Layout, box_quad, even_layout, layouts, make_word, plain_table, turn_word

FEW = settings(max_examples=30)
TEXTS = st.text("ab1 表,", min_size=0, max_size=12)


def row_of_cells(*ends: float, height: float = 20) -> list[Quad]:
    return [box_quad(a, 0, b, height) for a, b in pairwise(ends)]


def texts_of(word: Word, quads: Sequence[Quad | None]) -> list[str]:
    """Text of the pieces in each cell; nothing may be left over."""
    pieces, unplaced = words_to_cells([word], quads)
    assert unplaced == []
    return ["|".join(piece.text for piece in inside) for inside in pieces]


def characters(words: Iterable[Word]) -> Counter[str]:
    return Counter("".join("".join(word.text.split()) for word in words))


@st.composite
def words_near_tables(draw: st.DrawFn, size: float = 400) -> Word:
    text = draw(TEXTS)
    x, y = (draw(st.floats(-50, size)) for _ in range(2))
    width, height = draw(st.floats(0, 200)), draw(st.floats(0, 40))
    word = Word(text, box_quad(x, y, x + width, y + height), draw(st.floats(0, 1)))
    word = turn_word(word, draw(st.sampled_from([0, 0, 0, 2, 30, 90, -90, 180])), (x, y))
    if draw(st.booleans()):
        cuts = sorted(draw(st.lists(st.floats(0, 1), min_size=2 * len(text), max_size=2 * len(text))))
        word = replace(word, char_spans=tuple(zip(cuts[::2], cuts[1::2], strict=True)))
    return word


def test_no_words_no_cells_no_tables() -> None:
    assert words_to_cells([], []) == ([], [])
    assert words_to_cells([], [box_quad(0, 0, 9, 9), None]) == ([[], []], [])
    assert words_to_tables([], []) == ([], [])
    assert words_to_table(Table([]), []) == (Table([]), [])
    assert words_to_text([]) == ""


def test_without_cells_every_word_comes_back_with_the_reason() -> None:
    words = [make_word("a", 0, 0), make_word("b", 50, 0)]
    for quads in ([], [None, None]):
        _, unplaced = words_to_cells(words, quads)
        assert unplaced == [Unplaced(word, "no table was found") for word in words]


@settings(max_examples=70)
@given(layouts(widths=(20, 120), heights=(10, 60)), st.lists(words_near_tables(), max_size=6), st.data())
def test_no_character_is_lost_or_doubled(layout: Layout, words: list[Word], data: st.DataObject) -> None:
    quads = [array_to_quad(quad) for quad in boxes_to_quads(layout.boxes)]
    quads = [quad if data.draw(st.integers(0, 5)) else None for quad in quads]
    pieces, unplaced = words_to_cells(words, quads)
    placed = [piece for inside in pieces for piece in inside]
    assert characters([*placed, *(item.word for item in unplaced)]) == characters(words)
    assert all(item.word in words and item.reason for item in unplaced)
    assert all(not inside for inside, quad in zip(pieces, quads, strict=True) if quad is None)
    assert all(piece.text == piece.text.strip() or piece in words for piece in placed)


@FEW
@given(layouts(), st.lists(words_near_tables(), max_size=6))
def test_table_keeps_everything_but_texts_and_reader_scores(layout: Layout, words: list[Word]) -> None:
    quads = boxes_to_quads(layout.boxes)
    cells = [replace(c, quad=array_to_quad(q), text="old") for c, q in zip(layout.table.cells, quads, strict=True)]
    table = Table(cells)
    filled, unplaced = words_to_table(table, words)
    assert [replace(c, text="old", ocr_score=None) for c in filled.cells] == list(table.cells)
    inside = Counter("".join("".join(cell.text.split()) for cell in filled.cells))
    assert inside + characters(item.word for item in unplaced) == characters(words)
    assert all((cell.ocr_score is None) == (cell.text == "") for cell in filled.cells)
    assert all(0 <= cell.ocr_score <= 1 for cell in filled.cells if cell.ocr_score is not None)


@FEW
@given(layouts(widths=(60, 160), heights=(20, 60)), st.floats(-20, 20))
def test_each_word_inside_a_cell_is_written_into_it(layout: Layout, degrees: float) -> None:
    words = [make_word(f"w{i}", x0 + 6, y0 + 5) for i, (x0, y0, _, _) in enumerate(layout.boxes)]
    quads = rotate_points(boxes_to_quads(layout.boxes), degrees)
    pieces, unplaced = words_to_cells([turn_word(word, degrees) for word in words], [array_to_quad(q) for q in quads])
    assert unplaced == []
    assert [[piece.text for piece in inside] for inside in pieces] == [[word.text] for word in words]


@pytest.mark.parametrize("share", [0.3, 0.45, 0.6, 0.9])
@pytest.mark.parametrize("side", ["left", "right", "top", "bottom"])
def test_word_partly_outside_the_table_is_not_dropped(share: float, side: str) -> None:
    cell = box_quad(100, 100, 300, 160)
    x, y = {
        "left": (100 - 40 * (1 - share), 120.0),
        "right": (300 - 40 * share, 120.0),
        "top": (180.0, 100 - 20 * (1 - share)),
        "bottom": (180.0, 160 - 20 * share),
    }[side]
    word = Word("1234", box_quad(x, y, x + 40, y + 20))
    assert texts_of(word, [cell]) == ["1234"]


def test_word_60_percent_inside_a_cell_and_40_percent_in_the_next() -> None:
    word = Word("profit net", box_quad(40, 5, 140, 15))
    assert texts_of(word, row_of_cells(0, 100, 200)) == ["profit", "net"]


@FEW
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=2, max_size=4), st.data())
def test_no_word_is_lost_where_cells_overlap(corners: list[tuple[int, int]], data: st.DataObject) -> None:
    """Cells of a network overlap; a word in two of them belongs to one."""
    quads = [box_quad(x, y, x + 60, y + 30) for x, y in corners]
    x, y = data.draw(st.sampled_from(corners))
    left, top = data.draw(st.integers(x, x + 50)), data.draw(st.integers(y, y + 20))
    pieces, unplaced = words_to_cells([Word("ab 12", box_quad(left, top, left + 10, top + 9))], quads)
    assert unplaced == []
    assert characters(word for cell in pieces for word in cell) == Counter("ab12")


def test_word_far_outside_comes_back_unchanged() -> None:
    word = make_word("far", 500, 500)
    pieces, unplaced = words_to_cells([word], row_of_cells(0, 100, 200))
    assert (pieces, unplaced) == ([[], []], [Unplaced(word, "it lies outside every table")])


def test_word_across_a_border_is_split_there_without_character_positions() -> None:
    assert texts_of(Word("12345678", box_quad(60, 5, 140, 15)), row_of_cells(0, 100, 200)) == ["1234", "5678"]


def test_word_across_a_border_is_split_by_its_character_positions() -> None:
    # Three wide letters and five narrow ones: the border lies after the third.
    spans = tuple([(i / 6, (i + 1) / 6) for i in range(3)] + [(0.5 + i / 10, 0.6 + i / 10) for i in range(5)])
    word = Word("WWWiiiii", box_quad(40, 5, 160, 15), char_spans=spans)
    assert texts_of(word, row_of_cells(0, 100, 200)) == ["WWW", "iiiii"]


@pytest.mark.parametrize("border", [92, 96, 100, 104, 108])
def test_split_is_at_the_blank_near_the_border(border: float) -> None:
    word = Word("1,234 5,678", box_quad(45, 3, 155, 17))
    assert texts_of(word, row_of_cells(0, border, 200)) == ["1,234", "5,678"]


def test_split_prefers_a_wide_gap_between_characters_to_the_border_itself() -> None:
    spans = ((0.0, 0.1), (0.1, 0.2), (0.2, 0.28), (0.4, 0.5), (0.5, 0.6), (0.6, 0.8), (0.8, 1.0))
    word = Word("abcdefg", box_quad(0, 0, 100, 40), char_spans=spans)
    assert texts_of(word, row_of_cells(-10, 46, 200, height=40)) == ["abc", "defg"]


@pytest.mark.parametrize("text", ["10 20 30", "abc abcd abc", "一二三 四五六 七八九"])
def test_word_across_two_borders_has_three_pieces(text: str) -> None:
    n = len(text)
    first, second = (index for index, character in enumerate(text) if character == " ")
    ends = [-10, 10 * first + 5, 10 * second + 5, 10 * n + 10]
    assert texts_of(Word(text, box_quad(0, 4, 10 * n, 16)), row_of_cells(*ends)) == text.split()


@FEW
@given(st.integers(2, 9), st.integers(2, 9), st.floats(-15, 15))
def test_two_numbers_that_were_read_as_one_word_are_split(left: int, right: int, degrees: float) -> None:
    text = "8" * left + " " + "7" * right
    border = 10 * left + 5.0
    quads = boxes_to_quads([[-20, -5, border, 25], [border, -5, 10 * len(text) + 20, 25]])
    word = turn_word(Word(text, box_quad(0, 3, 10 * len(text), 17)), degrees)
    cells = [array_to_quad(quad) for quad in rotate_points(quads, degrees)]
    assert texts_of(word, cells) == ["8" * left, "7" * right]


def test_pieces_lie_where_their_characters_are() -> None:
    pieces, _ = words_to_cells([Word("12 78", box_quad(75, 5, 125, 15))], row_of_cells(0, 100, 200))
    assert [piece.quad for inside in pieces for piece in inside] == [box_quad(75, 5, 95, 15), box_quad(105, 5, 125, 15)]


@pytest.mark.parametrize("overlap", [1, 2, 3])
def test_word_that_only_touches_the_next_cell_stays_whole(overlap: float) -> None:
    assert texts_of(Word("profit", box_quad(40 + overlap, 5, 100 + overlap, 15)), row_of_cells(0, 100, 200)) == [
        "profit",
        "",
    ]


@pytest.mark.parametrize("degrees", [90, -90])
def test_vertical_word_is_placed_and_split_along_its_own_direction(degrees: float) -> None:
    column = [box_quad(0, 0, 30, 100), box_quad(0, 100, 30, 200)]
    word = turn_word(Word("abcd efgh", box_quad(-45, -7, 45, 7)), degrees)
    moved = replace(word, quad=tuple((x + 15, y + 102) for x, y in word.quad))
    assert texts_of(moved, column) == (["abcd", "efgh"] if degrees > 0 else ["efgh", "abcd"])


@pytest.mark.parametrize(("y", "row"), [(88, 0), (92, 0), (108, 1), (104, 1)])
def test_word_over_a_horizontal_border_goes_with_most_of_it(y: float, row: int) -> None:
    rows = [box_quad(0, 0, 200, 100), box_quad(0, 100, 200, 200)]
    middle = Word("Total", box_quad(20, y - 10, 70, y + 10))
    assert texts_of(middle, rows)[row] == "Total"


def test_tall_and_wide_cells_take_their_words() -> None:
    quads = [box_quad(0, 0, 50, 90), box_quad(50, 0, 200, 30), box_quad(50, 30, 125, 90), box_quad(125, 30, 200, 90)]
    words = [
        make_word("tall", 5, 40),
        make_word("very wide title", 60, 10),
        make_word("a", 60, 50),
        make_word("b", 150, 50),
    ]
    pieces, unplaced = words_to_cells(words, quads)
    assert unplaced == []
    assert [[piece.text for piece in inside] for inside in pieces] == [["tall"], ["very wide title"], ["a"], ["b"]]


def test_word_over_the_gap_between_two_cells_is_cut_at_its_blank_or_stays_whole() -> None:
    quads = [box_quad(0, 0, 90, 20), box_quad(110, 0, 200, 20)]
    assert texts_of(Word("abc def", box_quad(65, 5, 135, 15)), quads) == ["abc", "def"]
    for text, x0, x1 in (("abcdef", 70, 130), ("ab", 84, 104)):
        assert sorted(texts_of(Word(text, box_quad(x0, 5, x1, 15)), quads)) == ["", text]


@pytest.mark.parametrize("text", ["", " ", "   "])
def test_text_without_characters_does_no_harm(text: str) -> None:
    for x in (20, 80, 400):
        pieces, unplaced = words_to_cells([Word(text, box_quad(x, 5, x + 40, 15))], row_of_cells(0, 100, 200))
        assert sum(map(len, pieces)) + len(unplaced) <= 1
        assert not any(piece.text.strip() for inside in pieces for piece in inside)


@pytest.mark.parametrize("x", [20, 95, 97, 150])
def test_single_character(x: float) -> None:
    assert sorted(texts_of(Word("7", box_quad(x, 5, x + 6, 15)), row_of_cells(0, 100, 200))) == ["", "7"]


@pytest.mark.parametrize("quad", [box_quad(50, 10, 50, 10), box_quad(50, 10, 60, 10), box_quad(50, 5, 50, 15)])
def test_word_without_area_is_placed_by_its_point(quad: Quad) -> None:
    assert texts_of(Word("x", quad), row_of_cells(0, 100, 200)) == ["x", ""]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("corner", [0, 2])
def test_word_at_an_impossible_place_comes_back_and_harms_no_other(value: float, corner: int) -> None:
    quad = list(box_quad(10, 5, 40, 15))
    quad[corner] = (value, 5.0)
    lost, good = Word("lost", tuple(quad)), make_word("ok", 20, 5)
    pieces, unplaced = words_to_cells([lost, good], row_of_cells(0, 100, 200))
    assert [piece.text for piece in pieces[0] if piece is not lost] == ["ok"]
    assert characters(
        [piece for inside in pieces for piece in inside] + [item.word for item in unplaced]
    ) == characters([lost, good])


def test_turned_over_cell_still_takes_its_word() -> None:
    top_left, top_right, bottom_right, bottom_left = box_quad(0, 0, 100, 20)
    for quad in ((bottom_right, bottom_left, top_left, top_right), (top_right, top_left, bottom_left, bottom_right)):
        assert texts_of(make_word("ab", 20, 5), [quad]) == ["ab"]


@FEW
@given(TEXTS, st.data())
def test_parts_of_a_word_are_its_characters_at_their_place(text: str, data: st.DataObject) -> None:
    word = Word(text, box_quad(0, 0, 120, 10), 0.7)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    part = word.part(start, end)
    assert part.text == text[start:end].strip()
    assert part.score == 0.7
    if part.text:
        first = start + len(text[start:end]) - len(text[start:end].lstrip())
        width = 120 / len(text)
        assert part.quad[0][0] == pytest.approx(first * width)
        assert part.quad[1][0] == pytest.approx((first + len(part.text)) * width)
        assert np.array(part.spans()) == pytest.approx(np.array(Word(part.text, part.quad).spans()), abs=1e-4)


def test_character_positions_of_another_length_are_not_trusted() -> None:
    word = Word("abcd", box_quad(0, 0, 40, 10), char_spans=((0.0, 1.0),))
    assert word.spans() == ((0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0))


def test_reader_score_is_the_mean_by_characters() -> None:
    table = Table([Cell(0, 0, quad=box_quad(0, 0, 200, 20))])
    words = [Word("abc", box_quad(5, 5, 35, 15), 1.0), Word("d", box_quad(50, 5, 60, 15), 0.2)]
    filled, _ = words_to_table(table, words)
    assert filled[0, 0].ocr_score == pytest.approx(0.8)


def test_several_tables_share_the_words_without_copies() -> None:
    tables = [Table([Cell(0, 0, quad=box_quad(0, y, 100, y + 20))]) for y in (0, 100)]
    words = [make_word("up", 10, 5), make_word("down", 10, 105), make_word("out", 300, 300)]
    filled, unplaced = words_to_tables(tables, words)
    assert [table.to_grid() for table in filled] == [[["up"]], [["down"]]]
    assert [item.word.text for item in unplaced] == ["out"]
    # Where two tables cover the same place a word is still written once.
    filled, unplaced = words_to_tables([tables[0], tables[0]], words[:1])
    assert sorted(table[0, 0].text for table in filled) == ["", "up"]


@FEW
@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.sampled_from([0, 5, 30, -30, 90, 180, -90]),
    st.randoms(use_true_random=False),
)
def test_line_order_follows_the_picture_whatever_the_direction(
    n_lines: int, n_words: int, degrees: float, random: Random
) -> None:
    words = [make_word(f"{line}{at}", 40 * at, 14 * line + at % 2) for line in range(n_lines) for at in range(n_words)]
    shuffled = [turn_word(word, degrees, (50.0, 30.0)) for word in words]
    random.shuffle(shuffled)
    lines = words_to_text(shuffled).split("\n")
    expected = [" ".join(f"{line}{at}" for at in range(n_words)) for line in range(n_lines)]
    assert lines == expected


def test_superscript_stays_on_its_line() -> None:
    base, power, after = make_word("km", 0, 10, 10), make_word("2", 13, 8, 6), make_word("area", 30, 10, 10)
    assert words_to_text([power, after, base]) == "km 2 area"


def test_words_of_different_height_on_one_base_line() -> None:
    assert words_to_text([make_word("Total", 0, 0, 20), make_word("eur", 70, 8, 11)]) == "Total eur"


@pytest.mark.parametrize(
    ("texts", "joined"),
    [
        (["净利", "润"], "净利润"),
        (["净利润", "2026"], "净利润 2026"),
        (["Tax", "（税）"], "Tax （税）"),
        (["（一）", "表"], "（一）表"),
        (["かな", "カナ"], "かなカナ"),
        (["a", "b"], "a b"),
    ],
)
def test_blanks_between_words_but_not_between_ideographs(texts: list[str], joined: str) -> None:
    assert words_to_text([make_word(text, 100 * i, 0) for i, text in enumerate(texts)]) == joined


def test_thousand_words_in_a_thousand_cells_are_in_the_right_ones() -> None:
    layout = even_layout(plain_table(40, 25), 60, 20)
    words = [make_word(f"{i}", x0 + 5, y0 + 4) for i, (x0, y0, _, _) in enumerate(layout.boxes)]
    quads = boxes_to_quads(layout.boxes)
    table = Table([replace(c, quad=array_to_quad(q)) for c, q in zip(layout.table.cells, quads, strict=True)])
    filled, unplaced = words_to_table(table, words[::-1])
    assert [cell.text for cell in filled.cells] == [str(i) for i in range(1000)]
    assert unplaced == []


def test_cells_and_words_whose_sides_cross_are_no_error() -> None:
    crossed = ((0.0, 0.0), (2.0, 0.0), (43.0, 1.0), (44.0, 1.0))
    bow_tie = Word("a", ((0.0, 0.0), (9.0, 9.0), (9.0, 0.0), (0.0, 9.0)))
    for word in (Word("b", ((0.0, 0.0), (6.0, 0.0), (6.0, 10.0), (0.0, 10.0))), bow_tie):
        pieces, unplaced = words_to_cells([word], [crossed])
        assert [w.text for w in pieces[0]] + [item.word.text for item in unplaced] == [word.text]


@FEW
@given(layouts(widths=(20, 120), heights=(10, 60)), st.lists(words_near_tables(), max_size=9), st.integers(0, 9))
def test_further_words_are_placed_as_if_all_had_been_placed_at_once(
    layout: Layout, words: list[Word], n_first: int
) -> None:
    quads = boxes_to_quads(layout.boxes)
    table = Table([replace(c, quad=array_to_quad(q)) for c, q in zip(layout.table.cells, quads, strict=True)])
    later = place_words([table], words[:n_first]).with_more(words[n_first:])
    assert (later.tables(), later.unplaced) == words_to_tables([table], words)


def test_only_further_words_are_looked_up_in_the_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table([Cell(0, k, quad=quad) for k, quad in enumerate(row_of_cells(0, 100, 200))])
    placement = place_words([table], [make_word("a", 10, 5)])
    first = placement.tables()
    asked: list[int] = []
    homes = assignment._Areas.homes

    def count(areas: assignment._Areas, words: Words) -> Ints:
        asked.append(len(words))
        return homes(areas, words)

    monkeypatch.setattr(assignment._Areas, "homes", count)
    [filled] = placement.with_more([make_word("b", 110, 5)]).tables()
    assert (asked, filled.to_grid(), first[0].to_grid()) == ([1], [["a", "b"]], [["a", ""]])
