"""Rows at the top and at the foot of a grid that are titles, units and notes beside the table.

A detector takes into its grid what stands close to a table. Such a row is a line of running text that knows nothing of
the columns; inside a frame that goes on around the next row it is a cell of the table all the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from postprocess.arrays import Flags, Floats, Ints
from postprocess.candidates.candidate import Candidate, Dropped
from postprocess.candidates.heads import settle
from postprocess.captions.evidence import is_unit_line, table_number
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads, quads_to_boxes
from postprocess.meaning.roles import is_note
from postprocess.odds import to_probability, weigh
from postprocess.text.numbers import YEAR, is_number, is_year, text_to_kind
from postprocess.text.tokens import TOKEN_GAP

MIN_SCORE = 0.7
"""A row stands beside the table from this probability on: a row that is lost is worse than a title that stays."""
_REASON = "its row is text beside the table"
_MOST_ROWS = 4
"""Rows on each side that may."""
_MOST_LINES = 3
"""Lines of text in one of them."""
_FIELD = re.compile(r"[^\W\d][^:：]*[:：]")
"""A name and a colon."""
_NUMBER_ALONE = 16
"""The word for a table and its number, which a wide gap may part from the rest, are shorter than so many characters."""
_MOST_NUMBERS = 0.3
"""Share of its words that are numbers, and no years."""
_NEAR = 1.5
"""Text begins where the table begins, and stands over its middle, within so many text heights."""
_FRAMED = 0.5
"""Rules on both sides along more than this share of the text of a row, and of the next one, frame them."""
_OVER = 0.3
"""Boxes of words are loose by so many text heights."""
_WHOLE = 0.9
"""Rules along more than this share of a table run along the whole of it."""
_OUTER = 1.5
"""The rule on the other side of a row is no further from its text, in text heights."""
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
        centred: It stands over the middle of the table, away from both ends, and no other row does.
        stub: It reaches over text of the first column.
        cut: Borders of columns that run through a word of it, up to 2.
        free: The next row has no text in the first column.
        data: Texts of the next row that are numbers and no years.
        ruled: Width of the table that rules cover between both rows.
        boxed: Rules run along the whole table on both sides of the row.
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
    free: float
    data: float
    ruled: float
    boxed: float
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
            inner = rows.row[(rows.row >= first + is_top) & (rows.row < end - (not is_top))]
            first, end = (int(inner.min()), end) if is_top else (first, int(inner.max()) + 1)
    if end - first == len(layout.owner):
        return candidate
    taken_off = candidate.is_detected & ((layout.spans[:, 2] <= first) | (layout.spans[:, 0] >= end))
    dropped = tuple(
        Dropped(array_to_quad(candidate.quads[cell]), float(candidate.scores[cell]), _REASON)
        for cell in np.flatnonzero(taken_off)
    )
    kept = candidate.with_layout(layout.rows_kept(first, end))
    kept = replace(kept, dropped=candidate.dropped + dropped)
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
    """What speaks for the outermost row; None where it cannot stand beside the table.

    It cannot where it is the only row with text or no running text, where a frame holds it, where a rule below it says
    which columns it heads, among the fields of a form, and where nothing in its text and place tells it from a head or
    a label: above, a title begins at the left or stands over the middle; below, a note runs through borders of columns.

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
    height = rows.height
    text = " ".join(rows.texts[token] for token in own.tolist())
    is_numbered, is_unit, is_marked = table_number(text) is not None, is_unit_line(text), is_note(text)
    is_left = abs(box[0] - table[0]) < _NEAR * height
    hulls = _row_hulls(rows, inside)
    is_centred = bool(_stands_over_middle(box[None], table, height)[0])
    is_centred &= not _stands_over_middle(hulls, table, height).any()
    stub = rows.boxes_xyxy[inside & (rows.column == rows.column[inside].min()), 2]
    is_over_stub = bool(box[0] < np.median(stub) - _OVER * height)
    cut = _count_cut(rows, own)
    stands_apart = is_left or is_centred or is_over_stub if is_top else cut > 0
    # Of several lines the one that is nearest to the table.
    nearest = rows.boxes_xyxy[own[-1 if is_top else 0]]
    between = sorted(float(each[1] + each[3]) / 2 for each in (nearest, beside))
    is_head = is_top and _is_underlined(rows, box, between, float(table[0]))
    is_plain = not (is_numbered or is_unit or is_marked)
    is_form = is_plain and _are_fields([text]) and _have_field(rows, following)
    if is_head or is_form or (is_plain and not stands_apart):
        return None
    gap = beside[1] - box[3] if is_top else box[1] - beside[3]
    ends = float(table[0]), float(table[2])
    beyond = (box[1] - _OUTER * height, box[1]) if is_top else (box[3], box[3] + _OUTER * height)
    ruled = _covered(rows.horizontal, (1, 0), between, ends)
    return RowEvidence(
        numbered=is_numbered,
        unit=is_unit,
        note=is_marked,
        colon=text.rstrip().endswith((":", "：")),
        left=is_left,
        centred=bool(is_centred),
        stub=is_over_stub,
        cut=min(cut, 2),
        free=not bool((following & (rows.column == 0)).any()),
        data=_share_of_numbers(rows, np.flatnonzero(following)),
        ruled=ruled,
        boxed=min(ruled, _covered(rows.horizontal, (1, 0), beyond, ends)) > _WHOLE,
        apart=np.clip(np.log((max(gap, 0.0) + height) / (_usual_gap(hulls, height) + height)), -1, 1),
        large=np.clip(np.log(np.median(rows.boxes_xyxy[own, 3] - rows.boxes_xyxy[own, 1]) / height), -0.5, 0.7),
        long=np.log(max(len(text), 1)),
    )


