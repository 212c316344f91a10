from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.candidates.candidate import quads_to_candidate
from postprocess.candidates.heads import settle, settle_spans
from postprocess.geometry.boxes import boxes_to_quads
from postprocess.geometry.frame import UPRIGHT
from postprocess.grid.layout import Layout
from postprocess.table import Table
from postprocess.word import Word
from tests.helpers.candidates import candidate_of, make_scene
from tests.helpers.layouts import grid_layout
from tests.helpers.strategies import tables

ABOVE, BELOW_HEADS = [0, -2, 200, 0], [0, 39, 200, 41]
UNDER_WIDE_HEAD = [55, 19, 195, 21]


def plain(rows: int, cols: int) -> Layout:
    shape = rows, cols
    owner = np.arange(rows * cols).reshape(shape)
    return Layout(20.0 * np.arange(rows + 1), 50.0 * np.arange(cols + 1), UPRIGHT, owner)


def word(text: str, x0: float, row: int, x1: float | None = None) -> Word:
    end, y = x0 + 30 if x1 is None else x1, 20.0 * row + 5
    return Word(text, ((x0, y), (end, y), (end, y + 10), (x0, y + 10)))


def body(cols: int, *rows: int) -> list[Word]:
    return [word("12", 50 * col + 10, row) for row in rows for col in range(cols)]


def wide(layout: Layout) -> list[tuple[int, ...]]:
    return [tuple(span) for span in layout.spans.tolist() if span[2] - span[0] > 1 or span[3] - span[1] > 1]


def test_nothing_to_settle() -> None:
    empty = Layout(np.zeros(0), np.zeros(0), UPRIGHT, np.zeros((0, 0), np.int64))
    assert settle_spans(empty, make_scene([])) is empty
    assert wide(settle_spans(plain(2, 2), make_scene([]))) == []
    assert settle(candidate_of([]).in_scene(make_scene())).to_table() == Table([])


def test_a_head_spans_the_columns_of_the_rule_below_it() -> None:
    words = [word("2026", 100, 0), *body(4, 1, 2)]
    assert wide(settle_spans(plain(3, 4), make_scene(words, UNDER_WIDE_HEAD))) == [(0, 1, 1, 4)]


def test_a_head_spans_the_columns_that_it_is_centred_on() -> None:
    words = [word("2026", 84, 0), *body(3, 1, 2)]
    assert wide(settle_spans(plain(3, 3), make_scene(words))) == [(0, 1, 1, 3)]


def test_a_head_over_its_own_column_stays_there() -> None:
    words = [word("2026", 60, 0), *body(4, 1, 2)]
    assert wide(settle_spans(plain(3, 4), make_scene(words))) == []


def test_a_head_does_not_cross_its_neighbour() -> None:
    words = [word("2025", 60, 0), word("2026", 160, 0), *body(4, 1, 2)]
    assert wide(settle_spans(plain(3, 4), make_scene(words, UNDER_WIDE_HEAD))) == []


@pytest.mark.parametrize(("x0", "spans"), [(85, [(0, 0, 1, 4)]), (10, [])], ids=["title", "label"])
def test_only_a_title_spans_all_columns_of_the_rule_below_the_row(x0: float, spans: list[tuple[int, ...]]) -> None:
    words = [word("Total", x0, 0), *body(4, 1, 2)]
    assert wide(settle_spans(plain(3, 4), make_scene(words, [0, 19, 200, 21]))) == spans


@pytest.mark.parametrize(
    ("rules", "spans"),
    [
        ([ABOVE, UNDER_WIDE_HEAD, BELOW_HEADS], [(0, 0, 2, 1), (0, 1, 1, 4)]),
        ([UNDER_WIDE_HEAD, BELOW_HEADS], [(0, 1, 1, 4)]),
        ([ABOVE, [0, 19, 250, 21], UNDER_WIDE_HEAD, BELOW_HEADS], [(0, 1, 1, 4)]),
    ],
    ids=["framed", "no rule above", "a rule between"],
)
def test_the_head_of_the_stub_spans_the_rows_of_heads(rules: list[list[float]], spans: list[tuple[int, ...]]) -> None:
    layout = plain(4, 5).joined(0, 1, 1, 4)
    words = [word("2026", 100, 0), word("2025", 210, 0), word("Item", 10, 1), *body(5, 1, 2, 3)[1:]]
    assert wide(settle_spans(layout, make_scene(words, *rules))) == spans


