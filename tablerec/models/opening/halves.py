"""Half precision where it does not change what is found: in the layers before the last ones.

The last layers tell places in pixels, and what follows them decides. Norms square their inputs, which half precision
may not hold, so they stay as they are too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tablerec.models.opening.parts import INSIDE

_LAYERS = ("Conv", "MatMul", "ConvTranspose")
_ALL_INPUTS = (*_LAYERS, "BatchNormalization", "Add", "Concat", "Mul")
"""All inputs of these are halved, of the others the first: the rest are shapes, axes or factors."""
_HALVED = (
    *_ALL_INPUTS,
    *("AveragePool", "GlobalAveragePool", "HardSigmoid", "Identity", "MaxPool", "ReduceMax", "Relu", "Resize"),
    *("Reshape", "Squeeze", "Transpose"),
)
_HALF = ":half"
_LARGEST = 65504.0


def halve(model: Any) -> None:
    """Have a model compute in half precision, but for its last layers and its norms; inputs and outputs stay."""
    import onnx

    graph = model.graph
    inferred = onnx.shape_inference.infer_shapes(model).graph
    floats = {
        each.name
        for each in (*inferred.value_info, *inferred.output)
        if each.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    }
    given = list(graph.node)
    weights = {each.name: each for each in graph.initializer}
    # Our weights are kept in 16 bits and widened: halved layers take them as they are.
    kept = {node.output[0]: node.input[0] for node in given if node.op_type == "Cast" and node.input[0] in weights}
    numbers = {name for name, each in weights.items() if max(each.dims, default=1) == 1}
    are_before = _before_last_layers(given)
    are_halved = [
        is_before and _can_be_halved(node, numbers) and floats.issuperset(node.output)
        for node, is_before in zip(given, are_before, strict=True)
    ]
    wide = {name for each in zip(given, are_halved, strict=True) for name in _wide_inputs(*each)}
    wide.update(output.name for output in graph.output)
    halved = {
        name: f"{name}{_HALF}"
        for node, is_halved in zip(given, are_halved, strict=True)
        if is_halved
        for name in node.output
    }
    nodes: list[Any] = []

    def half_of(name: str) -> str:
        if name not in halved:
            halved[name] = kept.get(name, f"{name}{_HALF}")
            if name in weights:
                value = onnx.numpy_helper.to_array(weights[name]).clip(-_LARGEST, _LARGEST).astype(np.float16)
                graph.initializer.append(onnx.numpy_helper.from_array(value, halved[name]))
            elif name not in kept:
                nodes.append(onnx.helper.make_node("Cast", [name], [halved[name]], to=onnx.TensorProto.FLOAT16))
        return halved[name]

    for node, is_halved in zip(given, are_halved, strict=True):
        [output, *_] = node.output
        if is_halved:
            n_halved = len(node.input) if node.op_type in _ALL_INPUTS else 1
            node.input[:] = [half_of(name) if place < n_halved else name for place, name in enumerate(node.input)]
            node.output[0] = halved[output]
        nodes.append(node)
        if is_halved and output in wide:
            nodes.append(onnx.helper.make_node("Cast", [halved[output]], [output], to=onnx.TensorProto.FLOAT))
    del graph.node[:]
    graph.node.extend(nodes)
    del graph.value_info[:]


def _can_be_halved(node: Any, numbers: set[str]) -> bool:
    """Whether a node is one of layers and maps, rather than of norms, which multiply and add numbers."""
    if node.op_type == "Mul":
        return bool(node.output[0].endswith(INSIDE))
    return node.op_type in _HALVED and not (node.op_type == "Add" and numbers.intersection(node.input))


def _wide_inputs(node: Any, is_halved: bool) -> list[str]:
    """The inputs that a node takes as they are."""
    if not is_halved:
        return list(node.input)
    return [] if node.op_type in _ALL_INPUTS else list(node.input[1:])


def _before_last_layers(nodes: Sequence[Any]) -> list[bool]:
    """Whether the last layers with weights depend on a node, for each."""
    behind: set[str] = set()
    found = []
    for node in reversed(nodes):
        is_before = bool(behind.intersection(node.output))
        if is_before or node.op_type in _LAYERS:
            behind.update(node.input)
        found.append(is_before)
    return found[::-1]
