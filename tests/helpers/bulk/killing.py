"""Batches in processes that are killed, from inside at a chosen call of the system, or from outside."""

from __future__ import annotations

import importlib
import itertools
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from tablerec.bulk.results import FileResults, ParquetResults, Results
from tablerec.bulk.store import open_store
from tests.helpers.bulk.running import batch

KILLED_AT = {"files": 120, "parquet": 30}
"""Calls of the system within which a process is killed."""


def make_results(kind: str) -> Results:
    results: Results = ParquetResults() if kind == "parquet" else FileResults(("json",))
    results.group_pages = 7
    return results


def killed_until_done(kind: str, seed: int, store: str, folder: Path, from_outside: bool) -> int:
    """Do a batch in processes that are killed, until one comes to its end; return how many were.

    Runs in a process of its own, which has no threads.
    """
    # What is imported now is not imported in each process; pyarrow imports pandas where it is there.
    names = ("pyarrow.parquet", "pandas") * (kind == "parquet") + ("s3fs", "aiobotocore.session") * ("://" in store)
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)
    random = Random(seed)
    for n_killed in range(300):
        seconds, n_calls = random.uniform(0.02, 0.2) * (1 + n_killed / 5), random.randrange(1, KILLED_AT[kind])
        process = os.fork()
        if process == 0:
            if not from_outside:
                die_at(n_calls, random.random() < 0.5)
            batch(open_store(store), folder, results=make_results(kind))
            os._exit(0)
        if from_outside:
            time.sleep(seconds)
            os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        if status == 0:
            return n_killed
        assert os.waitstatus_to_exitcode(status) in (9, -signal.SIGKILL), status
    raise AssertionError("it never ends")


def die_at(n_calls: int, before: bool) -> None:
    """Have this process end at once at a call of what writes, syncs, renames, removes or lists, before it or after."""
    left = itertools.count(n_calls, -1)

    def dying(function: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            is_last = next(left) <= 1
            if is_last and before:
                os._exit(9)
            try:
                return function(*args, **options)
            finally:
                if is_last:
                    os._exit(9)

        return call

    for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink"), (Path, "mkdir"), (os, "listdir")):
        setattr(owner, name, dying(getattr(owner, name)))
