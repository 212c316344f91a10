"""From relations of neighbouring cells to a grid of rows and columns, and back.

The source says for each cell which ones are next to it at the left, the right, the top and the
bottom, empty slots skipped; it does not say in which row and column a cell is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Neighbours = Mapping[str, frozenset[int]]
"""By ``L``, ``R``, ``T``, ``B``: the numbers of the cells on that side."""

_STEPS = {"L": (0, -1), "R": (0, 1), "T": (-1, 0), "B": (1, 0)}


def relations_to_grid(boxes: NDArray[np.float64], neighbours: Sequence[Neighbours]) -> NDArray[np.int64] | None:
    """Find the grid that has exactly these relations.

    Args:
        boxes: ``(N, 4)`` text boxes in pixels.
        neighbours: Of each of the N cells.

    Returns:
        ``(N, 4)`` row, column, rowspan, colspan; None where no such grid is found.
    """
    if not len(boxes):
        return None
    columns = _bands(boxes[:, [0, 2]], [(each["T"], each["B"]) for each in neighbours])
    rows = _bands(boxes[:, [1, 3]], [(each["L"], each["R"]) for each in neighbours])
    if columns is None or rows is None:
        return None
    grid = np.stack([rows[:, 0], columns[:, 0], rows[:, 1], columns[:, 1]], axis=1)
    found = grid_to_relations(grid)
    if found is None or any(found[k][side] != each[side] for k, each in enumerate(neighbours) for side in _STEPS):
        return None
    return grid


def grid_to_relations(grid: NDArray[np.int64]) -> list[dict[str, frozenset[int]]] | None:
    """Return the neighbours of each cell; None where two cells share a slot.

    >>> relations = grid_to_relations(np.array([[0, 0, 1, 2], [1, 0, 1, 1], [1, 1, 1, 1]]))
    >>> sorted(relations[0]["B"]), sorted(relations[2]["T"]), sorted(relations[2]["L"])
    ([1, 2], [0], [1])
    """
    owners = np.full((int((grid[:, 0] + grid[:, 2]).max(initial=0)), int((grid[:, 1] + grid[:, 3]).max(initial=0))), -1)
    for number, (row, col, rowspan, colspan) in enumerate(grid.tolist()):
        slots = owners[row : row + rowspan, col : col + colspan]
        if (slots >= 0).any():
            return None
        slots[...] = number
    relations: list[dict[str, set[int]]] = [{side: set() for side in _STEPS} for _ in grid]
    for lines, before, after in ((owners, "L", "R"), (owners.T, "T", "B")):
        for line in lines:
            filled = line[line >= 0].tolist()
            for a, b in pairwise(filled):
                if a != b:
                    relations[a][after].add(b)
                    relations[b][before].add(a)
    return [{side: frozenset(found) for side, found in each.items()} for each in relations]


def _bands(extents: NDArray[np.float64], links: Sequence[tuple[frozenset[int], frozenset[int]]]) -> NDArray | None:
    """Columns of cells from their x extents and their neighbours above and below; rows alike.

    Returns:
        ``(N, 2)`` first band and number of bands of each cell.
    """
    count = len(extents)
    spanning = {k for k in range(count) if max(len(side) for side in links[k]) > 1}
    groups = _chains(count, spanning, links)
    # A cell that hangs on a spanning one alone may span as well: its place decides.
    loose = [group[0] for group in groups if len(group) == 1 and any(spanning & side for side in links[group[0]])]
    groups = _merge([group for group in groups if group[0] not in loose], extents)
    for k in loose:
        covered = [group for group in groups if _overlap(extents[k], _core(group, extents)) > 0.5]
        if len(covered) == 1:
            covered[0].append(k)
        elif covered:
            spanning.add(k)
        else:
            groups.append([k])
    groups.sort(key=lambda group: float(extents[group].mean()))
    members = {k: {number} for number, group in enumerate(groups) for k in group}
    if not _resolve(members, spanning, links, groups, extents):
        return None
    return np.array([[min(members[k]), max(members[k]) - min(members[k]) + 1] for k in range(count)])


def _chains(count: int, spanning: set[int], links: Sequence[tuple[frozenset[int], frozenset[int]]]) -> list[list[int]]:
    """Cells that do not span, joined along their links."""
    parent = list(range(count))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = k = parent[parent[k]]
        return k

    for k in range(count):
        for other in (*links[k][0], *links[k][1]):
            if k not in spanning and other not in spanning:
                parent[root(k)] = root(other)
    groups: dict[int, list[int]] = {}
    for k in range(count):
        if k not in spanning:
            groups.setdefault(root(k), []).append(k)
    return list(groups.values())


def _merge(groups: list[list[int]], extents: NDArray[np.float64]) -> list[list[int]]:
    """Join chains that a spanning cell has torn: those that lie above one another. The longest come first."""
    merged: list[list[int]] = []
    for group in sorted(groups, key=len, reverse=True):
        best = max(merged, key=lambda other: _overlap(_core(group, extents), _core(other, extents)), default=None)
        if best is not None and _overlap(_core(group, extents), _core(best, extents)) > 0.5:
            best.extend(group)
        else:
            merged.append(list(group))
    return merged


def _core(group: Sequence[int], extents: NDArray[np.float64]) -> NDArray[np.float64]:
    """``(2,)`` extent of a band, by the median of its cells."""
    return np.asarray(np.median(extents[list(group)], axis=0))


def _overlap(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Share of the shorter extent that lies in the other."""
    shorter = max(min(a[1] - a[0], b[1] - b[0]), 1e-9)
    return float((min(a[1], b[1]) - max(a[0], b[0])) / shorter)


def _resolve(
    members: dict[int, set[int]],
    spanning: set[int],
    links: Sequence[tuple[frozenset[int], frozenset[int]]],
    groups: list[list[int]],
    extents: NDArray[np.float64],
) -> bool:
    """Give each spanning cell the bands of the neighbours on its side of several; False where that fails."""
    open_cells = set(spanning)
    while open_cells:
        ready = {}
        for k in open_cells:
            sides = [side for side in links[k] if len(side) > 1]
            if sides and all(other in members for side in sides for other in side):
                ready[k] = set().union(*(members[other] for side in sides for other in side))
            elif not sides:  # loose: what it lies over
                ready[k] = {n for n, group in enumerate(groups) if _overlap(extents[k], _core(group, extents)) > 0.5}
        if not ready or not all(ready.values()):
            return False
        members.update(ready)
        open_cells -= set(ready)
    return True
