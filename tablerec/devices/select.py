"""A device's name, in PaddleX's syntax, and the check that it can be used."""

from __future__ import annotations

import importlib.util
import re
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from tablerec.devices.cuda import find_cards, find_obstacle
from tablerec.errors import MissingDependencyError, SettingsError, TablerecError

_SYNTAX = re.compile(r"([a-z][a-z0-9_]*)(?::([0-9]+(?:,[0-9]+)*))?", re.ASCII)
_EXAMPLES = "cpu, auto, gpu, gpu:0, gpu:0,1, npu:0, xpu:0, dcu:0, mlu:0, gcu:0, metax_gpu:0 or iluvatar_gpu:0"
AUTO = "auto"
"""All cards that ONNX Runtime can use, and the CPU where it can use none."""
_GPU_HELP = (
    "PyPI's newest paddlepaddle-gpu is 2.6.2, too old for PaddleX 3. Install Paddle's own wheel: "
    "pip uninstall -y paddlepaddle; pip install paddlepaddle-gpu==3.3.0 -i INDEX, "
    "where https://www.paddlepaddle.org.cn/install/quick names the INDEX for your CUDA version. "
    "Or choose the device cpu"
)


@dataclass(frozen=True, slots=True)
class Device:
    """Where a model runs.

    Args:
        kind: ``cpu``, ``gpu`` or the name under which Paddle knows another kind of device.
        ids: Numbers of the devices; empty for the CPU and for the first device.

    >>> str(Device("gpu", (0, 1)))
    'gpu:0,1'
    """

    kind: str
    ids: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return the name in PaddleX's syntax."""
        return f"{self.kind}:{','.join(map(str, self.ids))}" if self.ids else self.kind


def parse_device(text: str) -> Device:
    """Read a device's name.

    ``cuda`` is taken as ``gpu``, with a warning. ``auto`` is all NVIDIA cards, and where ONNX Runtime can use none the
    CPU, with a warning that says why. Names that Paddle's plugins may register are accepted here; ``require_device``
    asks Paddle for them.

    Args:
        text: ``kind`` or ``kind:id,id``; case does not matter.

    Raises:
        SettingsError: The text is no device.

    >>> parse_device("gpu:0,1")
    Device(kind='gpu', ids=(0, 1))
    >>> parse_device("gpu:x")
    Traceback (most recent call last):
    postprocess.errors.SettingsError: device 'gpu:x' is unknown: write cpu, auto, gpu, gpu:0, gpu:0,1, npu:0, xpu:0, \
dcu:0, mlu:0, gcu:0, metax_gpu:0 or iluvatar_gpu:0
    """
    match = _SYNTAX.fullmatch(text.strip().lower())
    if match is None:
        raise SettingsError(f"device {text!r} is unknown: write {_EXAMPLES}")
    kind, ids = match[1], tuple(int(number) for number in match[2].split(",")) if match[2] else ()
    if kind == "mps":
        raise SettingsError(f"device {text!r}: Paddle does not run on Apple's GPU; choose cpu")
    if kind in ("cpu", AUTO) and ids:
        raise SettingsError(f"device {text!r}: {kind} takes no number; write {kind}")
    if kind == AUTO:
        return _choose()
    if len(set(ids)) < len(ids):
        raise SettingsError(f"device {text!r} names a number twice")
    if kind == "cuda":
        device = Device("gpu", ids)
        warnings.warn(f"Paddle calls the device {text!r} {str(device)!r}: taken as that", stacklevel=2)
        return device
    return Device(kind, ids)


def require_device(device: Device) -> None:
    """Make sure that our networks can use a device; see ``runtime_of``, which raises what is raised here.

    >>> require_device(Device("cpu"))
    """
    runtime_of(device)


def runtime_of(device: Device) -> Literal["ONNX Runtime", "Paddle"]:
    """Say what runs our networks on a device: ONNX Runtime on the CPU and on NVIDIA's cards, Paddle on others.

    Where ONNX Runtime cannot use a card and Paddle's own build can, Paddle runs them there.

    Raises:
        MissingDependencyError: What runs networks on the device is not installed.
        SettingsError: There is no such device on this machine.

    >>> runtime_of(Device("cpu"))
    'ONNX Runtime'
    """
    if device.kind == "cpu":
        return "ONNX Runtime"
    if device.kind == "gpu":
        obstacle = find_obstacle(device.ids)
        if obstacle is None:
            return "ONNX Runtime"
        if not _paddle_has(device):
            raise type(obstacle)(f"device {str(device)!r}: {obstacle}") from obstacle
    require_paddle(device)
    return "Paddle"


def _paddle_has(device: Device) -> bool:
    """Whether Paddle's own build is installed and sees a card."""
    if importlib.util.find_spec("paddle") is None:
        return False
    try:
        require_paddle(device)
    except TablerecError:
        return False
    return True


def require_paddle(device: Device) -> None:
    """Make sure that Paddle can use a device; imports Paddle unless it is the CPU.

    Raises:
        MissingDependencyError: Paddle, or its build for the device, is not installed.
        SettingsError: There is no such device on this machine.

    >>> require_paddle(Device("cpu"))
    """
    if device.kind == "cpu":
        return
    try:
        import paddle
    except ImportError as error:
        raise MissingDependencyError(_missing(device, f"cannot be used because Paddle is missing ({error})")) from error
    count = _device_count(paddle, device)
    beyond = [number for number in device.ids if number >= count]
    if count == 0 or beyond:
        raise SettingsError(f"device {str(device)!r}: Paddle sees {count} device(s) of kind {device.kind} here")


@cache
def _choose() -> Device:
    """What ``auto`` is on this machine."""
    obstacle = find_obstacle()
    if obstacle is None:
        return Device("gpu", tuple(card.number for card in find_cards()))
    warnings.warn(f"device auto is the CPU: {obstacle}", stacklevel=2)
    return Device("cpu")


def _device_count(paddle: Any, device: Device) -> int:
    """Ask Paddle for the number of devices of a kind; raise where its build knows no such kind."""
    # A DCU is a GPU to Paddle, in a build of its own.
    if device.kind in ("gpu", "dcu"):
        built = paddle.is_compiled_with_cuda() if device.kind == "gpu" else paddle.is_compiled_with_rocm()
        if not built:
            raise MissingDependencyError(_missing(device, f"needs another build than Paddle {paddle.__version__}"))
        return int(paddle.device.cuda.device_count())
    if device.kind == "xpu" and paddle.is_compiled_with_xpu():
        return int(paddle.device.xpu.device_count())
    known = paddle.device.get_all_custom_device_type()
    if device.kind not in known:
        raise MissingDependencyError(_missing(device, f"is not among those of Paddle {paddle.__version__}"))
    return sum(name.split(":")[0] == device.kind for name in paddle.device.get_available_custom_device())


def _missing(device: Device, cause: str) -> str:
    next_step = (
        _GPU_HELP
        if device.kind == "gpu"
        else (
            "Install Paddle's build or plugin for it (https://www.paddlepaddle.org.cn/install/quick), "
            f"or write another device: {_EXAMPLES}"
        )
    )
    return f"device {str(device)!r} {cause}. {next_step}"
