"""A run of a batch: inputs in, each once by its content; pages out, each once; what was done into the journal."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tablerec.batch import ALIKE, describe_fault
from tablerec.bulk.executor import TICK, Executor, Outcome, Task
from tablerec.bulk.fetching import Fetched, fetch, is_url, stamp
from tablerec.bulk.journal import Journal, Position, Record
from tablerec.bulk.results import Origin, Results
from tablerec.bulk.sources import Source
from tablerec.bulk.state import WHOLE, State, name_key, numbers_to_ranges
from tablerec.bulk.store import Store
from tablerec.errors import InputError, TablerecError
from tablerec.inputs.images import display_name
from tablerec.processes import give_back_memory, tree_bytes
from tablerec.result import Page

_AHEAD = 16
"""Inputs that are looked up, fetched and hashed before it is their turn."""

_BEAT = 20.0
"""Seconds after which a group is recorded even if it is empty: the time counts, and others see that we live."""

_MOST_BYTES = 32 * 2**20
"""Results that wait for their group, at most."""

_MEASURE = 10.0
"""Seconds from one look at the memory to the next."""

_N_WRITERS = 8


class Reporter(Protocol):
    """What a person is told of a run."""

    def note(self, message: str) -> None:
        """Say what deserves a look."""

    def error(self, message: str) -> None:
        """Say what was given up."""

    def doubt(self, message: str) -> None:
        """Say which table is doubtful."""

    def beat(self, state: State, n_inputs: int) -> None:
        """Show how far the run is, if it is time for that.

        Args:
            state: What was done.
            n_inputs: Inputs that came by in this run.
        """


@dataclass(frozen=True, slots=True)
class Rules:
    """How a run treats inputs.

    Args:
        tries: How often a page is tried whose worker is lost or runs into a limit.
        max_bytes: Of an object on the network.
        min_confidence: Tables less sure than this are named; None names none.
    """

    tries: int = 2
    max_bytes: int = 1 << 30
    min_confidence: float | None = None


@dataclass(frozen=True, slots=True)
class _Prepared:
    """An input whose turn it is: ``got`` is its content, an error, or None where nothing is left to do."""

    source: Source
    key: str | None
    got: Fetched | InputError | None


@dataclass(slots=True)
class _Active:
    """An input whose pages are being read."""

    source: Source
    fetched: Fetched
    position: Position
    origin: Origin
    waiting: set[int]


class Run:
    """Goes over inputs, until nothing is left that could be done.

    Args:
        store: Where files go.
        journal: Locked by this run.
        state: What it tells.
        results: What pages become.
        executor: Who reads them.
        reporter: Told of all.
        copies: Folder for copies of what is on the network.
        rules: How inputs are treated.
    """

    def __init__(
        self,
        store: Store,
        journal: Journal,
        state: State,
        results: Results,
        executor: Executor,
        reporter: Reporter,
        copies: Path,
        rules: Rules | None = None,
    ) -> None:
        self._store = store
        self._journal = journal
        self._state = state
        self._results = results
        self._executor = executor
        self._reporter = reporter
        self._copies = copies
        self._rules = rules or Rules()
        self._active: dict[str, _Active] = {}
        self._again: dict[str, Source] = {}
        self._pages: list[Record] = []
        self._failed: list[Record] = []
        self._n_inputs = 0
        self._committed = time.monotonic()
        self._is_steady = True
        self._measured = (-_MEASURE, 0)

    def run(self, sources: Iterable[Source]) -> None:
        """Do all inputs, then once more those with pages that failed and may be tried again.

        Raises:
            OutputError: The store takes nothing more. What the journal says is done, is.
            TablerecError: What every other page would meet as well.
        """
        try:
            with ThreadPoolExecutor(_N_WRITERS) as self._writers, ThreadPoolExecutor(_AHEAD // 2) as self._fetchers:
                try:
                    self._round(sources)
                    while self._again:
                        again, self._again = list(self._again.values()), {}
                        self._round(again)
                finally:
                    # What was read before Ctrl-C, or an error, is kept; a group half gathered or written is not.
                    self._fetchers.shutdown(wait=False, cancel_futures=True)
                    if self._is_steady:
                        self._commit()
        finally:
            for active in self._active.values():
                _let_go(active.fetched)

    def report_unread(self, name: str, error: InputError) -> None:
        """Record and tell that an input, or what was given to find some, cannot be had."""
        self._add({"unread": {"name": name, "reason": str(error), "kind": type(error).__name__}})
        self._reporter.error(str(error))

    def _round(self, sources: Iterable[Source]) -> None:
        for outcome in self._executor.run(self._tasks(sources)):
            if outcome is not None:
                self._take(outcome)
            self._beat()

    def _tasks(self, sources: Iterable[Source]) -> Iterator[Task]:
        for prepared in self._ahead(sources):
            self._n_inputs += 1
            self._beat()
            yield from self._tasks_of(prepared)

    def _ahead(self, sources: Iterable[Source]) -> Iterator[_Prepared]:
        """Prepare the next inputs while the pages of others are read."""
        waiting: deque[Future[_Prepared]] = deque()
        try:
            for source in sources:
                waiting.append(self._fetchers.submit(self._prepare, source))
                if len(waiting) >= _AHEAD:
                    yield self._patiently(waiting.popleft())
            while waiting:
                yield self._patiently(waiting.popleft())
        finally:
            for future in waiting:
                future.add_done_callback(_forget)
                future.cancel()

    def _patiently(self, future: Future[_Prepared]) -> _Prepared:
        while not wait([future], TICK).done:
            self._beat()
        return future.result()

    def _prepare(self, source: Source) -> _Prepared:
        """Look up, fetch and hash an input, in a thread."""
        key = None
        try:
            changes = stamp(source.name, source.info)
            key = None if changes is None else name_key(_full_name(source.name), changes)
            if key is not None and self._state.is_settled(key):
                return _Prepared(source, key, None)
            return _Prepared(source, key, fetch(source.name, self._copies, self._rules.max_bytes))
        except InputError as error:
            return _Prepared(source, key, error)

    def _tasks_of(self, prepared: _Prepared) -> Iterator[Task]:
        source, got = prepared.source, prepared.got
        if got is None:
            return
        if isinstance(got, InputError):
            self.report_unread(source.name, got)
            return
        try:
            active = self._enter(source, prepared.key, got)
        except BaseException:
            _let_go(got)
            raise
        if active is None:
            _let_go(got)
            return
        self._active[got.content] = active
        for number in sorted(active.waiting):
            yield Task(source.name, got.path, got.content, number, active.origin)

    def _enter(self, source: Source, key: str | None, fetched: Fetched) -> _Active | None:
        """Record an input, and return it if there is anything to do for it."""
        state, first = self._state, self._state.position(fetched.content)
        if first is not None:
            self._record_name(source, key, fetched, first)
            if fetched.content in self._active:
                return None
            state.reopen(first)
            if first not in state.open:
                return None
        failed = None
        try:
            numbers = self._executor.numbers(fetched.path, source.name)
        except ALIKE:
            raise
        except Exception as error:
            numbers, failed = [WHOLE], error
        if first is None or WHOLE in state.open[first].left:
            pages = numbers_to_ranges(numbers)
            added = self._add({"input": _to_record(source, key, fetched) | {"pages": pages}})
            first = added if first is None else first
        if failed is not None:
            self._fail(first, WHOLE, source, fetched, failed)
            return None
        if first not in state.open:
            return None
        entry = state.open[first]
        return _Active(source, fetched, first, Origin(entry.name, fetched.content, numbers == [1]), set(entry.left))

    def _record_name(self, source: Source, key: str | None, fetched: Fetched, first: Position) -> None:
        """Record that an input has content that is known."""
        if self._state.is_named(key):
            return
        name = self._journal.read(first)["input"]["name"]
        self._add({"input": _to_record(source, key, fetched) | {"first": name}})
        if name != source.name:
            self._reporter.note(f"{display_name(source.name)}: the same content as {display_name(name)}, read once")

    def _take(self, outcome: Outcome) -> None:
        """Take in what became of a page."""
        task, page = outcome.task, outcome.page
        active = self._active[task.content]
        active.waiting.discard(task.number)
        if not active.waiting:
            del self._active[task.content]
        try:
            self._check_unchanged(active)
            if isinstance(page, Exception):
                raise page
            encoded = outcome.encoded
            if encoded is None:
                encoded = self._results.encode(active.origin, page)
            self._is_steady = False
            self._results.add(encoded)
        except ALIKE:
            raise
        except Exception as error:
            self._is_steady = True
            self._fail(active.position, task.number, active.source, active.fetched, error)
        else:
            self._note(active, page)
            self._is_steady = True
        finally:
            if not active.waiting:
                _let_go(active.fetched)

    def _check_unchanged(self, active: _Active) -> None:
        """Refuse what was read of a file that is another one by now."""
        if not active.fetched.is_copy and _changes(active.fetched.path) != active.fetched.changes:
            raise InputError(
                f"{display_name(active.source.name)}: changed while it was read; give the same command again"
            )

    def _note(self, active: _Active, page: Page) -> None:
        number = page.picture.number
        sure = [None if table.confidence is None else round(table.confidence.table, 4) for table in page.tables]
        seconds = {stage: round(value, 3) for stage, value in page.seconds.items()}
        record = {"input": active.position, "page": number, "sure": sure, "seconds": seconds}
        self._pages.append(record)
        self._state.add_page(record)
        least = self._rules.min_confidence
        for index, table in enumerate(page.tables, start=1):
            if least is not None and table.confidence is not None and table.confidence.table < least:
                where = "" if active.origin.is_single else f"page {number} "
                self._reporter.doubt(
                    f"{display_name(active.source.name)}: {where}table {index} has a score of "
                    f"{table.confidence.table:.2f}, below {least:g}: {table.confidence.weakest}"
                )

    def _fail(self, first: Position, number: int, source: Source, fetched: Fetched, error: Exception) -> None:
        """Give a page up, or have it tried again."""
        name = display_name(source.name)
        reason = str(error) if isinstance(error, TablerecError) else describe_fault(error)
        reason = display_name(reason.replace(str(fetched.path), source.name))
        if name not in reason:
            reason = f"{name}: {f'page {number} ' if number else ''}{reason}"
        tries = self._state.open[first].tries.get(number, 0) + 1
        is_final = isinstance(error, InputError) or tries >= self._rules.tries
        record = {"input": first, "page": number, "reason": reason, "kind": type(error).__name__}
        record |= {"tries": tries, "final": is_final}
        self._failed.append(record)
        self._state.add_failure(record)
        if is_final:
            self._reporter.error(reason)
        else:
            self._again[fetched.content] = source

    def _add(self, record: Record) -> Position:
        position = self._journal.add(record)
        self._state.add(position, record)
        return position

    def _beat(self) -> None:
        """Record what was done, and show how far the run is, where it is time for that."""
        since = time.monotonic() - self._committed
        n_done = len(self._pages) + len(self._failed)
        is_due = n_done > 0 and since >= max(self._results.group_seconds, self._journal.pause)
        is_full = n_done >= self._results.group_pages or self._results.size >= _MOST_BYTES
        if is_due or is_full or since >= _BEAT:
            self._commit()
        self._reporter.beat(self._state, self._n_inputs)

    def _commit(self) -> None:
        """Write a group: the names of its inputs, its files, and at last that it is done."""
        self._is_steady = False
        self._journal.sync()
        files = self._results.finish()
        part = self._results.part(files)
        try:
            deque(self._writers.map(lambda file: self._store.write(*file), files), maxlen=0)
        except BaseException:
            if part is not None:
                self._store.remove(part)
            raise
        group = {"at": time.time(), "memory": self._memory(), "part": part}
        self._journal.add({"group": group | {"pages": self._pages, "failed": self._failed}})
        self._journal.sync()
        self._state.end_group(group)
        give_back_memory()
        self._pages, self._failed = [], []
        self._committed = time.monotonic()
        self._is_steady = True

    def _memory(self) -> int:
        """Memory of all our processes in bytes, some seconds old at most: to ask takes a while."""
        now = time.monotonic()
        if now - self._measured[0] >= _MEASURE:
            self._measured = now, tree_bytes(os.getpid())
        return self._measured[1]


def _to_record(source: Source, key: str | None, fetched: Fetched) -> Record:
    return {"name": source.name, "key": key, "content": fetched.content, "size": fetched.size}


def _full_name(name: str) -> str:
    return name if is_url(name) else os.path.abspath(name)


def _changes(path: Path) -> str | None:
    try:
        return stamp(str(path))
    except InputError:
        return None


def _let_go(fetched: Fetched) -> None:
    if fetched.is_copy:
        fetched.path.unlink(missing_ok=True)


def _forget(future: Future[_Prepared]) -> None:
    """Remove the copy of an input whose turn does not come."""
    if not future.cancelled() and future.exception() is None and isinstance(got := future.result().got, Fetched):
        _let_go(got)
