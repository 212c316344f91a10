"""What is drawn determines the truth: rows and columns that nothing shows are not there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tablerec.synth import describe, load_recipe
from tablerec.synth.description import CellSpec, ColumnSpec, RowSpec, Rule, TableSpec, TextStyle
from tablerec.synth.determined import drop_hidden
from tablerec.synth.drawing.layout import shown_sides

STYLE = TextStyle("Sans", 10)


def table_of(*cells: CellSpec) -> TableSpec:
    n_rows = max(cell.row + cell.rowspan for cell in cells)
    n_cols = max(cell.col + cell.colspan for cell in cells)
    return TableSpec(cells, (RowSpec(2, 2),) * n_rows, (ColumnSpec(3, 3),) * n_cols)


def grid_of(*rows: str, rule: Rule | None = None) -> TableSpec:
    """A character for each cell; a space is an empty one."""
    return table_of(
        *(
            CellSpec(row, col, text.strip(), STYLE, bottom=rule, right=rule)
            for row, line in enumerate(rows)
            for col, text in enumerate(line)
        )
    )


def texts_of(spec: TableSpec) -> list[str]:
    grid = np.full((len(spec.rows), len(spec.columns)), " ")
    for cell in spec.cells:
        grid[cell.row : cell.row + cell.rowspan, cell.col : cell.col + cell.colspan] = cell.text or " "
    return ["".join(row) for row in grid]


def test_an_empty_cell_alone_stays() -> None:
    assert texts_of(drop_hidden(grid_of(" "))) == [" "]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (("ab", "  ", "cd"), ["ab", "cd"]),
        (("ab", "cd", "  ", "  "), ["ab", "cd"]),
        (("  ", "ab"), ["ab"]),
        (("a c", "d f"), ["ac", "df"]),
        (("a ", " b"), ["a ", " b"]),
    ],
)
def test_lines_without_text_and_rules_go(rows: tuple[str, ...], expected: list[str]) -> None:
    assert texts_of(drop_hidden(grid_of(*rows))) == expected


def test_ruled_lines_stay() -> None:
    spec = grid_of("ab", "  ", "cd", rule=Rule())
    assert drop_hidden(spec) == spec


def test_a_merged_cell_over_hidden_rows_becomes_lower() -> None:
    merged = CellSpec(0, 0, "a", STYLE, rowspan=3)
    others = (CellSpec(row, 1, text, STYLE) for row, text in enumerate(("b", "", "c")))
    spec = drop_hidden(table_of(merged, *others))
    assert [(cell.text, cell.row, cell.rowspan) for cell in spec.cells] == [("a", 0, 2), ("b", 0, 1), ("c", 1, 1)]


def test_merged_cells_that_share_all_their_rows_become_single() -> None:
    spec = drop_hidden(table_of(CellSpec(0, 0, "a", STYLE, rowspan=4), CellSpec(0, 1, "b", STYLE, rowspan=4)))
    assert [(cell.row, cell.rowspan) for cell in spec.cells] == [(0, 1), (0, 1)] and len(spec.rows) == 1


def test_the_rule_behind_a_hidden_row_stays() -> None:
    rule = Rule(2)
    cells = [
        CellSpec(row, 0, text, STYLE, bottom=rule if row == 1 else None) for row, text in enumerate(("a", "", "b"))
    ]
    assert [cell.bottom for cell in drop_hidden(table_of(*cells)).cells] == [rule, None]


def drawn_tables() -> Iterator[TableSpec]:
    for name in ("sparse", "form", "mixed"):
        recipe = load_recipe(name)
        for index in range(25):
            yield from describe(recipe, 6, index).tables


def test_drawn_tables_show_all_their_rows_and_columns() -> None:
    for spec in drawn_tables():
        owners = np.zeros((len(spec.rows), len(spec.columns)), int)
        for cell in spec.cells:
            owners[cell.row : cell.row + cell.rowspan, cell.col : cell.col + cell.colspan] += 1
        assert (owners == 1).all()
        for axis, start, span in ((1, "row", "rowspan"), (0, "col", "colspan")):
            shown = shown_sides(spec, axis)
            spoken = {getattr(c, start) for c in spec.cells if getattr(c, span) == 1 and (c.full_text or c.is_checkbox)}
            for index in range(len(shown) - 1):
                assert index in spoken or len(shown) == 2 or (shown[index] and shown[index + 1])
