from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

from postprocess.export import html_to_tables
from tablerec.editor import Correction, CorrectionFolder, page_to_drafts
from tablerec.errors import InputError, OutputError, TableError
from tablerec.evaluate.truth import read_truth
from tablerec.labels.read import read_labels
from tests.tablerec.editor.samples import make_page, make_table

MERGE = {"do": "merge", "row": 0, "col": 0, "end_row": 1, "end_col": 2}


def begin(folder: Path, **page: Any) -> tuple[CorrectionFolder, Correction]:
    corrections = CorrectionFolder(folder)
    return corrections, corrections.open(page_to_drafts(make_page(make_table(), **page))[0])


def test_empty_folder(tmp_path: Path) -> None:
    corrections = CorrectionFolder(tmp_path / "not yet")
    assert corrections.read() == {}
    assert list(tmp_path.iterdir()) == []


def test_every_step_is_on_disk_at_once(tmp_path: Path) -> None:
    _, correction = begin(tmp_path)
    correction.do(MERGE)
    correction.do({"do": "set_text", "row": 2, "col": 2, "text": "new 表"})
    correction.do({"do": "undo"})
    again = CorrectionFolder(tmp_path).read()["scan_1_1"]
    assert again.view() == correction.view()
    assert again.history == correction.history
    again.do({"do": "redo"})
    assert again.table[2, 2].text == "new 表"


def test_a_line_moved_again_and_again_is_undone_at_once(tmp_path: Path) -> None:
    _, correction = begin(tmp_path)
    nudge = {"do": "move_line", "axis": "row", "line": 1, "offset": 1.0, "at": None}
    found = correction.table
    for step in (nudge, {**nudge, "line": 2}, nudge, nudge, {**nudge, "offset": -10.0}, {**nudge, "offset": 11.0}):
        correction.do(step)
    far = correction.table
    states = []
    for _ in range(4):
        correction.do({"do": "undo"})
        states.append(correction.history.place)
    assert (states, correction.table) == ([5, 2, 1, 0], found)
    for _ in range(4):
        correction.do({"do": "redo"})
    assert correction.table == far
    correction.do({"do": "restore"})
    assert correction.table == found and correction.history.n_on == 1
    again = CorrectionFolder(tmp_path).read()["scan_1_1"]
    assert (again.view(), again.history) == (correction.view(), correction.history)


def test_an_undo_in_a_journal_goes_back_by_one_state(tmp_path: Path) -> None:
    """As journals always said it: what they were written for stays."""
    _, correction = begin(tmp_path)
    nudge = {"do": "move_line", "axis": "row", "line": 1, "offset": 1.0, "at": None}
    correction.do(nudge)
    once = correction.table
    with correction.path.open("a") as file:
        file.write(f"{json.dumps(nudge)}\n{json.dumps({'do': 'undo'})}\n")
    assert CorrectionFolder(tmp_path).read()["scan_1_1"].table == once


def test_the_same_table_goes_on_and_another_one_of_that_name_begins(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)
    correction.do(MERGE)
    _, same = begin(tmp_path)
    assert same.version == 1
    other = corrections.open(page_to_drafts(make_page(make_table(), source="other/scan.png"))[0])
    assert (other.head.name, other.version) == ("scan_1_1-2", 0)
    assert sorted(CorrectionFolder(tmp_path).read()) == ["scan_1_1", "scan_1_1-2"]


def test_saved_files_are_right(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)
    correction.do(MERGE)
    correction.do({"do": "set_headers", "n_rows": 1, "n_cols": 0})
    correction.do({"do": "move_line", "axis": "row", "line": 1, "offset": 7.0, "at": None})
    correction.do({"do": "set_text", "row": 1, "col": 0, "text": "<i> & 表"})
    workbook, page, label, coco = corrections.save(correction)
    assert correction.is_done
    sheet = openpyxl.load_workbook(workbook).active
    assert (sheet["A1"].value, sheet["A2"].value) == ("0.0 0.1", "<i> & 表")
    assert "A1:B1" in [str(each) for each in sheet.merged_cells.ranges]
    assert html_to_tables(page.read_text("utf-8"))[0].to_grid() == correction.table.to_grid()
    truth = read_truth(label)
    assert truth.boxes_are_cells and truth.has_text and not truth.flawed
    assert [(c.row, c.col, c.rowspan, c.colspan, c.text) for c in truth.table.cells] == [
        (c.row, c.col, c.rowspan, c.colspan, c.text) for c in correction.table.cells
    ]
    assert json.loads(coco.read_text("utf-8"))["images"][0]["file_name"] == "scan_1_1.png"


