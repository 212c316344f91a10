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
from postprocess.candidates.contents import Contents
from postprocess.candidates.heads import settle
from postprocess.captions.evidence import is_unit_line, table_number
from postprocess.geometry.boxes import array_to_quad, outer_box
from postprocess.meaning.roles import is_note
from postprocess.odds import to_probability, weigh
from postprocess.text.numbers import YEAR, is_number, is_year, text_to_kind
from postprocess.text.tokens import TOKEN_GAP

MIN_SCORE = 0.7
"""A row stands beside the table from this probability on: a row that is lost is worse than a title that stays."""
MOST_ROWS = 4
"""Rows on each side that may."""
_REASON = "its row is text beside the table"
_LOOSE = 0.3
"""Boxes of words are loose by so many text heights."""
_BESIDE = 3.0
"""Rules of a frame are no further from the text of the table and the borders of the grid, in text heights."""
_MOST_LINES = 3
"""Lines of text in one of them."""
_FIELD = re.compile(r"[^\W\d][^:：]*[:：]")
"""A name and a colon."""
_NUMBER_ALONE = 16
"""The word for a table and its number, which a wide gap may part from the rest, are shorter than so many characters."""
_MOST_NUMBERS = 0.3
"""Share of the words of a row that are numbers, and no years."""
_NEAR = 1.5
"""Text begins where the table begins, and stands over its middle, within so many text heights."""
_FRAMED = 0.5
"""Rules on both sides along more than this share of the text of a row, and of the next one, frame them."""
_WHOLE = 0.9
"""Rules along more than this share of a table run along the whole of it."""
_OUTER = 1.5
"""The rule on the other side of a row is no further from its text, in text heights."""


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


def without_captions(candidate: Candidate) -> Candidate:
    """The candidate without the rows at its edges that are text beside the table, and its rivals without theirs.

    Args:
        candidate: With its scene.

    Returns:
        The very same candidate where all rows belong to the table.

    >>> from postprocess.candidates.candidate import quads_to_candidate
    >>> from postprocess.candidates.scene import Scene
    >>> from postprocess.geometry.boxes import as_boxes, boxes_to_quads
    >>> from postprocess.geometry.rulings import Rulings
    >>> from postprocess.word import Word
    >>> places = boxes_to_quads([[5, 5, 90, 15], [55, 25, 80, 35], [5, 45, 30, 55], [55, 45, 70, 55]]).tolist()
    >>> words = [Word(text, quad) for text, quad in zip(("Table 3: Sales", "2018", "Tea", "12"), places, strict=True)]
    >>> scene = Scene(words, Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0))
    >>> cells = boxes_to_quads([[x, y, x + 50, y + 20] for y in (0, 20, 40) for x in (0, 50)])
    >>> without_captions(quads_to_candidate(cells).in_scene(scene)).layout.row_lines.round(3).tolist()
    [20.0, 40.0, 60.0]
    """
    layout = candidate.layout
    first, end = 0, len(layout.owner)
    contents = candidate.contents
    rows = contents.token_rows
    for is_top in (True, False):
        for _ in range(MOST_ROWS):
            evidence = gather_evidence(contents, first, end, is_top)
            if evidence is None or score(evidence, is_top) < MIN_SCORE:
                break
            inner = rows[(rows >= first + is_top) & (rows < end - (not is_top))]
            first, end = (int(inner.min()), end) if is_top else (first, int(inner.max()) + 1)
    if end - first == len(layout.owner):
        return candidate
    taken_off = candidate.is_detected & ((layout.spans[:, 2] <= first) | (layout.spans[:, 0] >= end))
    dropped = tuple(
        Dropped(array_to_quad(candidate.quads[cell]), float(candidate.scores[cell]), _REASON)
        for cell in np.flatnonzero(taken_off)
    )
    kept = candidate.with_layout(layout.rows_kept(first, end))
    rivals = tuple(without_captions(rival) for rival in candidate.rivals)
    kept = replace(kept, dropped=candidate.dropped + dropped, rivals=rivals)
    # Heads that stood below such a row are the uppermost now.
    return kept if kept.scene is None else settle(kept.in_scene(kept.scene))


