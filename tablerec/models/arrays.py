"""Weights as numpy arrays by name: in a network, in a safetensors file, and in an exported model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import InputError
from tablerec.inputs.images import display_name
from tablerec.models.folder import ONNX, STATIC, check_files
from tablerec.outputs.files import atomic_file

if TYPE_CHECKING:
    from paddle import Tensor, nn

Arrays = Mapping[str, NDArray[Any]]
STATISTICS = ("._mean", "._variance")
"""Ends of the names of running statistics."""


def network_to_arrays(net: nn.Layer) -> dict[str, NDArray[Any]]:
    """Copy weights and running statistics to the host, by their names in the network."""
    return {name: tensor.numpy() for name, tensor in net.state_dict().items()}


def trainable(net: nn.Layer) -> dict[str, Tensor]:
    """Return what an optimizer changes, by name; Paddle counts running statistics among the parameters too."""
    return {name: parameter for name, parameter in net.named_parameters() if not parameter.stop_gradient}


def arrays_to_network(arrays: Arrays, net: nn.Layer, source: str = "the weights") -> None:
    """Set weights and running statistics.

    Args:
        arrays: As from ``network_to_arrays``; without running statistics those of the network stay.
        net: The network.
        source: Where the arrays come from, for the message.

    Raises:
        InputError: Names or shapes differ from the network's.
    """
    tensors = net.state_dict()
    missing = sorted(set(trainable(net)) - set(arrays))
    unknown = sorted(set(arrays) - set(tensors))
    if missing or unknown:
        raise InputError(
            f"{source} are of another network: missing {', '.join(missing[:3]) or 'none'}, unknown "
            f"{display_name(', '.join(unknown[:3])) or 'none'}; use the settings with which they were made"
        )
    for name, array in arrays.items():
        if list(array.shape) != tensors[name].shape:
            raise InputError(
                f"{source}: {name} is {list(array.shape)}, here it is {tensors[name].shape}; "
                "use the settings with which they were made"
            )
        tensors[name].set_value(array.astype(np.float32))


def mean_arrays(arrays: Arrays, others: Arrays, share: float, source: str) -> dict[str, NDArray[Any]]:
    """Average two networks, weight by weight.

    Args:
        arrays: Of one network.
        others: Of another one of the same kind.
        share: Weight of the others, 0 to 1.
        source: Where the others come from, for the message.

    Raises:
        InputError: Names or shapes differ.

    >>> mean_arrays({"a": np.zeros(2)}, {"a": np.ones(2)}, 0.25, "b")["a"].tolist()
    [0.25, 0.25]
    """
    if {name: array.shape for name, array in arrays.items()} != {name: array.shape for name, array in others.items()}:
        raise InputError(f"{source} is of another network than the first: average trainings of one network")
    return {name: (1 - share) * array + share * others[name] for name, array in arrays.items()}


def save_arrays(path: Path, arrays: Arrays, notes: Mapping[str, str] | None = None) -> None:
    """Write arrays by name as a safetensors file, completely or not at all.

    Args:
        path: The file.
        arrays: The arrays.
        notes: Texts that the file keeps beside them.

    Raises:
        OutputError: It cannot be written.
    """
    from safetensors.numpy import save

    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with atomic_file(path) as file:
        file.write(save(contiguous, dict(notes) if notes else None))


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read a safetensors file, or a folder of ``tablerec export``: Paddle's static model, or ONNX where there is none.

    Raises:
        InputError: The file is missing or broken, or the model was exported by other means.
        ModelNotFoundError: The folder is damaged.
    """
    if path.is_dir():
        return _load_static(path) if (path / STATIC[1]).is_file() or not (path / ONNX).is_file() else _load_onnx(path)
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    _refuse_pipe(path)
    try:
        arrays: dict[str, NDArray[Any]] = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path} cannot be read ({error}): name a safetensors file") from error
    return arrays


def _refuse_pipe(path: Path) -> None:
    """A pipe or device might never end."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is no file: name a safetensors file")


def _load_onnx(folder: Path) -> dict[str, NDArray[Any]]:
    from tablerec.models.formats.onnx_graph import onnx_weights

    check_files(folder, ONNX, expected=None)
    try:
        return dict(onnx_weights(folder / ONNX))
    except (ValueError, OSError) as error:
        raise InputError(f"{folder / ONNX} holds no weights to train on ({error}): export it again") from error


def _load_static(folder: Path) -> dict[str, NDArray[Any]]:
    import paddle

    check_files(folder, *STATIC, expected=None)
    try:
        tensors = paddle.jit.load(str(folder / "inference")).state_dict().values()
    except (RuntimeError, ValueError, OSError) as error:
        raise InputError(f"{folder} holds no model that Paddle can read ({error}): export it again") from error
    # Paddle adds a number to each name when it loads.
    return {tensor.name.rpartition("_")[0]: tensor.numpy() for tensor in tensors}


def load_notes(path: Path) -> dict[str, str]:
    """Read the texts that a safetensors file keeps beside its arrays.

    Raises:
        InputError: The file is missing or broken.
    """
    from safetensors import SafetensorError, safe_open

    _refuse_pipe(path)
    try:
        with safe_open(path, "numpy") as file:
            return dict(file.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path} cannot be read ({error}): name a safetensors file") from error
