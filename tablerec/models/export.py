"""Networks for recognition: ONNX with weights of 16 bits, and Paddle's static model in PaddleX's layout made of it."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paddle

from tablerec.errors import InputError, ModelNotFoundError, OutputError
from tablerec.fields import list_of, parse_json, whole
from tablerec.models.arrays import arrays_to_network, load_arrays, load_notes, mean_arrays, network_to_arrays
from tablerec.models.cellnet import CellNet, CellNetWithDecoder
from tablerec.models.characters import TURNED, count_letters
from tablerec.models.folder import (
    DESCRIPTION,
    INPUT,
    LINENET,
    LINENET_OUTPUTS,
    LINES,
    NAME,
    ONNX,
    OUTPUTS,
    STATIC,
    check_files,
    read_description,
    read_model_name,
    sha256,
)
from tablerec.models.formats.onnx_graph import layer_to_onnx, onnx_weights, to_half
from tablerec.models.formats.paddlex_graph import CellNetForPaddleX, LineNetForPaddleX
from tablerec.models.linenet import HEIGHT, LineNet, LineNetWithDecoder
from tablerec.outputs.files import atomic_file

_DESCRIPTION = {
    "Global": {"model_name": NAME},
    "mode": "paddle",
    "arch": NAME,
    "Preprocess": [{"type": "Pad", "multiple": 32, "fill": 127}, {"type": "RGB"}, {"type": "Permute"}],
    "label_list": ["cell"],
}
_LINENET_DESCRIPTION = {
    "Global": {"model_name": LINENET},
    "mode": "paddle",
    "arch": LINENET,
    "Preprocess": [{"type": "Resize", "height": HEIGHT}, {"type": "Pad", "multiple": 32, "fill": 127}, {"type": "RGB"}],
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
_LINENET_DESCRIPTION_FOR_PADDLEX = {
    "PreProcess": {
        "transform_ops": [
            {"DecodeImage": {"channel_first": False, "img_mode": "BGR"}},
            {"RecResizeImg": {"image_shape": [3, HEIGHT, 4 * HEIGHT]}},
            {"KeepKeys": {"keep_keys": ["image"]}},
        ]
    },
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
    _load_mean(net, weights, *others)
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
        return {name: list(list_of(whole(0, _GREATEST))(value)) for name, value in arguments.items()}
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


def is_linenet(weights: Path) -> bool:
    """Whether weights are of a LineNet.

    Args:
        weights: A safetensors file of a training, or a folder of an exported model.

    Raises:
        InputError: The file is missing or broken.
    """
    return read_model_name(weights) == LINENET if weights.is_dir() else "characters" in load_notes(weights)


def load_linenet(weights: Path, *others: Path) -> tuple[LineNet, str]:
    """Make a network that reads lines with its weights, in evaluation.

    Args:
        weights: A safetensors file of a training, or a folder of ``export_linenet``.
        *others: As of ``load_cellnet``.

    Returns:
        The network, and its characters in the order of their classes.

    Raises:
        InputError: The weights are missing, broken, or of another network.
        ModelNotFoundError: The folder is damaged.
    """
    characters, arguments = describe_linenet(weights)
    n_letters = count_letters(characters)
    try:
        net = LineNet(n_letters, len(characters) - n_letters, **arguments)
    except (TypeError, ValueError) as error:
        raise InputError(f"{weights} describes no {LINENET} ({error}): name weights of `tablerec train`") from error
    _load_mean(net, weights, *others)
    return net, characters


def _load_mean(net: paddle.nn.Layer, weights: Path, *others: Path) -> None:
    arrays = load_arrays(weights)
    for count, other in enumerate(others, start=2):
        arrays = mean_arrays(arrays, load_arrays(other), 1 / count, str(other))
    arrays_to_network(arrays, net, str(weights))
    net.eval()


@dataclass(frozen=True, slots=True)
class _Form:
    """A network as a whole graph.

    Args:
        wrap: The network with what comes before and behind it.
        inputs: Shapes of its inputs by name; -1 where a size is not fixed.
        outputs: Their names.
        description: What ``inference.yml`` says.
    """

    wrap: Callable[[Any], paddle.nn.Layer]
    inputs: Mapping[str, tuple[int, ...]]
    outputs: tuple[str, ...]
    description: Mapping[str, Any] = field(default_factory=dict)


def _form_of_cellnet(net: CellNet, threshold: float) -> _Form:
    description = {**_DESCRIPTION, "network": net.arguments, "threshold": threshold}
    outputs = OUTPUTS if net.lines is None else (*OUTPUTS, LINES)
    return _Form(lambda net: CellNetWithDecoder(net, threshold), {INPUT: (-1, 3, -1, -1)}, outputs, description)


def _form_of_linenet(net: LineNet, characters: str) -> _Form:
    network = {name: value for name, value in net.arguments.items() if isinstance(value, list)}
    decoding = {"name": "CTCLabelDecode", "character_dict": list(characters)}
    description = {**_LINENET_DESCRIPTION, "network": network, "PostProcess": decoding}
    return _Form(LineNetWithDecoder, {INPUT: (-1, 3, HEIGHT, -1)}, LINENET_OUTPUTS, description)


def export_cellnet(net: CellNet, folder: Path, threshold: float = 0.1, *, static: bool = True) -> None:
    """Write ``inference.onnx``, ``inference.json``, ``inference.pdiparams`` and ``inference.yml``.

    Args:
        net: The network.
        folder: Where to; it is made if need be.
        threshold: Least score of a cell that the model returns.
        static: Also write Paddle's static model; without it ``static_folder`` makes one when it is asked for.

    Raises:
        MissingDependencyError: The package onnx is not installed.
    """
    _export(net, _form_of_cellnet(net, threshold), folder, static=static)


def export_linenet(net: LineNet, characters: str, folder: Path, *, static: bool = True) -> None:
    """Write the same files of a network that reads lines; its characters are in ``inference.yml``.

    Args:
        net: The network.
        characters: In the order of their classes.
        folder: Where to; it is made if need be.
        static: As of ``export_cellnet``.

    Raises:
        MissingDependencyError: The package onnx is not installed.
    """
    _export(net, _form_of_linenet(net, characters), folder, static=static)


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
    net = _without_lines(net)
    description = {**_DESCRIPTION_FOR_PADDLEX, "Global": {"model_name": name}, "network": net.arguments}
    form = _Form(lambda net: CellNetForPaddleX(net, SIDE, threshold), inputs, ("boxes", "counts"), description)
    _export(net, form, folder, static=True)


def export_linenet_for_paddlex(net: LineNet, characters: str, folder: Path, name: str) -> None:
    """Write the files of a network that reads lines in the form of PaddleX's own recognisers.

    Its texts are in the order in which they are seen, left to right; of a line that lies upside down there is none.

    Args:
        net: The network.
        characters: In the order of their classes.
        folder: Where to; it is made if need be.
        name: PaddleX's name of the model whose place it takes, such as ``PP-OCRv5_mobile_rec``.

    Raises:
        MissingDependencyError: The package onnx is not installed.
    """
    decoding = {"name": "CTCLabelDecode", "character_dict": ["" if each == TURNED else each for each in characters]}
    description = {"Global": {"model_name": name}, **_LINENET_DESCRIPTION_FOR_PADDLEX, "PostProcess": decoding}
    form = _Form(LineNetForPaddleX, {"x": (-1, 3, HEIGHT, -1)}, ("probabilities",), description)
    _export(net, form, folder, static=True)


def _without_lines(net: CellNet) -> CellNet:
    """The network without its branch for lines of text."""
    plain = CellNet(**{name: value for name, value in net.arguments.items() if name != LINES})  # type: ignore[arg-type]
    arrays = network_to_arrays(net)
    arrays_to_network({name: arrays[name] for name in plain.state_dict()}, plain)
    return plain


def _export(net: Any, form: _Form, folder: Path, *, static: bool) -> None:
    """Write a network in both formats: Paddle's with the rounded weights of the other, so that they answer alike."""
    folder.mkdir(parents=True, exist_ok=True)
    with _named(net):
        model = to_half(layer_to_onnx(_evaluating(form.wrap(net)), form.inputs, form.outputs))
    with atomic_file(folder / ONNX) as file:
        file.write(model.SerializeToString())
    if static:
        rounded = type(net)(**net.arguments)
        arrays = onnx_weights(folder / ONNX)
        arrays_to_network({name: arrays[name] for name in net.state_dict()}, rounded)
        _write_static(rounded, form, folder)
    _describe(form, folder, ONNX, *(STATIC if static else ()))


