"""Cells inside the tables that something else has found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from postprocess.boxes import array_to_quad, as_boxes
from postprocess.words import Word
from tablerec.detect import CellDetector, Detection

if TYPE_CHECKING:
    from tablerec.result import Image

Boxes = NDArray[np.float64]


class RegionDetector:
    """Cuts tables out of a page and finds the cells of each.

    Args:
        cells: Finds the cells of a picture that is one table.
        find: Finds the tables: ``(N, 4)`` xyxy pixels.
    """

    def __init__(self, cells: CellDetector, find: Callable[[Image, Sequence[Word]], Boxes]) -> None:
        self.name = cells.name
        self._cells = cells
        self._find = find

    def detect(self, image: Image, words: Sequence[Word]) -> list[Detection]:
        """See ``CellDetector``."""
        boxes = self._find(image, words)
        return [found for box in boxes[np.argsort(boxes[:, 1])] for found in self._detect_in(box, image, words)]

    def _detect_in(self, box: Boxes, image: Image, words: Sequence[Word]) -> list[Detection]:
        height, width = image.shape[:2]
        left, top = np.floor(box[:2]).clip(0, [width, height]).astype(int)
        right, bottom = np.ceil(box[2:]).clip(0, [width, height]).astype(int)
        crop = np.ascontiguousarray(image[top:bottom, left:right])
        if not crop.size:
            return []
        corner = np.array([left, top], np.float64)
        inside = [_moved(word, -corner) for word in words if _holds(box, word)]
        return [_put_back(found, corner) for found in self._cells.detect(crop, inside)]


def detections_to_boxes(detections: Sequence[Detection]) -> Boxes:
    """Where tables are: the hull of the cells of each, ``(N, 4)`` xyxy.

    >>> detections_to_boxes([]).shape
    (0, 4)
    """
    corners = [detection.quads.reshape(-1, 2) for detection in detections if len(detection.quads)]
    return as_boxes([[*points.min(axis=0), *points.max(axis=0)] for points in corners])


def _holds(box: Boxes, word: Word) -> bool:
    middle = np.mean(word.quad, axis=0)
    return bool(((middle >= box[:2]) & (middle < box[2:])).all())


def _moved(word: Word, by: Boxes) -> Word:
    return replace(word, quad=array_to_quad(np.asarray(word.quad, np.float64) + by))


def _put_back(found: Detection, corner: Boxes) -> Detection:
    """The cells in pixels of the page; rulings, which are those of the crop, are looked for anew."""
    rivals = tuple(_put_back(rival, corner) for rival in found.rivals)
    return replace(found, quads=found.quads + corner, rivals=rivals, rulings=None)
