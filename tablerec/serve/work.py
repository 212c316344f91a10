"""Files become pages: one engine reads those of all requests side by side, none can take it for itself alone."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tablerec.config import Settings
from tablerec.errors import TablerecError
from tablerec.inputs.images import wanted_pages
from tablerec.result import Page
from tablerec.serve.formats import FileResult
from tablerec.serve.intake import Upload
from tablerec.serve.limits import ServerLimits
from tablerec.serve.metrics import Metrics
from tablerec.serve.problems import Problem, RefusedError, rename, to_problem

_COUNTERS = 4
"""Files whose pages are counted at the same time."""
_FIRST_GUESS = 1.0
"""Seconds of a page, before any was read."""

_logger = logging.getLogger(__name__)


class PageEngine(Protocol):
    """What reads pages, see ``tablerec.engine.Engine``."""

    def __len__(self) -> int:
        """Return how many it reads at the same time."""

    def submit(
        self, source: Any, number: int = 1, name: str | None = None, settings: Settings | None = None
    ) -> Future[Page]:
        """Have a page read."""


@dataclass(frozen=True, slots=True)
class PageOutcome:
    """A page that was read, or why not.

    Args:
        file: Place of its file in the request.
        number: Of the page, counted from 1.
        page: The page, under the client's name for the file.
        problem: What was wrong, in its place.
    """

    file: int
    number: int
    page: Page | None
    problem: Problem | None


@dataclass(slots=True)
class Plan:
    """The pages that a request wants.

    Args:
        uploads: Its files.
        settings: How they are read.
        numbers: Of the pages of each file.
        files: What is known of each: a problem where it cannot be opened.
    """

    uploads: Sequence[Upload]
    settings: Settings
    numbers: list[list[int]]
    files: list[FileResult]

    @property
    def n_pages(self) -> int:
        """Of all files together."""
        return sum(map(len, self.numbers))

    def add(self, outcome: PageOutcome) -> None:
        """Keep what became of a page."""
        each = self.files[outcome.file]
        if outcome.page is not None:
            each.add(outcome.page)
        elif outcome.problem is not None:
            each.failures.append((outcome.number, outcome.problem))


class Reader:
    """Reads pages of many requests.

    Args:
        engine: What reads a page.
        limits: Of pages and times.
        metrics: What is told of each page.
    """

    def __init__(self, engine: PageEngine, limits: ServerLimits, metrics: Metrics) -> None:
        self.engine = engine
        self.limits = limits
        self.metrics = metrics
        self.waiting = 0
        """Pages of requests that are not read yet."""
        self._counting = asyncio.Semaphore(_COUNTERS)
        self._mean_seconds = _FIRST_GUESS

    def retry_after(self) -> int:
        """Seconds after which there may be room again: as long as half of what waits takes, 1 to 60."""
        return int(min(60, max(1, self.waiting * self._mean_seconds / max(1, len(self.engine)) / 2)))

    def check_room(self, n_pages: int = 1) -> None:
        """Refuse a request where too many pages wait.

        Raises:
            RefusedError: With 429, and when to come again.
        """
        if self.waiting and self.waiting + n_pages > self.limits.waiting_pages:
            seconds = self.retry_after()
            detail = f"{self.waiting} pages wait to be read: try again in {seconds} s"
            raise RefusedError(429, "busy", detail, {"Retry-After": str(seconds)})

    @contextmanager
    def admitted(self, n_pages: int) -> Iterator[Callable[[], None]]:
        """Count pages as waiting until each is done, or the block ends.

        Yields:
            What is called when a page is done.

        Raises:
            RefusedError: There is no room for them.
        """
        self.check_room(n_pages)
        left = n_pages
        self.waiting += n_pages

        def one_done() -> None:
            nonlocal left
            left -= 1
            self.waiting -= 1

        try:
            yield one_done
        finally:
            self.waiting -= left

    async def plan(self, uploads: Sequence[Upload], settings: Settings, most_pages: int) -> Plan:
        """Count the pages of files; none is decoded.

        Args:
            uploads: Files of a request.
            settings: How they are read.
            most_pages: How many there may be, all files together.

        Raises:
            RefusedError: There are more.
        """
        plan = Plan(uploads, settings, [], [FileResult(upload.name) for upload in uploads])
        for upload, found in zip(uploads, plan.files, strict=True):
            numbers: list[int] = []
            try:
                async with self._counting:
                    numbers = await asyncio.to_thread(wanted_pages, upload.source, settings)
            except Exception as error:
                self._note(error, upload)
                found.failures.append((None, rename(to_problem(error), upload.own_name, upload.name)))
            found.n_pages = len(numbers)
            plan.numbers.append(numbers)
            if plan.n_pages > most_pages:
                detail = (
                    f"{upload.name}: with it the request has {plan.n_pages} pages, more than {most_pages}: "
                    "choose some by pages=1-9, send it as a job, or in parts"
                )
                raise RefusedError(413, "too-many-pages", detail)
        return plan

    async def read(self, plan: Plan, one_done: Callable[[], None], seconds: float) -> AsyncGenerator[PageOutcome, None]:
        """Read the pages of a request, a few at a time so that others have their turn.

        Args:
            plan: What is read.
            one_done: Called for each page.
            seconds: For all of them.

        Yields:
            Pages as they are ready, whatever their order.

        Raises:
            RefusedError: With 504, when the time is over.
        """
        end = time.monotonic() + seconds
        places = ((file, number) for file, numbers in enumerate(plan.numbers) for number in numbers)
        running: dict[asyncio.Future[Page], tuple[int, int]] = {}
        window = max(2, len(self.engine))
        try:
            while True:
                for file, number in itertools.islice(places, window - len(running)):
                    upload = plan.uploads[file]
                    asked = self.engine.submit(upload.source, number, upload.name, plan.settings)
                    running[asyncio.wrap_future(asked)] = (file, number)
                if not running:
                    return
                left = end - time.monotonic()
                done, _ = await asyncio.wait(running, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    detail = f"not read within {seconds:g} s: send fewer pages, or send it as a job"
                    raise RefusedError(504, "timeout", detail)
                for future in done:
                    file, number = running.pop(future)
                    one_done()
                    yield self._outcome(future, file, number, plan.uploads[file])
        finally:
            for future in running:
                future.cancel()

    def _outcome(self, future: asyncio.Future[Page], file: int, number: int, upload: Upload) -> PageOutcome:
        error = future.exception()
        if error is not None:
            self._note(error, upload)
            problem = rename(to_problem(error), upload.own_name, upload.name)
            self.metrics.count_page(problem.code)
            return PageOutcome(file, number, None, problem)
        page = future.result()
        self.metrics.count_page("read", len(page.tables), page.seconds)
        self._mean_seconds += 0.1 * (sum(page.seconds.values()) - self._mean_seconds)
        return PageOutcome(file, number, replace(page, picture=replace(page.picture, source=upload.name)), None)

    @staticmethod
    def _note(error: BaseException, upload: Upload) -> None:
        """Put a fault of ours into the log; what is wrong with a file is for its client alone."""
        if not isinstance(error, TablerecError):
            _logger.error("%s", upload.name, exc_info=error)
