"""Pseudo-labels: recognized tables of which the grid explains every cell are taken as labels.

After Lee, "Pseudo-Label: The Simple and Efficient Semi-Supervised Learning Method for Deep Neural Networks" (2013);
they say more than the network's own detections, as the grid has put the cells on lines, and text and the other
detectors have agreed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import shapely

from postprocess.geometry.boxes import as_quads, quads_to_array, quads_to_polygons
from postprocess.table import Table
from tablerec.labels.label import Label
from tablerec.result import Page

LEAST_ALIGNED = 0.9
"""Least alignment score of a cell: its sides lie on the lines of the grid."""


def page_to_label(page: Page, image: Path) -> Label:
    """Return the cells of all tables of a page as a label; see ``why_not`` for whether it is one to train on.

    Args:
        page: What was found, with corners in pixels of the upright picture.
        image: The picture.

    >>> from postprocess.cell import Cell
    >>> from tablerec.result import PageImage
    >>> page = Page(PageImage("a.png", 1, np.zeros((9, 9, 3), np.uint8)), (Table([Cell(0, 0)]),))
    >>> page_to_label(page, Path("a.png")).quads.shape, why_not(page)
    ((0, 4, 2), 'a table with a confidence of 0.00')
    """
    tables = [table.from_left() for table in page.tables]
    cells = [(number, cell, cell.quad) for number, table in enumerate(tables) for cell in table.cells if cell.quad]
    slots = [(number, cell.row, cell.col, cell.rowspan, cell.colspan) for number, cell, _ in cells]
    height, width = page.picture.image.shape[:2]
    return Label(
        image,
        str(image),
        as_quads([quad for *_, quad in cells]),
        tuple(f"table {number + 1}, row {cell.row + 1}, column {cell.col + 1}" for number, cell, _ in cells),
        tuple(cell.text for _, cell, _ in cells),
        np.array(slots, np.int32).reshape(-1, 5),
        size_wh=(width, height),
    )


def why_not(page: Page, min_confidence: float = 0.8) -> str:
    """Say why the tables of a page are not to be trained on; empty where they are.

    A page counts as a whole: a table that is left out of its label would be trained as background. The confidence is
    that in rows, columns and spans; whether the sides of the cells are right, the other reasons say.

    Args:
        page: What was found.
        min_confidence: Least probability that a table is right, 0 to 1.
    """
    if not page.tables:
        return "no table was found"
    least = min(_confidence(table) for table in page.tables)
    if least < min_confidence:
        return f"a table with a confidence of {least:.2f}"
    if any(cell.tables for table in page.tables for cell in table.cells):
        return "a table in a cell: one cell cannot be labelled as a whole and in parts"
    if any(cell.quad is None for table in page.tables for cell in table.cells):
        return "a table with cells that nobody saw"
    if "words" in page.detector.split("+"):
        return "a table that was built from its words alone, which do not say where cells end"
    scores = [cell.alignment_score for table in page.tables for cell in table.cells]
    aligned = min((score for score in scores if score is not None), default=1.0)
    if aligned < LEAST_ALIGNED:
        return f"a cell that lies off the lines of its grid ({aligned:.2f})"
    if page.dropped:
        return f"{len(page.dropped)} cells in no table"
    inside = _n_inside(page)
    return f"{inside} words of a table in no cell" if inside else ""


def _confidence(table: Table) -> float:
    return table.confidence.table if table.confidence is not None else 0.0


def _n_inside(page: Page) -> int:
    """Words without a cell that stand inside a table."""
    quads = [table.quad for table in page.tables if table.quad is not None]
    words = quads_to_array([item.word.quad for item in page.unplaced])
    words = words[np.isfinite(words).all(axis=(1, 2))]
    if not quads or not len(words):
        return 0
    outlines, middles = quads_to_polygons(as_quads(quads)), shapely.points(words.mean(axis=1))
    return len(np.unique(shapely.STRtree(outlines).query(middles, predicate="intersects")[0]))
