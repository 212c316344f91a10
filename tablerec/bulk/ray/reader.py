"""What an actor does: it holds an engine and reads the pages that it is asked for."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.table import Table
from tablerec import __version__
from tablerec.bulk.results import Encode, Origin
from tablerec.config import Settings
from tablerec.engine import Engine, Limits
from tablerec.engine.child import Note
from tablerec.errors import PageFailedError, TablerecError
from tablerec.result import Page, PageImage


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
        assert self._engine is not None
        with self._contents.file(order.content, fetch) as path:
            try:
                page = self._engine.submit(path, order.number).result()
                page = replace(page, picture=replace(page.picture, source=order.name))
                encoded = None if self._encode is None else self._encode(order.origin, page)
            except TablerecError as error:
                named = type(error)(_named(str(error), path, order.name))
                return Answer(named, notes=self._take_notes(path, order.name))
            except Exception as error:
                return Answer(PageFailedError(f"met a fault of tablerec ({type(error).__name__}: {error})"))
            notes = self._take_notes(path, order.name)
            return Answer(_bare(page) if encoded is None else _summary(page), encoded, notes)

    def close(self) -> None:
        """End its processes, and remove its files."""
        if self._engine is not None:
            self._engine.close()
        self._contents.close()

    def _take_notes(self, path: Path | None = None, name: str = "") -> tuple[Note, ...]:
        taken = [self._notes.pop(0) for _ in range(len(self._notes))]
        return tuple((logger, level, _named(text, path, name)) for logger, level, text in taken)


def _bare(page: Page) -> Page:
    """The page with the shape of its picture only: pickled as it is, the blank picture would have all its bytes."""
    shape: Any = page.picture.image.shape
    return replace(page, picture=PageImage(page.picture.source, page.picture.number, shape))


def _summary(page: Page) -> Page:
    """How sure its tables are, and how long they took."""
    tables = tuple(Table([], confidence=table.confidence) for table in page.tables)
    return _bare(replace(page, tables=tables, words=(), unplaced=(), dropped=(), seals=()))


class Contents:
    """Files with the contents of inputs, so that a document is here once for all its pages.

    Args:
        most: Files that are kept while nobody reads them.
    """

    def __init__(self, most: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tablerec-")
        self._most = most
        self._readers: dict[str, int] = {}
        self._lock = threading.Lock()

    @contextmanager
    def file(self, content: str, fetch: Callable[[], bytes]) -> Iterator[Path]:
        """Hold a file with this content.

        Args:
            content: What tells it from others; a plain name.
            fetch: Gets it, where it is not here yet.
        """
        path = Path(self._folder.name) / content
        with self._lock:
            if content not in self._readers:
                path.write_bytes(fetch())
            # What was used last comes last.
            self._readers[content] = self._readers.pop(content, 0) + 1
        try:
            yield path
        finally:
            with self._lock:
                self._readers[content] -= 1
                idle = [key for key, n_readers in self._readers.items() if not n_readers]
                for key in idle[: max(0, len(idle) - self._most)]:
                    del self._readers[key]
                    (Path(self._folder.name) / key).unlink()

    def close(self) -> None:
        """Remove them all."""
        self._folder.cleanup()


def _named(text: str, path: Path | None, name: str) -> str:
    """A message that names the input as the user does."""
    return text if path is None else text.replace(str(path), name)