def score(evidence: RowEvidence, is_top: bool) -> float:
    """Probability that a row stands beside the table, 0 to 1."""
    bias, weights = (_TOP_BIAS, _TOP_WEIGHTS) if is_top else (_FOOT_BIAS, _FOOT_WEIGHTS)
    return float(to_probability(weigh(evidence, weights, bias)))


@dataclass(frozen=True, slots=True)
class _Edge:
    """A row of running text at the edge of a grid.

    Args:
        own: Its tokens.
        inside: Tokens of the rows that would be left.
        following: Tokens of the next row.
        box: ``(4,)`` extent of its text.
        table: ``(4,)`` extent of the text of the rows that would be left.
        beside: ``(4,)`` extent of the text of the next row.
        between: Heights of the middles of its text and of the next row's.
        beyond: Heights between which the rule on the other side of it lies.
    """

    own: Ints
    inside: Flags
    following: Flags
    box: Floats
    table: Floats
    beside: Floats
    between: tuple[float, float]
    beyond: tuple[float, float]


def gather_evidence(contents: Contents, first: int, end: int, is_top: bool) -> RowEvidence | None:
    """What speaks for the outermost row; None where it cannot stand beside the table.

    It cannot where it is the only row with text or no running text, where a frame holds it, where a rule below it says
    which columns it heads, among the fields of a form, and where nothing in its text and place tells it from a head or
    a label: above, a title begins at the left or stands over the middle; below, a note runs through borders of columns.
    A numbered title may be set in a band, which looks like a frame.

    Args:
        contents: Of the grid.
        first: First row that belongs to the table so far.
        end: Row behind the last one.
        is_top: Whether the first row is meant, else the last one.
    """
    edge = _edge(contents, first, end, is_top)
    if edge is None or (is_top and _is_underlined(contents, edge)):
        return None
    text, height = _text_of(contents, edge.own), contents.height
    is_numbered, is_unit, is_marked = table_number(text) is not None, is_unit_line(text), is_note(text)
    in_band = is_top and is_numbered
    if not in_band and _is_framed(contents, edge):
        return None
    hulls = _row_hulls(contents, edge.inside)
    is_left = bool(abs(edge.box[0] - edge.table[0]) < _NEAR * height)
    is_centred = bool(_are_centred(edge.box[None], edge.table, height)[0])
    is_centred &= not _are_centred(hulls, edge.table, height).any()
    is_over_stub = bool(edge.box[0] < _end_of_stub(contents, edge.inside) - _LOOSE * height)
    cut = _count_cut(contents, edge.own)
    if not (is_numbered or is_unit or is_marked):
        stands_apart = is_left or is_centred or is_over_stub if is_top else cut > 0
        if not stands_apart or (_are_fields([text]) and _have_field(contents, edge.following)):
            return None
    gap = float(edge.beside[1] - edge.box[3] if is_top else edge.box[1] - edge.beside[3])
    width = float(edge.table[0]), float(edge.table[2])
    ruled, outer = (_ruled_share(contents.horizontal, heights, width) for heights in (edge.between, edge.beyond))
    top, bottom = contents.tokens.boxes_xyxy[edge.own][:, 1::2].T
    line_height = float(np.median(bottom - top))
    return RowEvidence(
        numbered=is_numbered,
        unit=is_unit,
        note=is_marked,
        colon=text.rstrip().endswith((":", "：")),
        left=is_left,
        centred=bool(is_centred),
        stub=is_over_stub,
        cut=min(cut, 2),
        free=not bool((edge.following & (contents.token_columns == 0)).any()),
        data=_share_of_numbers(contents, np.flatnonzero(edge.following)),
        ruled=ruled,
        boxed=not in_band and min(ruled, outer) > _WHOLE,
        apart=float(np.clip(np.log((max(gap, 0.0) + height) / (_usual_gap(hulls, height) + height)), -1, 1)),
        large=float(np.clip(np.log(line_height / height), -0.5, 0.7)),
        long=float(np.log(max(len(text), 1))),
    )


