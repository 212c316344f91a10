"""Samples on their way to the device: prepared by worker processes, all of one size.

Nothing here imports Paddle, so that a worker starts quickly and touches no device.
"""

from __future__ import annotations

import os
import queue
import signal
import traceback
from collections.abc import Callable, Mapping
from multiprocessing import get_context, parent_process
from typing import Any, Protocol

import numpy as np

from tablerec.errors import TrainingError

Layout = Mapping[str, tuple[Any, tuple[int, ...]]]
"""Type and shape of arrays by name, the widest types first, so that all are aligned where they follow one another."""


class Preparation(Protocol):
    """How samples of one kind are prepared; it goes to the workers. A sample is a NamedTuple of arrays."""

    def load(self, source: str) -> Callable[[int], Any]:
        """Open a source: a function from an index, which gives the same each time."""

    def prepare(self, load: Callable[[int], Any], index: int) -> Any:
        """Prepare the sample of an index."""

    def layout(self) -> Layout:
        """Type and shape of the arrays of a sample."""

    def make(self, arrays: Mapping[str, Any]) -> Any:
        """Make a sample of its arrays."""


class SampleFeed:
    """Samples in the order of their index; those that fail are skipped.

    Args:
        source: As ``preparation`` opens it.
        first: Index of the first sample.
        preparation: How they are prepared.
        workers: Processes; 0 prepares a sample when asked.
        stride: From the index of a sample to that of the next.
    """

    def __init__(self, source: str, first: int, preparation: Preparation, workers: int, stride: int = 1) -> None:
        self.next_index, self.stride, self._first = first, stride, first
        self.n_failed = 0
        self._done: dict[int, Any] = {}
        self._source, self._preparation = source, preparation
        self._processes: list[Any] = []
        self._load = preparation.load(source)
        if workers:
            self._start(workers)

    def _start(self, workers: int) -> None:
        context = get_context("spawn")
        n_bytes = _n_bytes(self._preparation)
        # Small samples go together, as each message takes as long as copying a large one.
        self._together = max(1, min(16, _BYTES_OF_MESSAGE // n_bytes))
        slots = 4 * workers
        self._memory = context.RawArray("B", slots * self._together * n_bytes)
        self._tasks, self._results = context.Queue(), context.Queue()
        self._next_task = self.next_index
        for slot in range(slots):
            self._ask_for(slot)
        for _ in range(workers):
            arguments = (self._source, self._preparation, self._memory, self._tasks, self._results)
            process = context.Process(target=_work, args=arguments, daemon=True)
            process.start()
            self._processes.append(process)

    def _ask_for(self, slot: int) -> None:
        indices = range(self._next_task, self._next_task + self._together * self.stride, self.stride)
        self._tasks.put((indices, slot))
        self._next_task = indices[-1] + self.stride

    def take(self, *, wait: bool) -> Any:
        """Return the next sample; None where it is not ready and must not be waited for.

        Raises:
            TrainingError: A worker died, or too many samples fail.
        """
        while True:
            sample = self._take_one(wait)
            if sample is None:
                return None
            self.next_index += self.stride
            if not isinstance(sample, str):
                return sample
            self._count_failure(sample)

    def _take_one(self, wait: bool) -> Any:
        if not self._processes:
            return _prepare_one(self._load, self.next_index, self._preparation)
        while self.next_index not in self._done:
            try:
                indices, slot, problems = self._results.get(wait, 5.0)
            except queue.Empty:
                if not all(process.is_alive() for process in self._processes):
                    raise TrainingError(
                        "a process that prepares samples has died, perhaps for lack of memory: lower data.workers"
                    ) from None
                if wait:
                    continue
                return None
            for number, (index, problem) in enumerate(zip(indices, problems, strict=True)):
                place = slot * self._together + number
                self._done[index] = problem or _copy(_view(self._memory, place, self._preparation), self._preparation)
            self._ask_for(slot)  # it is free again
        return self._done.pop(self.next_index)

    def _count_failure(self, problem: str) -> None:
        self.n_failed += 1
        if self.n_failed > 20 and self.n_failed > 0.05 * (self.next_index - self._first) / self.stride:
            raise TrainingError(f"data.source {self._source} fails for too many samples; the last one:\n{problem}")

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join(5)
        if self._processes:
            for each in (self._tasks, self._results):
                each.cancel_join_thread()
                each.close()
        self._processes = []


_BYTES_OF_MESSAGE = 1 << 20


def _prepare_one(load: Callable[[int], Any], index: int, preparation: Preparation) -> Any:
    """Prepare a sample; a text says what went wrong."""
    try:
        return preparation.prepare(load, index)
    except Exception:
        return f"sample {index}: {traceback.format_exc()}"


def _work(source: str, preparation: Preparation, memory: Any, tasks: Any, results: Any) -> None:
    """Prepare samples in the shared memory until the process is ended."""
    import cv2

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process decides when to stop
    if hasattr(os, "nice"):
        os.nice(5)  # the process that feeds the device comes first
    cv2.setNumThreads(1)
    load = preparation.load(source)
    while True:
        try:
            indices, slot = tasks.get(timeout=2.0)
        except queue.Empty:
            if _is_orphan():
                return
            continue
        problems = []
        for number, index in enumerate(indices):
            sample = _prepare_one(load, index, preparation)
            problems.append(sample if isinstance(sample, str) else None)
            if not isinstance(sample, str):
                for name, target in _view(memory, slot * len(indices) + number, preparation).items():
                    target[...] = getattr(sample, name)
        results.put((indices, slot, problems))


def _is_orphan() -> bool:
    """Whether the training was killed, so that it could not end its workers."""
    parent = parent_process()
    return parent is not None and not parent.is_alive()


def _n_bytes(preparation: Preparation) -> int:
    total = sum(int(np.prod(shape)) * np.dtype(kind).itemsize for kind, shape in preparation.layout().values())
    return -(-total // 8) * 8


def _view(memory: Any, place: int, preparation: Preparation) -> dict[str, Any]:
    """The arrays of one sample in the shared memory."""
    start, arrays = place * _n_bytes(preparation), dict[str, Any]()
    for name, (kind, shape) in preparation.layout().items():
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(memory, kind, count, start).reshape(shape)
        start += count * np.dtype(kind).itemsize
    return arrays


def _copy(arrays: Mapping[str, Any], preparation: Preparation) -> Any:
    return preparation.make({name: array.copy() for name, array in arrays.items()})
