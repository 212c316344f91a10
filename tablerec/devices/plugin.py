"""Loading the device plugin into Paddle, and reading what the device counted."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tablerec.devices.attention import choose_flash_attention
from tablerec.devices.build import LIBRARY, build_plugin, built_for, nvidia_folders, paddle_folder, paddle_version
from tablerec.errors import MissingDependencyError, SettingsError

DEVICE_NAME = "tablerec_gpu"
NVIDIA_LIBRARIES = ("libcublasLt.so.13", "libcublas.so.13", "libcudnn.so.9")
NCCL = "libnccl.so.2"
LIBRARY_SETTINGS = {"libcublas.so.13": "TABLEREC_CUBLAS", "libcudnn.so.9": "TABLEREC_CUDNN"}
"""Variables of the environment that name another file to open."""

_KERNEL = "kernel."
_CUDA_RUNTIME = "libcudart.so.13"


@dataclass(frozen=True, slots=True)
class KernelTime:
    """What a profile measured of a kernel.

    Args:
        launches: How often it ran.
        milliseconds: Time on the device, all launches together.
    """

    launches: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Plugin:
    """A loaded plugin.

    Args:
        device: The name under which Paddle knows the device, for ``paddle.set_device``.
        path: The shared library.
    """

    device: str
    path: Path

    def counters(self) -> dict[str, int]:
        """Return what the device did since it was loaded or ``reset``: copies, bytes, kernels, synchronizations."""
        return {name: count for name, count in self._report().items() if not name.startswith(_KERNEL)}

    def kernels(self) -> dict[str, int]:
        """Return the launches by kernel."""
        return {name[len(_KERNEL) :]: count for name, count in self._report().items() if name.startswith(_KERNEL)}

    def reset(self) -> None:
        """Set all counts to zero; the bytes in use stay."""
        ctypes.CDLL(str(self.path)).tablerec_device_reset()

    def describe(self, number: int = 0) -> str:
        """Return maker, driver and memory of a device; "" where there is none of that number."""
        return self._text("describe", number)

    def uses_cuda(self) -> bool:
        """Return whether this is the CUDA build, which opens NVIDIA's libraries."""
        return b"libcudnn.so" in self.path.read_bytes()

    @contextlib.contextmanager
    def profile(self) -> Iterator[dict[str, KernelTime]]:
        """Measure the time of every kernel on the device while the context lasts.

        The device is waited for once, at the end. Each launch takes a little longer meanwhile, so
        measure whole steps without it. A kernel that gives its work to a library which
        is not timed is counted with 0 milliseconds.

        Yields:
            A dictionary by kernel, filled at the end.
        """
        library = ctypes.CDLL(str(self.path))
        times: dict[str, KernelTime] = {}
        library.tablerec_device_profile_start()
        try:
            yield times
        finally:
            library.tablerec_device_profile_stop()
            for line in self._text("profile_report").splitlines():
                name, launches, milliseconds = line.split()
                times[name] = KernelTime(int(launches), float(milliseconds))

    def _report(self) -> dict[str, int]:
        return {name: int(count) for name, count in (line.split() for line in self._text("report").splitlines())}

    def _text(self, function: str, *arguments: int) -> str:
        call = getattr(ctypes.CDLL(str(self.path)), f"tablerec_device_{function}")
        call.restype = ctypes.c_size_t
        call.argtypes = (*(ctypes.c_int for _ in arguments), ctypes.c_char_p, ctypes.c_size_t)
        size = call(*arguments, None, 0) + 4096  # kernels may be counted meanwhile
        text = ctypes.create_string_buffer(size)
        call(*arguments, text, size)
        return text.value.decode()


