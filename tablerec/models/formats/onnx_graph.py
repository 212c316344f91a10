"""From a Paddle layer to an ONNX model, operator by operator.

paddle2onnx 2.1 refuses the programs of Paddle 3.3 (the factors of an interpolation are doubles
there); our networks need 40 operators, most of which have the same name in both. Weights keep
their names, so that they can be read back; ONNX Runtime makes batch normalizations part of the
convolutions before them when it opens a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import MissingDependencyError, SettingsError

OPSET = 17
"""Version of ONNX's operators; ONNX Runtime 1.14 and later run it."""

_CONSTANT = "constant"
"""Beginning of the names of what is no weight."""
_AS_HALF = ":float16"
_HALF = (-65504.0, 65504.0)

_SAME = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "minimum": "Min", "maximum": "Max",
    "equal": "Equal", "greater_than": "Greater", "logical_and": "And", "where": "Where", "relu": "Relu",
    "sigmoid": "Sigmoid", "sqrt": "Sqrt", "floor": "Floor", "gather_nd": "GatherND", "shape64": "Shape",
}  # fmt: skip


def layer_to_onnx(layer: Any, inputs: Mapping[str, Sequence[int]], output_names: Sequence[str]) -> Any:
    """Convert a layer in evaluation.

    Args:
        layer: A ``paddle.nn.Layer`` with float32 inputs; weights are called as its tensors are.
        inputs: Shapes of its inputs by name, in their order; -1 where a size is not fixed.
        output_names: Names of the outputs.

    Returns:
        An ``onnx.ModelProto``.

    Raises:
        MissingDependencyError: The package onnx is not installed.
        SettingsError: The layer uses an operator that is not known here.
    """
    try:
        import onnx
    except ImportError as error:
        raise MissingDependencyError(
            f'the ONNX export needs onnx ({error}): run pip install "tablerec[paddle]"'
        ) from error
    import paddle

    spec = [paddle.static.InputSpec(list(shape), "float32", name) for name, shape in inputs.items()]
    program = paddle.jit.to_static(layer, input_spec=spec, full_graph=True).forward.concrete_program
    graph = _Graph(onnx, {tensor.name: tensor.numpy() for tensor in layer.state_dict().values()})
    graph.convert(program.main_program.global_block().ops)
    outputs = []
    for value, name in zip(program.outputs, output_names, strict=True):
        graph.node("Identity", [graph.names[value.id]], name)
        kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(_type_name(value.dtype)))
        outputs.append(onnx.helper.make_tensor_value_info(name, kind, [None] * len(value.shape)))
    given = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, _named(shape))
        for name, shape in inputs.items()
    ]
    made = onnx.helper.make_graph(graph.nodes, "tablerec", given, outputs, graph.used_initializers())
    opset = [onnx.helper.make_opsetid("", OPSET)]
    model = onnx.helper.make_model(made, opset_imports=opset, producer_name="tablerec", ir_version=8)
    onnx.checker.check_model(model)
    return model


def to_half(model: Any) -> Any:
    """Keep the weights of a model as float16; a runtime widens them again when it opens it.

    Vectors stay as they are: they are few, and variances may be small.

    Args:
        model: An ``onnx.ModelProto``; it is changed.

    Returns:
        The same model.
    """
    import onnx

    casts = []
    for initializer in model.graph.initializer:
        array = onnx.numpy_helper.to_array(initializer)
        if array.dtype == np.float32 and array.ndim > 1:
            name = initializer.name
            half = np.clip(array, *_HALF).astype(np.float16)
            initializer.CopyFrom(onnx.numpy_helper.from_array(half, f"{name}{_AS_HALF}"))
            casts.append(onnx.helper.make_node("Cast", [f"{name}{_AS_HALF}"], [name], name=f"{name}_cast", to=1))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def onnx_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """Read the weights of a model of ``layer_to_onnx``, by the names of its tensors.

    Raises:
        MissingDependencyError: The package onnx is not installed.
        ValueError: It is no model, or one of another kind or an earlier version.
    """
    try:
        import onnx
    except ImportError as error:
        raise MissingDependencyError(
            f'weights are read from {path} with onnx ({error}): run pip install "tablerec[paddle]"'
        ) from error
    try:
        model = onnx.load(path, load_external_data=False)
        arrays = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    except OSError:
        raise
    except Exception as error:  # protobuf's errors share no other base
        raise ValueError(f"it is no ONNX model: {error}") from error
    weights = {
        name.removesuffix(_AS_HALF): array.astype(np.float32)
        for name, array in arrays.items()
        if not name.startswith(_CONSTANT)
    }
    if not weights:
        raise ValueError("its weights have no names")
    return weights


def _named(shape: Sequence[int]) -> list[int | str]:
    return [f"N{axis}" if size < 0 else size for axis, size in enumerate(shape)]


