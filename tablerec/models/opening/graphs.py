"""What is done on the card besides the network becomes part of its ONNX graph, when it is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import MissingDependencyError


def read_graph(path: Path) -> Any:
    """Read an ONNX model.

    Raises:
        MissingDependencyError: The package onnx is not installed.
    """
    try:
        import onnx
    except ImportError as error:
        raise MissingDependencyError(
            f'{path} cannot be made ready for a card without onnx ({error}): run pip install "tablerec[gpu]"'
        ) from error
    return onnx.load(path)


def take_bytes(model: Any) -> None:
    """Have a model take its pictures as uint8: they are whole numbers, and a quarter of the bytes is copied."""
    import onnx

    [given] = model.graph.input
    _rename(model, given.name, f"{given.name}:float")
    cast = onnx.helper.make_node("Cast", [given.name], [f"{given.name}:float"], to=onnx.TensorProto.FLOAT)
    model.graph.node.insert(0, cast)
    given.type.tensor_type.elem_type = onnx.TensorProto.UINT8


def keep_best(model: Any) -> None:
    """Have a recogniser return the best class of each position and its probability in place of all probabilities.

    PP-OCR has 18,710 classes: a batch of 64 lines would be 100 MB and more to copy.
    """
    import onnx

    [all_classes] = model.graph.output
    best = onnx.helper.make_node("ArgMax", [all_classes.name], ["best"], axis=2, keepdims=0)
    score = onnx.helper.make_node("ReduceMax", [all_classes.name], ["score"], axes=[2], keepdims=0)
    model.graph.node.extend([best, score])
    del model.graph.output[:]
    model.graph.output.extend(
        onnx.helper.make_tensor_value_info(name, kind, [None, None])
        for name, kind in (("best", onnx.TensorProto.INT64), ("score", onnx.TensorProto.FLOAT))
    )


def fill_groups(model: Any, fewest: int = 1) -> None:
    """Have a model compute its depthwise convolutions as whole ones, with zeros between the channels.

    cuDNN plans 0.2 s for most depthwise convolutions whenever a shape is new, and a few ms for a whole one. On an H200
    PP-OCR's recogniser plans 0.12 s in place of 2.7 and computes as fast (8 crops of 192 px: 4.2 ms, 4.4 before);
    LineNet plans for five layers of 192 channels alone.

    Args:
        model: An ONNX model; changed in place.
        fewest: Channels of a convolution that is changed.
    """
    import onnx

    known = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    casts = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "Cast"}  # of stored halves
    for node in model.graph.node:
        groups = [each for each in node.attribute if each.name == "group" and each.i > 1]
        if node.op_type != "Conv" or not groups:
            continue
        weights = known.get(casts.get(node.input[1], node.input[1]))
        if weights is None or len(weights) < fewest:
            continue
        name = f"{node.output[0]}:filled"
        filled = _filled(weights.astype(np.float32), groups[0].i)
        model.graph.initializer.append(onnx.numpy_helper.from_array(filled, name))
        node.input[1], groups[0].i = name, 1


def graph_outputs(graph: bytes) -> list[str]:
    """Names of the outputs of a serialized ONNX model."""
    import onnx

    return [output.name for output in onnx.load_from_string(graph).graph.output]


def split(graph: bytes) -> tuple[bytes, bytes]:
    """Split a network into what a CUDA graph can capture, and what depends on numbers that it finds: how many cells.

    Args:
        graph: A serialized ONNX model.

    Returns:
        Its part before each ``NonZero``, which may make some of the network's outputs, and the part that makes the
        others of what the first makes; empty where there is none.
    """
    import onnx

    model = onnx.load_from_string(graph)
    [given] = [each.name for each in model.graph.input]
    early, late = {given}, set[str]()
    for node in model.graph.node:
        if node.op_type == "NonZero" or late & set(node.input):
            late |= set(node.output)
        elif early & set(node.input):
            early |= set(node.output)
    outputs = [output.name for output in model.graph.output]
    if not late:
        return graph, b""
    # What depends on weights alone belongs to both parts.
    needed = [name for node in model.graph.node if late & set(node.output) for name in node.input if name in early]
    between = list(dict.fromkeys(needed))
    extractor = onnx.utils.Extractor(onnx.shape_inference.infer_shapes(model))
    body = list(dict.fromkeys([name for name in outputs if name in early] + between))
    parts = (
        extractor.extract_model([given], body),
        extractor.extract_model(between, [name for name in outputs if name in late]),
    )
    return parts[0].SerializeToString(), parts[1].SerializeToString()


def _filled(weights: NDArray[Any], group: int) -> NDArray[Any]:
    """``(O, I / group, H, W)`` weights as ``(O, I, H, W)``.

    >>> _filled(np.ones((2, 1, 1, 1)), 2)[..., 0, 0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    outputs, inputs = weights.shape[:2]
    filled = np.zeros((outputs, inputs * group, *weights.shape[2:]), weights.dtype)
    for number, rows in enumerate(np.split(np.arange(outputs), group)):
        filled[rows, number * inputs : (number + 1) * inputs] = weights[rows]
    return filled


def _rename(model: Any, old: str, new: str) -> None:
    """Have the nodes of a model take a value under another name."""
    for node in model.graph.node:
        node.input[:] = [new if name == old else name for name in node.input]
