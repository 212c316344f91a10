"""Operators in the bench: their shapes are those of the networks, and they run on the simulated device."""

from __future__ import annotations

import importlib.util
import json

import pytest

from tablerec.devices.bench import workloads as lists
from tablerec.devices.bench.operators import Ceilings, OperatorTime
from tablerec.devices.bench.workloads import FULL, TINY, workloads
from tests.helpers.devices.plugin_process import ask, device, needs_device

CONVOLUTIONS = """
from tablerec.devices.bench.networks import find_network
paddle.set_device("cpu")
net = find_network({name!r}).make()
net.eval()
found = set()
def note(layer, given):
    at = [320 / size for size in given[0].shape[2:]]
    found.add((layer._in_channels, layer._out_channels, *layer._kernel_size, layer._stride[0], layer._groups, *at))
for layer in net.sublayers():
    if isinstance(layer, paddle.nn.Conv2D):
        layer.register_forward_pre_hook(note)
with paddle.no_grad():
    net(paddle.zeros([1, 3, 320, 320]))
answer(sorted(found))
"""


@needs_device
def test_the_convolutions_are_those_of_cellnet() -> None:
    squares = {
        (into, out, kernel, kernel, stride, groups, at, at)
        for into, out, kernel, stride, groups, at in lists.CELLNET_CONVOLUTIONS
    }
    down = {(into, out, 9, 1, 1, 1, at, 320) for into, out, at in lists.CELLNET_STRIPS}
    across = {(into, out, 1, 9, 1, 1, 320, at) for into, out, at in lists.CELLNET_STRIPS}
    assert squares | down | across == set(map(tuple, ask(CONVOLUTIONS.format(name="cellnet"))))


@needs_device
@pytest.mark.skipif(importlib.util.find_spec("paddlex") is None, reason="needs PaddleX")
def test_the_convolutions_are_some_of_rtdetr() -> None:
    found = set(map(tuple, ask(CONVOLUTIONS.format(name="rtdetr_l"))))
    for into, out, kernel, stride, groups, at in lists.RTDETR_CONVOLUTIONS:
        if kernel % 2:  # the others are padded on one side first
            assert (into, out, kernel, kernel, stride, groups, at, at) in found


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


@needs_device
def test_operators_on_the_simulated_device() -> None:
    done = device("bench", "--plugin", "simulated", "--tiny", "--match", "softmax ", "--json")
    assert done.returncode == 0, done.stderr
    ceilings, *found = map(json.loads, done.stdout.splitlines())
    assert ceilings["ceilings"]["bytes_per_second"] > 0
    assert len(found) == 4 and {spent["part"] for spent in found} == {"forward", "gradient"}
    assert all(spent["seconds"] > 0 and spent["kernel_seconds"] > 0 and spent["floor"] > 0 for spent in found)
    assert found == sorted(found, key=lambda spent: -spent["ratio"])