class _Graph:
    """Nodes so far; values of the program by their id, as names or, where they are known, as constants."""

    def __init__(self, onnx: Any, weights: dict[str, NDArray[Any]]) -> None:
        self.onnx, self.weights = onnx, weights
        self.nodes: list[Any] = []
        self.names: dict[int, str] = {}
        self.constants: dict[int, NDArray[Any]] = {}
        self.parameters: dict[int, str] = {}
        self.lists: dict[int, list[Any]] = {}
        self._initializers: dict[str, NDArray[Any]] = {}

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        # ONNX Runtime 1.20 fuses nodes into new ones that take their names, and refuses two of the same name.
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [output], name=f"{output}_{kind}", **attributes))
        return output

    def initializer(self, array: NDArray[Any], name: str = "") -> str:
        name = name or f"{_CONSTANT}{len(self._initializers)}"
        self._initializers[name] = array
        return name

    def used_initializers(self) -> list[Any]:
        used = {name for node in self.nodes for name in node.input}
        return [
            self.onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
            for name, array in self._initializers.items()
            if name in used
        ]

    def name(self, value: Any) -> str:
        """Name of a value; a constant becomes an initializer when it is first used."""
        if value.id not in self.names:
            self.names[value.id] = self.initializer(self.constants[value.id], self.parameters.get(value.id, ""))
        return self.names[value.id]

    def convert(self, operations: Sequence[Any]) -> None:
        for op in operations:
            name = op.name().split(".")[1]
            result = op.results()[0]
            if name in _SAME:
                self._add(result, _SAME[name], [self.name(value) for value in op.operands_source()])
            else:
                self._special(name)(op, result)

    def _special(self, name: str) -> Callable[[Any, Any], None]:
        found: Callable[[Any, Any], None] | None = getattr(self, f"op_{name}", None)
        if found is None:
            raise SettingsError(
                f"the ONNX export knows no operator {name}: add it to tablerec/models/formats/onnx_graph.py"
            )
        return found

    def _add(self, result: Any, kind: str, inputs: list[str], **attributes: Any) -> None:
        self.names[result.id] = self.node(kind, inputs, f"value{len(self.nodes)}", **attributes)

    def _constant(self, value: Any) -> list[Any]:
        return self.constants[value.id].ravel().tolist()

    def op_parameter(self, op: Any, result: Any) -> None:
        self.parameters[result.id] = op.attrs()["parameter_name"]
        self.constants[result.id] = self.weights[self.parameters[result.id]]

    def op_data(self, op: Any, result: Any) -> None:
        self.names[result.id] = op.attrs()["name"]

    def op_full(self, op: Any, result: Any) -> None:
        at = op.attrs()
        self.constants[result.id] = np.full(at["shape"], at["value"], _type_name(at["dtype"]))

    def op_full_int_array(self, op: Any, result: Any) -> None:
        self.constants[result.id] = np.array(op.attrs()["value"], np.int64)

    def op_combine(self, op: Any, result: Any) -> None:
        self.lists[result.id] = list(op.operands_source())

    def op_concat(self, op: Any, result: Any) -> None:
        parts = [self.name(value) for value in self.lists[op.operand_source(0).id]]
        self._add(result, "Concat", parts, axis=int(self._constant(op.operand_source(1))[0]))

    def op_conv2d(self, op: Any, result: Any) -> None:
        at = op.attrs()
        pads = list(at["paddings"]) * 2 if len(at["paddings"]) == 2 else [at["paddings"][k] for k in (0, 2, 1, 3)]
        inputs = [self.name(op.operand_source(0)), self.name(op.operand_source(1))]
        geometry = {"strides": list(at["strides"]), "dilations": list(at["dilations"]), "group": at["groups"]}
        self._add(result, "Conv", inputs, pads=pads, **geometry)

    op_depthwise_conv2d = op_conv2d

    def op_scale(self, op: Any, result: Any) -> None:
        kind = _type_name(op.operand_source(0).dtype)
        factor, bias = np.array(self._constant(op.operand_source(1))[0], kind), np.array(op.attrs()["bias"], kind)
        self._add(result, "Mul", [self.name(op.operand_source(0)), self.initializer(factor)])
        if bias:
            self._add(result, "Add", [self.names[result.id], self.initializer(bias)])

    def op_mean(self, op: Any, result: Any, kind: str = "ReduceMean") -> None:
        axes = [int(axis) for axis in self._constant(op.operand_source(1))]
        self._add(result, kind, [self.name(op.operand_source(0))], axes=axes, keepdims=int(op.attrs()["keepdim"]))

    def op_max(self, op: Any, result: Any) -> None:
        self.op_mean(op, result, "ReduceMax")

    def op_min(self, op: Any, result: Any) -> None:
        self.op_mean(op, result, "ReduceMin")

    def op_sum(self, op: Any, result: Any) -> None:
        # Of all reductions, this one alone takes its axes as an input in OPSET.
        inputs = [self.name(op.operand_source(0)), self.name(op.operand_source(1))]
        self._add(result, "ReduceSum", inputs, keepdims=int(op.attrs()["keepdim"]))

    def op_batch_norm_(self, op: Any, result: Any) -> None:
        x, mean, variance, gain, bias = (self.name(op.operand_source(k)) for k in range(5))
        self._add(result, "BatchNormalization", [x, gain, bias, mean, variance], epsilon=op.attrs()["epsilon"])

    def op_argmax(self, op: Any, result: Any) -> None:
        axis = int(self._constant(op.operand_source(1))[0])
        self._add(result, "ArgMax", [self.name(op.operand_source(0))], axis=axis, keepdims=int(op.attrs()["keepdims"]))

    def op_cumsum(self, op: Any, result: Any) -> None:
        axis = self.initializer(np.array(self._constant(op.operand_source(1))[0], np.int64))
        self._add(result, "CumSum", [self.name(op.operand_source(0)), axis])

    def op_matmul(self, op: Any, result: Any) -> None:
        at = op.attrs()
        if at["transpose_x"] or at["transpose_y"]:
            raise SettingsError(
                "the ONNX export knows plain products only: extend tablerec/models/formats/onnx_graph.py"
            )
        self._add(result, "MatMul", [self.name(value) for value in op.operands_source()])

    def op_softmax(self, op: Any, result: Any) -> None:
        self._add(result, "Softmax", [self.name(op.operand_source(0))], axis=op.attrs()["axis"])

    def op_reshape(self, op: Any, result: Any) -> None:
        source, shape = op.operand_source(0), self._constant(op.operand_source(1))
        if source.id in self.constants and source.id not in self.parameters:
            self.constants[result.id] = self.constants[source.id].reshape(shape)
        else:
            self._add(result, "Reshape", [self.name(source), self.name(op.operand_source(1))])

    def op_slice(self, op: Any, result: Any) -> None:
        at, inputs = op.attrs(), [self.name(value) for value in op.operands_source()]
        self._add(result, "Slice", [*inputs, self.initializer(np.array(at["axes"], np.int64))])
        if at["decrease_axis"]:
            axes = self.initializer(np.array(at["decrease_axis"], np.int64))
            self._add(result, "Squeeze", [self.names[result.id], axes])

    def op_squeeze(self, op: Any, result: Any) -> None:
        self._add(result, "Squeeze", [self.name(value) for value in op.operands_source()])

    def op_unsqueeze(self, op: Any, result: Any) -> None:
        self._add(result, "Unsqueeze", [self.name(value) for value in op.operands_source()])

    def op_transpose(self, op: Any, result: Any) -> None:
        self._add(result, "Transpose", [self.name(op.operand_source(0))], perm=list(op.attrs()["perm"]))

    def op_nonzero(self, op: Any, result: Any) -> None:
        self._add(result, "NonZero", [self.name(op.operand_source(0))])
        self._add(result, "Transpose", [self.names[result.id]], perm=[1, 0])

    def op_cast(self, op: Any, result: Any) -> None:
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(_type_name(op.attrs()["dtype"])))
        self._add(result, "Cast", [self.name(op.operand_source(0))], to=kind)

    def op_clip(self, op: Any, result: Any) -> None:
        limits = [self.constants[op.operand_source(k).id].reshape(()) for k in (1, 2)]
        self._add(result, "Clip", [self.name(op.operand_source(0)), *map(self.initializer, limits)])

    def op_pool2d(self, op: Any, result: Any) -> None:
        at = op.attrs()
        if at["pooling_type"] != "max" or at["adaptive"] or at["global_pooling"] or at["ceil_mode"]:
            raise SettingsError(
                "the ONNX export knows plain max pooling only: extend tablerec/models/formats/onnx_graph.py"
            )
        kernel, pads = self._constant(op.operand_source(1)), list(at["paddings"])
        inputs = [self.name(op.operand_source(0))]
        self._add(result, "MaxPool", inputs, kernel_shape=kernel, strides=list(at["strides"]), pads=pads * 2)

    def op_grid_sample(self, op: Any, result: Any) -> None:
        at = op.attrs()
        how = {"mode": at["mode"], "padding_mode": at["padding_mode"], "align_corners": int(at["align_corners"])}
        self._add(result, "GridSample", [self.name(value) for value in op.operands_source()], **how)

    def op_nearest_interp(self, op: Any, result: Any) -> None:
        factors = self.initializer(np.array([1, 1, *op.attrs()["scale"]], np.float32))
        how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        self._add(result, "Resize", [self.name(op.operand_source(0)), "", factors], **how)


def _type_name(dtype: Any) -> str:
    """Numpy's name of a type of Paddle's."""
    name = str(dtype).rsplit(".", maxsplit=1)[-1].lower()
    return {"bool": "bool_"}.get(name, name)
