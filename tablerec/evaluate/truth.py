"""Tables with known structure, read from JSON.

One file describes one table and lies beside its picture::

    {"id": "invoice_1",                  the name of the file without its suffix
     "source": "invoices",
     "image": "invoice_1.png",
     "cells": [{"row": 0, "col": 0, "rowspan": 1, "colspan": 2, "bbox": [8, 8, 120, 40], "text": "Total"}],
     "meta": {"has_text": true, "bbox_kind": "cell"}}

``bbox`` (x0, y0, x1, y1 in pixels) and ``text`` may be null. Columns count from the left of the picture, unless the
file has a ``direction``, ``"ltr"`` or ``"rtl"``: then from where reading begins, and what is found has to as well.
``meta`` may also say that the truth is known to miss spanning cells: ``suspect_spans`` or ``ambiguous_spans`` > 0, and
what a person found who looked at it: ``audit`` is ``right``, ``wrong``, or ``convention`` where two readings are fair.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.cell import Cell, Direction
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads, cells_to_quads
from postprocess.table import Table
from tablerec.errors import InputError, TableError
from tablerec.fields import Check, Fields, list_of, number, one_of, read_json

Position = tuple[int, int]
"""(row, column) of a cell's first slot."""

MAX_SLOTS = 1_000_000
"""Slots of a truth; more is a mistake in the file."""


class Grid(Protocol):
    """Cells and the slots they cover: a ``Table``, or a ``RaggedTable``."""

    @property
    def cells(self) -> Sequence[Cell]:
        """Cells sorted by row and column."""

    @property
    def owner(self) -> NDArray[np.int32]:
        """``(n_rows, n_cols)`` index of the cell that covers each slot, -1 where none does."""

    @property
    def quads(self) -> Floats:
        """``(K, 4, 2)`` corners in pixels of those ``cells`` that have a place, in their order."""


@dataclass(frozen=True, slots=True)
class RaggedTable:
    """Cells that do not form a complete table, placed as a browser places them.

    Args:
        cells: Cells by row and column, at the place where they ended up.
        owner: ``(n_rows, n_cols)`` int32 index of the cell in each slot; -1 is a hole.
    """

    cells: tuple[Cell, ...]
    owner: NDArray[np.int32]

    @property
    def quads(self) -> Floats:
        """``(K, 4, 2)`` corners in pixels of those ``cells`` that have a place, in their order."""
        return cells_to_quads(self.cells)


@dataclass(frozen=True, slots=True)
class Truth:
    """What is known of the table in one picture.

    Args:
        id: Name of the table, also the name of its file.
        source: Collection that the table comes from.
        image: The picture.
        table: The cells; a quad stands where the file has a box.
        filled: Positions of the cells that hold something, by box or text.
        has_text: Whether the texts are known.
        flawed: Whether the truth is known to be wrong or to miss spanning cells.
        is_convention: Whether another structure would be as fair.
        boxes_are_cells: Whether the boxes outline cells; else they outline the
            text in them or bands of the grid, and cannot be compared with found cells.
        rulings: ``wired``, ``lineless``, ``partial``, or empty where it is not known.
        direction: Where the truth says so, the side from which it counts its columns; None: from the left.
    """

    id: str
    source: str
    image: Path
    table: Table | RaggedTable
    filled: frozenset[Position]
    has_text: bool = True
    flawed: bool = False
    is_convention: bool = False
    boxes_are_cells: bool = False
    rulings: str = ""
    direction: Direction | None = None

    def in_its_order(self, table: Table) -> Table:
        """The table with its columns counted as in the truth, to be compared with it."""
        return table.from_left() if self.direction is None else table


