"""OCR engines: a picture in, words with their places out.

- ``line``, ``lines``: from a picture to lines of text, what all OCR engines with a detector and a recogniser share;
  ``edges``: where lines end
- ``ink``: the ink in a cell, for a second pass over cells in which no text was found
- ``script``, ``unread``: in which script a line is, and what was found and not read
- ``signs``: raised and lowered signs and rows of hyphens, by the pixels
- ``rapidocr``, ``paddlex``, ``linenet``: the OCR engines themselves; ``cascade``: two of them, one after the other
- ``ctc``: from LineNet's classes to text; ``doubts``: what speaks against a reading

An OCR engine is anything with a ``name``, a ``read`` and a ``read_quads`` method; ``make_ocr_engine`` creates the one
that the settings name.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from postprocess.word import Word
from tablerec.config import Settings
from tablerec.errors import SettingsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from postprocess.arrays import Image
    from tablerec.ocr.linenet import LineNetEngine

_logger = logging.getLogger(__name__)


class OcrEngine(Protocol):
    """Reads the text of a picture."""

    name: str

    def read(self, image: Image) -> list[Word]:
        """Find and read all text.

        Args:
            image: ``(height, width, 3)`` uint8, BGR; may be empty.

        Returns:
            Lines of text or parts of them, with every score the OCR engine gave, however low;
            empty where there is no text.
        """
        ...

    def read_quads(self, image: Image, quads: NDArray[np.floating]) -> list[Word]:
        """Read cells in which ``read`` saw nothing in a second pass, without searching for text.

        Detectors of text miss single characters. Cells without ink cost next to nothing.

        Args:
            image: ``(height, width, 3)`` uint8, BGR.
            quads: ``(N, 4, 2)`` corners TL, TR, BR, BL in pixels, each around text with ground around it; rulings
                along the sides do not matter.

        Returns:
            Words of each quad in which text was seen, in the order of the quads: one, or one for each line of several.
            Their corners are around their ink, in reading direction.
        """
        ...


class NoOcr:
    """The OCR engine ``none``: sees no text."""

    name = "none"

    def read(self, image: Image) -> list[Word]:
        """Return no words."""
        return []

    def read_quads(self, image: Image, quads: NDArray[np.floating]) -> list[Word]:
        """Return no words."""
        return []


def make_ocr_engine(settings: Settings) -> OcrEngine:
    """Create the OCR engine that the settings name; its models are loaded at the first picture.

    Args:
        settings: ``ocr`` is ``auto``, ``tablerec``, ``rapidocr``, ``none``, ``paddlex`` for the models of
            PaddleX, or ``paddlex:FAMILY`` for those of a family such as ``PP-OCRv5_mobile``.

    Raises:
        SettingsError: There is no such ocr, or it takes no ``ocr_dir``.
        ModelNotFoundError: LineNet is asked for, and its files are missing or damaged.

    >>> make_ocr_engine(Settings(ocr="none")).name
    'none'
    """
    backend, _, family = settings.ocr.partition(":")
    if settings.ocr_dir is not None and settings.ocr not in ("auto", "tablerec"):
        raise SettingsError(
            f"ocr_dir is {settings.ocr_dir}, but ocr {settings.ocr!r} takes none: choose auto or tablerec"
        )
    if settings.ocr == "auto":
        return _make_cascade(settings)
    if settings.ocr == "tablerec":
        return _make_linenet(settings)
    if backend == "paddlex":
        from tablerec.ocr.paddlex import PaddleXOcrEngine
        from tablerec.paddlex_support import make_runtime

        return PaddleXOcrEngine.of_family(family, make_runtime(settings))
    if settings.ocr == "rapidocr":
        from tablerec.ocr.rapidocr import RapidOcrEngine

        return RapidOcrEngine(device=settings.device)
    if settings.ocr == "none":
        return NoOcr()
    raise SettingsError(
        f"ocr {settings.ocr!r} is unknown: choose auto, tablerec, rapidocr, paddlex, paddlex:FAMILY or none"
    )


def _make_cascade(settings: Settings) -> OcrEngine:
    from functools import partial

    from tablerec.models.folder import LINENET_WEIGHTS
    from tablerec.ocr.cascade import CascadeEngine
    from tablerec.ocr.linenet import has_linenet
    from tablerec.ocr.rapidocr import RapidOcrEngine

    if settings.ocr_dir is None and not has_linenet():
        _logger.warning("%s holds no LineNet: rapidocr reads alone; install tablerec again", LINENET_WEIGHTS)
        return RapidOcrEngine(device=settings.device)
    return CascadeEngine(_make_linenet(settings), partial(RapidOcrEngine, device=settings.device))


def _make_linenet(settings: Settings) -> LineNetEngine:
    from functools import partial

    from tablerec.detect.factory import make_line_finder
    from tablerec.models.folder import LINENET_WEIGHTS
    from tablerec.ocr.linenet import LineNetEngine
    from tablerec.ocr.lines import find_lines
    from tablerec.ocr.rapidocr import RapidOcrEngine

    finder = make_line_finder(settings)
    find = finder.find if finder is not None else partial(find_lines, RapidOcrEngine(device=settings.device))
    return LineNetEngine(find, settings.ocr_dir or LINENET_WEIGHTS, settings.device)
