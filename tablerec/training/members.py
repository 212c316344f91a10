"""Several processes that train side by side, each on a device of its own, and meet to average their weights.

Between two meetings each goes its own way (local SGD: Stich, "Local SGD Converges Fast and Communicates Little",
2019), so that nothing but the host's memory has to connect the devices.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import TablerecError, TrainingError
from tablerec.training.settings import TrainSettings

_PATIENCE = 1800.0
"""Seconds that members wait for each other: longer than a validation, in case the first one vanishes."""


class Team(NamedTuple):
    """What connects the members.

    Args:
        values: ``members * n_values`` float32 in memory that all share: the weights of each.
        barrier: Where they wait for each other.
        ends: Non-zero once the first member has decided to stop.
    """

    values: Any
    barrier: Any
    ends: Any


class Member:
    """One of the processes.

    Args:
        team: See ``Team``.
        number: From 0; the first one reports, validates, saves, and decides when to stop.
        count: How many there are.
    """

    def __init__(self, team: Team, number: int, count: int) -> None:
        self.number, self.count = number, count
        self._team = team
        self._rows = np.frombuffer(team.values, np.float32).reshape(count, -1)

    def meet(self, values: NDArray[np.float32], *, ends: bool) -> tuple[NDArray[np.float32], bool]:
        """Wait for all; return the mean of their values, and whether the first one wants to stop.

        Args:
            values: ``(n,)`` float32.
            ends: Whether this one wants to stop; the first one's word counts.

        Raises:
            TrainingError: Another one has failed.
        """
        self._rows[self.number, : len(values)] = values
        if self.number == 0:
            self._team.ends.value = int(ends)
        self._wait()
        mean, stop = self._rows[:, : len(values)].mean(axis=0), bool(self._team.ends.value)
        self._wait()  # nobody writes before all have read
        return mean, stop

    def _wait(self) -> None:
        try:
            self._team.barrier.wait(_PATIENCE)
        except threading.BrokenBarrierError:
            raise TrainingError(
                "another process of this training has failed, see its message above; the same command goes on "
                "from the last checkpoint"
            ) from None


@contextmanager
def other_members(settings: TrainSettings, plugin: Path | None, n_values: int) -> Iterator[Member]:
    """Start all members but the first, which the caller is.

    Args:
        settings: ``members`` says how many there are in all.
        plugin: The library that the others load before they import Paddle.
        n_values: Most values that are exchanged.
    """
    count = settings.members
    context = get_context("spawn")
    team = Team(context.RawArray("f", count * n_values), context.Barrier(count), context.RawValue("i", 0))
    processes = [
        context.Process(target=_be_member, args=(settings, plugin, team, number, count)) for number in range(1, count)
    ]
    for process in processes:
        process.start()
        threading.Thread(target=_watch, args=(process, team.barrier), daemon=True).start()
    try:
        yield Member(team, 0, count)
    except BaseException:
        team.barrier.abort()
        raise
    finally:
        for process in processes:
            process.join()


def _watch(process: Any, barrier: Any) -> None:
    """Nobody waits for a process that has died."""
    process.join()
    if process.exitcode:
        barrier.abort()


def _be_member(settings: TrainSettings, plugin: Path | None, team: Team, number: int, count: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first one decides when to stop
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        if plugin is not None:
            from tablerec.devices.plugin import load_plugin

            load_plugin(plugin)
        from tablerec.training.loop import train_beside  # imports Paddle: after the plugin

        train_beside(settings, Member(team, number, count))
    except TablerecError as error:
        sys.exit(f"process {number} of the training: {error}")
