"""PaddleX's detectors of table cells."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from postprocess.words import Word
from tablerec.detect import Detection
from tablerec.errors import ModelNotFoundError, SettingsError

if TYPE_CHECKING:
    from tablerec.result import Image

OFFICIAL = ("RT-DETR-L_wired_table_cell_det", "RT-DETR-L_wireless_table_cell_det")
"""Detectors of cells that PaddleX offers: for ruled tables and for tables without rulings."""
THRESHOLD = 0.3
"""Least score of a cell; PaddleX's own pipeline for tables takes the same."""
MOST_CELLS = 300
"""RT-DETR answers 300 queries: a table with more cells cannot be found whole."""


class PaddleXDetector:
    """Finds cells with a model of PaddleX; takes the whole picture as one table.

    Args:
        model_name: One of ``OFFICIAL``, downloaded when it is missing; not looked at with ``model_dir``,
            where ``inference.yml`` holds the name.
        model_dir: Folder of an exported model.
        device: In PaddleX's syntax.
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
        device: str = "cpu",
        threshold: float = THRESHOLD,
        *,
        model: Any = None,
    ) -> None:
        if model is None and model_dir is None and model_name not in OFFICIAL:
            raise SettingsError(
                f"detector {model_name!r} is unknown: choose auto, rulings, words, cellnet, {' or '.join(OFFICIAL)}, "
                "or give the folder of a PaddleX model"
            )
        if not 0 <= threshold <= 1:
            raise SettingsError(f"threshold is {threshold}: give a value from 0 to 1")
        self.name = model_name if model_dir is None else _name_in_folder(model_dir)
        self.model_dir = model_dir
        self.device = device
        self.threshold = threshold
        self._model = model
        self._lock = threading.Lock()

    def detect(self, image: Image, words: Sequence[Word]) -> list[Detection]:
        """See ``CellDetector``."""
        if image.size == 0:
            return []
        with self._lock:
            if self._model is None:
                from tablerec.paddlex_support import create_model

                self._model = create_model(self.name, self.model_dir, self.device)
            # PaddleX applies a threshold only if it is a float.
            found = next(iter(self._model.predict(image, threshold=float(self.threshold))))["boxes"]
        boxes = np.array([box["coordinate"] for box in found], np.float64).reshape(-1, 4)
        scores = np.array([box["score"] for box in found], np.float64)
        if len(boxes) >= MOST_CELLS:
            warnings.warn(
                f"{self.name} returned {len(boxes)} cells, as many as it can: cells may be missing; "
                "cut the picture in two or choose the detector auto",
                stacklevel=2,
            )
        height, width = image.shape[:2]
        boxes = boxes.clip(0, [width, height, width, height])
        kept = (boxes[:, 2:] > boxes[:, :2]).all(axis=1) & (scores >= self.threshold)
        if not kept.any():
            return []
        return [Detection(boxes[kept][:, [[0, 1], [2, 1], [2, 3], [0, 3]]], scores[kept].clip(0, 1), self.name)]


def _name_in_folder(folder: Path) -> str:
    """Read the name under which PaddleX knows the model in a folder; it refuses any other."""
    import yaml

    path = folder / "inference.yml"
    try:
        name = yaml.safe_load(path.read_text(encoding="utf-8"))["Global"]["model_name"]
    except (OSError, UnicodeDecodeError) as error:
        raise ModelNotFoundError(
            f"{path} cannot be read ({error}): name the folder of an exported PaddleX model"
        ) from error
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise ModelNotFoundError(f"{path} names no model (Global: model_name): export it with PaddleX") from error
    return str(name)