def test_the_folder_is_read_as_labels(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)
    _, unsaved = begin(tmp_path, source="later.png")
    correction.head = replace(correction.head, text_height=12.5)
    correction.do(MERGE)
    corrections.save(correction)
    for path in (tmp_path, tmp_path / "images"):
        [label] = read_labels(path)
        assert not label.problems, path
        assert label.image.name == "scan_1_1.png" and label.outlines_cells and label.text_height == 12.5
        assert np.allclose(label.quads, [cell.quad for cell in correction.table.cells], atol=0.01)
    assert unsaved.head.name == "later_1_1"


def test_the_folder_is_a_source_of_training(tmp_path: Path) -> None:
    pytest.importorskip("paddle")
    from tablerec.training.sources import load_source

    corrections, correction = begin(tmp_path)
    corrections.save(correction)
    for kind in ("folder", "crops"):
        sample = load_source(f"{kind}:{tmp_path}")(0)
        assert sample.quads.shape == (9, 4, 2)


def test_a_part_of_the_corrections_is_for_validation(tmp_path: Path) -> None:
    """A table stays on its side while others come and go."""
    sides: dict[str, str | None] = {}
    for number in range(12):
        corrections, correction = begin(tmp_path, source=f"scan{number}.png")
        corrections.save(correction)
        now = {label.image.name: label.split for label in read_labels(tmp_path)}
        assert len(now) == number + 1 and sides.items() <= now.items()
        sides = now
    assert 1 <= sum(side == "val" for side in sides.values()) <= 5
    gone = next(name for name, side in sides.items() if side == "val")
    corrections.reject(corrections.read()[Path(gone).stem])
    assert {label.image.name: label.split for label in read_labels(tmp_path)} == {
        name: side for name, side in sides.items() if name != gone
    }


def test_each_side_is_a_source_of_training(tmp_path: Path) -> None:
    pytest.importorskip("paddle")
    from tablerec.training.sources import load_source

    for source in ("scan.png", "other.png"):
        corrections, correction = begin(tmp_path, source=source)
        corrections.save(correction)
    for source in (f"crops:{tmp_path}#train", f"folder:{tmp_path}#val"):
        assert load_source(source)(0).quads.shape == (9, 4, 2)


def test_a_label_never_leaves_its_picture(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)
    correction.do({"do": "move_line", "axis": "col", "line": 0, "offset": -500.0})
    correction.do({"do": "extend", "axis": "row", "at_end": True})
    label = json.loads(corrections.save(correction)[2].read_text("utf-8"))
    quads, (width, height) = np.array([cell["quad"] for cell in label["cells"]]), correction.head.size_wh
    assert quads.min() >= 0 and quads[..., 0].max() <= width and quads[..., 1].max() <= height


def test_lines_that_divide_nothing_are_not_saved(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)
    correction.do({"do": "merge", "row": 0, "col": 0, "end_row": 3, "end_col": 2})
    assert correction.table.shape == (3, 3)
    label = json.loads(corrections.save(correction)[2].read_text("utf-8"))
    assert (label["n_rows"], label["n_cols"]) == (3, 2)


def test_a_change_after_saving_asks_for_another(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)
    corrections.save(correction)
    with pytest.raises(TableError):
        correction.do({"do": "split", "row": 0, "col": 0})
    assert correction.is_done
    correction.do(MERGE)
    assert not correction.is_done
    assert not CorrectionFolder(tmp_path).read()["scan_1_1"].is_done
    corrections.save(correction)
    assert CorrectionFolder(tmp_path).read()["scan_1_1"].is_done


