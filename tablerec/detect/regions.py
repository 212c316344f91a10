"""Tables of a page where something else has found them, such as a layout model of PaddleX, each processed alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.boxes import (
    array_to_quad,
    as_boxes,
    box_areas,
    intersection_areas,
    quads_to_array,
    word_height,
)
from postprocess.word import Word
from tablerec.detect import CellDetector, Detection
from tablerec.errors import SettingsError
from tablerec.paddlex_support import LazyModel, Runtime

if TYPE_CHECKING:
    from postprocess.arrays import Image
    from postprocess.candidates.candidate import Candidate


MODELS = (
    "PP-DocLayout_plus-L",
    "PP-DocLayout-L",
    "PP-DocLayout-M",
    "PP-DocLayout-S",
    "PicoDet_layout_1x",
    "PicoDet_layout_1x_table",
    "PicoDet-S_layout_3cls",
    "PicoDet-S_layout_17cls",
    "PicoDet-L_layout_3cls",
    "PicoDet-L_layout_17cls",
    "RT-DETR-H_layout_3cls",
    "RT-DETR-H_layout_17cls",
)
"""Layout models of PaddleX that know tables."""

_SAME = 0.5
"""Regions that share more than this of the smaller one are one table."""
_MARGIN = 0.5
"""Regions of a layout model end at the outer rulings, which detectors want to see: so many heights of a word more."""


class RegionDetector:
    """Detects cells in each table that something else has found.

    Args:
        cells: Finds the cells of a picture that is one table.
        find: Finds the tables of a page: ``(N, 4)`` xyxy pixels.
    """

    def __init__(self, cells: CellDetector, find: Callable[[Image, Sequence[Word]], Floats]) -> None:
        self.name = cells.name
        self._cells = cells
        self._find = find

    def detect(self, image: Image, words: Sequence[Word]) -> list[Candidate]:
        """See ``CellDetector``."""
        if image.size == 0:
            return []
        regions = _to_pixels(self._find(image, words), image.shape[:2])
        in_order = regions[np.argsort(regions[:, 1], kind="stable")]
        return [each for region in in_order for each in self._in_region(image, words, region)]

    def _in_region(self, image: Image, words: Sequence[Word], region: NDArray[np.int64]) -> list[Candidate]:
        x0, y0, x1, y1 = region.tolist()
        quads = quads_to_array([word.quad for word in words])
        middles = quads.mean(axis=1)
        inside = ((middles >= (x0, y0)) & (middles < (x1, y1))).all(axis=1)
        own = [replace(words[k], quad=array_to_quad(quads[k] - (x0, y0))) for k in np.flatnonzero(inside).tolist()]
        found = self._cells.detect(np.ascontiguousarray(image[y0:y1, x0:x1]), own)
        candidates = (each.to_candidate() if isinstance(each, Detection) else each for each in found)
        return [each.shifted((x0, y0)) for each in candidates]


class LayoutModel:
    """Finds the tables of a page with a layout model of PaddleX.

    Args:
        name: One of ``MODELS``.
        runtime: How the model runs, and where it lies.

    Raises:
        SettingsError: PaddleX offers no layout model of this name.
    """

    def __init__(self, name: str, runtime: Runtime | None = None) -> None:
        if name not in MODELS:
            raise SettingsError(f"layout model {name!r} is unknown: choose {', '.join(MODELS)}")
        self._model = LazyModel(name, None, runtime)

    def __call__(self, image: Image, words: Sequence[Word]) -> Floats:
        """Return ``(N, 4)`` xyxy pixels, of which no two are the same table."""
        tables = [box for box in self._model.predict(image)["boxes"] if str(box["label"]).lower() == "table"]
        boxes = as_boxes([box["coordinate"][:4] for box in tables])
        kept = boxes[_distinct(boxes, np.array([box["score"] for box in tables], np.float64))]
        margin = _MARGIN * word_height(quads_to_array([word.quad for word in words])) if words else 0.0
        return kept + margin * np.array([-1, -1, 1, 1])


def detections_to_boxes(found: Sequence[Detection | Candidate]) -> Floats:
    """Where tables are: the hull of the cells of each, ``(N, 4)`` xyxy.

    >>> detections_to_boxes([]).shape
    (0, 4)
    """
    corners = [each.quads.reshape(-1, 2) for each in found if len(each.quads)]
    return as_boxes([[*points.min(axis=0), *points.max(axis=0)] for points in corners])


def _distinct(boxes: Floats, scores: NDArray[np.float64]) -> list[int]:
    """Indices of the regions that lie on no better one."""
    kept: list[int] = []
    for k in np.argsort(-scores, kind="stable").tolist():
        shared = intersection_areas(boxes[[k]], boxes[kept])[0]
        if not (shared > _SAME * np.minimum(box_areas(boxes[[k]]), box_areas(boxes[kept]))).any():
            kept.append(k)
    return kept


def _to_pixels(boxes: Floats, size_hw: tuple[int, int]) -> NDArray[np.int64]:
    """``(N, 4)`` whole pixels inside the picture; those without area are left out."""
    height, width = size_hw
    rounded = np.concatenate([np.floor(boxes[:, :2]), np.ceil(boxes[:, 2:])], axis=1)
    inside = rounded.clip(0, [width, height, width, height])
    # What is not a number is not larger either.
    return inside[(inside[:, 2:] > inside[:, :2]).all(axis=1)].astype(np.int64)
