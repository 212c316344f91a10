"""Cell detectors: a picture and its words in, the cells of each table out.

A detector is anything with a ``name`` and a ``detect`` method. Nothing in the
rest of the pipeline depends on which one ran.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from postprocess.words import Word
from tablerec.config import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from postprocess.rulings import Rulings
    from tablerec.result import Image


WEIGHTS = Path(__file__).parent.parent / "models" / "weights"
"""Folder of the weights that come with the package; without them ``auto`` works from rulings and words alone."""


@dataclass(frozen=True, slots=True)
class Detection:
    """The cells of one table.

    Args:
        quads: ``(N, 4, 2)`` float64 corners TL, TR, BR, BL in pixels of the picture.
        scores: ``(N,)`` float64, how sure the detector is of each cell, 0 to 1.
        detector: Name of the detector that found them.
        rivals: What other detectors found in the same place: the more they agree, the surer the table.
        rulings: Lines of the picture, where the detector looked for them.
    """

    quads: NDArray[np.float64]
    scores: NDArray[np.float64]
    detector: str
    rivals: tuple[Detection, ...] = ()
    rulings: Rulings | None = None


class CellDetector(Protocol):
    """Finds the cells of the tables in a picture."""

    name: str

    def detect(self, image: Image, words: Sequence[Word]) -> list[Detection]:
        """Find tables.

        Args:
            image: ``(height, width, 3)`` uint8, BGR.
            words: What the reader found; empty without a reader.

        Returns:
            One Detection for each table, from top to bottom; empty where there is none.
        """
        ...


def make_detector(settings: Settings) -> CellDetector:
    """Create the detector that the settings name.

    Raises:
        SettingsError: The name is unknown.
        MissingDependencyError, ModelNotFoundError: From CellNet and the PaddleX backends.
    """
    if settings.layout_model is not None:
        from tablerec.detect.regions import LayoutModel, RegionDetector
        from tablerec.paddlex_support import make_runtime

        inner = make_detector(replace(settings, layout_model=None, layout="table"))
        return RegionDetector(inner, LayoutModel(settings.layout_model, make_runtime(settings)))
    if settings.detector == "auto" and (folder := _find_cellnet(settings.detector_dir)):
        from tablerec.detect.cellnet import CellNetDetector
        from tablerec.detect.combined import CombinedDetector
        from tablerec.detect.geometric import GeometricDetector

        return CombinedDetector(
            CellNetDetector(folder, settings.device, settings.layout), GeometricDetector("auto", settings.layout)
        )
    if settings.detector in ("auto", "rulings", "words") and settings.detector_dir is None:
        from tablerec.detect.geometric import GeometricDetector

        return GeometricDetector(settings.detector, settings.layout)
    if settings.detector == "cellnet":
        from tablerec.detect.cellnet import CellNetDetector

        return CellNetDetector(settings.detector_dir or WEIGHTS, settings.device, settings.layout)
    return _make_paddlex(settings)


def _make_paddlex(settings: Settings) -> CellDetector:
    from tablerec.detect.paddlex import BOTH, CLASSIFIER, ClassifiedDetector, PaddleXDetector, PaddleXPair
    from tablerec.paddlex_support import make_runtime

    runtime = make_runtime(settings)
    if settings.detector_dir is None and settings.detector == BOTH:
        from tablerec.detect.combined import CombinedDetector
        from tablerec.detect.geometric import GeometricDetector

        return CombinedDetector(PaddleXPair(runtime), GeometricDetector("auto", settings.layout), BOTH)
    if settings.detector_dir is None and settings.detector == CLASSIFIER:
        return ClassifiedDetector(runtime)
    return PaddleXDetector(settings.detector, settings.detector_dir, runtime)


def _find_cellnet(folder: Path | None) -> Path | None:
    """The folder with the weights of CellNet, or None: the one given if it holds them; without one, the package's.

    A file of the package's model that is missing is an error later, all of them are a choice.
    """
    if folder is None:
        return WEIGHTS if any(WEIGHTS.glob("inference.*")) else None
    return folder if has_cellnet(folder) else None


def has_cellnet(folder: Path) -> bool:
    """Whether a folder holds an exported CellNet, which its ``inference.yml`` says.

    >>> has_cellnet(Path("no such folder"))
    False
    """
    try:
        text = (folder / "inference.yml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return re.search(r"^\s*model_name:\s*CellNet\s*$", text, re.MULTILINE) is not None
