"""Tables in the cells of tables: where they are, and how the finished ones are put into their cells.

An inner table is told by its frame. The free space of its cell goes round it, on all sides or on all but one, while a
sub-grid of a form shares its borders with the cells around it. So it is sought among the slots that no wall separates:
where they form a ring, or a ring that one side closes, around a rectangle of other cells, that is a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import shapely

from postprocess.arrays import Flags, Floats, Ints
from postprocess.candidates.candidate import Candidate, area_to_candidate
from postprocess.candidates.scene import Scene
from postprocess.cell import Cell
from postprocess.geometry.boxes import boxes_to_quads, connected, quads_to_array, quads_to_boxes, quads_to_polygons
from postprocess.geometry.lattice import Lattice, rulings_to_areas, rulings_to_lattices
from postprocess.geometry.rulings import Rulings
from postprocess.table import Table, tables_in
from postprocess.word import Words

_LEAST = 2
"""Rows and columns of an inner table, and of the one around it."""
_FILLED = 0.5
"""Share of the cells of an inner table that hold words: the grid of a chart holds none."""
_ENCLOSED = 0.95
"""Rulings enclose the cells of an inner table this well."""
_HELD = 0.9
"""Share of an inner table that lies in its cell."""
_NEAREST = 0.25
"""Parallel lines closer than this, in text heights, are one line; the frame of an inner table is further away."""
_APART = 3.0
"""The same in thicknesses of a line; the smaller one counts."""
_THIN = 0.6
"""What is lower or narrower than this, in text heights, is no cell: ground between lines looks like a line."""
_SHARED = 0.3
"""Share of an inner table that lies in its cell at least, where no cell holds it and it is known that one does."""
_RIM = 0.2
"""Of the space around an inner table, in text heights, this much goes with it."""


@dataclass(frozen=True, eq=False)
class InnerTable:
    """A table in a cell, as rulings show it.

    Args:
        candidate: Its cells and words, in pixels of the picture.
        quad: ``(4, 2)`` what is to be left out of the picture to see the table around it without this one, pixels.
        is_deep: Whether the table around it is an inner table itself.
    """

    candidate: Candidate
    quad: Floats
    is_deep: bool = False


@dataclass(frozen=True, slots=True)
class _Hole:
    """What a cell's free space goes round, in the upright frame.

    Args:
        box_xyxy: ``(4,)`` from line to line.
        space: ``(4,)`` free space left, above, right and below; 0 where it shares a border with its cell.
    """

    box_xyxy: Floats
    space: Floats

    @property
    def area(self) -> float:
        """Square pixels."""
        width, height = (self.box_xyxy[2:] - self.box_xyxy[:2]).tolist()
        return float(width * height)

    def holds(self, points: Floats) -> Flags:
        """``(N,)`` which of ``(N, 2)`` points lie in it."""
        low, high = self.box_xyxy[:2], self.box_xyxy[2:]
        return np.asarray(((points >= low) & (points <= high)).all(axis=1), np.bool_)


def find_inner_tables(picture: Scene) -> list[InnerTable]:
    """Find the tables that stand in cells of other tables.

    Args:
        picture: All words and rulings of the picture.

    >>> from postprocess.geometry.boxes import as_boxes
    >>> nothing = Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    >>> find_inner_tables(Scene([], nothing))
    []
    """
    rulings, words = picture.rulings, picture.words
    places = rulings.to_upright(words.middles)
    found: list[tuple[_Hole, InnerTable]] = []
    # The smallest first: what is within a hole is no part of the table there.
    for hole in sorted(_holes(rulings) if len(words) else [], key=lambda hole: hole.area):
        within = [number for number, (each, _) in enumerate(found) if hole.holds(each.box_xyxy.reshape(2, 2)).all()]
        inside = hole.holds(places)
        for number in within:
            inside &= ~found[number][0].holds(places)
        own = _without(_clipped(rulings, hole.box_xyxy), [found[number][1] for number in within])
        candidate = _hole_to_candidate(own, words.select(inside))
        if candidate is not None:
            for number in within:
                found[number] = found[number][0], replace(found[number][1], is_deep=True)
            quad = rulings.to_picture(boxes_to_quads([_outline(hole, rulings)]))[0]
            found.append((hole, InnerTable(candidate, quad)))
    return [table for _, table in reversed(found)]


def _hole_to_candidate(rulings: Rulings, words: Words) -> Candidate | None:
    """The table that the rulings in a hole make; None where they make none."""
    areas = rulings_to_areas(rulings, whole=True)
    if not areas or min(len(areas[0].xs), len(areas[0].ys)) <= _LEAST or areas[0].scores.mean() < _ENCLOSED:
        return None
    candidate = area_to_candidate(areas[0], Scene(words, rulings))
    holders = np.unique(candidate.layout.cells_at(words.middles))
    return candidate if (holders >= 0).sum() >= _FILLED * len(candidate.quads) else None


def _outline(hole: _Hole, rulings: Rulings) -> Floats:
    """``(4,)`` a hole with its frame, but not with the border that it shares with its cell."""
    rim = np.where(hole.space > 0, np.minimum(_RIM * rulings.text_height + _thickness(rulings) / 2, hole.space / 2), 0)
    shared = np.where(hole.space > 0, 0, -2 * _thickness(rulings))
    return np.asarray(hole.box_xyxy + (rim + shared) * np.array([-1, -1, 1, 1]), np.float64)


def _thickness(rulings: Rulings) -> float:
    heights = rulings.horizontal[:, 3] - rulings.horizontal[:, 1]
    widths = rulings.vertical[:, 2] - rulings.vertical[:, 0]
    both = np.concatenate([heights, widths])
    return float(np.median(both)) if len(both) else 0.0


def _clipped(rulings: Rulings, box_xyxy: Floats) -> Rulings:
    """The rulings in a box, cut off where they leave it."""
    reach = box_xyxy + _RIM * rulings.text_height * np.array([-1, -1, 1, 1])

    def clip(segments: Floats, axis: int) -> Floats:
        middle = (segments[:, 1 - axis] + segments[:, 3 - axis]) / 2
        cut = segments.copy()
        cut[:, axis] = np.maximum(cut[:, axis], box_xyxy[axis])
        cut[:, axis + 2] = np.minimum(cut[:, axis + 2], box_xyxy[axis + 2])
        is_inside = (middle >= reach[1 - axis]) & (middle <= reach[3 - axis])
        kept: Floats = cut[is_inside & (cut[:, axis + 2] > cut[:, axis])]
        return kept

    return replace(rulings, horizontal=clip(rulings.horizontal, 0), vertical=clip(rulings.vertical, 1))


def _without(rulings: Rulings, inner: Sequence[InnerTable]) -> Rulings:
    """The rulings without those of inner tables."""
    if not inner:
        return rulings
    boxes = quads_to_boxes(rulings.to_upright(np.array([each.quad for each in inner])))

    def outside(segments: Floats) -> Floats:
        middles = (segments[:, None, :2] + segments[:, None, 2:]) / 2
        is_outside = ((middles < boxes[:, :2]) | (middles > boxes[:, 2:])).any(axis=2)
        kept: Floats = segments[np.asarray(is_outside).all(axis=1)]
        return kept

    return replace(rulings, horizontal=outside(rulings.horizontal), vertical=outside(rulings.vertical))


def _holes(rulings: Rulings) -> Iterator[_Hole]:
    nearest = min(_NEAREST * rulings.text_height, _APART * _thickness(rulings))
    for lattice in rulings_to_lattices(rulings, nearest):
        # A table in a table has three lines of its own across and down, beside two of the one around it.
        if min(len(lattice.xs), len(lattice.ys)) > 2 * _LEAST:
            yield from _holes_of(lattice, _THIN * rulings.text_height)


def _holes_of(lattice: Lattice, thinnest: float) -> Iterator[_Hole]:
    """Rectangles of cells that the free slots of one cell surround."""
    label = lattice.free_slots()
    rows, cols = np.indices(label.shape)
    n_cells = int(label.max()) + 1
    order = np.argsort(label, axis=None, kind="stable")
    starts = np.searchsorted(label.ravel()[order], np.arange(n_cells))
    sizes = np.bincount(label.ravel())
    top, left = (np.minimum.reduceat(each.ravel()[order], starts) for each in (rows, cols))
    bottom, right = (np.maximum.reduceat(each.ravel()[order], starts) + 1 for each in (rows, cols))
    area = (bottom - top) * (right - left)
    height, width = label.shape
    # Of what is not within, some cell is no row over the whole width, and some no column over the whole height.
    is_part = np.stack([right - left < width, bottom - top < height])
    is_thin = np.minimum(lattice.xs[right] - lattice.xs[left], lattice.ys[bottom] - lattice.ys[top]) < thinnest
    for cell in np.flatnonzero(sizes < area).tolist():
        y0, x0, y1, x1 = top[cell], left[cell], bottom[cell], right[cell]
        within = (top >= y0) & (left >= x0) & (bottom <= y1) & (right <= x1)
        if not (is_part & ~within).any(axis=1).all() or (~within).sum() < 2 * _LEAST - 1:
            continue
        block = label[y0:y1, x0:x1]
        parts = list(_parts(~_free(block, cell, is_thin)))
        if not within[np.unique(block)].all() or any(_n_shared(part, block.shape) > 1 for part in parts):
            continue
        for a, b, c, d in parts:
            inside = np.unique(block[a:c, b:d])
            if len(inside) >= _LEAST * _LEAST and cell not in inside:
                box = np.array([lattice.xs[x0 + b], lattice.ys[y0 + a], lattice.xs[x0 + d], lattice.ys[y0 + c]])
                around = np.array([lattice.xs[x0], lattice.ys[y0], lattice.xs[x1], lattice.ys[y1]])
                yield _Hole(box, np.abs(box - around))


def _free(block: Ints, cell: int, is_thin: Flags) -> Flags:
    """Which slots are free space of a cell, with the thin ones beside it."""
    free = np.pad(block == cell, 1)
    beside = free[:-2, 1:-1] | free[2:, 1:-1] | free[1:-1, :-2] | free[1:-1, 2:]
    return np.isin(block, [cell, *np.unique(block[beside & is_thin[block]])])


def _parts(taken: Flags) -> Iterator[tuple[int, int, int, int]]:
    """First row, first column, end row and end column of each connected part of some slots."""
    slots = np.arange(taken.size).reshape(taken.shape)
    down, across = taken[1:] & taken[:-1], taken[:, 1:] & taken[:, :-1]
    part = connected(
        taken.size,
        np.concatenate([slots[:-1][down], slots[:, :-1][across]]),
        np.concatenate([slots[1:][down], slots[:, 1:][across]]),
    ).reshape(taken.shape)
    for number in np.unique(part[taken]):
        rows, cols = np.nonzero(part == number)
        yield int(rows.min()), int(cols.min()), int(rows.max()) + 1, int(cols.max()) + 1


def _n_shared(part: tuple[int, int, int, int], shape: tuple[int, ...]) -> int:
    """How many sides of its cell a part lies at."""
    top, left, bottom, right = part
    return (top == 0) + (left == 0) + (bottom == shape[0]) + (right == shape[1])


def are_held(inner: Sequence[InnerTable], around: Sequence[Candidate]) -> Flags:
    """``(N,)`` which inner tables lie in one cell of a table with several rows and columns, or within such a one.

    Args:
        inner: What was found.
        around: The tables of the picture without them.
    """
    cells = [quad for each in around if min(each.layout.owner.shape) >= _LEAST for quad in each.layout.quads]
    quads = np.array(cells).reshape(-1, 4, 2)
    held = np.array([not each.is_deep and _holder(each.candidate.hull, quads) >= 0 for each in inner], bool)
    outlines = shapely.union_all(quads_to_polygons(np.array([each.quad for each in inner]).reshape(-1, 4, 2))[held])
    within = [each.is_deep and bool(shapely.intersects(outlines, each.candidate.hull.centroid)) for each in inner]
    return np.asarray(held | np.array(within, bool), np.bool_)


def _holder(shape: shapely.Geometry, quads: Floats, least: float = _HELD) -> int:
    """The smallest cell that holds a shape, else the one that shares most of it, or -1."""
    areas = quads_to_polygons(quads)
    sizes = shapely.area(areas)
    shared = shapely.area(shapely.intersection(areas, shape)) / max(shapely.area(shape), 1e-9)
    holds = np.flatnonzero(shared >= _HELD)
    if len(holds):
        return int(holds[sizes[holds].argmin()])
    return int(shared.argmax()) if shared.max(initial=0.0) >= least else -1


def nest_tables(tables: Sequence[Table], inner: Sequence[Table]) -> list[Table]:
    """Put inner tables into the cells that hold them; one that no cell holds follows the others.

    Args:
        tables: Tables of one picture, with quads.
        inner: Tables in their cells, or in the cells of one another.

    >>> square = ((0, 0), (90, 0), (90, 90), (0, 90))
    >>> small = Table([Cell(0, 0, text="7", quad=((20, 20), (50, 20), (50, 40), (20, 40)))])
    >>> [outer] = nest_tables([Table([Cell(0, 0, quad=square)])], [small])
    >>> tables_in(outer[0, 0])[0][0, 0].text
    '7'
    """
    if not inner:
        return list(tables)
    outlines = [shapely.convex_hull(shapely.multipoints(each.quads.reshape(-1, 2))) for each in inner]
    order = np.argsort(shapely.area(outlines), kind="stable").tolist()
    all_tables = [*tables, *(inner[index] for index in order)]
    alone = set(range(len(tables)))
    for place, index in enumerate(order, len(tables)):
        # Smaller tables have found their cells by now and hold no larger one.
        others = [number for number in range(len(all_tables)) if number < len(tables) or number > place]
        cells = [(number, cell) for number in others for cell in all_tables[number].cells if cell.quad is not None]
        quads = quads_to_array([cell.quad for _, cell in cells if cell.quad is not None])
        # A network may have outlined less of the cell than its row and column have.
        holder = _holder(outlines[index], quads, _SHARED)
        if holder < 0:
            alone.add(place)
            continue
        number, cell = cells[holder]
        all_tables[number] = _with_inner(all_tables[number], cell, all_tables[place])
    return [all_tables[number] for number in sorted(alone)]


def _with_inner(table: Table, holder: Cell, inner: Table) -> Table:
    held = sorted((*tables_in(holder), inner), key=_place)
    cells = [replace(cell, tables=tuple(held)) if cell is holder else cell for cell in table.cells]
    return replace(table, cells=cells)


def _place(table: Table) -> tuple[float, float]:
    """Top and left side in the picture."""
    left, top = table.quads.reshape(-1, 2).min(axis=0).tolist()
    return top, left
