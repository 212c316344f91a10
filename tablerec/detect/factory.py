"""The detector that the settings name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tablerec.config import Settings
from tablerec.detect import CellDetector
from tablerec.models.folder import NAME, WEIGHTS, read_model_name

if TYPE_CHECKING:
    from tablerec.detect.text_lines import TextLineFinder


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


def make_line_finder(settings: Settings) -> TextLineFinder | None:
    """Create what finds lines of text with the network that the detector uses, if it has one that looks for them."""
    folder = _find_cellnet(settings.detector_dir) if settings.detector in ("auto", "cellnet") else WEIGHTS
    from tablerec.detect.passes import finds_lines, share_passes
    from tablerec.detect.text_lines import TextLineFinder

    for each in (folder, WEIGHTS):
        if each is not None and has_cellnet(each) and finds_lines(each):
            return TextLineFinder(share_passes(each, settings.device))
    return None


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
    return read_model_name(folder) == NAME
