"""What single kinds of tables promise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tablerec.synth import describe, load_recipe
from tablerec.synth.content.texts import Language, Writer
from tablerec.synth.description import CellSpec, ColumnSpec, RowSpec, Rule, TableSpec, TextStyle
from tablerec.synth.draft import Draft, DraftCell
from tablerec.synth.drawing.layout import lay_out_table
from tablerec.synth.drawing.rules import Edges, between_groups
from tablerec.synth.drawing.styles import Look, dress
from tablerec.synth.drawing.themes import make_theme
from tablerec.synth.recipe import STRUCTURES
from tablerec.synth.structures import BUILDERS

LANGUAGES: tuple[Language, ...] = ("english", "latin", "chinese")


def drafts(structure: str, recipe: str, count: int = 40) -> Iterator[Draft]:
    for seed in range(count):
        writer = Writer(np.random.default_rng([seed, 7]), LANGUAGES[seed % 3])
        yield BUILDERS[structure](writer, load_recipe(recipe))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_drafts_are_whole_grids(structure: str) -> None:
    for draft in drafts(structure, "mixed", 6):
        taken = np.zeros((len(draft.rows), len(draft.columns)), int)
        for cell in draft.cells:
            taken[cell.row : cell.row + cell.rowspan, cell.col : cell.col + cell.colspan] += 1
        assert (taken == 1).all()
        assert not draft.widths or max(draft.widths) < len(draft.columns)
        assert not draft.heights or max(draft.heights) < len(draft.rows)


@pytest.mark.parametrize(("structure", "recipe"), [("register", "register"), ("catalogue", "webpage")])
def test_each_row_ends_somewhere(structure: str, recipe: str) -> None:
    """A side of a row that all cells cross could not be seen."""
    for draft in drafts(structure, recipe):
        ends = {cell.row + cell.rowspan for cell in draft.cells}
        assert ends == set(range(1, len(draft.rows) + 1))


def test_groups_of_studies_are_merged() -> None:
    """Cells were placed before their rows were there, and so never reached beyond one."""
    merged = [cell for draft in drafts("journal", "journal") for cell in draft.cells if cell.kind == "row"]
    assert max(cell.rowspan for cell in merged) > 1


@pytest.mark.parametrize(
    ("text", "rowspan"), [("one\ntwo\nthree", 3), ("one\ntwo", 1), ("a text that is wrapped", 1), ("", 1)]
)
def test_only_text_that_fills_its_rows_shows_that_they_are_merged(text: str, rowspan: int) -> None:
    """Without lines, and at the first or last of its rows, shorter text would stand beside one row alone."""
    recipe = load_recipe("typeset")
    for seed in range(12):
        writer = Writer(np.random.default_rng(seed), "english")
        look = Look(TextStyle("Sans", 10), make_theme(writer, "light"), "none", "none", 1)
        draft = Draft(["label", "text"])
        for row in range(5):
            draft.add_row("header" if row == 0 else "body")
            draft.put(DraftCell(row, 0, f"row {row}"))
        draft.put(DraftCell(1, 1, text, rowspan=3))
        table = dress(draft.finish(), writer, recipe, look)
        if {cell.valign for cell in table.cells if cell.kind == "body"} != {"middle"}:
            assert max(cell.rowspan for cell in table.cells) == rowspan


def test_lines_stand_between_groups() -> None:
    draft = Draft(["label", "number"])
    for row, name in enumerate(("Head", "one", "", "two", "")):
        draft.add_row("header" if row == 0 else "body")
        draft.put(DraftCell(row, 0, name))
    edges = Edges()
    between_groups(edges, draft.finish(), Rule())
    assert {row for row, _ in edges.across} == {3}
    for row in (2, 4):
        draft.cells[2 * row].text = "named as well"
    edges = Edges()
    between_groups(edges, draft, Rule())
    assert not edges.across


def test_registers_hold_headers_of_many_lines() -> None:
    recipe, counts = load_recipe("register"), []
    for index in range(30):
        for table in describe(recipe, 3, index).tables:
            counts += [len(cell.lines) for cell in lay_out_table(table).cells if cell.spec.kind == "column"]
    assert np.mean(np.array(counts) >= 3) > 0.15
    assert max(counts) >= 8


def test_text_is_wrapped_to_the_width_of_its_column() -> None:
    """Where a column has a width of its own, only a word that cannot be broken makes it wider."""
    recipe = load_recipe("register")
    for index in range(12):
        for table in describe(recipe, 4, index).tables:
            layout = lay_out_table(table)
            asked = [column.max_width for column in table.columns]
            # Merged cells use what such words made of their columns.
            for cell in (each for each in layout.cells if each.spec.colspan == 1):
                room = asked[cell.spec.col]
                for line in cell.lines:
                    can_break = any(character >= "\u2e80" for character in line.text[1:-1]) and len(line.text) > 5
                    assert not can_break or line.width <= room


def test_heights_stay_with_their_rows() -> None:
    draft = Draft(["text"])
    for row in range(3):
        draft.add_row()
        draft.put(DraftCell(row, 0, str(row)))
    draft.heights = {1: 4.0, 2: 5.0}
    draft.add_title("Title")
    assert draft.heights == {2: 4.0, 3: 5.0}
    draft.drop_row(2)
    assert draft.heights == {2: 5.0}
    assert [cell.text for cell in draft.cells] == ["Title", "0", "2"]


def test_taken_slots_stay_with_their_rows() -> None:
    """Below a title added before the body, empty cells were put on the header row's cells."""
    draft = Draft(["label", "number"])
    draft.put(DraftCell(draft.add_row("header"), 1, "F1"))
    draft.add_title("Title")
    draft.put(DraftCell(draft.add_row(), 0, "Body"))
    draft.drop_row(1)
    draft.put(DraftCell(draft.add_row(), 1, "5"))
    draft.finish()
    assert [(cell.row, cell.col, cell.text) for cell in draft.cells] == [
        (0, 0, "Title"), (1, 0, "Body"), (1, 1, ""), (2, 0, ""), (2, 1, "5")
    ]  # fmt: skip


