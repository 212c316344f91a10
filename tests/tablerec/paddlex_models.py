"""Models in PaddleX's format that stand for the official ones: fixed answers in PaddleX's own machinery."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

CELLS = "RT-DETR-L_wired_table_cell_det"
LAYOUT = "PP-DocLayout-L"
TURNS = "PP-LCNet_x1_0_doc_ori"

_DETECTION = """
Global: {{model_name: {name}}}
mode: paddle
draw_threshold: 0.5
arch: DETR
label_list: [{label}]
Preprocess:
- {{type: Resize, interp: 2, keep_ratio: false, target_size: [640, 640]}}
- {{type: NormalizeImage, mean: [0, 0, 0], std: [1, 1, 1], norm_type: none}}
- {{type: Permute}}
"""
_CLASSIFICATION = """
Global: {{model_name: {name}}}
PreProcess:
  transform_ops:
  - ResizeImage: {{size: [224, 224]}}
  - NormalizeImage: {{channel_num: 3, mean: [0, 0, 0], std: [1, 1, 1], order: '', scale: 0.00392156862745098}}
  - ToCHWImage: null
PostProcess: {{Topk: {{topk: 1, label_list: [{labels}]}}}}
"""
_STRUCTURE = """
Global: {{model_name: {name}}}
PreProcess:
  transform_ops:
  - DecodeImage: {{channel_first: false, img_mode: BGR}}
  - TableLabelEncode: {{merge_no_span_structure: true}}
  - ResizeTableImage: {{max_len: 512}}
  - NormalizeImage: {{mean: [0, 0, 0], std: [1, 1, 1], scale: 1./255., order: hwc}}
  - PaddingTableImage: {{size: [512, 512]}}
  - ToCHWImage: null
PostProcess: {{name: TableLabelDecode, character_dict: [<tr>, </tr>, <td></td>]}}
"""
_TEXT_DETECTION = """
Global: {model_name: PP-OCRv5_mobile_det}
PreProcess:
  transform_ops:
  - DecodeImage: {channel_first: false, img_mode: BGR}
  - DetResizeForTest: {resize_long: 960}
  - NormalizeImage: {mean: [0, 0, 0], std: [1, 1, 1], scale: 1./255., order: hwc}
  - ToCHWImage: null
PostProcess: {name: DBPostProcess, thresh: 0.3, box_thresh: 0.6, max_candidates: 1000, unclip_ratio: 1.5}
"""
_TEXT_RECOGNITION = """
Global: {model_name: PP-OCRv5_mobile_rec}
PreProcess:
  transform_ops:
  - DecodeImage: {channel_first: false, img_mode: BGR}
  - RecResizeImg: {image_shape: [3, 48, 320]}
PostProcess: {name: CTCLabelDecode, character_dict: [a, b]}
"""


def make_boxes_model(
    folder: Path,
    boxes: Sequence[Sequence[float]],
    name: str = CELLS,
    label: str = "cell",
    scores: Sequence[float] | None = None,
) -> dict[str, Any]:
    """Write a detector that sees the same boxes (xyxy pixels) in every picture; return its part of a pipeline file."""
    import paddle

    rows = [[0, score, *box] for box, score in zip(boxes, scores or [0.9] * len(boxes), strict=True)]

    class Boxes(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.factor = self.create_parameter([1], default_initializer=paddle.nn.initializer.Constant(1.0))

        def forward(self, im_shape: Any, image: Any, scale_factor: Any) -> Any:
            zero = 0 * (image.mean() + im_shape.sum() + scale_factor.sum())
            return self.factor * paddle.to_tensor(rows, dtype="float32") + zero, paddle.to_tensor(
                [len(rows)], dtype="int32"
            )

    shapes = {"im_shape": [None, 2], "image": [None, 3, 640, 640], "scale_factor": [None, 2]}
    _save(Boxes(), shapes, folder, _DETECTION.format(name=name, label=label))
    return {"model_name": name, "model_dir": str(folder)}


def make_classifier(folder: Path, labels: Sequence[str], answer: str, name: str = TURNS) -> dict[str, Any]:
    """Write a classifier that says the same of every picture."""
    import paddle

    class Answer(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.scores = self.create_parameter([1, len(labels)])
            self.scores.set_value(np.array([[label == answer for label in labels]], np.float32))

        def forward(self, x: Any) -> Any:
            return self.scores + 0 * x.mean()

    quoted = ", ".join(f"'{label}'" for label in labels)
    _save(Answer(), {"x": [None, 3, 224, 224]}, folder, _CLASSIFICATION.format(name=name, labels=quoted))
    return {"model_name": name, "model_dir": str(folder)}


def make_structure_model(folder: Path, tokens: Sequence[int], name: str) -> dict[str, Any]:
    """Write a structure model with a fixed answer: 1 ``<tr>``, 2 ``</tr>``, 3 ``<td></td>``, 4 the end."""
    import paddle

    class Structure(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.probabilities = self.create_parameter([1, len(tokens), 5])
            self.probabilities.set_value(np.eye(5, dtype=np.float32)[list(tokens)][None])

        def forward(self, x: Any) -> Any:
            return paddle.zeros([1, len(tokens), 8]) + 0 * x.mean(), self.probabilities + 0 * x.mean()

    _save(Structure(), {"x": [None, 3, 512, 512]}, folder, _STRUCTURE.format(name=name))
    return {"model_name": name, "model_dir": str(folder)}


def make_text_models(folder: Path) -> dict[str, dict[str, Any]]:
    """Write a detector that sees dark pixels, and a recogniser that sees an a in dark and a b in bright columns."""
    import paddle

    class Dark(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.factor = self.create_parameter([1], default_initializer=paddle.nn.initializer.Constant(1.0))

        def forward(self, x: Any) -> Any:
            return self.factor * (1 - x.mean(1, keepdim=True))

    class LeftA(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.factor = self.create_parameter([1], default_initializer=paddle.nn.initializer.Constant(1.0))

        def forward(self, x: Any) -> Any:
            columns = self.factor * x[:, 0, 0, ::8]
            zeros = paddle.zeros_like(columns)
            # The padding, 0, is blank.
            return paddle.stack([zeros + 0.1, -columns, columns], axis=2)

    _save(Dark(), {"x": [None, 3, None, None]}, folder / "det", _TEXT_DETECTION)
    _save(LeftA(), {"x": [None, 3, 48, None]}, folder / "rec", _TEXT_RECOGNITION)
    return {
        "TextDetection": {"model_name": "PP-OCRv5_mobile_det", "model_dir": str(folder / "det")},
        "TextRecognition": {"model_name": "PP-OCRv5_mobile_rec", "model_dir": str(folder / "rec"), "batch_size": 1},
    }


def _save(network: Any, shapes: dict[str, list[int | None]], folder: Path, config: str) -> None:
    import paddle

    network.eval()
    specs = [paddle.static.InputSpec(shape, "float32", name) for name, shape in shapes.items()]
    paddle.jit.save(paddle.jit.to_static(network, input_spec=specs, full_graph=True), str(folder / "inference"))
    (folder / "inference.yml").write_text(config, encoding="utf-8")
