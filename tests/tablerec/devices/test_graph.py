"""Captured graphs on the simulated device, where a replay calls the network: refusals and memory are as on a card."""

from __future__ import annotations

import pytest

from tests.helpers.devices.plugin_process import ask, device, needs_device

pytestmark = needs_device

SETUP = """
import numpy as np
from tablerec.devices.graph import CapturedNetwork, CaptureError
paddle.set_device(plugin.device)
def attempt(call, *inputs):
    try:
        return CapturedNetwork(plugin, call, inputs) and ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""


def test_a_captured_network_gives_what_the_network_gives() -> None:
    code = """
from tablerec.devices.bench.networks import cellnet
from tablerec.models.cellnet import split_maps
net = cellnet(reduced=True)
net.eval()
call = lambda images: split_maps(net(images))
captured = CapturedNetwork(plugin, call, [np.zeros((1, 3, 64, 64), "float32")])
places = [tensor.data_ptr() for tensor in captured(paddle.zeros([1, 3, 64, 64]))]
apart = []
for images in paddle.randn([3, 1, 3, 64, 64]):
    expected = [tensor.numpy() for tensor in call(images)]
    for given in (images, images.numpy(), images.cpu()):
        found = captured(given)
        apart += [float(abs(a.numpy() - b).max()) for a, b in zip(found, expected)]
        apart += [tensor.data_ptr() - place for tensor, place in zip(found, places)]
answer([captured.nodes, apart])
"""
    nodes, apart = ask(SETUP + code)
    assert nodes > 100 and len(apart) == 90 and set(apart) == {0}


def test_nothing_that_the_graph_touched_is_given_to_others() -> None:
    """The danger of replays: what the pool took back in the capture and handed out again would be overwritten."""
    code = """
touched = []
def call(x):
    for _ in range(4):
        wide = paddle.concat([x, x * 2, x + 1])
        touched.append((wide.data_ptr(), wide.size * 4))
        x = wide[: len(x)] + 1
        touched.append((x.data_ptr(), x.size * 4))
    return x
others = [paddle.ones([size]) for size in (10, 5000, 100000)]
del others[1]
example = paddle.zeros([5000])
captured = CapturedNetwork(plugin, call, [example])
touched = touched[-8:]
before = plugin.counters()["allocations"]
others = [paddle.ones([1], "uint8")]
grew = plugin.counters()["allocations"] - before
others += [paddle.ones([size]) for size in (1, 100, 5000, 15000, 15000, 40000, 200000) for _ in range(5)]
paddle.device.empty_cache()
others += [paddle.ones([size]) for size in (5000, 15000) for _ in range(9)]
overlaps = sum(
    place < other.data_ptr() + 4 * other.size and other.data_ptr() < place + size
    for place, size in touched for other in others
)
held = plugin.counters()["bytes_in_use"]
captured.close()
paddle.device.empty_cache()
answer([grew, overlaps, held - plugin.counters()["bytes_in_use"]])
"""
    grew, overlaps, given_back = ask(SETUP + code)
    assert grew == 1  # the pool had no byte left
    assert overlaps == 0
    assert given_back > 8 * 15000


def test_a_network_without_launches_and_without_tensors() -> None:
    code = """
paddle.ones([1]) + 1
answer([attempt(lambda: None), attempt(lambda x: x, paddle.ones([3])), attempt(lambda x: x + 1, paddle.zeros([0]))])
"""
    for text in ask(SETUP + code):
        assert text.startswith("CaptureError") and "nothing was launched on the device" in text


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("lambda x: x * float(x.sum())", "to the host"),
        ("lambda x: x + paddle.to_tensor(x.numpy())", "to the host"),
        ("lambda x: x[paddle.nonzero(x)]", "to the host"),
        ("lambda x: x + paddle.to_tensor(np.ones(3, 'float32'))", "copy"),
    ],
)
def test_what_a_graph_cannot_repeat_is_refused_and_the_process_lives(call: str, why: str) -> None:
    code = f"""
text = attempt({call}, paddle.ones([3]))
again = attempt(lambda x: x + 1, paddle.ones([3]))
answer([text, again, (paddle.ones([3]) + 1).tolist()])
"""
    text, again, after = ask(SETUP + code)
    assert text.startswith("CaptureError: the network cannot be captured on tablerec_gpu: it asked for a")
    assert why in text and "run it without a graph" in text
    assert again == "" and after == [2, 2, 2]


def test_a_failure_of_the_network_itself_ends_the_capture() -> None:
    code = """
calls = []
def call(x):
    calls.append(1)
    if len(calls) == 4:
        raise RuntimeError("no fourth call")
    return x + 1
answer([attempt(call, paddle.ones([3])), attempt(lambda x: x + 1, paddle.ones([3]))])
"""
    text, again = ask(SETUP + code)
    assert "RuntimeError: no fourth call" in text and again == ""


def test_inputs_that_do_not_fit_and_a_closed_graph() -> None:
    code = """
captured = CapturedNetwork(plugin, lambda x, y: {"sum": x + y}, [paddle.ones([3]), paddle.ones([3])])
texts = []
def say(*inputs):
    try:
        texts.append(captured(*inputs)["sum"].tolist())
    except Exception as error:
        texts.append(f"{type(error).__name__}: {error}")
x = paddle.ones([3])
say(x, x * 2)
say(x)
say(x, paddle.ones([4]))
say(x, x.astype("float16"))
captured.close()
say(x, x)
paddle.set_device("cpu")
texts.append(attempt(lambda x: x + 1, x))
answer(texts)
"""
    added, few, shape, dtype, closed, elsewhere = ask(SETUP + code)
    assert added == [3, 3, 3]
    assert few == "SettingsError: 1 inputs: the network was captured with 2"
    assert "an input is paddle.float32 [4]: the network was captured for paddle.float32 [3]" in shape
    assert "an input is paddle.float16 [3]" in dtype
    assert "was closed" in closed
    assert "the device is cpu, not tablerec_gpu" in elsewhere


def test_a_captured_network_in_the_bench() -> None:
    shape = ("--batch", 1, "--size", 32, "--steps", 2)
    done = device("bench", "--plugin", "simulated", "--model", "cellnet_reduced", "--infer", "--mode", "graph", *shape)
    assert done.returncode == 0, done.stderr
    assert "inference, graph" in done.stdout and "0 device_to_host_copies" in done.stdout


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_cellnet_infers_in_half_precision(dtype: str) -> None:
    """A regression: batch norms were made half too, which Paddle does not take; they are folded."""
    code = f"""
from tablerec.devices.bench.runs import ModelRun, measure_model
run = ModelRun("cellnet_reduced", 1, 64, {dtype!r}, train=False)
speed = measure_model(plugin.device, run, plugin, steps=1)
answer([speed.images_per_second, sorted(speed.kernels)])
"""
    speed, kernels = ask(code)
    assert speed > 0 and {"max", "conv2d"} <= set(kernels) and "batch_norm" not in kernels
