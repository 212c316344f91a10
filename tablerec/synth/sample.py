"""A synthetic picture and its truth: cells, words and tables, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from postprocess.cell import Cell, HeaderKind
from postprocess.geometry.boxes import array_to_quad
from postprocess.table import Table
from tablerec.errors import TableError
from tablerec.synth.text_lines import words_to_lines

CellKind = Literal["body", "column", "row", "section", "total"]
"""What a cell is: data, a column header, a row header (stub), the label of a section, or part of a row of totals."""

CELL_KINDS: tuple[CellKind, ...] = get_args(CellKind)

TextRole = Literal["none", "title", "unit", "note"]
"""What text outside tables is to the table right beside it."""

TEXT_ROLES: tuple[TextRole, ...] = get_args(TextRole)

Image: TypeAlias = NDArray[np.uint8]
"""``(height, width, 3)`` uint8 in RGB order."""

Quads: TypeAlias = NDArray[np.float32]
"""``(N, 4, 2)`` float32 corners TL, TR, BR, BL of what is upright in the table, in pixels of the picture."""

Indices: TypeAlias = NDArray[np.int32]
"""``(N,)`` int32."""

PointMap: TypeAlias = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""``(N, 2)`` points of one picture to the same points in another."""


@dataclass(frozen=True, slots=True)
class Cells:
    """All cells of a picture. Each table's cells cover its grid completely and without overlap.

    Args:
        quads: ``(N, 4, 2)`` the grid regions; also in tables without lines, where neighbours
            meet in the middle of the gap. A cut cell ends at the edge of the picture.
        rows: ``(N,)`` first row of each cell, from 0.
        cols: ``(N,)`` first column, from 0.
        rowspans: ``(N,)`` number of rows, at least 1.
        colspans: ``(N,)`` number of columns, at least 1.
        tables: ``(N,)`` index of the cell's table.
        kinds: What each cell is.
        texts: Content of each cell; drawn lines and paragraphs are separated by ``"\\n"``.
    """

    quads: Quads
    rows: Indices
    cols: Indices
    rowspans: Indices
    colspans: Indices
    tables: Indices
    kinds: tuple[CellKind, ...]
    texts: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_quads("cells.quads", self.quads)
        for name in ("rows", "cols", "rowspans", "colspans", "tables", "kinds", "texts"):
            _check_length(f"cells.{name}", getattr(self, name), len(self.quads))

    def __len__(self) -> int:
        return len(self.quads)


@dataclass(frozen=True, slots=True)
class Words:
    """All words of a picture: what a OCR engine would return.

    Args:
        quads: ``(N, 4, 2)`` tight around the ink, in reading direction: the first corner is
            where the word begins, also in turned text.
        texts: One word of Latin script, or a run of Chinese characters.
        cells: ``(N,)`` index of the word's cell; -1 outside all tables.
        types: ``(N, 4, 2)`` the same as high as any word in this font, with the check box before it; the tight quads
            where that is not known.
        roles: What each word outside of the tables is to one of them; ``none`` for those in cells. Empty where that is
            not known.
    """

    quads: Quads
    texts: tuple[str, ...]
    cells: Indices
    types: Quads | None = None
    roles: tuple[TextRole, ...] = ()

    def __post_init__(self) -> None:
        _check_quads("words.quads", self.quads)
        if self.types is not None:
            _check_length("words.types", self.types, len(self.quads))
        if self.roles:
            _check_length("words.roles", self.roles, len(self.quads))
        _check_length("words.texts", self.texts, len(self.quads))
        _check_length("words.cells", self.cells, len(self.quads))

    def __len__(self) -> int:
        return len(self.quads)


@dataclass(frozen=True, slots=True)
class Tables:
    """All tables of a picture.

    Args:
        quads: ``(N, 4, 2)`` outlines of the grids, without captions and notes.
        n_rows: ``(N,)`` number of rows.
        n_cols: ``(N,)`` number of columns.
    """

    quads: Quads
    n_rows: Indices
    n_cols: Indices

    def __post_init__(self) -> None:
        _check_quads("tables.quads", self.quads)
        _check_length("tables.n_rows", self.n_rows, len(self.quads))
        _check_length("tables.n_cols", self.n_cols, len(self.quads))

    def __len__(self) -> int:
        return len(self.quads)


