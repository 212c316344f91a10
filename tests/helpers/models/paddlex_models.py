"""Folders of models in PaddleX's formats, from seeds and fixed answers, in the place of the official ones."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CELLS = [[20, 20, 120, 60], [120, 20, 220, 60], [20, 60, 120, 100], [120, 60, 220, 100]]
"""A table of 2 x 2 in a picture of 240 x 120 px."""
TEXTS = ["Name", "Weight", "iron", "7.87"]

needs_paddlex = pytest.mark.skipif(
    any(importlib.util.find_spec(package) is None for package in ("paddlex", "paddle")), reason="needs the paddle extra"
)

DETECTOR = """
Global: {{model_name: {name}}}
mode: paddle
draw_threshold: 0.5
arch: DETR
label_list: {labels}
Preprocess:
- {{type: Resize, interp: 2, keep_ratio: false, target_size: [{side}, {side}]}}
- {{type: NormalizeImage, mean: [0, 0, 0], std: [1, 1, 1], norm_type: none}}
- {{type: Permute}}
"""
CLASSIFIER = """
Global: {{model_name: {name}}}
PreProcess:
  transform_ops:
  - ResizeImage: {{size: [32, 32]}}
  - NormalizeImage: {{mean: [0, 0, 0], std: [1, 1, 1], scale: 0.00392, order: '', channel_num: 3}}
  - ToCHWImage: null
PostProcess:
  Topk: {{topk: 1, label_list: {labels}}}
"""
STRUCTURE = """
Global: {{model_name: {name}}}
PreProcess:
  transform_ops:
  - DecodeImage: {{channel_first: false, img_mode: BGR}}
  - TableLabelEncode: {{merge_no_span_structure: true}}
  - ResizeTableImage: {{max_len: 32}}
  - NormalizeImage: {{mean: [0, 0, 0], std: [1, 1, 1], scale: 0.00392, order: hwc}}
  - PaddingTableImage: {{size: [32, 32]}}
  - ToCHWImage: null
PostProcess: {{name: TableLabelDecode, character_dict: [<tr>, </tr>, <td></td>]}}
"""
TEXT_DETECTOR = """
Global: {{model_name: {name}}}
PreProcess:
  transform_ops:
  - DecodeImage: {{channel_first: false, img_mode: BGR}}
  - DetResizeForTest: {{resize_long: 960}}
  - NormalizeImage: {{mean: [0, 0, 0], std: [1, 1, 1], scale: 1./255., order: hwc}}
  - ToCHWImage: null
PostProcess: {{name: DBPostProcess, thresh: 0.3, box_thresh: 0.6, max_candidates: 1000, unclip_ratio: 1.5}}
"""
TEXT_RECOGNIZER = """
Global: {{model_name: {name}}}
PreProcess:
  transform_ops:
  - DecodeImage: {{channel_first: false, img_mode: BGR}}
  - RecResizeImg: {{image_shape: [3, 48, 320]}}
