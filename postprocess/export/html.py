"""Table -> HTML, and back.

The markup follows the HTML standard, https://html.spec.whatwg.org/multipage/tables.html:
``thead`` holds the header rows, each section starts a ``tbody`` of its own,
``colgroup`` tells the stub and the columns under one header apart, ``scope`` says
what a header cell heads, and a row in which no cell starts is an empty ``tr``.
Raised and lowered signs are ``sup`` and ``sub``, and read back as Unicode's characters.
The title is the ``caption``. Notes follow the table in a block of their own, to
which ``aria-describedby`` leads: no row, so that whoever copies the table gets its
rows alone. A table in a cell is a ``table`` there, after the cell's own text, and a picture an ``img`` that holds its
data: files beside a page are lost when it is moved. Reading uses the standard's algorithm for forming a table.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from html.parser import HTMLParser
from itertools import pairwise

from postprocess.cell import Caption, Cell, Direction, HeaderKind, Picture, shift
from postprocess.characters import clean_text
from postprocess.errors import InputError, OutputError
from postprocess.meaning.roles import stub_width
from postprocess.raised import Position, from_runs, raised_runs
from postprocess.table import Table, fill_holes, tables_in
from postprocess.text.direction import own_direction

MAX_COLSPAN = 1000
MAX_ROWSPAN = 65534
"""Limits of the HTML standard; a browser cuts longer spans to them."""

MAX_SLOTS = 1_000_000
"""A table read from HTML may cover this many slots."""

SCOPES: dict[HeaderKind, str] = {"column": "col", "row": "row", "section": "rowgroup"}

_STYLE = """
body { margin: 2rem; font: 15px/1.4 system-ui, "Noto Sans CJK SC", "Microsoft YaHei", sans-serif; color: #1a1a1a; }
h2 { font-size: 1em; margin: 0 0 .4rem; }
table { border-collapse: collapse; margin: 0 0 2rem; }
caption { text-align: start; padding: 0 0 .4rem; }
th, td { border: 1px solid #bbb; padding: .25rem .6rem; text-align: start; vertical-align: top; height: 1.4em; }
thead th { background: #eef1f4; vertical-align: bottom; }
thead th[colspan] { text-align: center; }
th[scope=row] { font-weight: normal; }
th[scope=rowgroup] { background: #f7f8fa; }
td table, th table { margin: .3rem 0; }
td img, th img { display: block; max-width: 20rem; max-height: 15rem; }
.notes { margin: -1.6rem 0 2rem; font-size: .9em; }
.notes p { margin: 0; }
.doubtful { background: #fff4ce; outline: 1px dashed #b58900; outline-offset: -2px; }
""".strip()

MAX_DEPTH = 10
"""Tables read may stand in cells of one another so often."""

_DATA = "data:image/png;base64,"
_PNG = b"\x89PNG\r\n\x1a\n"

_NOTES = "notes"
"""Class of the block that holds the notes of the table before it."""


def table_to_html(
    table: Table, *, title: str | None = None, name: str = "table", mark_below: float | None = None
) -> str:
    r"""Write one ``<table>`` element, and its notes after it.

    Characters that HTML forbids are removed, all others escaped; ``"\n"``
    becomes ``<br>``, and ``"²"`` becomes ``<sup>2</sup>``. A table and a text that run from
    right to left say so with ``dir``.

    Args:
        table: Any table, also one without cells.
        title: Caption, in place of the table's own title.
        name: Begins the ids in the markup; tables of one page need different ones.
        mark_below: Cells less sure than this, 0 to 1, get the class ``doubtful`` and ``data-confidence``.

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
    return _table_to_html(table, title, name, mark_below, "ltr")


def _table_to_html(table: Table, title: str | None, name: str, mark_below: float | None, around: Direction) -> str:
    groups, depth = _column_groups(table), table.n_header_rows
    rows = [
        f"<tr>{''.join(_cell_to_html(cell, table.direction, groups, name, mark_below) for cell in row)}</tr>"
        for row in table.rows()
    ]
    starts = [0, *_body_starts(table), table.n_rows]
    attributes = f' dir="{table.direction}"' if table.direction != around else ""
    attributes += f' aria-describedby="{escape(name)}-notes"' if table.notes else ""
    lines = [f"<table{attributes}>"]
    shown = title if title is not None else table.title.text if table.title else None
    if shown is not None:
        lines.append(f"<caption{_dir(shown, table.direction)}>{_escape(shown)}</caption>")
    lines += [f'<colgroup span="{end - start}">' + "</colgroup>" for start, end in groups]
    for start, end in pairwise(starts):
        if start < end:
            tag = "thead" if end <= depth else "tbody"
            lines += [f"<{tag}>", *rows[start:end], f"</{tag}>"]
    lines.append("</table>")
    if table.notes:
        notes = [f"<p{_dir(note.text, 'ltr')}>{_escape(note.text)}</p>" for note in table.notes]
        lines += [f'<div class="{_NOTES}" id="{escape(name)}-notes">', *notes, "</div>"]
    return "\n".join([*lines, ""])


def tables_to_html(
    tables: Sequence[Table],
    title: str = "Tables",
    *,
    names: Sequence[str] | None = None,
    lang: str = "und",
    mark_below: float | None = None,
) -> str:
    """Write a whole HTML5 page that holds all tables.

    Args:
        tables: Any number of tables; the page says so if there are none.
        title: Title of the page.
        names: A heading above each table, such as "Page 3 Table 1".
        lang: Language of the texts as a BCP 47 tag; ``"und"`` means undetermined.
        mark_below: Cells less sure than this, 0 to 1, are marked, and a line says so.

    Returns:
        The page; write it as UTF-8.

    Raises:
        OutputError: A span is longer than HTML allows.

    >>> tables_to_html([], "scan.png").splitlines()[:2]
    ['<!DOCTYPE html>', '<html lang="und">']
    """
    parts = [
        heading + table_to_html(table, name=f"table-{number}", mark_below=mark_below)
        for number, (heading, table) in enumerate(zip(_headings(names, len(tables)), tables, strict=True), 1)
    ]
    body = "".join(parts) or "<p>No table found</p>\n"
    if any(cell.is_doubtful(mark_below) for table in tables for cell in table.cells):
        body = f'<p><span class="doubtful">Marked</span> cells have a confidence below {mark_below:g}.</p>\n{body}'
    return (
        f'<!DOCTYPE html>\n<html lang="{escape(lang)}">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{_plain(title)}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n"
        f"<body>\n{body}</body>\n</html>\n"
    )


def _headings(names: Sequence[str] | None, n_tables: int) -> list[str]:
    return [""] * n_tables if names is None else [f"<h2>{_plain(name)}</h2>\n" for name in names]


def _column_groups(table: Table) -> list[tuple[int, int]]:
    """First and end column of each group: the stub, and the columns under each spanning header of the first such row.

    Empty where there is neither: then all columns are one group, as without markup.
    """
    stub, depth = stub_width(table), table.n_header_rows
    wide = [
        (cell.row, cell.col, cell.end_col)
        for cell in table.cells
        if cell.row < depth and 1 < cell.colspan < table.n_cols and cell.col >= stub
    ]
    spans = {col: end for row, col, end in wide if row == min(wide)[0]}
    ends = sorted({0, stub, table.n_cols, *spans, *spans.values()})
    groups = list(pairwise(ends))
    return groups if len(groups) > 1 and max(end - start for start, end in groups) <= MAX_COLSPAN else []


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
    collapsed as a browser does, ``<br>`` becomes ``"\n"``, and what stands in ``<sup>``
    and ``<sub>`` becomes raised and lowered characters where Unicode has them. A ``th`` without
    scope heads its columns in ``thead`` and in rows of ``th`` only, else its row. A table in a
    cell is one of ``Cell.tables``, and none of those returned.

    Raises:
        InputError: A table inside a table but in no cell of it, or one of more than
            `MAX_SLOTS` slots, or markup that cannot be read.
        TableError: Cells that overlap.
    """
    reader = _TableReader()
    try:
        # Not close(): it would look at an unfinished tag once for each of its characters.
        reader.feed(html)
        reader.feed("</table>" * max(reader.depth, 1))
    except AssertionError as error:
        raise InputError(f"the HTML cannot be read: {error}; look for a stray <![") from error
    if reader.rawdata:
        raise InputError(f"the HTML ends inside a tag or comment that starts with {reader.rawdata[:20]!r}")
    return list(map(_to_table, reader.tables))


def _to_table(read: _Read) -> Table:
    """The table with its caption and the notes after it, as far as they hold text."""
    table = _form_table(read.groups)
    texts = [each.text() for each in (read.title or _Text(), *read.notes)]
    title, *notes = (Caption(text) if text.strip() else None for text in texts)
    return replace(table, title=title, notes=[note for note in notes if note], direction=read.direction)


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
            yield Cell(
                row, col, rowspan, markup.colspan,
                text=markup.text(),
                header=markup.header(is_head=is_head),
                tables=tuple(map(_to_table, markup.tables)),
                pictures=tuple(markup.pictures),
            )  # fmt: skip
            free_from += [0] * (end_col - len(free_from))
            free_from[col:end_col] = [max(free, row + rowspan) for free in free_from[col:end_col]]
            col = end_col


def _check_slots(n_slots: int) -> None:
    if n_slots > MAX_SLOTS:
        raise InputError(f"the HTML holds a table of more than {MAX_SLOTS:,} slots: split it, or correct its spans")


def _cell_to_html(
    cell: Cell, direction: Direction, groups: Sequence[tuple[int, int]], name: str, mark_below: float | None
) -> str:
    if cell.colspan > MAX_COLSPAN or cell.rowspan > MAX_ROWSPAN:
        raise OutputError(
            f"the cell at row {cell.row}, column {cell.col} spans {cell.rowspan} x {cell.colspan}, HTML allows "
            f"{MAX_ROWSPAN} x {MAX_COLSPAN}: write the table as CSV or JSON"
        )
    tag, attributes = ("th", f' scope="{_scope(cell.header, cell, groups)}"') if cell.header else ("td", "")
    if cell.rowspan > 1:
        attributes += f' rowspan="{cell.rowspan}"'
    if cell.colspan > 1:
        attributes += f' colspan="{cell.colspan}"'
    if cell.is_doubtful(mark_below):
        attributes += (
            f' class="doubtful" data-confidence="{cell.confidence:.2f}" title="confidence {cell.confidence:.2f}"'
        )
    content, own = _escape(cell.text), _dir(cell.text, direction)
    # In an element of its own, so that the cell is aligned like the others of its column.
    text = f"<bdi{own}>{content}</bdi>" if own else content
    return f"<{tag}{attributes}>{text}{_inside_to_html(cell, name, mark_below, direction)}</{tag}>"


def _inside_to_html(cell: Cell, name: str, mark_below: float | None, around: Direction) -> str:
    """Tables and pictures that stand in a cell."""
    pictures = [f'\n<img alt="" src="{_DATA}{b64encode(each.png).decode()}">\n' for each in cell.pictures if each.png]
    tables = [
        f"\n{_table_to_html(each, None, f'{name}-{cell.row}-{cell.col}-{number}', mark_below, around)}"
        for number, each in enumerate(tables_in(cell), 1)
    ]
    return "".join(pictures + tables)


def _dir(text: str, around: Direction) -> str:
    """The attribute that shows a text right in its surroundings, where it needs one."""
    own = own_direction(text, around)
    return f' dir="{own}"' if own else ""


def _scope(header: HeaderKind, cell: Cell, groups: Sequence[tuple[int, int]]) -> str:
    """A header over several columns heads a ``colgroup`` where one has just these columns, else each of them."""
    is_group = header == "column" and cell.colspan > 1 and (cell.col, cell.end_col) in groups
    return "colgroup" if is_group else SCOPES[header]


def _plain(title: str) -> str:
    """The title of a page, which holds no markup."""
    return escape(clean_text(title), quote=False).replace("\n", " ")


def _escape(text: str) -> str:
    return "".join(map(_run_to_html, raised_runs(clean_text(text))))


def _run_to_html(run: tuple[str, Position | None]) -> str:
    content, position = escape(run[0], quote=False).replace("\n", "<br>"), run[1]
    return f"<{position}>{content}</{position}>" if position else content


def _body_starts(table: Table) -> list[int]:
    sections = {cell.row for cell in table.cells if cell.header == "section"}
    crossed = {row for cell in table.cells for row in range(cell.row + 1, cell.end_row)}
    depth = table.n_header_rows
    return sorted({depth} | {row for row in sections - crossed if row > depth})


@dataclass(slots=True)
class _Text:
    """Text as read: the pieces of each line, and the ``sup`` and ``sub`` that are open."""

    lines: list[list[str]] = field(default_factory=lambda: [[]])
    raised: list[Position] = field(default_factory=list)

    def add(self, data: str) -> None:
        self.lines[-1].append(from_runs([(data, self.raised[-1] if self.raised else None)]))

    def text(self) -> str:
        lines = ("".join(line) for line in self.lines)
        return clean_text("\n".join(re.sub("[ \t\n\f\r]+", " ", line).strip(" ") for line in lines))


@dataclass(slots=True)
class _Markup:
    """One ``td`` or ``th`` as read, not yet placed; ``rowspan`` 0 reaches the end of the group."""

    tag: str
    scope: str
    rowspan: int
    colspan: int
    content: _Text = field(default_factory=_Text)
    tables: list[_Read] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)

    def text(self) -> str:
        """The text beside tables and pictures: these begin and end lines."""
        text = self.content.text()
        return text.strip("\n") if self.tables or self.pictures else text

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


@dataclass(slots=True)
class _Read:
    """A table as read; ``described_by`` are the ids of what may be its notes."""

    described_by: list[str]
    direction: Direction
    groups: list[_Group] = field(default_factory=list)
    title: _Text | None = None
    notes: list[_Text] = field(default_factory=list)


class _TableReader(HTMLParser):
    """Collects groups, rows and cells; end tags may be missing, as in HTML they may."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[_Read] = []
        self._table: _Read | None = None
        self._row: list[_Markup] | None = None
        self._text: _Text | None = None
        """The cell, caption or note that is open."""
        self._notes: list[_Text] | None = None
        self._around: list[tuple[_Read, list[_Markup], _Markup]] = []
        """The tables around the one that is open, with the row and the cell of each."""
        self._is_hidden = False
        self._direction: Direction = "ltr"
        """Of the whole page."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("html", "body") and self._table is None:
            self._direction = _to_direction(dict(attrs).get("dir"), self._direction)
        elif tag == "table":
            self._start_table(dict(attrs))
        elif tag == "img" and self._row and self._text:
            self._add_picture(self._row[-1], dict(attrs).get("src") or "")
        elif tag == "br" and self._text:
            self._text.lines.append([])
        elif tag in ("sup", "sub") and self._text:
            self._text.raised.append("sup" if tag == "sup" else "sub")
        elif self._table is None or tag in ("div", "p"):
            self._start_note(tag, dict(attrs))
        elif tag in ("thead", "tbody", "tfoot"):
            self._start_group(tag)
        elif tag == "tr":
            self._start_row()
        elif tag in ("td", "th"):
            self._start_cell(tag, dict(attrs))
        elif tag == "caption" and self._table.title is None:
            self._row, self._text = None, _Text()
            self._table.title = self._text
        elif tag in ("script", "style"):
            self._is_hidden = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._is_hidden = False
        elif self._text and self._text.raised[-1:] == [tag]:
            self._text.raised.pop()
        elif tag == "table":
            self.end_table()
        elif tag in ("thead", "tbody", "tfoot", "tr"):
            self._row = self._text = None
        elif tag in ("td", "th", "caption", "p"):
            self._text = None if tag != "p" or self._table is None else self._cell_text()
        elif tag == "div" and (self._table is None or self._notes is not None):
            self._text, self._notes = None if self._table is None else self._cell_text(), None

    def handle_data(self, data: str) -> None:
        if self._text and not self._is_hidden:
            self._text.add(data)

    def end_table(self) -> None:
        if self._table is None or not self._around:
            self.tables += [] if self._table is None else [self._table]
            self._table = self._row = self._text = None
            return
        ended = self._table
        self._table, self._row, cell = self._around.pop()
        cell.tables.append(ended)
        self._text = cell.content
        self._text.lines.append([])

    def _cell_text(self) -> _Text | None:
        """The text of the cell that is open, outside the notes of a table in it."""
        if self._notes is None:
            return self._text
        return self._row[-1].content if self._row else None

    @property
    def depth(self) -> int:
        """Number of tables that are open."""
        return 0 if self._table is None else len(self._around) + 1

    def _start_table(self, attributes: dict[str, str | None]) -> None:
        direction = self._direction
        if self._table is not None:
            if not self._row or self._text is not self._row[-1].content:
                raise InputError("the HTML holds a table inside a table, in no cell of it: separate them first")
            if len(self._around) >= MAX_DEPTH:
                raise InputError(f"the HTML holds tables in tables, more than {MAX_DEPTH} deep: separate them first")
            self._around.append((self._table, self._row, self._row[-1]))
            self._row, direction = None, self._table.direction
        self._table = _start_table(attributes, direction)
        self._text = self._notes = None

    def _add_picture(self, cell: _Markup, source: str) -> None:
        """What the cell shows, where the document itself holds it."""
        try:
            png = b64decode(source[len(_DATA) :], validate=True) if source.startswith(_DATA) else b""
        except ValueError:
            return
        if png.startswith(_PNG):
            cell.pictures.append(Picture(png=png))
            cell.content.lines.append([])

    def _start_note(self, tag: str, attributes: dict[str, str | None]) -> None:
        """A paragraph of the block that the last table names as its description, on the page or in the same cell."""
        tables = self.tables if self._table is None else self._row[-1].tables if self._row else []
        if tag == "div" and tables and attributes.get("class") == _NOTES:
            is_named = attributes.get("id") in tables[-1].described_by
            self._notes = tables[-1].notes if is_named else None
        elif tag == "p" and self._notes is not None:
            self._text = _Text()
            self._notes.append(self._text)

    def _start_group(self, tag: str) -> _Group:
        assert self._table is not None
        self._row = self._text = None
        self._table.groups.append(_Group(tag))
        return self._table.groups[-1]

    def _start_row(self) -> list[_Markup]:
        assert self._table is not None
        group = self._table.groups[-1] if self._table.groups else self._start_group("tbody")
        self._row, self._text = [], None
        group.rows.append(self._row)
        return self._row

    def _start_cell(self, tag: str, attributes: dict[str, str | None]) -> None:
        row = self._start_row() if self._row is None else self._row
        rowspan = min(_to_int(attributes.get("rowspan"), 1), MAX_ROWSPAN)
        colspan = min(_to_int(attributes.get("colspan"), 1) or 1, MAX_COLSPAN)
        cell = _Markup(tag, (attributes.get("scope") or "").lower(), rowspan, colspan)
        self._text, self._notes = cell.content, None
        row.append(cell)


def _start_table(attributes: dict[str, str | None], around: Direction) -> _Read:
    described_by = (attributes.get("aria-describedby") or "").split()
    return _Read(described_by, _to_direction(attributes.get("dir"), around))


def _to_direction(value: str | None, default: Direction) -> Direction:
    known: dict[str, Direction] = {"ltr": "ltr", "rtl": "rtl"}
    return known.get((value or "").lower(), default)


def _to_int(text: str | None, default: int) -> int:
    match = re.match("[ \t\n\f\r]*[+]?0*([0-9]{1,9})", text or "")
    return int(match[1]) if match else default