def test_a_large_title_does_not_make_other_rows_high() -> None:
    def heights(size: float) -> list[float]:
        cells = [CellSpec(row, 0, "", TextStyle("Sans", 10)) for row in range(3)]
        cells[0] = CellSpec(0, 0, "Title", TextStyle("Sans", 10 * size))
        return np.diff(lay_out_table(TableSpec(tuple(cells), (RowSpec(2, 2),) * 3, (ColumnSpec(3, 3),))).ys).tolist()

    assert heights(1) == [16, 16, 16]
    assert heights(3) == [40, 16, 16]


def test_receipts_ledgers_and_bands_look_as_they_should() -> None:
    """Wide blanks and second lines stay in their entry, and a band covers all columns."""
    articles = [cell.text for draft in drafts("receipt", "receipt") for cell in draft.cells if cell.kind == "row"]
    assert any("  " in text.strip() for text in articles) and any("\n" in text for text in articles)
    for draft in drafts("ledger", "ledger"):
        long = draft.columns.index("long")
        filled = {cell.row for cell in draft.cells if cell.col > long and cell.text}
        assert filled == set(range(len(draft.rows)))
    for draft in drafts("banded", "banded"):
        bands = [cell for cell in draft.cells if cell.kind == "section"]
        assert bands and {cell.colspan for cell in bands} == {len(draft.columns)}
    cells = [cell for draft in drafts("banded", "banded") for cell in draft.cells]
    assert any(cell.rowspan > 1 and cell.is_centred for cell in cells)
    assert {cell.align for cell in cells if cell.kind == "column" and cell.colspan > 1} >= {"left", "center"}


def test_saturated_fills_are_of_full_colour() -> None:
    for seed in range(20):
        theme = make_theme(Writer(np.random.default_rng(seed), "english"), "saturated")
        assert max(theme.shade) - min(theme.shade) > 120
        assert max(theme.accent) - min(theme.accent) > 50


def test_what_is_unseen_looks_as_it_should() -> None:
    """Cards hold several lines, days are narrow and some filled, and all answers to a question share a cell."""
    for draft in drafts("cards", "unseen_cards", 9):
        texts = [cell.text for cell in draft.cells if cell.text]
        assert texts and all("\n" in text for text in texts)
    for draft in drafts("rota", "unseen_rota", 9):
        assert max(draft.widths[col] for col in range(1, len(draft.columns))) < draft.widths[0]
        assert {"accent"} <= {cell.fill for cell in draft.cells}
    answers = [cell for draft in drafts("questionnaire", "unseen_questionnaire", 9) for cell in draft.cells]
    assert max(cell.text.count("\n") for cell in answers) == 4
