"""What an actor does: it holds an engine and reads the pages that it is asked for."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tablerec import __version__
from tablerec.bulk.results import Encode, Origin
from tablerec.config import Settings
from tablerec.engine import Engine, Limits
from tablerec.engine.child import Note
from tablerec.errors import PageFailedError, TablerecError
from tablerec.result import Page, PageImage

_LARGE = 8 << 20
"""Bytes from which on a content becomes a file."""

_PREFIX = "tablerec-actor-"
"""Of the folder for these; the number of the actor's process follows."""


@dataclass(frozen=True, slots=True)
class Order:
    """A page to read.

    Args:
        name: Of the input, for messages.
        content: What tells its content from all others.
        number: Of the page, counted from 1.
        origin: What its outputs are named by.
    """

    name: str
    content: str
    number: int
    origin: Origin


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of it.

    Args:
        page: The page, or why there is none. In place of its picture it has only the shape of that; where it is
            encoded, its tables have no cells, and nothing else is there.
        encoded: What it becomes in the store.
        notes: What was logged meanwhile.
    """

    page: Page | TablerecError
    encoded: Sequence[Any] | None = None
    notes: tuple[Note, ...] = ()

    def result(self) -> Page | TablerecError:
        """Return the page with a blank picture of one byte, or why there is none."""
        if isinstance(self.page, TablerecError):
            return self.page
        shape: Any = self.page.picture.image
        return replace(self.page, picture=replace(self.page.picture, image=np.broadcast_to(np.uint8(255), shape)))


@dataclass(frozen=True, slots=True)
class Begun:
    """What an actor says when it is ready.

    Args:
        version: Of tablerec on its node.
        error: Why it cannot read, as every other one could not.
        notes: What was logged meanwhile.
    """

    version: str
    error: TablerecError | None
    notes: tuple[Note, ...] = ()


class Reader:
    """Reads pages on its node.

    Args:
        settings: What to use.
        jobs: Pages that are read at the same time.
        limits: Of a page.
        encode: Makes of a page what it becomes in the store; see ``Results.encode``.
        notes: Grows by what is logged in this process; each answer takes what is there.
    """

    def __init__(
        self,
        settings: Settings,
        jobs: int = 1,
        limits: Limits | None = None,
        encode: Encode | None = None,
        notes: list[Note] | None = None,
    ) -> None:
        self._encode = encode
        self._notes = [] if notes is None else notes
        self._contents = Contents(jobs)
        self._engine: Engine | None = None
        self._error: TablerecError | None = None
        try:
            # The node's other CPUs are for other actors.
            self._engine = Engine(settings, jobs, limits, threads=1)
        except TablerecError as error:
            self._error = error.with_traceback(None)

    def begin(self) -> Begun:
        """Say whether pages can be read here."""
        return Begun(__version__, self._error, self._take_notes())

    def read(self, order: Order, fetch: Callable[[], bytes]) -> Answer:
        """Read a page.

        Args:
            order: Which.
            fetch: Gets the content of its input, where it is not here yet.
        """
        with self._contents.hold(order.content, fetch) as content:
            try:
                page, encoded = self._read(content, order)
                page = replace(page, picture=replace(page.picture, source=order.name))
            except TablerecError as error:
                named = type(error)(_named(str(error), content, order.name))
                return Answer(named, notes=self._take_notes(content, order.name))
            except Exception as error:
                return Answer(PageFailedError(f"met a fault of tablerec ({type(error).__name__}: {error})"))
            notes = self._take_notes(content, order.name)
            return Answer(_bare(page), encoded, notes)

    def _read(self, content: Path | bytes, order: Order) -> tuple[Page, Sequence[Any] | None]:
        assert self._engine is not None
        if self._encode is None:
            return self._engine.submit(content, order.number, order.name).result(), None
        encode = partial(self._encode, order.origin)
        return self._engine.submit_encoded(content, order.number, encode, order.name).result()

    def close(self) -> None:
        """End its processes, and remove its files."""
        if self._engine is not None:
            self._engine.close()
        self._contents.close()

    def _take_notes(self, content: Path | bytes = b"", name: str = "") -> tuple[Note, ...]:
        taken = [self._notes.pop(0) for _ in range(len(self._notes))]
        return tuple((logger, level, _named(text, content, name)) for logger, level, text in taken)


def _bare(page: Page) -> Page:
    """The page with the shape of its picture only: pickled as it is, the blank picture would have all its bytes."""
    shape: Any = page.picture.image.shape
    return replace(page, picture=PageImage(page.picture.source, page.picture.number, shape))


class Contents:
    """The contents of inputs; a large document is a file, so that it is here once for all its pages.

    Args:
        most: Files that are kept while nobody reads them.
        large: Bytes from which on a content becomes a file.
    """

    def __init__(self, most: int, large: int = _LARGE) -> None:
        remove_left()
        self._folder = Path(tempfile.gettempdir(), f"{_PREFIX}{os.getpid()}-{secrets.token_hex(8)}")
        self._most = most
        self._large = large
        self._readers: dict[str, int] = {}
        self._lock = threading.Lock()

    @contextmanager
    def hold(self, content: str, fetch: Callable[[], bytes]) -> Iterator[Path | bytes]:
        """Hold a content: its bytes, or the file.

        Args:
            content: What tells it from others; a plain name.
            fetch: Gets it, where it is not here yet.
        """
        path = self._folder / content
        with self._lock:
            found = b"" if content in self._readers else fetch()
            if len(found) >= self._large:
                if not self._readers:
                    self._folder.mkdir(mode=0o700, exist_ok=True)
                path.write_bytes(found)
                found, self._readers[content] = b"", 0
            is_file = content in self._readers
            if is_file:
                # What was used last comes last.
                self._readers[content] = self._readers.pop(content) + 1
        if not is_file:
            yield found
            return
        try:
            yield path
        finally:
            with self._lock:
                self._readers[content] -= 1
                idle = [key for key, n_readers in self._readers.items() if not n_readers]
                for key in idle[: max(0, len(idle) - self._most)]:
                    del self._readers[key]
                    (self._folder / key).unlink()

    def close(self) -> None:
        """Remove them all."""
        shutil.rmtree(self._folder, ignore_errors=True)


def remove_left() -> None:
    """Remove the files of actors that were killed, which is how actors end."""
    if os.name != "posix":
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        process = folder.name[len(_PREFIX) :].partition("-")[0]
        if process.isdecimal():
            try:
                os.kill(int(process), 0)
            except (ProcessLookupError, OverflowError):
                shutil.rmtree(folder, ignore_errors=True)
            except PermissionError:
                continue  # somebody else's


def _named(text: str, content: Path | bytes, name: str) -> str:
    """A message that names the input as the user does."""
    return text if isinstance(content, bytes) else text.replace(str(content), name)
