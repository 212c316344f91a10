from __future__ import annotations

import errno
import itertools
import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

from postprocess.export import html_to_tables
from postprocess.table import Table, tables_in
from tablerec.corrections.editor import Correction, CorrectionFolder, Draft, page_to_drafts
from tablerec.corrections.editor.view import table_to_view
from tablerec.errors import InputError, OutputError, TableError
from tablerec.evaluate.truth import read_truth
from tablerec.labels.read import read_labels
from tests.helpers.review import make_page, make_table

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
    assert correction.verdict != "open"
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


def test_a_table_in_a_cell_is_shown_carried_along_and_saved(tmp_path: Path) -> None:
    inner = Table.from_texts([["a", "b"]])
    table = make_table()
    outer = replace(table, cells=[replace(table.cells[0], tables=(inner,)), *table.cells[1:]])
    corrections = CorrectionFolder(tmp_path)
    correction = corrections.open(page_to_drafts(make_page(outer))[0])
    assert [cell["inside"] for cell in table_to_view(correction.table, (340, 160))["cells"][:2]] == ["a | b", ""]
    correction.do(MERGE)
    workbook, page, *_ = corrections.save(correction)
    assert openpyxl.load_workbook(workbook).sheetnames == ["Table 1", "Table 1 A1"]
    [saved] = html_to_tables(page.read_text("utf-8"))
    assert [each.to_grid() for each in tables_in(saved[0, 1])] == [[["a", "b"]]]
    assert CorrectionFolder(tmp_path).read()["scan_1_1"].table == correction.table


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
    from tablerec.training.data.sources import load_source

    corrections, correction = begin(tmp_path)
    corrections.save(correction)
    for kind in ("folder", "crops"):
        sample = load_source(f"{kind}:{tmp_path}")(0)
        assert sample.quads.shape == (9, 4, 2)


def test_every_fifth_correction_is_for_validation(tmp_path: Path) -> None:
    """A table stays on its side while others come and go; a regression: of ten by chance none was for validation."""
    sides: dict[str, str | None] = {}
    for number in range(12):
        corrections, correction = begin(tmp_path, source=f"scan{number}.png")
        corrections.save(correction)
        now = {label.image.name: label.split for label in read_labels(tmp_path)}
        assert len(now) == number + 1 and sides.items() <= now.items()
        sides = now
        assert list(now.values()).count("val") == (number + 1) // 5
    corrections.save(corrections.read()[Path(next(iter(sides))).stem])
    assert {label.image.name: label.split for label in read_labels(tmp_path)} == sides
    gone = next(name for name, side in sides.items() if side == "val")
    corrections.reject(corrections.read()[Path(gone).stem])
    assert {label.image.name: label.split for label in read_labels(tmp_path)} == {
        name: side for name, side in sides.items() if name != gone
    }


def test_each_side_is_a_source_of_training(tmp_path: Path) -> None:
    pytest.importorskip("paddle")
    from tablerec.training.data.sources import load_source

    for number in range(5):
        corrections, correction = begin(tmp_path, source=f"scan{number}.png")
        corrections.save(correction)
    for source in (f"crops:{tmp_path}#train", f"folder:{tmp_path}#val"):
        assert load_source(source)(0).quads.shape == (9, 4, 2)


def test_a_label_never_leaves_its_picture(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)
    correction.do({"do": "move_line", "axis": "col", "line": 0, "offset": -21.0})
    label = json.loads(corrections.save(correction)[2].read_text("utf-8"))
    quads, (width, height) = np.array([cell["quad"] for cell in label["cells"]]), correction.head.size_wh
    assert quads.min() >= 0 and quads[..., 0].max() <= width and quads[..., 1].max() <= height