PostProcess: {{name: CTCLabelDecode, character_dict: [a, b]}}
"""
PLAIN = """
Global: {{model_name: {name}}}
PreProcess: {{transform_ops: []}}
"""


def to_part(folder: Path) -> dict[str, str]:
    """Return what a pipeline file says of a model here."""
    return {"model_name": folder.name, "model_dir": str(folder)}


def save_detector(folder: Path, name: str, boxes: Sequence[Sequence[float]], labels: str = "[cell]") -> Path:
    """Write a detector for Paddle that sees the same ``class, score, left, top, right, bottom`` everywhere."""
    import paddle

    def answer(one: Any, im_shape: Any, image: Any, scale_factor: Any) -> Any:
        zero = 0 * (image.mean() + im_shape.sum() + scale_factor.sum())
        return one * paddle.to_tensor(boxes, dtype="float32") + zero, paddle.to_tensor([len(boxes)], dtype="int32")

    inputs = {"im_shape": [None, 2], "image": [None, 3, 64, 64], "scale_factor": [None, 2]}
    return _save_static(answer, inputs, folder / name, DETECTOR.format(name=name, labels=labels, side=64))


def save_classifier(folder: Path, name: str, labels: Sequence[str], label: str) -> Path:
    """Write a classifier for Paddle that always gives the same label."""
    import paddle

    scores = [[float(each == label) for each in labels]]

    def answer(one: Any, x: Any) -> Any:
        return one * paddle.to_tensor(scores) + 0 * x.mean([1, 2, 3]).unsqueeze(1)

    description = CLASSIFIER.format(name=name, labels=json.dumps(labels))
    return _save_static(answer, {"x": [None, 3, 32, 32]}, folder / name, description)


def save_structure(folder: Path, name: str, tokens: Sequence[int] = (4,)) -> Path:
    """Write a model of table structure with a fixed answer: 1 ``<tr>``, 2 ``</tr>``, 3 ``<td></td>``, 4 the end."""
    import paddle

    scores = np.eye(5, dtype=np.float32)[list(tokens)][None]

    def answer(one: Any, x: Any) -> Any:
        zero = 0 * x.mean()
        return paddle.zeros([1, len(tokens), 8]) + zero, one * paddle.to_tensor(scores) + zero

    return _save_static(answer, {"x": [None, 3, 32, 32]}, folder / name, STRUCTURE.format(name=name))


def save_text_detector(folder: Path, name: str) -> Path:
    """Write a detector for Paddle that sees dark pixels."""
    inputs = {"x": [None, 3, None, None]}
    description = TEXT_DETECTOR.format(name=name)
    return _save_static(lambda one, x: one - x.mean(1, keepdim=True), inputs, folder / name, description)


def save_text_recognizer(folder: Path, name: str) -> Path:
    """Write a recogniser for Paddle that sees an a in dark and a b in bright columns."""
    import paddle

    def answer(one: Any, x: Any) -> Any:
        columns = one * x[:, 0, 0, ::8]
        # The padding, 0, is blank.
        return paddle.stack([paddle.zeros_like(columns) + 0.1, -columns, columns], axis=2)

    return _save_static(answer, {"x": [None, 3, 48, None]}, folder / name, TEXT_RECOGNIZER.format(name=name))


def save_dynamic(network: Any, folder: Path, description: str) -> Path:
    """Write one of PaddleX's own networks as it loads them for ``paddle_dynamic`` and ``transformers``."""
    from safetensors.numpy import save_file

    try:
        turned = set(network.get_transpose_weight_keys() or ())
    except NotImplementedError:
        turned = set()
    arrays = {
        name: np.ascontiguousarray(tensor.numpy().T if name in turned and tensor.ndim == 2 else tensor.numpy())
        for name, tensor in network.get_hf_state_dict().items()
    }
    folder.mkdir(parents=True)
    save_file(arrays, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(network.config.to_dict(), default=str), encoding="utf-8")
    (folder / "inference.yml").write_text(description, encoding="utf-8")
    return folder


def save_rtdetr(folder: Path, name: str) -> Path:
    """Write RT-DETR with few and narrow layers and random weights, with its own pre- and postprocessing."""
    import paddle
    from paddlex.inference.models.object_detection.modeling._config_rt_detr import RTDETRConfig
    from paddlex.inference.models.object_detection.modeling.rt_detr import RTDETR

    from tablerec.devices.bench.networks import RTDETR_REDUCED

    paddle.seed(0)
    network = RTDETR(RTDETRConfig(**RTDETR_REDUCED | {"num_labels": 1}))
    network.eval()
    return save_dynamic(network, folder / name, DETECTOR.format(name=name, labels="[cell]", side=640))


def save_uvdoc(folder: Path) -> Path:
    """Write UVDoc with random weights whose map stays inside the picture."""
    import paddle
    from paddlex.inference.models.image_unwarping.modeling._config import UVDocConfig
    from paddlex.inference.models.image_unwarping.modeling.uvdoc import UVDocNet

    paddle.seed(0)
    network = UVDocNet(UVDocConfig())
    network.eval()
    with paddle.no_grad():
        last = [layer for layer in network.head.sublayers() if isinstance(layer, paddle.nn.Conv2D)][-1]
        last.weight.set_value(last.weight * 1e-6)
        last.bias.set_value(last.bias * 0)
    return save_dynamic(network, folder / "UVDoc", PLAIN.format(name="UVDoc"))


def _save_static(
    answer: Callable[..., Any], inputs: dict[str, list[int | None]], folder: Path, description: str
) -> Path:
    """Write a network for Paddle: a function of a parameter, which is 1, and the inputs."""
    import paddle

    class Network(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.one = self.create_parameter([1], default_initializer=paddle.nn.initializer.Constant(1.0))

        def forward(self, inputs: Any) -> Any:
            return answer(self.one, *inputs)

    specs = [paddle.static.InputSpec(shape, "float32", name) for name, shape in inputs.items()]
    network = paddle.jit.to_static(Network(), input_spec=[specs], full_graph=True)
    paddle.jit.save(network, str(folder / "inference"))
    (folder / "inference.yml").write_text(description, encoding="utf-8")
    return folder