def _edge(contents: Contents, first: int, end: int, is_top: bool) -> _Edge | None:
    """The first or the last row, where it is running text and not all that there is."""
    at = first if is_top else end - 1
    rows, boxes = contents.token_rows, contents.tokens.boxes_xyxy
    lines = _lines_of(contents, at)
    inside = (rows >= first) & (rows < end) & (rows != at)
    if not 0 < len(lines) <= _MOST_LINES or not inside.any():
        return None
    own = np.concatenate(lines)
    if _share_of_numbers(contents, own) > _MOST_NUMBERS or not all(_is_running(contents, line) for line in lines):
        return None
    hulls = np.array([outer_box(boxes[line]) for line in lines])
    if hulls[:, 0].max() > hulls[:, 2].min():  # heads side by side, one higher than the other
        return None
    following = rows == (rows[inside].min() if is_top else rows[inside].max())
    box, table, beside = (outer_box(boxes[each]) for each in (own, inside, following))
    # Of several lines the one that is nearest to the table.
    nearest = boxes[own[-1 if is_top else 0]]
    upper, lower = sorted(float(each[1] + each[3]) / 2 for each in (nearest, beside))
    top, bottom, reach = float(box[1]), float(box[3]), _OUTER * contents.height
    beyond = (top - reach, top) if is_top else (bottom, bottom + reach)
    return _Edge(own, inside, following, box, table, beside, (upper, lower), beyond)


def _text_of(contents: Contents, own: Ints) -> str:
    """Some tokens with blanks between them."""
    return " ".join(contents.tokens.texts[token] for token in own.tolist())


def _lines_of(contents: Contents, row: int) -> list[Ints]:
    """Tokens of each line of a row, from left to right."""
    line, left = contents.tokens.line, contents.tokens.boxes_xyxy[:, 0]
    own = np.flatnonzero(contents.token_rows == row)
    own = own[np.lexsort([left[own], line[own]])]
    return np.split(own, np.flatnonzero(np.diff(line[own])) + 1) if len(own) else []


def _pieces_of(contents: Contents, line: Ints) -> list[Ints]:
    """The tokens of a line between wide gaps."""
    boxes = contents.tokens.boxes_xyxy[line]
    gaps = boxes[1:, 0] - np.maximum.accumulate(boxes[:, 2])[:-1]
    return np.split(line, np.flatnonzero(gaps > TOKEN_GAP * contents.height) + 1)


def _row_hulls(contents: Contents, inside: Flags) -> Floats:
    """``(R, 4)`` extent of the text of each row that has some of it inside, from top to bottom."""
    rows, boxes = contents.token_rows[inside], contents.tokens.boxes_xyxy[inside]
    order = np.argsort(rows, kind="stable")
    starts = np.flatnonzero(np.diff(rows[order], prepend=-2))
    low, high = (each.reduceat(boxes[order], starts, axis=0) for each in (np.minimum, np.maximum))
    return np.hstack([low[:, :2], high[:, 2:]])


def _share_of_numbers(contents: Contents, own: Ints) -> float:
    """Share of some tokens that are numbers, and no years."""
    texts = [contents.tokens.texts[token] for token in own.tolist()]
    return sum(is_number(text) and not is_year(text) for text in texts) / len(texts)


def _count_reached(contents: Contents, own: Ints) -> int:
    """Number of borders of columns that some tokens reach across, in a token or between two."""
    x0, _, x1, _ = outer_box(contents.tokens.boxes_xyxy[own])
    lines = contents.layout.col_lines
    return int(((lines > x0) & (lines < x1)).sum())