@pytest.mark.parametrize(
    ("label", "spans"),
    [("Item", [(0, 0, 2, 1), (0, 1, 1, 4)]), ("12", [(0, 1, 1, 4)]), ("At May 1,", [(0, 1, 1, 4)])],
)
def test_beside_the_only_head_of_all_other_columns_a_label_spans_its_row_too(
    label: str, spans: list[tuple[int, ...]]
) -> None:
    words = [word("2026", 100, 0), word(label, 10, 1), *body(4, 1, 2, 3)[1:]]
    heads = plain(4, 4).joined(0, 1, 1, 4)
    assert wide(settle_spans(heads, make_scene(words, BELOW_HEADS))) == spans
    assert wide(settle_spans(heads, make_scene(words))) == [(0, 1, 1, 4)]  # nothing says that the row is one of heads


def test_a_head_leaves_the_columns_beyond_the_rule_below_it() -> None:
    layout = plain(3, 4).joined(0, 0, 1, 4)
    words = [word("2026", 100, 0), *body(4, 1, 2)]
    assert wide(settle_spans(layout, make_scene(words, UNDER_WIDE_HEAD))) == [(0, 1, 1, 4)]


def test_a_head_as_wide_as_its_ink_spans_all_columns_around_it() -> None:
    layout = plain(3, 5).joined(0, 2, 1, 4)
    words = [word("2026", 135, 0), *body(5, 1, 2)]
    assert wide(settle_spans(layout, make_scene(words))) == [(0, 1, 1, 5)]


def test_strokes_of_letters_are_no_rule_below_a_head() -> None:
    words = [word("2026", 84, 0), word("under", 60, 0, 195), *body(4, 1, 2)]
    assert wide(settle_spans(plain(3, 4), make_scene(words[1:], [0, 9, 200, 11]))) == []


def test_empty_cells_that_no_border_joins_are_parted() -> None:
    layout = plain(3, 3).joined(1, 1, 3, 3)
    assert wide(settle_spans(layout, make_scene([word("a", 10, 0)]))) == []


def test_cells_that_did_not_change_keep_corners_and_scores() -> None:
    boxes = [[50 * col, 20 * row, 50 * col + 50, 20 * row + 20] for row in range(3) for col in range(4)]
    quads, scores = boxes_to_quads(boxes), np.linspace(0.5, 0.9, 12)
    scene = make_scene([word("2026", 100, 0), *body(4, 1, 2)], UNDER_WIDE_HEAD)
    settled = settle(quads_to_candidate(quads, scores).in_scene(scene))
    assert len(settled.quads) == 10
    assert np.array_equal(settled.quads[2:], quads[4:])
    assert np.array_equal(settled.scores[2:], scores[4:])
    assert settled.quads[1].tolist() == boxes_to_quads([[50, 0, 200, 20]])[0].tolist()


def test_enclosed_cells_and_cells_without_words_stay() -> None:
    wide_head = [[0.0, 0, 100, 20], [0, 20, 50, 40], [50, 20, 100, 40]]
    ruled = candidate_of(wide_head, "rulings", 0.99)
    assert settle(ruled.in_scene(make_scene(body(2, 1)))).layout is ruled.layout
    assert settle(ruled) is ruled


@settings(max_examples=30)
@given(
    tables(max_rows=5, max_cols=5),
    st.lists(st.tuples(st.floats(-20, 250), st.floats(-1, 5)), max_size=12),
    st.lists(st.tuples(*[st.floats(-20, 250)] * 3), max_size=4),
)
def test_any_table_stays_one(
    table: Table, places: list[tuple[float, float]], rules: list[tuple[float, float, float]]
) -> None:
    layout = grid_layout(table)
    words = [word("x", x, 0, x + 15) if row < 0 else word("x", x, int(row), x + 15) for x, row in places]
    segments = [[min(a, b), y, max(a, b), y + 2] for a, b, y in rules]
    settled = settle_spans(layout, make_scene(words, *segments))
    spans = settled.spans
    assert settled.owner.shape == layout.owner.shape
    assert int(((spans[:, 2] - spans[:, 0]) * (spans[:, 3] - spans[:, 1])).sum()) == layout.owner.size
