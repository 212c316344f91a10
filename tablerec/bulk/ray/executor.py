"""Pages are read on a cluster; see ``bulk.executor``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tablerec import __version__
from tablerec.bulk.executor import TICK, Outcome, Task
from tablerec.bulk.ray.cluster import open_cluster
from tablerec.bulk.ray.pool import Pool
from tablerec.bulk.results import Encode
from tablerec.config import Settings
from tablerec.engine import Limits
from tablerec.engine.engine import to_jobs
from tablerec.inputs.images import wanted_pages

_PULL = 0.1
"""Seconds for which inputs are made ready before those that read them are looked after."""


class PoolExecutor:
    """Reads pages by the actors of a pool.

    Args:
        settings: What to use.
        pool: The actors.
    """

    def __init__(self, settings: Settings, pool: Pool) -> None:
        self._settings = settings
        self._pool = pool

    def numbers(self, path: Path, source: str) -> list[int]:
        """Return the numbers of the pages of an input; see ``Executor``."""
        return wanted_pages(path, self._settings)

    def run(self, tasks: Iterator[Task]) -> Iterator[Outcome | None]:
        """Yield the outcome of each task; see ``Executor``."""
        said, is_end = time.monotonic(), False
        while not is_end or len(self._pool):
            began = time.monotonic()
            while not is_end and self._pool.has_room and time.monotonic() - began < _PULL:
                task = next(tasks, None)
                is_end = task is None
                if task is not None:
                    self._pool.submit(task)
            is_full = is_end or not self._pool.has_room
            outcomes = self._pool.wait(TICK if is_full else 0.0) if len(self._pool) else []
            now = time.monotonic()
            if outcomes or now - said >= TICK:
                said = now
            if outcomes:
                yield from outcomes
            elif said == now:
                yield None


@contextmanager
def ray_executor(
    settings: Settings,
    jobs: str | int = "auto",
    limits: Limits | None = None,
    address: str | None = None,
    encode: Encode | None = None,
) -> Iterator[PoolExecutor]:
    """Connect to a cluster, or start Ray on this machine, for as long as pages are read.

    Args:
        settings: What to use. With ``gpu`` as device, whatever its numbers, each actor takes a card and its share of
            the node's CPUs; ``auto`` does so where the cluster has cards.
        jobs: Pages that are read at the same time; ``auto`` takes what the cluster has, and what it grows to.
        limits: Of a page.
        address: Of the cluster: ``HOST:PORT``, ``auto`` for one that runs on this machine, ``ray://HOST:PORT``. None
            takes ``$RAY_ADDRESS``; where there is none, Ray is started here and stopped at the end.
        encode: Makes of a page what it becomes in a store, where it is read; see ``Results.encode``. Without it, pages
            come back as they are.

    Raises:
        MissingDependencyError: Ray is not installed.
        SettingsError: There is no cluster at this address.
    """
    most = None if jobs == "auto" else to_jobs(jobs)
    with open_cluster(settings, limits or Limits(), most, address, encode) as cluster:
        pool = Pool(cluster, most, __version__)
        try:
            yield PoolExecutor(settings, pool)
        finally:
            pool.close()
