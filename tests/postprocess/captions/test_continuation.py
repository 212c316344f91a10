"""Tables over several pages."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.captions.continuation import JOIN_SCORE, continuation, group_parts, join_tables
from postprocess.cell import Caption, Cell, Confidence
from postprocess.errors import TableError
from postprocess.meaning.headers import mark_headers
from postprocess.table import Table

HEAD = ["Item", "Plan", "Real"]
WIDTHS = (110, 80, 60)


def make_rows(n_rows: int) -> list[list[str]]:
    return [[f"Item {'abcdefghij'[row % 10]}", f"{row}1.50", f"{row}2.75"] for row in range(n_rows)]


def place(rows: list[list[str]], widths: tuple[float, ...] = WIDTHS, left: float = 40, top: float = 30) -> Table:
    """A table whose cells have quads and headers, as it is found on a page."""
    cells = []
    for r, row in enumerate(rows):
        for c, text in enumerate(row):
            x0, x1 = left + sum(widths[:c]), left + sum(widths[: c + 1])
            y0, y1 = top + 20 * r, top + 20 * r + 20
            cells.append(Cell(r, c, text=text, quad=((x0, y0), (x1, y0), (x1, y1), (x0, y1))))
    return mark_headers(Table(cells))


def test_no_table() -> None:
    assert continuation(Table([]), Table([])).score == 0
    assert group_parts([]) == [] and group_parts([[], []]) == []


@given(
    st.integers(4, 30),
    st.lists(st.integers(2, 29), max_size=3, unique=True),
    st.booleans(),
    st.floats(-15, 15),
)
def test_parts_of_a_table_are_joined_wherever_it_was_split(n: int, cuts: list[int], again: bool, shift: float) -> None:
    rows = make_rows(n)
    ends = [0, *sorted(cut for cut in cuts if cut < n), n]
    heads = [True, *[again] * len(ends)]
    parts = [
        place(([HEAD] if head else []) + rows[start:end], left=40 + shift * page)
        for page, (head, start, end) in enumerate(zip(heads, ends, ends[1:], strict=False))
    ]
    [found] = group_parts([[part] for part in parts])
    joined = join_tables(found)
    assert joined.to_grid() == [HEAD, *rows]
    assert joined.n_header_rows == 1


@pytest.mark.parametrize(
    "below",
    [
        place([["Name", "Age", "Sex"], ["Ann", "31.00", "f"], ["Ben", "32.00", "m"]]),
        place(make_rows(4), widths=(60, 80, 110)),
        place([row[:2] for row in make_rows(4)], widths=(190, 60)),
        place([[*row, "9"] for row in make_rows(4)], widths=(*WIDTHS, 60)),
        place([["12", "two", "three"], ["13", "four", "five"], ["14", "six", "seven"]]),
    ],
    ids=["another header", "other widths", "wider columns elsewhere", "one column more", "texts below numbers"],
)
def test_another_table_is_not_joined(below: Table) -> None:
    above = place([HEAD, *make_rows(6)])
    assert continuation(above, below).score < JOIN_SCORE
    assert group_parts([[above], [below]]) == [[above], [below]]


def test_docling_1470_a_part_without_the_last_column_is_joined() -> None:
    above, below = place([HEAD, *make_rows(4)]), place([row[:2] for row in make_rows(3)], widths=WIDTHS[:2])
    joined = join_tables([above, below])
    assert joined.to_grid() == [HEAD, *make_rows(4), *[[*row[:2], ""] for row in make_rows(3)]]


def test_only_neighbours_over_a_page_break_are_joined() -> None:
    part = place(make_rows(3))
    assert len(group_parts([[part, part], [], [part]])) == 3
    assert [len(parts) for parts in group_parts([[part, part], [part, part]])] == [1, 2, 1]


def test_cells_of_several_pictures_have_no_place_in_one() -> None:
    part = place(make_rows(3))
    assert join_tables([part]) is part
    assert {cell.quad for cell in join_tables([part, part]).cells} == {None}


def test_tables_without_places_are_not_joined() -> None:
    part = place(make_rows(3))
    bare = part.with_cells(replace(cell, quad=None) for cell in part.cells)
    assert continuation(bare, part).score == continuation(part, bare).score == 0
    with pytest.raises(TableError, match="other columns"):
        join_tables([part, bare])


def rated(table: Table, score: float) -> Table:
    """The table with a confidence whose rows and columns are told apart."""
    rows = tuple(score + row / 1000 for row in range(table.n_rows))
    cols = tuple(score - col / 1000 for col in range(table.n_cols))
    cells = [replace(cell, confidence=score) for cell in table.cells]
    return replace(table, cells=cells, confidence=Confidence(score, rows, cols, "row 0, column 0"))


def test_joined_tables_are_as_sure_as_their_parts_together() -> None:
    parts = [rated(place([HEAD, *make_rows(3)]), 0.9), rated(place([HEAD, *make_rows(2)]), 0.8)]
    joined = join_tables(parts)
    sure = joined.confidence
    assert sure is not None
    assert sure.table == pytest.approx(0.9 * 0.8)
    assert len(sure.rows) == joined.n_rows and len(sure.cols) == joined.n_cols
    assert sure.rows == pytest.approx([0.9, 0.901, 0.902, 0.903, 0.801, 0.802])
    assert sure.cols == pytest.approx([0.8, 0.799, 0.798])
    assert sure.weakest == "part 2, row 0, column 0"
    assert joined[4, 0].confidence == 0.8


def test_columns_that_a_part_lacks_are_as_sure_as_in_the_others() -> None:
    above = rated(place([HEAD, *make_rows(4)]), 0.9)
    below = rated(place([row[:2] for row in make_rows(3)], widths=WIDTHS[:2]), 0.5)
    sure = join_tables([above, below]).confidence
    assert sure is not None and sure.cols == pytest.approx([0.5, 0.499, 0.898])


def test_one_unrated_part_leaves_the_whole_unrated() -> None:
    assert join_tables([rated(place([HEAD, *make_rows(3)]), 0.9), place(make_rows(3))]).confidence is None


def test_joined_tables_keep_the_first_title_and_each_note_once() -> None:
    quad = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))
    notes = [Caption("* late", quad, 0.9), Caption("Source: a")]
    above = replace(place([HEAD, *make_rows(4)]), title=Caption("Table 1. Sales", quad), notes=notes[:1])
    below = replace(place(make_rows(4)), title=Caption("Table 1 (continued)"), notes=notes)
    joined = join_tables([above, below])
    assert joined.title == Caption("Table 1. Sales")
    assert joined.notes == (Caption("* late", None, 0.9), Caption("Source: a"))


def test_tables_of_other_numbers_are_not_joined() -> None:
    above = replace(place([HEAD, *make_rows(4)]), title=Caption("Table 1. Sales"))
    below = place([HEAD, *make_rows(4)])
    assert continuation(above, below).score >= JOIN_SCORE
    assert continuation(above, replace(below, title=Caption("Sales"))).score >= JOIN_SCORE
    assert continuation(above, replace(below, title=Caption("Table 2. Costs"))).score == 0


HEBREW_HEAD = ["פריט", "תכנון", "ביצוע"]


def place_mirrored(rows: list[list[str]]) -> Table:
    """A right-to-left table as it is found: its first column is at the right."""
    return mark_headers(place([row[::-1] for row in rows], widths=WIDTHS[::-1]).mirrored())


def test_a_table_from_right_to_left_goes_on() -> None:
    rows = [[f"סעיף {letter}", f"{number}1.50", f"{number}2.75"] for number, letter in enumerate("אבגדהו")]
    parts = [place_mirrored([HEBREW_HEAD, *rows[:3]]), place_mirrored(rows[3:])]
    [found] = group_parts([[part] for part in parts])
    joined = join_tables(found)
    assert joined.direction == "rtl" and joined.to_grid() == [HEBREW_HEAD, *rows]


def test_numbers_alone_go_on_a_table_from_right_to_left() -> None:
    """Without letters the second page does not say where its columns begin."""
    rows = [["1", "11.50", "2.75"], ["2", "12.50", "3.75"]]
    above = place_mirrored([HEBREW_HEAD, ["3", "13.50", "4.75"]])
    below = place([row[::-1] for row in rows], widths=WIDTHS[::-1])
    [found] = group_parts([[above], [below]])
    joined = join_tables(found)
    assert joined.direction == "rtl" and joined.to_grid()[2:] == rows


def test_missing_first_columns_are_those_at_the_right() -> None:
    above = place_mirrored([[f"סעיף {letter}", "1.50", "2.75"] for letter in "אבגד"])
    below = place([["5.75", "4.50"], ["6.75", "5.50"]], widths=(60, 80)).mirrored()
    assert continuation(above, below).first_col == 1
