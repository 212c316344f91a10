"""Pictures that are filled up, and a CellNet that sees them as if they were alone.

A card wants few shapes, so pictures are filled up; but ``StripContext`` takes means along whole rows and columns, and a
convolution looks beyond the edge. One picture in 15 then gets another grid. So the graph is told where the picture is:
its input has a fourth channel, 1 there and 0 elsewhere, and

- all maps are 0 beyond the picture before a convolution looks further than its own position, as they are beyond the
  edge of a picture that fills its input,
- means along rows and columns count the picture's positions alone; before a maximum follows a ReLU, so that 0 is least,
- no cell is found outside, and no corner is sought there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

INSIDE = ":inside"
"""Ends the names of values that are 0 beyond the picture."""
_MAP, _ROWS, _COLUMNS = "map", "rows", "columns"
"""What a value extends over; the last two have one column, one row."""
_FAR = 2**31

Extent = tuple[str, int]
"""What a value extends over, and at which stride."""


def take_parts(model: Any) -> None:
    """Change a CellNet as this module says.

    Args:
        model: An ``onnx.ModelProto`` as ``tablerec export`` writes it; height and width of its pictures are multiples
            of 32.

    Raises:
        ValueError: It is built in another way.
    """
    _Parts(model).convert()


class _Parts:
    def __init__(self, model: Any) -> None:
        import onnx

        self._onnx = onnx
        self._graph = model.graph
        self._nodes: list[Any] = []
        self._masks: dict[Extent, str] = {}
        self._extents: dict[str, Extent] = {}
        self._sides = {each.name: tuple(each.dims[2:]) for each in model.graph.initializer}
        widened = [node for node in model.graph.node if node.op_type == "Cast" and node.input[0] in self._sides]
        self._sides |= {node.output[0]: self._sides[node.input[0]] for node in widened}  # weights are kept in 16 bits
        self._makers = {name: node.op_type for node in model.graph.node for name in node.output}

    def convert(self) -> None:
        [given] = self._graph.input
        [heat] = [node.input[0] for node in self._graph.node if node.op_type == "MaxPool"]
        [found] = [node.output[0] for node in self._graph.node if node.op_type == "NonZero"]
        [positions] = [node.output[0] for node in self._graph.node if found in node.input]
        colours = self._slice(given.name, [1], [0], [3])
        self._masks[_MAP, 1] = self._slice(given.name, [1], [3], [4])
        self._extents[colours] = _MAP, 1
        renamed = {given.name: colours}
        for node in list(self._graph.node):
            node.input[:] = [renamed.get(name, name) for name in node.input]
            known = [self._extents[name] for name in node.input if name in self._extents]
            known.sort(key=lambda extent: extent[0] != _MAP)  # rows are added to a map
            if known:
                extent = self._convert(node, known[0], positions)
                self._extents.update(dict.fromkeys(node.output, extent))
            else:
                self._nodes.append(node)
            if heat in node.output:
                renamed[heat] = self._mask(heat)
        if sum(node.op_type == "Min" for node in self._nodes) != 1:
            raise ValueError("its corners are kept inside in another way")
        del self._graph.node[:]
        self._graph.node.extend(self._nodes)
        given.type.tensor_type.shape.dim[1].dim_value = 4

    def _convert(self, node: Any, extent: Extent, positions: str) -> Extent:
        """Add a node, changed where it must be, and say what its output extends over."""
        values = {each.name: each for each in node.attribute}
        kind, stride = extent
        axes = list(values["axes"].ints) if "axes" in values else []
        if node.op_type == "Conv":
            if max(self._sides[node.input[1]]) > 1:
                node.input[0] = self._mask(node.input[0])
            stride *= max(values["strides"].ints) if "strides" in values else 1
        elif node.op_type == "Resize":
            stride //= 2
        elif node.op_type in ("ReduceMean", "ReduceMax") and axes in ([2], [3]) and kind == _MAP:
            if self._makers[node.input[0]] != "Relu":
                raise ValueError("a maximum or a mean along rows does not follow a ReLU")
            node.input[0] = self._mask(node.input[0])
            kind = _ROWS if axes == [3] else _COLUMNS
            if node.op_type == "ReduceMean":
                mean, node.output[0] = node.output[0], f"{node.output[0]}:all"
                self._nodes.append(node)
                share = self._share(stride, axes[0])
                node = self._onnx.helper.make_node("Div", [node.output[0], share], [mean])
        elif node.op_type == "Min":
            node.input[1] = self._last_position(positions)
        self._nodes.append(node)
        return kind, stride

    def _mask(self, name: str) -> str:
        """A value that is 0 beyond the picture."""
        masked = f"{name}{INSIDE}"
        if masked not in self._extents:
            self._extents[masked] = self._extents[name]
            self._add("Mul", [name, self._inside(self._extents[name])], masked)
        return masked

    def _inside(self, extent: Extent) -> str:
        """``(B, 1, H, W)`` 1 inside the picture, else 0."""
        if extent not in self._masks:
            kind, stride = extent
            if kind == _MAP:
                made = self._slice(self._masks[_MAP, 1], [2, 3], [0, 0], [_FAR, _FAR], [stride, stride])
            else:
                made = self._slice(self._inside((_MAP, stride)), [3 if kind == _ROWS else 2], [0], [1])
            self._masks[extent] = made
        return self._masks[extent]

    def _share(self, stride: int, axis: int) -> str:
        """``(B, 1, 1, 1)`` the picture's share of the input along an axis."""
        name = f"share:{stride}:{axis}"
        if name not in self._extents:
            self._extents[name] = _ROWS, stride
            along = self._inside((_COLUMNS if axis == 3 else _ROWS, stride))
            self._add("ReduceMean", [along], f"{name}:exact", axes=[axis], keepdims=1)
            # A batch is filled up with empty pictures, whose share is 0.
            self._add("Max", [f"{name}:exact", self._constant(np.array(1e-6, np.float32))], name)
        return name

    def _last_position(self, positions: str) -> str:
        """``(N, 1, 2)`` x and y of the last position in the picture of each cell.

        Args:
            positions: ``(N, 3)`` picture, y and x.
        """
        sides = []
        for kind, axis in ((_COLUMNS, 3), (_ROWS, 2)):
            sides.append(f"side:{axis}")
            axes = self._constant(np.array([1, 2, 3]))
            self._add("ReduceSum", [self._inside((kind, 4)), axes], sides[-1], keepdims=0)
        column = self._constant(np.array([1]))
        self._add("Unsqueeze", [sides[0], column], "width")
        self._add("Unsqueeze", [sides[1], column], "height")
        self._add("Concat", ["width", "height"], "size", axis=1)
        self._add("Sub", ["size", self._constant(np.array(1, np.float32))], "last")
        self._add("Gather", [positions, self._constant(np.array(0))], "owner", axis=1)
        self._add("Gather", ["last", "owner"], "last:own", axis=0)
        self._add("Unsqueeze", ["last:own", column], "last:corner")
        return "last:corner"

    def _slice(
        self, name: str, axes: Sequence[int], starts: Sequence[int], ends: Sequence[int], steps: Sequence[int] = (1,)
    ) -> str:
        made = f"{name}:{len(self._nodes)}"
        self._add("Slice", [name, *(self._constant(np.array(each)) for each in (starts, ends, axes, steps))], made)
        return made

    def _add(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> None:
        self._nodes.append(self._onnx.helper.make_node(operator, list(inputs), [output], **attributes))

    def _constant(self, value: Any) -> str:
        name = f"parts:{len(self._graph.initializer)}"
        self._graph.initializer.append(self._onnx.numpy_helper.from_array(value, name))
        return name
