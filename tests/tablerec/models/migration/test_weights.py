"""PyTorch's names and layouts become Paddle's."""

from __future__ import annotations

import numpy as np
import pytest

from tablerec.errors import InputError
from tablerec.models.migration.weights import compare_fresh, draw_weights, load_weights, spreads_of

paddle = pytest.importorskip("paddle")
SHAPES = {
    "0.weight": (8, 3, 3, 3),
    "0.bias": (8,),
    "1.weight": (8,),
    "1.bias": (8,),
    "1.running_mean": (8,),
    "1.running_var": (8,),
    "2.weight": (5, 8),
    "2.bias": (5,),
}


def make() -> paddle.nn.Layer:
    return paddle.nn.Sequential(paddle.nn.Conv2D(3, 8, 3), paddle.nn.BatchNorm2D(8), paddle.nn.Linear(8, 5))


def test_weights_without_names_are_nothing() -> None:
    assert draw_weights({}) == {} and spreads_of({}) == {} and compare_fresh({}, {}) == []


def test_drawn_weights_depend_on_seed_and_name() -> None:
    a, b = draw_weights(SHAPES), draw_weights(dict(reversed(SHAPES.items())))
    assert all((a[name] == b[name]).all() and a[name].shape == SHAPES[name] for name in SHAPES)
    assert not (a["1.weight"] == a["1.bias"]).any()
    assert not (a["2.bias"] == draw_weights(SHAPES, seed=1)["2.bias"]).any()
    assert (a["1.running_var"] > 0).all()


def test_statistics_are_renamed_and_linear_layers_turned() -> None:
    net, arrays = make(), draw_weights(SHAPES)
    given = {**arrays, "1.num_batches_tracked": np.array(7)}
    assert load_weights(given, net) == ["2.weight"]
    state = net.state_dict()
    assert (state["1._mean"].numpy() == arrays["1.running_mean"]).all()
    assert (state["1._variance"].numpy() == arrays["1.running_var"]).all()
    x = np.random.default_rng(0).random((2, 8), np.float32)
    expected = x @ arrays["2.weight"].T + arrays["2.bias"]
    np.testing.assert_allclose(net[2](paddle.to_tensor(x)).numpy(), expected, rtol=1e-5)


def test_compatible_linear_layers_stay() -> None:
    net, arrays = (
        paddle.nn.Sequential(paddle.compat.nn.Linear(8, 5)),
        draw_weights({"0.weight": (5, 8), "0.bias": (5,)}),
    )
    assert load_weights(arrays, net) == []
    assert (net.state_dict()["0.weight"].numpy() == arrays["0.weight"]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"0.weight": None}, "missing 0.weight, unknown none"),
        ({"other": (3,)}, "missing none, unknown other"),
        ({"0.bias": (9,)}, r"0.bias is \[9\], in the converted network \[8\]"),
    ],
)
def test_weights_of_another_network_are_refused(change: dict, message: str) -> None:
    shapes = {name: shape for name, shape in {**SHAPES, **change}.items() if shape is not None}
    with pytest.raises(InputError, match=message):
        load_weights(draw_weights(shapes), make())


def test_fresh_weights_of_another_spread_are_named() -> None:
    rng = np.random.default_rng(0)
    torch_like = {"a.weight": rng.normal(0, 1, 1000), "b.running_var": rng.random(500), "c": np.ones(3)}
    like = spreads_of({"a.weight": rng.normal(0, 1.1, 1000), "b._variance": rng.random(500), "c": np.zeros(3)})
    assert compare_fresh(spreads_of(torch_like), like) == []
    assert compare_fresh(spreads_of(torch_like), {**like, "a.weight": 2.0}) == ["a.weight"]
