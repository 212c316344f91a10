"""Tasks for worker processes: each is done once, and a worker that dies is replaced."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from tablerec.engine.child import Note
from tablerec.engine.process import WorkerProcess
from tablerec.errors import SettingsError

Answer = tuple[Any, list[Note]]
"""What the handler returned, and what was logged meanwhile."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a page may take.

    Args:
        seconds: Time for one page; None does not limit it.
        gibibytes: Memory of the process that reads it, in GiB, 0.8 of which it needs for itself; None does not limit
            it. Counts on Linux.

    Raises:
        SettingsError: A limit that is not above 0.
    """

    seconds: float | None = None
    gibibytes: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("seconds", self.seconds), ("gibibytes", self.gibibytes)):
            if value is not None and not 0 < value < float("inf"):
                raise SettingsError(f"limit of {name} is {value}: give a value above 0")


class Workers:
    """Worker processes, each with a thread that feeds it.

    Args:
        target: What makes the handler of a worker, as ``module:function``; see ``child``.
        arguments: For each worker what gives the one of its handler, asked each time that the worker is started.
        limits: Of a task.
        threads: That numerical libraries may use in each worker.

    Raises:
        TablerecError: What making the first handler raised.
    """

    def __init__(self, target: str, arguments: Sequence[Callable[[], Any]], limits: Limits, threads: int) -> None:
        self._tasks: SimpleQueue[tuple[Future[Answer], Any] | None] = SimpleQueue()
        self._is_closed = False
        self._processes: dict[int, WorkerProcess] = {}
        self._limits = limits
        self._starts = [self._start(target, argument, threads) for argument in arguments]
        self._processes[0] = self._starts[0]()
        self.notes = self._processes[0].notes
        """What was logged when the first worker started."""
        self._threads = [
            threading.Thread(target=self._feed, args=[number], daemon=True, name=f"worker-{number}")
            for number in range(len(arguments))
        ]
        for thread in self._threads:
            thread.start()

    def __len__(self) -> int:
        """Return how many tasks are done at the same time."""
        return len(self._starts)

    def submit(self, request: Any) -> Future[Answer]:
        """Have a request answered by the next worker that is free; a future that is cancelled before costs nothing."""
        future: Future[Answer] = Future()
        if self._is_closed:
            raise RuntimeError("the workers are closed")
        self._tasks.put((future, request))
        return future

    def close(self) -> None:
        """End the workers; what was not done is cancelled."""
        if self._is_closed:
            return
        self._is_closed = True
        for process in list(self._processes.values()):
            process.close()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()
        while not self._tasks.empty():
            task = self._tasks.get()
            if task is not None:
                task[0].cancel()

    def _start(self, target: str, argument: Callable[[], Any], threads: int) -> Callable[[], WorkerProcess]:
        return lambda: WorkerProcess(target, argument(), threads, self._limits.gibibytes)

    def _feed(self, number: int) -> None:
        while True:
            task = self._tasks.get()
            if task is None:
                break
            future, request = task
            if self._is_closed:
                future.cancel()
            elif future.set_running_or_notify_cancel():
                try:
                    answer = self._ask(number, request)
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(answer)
        process = self._processes.pop(number, None)
        if process is not None:
            process.close()

    def _ask(self, number: int, request: Any) -> Answer:
        process = self._processes.get(number)
        if process is None or not process.is_alive:
            process = self._processes[number] = self._starts[number]()
            if self._is_closed:
                process.close()
        return process.ask(request, self._limits.seconds)
