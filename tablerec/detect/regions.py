"""Tables of a page where a layout model of PaddleX says, each looked at alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from postprocess.boxes import array_to_quad, quads_to_array, word_height
from postprocess.words import Word
from tablerec.detect import CellDetector, Detection
from tablerec.errors import SettingsError
from tablerec.paddlex_support import LazyModel, Runtime

if TYPE_CHECKING:
    from tablerec.result import Image

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


class RegionDetector:
    """Looks for cells in each region that a layout model calls a table.

    Args:
        model_name: One of ``MODELS``.
        inner: Finds the cells of one table in a picture of it.
        runtime: How the layout model runs, and where it lies.

    Raises:
        SettingsError: PaddleX offers no layout model of this name.
    """

    def __init__(self, model_name: str, inner: CellDetector, runtime: Runtime | None = None) -> None:
        if model_name not in MODELS:
            raise SettingsError(f"layout model {model_name!r} is unknown: choose {', '.join(MODELS)}")
        self.name = inner.name
        self.inner = inner
        self._model = LazyModel(model_name, None, runtime)

    def detect(self, image: Image, words: Sequence[Word]) -> list[Detection]:
        """See ``CellDetector``."""
        if image.size == 0:
            return []
        found = self._model.predict(image)["boxes"]
        tables = [box for box in found if str(box["label"]).lower() == "table"]
        boxes = np.array([box["coordinate"][:4] for box in tables], np.float64).reshape(-1, 4)
        boxes = boxes[_distinct(boxes, np.array([box["score"] for box in tables], np.float64))]
        # Regions end at the outer rulings, which detectors want to see.
        margin = 0.5 * word_height(quads_to_array([word.quad for word in words])) if words else 0.0
        regions = _to_pixels(boxes + margin * np.array([-1, -1, 1, 1]), image.shape[:2])
        return [each for region in regions for each in self._in_region(image, words, region)]

    def _in_region(self, image: Image, words: Sequence[Word], region: NDArray[np.int64]) -> list[Detection]:
        x0, y0, x1, y1 = region.tolist()
        quads = quads_to_array([word.quad for word in words])
        middles = quads.mean(axis=1)
        inside = ((middles >= (x0, y0)) & (middles < (x1, y1))).all(axis=1)
        own = [replace(words[k], quad=array_to_quad(quads[k] - (x0, y0))) for k in np.flatnonzero(inside).tolist()]
        found = self.inner.detect(np.ascontiguousarray(image[y0:y1, x0:x1]), own)
        return [_shift(detection, (x0, y0)) for detection in found]


def _shift(detection: Detection, by: tuple[int, int]) -> Detection:
    """A detection in pixels of the page; rulings of the part say nothing of the page."""
    rivals = tuple(_shift(rival, by) for rival in detection.rivals)
    return replace(detection, quads=detection.quads + by, rivals=rivals, rulings=None)


def _distinct(boxes: NDArray[np.float64], scores: NDArray[np.float64]) -> list[int]:
    """Indices of the regions that lie on no better one, from top to bottom."""
    kept: list[int] = []
    for k in np.argsort(-scores, kind="stable").tolist():
        low, high = np.maximum(boxes[k, :2], boxes[kept, :2]), np.minimum(boxes[k, 2:], boxes[kept, 2:])
        shared = (high - low).clip(0).prod(axis=1)
        smaller = np.minimum(_area(boxes[[k]]), _area(boxes[kept]))
        if not (shared > _SAME * smaller).any():
            kept.append(k)
    return sorted(kept, key=lambda k: float(boxes[k, 1]))


def _area(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((boxes[:, 2:] - boxes[:, :2]).prod(axis=1))


def _to_pixels(boxes: NDArray[np.float64], size_hw: tuple[int, int]) -> NDArray[np.int64]:
    """``(N, 4)`` whole pixels inside the picture; those without area are left out."""
    height, width = size_hw
    rounded = np.concatenate([np.floor(boxes[:, :2]), np.ceil(boxes[:, 2:])], axis=1)
    pixels = rounded.clip(0, [width, height, width, height]).astype(np.int64)
    return pixels[(pixels[:, 2:] > pixels[:, :2]).all(axis=1)]
