"""Where rows begin: rows that are joined or parted where text, rulings and other grids say so for sure.

Between two lines of text that follow one another a new row begins or the row goes on. The log odds of the first, in
nats, are a weighted sum of what is seen there: the distance of the lines and the ruling between them, numbers above
each other, whether the text of the upper line goes on in the lower one, what the other grids of the same words have,
and what all this says of other places that look alike. No piece of evidence depends on where the rows of the grid
begin, so one pass over the places finds the most likely rows. A grid has its reasons too, so a place is changed only
where the odds are clearly against it; and rows are never joined where two values of one form would share a cell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

import numpy as np

from postprocess.arrays import Flags, Floats, Ints
from postprocess.candidates.scene import Scene
from postprocess.candidates.text_lines import Piece, TextLine, complete_values, layout_to_lines
from postprocess.geometry.boxes import quads_to_boxes
from postprocess.geometry.rulings import Rulings
from postprocess.grid.layout import Layout
from postprocess.odds import weigh
from postprocess.text.lookalikes import STROKES
from postprocess.text.numbers import is_number

_SURE = 1.0
"""Log odds from which a place is changed; from 0.7 to 1.5 the tables that it was chosen on do as well."""
_BLANK = 0.4
"""Width of a blank, in text heights."""
_LETTERS = re.compile(r"[\W\d_]+")
"""What is no letter: labels that differ only in it are the same."""
_SAYS = re.compile(r"[^\W_]|[%‰$€£¥￥₩₹]")
"""What only text has: other signs may be specks."""
_SIGNS = 2
"""So many words of other signs are values that are not there."""
_THROUGH = 0.6
"""Share of the height of a row along which a ruling runs through it."""
_NEAR = 0.2
"""Share of the height of a word that may reach into the next row."""
_AS_FAR = 0.15
"""Logarithm of the ratio of two distances that are about the same."""
_LONE = 0.8
"""Lines that are closer than this, in text heights, lie beside each other in part."""
_RECORDS = 3
"""So many lines that begin a record, and that go on in one, tell their distances."""
_STRAY = 0.1
"""Share of these that may lie elsewhere."""
_CLOSER = 0.03
"""Logarithm of the ratio of two distances that are not the same."""


@dataclass(frozen=True, slots=True)
class BorderEvidence:
    """What speaks for a new row between two lines of text; what is true or false is 1 or 0.

    "Upper" and "lower" are the texts of the two lines in one column.

    Args:
        distance: Logarithm of the distance of the lines in distances usual in the table, -1.6 to 1.6.
        ruled: Share of the width of all text along which a ruling runs between the lines.
        numbers: Upper and lower are numbers, in any column.
        roomy: Columns in which the first word of the lower would have found room in the line above.
        goes_on: A lower text goes on as text does.
        begins: A lower text begins with a capital.
        item: A lower text begins as the items of a list do.
        open: An upper text does not end there.
        repeated: One line alone is of the same text in each column.
        alike: Both lines have texts in the same columns, several of them.
        times: A line begins with a quantity times a price.
        rest: The lower line holds nothing but rests of values that begin in the upper one.
        flows: The text goes on in most of several columns in which both lines have some; 2 where the lower one begins
            in lower case in each of three or more.
        within: The lower line has texts in some of the columns of the record above alone, or lies as close as those
            that do, in a table where they lie closer to the line above than those that begin a record.
        seen: Share of the other grids' votes for different rows, less that for the same one, -1 to 1.
        usual: What all this says on average of the other places like this one, which lie between lines with texts in
            the same columns as these, as far apart; -1 to 1. Rows of one kind are set in one way.
    """

    distance: float
    ruled: float
    numbers: float
    roomy: float
    goes_on: float
    begins: float
    item: float
    open: float
    repeated: float
    alike: float
    times: float
    rest: float
    flows: float
    within: float
    seen: float
    usual: float = 0.0


# Printed by `python -m tests.benchmarks.candidates.fit_row_borders`, but for those that are named.
_BIAS = 0.29
_WEIGHTS = BorderEvidence(
    distance=2.90,
    ruled=2.62,
    numbers=2.05,
    roomy=0.84,
    goes_on=-1.46,
    begins=1.11,
    item=1.41,
    open=-2.10,
    repeated=1.97,
    alike=0.71,
    times=4.0,  # set by hand: the pages of the fit are no receipts, whose lines are rows
    rest=-6.0,  # set by hand, with the next one beside the others: few values of the fit are broken
    flows=-1.2,
    within=-3.0,  # set by hand too: few pages of the fit are records
    seen=2.46,
    usual=1.5,  # on top of the others, which it is made of: from 1.2 to 2.5 it does as well
)


def settle_rows(layout: Layout, scene: Scene, others: Sequence[Ints] = ()) -> Layout:
    """Join rows that are the lines of one row, and part rows that are several.

    Args:
        layout: Rows, columns and spans.
        scene: The words of the table, and the rulings of the picture.
        others: ``(W,)`` row of each word in other grids, -1 outside.

    Returns:
        The layout, the very same one where nothing is to be done.

    >>> from postprocess.geometry.boxes import as_boxes, boxes_to_quads
    >>> from postprocess.geometry.frame import UPRIGHT
    >>> from postprocess.geometry.rulings import Rulings
    >>> from postprocess.word import Word
    >>> frame = Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    >>> layout = Layout(np.array([0.0, 40.0, 60.0]), np.array([0.0, 50.0]), UPRIGHT, np.array([[0], [1]]))
    >>> boxes = boxes_to_quads([[5, 20 * row + 5, 25, 20 * row + 15] for row in range(3)])
    >>> words = [Word(text, quad) for text, quad in zip("579", boxes.tolist())]
    >>> settle_rows(layout, Scene(words, frame)).row_lines.tolist()
    [0.0, 20.0, 40.0, 60.0]
    """
    lines = layout_to_lines(layout, scene.words)
    evidence = gather_evidence(lines, layout, scene, others)
    odds = [weigh(seen, _WEIGHTS, _BIAS) for seen in evidence]
    odds = _alike_for_equal_labels(_alike_within_records(odds, evidence), lines)
    middles = scene.words.middles
    values: dict[int, set[tuple[int, str]]] = {}
    for line in lines:
        values.setdefault(line.row, set()).update(line.values)
    held = lines[-1].values if lines else set()
    # From the foot up, so that the values of the rows above stay what they are.
    for place in range(len(odds) - 1, -1, -1):
        above, below = lines[place], lines[place + 1]
        parted = above.row < below.row
        if evidence[place].rest:
            held = held - below.values  # they are the same values as those above
        if parted and odds[place] < -_SURE and not held & values[above.row]:
            joined = _joined(layout, above.row, below.row, middles)
            layout, parted = joined, joined is layout
        elif not parted and odds[place] > _SURE:
            layout, parted = _parted(layout, above.row, (above.middle + below.middle) / 2), True
        held = above.values | (set() if parted else held)
    return _without_tall_numbers(_without_empty_rows(layout, scene), scene)


def _alike_within_records(odds: Sequence[float], evidence: Sequence[BorderEvidence]) -> list[float]:
    """The odds, of places within records their mean at most: these are set in one way all over a table."""
    within = [each for each, seen in zip(odds, evidence, strict=True) if seen.within]
    most = fmean(within) if within else 0.0
    return [min(each, most) if seen.within else each for each, seen in zip(odds, evidence, strict=True)]


def _alike_for_equal_labels(odds: Sequence[float], lines: Sequence[TextLine]) -> list[float]:
    """The odds, of places between the same two labels their mean: in a table with blocks that repeat."""
    labels = _labels(lines)
    known: dict[tuple[str, str], list[float]] = {}
    for pair, each in zip(labels, odds, strict=True):
        known.setdefault(pair, []).append(each)
    return [fmean(known[pair]) if all(pair) else each for pair, each in zip(labels, odds, strict=True)]


def _labels(lines: Sequence[TextLine]) -> list[tuple[str, str]]:
    """The labels above and below each of L - 1 places, by their letters."""
    return list(pairwise(_LETTERS.sub("", line.pieces[min(line.pieces)].text).casefold() for line in lines))


def _without_empty_rows(layout: Layout, scene: Scene) -> Layout:
    """The layout without rows that hold no text and are not drawn: gaps between blocks, and between double rulings."""
    cells = layout.cells_at(scene.words.middles)
    says = np.array([_SAYS.search(text) is not None for text in scene.words.texts], bool)
    count, said = (np.bincount(cells[each & (cells >= 0)], minlength=len(layout.spans)) for each in (True, says))
    row_count, row_said = (np.array([each[np.unique(row)].sum() for row in layout.owner]) for each in (count, said))
    empty = np.flatnonzero((row_said == 0) & (row_count < _SIGNS) & ~_is_drawn(layout, scene.rulings))
    if len(empty) == len(layout.owner):
        return layout
    for row in empty[::-1].tolist():
        first = row if row + 1 < len(layout.owner) else row - 1
        layout = layout.parted(np.unique(layout.owner[row])).rows_joined(first, first + 2)
    return layout


def _without_tall_numbers(layout: Layout, scene: Scene) -> Layout:
    """The layout with values in a row of their own that stand in one of several rows which no ruling parts.

    A value of all of them stands in their middle.
    """
    spans, cells = layout.spans, layout.cells_at(scene.words.middles)
    tall = np.flatnonzero((spans[:, 2] - spans[:, 0] > 1) & (spans[:, 3] - spans[:, 1] == 1))
    if not len(tall):
        return layout
    boxes = quads_to_boxes(layout.frame.to_upright(scene.words.quads))
    level = _level_rulings(layout, scene.rulings)[2]
    wrong = []
    for cell in tall.tolist():
        own, lines = np.flatnonzero(cells == cell), layout.row_lines[spans[cell, 0] : spans[cell, 2] + 1]
        text = " ".join(scene.words.texts[index] for index in own[np.argsort(boxes[own, 0])])
        is_sign = bool(text) and (text in STROKES or not any(map(str.isalnum, text)))
        if not is_number(text) and not is_sign:
            continue
        top, bottom = boxes[own, 1].min(), boxes[own, 3].max()
        reach = (bottom - top) / 2
        is_ruled = ((level > lines[0] + reach) & (level < lines[-1] - reach)).any()
        if not is_ruled and _stands_in_one(lines, top, bottom):
            wrong.append(cell)
    return layout.parted(np.array(wrong)) if wrong else layout


def _stands_in_one(lines: Floats, top: float, bottom: float) -> bool:
    """Whether a text lies between two of the lines of several rows, and not in the middle of them."""
    reach = _NEAR * (bottom - top)
    inside = (lines[:-1] < top + reach) & (lines[1:] > bottom - reach)
    inside[(len(inside) - 1) // 2 : len(inside) // 2 + 1] &= len(inside) % 2 == 0
    return bool(inside.any())


def _is_drawn(layout: Layout, rulings: Rulings) -> Flags:
    """``(R,)`` rows that vertical rulings run through, at least two of them: slots of a form to be filled in."""
    x0, y0, x1, y1 = rulings.vertical.T
    middle = (x0 + x1) / 2
    ends = rulings.to_picture(np.stack([np.column_stack([middle, y0]), np.column_stack([middle, y1])], axis=1))
    start, end = np.sort(layout.frame.to_upright(ends)[..., 1], axis=1).T
    top, bottom = layout.row_lines[:-1, None], layout.row_lines[1:, None]
    through = np.minimum(bottom, end) - np.maximum(top, start) > _THROUGH * (bottom - top)
    return np.asarray(through.sum(axis=1) > 1)


def gather_evidence(
    lines: Sequence[TextLine], layout: Layout, scene: Scene, others: Sequence[Ints]
) -> list[BorderEvidence]:
    """Gather what speaks for a new row between each of L lines and the next, L - 1; arguments as of ``settle_rows``."""
    if len(lines) < 2:
        return []
    boxes = quads_to_boxes(layout.frame.to_upright(scene.words.quads))
    height = float(np.median(boxes[:, 3] - boxes[:, 1]))
    pitch = np.diff([line.middle for line in lines]) / height
    apart = pitch[pitch > _LONE]
    distance = np.log(np.clip(pitch / (np.median(apart) if len(apart) else 1.0), 0.2, 5))
    edges: dict[int, float] = {}
    for line in lines:
        for column, piece in line.pieces.items():
            edges[column] = max(edges.get(column, -np.inf), piece.x1)
    within, rest = _lie_within_records(lines, distance), complete_values(lines, distance)
    ruled, known = _ruled_share(lines, layout, scene.rulings), [rows.tolist() for rows in others]
    own = [
        BorderEvidence(
            distance=float(distance[place]),
            ruled=float(ruled[place]),
            rest=float(rest[place]),
            within=float(within[place]),
            seen=_share_apart(above.words, below.words, known),
            **_compare(above, below, edges, _BLANK * height),
        )
        for place, (above, below) in enumerate(pairwise(lines))
    ]
    usual = _usual_of_alike(own, lines).tolist()
    return [replace(each, usual=of_others) for each, of_others in zip(own, usual, strict=True)]


def _usual_of_alike(own: Sequence[BorderEvidence], lines: Sequence[TextLine]) -> Floats:
    """``(L - 1,)`` what places between lines in the same columns say, as far apart, with other labels, on average."""
    said = np.array([np.tanh(weigh(each, _WEIGHTS, _BIAS) / 2) for each in own])
    distance, usual = np.array([each.distance for each in own]), np.zeros(len(own))
    numbers: dict[tuple[str, str], int] = {}
    label = np.array([numbers.setdefault(pair, len(numbers)) for pair in _labels(lines)])
    kinds: dict[tuple[frozenset[int], frozenset[int]], list[int]] = {}
    for place, (above, below) in enumerate(pairwise(lines)):
        kinds.setdefault((frozenset(above.pieces), frozenset(below.pieces)), []).append(place)
    for places in map(np.array, kinds.values()):
        alike = (np.abs(distance[places, None] - distance[places]) < _AS_FAR) & (label[places, None] != label[places])
        # One more in the mean, that says nothing: few places tell little.
        usual[places] = alike @ said[places] / (alike.sum(axis=1) + 1)
    return usual


def _lie_within_records(lines: Sequence[TextLine], distance: Floats) -> Flags:
    """``(L - 1,)`` places whose lower line goes on in a record, by its columns, and by distances all over the table."""
    columns = len({column for line in lines for column in line.pieces})
    begins, goes_on, record = [], [], lines[0].pieces.keys()
    for line in lines[1:]:
        begins.append(len(line.pieces) > columns / 2)
        goes_on.append(not begins[-1] and line.pieces.keys() < record)
        record = record if goes_on[-1] else line.pieces.keys()
    near, far = distance[np.array(goes_on)], distance[np.array(begins)]
    if min(len(near), len(far)) < _RECORDS:
        return np.zeros(len(distance), np.bool_)
    most, least = np.quantile(near, 1 - _STRAY), np.quantile(far, _STRAY)
    return np.asarray((np.array(goes_on) | (distance <= most)) & (most + _CLOSER < least), np.bool_)


def _compare(above: TextLine, below: TextLine, edges: dict[int, float], blank: float) -> dict[str, float]:
    """What the texts of two lines say."""
    both = sorted(above.pieces.keys() & below.pieces.keys())
    pairs = [(above.pieces[column], below.pieces[column]) for column in both]
    roomy = [_has_room(a, b, edges[column] - blank) for column, (a, b) in zip(both, pairs, strict=True)]
    is_lower = [b.text[:1].islower() and not a.is_number for a, b in pairs]
    flows = [a.is_open or low for (a, _), low in zip(pairs, is_lower, strict=True)]
    flow = (1 < len(flows) < 2 * sum(flows)) + (len(is_lower) > 2 and all(is_lower))
    return {
        "numbers": any(a.is_number and b.is_number for a, b in pairs),
        "roomy": sum(roomy) / max(len(roomy), 1),
        "goes_on": any(b.goes_on for _, b in pairs),
        "begins": any(b.text[:1].isupper() and not b.is_item for _, b in pairs),
        "item": any(b.is_item for _, b in pairs),
        "open": any(a.is_open for a, _ in pairs),
        "repeated": above.is_repeated != below.is_repeated,
        "alike": above.pieces.keys() == below.pieces.keys() and len(both) > 1,
        "flows": flow,
        "times": any(line.pieces[min(line.pieces)].is_times for line in (above, below)),
    }


def _has_room(above: Piece, below: Piece, edge: float) -> bool:
    """Whether the first word of the lower text would have found room at the end of the upper one."""
    return above.x1 + below.first < edge


def _share_apart(above: Ints, below: Ints, others: Sequence[list[int]]) -> float:
    """1 where other grids have all words of two lines in different rows, -1 where in the same ones, else between."""
    votes = []
    for rows in others:
        upper, lower = ([rows[word] for word in words.tolist() if rows[word] >= 0] for words in (above, below))
        if upper and lower:
            votes.append(1 - 2 * sum(row in upper for row in lower) / len(lower))
    return sum(votes) / len(votes) if votes else 0.0


def _ruled_share(lines: Sequence[TextLine], layout: Layout, rulings: Rulings) -> Floats:
    """``(L - 1,)`` share of the width of all text along which a ruling runs between two lines."""
    start, end, at = _level_rulings(layout, rulings)
    pieces = [piece for line in lines for piece in line.pieces.values()]
    left, right = min(piece.x0 for piece in pieces), max(piece.x1 for piece in pieces)
    inside = np.clip(np.minimum(end, right) - np.maximum(start, left), 0, None)
    heights = np.array([line.middle for line in lines])
    between = (at > heights[:-1, None]) & (at < heights[1:, None])
    return np.asarray(np.clip((between * inside).sum(axis=1) / max(right - left, 1e-9), 0, 1), np.float64)


def _level_rulings(layout: Layout, rulings: Rulings) -> Floats:
    """``(3, N)`` start, end and height of the horizontal rulings in the frame of a layout."""
    x0, y0, x1, y1 = rulings.horizontal.T
    middle = (y0 + y1) / 2
    ends = rulings.to_picture(np.stack([np.column_stack([x0, middle]), np.column_stack([x1, middle])], axis=1))
    level = layout.frame.to_upright(ends)
    return np.vstack([level[..., 0].T, level[..., 1].mean(axis=1)])


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
