"""The device plugin on its simulated twin: every kernel against the CPU, training, and what must fail."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

if importlib.util.find_spec("paddle") is None:
    pytest.skip("needs Paddle", allow_module_level=True)
if shutil.which(os.environ.get("CXX") or "g++") is None:
    pytest.skip("needs g++, to compile the simulated device", allow_module_level=True)

# Paddle loads a plugin once, when it is imported: so every test is a process.
PREAMBLE = """
import json, sys, warnings
warnings.simplefilter("ignore")
from tablerec.devices.plugin import load_plugin, registered_kernels
plugin = load_plugin(sys.argv[1], **json.loads(sys.argv[2]))
import numpy as np
import paddle
paddle.set_device(plugin.device)
def answer(value):
    print("ANSWER", json.dumps(value))
"""


@pytest.fixture(scope="module")
def library() -> Path:
    """Build the simulated device once; later runs find it in the user's cache."""
    from tablerec.devices.build import build_plugin

    return build_plugin("simulated")


def start(
    library: Path, code: str, env: dict[str, str] | None = None, **options: object
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PREAMBLE + code, str(library), json.dumps(options)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def ask(library: Path, code: str, env: dict[str, str] | None = None, **options: object):
    done = start(library, code, env, **options)
    answers = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    assert done.returncode == 0 and answers, done.stdout[-2000:] + done.stderr[-4000:]
    return json.loads(answers[-1][len("ANSWER ") :])


@pytest.fixture(scope="module")
def outcomes(library: Path) -> dict:
    """Run all cases in one process, with the CPU fallback off."""
    code = """
from tablerec.devices.cases import all_cases
from tablerec.devices.parity import compare_operators
from dataclasses import asdict
outcomes = compare_operators(plugin.device, kernels=plugin.kernels)
found = [{**asdict(o), "passed": o.passed, "operators": sorted(o.operators)} for o in outcomes]
named = [[case.name, case.operators] for case in all_cases()]
registered = [[name, dtype] for name, dtypes in registered_kernels(plugin.device).items() for dtype in dtypes]
answer({"outcomes": found, "named": named, "registered": registered})
"""
    return ask(library, code)


def test_every_kernel_agrees_with_the_cpu(outcomes: dict) -> None:
    assert len(outcomes["outcomes"]) > 800
    failed = [
        f"{o['case']} {o['dtype']}: {o['error']:.2g} > {o['tolerance']:.2g} {o['problem']}"
        for o in outcomes["outcomes"]
        if not o["passed"]
    ]
    assert failed == []


# In dygraph Paddle makes views instead, or they launch nothing: the next test tries them in every type.
VIEWS = {"squeeze", "unsqueeze", "share_data"}


def test_every_registered_kernel_is_tried_in_every_type(outcomes: dict) -> None:
    """A kernel is tried where a case that names it launched it and agreed with the CPU; gradients are kernels too."""
    named = {name: set(operators) for name, operators in outcomes["named"]}
    assert len(named) == len(outcomes["named"])
    tried = {
        (name, outcome["dtype"])
        for outcome in outcomes["outcomes"]
        if outcome["passed"]
        for name in named[outcome["case"]].intersection(outcome["operators"])
    }
    registered = {(name, dtype) for name, dtype in outcomes["registered"]}
    assert len(registered) > 1300
    assert {pair for pair in registered - tried if pair[0] not in VIEWS} == set()


def test_views_of_static_graphs_in_every_type(library: Path) -> None:
    code = """
registered = registered_kernels(plugin.device)
types = sorted(registered["squeeze"])
paddle.enable_static()
run = paddle.static.Executor(paddle.CustomPlace(plugin.device, 0)).run
found = []
for dtype in types:
    program = paddle.static.Program()
    with paddle.static.program_guard(program):
        y = paddle.flip(paddle.static.data("x", [3, 1, 4], dtype), [0])
        views = [y.squeeze(1), y.unsqueeze(0), paddle.flip(y.detach(), [0])]
    x = np.arange(12).reshape(3, 1, 4).astype("uint16" if dtype == "bfloat16" else dtype)
    run(program, feed={"x": x}, fetch_list=views)
    plugin.reset()
    squeezed, unsqueezed, shared = run(program, feed={"x": x}, fetch_list=views)
    same = [np.array_equal(squeezed, x[::-1, 0]), np.array_equal(unsqueezed, x[None, ::-1]), np.array_equal(shared, x)]
    found.append([dtype, same, plugin.kernels(), plugin.counters()["device_to_host_copies"]])
answer([types, sorted(registered["unsqueeze"]), sorted(registered["share_data"]), found])
"""
    squeeze, unsqueeze, share_data, found = ask(library, code)
    assert len(squeeze) == 10 and squeeze == unsqueeze == share_data
    for dtype, same, kernels, copies in found:
        assert same == [True, True, True], dtype
        assert kernels == {"flip": 2, "squeeze": 1, "unsqueeze": 1}, dtype
        assert copies == 3, dtype  # what was fetched: nothing ran on the CPU


@pytest.mark.parametrize("optimizer", ["SGD", "Momentum", "Adam", "AdamW"])
def test_training_follows_the_cpu(library: Path, optimizer: str) -> None:
    code = f"""
from tablerec.devices.parity import compare_training
t = compare_training(plugin.device, {optimizer!r})
answer([t.losses, t.loss_error, t.parameter_error, plugin.kernels()])
"""
    losses, loss_error, parameter_error, kernels = ask(library, code)
    assert len(losses) == 10 and losses[-1] < losses[0]
    assert loss_error < 1e-12
    assert parameter_error < 1e-10
    assert kernels[optimizer.lower()] and kernels["conv2d_grad"] and kernels["batch_norm_grad"]


def test_random_numbers_have_their_distribution_in_every_type(library: Path) -> None:
    code = """
found = {}
for dtype in sorted(registered_kernels(plugin.device)["uniform"]):
    paddle.seed(7)
    plugin.reset()
    u = paddle.uniform([200, 500], dtype, -1, 3)
    g = paddle._C_ops.gaussian([200, 500], 1, 2, 0, dtype, u.place)
    t = paddle._C_ops.truncated_gaussian_random([200, 500], 1, 2, 0, -1, 1, dtype, u.place)
    v, b = paddle.assign(u).uniform_(-1, 3), paddle.bernoulli(paddle.full([200, 500], 0.25, dtype))
    launches = plugin.kernels()
    paddle.seed(7)
    again = paddle.uniform([200, 500], dtype, -1, 3)
    u, g, t, v, b, again = (x.astype("float64").numpy() for x in (u, g, t, v, b, again))
    found[dtype] = {
        "uniform": [[x.min().item(), x.max().item(), x.mean().item(), x.std().item()] for x in (u, v)],
        "gaussian": [g.mean().item(), g.std().item()],
        "truncated": [t.min().item(), t.max().item(), t.mean().item(), t.std().item()],
        "bernoulli": [np.unique(b).tolist(), b.mean().item()],
        "repeats": bool((u == again).all()) and bool((u != v).any()),
        "launches": [launches[name] for name in (
            "uniform", "gaussian", "truncated_gaussian_random", "uniform_inplace", "bernoulli")],
    }
answer(found)
"""
    found = ask(library, code)
    assert sorted(found) == ["bfloat16", "float16", "float32", "float64"]
    for dtype, one in found.items():
        for low, high, mean, deviation in one["uniform"]:
            assert -1 <= low < -0.99 and 2.99 < high <= 3, dtype
            assert abs(mean - 1) < 0.02 and abs(deviation - 4 / 12**0.5) < 0.02, dtype
        assert one["gaussian"] == pytest.approx([1, 2], abs=0.04), dtype
        # A normal number cut at one deviation has a deviation of 0.5396.
        assert one["truncated"] == pytest.approx([-1, 3, 1, 2 * 0.5396], abs=0.02), dtype
        assert one["bernoulli"] == [[0, 1], pytest.approx(0.25, abs=0.01)], dtype
        assert one["repeats"] and one["launches"] == [1, 1, 1, 1, 1], dtype


def test_a_stray_host_read_faults(library: Path) -> None:
    code = """
import ctypes
tensor = paddle.ones([4])
answer("about to read")
ctypes.string_at(tensor.data_ptr(), 4)
"""
    done = start(library, code)
    assert "about to read" in done.stdout
    assert done.returncode in (-signal.SIGSEGV, 128 + signal.SIGSEGV)


def test_what_the_device_lacks_raises_and_names_the_operator(library: Path) -> None:
    done = start(library, "paddle.erfinv(paddle.ones([3]))")
    assert done.returncode == 1
    assert "erfinv" in done.stderr and "tablerec_gpu" in done.stderr


def test_fallback_can_be_allowed_and_the_counters_tell(library: Path) -> None:
    code = """
x = paddle.full([3], 0.5)
plugin.reset()
y = paddle.erfinv(x).numpy()
answer([y.tolist(), plugin.kernels(), plugin.counters()["device_to_host_copies"]])
"""
    values, kernels, copies = ask(library, code, fallback=True)
    assert values == pytest.approx([0.476936] * 3, rel=1e-5)
    assert "erfinv" not in kernels and copies >= 2


def test_unsupported_layout_says_what_was_asked(library: Path) -> None:
    code = "paddle.nn.functional.conv2d(paddle.ones([1, 5, 5, 2]), paddle.ones([3, 2, 3, 3]), data_format='NHWC')"
    done = start(library, code)
    assert done.returncode == 1
    assert "conv2d: layout NHWC is not supported on tablerec_gpu" in done.stderr


def test_out_of_memory_is_an_error_that_the_process_survives(library: Path) -> None:
    code = """
try:
    paddle.zeros([1 << 28])
except Exception as error:
    text = str(error)
answer([text, paddle.ones([3]).numpy().tolist()])
"""
    text, after = ask(library, code, env={"TABLEREC_SIMULATED_MEGABYTES": "256"})
    assert "emory" in text
    assert after == [1, 1, 1]


def test_counters_count(library: Path) -> None:
    code = """
x = paddle.to_tensor(np.ones((10, 100), "float32"))
plugin.reset()
y = x + x
after_add = plugin.counters()
y.numpy()
answer([after_add, plugin.counters(), plugin.kernels()])
"""
    after_add, after_copy, kernels = ask(library, code)
    assert kernels == {"add": 1}
    assert after_add["kernels"] == 1 and after_add["device_to_host_bytes"] == 0
    assert after_copy["device_to_host_copies"] == 1 and after_copy["device_to_host_bytes"] >= 4000
    assert 4000 <= after_copy["bytes_in_use"] <= after_copy["peak_bytes_in_use"]


def test_memory_is_given_back(library: Path) -> None:
    code = """
from tablerec.devices.bench.networks import cellnet
import gc
net = cellnet(reduced=True)
rounds = []
for _ in range(6):
    loss = net(paddle.ones([2, 3, 32, 32])).sum()
    loss.backward()
    net.clear_gradients()
    del loss
    gc.collect()
    rounds.append(plugin.counters()["bytes_in_use"])
answer(rounds)
"""
    rounds = ask(library, code)
    assert len(set(rounds[2:])) == 1


def test_a_name_that_paddlex_accepts(library: Path) -> None:
    code = "answer([plugin.device, str((paddle.ones([2]) + 1).place), plugin.kernels()['scale']])"
    device, place, launches = ask(library, code, device_name="iluvatar_gpu")
    assert device == "iluvatar_gpu" and "iluvatar_gpu:0" in place and launches == 1


def test_loading_after_paddle_is_refused(library: Path) -> None:
    code = "import paddle; from tablerec.devices.plugin import load_plugin; load_plugin()"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert "must be loaded before Paddle is imported" in done.stderr


def test_more_top_values_than_there_are(library: Path) -> None:
    done = start(library, "paddle.topk(paddle.ones([3]), 5)")
    assert done.returncode == 1
    assert "topk: 5 of 3 elements" in done.stderr


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_zero_is_zero_with_either_sign_and_nothing_else_is(library: Path, dtype: str) -> None:
    code = f"""
x = paddle.to_tensor([-0.0, 0.0, 6e-8, -6e-8, float("nan"), float("inf")], dtype="float32").astype("{dtype}")
found = [paddle.nonzero(x).flatten().tolist()]
if "{dtype}" in ("float32", "float64"):
    found += [[bool(paddle.any(x[k])), bool(paddle.all(x[k]))] for k in range(6)]
answer(found)
"""
    places, *truths = ask(library, code)
    assert places == [2, 3, 4, 5]
    assert all(truth == [k > 1, k > 1] for k, truth in enumerate(truths))
