"""The tables on the desk: pictures are read one after the other while a person already corrects the first."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tablerec.editor import Correction, CorrectionFolder, page_to_drafts
from tablerec.errors import InputError, TablerecError
from tablerec.images import display_name
from tablerec.result import Page

Read = Callable[[str], Iterable[Page]]
"""From a path to the pages in that file, as ``Recognizer.pages`` gives them."""

_PATIENCE = 30.0
"""Seconds that the end of a page is waited for."""

_logger = logging.getLogger(__name__)


class Desk:
    """All tables of a review, and how far the reading is.

    What was read is in ``sources.jsonl`` of the corrections folder: a picture is read once, whatever its name,
    unless its tables are missing.

    Args:
        inputs: Files, all inside ``folder``.
        folder: Names of inputs are relative to it.
        corrections: Where everything is kept.
        read: Reads a file.

    Raises:
        OutputError: A broken journal cannot be kept aside.
    """

    def __init__(self, inputs: Sequence[Path], folder: Path, corrections: CorrectionFolder, read: Read) -> None:
        self.inputs, self.folder, self.corrections = list(inputs), folder, corrections
        self._read = read
        self._lock = threading.Lock()
        self._tables: dict[str, Correction] = {}
        self._problems: list[str] = []
        self._n_read = 0
        self._stop = threading.Event()
        self._worker = threading.Thread(target=self.read_all, name="reader", daemon=True)

    def start(self) -> None:
        """Read the inputs in the background."""
        self._worker.start()

    def stop(self) -> None:
        """End the reading after the page that is being read, which is waited for, but not for ever."""
        self._stop.set()
        # Python may hang at its end while a thread still imports or computes.
        if self._worker.is_alive():
            self._worker.join(_PATIENCE)

    def read_all(self) -> None:
        """Read all inputs that were not read before; what cannot be read is a problem of the list."""
        try:
            kept, known = self.corrections.read(), self._known()
            self.corrections.mend()
        except (TablerecError, OSError) as error:
            self._problems.append(str(error))
            self._n_read = len(self.inputs)
            return
        for path in self.inputs:
            if self._stop.is_set():
                return
            try:
                self._read_one(path, kept, known)
            except TablerecError as error:
                self._problems.append(str(error))
            except Exception as error:
                _logger.exception("%s", path)
                self._problems.append(f"{display_name(str(path))}: cannot be read ({error!r}); report it")
            with self._lock:
                self._n_read += 1

    def correction(self, name: str) -> Correction:
        """Return a table by its name.

        Raises:
            InputError: There is none.
        """
        with self._lock:
            found = self._tables.get(name)
        if found is None:
            raise InputError(f"there is no table {display_name(name[:100])!r}: go back to the list")
        return found

    def listing(self) -> dict[str, Any]:
        """Return the list of tables, the most doubtful first, ready for JSON."""
        with self._lock:
            tables = sorted(self._tables.values(), key=lambda table: (table.head.sureness, table.head.name))
            n_read = self._n_read
        return {
            "n_inputs": len(self.inputs),
            "n_read": n_read,
            "problems": [*self.corrections.problems, *self._problems],
            "folder": display_name(self.corrections.folder.name),
            "tables": [_summary(table) for table in tables],
        }

    def _read_one(self, path: Path, kept: dict[str, Correction], known: dict[str, list[str]]) -> None:
        source = str(path.relative_to(self.folder))
        digest = _digest(path)
        names = known.get(digest)
        if names is not None and all(name in kept for name in names):
            self._add(kept[name] for name in names)
            return
        found = []
        for page in self._read(str(path)):
            drafts = [replace(draft, source=source) for draft in page_to_drafts(page)]
            found += [self.corrections.open(draft) for draft in drafts]
            self._add(found)
            if self._stop.is_set():
                return
        self._remember({"source": source, "sha256": digest, "tables": [each.head.name for each in found]})

    def _add(self, corrections: Iterable[Correction]) -> None:
        with self._lock:
            self._tables |= {each.head.name: each for each in corrections}

    @property
    def _sources(self) -> Path:
        return self.corrections.folder / "sources.jsonl"

    def _known(self) -> dict[str, list[str]]:
        """SHA-256 of each file that was read -> names of its tables; a broken line only means reading it again."""
        known: dict[str, list[str]] = {}
        if not self._sources.is_file():
            return known
        for line in self._sources.read_text("utf-8", errors="replace").splitlines():
            try:
                data = json.loads(line)
                known[str(data["sha256"])] = [str(name) for name in data["tables"]]
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        return known

    def _remember(self, entry: dict[str, Any]) -> None:
        try:
            with self._sources.open("ab") as file:
                file.write((json.dumps(entry, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))
        except OSError as error:
            self._problems.append(f"{self._sources.name}: cannot be written ({error.strerror}); make room")


def _summary(table: Correction) -> dict[str, Any]:
    head, now = table.head, table.table
    return {
        "name": head.name,
        "source": display_name(head.source),
        "page": head.page,
        "number": head.number,
        "sureness": round(head.sureness, 3),
        "n_rows": now.n_rows,
        "n_cols": now.n_cols,
        "n_steps": table.version,
        "verdict": table.verdict,
    }


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            digest = hashlib.sha256()
            while chunk := file.read(1 << 20):
                digest.update(chunk)
            return digest.hexdigest()
    except OSError as error:
        name = display_name(str(path))
        raise InputError(f"{name}: cannot be read ({error.strerror}); check the file") from error
