"""Whatever a person does, the journal, the workbook, the page and the labels say the same."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.editing.placing import tidy
from postprocess.export import html_to_tables
from postprocess.geometry.boxes import array_to_quad, rotate_points
from postprocess.table import Table
from tablerec.corrections.editor import Correction, CorrectionFolder, page_to_drafts
from tablerec.errors import TablerecError
from tablerec.evaluate.truth import read_truth
from tablerec.labels import Summary, check_labels, read_labels
from tests.helpers.review import make_page, make_table

Slots = list[tuple[int, int, int, int]]


def make_steps() -> st.SearchStrategy[list[dict[str, Any]]]:
    axis, place, flag = st.sampled_from(["row", "col"]), st.integers(0, 4), st.booleans()
    size, some = st.integers(1, 4), st.none() | place
    text = st.sampled_from(["", "=1+1", "@x", "-2", "a\nb", "<b>&amp;", "1,234.50", "'q", "表"])
    arguments: dict[str, dict[str, st.SearchStrategy[Any]]] = {
        "move_line": {"axis": axis, "line": place, "offset": st.floats(-60, 60), "at": some},
        "divide": {"axis": axis, "index": place, "fraction": st.floats(0.2, 0.8), "at": some},
        "extend": {"axis": axis, "at_end": flag},
        "remove_line": {"axis": axis, "line": place},
        "remove": {"axis": axis, "index": place},
        "merge": {"row": place, "col": place, "end_row": size, "end_col": size},
        "split": {"row": place, "col": place},
        "set_text": {"row": place, "col": place, "text": text},
        "set_headers": {"n_rows": place, "n_cols": place},
        "undo": {},
        "redo": {},
        "save": {},
        "reject": {},
    }
    every = [st.fixed_dictionaries({"do": st.just(name), **each}) for name, each in arguments.items()]
    return st.lists(st.one_of(every), max_size=12)


def turned(table: Table, degrees: float, pull: float) -> Table:
    """The table as a camera sees it from the side."""
    quads = table.quads
    quads = rotate_points(quads, degrees, (170.0, 80.0)) if degrees else quads
    quads = 170 + (quads - 170) / (1 + pull * (quads[..., :1] - 170))
    return replace(
        table, cells=[replace(c, quad=array_to_quad(quad)) for c, quad in zip(table.cells, quads, strict=True)]
    )


def slots(table: Table) -> Slots:
    return [(cell.row, cell.col, cell.rowspan, cell.colspan) for cell in table.cells]


@settings(max_examples=20, deadline=None)
@given(make_steps(), st.floats(-8, 8), st.floats(0, 5e-4), st.booleans())
def test_all_files_agree_after_any_steps(
    steps: list[dict[str, Any]], degrees: float, pull: float, is_rtl: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        corrections = CorrectionFolder(Path(folder))
        table = turned(make_table(box=(40, 40, 300, 120)), degrees, pull)
        table = table.mirrored() if is_rtl else table
        correction = corrections.open(page_to_drafts(make_page(table))[0])
        for step in steps:
            before = correction.history
            with suppress(TablerecError):
                corrections.do(correction, step)
            if step["do"] == "undo" and before.place:
                assert correction.state in before.states[: before.place]
        saved = corrections.save(correction)
        again = CorrectionFolder(Path(folder))
        assert again.read()[correction.head.name].view() == correction.view() and again.problems == []
        assert again.read()[correction.head.name].history == correction.history
        check_files(correction, saved)
        problems = list(check_labels(read_labels(Path(folder)), summary := Summary()))
        assert summary.n_errors == (len(saved) < 4), problems  # a folder without labels is an error too


def check_files(correction: Correction, saved: list[Path]) -> None:
    table = tidy(correction.table)
    page = html_to_tables(saved[1].read_text("utf-8"))[0]
    assert (slots(page), page.to_grid(), page.direction) == (slots(table), table.to_grid(), table.direction)
    sheet = openpyxl.load_workbook(saved[0]).active
    for cell in table.cells:
        content = sheet.cell(cell.row + 1, cell.col + 1)
        assert content.data_type != "f"
        assert content.value == (cell.text or None) or isinstance(content.value, (int, float))
    assert len(sheet.merged_cells.ranges) == sum(cell.is_spanning for cell in table.cells)
    assert (len(saved) == 4) == (correction.view()["no_label"] is None)
    assert bool(sheet.sheet_view.rightToLeft) == (table.direction == "rtl")
    if len(saved) == 4:
        table = table.from_left()  # a label says what the picture shows
        truth = read_truth(saved[2]).table
        assert (slots(truth), truth.to_grid()) == (slots(table), table.to_grid())
        annotations = json.loads(saved[3].read_text("utf-8"))["annotations"]
        corners = np.array([each["segmentation"][0] for each in annotations]).reshape(-1, 4, 2)
        own = table.quads
        assert np.allclose(corners, own.clip(0, correction.head.size_wh), atol=0.01)
