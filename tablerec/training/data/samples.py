"""Samples on their way to the device: prepared by worker processes, all of one size.

Nothing here imports Paddle, so that a worker starts quickly and touches no device.
"""

from __future__ import annotations

import os
import queue
import signal
import traceback
from collections.abc import Iterable, Sequence
from multiprocessing import get_context, parent_process
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import TrainingError
from tablerec.training.data.copy_paste import swap_cells
from tablerec.training.data.crops import crop_to_cells
from tablerec.training.data.owners import SAMPLE_STRIDE, quads_to_owners
from tablerec.training.data.sources import Source, load_source

PAPER = 127
"""Grey of the canvas where the picture does not reach."""


Picture = tuple[NDArray[np.uint8], NDArray[np.float32]]
"""``(H, W, 3)`` uint8 RGB and its cells, ``(N, 4, 2)`` float32 pixels."""


class Sample(NamedTuple):
    """Pictures with their truth on a canvas of fixed size.

    Args:
        image: ``(S, S, 3)`` uint8 RGB.
        quads: ``(max_cells, 4, 2)`` float32 pixels of the canvas, zeros after the last cell.
        n_cells: ``()`` int64; cells that the canvas shows in part or not at all count.
        owners: ``(S / 2, S / 2)`` int16, see ``quads_to_owners``; None where the canvas has none.
    """

    image: NDArray[np.uint8]
    quads: NDArray[np.float32]
    n_cells: NDArray[np.int64]
    owners: NDArray[np.int16] | None = None


class Canvas(NamedTuple):
    """What samples look like.

    Args:
        size: Height and width in pixels.
        max_cells: Cells on it, at most.
        max_images: Pictures on it, at most; the small ones are put one below the other.
        stretch: Each picture fills it alone, whatever its shape.
        copy_paste: Share of the cells whose contents change places, see ``copy_paste.swap_cells``.
        with_owners: Whether its samples have an owner map.
    """

    size: int
    max_cells: int
    max_images: int = 1
    stretch: bool = False
    copy_paste: float = 0.0
    with_owners: bool = False


def place_pictures(pictures: Iterable[Any], index: int, canvas: Canvas) -> Sample:
    """Put pictures on the canvas, one below the other, as many as fit; or one alone that fills it.

    A picture larger than the canvas is made smaller, or a random part of it is shown; and a part where it has more
    cells than the canvas holds.

    Args:
        pictures: What the source returned, see ``sources.Source``; the next is asked for while there is room.
        index: Decides the places.
        canvas: See ``Canvas``.

    Raises:
        ValueError: Even a part of the first picture has more cells, as they lie upon one another.
    """
    rng, size = np.random.default_rng([index, 20]), canvas.size
    chosen: list[Picture] = []
    height = n_cells = 0
    for each in pictures:
        image, quads = _prepare(each, canvas, rng)
        image, quads = _resize(image, quads, [size, size]) if canvas.stretch else _fit(image, quads, size, rng)
        if height + image.shape[0] > size or n_cells + len(quads) > canvas.max_cells:
            break
        chosen.append((image, quads))
        height, n_cells = height + image.shape[0], n_cells + len(quads)
    if not chosen:
        raise ValueError(f"more than {canvas.max_cells} cells lie upon one another: see `tablerec labels check`")
    paper = np.full((size, size, 3), PAPER, np.uint8)
    placed = np.zeros((canvas.max_cells, 4, 2), np.float32)
    # Half of the canvases begin at the corner, as pictures will when they are recognized.
    at_corner = rng.random() < 0.5
    gaps = np.sort(rng.integers(0, size - height + 1, len(chosen))) * (not at_corner)
    top = start = 0
    for (image, quads), gap in zip(chosen, gaps.tolist(), strict=True):
        left = 0 if at_corner else int(rng.integers(0, size - image.shape[1] + 1))
        paper[top + gap : top + gap + image.shape[0], left : left + image.shape[1]] = image
        placed[start : start + len(quads)] = quads + np.array([left, top + gap], np.float32)
        top, start = top + image.shape[0], start + len(quads)
    owners = quads_to_owners(placed[:n_cells], (size, size), SAMPLE_STRIDE) if canvas.with_owners else None
    return Sample(paper, placed, np.array(n_cells, np.int64), owners)


def _prepare(picture: Any, canvas: Canvas, rng: np.random.Generator) -> Picture:
    """A picture with no more cells than the canvas holds, perhaps with other contents."""
    given = picture.cells.quads if hasattr(picture, "cells") else picture.quads
    image, quads = picture.image, np.asarray(given, np.float32).reshape(-1, 4, 2)
    if len(quads) > canvas.max_cells:
        image, quads = crop_to_cells(image, quads, canvas.max_cells, rng)
    return (swap_cells(image, quads, rng, canvas.copy_paste) if canvas.copy_paste else image), quads


def _fit(image: NDArray[np.uint8], quads: NDArray[np.float32], size: int, rng: np.random.Generator) -> Picture:
    """A picture no larger than the canvas, and its cells."""
    factor = size / max(image.shape[:2])
    if factor < 1 and rng.random() < 0.5:
        image, quads = _resize(image, quads, [max(1, int(factor * length)) for length in image.shape[1::-1]])
    skip = [int(rng.integers(0, max(length - size, 0) + 1)) for length in image.shape[:2]]
    part = image[skip[0] : skip[0] + size, skip[1] : skip[1] + size]
    return part, quads - np.array(skip[::-1], np.float32)