@pytest.mark.parametrize(
    "step",
    [
        {"do": "extend", "axis": "row", "at_end": True},
        {"do": "move_line", "axis": "col", "line": 0, "offset": -500.0},
    ],
)
def test_a_table_that_reaches_out_of_its_picture_is_saved_without_a_label(tmp_path: Path, step: dict[str, Any]) -> None:
    """A row that the picture does not show belongs into the workbook, and would be learned as a row at the edge."""
    corrections, correction = begin(tmp_path)
    before = corrections.save(correction)
    assert correction.view()["no_label"] is None and len(before) == 4
    correction.do(step)
    assert correction.view()["no_label"] is None
    assert corrections.save(correction) == before[:2]
    assert "outside the picture" in correction.view()["no_label"] and not before[2].exists()
    assert list(read_labels(tmp_path)) == [] and correction.verdict == "saved"
    assert html_to_tables(before[1].read_text("utf-8"))[0].to_grid() == correction.table.to_grid()
    correction.do({"do": "undo"})
    assert corrections.save(correction) == before and len(list(read_labels(tmp_path))) == 1


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
    assert correction.verdict != "open"
    correction.do(MERGE)
    assert correction.verdict == "open"
    assert CorrectionFolder(tmp_path).read()["scan_1_1"].verdict == "open"
    corrections.save(correction)
    assert CorrectionFolder(tmp_path).read()["scan_1_1"].verdict != "open"


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


def test_a_journal_cut_off_anywhere_keeps_each_whole_step_and_goes_on(tmp_path: Path) -> None:
    _, correction = begin(tmp_path)
    for step in (MERGE, {"do": "set_text", "row": 2, "col": 2, "text": "表"}, {"do": "undo"}):
        correction.do(step)
    whole = correction.path.read_bytes()
    head = whole.index(b"\n")
    for length in range(head, len(whole) + 1):
        correction.path.write_bytes(whole[:length])
        again = CorrectionFolder(tmp_path).read()["scan_1_1"]
        # A step is whole with or without its line end.
        assert again.version == whole.count(b"\n", head + 1, length + 1)
        again.do({"do": "set_text", "row": 1, "col": 1, "text": "next"})
        corrections = CorrectionFolder(tmp_path)
        assert corrections.read()["scan_1_1"].view() == again.view() and corrections.problems == []


