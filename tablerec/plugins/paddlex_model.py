"""CellNet as a model of PaddleX: ``import tablerec.plugins.paddlex_model`` makes its name known.

After it, ``paddlex.create_model("CellNet", model_dir=...)`` loads the folder of an exported CellNet with Paddle's
static engine, with ONNX Runtime or with PaddleX's high-performance inference; the package's own weights are stored as
ONNX alone, and ``tablerec.models.export.static_folder`` makes the other form of them. The pipeline
``table_recognition_v2`` takes it where its YAML names it as a model of cells. Without the import, stock PaddleX
takes what ``tablerec export --as`` wrote, see ``tablerec.models.export.export_for_paddlex``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tablerec.detect import Detection
from tablerec.detect.cellnet import THRESHOLD, CellNetDetector
from tablerec.models.folder import NAME
from tablerec.paddlex_support import import_paddlex

ENGINES = ("paddle_static", "onnxruntime", "hpi")
"""Engines of PaddleX that run an exported CellNet."""

import_paddlex()

from paddlex.inference.common.batch_sampler import ImageBatchSampler  # noqa: E402
from paddlex.inference.common.reader import ReadImage  # noqa: E402
from paddlex.inference.models.bindings import register_predictor_binding_map  # noqa: E402
from paddlex.inference.models.object_detection.result import DetResult  # noqa: E402
from paddlex.inference.models.predictors import RunnerPredictor  # noqa: E402


class CellResult(DetResult):
    """PaddleX's result, drawn with the corners of the cells; its own drawing asks the network for a font."""

    def _to_img(self) -> dict[str, Any]:
        import cv2

        drawn = self["input_img"].copy()
        quads = [np.array(box["quad"]).round().astype(np.int32) for box in self["boxes"]]
        cv2.polylines(drawn, quads, True, (0, 0, 255), max(1, round(max(drawn.shape) * 0.002)))
        return {"res": drawn[:, :, ::-1]}


class CellNetPredictor(RunnerPredictor):
    """Finds the cells of pictures of tables; what it yields has the form of PaddleX's detectors.

    Each picture is one table. Its scale, tiles and second look are those of ``CellNetDetector``, and there is no limit
    to the number of cells. Each box has, beside ``coordinate``, its corners TL, TR, BR, BL as ``quad``.

    Args:
        threshold: Least score of a cell, 0 to 1; that of ``CellNetDetector`` where None.
        **options: PaddleX's own. Options for layouts (``layout_nms`` and its like) are accepted, as PaddleX's
            pipelines may give them, and mean nothing here.
    """

    def __init__(self, *, threshold: float | dict[int, float] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.threshold = threshold
        self._read = ReadImage(format="BGR")

    def _build_batch_sampler(self) -> Any:
        return ImageBatchSampler()

    def _get_result_class(self) -> type:
        return CellResult

    def process(
        self, batch_data: Any, threshold: float | dict[int, float] | None = None, **_: Any
    ) -> dict[str, list[Any]]:
        """Find the cells of a batch.

        Args:
            batch_data: PaddleX's batch of pictures.
            threshold: Least score of a cell, in place of the predictor's; PaddleX's dictionary by class will do.
        """
        images = self._read(imgs=batch_data.instances)
        least = _least_score(threshold if threshold is not None else self.threshold)
        detector = CellNetDetector(self._run, layout="table", threshold=least)
        return {
            "input_path": batch_data.input_paths,
            "page_index": batch_data.page_indexes,
            "input_img": images,
            "boxes": [_to_boxes(detector.detect(image, [])) for image in images],
        }

    def _run(self, images: Any) -> Any:
        return self.runner(x=[images])


def _least_score(threshold: float | dict[int, float] | None) -> float:
    chosen = threshold.get(0) if isinstance(threshold, dict) else threshold
    return THRESHOLD if chosen is None else float(chosen)


def _to_boxes(found: list[Detection]) -> list[dict[str, Any]]:
    """Cells as PaddleX's detectors give them, best first."""
    boxes = [
        {
            "cls_id": 0,
            "label": "cell",
            "score": float(score),
            "coordinate": [*quad.min(axis=0).tolist(), *quad.max(axis=0).tolist()],
            "quad": quad.tolist(),
        }
        for table in found
        for quad, score in zip(table.quads, table.scores, strict=True)
    ]
    return sorted(boxes, key=lambda box: -box["score"])


register_predictor_binding_map(CellNetPredictor, {engine: [NAME] for engine in ENGINES})