def _resize(image: NDArray[np.uint8], quads: NDArray[np.float32], size_wh: Sequence[int]) -> Picture:
    import cv2

    step = np.array(size_wh, np.float32) / np.array(image.shape[1::-1], np.float32)
    method = cv2.INTER_AREA if step.max() <= 1 else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, size_wh, interpolation=method), np.uint8), np.multiply(quads, step)


class SampleFeed:
    """Samples in the order of their index; those that fail are skipped.

    Args:
        source: See ``load_source``.
        first: Index of the first sample.
        canvas: What they look like.
        workers: Processes; 0 prepares a sample when asked.
        stride: From the index of a sample to that of the next.
    """

    def __init__(self, source: str, first: int, canvas: Canvas, workers: int, stride: int = 1) -> None:
        self.next_index, self.stride = first, stride
        self.n_failed = 0
        self._done: dict[int, Any] = {}
        self._source, self._canvas = source, canvas
        self._processes: list[Any] = []
        self._load = load_source(source)
        if workers:
            self._start(workers)

    def _start(self, workers: int) -> None:
        context = get_context("spawn")
        slots = 4 * workers
        self._memory = context.RawArray("B", slots * _n_bytes(self._canvas))
        self._tasks, self._results = context.Queue(), context.Queue()
        for slot in range(slots):
            self._tasks.put((self.next_index + slot * self.stride, slot))
        self._next_task = self.next_index + slots * self.stride
        for _ in range(workers):
            arguments = (self._source, self._canvas, self._memory, self._tasks, self._results)
            process = context.Process(target=_work, args=arguments, daemon=True)
            process.start()
            self._processes.append(process)

    def take(self, *, wait: bool) -> Sample | None:
        """Return the next sample; None where it is not ready and must not be waited for.

        Raises:
            TrainingError: A worker died, or too many samples fail.
        """
        while True:
            sample = self._take_one(wait)
            if sample is None:
                return None
            self.next_index += self.stride
            if isinstance(sample, Sample):
                return sample
            self._count_failure(sample)

    def _take_one(self, wait: bool) -> Sample | str | None:
        if not self._processes:
            return _prepare_one(self._load, self.next_index, self._canvas)
        while self.next_index not in self._done:
            try:
                index, slot, problem = self._results.get(wait, 5.0)
            except queue.Empty:
                if not all(process.is_alive() for process in self._processes):
                    raise TrainingError(
                        "a process that prepares samples has died, perhaps for lack of memory: lower data.workers"
                    ) from None
                if wait:
                    continue
                return None
            # The slot is free again once its sample is copied.
            self._done[index] = problem or _copy(_view(self._memory, slot, self._canvas))
            self._tasks.put((self._next_task, slot))
            self._next_task += self.stride
        return self._done.pop(self.next_index)

    def _count_failure(self, problem: str) -> None:
        self.n_failed += 1
        if self.n_failed > 20 and self.n_failed > 0.05 * self.next_index / self.stride:
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


def _prepare_one(load: Source, index: int, canvas: Canvas) -> Sample | str:
    """Prepare a sample; a text says what went wrong."""
    try:
        count = 1 if canvas.stretch else canvas.max_images
        pictures = (load(index * count + number) for number in range(count))
        return place_pictures(pictures, index, canvas)
    except Exception:
        return f"sample {index}: {traceback.format_exc()}"


def _work(source: str, canvas: Canvas, memory: Any, tasks: Any, results: Any) -> None:
    """Prepare samples in the shared memory until the process is ended."""
    import cv2

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process decides when to stop
    if hasattr(os, "nice"):
        os.nice(5)  # the process that feeds the device comes first
    cv2.setNumThreads(1)
    load = load_source(source)
    while True:
        try:
            index, slot = tasks.get(timeout=2.0)
        except queue.Empty:
            if _is_orphan():
                return
            continue
        sample = _prepare_one(load, index, canvas)
        if isinstance(sample, Sample):
            targets: list[Any] = list(_view(memory, slot, canvas))
            for target, value in zip(targets, sample, strict=True):
                if target is not None:
                    target[...] = value
        results.put((index, slot, sample if isinstance(sample, str) else None))


def _is_orphan() -> bool:
    """Whether the training was killed, so that it could not end its workers."""
    parent = parent_process()
    return parent is not None and not parent.is_alive()


def _layout(canvas: Canvas) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Type and shape of the arrays of a sample, the widest types first, so that all are aligned."""
    size, n_owners = canvas.size, canvas.size // SAMPLE_STRIDE
    return {
        "n_cells": (np.int64, ()),
        "quads": (np.float32, (canvas.max_cells, 4, 2)),
        **({"owners": (np.int16, (n_owners, n_owners))} if canvas.with_owners else {}),
        "image": (np.uint8, (size, size, 3)),
    }


def _n_bytes(canvas: Canvas) -> int:
    total = sum(int(np.prod(shape)) * np.dtype(kind).itemsize for kind, shape in _layout(canvas).values())
    return -(-total // 8) * 8


def _view(memory: Any, slot: int, canvas: Canvas) -> Sample:
    """The arrays of one slot of the shared memory."""
    start, arrays = slot * _n_bytes(canvas), dict[str, Any]()
    for name, (kind, shape) in _layout(canvas).items():
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(memory, kind, count, start).reshape(shape)
        start += count * np.dtype(kind).itemsize
    return Sample(**arrays)


def _copy(sample: Sample) -> Sample:
    arrays: list[Any] = [None if array is None else array.copy() for array in sample]
    return Sample(*arrays)
