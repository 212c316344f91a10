"""Runs that learn little or keep little: they learn, go on exactly, and leave plain weights and an adapter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tablerec.cli import command
from tablerec.errors import InputError, SettingsError, TrainingError
from tablerec.settings_fields import change
from tablerec.training import train
from tablerec.training.settings import LoRA, TrainSettings
from tests.helpers.training import NETWORK, losses, make_settings, settings

paddle = pytest.importorskip("paddle")

from tablerec.models.adapter import apply_adapter  # noqa: E402
from tablerec.models.arrays import arrays_to_network, load_arrays, network_to_arrays  # noqa: E402
from tablerec.models.cellnet import CellNet  # noqa: E402
from tablerec.training.checkpoint import checkpoints, load_checkpoint  # noqa: E402
from tablerec.training.methods.optimizer import (  # noqa: E402
    AdamW8bit,
    load_optimizer,
    make_optimizer,
    optimizer_arrays,
)
from tablerec.training.methods.precision import LossScale, check_precision  # noqa: E402


@pytest.fixture(scope="module")
def initial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(settings(tmp_path_factory.mktemp("initial"), steps=3, validation_samples=0))


def from_initial(output: Path, initial: Path, **changes: object) -> TrainSettings:
    return settings(output, initial=initial, steps=4, validation_samples=0, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"trainable": "lora", "lora": LoRA(rank=2)},
        {"trainable": "head", "optimizer_name": "adamw8bit"},
        {"trainable": "norm_bias", "recompute": "all"},
        {"optimizer_name": "adamw8bit"},
        {"trainable": "lora+head", "frozen_precision": "int8"},
    ],
)
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path: Path, initial: Path, changes: dict) -> None:
    train(from_initial(tmp_path / "whole", initial, **changes))
    half = from_initial(tmp_path / "half", initial, checkpoint_every=2, **changes)
    train(half)
    # The run goes on from its first half.
    newest = checkpoints(tmp_path / "half")[-1]
    for file in newest.iterdir():
        file.unlink()
    newest.rmdir()
    train(half)
    assert losses(tmp_path / "half") == losses(tmp_path / "whole")
    one, other = (load_checkpoint(checkpoints(tmp_path / name)[-1])[0] for name in ("half", "whole"))
    for group, arrays in one.items():
        assert all((array == other[group][name]).all() for name, array in arrays.items()), group


def test_an_adapter_goes_with_the_weights_it_was_trained_on(tmp_path: Path, initial: Path) -> None:
    weights = load_arrays(train(from_initial(tmp_path, initial, trainable="lora+norm_bias", lora=LoRA(rank=2))))
    before = load_arrays(initial)
    assert weights.keys() == before.keys() and any((weights[name] != before[name]).any() for name in before)
    net = CellNet(**NETWORK)
    arrays_to_network(before, net)
    apply_adapter(net, tmp_path / "adapter.safetensors")
    for name, array in network_to_arrays(net).items():
        if not name.endswith(("._mean", "._variance")):
            np.testing.assert_allclose(array, weights[name], atol=1e-6)
    sizes = [file.stat().st_size for file in checkpoints(tmp_path)[-1].glob("network.safetensors")]
    assert sizes[0] < initial.stat().st_size


def test_frozen_weights_and_statistics_are_those_given(tmp_path: Path, initial: Path) -> None:
    weights, before = load_arrays(train(from_initial(tmp_path, initial, trainable="head"))), load_arrays(initial)
    same = {name for name, array in weights.items() if (array == before[name]).all()}
    assert {name for name in weights if not name.startswith(("up4.", "head.", "maps."))} <= same
    assert len(same) < len(weights)


def test_recomputed_runs_are_the_same(tmp_path: Path) -> None:
    for recompute in ("none", "all", "auto"):
        train(settings(tmp_path / recompute, steps=3, validation_samples=0, recompute=recompute, limit_gb=1.0))
    assert losses(tmp_path / "none") == losses(tmp_path / "all") == losses(tmp_path / "auto")


def test_too_little_memory_is_said_before_the_first_step(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"lower data\.batch_size"):
        train(settings(tmp_path, steps=3, validation_samples=0, recompute="auto", limit_gb=1e-3))


def test_other_weights_under_a_run_are_noticed(tmp_path: Path, initial: Path) -> None:
    chosen = from_initial(tmp_path, initial, trainable="head")
    train(chosen)
    with pytest.raises(InputError, match="other initial weights"):
        train(change(chosen, {"initial": None}))


def problem(kind: str, steps: int) -> tuple[float, object, dict]:
    """Fit a small network with an optimizer; the last loss."""
    paddle.seed(1)
    net = paddle.nn.Sequential(paddle.nn.Linear(32, 256), paddle.nn.Tanh(), paddle.nn.Linear(256, 8))
    rng = np.random.default_rng(0)
    x = paddle.to_tensor(rng.normal(size=(256, 32)).astype(np.float32))
    y = paddle.to_tensor(np.tanh(rng.normal(size=(256, 8)) + x.numpy()[:, :8]).astype(np.float32))
    chosen = make_settings(optimizer_name=kind, learning_rate=3e-3, weight_decay=0.01)
    parameters = dict(net.named_parameters())
    optimizer = make_optimizer(parameters, chosen.optimizer)
    loss = paddle.zeros([1])
    for _ in range(steps):
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return float(loss), optimizer, parameters


def state_bytes(optimizer: object, parameters: dict) -> int:
    groups = optimizer_arrays(optimizer, parameters).values()
    return sum(array.nbytes for group in groups for array in group.values())


def test_eight_bits_converge_as_adamw_with_a_quarter_of_the_state() -> None:
    results = [problem(kind, 150) for kind in ("adamw", "adamw8bit")]
    (plain, small), sizes = (each[0] for each in results), [state_bytes(*each[1:]) for each in results]
    first = problem("adamw", 1)[0]
    assert abs(small - plain) < 0.02 * (first - plain) and plain < 0.5 * first
    assert sizes[1] < sizes[0] / 3.8


def test_the_state_of_eight_bits_goes_around_exactly() -> None:
    _, optimizer, parameters = problem("adamw8bit", 5)
    groups = optimizer_arrays(optimizer, parameters)
    other = problem("adamw8bit", 1)[1]
    load_optimizer(other, parameters, groups)
    again = optimizer_arrays(other, parameters)
    assert all((array == again["moments8bit"][name]).all() for name, array in groups["moments8bit"].items())
    _, adamw, of_adamw = problem("adamw", 1)
    for one, names, wrong in ((other, parameters, optimizer_arrays(adamw, of_adamw)), (adamw, of_adamw, groups)):
        with pytest.raises(InputError, match="another optimizer"):
            load_optimizer(one, names, wrong)
    few = AdamW8bit(list(parameters.values())[:1], [0.0], 1e-3, lambda pairs: pairs)
    with pytest.raises(InputError, match="other parameters"):
        load_optimizer(few, parameters, groups)


def test_many_parameters_are_updated_in_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablerec.training.methods.optimizer.BUCKET", 3000)
    loss, optimizer, _ = problem("adamw8bit", 150)
    assert len(optimizer._buckets) > 1
    monkeypatch.undo()
    assert loss == pytest.approx(problem("adamw8bit", 150)[0], rel=0.2)


def test_the_scale_of_the_loss_follows_the_gradients() -> None:
    scale, weight = LossScale(8.0, patience=2), paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    unused = paddle.to_tensor([1.0], stop_gradient=False)
    for factor, finite, value in ((1.0, True, 8.0), (1.0, True, 16.0), (float("nan"), False, 8.0), (1.0, True, 8.0)):
        (weight * scale.value * factor).sum().backward()
        assert scale.undo([weight, unused]) is finite and scale.value == value
        assert not finite or weight.grad.tolist() == [1.0, 1.0]
        weight.clear_gradient()
    scale.value = 2.0**-11
    (weight * float("inf")).sum().backward()
    with pytest.raises(TrainingError, match="at no scale"):
        scale.undo([weight])


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_a_precision_that_the_device_lacks_is_named(precision: str) -> None:
    with pytest.raises(SettingsError, match=f"precision '{precision}'"):
        check_precision(precision)


def test_an_adapter_is_exported_with_its_weights(tmp_path: Path, initial: Path) -> None:
    chosen = from_initial(tmp_path / "run", initial, trainable="lora", lora=LoRA(rank=2), learning_rate=0.05)
    weights = train(chosen)
    done = []
    adapter = str(tmp_path / "run" / "adapter.safetensors")
    for name, arguments in (("with", [initial, "--adapter", adapter]), ("whole", [weights])):
        texts = ["export", *map(str, arguments), "--output", str(tmp_path / name)]
        result = CliRunner().invoke(command, texts)
        assert result.exit_code == 0, result.output
        done.append(load_arrays(tmp_path / name))
    assert all(np.allclose(array, done[1][name], atol=1e-6) for name, array in done[0].items())
    wrong = ["export", str(weights), "--adapter", adapter, "-o", str(tmp_path / "no")]
    result = CliRunner().invoke(command, wrong)
    assert result.exit_code == 1 and "trained on other weights" in result.output
