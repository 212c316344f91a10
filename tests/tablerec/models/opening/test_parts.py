"""CellNets of other sizes than the package's, filled up and alone: the same in all outputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
paddle = pytest.importorskip("paddle", reason="needs the paddle extra")

from tablerec.models.cellnet import CellNet, CellNetWithDecoder  # noqa: E402
from tablerec.models.folder import LINES, NAME, ONNX, OUTPUTS  # noqa: E402
from tablerec.models.formats.onnx_graph import layer_to_onnx  # noqa: E402
from tablerec.models.opening import NetworkFile, open_network  # noqa: E402
from tablerec.models.opening.batched import Cells  # noqa: E402
from tablerec.models.opening.card import NETWORKS, open_batched  # noqa: E402
from tablerec.models.opening.parts import take_parts  # noqa: E402


def make_model(lines: tuple[int, int] | tuple[()], outputs: tuple[str, ...]) -> onnx.ModelProto:
    """A network with random weights that sees cells everywhere."""
    paddle.seed(3)
    net = CellNet((4, 8, 8, 8, 8), (1, 1, 2, 1), (8, 8), lines)
    whole = CellNetWithDecoder(net, threshold=0.0)
    whole.eval()
    return layer_to_onnx(whole, {"image": [-1, 3, -1, -1]}, outputs)


@pytest.mark.parametrize("lines", [(), (8, 1)], ids=["cells", "cells and lines"])
def test_other_networks_see_pictures_as_if_alone(lines: tuple[int, int] | tuple[()], tmp_path: Path) -> None:
    outputs = (*OUTPUTS, *([LINES] if lines else []))
    onnx.save(make_model(lines, outputs), tmp_path / ONNX)
    file = NetworkFile(tmp_path / ONNX, "gpu:0", NAME, outputs)
    plain = open_network(replace(file, device="cpu"))
    filled = open_batched(file, replace(NETWORKS[NAME], form=Cells((96, 256))), {}, "CPUExecutionProvider")
    for height, width in ((32, 32), (64, 160), (96, 256), (128, 96)):
        image = np.random.default_rng(width).integers(0, 256, (1, 3, height, width), np.uint8)
        expected, found = plain(image), filled(image)
        assert len(expected[0]) > 0
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-3)


def test_a_graph_that_was_changed_is_refused() -> None:
    model = make_model((), OUTPUTS)
    for node in model.graph.node:
        if node.op_type == "Relu":
            node.op_type = "Sigmoid"
    with pytest.raises(ValueError, match="does not follow a ReLU"):
        take_parts(model)
    with pytest.raises(ValueError, match="values to unpack"):
        take_parts(onnx.ModelProto())
