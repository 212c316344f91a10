"""Where rows begin: rows that are joined or parted where text, rulings and other grids say so for sure.

Between two lines of text that follow one another a new row begins or the row goes on. The log odds of the first, in
nats, are a weighted sum of what is seen there: the distance of the lines and the ruling between them, numbers above
each other, whether the text of the upper line goes on in the lower one, and what the other grids of the same words
have. No piece of evidence depends on where the rows of the grid begin, so the places are independent of one another:
one pass over them finds the most likely rows. A grid has its reasons too, so a place is changed only where the odds are
clearly against it; and rows are never joined where two numbers would come into one cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from postprocess.boxes import Floats, as_quads, quads_to_boxes
from postprocess.layout import Layout
from postprocess.rulings import Rulings
from postprocess.text_lines import Piece, TextLine, layout_to_lines
from postprocess.words import Word

Ints = NDArray[np.int64]

# Printed by tests/benchmarks/fit_row_borders.py.
_WEIGHTS = (0.29, 2.90, 2.62, 2.05, 0.84, -1.46, 1.11, 1.41, -2.10, 1.97, 0.71, 2.46)
_SURE = 1.0
"""Log odds from which a place is changed; from 0.7 to 1.5 the tables that it was chosen on do as well."""
_BLANK = 0.4
"""Width of a blank, in text heights."""
_LONE = 0.8
"""Lines that are closer than this, in text heights, lie beside each other in part."""
NAMES = ("", "distance", "ruled", "numbers", "roomy", "goes on", "begins", "item", "open", "unit", "alike", "seen")
"""What the weights are for; the first is a constant."""


def settle_rows(layout: Layout, words: Sequence[Word], rulings: Rulings, others: Sequence[Ints] = ()) -> Layout:
    """Join rows that are the lines of one row, and part rows that are several.

    Args:
        layout: Rows, columns and spans.
        words: Words of the table.
        rulings: Lines of the picture.
        others: ``(W,)`` row of each word in other grids, -1 outside.

    Returns:
        The layout, the very same one where nothing is to be done.

    >>> from postprocess.boxes import as_boxes, boxes_to_quads
    >>> from postprocess.frame import UPRIGHT
    >>> frame = Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    >>> layout = Layout(np.array([0.0, 40.0, 60.0]), np.array([0.0, 50.0]), UPRIGHT, np.array([[0], [1]]))
    >>> boxes = boxes_to_quads([[5, 20 * row + 5, 25, 20 * row + 15] for row in range(3)])
    >>> words = [Word(text, quad) for text, quad in zip("579", boxes.tolist())]
    >>> settle_rows(layout, words, frame).row_lines.tolist()
    [0.0, 20.0, 40.0, 60.0]
    """
    lines = layout_to_lines(layout, words)
    odds = gather_evidence(lines, layout, words, rulings, others) @ np.array(_WEIGHTS)
    middles = as_quads([word.quad for word in words]).mean(axis=1)
    numbers: dict[int, set[int]] = {}
    for line in lines:
        numbers.setdefault(line.row, set()).update(line.number_columns)
    held = lines[-1].number_columns if lines else set()
    # From the foot up, so that the numbers of the rows above stay what they are.
    for place in range(len(odds) - 1, -1, -1):
        above, below = lines[place], lines[place + 1]
        parted = above.row < below.row
        if parted and odds[place] < -_SURE and not held & numbers[above.row]:
            joined = _joined(layout, above.row, below.row, middles)
            layout, parted = joined, joined is layout
        elif not parted and odds[place] > _SURE:
            layout, parted = _parted(layout, above.row, (above.middle + below.middle) / 2), True
        held = above.number_columns | (set() if parted else held)
    return layout


def gather_evidence(
    lines: Sequence[TextLine], layout: Layout, words: Sequence[Word], rulings: Rulings, others: Sequence[Ints]
) -> Floats:
    """``(L - 1, 12)`` what speaks for a new row between two lines, see ``NAMES``; arguments as of ``settle_rows``."""
    if len(lines) < 2:
        return np.zeros((0, len(NAMES)))
    boxes = quads_to_boxes(layout.frame.to_upright(as_quads([word.quad for word in words])))
    height = float(np.median(boxes[:, 3] - boxes[:, 1]))
    pitch = np.diff([line.middle for line in lines]) / height
    apart = pitch[pitch > _LONE]
    distance = np.log(np.clip(pitch / (np.median(apart) if len(apart) else 1.0), 0.2, 5))
    edges: dict[int, float] = {}
    for line in lines:
        for column, piece in line.pieces.items():
            edges[column] = max(edges.get(column, -np.inf), piece.x1)
    texts = [_compare(above, below, edges, _BLANK * height) for above, below in pairwise(lines)]
    seen = [_share_apart(above.words, below.words, others) for above, below in pairwise(lines)]
    ruled = _ruled_share(lines, layout, rulings)
    return np.column_stack([np.ones(len(pitch)), distance, ruled, np.array(texts, np.float64), seen])


def _compare(above: TextLine, below: TextLine, edges: dict[int, float], blank: float) -> list[float]:
    """What the texts of two lines say."""
    both = sorted(above.pieces.keys() & below.pieces.keys())
    pairs = [(above.pieces[column], below.pieces[column]) for column in both]
    roomy = [_has_room(a, b, edges[column] - blank) for column, (a, b) in zip(both, pairs, strict=True)]
    return [
        any(a.is_number and b.is_number for a, b in pairs),
        sum(roomy) / max(len(roomy), 1),
        any(b.goes_on for _, b in pairs),
        any(b.text[:1].isupper() and not b.is_item for _, b in pairs),
        any(b.is_item for _, b in pairs),
        any(a.is_open for a, _ in pairs),
        above.is_repeated != below.is_repeated,
        above.pieces.keys() == below.pieces.keys() and len(both) > 1,
    ]


def _has_room(above: Piece, below: Piece, edge: float) -> bool:
    """Whether the first word of the lower text would have found room at the end of the upper one."""
    return above.x1 + below.first < edge


def _share_apart(above: Ints, below: Ints, others: Sequence[Ints]) -> float:
    """1 where other grids have all words of two lines in different rows, -1 where in the same ones, else between."""
    votes = []
    for rows in others:
        upper, lower = rows[above], rows[below]
        upper, lower = upper[upper >= 0], lower[lower >= 0]
        if len(upper) and len(lower):
            votes.append(1 - 2 * float(np.isin(lower, upper).mean()))
    return float(np.mean(votes)) if votes else 0.0


def _ruled_share(lines: Sequence[TextLine], layout: Layout, rulings: Rulings) -> Floats:
    """``(L - 1,)`` share of the width of all text along which a ruling runs between two lines."""
    x0, y0, x1, y1 = rulings.horizontal.T
    middle = (y0 + y1) / 2
    ends = rulings.to_picture(np.stack([np.column_stack([x0, middle]), np.column_stack([x1, middle])], axis=1))
    (start, end), at = layout.frame.to_upright(ends)[..., 0].T, layout.frame.to_upright(ends)[..., 1].mean(axis=1)
    pieces = [piece for line in lines for piece in line.pieces.values()]
    left, right = min(piece.x0 for piece in pieces), max(piece.x1 for piece in pieces)
    inside = np.clip(np.minimum(end, right) - np.maximum(start, left), 0, None)
    heights = np.array([line.middle for line in lines])
    between = (at > heights[:-1, None]) & (at < heights[1:, None])
    return np.asarray(np.clip((between * inside).sum(axis=1) / max(right - left, 1e-9), 0, 1), np.float64)


def _joined(layout: Layout, first: int, last: int, middles: Floats) -> Layout:
    """The rows as one, unless that would join texts beside each other."""
    joined = layout.rows_joined(first, last + 1)
    before, after = (np.unique(each.cells_at(middles)) for each in (layout, joined))
    counts = [int(np.isin(row, before).sum()) for row in map(np.unique, layout.owner[first : last + 1])]
    kept = int(np.isin(np.unique(joined.owner[first]), after).sum()) >= max(counts)
    return joined if kept else layout


def _parted(layout: Layout, row: int, y: float) -> Layout:
    """The row as two, where the height between them lies in it."""
    return layout.row_parted(row, y) if layout.row_lines[row] < y < layout.row_lines[row + 1] else layout
