"""CellNet as a detector of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.boxes import quantile, word_height
from postprocess.text.tilt import LEAST_LINES, text_tilt
from postprocess.word import Word, Words
from tablerec.detect import Detection
from tablerec.detect.margins import held_cells
from tablerec.detect.passes import PAPER, THRESHOLD, share_passes
from tablerec.detect.tiles import inner_cells
from tablerec.models.opening import Network

if TYPE_CHECKING:
    from postprocess.arrays import Image
    from postprocess.candidates.scene import Scene

TEXT_HEIGHT = (10.0, 24.0)
"""Between these heights of text, in pixels, a picture goes through the network as it is."""
LIKE_SCALE = 1.06
"""A first pass whose scale differs by this factor at most is as good: words and lines are not quite of one height."""
USUAL_TEXT = 16.0
"""Height of text, in pixels, around which the network sees well."""
OTHER_SCALE = 1.5
"""How much larger or smaller a picture is the second time."""
ROW_HEIGHT = 12.0
"""Rows lower than this, in pixels of the network's input, ask for another pass, enlarged."""
LEAST_TILT = 1.0
"""Degrees from which a picture is turned level before the pass; most training pictures keep within."""
SIDE = 960
"""The picture's longer side, where nothing is known about its text: the canvas of the training."""


class CellNetDetector:
    """Finds the cells of all tables in a picture with CellNet.

    Args:
        model: See ``CellNetPasses``.
        device: See ``CellNetPasses``.
        layout: ``page`` or ``table``, see ``Settings``.
        threshold: Least score of a cell, 0 to 1.

    Raises:
        SettingsError: The threshold is outside its range.
        ModelNotFoundError: The folder holds no model, or a damaged one.
    """

    name = "cellnet"

    def __init__(
        self,
        model: Path | Network,
        device: str = "cpu",
        layout: Literal["page", "table"] = "page",
        threshold: float = THRESHOLD,
    ) -> None:
        self.layout = layout
        self.passes = share_passes(model, device, threshold)

    def detect(self, image: Image, words: Sequence[Word]) -> list[Detection]:
        """See ``CellDetector``."""
        if image.size == 0:
            return []
        scale = choose_scale(image.shape[:2], _text_height(words))
        return self._detect(image, [scale], words, text_tilt(Words.of(words).quads, LEAST_LINES) or 0.0)[0]

    def detect_twice(self, image: Image, picture: Scene) -> list[list[Detection]]:
        """Find tables at two scales, for a caller who can tell which is right: no scale is best for every table.

        Args:
            image: See ``CellDetector``.
            picture: Its words and their tilt.

        Returns:
            What ``detect`` finds, and what it would find in a larger or smaller picture.
        """
        if image.size == 0:
            return [[], []]
        text_height = _text_height(picture.words)
        scale = choose_scale(image.shape[:2], text_height)
        return self._detect(image, [scale, other_scale(scale, text_height)], picture.words, picture.tilt)

    def _detect(
        self, image: Image, scales: Sequence[float], words: Sequence[Word], tilt: float
    ) -> list[list[Detection]]:
        """What is found at each scale; a picture whose text is tilted is turned level first."""
        if abs(tilt) < LEAST_TILT:
            found = [self._detect_level(image, scale) for scale in scales]
        else:
            level, to_level = level_image(image, tilt)
            back = np.linalg.inv(np.vstack([to_level, [0, 0, 1]]))[:2]
            found = [
                [replace(each, quads=each.quads @ back[:, :2].T + back[:, 2]) for each in at_scale]
                for at_scale in (self._detect_level(level, scale) for scale in scales)
            ]
        return [_drop_blank_margins(at_scale, words, image) for at_scale in found]

    def _detect_level(self, image: Image, scale: float) -> list[Detection]:
        found = self.passes.run(image, scale, LIKE_SCALE)
        closer = closer_scale(found.quads, found.scale)
        if closer > found.scale:
            found = self.passes.run(image, closer)
        return self._to_detections(found.quads, found.scores, found.tables, image.shape[:2])

    def _to_detections(
        self, quads: Floats, scores: Floats, tables: NDArray[np.float32], size_hw: tuple[int, int]
    ) -> list[Detection]:
        inside = inner_cells(quads, size_hw)
        quads, scores = quads[inside].clip(0, np.array(size_hw[::-1], np.float64)), scores[inside].clip(0, 1)
        if not len(quads):
            return []
        labels = np.ones(len(quads), int) if self.layout == "table" else cells_to_tables(quads, tables, size_hw)
        groups = [labels == label for label in np.unique(labels)]
        # One cell alone is a frame, a button or a heading rather than a table.
        found = [Detection(quads[g], scores[g], self.name) for g in groups if self.layout == "table" or g.sum() > 1]
        return sorted(found, key=lambda detection: float(detection.quads[..., 1].min()))


