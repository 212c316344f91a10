"""A batch from begin to end, with a reader of pages that does what the inputs say, and what came of it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from tablerec.bulk.open import open_batch
from tablerec.bulk.results import FileResults, Results
from tablerec.bulk.run import Rules
from tablerec.bulk.sources import find_sources
from tablerec.bulk.state import State
from tablerec.bulk.store import FolderStore, Store
from tablerec.config import Settings
from tests.helpers.bulk.executor import TextExecutor


class Told:
    """A reporter that remembers."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.errors: list[str] = []
        self.doubts: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)

    def error(self, message: str) -> None:
        self.errors.append(message)

    def doubt(self, message: str) -> None:
        self.doubts.append(message)

    def beat(self, state: State, n_inputs: int) -> None:
        pass


def batch(
    store: Path | Store,
    *given: object,
    executor: TextExecutor | None = None,
    results: Results | None = None,
    retry: bool = False,
    rules: Rules | None = None,
    settings: Settings | None = None,
) -> tuple[State, Told, TextExecutor]:
    executor, told = executor or TextExecutor(), Told()
    place = FolderStore(store) if isinstance(store, Path) else store
    with open_batch(place, settings or Settings(), results or FileResults(("json",))) as each:
        if retry:
            each.state.retry_failed()
        each.run(executor, told, partial(find_sources, [str(one) for one in given]), rules)
    return each.state, told, executor


def inputs(folder: Path, *texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        (folder / f"i{number}.png").write_text(text)
    return folder


def tables(store: Path) -> dict[str, str]:
    """The text of the first cell, or nothing, of each file of a store, by its name in its folder."""
    found = {}
    for path in sorted((store / "tables").rglob("*.json")):
        [page] = json.loads(path.read_text())["pages"]
        found[path.name] = page["tables"][0]["cells"][0]["text"] if page["tables"] else ""
    return found


def parquet_rows(store: Path) -> list[dict[str, object]]:
    dataset = pytest.importorskip("pyarrow.dataset").dataset(store / "tables", format="parquet")
    rows: list[dict[str, object]] = dataset.to_table().to_pylist()
    return rows
