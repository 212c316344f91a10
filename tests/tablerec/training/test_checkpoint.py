"""Checkpoints are whole or absent, and a run that is killed goes on as if it had not been."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from tablerec.errors import InputError, OutputError

paddle = pytest.importorskip("paddle")

from tablerec.training.checkpoint import checkpoints, load_checkpoint, load_newest, save_checkpoint  # noqa: E402
from tests.benchmarks.training.check_kill_resume import kill_and_resume  # noqa: E402


def save(folder: Path, step: int) -> Path:
    return save_checkpoint(folder, step, {"network": {"a": np.full(3, step)}}, {"seconds": 1.5})


def test_no_checkpoint(tmp_path: Path) -> None:
    assert checkpoints(tmp_path) == [] and load_newest(tmp_path, print) is None
    assert load_newest(tmp_path / "absent", print) is None


def test_the_two_newest_stay(tmp_path: Path) -> None:
    (tmp_path / "unfinished-00000009").mkdir()
    for step in range(4):
        save(tmp_path, step)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-00000002", "checkpoint-00000003"]
    groups, state = load_checkpoint(checkpoints(tmp_path)[-1])
    assert groups["network"]["a"].tolist() == [3, 3, 3] and (state["step"], state["seconds"]) == (3, 1.5)
    assert save(tmp_path, 3) == checkpoints(tmp_path)[-1]  # again


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: (path / "state.json").unlink(),
        lambda path: (path / "state.json").write_text("[1]"),
        lambda path: (path / "state.json").write_text('{"step": 2'),
        lambda path: (path / "network.safetensors").unlink(),
        lambda path: (path / "network.safetensors").write_bytes(b""),
        lambda path: flip(path / "network.safetensors"),
    ],
)
def test_a_broken_one_is_passed_over(tmp_path: Path, harm: object) -> None:
    save(tmp_path, 1)
    harm(save(tmp_path, 2))
    said: list[str] = []
    found = load_newest(tmp_path, said.append)
    assert found is not None
    assert found[0].name == "checkpoint-00000001" and found[1]["network"]["a"].tolist() == [1, 1, 1]
    assert len(said) == 1 and "checkpoint-00000002" in said[0]
    harm(found[0])
    with pytest.raises(InputError, match="remove them to begin anew"):
        load_newest(tmp_path, said.append)


def test_nothing_is_left_of_one_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="choose another output"):
        save(tmp_path / "file", 1)


def save_from(folder: Path, count: int) -> None:
    """As several ranks do: each with arrays of its own."""
    barrier = threading.Barrier(count)

    def be_rank(number: int) -> None:
        groups = {"moment1": {f"weight{number}": np.full((2, 2), number, np.float32)}}
        if number == 0:
            groups["network"] = {"weight0": np.ones(2, np.float32)}
        save_checkpoint(folder, 7, groups, {"buffer": [number]}, number, count, barrier.wait)

    threads = [threading.Thread(target=be_rank, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_several_ranks_write_one(tmp_path: Path) -> None:
    save_from(tmp_path, 3)
    groups, state = load_checkpoint(tmp_path / "checkpoint-00000007")
    assert {name: array[0, 0] for name, array in groups["moment1"].items()} == {
        "weight0": 0,
        "weight1": 1,
        "weight2": 2,
    }
    assert list(groups["network"]) == ["weight0"]
    assert [each["buffer"] for each in state["of_ranks"]] == [[0], [1], [2]]
    (tmp_path / "checkpoint-00000007/state.1.json").unlink()
    with pytest.raises(InputError, match="is no checkpoint"):
        load_checkpoint(tmp_path / "checkpoint-00000007")


def test_paddles_loader_reads_what_several_ranks_wrote(tmp_path: Path) -> None:
    if not hasattr(paddle.distributed, "load_state_dict"):
        pytest.skip("this Paddle was built without paddle.distributed")
    save_from(tmp_path, 2)
    wanted = {f"moment1/weight{number}": paddle.zeros([2, 2]) for number in range(2)}
    wanted["network/weight0"] = paddle.zeros([2])
    folder = shutil.copytree(tmp_path / "checkpoint-00000007", tmp_path / "copy")
    paddle.distributed.load_state_dict(wanted, str(folder), safetensors=True)
    assert [float(each.sum()) for each in wanted.values()] == [0, 4, 2]


def test_a_killed_run_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    whole, killed, steps = kill_and_resume(tmp_path, kills=3, seed=1)
    assert whole == killed and len(steps) == 3


def test_workers_do_not_outlive_a_killed_training(tmp_path: Path) -> None:
    code = (
        "from tablerec.training.data.feed import SampleFeed\n"
        "from tablerec.training.data.samples import Canvas\n"
        "if __name__ == '__main__':\n"
        "    feed = SampleFeed('tests.helpers.grids:draw_ruled', 0, Canvas(96, 32), 1)\n"
        "    feed.take(wait=True)\n"
        "    print('drawn', flush=True)\n"
        "    input()\n"
    )
    script = tmp_path / "feed.py"
    script.write_text(code)
    root = Path(__file__).resolve().parents[3]
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "drawn\n"
        process.kill()
        process.communicate(timeout=30)  # until the worker too has closed the other end


def test_what_a_checkpoint_says_of_itself(tmp_path: Path) -> None:
    state = json.loads((save(tmp_path, 5) / "state.json").read_text())
    assert state["step"] == 5 and state["ranks"] == 1 and state["seconds_to_save"] >= 0
    assert list(state["sums"]) == ["network.safetensors"]
