"""NVIDIA's cards by ONNX Runtime: what is installed, what of it works, and what to do where it does not.

``onnxruntime`` and ``onnxruntime-gpu`` provide one module: of two that are installed, the one that came last is there.
Where it knows no cards, or lacks a library of NVIDIA's, ONNX Runtime takes the CPU with no more than a line in a log.
So what a card needs is looked at before a network is opened.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from tablerec.devices.build import nvidia_folders
from tablerec.errors import MissingDependencyError, SettingsError, TablerecError

PROVIDER = "CUDAExecutionProvider"
"""ONNX Runtime's name for NVIDIA's cards."""
PLAIN, CARDS = "onnxruntime", "onnxruntime-gpu"
"""The two distributions of one module."""
MEND = f"pip install --force-reinstall --no-deps {CARDS}"
"""Puts the files of the second over those of the first."""
LIBRARIES = {
    12: (
        *("libcublasLt.so.12", "libcublas.so.12", "libnvrtc.so.12", "libcurand.so.10", "libcufft.so.11"),
        *("libcudart.so.12", "libcudnn.so.9"),
    ),
    13: (
        *("libcublasLt.so.13", "libcublas.so.13", "libnvrtc.so.13", "libcurand.so.10", "libcufft.so.12"),
        *("libcudart.so.13", "libcudnn.so.9"),
    ),
}
"""What ONNX Runtime's library for cards opens on Linux, by the version of CUDA."""

_DRIVERS = {"linux": "libcuda.so.1", "win32": "nvcuda.dll"}
_TEXT = 100


@dataclass(frozen=True, slots=True)
class Card:
    """A card that the driver knows.

    Args:
        number: As in ``gpu:0``.
        name: NVIDIA's.
        memory: In bytes.
    """

    number: int
    name: str
    memory: int

    def __str__(self) -> str:
        """Return number, name and memory.

        >>> str(Card(0, "NVIDIA H200", 141 << 30))
        'gpu:0  NVIDIA H200, 144384 MiB'
        """
        return f"gpu:{self.number}  {self.name}, {self.memory >> 20} MiB"


def find_cards() -> list[Card]:
    """Ask NVIDIA's driver for its cards, as far as ``CUDA_VISIBLE_DEVICES`` shows them; none where there is no driver.

    A process that is forked after this cannot use a card: start it anew.
    """
    try:
        driver: Any = ctypes.CDLL(_DRIVERS[sys.platform])
    except (KeyError, OSError):
        return []
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    cards = []
    for number in range(count.value):
        name, memory, handle = ctypes.create_string_buffer(_TEXT), ctypes.c_size_t(), ctypes.c_int()
        driver.cuDeviceGet(ctypes.byref(handle), number)
        driver.cuDeviceGetName(name, _TEXT, handle)
        driver.cuDeviceTotalMem_v2(ctypes.byref(memory), handle)
        cards.append(Card(number, name.value.decode(errors="replace"), memory.value))
    return cards


def installed() -> dict[str, str]:
    """Return the versions of the distributions that provide ONNX Runtime, by their names."""
    found = {}
    for name in (PLAIN, CARDS):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def import_onnxruntime() -> Any:
    """Import ONNX Runtime.

    Raises:
        MissingDependencyError: It is not installed, or its files went with another distribution of it.
    """
    versions = installed()
    again = MEND if CARDS in versions else f"pip install --force-reinstall --no-deps {PLAIN}"
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingDependencyError(f"onnxruntime cannot be imported ({error}): run {again}") from error
    if not hasattr(onnxruntime, "InferenceSession"):
        raise MissingDependencyError(
            f"the files of onnxruntime are gone, as {PLAIN} and {CARDS} share them and one was removed: run {again}"
        )
    return onnxruntime


def load_libraries(onnxruntime: Any) -> list[str]:
    """Load NVIDIA's libraries, from their wheels or where the system has them.

    Returns:
        Those that cannot be loaded, by name; told on Linux alone.
    """
    names = library_names(onnxruntime)
    for folder in nvidia_folders("lib"):
        for name in names:
            if (folder / name).is_file():
                with contextlib.suppress(OSError):
                    ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)
    if hasattr(onnxruntime, "preload_dlls"):
        with contextlib.redirect_stdout(io.StringIO()):  # it prints what it misses
            onnxruntime.preload_dlls()
    return [name for name in names if not _opens(name)]


def find_obstacle(ids: Sequence[int] = ()) -> TablerecError | None:
    """Say what keeps ONNX Runtime from using cards, in one line with the next step; None where nothing does.

    Args:
        ids: Numbers of the cards; the first where none is given.
    """
    try:
        onnxruntime = import_onnxruntime()
    except MissingDependencyError as error:
        return error
    if PROVIDER not in onnxruntime.get_available_providers():
        return MissingDependencyError(_why_without(installed()))
    missing = load_libraries(onnxruntime)
    if missing:
        return MissingDependencyError(
            f'ONNX Runtime needs {", ".join(missing)}: run pip install "{CARDS}[cuda,cudnn]", or set LD_LIBRARY_PATH'
        )
    cards = find_cards()
    if not cards:
        return SettingsError("there is no NVIDIA card here, or no driver for it: look at nvidia-smi, or choose cpu")
    beyond = [number for number in ids if number >= len(cards)]
    if beyond:
        return SettingsError(f"there is no card {beyond[0]}: NVIDIA's driver shows {len(cards)}, counted from 0")
    return None


def require_card(name: str, number: int = 0) -> None:
    """Make sure that ONNX Runtime can use a card.

    Args:
        name: Of the device, for the message.
        number: Of the card.

    Raises:
        MissingDependencyError: ONNX Runtime, as it is installed, runs nothing on cards.
        SettingsError: There is no such card.
    """
    obstacle = find_obstacle((number,))
    if obstacle is not None:
        raise type(obstacle)(f"device {name!r}: {obstacle}") from obstacle


def _why_without(versions: dict[str, str]) -> str:
    """Why ONNX Runtime knows no cards.

    >>> _why_without({PLAIN: "1.32.0", CARDS: "1.31.1"})
    'onnxruntime 1.32.0 was installed over onnxruntime-gpu 1.31.1: run pip install --force-reinstall --no-deps \
onnxruntime-gpu==1.31.1'
    """
    if CARDS in versions:
        over = f"{PLAIN} {versions[PLAIN]} was installed over " if PLAIN in versions else "the files are damaged of "
        return f"{over}{CARDS} {versions[CARDS]}: run {MEND}=={versions[CARDS]}"
    return 'ONNX Runtime is installed without NVIDIA\'s cards: run pip install "tablerec[gpu]", or choose cpu'


def library_names(onnxruntime: Any) -> tuple[str, ...]:
    """Return the libraries of NVIDIA that a build of ONNX Runtime needs, in the order in which they load.

    >>> from types import SimpleNamespace
    >>> library_names(SimpleNamespace(cuda_version="13.0"))[:2] if sys.platform == "linux" else LIBRARIES[13][:2]
    ('libcublasLt.so.13', 'libcublas.so.13')
    """
    if sys.platform != "linux":
        return ()
    major = str(getattr(onnxruntime, "cuda_version", "")).split(".")[0]
    return LIBRARIES[12 if major == "12" else 13]


def _opens(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True
