"""Gradients of several backward passes add up in a parameter, also where one of them went through a transposing."""

from __future__ import annotations

import pytest

from tests.helpers.devices.plugin_process import ask, needs_device

pytestmark = needs_device

CODE = """
import numpy as np
found = []
for device in ("cpu", plugin.device):
    paddle.set_device(device)
    for dtype in ("float32", "float64"):
        for first in (0, 1, 2):
            weight = paddle.to_tensor(np.arange(24).reshape(2, 3, 4) / 24, dtype)
            weight.stop_gradient = False
            losses = [
                lambda: (weight.transpose([2, 0, 1]) ** 2 * paddle.arange(3, dtype=dtype)).sum(),
                lambda: (weight**3).sum(),
                lambda: (weight.transpose([1, 0, 2]) ** 2).sum(),
            ]
            for k in range(3):
                losses[(first + k) % 3]().backward()
            found.append(weight.grad.numpy().tolist())
answer([found[: len(found) // 2], found[len(found) // 2 :]])
"""


def test_a_transposed_parameter_accumulates_as_on_the_cpu() -> None:
    expected, found = ask(CODE)
    assert len(found) == 6
    for one, other in zip(expected, found, strict=True):
        assert [x for row in other for y in row for x in y] == pytest.approx(
            [x for row in one for y in row for x in y], rel=1e-6
        )


def test_axes_may_be_fewer_than_dimensions() -> None:
    """The last ones stay where they are; PaddleX's RT-DETR transposes so."""
    code = """
import numpy as np
found = []
for device in ("cpu", plugin.device):
    paddle.set_device(device)
    x = paddle.to_tensor(np.arange(120.0).reshape(2, 3, 4, 5))
    x.stop_gradient = False
    turned = paddle.transpose(x, [1, 0])
    (turned.reshape([3, -1]) ** 2).sum().backward()
    found.append([turned.numpy().tolist(), x.grad.numpy().tolist()])
answer(found)
"""
    expected, found = ask(code)
    assert found == expected
