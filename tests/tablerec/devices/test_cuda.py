"""What keeps ONNX Runtime from NVIDIA's cards, with a stand-in for it, and what the doctor tells of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import pytest

from tablerec.devices import Device, cuda, doctor
from tablerec.devices.cuda import PROVIDER, Card, find_obstacle, import_onnxruntime, load_libraries, require_card
from tablerec.errors import MissingDependencyError, SettingsError

Setup = Callable[..., None]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Setup:
    """Sets what is installed: versions, providers, missing libraries and cards."""

    def set_up(
        *,
        plain: str = "",
        cards_build: str = "1.31.1",
        sees: bool = True,
        missing: tuple[str, ...] = (),
        n_cards: int = 1,
    ) -> None:
        given = {"onnxruntime": plain, "onnxruntime-gpu": cards_build}
        module = SimpleNamespace(
            __version__=cards_build if sees else plain,
            InferenceSession=object,
            get_available_providers=lambda: [PROVIDER, "CPUExecutionProvider"] if sees else ["CPUExecutionProvider"],
        )
        monkeypatch.setitem(sys.modules, "onnxruntime", module)
        monkeypatch.setattr(cuda, "installed", lambda: {name: text for name, text in given.items() if text})
        monkeypatch.setattr(doctor, "installed", cuda.installed)
        monkeypatch.setattr(cuda, "load_libraries", lambda _: list(missing))
        found = [Card(number, "NVIDIA X", 2 << 30) for number in range(n_cards)]
        monkeypatch.setattr(cuda, "find_cards", lambda: found)
        monkeypatch.setattr(doctor, "find_cards", lambda: found)

    return set_up


def said(**given: Any) -> str:
    obstacle = find_obstacle(**given)
    assert obstacle is not None
    assert "\n" not in str(obstacle)
    return str(obstacle)


def test_nothing_stands_in_the_way(machine: Setup) -> None:
    machine()
    assert find_obstacle((0,)) is None
    require_card("gpu:0", 0)


def test_the_clash_of_two_distributions_is_one_line_with_the_command_that_mends_it(machine: Setup) -> None:
    machine(plain="1.32.0", sees=False)
    assert said() == (
        "onnxruntime 1.32.0 was installed over onnxruntime-gpu 1.31.1: "
        "run pip install --force-reinstall --no-deps onnxruntime-gpu==1.31.1"
    )


def test_both_distributions_are_no_problem_where_the_right_one_came_last(machine: Setup) -> None:
    machine(plain="1.32.0")
    assert find_obstacle() is None


def test_without_the_extra_it_is_named(machine: Setup) -> None:
    machine(plain="1.32.0", cards_build="", sees=False)
    assert 'pip install "tablerec[gpu]"' in said()


def test_missing_libraries_are_named(machine: Setup) -> None:
    machine(missing=("libcudnn.so.9", "libcufft.so.12"))
    assert "libcudnn.so.9, libcufft.so.12" in said() and "onnxruntime-gpu[cuda,cudnn]" in said()


def test_no_card_and_too_few(machine: Setup) -> None:
    machine(n_cards=0)
    assert "no NVIDIA card here, or no driver" in said()
    machine(n_cards=2)
    assert find_obstacle((0, 1)) is None
    assert "no card 2: NVIDIA's driver shows 2" in said(ids=(0, 2))
    with pytest.raises(SettingsError, match=r"^device 'gpu:2': there is no card 2"):
        require_card("gpu:2", 2)


def test_onnx_runtime_that_cannot_be_imported(machine: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    machine()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert "cannot be imported" in said()


def test_files_that_went_with_the_other_distribution(machine: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    machine()
    monkeypatch.setitem(sys.modules, "onnxruntime", SimpleNamespace())  # a folder without __init__.py
    with pytest.raises(MissingDependencyError, match=r"files of onnxruntime are gone.*onnxruntime-gpu$"):
        import_onnxruntime()


def test_libraries_are_loaded_without_a_word_on_the_console(capsys: pytest.CaptureFixture[str]) -> None:
    def preload_dlls() -> None:
        print("Failed to load libcublas.so.13")

    missing = load_libraries(SimpleNamespace(cuda_version="13.0", preload_dlls=preload_dlls))
    assert set(missing) <= set(cuda.LIBRARIES[13])
    assert capsys.readouterr().out == ""


def test_no_driver_no_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(cuda.ctypes, "CDLL", refuse)
    assert cuda.find_cards() == []


def test_the_driver_is_asked_for_each_card(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(pointer: Any) -> int:
        pointer._obj.value = 2
        return 0

    def get(pointer: Any, number: int) -> int:
        pointer._obj.value = number
        return 0

    def name(buffer: Any, size: int, handle: Any) -> int:
        buffer.value = f"NVIDIA {handle.value}".encode()[:size]
        return 0

    def memory(pointer: Any, handle: Any) -> int:
        pointer._obj.value = (handle.value + 1) << 30
        return 0

    driver = SimpleNamespace(
        cuInit=lambda _: 0, cuDeviceGetCount=count, cuDeviceGet=get, cuDeviceGetName=name, cuDeviceTotalMem_v2=memory
    )
    monkeypatch.setattr(cuda.sys, "platform", "linux")
    monkeypatch.setattr(cuda.ctypes, "CDLL", lambda name: driver)
    assert [str(card) for card in cuda.find_cards()] == ["gpu:0  NVIDIA 0, 1024 MiB", "gpu:1  NVIDIA 1, 2048 MiB"]
    driver.cuInit = lambda _: 100
    assert cuda.find_cards() == []


def test_installed_says_what_the_environment_holds() -> None:
    assert cuda.installed().get("onnxruntime", metadata.version("onnxruntime")) == metadata.version("onnxruntime")


def test_doctor_and_list_tell_the_clash_and_the_card(machine: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_has_paddle", lambda: False)
    monkeypatch.setitem(sys.modules, "paddle", None)
    machine(plain="1.32.0", sees=False)
    problems = [finding.text for finding in doctor.examine("gpu:0") if not finding.ok]
    assert problems == [said()]
    lines = list(doctor.list_devices())
    assert "onnxruntime 1.32.0, onnxruntime-gpu 1.31.1" in lines[0]
    assert lines[1].startswith(
        "gpu:0  NVIDIA X, 2048 MiB, ONNX Runtime cannot use it: onnxruntime 1.32.0 was installed over"
    )


def test_doctor_of_a_card_that_works(machine: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_has_paddle", lambda: False)
    monkeypatch.setitem(sys.modules, "paddle", None)
    machine(plain="1.30.0")
    monkeypatch.setattr(doctor, "_run_on_card", lambda device: doctor.Finding(True, f"CellNet runs on {device}"))
    findings = doctor.examine("gpu:0")
    assert all(finding.ok for finding in findings)
    text = "\n".join(finding.text for finding in findings)
    for told in (
        "ONNX Runtime 1.31.1",
        "onnxruntime 1.30.0",
        PROVIDER,
        "NVIDIA X",
        "CellNet runs on gpu:0",
        "not needed else",
    ):
        assert told in text
    assert list(doctor.list_devices())[1] == "gpu:0  NVIDIA X, 2048 MiB, used by ONNX Runtime"


def test_doctor_opens_a_network_and_tells_what_it_met(monkeypatch: pytest.MonkeyPatch) -> None:
    from tablerec.models import opening

    def refuse(*_: Any) -> None:
        raise MissingDependencyError("ONNX Runtime did not open it")

    monkeypatch.setattr(opening, "choose_network", refuse)
    assert doctor._run_on_card(Device("gpu", (0,))) == doctor.Finding(False, "ONNX Runtime did not open it")
    monkeypatch.setattr(opening, "choose_network", lambda *_: lambda: None)
    assert doctor._run_on_card(Device("gpu", (0,))).ok
