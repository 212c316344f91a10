"""What devices there are, and what stands in the way of using one."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tablerec.detect.paddlex import OFFICIAL
from tablerec.devices.cuda import find_cards, find_obstacle, import_onnxruntime, installed, library_names
from tablerec.devices.plugin import NVIDIA_LIBRARIES, Plugin, missing_libraries, registered_kernels
from tablerec.devices.select import Device, parse_device, require_paddle
from tablerec.errors import MissingDependencyError, TablerecError

# PaddleX 3.7: the kinds that it accepts; the last three need a build of Paddle of their own.
_PADDLEX_KINDS = ("cpu", "gpu", "npu", "mlu", "gcu", "iluvatar_gpu", "metax_gpu", "xpu", "dcu")
# PaddleX means to switch Paddle's views off for these, but sets the flag after Paddle has read it.
_WITHOUT_VIEWS = ("npu", "mlu", "gcu", "xpu")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; ``text`` says what to do where it is not ``ok``."""

    ok: bool
    text: str


def list_devices(plugin: Plugin | None = None) -> Iterator[str]:
    """Yield a line for each device: the CPU, cards that ONNX Runtime uses, and what Paddle sees, if it is installed.

    Args:
        plugin: Ours, if it is loaded: it knows its driver. Of a vendor's plugin Paddle tells the memory
            that it took, and no driver.
    """
    yield f"cpu  {os.cpu_count()} processors{_host_memory()}, {_runtimes()}"
    obstacle = find_obstacle()
    for card in find_cards():
        yield f"{card}, " + (f"ONNX Runtime cannot use it: {obstacle}" if obstacle else "used by ONNX Runtime")
    if _has_paddle():
        yield from _list_paddle(plugin)


def _list_paddle(plugin: Plugin | None) -> Iterator[str]:
    import paddle

    if paddle.is_compiled_with_cuda():
        for number in range(paddle.device.cuda.device_count()):
            yield f"gpu:{number}  {paddle.device.cuda.get_device_name(number)}, in Paddle's own build"
    for name in paddle.device.get_available_custom_device():
        kernels = registered_kernels(name.split(":")[0])
        root = os.environ.get("CUSTOM_DEVICE_ROOT", "paddle_custom_device")
        kind, _, number = name.partition(":")
        told = plugin.describe(int(number or 0)) if plugin and plugin.device == kind else _memory_taken(paddle, name)
        yield f"{name}  {told}, plugin in {root}, {len(kernels)} kernels"
    for kind in _kinds_without_device(paddle):
        yield f"{kind}  plugin loaded, but it sees no device: is the driver installed?"


def _has_paddle() -> bool:
    return importlib.util.find_spec("paddle") is not None


def _runtimes() -> str:
    """The runtimes that are installed, with their versions."""
    found = [f"{name} {version}" for name, version in installed().items()] or ["no ONNX Runtime"]
    if _has_paddle():
        import paddle

        found.append(f"Paddle {paddle.__version__}")
    return ", ".join(found)


