"""Who reads the pages: tasks in, outcomes out, in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tablerec.bulk.results import Encode, Origin
from tablerec.result import Page

if TYPE_CHECKING:
    from tablerec.engine import Engine

TICK = 1.0
"""Seconds after which an executor yields None where nothing was done."""

_AHEAD = 3
"""Pages that each worker of this machine has or finds waiting."""


@dataclass(frozen=True, slots=True)
class Task:
    """A page to read.

    Args:
        source: Name of the input, a path or URL, as the user gave it.
        path: File on this machine that holds its content; kept until the outcome is there.
        content: SHA-256 of the content, as hex.
        number: Of the page, counted from 1.
        origin: What its outputs are named by.
    """

    source: str
    path: Path
    content: str
    number: int
    origin: Origin


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task.

    Args:
        task: The task.
        page: The page without its pixels, or why there is none: an ``InputError`` is final, any other error is tried
            again. What every other page would meet as well (``batch.ALIKE``) ends the run.
        encoded: What ``Results.encode`` makes of the page, where that is done already; of the tables of the page, only
            how sure they are is then needed.
    """

    task: Task
    page: Page | Exception
    encoded: Sequence[Any] | None = None


class Executor(Protocol):
    """Reads pages, on this machine or on others."""

    def numbers(self, path: Path, source: str) -> list[int]:
        """Return the numbers of the pages of an input that the settings want.

        Args:
            path: Its content.
            source: Its name for messages.

        Raises:
            InputError: It cannot be opened, or has none of them.
        """

    def run(self, tasks: Iterator[Task]) -> Iterator[Outcome | None]:
        """Yield one outcome for each task, in any order.

        Tasks are pulled as there is room for them: making one may read an input from the network. None is yielded
        about every ``TICK`` seconds in which nothing else is, so that what was done can be saved and shown.
        """


class LocalExecutor:
    """Reads pages in worker processes of this machine.

    Args:
        engine: The workers.
        encode: Makes of a page what it becomes in a store, where it is read; see ``Results.encode``.
    """

    def __init__(self, engine: Engine, encode: Encode | None = None) -> None:
        self._engine = engine
        self._encode = encode

    def numbers(self, path: Path, source: str) -> list[int]:
        """Return the numbers of the pages of an input; see ``Executor``."""
        return self._engine.numbers(path)

    def run(self, tasks: Iterator[Task]) -> Iterator[Outcome | None]:
        """Yield the outcome of each task; see ``Executor``."""
        return run_futures(self._submit, tasks, _AHEAD * len(self._engine))

    def _submit(self, task: Task) -> Future[Page] | Future[tuple[Page, Sequence[Any]]]:
        if self._encode is None:
            return self._engine.submit(task.path, task.number)
        return self._engine.submit_encoded(task.path, task.number, partial(self._encode, task.origin))


def run_futures(
    submit: Callable[[Task], Future[Page] | Future[tuple[Page, Sequence[Any]]]], tasks: Iterator[Task], n_ahead: int
) -> Iterator[Outcome | None]:
    """Yield the outcomes of tasks that are submitted one by one.

    Args:
        submit: Has a page read, or read and encoded.
        tasks: The tasks.
        n_ahead: How many are submitted and not done, at most.
    """
    waiting: dict[Future[Any], Task] = {}
    try:
        while True:
            while len(waiting) < n_ahead and (task := next(tasks, None)) is not None:
                waiting[submit(task)] = task
            if not waiting:
                return
            done, _ = wait(waiting, TICK, FIRST_COMPLETED)
            for future in done:
                error = future.exception()
                if error is not None and not isinstance(error, Exception):
                    raise error
                found = future.result() if error is None else error
                yield Outcome(waiting.pop(future), *(found if isinstance(found, tuple) else (found,)))
            if not done:
                yield None
    finally:
        for future in waiting:
            future.cancel()
