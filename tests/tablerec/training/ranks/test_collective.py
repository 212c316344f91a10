"""Ranks learn together as one process would from all of their samples, with one all-reduce for each step."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tablerec.errors import SettingsError, TrainingError
from tablerec.training import train
from tablerec.training.settings import TrainSettings
from tests.helpers.grids import draw_ruled
from tests.helpers.training import losses, make_settings, settings

paddle = pytest.importorskip("paddle")
if not hasattr(paddle.distributed, "all_reduce"):
    pytest.skip("this Paddle was built without paddle.distributed", allow_module_level=True)

from tablerec.models.arrays import trainable  # noqa: E402
from tablerec.training.checkpoint import checkpoints, load_checkpoint  # noqa: E402
from tablerec.training.methods.optimizer import make_optimizer, optimizer_arrays  # noqa: E402
from tablerec.training.ranks.collective import Ranks, join_ranks  # noqa: E402

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def make_net(*, norm: bool) -> paddle.nn.Layer:
    paddle.seed(5)
    middle = [paddle.nn.BatchNorm2D(4)] if norm else []
    return paddle.nn.Sequential(
        paddle.nn.Conv2D(3, 4, 3, bias_attr=False),
        *middle,
        paddle.nn.ReLU(),
        paddle.nn.Flatten(),
        paddle.nn.Linear(4 * 36, 2),
    )


KINDS = {"plain": {}, "norm": {}, "sharded": {"shard_optimizer": True}}


def learn(kind: str, ranks: Ranks, mine: list[int], steps: int) -> tuple[dict[str, np.ndarray], int]:
    """Take steps on the batches of this rank, each with a weight; returns all numbers, and the bytes of the state."""
    net = make_net(norm=kind == "norm")
    parameters = trainable(net)
    chosen = make_settings(learning_rate=0.01, max_grad_norm=0.1, **KINDS[kind])
    optimizer = make_optimizer(parameters, chosen.optimizer, sharded=kind == "sharded" and ranks.count > 1)
    said = []
    for step in range(steps):
        total, sums = 0.0, paddle.zeros([1])
        for number in mine:
            rng = np.random.default_rng([step, number])
            loss = net(paddle.to_tensor(rng.random((2, 3, 8, 8), np.float32))).square().mean()
            (loss * (number + 1)).backward()
            total, sums = total + number + 1, sums + loss.detach() * (number + 1)
        said.append(ranks.mean_gradients(list(parameters.values()), total, sums).tolist())
        optimizer.step()
        optimizer.clear_grad()
    ranks.mean_statistics(net)
    arrays = {name: each.numpy() for name, each in net.state_dict().items()}
    state = {
        f"{group}/{name}": array
        for group, moments in optimizer_arrays(optimizer, parameters).items()
        for name, array in moments.items()
    }
    return {"losses": np.array(said), **arrays, **state}, sum(array.nbytes for array in state.values())


def be_rank(folder: str) -> None:
    """What each of the two processes does."""
    with join_ranks(make_settings(Path(folder), ranks=2, shard_optimizer=True)) as ranks:
        for kind in KINDS:
            reduced = ranks.n_reduced
            arrays, size = learn(kind, ranks, [2 * ranks.number, 2 * ranks.number + 1], 3)
            np.savez(f"{folder}/{ranks.number}-{kind}.npz", size=size, **arrays)
            assert ranks.n_reduced - reduced == 3 + (kind == "norm")  # a step each, and the statistics
        assert ranks.exchange(ranks.number) == [0, 1]


def test_two_ranks_learn_as_one(tmp_path: Path) -> None:
    script = tmp_path / "be_rank.py"
    script.write_text(
        f"from tests.tablerec.training.ranks.test_collective import be_rank\nbe_rank({str(tmp_path)!r})\n"
    )
    launch = [sys.executable, "-m", "paddle.distributed.launch", "--nproc_per_node", "2", "--log_dir", str(tmp_path)]
    done = subprocess.run([*launch, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for kind in KINDS:
        alone, size = learn(kind, Ranks(), [0, 1, 2, 3], 3)
        one, two = (dict(np.load(tmp_path / f"{number}-{kind}.npz")) for number in range(2))
        sizes = [int(each.pop("size")) for each in (one, two)]
        if kind == "sharded":  # each has a part of the state, and together they have all of it
            moments = [{name for name in each if "/" in name} for each in (one, two)]
            assert moments[0] and moments[1] and not moments[0] & moments[1]
            assert sum(sizes) == size and max(sizes) < size
        for name in one.keys() & two.keys():
            np.testing.assert_array_equal(one[name], two[name])
        together = {**one, **two}
        assert together.keys() == alone.keys()
        for name, array in alone.items():
            # The normalization sees each batch alone, here as there; only its running statistics go other ways.
            tolerance = 0.2 if name.endswith(("_mean", "_variance")) else 1e-5
            np.testing.assert_allclose(together[name], array, tolerance, tolerance, err_msg=name)


def test_one_rank_has_nothing_to_reduce() -> None:
    learn("norm", ranks := Ranks(), [0], 2)
    assert (ranks.n_reduced, ranks.n_bytes, ranks.exchange("a")) == (0, 0, ["a"])
    with join_ranks(make_settings()) as alone:
        assert (alone.number, alone.count) == (0, 1)


def test_each_rank_has_a_device_of_its_own() -> None:
    def devices(device: str, ranks: int) -> list[str]:
        chosen = make_settings(device=device, ranks=ranks)
        return [chosen.device_of(rank) for rank in range(ranks)]

    assert devices("gpu", 2) == ["gpu:0", "gpu:1"]
    assert devices("tablerec_gpu:3,1", 2) == ["tablerec_gpu:3", "tablerec_gpu:1"]
    assert devices("cpu", 2) == ["cpu", "cpu"]
    assert devices("gpu:5", 1) == ["gpu:5"]
    with pytest.raises(SettingsError, match="names 3 devices for 2 ranks"):
        devices("gpu:0,1,2", 2)


def test_a_run_of_two_ranks_goes_on_and_changes_their_number(tmp_path: Path) -> None:
    def two(name: str, **changes: object) -> TrainSettings:
        few = {"accumulation_steps": 2, "batch_size": 2, "validation_samples": 1, "validation_pictures": 0}
        return settings(tmp_path / name, ranks=2, shard_optimizer=True, **few, **changes)

    weights = train(two("whole", steps=4, checkpoint_every=2))
    assert weights == tmp_path / "whole/cellnet.safetensors" and weights.is_file()
    # One all-reduce a step, however many batches; one more for the statistics of each checkpoint.
    lines = [json.loads(line) for line in (tmp_path / "whole/log.jsonl").read_text().splitlines()]
    assert [line["all_reduces"] for line in lines] == [1, 2, 4, 5]
    _, state = load_checkpoint(checkpoints(tmp_path / "whole")[-1])
    assert [{index % 2 for index in each["buffer"]} for each in state["of_ranks"]] == [{0}, {1}]

    (tmp_path / "again").mkdir()
    checkpoints(tmp_path / "whole")[0].rename(tmp_path / "again/checkpoint-00000002")
    train(two("again", steps=4, checkpoint_every=2))
    assert losses(tmp_path / "again")[-2:] == losses(tmp_path / "whole")[-2:]

    train(settings(tmp_path / "again", steps=5))  # alone, from what both had
    _, state = load_checkpoint(checkpoints(tmp_path / "again")[-1])
    assert state["step"] == 5 and state["ranks"] == 1


def fails_for_odd(index: int) -> object:
    if index % 2:
        raise ValueError("odd")
    return draw_ruled(index)


def dies_for_odd(index: int) -> object:
    if index % 2 and index > 20:
        os.kill(os.getpid(), signal.SIGKILL)
    return draw_ruled(index)


@pytest.mark.parametrize(("source", "word"), [("fails_for_odd", "ValueError: odd"), ("dies_for_odd", "has failed")])
def test_a_rank_that_ends_ends_all(tmp_path: Path, source: str, word: str) -> None:
    source = f"tests.tablerec.training.ranks.test_collective:{source}"
    with pytest.raises(TrainingError, match=word):
        train(settings(tmp_path, ranks=2, steps=10_000, max_images_per_canvas=1, source=source, validation_samples=0))


def test_a_signal_ends_all_after_a_checkpoint(tmp_path: Path) -> None:
    said: list[str] = []

    def report(line: str) -> None:
        said.append(line)
        if line.startswith("step 3 "):
            os.kill(os.getpid(), signal.SIGTERM)

    train(settings(tmp_path, steps=10_000, ranks=2, checkpoint_every=10_000, validation_samples=0), report)
    assert len(checkpoints(tmp_path)) == 1 and any("the same command goes on" in line for line in said)
