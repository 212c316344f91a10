"""PaddleX's detectors of table cells: one of them, both side by side, or the one that its classifier names."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.boxes import boxes_to_quads
from postprocess.word import Word
from tablerec.detect import Detection
from tablerec.detect.tiles import Tile, detect_in_tiles, plan_tiles
from tablerec.errors import ModelNotFoundError, SettingsError
from tablerec.models.folder import DESCRIPTION, read_model_name
from tablerec.paddlex_support import LazyModel, Runtime

if TYPE_CHECKING:
    from postprocess.arrays import Image
    from postprocess.candidates.scene import Scene


OFFICIAL = ("RT-DETR-L_wired_table_cell_det", "RT-DETR-L_wireless_table_cell_det")
"""Detectors of cells that PaddleX offers: for ruled tables and for tables without rulings."""
CLASSIFIER = "PP-LCNet_x1_0_table_cls"
"""PaddleX's classifier, which tells the two kinds of tables apart."""
BOTH = "paddlex"
"""The detector that runs both."""
THRESHOLD = 0.3
"""Least score of a cell; PaddleX's own pipeline for tables takes the same."""
MOST_CELLS = 300
"""RT-DETR answers 300 queries: a table with more cells cannot be found in one pass."""

_FULL = 0.9
"""Share of ``MOST_CELLS`` from which a pass may have missed cells: of its queries, some go to nothing."""
_MOST_PARTS = 8
"""A side is cut into no more parts than this."""
_MARGIN = 0.5
"""What a tile shows beyond its core, as a share of the core."""


class PaddleXDetector:
    """Finds cells with a model of PaddleX; takes the whole picture as one table.

    Where a pass finds as many cells as RT-DETR can, the picture is cut into tiles.

    Args:
        model_name: One of ``OFFICIAL``; ignored with ``model_dir``, where ``inference.yml`` holds the name.
        model_dir: Folder of an exported model; None for where the runtime has it.
        runtime: How it runs.
        threshold: Least score of a cell, 0 to 1.
        model: The model, where it is loaded already; names are not checked then.

    Raises:
        SettingsError: PaddleX offers no cell detector of this name.
        ModelNotFoundError: The folder holds no model.
    """

    def __init__(
        self,
        model_name: str,
        model_dir: Path | None = None,
        runtime: Runtime | None = None,
        threshold: float = THRESHOLD,
        *,
        model: Any = None,
    ) -> None:
        if model is None and model_dir is None and model_name not in OFFICIAL:
            raise SettingsError(
                f"detector {model_name!r} is unknown: choose auto, rulings, words, cellnet, {BOTH}, "
                f"{' or '.join(OFFICIAL)}, {CLASSIFIER}, or give the folder of a PaddleX model"
            )
        if not 0 <= threshold <= 1:
            raise SettingsError(f"threshold is {threshold}: give a value from 0 to 1")
        self.name = model_name if model_dir is None else _name_in_folder(model_dir)
        self.threshold = threshold
        self._model = LazyModel(self.name, model_dir, runtime, model)

    def detect(self, image: Image, words: Sequence[Word]) -> list[Detection]:
        """See ``CellDetector``."""
        if image.size == 0:
            return []
        quads, scores = self._predict(image)
        quads, scores = self._predict_in_tiles(image, quads, scores)
        return [Detection(quads, scores, self.name)] if len(quads) else []

    def _predict(self, image: Image) -> tuple[Floats, Floats]:
        # PaddleX applies a threshold only if it is a float.
        found = self._model.predict(image, threshold=float(self.threshold))["boxes"]
        boxes = np.array([box["coordinate"] for box in found], np.float64).reshape(-1, 4)
        scores = np.array([box["score"] for box in found], np.float64)
        height, width = image.shape[:2]
        boxes = boxes.clip(0, [width, height, width, height])
        kept = (boxes[:, 2:] > boxes[:, :2]).all(axis=1) & (scores >= self.threshold)
        return boxes_to_quads(boxes[kept]), scores[kept].clip(0, 1)

    def _predict_in_tiles(self, image: Image, quads: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """Cut the picture into more and more tiles until none is full."""
        height, width = image.shape[:2]
        n_parts, fullest = 1, len(quads)

        def detect(tile: Tile, _: float) -> tuple[Floats, Floats, NDArray[Any]]:
            nonlocal fullest
            x0, y0, x1, y1 = tile.box_xyxy
            seen, sure = self._predict(np.ascontiguousarray(image[y0:y1, x0:x1]))
            # The pass over the whole picture, for its largest cells, may be full: of those there are few.
            if (x1 - x0, y1 - y0) != (width, height):
                fullest = max(fullest, len(seen))
            return seen + np.array([x0, y0]), sure, np.zeros((1, 1))

        while _FULL * MOST_CELLS <= fullest <= MOST_CELLS and n_parts < _MOST_PARTS:
            n_parts, fullest = 2 * n_parts, 0
            core = -(-max(height, width) // n_parts)
            margin = round(_MARGIN * core)
            tiles = plan_tiles((height, width), core + 2 * margin, margin)
            quads, scores, _ = detect_in_tiles(detect, tiles, core + 2 * margin, margin)
            if len(tiles) == 1:
                fullest = len(quads)
        if _FULL * MOST_CELLS <= fullest <= MOST_CELLS:
            warnings.warn(
                f"{self.name} returned {fullest} cells of one part of the picture, about as many as it can: cells may "
                "be missing; choose the detector auto",
                stacklevel=3,
            )
        return quads, scores


class PaddleXPair:
    """Both detectors, for a caller who can tell which is right: ``detect.combined.CombinedDetector``.

    Args:
        runtime: How they run, and where they lie.
    """

    name = BOTH

    def __init__(self, runtime: Runtime | None = None) -> None:
        self._detectors = [PaddleXDetector(name, runtime=runtime) for name in OFFICIAL]

    def detect_twice(self, image: Image, picture: Scene) -> list[list[Detection]]:
        """Return what the detector of ruled tables finds, and what that of tables without rulings finds."""
        return [detector.detect(image, picture.words) for detector in self._detectors]


class ClassifiedDetector:
    """Takes the detector that PaddleX's classifier of tables names; the whole picture is one table.

    Args:
        runtime: How the models run, and where they lie.
    """

    name = CLASSIFIER

    def __init__(self, runtime: Runtime | None = None) -> None:
        self._classifier = LazyModel(CLASSIFIER, None, runtime)
        self._wired, self._wireless = (PaddleXDetector(name, runtime=runtime) for name in OFFICIAL)

    def detect(self, image: Image, words: Sequence[Word]) -> list[Detection]:
        """See ``CellDetector``."""
        if image.size == 0:
            return []
        label = self._classifier.predict(image)["label_names"][0]
        return (self._wireless if label == "wireless_table" else self._wired).detect(image, words)


def _name_in_folder(folder: Path) -> str:
    """Return the name under which PaddleX knows the model in a folder; it refuses any other."""
    name = read_model_name(folder)
    if name is None:
        path = folder / DESCRIPTION
        raise ModelNotFoundError(f"{path} names no model (Global: model_name): name the folder of an exported model")
    return name
