"""A page in a notebook: the picture with its cells, and the tables beside it, without a script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from typing import Protocol

import numpy as np

from postprocess.arrays import Image
from postprocess.cell import Cell, Quad
from postprocess.preview import MAX_ROWS, cell_kind, describe, rows_to_html
from postprocess.table import Table, flatten

MAX_BYTES = 200_000
"""Of the picture of a page, as JPEG."""
MAX_PAGES = 10
"""A notebook shows so many; the result has all."""

_SIDE = 800
"""Longer side of the picture in pixels."""
_MOST_LINKED = 1000
"""Cells of a page that light up in the picture when their place in the table is pointed at."""
_FILL = {"doubtful": "#f5be00", "header": "#1e8c46", "data": "#1460b0"}


class ShownPicture(Protocol):
    """A picture and where it comes from, see ``tablerec.result.PageImage``."""

    @property
    def source(self) -> str: ...  # noqa: D102
    @property
    def number(self) -> int: ...  # noqa: D102
    @property
    def image(self) -> Image: ...  # noqa: D102


class ShownPage(Protocol):
    """A picture with its tables, see ``tablerec.result.Page``."""

    @property
    def picture(self) -> ShownPicture: ...  # noqa: D102
    @property
    def tables(self) -> Sequence[Table]: ...  # noqa: D102


def pages_to_html(pages: Sequence[ShownPage]) -> str:
    """Write pages as one HTML fragment.

    Pointing at a cell shows its text and scores, and where it is in the picture. A notebook that is not trusted
    shows picture and tables without the outlines. All text is escaped: pictures are hostile.

    Args:
        pages: Of a result.

    >>> from tablerec.result import Page, PageImage
    >>> html = pages_to_html([Page(PageImage("blank", 1, np.zeros((40, 60, 3), np.uint8)))])
    >>> "no table" in html, "<script" in html
    (True, False)
    """
    parts = [_page(page) for page in pages[:MAX_PAGES]]
    if len(pages) > MAX_PAGES:
        parts.append(f"<div>{len(pages) - MAX_PAGES} more pages</div>")
    return "\n".join(parts)


def image_to_jpeg(image: Image, *, side: int = _SIDE, max_bytes: int = MAX_BYTES) -> tuple[bytes, float]:
    """Encode a picture, small enough for a notebook or what else is asked for.

    Args:
        image: ``(H, W, 3)`` uint8 BGR.
        side: Longest side of the result, px.
        max_bytes: Its size.

    Returns:
        At most ``max_bytes`` bytes, and the scale: a pixel of ``image`` is so many of its own.
    """
    import cv2

    scale = min(1.0, side / max(image.shape[:2]))
    while True:
        size_wh = [max(1, round(scale * side)) for side in image.shape[1::-1]]
        small = cv2.resize(image, size_wh, interpolation=cv2.INTER_AREA)
        data = bytes(cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, 80])[1])
        if len(data) <= max_bytes:
            return data, scale
        scale *= 0.8


def _page(page: ShownPage) -> str:
    jpeg, scale = image_to_jpeg(page.picture.image)
    height, width = (round(scale * side) for side in page.picture.image.shape[:2])
    name = f"tablerec-{hashlib.sha256(jpeg + repr(page.tables).encode()).hexdigest()[:12]}"
    data = base64.b64encode(jpeg).decode("ascii")
    outlines = "".join(_outlines(table, f"{name}-{number}", scale) for number, table in enumerate(page.tables))
    tables = "<br>".join(_titled(table, f"{name}-{number}") for number, table in enumerate(page.tables))
    alt = escape(f"{page.picture.source}, page {page.picture.number}")
    return (
        f'<div class="{name}" style="display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start">{_style(page, name)}'
        f'<div style="position:relative;flex:0 1 {width}px;min-width:18rem">'
        f'<img alt="{alt}" src="data:image/jpeg;base64,{data}" style="display:block;width:100%;margin:0">'
        f'<svg viewBox="0 0 {width} {height}" style="position:absolute;left:0;top:0;width:100%;height:100%">'
        f"{outlines}</svg></div><div>{tables or 'no table was found'}</div></div>"
    )


def _style(page: ShownPage, name: str) -> str:
    """What lights up: the outline that is pointed at, and the one of the cell in the table that is."""
    lit = "fill-opacity:.45;stroke-width:2.5"
    rules = [f".{name} polygon{{fill-opacity:.1;stroke-width:1}}", f".{name} polygon:hover{{{lit}}}"]
    if sum(len(table) for table in page.tables) <= _MOST_LINKED:
        for number, table in enumerate(page.tables):
            for index, cell in enumerate(table.cells):
                if cell.row < MAX_ROWS:
                    one = f"{name}-{number}-{index}"
                    rules.append(f".{name}:has(:is(td,th).{one}:hover) polygon.{one}{{{lit}}}")
                    rules.append(f".{name}:has(polygon.{one}:hover) :is(td,th).{one}{{outline:2px solid #1460b0}}")
    return f"<style>{''.join(rules)}</style>"


def _outlines(table: Table, name: str, scale: float) -> str:
    return "".join(
        _outline(cell, cell.quad, f"{name}-{index}", scale)
        for index, cell in enumerate(table.cells)
        if cell.quad is not None and np.isfinite(cell.quad).all()
    )


def _outline(cell: Cell, quad: Quad, name: str, scale: float) -> str:
    points = " ".join(f"{x * scale:.1f},{y * scale:.1f}" for x, y in quad)
    color = _FILL[cell_kind(cell)]
    dashed = ' stroke-dasharray="4 2"' if cell_kind(cell) == "doubtful" else ""
    attributes = f'class="{name}" points="{points}" fill="{color}" stroke="{color}"{dashed}'
    return f"<polygon {attributes}><title>{escape(describe(cell))}</title></polygon>"


def _titled(table: Table, name: str) -> str:
    sure = "" if table.confidence is None else f", confidence {table.confidence.table:.2f}"
    text = f"{table.n_rows} rows x {table.n_cols} columns{sure}"
    rows = rows_to_html(flatten(table).rows(), name=name, direction=table.direction)
    return f'<div style="font-size:12px;margin-bottom:4px">{text}</div>{rows}'
