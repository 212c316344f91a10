"""A whole batch, with a reader of pages that does what the inputs say."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tablerec.bulk import run as run_module
from tablerec.bulk.executor import Outcome, Task
from tablerec.bulk.fetching import fetch
from tablerec.bulk.open import open_batch
from tablerec.bulk.results import FileResults, ParquetResults, Results
from tablerec.bulk.run import Rules
from tablerec.bulk.state import State
from tablerec.bulk.store import FolderStore, open_store
from tablerec.config import Settings
from tablerec.errors import ModelNotFoundError, OutputError, SettingsError
from tests.helpers.bulk.executor import TextExecutor
from tests.helpers.bulk.killing import make_results
from tests.helpers.bulk.running import batch, inputs, parquet_rows, tables

ROOT = Path(__file__).resolve().parents[3]


def test_no_inputs_make_an_empty_store_with_a_summary(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    state, told, _ = batch(tmp_path / "store", tmp_path / "empty")
    assert state.sums.pages == 0
    assert len(told.errors) == 1
    assert json.loads((tmp_path / "store" / "summary.json").read_text())["failures"] == 1
    state, told, _ = batch(tmp_path / "store")
    assert (state.n_failures, told.errors) == (0, [])


def test_each_page_becomes_files_and_a_second_run_reads_nothing(tmp_path: Path) -> None:
    folder = inputs(tmp_path / "in", "a", "b pages=3 tables=2", "c tables=0")
    state, told, executor = batch(tmp_path / "store", folder)
    assert (state.sums.inputs, state.sums.pages, state.sums.tables, state.open) == (3, 5, 7, {})
    names = tables(tmp_path / "store")
    assert sorted(name.partition("-")[0] for name in names) == ["i0", "i1", "i1", "i1", "i2"]
    assert sorted(name[-8:] for name in names if name.startswith("i1")) == ["_p1.json", "_p2.json", "_p3.json"]
    assert told.errors == told.notes == []
    again, _, idle = batch(tmp_path / "store", folder)
    assert not idle.counts
    assert (again.sums.pages, again.sums.runs) == (5, 2)
    assert tables(tmp_path / "store") == names
    assert set(executor.counts.values()) == {1}


def test_equal_files_are_read_once_and_both_names_are_told(tmp_path: Path) -> None:
    folder = inputs(tmp_path / "in", "same", "other", "same")
    state, told, executor = batch(tmp_path / "store", folder, folder / "i0.png")
    assert (state.sums.inputs, state.sums.equal, sum(executor.counts.values())) == (2, 1, 2)
    assert told.notes == [f"{folder / 'i2.png'}: the same content as {folder / 'i0.png'}, read once"]
    _, told, idle = batch(tmp_path / "store", folder)
    assert (told.notes, idle.counts) == ([], {})


def test_an_input_that_was_only_touched_or_moved_is_not_read_again_and_one_that_changed_is(tmp_path: Path) -> None:
    folder = inputs(tmp_path / "in", "a", "b")
    batch(tmp_path / "store", folder)
    os.utime(folder / "i0.png", (1, 1))
    (folder / "i1.png").write_text("b tables=2")
    state, told, executor = batch(tmp_path / "store", folder)
    assert list(executor.counts) == [(str(folder / "i1.png"), 1)]
    assert (state.sums.inputs, state.sums.equal, told.notes) == (3, 0, [])
    folder.rename(tmp_path / "moved")
    _, _, executor = batch(tmp_path / "store", tmp_path / "moved")
    assert not executor.counts


def test_pages_that_fail_are_set_aside_with_their_reason(tmp_path: Path) -> None:
    folder = inputs(tmp_path / "in", "a pages=3 fail=2:limit", "b fail=1:once", "c pages=2 fail=1:input", "d broken")
    state, told, executor = batch(tmp_path / "store", folder, tmp_path / "none.png", rules=Rules(tries=3))
    assert (state.sums.pages, len(state.failed), len(state.unread), state.open) == (4, 3, 1, {})
    counts = {(Path(name).name, number): n for (name, number), n in executor.counts.items()}
    assert counts == {
        ("i0.png", 1): 1, ("i0.png", 2): 3, ("i0.png", 3): 1, ("i1.png", 1): 2, ("i2.png", 1): 1, ("i2.png", 2): 1
    }  # fmt: skip
    assert sorted(told.errors) == [
        f"{folder / 'i0.png'}: page 2 takes too long",
        f"{folder / 'i2.png'}: page 1 is broken; export it again",
        f"{folder / 'i3.png'}: not a picture or PDF; give another file",
        f"{tmp_path / 'none.png'}: no such file; check the name and the folder",
    ]
    summary = json.loads((tmp_path / "store" / "summary.json").read_text())
    assert {(each["kind"], each["page"], each["tries"]) for each in summary["failed"]} == {
        ("LimitError", 2, 3), ("InputError", 1, 1), ("InputError", None, 1)
    }  # fmt: skip
    # They stay set aside, but for what could not be had at all.
    state, told, executor = batch(tmp_path / "store", folder, tmp_path / "none.png")
    assert (len(told.errors), executor.counts, state.n_failures) == (1, {}, 4)
    # --retry-failed does them once more, and they may fail once more.
    _, told, executor = batch(tmp_path / "store", folder, retry=True)
    assert (len(told.errors), sum(executor.counts.values())) == (3, 2)
    healed = TextExecutor()
    healed.healed = True
    state, told, _ = batch(tmp_path / "store", folder, executor=healed, retry=True)
    assert (told.errors, state.n_failures, state.sums.pages, state.sums.inputs) == ([], 0, 7, 4)
    assert len(tables(tmp_path / "store")) == 7
    assert batch(tmp_path / "store", folder, retry=True)[2].counts == {}


def test_tries_count_on_in_the_next_run(tmp_path: Path) -> None:
    folder = inputs(tmp_path / "in", "a fail=1:limit", "b fail=1:model")
    with pytest.raises(ModelNotFoundError):
        batch(tmp_path / "store", folder, rules=Rules(tries=3))
    (folder / "i1.png").unlink()
    _, told, executor = batch(tmp_path / "store", folder, rules=Rules(tries=3))
    assert (len(told.errors), sum(executor.counts.values())) == (1, 2)


def test_thousands_of_failing_inputs_are_a_line_each(tmp_path: Path) -> None:
    folder = inputs(tmp_path / "in", *(f"{number} broken" for number in range(2000)), "last")
    state, told, _ = batch(tmp_path / "store", folder)
    assert (len(told.errors), state.sums.pages, len(state.failed)) == (2000, 1, 2000)
    summary = json.loads((tmp_path / "store" / "summary.json").read_text())
    assert (summary["failures"], len(summary["failed"])) == (2000, 2000)
    assert "and 1,000 more" in (tmp_path / "store" / "summary.html").read_text()


def test_names_stay_in_the_store_and_can_be_found(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    odd = ["..png", "a\nb\x1b[2J.png", "表 1.png", "=cmd().png", "x" * 250 + ".png", "-o.png", "con.png", "a.b.c.png"]
    paths = [folder / name for name in odd] + [Path(os.fsdecode(os.fsencode(folder / "x") + b"\xff.png"))]
    for number, path in enumerate(paths):
        path.write_text(f"{number}")
    state, _, _ = batch(tmp_path / "store", *paths)
    assert (state.n_failures, state.sums.pages) == (0, len(paths))
    names = tables(tmp_path / "store")
    assert len(names) == len(paths)
    assert any(name.startswith("表_1-") for name in names)
    assert all(len(os.fsencode(name)) < 128 and name.isprintable() for name in names)
    assert json.loads((tmp_path / "store" / "summary.json").read_text())["pages"] == len(paths)
    assert {path.name for path in tmp_path.iterdir()} == {"in", "store"}


@pytest.mark.parametrize("link", ["tables/{}", "tables", "partial", "copies"])
def test_links_that_lead_out_of_the_store_are_not_followed(link: str, tmp_path: Path) -> None:
    folder, store, outside = inputs(tmp_path / "in", "a"), tmp_path / "store", tmp_path / "outside"
    outside.mkdir()
    with open_batch(FolderStore(store), Settings(), FileResults(("json",))):
        pass
    path = store / link.format(sha256(b"a").hexdigest()[:3])
    if path == store / "partial":
        path.rmdir()
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside)
    with pytest.raises(OutputError, match="a link; remove it"):
        batch(store, folder)
    assert list(outside.iterdir()) == []
    path.unlink()
    assert batch(store, folder)[0].n_failures == 0
    assert len(tables(store)) == 1


def test_other_settings_are_refused_in_one_line_with_the_way_out(tmp_path: Path) -> None:
    folder = inputs(tmp_path / "in", "a")
    batch(tmp_path / "store", folder, settings=Settings(password="secret"))
    assert b"secret" not in (tmp_path / "store" / "journal.jsonl").read_bytes()
    batch(tmp_path / "store", folder, settings=Settings(device="gpu:0"))
    with pytest.raises(SettingsError) as refused:
        batch(tmp_path / "store", folder, settings=Settings(ocr="none"))
    assert str(refused.value).endswith(
        "was begun with other settings (ocr was auto, is none); give the same ones, or another folder with -o"
    )
    with pytest.raises(SettingsError, match=r"\(format was json, is html,json\)"):
        batch(tmp_path / "store", folder, results=FileResults())


def test_a_folder_of_others_is_refused_and_files_beside_ours_are_left_alone(tmp_path: Path) -> None:
    folder = inputs(tmp_path / "in", "a")
    store = tmp_path / "store"
    (store / "tables").mkdir(parents=True)
    with pytest.raises(OutputError, match="holds tables, but no journal"):
        batch(store, folder)
    (store / "tables").rmdir()
    (store / "diary.txt").write_text("mine")
    batch(store, folder)
    assert (store / "diary.txt").read_text() == "mine"
    with pytest.raises(OutputError):
        batch(folder / "i0.png", folder)


def test_two_at_once_are_one(tmp_path: Path) -> None:
    folder = inputs(tmp_path / "in", "a")
    first = open_batch(FolderStore(tmp_path / "store"), Settings(), FileResults(("json",)))
    with first, pytest.raises(OutputError, match="another tablerec batch writes here"):
        batch(tmp_path / "store", folder)
    assert batch(tmp_path / "store", folder)[0].sums.pages == 1


@pytest.mark.parametrize("kind", ["files", "parquet"])
def test_a_full_disk_ends_the_run_in_one_line_and_the_next_goes_on(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = inputs(tmp_path / "in", *(f"{number}" for number in range(150)))
    if kind == "parquet":
        pytest.importorskip("pyarrow")

    def results() -> Results:
        made: Results = ParquetResults() if kind == "parquet" else FileResults(("json",))
        made.group_pages = 20
        return made

    write, room = FolderStore.write, [50 if kind == "files" else 2]

    def write_some(self: FolderStore, name: str, content: bytes, *, new: bool = False) -> None:
        room[0] -= 1
        if room[0] < 0:
            raise OutputError("store: No space left on device; make room on the disk") from OSError(errno.ENOSPC, "")
        write(self, name, content, new=new)

    monkeypatch.setattr(FolderStore, "write", write_some)
    with pytest.raises(OutputError, match="make room"):
        batch(tmp_path / "store", folder, results=results())
    monkeypatch.undo()
    state, _, executor = batch(tmp_path / "store", folder, results=results())
    assert (state.sums.pages, sum(executor.counts.values())) == (150, 110)
    if kind == "files":
        assert len(tables(tmp_path / "store")) == 150
    else:
        assert len(parquet_rows(tmp_path / "store")) == 150


def test_a_file_that_changes_while_it_is_read_is_told(tmp_path: Path) -> None:
    folder = inputs(tmp_path / "in", "a")

    class Changing(TextExecutor):
        def run(self, tasks: Iterator[Task]) -> Iterator[Outcome | None]:
            for outcome in super().run(tasks):
                (folder / "i0.png").write_text("b, later")
                yield outcome

    _, told, _ = batch(tmp_path / "store", folder, executor=Changing())
    assert [message.partition(": ")[2] for message in told.errors] == [
        "changed while it was read; give the same command again"
    ]
    assert tables(tmp_path / "store") == {}
    state, _, _ = batch(tmp_path / "store", folder)
    assert len(tables(tmp_path / "store")) == 1
    assert state.sums.pages == 1


def test_ctrl_c_keeps_what_was_read(tmp_path: Path) -> None:
    folder = inputs(tmp_path / "in", *(f"{number} pages=2" for number in range(10)))

    class Stopped(TextExecutor):
        def run(self, tasks: Iterator[Task]) -> Iterator[Outcome | None]:
            for number, outcome in enumerate(super().run(tasks)):
                if number == 14:
                    raise KeyboardInterrupt
                yield outcome

    with pytest.raises(KeyboardInterrupt):
        batch(tmp_path / "store", folder, executor=Stopped())
    state, _, executor = batch(tmp_path / "store", folder)
    assert (state.sums.pages, sum(executor.counts.values())) == (20, 13)


def test_ctrl_c_amid_a_page_drops_it_and_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    folder = inputs(tmp_path / "in", *(f"{number}" for number in range(5)))
    add_page = State.add_page

    def interrupted(self: State, page: dict[str, object]) -> None:
        if self.sums.pages == 3:
            raise KeyboardInterrupt
        add_page(self, page)

    monkeypatch.setattr(State, "add_page", interrupted)
    with pytest.raises(KeyboardInterrupt):
        batch(tmp_path / "store", folder, results=ParquetResults())
    monkeypatch.undo()
    batch(tmp_path / "store", folder, results=ParquetResults())
    assert len(parquet_rows(tmp_path / "store")) == 5


def test_a_group_ends_where_its_results_become_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_MOST_BYTES", 1)
    batch(tmp_path / "store", inputs(tmp_path / "in", "a pages=3"))
    assert (tmp_path / "store" / "journal.jsonl").read_text().count('"group"') >= 3


def test_doubtful_tables_are_counted_and_named_where_asked_for(tmp_path: Path) -> None:
    folder = inputs(tmp_path / "in", "a sure=50", "b pages=2 sure=95", "c sure=89 tables=2")
    state, told, _ = batch(tmp_path / "store", folder, rules=Rules(min_confidence=0.9))
    assert state.sums.doubtful == len(told.doubts) == 3
    assert told.doubts[0] == f"{folder / 'i0.png'}: table 1 has a score of 0.50, below 0.9: cell 1, 1"
    summary = json.loads((tmp_path / "store" / "summary.json").read_text())
    assert [each["confidence"] for each in summary["least_sure"]] == [0.5, 0.89, 0.89]
    assert (summary["stages"], summary["peak_memory_bytes"] > 0) == ({"read": 1.0, "detect": 2.0}, True)


def test_all_tables_are_rows_of_one_dataset(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = inputs(tmp_path / "in", "a", "b pages=3 tables=2 sure=80", "c tables=0")
    batch(tmp_path / "store", folder, results=ParquetResults())
    rows = parquet_rows(tmp_path / "store")
    assert sorted((Path(str(row["source"])).name, row["page"], row["number"]) for row in rows) == [
        ("i0.png", 1, 1), *(("i1.png", page, number) for page in (1, 2, 3) for number in (1, 2))
    ]  # fmt: skip
    assert all(row["seconds"] == 0.75 and "<table" in str(row["html"]) for row in rows)
    assert all(json.loads(str(row["cells"]))[0]["text"].startswith(str(row["content"])[:8]) for row in rows)
    # A part that no record names was written before a kill: it goes, others' files stay.
    (tmp_path / "store" / "tables" / "part-0123456789abcdef.parquet").write_bytes(b"half")
    (tmp_path / "store" / "tables" / "_notes.txt").write_text("mine")
    batch(tmp_path / "store", folder, results=ParquetResults())
    assert parquet_rows(tmp_path / "store") == rows
    assert (tmp_path / "store" / "tables" / "_notes.txt").exists()


def test_sources_and_store_at_urls(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    files.pipe({f"/in/{number}.png": f"{number} pages=2".encode() for number in range(5)})
    store = open_store("memory://store/a")
    state, told, _ = batch(store, "memory://in/")
    assert (state.sums.pages, told.errors) == (10, [])
    assert len(files.find("/store/a/tables")) == 10
    assert b'"pages": 10' in files.cat_file("/store/a/summary.json")
    assert not batch(store, "memory://in/")[2].counts
    files.pipe_file("/in/3.png", b"changed")
    assert list(batch(store, "memory://in/")[2].counts) == [("memory:///in/3.png", 1)]
    # A store in a folder: copies of what is on the network are gone when they were read.
    state, _, _ = batch(tmp_path / "store", "memory://in/", "memory://in/none.png", rules=Rules(max_bytes=8))
    assert sorted(state.unread) == [f"memory:///in/{number}.png" for number in (0, 1, 2, 4)] + ["memory://in/none.png"]
    assert "more than 8e-06 MB; raise --max-megabytes" in state.unread["memory:///in/0.png"].reason
    assert not (tmp_path / "store" / "copies").exists()
    files.rm("/in", recursive=True)
    files.rm("/store", recursive=True)


def test_what_the_network_refuses_at_times_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    from fsspec.implementations.memory import MemoryFileSystem

    files = fsspec.filesystem("memory")
    files.pipe_file("/flaky/a.png", b"content")
    waits: list[float] = []
    failures = [ConnectionResetError("reset"), TimeoutError("timeout")]
    opened = MemoryFileSystem.open

    def open_later(self: MemoryFileSystem, *args: object, **options: object) -> object:
        if failures:
            raise failures.pop()
        return opened(self, *args, **options)

    monkeypatch.setattr(MemoryFileSystem, "open", open_later)
    monkeypatch.setattr("tablerec.bulk.fetching.time.sleep", waits.append)
    assert fetch("memory://flaky/a.png", tmp_path, 100).path.read_bytes() == b"content"
    assert [wait >= least for wait, least in zip(waits, (0.5, 2.0), strict=True)] == [True, True]
    failures += [OSError(f"try {number}") for number in range(9)]
    with pytest.raises(Exception, match="cannot be read"):
        fetch("memory://flaky/a.png", tmp_path, 100)
    assert len(waits) == 5
    assert list(tmp_path.iterdir()) and len(list(tmp_path.iterdir())) == 1
    files.rm("/flaky", recursive=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("from_outside", [False, True])
@pytest.mark.parametrize("kind", ["files", "parquet"])
@pytest.mark.parametrize("seed", range(2))
def test_each_output_is_there_once_and_whole_whenever_the_process_is_killed(
    kind: str, seed: int, from_outside: bool, tmp_path: Path
) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    texts = [f"{number} pages={1 + number % 3}" for number in range(24)]
    folder = inputs(tmp_path / "in", *texts, "fail=1:limit", "broken")
    store, clean = tmp_path / "store", tmp_path / "clean"
    code = "from pathlib import Path; from tests.helpers.bulk.killing import killed_until_done\n"
    code += f"print(killed_until_done({kind!r}, {seed}, {str(store)!r}, Path({str(folder)!r}), {from_outside}))"
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0 or from_outside
    state, _, executor = batch(store, folder, results=make_results(kind))
    assert (executor.counts, state.sums.pages, len(state.failed), state.open) == ({}, 48, 2, {})
    batch(clean, folder)
    found = tables(store)
    if kind == "parquet":
        rows = parquet_rows(store)
        found = {f"{number}": json.loads(str(row["cells"]))[0]["text"] for number, row in enumerate(rows)}
    assert sorted(found.values()) == sorted(tables(clean).values())
    assert not list((store / "partial").iterdir())


def test_an_empty_group_is_recorded_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_BEAT", 0.0)
    folder = inputs(tmp_path / "in", "a")
    state, _, _ = batch(tmp_path / "store", folder)
    assert state.sums.pages == 1
    assert (tmp_path / "store" / "journal.jsonl").read_text().count('"group"') > 2
    assert state.sums.seconds <= time.time()