def test_what_is_no_table_leaves_the_labels(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)
    _, other = begin(tmp_path, source="other.png")
    for each in (correction, other):
        corrections.do(each, {"do": "save"})
    corrections.do(correction, {"do": "reject"}, version=1)
    assert [label.image.name for label in read_labels(tmp_path)] == ["other_1_1.png"]
    assert [path.stem for path in sorted((tmp_path / "tables").iterdir())] == ["other_1_1", "other_1_1"]
    assert CorrectionFolder(tmp_path).read()["scan_1_1"].verdict == "rejected"
    corrections.do(correction, MERGE)
    assert correction.verdict == "open"


def test_a_step_of_an_old_state_is_refused(tmp_path: Path) -> None:
    _, correction = begin(tmp_path)
    correction.do(MERGE, version=0)
    with pytest.raises(InputError, match="another window"):
        correction.do(MERGE, version=0)


def test_a_journal_that_was_cut_off_keeps_the_steps_before(tmp_path: Path) -> None:
    _, correction = begin(tmp_path)
    correction.do(MERGE)
    correction.do({"do": "set_text", "row": 2, "col": 2, "text": "new"})
    whole = correction.path.read_bytes()
    correction.path.write_bytes(whole[:-9])
    corrections = CorrectionFolder(tmp_path)
    again = corrections.read()["scan_1_1"]
    assert (again.version, again.table[2, 2].text, again.table[0, 0].colspan) == (1, "2.2", 2)
    assert "line 3" in corrections.problems[0]
    assert (correction.path.parent / "scan_1_1.jsonl.broken-1").read_bytes() == whole[:-9]
    again.do({"do": "undo"})
    assert CorrectionFolder(tmp_path).read()["scan_1_1"].view() == again.view()


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"\xff\xfe", b"[" * 100_000, b"{}", b'{"format": "tablerec-corrections", "version": 2}', b"[1]"],
)
def test_a_broken_journal_is_kept_aside_and_reported(tmp_path: Path, content: bytes) -> None:
    _, correction = begin(tmp_path)
    correction.path.write_bytes(content)
    corrections = CorrectionFolder(tmp_path)
    assert corrections.read() == {}
    assert "scan_1_1.jsonl.broken-1" in corrections.problems[0]
    assert (correction.path.parent / "scan_1_1.jsonl.broken-1").read_bytes() == content
    assert begin(tmp_path)[1].version == 0


@pytest.mark.parametrize("field", ["name", "size_wh", "sureness", "page", "table"])
def test_a_head_with_a_wrong_field_is_kept_aside(tmp_path: Path, field: str) -> None:
    _, correction = begin(tmp_path)
    head = json.loads(correction.path.read_bytes())
    for value in (None, "../other", -1, {"cells": [{"row": 0, "col": 0}]}, [1]):
        correction.path.write_text(json.dumps({**head, field: value}) + "\n")
        corrections = CorrectionFolder(tmp_path)
        assert corrections.read() == {} and len(corrections.problems) == 1
    assert len(list(correction.path.parent.iterdir())) == 5


@pytest.mark.parametrize(
    "name", ["annotations/instance_train.json", "annotations/instance_val.json", "images/other.json"]
)
@pytest.mark.parametrize(
    "content", [b"no label", b'{"images": [], "annotations": [], "mine": 1}', b"[]", b'{"cells": 1}']
)
def test_label_files_that_are_not_ours_are_kept(tmp_path: Path, name: str, content: bytes) -> None:
    corrections, correction = begin(tmp_path)
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    corrections.save(correction)
    assert path.with_name(f"{path.name}.broken-1").read_bytes() == content
    assert path.name in corrections.problems[0]
    assert len(list(read_labels(tmp_path))) == 1


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        CorrectionFolder(tmp_path / "file")


def test_a_step_that_cannot_be_kept_is_not_done(tmp_path: Path) -> None:
    _, correction = begin(tmp_path)
    correction.path = tmp_path / "nowhere" / "journal.jsonl"
    with pytest.raises(OutputError, match="not done"):
        correction.do(MERGE)
    assert (correction.version, correction.table[0, 0].colspan) == (0, 1)
