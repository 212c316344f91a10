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
from tablerec.devices.parity import compare_operators
from dataclasses import asdict
outcomes = compare_operators(plugin.device, kernels=plugin.kernels)
found = [{**asdict(o), "passed": o.passed, "operators": sorted(o.operators)} for o in outcomes]
answer({"outcomes": found, "registered": sorted(registered_kernels(plugin.device))})
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


# By the tests below, those of mixed precision, and those of static graphs in test_bench.py.
TRIED_ELSEWHERE = {
    "sgd",
    "momentum",
    "adam",
    "adamw",
    "merged_momentum",
    "merged_adam",
    "fused_adam",
    "gaussian",
    "uniform",
    "squeeze",
    "unsqueeze",
    "share_data",
}


def test_every_registered_kernel_is_tried(outcomes: dict) -> None:
    ran = {name for outcome in outcomes["outcomes"] for name in outcome["operators"]}
    assert len(outcomes["registered"]) > 140
    assert set(outcomes["registered"]) - ran - TRIED_ELSEWHERE == set()


@pytest.mark.parametrize("optimizer", ["SGD", "Momentum", "Adam", "AdamW"])
def test_training_follows_the_cpu(library: Path, optimizer: str) -> None:
    code = f"""
from tablerec.devices.parity import compare_training
t = compare_training(plugin.device, {optimizer!r})
answer([t.losses, t.loss_error, t.parameter_error, plugin.kernels()])
"""
    losses, loss_error, parameter_error, kernels = ask(library, code)
    assert len(losses) == 10 and losses[-1] < losses[0]
    assert loss_error < 1e-5
    assert parameter_error < 1e-4
    assert kernels[optimizer.lower()] and kernels["conv2d_grad"] and kernels["batch_norm_grad"]


def test_random_numbers_have_their_distribution(library: Path) -> None:
    code = """
paddle.seed(7)
u, g = paddle.uniform([200, 500], "float32", -1, 3), paddle.randn([200, 500])
paddle.seed(7)
again = paddle.uniform([200, 500], "float32", -1, 3)
u, g, again = u.numpy(), g.numpy(), again.numpy()
answer([u.min().item(), u.max().item(), u.mean().item(), g.mean().item(), g.std().item(),
        bool((u == again).all()), plugin.kernels()["gaussian"]])
"""
    low, high, middle, mean, deviation, repeats, launches = ask(library, code)
    assert -1 <= low < -0.99 and 2.99 < high <= 3 and abs(middle - 1) < 0.02
    assert abs(mean) < 0.02 and abs(deviation - 1) < 0.02
    assert repeats and launches == 1


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
from tablerec.devices.networks import small_detector
import gc
net = small_detector(1)
rounds = []
for _ in range(6):
    loss = net(paddle.ones([2, 3, 32, 32]))[0].sum()
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
