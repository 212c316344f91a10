from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.cell import Cell, shift
from postprocess.meaning.headers import SURE, SURE_STUB, mark_headers
from postprocess.table import Table
from tests.helpers.strategies import PLAIN_TEXTS, TEXTS, tables

MARKS = {"column": "#", "row": ">", "section": "§", None: "."}


def marks(table: Table) -> list[str]:
    """Return one character for each slot."""
    marked = mark_headers(table)
    return ["".join(MARKS[marked[row, col].header] for col in range(marked.n_cols)) for row in range(marked.n_rows)]


def texts(*rows: str) -> Table:
    return Table.from_texts([row.split("|") for row in rows])


@pytest.mark.parametrize(
    "table",
    [
        Table([]),
        Table([Cell(0, 0)]),
        Table([Cell(0, 0, text="only")]),
        Table([Cell(0, 0, text="5")]),
        Table([Cell(0, 0, rowspan=3, colspan=3, text="one")]),
        Table.from_texts([["", ""], ["", ""]]),
        texts("1|2", "3|4"),
        texts("a|b", "c|d"),
        texts("Name|Bob", "Age|5"),
    ],
    ids=repr,
)
def test_without_evidence_nothing_is_marked(table: Table) -> None:
    assert {cell.header for cell in mark_headers(table).cells} <= {None}


def test_labels_above_numbers_and_beside_them() -> None:
    assert marks(texts("Item|Price|Count", "Tea|1.20|5", "Milk|0.90|12")) == ["###", ">..", ">.."]


def test_empty_corner_is_header() -> None:
    assert marks(texts("|2017|2018", "Sales|12.5|13.1", "Costs|8|9")) == ["###", ">..", ">.."]


def test_years_above_amounts_are_headers_but_a_column_of_years_is_not() -> None:
    assert marks(texts("Name|Born|Died", "Bach|1685|1750", "Cage|1912|1992", "Ives|1874|1954")) == ["###"] + [">.."] * 3
    assert marks(texts("Year|Sales", "2016|5.0", "2017|6.0")) == ["##", ">.", ">."]


@pytest.mark.parametrize("head", ["2017", "FY2017", "2016/17", "31 Dec 2017", "2017年", "2017-12-31"])
def test_ways_to_write_a_year(head: str) -> None:
    assert marks(texts(f"|{head}|{head}", "a|5.5|6", "b|7|8"))[0] == "###"


def test_two_levels_with_groups() -> None:
    table = Table(
        [
            Cell(0, 0, rowspan=2, text="Country"),
            Cell(0, 1, colspan=2, text="2017"),
            Cell(0, 3, colspan=2, text="2018"),
            *(Cell(1, col, text="male" if col % 2 else "female") for col in range(1, 5)),
            *(Cell(row, col, text="7.5" if col else "Chad") for row in (2, 3) for col in range(5)),
        ]
    )
    assert marks(table) == ["#####", "#####", ">....", ">...."]


def test_groups_alone_are_evidence_in_a_table_of_words() -> None:
    table = Table(
        [
            Cell(0, 0, rowspan=2, text="Day"),
            Cell(0, 1, colspan=2, text="Room"),
            *(Cell(1, 1, text="Red"), Cell(1, 2, text="Blue")),
            *(Cell(2, col, text=text) for col, text in enumerate(["Mon", "Maths", "Art"])),
        ]
    )
    assert marks(table) == ["###", "###", "..."]


def test_a_row_of_units_below_the_labels_is_header() -> None:
    assert marks(texts("Item|Price|Weight", "|EUR|kg", "Tea|1.20|5", "Milk|2.10|7"))[:2] == ["###", "###"]


def test_docling_1983_title_above_the_header_row() -> None:
    body = [
        Cell(r, c, text=t) for r, row in enumerate(["a|b|c", "x|1|2", "y|3|4"], 1) for c, t in enumerate(row.split("|"))
    ]
    assert marks(Table([Cell(0, 0, colspan=3, text="Table 5"), *body]))[:3] == ["###", "###", ">.."]


def test_docling_3164_section_rows() -> None:
    table = texts("|2017|2018", "Assets||", "Cash|5|6", "Land|7|8", "Debts||", "Loans|9|1")
    assert marks(table) == ["###", "§..", ">..", ">..", "§..", ">.."]


def test_section_as_wide_as_the_table() -> None:
    head, body = texts("Item|Price|Count"), texts("Tea|1.20|5", "Milk|0.90|12")
    rows = [*head.cells, Cell(1, 0, colspan=3, text="Drinks")]
    rows += [replace(cell, row=cell.row + 2) for cell in body.cells] + [Cell(4, 0, colspan=3, text="Source: us")]
    assert marks(Table(rows)) == ["###", "§§§", ">..", ">..", "..."]


