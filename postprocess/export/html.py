"""Table -> HTML, and back.

The markup follows the HTML standard, https://html.spec.whatwg.org/multipage/tables.html:
``thead`` holds the header rows, each section starts a ``tbody`` of its own,
``scope`` says what a header cell heads, and a row in which no cell starts is an
empty ``tr``. Reading uses the standard's algorithm for forming a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from itertools import pairwise

from postprocess.errors import InputError, OutputError
from postprocess.export.text import clean_text
from postprocess.table import Cell, HeaderKind, Table, fill_holes, shift

MAX_COLSPAN = 1000
MAX_ROWSPAN = 65534
"""Limits of the HTML standard; a browser cuts longer spans to them."""

MAX_SLOTS = 1_000_000
"""A table read from HTML may cover this many slots."""

SCOPES: dict[HeaderKind, str] = {"column": "col", "row": "row", "section": "rowgroup"}

_STYLE = """
body { margin: 2rem; font: 15px/1.4 system-ui, "Noto Sans CJK SC", "Microsoft YaHei", sans-serif; color: #1a1a1a; }
table { border-collapse: collapse; margin: 0 0 2rem; }
caption { text-align: left; padding: 0 0 .4rem; }
th, td { border: 1px solid #bbb; padding: .25rem .6rem; text-align: left; vertical-align: top; height: 1.4em; }
thead th { background: #eef1f4; vertical-align: bottom; }
thead th[colspan] { text-align: center; }
th[scope=row] { font-weight: normal; }
th[scope=rowgroup] { background: #f7f8fa; }
""".strip()


def table_to_html(table: Table, *, title: str | None = None) -> str:
    r"""Write one ``<table>`` element.

    Characters that HTML forbids are removed, all others escaped; ``"\n"``
    becomes ``<br>``.

    Args:
        table: Any table, also one without cells.
        title: Caption.

    Returns:
        The element, ending with a line feed.

    Raises:
        OutputError: A span is longer than HTML allows.

    >>> print(table_to_html(Table([Cell(0, 0, text="p<0.05 & q", header="column"), Cell(1, 0, text="a\nb")])), end="")
    <table>
    <thead>
    <tr><th scope="col">p&lt;0.05 &amp; q</th></tr>
    </thead>
    <tbody>
    <tr><td>a<br>b</td></tr>
    </tbody>
    </table>
    """
    rows = [f"<tr>{''.join(map(_cell_to_html, row))}</tr>" for row in table.rows()]
    starts = [0, *_body_starts(table), table.n_rows]
    lines = ["<table>"]
    if title is not None:
        lines.append(f"<caption>{_escape(title)}</caption>")
    for start, end in pairwise(starts):
        if start < end:
            tag = "thead" if end <= table.n_header_rows else "tbody"
            lines += [f"<{tag}>", *rows[start:end], f"</{tag}>"]
    return "\n".join([*lines, "</table>", ""])


def tables_to_html(tables: Sequence[Table], title: str = "Tables", *, lang: str = "und") -> str:
    """Write a whole HTML5 page that holds all tables.

    Args:
        tables: Any number of tables; the page says so if there are none.
        title: Title of the page.
        lang: Language of the texts as a BCP 47 tag; ``"und"`` means undetermined.

    Returns:
        The page; write it as UTF-8.

    Raises:
        OutputError: A span is longer than HTML allows.

    >>> tables_to_html([], "scan.png").splitlines()[:2]
    ['<!DOCTYPE html>', '<html lang="und">']
    """
    body = "".join(map(table_to_html, tables)) or "<p>No table found</p>\n"
    return (
        f'<!DOCTYPE html>\n<html lang="{escape(lang)}">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{_escape(title, ' ')}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n"
        f"<body>\n{body}</body>\n</html>\n"
    )


def html_to_table(html: str) -> Table:
    r"""Read the one table of a document; see `html_to_tables`.

    Raises:
        InputError: There is no table, or more than one.

    >>> html_to_table("<table><tr><th>Name<td>a<br>b").to_grid()
    [['Name', 'a\nb']]
    """
    tables = html_to_tables(html)
    if len(tables) != 1:
        raise InputError(f"the HTML holds {len(tables)} tables, not one: html_to_tables() reads any number")
    return tables[0]


def html_to_tables(html: str) -> list[Table]:
    r"""Read every table of an HTML document, well-formed or not.

    Places follow the HTML standard: spans are cut to its limits and to their
    row group, short rows are completed with empty cells. White space is
    collapsed as a browser does, ``<br>`` becomes ``"\n"``. A ``th`` without
    scope heads its columns in ``thead`` and in rows of ``th`` only, else its row.

    Raises:
        InputError: A table inside a table, or one of more than
            `MAX_SLOTS` slots, or markup that cannot be read.
        TableError: Cells that overlap.
    """
    reader = _TableReader()
    try:
        # Not close(): it would look at an unfinished tag once for each of its characters.
        reader.feed(html + "</table>")
    except AssertionError as error:
        raise InputError(f"the HTML cannot be read: {error}; look for a stray <![") from error
    if reader.rawdata:
        raise InputError(f"the HTML ends inside a tag or comment that starts with {reader.rawdata[:20]!r}")
    return [_form_table(groups) for groups in reader.tables]


def _form_table(groups: list[_Group]) -> Table:
    cells: list[Cell] = []
    start, n_slots = 0, 0
    for group in groups:
        for cell in _place_cells(group):
            cells.append(shift(cell, rows=start))
            n_slots += cell.rowspan * cell.colspan
            _check_slots(n_slots)
        start += len(group.rows)
    _check_slots(start * max((cell.end_col for cell in cells), default=0))
    return Table(fill_holes(cells))


def _place_cells(group: _Group) -> Iterator[Cell]:
    # https://html.spec.whatwg.org/multipage/tables.html#forming-a-table
    free_from: list[int] = []  # by column: the first row that no cell above covers
    for row, markups in enumerate(group.rows):
        col, rows_left = 0, len(group.rows) - row
        is_head = group.tag == "thead" or all(markup.tag == "th" for markup in markups)
        for markup in markups:
            while col < len(free_from) and free_from[col] > row:
                col += 1
            rowspan, end_col = min(markup.rowspan or rows_left, rows_left), col + markup.colspan
            yield Cell(row, col, rowspan, markup.colspan, text=markup.text(), header=markup.header(is_head=is_head))
            free_from += [0] * (end_col - len(free_from))
            free_from[col:end_col] = [max(free, row + rowspan) for free in free_from[col:end_col]]
            col = end_col


def _check_slots(n_slots: int) -> None:
    if n_slots > MAX_SLOTS:
        raise InputError(f"the HTML holds a table of more than {MAX_SLOTS:,} slots: split it, or correct its spans")


def _cell_to_html(cell: Cell) -> str:
    if cell.colspan > MAX_COLSPAN or cell.rowspan > MAX_ROWSPAN:
        raise OutputError(
            f"the cell at row {cell.row}, column {cell.col} spans {cell.rowspan} x {cell.colspan}, HTML allows "
            f"{MAX_ROWSPAN} x {MAX_COLSPAN}: write the table as CSV or JSON"
        )
    tag, attributes = ("th", f' scope="{SCOPES[cell.header]}"') if cell.header else ("td", "")
    if cell.rowspan > 1:
        attributes += f' rowspan="{cell.rowspan}"'
    if cell.colspan > 1:
        attributes += f' colspan="{cell.colspan}"'
    return f"<{tag}{attributes}>{_escape(cell.text)}</{tag}>"


def _escape(text: str, line_end: str = "<br>") -> str:
    return escape(clean_text(text), quote=False).replace("\n", line_end)


def _body_starts(table: Table) -> list[int]:
    sections = {cell.row for cell in table.cells if cell.header == "section"}
    crossed = {row for cell in table.cells for row in range(cell.row + 1, cell.end_row)}
    return sorted({table.n_header_rows} | {row for row in sections - crossed if row > table.n_header_rows})


@dataclass(slots=True)
class _Markup:
    """One ``td`` or ``th`` as read, not yet placed; ``rowspan`` 0 reaches the end of the group."""

    tag: str
    scope: str
    rowspan: int
    colspan: int
    lines: list[list[str]] = field(default_factory=lambda: [[]])

    def text(self) -> str:
        lines = ("".join(line) for line in self.lines)
        return clean_text("\n".join(re.sub("[ \t\n\f\r]+", " ", line).strip(" ") for line in lines))

    def header(self, *, is_head: bool) -> HeaderKind | None:
        if self.tag == "th" and self.scope in _SCOPE_TO_HEADER:
            return _SCOPE_TO_HEADER[self.scope]
        if is_head:
            return "column"
        return "row" if self.tag == "th" else None


_SCOPE_TO_HEADER: dict[str, HeaderKind] = {"col": "column", "colgroup": "column", "row": "row", "rowgroup": "section"}


@dataclass(slots=True)
class _Group:
    """A ``thead``, ``tbody`` or ``tfoot``."""

    tag: str
    rows: list[list[_Markup]] = field(default_factory=list)


class _TableReader(HTMLParser):
    """Collects groups, rows and cells; end tags may be missing, as in HTML they may."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[_Group]] = []
        self._groups: list[_Group] | None = None
        self._row: list[_Markup] | None = None
        self._cell: _Markup | None = None
        self._is_hidden = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            if self._groups is not None:
                raise InputError("the HTML holds a table inside a table: separate them first")
            self._groups = []
        elif self._groups is None:
            return
        elif tag in ("thead", "tbody", "tfoot"):
            self._start_group(tag)
        elif tag == "tr":
            self._start_row()
        elif tag in ("td", "th"):
            self._start_cell(tag, dict(attrs))
        elif tag == "br" and self._cell:
            self._cell.lines.append([])
        elif tag in ("script", "style"):
            self._is_hidden = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._is_hidden = False
        elif tag == "table":
            self.end_table()
        elif tag in ("thead", "tbody", "tfoot", "tr"):
            self._row = self._cell = None
        elif tag in ("td", "th"):
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell and not self._is_hidden:
            self._cell.lines[-1].append(data)

    def end_table(self) -> None:
        if self._groups is not None:
            self.tables.append(self._groups)
        self._groups = self._row = self._cell = None

    def _start_group(self, tag: str) -> _Group:
        assert self._groups is not None
        self._row = self._cell = None
        self._groups.append(_Group(tag))
        return self._groups[-1]

    def _start_row(self) -> list[_Markup]:
        assert self._groups is not None
        group = self._groups[-1] if self._groups else self._start_group("tbody")
        self._row, self._cell = [], None
        group.rows.append(self._row)
        return self._row

    def _start_cell(self, tag: str, attributes: dict[str, str | None]) -> None:
        row = self._start_row() if self._row is None else self._row
        rowspan = min(_to_int(attributes.get("rowspan"), 1), MAX_ROWSPAN)
        colspan = min(_to_int(attributes.get("colspan"), 1) or 1, MAX_COLSPAN)
        self._cell = _Markup(tag, (attributes.get("scope") or "").lower(), rowspan, colspan)
        row.append(self._cell)


def _to_int(text: str | None, default: int) -> int:
    match = re.match("[ \t\n\f\r]*[+]?0*([0-9]{1,9})", text or "")
    return int(match[1]) if match else default
