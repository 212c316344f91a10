"""``tablerec device``: every verb in a process of its own, as a user runs it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tablerec.devices.trace import Operator, parse_log, trace_script
from tablerec.errors import InputError
from tests.helpers.devices.plugin_process import device

ROOT = Path(__file__).resolve().parents[3]

needs_paddle = pytest.mark.skipif(importlib.util.find_spec("paddle") is None, reason="needs Paddle")
needs_compiler = pytest.mark.skipif(shutil.which(os.environ.get("CXX") or "g++") is None, reason="needs g++")

TRAIN = """
import sys
import paddle
net = paddle.nn.Conv2D(3, 4, 3)
loss = net(paddle.ones([2, 3, 8, 8])).mean()
loss.backward()
paddle.optimizer.SGD(0.1, parameters=net.parameters()).step()
if "odd" in sys.argv:
    paddle.erfinv(paddle.zeros([5], "float64"))
if "broken" in sys.argv:
    raise ValueError("the model is broken")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(TRAIN, encoding="utf-8")
    return path


def test_parse_log_of_nothing() -> None:
    assert parse_log([]) == Counter()


def test_parse_log_names_the_kernel_that_a_call_chose() -> None:
    lines = [
        "I1 api.cc:1] arange API kernel key: [CPU, NCHW, int64]",
        'I1 api.cc:2] arange_tensor kernel: {"input":[',
        "I1 backward_api_base.cc:1] set_value_with_tensor_grad API kernel key: [CPU, NCHW, float32]",
        'I1 backward_api_base.cc:2] set_value_grad kernel: {"input":[',
        "I1 api_custom_impl.cc:1] embedding_grad API kernel key: [CPU, NCHW, float32]",
        'I1 api_custom_impl.cc:2] embedding_grad API kernel: {"input":[',
    ]
    expected = [("arange_tensor", "int64"), ("set_value_grad", "float32"), ("embedding_grad", "float32")]
    assert parse_log(lines) == Counter(Operator(*pair) for pair in expected)


def test_parse_log_gives_shapes_to_the_operator_before() -> None:
    lines = [
        "I1128 01:45:17.855367  6654 api.cc:27358] conv2d API kernel key: [CPU, NCHW, float32]",
        "Input: [ ",
        "\t\tShape: 1, 3, 5, 5,",
        "\t\tShape: 2, 3, 3, 3,",
        "Output: [",
        "\t\tShape: 9, 9,",
        "===Running_AD_API: adamw_===",
        "I1128 01:45:17.9  6654 api.cc:1] adamw_ API kernel key: [CPU, NCHW, float64]",
    ]
    conv = Operator("conv2d", "float32", ((1, 3, 5, 5), (2, 3, 3, 3)))
    assert parse_log(lines) == Counter({conv: 1, Operator("adamw", "float64"): 1})


def test_trace_of_a_missing_program(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is missing: name a Python program"):
        trace_script(tmp_path / "none.py")


@needs_paddle
def test_trace_of_a_failing_program(script: Path) -> None:
    with pytest.raises(InputError, match=r"(?s)failed with code 1.*ValueError: the model is broken"):
        trace_script(script, ["broken"])


@needs_paddle
def test_trace_lists_forward_backward_and_update(script: Path) -> None:
    done = device("trace", script, "--json")
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    shapes = {record["name"]: record["shapes"] for record in records}
    assert {"conv2d", "conv2d_grad", "sgd"} <= set(shapes)
    assert shapes["conv2d"] == [[2, 3, 8, 8], [4, 3, 3, 3]]


@needs_paddle
@needs_compiler
def test_coverage_names_what_is_missing(script: Path) -> None:
    whole = device("coverage", script, "--plugin", "simulated")
    assert whole.returncode == 0, whole.stdout
    assert whole.stdout.endswith(" operators by type, 0 missing on tablerec_gpu\n")
    lacking = device("coverage", "--plugin", "simulated", script, "odd")
    assert lacking.returncode == 1
    assert "MISSING erfinv float64: tablerec_gpu has no kernel" in lacking.stdout


@needs_paddle
@needs_compiler
def test_list_and_doctor_know_the_simulated_device() -> None:
    listed = device("list", "--plugin", "simulated", TABLEREC_DEVICE_NAME="iluvatar_gpu")
    assert "iluvatar_gpu  simulated, no driver" in listed.stdout and "Paddle 3" in listed.stdout
    fine = device("doctor", "--plugin", "simulated", TABLEREC_DEVICE_NAME="iluvatar_gpu")
    assert fine.returncode == 0, fine.stdout + fine.stderr
    assert "PaddleX accepts the kind 'iluvatar_gpu'" in fine.stdout
    refused = device("doctor", "--plugin", "simulated")
    assert refused.returncode == 1
    assert "PROBLEM PaddleX refuses the kind 'tablerec_gpu'" in refused.stdout


@needs_paddle
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("", "no device is named: write cpu"),
        ("cuda", "Paddle calls the device 'cuda' 'gpu'"),
        ("gpu:x", "is unknown: write cpu"),
    ],
)
def test_doctor_answers_wrong_names(name: str, answer: str) -> None:
    done = device("doctor", name)
    assert done.returncode == 1
    assert answer in done.stdout


@needs_paddle
@needs_compiler
def test_parity_of_some_cases() -> None:
    done = device("parity", "--plugin", "simulated", "--match", "softmax")
    assert done.returncode == 0, done.stdout
    count, rest = done.stdout.splitlines()[-1].split(" ", 1)
    assert int(count) > 0
    assert rest == "cases, 0 failed"


@needs_paddle
def test_parity_needs_a_device() -> None:
    done = device("parity")
    assert done.returncode == 2
    assert "name a --device, or a --plugin to load" in done.stderr


@needs_paddle
def test_a_plugin_that_is_not_there() -> None:
    done = device("list", "--plugin", "no/such.so")
    assert done.returncode == 1
    assert "no/such.so is missing: build it with `tablerec device build`" in done.stderr
