"""Rows are 20 pixels high and columns 60 wide; text is 10 pixels high."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.candidates.candidate import Candidate, quads_to_candidate
from postprocess.candidates.joins import join_texts
from postprocess.candidates.scene import Scene
from postprocess.geometry.boxes import as_boxes, boxes_to_quads
from postprocess.geometry.rulings import Rulings
from postprocess.table import Table
from postprocess.word import Word
from tests.helpers.candidates import make_scene, slots
from tests.helpers.layouts import even_layout
from tests.helpers.strategies import tables

Span = tuple[int, ...]


def grid(rows: int, cols: int, *spans: Span) -> Candidate:
    """Rows and columns, some slots of which are one cell."""
    taken = {(r, c) for row, col, end, last in spans for r in range(row, end) for c in range(col, last)}
    boxes = [
        [60.0 * c, 20 * r, 60 * c + 60, 20 * r + 20] for r in range(rows) for c in range(cols) if (r, c) not in taken
    ]
    boxes += [[60.0 * col, 20 * row, 60 * last, 20 * end] for row, col, end, last in spans]
    return quads_to_candidate(boxes_to_quads(boxes))


def word(text: str, x0: float, y: float, x1: float) -> Word:
    return Word(text, ((x0, y), (x1, y), (x1, y + 10), (x0, y + 10)))


def body(*places: tuple[int, int]) -> list[Word]:
    """Texts at a row and a column each."""
    return [word("text", 60 * col + 3, 20 * row + 5, 60 * col + 47) for row, col in places]


def tall(rows: Sequence[int], cols: Sequence[int]) -> list[Word]:
    """Texts that fill their rows."""
    places = [(60 * col + 3, 20 * row + 1) for row in rows for col in cols]
    return [Word("text", ((x, y), (x + 44, y), (x + 44, y + 18), (x, y + 18))) for x, y in places]


def block(rows: Sequence[int], cols: Sequence[int]) -> list[Word]:
    return body(*((row, col) for row in rows for col in cols))


def wide(candidate: Candidate) -> list[Span]:
    spans = candidate.layout.spans.tolist()
    return [tuple(span) for span in spans if span[2] - span[0] > 1 or span[3] - span[1] > 1]


def join(candidate: Candidate, words: list[Word], *horizontal: Sequence[float]) -> list[Span]:
    return wide(join_texts(candidate.in_scene(make_scene(words, *horizontal))))


def test_nothing_to_join() -> None:
    empty = quads_to_candidate(as_boxes([]).reshape(0, 4, 2))
    assert join_texts(empty.in_scene(make_scene())).layout is empty.layout
    assert join_texts(grid(2, 2)).scene is None
    assert join(grid(2, 2), []) == []
    assert join(grid(3, 3), block(range(3), range(3))) == []


def test_each_of_several_bands_is_one_cell() -> None:
    """A joined row shifts the numbers of the cells below it."""
    parts = ("North", 35, 59), ("and south", 62, 118), ("bank", 121, 145)
    bands = [word(text, x0, y, x1) for y in (5, 45, 85) for text, x0, x1 in parts]
    assert join(grid(6, 3), [*bands, *block([1, 3, 5], range(3))]) == [(row, 0, row + 1, 3) for row in (0, 2, 4)]


def test_a_word_across_two_columns_joins_them() -> None:
    assert join(grid(3, 3), [word("Scenario", 80, 5, 160), *block([1, 2], range(3))]) == [(0, 1, 1, 3)]


@pytest.mark.parametrize(
    ("text", "x0", "x1"),
    [("Mean Value", 60, 180), ("Rate", 112, 175), ("Item Item", 80, 160), ("20192020", 80, 160)],
    ids=["a blank at the border", "it hangs over", "one text twice", "numbers"],
)
def test_texts_of_two_cells_that_were_read_as_one_join_none(text: str, x0: float, x1: float) -> None:
    gap = [(k / len(text), (k + 1) / len(text)) for k in range(len(text))]
    if text == "Mean Value":
        gap = [(k / 12, (k + 1) / 12) if k < 4 else ((k + 2) / 12, (k + 3) / 12) for k in range(len(text))]
    one = Word(text, ((x0, 5), (x1, 5), (x1, 15), (x0, 15)), 1.0, tuple(gap))
    assert join(grid(3, 3), [one, *body((0, 0), (1, 0), (1, 1), (2, 0), (2, 1))]) == []


def test_a_text_beside_others_joins_none() -> None:
    words = [word("Scenario", 70, 5, 150), word("5", 165, 5, 175), *block([1, 2], range(3))]
    assert join(grid(3, 3), words) == []


def test_the_only_text_of_a_row_that_goes_through_a_border_is_that_of_the_row() -> None:
    words = [word("Improvedscenarios", 3, 25, 100), *block([0, 2, 3], range(4))]
    assert join(grid(4, 4), words) == [(1, 0, 2, 4)]


@pytest.mark.parametrize(("x0", "spans"), [(95, [(1, 0, 2, 4)]), (63, [])])
def test_the_only_text_of_a_row_spans_the_columns_in_whose_middle_it_is(x0: float, spans: list[Span]) -> None:
    words = [word("of which", x0, 25, x0 + 24), word("new", x0 + 27, 25, x0 + 50), *block([0, 2, 3], range(4))]
    assert join(grid(4, 4), words) == spans


def test_a_cut_head_spans_the_empty_columns_that_it_is_centred_on() -> None:
    cells = quads_to_candidate(boxes_to_quads(slots([0, 60, 120, 200, 240], [0, 20, 40, 60])))
    words = [
        word("Scenario", 110, 5, 190),
        word("text", 63, 25, 117),
        *block([1, 2], [0, 2]),
        word("5", 205, 25, 215),
        word("7", 205, 45, 215),
    ]
    assert join(cells, words) == [(0, 1, 1, 4)]


def test_a_head_above_others_in_one_row_gets_a_row_of_its_own() -> None:
    words = [word("Scenario", 80, 2, 160), word("low", 75, 14, 100), word("high", 135, 14, 160)]
    found = join_texts(grid(2, 3).in_scene(make_scene(words + block([1], range(3)))))
    assert found.layout.owner.shape == (3, 3)
    assert wide(found) == [(0, 1, 1, 3)]


def test_a_word_across_two_rows_joins_them() -> None:
    words = [word("Label", 5, 35, 40), *tall(range(4), [1, 2]), *body((0, 0), (3, 0))]
    assert join(grid(4, 3), words) == [(1, 0, 3, 1)]


def test_a_label_is_lengthened_to_the_rows_whose_middle_it_is_in() -> None:
    words = [word("Label", 5, 45, 40), *tall(range(5), [1]), *body((4, 0))]
    assert join(grid(5, 2), words) == []  # it stands in its row
    words[0] = word("Label", 5, 36, 40)
    assert join(grid(5, 2), words) == [(0, 0, 4, 1)]


def test_a_border_that_only_has_to_be_moved_joins_nothing() -> None:
    words = [*body((0, 0)), word("Label", 3, 35, 50), word("12", 63, 35, 90), *body((0, 1), (3, 0), (3, 1))]
    assert join(grid(4, 2), words) == []


HEADS = [word("Grade", 90, 5, 150), *block([1, 2, 3], range(4)), word("Number", 183, 5, 237)]
CLOSE = [word("of schools", 183, 18, 237)]


@pytest.mark.parametrize(
    ("rules", "spans"),
    [
        ([[60, 19, 180, 21], [0, 39, 240, 41]], [(0, 1, 1, 3), (0, 3, 2, 4)]),
        ([[60, 19, 240, 21], [0, 39, 240, 41]], [(0, 1, 1, 3)]),
    ],
    ids=["the rule stops short", "it does not"],
)
def test_lines_of_a_head_are_one_text_where_the_rule_of_its_neighbour_stops(
    rules: list[list[float]], spans: list[Span]
) -> None:
    words = [each for each in HEADS if each.quad[0] != (183, 25)] + CLOSE
    assert join(grid(4, 4, (0, 1, 1, 3)), words, *rules) == spans


def test_a_row_of_units_below_heads_is_no_part_of_them() -> None:
    units = [word("(kg)", 60 * col + 3, 18 if col == 3 else 25, 60 * col + 47) for col in range(1, 4)]
    words = [HEADS[0], HEADS[-1], *units, *block([2, 3], range(4))]
    assert join(grid(4, 4, (0, 1, 1, 3)), words, [60, 19, 180, 21], [0, 39, 240, 41]) == [(0, 1, 1, 3)]


def test_lines_of_a_head_beside_others_are_one_text_where_the_second_goes_on() -> None:
    words = [each for each in HEADS if each.quad[0] != (183, 25)]
    heads = grid(4, 4, (0, 1, 1, 3))
    assert join(heads, [*words, word("of schools", 183, 18, 237)]) == [(0, 1, 1, 3), (0, 3, 2, 4)]
    assert join(heads, [*words, word("Schools", 183, 18, 237)]) == [(0, 1, 1, 3)]


def test_a_text_that_goes_on_closer_than_rows_are_is_one() -> None:
    lines = [word("Had been captive but", 123, 25, 178), word("always was control", 123, 36, 178)]
    words = [*block([0, 1, 2, 3], [0, 1]), *body((0, 2), (3, 2)), *lines]
    assert join(grid(4, 3), words) == [(1, 2, 3, 3)]
    words[-1] = word("Always was control", 123, 36, 178)
    assert join(grid(4, 3), words) == []


@pytest.mark.parametrize(("row", "spans"), [(2, [(1, 0, 4, 1)]), (1, [])], ids=["in the middle", "at the top"])
def test_a_label_between_two_rules_spans_the_rows_of_which_it_is_in_the_middle(row: int, spans: list[Span]) -> None:
    words = [*block(range(5), [1, 2]), *body((0, 0), (4, 0), (row, 0))]
    assert join(grid(5, 3), words, [0, 19, 180, 21], [0, 79, 180, 81]) == spans


RULES = [[0, 19, 180, 21], [60, 39, 180, 41], [0, 59, 180, 61]]


@pytest.mark.parametrize(
    ("y", "rules", "spans"),
    [(35, RULES, [(1, 0, 3, 1)]), (35, [], []), (25, RULES, []), (44, RULES, [])],
    ids=["between the rows", "no rules", "in the first", "in the second"],
)
def test_a_label_spans_two_rows_where_the_ruling_beside_it_stops(
    y: float, rules: list[list[float]], spans: list[Span]
) -> None:
    quads = grid(4, 3).quads.copy()
    quads[[3, 6]] = boxes_to_quads([[0, 20, 60, 34], [0, 34, 60, 60]])  # as a detector may see them
    words = [word("Label", 3, y, 30), *block(range(4), [1, 2]), *body((0, 0), (3, 0))]
    assert join(quads_to_candidate(quads), words, *rules) == spans


def test_a_cell_with_a_line_for_each_row_comes_apart() -> None:
    words = block(range(4), range(2))
    assert join(grid(4, 2, (1, 0, 4, 1)), words) == []
    assert join(grid(4, 2, (1, 0, 4, 1)), [*block(range(4), [1]), *body((0, 0), (1, 0))]) == [(1, 0, 4, 1)]


def test_a_cell_with_a_text_for_each_column_comes_apart() -> None:
    words = [word("Trustee", 3, 25, 40), word("Rep", 70, 25, 100), *block([0, 2, 3], range(2))]
    assert join(grid(4, 2, (1, 0, 2, 2)), words) == []
    words[:2] = [word("项", 20, 25, 30), word("目", 80, 25, 90)]  # one word whose signs are spaced
    assert join(grid(4, 2, (1, 0, 2, 2)), words) == [(1, 0, 2, 2)]


def test_in_enclosed_cells_only_a_word_across_a_border_joins() -> None:
    cells = boxes_to_quads(slots([0, 60, 120, 180], [0, 20, 40, 60]))
    ruled = quads_to_candidate(cells, np.full(9, 0.99), "rulings", "ruled")
    words = [word("Scenario", 80, 5, 160), *block([1, 2], range(3))]
    assert wide(join_texts(ruled.in_scene(make_scene(words)))) == [(0, 1, 1, 3)]
    down = Rulings(as_boxes([]), as_boxes([[119, 0, 121, 60]]), 0.0, (0.0, 0.0), 4.0)
    assert wide(join_texts(ruled.in_scene(Scene(words, down)))) == []


@settings(max_examples=40)
@given(
    tables(max_rows=5, max_cols=5),
    st.lists(st.tuples(st.floats(-20, 400), st.floats(-20, 150), st.floats(1, 200)), max_size=12),
    st.lists(st.tuples(*[st.floats(-20, 400)] * 3), max_size=4),
)
def test_any_table_stays_one(
    table: Table, places: list[tuple[float, float, float]], rules: list[tuple[float, float, float]]
) -> None:
    words = [word("some words", x, y, x + width) for x, y, width in places]
    segments = [[min(a, b), y, max(a, b), y + 2] for a, b, y in rules]
    candidate = quads_to_candidate(boxes_to_quads(even_layout(table).boxes))
    spans = join_texts(candidate.in_scene(make_scene(words, *segments))).layout.spans
    size = (spans[:, 2:].max(axis=0)).prod() if len(spans) else 0
    assert int(((spans[:, 2] - spans[:, 0]) * (spans[:, 3] - spans[:, 1])).sum()) == size


def test_columns_whose_border_words_of_most_rows_cross_are_one() -> None:
    """The cells that a network saw in the long texts of a bent page ended elsewhere in each row."""
    crossing = [word("Sodiumchloride", 70, 20 * row + 5, 160) for row in range(5)]
    apart = [word("text", 63, 105, 110), word("text", 123, 105, 170)]
    stub = block(range(6), [0, 3])
    joined = join_texts(grid(6, 4).in_scene(make_scene([*crossing, *apart, *stub])))
    assert joined.layout.owner.shape == (6, 3)
    # Where texts stand on both sides as often, it is a border, and the words go over it.
    few = join_texts(grid(6, 4).in_scene(make_scene([*crossing[:1], *stub, *block(range(1, 6), [1, 2])])))
    assert few.layout.owner.shape == (6, 4)


def upright(*vertical: Sequence[float]) -> Rulings:
    return Rulings(as_boxes([]), as_boxes(list(vertical)), 0.0, (0.0, 0.0), 10.0)


@pytest.mark.parametrize(("top", "heads"), [(20, [(0, 0, 1, 2), (0, 2, 1, 4)]), (0, [])], ids=["short", "through"])
def test_a_head_spans_the_columns_whose_rulings_stop_short_of_its_row(top: float, heads: list[Span]) -> None:
    """Heads at the left over several columns, each between rulings that go through."""
    words = [word("Uses", 3, 5, 30), word("Sources", 123, 5, 160), *block(range(1, 5), range(4))]
    rulings = upright([0, 0, 1, 100], [60, top, 61, 100], [120, 0, 121, 100], [180, top, 181, 100], [240, 0, 241, 100])
    assert wide(join_texts(grid(5, 4).in_scene(Scene(words, rulings)))) == heads


@pytest.mark.parametrize(("off", "spans"), [(0, []), (-10, [(0, 0, 1, 2)])], ids=["in the middle", "beside"])
def test_texts_that_stand_in_the_middle_of_two_columns_are_theirs(off: float, spans: list[Span]) -> None:
    """Two heads so close that their gap alone does not part them."""
    heads = [word("@50", 5 + off, 5, 55 + off), word("@100", 64 + off, 5, 116 + off), word("@5", 145, 5, 155)]
    numbers = [word("7", 60 * col + 25, 20 * row + 5, 60 * col + 35) for row in range(1, 4) for col in range(3)]
    assert wide(join_texts(grid(4, 3, (0, 0, 1, 2)).in_scene(make_scene([*heads, *numbers])))) == spans


def test_a_word_over_a_ruling_that_runs_through_its_row_joins_nothing() -> None:
    """What was read over the dashes between two columns is the text of both."""
    words = [word("Name: No", 10, 25, 110), *block([0, 2, 3], range(2))]
    assert wide(join_texts(grid(4, 2).in_scene(Scene(words, upright([60, 18, 61, 42]))))) == []
    assert wide(join_texts(grid(4, 2).in_scene(Scene(words, upright([60, 38, 61, 80]))))) == [(1, 0, 2, 2)]


@pytest.mark.parametrize("read", ["as one", "apart"])
def test_a_ruling_between_line_numbers_and_names_parts_their_column(read: str) -> None:
    """The number is as near to the name as its words are to one another; a title above is that of both columns."""
    rows = range(1, 5)
    names = [(word(str(row), 4, 20 * row + 5, 12), word("Land use", 18, 20 * row + 5, 56)) for row in rows]
    whole = [word(f"{row} Land use", 4, 20 * row + 5, 56) for row in rows]
    words = [word("PRODUCTS", 4, 5, 50), *(whole if read == "as one" else [each for pair in names for each in pair])]
    words += [word("7", 80, 20 * row + 5, 90) for row in range(5)]
    parted = join_texts(grid(5, 2).in_scene(Scene(words, upright([14, 20, 15, 100]))))
    assert parted.layout.owner.shape == (5, 3)
    assert wide(parted) == [(0, 0, 1, 2)]
    assert parted.layout.col_lines.tolist() == pytest.approx([0, 14.5, 60, 120])


@pytest.mark.parametrize(
    "ruling",
    [[14, 20, 15, 60], [36, 20, 37, 100], [58, 20, 59, 100]],
    ids=["along two rows", "through letters", "beside the texts"],
)
def test_a_line_that_parts_no_texts_of_several_rows_is_no_border_of_columns(ruling: list[float]) -> None:
    words = [word(f"{row} Landscapes", 4, 20 * row + 5, 56) for row in range(1, 5)]
    words += [word("7", 80, 20 * row + 5, 90) for row in range(1, 5)]
    assert join_texts(grid(5, 2).in_scene(Scene(words, upright(ruling)))).layout.owner.shape[1] == 2


def test_a_column_without_a_text_of_its_own_is_none() -> None:
    """A wide gap that some rows have as an empty cell and others as part of the number behind it."""
    words = [word("text", 3, 20 * row + 5, 47) for row in range(6)]
    words += [word("7", 150, 20 * row + 5, 160) for row in range(5)]
    spans = [(row, 1, row + 1, 3) for row in range(3)]
    joined = join_texts(grid(6, 3, *spans).in_scene(make_scene(words)))
    assert joined.layout.owner.shape == (6, 2)
    assert wide(joined) == []


def test_an_empty_column_between_rulings_is_one_to_be_filled_in() -> None:
    words = [word("text", 60 * col + 3, 20 * row + 5, 60 * col + 47) for row in range(4) for col in (0, 2)]
    drawn = upright([60, 0, 61, 80], [120, 0, 121, 80])
    assert join_texts(grid(4, 3).in_scene(Scene(words, drawn))).layout.owner.shape == (4, 3)


@pytest.mark.parametrize("through", [True, False])
def test_heads_in_the_middle_of_two_halves_span_theirs(through: bool) -> None:
    """Two tables side by side, parted by a ruling from head to foot: each half has its own head, and its own stub."""
    heads = [word("Analysis", 70, 5, 110), word("Combinations", 232, 5, 308)]
    words = [
        *heads,
        *(word("text", 60 * col + 3, 20 * row + 5, 60 * col + 20) for row in range(1, 5) for col in range(6)),
    ]
    rulings = upright([180, 0 if through else 20, 181, 100])
    spans = wide(join_texts(grid(5, 6).in_scene(Scene(words, rulings))))
    assert (spans == [(0, 0, 1, 3), (0, 3, 1, 6)]) is through


@pytest.mark.parametrize(("text", "spans"), [("100.0% 99.5%", []), ("12.5 (99.5)", [(1, 0, 2, 2)])], ids=["two", "one"])
def test_two_values_that_were_read_as_one_word_are_those_of_two_columns(text: str, spans: list[Span]) -> None:
    words = [word(text, 20, 25, 100), *block([0, 2, 3], range(2))]
    assert wide(join_texts(grid(4, 2, (1, 0, 2, 2)).in_scene(make_scene(words)))) == spans


@pytest.mark.parametrize(("off", "n_spans"), [(0, 3), (-10, 0)], ids=["in the middle", "at the top"])
def test_labels_in_the_middle_of_their_rows_span_them_without_rulings(off: float, n_spans: int) -> None:
    """Two, three and two rows: the first and the last label stand between two rows."""
    labels = [word("Label", 3, middle - 5 + off, 40) for middle in (40, 90, 140)]
    words = [*body((0, 0)), *labels, *block(range(8), [1, 2])]
    spans = join(grid(8, 3), words)
    assert spans == [(1, 0, 3, 1), (3, 0, 6, 1), (6, 0, 8, 1)][:n_spans]


def test_a_border_that_drifts_is_one_although_a_ruling_runs_along_it() -> None:
    """Cells end at 58 above and at 63 below, so that there seem to be two borders."""
    spans = [(row, 1, row + 1, 3) for row in range(3)] + [(row, 0, row + 1, 2) for row in range(3, 6)]
    found = grid(6, 4, *spans)
    twice = replace(found, layout=replace(found.layout, col_lines=np.array([0.0, 58, 63, 120, 180])))
    words = [word("text", 60 * col + 8, 20 * row + 5, 60 * col + 40) for row in range(6) for col in range(3)]
    scene = Scene(words, upright([0, 0, 1, 120], [60, 0, 61, 120], [119, 0, 120, 120]))
    joined = join_texts(replace(twice, scene=scene))
    assert joined.layout.owner.shape == (6, 3)
    assert wide(joined) == []
