"""Batches for the training: a process packs them from what others draw, so that nothing keeps the device waiting."""

from __future__ import annotations

import os
import queue
import signal
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing import get_context, parent_process
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import TrainingError
from tablerec.language.reader.config import Settings
from tablerec.language.reader.data import Drawing, Example, Level, level_of, levels_named
from tablerec.language.reader.packing import Batch, Shape, empty_batch, pack
from tablerec.training.data.feed import SampleFeed

LONG_ENOUGH = 512
"""Places of a row that holds several small pictures; a device has little use for shorter ones, a CPU has."""
PATCH_SHARE = 0.76
"""Places in rows of patches by places in rows of tokens, in which the same patches stand before the tables."""
SLOTS = 3
"""Batches that are ready or being read."""
PATIENCE = 2.0
"""Seconds after which a process looks whether the other one is still there."""


def levels_of(settings: Settings) -> tuple[Level, ...]:
    """Return the levels of a training, their numbers of samples multiplied by its pace."""
    levels = levels_named(settings.levels)
    return tuple(replace(level, samples=max(1, round(level.samples * settings.pace))) for level in levels)


def shape_of(levels: Sequence[Level], number: int, budget: int) -> Shape:
    """Return the shape of batches while a level is drawn: one row at least holds its largest example.

    >>> shape_of(levels_named("tables"), 0, 65536)
    Shape(patch_rows=32, patches=384, token_rows=32, tokens=512)
    """
    places = int(levels[number].share * budget)
    fewest = min(LONG_ENOUGH, places // 8)
    patches = max([_up(int(0.75 * fewest)), *(_up(level.patches) for level in levels[: number + 1])])
    tokens = max([_up(fewest), *(_up(level.patches + level.tokens) for level in levels[: number + 1])])
    rows = max(1, places // tokens)
    return Shape(max(1, int(PATCH_SHARE * rows * tokens) // patches), patches, rows, tokens)


def _up(value: int) -> int:
    return -(-value // 64) * 64


class Packer:
    """Examples of a training, the newest of them kept, and batches of these.

    Args:
        settings: See ``Settings``.
        first: Index of the first sample.
    """

    def __init__(self, settings: Settings, first: int) -> None:
        self._settings = settings
        self._levels = levels_of(settings)
        drawing = Drawing(self._levels, settings.seed, settings.scripts, settings.places)
        self._feed = SampleFeed(f"levels {settings.levels}", first, drawing, settings.workers)
        self._examples: deque[Example] = deque(maxlen=settings.buffer)
        self._rng = np.random.default_rng([settings.seed, first])
        self._owed = 0.0

    @property
    def next_index(self) -> int:
        """Index of the next sample."""
        return self._feed.next_index

    @property
    def level(self) -> int:
        """Number of the level that is drawn."""
        return level_of(self._levels, self.next_index)

    def pack(self) -> Batch:
        """Take what was drawn, and make a batch.

        Raises:
            TrainingError: Too many samples fail, or a process that draws has died.
        """
        s, examples = self._settings, self._examples
        while len(examples) < min(s.min_buffer, s.buffer):
            self._add(wait=True)
        # No faster than they are used, even if there are more: levels go with what is seen.
        while self._owed >= 1 and self._add(wait=not s.workers):
            self._owed -= 1
        batch = pack(
            lambda: examples[int(self._rng.integers(len(examples)))],
            shape_of(self._levels, self.level, s.budget),
            self._rng,
        )
        self._owed += batch.n_examples / s.uses
        return batch

    def _add(self, *, wait: bool) -> bool:
        flat = self._feed.take(wait=wait)
        if flat is not None:
            self._examples.append(flat.example())
        return flat is not None

    def close(self) -> None:
        """End the processes that draw."""
        self._feed.close()


class Batches:
    """Batches of a training; with workers, another process packs them.

    Args:
        settings: See ``Settings``.
        first: Index of the first sample.
    """

    def __init__(self, settings: Settings, first: int) -> None:
        self.next_index = first
        """Index of the sample after those that were drawn for the last batch."""
        self.level = level_of(levels_of(settings), first)
        """Number of the level that is drawn."""
        self._packer = None if settings.workers else Packer(settings, first)
        if settings.workers:
            self._start(settings, first)

    def _start(self, settings: Settings, first: int) -> None:
        context = get_context("spawn")
        levels = levels_of(settings)
        largest = max(_n_bytes(shape_of(levels, number, settings.budget)) for number in range(len(levels)))
        self._memory = context.RawArray("B", SLOTS * largest)
        self._free, self._ready = context.Queue(), context.Queue()
        for slot in range(SLOTS):
            self._free.put(slot)
        self._used: int | None = None
        arguments = settings, first, self._memory, self._free, self._ready
        # It starts those that draw, which a daemon may not.
        self._process = context.Process(target=_pack_for_another, args=arguments)
        self._process.start()

    def take(self) -> Batch:
        """Return the next batch, whose arrays are good until the next call.

        Raises:
            TrainingError: Nothing can be drawn, or the process that packs has died.
        """
        if self._packer is not None:
            batch = self._packer.pack()
            self.next_index, self.level = self._packer.next_index, self._packer.level
            return batch
        if self._used is not None:
            self._free.put(self._used)
            self._used = None
        while True:
            try:
                found = self._ready.get(timeout=PATIENCE)
                break
            except queue.Empty:
                if not self._process.is_alive():
                    message = "the process that packs batches has died: lower --workers or --buffer"
                    raise TrainingError(message) from None
        if isinstance(found, str):
            raise TrainingError(f"tables cannot be drawn or packed: {found}")
        self._used, shape, n_examples, self.next_index, self.level = found
        return _view(self._memory, self._used, shape)._replace(n_examples=n_examples)

    def close(self) -> None:
        """End the processes."""
        if self._packer is not None:
            self._packer.close()
            return
        self._free.put(None)
        while self._process.is_alive():
            try:
                self._ready.get(timeout=0.1)
            except queue.Empty:
                continue
        self._process.join()


def _pack_for_another(settings: Settings, first: int, memory: Any, free: Any, ready: Any) -> None:
    """Pack batches into the shared memory until a slot is None or the process that trains is gone."""
    # The one that trains decides when to stop. Those that draw would inherit a signal that is ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    packer = None
    try:
        packer = Packer(settings, first)
        for slot in _slots(free):
            batch = packer.pack()
            shape = Shape(*batch.patch_owners.shape, *batch.owners.shape)
            for to, array in zip(_arrays(_view(memory, slot, shape)), _arrays(batch), strict=True):
                to[...] = array
            ready.put((slot, shape, batch.n_examples, packer.next_index, packer.level))
    except TrainingError as error:
        ready.put(str(error))
    except Exception:
        ready.put(traceback.format_exc())
    finally:
        if packer is not None:
            packer.close()


def _slots(free: Any) -> Iterator[int]:
    parent = parent_process()
    while True:
        try:
            slot = free.get(timeout=PATIENCE)
        except queue.Empty:
            if parent is not None and not parent.is_alive():
                os._exit(1)  # those that draw see that they are orphans
            continue
        if slot is None:
            return
        yield slot


def _arrays(batch: Batch) -> list[NDArray[Any]]:
    return list(batch[:8])


def _n_bytes(shape: Shape) -> int:
    return sum(_up(array.nbytes) for array in _arrays(empty_batch(shape)))


def _view(memory: Any, slot: int, shape: Shape) -> Batch:
    """The arrays of a batch in a slot of the shared memory."""
    start, arrays = len(memory) // SLOTS * slot, list[NDArray[Any]]()
    for array in _arrays(empty_batch(shape)):
        arrays.append(np.frombuffer(memory, array.dtype, array.size, start).reshape(array.shape))
        start += _up(array.nbytes)
    return Batch._make([*arrays, 0])
