"""One page of HTML, in one file: pictures with their cells, the workbook beside them, and where to go on."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from itertools import accumulate
from pathlib import Path
from string import Template

import numpy as np

from postprocess.cell import Cell
from postprocess.characters import clean_text
from postprocess.export.sheets import Sheet, column_letter, plan_sheets
from postprocess.preview import cell_kind, describe
from postprocess.table import Table, flatten
from postprocess.values import TableValues, Value, tables_to_values
from tablerec.demo.texts import TEXTS, Language
from tablerec.outputs.display import image_to_jpeg
from tablerec.result import Page, Result

_SIDE, _BYTES = 1600, 600_000
"""Longer side of a picture in pixels, and its size as JPEG."""
_MOST_CHECKED, _SURE = 3, 0.9
"""So many cells of a table are named to be checked, if they are less sure than this."""
_MOST_ROWS = 500
"""Of a table that the page shows; the workbook has all."""
_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_STEPS = {
    "next_own": "tablerec demo scan.png",
    "next_files": "tablerec scan.png",
    "next_pages": "tablerec report.pdf --pages 2-4 -o tables.xlsx",
    "next_review": "tablerec review scans/",
    "next_help": "tablerec help",
}


def result_to_page(result: Result, workbook: Path | None, language: Language = "en", *, is_cut: bool = False) -> str:
    """Write the page.

    Args:
        result: With its pictures.
        workbook: What ``save`` wrote of the result, of which the page holds a copy; None without tables.
        language: Of the page.
        is_cut: Whether the document has more pages than the result.

    Returns:
        HTML that loads nothing; write it as UTF-8.
    """
    texts = TEXTS[language]
    # What marks in numbers mean is decided by all tables together, as in the workbook.
    values = tables_to_values(result.tables)
    sheets = iter(_top_sheets(result.tables))
    ends = list(accumulate(len(page.tables) for page in result.pages))
    parts: list[str] = []
    for page, end in zip(result.pages, ends, strict=True):
        first = end - len(page.tables)
        shown = [(first + n, next(sheets), values[first + n]) for n in range(len(page.tables))]
        heading = texts["page"].format(number=page.picture.number) if result.has_page_numbers else texts["picture"]
        parts.append(_page_to_html(page, heading, shown, workbook if not parts else None, texts))
    if is_cut:
        parts.append(f"<p>{texts['more']}</p>")
    n_tables = len(result.tables)
    seconds = sum(sum(page.seconds.values()) for page in result.pages)
    tables = texts["one"] if n_tables == 1 else texts["many"].format(n=n_tables)
    name = escape(clean_text(Path(result.source).name))
    steps = [f"<dt><code>{command}</code></dt><dd>{texts[key]}</dd>" for key, command in _STEPS.items()]
    return Template(resources.files("tablerec.demo").joinpath("page.html").read_text("utf-8")).substitute(
        texts,
        name=name,
        title=texts["title"].format(name=name),
        facts=texts["facts"].format(tables=tables, seconds=seconds),
        pages="\n".join(parts),
        steps="\n".join(steps),
    )


def _top_sheets(tables: Sequence[Table]) -> list[Sheet]:
    """The sheets of the tables that stand in no cell, for where the workbook has them."""
    return [sheet for sheet in plan_sheets(tables, [f"Table {n}" for n in range(1, len(tables) + 1)]) if not sheet.back]


def _page_to_html(
    page: Page,
    heading: str,
    shown: Sequence[tuple[int, Sheet, TableValues]],
    workbook: Path | None,
    texts: dict[str, str],
) -> str:
    jpeg, _ = image_to_jpeg(page.picture.image, side=_SIDE, max_bytes=_BYTES)
    height, width = page.picture.image.shape[:2]
    data = base64.b64encode(jpeg).decode("ascii")
    outlines = "".join(each for number, sheet, _ in shown for each in _outlines(sheet, number))
    tables = "".join(_table_to_html(sheet, values, number, texts) for number, sheet, values in shown)
    legend = "".join(
        f'<span><i style="color:var(--{name})"></i>{texts[key]}</span>'
        for key, name in {"header": "header", "data": "blue", "doubtful": "doubtful"}.items()
    )
    return (
        f'<section class="page"><div class="panel"><h2>{heading}</h2><div class="picture">'
        f'<img alt="{escape(clean_text(page.picture.source))}" src="data:image/jpeg;base64,{data}">'
        f'<svg viewBox="0 0 {width} {height}" preserveAspectRatio="none" aria-hidden="true">{outlines}</svg></div>'
        f'<div class="legend">{legend}</div></div>'
        f'<div class="panel"><div class="bar"><h2>{texts["workbook"]}</h2>{_link(workbook, texts)}</div>'
        f"{tables or _none(texts)}</div></section>"
    )


def _link(workbook: Path | None, texts: dict[str, str]) -> str:
    if workbook is None:
        return ""
    data = base64.b64encode(workbook.read_bytes()).decode("ascii")
    name = escape(workbook.name)
    return f'<a class="button" download="{name}" href="data:{_XLSX};base64,{data}">{texts["save"]}</a>'


def _none(texts: dict[str, str]) -> str:
    return f'<div class="table"><p>{texts["none"]}</p></div>'


def _outlines(sheet: Sheet, number: int) -> Iterator[str]:
    for index, cell in enumerate(sheet.table.cells):
        if cell.quad is not None and np.isfinite(cell.quad).all():
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in cell.quad)
            yield (
                f'<polygon class="{cell_kind(cell)}" data-cell="{number}-{index}" points="{points}">'
                f"<title>{escape(describe(cell))}</title></polygon>"
            )


def _table_to_html(sheet: Sheet, values: TableValues, number: int, texts: dict[str, str]) -> str:
    table = sheet.table
    size = texts["size"].format(rows=table.n_rows, cols=table.n_cols)
    title = texts["sheet"].format(number=number + 1)
    sure = "" if table.confidence is None else texts["sure"].format(percent=100 * table.confidence.table)
    parts = " · ".join(filter(None, [f"<b>{title}</b>", size, sure]))
    return (
        f'<div class="table"><p>{parts}</p>{_least_sure(sheet, number, texts)}'
        f'<div class="sheet" tabindex="0" role="region" aria-label="{title}">{_grid(sheet, values, number)}</div></div>'
    )


def _least_sure(sheet: Sheet, number: int, texts: dict[str, str]) -> str:
    rated = [(cell.confidence or 0.0, index) for index, cell in enumerate(sheet.table.cells) if cell.is_doubtful(_SURE)]
    buttons = [
        f'<button type="button" data-cell="{number}-{index}">{_address(sheet, sheet.table.cells[index])}: '
        f"{score:.0%}</button>"
        for score, index in sorted(rated)[:_MOST_CHECKED]
    ]
    return f"<p>{texts['check']}: {' '.join(buttons)}</p>" if buttons else ""


def _address(sheet: Sheet, cell: Cell) -> str:
    """Where a spreadsheet has the cell."""
    return f"{column_letter(cell.col + 1)}{sheet.top + cell.row + 1}"


def _grid(sheet: Sheet, values: TableValues, number: int) -> str:
    """The sheet as a spreadsheet shows it: letters and numbers, the title, the cells."""
    table = flatten(sheet.table)
    letters = "".join(f'<th class="letter">{column_letter(col + 1)}</th>' for col in range(table.n_cols))
    lines = [f'<thead><tr><th class="letter"></th>{letters}</tr></thead><tbody>']
    if table.title is not None:
        lines.append(f"<tr>{_row_number(1)}{_line(table.title.text, table.n_cols)}</tr>")
        lines += [f"<tr>{_row_number(row)}{_line('', table.n_cols)}</tr>" for row in range(2, sheet.top + 1)]
    places = {id(cell): index for index, cell in enumerate(table.cells)}
    for row, cells in enumerate(table.rows()[:_MOST_ROWS]):
        written = "".join(
            _cell_to_html(cell, values.cells[places[id(cell)]], f"{number}-{places[id(cell)]}") for cell in cells
        )
        lines.append(f"<tr>{_row_number(sheet.top + row + 1)}{written}</tr>")
    if table.n_rows > _MOST_ROWS:
        lines.append(f"<tr>{_row_number(sheet.top + _MOST_ROWS + 1)}{_line('…', table.n_cols)}</tr>")
    runs = ' dir="rtl"' if table.direction == "rtl" else ""
    return f"<table{runs}>{''.join(lines)}</tbody></table>"


def _row_number(row: int) -> str:
    return f'<th class="letter">{row}</th>'


def _line(text: str, n_cols: int) -> str:
    return f'<td class="line" colspan="{n_cols}">{_escape(text)}</td>'


def _cell_to_html(cell: Cell, value: Value, name: str) -> str:
    tag = "td" if cell.header is None else "th"
    rowspan = min(cell.rowspan, _MOST_ROWS - cell.row)
    spans = "".join(f' {key}="{size}"' for key, size in (("rowspan", rowspan), ("colspan", cell.colspan)) if size > 1)
    kinds = [
        name for name, holds in (("number", not value.is_text), ("doubtful", cell_kind(cell) == "doubtful")) if holds
    ]
    classes = f' class="{" ".join(kinds)}"' if kinds else ""
    return f'<{tag}{classes} data-cell="{name}"{spans} title="{escape(describe(cell))}">{_escape(cell.text)}</{tag}>'


def _escape(text: str) -> str:
    return escape(clean_text(text)).replace("\n", "<br>")
