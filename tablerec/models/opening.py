"""Exported networks are opened here: by ONNX Runtime on the CPU, by Paddle where another device is asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablerec.devices import parse_device
from tablerec.errors import MissingDependencyError, ModelNotFoundError
from tablerec.models.folder import INPUT, ONNX, STATIC, check_files, read_description
from tablerec.processes import usable_cpus

Network = Callable[[NDArray[np.float32]], Sequence[NDArray[Any]]]
"""``(B, 3, H, W)`` float32 RGB to the network's outputs."""

MOST_THREADS = 8
"""More make small networks no faster."""


def usable_threads() -> int:
    """Threads that pay: the CPUs that this process may use, at most ``MOST_THREADS`` or ``OMP_NUM_THREADS``."""
    # ONNX Runtime's threads wait by spinning: more than there are CPUs, or than other processes leave, cost much.
    given = os.environ.get("OMP_NUM_THREADS", "")
    return min(MOST_THREADS, usable_cpus(), int(given) if given.isascii() and given.isdigit() and int(given) else 1000)


def choose_network(
    folder: Path, device: str, name: str, outputs: Sequence[str], threads: int | None = None
) -> Callable[[], Network]:
    """Check the files of an exported network, and say how it is opened on a device.

    Args:
        folder: Holds ``inference.onnx``, or ``inference.json`` and ``inference.pdiparams`` for Paddle.
        device: ``cpu`` runs the ONNX model; other devices, and the CPU where there is no ONNX model, run Paddle's,
            which is made of the ONNX model where the folder has none.
        name: Of the network, as ``inference.yml`` has it.
        outputs: Names of its outputs.
        threads: Of ONNX Runtime; None leaves them to it.

    Raises:
        ModelNotFoundError: The folder holds no such model, or a damaged one.
    """
    on_cpu = parse_device(device).kind == "cpu"
    if on_cpu and ((folder / ONNX).is_file() or ONNX in read_description(folder, name).get("sha256", {})):
        check_files(folder, ONNX, expected=name)
        return lambda: _open_onnx(folder / ONNX, name, outputs, threads)
    if (folder / STATIC[0]).is_file():
        check_files(folder, *STATIC, expected=name)
    elif not (folder / ONNX).is_file():
        raise ModelNotFoundError(f"{folder} holds no {ONNX}: name the folder of an exported {name}")
    return lambda: _open_paddle(folder, device, name)


def _open_onnx(path: Path, name: str, outputs: Sequence[str], threads: int | None) -> Network:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's errors share no other base
        raise _not_opened(path, name, error) from error
    if [output.name for output in session.get_outputs()] != list(outputs):
        raise ModelNotFoundError(f"{path} holds no {name}: name the folder of an exported {name}")
    return lambda images: session.run(None, {INPUT: images})


def _open_paddle(folder: Path, device: str, name: str) -> Network:
    try:
        from paddle import inference
    except ImportError as error:
        raise MissingDependencyError(
            f'{folder} on {device} needs Paddle ({error}): run pip install "tablerec[paddle]"'
        ) from error
    from tablerec.models.export import static_folder

    folder = static_folder(folder)
    config = inference.Config(*(str(folder / file) for file in STATIC))
    parsed = parse_device(device)
    number = parsed.ids[0] if parsed.ids else 0
    if parsed.kind == "gpu":
        config.enable_use_gpu(256, number)
    elif parsed.kind != "cpu":
        config.enable_custom_device(parsed.kind, number)
    config.disable_glog_info()
    try:
        predictor = inference.create_predictor(config)
    except Exception as error:  # Paddle's errors share no other base
        raise _not_opened(folder / STATIC[0], name, error) from error
    lock = threading.Lock()

    def run(images: NDArray[np.float32]) -> list[NDArray[Any]]:
        with lock:
            predictor.get_input_handle(predictor.get_input_names()[0]).copy_from_cpu(images)
            predictor.run()
            return [predictor.get_output_handle(name).copy_to_cpu() for name in predictor.get_output_names()]

    return run


def _not_opened(path: Path, name: str, error: Exception) -> ModelNotFoundError:
    cause = str(error).strip().splitlines()[-1:] or [type(error).__name__]
    return ModelNotFoundError(f"{path} cannot be opened ({cause[0]}): name the folder of an exported {name}")
