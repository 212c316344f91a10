"""Whole networks in the bench: the settings, and runs on the simulated device at small shapes."""

from __future__ import annotations

import pytest

from tablerec.devices.bench.networks import NETWORKS, find_network
from tablerec.devices.bench.runs import ModelRun, ModelSpeed
from tablerec.errors import SettingsError
from tests.helpers.devices.plugin_process import ask, device, needs_device


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"network": "resnet"}, "network 'resnet' is unknown"),
        ({"dtype": "int8"}, "dtype 'int8' is unknown"),
        ({"mode": "onnx"}, "mode 'onnx' is unknown"),
        ({"amp": "O3", "dtype": "float16"}, "amp 'O3' is unknown"),
        ({"amp": "O1"}, "needs half precision"),
        ({"mode": "static"}, "is for inference"),
        ({"mode": "static", "train": False, "dtype": "bfloat16"}, "static graphs"),
        ({"size": 100}, "multiple of 32"),
    ],
)
def test_settings_that_do_not_fit_are_named(options: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        ModelRun(**{"network": "cellnet", **options})


def test_a_run_takes_the_networks_own_batch_and_size() -> None:
    assert ModelRun("cellnet").pictures == (32, 960)
    assert ModelRun("rtdetr_l", batch=1, train=False).pictures == (1, 640)
    assert all(find_network(name).size % 32 == 0 for name in NETWORKS)


def test_lines_of_a_device_without_counters() -> None:
    speed = ModelSpeed(ModelRun("cellnet", 2, 64), 0.5, 4.0, None, {}, {})
    assert speed.lines() == ["cellnet 2x64 float32, training: 4.0 images/s, 500.00 ms a step"]


@needs_device
def test_a_network_on_the_simulated_device() -> None:
    arguments = ("--model", "cellnet_reduced", "--batch", 1, "--size", 32, "--steps", 5, "--flat", 3)
    done = device("bench", "--plugin", "simulated", *arguments)
    assert done.returncode == 0, done.stderr
    assert "images/s" in done.stdout and "conv2d_grad" in done.stdout
    assert "0 device_to_host_copies, 0 host_to_device_copies" in done.stdout
    held = next(line for line in done.stdout.splitlines() if "memory held" in line).split()
    assert held[2] == held[4]


@needs_device
def test_float32_and_tf32_are_two_runs() -> None:
    done = device("bench", "--plugin", "simulated", "--dtype", "float32", "--dtype", "tf32")
    assert done.returncode == 2 and "in two runs" in done.stderr


@needs_device
def test_a_profile_counts_launches_and_time() -> None:
    code = """
paddle.set_device(plugin.device)
x = paddle.ones([1000])
with plugin.profile() as idle:
    pass
with plugin.profile() as times:
    y = (x + x) * x + x
outside = x + x
with plugin.profile() as again:
    z = x * x
answer([idle, {name: [t.launches, t.milliseconds] for name, t in times.items()}, sorted(again)])
"""
    idle, times, again = ask(code)
    assert idle == {} and again == ["multiply"]
    assert {name: launches for name, (launches, _) in times.items()} == {"add": 2, "multiply": 1}
    assert all(milliseconds > 0 for _, milliseconds in times.values())


@needs_device
def test_static_graphs_have_kernels_for_what_dygraph_does_by_views() -> None:
    code = """
import numpy as np
paddle.enable_static()
x = paddle.static.data("x", [3, 1, 4], "float32")
y = x * 2
views = [y.squeeze(1), y.unsqueeze(0), y[:, :, 1], y.detach() + 1, y]
run = paddle.static.Executor(paddle.CustomPlace(plugin.device, 0)).run
given = {"x": np.arange(12, dtype="float32").reshape(3, 1, 4)}
run(feed=given, fetch_list=views)
plugin.reset()
found = run(feed=given, fetch_list=views)
answer([[one.tolist() for one in found], plugin.kernels(), plugin.counters()["device_to_host_copies"]])
"""
    (squeezed, unsqueezed, cut, detached, whole), kernels, copies = ask(code)
    assert squeezed == [row[0] for row in whole] and unsqueezed == [whole]
    assert cut == [[row[0][1]] for row in whole] and detached[2][0][3] == whole[2][0][3] + 1 == 23
    assert kernels["squeeze"] == kernels["unsqueeze"] == kernels["slice"] == 1 and copies == 5
