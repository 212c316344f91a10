r"""Table -> LaTeX ``tabular`` with ``\multicolumn`` and ``\multirow``.

The document needs ``\usepackage{multirow}``, ``\usepackage{caption}`` where a table has a title, and an engine that
has the letters: XeLaTeX or LuaLaTeX with a suitable font for Chinese. Raised and lowered signs are
``\textsuperscript`` and ``\textsubscript``. A title keeps the number that it was printed
with, so LaTeX adds none. A table in a cell is its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from postprocess.cell import Cell
from postprocess.characters import clean_text, to_one_line
from postprocess.raised import Position, raised_runs
from postprocess.table import Table, flatten

_ESCAPES = str.maketrans(
    {
        **{char: f"\\{char}" for char in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
        # In braces they are no option of the \\ before them.
        **{char: f"{{{char}}}" for char in "[]*"},
        "\t": " ",
    }
)


def table_to_latex(table: Table) -> str:
    r"""Write a table with all lines drawn.

    Args:
        table: Any table; one without cells gives an empty text.

    Returns:
        A ``tabular`` environment, ending with a line feed; in a ``table`` environment where there are title or notes.

    >>> print(table_to_latex(Table([Cell(0, 0, colspan=2, text="5 %"), Cell(1, 0, text="a"), Cell(1, 1)])), end="")
    \begin{tabular}{|l|l|}
    \hline
    \multicolumn{2}{|l|}{5 \%} \\
    \hline
    a &  \\
    \hline
    \end{tabular}
    """
    rows = _to_tabular(flatten(table))
    if not table.captions:
        return rows
    title = [f"\\caption*{{{_escape(to_one_line(table.title.text))}}}"] if table.title else []
    notes = [f"\n{_escape(to_one_line(note.text))}" for note in table.notes]
    return "\n".join(["\\begin{table}", *title, rows.rstrip("\n"), *notes, "\\end{table}", ""])


def _to_tabular(table: Table) -> str:
    if not table.cells:
        return ""
    lines = [f"\\begin{{tabular}}{{|{'l|' * table.n_cols}}}", "\\hline"]
    for row in range(table.n_rows):
        lines += [" & ".join(_row_to_latex(table, row)) + r" \\", _rules_below(table, row)]
    return "\n".join([*filter(None, lines), "\\end{tabular}", ""])


def tables_to_latex(tables: Sequence[Table], names: Sequence[str] | None = None) -> str:
    """Write several tables, with an empty line between them.

    Args:
        tables: Any number of tables.
        names: A comment above each, such as "Page 3 Table 1".
    """
    comments = [""] * len(tables) if names is None else [f"% {to_one_line(name)}\n" for name in names]
    return "\n".join(comment + table_to_latex(table) for comment, table in zip(comments, tables, strict=True))


def _row_to_latex(table: Table, row: int) -> Iterator[str]:
    col = 0
    while col < table.n_cols:
        cell = table[row, col]
        content = _content(cell) if cell.row == row else ""
        if cell.colspan > 1:
            content = f"\\multicolumn{{{cell.colspan}}}{{{'|' * (col == 0)}l|}}{{{content}}}"
        yield content
        col = cell.end_col


def _content(cell: Cell) -> str:
    lines = [_escape(line) for line in clean_text(cell.text).strip().split("\n")]
    joined = r" \\ ".join(lines)
    content = joined if len(lines) == 1 else f"\\shortstack[l]{{{joined}}}"
    if cell.header and content:
        content = f"\\textbf{{{content}}}"
    return f"\\multirow{{{cell.rowspan}}}{{*}}{{{content}}}" if cell.rowspan > 1 else content


def _escape(text: str) -> str:
    return "".join(map(_run_to_latex, raised_runs(text)))


def _run_to_latex(run: tuple[str, Position | None]) -> str:
    # TeX makes one sign of -- and of ''.
    content, position = re.sub(r"([-'])(?=\1)", r"\1{}", run[0].translate(_ESCAPES)), run[1]
    return f"\\text{_COMMANDS[position]}{{{content}}}" if position else content


_COMMANDS: dict[Position, str] = {"sup": "superscript", "sub": "subscript"}


def _rules_below(table: Table, row: int) -> str:
    open_columns = [col for col in range(table.n_cols) if table[row, col].end_row == row + 1]
    if len(open_columns) == table.n_cols:
        return "\\hline"
    starts = [col for col in open_columns if col - 1 not in open_columns]
    ends = [col for col in open_columns if col + 1 not in open_columns]
    return " ".join(f"\\cline{{{start + 1}-{end + 1}}}" for start, end in zip(starts, ends, strict=True))