def test_years_below_a_title_are_header_and_the_title_alone_is_not() -> None:
    title, head, body = (
        Cell(0, 0, colspan=3, text="Scenario"),
        ["Servers in:", "2007", "2008"],
        ["Rooms", "1,512", "1,586"],
    )
    below = Table.from_texts([head, body, ["Centres", "1,505", "1,580"], ["Closets", "911", "1,001"]])
    assert marks(Table([title, *(shift(cell, 1) for cell in below.cells)]))[:3] == ["###", "###", ">.."]


def test_a_form_to_fill_in_has_names_of_rows_and_no_sections() -> None:
    assert marks(texts("Name||", "Street||", "Town||", "Signed|by|on")) == [">.."] * 4


def test_a_row_of_dashes_is_no_section() -> None:
    assert marks(texts("|2017|2018", "Cash|5|6", "Land|-|-", "Gold|7|8"))[2] == ">.."


def test_docling_core_755_header_that_hangs_into_the_body_marks_no_header_row() -> None:
    table = Table(
        [
            Cell(0, 0, rowspan=4, text="All"),
            Cell(0, 1, text="Price"),
            Cell(0, 2, text="Count"),
            *(Cell(row, col, text="5.5") for row in (1, 2, 3) for col in (1, 2)),
        ]
    )
    assert mark_headers(table).n_header_rows == 0


def test_gmft_46_body_has_no_empty_header_cells() -> None:
    marked = mark_headers(texts("Item|Price|Count", "Tea|1.20|5", "|0.90|12", "Oil|3|4"))
    assert marked[2, 0].header is None


@pytest.mark.parametrize(
    ("heads", "stub"), [(["", "", "People", "Area"], ">>.."), (["Land", "Town", "P", "A"], ">...")]
)
def test_labels_grouped_by_a_tall_cell_fill_two_columns_where_the_corner_says_so(heads: list[str], stub: str) -> None:
    table = Table(
        [
            *(Cell(0, col, text=text) for col, text in enumerate(heads)),
            Cell(1, 0, rowspan=2, text="Chad"),
            *(Cell(row, 1, text=text) for row, text in ((1, "Mao"), (2, "Ati"))),
            *(Cell(row, col, text="7.5") for row in (1, 2) for col in (2, 3)),
        ]
    )
    assert marks(table) == ["####", stub, stub]


def unmarked(cell: Cell) -> Cell:
    return replace(cell, header=None, header_score=None, is_total=False)


@given(tables(texts=PLAIN_TEXTS | TEXTS | st.sampled_from(["2017", "12.5", "Total", "合计"])))
def test_marks_change_nothing_else_and_header_rows_are_whole(table: Table) -> None:
    marked = mark_headers(table)
    assert [unmarked(cell) for cell in marked.cells] == [unmarked(cell) for cell in table.cells]
    depth = marked.n_header_rows
    assert all((cell.header == "column") == (cell.row < depth) for cell in marked.cells)
    assert all(cell.end_row <= depth for cell in marked.cells if cell.row < depth)
    assert depth < max(table.n_rows, 1)
    assert all(cell.text.strip() for cell in marked.cells if cell.header in ("row", "section"))
    assert mark_headers(marked) == marked
    assert all((cell.header is None) == (cell.header_score is None) for cell in marked.cells)
    assert all(cell.header_score >= min(SURE, SURE_STUB) for cell in marked.cells if cell.header_score is not None)


@given(st.integers(1, 5), st.integers(2, 6))
def test_a_table_of_numbers_has_no_headers(n_rows: int, n_cols: int) -> None:
    table = Table.from_texts([[f"{row}.{col}5" for col in range(n_cols)] for row in range(n_rows)])
    assert mark_headers(table) == table


def test_clear_headers_are_surer_than_doubtful_ones() -> None:
    clear = mark_headers(texts("Item|Price|Count", "Tea|1.20|5", "Milk|0.90|12", "Oil|3.10|4"))
    doubtful = mark_headers(texts("Feature|Ours|Theirs", "Fast|yes|no", "Cheap|no|yes", "Small|yes|yes"))
    assert clear[0, 1].header_score > 0.99 > doubtful[0, 1].header_score  # type: ignore[operator]


def test_rows_with_years_for_names() -> None:
    assert marks(texts("Year|Sales|Costs", "2016|5.0|4.1", "2017|6.0|4.2", "2018|7.5|4.4")) == ["###"] + [">.."] * 3


def totals(table: Table) -> list[str]:
    return [cell.text for cell in mark_headers(table).cells if cell.is_total]


def test_totals_of_rows_and_columns() -> None:
    table = texts("Item|Men|Women|Total", "Tea|51|42|93", "Milk|33|20|53", "Total|84|62|146")
    assert totals(table) == ["Total", "93", "53", "Total", "84", "62", "146"]


def test_label_of_a_total_stays_the_name_of_its_row() -> None:
    marked = mark_headers(texts("Item|Men|Women", "Tea|51|42", "Milk|33|20", "Total|84|62"))
    assert (marked[3, 0].header, marked[3, 0].is_total) == ("row", True)
