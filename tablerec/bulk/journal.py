"""The journal of a batch: records that are on the disk before anything counts as done, and one writer at a time."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from tablerec.bulk.store import FolderStore, Store
from tablerec.errors import OutputError
from tablerec.inputs.images import display_name

NAME = "journal.jsonl"
SEGMENTS = "journal"
"""A file to which records are appended; where files cannot be appended to, a folder of files with some records each."""

Record: TypeAlias = dict[str, Any]
Position: TypeAlias = int
"""Where a record is, for ``read``."""

_LEASE = 60.0
"""Seconds after which the writer of a store of objects is taken for dead, if it does not run on this machine.

A writer adds a record at least twice in this time."""
_BEGIN = b'{"header":'
"""What a journal begins with."""
_ENDED = "ended"
_PER_SEGMENT = 1_000_000
_MOST_CACHED = 32
_N_READERS = 16


class BusyError(OutputError):
    """Another process writes to the same store."""


class Journal(Protocol):
    """Records of a store in the order in which they were added."""

    pause: float
    """Seconds from one ``sync`` to the next that are worth it."""

    def lock(self) -> None:
        """Become the one writer, until ``close`` or the end of the process.

        Raises:
            BusyError: Another process is.
        """

    def records(self) -> Iterator[tuple[Position, Record]]:
        """Yield all records with their places; what is no record, as a line that a dead process left half, is not."""

    def add(self, record: Record) -> Position:
        """Add a record, and return its place. It is on the disk after ``sync``."""

    def sync(self) -> None:
        """Have all that was added on the disk.

        Raises:
            OutputError: It is not.
        """

    def read(self, position: Position) -> Record:
        """Return one record."""

    def close(self) -> None:
        """Let others write."""


def open_journal(store: Store) -> Journal:
    """Return the journal of a store, for reading until it is locked."""
    return FileJournal(store.folder) if isinstance(store, FolderStore) else SegmentJournal(store)


class FileJournal:
    """One file in a folder, appended to and locked.

    Args:
        folder: The folder of the store.
    """

    pause = 0.0

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._name = display_name(str(self._path))
        self._file: FileIO | None = None
        self._end = 0
        self._waiting: dict[Position, bytes] = {}

    def lock(self) -> None:
        """Become the one writer; see ``Journal``. The system lets the lock go when the process ends."""
        try:
            if self._path.is_symlink():
                raise OutputError(f"{self._name}: a link; remove it")
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("a+b", buffering=0)
            if not _lock_file(self._file):
                raise _busy(str(self._path.parent))
            self._refuse_foreign(self._file)
            self._repair(self._file)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError) and not isinstance(error, OutputError):
                raise self._failed(error) from error
            raise

    def records(self) -> Iterator[tuple[Position, Record]]:
        """Yield all records; see ``Journal``."""
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._failed(error) from error
        with file:
            position = 0
            for line in file:
                record = _parse(line)
                if record is not None:
                    yield position, record
                position += len(line)

    def add(self, record: Record) -> Position:
        """Add a record; see ``Journal``."""
        assert self._file is not None, "lock it first"
        position = self._end
        self._waiting[position] = line = _to_line(record)
        self._end += len(line)
        return position

    def sync(self) -> None:
        """Write what was added; see ``Journal``."""
        if not self._waiting:
            return
        assert self._file is not None, "lock it first"
        start = next(iter(self._waiting))
        try:
            left = memoryview(b"".join(self._waiting.values()))
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(start)
            raise self._failed(error) from error
        self._waiting.clear()

    def read(self, position: Position) -> Record:
        """Return one record; see ``Journal``."""
        line = self._waiting.get(position)
        if line is None:
            with self._path.open("rb") as file:
                file.seek(position)
                line = file.readline()
        record = _parse(line)
        assert record is not None, position
        return record

    def close(self) -> None:
        """Let others write; see ``Journal``."""
        if self._file is not None:
            self._waiting.clear()
            self._file.close()
            self._file = None

    def _refuse_foreign(self, file: FileIO) -> None:
        file.seek(0)
        begin = file.read(len(_BEGIN))
        if not _BEGIN.startswith(begin):
            raise OutputError(f"{self._name}: is no journal of tablerec batch; give another folder with -o")

    def _repair(self, file: FileIO) -> None:
        """Cut off what follows the last line end: its writer died, or had no room."""
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65536)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        file.truncate(end)
        self._end = end

    def _failed(self, error: OSError) -> OutputError:
        reason = error.strerror or error
        return OutputError(f"{self._name}: {reason}; mend that, then give the same command again: it goes on")


class SegmentJournal:
    """Files with some records each, for stores of objects, to which nothing can be appended.

    Each has the next number, and is made only where there is none: of two writers, one fails at once.

    Args:
        store: The store.
    """

    pause = 10.0

    def __init__(self, store: Store) -> None:
        self._store = store
        self._next: int | None = None
        self._waiting: list[Record] = []
        self._segments = lru_cache(_MOST_CACHED)(self._segment)
        self._sleep: Callable[[float], None] = time.sleep

    def lock(self) -> None:
        """Become the one writer; see ``Journal``. Waits until a writer on another machine is known to be dead."""
        numbers = self._numbers()
        if numbers and not self._has_ended(numbers[-1]):
            self._sleep(_LEASE)
            if self._numbers() != numbers:
                raise _busy(self._store.name)
        self._next = numbers[-1] + 1 if numbers else 1
        self.add({"writer": _me()})
        self.sync()

    def records(self) -> Iterator[tuple[Position, Record]]:
        """Yield all records; see ``Journal``."""
        numbers = self._numbers()
        with ThreadPoolExecutor(_N_READERS) as pool:
            for start in range(0, len(numbers), 8 * _N_READERS):
                some = numbers[start : start + 8 * _N_READERS]
                for number, records in zip(some, pool.map(self._segment, some), strict=True):
                    yield from ((number * _PER_SEGMENT + index, record) for index, record in enumerate(records))

    def add(self, record: Record) -> Position:
        """Add a record; see ``Journal``."""
        assert self._next is not None, "lock it first"
        self._waiting.append(record)
        return self._next * _PER_SEGMENT + len(self._waiting) - 1

    def sync(self) -> None:
        """Write what was added as the next segment; see ``Journal``."""
        if not self._waiting:
            return
        assert self._next is not None, "lock it first"
        try:
            self._store.write(_segment_name(self._next), b"".join(map(_to_line, self._waiting)), new=True)
        except FileExistsError as error:
            raise _busy(self._store.name) from error
        self._next += 1
        self._waiting.clear()

    def read(self, position: Position) -> Record:
        """Return one record; see ``Journal``."""
        number, index = divmod(position, _PER_SEGMENT)
        if number == self._next:
            return self._waiting[index]
        return self._segments(number)[index]

    def close(self) -> None:
        """Let others write; see ``Journal``."""
        if self._next is not None:
            self._waiting.clear()
            self.add({_ENDED: True})
            self.sync()
            self._next = None

    def _numbers(self) -> list[int]:
        names = (name.partition(".")[0] for name in self._store.list(SEGMENTS))
        return sorted(int(name) for name in names if name.isdecimal())

    def _segment(self, number: int) -> list[Record]:
        lines = (self._store.read(_segment_name(number)) or b"").splitlines(keepends=True)
        return [record for record in map(_parse, lines) if record is not None]

    def _has_ended(self, last: int) -> bool:
        """Whether the last writer has ended, or was a process of this machine that is not there any more."""
        if any(_ENDED in record for record in self._segment(last)):
            return True
        for number in range(last, 0, -1):
            for record in self._segment(number):
                if "writer" in record:
                    return _is_dead(record["writer"])
        return True


def _segment_name(number: int) -> str:
    return f"{SEGMENTS}/{number:08d}.jsonl"


def _to_line(record: Record) -> bytes:
    # Names with bytes that are no text become escapes, which come back as they were.
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


def _parse(line: bytes) -> Record | None:
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _busy(name: str) -> BusyError:
    return BusyError(
        f"{display_name(name)}: another tablerec batch writes here; wait for its end, look with --status, "
        "or give another folder with -o"
    )


def _me() -> Record:
    return {"host": socket.gethostname(), "process": os.getpid(), "started": _started(os.getpid())}


def _is_dead(writer: Any) -> bool:
    if not isinstance(writer, dict) or writer.get("host") != socket.gethostname():
        return False
    process = writer.get("process")
    return isinstance(process, int) and _started(process) != writer.get("started")


def _started(process: int) -> str | None:
    """When a process of this machine was started, in the system's own count; None where there is none."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()[19]


def _lock_file(file: FileIO) -> bool:
    try:
        import fcntl
    except ImportError:
        return _lock_on_windows(file)
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _lock_on_windows(file: FileIO) -> bool:
    import msvcrt

    file.seek(1 << 62)
    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    finally:
        file.seek(0)
    return True
