"""CellNet for recognition: Paddle's static model in PaddleX's layout, and ONNX of the same network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import paddle

from tablerec.errors import InputError
from tablerec.fields import list_of, parse_json, whole
from tablerec.models.arrays import arrays_to_network, load_arrays, load_notes, mean_arrays
from tablerec.models.cellnet import CellNet, CellNetWithDecoder
from tablerec.models.folder import (
    DESCRIPTION,
    INPUT,
    LINENET,
    LINES,
    NAME,
    ONNX,
    OUTPUTS,
    STATIC,
    read_description,
    sha256,
)
from tablerec.models.formats.onnx_graph import layer_to_onnx
from tablerec.models.formats.paddlex_graph import CellNetForPaddleX
from tablerec.outputs.files import atomic_file

_DESCRIPTION = {
    "Global": {"model_name": NAME},
    "mode": "paddle",
    "arch": NAME,
    "Preprocess": [{"type": "Pad", "multiple": 32, "fill": 127}, {"type": "RGB"}, {"type": "Permute"}],
    "label_list": ["cell"],
}
_GREATEST = 1024
"""Channels, or mixers, that a network may have."""
SIDE = 960
"""Side of the picture in pixels where PaddleX prepares it: the canvas of the training."""
_DESCRIPTION_FOR_PADDLEX = {
    "Global": {},
    "mode": "paddle",
    "arch": NAME,
    "draw_threshold": 0.4,
    "Preprocess": [
        {"type": "Resize", "target_size": [SIDE, SIDE], "keep_ratio": True, "interp": 3},
        {"type": "Pad", "size": [SIDE, SIDE], "fill_value": [127.0, 127.0, 127.0]},
        {"type": "Permute"},
    ],
    "label_list": ["cell"],
}


def load_cellnet(weights: Path, *others: Path) -> CellNet:
    """Make a network with its weights, in evaluation.

    Args:
        weights: A safetensors file of a training, or a folder of ``export_cellnet``.
        *others: More of them, from trainings that began from the same weights: the network gets the mean of all.
            It is mostly better than each (Wortsman et al., "Model soups", 2022).

    Raises:
        InputError: The weights are missing, broken, or of another network.
        ModelNotFoundError: The folder is damaged.
    """
    net = _make_network(weights)
    arrays = load_arrays(weights)
    for count, other in enumerate(others, start=2):
        arrays = mean_arrays(arrays, load_arrays(other), 1 / count, str(other))
    arrays_to_network(arrays, net, str(weights))
    net.eval()
    return net


def read_arguments(weights: Path) -> dict[str, list[int]]:
    """Read which network a file or folder describes, see ``CellNet.arguments``; empty where it is the usual one.

    Raises:
        InputError: It is none of a size that can be.
    """
    notes = {} if weights.is_dir() else load_notes(weights)
    try:
        found = read_description(weights).get("network", {}) if weights.is_dir() else notes.get("network", "{}")
        arguments = parse_json(found) if isinstance(found, str) else found
        return {name: list_of(whole(0, _GREATEST))(value) for name, value in arguments.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{weights} describes no network ({error}): name weights of `tablerec train`") from error


def _make_network(weights: Path) -> CellNet:
    """Make the network that a file or folder describes."""
    try:
        return CellNet(**read_arguments(weights))  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise InputError(f"{weights} describes no network ({error}): name weights of `tablerec train`") from error


def describe_linenet(weights: Path) -> tuple[str, dict[str, Any]]:
    """Read which characters weights of LineNet know, and the other arguments of the network.

    Args:
        weights: A safetensors file of a training, or a folder of ``export_linenet``.

    Returns:
        The characters in the order of their classes; arguments as of LineNet.

    Raises:
        InputError: They are missing, broken, or of another network.
        ModelNotFoundError: The folder is damaged.
    """
    if weights.is_dir():
        read = read_description(weights, LINENET)
        notes: Mapping[str, Any] = {**read, "characters": (read.get("PostProcess") or {}).get("character_dict")}
    else:
        notes = load_notes(weights)
    try:
        found, characters = notes["network"], "".join(notes["characters"])
        arguments = parse_json(found) if isinstance(found, str) else found
        sizes = {name: list_of(whole(0, _GREATEST))(value) for name, value in arguments.items()}
    except (AttributeError, TypeError, ValueError, KeyError) as error:
        raise InputError(f"{weights} describes no {LINENET} ({error}): name weights of `tablerec train`") from error
    return characters, sizes


def export_cellnet(net: CellNet, folder: Path, threshold: float = 0.1) -> None:
    """Write ``inference.json``, ``inference.pdiparams``, ``inference.yml`` and ``inference.onnx``.

    Args:
        net: The network.
        folder: Where to; it is made if need be.
        threshold: Least score of a cell that the model returns.

    Raises:
        MissingDependencyError: The package onnx is not installed.
    """
    description = {**_DESCRIPTION, "network": net.arguments}
    outputs = OUTPUTS if net.lines is None else (*OUTPUTS, LINES)
    _export(net, lambda: CellNetWithDecoder(net, threshold), {INPUT: (-1, 3, -1, -1)}, outputs, folder, description)


def export_for_paddlex(net: CellNet, folder: Path, name: str, threshold: float = 0.1) -> None:
    """Write the same files in the form of PaddleX's own detectors, for programs that know nothing of ours.

    A picture larger than a square of ``SIDE`` px is fitted into it, so tables of many small cells are better left to
    ``export_cellnet`` and ``tablerec.plugins.paddlex_model``.

    Args:
        net: The network.
        folder: Where to; it is made if need be.
        name: PaddleX's name of the model whose place it takes, such as ``RT-DETR-L_wired_table_cell_det``.
        threshold: Least score of a cell that the model returns.

    Raises:
        MissingDependencyError: The package onnx is not installed.
    """
    inputs = {"im_shape": (-1, 2), "image": (-1, 3, SIDE, SIDE), "scale_factor": (-1, 2)}
    arguments = {key: value for key, value in net.arguments.items() if key != LINES}  # the graph has no such output
    description = {**_DESCRIPTION_FOR_PADDLEX, "Global": {"model_name": name}, "network": arguments}
    _export(net, lambda: CellNetForPaddleX(net, SIDE, threshold), inputs, ("boxes", "counts"), folder, description)


def _export(
    net: CellNet,
    make_whole: Callable[[], paddle.nn.Layer],
    inputs: Mapping[str, Sequence[int]],
    outputs: Sequence[str],
    folder: Path,
    description: Mapping[str, Any],
) -> None:
    """Write a layer around a network in both formats; the layer is made twice, since one has one static form."""
    import yaml

    folder.mkdir(parents=True, exist_ok=True)
    model = layer_to_onnx(_evaluating(make_whole()), inputs, outputs)
    spec = [paddle.static.InputSpec(list(shape), "float32", name) for name, shape in inputs.items()]
    with _for_static_model(net):
        static = paddle.jit.to_static(_evaluating(make_whole()), input_spec=spec, full_graph=True)
        paddle.jit.save(static, str(folder / "inference"))
    with atomic_file(folder / ONNX) as file:
        file.write(model.SerializeToString())
    sums = {name: sha256(folder / name) for name in (ONNX, *STATIC)}
    text = yaml.safe_dump({**description, "sha256": sums}, sort_keys=False)
    with atomic_file(folder / DESCRIPTION) as file:
        file.write(text.encode())


def _evaluating(layer: paddle.nn.Layer) -> paddle.nn.Layer:
    layer.eval()
    return layer


@contextmanager
def _for_static_model(net: CellNet) -> Iterator[None]:
    """Give tensors their names in the network, by which ``load_arrays`` finds them again, and double by copies."""
    tensors = net.state_dict()
    before = {name: tensor.name for name, tensor in tensors.items()}
    try:
        net.doubled.by_copies = True
        for name, tensor in tensors.items():
            tensor.name = name
        yield
    finally:
        net.doubled.by_copies = False
        for name, tensor in tensors.items():
            tensor.name = before[name]
