"""Table: the one truth that every export reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.cell import Caption, Cell, Confidence, Direction, Quad, rewrite
from postprocess.errors import TableError
from postprocess.geometry.boxes import array_to_quad, cells_to_quads

Move = Callable[[Floats], Floats]
"""Takes ``(N, 2)`` points of one picture to their places in another."""


@dataclass(frozen=True)
class Table:
    """A complete grid of cells: rectangular, without overlap, without holes.

    Args:
        cells: All cells, in any order; they are kept sorted by row and column.
        quad: Outline of the table in the picture, or None.
        confidence: How sure the table is, or None.
        title: What stands beside the table as its title, or None.
        notes: What stands beside it as notes, sources and units, in reading order.
        direction: ``"rtl"`` where column 0 is the rightmost one in the picture, as in Hebrew and Arabic.

    Raises:
        TableError: Two cells share a slot, or a slot belongs to no cell. The
            message says which.

    >>> table = Table([Cell(0, 0, colspan=2, text="Q1"), Cell(1, 0, text="7"), Cell(1, 1, text="8")])
    >>> table.shape
    (2, 2)
    >>> table[0, 1].text
    'Q1'
    >>> Table([]).shape
    (0, 0)
    >>> Table([Cell(0, 0, colspan=2), Cell(0, 1)])
    Traceback (most recent call last):
    postprocess.errors.TableError: cells at (0, 0) 1 x 2 and (0, 1) 1 x 1 share row 0, column 1
    """

    cells: Sequence[Cell]
    quad: Quad | None = None
    confidence: Confidence | None = None
    title: Caption | None = None
    notes: Sequence[Caption] = ()
    direction: Direction = "ltr"
    owner: NDArray[np.int32] = field(init=False, repr=False, compare=False)
    """``(n_rows, n_cols)`` index into ``cells`` of the cell that covers each slot."""

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.cells, key=attrgetter("row", "col")))
        object.__setattr__(self, "cells", ordered)
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "owner", _cells_to_owner(ordered))

    def __repr__(self) -> str:
        return f"Table({self.n_rows} rows x {self.n_cols} columns, {len(self.cells)} cells)"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from postprocess.preview import rows_to_html

        return rows_to_html(flatten(self).rows(), direction=self.direction)

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, position: tuple[int, int]) -> Cell:
        """Return the cell that covers (row, column)."""
        return self.cells[int(self.owner[position])]

    @property
    def shape(self) -> tuple[int, int]:
        """(number of rows, number of columns)."""
        n_rows, n_cols = self.owner.shape
        return n_rows, n_cols

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def n_cols(self) -> int:
        """Number of columns."""
        return self.shape[1]

    @cached_property
    def quads(self) -> Floats:
        """``(K, 4, 2)`` corners TL, TR, BR, BL in pixels of those ``cells`` that have a place, in their order.

        >>> Table([Cell(0, 0, quad=((0, 0), (2, 0), (2, 1), (0, 1))), Cell(0, 1)]).quads.tolist()
        [[[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]]
        """
        quads = cells_to_quads(self.cells)
        quads.flags.writeable = False
        return quads

    @property
    def captions(self) -> tuple[Caption, ...]:
        """The title, if there is one, and the notes: all text of the table that is in no cell.

        >>> [each.text for each in Table([], title=Caption("Table 1"), notes=[Caption("Source: survey")]).captions]
        ['Table 1', 'Source: survey']
        """
        return (*([self.title] if self.title else []), *self.notes)

    @property
    def n_header_rows(self) -> int:
        """Number of rows at the top in which every cell is a column header.

        >>> Table([Cell(0, 0, header="column"), Cell(1, 0)]).n_header_rows
        1
        """
        is_header = np.array([cell.header == "column" for cell in self.cells], bool)
        count = int(np.append(is_header[self.owner].all(axis=1), False).argmin())
        ends = [cell.end_row for cell in self.cells if cell.row < count]
        return count if not ends or max(ends) <= count else 0

    def rows(self) -> list[list[Cell]]:
        """Cells by the row in which they start, in the order of their columns; the order of HTML.

        >>> [[cell.text for cell in row] for row in Table([Cell(0, 0, text="a"), Cell(1, 0, text="b")]).rows()]
        [['a'], ['b']]
        """
        rows: list[list[Cell]] = [[] for _ in range(self.n_rows)]
        for cell in self.cells:
            rows[cell.row].append(cell)
        return rows

    def to_grid(self, *, fill_spans: bool = False) -> list[list[str]]:
        """Text by slot, ``n_rows`` lists of ``n_cols`` strings.

        A spanning cell writes its text in its first slot only, or in all of
        them with ``fill_spans``.

        >>> table = Table([Cell(0, 0, colspan=2, text="Q1")])
        >>> table.to_grid(), table.to_grid(fill_spans=True)
        ([['Q1', '']], [['Q1', 'Q1']])
        """
        grid = [[""] * self.n_cols for _ in range(self.n_rows)]
        for cell in self.cells:
            for row in range(cell.row, cell.end_row if fill_spans else cell.row + 1):
                for col in range(cell.col, cell.end_col if fill_spans else cell.col + 1):
                    grid[row][col] = cell.text
        return grid

    def with_cells(self, cells: Iterable[Cell]) -> Table:
        """Return the same table with other cells, about which nothing is known yet."""
        return Table(tuple(cells), self.quad, title=self.title, notes=self.notes, direction=self.direction)

    def mirrored(self) -> Table:
        """Return the same table with its columns counted from the other side, and so in the other direction.

        Places in the picture stay.

        >>> table = Table.from_texts([["12", "תה"]]).mirrored()
        >>> table.to_grid(), table.direction, table.mirrored().to_grid()
        ([['תה', '12']], 'rtl', [['12', 'תה']])
        """
        sure = self.confidence
        return replace(
            self,
            cells=rewrite(self.cells, col=[self.n_cols - cell.end_col for cell in self.cells]),
            confidence=sure and replace(sure, cols=sure.cols[::-1]),
            direction="ltr" if self.direction == "rtl" else "rtl",
        )

    def from_left(self) -> Table:
        """Return the table with its columns from left to right, as the picture shows them."""
        return self if self.direction == "ltr" else self.mirrored()

    def moved(self, move: Move | None) -> Table:
        """Return the same table at its place in another picture, with all that it holds.

        Args:
            move: From pixels of its picture to pixels of the other; None where its place there is not known.

        >>> Table([Cell(0, 0, quad=((0, 0), (2, 0), (2, 1), (0, 1)))]).moved(lambda points: points + 5)[0, 0].quad
        ((5.0, 5.0), (7.0, 5.0), (7.0, 6.0), (5.0, 6.0))
        """
        title, *notes = (each and replace(each, quad=move_quad(each.quad, move)) for each in (self.title, *self.notes))
        return replace(
            self,
            cells=[replace(move_inside(cell, move), quad=move_quad(cell.quad, move)) for cell in self.cells],
            quad=move_quad(self.quad, move),
            title=title,
            notes=[note for note in notes if note],
        )

    @staticmethod
    def from_texts(rows: Sequence[Sequence[str]]) -> Table:
        """Build a table without spans from rows of texts; short rows are filled.

        >>> Table.from_texts([["a", "b"], ["c"]]).to_grid()
        [['a', 'b'], ['c', '']]
        """
        width = max((len(row) for row in rows), default=0)
        return Table(
            [Cell(r, c, text=row[c] if c < len(row) else "") for r, row in enumerate(rows) for c in range(width)]
        )


def move_quad(quad: Quad | None, move: Move | None) -> Quad | None:
    """Return the corners at their places in another picture."""
    return None if quad is None or move is None else array_to_quad(move(np.asarray(quad, np.float64)))


def move_inside(cell: Cell, move: Move | None) -> Cell:
    """Return the cell with the tables and pictures in it at their places in another picture."""
    if not cell.tables and not cell.pictures:
        return cell
    pictures = tuple(replace(each, quad=move_quad(each.quad, move)) for each in cell.pictures)
    return replace(cell, tables=tuple(each.moved(move) for each in tables_in(cell)), pictures=pictures)


def tables_in(cell: Cell) -> tuple[Table, ...]:
    """The tables that stand in a cell, from top to bottom.

    >>> tables_in(Cell(0, 0, tables=(Table.from_texts([["a", "b"]]),)))
    (Table(1 rows x 2 columns, 2 cells),)
    """
    return tuple(each for each in cell.tables if isinstance(each, Table))


def all_tables(tables: Iterable[Table]) -> Iterator[Table]:
    """Each table, and after it those that stand in its cells, at any depth.

    >>> inner = Table.from_texts([["a", "b"]])
    >>> [each.shape for each in all_tables([Table([Cell(0, 0, tables=(inner,))]), Table([])])]
    [(1, 1), (1, 2), (0, 0)]
    """
    for table in tables:
        yield table
        yield from all_tables(each for cell in table.cells for each in tables_in(cell))


def flatten(table: Table) -> Table:
    """Write the texts of inner tables into the cells that hold them: a line for each row, bars between its cells.

    >>> inner = Table.from_texts([["a", "b"], ["1", ""]])
    >>> flatten(Table([Cell(0, 0, text="see", tables=(inner,))]))[0, 0].text
    'see\\na | b\\n1 |'
    """
    if not any(cell.tables for cell in table.cells):
        return table
    texts = ["\n".join(filter(None, [cell.text, inner_text(cell)])) for cell in table.cells]
    return replace(table, cells=rewrite(table.cells, text=texts, tables=[()] * len(table.cells)))


def inner_text(cell: Cell) -> str:
    """The texts of the tables in a cell, as `flatten` writes them; empty where it holds none."""
    return "\n".join(map(_to_lines, tables_in(cell)))


def _to_lines(table: Table) -> str:
    captions = [caption.text for caption in table.captions]
    rows = [" | ".join(text.replace("\n", " ") for text in row).rstrip() for row in flatten(table).to_grid()]
    return "\n".join([*captions[: bool(table.title)], *rows, *captions[bool(table.title) :]])


def fill_holes(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Add an empty cell for each slot that no cell covers.

    >>> [(cell.row, cell.col) for cell in fill_holes([Cell(0, 0), Cell(1, 1)])]
    [(0, 0), (1, 1), (0, 1), (1, 0)]
    """
    kept = tuple(cells)
    owner = _paint(kept)
    return kept + tuple(Cell(int(r), int(c)) for r, c in np.argwhere(owner < 0))


def alter(table: Table, **values: Any) -> Table:
    """The table with other values, in no time: its cells may have other contents, but in the same slots and order.

    >>> table = Table([Cell(0, 0, text="a")])
    >>> alter(table, cells=(Cell(0, 0, text="b"),)).to_grid()
    [['b']]
    """
    altered = object.__new__(Table)
    for each in fields(Table):
        object.__setattr__(altered, each.name, values[each.name] if each.name in values else getattr(table, each.name))
    return altered


def _paint(cells: tuple[Cell, ...]) -> NDArray[np.int32]:
    """``(R, C)`` index of the cell in each slot, -1 where there is none; refuses cells that share a slot."""
    places = np.array(list(map(_place, cells)), np.int64).reshape(-1, 4)
    starts, sizes = places[:, :2], places[:, 2:]
    owner = np.full((starts + sizes).max(axis=0, initial=0), -1, np.int32)
    is_spanning = (sizes > 1).any(axis=1)
    single = np.flatnonzero(~is_spanning)
    place = starts[single, 0], starts[single, 1]
    owner[place] = single
    clash = bool((owner[place] != single).any())
    for index in np.flatnonzero(is_spanning).tolist():
        cell = cells[index]
        slots = owner[cell.row : cell.end_row, cell.col : cell.end_col]
        clash |= bool((slots >= 0).any())
        slots[...] = index
    if clash:
        _refuse_clash(cells, np.full_like(owner, -1))
    return owner


_place = attrgetter("row", "col", "rowspan", "colspan")


def _refuse_clash(cells: tuple[Cell, ...], owner: NDArray[np.int32]) -> None:
    """Name the first two cells that share a slot."""
    for index, cell in enumerate(cells):
        slots = owner[cell.row : cell.end_row, cell.col : cell.end_col]
        if (slots >= 0).any():
            row, col = np.argwhere(slots >= 0)[0]
            raise TableError(
                f"cells at {_describe(cells[slots[row, col]])} and {_describe(cell)} "
                f"share row {cell.row + row}, column {cell.col + col}"
            )
        slots[...] = index


def _cells_to_owner(cells: tuple[Cell, ...]) -> NDArray[np.int32]:
    places = list(map(_place, cells))  # Python's whole numbers have no limit
    n_slots = sum(rowspan * colspan for _, _, rowspan, colspan in places)
    n_rows = max((row + rowspan for row, _, rowspan, _ in places), default=0)
    n_cols = max((col + colspan for _, col, _, colspan in places), default=0)
    # A stray cell far away must not make us allocate a huge grid before we refuse it.
    if n_rows * n_cols > max(4 * n_slots, 1_000_000):
        raise TableError(f"{len(cells)} cells cannot cover a grid of {n_rows} x {n_cols}: slots belong to no cell")
    owner = _paint(cells)
    if (owner < 0).any():
        row, col = np.argwhere(owner < 0)[0]
        raise TableError(
            f"row {row}, column {col} belongs to no cell of the {n_rows} x {n_cols} table; "
            "fill_holes() completes a grid with empty cells"
        )
    owner.flags.writeable = False
    return owner


def _describe(cell: Cell) -> str:
    return f"({cell.row}, {cell.col}) {cell.rowspan} x {cell.colspan}"
