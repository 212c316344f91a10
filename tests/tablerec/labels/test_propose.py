"""What is proposed as a label, and what is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from postprocess.cell import Cell, Confidence
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
from postprocess.table import Table
from postprocess.word import Unplaced, Word
from tablerec.cli import command
from tablerec.labels.propose import page_to_label, why_not
from tablerec.result import Dropped, Page, PageImage
from tests.helpers.labels import read


def make_table(confidence: float, left: float = 0.0) -> Table:
    boxes = [[left + 10 * col, 10 * row, left + 10 * col + 10, 10 * row + 10] for row in range(2) for col in range(2)]
    cells = [
        Cell(index // 2, index % 2, quad=array_to_quad(quad), text=str(index))
        for index, quad in enumerate(boxes_to_quads(boxes))
    ]
    outline = array_to_quad(boxes_to_quads([[left, 0, left + 20, 20]])[0])
    return Table(cells, outline, Confidence(confidence, (1.0, 1.0), (1.0, 1.0), ""))


def make_page(*tables: Table) -> Page:
    return Page(PageImage("a.png", 1, np.zeros((40, 60, 3), np.uint8)), tables)


def make_word(x: float, y: float) -> Word:
    return Word("w", boxes_to_quads([[x - 2, y - 2, x + 2, y + 2]])[0])


def test_a_page_without_tables() -> None:
    label = page_to_label(make_page(), Path("a.png"))
    assert label.quads.shape == (0, 4, 2) and label.slots.shape == (0, 5)
    assert why_not(make_page()) == "no table was found"


def test_a_label_counts_columns_from_the_left() -> None:
    ltr, rtl = (page_to_label(make_page(table), Path("a.png")) for table in (make_table(1), make_table(1).mirrored()))
    assert (rtl.slots.tolist(), rtl.quads.tolist(), rtl.texts) == (ltr.slots.tolist(), ltr.quads.tolist(), ltr.texts)


def test_tables_become_a_label() -> None:
    label = page_to_label(make_page(make_table(0.95), make_table(0.95, left=30)), Path("a.png"))
    assert label.slots.tolist()[4:6] == [[1, 0, 0, 1, 1], [1, 0, 1, 1, 1]]
    assert label.texts[:2] == ("0", "1") and label.size_wh == (60, 40)
    assert label.quads[4].tolist() == [[30, 0], [40, 0], [40, 10], [30, 10]]


def test_reasons() -> None:
    good = make_page(make_table(0.95))
    assert why_not(good) == ""
    assert why_not(good, 0.96) == "a table with a confidence of 0.95"
    assert why_not(make_page(make_table(0.95), make_table(0.2, left=30))) == "a table with a confidence of 0.20"
    table = good.tables[0]
    unseen = replace(table, cells=[replace(table.cells[0], quad=None), *table.cells[1:]])
    assert why_not(replace(good, tables=(unseen,))) == "a table with cells that nobody saw"
    words = "a table that was built from its words alone, which do not say where cells end"
    assert why_not(replace(good, detector="cellnet+words")) == words
    nested = replace(table, cells=[replace(table.cells[0], tables=(table,)), *table.cells[1:]])
    whole = "a table in a cell: one cell cannot be labelled as a whole and in parts"
    assert why_not(replace(good, tables=(nested,))) == whole
    askew = replace(table, cells=[replace(table.cells[0], alignment_score=0.8), *table.cells[1:]])
    assert why_not(replace(good, tables=(askew,))) == "a cell that lies off the lines of its grid (0.80)"
    lost = Dropped(table.cells[0].quad, 0.5, "no row")  # type: ignore[arg-type]
    assert why_not(replace(good, dropped=(lost,))) == "1 cells in no table"
    inside, outside = (Unplaced(make_word(x, 5), "no cell") for x in (15.0, 50.0))
    assert why_not(replace(good, unplaced=(outside,))) == ""
    assert why_not(replace(good, unplaced=(inside, outside))) == "1 words of a table in no cell"


@pytest.mark.parametrize("least", ["0.0", "1.0"])
def test_the_command(samples: Path, tmp_path: Path, least: str) -> None:
    arguments = ["labels", "propose", str(samples / "ruled.png"), str(samples / "one_cell.png")]
    options = ["--ocr", "none", "--detector", "rulings", "--min-confidence", least, "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(command, arguments + options)
    n_kept = int(least == "0.0")
    assert done.exit_code == 1 - n_kept and f"({n_kept} of 2 pictures)" in done.output
    assert f"{samples / 'one_cell.png'}: note: " in done.output and "not kept: " in done.output
    labels, problems = read(tmp_path / "out") if n_kept else ([], [])
    assert problems == [] and [label.image.name for label in labels] == ["ruled.png"] * n_kept


def test_the_command_names_what_it_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"no picture")
    done = CliRunner().invoke(command, ["labels", "propose", str(tmp_path / "a.png"), "-o", str(tmp_path / "out")])
    assert done.exit_code == 1 and "Error: " in done.output and "a.png" in done.output
    assert "Traceback" not in done.output
