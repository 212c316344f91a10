"""Outputs of layers: the first that differs is the one that was spoilt."""

from __future__ import annotations

import numpy as np
import pytest

from tablerec.models.migration.layers import (
    compare_layers,
    compare_outputs,
    digest,
    first_difference,
    record_layers,
    worst_by_kind,
)

paddle = pytest.importorskip("paddle")


def make() -> paddle.nn.Layer:
    paddle.seed(1)
    act = paddle.nn.Tanh()
    return paddle.nn.Sequential(paddle.nn.Linear(4, 6), act, paddle.nn.Linear(6, 6), act, paddle.nn.Linear(6, 2))


def outputs(net: paddle.nn.Layer, count: int | None = None) -> dict:
    x = paddle.to_tensor(np.random.default_rng(0).random((3, 4), np.float32))
    return record_layers(net, lambda: net(x), count)


def test_nothing_recorded_has_no_difference() -> None:
    assert compare_layers({}, {}) == [] and first_difference([]) is None and worst_by_kind([]) == {}


def test_layers_are_recorded_in_the_order_in_which_they_finish() -> None:
    recorded = outputs(make())
    assert list(recorded) == ["0", "1", "2", "1(2)", "4", "network"]  # 1 and 3 are one layer, called twice
    assert recorded["4"].shape == (3, 2) and len(recorded["4"].values) == 6 and recorded["4"].kind == "Linear"
    assert len(outputs(make(), 3)["4"].values) == 3


def test_hooks_are_gone_afterwards_also_after_an_error() -> None:
    net = make()
    with pytest.raises(ZeroDivisionError):
        record_layers(net, lambda: 1 // 0)
    assert not any(layer._forward_post_hooks for layer in net.sublayers())


@pytest.mark.parametrize("spoilt", ["0", "2", "4"])
def test_the_spoilt_layer_is_the_first_to_differ(spoilt: str) -> None:
    net, other = make(), make()
    assert first_difference(compare_layers(outputs(net), outputs(other)), 1e-6) is None
    other[int(spoilt)].bias.set_value(other[int(spoilt)].bias + 0.5)
    found = first_difference(compare_layers(outputs(net), outputs(other)))
    assert found is not None and found.name == spoilt and found.kind == "Linear"
    assert worst_by_kind(compare_layers(outputs(net), outputs(other)))["Linear"].relative >= found.relative


def test_other_shapes_and_nan_are_infinitely_far() -> None:
    a = digest(np.ones((2, 3)))
    assert compare_outputs("a", a, digest(np.ones((3, 2)))).relative == float("inf")
    assert compare_outputs("a", a, digest(np.full((2, 3), np.nan))).relative == float("inf")
    assert compare_outputs("a", a, digest(np.ones((2, 3)))).relative == 0
    assert compare_outputs("a", digest(np.zeros(2)), digest(np.full(2, 0.5))).relative == 0.5


def test_pytorch_is_recorded_alike() -> None:
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh())
    recorded = record_layers(net, lambda: net(torch.zeros(1, 4)))
    assert list(recorded) == ["0", "1", "network"]
