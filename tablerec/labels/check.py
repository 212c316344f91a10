"""What is wrong with labels: each fault with its file and its place in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.boxes import quads_to_boxes
from tablerec.errors import InputError
from tablerec.labels.label import Label, Problem, load_image

_MOST_CELLS = 32_767
"""Cells of a picture; the owner map of a training counts them in 16 bits."""
_OUTSIDE = 0.1
"""Share of a cell's height or width that may lie outside the picture."""
_OVERLAP = 0.2
"""Share of the smaller cell that another one may cover."""
_DOUBLE = 0.9
"""Intersection over union from which on two cells are one."""
_NEAR = 0.1
"""Share of a cell's height within which its neighbour begins where cells touch."""
_TOUCHING = 0.6
"""Least share of cells that touch another one; below it the boxes outline texts."""
_MOST_FAULTS = 100
"""Cells over others that are named, of one picture."""
_AT_ONCE = 64
"""Cells whose neighbours are looked up at once."""
_MOST_PAIRS = 5_000_000
"""That are compared, of one picture; of cells that part it each touches some ten."""


class Fault(NamedTuple):
    """A faulty cell: its index, and what is wrong with it."""

    cell: int
    what: str


@dataclass
class Summary:
    """Counts over all pictures that were checked.

    Args:
        n_errors: Problems that are errors.
        n_notes: Others.
        cells: Number of cells of each picture.
        sizes: ``(width, height)`` of each picture that could be read, px.
        splits: Pictures by split; the empty name is that of none.
    """

    n_errors: int = 0
    n_notes: int = 0
    cells: list[int] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    splits: Counter[str] = field(default_factory=Counter)


def check_labels(labels: Iterable[Label | Problem], summary: Summary) -> Iterator[Problem]:
    """Name all that is wrong, reading each picture.

    Args:
        labels: As ``read_labels`` gives them.
        summary: Is counted up.

    Yields:
        Errors and notes in the order of the labels; those on the whole set come last.

    >>> from pathlib import Path
    >>> from tablerec.labels.read import read_labels
    >>> summary = Summary()
    >>> problems = list(check_labels(read_labels(Path("data/samples/ruled.json")), summary))
    >>> summary.n_errors, summary.sizes, problems[0].where
    (0, [(1067, 480)], 'all pictures')
    """
    n_apart = 0
    for label in labels:
        found = [label] if isinstance(label, Problem) else list(_check_label(label, summary))
        for problem in found:
            summary.n_errors += problem.is_error
            summary.n_notes += not problem.is_error
            yield problem
        n_apart += isinstance(label, Label) and outlines_texts(label.quads)
    if not summary.cells:
        summary.n_errors += 1
        yield Problem("all pictures", "there are none: name a folder with labels of COCO, PPOCRLabel, labelme or ours")
        return
    for what in _check_set(summary, n_apart):
        summary.n_notes += 1
        yield Problem("all pictures", what, is_error=False)


def find_unusable(label: Label) -> list[Problem]:
    """Return why a label must not be trained on, as far as can be said without its picture: quick."""
    errors = [problem for problem in label.problems if problem.is_error]
    faults = shape_faults(label.quads)
    return errors + [_to_problem(label, fault) for fault in faults]


def _check_label(label: Label, summary: Summary) -> Iterator[Problem]:
    summary.cells.append(len(label.quads))
    summary.splits[label.split or ""] += 1
    yield from (problem for problem in label.problems if not problem.is_error)
    unusable = find_unusable(label)
    yield from unusable
    if not len(label.quads) and not unusable:
        yield Problem(label.where, "has no cells: right for a page without tables only", is_error=False)
    if not label.has_errors:
        yield from _check_picture(label, summary)
    if label.outlines_cells and not unusable:
        yield from (_to_problem(label, fault) for fault in overlap_faults(label.quads))


def _check_picture(label: Label, summary: Summary) -> Iterator[Problem]:
    try:
        height, width = load_image(label.image).shape[:2]
    except InputError as error:
        yield Problem(label.where, str(error))
        return
    summary.sizes.append((width, height))
    if label.size_wh not in (None, (width, height)):
        yield Problem(
            label.where,
            f"says {label.size_wh[0]} x {label.size_wh[1]} px, but {label.image.name} has {width} x {height} once it "
            "stands upright: label the picture as it is shown, or correct its size",
        )
    faults = outside_faults(label.quads, (width, height))
    yield from (_to_problem(label, fault) for fault in faults)


