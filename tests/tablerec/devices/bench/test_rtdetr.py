"""RT-DETR, reduced, on the simulated device with the CPU fallback off."""

from __future__ import annotations

import importlib.util

import pytest

from tests.helpers.devices.plugin_process import ask, needs_device

pytestmark = [
    needs_device,
    pytest.mark.skipif(importlib.util.find_spec("paddlex") is None, reason="needs PaddleX"),
]


def test_ten_steps_of_training_follow_the_cpu() -> None:
    code = """
from tablerec.devices.parity import compare_training
t = compare_training(plugin.device, "AdamW", "rtdetr_reduced")
answer([t.losses, t.loss_error, t.parameter_error, plugin.kernels()])
"""
    losses, loss_error, parameter_error, kernels = ask(code)
    assert len(losses) == 10 and losses[-1] < losses[0]
    assert loss_error < 1e-12 and parameter_error < 1e-10
    assert kernels["conv2d_grad"] and kernels["adamw"]


def test_boxes_agree_with_the_cpus_also_prepared_for_inference() -> None:
    code = """
import numpy as np
from tablerec.devices.bench.networks import rtdetr_l
from tablerec.models.inference import prepare_rtdetr
picture = np.random.default_rng(0).random((1, 3, 64, 64), "float32")
paddle.set_device("cpu")
paddle.seed(5)
net = rtdetr_l(reduced=True, last_alone=True)
net.eval()
def boxes():
    with paddle.no_grad():
        return net(paddle.to_tensor(picture))[1].numpy()[0]
def apart(found):  # of two that are alike, rounding decides which comes first: so from the nearest
    return float(64 * abs(found[:, None] - expected).max(-1).min(1).max())
expected = boxes()
paddle.set_device(plugin.device)
net.to(plugin.device)
as_made = apart(boxes())
prepare_rtdetr(net, 64)
answer([len(expected), as_made, apart(boxes())])
"""
    n_queries, as_made, prepared = ask(code)
    assert n_queries == 20 and as_made < 0.01 and prepared < 0.01


def test_static_graphs_stay_on_the_device() -> None:
    code = """
import tempfile
from pathlib import Path
from tablerec.devices.bench.networks import inference_network
from tablerec.devices.bench.runs import predictor_step
paddle.set_device(plugin.device)
paddle.seed(0)
net = inference_network("rtdetr_reduced", 64)
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
    run = predictor_step(plugin.device, Path(folder) / "net", images)
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
