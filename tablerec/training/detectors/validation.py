"""How well cells are detected, in numbers and in pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from postprocess.arrays import Floats
from postprocess.geometry.boxes import quads_to_boxes
from tablerec.evaluate.scoring.cells import detection_f1
from tablerec.outputs.files import atomic_file
from tablerec.training.data.samples import Sample


@dataclass(frozen=True, slots=True)
class Validation:
    """Scores over all cells of a set.

    Args:
        f1_60: F1 of cells matched at an intersection over union of 0.6.
        f1_80: The same at 0.8.
        exact: Share of pictures whose cells are all detected at 0.6, and no others.
    """

    f1_60: float
    f1_80: float
    exact: float


def score_cells(detections: Sequence[Floats], samples: Sequence[Sample]) -> Validation:
    """Score the detections of samples; a cell whose centre lies outside the canvas is neither expected nor wrong."""
    matched = {0.6: 0.0, 0.8: 0.0}
    n_cells = n_exact = 0
    for quads, sample in zip(detections, samples, strict=True):
        side = sample.image.shape[0]
        true = sample.quads[: int(sample.n_cells)].astype(np.float64)
        true = true[((true.mean(1) >= 0) & (true.mean(1) < side)).all(1)]
        boxes = quads_to_boxes(quads), quads_to_boxes(true)
        both = len(quads) + len(true)
        f1 = {iou: detection_f1(*boxes, iou) for iou in matched}
        for iou, value in f1.items():
            matched[iou] += value * both
        n_cells += both
        n_exact += f1[0.6] == 1
    f1_60, f1_80 = (value / n_cells if n_cells else 1.0 for value in matched.values())
    return Validation(f1_60, f1_80, n_exact / max(len(samples), 1))


def draw_cells(path: Path, detections: Sequence[Floats], samples: Sequence[Sample], columns: int = 4) -> None:
    """Write a sheet of pictures with the truth in red and the detections in green."""
    import cv2

    tiles = []
    for quads, sample in zip(detections, samples, strict=True):
        picture = np.ascontiguousarray(sample.image[:, :, ::-1])
        for corners, colour in ((sample.quads[: int(sample.n_cells)], (60, 60, 230)), (quads, (60, 170, 0))):
            lines = np.rint(np.asarray(corners) * 8).astype(np.int32)
            cv2.polylines(picture, list(lines), isClosed=True, color=colour, thickness=1, lineType=cv2.LINE_AA, shift=3)
        tiles.append(picture)
    if not tiles:
        return
    tiles += [np.full_like(tiles[0], 255)] * (-len(tiles) % min(columns, len(tiles)))
    rows = [np.hstack(tiles[start : start + columns]) for start in range(0, len(tiles), columns)]
    _, encoded = cv2.imencode(".jpg", np.vstack(rows), [cv2.IMWRITE_JPEG_QUALITY, 80])
    with atomic_file(path) as file:
        file.write(encoded.tobytes())