def test_a_step_that_was_written_in_part_does_not_spoil_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk a line is begun and not ended."""
    _, correction = begin(tmp_path)
    before = correction.path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("os.fsync", fail)
        with pytest.raises(OutputError, match=r"not done.*make room"):
            correction.do(MERGE)
        with pytest.raises(OutputError):
            begin(tmp_path, source="other.png")
    assert correction.path.read_bytes() == before and len(list(correction.path.parent.iterdir())) == 1
    correction.do(MERGE)
    corrections = CorrectionFolder(tmp_path)
    assert corrections.read()["scan_1_1"].view() == correction.view() and corrections.problems == []


def test_steps_of_another_process_are_taken_over(tmp_path: Path) -> None:
    """Two reviews, or two cells of a notebook, have the same table open."""
    _, ours = begin(tmp_path)
    corrections, theirs = begin(tmp_path)
    ours.do(MERGE, version=0)
    with pytest.raises(InputError, match="another window"):
        theirs.do({"do": "split", "row": 0, "col": 0}, version=0)
    assert theirs.view() == ours.view()
    theirs.do({"do": "split", "row": 0, "col": 0}, version=1)
    label = json.loads(corrections.save(ours)[2].read_text("utf-8"))
    assert len(label["cells"]) == 9 and (ours.version, ours.verdict) == (3, "saved")
    assert CorrectionFolder(tmp_path).read()["scan_1_1"].view() == ours.view()


def test_a_journal_that_is_gone_is_not_begun_anew_without_its_head(tmp_path: Path) -> None:
    _, correction = begin(tmp_path)
    correction.path.unlink()
    with pytest.raises(OutputError, match="not done"):
        correction.do(MERGE)
    assert not correction.path.exists()


def test_a_rejection_that_ended_half_way_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corrections, correction = begin(tmp_path)
    corrections.save(correction)
    with monkeypatch.context() as full:
        full.setattr(corrections, "_write_coco", lambda: (_ for _ in ()).throw(OutputError("full")))
        with pytest.raises(OutputError):
            corrections.reject(correction)
    assert correction.verdict == "saved"
    corrections.reject(correction)
    assert correction.verdict == "rejected" and list(read_labels(tmp_path)) == []


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


@pytest.mark.parametrize(
    "wrong",
    [{"turn": 45}, {"turn": True}, {"turn": "90"}, {"window": [1, 2, 3]}, {"window": [5, 0, 5, 9]}, {"window": "abcd"}],
)
def test_a_place_on_the_page_that_is_none_is_kept_aside(tmp_path: Path, wrong: dict[str, Any]) -> None:
    _, correction = begin(tmp_path)
    head = json.loads(correction.path.read_bytes())
    correction.path.write_text(json.dumps({**head, **wrong}) + "\n")
    corrections = CorrectionFolder(tmp_path)
    assert corrections.read() == {} and len(corrections.problems) == 1


def test_journals_of_former_versions_say_nothing_of_the_page(tmp_path: Path) -> None:
    _, correction = begin(tmp_path)
    head = json.loads(correction.path.read_bytes())
    correction.path.write_text(json.dumps({key: head[key] for key in head if key not in ("turn", "window")}) + "\n")
    found = CorrectionFolder(tmp_path).read()["scan_1_1"]
    assert (found.head.turn, found.head.window, found.table) == (0, None, correction.table)


@pytest.mark.parametrize("field", ["name", "size_wh", "sureness", "page", "table", "text_height"])
def test_a_head_with_a_wrong_field_is_kept_aside(tmp_path: Path, field: str) -> None:
    _, correction = begin(tmp_path)
    head = json.loads(correction.path.read_bytes())
    far = {"cells": [{"row": 0, "col": 0, "quad": [[0, 0], [1e300, 0], [1e300, 9], [0, 9]]}]}
    values: list[Any] = [None, "../other", -1, {"cells": [{"row": 0, "col": 0}]}, [1], far, [10**400, 0], [0, 0]]
    for value in values[field == "text_height" :]:
        correction.path.write_text(json.dumps({**head, field: value}) + "\n")
        corrections = CorrectionFolder(tmp_path)
        assert corrections.read() == {} and len(corrections.problems) == 1
    assert len(list(correction.path.parent.iterdir())) == len(values) - (field == "text_height")


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


def test_names_that_differ_in_capitals_only_are_no_names(tmp_path: Path) -> None:
    """They are the same file on other systems, to which the folder may be moved."""
    first, other, again = (begin(tmp_path, source=source)[1] for source in ("Scan.png", "scan.png", "Scan.png"))
    assert [each.head.name for each in (first, other, again)] == ["Scan_1_1", "scan_1_1-2", "Scan_1_1"]
    assert begin(tmp_path, source="scan.png")[1].head.name == "scan_1_1-2"


def test_a_picture_that_is_gone_is_written_again(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)
    correction.do(MERGE)
    picture = corrections.picture(correction)
    content = picture.read_bytes()
    picture.unlink()
    with pytest.raises(InputError, match="start again"):
        corrections.read_picture(correction)
    corrections, again = begin(tmp_path)
    assert again.version == 1 and corrections.read_picture(again) == content


@pytest.mark.parametrize("part", ["annotations", "images", "journal", "tables", "sources.jsonl"])
def test_nothing_is_written_through_a_link_out_of_the_folder(tmp_path: Path, part: str) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    (folder / part).symlink_to(outside)
    with pytest.raises(OutputError, match="leads out"):
        CorrectionFolder(folder)
    (folder / part).unlink()
    (folder / "inside").touch()
    (folder / part).symlink_to(folder / "inside")
    CorrectionFolder(folder)


def test_nothing_is_read_through_a_link_out_of_the_folder(tmp_path: Path) -> None:
    _, elsewhere = begin(tmp_path / "elsewhere")
    corrections, correction = begin(tmp_path / "folder")
    picture = corrections.picture(correction)
    picture.unlink()
    picture.symlink_to(tmp_path / "elsewhere" / "images" / picture.name)
    with pytest.raises(InputError, match="leads out"):
        corrections.read_picture(correction)
    assert corrections.read() == {}
    picture.unlink()
    correction.path.unlink()
    correction.path.symlink_to(elsewhere.path)
    assert begin(tmp_path / "folder")[1].path.is_symlink() is False
    assert elsewhere.path.is_file() and elsewhere.version == 0


def test_what_is_no_file_is_no_journal(tmp_path: Path) -> None:
    (tmp_path / "journal" / "folder.jsonl").mkdir(parents=True)
    (tmp_path / "journal" / "loop.jsonl").symlink_to("loop.jsonl")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "journal" / "pipe.jsonl")
    corrections = CorrectionFolder(tmp_path)
    assert corrections.read() == {} and all("no file" in problem for problem in corrections.problems)
    assert corrections.problems


class KilledError(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("what", ["save", "reject"])
def test_a_process_that_is_killed_leaves_each_file_old_or_new_and_the_next_mends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    files = ["tables/scan_1_1.xlsx", "tables/scan_1_1.html", "images/scan_1_1.json", "annotations/instance_train.json"]
    for n_done in range(18):
        corrections, correction = begin(tmp_path / str(n_done))
        corrections.save(correction)
        correction.do(MERGE)
        paths = [corrections.folder / name for name in files]
        old = {path: path.read_bytes() for path in paths}
        calls = itertools.count()

        def kill(function: Any, calls: Any = calls, n_done: int = n_done) -> Any:
            def either(*args: Any, **others: Any) -> Any:
                if next(calls) >= n_done:
                    raise KilledError
                return function(*args, **others)

            return either

        with monkeypatch.context() as dying:
            for owner, name in ((Path, "replace"), (Path, "unlink"), (os, "fsync")):
                dying.setattr(owner, name, kill(getattr(owner, name)))
            with suppress(KilledError):
                corrections.do(correction, {"do": what})
                assert n_done > 5
        for path in paths:
            now = path.read_bytes() if path.exists() else None
            assert now in (None, old[path]) or read_whole(path)
        again = CorrectionFolder(corrections.folder)
        after = again.read()["scan_1_1"]
        again.mend()
        assert again.problems == [] and after.table == correction.table
        labels = list((corrections.folder / "images").glob("*.json"))
        assert [label.image.stem for label in read_labels(corrections.folder)] == [path.stem for path in labels]


def read_whole(path: Path) -> bool:
    """Read a file that was written anew, as far as its kind says whether it is whole."""
    if path.suffix == ".xlsx":
        return openpyxl.load_workbook(path).active is not None
    text = path.read_text("utf-8")
    return bool(json.loads(text)) if path.suffix == ".json" else text.rstrip().endswith("</html>")


def test_broken_labels_are_reported_when_a_folder_is_mended(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)
    label = corrections.save(correction)[2]
    label.write_bytes(b"broken")
    again = CorrectionFolder(tmp_path)
    again.mend()
    assert "scan_1_1.json.broken-1" in again.problems[0] and list(read_labels(tmp_path)) == []
    assert label.with_name("scan_1_1.json.broken-1").read_bytes() == b"broken"
    CorrectionFolder(tmp_path / "not yet").mend()
    assert not (tmp_path / "not yet").exists()


def test_labels_that_others_changed_are_read_again(tmp_path: Path) -> None:
    """A review is open for days; meanwhile labels are edited by hand, removed, or saved by a notebook."""
    sources = ("a.png", "b.png", "c.png")
    corrections = CorrectionFolder(tmp_path)
    for source in sources:
        correction = corrections.open(page_to_drafts(make_page(make_table(), source=source))[0])
        corrections.save(correction)
    label = json.loads((tmp_path / "images" / "a_1_1.json").read_text("utf-8"))
    (tmp_path / "images" / "a_1_1.json").write_text(json.dumps({**label, "cells": label["cells"][:4]}))
    (tmp_path / "images" / "b_1_1.json").unlink()
    (tmp_path / "images" / "d_1_1.json").symlink_to(tmp_path / "nowhere")
    theirs = CorrectionFolder(tmp_path)
    theirs.save(theirs.open(page_to_drafts(make_page(make_table(), source="e.png"))[0]))
    corrections.save(correction)
    found = {label.image.stem: len(label.quads) for label in read_labels(tmp_path)}
    assert found == {"a_1_1": 4, "c_1_1": 9, "e_1_1": 9}


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


def test_with_very_many_labels_a_save_does_not_wait_for_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,000 saved tables made each save take seconds."""
    monkeypatch.setattr("tablerec.corrections.editor.folder._MANY", 2)
    monkeypatch.setattr("tablerec.corrections.editor.folder._LATER", 3600.0)
    folder = CorrectionFolder(tmp_path)
    for number in range(4):
        image = np.full((160, 340, 3), number, np.uint8)
        folder.save(folder.open(Draft(f"t{number}", "t.png", number + 1, 1, image, make_table())))

    def n_pictures() -> int:
        content = json.loads((tmp_path / "annotations" / "instance_train.json").read_text("utf-8"))
        return len(content["images"])

    assert n_pictures() < 4
    folder.flush()
    assert n_pictures() == 4
    folder.reject(folder.read()["t0"])
    assert n_pictures() == 4
    killed, again = folder, CorrectionFolder(tmp_path)
    again.mend()
    again.flush()
    assert n_pictures() == 3
    killed.flush()
