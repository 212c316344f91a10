"""CellNet for recognition: Paddle's static model in PaddleX's layout, and ONNX of the same network."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import paddle

from tablerec.models.cellnet import CellNet, CellNetWithDecoder
from tablerec.models.onnx_graph import layer_to_onnx
from tablerec.models.weights import arrays_to_network, load_arrays, load_notes

INPUT = "image"
OUTPUTS = ("quads", "scores", "picture", "table")
"""See ``tablerec.models.cellnet.decode``."""

_DESCRIPTION = {
    "Global": {"model_name": "CellNet"},
    "mode": "paddle",
    "arch": "CellNet",
    "Preprocess": [{"type": "Pad", "multiple": 32, "fill": 127}, {"type": "RGB"}, {"type": "Permute"}],
    "label_list": ["cell"],
}


def load_cellnet(weights: Path) -> CellNet:
    """Make the network of a file of weights, in evaluation.

    Raises:
        InputError: The file is missing, broken, or of another network.
    """
    arguments: Mapping[str, Any] = json.loads(load_notes(weights).get("network", "{}"))
    net = CellNet(**arguments)
    arrays_to_network(load_arrays(weights), net, str(weights))
    net.eval()
    return net


def export_cellnet(net: CellNet, folder: Path, threshold: float = 0.1) -> None:
    """Write ``inference.json``, ``inference.pdiparams``, ``inference.yml`` and ``inference.onnx``.

    Args:
        net: The network.
        folder: Where to; it is made if need be.
        threshold: Least score of a cell that the model returns.

    Raises:
        MissingDependencyError: The package onnx is not installed.
    """
    import yaml

    whole = CellNetWithDecoder(net, threshold)
    whole.eval()
    folder.mkdir(parents=True, exist_ok=True)
    shape = (-1, 3, -1, -1)
    model = layer_to_onnx(whole, INPUT, shape, OUTPUTS)
    whole = CellNetWithDecoder(net, threshold)  # a layer has one static form
    whole.eval()
    spec = [paddle.static.InputSpec(list(shape), "float32", INPUT)]
    net.doubled.by_copies = True
    try:
        paddle.jit.save(paddle.jit.to_static(whole, input_spec=spec, full_graph=True), str(folder / "inference"))
    finally:
        net.doubled.by_copies = False
    text = yaml.safe_dump(_DESCRIPTION, sort_keys=False)
    (folder / "inference.yml").write_text(text, encoding="utf-8")
    unfinished = folder / "inference.onnx.unfinished"
    unfinished.write_bytes(model.SerializeToString())
    os.replace(unfinished, folder / "inference.onnx")