def _count_cut(contents: Contents, own: Ints) -> int:
    """Number of borders of columns that run through a token."""
    slack, boxes, lines = _LOOSE * contents.height, contents.tokens.boxes_xyxy[own], contents.layout.col_lines[:, None]
    return int(((lines > boxes[:, 0] + slack) & (lines < boxes[:, 2] - slack)).any(axis=1).sum())


def _ruled_share(rulings: Floats, between: tuple[float, float], along: tuple[float, float]) -> float:
    """Share of a width along which rules run between two heights.

    Args:
        rulings: ``(S, 4)``.
        between: Two heights.
        along: Both ends of the width.
    """
    middle = (rulings[:, 1] + rulings[:, 3]) / 2
    ends = rulings[(middle > between[0]) & (middle < between[1])][:, ::2].clip(*along)
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    reached = np.maximum.accumulate(np.append(along[0], ends[:, 1]))
    covered = np.clip(ends[:, 1] - np.maximum(ends[:, 0], reached[:-1]), 0, None).sum()
    return float(covered / max(along[1] - along[0], 1e-9))


def _is_running(contents: Contents, line: Ints) -> bool:
    """Whether a line is one piece of text, a title beside its number or unit, or the fields of the head of a report."""
    texts = [_text_of(contents, piece) for piece in _pieces_of(contents, line)]
    if len(texts) > 1 and not _is_titled(texts) and not _are_fields(texts):
        return False
    # Running text knows nothing of the columns: hardly ever do its gaps lie on two borders.
    return _count_reached(contents, line) < 2 or _count_cut(contents, line) > 0


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


def _have_field(contents: Contents, own: Flags) -> bool:
    texts = (contents.tokens.texts[token] for token in np.flatnonzero(own).tolist())
    return any(_are_fields([text]) and not is_unit_line(text) for text in texts)


def _is_framed(contents: Contents, edge: _Edge) -> bool:
    """Whether rules on both sides of the table run along a row and the next one."""
    slack, far = _LOOSE * contents.height, _BESIDE * contents.height
    left, right = edge.table[[0, 2]].tolist()
    start, end = contents.layout.col_lines[[0, -1]].tolist()
    sides = (min(start, left) - far, max(start, left) + slack), (min(end, right) - slack, max(end, right) + far)
    rulings = contents.vertical[:, [1, 0, 3, 2]]
    along = [(float(box[1]), float(box[3])) for box in (edge.box, edge.beside)]
    return min(_ruled_share(rulings, side, each) for side in sides for each in along) > _FRAMED


def _is_underlined(contents: Contents, edge: _Edge) -> bool:
    """Whether a rule that begins right of the first column runs below all of a row's text."""
    x0, y0, x1, y1 = contents.horizontal.T
    middle, near = (y0 + y1) / 2, _NEAR * contents.height
    is_below = (middle > edge.between[0]) & (middle < edge.between[1])
    is_under = is_below & (x0 < edge.box[0] + near) & (x1 > edge.box[2] - near)
    return bool((is_under & (x0 > edge.table[0] + near)).any())


def _are_centred(boxes: Floats, table: Floats, height: float) -> Flags:
    """``(N,)`` whether ``(N, 4)`` boxes stand over the middle of the table and reach neither end of it."""
    left, right = boxes[:, 0] - table[0], table[2] - boxes[:, 2]
    near = _NEAR * height
    return np.asarray((np.abs(left - right) / 2 < near) & (left > near) & (right > near))


def _end_of_stub(contents: Contents, inside: Flags) -> float:
    """Where texts of the first column that has some end, the median."""
    columns, ends = contents.token_columns[inside], contents.tokens.boxes_xyxy[inside, 2]
    return float(np.median(ends[columns == columns.min()]))


def _usual_gap(hulls: Floats, height: float) -> float:
    """Median distance from the text of one row to that of the next, at least 0; the height of text for a lone row."""
    gaps = hulls[1:, 1] - hulls[:-1, 3]
    return float(np.median(gaps.clip(0))) if len(gaps) else height


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
