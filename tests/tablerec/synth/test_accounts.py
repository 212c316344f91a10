"""What the kinds of tables promise: tall headers, wrapped labels, values beside the dots that lead to them."""

from __future__ import annotations

import numpy as np
import pytest

from tablerec.synth import describe, load_recipe
from tablerec.synth.content.phrases import long_header, long_label
from tablerec.synth.content.texts import Language, Writer
from tablerec.synth.drawing.layout import TableLayout, lay_out_table
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures import BUILDERS


def layouts(name: str, count: int) -> list[TableLayout]:
    recipe = load_recipe(name)
    return [lay_out_table(table) for index in range(count) for table in describe(recipe, 3, index).tables]


@pytest.mark.parametrize("structure", BUILDERS)
@pytest.mark.parametrize("n_cols", [1, 2, 7])
def test_the_smallest_tables_are_complete(structure: str, n_cols: int) -> None:
    recipe = Recipe(rows=(1, 2), columns=(n_cols, n_cols), cells=(1, 20), header_levels={"0": 1, "1": 1, "3": 1})
    for seed in range(8):
        draft = BUILDERS[structure](Writer(np.random.default_rng(seed), "english"), recipe)
        covered = np.zeros((len(draft.rows), len(draft.columns)), int)
        for cell in draft.cells:
            covered[cell.row : cell.row + cell.rowspan, cell.col : cell.col + cell.colspan] += 1
        assert covered.size and (covered == 1).all()


@pytest.mark.parametrize("language", ["english", "latin", "chinese"])
def test_long_labels_are_longer_than_what_they_are_made_of(language: Language) -> None:
    writer = Writer(np.random.default_rng(0), language)
    for compose, topic in ((long_label, "accounts"), (long_header, "measures")):
        short = np.mean([len(writer.label(topic)) for _ in range(200)])
        texts = [compose(writer, topic) for _ in range(200)]
        assert np.mean([len(text) for text in texts]) > 1.4 * short
        assert not any("{" in text for text in texts)


@pytest.mark.parametrize(
    ("name", "kind", "n_lines", "share"),
    [
        ("prospectus", "column", 4, 0.2),
        ("prospectus", "row", 2, 0.5),
        ("financial", "row", 2, 0.2),
        ("financial", "column", 3, 0.1),
        ("census", "column", 3, 0.1),
    ],
)
def test_texts_of_several_lines_are_frequent(name: str, kind: str, n_lines: int, share: float) -> None:
    tall = [
        any(len(cell.lines) >= n_lines for cell in table.cells if cell.spec.kind == kind) for table in layouts(name, 40)
    ]
    assert np.mean(tall) > share


@pytest.mark.parametrize("name", ["prospectus", "census"])
def test_dots_lead_to_the_line_of_the_values(name: str) -> None:
    seen = 0
    for table in layouts(name, 40):
        for cell in table.cells:
            if cell.leader is not None and len(cell.lines) > 1:
                values = [
                    other
                    for other in table.cells
                    if other.lines and other.spec.row == cell.spec.row and other.spec.kind == "body"
                ]
                seen += bool(values)
                assert all(abs(other.lines[-1].baseline - cell.lines[-1].baseline) < 1 for other in values)
    assert seen > 5


def test_cells_of_long_texts_are_many_lines_high_beside_short_ones() -> None:
    heights = [[len(cell.lines) for cell in table.cells if cell.lines] for table in layouts("textual", 40)]
    assert np.mean([max(lines) >= 5 and min(lines) == 1 for lines in heights]) > 0.4
