"""What goes through the networks in the process with the card: calls, batches, shapes, sessions and their time."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

COUNTS = "TABLEREC_BENCH_COUNTS"
"""Folder to which processes write their counts."""
_EVERY = 0.25
"""Seconds from one writing to the next."""


class Counting:
    """Counts what networks are asked for, and what they are given.

    Args:
        folder: Holds a file with the counts of this process, a moment ago.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{os.getpid()}.counts"
        self._counts: dict[str, Counter[str]] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._write, daemon=True).start()

    def count(self, name: str, network: Any) -> Callable[[Any], Any]:
        """Return a network that counts; the ``BatchedNetwork`` that it is counts its batches from now on, once."""
        counts = self._counts.setdefault(name, Counter())
        sessions = network._network
        if not isinstance(sessions, _Counted):
            network._network = _Counted(sessions, counts, self._lock)
        shape_of = network._form.slot

        def run(images: Any) -> Any:
            with self._lock:
                counts["calls"] += 1
                counts["pictures"] += len(images)
                counts["pixels"] += len(images) * images.shape[2] * images.shape[3]
                slot = "x".join(map(str, shape_of(images.shape[1:])[-2:]))
                counts[f"slot {slot}"] += len(images)
            return network(images)

        return run

    def _write(self) -> None:
        before = None
        while True:
            time.sleep(_EVERY)
            with self._lock:
                text = json.dumps(self._counts)
            if text != before:
                new = self._path.with_suffix(".new")
                new.write_text(text)
                os.replace(new, self._path)
                before = text


class _Counted:
    """Runs batches, and counts them and the sessions that are opened for them."""

    def __init__(self, sessions: Any, counts: Counter[str], lock: Any) -> None:
        self._sessions, self._counts, self._lock = sessions, counts, lock
        self._known: set[tuple[int, ...]] = set()
        self.outputs = sessions.outputs
        if hasattr(sessions, "_open_new"):
            self._open_new, sessions._open_new = sessions._open_new, self._note_new

    def _note_new(self) -> Any:
        with self._lock:
            self._counts["opened"] += 1
        return self._open_new()

    def __call__(self, images: np.ndarray) -> Any:
        started = time.perf_counter()
        outputs = self._sessions(images)
        seconds = time.perf_counter() - started
        with self._lock:
            counts = self._counts
            counts["batches"] += 1
            counts["shapes"] += images.shape not in self._known
            self._known.add(images.shape)
            counts["slots"] += len(images)
            counts["batch pixels"] += len(images) * images.shape[2] * images.shape[3]
            counts["microseconds"] += round(1e6 * seconds)
            counts[f"size {len(images)}"] += 1
        return outputs


def read_counts(folder: Path) -> dict[str, Counter[str]]:
    """Return the counts of all processes together, as they wrote them last; none where they did not."""
    counts: dict[str, Counter[str]] = {}
    for path in folder.glob("*.counts"):
        for name, each in json.loads(path.read_text()).items():
            counts.setdefault(name, Counter()).update(each)
    return counts


def describe(before: dict[str, Counter[str]], after: dict[str, Counter[str]], n_tables: int) -> list[str]:
    """Say in a line for each network what was counted between two moments, in which tables were read.

    >>> counts = Counter(calls=6, pictures=9, pixels=900, batches=3, slots=12, microseconds=6000, opened=2, shapes=2)
    >>> counts |= {"batch pixels": 1800, "size 4": 3, "slot 8x8": 9}
    >>> describe({}, {"CellNet": counts}, 3)
    ['CellNet: a table 2.0 calls, 3.0 pictures, 1.0 batches of 2.00 ms; 2.0 calls a batch; sizes 4: 100%; computed \
pixels 2.0 of those asked for; 2 shapes, 2 sessions opened, in all 2 and 2; 1 slots, most 8x8: 100%']
    """
    lines = []
    for name, total in after.items():
        counts = total - before.get(name, Counter[str]())
        if not counts["batches"] or not n_tables:
            continue
        sizes = ", ".join(f"{size}: {n / counts['batches']:.0%}" for size, n in _parts(counts, "size "))
        milliseconds = counts["microseconds"] / counts["batches"] / 1000
        slots = _parts(counts, "slot ")
        most = ", ".join(f"{slot}: {n / counts['pictures']:.0%}" for slot, n in slots[:5])
        lines.append(
            f"{name}: a table {counts['calls'] / n_tables:.1f} calls, {counts['pictures'] / n_tables:.1f} pictures, "
            f"{counts['batches'] / n_tables:.1f} batches of {milliseconds:.2f} ms; "
            f"{counts['calls'] / counts['batches']:.1f} calls a batch; sizes {sizes}; computed pixels "
            f"{counts['batch pixels'] / counts['pixels']:.1f} of those asked for; {counts['shapes']} shapes, "
            f"{counts['opened']} sessions opened, in all {total['shapes']} and {total['opened']}; "
            f"{len(slots)} slots, most {most}"
        )
    return lines


def _parts(counts: Counter[str], start: str) -> list[tuple[str, int]]:
    found = Counter({name.removeprefix(start): n for name, n in counts.items() if name.startswith(start)})
    return found.most_common()
