"""Names of devices, and Paddle's answers about them."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.devices import Device, parse_device, require_device
from tablerec.errors import MissingDependencyError, SettingsError, TablerecError

KINDS = ["gpu", "npu", "xpu", "dcu", "mlu", "gcu", "metax_gpu", "iluvatar_gpu", "my_chip2"]


@pytest.mark.parametrize("text", ["", " ", "mps", "mps:0"])
def test_empty_and_apple_devices_say_why(text: str) -> None:
    with pytest.raises(SettingsError, match="cpu"):
        parse_device(text)


@pytest.mark.parametrize("text", ["cuda", "CUDA:0", "cuda:0,1"])
def test_cuda_is_gpu_with_a_warning(text: str) -> None:
    with pytest.warns(UserWarning, match="'gpu"):
        device = parse_device(text)
    assert str(device) == text.lower().replace("cuda", "gpu")


@pytest.mark.parametrize(
    "text", ["gpu:", ":0", "gpu:x", "gpu:-1", "gpu:0:1", "gpu 0", "gpu:0,", "gpu:0,0", "0", "cpu:0", "gpu:٣", "図:0"]
)
def test_wrong_syntax_names_the_text(text: str) -> None:
    with pytest.raises(SettingsError, match="device") as caught:
        parse_device(text)
    assert repr(text) in str(caught.value)


@given(st.sampled_from(KINDS), st.lists(st.integers(0, 99), unique=True, max_size=4))
def test_text_and_device_are_the_same_thing(kind: str, ids: list[int]) -> None:
    device = Device(kind, tuple(ids))
    assert parse_device(str(device)) == device
    assert parse_device(f" {device} ".upper()) == device


@given(st.text(max_size=12))
def test_any_text_gives_a_device_or_our_error(text: str) -> None:
    if "cuda" in text.lower():
        return
    try:
        device = parse_device(text)
    except TablerecError:
        return
    assert parse_device(str(device)) == device


def test_cpu_needs_no_paddle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "paddle", None)
    require_device(Device("cpu"))


def fake_paddle(
    monkeypatch: pytest.MonkeyPatch, *, cuda: int | None = None, xpu: int | None = None, custom: tuple[str, ...] = ()
) -> None:
    """Put a Paddle in place; None is a build without that kind, ``custom`` the devices that plugins bring."""
    paddle = SimpleNamespace(
        __version__="3.3.1",
        is_compiled_with_cuda=lambda: cuda is not None,
        is_compiled_with_rocm=lambda: False,
        is_compiled_with_xpu=lambda: xpu is not None,
        device=SimpleNamespace(
            cuda=SimpleNamespace(device_count=lambda: cuda),
            xpu=SimpleNamespace(device_count=lambda: xpu),
            get_all_custom_device_type=lambda: [name.split(":")[0] for name in custom],
            get_available_custom_device=lambda: list(custom),
        ),
    )
    monkeypatch.setitem(sys.modules, "paddle", paddle)


def test_gpu_without_paddle_tells_how_to_install_paddles_own_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "paddle", None)
    with pytest.raises(MissingDependencyError, match="Paddle is missing") as caught:
        require_device(Device("gpu", (0,)))
    for needed in ("2.6.2", "paddlepaddle-gpu==3", "https://www.paddlepaddle.org.cn/install/quick", "gpu:0"):
        assert needed in str(caught.value)


def test_gpu_with_the_cpu_build_tells_how_to_install_paddles_own_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_paddle(monkeypatch)
    with pytest.raises(MissingDependencyError, match=r"another build than Paddle 3\.3\.1.*2\.6\.2.*install/quick"):
        require_device(Device("gpu"))


@pytest.mark.parametrize("kind", ["dcu", "xpu", "npu", "my_chip"])
def test_other_kinds_without_their_build_say_so(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_paddle(monkeypatch)
    with pytest.raises(MissingDependencyError, match=f"'{kind}'.*build"):
        require_device(Device(kind))


def test_devices_that_are_there_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_paddle(monkeypatch, cuda=2, xpu=1, custom=("npu:0", "npu:1", "my_chip"))
    for device in (Device("gpu"), Device("gpu", (0, 1)), Device("xpu", (0,)), Device("npu", (1,)), Device("my_chip")):
        require_device(device)


@pytest.mark.parametrize("device", [Device("gpu", (2,)), Device("npu", (0, 2))], ids=str)
def test_numbers_beyond_the_last_device_say_how_many_there_are(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_paddle(monkeypatch, cuda=2, custom=("npu:0", "npu:1"))
    with pytest.raises(SettingsError, match="sees 2 device"):
        require_device(device)


def test_no_card_in_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_paddle(monkeypatch, cuda=0)
    with pytest.raises(SettingsError, match="sees 0 device"):
        require_device(Device("gpu"))


def test_installed_paddle_answers_as_expected() -> None:
    paddle = pytest.importorskip("paddle", reason="needs the paddle extra")
    if paddle.is_compiled_with_cuda():
        pytest.skip("needs Paddle's CPU build")
    for kind in ("gpu", "dcu", "xpu", "npu"):
        with pytest.raises(MissingDependencyError, match=kind):
            require_device(Device(kind))
