from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.bulk.journal import BusyError, FileJournal, SegmentJournal
from tablerec.bulk.store import FolderStore
from tablerec.errors import OutputError

HEADER = {"header": {"version": 1}}


def written(folder: Path, *records: dict[str, Any]) -> FileJournal:
    journal = FileJournal(folder)
    journal.lock()
    for record in records:
        journal.add(record)
    journal.sync()
    return journal


def test_no_journal_has_no_records(tmp_path: Path) -> None:
    assert list(FileJournal(tmp_path / "none").records()) == []
    assert list(SegmentJournal(FolderStore(tmp_path / "none")).records()) == []


def test_records_come_back_by_their_places(tmp_path: Path) -> None:
    journal = written(tmp_path, HEADER, {"input": "表\udc80\n"})
    last = journal.add({"run": 1})
    assert journal.read(last) == {"run": 1}
    journal.sync()
    records = list(FileJournal(tmp_path).records())
    assert [record for _, record in records] == [HEADER, {"input": "表\udc80\n"}, {"run": 1}]
    assert [journal.read(position) for position, _ in records] == [record for _, record in records]
    journal.close()


def test_what_was_not_synced_is_not_there(tmp_path: Path) -> None:
    journal = written(tmp_path, HEADER)
    journal.add({"run": 1})
    journal.close()
    assert len(list(FileJournal(tmp_path).records())) == 1


@given(st.integers(0, 200))
def test_a_torn_line_is_cut_off_and_the_next_records_are_whole(tmp_path_factory: Any, cut: int) -> None:
    folder = tmp_path_factory.mktemp("store")
    written(folder, HEADER, {"input": "a" * 50}, {"input": "b" * 50}).close()
    path = folder / "journal.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - cut] if cut < len(whole) else b"")
    n_left = path.read_bytes().count(b"\n")
    before = [record for _, record in FileJournal(folder).records()]
    assert len(before) == n_left
    journal = written(folder, {"input": "c"})
    journal.close()
    assert [record for _, record in FileJournal(folder).records()] == [*before, {"input": "c"}]
    assert path.read_bytes().endswith(b"\n")


def test_a_damaged_line_amid_others_is_left_out(tmp_path: Path) -> None:
    written(tmp_path, HEADER).close()
    with (tmp_path / "journal.jsonl").open("ab") as file:
        file.write(b"\0" * 100 + b"\n[1, 2]\n{\n" + b"[" * 100_000 + b"\n")
    written(tmp_path, {"run": 2}).close()
    assert [record for _, record in FileJournal(tmp_path).records()] == [HEADER, {"run": 2}]


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    first = written(tmp_path, HEADER)
    with pytest.raises(BusyError, match="another tablerec batch writes here"):
        FileJournal(tmp_path).lock()
    assert len(list(FileJournal(tmp_path).records())) == 1
    first.close()
    written(tmp_path, {"run": 1}).close()


def test_a_process_that_is_killed_keeps_no_lock(tmp_path: Path) -> None:
    code = (
        "import os, pathlib\nfrom tablerec.bulk.journal import FileJournal\n"
        f"journal = FileJournal(pathlib.Path({str(tmp_path)!r}))\njournal.lock()\n"
        "journal.add({'header': 1})\njournal.sync()\njournal.add({'run': 1})\nos._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == 9
    journal = written(tmp_path, {"run": 2})
    assert [record for _, record in journal.records()] == [{"header": 1}, {"run": 2}]
    journal.close()


def test_a_foreign_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text("my diary")
    with pytest.raises(OutputError, match="is no journal of tablerec batch"):
        FileJournal(tmp_path).lock()
    assert path.read_text() == "my diary"
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="a link"):
        FileJournal(tmp_path).lock()
    assert not (tmp_path / "elsewhere").exists()


def test_a_full_disk_leaves_no_half_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = written(tmp_path, HEADER)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    journal.add({"run": 1})
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left on device; mend that"):
        journal.sync()
    journal.close()
    assert (tmp_path / "journal.jsonl").read_bytes() == json.dumps(HEADER, separators=(",", ":")).encode() + b"\n"


def segments(folder: Path) -> tuple[SegmentJournal, list[float]]:
    journal, waits = SegmentJournal(FolderStore(folder)), []
    journal._sleep = waits.append
    return journal, waits


def test_segments_come_back_in_order_and_by_their_places(tmp_path: Path) -> None:
    FolderStore(tmp_path).prepare()
    journal, waits = segments(tmp_path)
    journal.lock()
    places = {}
    for number in range(12):
        places[journal.add({"input": number})] = number
        assert journal.read(max(places)) == {"input": number}
        if number % 3 == 0:
            journal.sync()
    journal.sync()
    journal.sync()
    journal.close()
    records = {place: record for place, record in segments(tmp_path)[0].records() if "input" in record}
    assert records == {place: {"input": number} for place, number in places.items()}
    assert all(journal.read(place) == record for place, record in records.items())
    assert waits == []


def test_of_two_writers_of_segments_the_second_is_refused(tmp_path: Path) -> None:
    FolderStore(tmp_path).prepare()
    first, _ = segments(tmp_path)
    first.lock()
    second, _ = segments(tmp_path)

    def goes_on(_: float) -> None:
        first.add({"run": 1})
        first.sync()

    second._sleep = goes_on
    with pytest.raises(BusyError):
        second.lock()
    first.close()


def test_a_dead_writer_of_segments_is_followed_at_once_here_and_after_a_while_elsewhere(tmp_path: Path) -> None:
    FolderStore(tmp_path).prepare()
    here = tmp_path / "journal" / "00000001.jsonl"
    here.parent.mkdir()
    code = "import json; from tablerec.bulk.journal import _me; print(json.dumps({'writer': _me()}))"
    dead = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    here.write_bytes(dead)
    journal, waits = segments(tmp_path)
    journal.lock()
    if sys.platform == "linux":
        assert waits == []
    journal.close()
    (tmp_path / "journal" / "00000009.jsonl").write_bytes(dead.replace(b'"host": "', b'"host": "other'))
    journal, waits = segments(tmp_path)
    journal.lock()
    assert len(waits) == 1
    journal.close()


def test_a_writer_of_segments_that_was_followed_stops(tmp_path: Path) -> None:
    FolderStore(tmp_path).prepare()
    first, _ = segments(tmp_path)
    first.lock()
    second, _ = segments(tmp_path)
    second.lock()
    second.sync()
    first.add({"run": 1})
    with pytest.raises(BusyError):
        first.sync()
