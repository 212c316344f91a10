"""Processes of our own code, and how many of them a machine can take."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from tablerec.errors import TablerecError

_START = """
import sys
from importlib import import_module
target, *sys.path[:] = sys.argv[1:]
module, name = target.split(":")
getattr(import_module(module), name)()
"""
"""The path is ours: a folder's own modules must not take the place of those that we use."""

_GIBIBYTES = 1.0
"""Memory that a process takes which reads pages of usual size, and the processes that it starts."""

_ARENA_MAX = -8
"""Of glibc's ``malloc.h``."""


def start_process(
    target: str, threads: int = 1, stderr: int | IO[Any] | None = subprocess.DEVNULL, **options: Any
) -> Any:
    """Run a function in a process of its own, with pipes to its standard input and output.

    Nothing of the caller's ``__main__`` is imported there, as ``multiprocessing`` would do.

    Args:
        target: ``module:function``; the function takes nothing.
        threads: That numerical libraries may use there.
        stderr: See ``subprocess.Popen``.
        **options: More of it.

    Returns:
        The ``subprocess.Popen[bytes]``.

    Raises:
        TablerecError: It cannot be started.
    """
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, str(threads))}
    try:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-I", "-c", _START, target, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment,
            **options,
        )
    except (OSError, ValueError) as error:
        raise TablerecError(
            f"a part of the work is done by a process of its own, which cannot start ({error}); "
            f"check that {sys.executable or 'the Python interpreter'} can be run"
        ) from error


def usable_cpus() -> int:
    """CPUs that this process may use: os.cpu_count() tells those of the host, also in a container.

    >>> usable_cpus() >= 1
    True
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # no Linux, no limit
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text("ascii").split()
        usable = min(usable, max(1, round(int(quota) / int(period))))
    return usable


def usable_jobs(per_cpu: int = 1) -> int:
    """Processes that can read pages side by side: so many for each CPU, fewer where memory is short.

    >>> 1 <= usable_jobs() <= usable_cpus()
    True
    """
    free, most = free_gibibytes(), per_cpu * usable_cpus()
    return most if free is None else max(1, min(most, int(free / _GIBIBYTES)))


def free_gibibytes() -> float | None:
    """Memory that is free, by the limit of the container too; None where that is not known."""
    free = []
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        free.append(int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]) / 2**20)
    with suppress(OSError, ValueError):
        most, used = (int(Path(f"/sys/fs/cgroup/memory.{name}").read_text("ascii")) for name in ("max", "current"))
        free.append((most - used) / 2**30)
    return min(free, default=None)


def give_back_memory() -> None:
    """Give memory that nobody uses back to the system, where the C library keeps it: glibc's, between pieces in use.

    Pictures and tensors of many sizes leave such gaps; they would be twice of what is in use after some hundred pages.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)


def share_memory_among_threads() -> None:
    """Have many threads take memory from few pools, where the C library would give each its own: glibc's.

    ``give_back_memory`` does not reach the end of such a pool, which keeps up to 64 MB that nobody uses. To be called
    before there are threads.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)


def tree_bytes(root: int) -> int:
    """Resident memory of a process and its descendants in bytes; pages that they share count for each; 0 but on Linux.

    >>> tree_bytes(os.getpid()) >= 0
    True
    """
    sizes: dict[int, int] = {}
    children: dict[int, list[int]] = defaultdict(list)
    with suppress(OSError):
        for name in filter(str.isdecimal, os.listdir("/proc")):
            with suppress(OSError):
                # Behind the name, which may hold anything: state, parent, ... and as the 22nd the resident pages.
                fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
                children[int(fields[1])].append(int(name))
                sizes[int(name)] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        total += sizes.get(process, 0)
        waiting += children[process]
    return total
