"""Text readers: a picture in, words with their places out.

A reader is anything with a ``name``, a ``read`` and a ``read_quads`` method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from postprocess.words import Word
from tablerec.config import Settings
from tablerec.errors import SettingsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablerec.result import Image


class TextReader(Protocol):
    """Reads the text of a picture."""

    name: str

    def read(self, image: Image) -> list[Word]:
        """Find and read all text.

        Args:
            image: ``(height, width, 3)`` uint8, BGR; may be empty.

        Returns:
            Lines of text or parts of them, with every score the reader gave, however low;
            empty where there is no text.
        """
        ...

    def read_quads(self, image: Image, quads: NDArray[np.floating]) -> list[Word]:
        """Take a second look at cells in which ``read`` saw nothing, without searching for text.

        Detectors of text miss single characters. Cells without ink cost next to nothing.

        Args:
            image: ``(height, width, 3)`` uint8, BGR.
            quads: ``(N, 4, 2)`` corners TL, TR, BR, BL in pixels, each around at most one line of
                text with ground around it; rulings along the sides do not matter.

        Returns:
            A word for each quad in which text was seen, in the order of the quads. Its corners are
            around its ink, in reading direction.
        """
        ...


class NoReader:
    """The reader ``none``: sees no text."""

    name = "none"

    def read(self, image: Image) -> list[Word]:
        """Return no words."""
        return []

    def read_quads(self, image: Image, quads: NDArray[np.floating]) -> list[Word]:
        """Return no words."""
        return []


def make_reader(settings: Settings) -> TextReader:
    """Create the reader that the settings name; its models are loaded at the first picture.

    Args:
        settings: ``reader`` is ``rapidocr``, ``none``, ``paddlex`` for the models of PaddleX, or
            ``paddlex:FAMILY`` for those of a family such as ``PP-OCRv5_mobile``.

    Raises:
        SettingsError: There is no such reader.

    >>> make_reader(Settings(reader="none")).name
    'none'
    """
    backend, _, family = settings.reader.partition(":")
    if backend == "paddlex":
        from tablerec.ocr.paddlex import PaddleXReader
        from tablerec.paddlex_support import make_runtime

        return PaddleXReader.of_family(family, make_runtime(settings))
    if settings.reader == "rapidocr":
        from tablerec.ocr.rapidocr import RapidOcrReader

        return RapidOcrReader()
    if settings.reader == "none":
        return NoReader()
    raise SettingsError(f"reader {settings.reader!r} is unknown: choose rapidocr, paddlex, paddlex:FAMILY or none")
