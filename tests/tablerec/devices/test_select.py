"""Names of devices, and what ONNX Runtime and Paddle answer about them."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.config import Settings
from tablerec.devices import Device, cuda, parse_device, require_device, require_paddle, runtime_of, select
from tablerec.engine.engine import each_device
from tablerec.errors import MissingDependencyError, SettingsError, TablerecError
from tablerec.paddlex_support import make_runtime

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
    if "cuda" in text.lower() or "auto" in text.lower():
        return
    try:
        device = parse_device(text)
    except TablerecError:
        return
    assert parse_device(str(device)) == device


def test_cpu_needs_no_paddle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "paddle", None)
    require_device(Device("cpu"))
    require_paddle(Device("cpu"))


def fake_paddle(
    monkeypatch: pytest.MonkeyPatch, *, cuda: int | None = None, xpu: int | None = None, custom: tuple[str, ...] = ()
) -> None:
    """Put a Paddle in place; None is a build without that kind, ``custom`` the devices that plugins bring."""
    paddle = SimpleNamespace(
        __spec__=object(),
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
        require_paddle(Device("gpu", (0,)))
    for needed in ("2.6.2", "paddlepaddle-gpu==3", "https://www.paddlepaddle.org.cn/install/quick", "gpu:0"):
        assert needed in str(caught.value)


def test_gpu_with_the_cpu_build_tells_how_to_install_paddles_own_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_paddle(monkeypatch)
    with pytest.raises(MissingDependencyError, match=r"another build than Paddle 3\.3\.1.*2\.6\.2.*install/quick"):
        require_paddle(Device("gpu"))


@pytest.mark.parametrize("kind", ["dcu", "xpu", "npu", "my_chip"])
def test_other_kinds_without_their_build_say_so(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_paddle(monkeypatch)
    with pytest.raises(MissingDependencyError, match=f"'{kind}'.*build"):
        require_paddle(Device(kind))


def test_devices_that_are_there_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_paddle(monkeypatch, cuda=2, xpu=1, custom=("npu:0", "npu:1", "my_chip"))
    for device in (Device("gpu"), Device("gpu", (0, 1)), Device("xpu", (0,)), Device("npu", (1,)), Device("my_chip")):
        require_paddle(device)


@pytest.mark.parametrize("device", [Device("gpu", (2,)), Device("npu", (0, 2))], ids=str)
def test_numbers_beyond_the_last_device_say_how_many_there_are(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_paddle(monkeypatch, cuda=2, custom=("npu:0", "npu:1"))
    with pytest.raises(SettingsError, match="sees 2 device"):
        require_paddle(device)


def test_no_card_in_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_paddle(monkeypatch, cuda=0)
    with pytest.raises(SettingsError, match="sees 0 device"):
        require_paddle(Device("gpu"))


def test_installed_paddle_answers_as_expected() -> None:
    paddle = pytest.importorskip("paddle", reason="needs the paddle extra")
    if paddle.is_compiled_with_cuda():
        pytest.skip("needs Paddle's CPU build")
    for kind in ("gpu", "dcu", "xpu", "npu"):
        with pytest.raises(MissingDependencyError, match=kind):
            require_paddle(Device(kind))


def fake_onnxruntime(monkeypatch: pytest.MonkeyPatch, obstacle: TablerecError | None, n_cards: int = 1) -> None:
    """Have ONNX Runtime use cards, or not."""
    monkeypatch.setattr(select, "find_obstacle", lambda ids=(): obstacle)
    monkeypatch.setattr(select, "find_cards", lambda: [cuda.Card(k, "NVIDIA X", 1 << 30) for k in range(n_cards)])
    select._choose.cache_clear()


def test_a_card_needs_no_paddle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "paddle", None)
    fake_onnxruntime(monkeypatch, None)
    require_device(Device("gpu", (0,)))


def test_a_card_that_onnx_runtime_cannot_use_says_why_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "paddle", None)
    fake_onnxruntime(monkeypatch, MissingDependencyError("no cards: run pip"))
    with pytest.raises(MissingDependencyError, match=r"^device 'gpu:1': no cards: run pip$"):
        require_device(Device("gpu", (1,)))


def test_paddles_own_build_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_onnxruntime(monkeypatch, MissingDependencyError("no cards"))
    fake_paddle(monkeypatch, cuda=2)
    assert runtime_of(Device("gpu", (1,))) == "Paddle"
    require_device(Device("gpu", (1,)))
    fake_paddle(monkeypatch)
    with pytest.raises(MissingDependencyError, match="no cards"):
        require_device(Device("gpu", (1,)))


def test_auto_is_all_cards_or_the_cpu_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_onnxruntime(monkeypatch, None, n_cards=2)
    assert parse_device("auto") == Device("gpu", (0, 1))
    assert each_device("auto") == ["gpu:0", "gpu:1"]
    fake_onnxruntime(monkeypatch, SettingsError("there is no card"))
    with pytest.warns(UserWarning, match="device auto is the CPU: there is no card"):
        assert parse_device("Auto") == Device("cpu")
    assert parse_device("auto") == Device("cpu")  # once is enough
    assert make_runtime(Settings(device="auto")).device == "cpu"
    assert each_device("auto") == ["cpu"]
    select._choose.cache_clear()
    with pytest.raises(SettingsError, match="auto takes no number"):
        parse_device("auto:0")
