"""Exported networks are opened here: by ONNX Runtime on the CPU and on NVIDIA's cards, by Paddle on other devices.

- ``choose_network``, ``open_network``: from a folder and a device to a function that runs the network
- ``file``: a network and where it runs
- ``card``: a network on a card; ``graphs``, ``parts``, ``halves``: what becomes of its graph
- ``sessions``: of ONNX Runtime on a card, one for each shape, and the memory that they share
- ``batched``: calls of several threads go through the network together
- ``buckets``: the few shapes that a card sees

A network on a card is opened once in a process, and all who ask for it share it. ``open_with`` has this process get
its networks from elsewhere, such as a process that holds the card.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from tablerec.devices import parse_device, require_device, runtime_of
from tablerec.devices.cuda import import_onnxruntime
from tablerec.errors import MissingDependencyError, ModelNotFoundError
from tablerec.models.folder import INPUT, ONNX, STATIC, check_files, read_description
from tablerec.models.opening.file import Network, NetworkFile, check_outputs, not_opened
from tablerec.processes import usable_cpus

__all__ = [
    "Network",
    "NetworkFile",
    "choose_network",
    "open_network",
    "open_with",
    "opener",
    "require_networks",
    "runs_on_card",
    "usable_threads",
]

MOST_THREADS = 8
"""More make small networks no faster."""


def usable_threads() -> int:
    """Threads that pay: the CPUs that this process may use, at most ``MOST_THREADS`` or ``OMP_NUM_THREADS``."""
    # ONNX Runtime's threads wait by spinning: more than there are CPUs, or than other processes leave, cost much.
    given = os.environ.get("OMP_NUM_THREADS", "")
    most = int(given) if given.isascii() and given.isdigit() and int(given) else MOST_THREADS
    return min(MOST_THREADS, usable_cpus(), most)


def choose_network(
    folder: Path, device: str, name: str, outputs: Sequence[str], threads: int | None = None
) -> Callable[[], Network]:
    """Check the files of an exported network and its device, and say how it is opened.

    Args:
        folder: Holds ``inference.onnx``, or ``inference.json`` and ``inference.pdiparams`` for Paddle.
        device: ``cpu`` and ``gpu`` run the ONNX model; other devices run Paddle's, which is made of the ONNX model
            where the folder has none. So do these two where there is no ONNX model, and ``gpu`` where Paddle's own
            build can use the card and ONNX Runtime cannot.
        name: Of the network, as ``inference.yml`` has it.
        outputs: Names of its outputs.
        threads: Of ONNX Runtime on the CPU; None takes ``usable_threads``.

    Raises:
        ModelNotFoundError: The folder holds no such model, or a damaged one.
        MissingDependencyError, SettingsError: See ``runs_on_card``.
    """
    kind = parse_device(device).kind
    has_onnx = kind in ("cpu", "gpu") and (
        (folder / ONNX).is_file() or ONNX in read_description(folder, name).get("sha256", {})
    )
    if has_onnx and (kind == "cpu" or runs_on_card(device)):
        check_files(folder, ONNX, expected=name)
        return opener(NetworkFile(folder / ONNX, device, name, tuple(outputs), threads))
    if (folder / STATIC[0]).is_file():
        check_files(folder, *STATIC, expected=name)
    elif not (folder / ONNX).is_file():
        raise ModelNotFoundError(f"{folder} holds no {ONNX}: name the folder of an exported {name}")
    return opener(NetworkFile(folder, device, name, tuple(outputs), threads))


def require_networks(device: str) -> None:
    """Make sure that our networks run on a device; nothing is asked where another process opens them.

    Raises:
        MissingDependencyError, SettingsError: See ``devices.runtime_of``.

    >>> require_networks("cpu")
    """
    if _open_file is open_network:
        require_device(parse_device(device))


def runs_on_card(device: str) -> bool:
    """Whether ONNX Runtime runs networks on an NVIDIA card, if that is the device.

    Raises:
        MissingDependencyError: Neither ONNX Runtime, as it is installed, nor Paddle runs anything on cards.
        SettingsError: There is no such card.

    >>> runs_on_card("cpu")
    False
    """
    parsed = parse_device(device)
    return parsed.kind == "gpu" and (_open_file is not open_network or runtime_of(parsed) == "ONNX Runtime")


def opener(file: NetworkFile) -> Callable[[], Network]:
    """Return what opens a network when it is first needed; here, or where ``open_with`` says."""
    open_file = _open_file
    return lambda: open_file(file)


def open_network(file: NetworkFile) -> Network:
    """Open a network in this process; one on a card is shared by all who hold it.

    Raises:
        ModelNotFoundError: It cannot be opened, or is another network.
        MissingDependencyError: Paddle is not installed, or what a card needs.
        SettingsError: There is no such card.
    """
    if file.card is None:
        return _open_onnx(file) if file.path.is_file() else _open_paddle(file)
    from tablerec.models.opening.card import open_on_card

    key = file.path.absolute(), file.card
    with _lock:
        network = _on_cards.get(key)
        if network is None:
            network = _on_cards[key] = open_on_card(file)
    check_outputs(file, network.outputs)
    return network


def open_with(open_file: Callable[[NetworkFile], Network] | None) -> None:
    """Have this process open its networks with another function from now on; None for ``open_network``.

    A worker that has no card of its own gives one that asks the process that has it.
    """
    global _open_file
    _open_file = open_file or open_network


_open_file: Callable[[NetworkFile], Network] = open_network
_on_cards: WeakValueDictionary[tuple[Path, int], Any] = WeakValueDictionary()
_lock = threading.Lock()


def _open_onnx(file: NetworkFile) -> Network:
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    # Its arena keeps the most that any shape took; pictures have many.
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    options.intra_op_num_threads = file.threads or usable_threads()
    try:
        session = onnxruntime.InferenceSession(str(file.path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's errors share no other base
        raise not_opened(file.path, file.name, error) from error
    check_outputs(file, [output.name for output in session.get_outputs()])
    return lambda images: session.run(None, {INPUT: np.asarray(images, np.float32)})


def _open_paddle(file: NetworkFile) -> Network:
    folder, device = file.path, parse_device(file.device)
    try:
        from paddle import inference
    except ImportError as error:
        raise MissingDependencyError(
            f'{folder} on {device} needs Paddle ({error}): run pip install "tablerec[paddle]"'
        ) from error
    from tablerec.models.export import static_folder

    folder = static_folder(folder)
    config = inference.Config(*(str(folder / name) for name in STATIC))
    number = device.ids[0] if device.ids else 0
    if device.kind == "gpu":
        config.enable_use_gpu(256, number)
    elif device.kind != "cpu":
        config.enable_custom_device(device.kind, number)
    config.disable_glog_info()
    try:
        predictor = inference.create_predictor(config)
    except Exception as error:  # Paddle's errors share no other base
        raise not_opened(folder / STATIC[0], file.name, error) from error
    lock = threading.Lock()

    def run(images: NDArray[Any]) -> list[NDArray[Any]]:
        with lock:
            inputs = predictor.get_input_handle(predictor.get_input_names()[0])
            inputs.copy_from_cpu(np.asarray(images, np.float32))
            predictor.run()
            return [predictor.get_output_handle(name).copy_to_cpu() for name in predictor.get_output_names()]

    return run
