"""Documents whose table goes on over their pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from PIL import Image

from postprocess.table import Table
from tablerec.corrections.editor import CorrectionFolder
from tablerec.corrections.review.desk import Desk
from tablerec.result import Page
from tests.helpers.review import make_page, make_table


def page_of(number: int, n_cols: int = 3) -> Table:
    """A table with a row of heads, and the number of its page in all other cells."""
    table = make_table(3, n_cols)
    texts = {(row, col): f"{number}.{row}.{col}" if row else f"head {col}" for row in range(3) for col in range(n_cols)}
    return table.with_cells([replace(cell, text=texts[cell.row, cell.col]) for cell in table.cells])


def open_document(folder: Path, n_pages: int) -> Desk:
    """A document with such a table on each page."""
    return open_pages(folder, *map(page_of, range(1, n_pages + 1)))


def open_pages(folder: Path, *tables: Table) -> Desk:
    """A document with a table on each page."""
    Image.new("RGB", (8, 8)).save(folder / "book.png")

    def read(source: str) -> Iterator[Page]:
        for number, table in enumerate(tables, start=1):
            yield make_page(table, source=source, number=number)

    desk = Desk([folder / "book.png"], folder, CorrectionFolder(folder / "corrections"), read)
    desk.read_all()
    return desk
