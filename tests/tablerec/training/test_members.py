"""Members meet: each gets the mean of all, the first one's word counts, and nobody waits for the dead."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_float, c_int
from pathlib import Path

import numpy as np
import pytest

from tablerec.errors import SettingsError, TrainingError
from tablerec.training.members import Member, Team
from tablerec.training.settings import TrainSettings


def make_members(count: int, n_values: int) -> list[Member]:
    team = Team((c_float * (count * n_values))(), threading.Barrier(count), c_int(0))
    return [Member(team, number, count) for number in range(count)]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_mean_reaches_all(count: int) -> None:
    members = make_members(count, 3)
    values = np.random.default_rng(count).random((4, count, 3), np.float32)

    def attend(member: Member) -> list[tuple[np.ndarray, bool]]:
        # Only the first one's word counts.
        ends = [member.number > 0, member.number > 0, member.number > 0, member.number == 0]
        return [member.meet(values[turn, member.number], ends=ends[turn]) for turn in range(4)]

    with ThreadPoolExecutor(count) as pool:
        attended = list(pool.map(attend, members))
    for met in attended:
        assert [ends for _, ends in met] == [False, False, False, True]
        np.testing.assert_allclose([mean for mean, _ in met], values.mean(axis=1), rtol=1e-6)


def test_nobody_waits_for_the_dead() -> None:
    first, second = make_members(2, 1)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(first.meet, np.zeros(1, np.float32), ends=False)
        second._team.barrier.abort()
        with pytest.raises(TrainingError, match="goes on from the last checkpoint"):
            waiting.result(10)


def test_each_member_has_a_device_of_its_own() -> None:
    def devices(device: str, members: int) -> list[str]:
        chosen = TrainSettings("a:b", Path("out"), steps=1, device=device, members=members)
        return [chosen.device_of(member) for member in range(members)]

    assert devices("gpu", 2) == ["gpu:0", "gpu:1"]
    assert devices("tablerec_gpu:3,1", 2) == ["tablerec_gpu:3", "tablerec_gpu:1"]
    assert devices("cpu", 2) == ["cpu", "cpu"]
    assert devices("gpu:5", 1) == ["gpu:5"]
    with pytest.raises(SettingsError, match="names 3 devices for 2 members"):
        devices("gpu:0,1,2", 2)
