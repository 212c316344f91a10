from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.boxes import as_boxes, boxes_to_quads
from postprocess.frame import UPRIGHT
from postprocess.layout import Layout
from postprocess.rulings import Rulings
from postprocess.spans import settle_quads, settle_spans
from postprocess.table import Table
from postprocess.words import Word
from tests.postprocess.strategies import tables
from tests.postprocess.test_layout import drawn

ABOVE, BELOW_HEADS = [0, -2, 200, 0], [0, 39, 200, 41]
UNDER_WIDE_HEAD = [55, 19, 195, 21]


def frame(*horizontal: list[float]) -> Rulings:
    return Rulings(as_boxes(list(horizontal)), as_boxes([]), 0.0, (0.0, 0.0), 10.0)


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
    return [tuple(span) for span in layout.spans().tolist() if span[2] - span[0] > 1 or span[3] - span[1] > 1]


def test_nothing_to_settle() -> None:
    empty = Layout(np.zeros(0), np.zeros(0), UPRIGHT, np.zeros((0, 0), np.int64))
    assert settle_spans(empty, [], frame()) is empty
    assert wide(settle_spans(plain(2, 2), [], frame())) == []
    quads, scores = settle_quads(boxes_to_quads([]), [], [], frame())
    assert (len(quads), len(scores)) == (0, 0)


def test_kind_a_a_head_spans_the_columns_of_the_rule_below_it() -> None:
    words = [word("2026", 100, 0), *body(4, 1, 2)]
    assert wide(settle_spans(plain(3, 4), words, frame(UNDER_WIDE_HEAD))) == [(0, 1, 1, 4)]


def test_kind_a_a_head_spans_the_columns_that_it_is_centred_on() -> None:
    words = [word("2026", 84, 0), *body(3, 1, 2)]
    assert wide(settle_spans(plain(3, 3), words, frame())) == [(0, 1, 1, 3)]


def test_a_head_over_its_own_column_stays_there() -> None:
    words = [word("2026", 60, 0), *body(4, 1, 2)]
    assert wide(settle_spans(plain(3, 4), words, frame())) == []


def test_a_head_does_not_cross_its_neighbour() -> None:
    words = [word("2025", 60, 0), word("2026", 160, 0), *body(4, 1, 2)]
    assert wide(settle_spans(plain(3, 4), words, frame(UNDER_WIDE_HEAD))) == []


@pytest.mark.parametrize(("x0", "spans"), [(85, [(0, 0, 1, 4)]), (10, [])], ids=["title", "label"])
def test_only_a_title_spans_all_columns_of_the_rule_below_the_row(x0: float, spans: list[tuple[int, ...]]) -> None:
    words = [word("Total", x0, 0), *body(4, 1, 2)]
    assert wide(settle_spans(plain(3, 4), words, frame([0, 19, 200, 21]))) == spans


@pytest.mark.parametrize(
    ("rules", "spans"),
    [
        ([ABOVE, UNDER_WIDE_HEAD, BELOW_HEADS], [(0, 0, 2, 1), (0, 1, 1, 4)]),
        ([UNDER_WIDE_HEAD, BELOW_HEADS], [(0, 1, 1, 4)]),
        ([ABOVE, [0, 19, 200, 21], UNDER_WIDE_HEAD, BELOW_HEADS], [(0, 1, 1, 4)]),
    ],
    ids=["framed", "no rule above", "a rule between"],
)
def test_kind_a_the_head_of_the_stub_spans_the_rows_of_heads(
    rules: list[list[float]], spans: list[tuple[int, ...]]
) -> None:
    layout = plain(4, 4).joined(0, 1, 1, 4)
    words = [word("2026", 100, 0), word("Item", 10, 1), *body(4, 1, 2, 3)[1:]]
    assert wide(settle_spans(layout, words, frame(*rules))) == spans


def test_kind_c_empty_cells_that_no_border_joins_are_parted() -> None:
    layout = plain(3, 3).joined(1, 1, 3, 3)
    assert wide(settle_spans(layout, [word("a", 10, 0)], frame())) == []


def test_settled_quads_keep_what_did_not_change() -> None:
    boxes = [[50 * col, 20 * row, 50 * col + 50, 20 * row + 20] for row in range(3) for col in range(4)]
    quads, given_scores = boxes_to_quads(boxes), np.linspace(0.5, 0.9, 12)
    words = [word("2026", 100, 0), *body(4, 1, 2)]
    settled, scores = settle_quads(quads, given_scores, words, frame(UNDER_WIDE_HEAD))
    assert len(settled) == 10
    assert np.array_equal(settled[2:], quads[4:])
    assert np.array_equal(scores[2:], given_scores[4:])
    assert settled[1].tolist() == boxes_to_quads([[50, 0, 200, 20]])[0].tolist()


@settings(max_examples=30)
@given(
    tables(max_rows=5, max_cols=5),
    st.lists(st.tuples(st.floats(-20, 250), st.floats(-1, 5)), max_size=12),
    st.lists(st.tuples(*[st.floats(-20, 250)] * 3), max_size=4),
)
def test_any_table_stays_one(
    table: Table, places: list[tuple[float, float]], rules: list[tuple[float, float, float]]
) -> None:
    layout = drawn(table)
    words = [word("x", x, 0, x + 15) if row < 0 else word("x", x, int(row), x + 15) for x, row in places]
    segments = [[min(a, b), y, max(a, b), y + 2] for a, b, y in rules]
    settled = settle_spans(layout, words, frame(*segments))
    spans = settled.spans()
    assert settled.owner.shape == layout.owner.shape
    assert int(((spans[:, 2] - spans[:, 0]) * (spans[:, 3] - spans[:, 1])).sum()) == layout.owner.size
