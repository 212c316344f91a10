from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anywidget")

from tablerec.corrections.widgets import TableEditor
from tablerec.errors import InputError, TableError
from tablerec.result import Result
from tests.helpers.review import make_page, make_table

MERGE = {"do": "merge", "row": 0, "col": 0, "end_row": 1, "end_col": 2}


class Asked:
    """An editor, and what it answers."""

    def __init__(self, folder: Path) -> None:
        self.editor = TableEditor(make_page(make_table()), folder=folder)
        self.answers: list[dict[str, Any]] = []
        self.editor.send = lambda content, buffers=None: self.answers.append(content)

    def __call__(self, step: Any, **message: Any) -> dict[str, Any]:
        self.editor._answer(self.editor, {"id": 7, "view": "v", "step": step, **message}, [])
        return self.answers[-1]


def test_there_must_be_such_a_table(tmp_path: Path) -> None:
    for empty in (Result("scan.png", ()), Result("scan.png", (make_page(make_table()),))):
        with pytest.raises(InputError, match="no table"):
            TableEditor(empty, 1, folder=tmp_path)
    for wrong in ("scan.png", [Result("scan.png", ())], None):
        with pytest.raises(InputError, match="recognize"):
            TableEditor(wrong, folder=tmp_path)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_steps_are_answered_and_kept(tmp_path: Path) -> None:
    ask = Asked(tmp_path)
    answer = ask({**MERGE, "version": 0})
    assert (answer["id"], answer["view"], answer["table"]["version"]) == (7, "v", 1)
    assert ask.editor.state == answer["table"]
    again = TableEditor(Result("scan.png", (make_page(make_table()),)), folder=tmp_path)
    assert again.table == ask.editor.table


def test_the_page_asks_what_proves_the_table(tmp_path: Path) -> None:
    ask = Asked(tmp_path)
    answer = ask(None, ask="proof")
    assert answer["id"] == 7 and answer["proof"]["version"] == 0 and len(answer["proof"]["cells"]) == 9
    ask({"do": "confirm", "row": 0, "col": 0, "end_row": 3, "end_col": 3, "is_right": True, "version": 0})
    assert ask(None, ask="proof")["proof"]["share_proved"] == 1


@pytest.mark.parametrize("step", [None, "undo", {}, {"do": "undo"}, {**MERGE, "version": 3}, {"do": "x", "version": 0}])
def test_what_cannot_be_done_is_answered_with_the_reason(tmp_path: Path, step: Any) -> None:
    answer = Asked(tmp_path)(step)
    assert answer["error"] and answer["table"]["version"] == 0


def test_an_editor_of_another_cell_goes_on_with_all_steps(tmp_path: Path) -> None:
    """A cell that is run twice leaves two editors of one table."""
    first, second = Asked(tmp_path), Asked(tmp_path)
    assert "error" not in second({**MERGE, "version": 0})
    answer = first({"do": "split", "row": 0, "col": 0, "version": 0})
    assert "another window" in answer["error"] and answer["table"]["cells"] == second.editor.state["cells"]
    first.editor.do(do="set_text", row=0, col=0, text="first")
    second.editor.save()
    assert second.editor.table == first.editor.table and second.editor.table[0, 0].text == "first"


def test_saving_names_the_files(tmp_path: Path) -> None:
    ask = Asked(tmp_path)
    assert ask({"do": "save", "version": 0})["table"]["verdict"] == "saved"
    saved = ask.editor.save()
    assert [path.name for path in saved] == ["scan_1_1.xlsx", "scan_1_1.html", "scan_1_1.json", "instance_train.json"]
    assert all(path.is_file() for path in saved)


def test_steps_from_the_notebook(tmp_path: Path) -> None:
    editor = TableEditor(make_page(make_table()), folder=tmp_path)
    editor.do(**MERGE)
    assert editor.table[0, 0].colspan == 2 and editor.state["version"] == 1
    with pytest.raises(TableError):
        editor.do(do="split", row=2, col=2)
