"""What is done on the card besides the network becomes part of its ONNX graph, when it is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


def _rename(model: Any, old: str, new: str) -> None:
    """Have the nodes of a model take a value under another name."""
    for node in model.graph.node:
        node.input[:] = [new if name == old else name for name in node.input]
