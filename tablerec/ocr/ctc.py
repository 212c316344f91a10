"""From the best class of each position of a line to its text, its characters' places, and how sure it is.

CTC (Graves et al., "Connectionist Temporal Classification", 2006): a run of positions with one class is one character,
and a blank stands between two that are alike. The network reads as the line is seen, from left to right; text from
right to left is put into the order in which it is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from postprocess.odds import to_probability, weigh
from postprocess.text.bidi import has_right_to_left, mirror_brackets, visual_to_logical
from postprocess.word import CharSpans
from tablerec.models.characters import TURNED
from tablerec.ocr.line import Line
from tablerec.ocr.lines import centers_to_spans

if TYPE_CHECKING:
    from postprocess.arrays import Floats, Ints

LEAST_PROBABILITY = 1e-6
MOST_SURE = 1 - 1e-3
"""Probabilities of the network count up to this: what is above differs by noise."""
_FEW = 2
"""Characters beside the sign for a turned line that do not speak against it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read in a crop, as it is seen from left to right.

    Args:
        text: Without blanks at its ends.
        probabilities: ``(N,)`` of each character of it, 0 to 1.
        centers: ``(N,)`` middles of the characters, as fractions of the crop's width.
        empty_probability: The least probability of the positions in which no character was seen.
        is_turned: The line stands on its head, or its characters lie on their side.
    """

    text: str
    probabilities: Floats
    centers: Floats
    empty_probability: float
    is_turned: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for or against a reading being right in all its characters.

    Args:
        wrong: Logarithm of the number of wrong characters that their probabilities let expect.
        missed: Logarithm of the probability of a character in the most doubtful position without one.
        length: Logarithm of one more than the number of characters.
        low: How much lower than 20 pixels the crop is, as a logarithm of the ratio.
        nothing: 1 where no character was read.
    """

    wrong: float
    missed: float
    length: float
    low: float
    nothing: float


BIAS = -2.270
WEIGHTS = Evidence(
    wrong=-1.454,
    missed=-0.132,
    length=0.468,
    low=-0.161,
    nothing=-1.995,
)
"""Fitted by ``tests/benchmarks/reading/fit.py``; ``nothing`` with former weights: these read something in each line."""


def decode(chars: Ints, scores: Floats, characters: Sequence[str], lengths: Sequence[float]) -> list[Reading]:
    """Read the texts of a batch.

    Args:
        chars: ``(B, T)`` class of each position: 0 for none, else the number of a character, counted from 1.
        scores: ``(B, T)`` their probabilities, 0 to 1.
        characters: The characters that the network knows.
        lengths: ``(B,)`` positions that each crop reaches over; beyond it is what fills up the batch.

    Returns:
        A reading for each crop, in their order.

    >>> [reading] = decode(np.array([[0, 1, 1, 0, 1, 2]]), np.full((1, 6), 0.9), ["a", "b"], [6])
    >>> reading.text, [round(center, 2) for center in reading.centers.tolist()]
    ('aab', [0.33, 0.75, 0.92])
    """
    return [
        _decode_line(chars[index, : math.ceil(length)], scores[index, : math.ceil(length)], characters, length)
        for index, length in enumerate(lengths)
    ]


def _decode_line(chars: Ints, scores: Floats, characters: Sequence[str], length: float) -> Reading:
    numbers, probabilities = chars.tolist(), scores.tolist()
    starts = [place for place, number in enumerate(numbers) if not place or number != numbers[place - 1]]
    runs = [run for run in pairwise([*starts, len(numbers)]) if numbers[run[0]]]
    text = [characters[numbers[start] - 1] for start, _ in runs]
    best = np.array([max(probabilities[start:end]) for start, end in runs])
    centers = np.array([(start + end) / 2 / max(length, 1e-9) for start, end in runs])
    empty = scores[chars == 0]
    least = float(empty.min()) if len(empty) else 1.0
    seen = [index for index, char in enumerate(text) if char != TURNED]
    if len(seen) < len(text) and len(seen) <= _FEW:
        return Reading("", np.zeros(0), np.zeros(0), least, is_turned=True)
    # A blank at an end, or behind another one, is no character of the text.
    seen = [index for place, index in enumerate(seen) if text[index] != " " or (place and text[seen[place - 1]] != " ")]
    if seen and text[seen[-1]] == " ":
        seen.pop()
    return Reading("".join(text[index] for index in seen), best[seen], centers[seen].clip(0, 1), least)


def gather_evidence(reading: Reading, height: float) -> Evidence:
    """Gather what speaks for a reading.

    Args:
        reading: Of a line that is not turned.
        height: Of its crop, in pixels of the picture.
    """
    doubts = 1 - np.minimum(reading.probabilities, MOST_SURE)
    return Evidence(
        wrong=math.log(max(float(doubts.sum()), 1 - MOST_SURE)),
        missed=math.log(1 - min(reading.empty_probability, MOST_SURE)),
        length=math.log1p(len(doubts)),
        low=math.log(max(20 / max(height, 1), 1)),
        nothing=float(not len(doubts)),
    )


def to_line(reading: Reading, height: float) -> Line:
    """The line in reading order, with its score.

    Args:
        reading: As it is seen.
        height: Of its crop, in pixels of the picture.

    Returns:
        Its score is the probability that a character of it is right, such that ``chance_of`` tells how likely all
        are: the scale of other recognisers' scores, which are means over characters.
    """
    if reading.is_turned:
        return Line("", 0.0, is_turned=True)
    chance = float(to_probability(weigh(gather_evidence(reading, height), WEIGHTS, BIAS)))
    text = reading.text
    visible = [center for char, center in zip(text, reading.centers.tolist(), strict=True) if not char.isspace()]
    line = Line(text, chance ** (1 / max(1, len(text))), centers_to_spans(text, visible))
    return to_reading_order(line) if has_right_to_left(text) else line


def chance_of(line: Line) -> float:
    """How likely all characters of a line are right, 0 to 1; of an empty one, how likely there is no text."""
    return line.score ** max(1, len(line.text))


def to_reading_order(line: Line) -> Line:
    """Put a line that is written as it is seen into the order in which it is read, each place with its character.

    >>> to_reading_order(Line("5 הת", 1.0, ((0.0, 0.2), (0.2, 0.4), (0.4, 0.7), (0.7, 1.0))))
    Line(text='תה 5', score=1.0, char_spans=((0.7, 1.0), (0.4, 0.7), (0.2, 0.4), (0.0, 0.2)), doubt='', is_turned=False)
    """
    order = visual_to_logical(line.text)
    text = "".join(mirror_brackets([line.text[index] for index in order]))
    spans: CharSpans | None = None
    if line.char_spans is not None:
        spans = tuple(line.char_spans[index] for index in order)
    return replace(line, text=text, char_spans=spans)
