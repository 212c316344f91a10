"""What goes wrong with devices, and what is said then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tablerec.devices import build, plugin
from tablerec.errors import MissingDependencyError, TablerecError
from tests.helpers.devices.plugin_process import ROOT, answer_of, ask, device, needs_device, start

NONE = {"TABLEREC_SIMULATED_DEVICES": "0"}


@needs_device
def test_no_device_leaves_paddle_on_the_cpu() -> None:
    found = ask("answer([paddle.get_device(), (paddle.ones([2]) + 1).tolist(), plugin.describe()])", NONE)
    assert found == ["cpu", [2, 2], ""]


@needs_device
@pytest.mark.parametrize("verb", [("parity",), ("bench", "--tiny"), ("bench", "--model", "cellnet")])
def test_no_device_is_said_by_the_verbs(verb: tuple[str, ...]) -> None:
    done = device(*verb, "--plugin", "simulated", **NONE)
    assert done.returncode == 2
    assert "Paddle sees 0 device(s) of kind tablerec_gpu here" in done.stderr


@needs_device
def test_no_device_is_said_by_list_and_doctor() -> None:
    listed = device("list", "--plugin", "simulated", **NONE)
    assert "tablerec_gpu  plugin loaded, but it sees no device: is the driver installed?" in listed.stdout
    examined = device("doctor", "--plugin", "simulated", **NONE)
    assert examined.returncode == 1 and "sees 0 device(s)" in examined.stdout


@needs_device
def test_list_shows_driver_memory_and_plugin() -> None:
    line = device("list", "--plugin", "simulated", TABLEREC_SIMULATED_MEGABYTES="512").stdout.splitlines()[1]
    assert "no driver" in line and "memory 512 MiB, free 512 MiB" in line and "kernels" in line


@needs_device
def test_doctor_runs_an_operator_and_asks_paddlex() -> None:
    done = device("doctor", "--plugin", "simulated", TABLEREC_DEVICE_NAME="iluvatar_gpu")
    assert "its counters say that it ran there" in done.stdout
    if "PaddleX cannot be asked" not in done.stdout:
        assert "RT-DETR-L_wired_table_cell_det is allowed on iluvatar_gpu" in done.stdout
        assert done.returncode == 0, done.stdout


@needs_device
def test_training_out_of_memory_is_an_error_that_the_process_survives() -> None:
    code = """
from tablerec.devices.bench.runs import ModelRun, measure_model
text = ""
try:
    measure_model(plugin.device, ModelRun("cellnet_reduced", 8, 256), plugin)
except Exception as error:
    text = str(error)
speed = measure_model(plugin.device, ModelRun("cellnet_reduced", 1, 32), plugin, steps=1)
answer([text, speed.losses])
"""
    text, losses = ask(code, {"TABLEREC_SIMULATED_MEGABYTES": "48"})
    assert "Out of memory" in text and "tablerec_gpu" in text
    assert losses[0] > 0


@needs_device
def test_a_library_says_which_paddle_it_was_built_for() -> None:
    library = build.build_plugin("simulated")
    assert build.built_for(library) == build.paddle_version(build.paddle_folder()) != ""


@needs_device
def test_a_plugin_of_another_paddle_is_refused_before_paddle_is_imported(tmp_path: Path) -> None:
    library = tmp_path / "libpaddle-tablerec.so"
    library.write_bytes(build.build_plugin("simulated").read_bytes().replace(b"for paddle 3.", b"for paddle 9."))
    code = f"""
import sys
from tablerec.devices.plugin import load_plugin
try:
    load_plugin({str(library)!r})
finally:
    print("imported", "paddle" in sys.modules)
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    installed = build.paddle_version(build.paddle_folder())
    assert done.stdout == "imported False\n"
    assert f"was compiled for Paddle 9.{installed[2:]}, but Paddle {installed} is installed" in done.stderr
    assert "tablerec device build" in done.stderr


def test_another_makers_library_has_no_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "libpaddle-vendor.so"
    library.write_bytes(b"\x7fELF")
    monkeypatch.setattr(plugin, "paddle_folder", lambda: tmp_path)
    plugin._require_same_version(library)
    assert build.built_for(library) == build.paddle_version(tmp_path) == ""


def test_the_version_error_is_one_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "libpaddle-tablerec.so"
    library.write_bytes(b"tablerec for paddle 3.2.0\0")
    version = tmp_path / "version" / "__init__.py"
    version.parent.mkdir()
    version.write_text("full_version     = '3.3.1'\n", encoding="utf-8")
    monkeypatch.setattr(plugin, "paddle_folder", lambda: tmp_path)
    with pytest.raises(MissingDependencyError, match=r"Paddle 3\.2\.0, but Paddle 3\.3\.1") as caught:
        plugin._require_same_version(library)
    assert isinstance(caught.value, TablerecError)


def test_missing_libraries_are_named_with_the_loaders_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "NVIDIA_LIBRARIES", ("libno-such-thing.so.9",))
    [(name, reason)] = plugin.missing_libraries()
    assert name == "libno-such-thing.so.9" and name in reason


@needs_device
def test_an_unsupported_type_names_the_operator_and_what_was_asked() -> None:
    code = """
paddle.set_device(plugin.device)
texts = []
for call in (lambda: paddle.ones([3]).astype("complex64"), lambda: paddle.erfinv(paddle.ones([3]))):
    try:
        call()
    except Exception as error:
        texts.append(str(error))
answer(texts)
"""
    cast, missing = ask(code)
    assert "cast to complex64 is not supported on tablerec_gpu" in cast
    assert "erfinv" in missing and "tablerec_gpu" in missing


@needs_device
def test_two_processes_train_to_the_same_losses() -> None:
    code = """
from tablerec.devices.parity import compare_training
answer(compare_training(plugin.device, "Adam", steps=3).losses)
"""
    first, second = start(code), start(code)
    assert answer_of(first) == answer_of(second)


@needs_device
def test_tensors_move_between_devices_that_have_memory_of_their_own() -> None:
    code = """
names = paddle.device.get_available_custom_device()
paddle.set_device(names[0])
x = paddle.arange(1 << 20).astype("float32")
paddle.set_device(names[1])
free = [plugin.describe(k).split()[-2] for k in range(3)]
y = x.to(names[1]) * 2
answer([names, free, str(y.place), float(y[-1]), plugin.counters()["device_to_device_copies"] > 0])
"""
    env = {"TABLEREC_SIMULATED_DEVICES": "3", "TABLEREC_SIMULATED_MEGABYTES": "64"}
    names, free, place, last, copied = ask(code, env)
    assert names == [f"tablerec_gpu:{k}" for k in range(3)]
    assert int(free[0]) <= 60 and free[1:] == ["64", "64"]
    assert place == "Place(tablerec_gpu:1)" and last == 2 * ((1 << 20) - 1) and copied


@needs_device
def test_importing_never_fails_for_a_library_that_is_missing(tmp_path: Path) -> None:
    library = tmp_path / "libpaddle-tablerec.so"
    shutil.copy(build.build_plugin("simulated"), library)
    done = device("list", "--plugin", library, TABLEREC_NVIDIA=str(tmp_path), LD_LIBRARY_PATH="")
    assert done.returncode == 0 and "tablerec_gpu" in done.stdout
