"""A cascade of two OCR engines: a fast one reads, and what it is not sure of is read again by a slow one.

The slow one is loaded at the first line in doubt. Of two readings the one counts that is more likely right, by what
each OCR engine's scores are worth, see ``tests/benchmarks/reading/fit.py``. A character that the slow one lacks speaks
against its reading as much as the fast one is sure of it.
"""

from __future__ import annotations

import logging
import math
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from postprocess.odds import to_probability, weigh
from postprocess.word import Word
from tablerec.errors import MissingDependencyError, ModelNotFoundError
from tablerec.ocr.ctc import LEAST_PROBABILITY, chance_of
from tablerec.ocr.doubts import is_doubtful
from tablerec.ocr.ink import LEAST_CONTRAST
from tablerec.ocr.line import Line
from tablerec.ocr.linenet import LineNetEngine
from tablerec.ocr.lines import CropReader, distinct, find_lines, read_found
from tablerec.ocr.rapidocr import RapidOcrEngine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postprocess.arrays import Image

SURE = 0.99
"""A line is not read again where each character is right with this probability: a long one is seldom right as a whole,
and takes as much more time ..."""
FEWEST = 5
"""... but a short one takes no less than one of so many characters."""
DOUBTED = 0.9
"""By this the score of LineNet is too high where something else speaks against its reading."""
WEAK = frozenset("☐☑☒✓✗⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ₀₁₂₃₄₅₆₇₈₉°")
"""Signs that are in PP-OCR's list, and that it takes for others: LineNet is believed."""
DASHES = re.compile("[-–—−]")
"""PP-OCR takes one for another as well: where both see as many, they are LineNet's, whoever reads the rest."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for a reading of PP-OCR being right in all its characters.

    Args:
        score: Logarithm of its score, the mean probability of its characters.
        length: Logarithm of one more than the number of characters.
        nothing: 1 where no character was read.
    """

    score: float
    length: float
    nothing: float


BIAS = 4.015
WEIGHTS = Evidence(
    score=7.915,
    length=-0.673,
    nothing=-0.955,
)
"""Fitted by ``tests/benchmarks/reading/fit.py``."""


class CascadeEngine(CropReader):
    """LineNet reads, PP-OCR reads again what is in doubt.

    Args:
        first: The fast one.
        second: Makes the slow one; where it is not installed, the fast one works alone.
    """

    name = "auto"

    def __init__(self, first: LineNetEngine, second: Callable[[], RapidOcrEngine] = RapidOcrEngine) -> None:
        self.first = first
        self._make_second = second
        self._second: RapidOcrEngine | None = None
        self._is_alone = False
        self._lock = threading.Lock()

    @property
    def reads(self) -> frozenset[str]:
        """See ``CropReader``."""
        return self.first.reads

    @property
    def other(self) -> RapidOcrEngine | None:
        """What reads otherwise; None where it is not installed."""
        return self._load_second()

    def read(self, image: Image) -> list[Word]:
        """See ``OcrEngine``."""
        quads = self.first.find(image)
        if not len(quads) and not _is_blank(image) and (second := self._load_second()) is not None:
            quads = find_lines(second, image)
        return read_found(self, image, quads)

    def recognize(self, crops: Sequence[Image]) -> list[Line]:
        """See ``CropReader``; ``check`` does the rest, once it is known how the crops stand."""
        return self.first.recognize(crops)

    def check(self, crops: Sequence[Image], lines: Sequence[Line]) -> list[Line]:
        """See ``CropReader``."""
        lines = [_with_doubt(line, crop) for line, crop in zip(lines, crops, strict=True)]
        checked = list(lines)
        doubtful = [index for index, line in enumerate(lines) if not is_sure(line)]
        second = self._load_second() if doubtful else None
        if second is None:
            return checked
        known = _without_weak(second.characters)
        beaten = [index for index in doubtful if _chance_at_best(lines[index], known) > chance_of(lines[index])]
        firsts, owners = distinct([crops[index] for index in beaten])
        again = second.recognize([crops[beaten[first]] for first in firsts]) if beaten else []
        for index, owner in zip(beaten, owners, strict=True):
            checked[index] = choose_line(lines[index], again[owner], known)
        return checked

    def _load_second(self) -> RapidOcrEngine | None:
        with self._lock:
            if self._second is None and not self._is_alone:
                try:
                    second = self._make_second()
                    second.load()
                    self._second = second
                except (MissingDependencyError, ModelNotFoundError) as error:
                    self._is_alone = True
                    _logger.warning("lines in doubt are not read again: %s", error)
        return self._second


@lru_cache(1)
def _without_weak(characters: frozenset[str]) -> frozenset[str]:
    return characters - WEAK


def _with_doubt(line: Line, crop: Image) -> Line:
    """A line of LineNet's, its score lower where something else speaks against it."""
    return replace(line, score=DOUBTED * line.score) if is_doubtful(line, crop) else line


def is_sure(line: Line) -> bool:
    """Whether a line of LineNet's is believed without a second reading.

    >>> is_sure(Line("12.5", 0.99)), is_sure(Line("12.5", 0.98)), is_sure(Line("1", 0.96))
    (True, False, True)
    """
    return chance_of(line) >= SURE ** max(FEWEST, len(line.text))


def gather_evidence(line: Line) -> Evidence:
    """Gather what speaks for a reading as it comes from PP-OCR."""
    return Evidence(
        score=math.log(max(line.score, LEAST_PROBABILITY)) if line.text else 0.0,
        length=math.log1p(len(line.text)),
        nothing=float(not line.text),
    )


def choose_line(first: Line, second: Line, known: frozenset[str]) -> Line:
    """The more likely of two readings of a crop, its score as ``ctc.to_line`` gives it.

    Args:
        first: LineNet's.
        second: PP-OCR's.
        known: The characters that PP-OCR knows.
    """
    chance = float(to_probability(weigh(gather_evidence(second), WEIGHTS, BIAS)))
    if chance * _chance_at_best(first, known) <= chance_of(first):
        return first
    text = with_dashes(second.text, first.text)
    return replace(second, text=text, score=chance ** (1 / max(1, len(text))))


def with_dashes(text: str, other: str) -> str:
    """A text with the dashes of another reading of it, if both have as many.

    >>> with_dashes("50-60", "S0–60"), with_dashes("50-60", "5060")
    ('50–60', '50-60')
    """
    dashes = DASHES.findall(other)
    if len(dashes) != len(DASHES.findall(text)):
        return text
    following = iter(dashes)
    return DASHES.sub(lambda _: next(following), text)


def _chance_at_best(line: Line, known: frozenset[str]) -> float:
    """How likely PP-OCR can be right, as far as LineNet's reading tells: all characters that it lacks must be wrong."""
    return float((1 - line.score) ** sum(char not in known for char in line.text))


def _is_blank(image: Image) -> bool:
    """Whether a picture holds nothing that contrasts with its ground."""
    if not image.size:
        return True
    ground = np.median(image.reshape(-1, 3), axis=0)
    difference: NDArray[np.float64] = np.abs(image - ground)
    return bool(difference.max() < LEAST_CONTRAST)
