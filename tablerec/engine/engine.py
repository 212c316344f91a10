"""Inputs in, results out, in the same order, while worker processes read their pages side by side."""

from __future__ import annotations

import logging
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Any, BinaryIO, Generic, TypeAlias, TypeVar, Union

import numpy as np

from tablerec.config import Settings
from tablerec.devices import AUTO, Device, parse_device
from tablerec.engine.child import Note
from tablerec.engine.networks import NetworkProcess
from tablerec.engine.tasks import Finish, PageTask, Setup
from tablerec.engine.workers import Answer, Limits, Workers
from tablerec.errors import PageFailedError, SettingsError, TablerecError
from tablerec.inputs.images import display_name, path_or_content, source_name, wanted_pages
from tablerec.inputs.turning import ORIENTATION
from tablerec.inputs.unwarping import UVDOC
from tablerec.models.opening import usable_threads
from tablerec.processes import usable_cpus, usable_jobs
from tablerec.result import Page, Result

File: TypeAlias = Union[str, "os.PathLike[str]", bytes, BinaryIO]
"""A path, the bytes of a file, or a binary file, which is read as a whole."""

_File = TypeVar("_File", bound=File)
_Made = TypeVar("_Made")

READER = "tablerec.pipeline:make_page_reader"

_AHEAD, _WITH_PIXELS = 8, 2
"""Pages in the works or ready for each worker, at most: while one takes long, the others go on with those behind it.
With their pictures they take much memory."""

_BESIDE_CARD = 2
"""Workers for each CPU where a card runs the networks: for a third of the time or more, a worker waits for it."""


