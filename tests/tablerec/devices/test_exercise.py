"""The lab: a plugin from chosen files, code that runs on it elsewhere, and what the notebook and the guide say."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest

from tablerec.devices import exercise as lab
from tablerec.errors import SettingsError

needs_paddle = pytest.mark.skipif(importlib.util.find_spec("paddle") is None, reason="needs Paddle")
needs_compiler = pytest.mark.skipif(shutil.which(os.environ.get("CXX") or "g++") is None, reason="needs g++")
needs_paddlex = pytest.mark.skipif(importlib.util.find_spec("paddlex") is None, reason="needs PaddleX")

THERE_AND_BACK = "answer(paddle.to_tensor([1.0, -2.0, 3.0]).tolist())"
# Without one of these Paddle 3.3.1 refuses the library.
REQUIRED = {
    "get_device_count",
    "get_device_list",
    "set_device",
    "get_device",
    "device_memory_allocate",
    "device_memory_deallocate",
    "create_event",
    "destroy_event",
    "record_event",
    "synchronize_event",
}


@pytest.fixture(scope="module")
def empty() -> Path:
    return lab.build("empty.cc", "counters.cc")


def leave_out(function: str, folder: Path) -> Path:
    lines = (lab.LAB / "empty.cc").read_text(encoding="utf-8").splitlines()
    path = folder / "hollow.cc"
    path.write_text("\n".join(line for line in lines if f"table->{function} =" not in line), encoding="utf-8")
    return lab.build(path, "counters.cc")


def test_a_missing_source_names_those_there_are() -> None:
    with pytest.raises(SettingsError, match=r"none\.cc is missing: .*empty\.cc.*runtime_simulated\.cc"):
        lab.build("none.cc")


def test_side_by_side_escapes_and_shows_both() -> None:
    shown = lab.side_by_side("allocate")
    assert "cudaMalloc(" in shown and "arena(device).allocate(bytes)" in shown
    assert "device-&gt;id" in shown and "std::map" not in shown
    assert lab.side_by_side("record_event").count("static C_Status") == 2
    with pytest.raises(SettingsError, match=r"runtime_simulated\.cc has no function 'x'"):
        lab.side_by_side("x")


@needs_paddle
def test_functions_that_a_runtime_fills_in() -> None:
    empty = dict(lab.table_of_functions("empty.cc"))
    whole = dict(lab.table_of_functions("runtime_cuda.cc"))
    assert {name for name, filled in empty.items() if filled} >= REQUIRED
    assert sum(empty.values()) == 13 and len(empty) > 80
    assert all(whole[name] for name, filled in empty.items() if filled)


@needs_paddle
@needs_compiler
def test_empty_plugin_goes_there_and_back_and_launches_nothing(empty: Path) -> None:
    code = "x = paddle.to_tensor([1.0, -2.0]); y = paddle.nn.functional.relu(x); answer([str(y.place), y.tolist()])"
    ran = lab.run(code, empty, fallback=True)
    assert ran.answer == ["Place(tablerec_gpu:0)", [1.0, 0.0]]
    assert ran.kernels == {} and ran.error == ""
    assert ran.counters["host_to_device_copies"] == 2 and ran.counters["device_to_host_copies"] == 2


@needs_paddle
@needs_compiler
def test_code_that_ends_early_says_why(empty: Path) -> None:
    missing = lab.run("paddle.nn.functional.relu(paddle.to_tensor([1.0]))", empty)
    assert "kernel `relu` is not registered" in missing.error and missing.answer is None
    assert lab.run("print('before'); 1 / 0", empty) == lab.Ran(
        error="ZeroDivisionError: division by zero", output="before\n"
    )
    assert lab.run("import os; os.abort()", empty).error == "killed by SIGABRT"
    assert lab.run("import os; os._exit(3)", empty).error == "ended with code 3"


@needs_paddle
@needs_compiler
@pytest.mark.parametrize("function", sorted(REQUIRED))
def test_paddle_refuses_a_runtime_without_a_required_function(function: str, tmp_path: Path) -> None:
    ran = lab.run(THERE_AND_BACK, leave_out(function, tmp_path))
    assert "did not take the plugin" in ran.error


def test_the_guide_names_the_required_functions() -> None:
    guide = (lab.LAB.parent / "PORTING.md").read_text(encoding="utf-8")
    sentence = guide.split("found by leaving each out:")[1].split(".")[0]
    assert set(re.findall(r"`(\w+)`", sentence)) == REQUIRED


@needs_paddle
@needs_compiler
def test_flags_set_after_import_do_nothing_and_the_black_list_does() -> None:
    code = """
import os
os.environ["FLAGS_use_stride_kernel"] = "0"
os.environ["CUSTOM_DEVICE_BLACK_LIST"] = "relu"
values = paddle.nn.functional.relu(paddle.to_tensor([1.0, -2.0])).tolist()
answer([paddle.get_flags(["FLAGS_use_stride_kernel"])["FLAGS_use_stride_kernel"], values])
"""
    ran = lab.run(code, lab.build(), fallback=True)
    assert ran.answer == [True, [1.0, 0.0]] and "relu" not in ran.kernels
    assert lab.run(code, lab.build()).kernels == {"relu": 1}  # nor does the list, without the fallback


@needs_paddle
@needs_compiler
def test_paddle_takes_a_runtime_without_a_copy(tmp_path: Path) -> None:
    ran = lab.run(THERE_AND_BACK, leave_out("memory_copy_h2d", tmp_path), fallback=True)
    assert ran.error == "" and ran.answer != [1.0, -2.0, 3.0]


@needs_paddle
@needs_compiler
def test_a_kernel_of_ones_own_and_parity_asks_for_its_gradient(tmp_path: Path) -> None:
    (tmp_path / "relu.cc").write_text(
        '#include "register.h"\nnamespace tablerec {\n'
        "template <class T, class Context> void Relu(const Context& context, const Tensor& x, Tensor* out) {\n"
        "  const T* from = read<T>(x);\n  T* to = write<T>(context, out);\n"
        '  launch(context, "relu", x.numel(), DEVICE(int64_t i) { to[i] = from[i] > 0 ? from[i] : T(0); });\n}\n'
        "REGISTER(relu, Relu, kFloats)\n}\n",
        encoding="utf-8",
    )
    library = lab.build("runtime_simulated.cc", "counters.cc", tmp_path / "relu.cc")
    ran = lab.run("answer(paddle.nn.functional.relu(paddle.to_tensor([1.0, -2.0])).tolist())", library)
    assert ran.answer == [1.0, 0.0] and ran.kernels == {"relu": 1}
    code = """
from tablerec.devices.cases import all_cases
from tablerec.devices.parity import compare_operators
cases = [case for case in all_cases() if case.name == "relu"]
answer([outcome.problem for outcome in compare_operators(plugin.device, cases, plugin.kernels)])
"""
    problems = lab.run(code, library, fallback=True).answer
    assert problems[0] == "the device did not run relu_grad"


@needs_paddle
@needs_paddlex
@needs_compiler
def test_paddlex_runs_a_classifier_under_an_accepted_name(tmp_path: Path) -> None:
    code = f"from tablerec.devices.exercise import try_classifier; answer(try_classifier(plugin, {str(tmp_path)!r}))"
    accepted = lab.run(code, lab.build(), device_name="iluvatar_gpu")
    assert len(accepted.answer) == 3 and accepted.kernels["conv2d"] == 2
    refused = lab.run(code, lab.build())
    assert refused.answer is None and "tablerec_gpu:0" in refused.error
