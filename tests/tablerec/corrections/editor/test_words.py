"""Words, ids and versions of a correction: in the journal, the label, and what a page is told."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.editing.state import State
from postprocess.word import Word
from tablerec.corrections.editor import Correction, CorrectionFolder, page_to_drafts
from tablerec.corrections.editor.answers import answer
from tablerec.corrections.editor.correction import read_correction
from tablerec.errors import InputError, TablerecError
from tests.helpers.review import make_read_page, make_table, make_word


def begin(folder: Path, words: list[Word] | None = None) -> tuple[CorrectionFolder, Correction]:
    corrections = CorrectionFolder(folder)
    return corrections, corrections.open(page_to_drafts(make_read_page(words))[0])


def letters(state: State) -> Counter[tuple[int, int]]:
    """How often each letter is in a cell or in none."""
    parts = [part for cell in state.table.cells for part in cell.words] + list(state.outside)
    return Counter(
        (index, at)
        for index, start, end in parts
        for at in range(start, end)
        if not state.words[index].text[at].isspace()
    )


def all_letters(state: State) -> Counter[tuple[int, int]]:
    return Counter((i, at) for i, each in enumerate(state.words) for at, c in enumerate(each.text) if not c.isspace())


def plain(text: str) -> Counter[str]:
    return Counter("".join(text.split()))


def make_steps() -> st.SearchStrategy[list[dict[str, Any]]]:
    axis, place, flag = st.sampled_from(["row", "col"]), st.integers(0, 4), st.booleans()
    block = {"row": place, "col": place, "end_row": st.integers(1, 4), "end_col": st.integers(1, 4)}
    text = st.sampled_from(["", "typed", "a\nb"])
    read = st.lists(
        st.builds(make_word, st.sampled_from(["1", "two three"]), st.floats(0, 300), st.floats(0, 150)), max_size=2
    )
    as_json = read.map(lambda words: [{"text": w.text, "quad": [list(p) for p in w.quad]} for w in words])
    arguments: dict[str, dict[str, st.SearchStrategy[Any]]] = {
        "move_line": {"axis": axis, "line": place, "offset": st.floats(-60, 60), "at": st.none() | place},
        "divide": {"axis": axis, "index": place, "fraction": st.floats(0.1, 0.9), "at": st.none() | place},
        "extend": {"axis": axis, "at_end": flag},
        "insert": {"axis": axis, "index": place},
        "remove_line": {"axis": axis, "line": place},
        "remove": {"axis": axis, "index": place},
        "merge": block,
        "split": {"row": place, "col": place},
        "set_text": {"row": place, "col": place, "text": text},
        "fill": {**block, "text": text},
        "replace_all": {"find": st.sampled_from(["5", "KM"]), "text": text, "match_case": flag},
        "set_words": {**block, "words": as_json},
        "place_word": {"word": st.integers(0, 20), "row": place, "col": place},
        "reset_text": block,
        "confirm": block,
        "undo": {},
        "redo": {},
    }
    every = [st.fixed_dictionaries({"do": st.just(name), **each}) for name, each in arguments.items()]
    return st.lists(st.one_of(every), max_size=15)


@settings(max_examples=60, deadline=None)
@given(make_steps())
def test_no_step_loses_or_doubles_a_word(steps: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _, correction = begin(Path(folder))
        for step in steps:
            with suppress(TablerecError):
                correction.do(step)
            state = correction.state
            counts, given = letters(state), all_letters(state)
            assert max(counts.values(), default=1) == 1, step
            lost = {index for index, _ in given - counts}
            assert lost <= state.replaced, step
            for cell in state.table.cells:
                if not cell.typed:
                    assert plain(cell.text) == plain(" ".join(state.part(part).text for part in cell.words)), step
        again, problem = read_correction(correction.path)
        assert problem is None and again.state == correction.state and again.history == correction.history


def test_what_was_dealt_stays_though_words_would_be_dealt_otherwise_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, correction = begin(tmp_path)
    correction.do({"do": "divide", "axis": "col", "index": 0, "fraction": 0.4})
    monkeypatch.setattr("tablerec.corrections.editor.operations.deal", lambda *_: 1 / 0)
    again, problem = read_correction(correction.path)
    assert problem is None and again.state == correction.state
    assert again.table[0, 0].text == "00.5" and again.table[0, 1].text == "km"


def test_a_journal_of_the_first_version_is_read_and_has_no_words(tmp_path: Path) -> None:
    _, correction = begin(tmp_path, [])
    correction.do({"do": "set_text", "row": 0, "col": 0, "text": "a\nb"})
    lines = correction.path.read_text().splitlines()
    head = json.loads(lines[0])
    assert head["version"] == 2 and "words" not in head
    correction.path.write_text("\n".join([json.dumps({**head, "version": 1}), *lines[1:], ""]))
    again, problem = read_correction(correction.path)
    assert problem is None and again.state.words == ()
    again.do({"do": "divide", "axis": "row", "index": 0})
    assert [again.table[row, 0].text for row in (0, 1)] == ["a", "b"]
    read = {"text": "read", "quad": [[30, 70], [60, 70], [60, 80], [30, 80]]}
    again.do({"do": "set_words", "row": 2, "col": 0, "end_row": 3, "end_col": 1, "words": [read]})
    again.do({"do": "remove_line", "axis": "row", "line": 2})
    assert again.table[1, 0].text == "b\nread"
    kept, problem = read_correction(again.path)
    assert problem is None and kept.state == again.state


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("words", [{"text": "", "quad": [[0, 0]] * 4}]),
        ("words", [{"text": "a", "quad": [[0, 0]] * 3}]),
        ("words", "a"),
        ("words_of_cells", [[[0, 0, 99]]] * 9),
        ("words_of_cells", [[[-1, 0, 1]]] * 9),
        ("words_of_cells", [[]]),
        ("words_of_cells", None),
    ],
)
def test_broken_words_are_refused(tmp_path: Path, key: str, value: Any) -> None:
    _, correction = begin(tmp_path)
    head = json.loads(correction.path.read_text().splitlines()[0])
    correction.path.write_text(json.dumps({**head, key: value}) + "\n")
    with pytest.raises(InputError, match="no journal of corrections"):
        read_correction(correction.path)


@pytest.mark.parametrize(
    "dealt",
    [
        1,
        [1],
        [{"row": 0}],
        [{"row": 9, "col": 0}],
        [{"row": 0, "col": 0, "words": [[0, 5, 2]]}],
        [{"row": 0, "col": 0, "typed": 1}],
    ],
)
def test_a_step_with_broken_texts_ends_a_journal(tmp_path: Path, dealt: Any) -> None:
    _, correction = begin(tmp_path)
    with correction.path.open("a") as file:
        file.write(json.dumps({"do": "split", "row": 0, "col": 0, "dealt": dealt}) + "\n")
    again, problem = read_correction(correction.path)
    assert again.version == 0 and problem is not None and "line 2" in problem


def test_the_label_keeps_the_words(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)
    correction.do({"do": "set_text", "row": 0, "col": 0, "text": "x"})
    label = json.loads(corrections.save(correction)[2].read_text("utf-8"))
    assert {each["text"] for each in label["words"]} == {each.text for each in make_read_page().words}
    assert [cell.get("typed") for cell in label["cells"][:2]] == [True, None]


def test_a_step_that_is_sent_again_is_done_once(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)
    step = {"do": "divide", "axis": "row", "index": 0, "version": 0, "id": "tab-1"}
    for _ in range(2):
        is_done, view = answer(corrections, correction, step)
        assert is_done and view["version"] == 1
    again = CorrectionFolder(tmp_path)
    [kept] = again.read().values()
    is_done, view = answer(again, kept, step)
    assert is_done and view["version"] == 1 and view["n_rows"] == 4
    for name in ("save", "undo"):
        for _ in range(2):
            is_done, view = answer(again, kept, {"do": name, "version": kept.version, "id": name})
            assert is_done
    assert (kept.version, view["n_rows"]) == (3, 3)


@pytest.mark.parametrize("mark", ["", "x" * 41, 1, None])
def test_an_id_is_a_short_text(tmp_path: Path, mark: Any) -> None:
    corrections, correction = begin(tmp_path)
    is_done, reply = answer(corrections, correction, {"do": "undo", "version": 0, "id": mark})
    assert not is_done and "the id of a step" in reply["error"]


def test_texts_of_two_tabs_are_merged_where_they_are_in_different_cells(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)

    def say(version: int, **step: Any) -> tuple[bool, dict[str, Any]]:
        return answer(corrections, correction, {"version": version, **step})

    assert say(0, do="set_text", row=0, col=0, text="one")[0]
    is_done, view = say(0, do="set_text", row=1, col=1, text="two")
    assert is_done and view["version"] == 2
    late = {"do": "set_text", "row": 0, "col": 0, "text": "three", "version": 0}
    is_done, reply = answer(corrections, correction, late)
    assert not is_done and reply["lost"] == late and "another window" in reply["error"]
    assert [cell["text"] for cell in reply["table"]["cells"][:1]] == ["one"]
    assert say(0, do="set_texts", row=2, col=0, texts=[["a", "b"]])[0]
    assert say(1, do="confirm", row=0, col=0, end_row=1, end_col=2, is_right=True)[0]
    assert not say(1, do="divide", axis="row", index=0)[0]
    assert say(4, do="divide", axis="row", index=0)[0]
    assert not say(4, do="set_text", row=0, col=2, text="moved")[0]
    assert not say(-1, do="set_text", row=0, col=2, text="never seen")[0]


def test_a_page_is_told_what_has_changed_in_a_large_table(tmp_path: Path) -> None:
    _, small = begin(tmp_path / "small")
    small.do({"do": "set_text", "row": 0, "col": 0, "text": "x"})
    assert "cells" in small.view(0) and "changed_cells" not in small.view(0)
    large = Correction(tmp_path / "x.jsonl", small.head, State(make_table(30, 20)))
    large.begin()
    shown = {(cell["row"], cell["col"]): cell for cell in large.view()["cells"]}
    steps = [
        {"do": "set_text", "row": 1, "col": 1, "text": "x"},
        {"do": "merge", "row": 0, "col": 0, "end_row": 2, "end_col": 2},
        {"do": "remove", "axis": "col", "index": 5},
        {"do": "undo"},
    ]
    for step in steps:
        version = large.version
        large.do(step)
        view = large.view(version)
        moved = {(row, col): shown[old_row, old_col] for old_row, old_col, row, col in view["moved"]}
        for row, col in view["removed"]:
            del shown[row, col]
        shown |= {(row, col): {**cell, "row": row, "col": col} for (row, col), cell in moved.items()}
        shown |= {(cell["row"], cell["col"]): cell for cell in view["changed_cells"]}
        assert [shown[key] for key in sorted(shown)] == large.view()["cells"]
    assert "cells" in large.view(99)


class FakeReader:
    """Reads one word, wherever it looks."""

    def read(self, image: Any) -> list[Word]:
        assert image.shape[2] == 3
        return [make_word("seen", 20, 20)]

    def read_quads(self, image: Any, quads: Any) -> list[Word]:
        return []


def test_a_cell_is_read_again(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)
    step = {"do": "read", "row": 0, "col": 0, "end_row": 1, "end_col": 1, "version": 0, "id": "r"}
    is_done, reply = answer(corrections, correction, step)
    assert not is_done and "nothing reads cells here" in reply["error"] and not reply["table"]["has_reader"]
    for _ in range(2):
        is_done, view = answer(corrections, correction, step, FakeReader())
        assert is_done and view["has_reader"] and view["version"] == 1
    assert correction.table[0, 0].text == "seen" and not correction.table[0, 0].typed
    assert CorrectionFolder(tmp_path).read()["scan_1_1"].state == correction.state
    for wrong in ({"row": 9}, {"row": "a"}, {"end_row": 0}):
        is_done, _ = answer(corrections, correction, {**step, **wrong, "version": 1, "id": "x"}, FakeReader())
        assert not is_done


class TwoReaders(FakeReader):
    """Reads what was read before, and names another one."""

    def __init__(self) -> None:
        self.other = FakeReader()

    def read(self, image: Any) -> list[Word]:
        return [make_word("read", 20, 20)]


def test_where_the_same_is_read_once_more_the_other_reader_reads_and_then_the_first_again(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path)
    texts = []
    for version in range(3):
        step = {"do": "read", "row": 0, "col": 0, "end_row": 1, "end_col": 1, "version": version, "id": f"r{version}"}
        assert answer(corrections, correction, step, TwoReaders())[0]
        texts.append(correction.table[0, 0].text)
    assert texts == ["read", "seen", "read"]


def test_title_and_notes_are_steps_and_are_shown(tmp_path: Path) -> None:
    _, correction = begin(tmp_path)
    correction.do({"do": "set_title", "text": "Sales"})
    correction.do({"do": "set_notes", "texts": ["in EUR", " "]})
    view = correction.view()
    assert (view["title"], view["notes"]) == ("Sales", ["in EUR"])
    correction.do({"do": "set_title", "text": " "})
    assert correction.view()["title"] == ""
    assert [each["text"] for each in view["words"]] == ["beside"]