def _to_problem(label: Label, fault: Fault) -> Problem:
    where = f"{label.where}: {label.names[fault.cell]}" if fault.cell >= 0 else label.where
    return Problem(where, fault.what)


def shape_faults(quads: Floats) -> list[Fault]:
    """Find what is wrong with cells, each by itself.

    >>> shape_faults(np.array([[[0, 0], [4, 0], [4, 0], [0, 0]]], float))
    [Fault(cell=0, what='has no area (4 x 0 px): draw it again or delete it')]
    """
    if len(quads) > _MOST_CELLS:
        return [Fault(-1, f"has {len(quads):,} cells, more than {_MOST_CELLS:,}: cut the picture")]
    finite = np.isfinite(quads).all(axis=(1, 2))
    faults = [
        Fault(int(cell), "its place is no number: draw it again or delete it") for cell in np.flatnonzero(~finite)
    ]
    sides = np.roll(quads, -1, axis=1) - quads
    following = np.roll(sides, -1, axis=1)
    turns = sides[..., 0] * following[..., 1] - sides[..., 1] * following[..., 0]
    areas = np.abs(turns).sum(axis=1) / 4
    hulls = quads_to_boxes(quads)
    spans = hulls[:, 2:] - hulls[:, :2]
    flat = finite & ((areas < 1) | (spans.min(axis=1, initial=np.inf) < 1))
    for cell in np.flatnonzero(flat):
        width, height = spans[cell]
        faults.append(Fault(int(cell), f"has no area ({width:g} x {height:g} px): draw it again or delete it"))
    sound = finite & ~flat
    # A bend of a corner inwards by less than a hundredth of the cell is rounding.
    least = -0.02 * areas[:, None]
    reversed_order = sound & (turns <= -least).all(axis=1)
    crossing = sound & ~reversed_order & (turns < least).any(axis=1)
    order = "give the corners as top left, top right, bottom right, bottom left"
    faults += [Fault(int(cell), f"its corners run backwards: {order}") for cell in np.flatnonzero(reversed_order)]
    faults += [Fault(int(cell), f"its sides cross or bend inwards: {order}") for cell in np.flatnonzero(crossing)]
    good = np.flatnonzero(sound & ~reversed_order & ~crossing)
    return faults + [
        Fault(int(cell), f"begins at another corner than its neighbours: {order}") for cell in _turned(quads, good)
    ]