@dataclass(frozen=True, slots=True)
class Sample:
    """One picture with its truth.

    Args:
        image: ``(height, width, 3)`` uint8 RGB.
        cells: Cells of all tables.
        words: Words inside and outside the tables.
        tables: The tables; none in a picture of something else.
        about: How the picture was made, such as ``recipe``, ``script``, ``rules``, ``framing`` and ``effect``.
    """

    image: Image
    cells: Cells
    words: Words
    tables: Tables
    about: Mapping[str, str] = field(default_factory=dict)

    def mapped(self, image: Image, point_map: PointMap) -> Sample:
        """Return the same truth in another picture of the same scene.

        Args:
            image: The other picture.
            point_map: Where the points of this picture, ``(N, 2)`` float32 x, y, lie in the other.
        """

        def move(quads: Quads) -> Quads:
            points = point_map(quads.reshape(-1, 2)) if quads.size else quads
            return np.ascontiguousarray(points, np.float32).reshape(-1, 4, 2)

        return replace(
            self,
            image=image,
            cells=replace(self.cells, quads=move(self.cells.quads)),
            words=replace(
                self.words,
                quads=move(self.words.quads),
                types=None if self.words.types is None else move(self.words.types),
            ),
            tables=replace(self.tables, quads=move(self.tables.quads)),
        )

    @property
    def lines(self) -> Quads:
        """``(M, 4, 2)`` float32 the lines of text, see ``text_lines.words_to_lines``."""
        words = self.words
        return words_to_lines(words.quads if words.types is None else words.types, words.cells)

    def to_tables(self) -> list[Table]:
        """Return the tables as the rest of the project knows them.

        Raises:
            TableError: The cells of a table leave holes or overlap.

        >>> cells = Cells(
        ...     np.array([[[0, 0], [9, 0], [9, 5], [0, 5]]], np.float32),
        ...     *(np.array([value], np.int32) for value in (0, 0, 1, 1, 0)), ("column",), ("Year",),
        ... )
        >>> words = Words(np.zeros((0, 4, 2), np.float32), (), np.zeros(0, np.int32))
        >>> tables = Tables(cells.quads, np.array([1], np.int32), np.array([1], np.int32))
        >>> Sample(np.zeros((5, 9, 3), np.uint8), cells, words, tables).to_tables()[0][0, 0].text
        'Year'
        """
        cells = self.cells
        found: list[list[Cell]] = [[] for _ in range(len(self.tables))]
        for index in range(len(cells)):
            found[int(cells.tables[index])].append(
                Cell(
                    row=int(cells.rows[index]),
                    col=int(cells.cols[index]),
                    rowspan=int(cells.rowspans[index]),
                    colspan=int(cells.colspans[index]),
                    quad=array_to_quad(cells.quads[index]),
                    text=cells.texts[index],
                    header=_kind_to_header(cells.kinds[index]),
                )
            )
        tables = [Table(owned, array_to_quad(quad)) for owned, quad in zip(found, self.tables.quads, strict=True)]
        for index, table in enumerate(tables):
            expected = (int(self.tables.n_rows[index]), int(self.tables.n_cols[index]))
            if table.shape != expected:
                raise TableError(f"table {index} has cells of a {table.shape} grid, but should be {expected}")
        return tables


def _kind_to_header(kind: CellKind) -> HeaderKind | None:
    return None if kind == "body" or kind == "total" else kind


def _check_quads(name: str, quads: NDArray[np.generic]) -> None:
    if quads.ndim != 3 or quads.shape[1:] != (4, 2):
        raise TableError(f"{name} has the shape {quads.shape}; it must be (N, 4, 2)")


def _check_length(name: str, values: object, expected: int) -> None:
    length = len(values)  # type: ignore[arg-type]
    if length != expected:
        raise TableError(f"{name} has {length} items for {expected} quads")