class Engine:
    """Worker processes that each hold a recognizer; a page is read by the next one that is free.

    Args:
        settings: What to use. ``device`` may name several, as in ``gpu:0,1``: they share the workers.
        jobs: Number of workers; ``auto`` takes as many as there are CPUs, twice as many beside a card, fewer where
            memory is short.
        limits: Of a page. A page beyond them, or one whose process dies, costs itself alone.
        keep_pixels: Whether pages come back with their pictures, for overlays.
        threads: That numerical libraries may use in each worker; None shares the CPUs among them.
        finish: Called in the worker with the name of an input and its page, where that is all of it, by ``stream``,
            ``pages`` and ``ahead``; the page that it returns is passed on. It is pickled. This process is but one: what
            is written of each page is better made there.

    Raises:
        SettingsError, ModelNotFoundError, MissingDependencyError: As ``Recognizer`` says.

    >>> with Engine(Settings(detector="rulings", ocr="none"), jobs=1) as engine:
    ...     for result in engine.stream(["data/samples/ruled.png"]):
    ...         print(result.source, len(result.tables))
    data/samples/ruled.png 1
    """

    def __init__(
        self,
        settings: Settings | None = None,
        jobs: int | str = "auto",
        limits: Limits | None = None,
        keep_pixels: bool = False,
        threads: int | None = None,
        finish: Finish | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self._keep_pixels = keep_pixels
        self._finish = finish
        n_jobs = to_jobs(jobs, self.settings)
        devices = each_device(self.settings.device)
        on_card = parse_device(devices[0]).kind == "gpu"
        self._cards = {device: NetworkProcess() for device in devices if on_card}
        setups = [partial(self._setup, devices[number % len(devices)]) for number in range(n_jobs)]
        shared = max(1, min(usable_threads(), usable_cpus() // n_jobs))
        try:
            self._workers = Workers(READER, setups, limits or Limits(), threads or shared)
        except BaseException:
            self._close_cards()
            raise
        tell(self._workers.notes)

    def __enter__(self) -> Engine:
        """Return itself; it is closed at the end."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the workers."""
        self.close()

    def __len__(self) -> int:
        """Return how many pages are read at the same time."""
        return len(self._workers)

    @property
    def n_ahead(self) -> int:
        """How many pages are in the works at the same time, those that are ready counted."""
        return len(self) * (_WITH_PIXELS if self._keep_pixels or self.settings.trace else _AHEAD)

    def close(self) -> None:
        """End the workers; pages that were not read are cancelled."""
        self._workers.close()
        self._close_cards()

    def use_password(self, password: str) -> None:
        """Open documents that are read from now on with another password."""
        self.settings = replace(self.settings, password=password)

    def numbers(self, source: File) -> list[int]:
        """Return the numbers of the pages that the settings want of an input; nothing is decoded.

        Raises:
            InputError: It cannot be opened, or has none of them.
        """
        return wanted_pages(source, self.settings)

    def submit(
        self,
        source: str | os.PathLike[str] | bytes,
        number: int = 1,
        name: str | None = None,
        settings: Settings | None = None,
    ) -> Future[Page]:
        """Have one page read.

        Args:
            source: Path or bytes of a file.
            number: Of the page, counted from 1.
            name: Of the input, where it is bytes.
            settings: How it is read, where that is not as the engine was told; ``device`` does not count.

        Returns:
            Its page. The future raises a TablerecError: InputError, or PageFailedError where its process failed. What
            is logged of the page is logged when it is there.
        """
        asked = self._ask(source, number, name, settings)
        return _follow(asked.answer, asked.page)

    def submit_encoded(
        self,
        source: str | os.PathLike[str] | bytes,
        number: int,
        encode: Callable[[Page], _Made],
        name: str | None = None,
    ) -> Future[tuple[Page, _Made]]:
        """Have one page read, and what is written of it made by the same worker: this process is but one.

        Args:
            source: Path or bytes of a file.
            number: Of the page, counted from 1.
            encode: Called with the page, without its pixels; it is pickled, as is what it returns.
            name: Of the input, where it is bytes.

        Returns:
            How sure the tables of the page are and how long they took, see ``summarize_page``, and what ``encode``
            returned. The future raises what that of ``submit`` does.
        """
        asked = self._ask(source, number, name, encode=encode)
        return _follow(asked.answer, asked.encoded)

    def stream(
        self, sources: Iterable[File], on_error: Callable[[File, TablerecError], object] | None = None
    ) -> Iterator[Result]:
        """Read inputs, in their order, and no more of them at once than the workers have to do.

        Args:
            sources: Paths, bytes, binary files.
            on_error: Called with an input that fails, so that the next ones go on; without it the error is raised.

        Yields:
            A result for each input that was read.

        Raises:
            TablerecError: An input fails, and there is no ``on_error``.
        """
        for source, pages in self.ahead(sources):
            try:
                yield Result(source_name(source), tuple(pages()), self.settings.join_pages)
            except TablerecError as error:
                if on_error is None:
                    raise
                on_error(source, error)

    def pages(self, source: File) -> Iterator[Page]:
        """Read one input page by page."""
        for _, pages in self.ahead([source]):
            yield from pages()

    def ahead(self, sources: Iterable[_File]) -> Iterator[tuple[_File, Callable[[], Iterator[Page]]]]:
        """Yield inputs in their order, each with what gives its pages, while those behind it are read already.

        What gives the pages raises what ``Recognizer.pages`` raises. Pages that nobody takes are cancelled.
        """
        window = _Window(self, sources)
        while (first := window.next_input()) is not None:
            number, source = first
            yield source, window.pages
            window.end(number)

    def _setup(self, device: str) -> Setup:
        card = self._cards.get(device)
        return Setup(replace(self.settings, device=device), None if card is None else card.address())

    def _close_cards(self) -> None:
        for card in self._cards.values():
            card.close()

    def _ask(
        self,
        source: str | os.PathLike[str] | bytes,
        number: int,
        name: str | None,
        settings: Settings | None = None,
        encode: Callable[[Page], object] | None = None,
        is_all: bool = False,
    ) -> _Asked:
        named = source_name(source) if name is None else name
        content = source if isinstance(source, bytes) else os.fsdecode(source)
        folder = os.getcwd() if isinstance(content, str) and not os.path.isabs(content) else os.sep
        password = (settings or self.settings).password
        keep_pixels = self._keep_pixels and encode is None
        finish = self._finish if is_all else None
        task = PageTask(named, content, folder, number, password, keep_pixels, settings, encode, finish)
        return _Asked(task, self._workers.submit(task))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A page that a worker was asked for."""

    task: PageTask
    answer: Future[Answer]

    def page(self) -> Page:
        """Wait for it, and pass on what was logged meanwhile."""
        page: Page = self._wait()
        return page if self.task.keep_pixels else _with_blank(page)

    def encoded(self) -> tuple[Page, Any]:
        """Wait for the summary of the page, and for what was made of it."""
        page, made = self._wait()
        return _with_blank(page), made

    def _wait(self) -> Any:
        try:
            value, notes = self.answer.result()
        except PageFailedError as error:
            named = f"{display_name(self.task.name)}: page {self.task.number} {error}"
            raise type(error)(named).with_traceback(None) from error
        tell(notes)
        return value


def _with_blank(page: Page) -> Page:
    """The page with a blank picture, of one byte, in place of a shape."""
    return replace(page, picture=replace(page.picture, image=np.broadcast_to(np.uint8(255), page.picture.image)))


def _follow(answer: Future[Answer], take: Callable[[], _Made]) -> Future[_Made]:
    """A future of what is taken out of an answer once it is there; it is cancelled with that, and that with it."""
    given: Future[_Made] = Future()
    given.add_done_callback(lambda future: answer.cancel() if future.cancelled() else None)

    def pass_on(answer: Future[Answer]) -> None:
        if answer.cancelled():
            given.cancel()
        elif given.set_running_or_notify_cancel():
            try:
                given.set_result(take())
            except BaseException as error:
                given.set_exception(error)

    answer.add_done_callback(pass_on)
    return given


@dataclass(frozen=True, slots=True)
class _Entry:
    """A page of an input, an error, or its end."""

    input: int
    page: _Asked | TablerecError | None


class _Window(Generic[_File]):
    """The pages in the works, of one input after another, as many as the workers have to do."""

    def __init__(self, engine: Engine, sources: Iterable[_File]) -> None:
        self._engine = engine
        self._inputs: deque[tuple[int, _File]] = deque()
        self._entries: deque[_Entry] = deque()
        self._n_done = 0
        self._steps = self._enter_all(sources)

    def next_input(self) -> tuple[int, _File] | None:
        """Number and name of the next input; None where there is none."""
        while not self._inputs and next(self._steps, False):
            pass
        return self._inputs.popleft() if self._inputs else None

    def pages(self) -> Iterator[Page]:
        """The pages of the input that comes first, as they are ready."""
        while True:
            self._fill()
            entry = self._entries.popleft()
            if entry.page is None:
                return
            if isinstance(entry.page, TablerecError):
                raise entry.page
            yield entry.page.page()

    def end(self, number: int) -> None:
        """Cancel what is left of an input."""
        self._n_done = number + 1
        while self._entries and self._entries[0].input == number:
            page = self._entries.popleft().page
            if isinstance(page, _Asked):
                page.answer.cancel()

    def _fill(self) -> None:
        while len(self._entries) < self._engine.n_ahead and next(self._steps, False):
            pass

    def _enter_all(self, sources: Iterable[_File]) -> Iterator[bool]:
        """Enter the pages of all inputs, a step each; yields True."""
        for number, source in enumerate(sources):
            self._inputs.append((number, source))
            try:
                content, name = path_or_content(source), source_name(source)
                numbers = self._engine.numbers(content)
                for page in numbers:
                    if number < self._n_done:
                        break
                    self._entries.append(_Entry(number, self._engine._ask(content, page, name, is_all=numbers == [1])))
                    yield True
                end = None
            except TablerecError as error:
                end = error
            if number >= self._n_done:
                self._entries.append(_Entry(number, end))
            yield True


def to_jobs(jobs: int | str, settings: Settings | None = None) -> int:
    """Read a number of workers.

    Args:
        jobs: The number, or ``auto``.
        settings: Of the engine: workers that wait for a card are more than there are CPUs.

    Raises:
        SettingsError: It is neither ``auto`` nor a number from 1.

    >>> to_jobs(3), to_jobs("2")
    (3, 2)
    """
    if jobs == "auto":
        return usable_jobs(_BESIDE_CARD if settings is not None and _waits_for_card(settings) else 1)
    number = int(jobs) if isinstance(jobs, int) or (jobs.isascii() and jobs.isdigit()) else 0
    if number < 1:
        raise SettingsError(f"jobs is {jobs!r}: give a number from 1, or auto")
    return number


def _waits_for_card(settings: Settings) -> bool:
    """Whether another process runs all networks; PaddleX would have its own on the card for each worker."""
    is_own = settings.detector in ("auto", "cellnet", "rulings", "words") and not settings.ocr.startswith("paddlex")
    asks_paddlex = settings.layout_model is not None or settings.turn == ORIENTATION or settings.unwarp == UVDOC
    return is_own and not asks_paddlex and parse_device(each_device(settings.device)[0]).kind == "gpu"


def each_device(text: str) -> list[str]:
    """Name each device of one kind apart.

    >>> each_device("gpu:0,1"), each_device("cpu")
    (['gpu:0', 'gpu:1'], ['cpu'])
    """
    if "," not in text and text != AUTO:
        return [text]
    device = parse_device(text)
    return [str(Device(device.kind, (number,))) for number in device.ids] or [str(device)]


def tell(notes: Iterable[Note]) -> None:
    """Log and warn here of what was logged and warned of in another process."""
    for name, level, message in notes:
        if name:
            logging.getLogger(name).log(level, "%s", message)
        else:
            warnings.warn(message, stacklevel=2)