def find_truths(folder: Path) -> list[Truth]:
    """Read all JSON files in ``folder`` and below, sorted by path.

    Labels of pictures with no or several tables, which list them under
    ``tables``, are left out with a warning: only single tables can be scored.

    Raises:
        InputError: No such folder, nothing in it, an unusable file, or one id twice.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: not a folder; name one that holds tables as JSON with their pictures")
    paths = sorted(folder.rglob("*.json"))
    if not paths:
        raise InputError(f"{folder}: holds no JSON files; each table needs one beside its picture")
    seen: dict[str, Path] = {}
    for path in paths:
        if path.stem in seen:
            raise InputError(f"{path}: {seen[path.stem]} has the same id; rename one of them")
        seen[path.stem] = path
    others = [path for path in paths if _is_page(read_json(path))]
    if others:
        names = ", ".join(path.name for path in others)
        warnings.warn(f"left out, since they hold no or several tables: {names}", stacklevel=2)
    return [read_truth(path) for path in paths if path not in others]


def _is_page(data: Any) -> bool:
    tables = data.get("tables") if isinstance(data, dict) else None
    return isinstance(tables, list) and len(tables) != 1


def read_truth(path: Path) -> Truth:
    """Read one table with known structure.

    Raises:
        InputError: The file cannot be read, or a field is missing or wrong. The
            message names the file and the field.
    """
    data = Fields(path, read_json(path))
    name = data.text("id")
    if name != path.stem:
        raise InputError(f"{path}: id is {name!r}, but the file is called {path.stem!r}; they must agree")
    image = data.text("image")
    if Path(image).name != image or "\\" in image:
        raise InputError(f"{path}: image {image!r} must be a file name without folders, beside the JSON")
    meta = data.child("meta")
    audit = meta.get_or_none("audit", _AUDIT)
    cells = tuple(_read_cell(fields) for fields in data.children("cells"))
    direction = data.get_or_none("direction", _DIRECTION)
    if not cells:
        raise InputError(f"{path}: cells is empty; a picture without a table cannot be scored")
    return Truth(
        id=name,
        source=data.text("source", path.parent.name),
        image=path.parent / image,
        table=_to_table(cells, path, direction),
        filled=frozenset((cell.row, cell.col) for cell in cells if cell.quad or normalize(cell.text)),
        has_text=meta.flag("has_text", any(normalize(cell.text) for cell in cells)),
        flawed=meta.is_set("suspect_spans") or meta.whole("ambiguous_spans", 0) > 0 or audit == "wrong",
        is_convention=audit == "convention",
        boxes_are_cells=meta.text("bbox_kind", "") == "cell",
        rulings=meta.text("ruling_est", ""),
        direction=direction,
    )


_DIRECTION: Check[Direction] = one_of("ltr", "rtl")
_AUDIT = one_of("right", "wrong", "convention")


def normalize(text: str) -> str:
    r"""Return the text as scores compare it: NFKC, which lowers what is raised, one minus, without any white space.

    >>> normalize("\uff11 0\n%"), normalize("10⁻³ m²")
    ('10%', '10-3m2')
    """
    return "".join(unicodedata.normalize("NFKC", text).replace("\u2212", "-").split())


def place_as_browser(cells: Sequence[Cell]) -> RaggedTable:
    """Put each cell in the first free slot of its row, as browsers do with HTML.

    Raises:
        TableError: The spans spread the cells over more than 4 million slots.

    >>> ragged = place_as_browser([Cell(0, 0, rowspan=2), Cell(0, 2), Cell(1, 0, colspan=2)])
    >>> [(cell.row, cell.col) for cell in ragged.cells]
    [(0, 0), (0, 1), (1, 1)]
    >>> ragged.owner.tolist()
    [[0, 1, -1], [0, 2, 2]]
    """
    slots: dict[Position, int] = {}
    placed: list[Cell] = []
    for cell in sorted(cells, key=lambda cell: (cell.row, cell.col)):
        col = placed[-1].end_col if placed and placed[-1].row == cell.row else 0
        while (cell.row, col) in slots:
            col += 1
        placed.append(replace(cell, col=col))
        for row in range(cell.row, cell.end_row):
            for covered in range(col, col + cell.colspan):
                slots.setdefault((row, covered), len(placed) - 1)
    n_rows = max((row for row, _ in slots), default=-1) + 1
    n_cols = max((col for _, col in slots), default=-1) + 1
    if n_rows * n_cols > 4 * MAX_SLOTS:
        raise TableError(f"{len(placed)} cells spread over {n_rows} x {n_cols} slots; check their spans")
    owner = np.full((n_rows, n_cols), -1, np.int32)
    for slot, index in slots.items():
        owner[slot] = index
    return RaggedTable(tuple(placed), owner)


def _to_table(cells: tuple[Cell, ...], path: Path, direction: Direction | None) -> Table | RaggedTable:
    n_slots = sum(cell.rowspan * cell.colspan for cell in cells)
    n_rows = max((cell.end_row for cell in cells), default=0)
    n_cols = max((cell.end_col for cell in cells), default=0)
    if max(n_slots, n_rows * n_cols) > MAX_SLOTS:
        raise InputError(f"{path}: cells reach over {n_rows} x {n_cols} slots; at most {MAX_SLOTS:,} are allowed")
    try:
        return Table(cells, direction=direction or "ltr")
    except TableError:
        pass
    try:
        return place_as_browser(cells)
    except TableError as error:
        raise InputError(f"{path}: {error}") from error


def _read_cell(fields: Fields) -> Cell:
    box = fields.get_or_none("bbox", list_of(number(), 4, "numbers"))
    return Cell(
        row=fields.whole("row", low=0),
        col=fields.whole("col", low=0),
        rowspan=fields.whole("rowspan", 1, low=1),
        colspan=fields.whole("colspan", 1, low=1),
        quad=None if box is None else array_to_quad(boxes_to_quads(box)[0]),
        text=fields.text("text", ""),
    )