def _turned(quads: Floats, good: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the cells whose top side runs across those of the others."""
    if len(good) < 3:
        return good[:0]
    tops = quads[good, 1] - quads[good, 0] + quads[good, 2] - quads[good, 3]
    directions = np.arctan2(tops[:, 1], tops[:, 0])
    quarters = np.rint(directions / (np.pi / 2)).astype(np.int64) % 4
    usual = np.bincount(quarters, minlength=4).argmax()
    away = np.abs(np.angle(np.exp(1j * (directions - usual * np.pi / 2))))
    return good[away > np.pi / 3]


def outside_faults(quads: Floats, size_wh: tuple[int, int]) -> list[Fault]:
    """Find cells of which more lies outside the picture than an uncertain stroke."""
    boxes = quads_to_boxes(quads)
    spans = np.maximum(boxes[:, 2:] - boxes[:, :2], 1)
    beyond = np.maximum(np.maximum(-boxes[:, :2], boxes[:, 2:] - np.array(size_wh)), 0)
    far = (beyond > np.maximum(_OUTSIDE * spans, 1.5)).any(axis=1)
    width, height = size_wh
    return [
        Fault(
            int(cell),
            f"reaches {beyond[cell].max():.0f} px outside the picture ({width} x {height} px): correct it, "
            "or the picture is another one than was labelled",
        )
        for cell in np.flatnonzero(far)
    ]


def overlap_faults(quads: Floats) -> list[Fault]:
    """Find cells that are there twice, or lie over others: each once, and not many more than a person would mend.

    >>> overlap_faults(np.repeat([[[0, 0], [4, 0], [4, 4], [0, 4]]], 2, 0).astype(float))
    [Fault(cell=1, what='is there twice: delete one')]
    """
    # Corners out of order cross: such a polygon has no intersection with others.
    polygons, hulls = shapely.make_valid(shapely.polygons(quads)), quads_to_boxes(quads)
    areas = shapely.area(polygons)
    faults: dict[int, Fault] = {}
    count = 0
    for first, second in _pairs(polygons):
        count += len(first)
        smaller = np.minimum(areas[first], areas[second])
        near = (first < second) & (_shared_areas(hulls, first, second) > _OVERLAP * smaller)
        a, b, smaller = first[near], second[near], smaller[near]
        shared = shapely.area(shapely.intersection(polygons[a], polygons[b]))
        doubled = shared >= _DOUBLE * (areas[a] + areas[b] - shared)
        covered = shared / smaller
        for pair in np.flatnonzero(doubled | (covered > _OVERLAP)):
            over = f"lies over cell number {a[pair] + 1} of the picture by {covered[pair]:.0%}: part them"
            what = "is there twice: delete one" if doubled[pair] else over
            faults.setdefault(int(b[pair]), Fault(int(b[pair]), what))
        if len(faults) > _MOST_FAULTS or count > _MOST_PAIRS:
            more = f"has {len(faults):,} cells over others so far, and not all were compared: mend these first"
            return [Fault(-1, more), *sorted(faults.values())[:_MOST_FAULTS]]
    return sorted(faults.values())


def _pairs(polygons: NDArray[np.object_]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the pairs that touch, both ways, some at a time: all of them may be a billion."""
    tree = shapely.STRtree(polygons)
    for start in range(0, len(polygons), _AT_ONCE):
        first, second = tree.query(polygons[start : start + _AT_ONCE], predicate="intersects")
        for at in range(0, len(first), _AT_ONCE**2):
            part = slice(at, at + _AT_ONCE**2)
            yield first[part] + start, second[part]


def _shared_areas(boxes: Floats, a: NDArray[np.intp], b: NDArray[np.intp]) -> Floats:
    """The area that the upright boxes of two cells share: they themselves share no more."""
    low, high = np.maximum(boxes[a, :2], boxes[b, :2]), np.minimum(boxes[a, 2:], boxes[b, 2:])
    return np.asarray(np.maximum(high - low, 0).prod(axis=1))


def outlines_texts(quads: Floats) -> bool:
    """Return whether cells lie apart as texts do: whole cells share their edges with their neighbours."""
    if len(quads) < 6 or not np.isfinite(quads).all():
        return False
    boxes = quads_to_boxes(quads)
    heights = boxes[:, 3] - boxes[:, 1]
    # Half of the nearness on each side: two cells touch where their widened boxes do.
    reach = np.maximum(_NEAR * heights / 2, 0.75)
    wide = shapely.box(boxes[:, 0] - reach, boxes[:, 1] - reach, boxes[:, 2] + reach, boxes[:, 3] + reach)
    touching = np.zeros(len(quads), bool)
    count = 0
    for first, second in _pairs(wide):
        count += len(first)
        for a, b in ((first, second), (second, first)):
            touching[a[_share_band(boxes, a, b, axis=1) & (a != b)]] = True
        if touching.mean() >= _TOUCHING or count > _MOST_PAIRS:
            return False
    return True


def _share_band(boxes: Floats, a: NDArray[np.intp], b: NDArray[np.intp], axis: int) -> NDArray[np.bool_]:
    """Whether two boxes stand side by side: lines of text touch above and below even where cells do not."""
    low = np.maximum(boxes[a, axis], boxes[b, axis])
    high = np.minimum(boxes[a, axis + 2], boxes[b, axis + 2])
    return np.asarray(high - low > 0.5 * (boxes[a, axis + 2] - boxes[a, axis]))


def _check_set(summary: Summary, n_apart: int) -> Iterator[str]:
    if n_apart > 0.3 * len(summary.cells):
        yield (
            f"in {n_apart} of {len(summary.cells)} the boxes lie apart, as boxes around texts do. A network needs "
            "whole cells, which share their edges: from rule to rule, or where there is none, to the middle of the "
            "gap, empty cells too. Trained on boxes around texts it detects texts, and the grid is built worse"
        )
    if set(summary.splits) <= {""}:
        yield "they have no split: a validation on pictures of the training says too much; convert with --split 0.9"
    elif "train" in summary.splits and len(summary.splits) == 1:
        yield "all are for training: keep some for the validation"
