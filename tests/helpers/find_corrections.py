"""The corrections that lead from a table as it was found to the table as it is: what a person would have to do.

Lines of both tables are matched by their place in the picture. Rows and columns outside are added or removed, lines
that are too many taken out, those that stand wrong moved, and missing ones drawn. Then spans are split and merged,
and texts and headers set. It is no shortest way, but one that a person would go.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from postprocess.arrays import Floats
from postprocess.cell import Cell
from postprocess.editing import steps as editing
from postprocess.editing.axes import ACROSS, SIDES, Axis, cell_sides, cell_span, check, line_count
from postprocess.editing.placing import table_lines, tidy
from postprocess.geometry.boxes import quads_to_array
from postprocess.geometry.frame import Frame, quads_to_frame
from postprocess.meaning.roles import stub_width
from postprocess.table import Table

Step = dict[str, Any]
"""``do``, the name of a function of `postprocess.editing.steps`, and its arguments by name, as JSON holds them."""

_NEAR = 0.1
"""Lines closer to their place than this stay there, as a share of the smallest row or column."""


def find_corrections(found: Table, true: Table, *, texts: bool = True, headers: bool = True) -> list[Step]:
    """Find the steps that make one table of another.

    Args:
        found: With a place for each cell (`postprocess.editing.placing.complete`).
        true: The same, of the same picture. A line on which none of its cells ends is none, see
            `postprocess.editing.placing.tidy`.
        texts: Whether texts are corrected; white space alone is no difference.
        headers: Whether headers are corrected.

    Returns:
        The steps in their order; done one after the other they give ``found`` the grid, the spans, the texts and
        headers of ``true``, and its lines to a tenth of the lowest row.

    Raises:
        TableError: A table is empty, a cell has no place, or a row is too thin for a line to be drawn.

    >>> from postprocess.editing.placing import complete
    >>> found = complete(Table.from_texts([["Name", "Age Town"]]), (60, 20))
    >>> true = complete(Table.from_texts([["Name", "Age", "Town"]]), (60, 20))
    >>> for step in find_corrections(found, true):
    ...     print(step)
    {'do': 'move_line', 'axis': 'col', 'line': 1, 'offset': -10.0}
    {'do': 'divide', 'axis': 'col', 'index': 1, 'fraction': 0.5}
    {'do': 'set_text', 'row': 0, 'col': 1, 'text': 'Age'}
    {'do': 'set_text', 'row': 0, 'col': 2, 'text': 'Town'}
    """
    check(len(found) > 0 and len(true) > 0, "a table without cells cannot be corrected or be the aim of corrections")
    check(all(cell.quad for table in (found, true) for cell in table.cells), "a cell has no place: complete() gives it")
    person = Person(found, true)
    for axis in SIDES:
        person.correct_lines(axis)
    person.correct_spans()
    for axis in SIDES:
        person.place_lines(axis, person.lines[axis].tolist())
        person.place_borders(axis)
    if texts:
        person.correct_texts()
    if headers:
        person.correct_headers()
    return person.steps


def match_lines(found: Floats, true: Floats) -> list[tuple[int, int]]:
    """Match lines that are each other's nearest; of what is left between two of them, the first ones in their order.

    Moving a line is one step, taking it out and drawing another are two.

    Args:
        found: ``(n,)`` increasing positions, one or more.
        true: ``(m,)`` the same.

    Returns:
        Indices of found and true lines, both increasing; at either end one of the two has no line left.

    >>> match_lines(np.array([0.0, 9.0, 14.0, 30.0]), np.array([0.0, 10.0, 20.0, 30.0, 40.0]))
    [(0, 0), (1, 1), (2, 2), (3, 3)]
    """
    distance = np.abs(found[:, None] - true[None, :])
    nearest = distance.argmin(axis=1)
    mutual = [(f, int(t)) for f, t in enumerate(nearest) if distance[:, t].argmin() == f]
    first, last = mutual[0], mutual[-1]
    ahead = [(first[0] - step, first[1] - step) for step in range(min(first), 0, -1)]
    behind = min(len(found) - last[0], len(true) - last[1])
    between = [
        (f + step, t + step)
        for (f, t), (next_f, next_t) in pairwise(mutual)
        for step in range(min(next_f - f, next_t - t))
    ]
    return [*ahead, *between, *((last[0] + step, last[1] + step) for step in range(behind))]


class Person:
    """Does the steps and writes them down.

    Args:
        found: The table as it is now.
        true: As it shall be.
    """

    def __init__(self, found: Table, true: Table) -> None:
        self.table, self.true = found, tidy(true)
        self.steps: list[Step] = []
        self.frame: Frame = quads_to_frame(quads_to_array([cell.quad for cell in true.cells if cell.quad]))
        self.lines: dict[Axis, Floats] = {axis: table_lines(self.true, axis, self.frame) for axis in SIDES}
        self.near = _NEAR * min(float(np.diff(lines).min()) for lines in self.lines.values())

    def do(self, name: str, **arguments: Any) -> None:
        """Do a step; one that changes nothing is none."""
        changed = getattr(editing, name)(self.table, **arguments)
        if changed != self.table:
            self.table = changed
            self.steps.append({"do": name, **arguments})

    def correct_lines(self, axis: Axis) -> None:
        """Give the table as many lines as the true one has, in their places."""
        true = self.lines[axis]
        places: list[float | None] = [None] * (line_count(self.table, axis) + 1)
        pairs = match_lines(self.found_lines(axis), true)
        for found_line, true_line in pairs:
            places[found_line] = float(true[true_line])
        for place in true[: pairs[0][1]][::-1].tolist():
            self.do("extend", axis=axis, at_end=False)
            places.insert(0, place)
        for place in true[pairs[-1][1] + 1 :].tolist():
            self.do("extend", axis=axis, at_end=True)
            places.append(place)
        kept = self._remove_lines(axis, places)
        self.place_lines(axis, kept)
        for place in true.tolist():
            if place not in kept:
                self._draw_line(axis, kept, place)

    def found_lines(self, axis: Axis) -> Floats:
        """Where the lines of the table are, by which they are matched."""
        return table_lines(self.table, axis, self.frame)

    def _remove_lines(self, axis: Axis, places: list[float | None]) -> list[float]:
        """Take out the lines that have no place; outside, the rows or columns beyond those that have one."""
        while places[0] is None:
            self.do("remove", axis=axis, index=0)
            del places[0]
        while places[-1] is None:
            self.do("remove", axis=axis, index=len(places) - 2)
            del places[-1]
        for line in range(len(places) - 1, 0, -1):
            if places[line] is None:
                self.do("remove_line", axis=axis, line=line)
        return [place for place in places if place is not None]

    def place_lines(self, axis: Axis, places: list[float]) -> None:
        """Move lines to their places: none is held up by one that is moved after it."""
        offsets = np.array(places) - table_lines(self.table, axis, self.frame)
        down = [line for line in range(len(places))[::-1] if offsets[line] > self.near]
        up = [line for line in range(len(places)) if offsets[line] < -self.near]
        for line in down + up:
            self.do("move_line", axis=axis, line=line, offset=round(float(offsets[line]), 2))

    def split_if_covered(self, axis: Axis, index: int) -> None:
        """Split a cell of a row (or column) that all its cells cover with others: no line can be drawn through it."""
        if (index, index + 1) not in [cell_span(cell, axis) for cell in self.table.cells]:
            row, col = (index, 0) if axis == "row" else (0, index)
            self.do("split", row=row, col=col)

    def _draw_line(self, axis: Axis, places: list[float], place: float) -> None:
        """Draw a line in its place; where all cells cover more than that row, one is split before."""
        index = bisect(places, place) - 1
        self.split_if_covered(axis, index)
        fraction = (place - places[index]) / (places[index + 1] - places[index])
        self.do("divide", axis=axis, index=index, fraction=round(fraction, 4))
        places.insert(index + 1, place)

    def correct_spans(self) -> None:
        """Split cells that belong to several true ones, then merge what is one true cell."""
        for cell in self.table.cells:
            if len(np.unique(_part(self.true, cell))) > 1:
                self.do("split", row=cell.row, col=cell.col)
        for cell in self.true.cells:
            if len(np.unique(_part(self.table, cell))) > 1:
                self.do("merge", row=cell.row, col=cell.col, end_row=cell.end_row, end_col=cell.end_col)

    def place_borders(self, axis: Axis) -> None:
        """Move the borders of single cells that stand off their line."""
        for line, place in enumerate(self.lines[axis].tolist()):
            for at in range(line_count(self.table, ACROSS[axis])):
                sides = list(self._sides(axis, line, at))
                offset = place - float(np.mean(sides)) if sides else 0.0
                if abs(offset) > self.near:
                    self.do("move_line", axis=axis, line=line, offset=round(offset, 2), at=at)

    def _sides(self, axis: Axis, line: int, at: int) -> Iterator[float]:
        """Positions of the sides that end at a line beside one column, or row."""
        for index in (line - 1, line):
            if 0 <= index < line_count(self.table, axis):
                cell = self.table[(index, at) if axis == "row" else (at, index)]
                if line in cell_span(cell, axis):
                    side = cell_sides(cell, axis)[cell_span(cell, axis).index(line)]
                    yield float(self.frame.to_upright(side).mean(axis=0)[int(axis == "row")])

    def correct_texts(self) -> None:
        """Type the texts that differ."""
        for cell in self.true.cells:
            if self.table[cell.row, cell.col].text.split() != cell.text.split():
                self.do("set_text", row=cell.row, col=cell.col, text=cell.text)

    def correct_headers(self) -> None:
        """Say how many rows and columns are headers where that mends more than one cell, then mark single cells."""
        rows, cols = self.true.n_header_rows, stub_width(self.true)
        at_once = editing.set_headers(self.table, rows, cols)
        if self._n_headers_wrong(at_once) + 1 < self._n_headers_wrong(self.table):
            self.do("set_headers", n_rows=rows, n_cols=cols)
        for cell in self.true.cells:
            if self.table[cell.row, cell.col].header != cell.header:
                self.do("set_header", row=cell.row, col=cell.col, kind=cell.header)

    def _n_headers_wrong(self, table: Table) -> int:
        return sum(table[cell.row, cell.col].header != cell.header for cell in self.true.cells)


def _part(table: Table, cell: Cell) -> Any:
    """Indices of the cells of a table in the slots of a cell."""
    return table.owner[cell.row : cell.end_row, cell.col : cell.end_col]