def load_plugin(
    path: str | Path | None = None, device_name: str | None = None, tf32: bool = False, fallback: bool = False
) -> Plugin:
    """Load a plugin and import Paddle with it.

    Paddle looks for plugins once, when it is imported: call this before. Its attention functions choose the
    device's flash attention from then on (``attention``; ``TABLEREC_ATTENTION=math`` leaves them as they are).

    Args:
        path: The library that ``build_plugin`` returned; by default the simulated one is built.
        device_name: The name for Paddle, by default ``TABLEREC_DEVICE_NAME`` or ``tablerec_gpu``.
            PaddleX accepts few: ``iluvatar_gpu`` is one without a list of allowed models.
        tf32: Let products and convolutions round their operands to TF32 (CUDA only).
        fallback: Let Paddle run operators that the device lacks on the CPU, silently.
            Off, they raise. The switch does not reach static inference: read the counters.

    Raises:
        MissingDependencyError: Paddle is missing, did not take the plugin, or is not the version
            that the plugin was compiled for.
        SettingsError: Paddle is imported already, or ``TABLEREC_ATTENTION`` names no way to attend.
    """
    if "paddle" in sys.modules:
        raise SettingsError("the device plugin must be loaded before Paddle is imported: call load_plugin first")
    library = Path(path) if path else build_plugin("simulated")
    if not library.is_file():
        raise MissingDependencyError(f"{library} is missing: build it with `tablerec device build`")
    _require_same_version(library)
    device_name = device_name or os.environ.get("TABLEREC_DEVICE_NAME") or DEVICE_NAME
    os.environ["CUSTOM_DEVICE_ROOT"] = str(library.parent)
    os.environ["TABLEREC_DEVICE_NAME"] = device_name
    os.environ["TABLEREC_TF32"] = str(int(tf32))
    _preload(_libraries())
    for name, folder in _pairs((NCCL,), nvidia_folders("lib")):
        os.environ.setdefault("TABLEREC_NCCL", str(folder / name))  # opened for several processes alone
    _name_cuda_runtime()
    import paddle

    if device_name not in paddle.device.get_all_custom_device_type():
        raise MissingDependencyError(
            f"{library}: Paddle {paddle.__version__} did not take the plugin; "
            "build it again for this Paddle: `tablerec device build`"
        )
    # Paddle lists by name the custom devices that may use bfloat16, and turns auto_cast off for others: ask the device.
    sys.modules["paddle.amp.auto_cast"]._is_custom_device_bfloat16_supported = paddle.amp.is_bfloat16_supported  # type: ignore[attr-defined]
    paddle.set_flags({"FLAGS_enable_api_kernel_fallback": fallback})
    plugin = Plugin(device_name, library)
    # In float32 CUDA has no fast kernel: products by cuBLAS are faster there.
    choose_flash_attention(in_float32=not plugin.uses_cuda())
    return plugin


def _require_same_version(library: Path) -> None:
    built, installed = built_for(library), paddle_version(paddle_folder())
    if built and installed and built != installed:
        raise MissingDependencyError(
            f"{library} was compiled for Paddle {built}, but Paddle {installed} is installed: "
            "build it again with `tablerec device build`"
        )


def has_collectives(kind: str) -> bool:
    """Return whether processes on a kind of device can compute together by its plugin: Paddle's backend ``xccl``.

    Args:
        kind: The kind of device. Only a plugin of ours, loaded in this process, is asked; the CUDA plugin needs NCCL.

    >>> has_collectives("cpu")
    False
    """
    path = Path(os.environ.get("CUSTOM_DEVICE_ROOT", "")) / LIBRARY
    if kind != os.environ.get("TABLEREC_DEVICE_NAME") or not path.is_file():
        return False
    plugin = Plugin(kind, path)
    if not hasattr(ctypes.CDLL(str(path)), "tablerec_add_collectives"):
        return False
    try:
        if plugin.uses_cuda():
            ctypes.CDLL(os.environ.get("TABLEREC_NCCL", NCCL))
    except OSError:
        return False
    return True


def registered_kernels(kind: str) -> dict[str, set[str]]:
    """Return the operators that a kind of device has kernels for, each with its types.

    Args:
        kind: Any kind of device, a vendor's too. For a custom device those are its plugin's:
            the views which Paddle gives to all are not among them.
    """
    import paddle

    place = "CPU" if kind == "cpu" else kind
    found: dict[str, set[str]] = {}
    for name, keys in paddle.base.core._get_registered_phi_kernels("all").items():
        types = {key.strip("()").split(", ")[-1] for key in keys if key.startswith(f"({place},")}
        if types:
            found[name] = types
    return found


def missing_libraries() -> list[tuple[str, str]]:
    """Return the libraries of NVIDIA that cannot be opened here, each with the loader's reason."""
    _preload(_libraries())
    missing = []
    for name in _libraries():
        try:
            ctypes.CDLL(name)
        except OSError as error:
            missing.append((name, str(error)))
    return missing


def _libraries() -> tuple[str, ...]:
    return tuple(os.environ.get(LIBRARY_SETTINGS.get(name, ""), "") or name for name in NVIDIA_LIBRARIES)


def _preload(names: tuple[str, ...]) -> None:
    """Open NVIDIA's libraries from their wheels, where no search path leads; a missing one is reported when needed."""
    for name, folder in _pairs(names, nvidia_folders("lib")):
        with contextlib.suppress(OSError):
            ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)


def _name_cuda_runtime() -> None:
    """Tell the headers of cuDNN's graphs where NVIDIA's wheels have the runtime that they open by name."""
    for _, folder in _pairs((_CUDA_RUNTIME,), nvidia_folders("lib")):
        os.environ.setdefault("CUDNN_FRONTEND_CUDART_LIB_NAME", str(folder / _CUDA_RUNTIME))


def _pairs(names: tuple[str, ...], folders: list[Path]) -> Iterator[tuple[str, Path]]:
    for name in names:
        yield from ((name, folder) for folder in folders if (folder / name).is_file())
