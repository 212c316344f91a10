"""Frozen weights in fewer bits: the error is bounded, the gradients pass, the memory is less."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

paddle = pytest.importorskip("paddle")

from paddle import nn  # noqa: E402

from tablerec.models.cellnet import CellNet  # noqa: E402
from tablerec.training.memory import current_memory, recompute_parts  # noqa: E402
from tablerec.training.methods.frozen import keep_frozen  # noqa: E402
from tablerec.training.methods.lora import add_lora  # noqa: E402
from tablerec.training.settings import LoRA  # noqa: E402

BOUND = {"bfloat16": 2**-8, "float16": 2**-11, "int8": 1 / 254}
"""Greatest error of a weight, of the largest one of its output."""

LAYERS: list[tuple[Callable[[], nn.Layer], list[int]]] = [
    (lambda: nn.Linear(6, 5), [3, 4, 6]),
    (lambda: nn.Linear(6, 5, bias_attr=False), [3, 6]),
    (lambda: nn.Conv2D(6, 4, 1), [2, 6, 7, 8]),
    (lambda: nn.Conv2D(6, 4, 3, stride=2, padding=1), [2, 6, 9, 12]),
    (lambda: nn.Conv2D(6, 6, 5, padding=2, groups=6, bias_attr=False), [2, 6, 9, 8]),
    (lambda: nn.Conv2D(6, 4, (3, 1), padding=(2, 0), dilation=2, groups=2), [2, 6, 9, 8]),
]


def freeze(net: nn.Layer) -> None:
    for parameter in net.parameters():
        parameter.stop_gradient = True


@pytest.mark.parametrize("kept", BOUND)
@pytest.mark.parametrize("case", LAYERS)
def test_outputs_and_gradients_are_those_of_the_rounded_weight(case: tuple, kept: str) -> None:
    paddle.seed(3)
    layer = nn.Sequential(case[0]())
    before = layer[0].weight.numpy()
    freeze(layer)
    keep_frozen(layer, kept)
    rounded = layer[0].weight.numpy()
    axes = (0,) if before.ndim == 2 else (1, 2, 3)
    assert (np.abs(rounded - before) <= BOUND[kept] * np.abs(before).max(axes, keepdims=True) * 1.001).all()
    plain = nn.Sequential(case[0]())
    plain[0].weight.set_value(rounded)
    if plain[0].bias is not None:
        plain[0].bias.set_value(layer[0].bias)
    results = []
    for net in (layer, plain):
        x = paddle.to_tensor(np.random.default_rng(0).normal(size=case[1]).astype(np.float32), stop_gradient=False)
        y = net(x)
        (y * y).sum().backward()
        results.append((y.numpy(), x.grad.numpy(), net(x.detach()).numpy()))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_what_learns_stays_whole() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Conv2D(4, 4, 3, padding="SAME"))
    net[0].weight.stop_gradient = net[2].weight.stop_gradient = True
    keep_frozen(net, "int8")
    assert set(net.state_dict()) == {"0.bias", "0.kept", "0.kept_scale", "1.weight", "1.bias", "2.weight", "2.bias"}


def test_float32_changes_nothing() -> None:
    net = nn.Sequential(nn.Linear(4, 4))
    freeze(net)
    assert keep_frozen(net, "float32") == 0
    assert set(net.state_dict()) == {"0.weight", "0.bias"}


@pytest.mark.parametrize(("kept", "share"), [("bfloat16", 0.51), ("float16", 0.51), ("int8", 0.28)])
def test_the_weights_take_less_memory(kept: str, share: float) -> None:
    start = current_memory("cpu")
    net = nn.Sequential(*(nn.Linear(256, 256, bias_attr=False) for _ in range(8)))
    whole = current_memory("cpu") - start
    freeze(net)
    saved = keep_frozen(net, kept)
    assert current_memory("cpu") - start == pytest.approx(whole - saved, abs=5000)
    assert whole - saved < share * whole


def test_lora_learns_over_int8_and_recomputed_parts() -> None:
    paddle.seed(0)
    net = CellNet(widths=(8, 8, 16, 16, 16), depths=(0, 1, 0, 1), pyramid=(16, 16))
    images = paddle.rand([1, 3, 64, 64]) * 255
    net.eval()
    whole = net(images)
    freeze(net)
    add_lora(net, LoRA(rank=2))
    keep_frozen(net, "int8")
    assert float((net(images) - whole).abs().max()) < 0.05 * float(whole.abs().max())
    gradients = []
    for _ in range(2):
        net.train()
        (net(images) ** 2).mean().backward()
        gradients.append([each.grad.numpy() for each in net.parameters() if not each.stop_gradient])
        net.clear_gradients()
        recompute_parts(net, ["stage8", "up8", "maps"])  # the second time
    assert any(np.abs(each).max() > 0 for each in gradients[0])
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)
