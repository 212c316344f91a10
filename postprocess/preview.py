"""Rows of cells -> HTML for a notebook: each cell says on hovering what it holds and how sure it is.

A notebook that is not trusted shows no style sheets and no scripts, so colours stand in the elements themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import count

from postprocess.cell import Cell, Direction
from postprocess.characters import clean_text

MARK_BELOW = 0.8
"""Cells less sure than this are marked."""
MAX_ROWS = 200
"""A notebook shows so many; the exports have all."""

_PLAIN = "border:1px solid #c4ccd4;padding:1px 6px;text-align:start;vertical-align:top;color:#1d2733;"
_COLORS = {"doubtful": "#fff1bf", "header": "#e4f3e8", "data": "#ffffff"}


def rows_to_html(rows: Sequence[Sequence[Cell]], *, name: str = "", direction: Direction = "ltr") -> str:
    """Write one ``<table>`` element.

    Args:
        rows: As ``Table.rows`` gives them.
        name: Begins the classes ``NAME-0``, ``NAME-1``, ... of the cells, row by row; without
            one, cells have no class.
        direction: Of the table.

    >>> print(rows_to_html([[Cell(0, 0, text="<b>", confidence=0.5)]]))
    <table style="border-collapse:collapse;font-size:12px;margin:0"><tbody>
    <tr><td style="border:1px solid #c4ccd4;padding:1px 6px;text-align:start;vertical-align:top;color:#1d2733;background:#fff1bf" title="&lt;b&gt; · row 1, column 1 · confidence 0.50">&lt;b&gt;</td></tr>
    </tbody></table>
    """  # noqa: E501 - one line of output
    numbers = count()
    lines = []
    for row in rows[:MAX_ROWS]:
        cells = [_cell(cell, f"{name}-{next(numbers)}" if name else "", direction) for cell in row]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    body = "\n".join(lines)
    left_out = f"<div>{len(rows) - MAX_ROWS} more rows</div>" if len(rows) > MAX_ROWS else ""
    style = "border-collapse:collapse;font-size:12px;margin:0"
    runs = ' dir="rtl"' if direction == "rtl" else ""
    return f'<table{runs} style="{style}"><tbody>\n{body}\n</tbody></table>{left_out}'


def describe(cell: Cell) -> str:
    """What hovering over a cell shows: text, place and scores.

    >>> describe(Cell(0, 1, text="7", ocr_score=0.98))
    '7 · row 1, column 2 · read 0.98'
    """
    parts = [clean_text(cell.text).replace("\n", " / ")] if cell.text.strip() else []
    covers = f", covers {cell.rowspan} x {cell.colspan}" if cell.is_spanning else ""
    parts.append(f"row {cell.row + 1}, column {cell.col + 1}{covers}")
    scores = {"confidence": cell.confidence, "found": cell.detector_score, "read": cell.ocr_score}
    parts += [f"{key} {value:.2f}" for key, value in scores.items() if value is not None and math.isfinite(value)]
    return " · ".join(parts)


def cell_kind(cell: Cell) -> str:
    """``doubtful``, ``header`` or ``data``: how a cell is coloured."""
    if cell.is_doubtful(MARK_BELOW):
        return "doubtful"
    return "data" if cell.header is None else "header"


def _cell(cell: Cell, name: str, direction: Direction) -> str:
    tag = "td" if cell.header is None else "th"
    rowspan = min(cell.rowspan, MAX_ROWS - cell.row)
    spans = "".join(
        f' {key}="{value}"' for key, value in (("rowspan", rowspan), ("colspan", cell.colspan)) if value > 1
    )
    style = f"{_PLAIN}background:{_COLORS[cell_kind(cell)]}"
    text = escape(clean_text(cell.text)).replace("\n", "<br>")
    # Among right-to-left text, a browser would show -5 as 5-.
    text = f"<bdi>{text}</bdi>" if direction == "rtl" and text else text
    named = f' class="{name}"' if name else ""
    return f'<{tag}{named}{spans} style="{style}" title="{escape(describe(cell))}">{text}</{tag}>'
