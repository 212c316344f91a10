"""The bench: what it computes, and that it runs on the simulated device at small shapes."""

from __future__ import annotations

import json

import pytest

from tablerec.devices.bench import Ceilings, ModelRun, ModelSpeed, OperatorTime
from tablerec.devices.networks import NETWORKS, find_network
from tablerec.devices.workloads import FULL, TINY, workloads
from tablerec.errors import SettingsError
from tests.tablerec.devices.plugin_process import ask, device, needs_device


def test_the_floor_is_the_larger_of_bytes_and_operations() -> None:
    ceilings = Ceilings(100.0, {"float32": 10.0, "bfloat16": 40.0})
    assert ceilings.floor(0, 0, "float32") == 0
    assert ceilings.floor(500, 20, "float32") == 5
    assert ceilings.floor(100, 400, "bfloat16") == 10


@pytest.mark.parametrize(
    ("seconds", "kernels", "floor", "ratio"),
    [(None, None, 0.0, 0.0), (4.0, None, 2.0, 2.0), (4.0, 3.0, 2.0, 1.5), (4.0, 3.0, 0.0, 0.0)],
)
def test_the_ratio_takes_the_kernels_where_they_are_timed(
    seconds: float | None, kernels: float | None, floor: float, ratio: float
) -> None:
    assert OperatorTime("add", "float32", "forward", seconds, kernels, floor).ratio == ratio


@pytest.mark.parametrize("scale", [FULL, TINY], ids=["full", "tiny"])
def test_workloads_have_names_of_their_own_and_sound_shapes(scale) -> None:
    found = list(workloads(scale))
    assert len({workload.name for workload in found}) == len(found) > 80
    assert all(min(given.shape) > 0 for workload in found for given in workload.inputs)
    assert all(workload.operations > 0 for workload in found if "conv" in workload.name or "matmul" in workload.name)


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
        ModelRun(**{"network": "cell_detector", **options})


def test_a_run_takes_the_networks_own_batch_and_size() -> None:
    assert ModelRun("cell_detector").pictures == (32, 960)
    assert ModelRun("rtdetr_l", batch=1, train=False).pictures == (1, 640)
    assert all(find_network(name).size % 32 == 0 for name in NETWORKS)


def test_lines_of_a_device_without_counters() -> None:
    speed = ModelSpeed(ModelRun("cell_detector", 2, 64), 0.5, 4.0, None, {}, {})
    assert speed.lines() == ["cell_detector 2x64 float32, training: 4.0 images/s, 500.00 ms a step"]


@needs_device
def test_operators_on_the_simulated_device() -> None:
    done = device("bench", "--plugin", "simulated", "--tiny", "--match", "softmax", "--json")
    assert done.returncode == 0, done.stderr
    ceilings, *found = map(json.loads, done.stdout.splitlines())
    assert ceilings["ceilings"]["bytes_per_second"] > 0
    assert len(found) == 4 and {spent["part"] for spent in found} == {"forward", "gradient"}
    assert all(spent["seconds"] > 0 and spent["kernel_seconds"] > 0 and spent["floor"] > 0 for spent in found)
    assert found == sorted(found, key=lambda spent: -spent["ratio"])


@needs_device
def test_a_network_on_the_simulated_device() -> None:
    arguments = ("--model", "small_detector", "--batch", 1, "--size", 32, "--steps", 5, "--flat", 3)
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
def test_the_cell_detector_has_the_prototypes_size() -> None:
    code = """
from tablerec.devices.networks import cell_detector
net = cell_detector()
answer([sum(p.size for p in net.parameters() if not p.stop_gradient), net(paddle.zeros([1, 3, 64, 64])).shape])
"""
    count, shape = ask("paddle.set_device('cpu')\n" + code)
    assert round(count / 1e6, 2) == 3.36 and shape == [1, 10, 16, 16]


@needs_device
@pytest.mark.parametrize("network", ["small_detector", "cell_detector"])
def test_folded_norms_change_nothing(network: str) -> None:
    code = f"""
from tablerec.devices.networks import find_network, fold_norms
paddle.set_device("cpu")
net = find_network({network!r}).make()
images = paddle.uniform([2, 3, 64, 64], "float32", 0, 255)
net(images)  # statistics that are not those of the start
net.eval()
before = net(images)
count = fold_norms(net)
after = net(images)
pairs = zip(before, after)
answer([count, max(float(((a - b).abs().max() / a.abs().max())) for a, b in pairs)])
"""
    count, apart = ask(code)
    assert count > 3 and apart < 1e-4


@needs_device
def test_the_cell_detector_follows_the_cpu() -> None:
    code = """
from tablerec.devices.parity import compare_network
# The deepest batch norms see 8 values: in float32 rounding grows a thousandfold.
t = compare_network(plugin.device, "cell_detector", dtype="float64")
answer([t.losses, t.loss_error, t.parameter_error])
"""
    losses, loss_error, parameter_error = ask(code)
    assert losses[-1] < losses[0] and loss_error < 1e-5 and parameter_error < 1e-4


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
