"""Cell: one cell of a table; and what else a table holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any, Literal, Protocol

from postprocess.errors import TableError

Point = tuple[float, float]
Quad = tuple[Point, Point, Point, Point]
"""Corners in pixels of the original picture, in the order TL, TR, BR, BL."""

Direction = Literal["ltr", "rtl"]
"""Where the columns of a table run, from its first one: to the right or to the left."""

WordPart = tuple[int, int, int]
"""Number of a word among those of ``postprocess.editing.state.State``, its first character, the one after its last."""

HeaderKind = Literal["column", "row", "section"]
"""What a header cell heads: the columns below it, its row, or the rows until the next section."""


class Grid(Protocol):
    """A table in a cell: always a ``postprocess.table.Table``, which is made of cells; ``tables_in`` gives them."""

    @property
    def cells(self) -> Sequence[Cell]:
        """All its cells."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in a cell: a photograph, drawing or logo.

    Args:
        quad: Corners TL, TR, BR, BL in pixels of the original picture, or None.
        png: The picture itself, upright, as the bytes of a PNG; empty where only its place is known.
    """

    quad: Quad | None = None
    png: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table, placed in the grid and in the picture.

    Args:
        row: First row, counted from 0.
        col: First column, counted from 0.
        rowspan: Number of rows, at least 1.
        colspan: Number of columns, at least 1.
        quad: Corners TL, TR, BR, BL in pixels of the original picture, or None
            where the cell was not seen (an empty slot that completes the grid).
        text: Content; lines are separated by ``"\\n"``.
        header: Kind of header, or None for data.
        detector_score: How sure the detector is of the cell, 0 to 1, or None.
        ocr_score: Mean score of the words in the cell, 0 to 1, or None.
        alignment_score: How well the quad agrees with the lines of the grid
            and the words with the quad, 0 to 1, or None.
        confidence: Probability that span and text are right, 0 to 1, or None.
        header_score: Probability that the cell is a header of this kind, 0 to
            1, or None where that is not known.
        is_total: Whether the cell is part of a row or column of totals: sums,
            subtotals, averages, and their labels.
        doubt: Why the text may be wrong, see ``Word``; empty where nothing speaks against it.
        tables: Tables that stand in the cell, from top to bottom; their texts are not in ``text``.
        pictures: Pictures that stand in the cell, from top to bottom; found where ``Settings.cell_pictures`` asks.
        typed: Whether a person gave the text.
        confirmed: Whether a person said that the cell is right as it is.
        words: While a table is corrected, the words of its picture that the text is of, or, where ``typed``, in whose
            place it is.

    Raises:
        TableError: Negative position, a span below 1, or a ``header_score``
            outside 0 to 1 or without a header.

    >>> Cell(0, 1, colspan=2, text="Total").end_col
    3
    """

    row: int
    col: int
    rowspan: int = 1
    colspan: int = 1
    quad: Quad | None = None
    text: str = ""
    header: HeaderKind | None = None
    detector_score: float | None = None
    ocr_score: float | None = None
    alignment_score: float | None = None
    confidence: float | None = None
    header_score: float | None = None
    is_total: bool = False
    doubt: str = ""
    tables: tuple[Grid, ...] = ()
    pictures: tuple[Picture, ...] = ()
    typed: bool = False
    confirmed: bool = False
    words: tuple[WordPart, ...] = ()

    def __post_init__(self) -> None:
        if self.row < 0 or self.col < 0 or self.rowspan < 1 or self.colspan < 1:
            raise TableError(
                f"cell at row {self.row}, column {self.col} with span {self.rowspan} x {self.colspan}: "
                "positions start at 0 and spans at 1"
            )
        if self.header_score is not None and (self.header is None or not 0 <= self.header_score <= 1):
            raise TableError(
                f"cell at row {self.row}, column {self.col}: header_score is {self.header_score}; "
                "it must be from 0 to 1, and None where the cell is no header"
            )

    @property
    def end_row(self) -> int:
        """First row below the cell."""
        return self.row + self.rowspan

    @property
    def end_col(self) -> int:
        """First column right of the cell."""
        return self.col + self.colspan

    @property
    def is_spanning(self) -> bool:
        """Whether the cell covers more than one slot."""
        return self.rowspan > 1 or self.colspan > 1

    def is_doubtful(self, below: float | None) -> bool:
        """Whether there is a doubt, or the confidence is known and less than a limit; never where there is no limit.

        >>> Cell(0, 0, confidence=0.5).is_doubtful(0.9), Cell(0, 0).is_doubtful(0.9), Cell(0, 0).is_doubtful(None)
        (True, False, False)
        """
        return below is not None and (bool(self.doubt) or (self.confidence is not None and self.confidence < below))


@dataclass(frozen=True, slots=True)
class Confidence:
    """How sure a table and its lines are; its cells say so themselves.

    Args:
        table: Probability that every cell has the right position and span, 0 to 1.
        rows: For each row the probability that its cells have the right spans, 0 to 1.
        cols: The same for each column.
        weakest: What to check first, and why: one sentence that names the cell, counted from 1.
    """

    table: float
    rows: tuple[float, ...]
    cols: tuple[float, ...]
    weakest: str


@dataclass(frozen=True, slots=True)
class Caption:
    """Text beside a table that belongs to it: its title or a note.

    Args:
        text: Content; lines are separated by ``"\\n"``.
        quad: Corners TL, TR, BR, BL in pixels of the original picture, or None.
        score: Probability that it belongs to the table, 0 to 1, or None.

    Raises:
        TableError: There is no text.
    """

    text: str
    quad: Quad | None = None
    score: float | None = None

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise TableError("a title or note has no text: leave it out")


def shift(cell: Cell, rows: int = 0, cols: int = 0) -> Cell:
    """Return the cell moved by whole rows and columns."""
    return replace(cell, row=cell.row + rows, col=cell.col + cols)


_NAMES = tuple(each.name for each in fields(Cell))
_values = attrgetter(*_NAMES)
_content = attrgetter(*_NAMES[4:])


def is_moved(cell: Cell, other: Cell) -> bool:
    """Whether a cell is another one, of the same span, with its place in the picture, elsewhere in the grid.

    >>> is_moved(Cell(0, 1, text="a"), Cell(2, 2, text="a")), is_moved(Cell(0, 1), Cell(0, 1, colspan=2))
    (True, False)
    """
    is_one_size = (cell.rowspan, cell.colspan) == (other.rowspan, other.colspan)
    return bool(is_one_size and _content(cell) == _content(other))


def put(cell: Cell, row: int, col: int, rowspan: int, colspan: int) -> Cell:
    """The cell elsewhere in the grid, in a fifth of the time of ``replace``.

    >>> moved = put(Cell(0, 0, text="a"), 2, 1, 1, 3)
    >>> moved.row, moved.end_col, moved.text
    (2, 4, 'a')
    """
    return Cell(row, col, rowspan, colspan, *_content(cell))


def rewrite(cells: Sequence[Cell], **columns: Sequence[Any]) -> list[Cell]:
    """The cells with other values in some fields, in two thirds of the time of ``replace``: tables have many cells.

    Args:
        cells: Any cells.
        **columns: By field a value for each cell.

    >>> [cell.text for cell in rewrite([Cell(0, 0), Cell(0, 1)], text=["a", "b"])]
    ['a', 'b']
    """
    known = dict(zip(_NAMES, zip(*map(_values, cells), strict=True), strict=True)) if cells else {}
    return list(map(Cell, *(known | columns).values()))