def _running_text(rows: Rows, row: int) -> Ints | None:
    """The words of a row, line by line, where each line is one piece of text, a title with its unit, or fields."""
    own = np.flatnonzero(rows.row == row)
    own = own[np.lexsort([rows.boxes_xyxy[own, 0], rows.line[own]])]
    lines = np.split(own, np.flatnonzero(np.diff(rows.line[own])) + 1)
    if not len(own) or len(lines) > _MOST_LINES or _share_of_numbers(rows, own) > _MOST_NUMBERS:
        return None
    return own if all(_is_running(rows, line) for line in lines) else None


def _is_running(rows: Rows, line: Ints) -> bool:
    gaps = rows.boxes_xyxy[line[1:], 0] - np.maximum.accumulate(rows.boxes_xyxy[line, 2])[:-1]
    wide = np.flatnonzero(gaps > TOKEN_GAP * rows.height) + 1
    texts = [" ".join(rows.texts[token] for token in piece.tolist()) for piece in np.split(line, wide)]
    if len(texts) > 1 and not _is_titled(texts) and not _are_fields(texts):
        return False
    x0, x1 = rows.boxes_xyxy[line[0], 0], rows.boxes_xyxy[line, 2].max()
    n_reached = int(((rows.borders > x0) & (rows.borders < x1)).sum())
    # Running text knows nothing of the columns: hardly ever do its gaps lie on two borders.
    return n_reached < 2 or _count_cut(rows, line) > 0


def _is_titled(texts: Sequence[str]) -> bool:
    """Whether the pieces of a line are a title parted from its number, or from its unit."""
    is_numbered = table_number(texts[0]) is not None and len(texts[0]) < _NUMBER_ALONE
    return len(texts) == 2 and (is_numbered or is_unit_line(texts[1]))


def _are_fields(texts: Sequence[str]) -> bool:
    """Whether the pieces of a line are fields of the head of a report, and its date.

    >>> _are_fields(["编制单位：甲公司", "2018年12月31日", "单位：元"]), _are_fields(["2018", "2017"])
    (True, False)
    """
    are_named = [_FIELD.match(text) is not None for text in texts]
    return any(are_named) and all(
        is_named or text_to_kind(text) == YEAR for is_named, text in zip(are_named, texts, strict=True)
    )


def _have_field(rows: Rows, own: Flags) -> bool:
    texts = (rows.texts[token] for token in np.flatnonzero(own).tolist())
    return any(_are_fields([text]) and not is_unit_line(text) for text in texts)


