"""Tables and pages for the tests of the editor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from postprocess.placing import complete
from postprocess.table import Confidence, Table
from tablerec.result import Page, PageImage


def make_table(n_rows: int = 3, n_cols: int = 3, box: tuple[int, int, int, int] = (20, 20, 320, 140)) -> Table:
    """A table whose cells are called after their place, in a box of the picture."""
    x0, y0, x1, y1 = (float(value) for value in box)
    plain = Table.from_texts([[f"{row}.{col}" for col in range(n_cols)] for row in range(n_rows)])
    return complete(replace(plain, quad=((x0, y0), (x1, y0), (x1, y1), (x0, y1))), (340, 160))


def make_page(*tables: Table, source: str = "scan.png", number: int = 1, turn: int = 0) -> Page:
    """A page with these tables, in a picture that no other page has."""
    image = np.full((160, 340, 3), [255 - sum(source.encode()) % 50, 255 - number, 255 - len(tables)], np.uint8)
    sure = [replace(t, confidence=Confidence(0.5, (0.5,) * t.n_rows, (0.5,) * t.n_cols, "row 1")) for t in tables]
    return Page(PageImage(source, number, image), tuple(sure), turn=turn)