def choose_scale(size_hw: tuple[int, ...], text_height: float | None) -> float:
    """How much a picture is enlarged before a pass.

    Args:
        size_hw: Height and width in pixels.
        text_height: Median height of its words in pixels; None where it is not known.

    >>> choose_scale((800, 600), 16.0), choose_scale((3000, 2000), 48.0), choose_scale((200, 300), 5.0)
    (1.0, 0.32, 3.2)
    >>> choose_scale((1920, 1000), None), choose_scale((1920, 1000), 16.0)
    (0.5, 0.625)
    """
    least, most = TEXT_HEIGHT
    if text_height is not None and text_height > 0:
        scale = 1.0 if least <= text_height <= most else USUAL_TEXT / text_height
        # Where the whole picture does not fit into what the network saw in training, as far as the text allows.
        scale = min(scale, max(SIDE / max(size_hw), least / text_height))
    else:
        scale = min(1.0, SIDE / max(size_hw))
    return float(np.clip(scale, 0.1, 4.0))


def other_scale(scale: float, text_height: float | None) -> float:
    """The scale of a second pass: larger where the text is small, else smaller.

    Args:
        scale: The first scale.
        text_height: Median height of the words in pixels of the picture; None where it is not known.

    >>> other_scale(1.0, 12.0), other_scale(1.0, 18.0), other_scale(0.5, None)
    (1.5, 0.6666666666666666, 0.75)
    """
    larger = text_height is None or text_height * scale < USUAL_TEXT
    return float(np.clip(scale * OTHER_SCALE if larger else scale / OTHER_SCALE, 0.1, 4.0))


def level_image(image: Image, tilt: float) -> tuple[Image, Floats]:
    """Turn a picture back so that its text is level; nothing is cut off.

    Args:
        image: ``(H, W, 3)`` uint8.
        tilt: As of ``postprocess.text.tilt.text_tilt``, degrees.

    Returns:
        The larger picture, and ``(2, 3)`` from points of the first to points of the second.
    """
    import cv2

    height, width = image.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), tilt, 1.0)
    size = np.ceil(np.abs(matrix[:, :2]) @ (width, height)).astype(int)
    matrix[:, 2] += size / 2 - (width / 2, height / 2)
    level = cv2.warpAffine(
        image, matrix, size.tolist(), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_CONSTANT, borderValue=(PAPER,) * 3
    )
    return np.asarray(level, np.uint8), np.asarray(matrix, np.float64)


def closer_scale(quads: Floats, scale: float) -> float:
    """The scale at which even the lower rows have their height; the same where they have it.

    >>> closer_scale(np.array([[[0, 0], [60, 0], [60, 8], [0, 8]]], float), 1.0)
    1.5
    """
    if not len(quads):
        return scale
    heights = np.linalg.norm(quads[:, [3, 2]] - quads[:, [0, 1]], axis=2).mean(axis=1)
    low = float(quantile(heights, 0.1)) * scale
    return float(np.clip(scale * ROW_HEIGHT / max(low, ROW_HEIGHT / 3), scale, 4.0)) if low < ROW_HEIGHT else scale


def cells_to_tables(quads: Floats, tables: NDArray[np.float32], size_hw: tuple[int, int]) -> NDArray[np.int64]:
    """Number the connected regions of the table map, and say in which of them each cell lies.

    Args:
        quads: ``(N, 4, 2)`` pixels of the picture.
        tables: ``(h, w)`` probability of a table, over the whole picture.
        size_hw: Height and width of the picture.

    Returns:
        ``(N,)`` numbers of the regions; cells that touch share one whatever the map says.
    """
    import cv2

    mask = (tables > 0.5).astype(np.uint8)
    steps = np.array(mask.shape[::-1]) / np.array(size_hw[::-1])
    at = quads * steps - 0.5
    for corners in np.rint(at * 16).astype(np.int32):
        cv2.fillConvexPoly(mask, corners, 1, lineType=cv2.LINE_8, shift=4)
    _, labels = cv2.connectedComponents(mask, connectivity=4)
    x, y = np.rint(at.mean(axis=1)).astype(int).T
    return np.asarray(labels[y.clip(0, mask.shape[0] - 1), x.clip(0, mask.shape[1] - 1)], np.int64)


def _drop_blank_margins(found: Sequence[Detection], words: Sequence[Word], image: Image) -> list[Detection]:
    held = [held_cells(each.quads, words, image) for each in found]
    return [
        replace(each, quads=each.quads[mine], scores=each.scores[mine])
        for each, mine in zip(found, held, strict=True)
        if mine.any()
    ]


def _text_height(words: Sequence[Word]) -> float | None:
    return word_height(np.array([word.quad for word in words])) if words else None
