from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tablerec.bulk import executor as executor_module
from tablerec.bulk.executor import LocalExecutor, Task, run_futures
from tablerec.bulk.results import FileResults, Origin
from tablerec.config import Settings
from tablerec.engine import Engine
from tablerec.errors import InputError
from tablerec.result import Page
from tests.helpers.bulk.executor import make_page


def task(number: int, path: Path = Path("a")) -> Task:
    return Task(str(path), path, "0" * 64, number, Origin(str(path), "0" * 64, True))


def test_no_tasks_have_no_outcomes() -> None:
    assert list(run_futures(lambda each: Future(), iter([]), 3)) == []


def test_tasks_are_pulled_as_there_is_room_and_each_has_an_outcome() -> None:
    pulled = 0
    done = 0

    def tasks() -> object:
        nonlocal pulled
        for number in range(20):
            pulled += 1
            assert pulled - done <= 3
            yield task(number)

    def read(each: Task) -> Page:
        if each.number % 5 == 0:
            raise InputError(f"{each.number}")
        return make_page(each, "")

    with ThreadPoolExecutor(2) as pool:
        seen = []
        for outcome in run_futures(lambda each: pool.submit(read, each), tasks(), 3):  # type: ignore[arg-type]
            if outcome is not None:
                done += 1
                seen.append((outcome.task.number, isinstance(outcome.page, InputError)))
    assert sorted(seen) == [(number, number % 5 == 0) for number in range(20)]


def test_while_nothing_is_done_none_is_yielded_and_what_waits_is_cancelled_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executor_module, "TICK", 0.001)
    future: Future[Page] = Future()
    running = run_futures(lambda each: future, iter([task(1)]), 3)
    assert next(running) is None
    running.close()  # type: ignore[attr-defined]
    assert future.cancelled()


def test_pages_are_read_by_workers_of_this_machine(samples: Path) -> None:
    path = samples / "ruled.png"
    with Engine(Settings(detector="rulings", ocr="none"), jobs=1) as engine:
        local = LocalExecutor(engine)
        assert local.numbers(path, str(path)) == [1]
        outcomes = [each for each in local.run(iter([task(1, path)])) if each is not None]
    assert [len(each.page.tables) for each in outcomes if isinstance(each.page, Page)] == [1]


def test_workers_make_the_files_of_a_page_as_this_process_would(samples: Path) -> None:
    path, encode = samples / "ruled.png", FileResults(("html", "xlsx")).encode
    with Engine(Settings(detector="rulings", ocr="none"), jobs=1) as engine:
        [read] = [each for each in LocalExecutor(engine).run(iter([task(1, path)])) if each is not None]
        [made] = [each for each in LocalExecutor(engine, encode).run(iter([task(1, path)])) if each is not None]
        failed = LocalExecutor(engine, encode).run(iter([task(1, samples / "none.png")]))
        assert [type(each.page) for each in failed if each is not None] == [InputError]
    assert isinstance(read.page, Page) and isinstance(made.page, Page) and made.encoded is not None
    (html, content), (xlsx, _) = made.encoded
    assert (html, content) == encode(read.task.origin, read.page)[0] and xlsx.endswith(".xlsx")
    # Of the page itself comes back what the journal notes.
    assert [len(table) for table in made.page.tables] == [0]
    assert [table.confidence for table in made.page.tables] == [table.confidence for table in read.page.tables]
    assert made.page.seconds.keys() == read.page.seconds.keys()