def _host_memory() -> str:
    try:
        page, total, free = (os.sysconf(name) for name in ("SC_PAGE_SIZE", "SC_PHYS_PAGES", "SC_AVPHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not everywhere known
        return ""
    return f", memory {page * total >> 20} MiB, free {page * free >> 20} MiB"


def _memory_taken(paddle: Any, name: str) -> str:
    try:
        return f"driver not told, {paddle.device.memory_reserved(name) >> 20} MiB of its memory taken by Paddle"
    except Exception:  # whatever a vendor's plugin raises
        return "driver and memory not told"


def examine(device: str, models: Sequence[str] = (), plugin: Plugin | None = None) -> list[Finding]:
    """Look at what a device needs; imports Paddle where it is installed.

    Args:
        device: The device's name as a user wrote it; may be wrong, or empty.
        models: PaddleX models that are to run on it; by default those that this project uses.
        plugin: Ours, if it is loaded.

    Returns:
        What was found; the first problem ends it where nothing can be said without the device.
    """
    if not device.strip():
        return [
            Finding(
                False,
                "no device is named: write cpu, or one of `tablerec device list`",
            )
        ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            parsed = parse_device(device)
        except TablerecError as error:
            return [Finding(False, str(error))]
    findings = [Finding(False, str(warning.message)) for warning in caught]
    if parsed.kind in ("cpu", "gpu"):
        findings += _onnxruntime(parsed)
    by_paddle = _examine_paddle(parsed, models, plugin)
    if parsed.kind not in ("cpu", "gpu") or by_paddle[0].ok:
        return findings + by_paddle
    # Our networks do without Paddle there.
    why = by_paddle[0].text.split(". ")[0]
    return [*findings, Finding(True, f"Paddle is for PaddleX's models and for training, and not needed else: {why}")]


def _onnxruntime(device: Device) -> Iterator[Finding]:
    """What runs our networks on the CPU and on NVIDIA's cards."""
    try:
        onnxruntime = import_onnxruntime()
    except TablerecError as error:
        yield Finding(False, str(error))
        return
    versions = ", ".join(f"{name} {version}" for name, version in installed().items())
    yield Finding(True, f"ONNX Runtime {onnxruntime.__version__} is there ({versions})")
    if device.kind == "cpu":
        return
    obstacle = find_obstacle(device.ids)
    for card in find_cards():
        yield Finding(True, f"NVIDIA's driver shows {card}")
    if obstacle is not None:
        yield Finding(False, str(obstacle))
        return
    yield Finding(True, f"its providers are {', '.join(onnxruntime.get_available_providers())}")
    yield Finding(True, f"{', '.join(library_names(onnxruntime)) or 'its libraries'} can be opened")
    yield _run_on_card(device)


def _run_on_card(device: Device) -> Finding:
    """Open the package's network on the card: ONNX Runtime says there alone whether it took it."""
    from tablerec.models.folder import NAME, WEIGHTS
    from tablerec.models.opening import choose_network

    try:
        choose_network(WEIGHTS, str(device), NAME, ())()
    except TablerecError as error:
        return Finding(False, str(error))
    return Finding(True, f"CellNet runs on {device}")


def _examine_paddle(device: Device, models: Sequence[str], plugin: Plugin | None) -> list[Finding]:
    findings: list[Finding] = []
    if plugin and device.kind == plugin.device and plugin.uses_cuda():
        findings += _libraries()
    try:
        require_paddle(device)
        if device.kind == "cpu" and not _has_paddle():
            raise MissingDependencyError('Paddle is not installed: run pip install "tablerec[paddle]"')
    except TablerecError as error:
        return [*findings, Finding(False, str(error))]
    findings.append(Finding(True, f"Paddle sees the device {device}"))
    findings.append(_paddlex(device))
    if findings[-1].ok:
        findings += [_model(device, model) for model in models or OFFICIAL]
    if device.kind != "cpu":
        findings += _fallback(device)
        findings += _silent_fallback(device, plugin)
    return findings


def _paddlex(device: Device) -> Finding:
    if device.kind not in _PADDLEX_KINDS:
        return Finding(
            False,
            f"PaddleX refuses the kind {device.kind!r}. A plugin of ours can be loaded under a name that it takes: "
            "TABLEREC_DEVICE_NAME=iluvatar_gpu",
        )
    flag = "FLAGS_use_stride_kernel=0"
    note = f"; it sets {flag} too late to count: export it yourself" if device.kind in _WITHOUT_VIEWS else ""
    return Finding(True, f"PaddleX accepts the kind {device.kind!r}{note}")


def _model(device: Device, model: str) -> Finding:
    """Ask PaddleX's own list of the models allowed on a kind of device."""
    try:
        from paddlex.utils.device import check_supported_device_type
    except ImportError as error:
        return Finding(False, f"{model}: PaddleX cannot be asked ({error}): pip install 'tablerec[paddle]'")
    try:
        check_supported_device_type(device.kind, model)
    except Exception as error:  # whatever PaddleX raises
        return Finding(
            False,
            f"{model} is not on PaddleX's list for {device.kind}: {error}. "
            "PADDLE_PDX_DISABLE_DEV_MODEL_WL=1 skips the list",
        )
    return Finding(True, f"{model} is allowed on {device.kind}")


def _fallback(device: Device) -> Iterator[Finding]:
    import paddle

    kernels = registered_kernels(device.kind)
    yield Finding(bool(kernels), f"{len(kernels)} kernels are registered for {device.kind}")
    flag = "FLAGS_enable_api_kernel_fallback"
    if paddle.get_flags([flag])[flag]:
        yield Finding(
            False, f"operators that {device.kind} lacks run on the CPU, silently: export {flag}=0 to see them fail"
        )
    else:
        yield Finding(True, f"{flag} is off; static inference falls back all the same, only the plugin's counters tell")


def _libraries() -> Iterator[Finding]:
    missing = missing_libraries()
    for name, reason in missing:
        yield Finding(
            False,
            f"{name} cannot be opened ({reason}): pip install nvidia-cudnn-cu13 nvidia-cublas, or set LD_LIBRARY_PATH",
        )
    if not missing:
        yield Finding(True, f"{', '.join(NVIDIA_LIBRARIES)} can be opened")


def _silent_fallback(device: Device, plugin: Plugin | None) -> Iterator[Finding]:
    """Run an operator and read the plugin's counters: Paddle says "on the device" also where the CPU did the work."""
    import paddle

    try:
        paddle.set_device(str(device))
        given = paddle.ones([4])
        before = plugin.kernels().get("add", 0) if plugin else 0
        answer = (given + given).numpy().tolist()
    except Exception as failure:  # whatever the plugin raises
        last = str(failure).strip().splitlines()
        yield Finding(False, f"an addition on {device} fails: {last[-1] if last else type(failure).__name__}")
        return
    if answer != [2.0] * 4:
        yield Finding(False, f"1 + 1 on {device} is {answer[0]}")
    elif plugin is None or plugin.device != device.kind:
        yield Finding(
            True, f"an addition on {device} is right; its plugin has no counters to tell whether it ran there"
        )
    elif plugin.kernels().get("add", 0) > before:
        yield Finding(True, f"an addition on {device} is right, and its counters say that it ran there")
    else:
        yield Finding(False, f"an addition on {device} ran on the CPU: the counters saw no kernel")


def _kinds_without_device(paddle: Any) -> list[str]:
    seen = {name.split(":")[0] for name in paddle.device.get_available_custom_device()}
    return [kind for kind in paddle.device.get_all_custom_device_type() if kind not in seen]
