"""Batches for the training: a thread packs them from what other processes draw."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Sequence

import numpy as np

from tablerec.language.reader.config import Settings
from tablerec.language.reader.data import Drawing, Example, Level, level_of, levels_named
from tablerec.language.reader.packing import Batch, Shape, pack
from tablerec.training.data.feed import SampleFeed

FEWEST_PATCHES, FEWEST_TOKENS = 256, 512
"""Of a row: small pictures share it."""
PATCH_SHARE = 0.55
"""Rows of patches for as many tokens in rows of tokens."""


def shape_of(levels: Sequence[Level], number: int, budget: int) -> Shape:
    """Return the shape of batches while a level is drawn: one row at least holds its largest example.

    >>> shape_of(levels_named("tables"), 0, 65536)
    Shape(patch_rows=141, patches=256, token_rows=128, tokens=512)
    """
    patches = max([FEWEST_PATCHES, *(_up(level.patches) for level in levels[: number + 1])])
    tokens = max([FEWEST_TOKENS, *(_up(level.patches + level.tokens) for level in levels[: number + 1])])
    rows = max(1, budget // tokens)
    return Shape(max(1, -(-int(PATCH_SHARE * rows * tokens) // patches)), patches, rows, tokens)


def _up(value: int) -> int:
    return -(-value // 64) * 64


class Batches:
    """Batches, packed by a thread from the newest examples.

    Args:
        settings: See ``Settings``.
        first: Index of the first sample.
    """

    def __init__(self, settings: Settings, first: int) -> None:
        self._settings = settings
        self._levels = levels_named(settings.levels)
        drawing = Drawing(self._levels, settings.seed, settings.scripts, settings.places)
        self._feed = SampleFeed(f"levels {settings.levels}", first, drawing, settings.workers)
        self._examples: deque[Example] = deque(maxlen=settings.buffer)
        self._rng = np.random.default_rng([settings.seed, first])
        self._ready: queue.Queue[Batch | BaseException] = queue.Queue(2)
        self._ends = threading.Event()
        self._owed = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def next_index(self) -> int:
        """Index of the next sample."""
        return self._feed.next_index

    @property
    def level(self) -> int:
        """Number of the level that is drawn."""
        return level_of(self._levels, self.next_index)

    def take(self) -> Batch:
        """Return the next batch.

        Raises:
            TrainingError: Nothing can be drawn.
        """
        found = self._ready.get()
        if isinstance(found, BaseException):
            raise found
        return found

    def close(self) -> None:
        """End the thread and the processes."""
        self._ends.set()
        while self._thread.is_alive():
            try:
                self._ready.get(timeout=0.1)
            except queue.Empty:
                continue
        self._feed.close()

    def _run(self) -> None:
        try:
            while not self._ends.is_set():
                batch = self._pack()
                while not self._ends.is_set():
                    try:
                        self._ready.put(batch, timeout=0.2)
                        break
                    except queue.Full:
                        continue
        except BaseException as error:
            self._ready.put(error)

    def _pack(self) -> Batch:
        s, examples = self._settings, self._examples
        while len(examples) < s.min_buffer and not self._ends.is_set():
            self._add(wait=True)
        if s.workers:
            for _ in range(512):
                if not self._add(wait=False):
                    break
        while self._owed >= 1:
            self._add(wait=True)
            self._owed -= 1
        shape = shape_of(self._levels, self.level, s.budget)
        draw = lambda: examples[int(self._rng.integers(len(examples)))]  # noqa: E731
        batch = pack(draw, shape, self._rng)
        if not s.workers:
            self._owed += batch.n_examples / s.uses
        return batch

    def _add(self, *, wait: bool) -> bool:
        flat = self._feed.take(wait=wait)
        if flat is not None:
            self._examples.append(flat.example())
        return flat is not None
