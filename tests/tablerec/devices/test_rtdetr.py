"""RT-DETR, reduced, on the simulated device with the CPU fallback off."""

from __future__ import annotations

import importlib.util

import pytest

from tests.tablerec.devices.plugin_process import ask, needs_device

pytestmark = [
    needs_device,
    pytest.mark.skipif(importlib.util.find_spec("paddlex") is None, reason="needs PaddleX"),
]


@pytest.mark.parametrize("network", ["small_detector", "rtdetr_reduced"])
def test_ten_steps_of_training_follow_the_cpu(network: str) -> None:
    code = f"""
from tablerec.devices.parity import compare_network
plugin.reset()
t = compare_network(plugin.device, {network!r}, steps=10)
answer([t.losses, t.loss_error, t.parameter_error, plugin.kernels()])
"""
    losses, loss_error, parameter_error, kernels = ask(code)
    assert len(losses) == 10 and losses[-1] < losses[0]
    assert loss_error < 1e-4
    assert parameter_error < 1e-4
    assert kernels["conv2d_grad"] and kernels["adamw"]


@pytest.mark.parametrize("prepared", [False, True])
def test_boxes_agree_with_the_cpu(prepared: bool) -> None:
    code = f"""
from tablerec.devices.bench import compare_boxes
check = compare_boxes(plugin.device, reduced=True, size=64, prepared={prepared})
answer([check.queries, check.same_queries, check.pixels, check.logits])
"""
    queries, same, pixels, logits = ask(code)
    assert queries == 20 and same >= 19
    assert pixels < 0.01 and logits < 1e-3


def test_static_graphs_stay_on_the_device() -> None:
    code = """
import tempfile
from pathlib import Path
from tablerec.devices.bench import inference_network, _predictor
paddle.set_device(plugin.device)
paddle.seed(0)
net = inference_network(paddle, "rtdetr_reduced", 64)
images = paddle.uniform([1, 3, 64, 64], "float32", 0, 1)
with paddle.no_grad():
    expected = net(images)
given = paddle.static.InputSpec([1, 3, 64, 64], "float32")
static = paddle.jit.to_static(net, input_spec=[given], full_graph=True)
with paddle.no_grad():
    static(images)
    plugin.reset()
    found = static(images)
    counters, kernels = plugin.counters(), plugin.kernels()
with tempfile.TemporaryDirectory() as folder:
    paddle.jit.save(static, folder + "/net")
    run = _predictor(plugin.device, Path(folder) / "net", images)
    run()
    plugin.reset()
    run()
    predicted = plugin.counters()
apart = [float((a - b).abs().max()) for a, b in zip(expected, found)]
answer([apart, counters, kernels, predicted])
"""
    apart, counters, kernels, predicted = ask(code)
    assert max(apart) < 1e-4
    for counted in (counters, predicted):
        assert counted["kernels"] > 400
        assert counted["device_to_host_copies"] == counted["host_to_device_copies"] == 0
    assert {"slice", "unsqueeze", "transpose"} <= set(kernels)