def _describe(form: _Form, folder: Path, *names: str) -> None:
    import yaml

    sums = {name: sha256(folder / name) for name in names}
    text = yaml.safe_dump({**form.description, "sha256": sums}, sort_keys=False, allow_unicode=True)
    with atomic_file(folder / DESCRIPTION) as file:
        file.write(text.encode())


def _write_static(net: Any, form: _Form, folder: Path) -> None:
    spec = [paddle.static.InputSpec(list(shape), "float32", name) for name, shape in form.inputs.items()]
    with _named(net, by_copies=True):
        static = paddle.jit.to_static(_evaluating(form.wrap(net)), input_spec=spec, full_graph=True)
        paddle.jit.save(static, str(folder / "inference"))


def static_folder(folder: Path) -> Path:
    """Return a folder with both forms of an exported network: Paddle's is made of the ONNX model where it is missing.

    What is made is kept in the user's cache, by the SHA-256 of the ONNX model.

    Args:
        folder: Of a CellNet or a LineNet.

    Raises:
        ModelNotFoundError: It holds neither, or is damaged.
        MissingDependencyError: The package onnx is not installed.
        OutputError: The cache cannot be written.
    """
    if (folder / STATIC[0]).is_file() or not (folder / ONNX).is_file():
        return folder
    name = read_model_name(folder)
    check_files(folder, ONNX, expected=name)
    target = _cache() / f"{sha256(folder / ONNX)[:32]}-{paddle.__version__}"
    if all((target / each).is_file() for each in (*STATIC, DESCRIPTION)):
        return target
    form, net = _open_form(folder, name)
    made = target.with_name(f"{target.name}.{secrets.token_hex(6)}")
    try:
        made.mkdir(parents=True)
        _write_static(net, form, made)
        shutil.copyfile(folder / ONNX, made / ONNX)
        _describe(form, made, ONNX, *STATIC)
        os.replace(made, target)
    except OSError as error:
        if not (target / STATIC[1]).is_file():  # another process may have been faster
            raise OutputError(
                f"{target} cannot be written ({error.strerror or error}): make room, set TABLEREC_CACHE to another "
                f"folder, or export the network again with its static model"
            ) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return target