def _share_of_numbers(rows: Rows, own: Ints) -> float:
    texts = [rows.texts[token] for token in own.tolist()]
    return sum(is_number(text) and not is_year(text) for text in texts) / len(texts)


def _count_cut(rows: Rows, own: Ints) -> int:
    """Number of borders of columns that run through a word."""
    slack = _OVER * rows.height
    x0, x1 = rows.boxes_xyxy[own, 0] + slack, rows.boxes_xyxy[own, 2] - slack
    return int(((rows.borders[:, None] > x0) & (rows.borders[:, None] < x1)).any(axis=1).sum())


def _stands_over_middle(boxes: Floats, table: Floats, height: float) -> Flags:
    """``(N,)`` whether ``(N, 4)`` boxes are centred on the table and reach neither end of it."""
    left, right = boxes[:, 0] - table[0], table[2] - boxes[:, 2]
    near = _NEAR * height
    return np.asarray((np.abs(left - right) / 2 < near) & (left > near) & (right > near))


def _is_underlined(rows: Rows, box: Floats, between: Sequence[float], left: float) -> bool:
    x0, y0, x1, y1 = rows.horizontal.T
    middle, slack = (y0 + y1) / 2, _NEAR * rows.height
    is_under = (middle > between[0]) & (middle < between[1]) & (x0 < box[0] + slack) & (x1 > box[2] - slack)
    return bool((is_under & (x0 > left + slack)).any())


def _framed_share(rows: Rows, top: float, bottom: float, table: Floats) -> float:
    """Share of a height along which rules run on both sides of the table."""
    slack, far = _OVER * rows.height, _BESIDE * rows.height
    left, right = (rows.borders[0], table[0]), (rows.borders[-1], table[2])
    places = ((min(left) - far, max(left) + slack), (min(right) - slack, max(right) + far))
    return min(_covered(rows.vertical, (0, 1), each, (top, bottom)) for each in places)


def _covered(rulings: Floats, axes: tuple[int, int], between: Sequence[float], along: tuple[float, float]) -> float:
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
    ends = np.clip(chosen[:, [way, way + 2]], along[0], along[1])
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    reached = np.maximum.accumulate(np.append(along[0], ends[:, 1]))
    covered = np.clip(ends[:, 1] - np.maximum(ends[:, 0], reached[:-1]), 0, None).sum()
    return float(covered / max(along[1] - along[0], 1e-9))


def _row_hulls(rows: Rows, inside: Flags) -> Floats:
    """``(R, 4)`` extent of the text of each row that has some, from top to bottom."""
    order = np.argsort(rows.row[inside], kind="stable")
    boxes, row = rows.boxes_xyxy[inside][order], rows.row[inside][order]
    starts = np.flatnonzero(np.diff(row, prepend=-2))
    return np.hstack([np.minimum.reduceat(boxes[:, :2], starts), np.maximum.reduceat(boxes[:, 2:], starts)])


def _usual_gap(hulls: Floats, height: float) -> float:
    """Median distance from the text of one row to that of the next, at least 0; the height of text for a lone row."""
    gaps = hulls[1:, 1] - hulls[:-1, 3]
    return float(np.median(gaps.clip(0))) if len(gaps) else height


def _hull(boxes: Floats) -> Floats:
    return np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])


# Printed by `python -m tests.benchmarks.captions.fit_edge_rows ../shared/train`.
_TOP_BIAS = -3.38
_TOP_WEIGHTS = RowEvidence(
    numbered=3.95,
    unit=2.91,
    note=4.27,
    colon=-3.37,
    left=-0.45,
    centred=1.51,
    stub=3.07,
    cut=2.13,
    free=2.29,
    data=-4.61,
    ruled=1.75,
    boxed=-6.33,
    apart=1.04,
    large=2.28,
    long=-0.04,
)
_FOOT_BIAS = -0.23
_FOOT_WEIGHTS = RowEvidence(
    numbered=3.57,
    unit=-3.42,
    note=1.83,
    colon=0.00,
    left=1.41,
    centred=2.51,
    stub=1.94,
    cut=0.34,
    free=-1.49,
    data=3.35,
    ruled=0.55,
    boxed=1.09,
    apart=-0.40,
    large=0.16,
    long=0.07,
)
