"""A batch is begun, or taken up where it was stopped."""

from __future__ import annotations

import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from tablerec import __version__
from tablerec.bulk.executor import Executor
from tablerec.bulk.journal import NAME, SEGMENTS, Journal, open_journal
from tablerec.bulk.results import TABLES, Results
from tablerec.bulk.run import Reporter, Rules, Run
from tablerec.bulk.sources import Source
from tablerec.bulk.state import State
from tablerec.bulk.store import PARTIAL, FolderStore, Store
from tablerec.bulk.summary import summarize, write_summary
from tablerec.config import Settings
from tablerec.errors import InputError, OutputError, SettingsError
from tablerec.inputs.images import display_name

VERSION = 1
"""Of the journal; raised where an older program would misread it."""

_FREE = ("password", "device", "trace", "join_pages")
"""Settings that may be others the next time: they change no table, or are secret."""

_COPIES = "copies"
_OURS = {TABLES, PARTIAL, _COPIES, "summary.json", "summary.html"}


class Find(Protocol):
    """Finds the inputs; see ``sources.find_sources``."""

    def __call__(self, *, on_error: Callable[[str, InputError], None]) -> Iterable[Source]:
        """Find them."""


@dataclass(frozen=True)
class Batch:
    """A store that nobody else writes to.

    Args:
        store: Where files go.
        journal: What was done.
        state: The same, in memory.
        results: What pages become.
    """

    store: Store
    journal: Journal
    state: State
    results: Results

    def run(self, executor: Executor, reporter: Reporter, find: Find, rules: Rules | None = None) -> None:
        """Do what is left to do of the inputs that are found; see ``Run.run``.

        Args:
            executor: Reads the pages.
            reporter: Told of all.
            find: Finds the inputs.
            rules: How inputs are treated.
        """
        begin = {"run": {"at": time.time(), "version": __version__, "host": socket.gethostname()}}
        self.state.add(self.journal.add(begin), begin)
        try:
            with _folder_for_copies(self.store) as copies:
                run = Run(self.store, self.journal, self.state, self.results, executor, reporter, copies, rules)
                run.run(find(on_error=run.report_unread))
            self.results.check(self.store, self.state.parts)
        finally:
            with suppress(OutputError):
                self.write_summary(self.state)

    def write_summary(self, state: State) -> None:
        """Write ``summary.json`` and ``summary.html``."""
        write_summary(self.store, summarize(state))


@contextmanager
def open_batch(store: Store, settings: Settings, results: Results, min_confidence: float = 0.9) -> Iterator[Batch]:
    """Begin a batch in a new or empty store, or take up the one that is there.

    Args:
        store: Where files go.
        settings: How pages are read.
        results: What they become.
        min_confidence: Tables less sure than this count as doubtful.

    Raises:
        SettingsError: The store was begun with other settings.
        OutputError: It holds what is none of ours, or another process writes to it.
    """
    _refuse_foreign(store)
    journal = open_journal(store)
    journal.lock()
    try:
        store.prepare()
        state = State(min_confidence).load(journal.records())
        header = {"version": VERSION, "settings": _to_plain(settings) | results.settings}
        if state.header is None:
            state.add(0, {"header": header})
            journal.add({"header": header})
            journal.sync()
        else:
            _compare(store, state.header, header)
        results.check(store, state.parts)
        yield Batch(store, journal, state, results)
    finally:
        journal.close()


def _refuse_foreign(store: Store) -> None:
    """Refuse a place where files of others have the names that a store needs."""
    there = set(store.list(""))
    clash = sorted(there & _OURS)
    if clash and not there & {NAME, SEGMENTS}:
        raise OutputError(
            f"{store.name}: holds {', '.join(clash)}, but no journal of a batch; give a new folder with -o"
        )


def _to_plain(settings: Settings) -> dict[str, Any]:
    values = {name: value for name, value in asdict(settings).items() if name not in _FREE}
    return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def _compare(store: Store, was: dict[str, Any], now: dict[str, Any]) -> None:
    if was.get("version") != VERSION:
        raise SettingsError(
            f"{store.name}: its journal has version {was.get('version')}, this tablerec writes {VERSION}; "
            "give another folder with -o"
        )
    before, after = was["settings"], now["settings"]
    # A setting that one of the two does not know is at its default there.
    names = [name for name in before.keys() & after.keys() if before[name] != after[name]]
    names += [name for name in ("as", "format") if (name in before) != (name in after)]
    if names:
        changed = "; ".join(f"{name} was {before.get(name)}, is {after.get(name)}" for name in sorted(set(names)))
        raise SettingsError(
            f"{store.name}: was begun with other settings ({display_name(changed)}); "
            "give the same ones, or another folder with -o"
        )


@contextmanager
def _folder_for_copies(store: Store) -> Iterator[Path]:
    """A folder for what is fetched; what a killed run left there is removed."""
    if not isinstance(store, FolderStore):
        with tempfile.TemporaryDirectory(prefix="tablerec-") as folder:
            yield Path(folder)
        return
    copies = store.folder / _COPIES
    if copies.is_symlink():
        raise OutputError(f"{display_name(str(copies))}: a link; remove it")
    shutil.rmtree(copies, ignore_errors=True)
    try:
        copies.mkdir()
    except OSError as error:
        raise OutputError(f"{display_name(str(copies))}: {error.strerror}; mend that and go on") from error
    try:
        yield copies
    finally:
        shutil.rmtree(copies, ignore_errors=True)