def _open_form(folder: Path, name: str | None) -> tuple[_Form, Any]:
    if name == LINENET:
        reader, characters = load_linenet(folder)
        return _form_of_linenet(reader, characters), reader
    if name == NAME:
        net = load_cellnet(folder)
        return _form_of_cellnet(net, float(read_description(folder).get("threshold", 0.1))), net
    raise ModelNotFoundError(
        f"{folder} holds no {' and '.join(STATIC)}: export the network again with `tablerec export`"
    )


def _cache() -> Path:
    root = os.environ.get("TABLEREC_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "tablerec" / "static"


def _evaluating(layer: paddle.nn.Layer) -> paddle.nn.Layer:
    layer.eval()
    return layer


@contextmanager
def _named(net: Any, *, by_copies: bool = False) -> Iterator[None]:
    """Give tensors their names in the network, by which ``load_arrays`` finds them again.

    Args:
        net: The network.
        by_copies: How a CellNet doubles its maps, see ``models.cellnet.Double``.
    """
    tensors = net.state_dict()
    before = {name: tensor.name for name, tensor in tensors.items()}
    doubled = getattr(net, "doubled", None)
    try:
        if doubled is not None:
            doubled.by_copies = by_copies
        for name, tensor in tensors.items():
            tensor.name = name
        yield
    finally:
        if doubled is not None:
            doubled.by_copies = False
        for name, tensor in tensors.items():
            tensor.name = before[name]
