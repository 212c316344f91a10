"""COCO average precision of detected cells, by pycocotools, so that figures compare with published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any, NamedTuple

import numpy as np

from postprocess.arrays import Floats
from tablerec.evaluate.scoring.libraries import require_libraries

MAX_DETECTIONS = 10_000
"""Detections of a picture that count, the surest ones. COCO counts 100; a table may have 1,500 cells."""

NAMES = ("ap", "ap_50", "ap_75")


class PictureBoxes(NamedTuple):
    """Cells of one picture as upright boxes.

    Args:
        true: ``(M, 4)`` xyxy pixels, the cells that are there.
        detected: ``(N, 4)`` xyxy pixels, the cells that were detected.
        scores: ``(N,)`` how sure the detector is of each, 0 to 1.
    """

    true: Floats
    detected: Floats
    scores: Floats


def average_precision(pictures: Sequence[PictureBoxes]) -> dict[str, float | None]:
    """Return ``ap`` (mean over IoU 0.50 to 0.95), ``ap_50`` and ``ap_75`` over all pictures, 0 to 1.

    Follows the COCO detection challenge (https://cocodataset.org/#detection-eval) with one category, ``cell``, all
    sizes, and ``MAX_DETECTIONS`` in place of its 100.

    Returns:
        None for each where no picture has a cell.

    Raises:
        MissingDependencyError: pycocotools is not installed.

    >>> box = np.array([[0.0, 0.0, 10.0, 10.0]])
    >>> average_precision([PictureBoxes(box, box * 0.8, np.ones(1))])
    {'ap': 0.3, 'ap_50': 1.0, 'ap_75': 0.0}
    >>> average_precision([])
    {'ap': None, 'ap_50': None, 'ap_75': None}
    """
    if not sum(len(picture.true) for picture in pictures):
        return dict.fromkeys(NAMES)
    require_libraries("pycocotools")
    precision = _precision(pictures)
    parts = (precision, precision[0], precision[5])
    return {name: round(float(part.mean()), 6) for name, part in zip(NAMES, parts, strict=True)}


def _precision(pictures: Sequence[PictureBoxes]) -> Floats:
    """``(10, 101)`` precision at each IoU and each recall."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    with redirect_stdout(StringIO()):  # it prints its progress
        truth = COCO()
        truth.dataset = _to_dataset(pictures)
        truth.createIndex()
        detections = _to_detections(pictures)
        evaluation = COCOeval(truth, truth.loadRes(detections) if detections else COCO(), "bbox")
        evaluation.params.imgIds = list(range(len(pictures)))
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
        evaluation.params.maxDets = [MAX_DETECTIONS]
        evaluation.evaluate()
        evaluation.accumulate()
    return np.asarray(evaluation.eval["precision"][:, :, 0, 0, 0], np.float64)


def _to_dataset(pictures: Sequence[PictureBoxes]) -> dict[str, Any]:
    cells = [(number, box) for number, picture in enumerate(pictures) for box in _to_xywh(picture.true)]
    return {
        "info": {},
        "images": [{"id": number} for number in range(len(pictures))],
        "categories": [{"id": 1, "name": "cell"}],
        "annotations": [
            {"id": index, "image_id": number, "category_id": 1, "bbox": box, "area": box[2] * box[3], "iscrowd": 0}
            for index, (number, box) in enumerate(cells, start=1)  # it takes 0 for none
        ],
    }


def _to_detections(pictures: Sequence[PictureBoxes]) -> list[Mapping[str, Any]]:
    return [
        {"image_id": number, "category_id": 1, "bbox": box, "score": score}
        for number, picture in enumerate(pictures)
        for box, score in zip(_to_xywh(picture.detected), picture.scores.tolist(), strict=True)
    ]


def _to_xywh(boxes_xyxy: Floats) -> list[list[float]]:
    return np.hstack([boxes_xyxy[:, :2], boxes_xyxy[:, 2:] - boxes_xyxy[:, :2]]).tolist()
