"""Table -> Markdown, as GitHub writes tables (https://github.github.com/gfm/#tables-extension-).

Markdown knows one header row and no spans. So several header rows are joined,
a table without header rows gets an empty one, a span writes its text once, and a
table in a cell is its text; HTML keeps what is lost here. Title and notes are paragraphs above and below.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from postprocess.characters import clean_text
from postprocess.table import Table, flatten

# "&" only where it would start a character reference.
_SPECIAL = re.compile(r"[\\`*_\[\]<>~|]|&(?=[#\w]+;)")


def table_to_markdown(table: Table) -> str:
    r"""Write a table as Markdown.

    Args:
        table: Any table; one without cells gives an empty text.

    Returns:
        Lines that end with a line feed; line feeds inside a cell are ``<br>``.

    >>> print(table_to_markdown(Table.from_texts([["a|b", "x\ny"]])), end="")
    |  |  |
    | --- | --- |
    | a\|b | x<br>y |
    """
    above = [f"{_escape_paragraph(table.title.text)}\n"] if table.title else []
    below = [f"{_escape_paragraph(note.text)}\n" for note in table.notes]
    rows = _rows_to_markdown(flatten(table))
    return "\n".join([*above, *([rows] if rows else []), *below])


def _rows_to_markdown(table: Table) -> str:
    grid = [[_escape(text) for text in row] for row in table.to_grid()]
    if not grid:
        return ""
    depth = table.n_header_rows
    columns = zip(*grid[:depth], strict=True) if depth else [()] * table.n_cols
    head = ["<br>".join(filter(None, column)) for column in columns]
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * table.n_cols, *grid[depth:]])


def tables_to_markdown(tables: Sequence[Table], names: Sequence[str] | None = None) -> str:
    """Write several tables, with an empty line between them.

    Args:
        tables: Any number of tables.
        names: A heading above each, such as "Page 3 Table 1".
    """
    headings = [""] * len(tables) if names is None else [f"## {_escape(name)}\n\n" for name in names]
    return "\n".join(heading + table_to_markdown(table) for heading, table in zip(headings, tables, strict=True))


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", clean_text(text).strip().replace("\t", " ")).replace("\n", "<br>")


def _escape_paragraph(text: str) -> str:
    """A paragraph, also where it begins like a list, a heading or a rule."""
    return re.sub(r"^(\d+(?=[.)])|(?=[#+=-]))", r"\1\\", _escape(text))
