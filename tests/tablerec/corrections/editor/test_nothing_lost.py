"""A torn journal, a full disk, a process that is killed, a clock that goes back: all files agree."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tablerec.corrections.editor import Correction, CorrectionFolder, page_to_drafts
from tablerec.corrections.editor.correction import read_correction
from tablerec.errors import OutputError
from tests.benchmarks.editor.kill import check_files, check_journal, run
from tests.helpers.review import make_read_page

STEPS: list[dict[str, Any]] = [
    {"do": "divide", "axis": "col", "index": 0, "fraction": 0.4, "id": "1"},
    {"do": "set_text", "row": 0, "col": 0, "text": "typed", "id": "2"},
    {"do": "save", "id": "3"},
    {"do": "merge", "row": 0, "col": 0, "end_row": 2, "end_col": 2, "id": "4"},
    {"do": "place_word", "word": 0, "row": 2, "col": 0, "id": "5"},
    {"do": "reset_text", "row": 0, "col": 0, "end_row": 1, "end_col": 1, "id": "6"},
    {"do": "undo", "id": "7"},
]
SAVE = {"do": "save", "id": "8"}


class KilledError(BaseException):
    """Stands for the end of the process."""


def begin(folder: Path, steps: list[dict[str, Any]]) -> tuple[CorrectionFolder, Correction]:
    corrections = CorrectionFolder(folder)
    correction = corrections.open(page_to_drafts(make_read_page())[0])
    for step in steps:
        corrections.do(correction, step)
    return corrections, correction


def start_again(folder: Path) -> Correction:
    """What a review does first."""
    corrections = CorrectionFolder(folder)
    [correction] = corrections.read().values()
    corrections.mend()
    correction.check(None)
    assert corrections.problems == []
    check_files(folder, correction.path)
    return correction


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, n_done: int, error: Callable[[], BaseException]) -> Iterator[None]:
    """Whatever goes to the disk after so many calls fails."""
    calls = itertools.count()

    def fail(function: Any) -> Any:
        def either(*args: Any, **others: Any) -> Any:
            if next(calls) >= n_done:
                raise error()
            return function(*args, **others)

        return either

    with monkeypatch.context() as dying:
        for owner, name in ((Path, "replace"), (Path, "unlink"), (os, "fsync")):
            dying.setattr(owner, name, fail(getattr(owner, name)))
        yield


@pytest.mark.parametrize("what", ["save", "reject"])
@pytest.mark.parametrize("error", [KilledError, lambda: OSError(errno.ENOSPC, "No space left on device")])
def test_a_save_that_stops_anywhere_is_whole_after_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, error: Callable[[], BaseException]
) -> None:
    for n_done in range(0, 19, 4 if what == "reject" else 3):
        folder = tmp_path / str(n_done)
        corrections, correction = begin(folder, STEPS)
        with failing(monkeypatch, n_done, error), suppress(KilledError, OutputError):
            corrections.do(correction, {**SAVE, "do": what})
        again = start_again(folder)
        assert again.state == correction.state
        corrections = CorrectionFolder(folder)
        corrections.do(again, {**SAVE, "do": what})
        assert again.verdict == ("saved" if what == "save" else "rejected")
        check_files(folder, again.path)
        check_journal(again.path, [step["id"] for step in STEPS])


def test_a_save_that_failed_before_further_steps_is_finished_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corrections, correction = begin(tmp_path, STEPS)
    before = (tmp_path / "tables" / "scan_1_1.html").read_text("utf-8")
    with failing(monkeypatch, 6, lambda: OSError(errno.ENOSPC, "full")), pytest.raises(OutputError):
        corrections.do(correction, SAVE)
    corrections.do(correction, {"do": "set_text", "row": 0, "col": 0, "text": "not saved"})
    CorrectionFolder(tmp_path).mend()
    files = [tmp_path / "tables" / "scan_1_1.html", tmp_path / "images" / "scan_1_1.json"]
    texts = [path.read_text("utf-8") for path in files]
    assert all("not saved" not in text for text in texts) and texts[0] != before
    assert not list((tmp_path / "journal").glob("*.begun"))
    assert read_correction(correction.path)[0].verdict == "open"


@pytest.mark.parametrize("note", [b"", b"[]", b'{"step": {"do": "divide"}, "version": 0}', b'{"version": []}'])
def test_a_broken_note_of_a_save_is_none(tmp_path: Path, note: bytes) -> None:
    begin(tmp_path, STEPS)
    (tmp_path / "journal" / "scan_1_1.begun").write_bytes(note)
    (tmp_path / "journal" / "other.begun").write_bytes(b'{"step": {"do": "save"}, "version": 0}')
    start_again(tmp_path)
    assert not list((tmp_path / "journal").glob("*.begun"))


def test_a_journal_torn_anywhere_keeps_each_whole_step_with_its_words(tmp_path: Path) -> None:
    _, correction = begin(tmp_path, STEPS)
    content = correction.path.read_bytes()
    whole = [at + 1 for at, byte in enumerate(content) if byte == 10]
    for end in range(whole[0], len(content), 71):
        correction.path.write_bytes(content[:end])
        corrections = CorrectionFolder(tmp_path)
        [kept] = corrections.read().values()
        n_whole = sum(at <= end for at in whole) - 1
        # A line whose end alone is missing counts.
        assert kept.version in (n_whole, n_whole + 1)
        for step in STEPS[kept.version :]:
            corrections.do(kept, step)
        assert kept.state == correction.state


def test_a_full_disk_refuses_a_step_and_takes_it_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corrections, correction = begin(tmp_path, STEPS[:1])
    state = correction.state
    with (
        failing(monkeypatch, 0, lambda: OSError(errno.ENOSPC, "No space left on device")),
        pytest.raises(OutputError, match="make room"),
    ):
        corrections.do(correction, STEPS[1])
    assert correction.state is state and start_again(tmp_path).state == state
    corrections.do(correction, STEPS[1])
    assert start_again(tmp_path).table[0, 0].text == "typed"


def test_a_clock_that_goes_back_changes_nothing(tmp_path: Path) -> None:
    corrections, correction = begin(tmp_path, STEPS)
    corrections.do(correction, SAVE)
    for path in tmp_path.rglob("*.*"):
        os.utime(path, (4e9, 4e9))  # the year 2096: all that is written from now on is older
    corrections.do(correction, {"do": "set_text", "row": 0, "col": 0, "text": "later"})
    corrections.do(correction, {"do": "save", "id": "9"})
    assert start_again(tmp_path).state == correction.state
    assert "later" in (tmp_path / "images" / "scan_1_1.json").read_text("utf-8")


def test_a_server_that_is_killed_loses_nothing() -> None:
    assert "1 kills" in run(n_kills=1, seed=3)
