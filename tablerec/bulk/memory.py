"""Memory of a process and all that it has started."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from pathlib import Path

_PERIOD = 10.0
_last = (-_PERIOD, 0)


def tree_memory() -> int:
    """Return the memory of this process and its descendants in bytes, at most some seconds old; 0 but on Linux."""
    global _last
    if time.monotonic() - _last[0] >= _PERIOD:
        _last = (time.monotonic(), measure_tree(os.getpid()))
    return _last[1]


def measure_tree(root: int) -> int:
    """Return the resident memory of a process and its descendants in bytes; pages that they share count for each."""
    sizes: dict[int, int] = {}
    children: dict[int, list[int]] = defaultdict(list)
    try:
        for entry in os.scandir("/proc"):
            if entry.name.isdecimal():
                _note(entry.name, sizes, children)
    except OSError:
        return 0
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        total += sizes.get(process, 0)
        waiting += children[process]
    return total


def _note(process: str, sizes: dict[int, int], children: dict[int, list[int]]) -> None:
    try:
        # After the name, which may hold anything: state, parent, ... and as the 22nd of them the resident pages.
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return
    children[int(fields[1])].append(int(process))
    sizes[int(process)] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
