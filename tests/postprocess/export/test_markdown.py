from __future__ import annotations

import re

import pytest
from hypothesis import given

from postprocess.cell import Caption, Cell
from postprocess.characters import clean_text
from postprocess.export import table_to_markdown, tables_to_markdown
from postprocess.table import Table
from tests.helpers.strategies import tables


def read(markdown: str) -> list[list[str]]:
    """Split into cells as GFM does, at pipes that no backslash escapes, and undo the escapes."""
    return [
        [unescape(cell.strip(" ")) for cell in re.findall(r"((?:\\.|[^\\|])*)[|]", line)[1:]]
        for line in markdown.splitlines()
    ]


def unescape(text: str) -> str:
    return re.sub(r"\\([!-/:-@\[-`{-~])|<br>", lambda match: match[1] or "\n", text)


def test_no_cells() -> None:
    assert table_to_markdown(Table([])) == tables_to_markdown([]) == ""


@given(tables())
def test_every_row_has_every_column_and_every_text(table: Table) -> None:
    rows = read(table_to_markdown(table))
    grid = [[clean_text(text).strip().replace("\t", " ").strip(" ") for text in row] for row in table.to_grid()]
    assert rows[2:] == grid[table.n_header_rows :]
    assert {len(row) for row in rows} <= {table.n_cols}
    assert rows[1:2] == [["---"] * table.n_cols][: table.n_rows]


def test_header_row_is_always_there() -> None:
    assert table_to_markdown(Table.from_texts([["a"]])) == "|  |\n| --- |\n| a |\n"
    assert table_to_markdown(Table([Cell(0, 0, text="a", header="column")])) == "| a |\n| --- |\n"


def test_docling_core_722_lower_header_rows_stay_headers() -> None:
    head = [Cell(0, 0, colspan=2, text="2017", header="column")]
    head += [Cell(1, col, text=f"Q{col + 1}", header="column") for col in range(2)]
    markdown = table_to_markdown(Table([*head, Cell(2, 0, text="5"), Cell(2, 1, text="6")]))
    assert markdown == "| 2017<br>Q1 | Q2 |\n| --- | --- |\n| 5 | 6 |\n"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", r"a\|b"),
        ("a\nb", "a<br>b"),
        ("*a* _b_ `c` ~d~", r"\*a\* \_b\_ \`c\` \~d\~"),
        ("[x](y)", r"\[x\](y)"),
        ("<b>", r"\<b\>"),
        ("R&D &amp; &#65;", r"R&D \&amp; \&#65;"),
        ("\\|", r"\\\|"),
    ],
)
def test_markup_is_escaped(text: str, escaped: str) -> None:
    assert table_to_markdown(Table.from_texts([[text]])).splitlines()[2] == f"| {escaped} |"


def test_several_tables_are_parted_by_an_empty_line() -> None:
    table = Table.from_texts([["a"]])
    assert tables_to_markdown([table, table]) == f"{table_to_markdown(table)}\n{table_to_markdown(table)}"


def test_title_and_notes_are_paragraphs() -> None:
    table = Table([Cell(0, 0, text="a")], title=Caption("Table 1. *Sales*"), notes=[Caption("1. late"), Caption("# x")])
    assert table_to_markdown(table) == ("Table 1. \\*Sales\\*\n\n|  |\n| --- |\n| a |\n\n1\\. late\n\n\\# x\n")
    assert table_to_markdown(Table([], title=Caption("- a"))) == "\\- a\n"
