from __future__ import annotations

import re

import pytest
from hypothesis import given

from postprocess.cell import Caption, Cell
from postprocess.export import table_to_latex, tables_to_latex
from postprocess.table import Table
from tests.helpers.strategies import PLAIN_TEXTS, captioned, tables


def row_to_width(row: str) -> int:
    """Return the number of columns that a row of a tabular fills."""
    return sum(int(match[1]) if (match := re.search(r"\\multicolumn\{(\d+)\}", cell)) else 1 for cell in split(row))


def split(row: str) -> list[str]:
    return re.split(r"(?<!\\)&", row)


def test_no_cells() -> None:
    assert table_to_latex(Table([])) == tables_to_latex([]) == ""


@given(captioned(tables()))
def test_braces_are_balanced_and_specials_escaped(table: Table) -> None:
    latex = table_to_latex(table)
    depth = 0
    for char in re.sub(r"\\[{}\\]", "", latex):
        depth += {"{": 1, "}": -1}.get(char, 0)
        assert depth >= 0
    assert depth == 0
    assert not re.search(r"(?<!\\)[%$#_]", latex)
    assert not re.search(r"[~^<>\x00-\x09]", latex)


@given(tables(texts=PLAIN_TEXTS))
def test_every_row_fills_every_column(table: Table) -> None:
    lines = table_to_latex(table).splitlines()
    rows = [line.removesuffix(r" \\") for line in lines if line.endswith(r"\\")]
    assert [row_to_width(row) for row in rows] == [table.n_cols] * table.n_rows
    n_tall = sum(cell.rowspan > 1 for cell in table.cells)
    assert sum(row.count("\\multirow{") for row in rows) == n_tall


def test_title_and_notes_are_around_the_tabular() -> None:
    table = Table([Cell(0, 0, text="a")], title=Caption("Table 1:\n5 %"), notes=[Caption("Source: b & c")])
    assert table_to_latex(table).splitlines() == [
        r"\begin{table}",
        r"\caption*{Table 1: 5 \%}",
        r"\begin{tabular}{|l|}",
        r"\hline",
        r"a \\",
        r"\hline",
        r"\end{tabular}",
        "",
        r"Source: b \& c",
        r"\end{table}",
    ]


def test_spans_and_partial_rules() -> None:
    cells = [Cell(0, 0, 2, 2, text="a"), Cell(0, 2, text="b"), Cell(1, 2, text="c")]
    table = Table(cells + [Cell(2, col) for col in range(3)])
    assert table_to_latex(table).splitlines() == [
        r"\begin{tabular}{|l|l|l|}",
        r"\hline",
        r"\multicolumn{2}{|l|}{\multirow{2}{*}{a}} & b \\",
        r"\cline{3-3}",
        r"\multicolumn{2}{|l|}{} & c \\",
        r"\hline",
        r" &  &  \\",
        r"\hline",
        r"\end{tabular}",
    ]


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("R&D 5% $x$ #1 a_b {c}", r"R\&D 5\% \$x\$ \#1 a\_b \{c\}"),
        ("a\\b", r"a\textbackslash{}b"),
        ("x<b ~ ^ |", r"x\textless{}b \textasciitilde{} \textasciicircum{} \textbar{}"),
        ("[1] *", "{[}1{]} {*}"),
        ("-5 5--6 a''", "-5 5-{}-6 a'{}'"),
        ("a\nb", r"\shortstack[l]{a \\ b}"),
        ("表格", "表格"),
        ("10⁻⁴ m² H₂O", "10\\textsuperscript{\u22124} m\\textsuperscript{2} H\\textsubscript{2}O"),
    ],
)
def test_specials(text: str, latex: str) -> None:
    assert table_to_latex(Table.from_texts([[text]])).splitlines()[2] == rf"{latex} \\"


def test_headers_are_bold() -> None:
    assert r"\textbf{a} \\" in table_to_latex(Table([Cell(0, 0, text="a", header="column")]))
