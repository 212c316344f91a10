"""Rows at the top and at the foot of a grid that are titles, units and notes beside the table.

A detector takes into its grid what stands close to a table. Such a row is a line of running text that knows nothing of
the columns; inside a frame that goes on around the next row it is a cell of the table all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from postprocess.arrays import Flags, Floats, Ints
from postprocess.candidates.candidate import Candidate
from postprocess.candidates.heads import settle
from postprocess.captions.evidence import is_unit_line, table_number
from postprocess.geometry.boxes import boxes_to_quads, quads_to_boxes
from postprocess.meaning.roles import is_note
from postprocess.odds import to_probability, weigh
from postprocess.text.numbers import NUMBER, text_to_kind
from postprocess.text.tokens import TOKEN_GAP

MIN_SCORE = 0.5
"""A row stands beside the table from this probability on."""
_MOST_ROWS = 4
"""Rows on each side that may."""
_MOST_LINES = 3
"""Lines of text in one of them."""
_NUMBER_ALONE = 16
"""The word for a table and its number, which a wide gap may part from the rest, are shorter than so many characters."""
_NEAR = 1.5
"""Text begins where the table begins, and stands over its middle, within so many text heights."""
_FRAMED = 0.5
"""Rules on both sides along more than this share of the text of a row, and of the next one, frame them."""
_OVER = 0.3
"""Boxes of words are loose by so many text heights."""
_BESIDE = 3.0
"""Rules of a frame are no further from the text of the table and the borders of the grid, in text heights."""


@dataclass(frozen=True, slots=True)
class RowEvidence:
    """What speaks for or against a row at the edge of a grid as text beside the table.

    Shares are from 0 to 1, what is true or false is 1 or 0; the next row is the one towards the middle of the grid.

    Args:
        numbered: It begins with the word for a table and a number.
        unit: It says what the values are counted in.
        note: It begins as a note does.
        colon: It ends in a colon.
        left: It begins at the left end of the table's text.
        centred: It stands over the middle of the table, and not at the left end.
        stub: It reaches over text of the first column.
        cut: Borders of columns that run through a word of it, up to 2.
        parted: Borders of columns that lie between two words of it, up to 2.
        free: The next row has no text in the first column.
        data: Texts of the next row that are numbers and no years.
        ruled: Width of the table that rules cover between both rows.
        apart: Logarithm of the distance to the next row in usual distances, -1 to 1.
        large: Logarithm of its height in text heights, -0.5 to 0.7.
        long: Logarithm of its number of characters.
    """

    numbered: float
    unit: float
    note: float
    colon: float
    left: float
    centred: float
    stub: float
    cut: float
    parted: float
    free: float
    data: float
    ruled: float
    apart: float
    large: float
    long: float


@dataclass(frozen=True, slots=True)
class Rows:
    """The text of a grid, row by row, and its rulings, all in the frame of the grid.

    Args:
        boxes_xyxy: ``(T, 4)`` words, cut at wide gaps.
        texts: ``T`` texts.
        line: ``(T,)`` line of text of each.
        row: ``(T,)`` its row.
        column: ``(T,)`` its column.
        borders: ``(C + 1,)`` positions of the lines between columns.
        horizontal: ``(S, 4)`` rulings.
        vertical: ``(S, 4)`` rulings.
        height: Text height.
    """

    boxes_xyxy: Floats
    texts: Sequence[str]
    line: Ints
    row: Ints
    column: Ints
    borders: Floats
    horizontal: Floats
    vertical: Floats
    height: float


def without_captions(candidate: Candidate) -> Candidate:
    """The candidate without the rows at its edges that are text beside the table.

    Args:
        candidate: With its scene.

    Returns:
        The very same candidate where all rows belong to the table.
    """
    layout = candidate.layout
    first, end = 0, len(layout.owner)
    rows = candidate_to_rows(candidate)
    for is_top in (True, False):
        for _ in range(_MOST_ROWS):
            evidence = gather_evidence(rows, first, end, is_top)
            if evidence is None or score(evidence, is_top) < MIN_SCORE:
                break
            first, end = (first + 1, end) if is_top else (first, end - 1)
    if end - first == len(layout.owner):
        return candidate
    kept = candidate.with_layout(layout.rows_kept(first, end))
    # Heads that stood below such a row are the uppermost now.
    return kept if kept.scene is None else settle(kept.in_scene(kept.scene))


def candidate_to_rows(candidate: Candidate) -> Rows:
    """The text of a candidate, row by row.

    Args:
        candidate: With its scene.
    """
    scene, layout = candidate.scene, candidate.layout
    assert scene is not None
    rulings, tokens = scene.rulings, scene.tokens
    boxes, horizontal, vertical = (
        quads_to_boxes(layout.frame.to_upright(rulings.to_picture(boxes_to_quads(each))))
        for each in (tokens.boxes_xyxy, rulings.horizontal, rulings.vertical)
    )
    column, row = (
        np.searchsorted(lines, (boxes[:, axis] + boxes[:, axis + 2]) / 2) - 1
        for axis, lines in enumerate((layout.col_lines, layout.row_lines))
    )
    return Rows(
        boxes, tokens.texts, tokens.line, row, column, layout.col_lines, horizontal, vertical, rulings.text_height
    )


def score(evidence: RowEvidence, is_top: bool) -> float:
    """Probability that a row stands beside the table, 0 to 1."""
    bias, weights = (_TOP_BIAS, _TOP_WEIGHTS) if is_top else (_FOOT_BIAS, _FOOT_WEIGHTS)
    return float(to_probability(weigh(evidence, weights, bias)))


def gather_evidence(rows: Rows, first: int, end: int, is_top: bool) -> RowEvidence | None:
    """What speaks for the outermost row; None where it is no running text, or in a frame, or the only one with text.

    Args:
        rows: The text.
        first: First row that belongs to the table so far.
        end: Row behind the last one.
        is_top: Whether the first row is meant, else the last one.
    """
    at = first if is_top else end - 1
    own = _running_text(rows, at)
    inside = (rows.row >= first) & (rows.row < end) & (rows.row != at)
    if own is None or not inside.any():
        return None
    following = rows.row == (rows.row[inside].min() if is_top else rows.row[inside].max())
    box, table, beside = (_hull(rows.boxes_xyxy[each]) for each in (own, inside, following))
    if min(_framed_share(rows, float(each[1]), float(each[3]), table) for each in (box, beside)) > _FRAMED:
        return None
    near, height = _NEAR * rows.height, rows.height
    text = " ".join(rows.texts[token] for token in own)
    is_left = abs(box[0] - table[0]) < near
    stub = rows.boxes_xyxy[inside & (rows.column == rows.column[inside].min()), 2]
    cut = _count_cut(rows, own)
    gap = beside[1] - box[3] if is_top else box[1] - beside[3]
    # Of several lines the one that is nearest to the table.
    nearest = rows.boxes_xyxy[own[-1 if is_top else 0]]
    between = sorted(float(each[1] + each[3]) / 2 for each in (nearest, beside))
    return RowEvidence(
        numbered=table_number(text) is not None,
        unit=is_unit_line(text),
        note=is_note(text),
        colon=text.rstrip().endswith((":", "：")),
        left=is_left,
        centred=not is_left and abs(box[0] + box[2] - table[0] - table[2]) < 2 * near,
        stub=bool(box[0] < np.median(stub) - _OVER * height),
        cut=min(cut, 2),
        parted=min(int(((rows.borders > box[0]) & (rows.borders < box[2])).sum()) - cut, 2),
        free=not (following & (rows.column == 0)).any(),
        data=np.mean([text_to_kind(rows.texts[token]) == NUMBER for token in np.flatnonzero(following)]),
        ruled=_covered(rows.horizontal, (1, 0), between, table[[0, 2]]),
        apart=np.clip(np.log((max(gap, 0.0) + height) / (_usual_gap(rows, inside) + height)), -1, 1),
        large=np.clip(np.log(np.median(rows.boxes_xyxy[own, 3] - rows.boxes_xyxy[own, 1]) / height), -0.5, 0.7),
        long=np.log(max(len(text), 1)),
    )


def _running_text(rows: Rows, row: int) -> Ints | None:
    """The words of a row, line by line, where each line is one piece of text, or two that a unit or number begins."""
    own = np.flatnonzero(rows.row == row)
    own = own[np.lexsort([rows.boxes_xyxy[own, 0], rows.line[own]])]
    lines = np.split(own, np.flatnonzero(np.diff(rows.line[own])) + 1)
    if not len(own) or len(lines) > _MOST_LINES:
        return None
    for line in lines:
        gaps = rows.boxes_xyxy[line[1:], 0] - np.maximum.accumulate(rows.boxes_xyxy[line, 2])[:-1]
        wide = (np.flatnonzero(gaps > TOKEN_GAP * rows.height) + 1).tolist()
        if len(wide) > 1:
            return None
        first, last = (" ".join(rows.texts[token] for token in part) for part in np.split(line, wide or [len(line)]))
        if last and not ((table_number(first) and len(first) < _NUMBER_ALONE) or is_unit_line(last)):
            return None
    return own


def _count_cut(rows: Rows, own: Ints) -> int:
    """Number of borders of columns that run through a word."""
    slack = _OVER * rows.height
    x0, x1 = rows.boxes_xyxy[own, 0] + slack, rows.boxes_xyxy[own, 2] - slack
    return int(((rows.borders[:, None] > x0) & (rows.borders[:, None] < x1)).any(axis=1).sum())


def _framed_share(rows: Rows, top: float, bottom: float, table: Floats) -> float:
    """Share of a height along which rules run on both sides of the table."""
    slack, far = _OVER * rows.height, _BESIDE * rows.height
    left, right = (rows.borders[0], table[0]), (rows.borders[-1], table[2])
    places = ((min(left) - far, max(left) + slack), (min(right) - slack, max(right) + far))
    return min(_covered(rows.vertical, (0, 1), each, (top, bottom)) for each in places)


def _covered(rulings: Floats, axes: tuple[int, int], between: Sequence[float], along: Sequence[float]) -> float:
    """Share of a length that rulings cover whose middle lies between two places.

    Args:
        rulings: ``(S, 4)``.
        axes: The axis across the rulings, and the one along them.
        between: Two places across them.
        along: Both ends of the length.
    """
    across, way = axes
    middle = (rulings[:, across] + rulings[:, across + 2]) / 2
    chosen = rulings[(middle > between[0]) & (middle < between[1])]
    ends = np.clip(chosen[:, [way, way + 2]], *along)
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    reached = np.maximum.accumulate(np.append(along[0], ends[:, 1]))
    covered = np.clip(ends[:, 1] - np.maximum(ends[:, 0], reached[:-1]), 0, None).sum()
    return float(covered / max(along[1] - along[0], 1e-9))


def _usual_gap(rows: Rows, inside: Flags) -> float:
    """Median distance from the text of one row to that of the next, at least 0."""
    numbers = np.unique(rows.row[inside])
    boxes = [_hull(rows.boxes_xyxy[inside & (rows.row == number)]) for number in numbers]
    gaps = [max(float(below[1] - above[3]), 0.0) for above, below in pairwise(boxes)]
    return float(np.median(gaps)) if gaps else rows.height


def _hull(boxes: Floats) -> Floats:
    return np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])


_TOP_BIAS = -6.0
_TOP_WEIGHTS = RowEvidence(
    numbered=4.0,
    unit=1.0,
    note=1.0,
    colon=-1.0,
    left=2.0,
    centred=1.0,
    stub=1.0,
    cut=0.5,
    parted=-1.0,
    free=2.5,
    data=-0.5,
    ruled=0.5,
    apart=0.5,
    large=2.0,
    long=0.4,
)
_FOOT_BIAS = -6.0
_FOOT_WEIGHTS = RowEvidence(
    numbered=2.0,
    unit=0.0,
    note=4.0,
    colon=0.0,
    left=0.5,
    centred=0.0,
    stub=0.5,
    cut=1.0,
    parted=-1.0,
    free=0.0,
    data=0.0,
    ruled=1.0,
    apart=0.5,
    large=-2.0,
    long=0.5,
)
