"""Print under a seal: read in a second picture as well, and the marks in its numbers settled by those beside the seal.

Where ink lies on print, one way to part them loses a thin stroke that another keeps. The second picture is the channel
in which the ink is palest, or for coloured print, which may be as pale there, the next one. It loses no print, but
leaves the darkest ink, so that neither alone reads best (``python -m tests.benchmarks.seals.numbers --causes``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from postprocess.geometry.boxes import boxes_to_quads, quads_to_boxes
from postprocess.values.conventions import ENGLISH, Convention, digits_by_convention
from postprocess.values.numbers import text_to_numbers
from postprocess.word import UNREAD, Word, Words
from tablerec.inputs.seals.find import enlargement, near_paper

if TYPE_CHECKING:
    from postprocess.arrays import Floats, Image
    from tablerec.inputs.seals import Found
    from tablerec.inputs.seals.inks import Parted
    from tablerec.ocr import OcrEngine

_INK = 200
"""Brightness of a seal on white, below which there is ink."""
_LEAST_INKED = 0.01
"""Share of a word's box from which it is under a seal."""
_AROUND = 0.2
"""Ground around a line, as a share of its height, in which it is read once more."""
_PALER = 0.35
"""How much lighter than the others a character is that is not there, as a share of the light of paper."""
_PALE = 0.5
"""Light of the characters of coloured print in the channel in which the ink is palest, at least."""
_SURE, _LONG = 0.95, 3
"""Score and length of a number that is believed in a cell that is empty without the seal, at least."""
_SPOKEN = 2
"""Numbers beside the seal that say which mark stands before decimals, at least."""
_CONVENTIONS = (ENGLISH, Convention(",", "."))
_MARKED = re.compile(r"(\D*)(\d+(?:[.,]\d+)+)(\D*)")


def read_under(words: Sequence[Word], cleaned: Image, seals: Sequence[Found], ocr: OcrEngine) -> list[Word]:
    """Read what is under seals once more, and settle the points and commas in its numbers.

    Args:
        words: As they were read in ``cleaned``.
        cleaned: The picture without the seals.
        seals: What ``without_seals`` found.
        ocr: Reads lines.

    Returns:
        The words in their order; those beside the seals as they are.
    """
    are_under = _are_under(quads_to_boxes(Words(words).quads) if words else np.zeros((0, 4)), seals)
    if not any(are_under):
        return list(words)
    palest, paler = _in_channels(cleaned, seals)
    style = Style.of(word.text for word, is_under in zip(words, are_under, strict=True) if not is_under)
    read = list(words)
    for index in np.flatnonzero(are_under).tolist():
        word = read[index]
        image = paler if np.median(_lights(word, palest)) > _PALE else palest
        again = ocr.read_quads(image, _with_ground(word))
        word = choose(word, max(again, key=lambda each: len(each.text)), image) if again else word
        read[index] = replace(word, text=style.settle(word.text)) if style is not None else word
    return read


def read_empty(
    quads: Floats, seen: Sequence[Word], cleaned: Image, seals: Sequence[Found], ocr: OcrEngine
) -> list[Word]:
    """Read numbers in the colour of a seal, which goes with it, in cells under it that are empty without it.

    Args:
        quads: ``(N, 4, 2)`` around the text of cells.
        seen: What was read in them in ``cleaned``.
        cleaned: The picture without the seals.
        seals: What ``without_seals`` found.
        ocr: Reads lines.

    Returns:
        The numbers.
    """
    boxes = quads_to_boxes(quads) if len(quads) else np.zeros((0, 4))
    middles = Words(seen).middles.reshape(-1, 1, 2)
    is_free = ~((boxes[:, :2] < middles) & (middles < boxes[:, 2:])).all(axis=2).any(axis=0)
    under = is_free & np.array(_are_under(boxes, seals), bool)
    if not under.any():
        return []
    _, paler = _in_channels(cleaned, seals)
    words = ocr.read_quads(paler, quads[under])
    return [word for word in words if word.score >= _SURE and len(word.text) >= _LONG and text_to_numbers(word.text)]


def _in_channels(cleaned: Image, seals: Sequence[Found]) -> tuple[Image, Image]:
    """A picture on white with what its channels show in place of the seals."""
    import cv2

    palest = np.asarray(
        cv2.divide(cleaned, np.maximum(near_paper(cleaned, enlargement(cleaned)), 1), scale=255), np.uint8
    )
    paler = palest.copy()
    for _, parted in seals:
        x0, y0, x1, y1 = parted.box_xyxy
        palest[y0:y1, x0:x1], paler[y0:y1, x0:x1] = parted.palest, parted.paler
    return palest, paler


def choose(first: Word, second: Word, image: Image) -> Word:
    """The more likely of two readings of a line.

    Parting loses strokes more often than it adds a character, so a reading that holds the other is believed, unless
    what it has more is not there in the picture of the other.

    Args:
        first: Without the seal.
        second: In a channel in which the ink is pale.
        image: That channel.

    >>> box, blank = ((0, 0), (9, 0), (9, 5), (0, 5)), np.full((5, 9, 3), 255, np.uint8)
    >>> choose(Word("30.31", box, 0.99), Word("-30.31", box, 0.98), blank).text
    '-30.31'
    >>> choose(Word("3,622", box, 0.98), Word("il", box, 0.71), blank).text
    '3,622'
    >>> choose(Word("369]", box, 0.98), Word("369", box, 0.95), blank).text
    '369'
    """
    if UNREAD in second.text or first.text.replace(",", ".") == second.text.replace(",", "."):
        return first
    is_number = [bool(text_to_numbers(word.text)) for word in (first, second)]
    if UNREAD in first.text or is_number[0] != is_number[1]:
        return first if is_number[0] else second
    if (more := _more(first.text, second.text)) is not None:
        return first if _is_there(first, more, image) else second
    if _more(second.text, first.text) is not None:
        return second
    return max(first, second, key=lambda word: word.score)


def _more(text: str, other: str) -> list[int] | None:
    """Which characters a text has besides those of another, which are in it in their order; None where they are not."""
    more, rest = [], other
    for index, char in enumerate(text):
        if rest and char == rest[0]:
            rest = rest[1:]
        else:
            more.append(index)
    return None if rest else more


def _is_there(word: Word, more: Sequence[int], image: Image) -> bool:
    """Whether a picture shows some characters of a word about as dark as the others."""
    light = _lights(word, image)
    is_more = np.isin(np.arange(len(light)), more)
    return not is_more.any() or bool(light[is_more].max() < np.median(light[~is_more]) + _PALER)


def _lights(word: Word, image: Image) -> Floats:
    """For each character the light of its darkest pixel, as a share of that around it."""
    return np.array([_least_light(word.part(index, index + 1), image) for index in range(len(word.text))])


def _least_light(word: Word, image: Image) -> float:
    [[x0, y0, x1, y1]] = np.maximum(quads_to_boxes(np.array([word.quad], np.float64)).round().astype(int), 0).tolist()
    edge = (y1 - y0) // 8
    place, around = image[y0 + edge : y1 - edge + 1, x0 : x1 + 1], image[y0 : y1 + 1, x0 : x1 + 1]
    return float(place.min() / max(1.0, float(np.median(around)))) if place.size else 1.0


def _are_under(boxes_xyxy: Floats, seals: Iterable[Found]) -> list[bool]:
    boxes = np.round(boxes_xyxy).astype(int).tolist()
    return [any(_is_inked(box, parted) for _, parted in seals) for box in boxes]


def _is_inked(box_xyxy: Sequence[int], parted: Parted) -> bool:
    left, top, right, bottom = parted.box_xyxy
    x0, y0 = max(box_xyxy[0], left), max(box_xyxy[1], top)
    x1, y1 = min(box_xyxy[2], right), min(box_xyxy[3], bottom)
    if x0 >= x1 or y0 >= y1:
        return False
    inked = parted.seal[y0 - top : y1 - top, x0 - left : x1 - left, 0] < _INK
    area = (box_xyxy[2] - box_xyxy[0]) * (box_xyxy[3] - box_xyxy[1])
    return bool(np.count_nonzero(inked) >= _LEAST_INKED * area)


def _with_ground(word: Word) -> Floats:
    """``(1, 4, 2)`` corners around a line."""
    [[x0, y0, x1, y1]] = quads_to_boxes(np.array([word.quad], np.float64)).tolist()
    ground = _AROUND * (y1 - y0)
    return boxes_to_quads(np.array([[x0 - ground, y0 - ground, x1 + ground, y1 + ground]]))


class Style(NamedTuple):
    """How the numbers of a page are written.

    Args:
        convention: Which mark stands before decimals and which between groups.
        n_decimals: How many decimals its numbers have.
    """

    convention: Convention
    n_decimals: frozenset[int]

    @staticmethod
    def of(texts: Iterable[str]) -> Style | None:
        """What texts say of it; None where too few do, or not all the same.

        >>> Style.of(["1,234.50", "0.25", "Total"])
        Style(convention=Convention(decimal='.', group=',', is_indian=False), n_decimals=frozenset({2}))
        >>> Style.of(["1,234.50", "1.234,50"]), Style.of([])
        (None, None)
        """
        said: Counter[Convention] = Counter()
        n_decimals: dict[Convention, set[int]] = {each: set() for each in _CONVENTIONS}
        for text in texts:
            for number in text_to_numbers(text):
                known = [each for each in _CONVENTIONS if number.values.get(each) is not None]
                if len(known) == 1:
                    said.update(known)
                for each in known if set(number.core) & {".", ","} else ():
                    n_decimals[each].add(len((digits_by_convention(number.core)[each] or "").partition(".")[2]))
        convention, count = max(said.items(), key=lambda each: each[1], default=(ENGLISH, 0))
        if count < _SPOKEN or len(said) > 1:
            return None
        return Style(convention, frozenset(n_decimals[convention] - {0}))

    def settle(self, text: str) -> str:
        """Write the marks of a number as the page does, where its digits leave one way.

        Three digits behind the last mark are decimals only where others on the page are: else they are a group.

        >>> style = Style(ENGLISH, frozenset({2}))
        >>> [style.settle(text) for text in ("2.361.22", "42,298,34", "-4.070", "16,3%", "27.04.2026", "12.25")]
        ['2,361.22', '42,298.34', '-4,070', '16.3%', '27.04.2026', '12.25']
        """
        match = _MARKED.fullmatch(text)
        if match is None:
            return text
        head, core, tail = match.groups()
        *groups, last = re.split("[.,]", core)
        whole = self.convention.group.join(groups)
        is_group = len(last) == 3 and 3 not in self.n_decimals
        settled = f"{whole}{self.convention.group if is_group else self.convention.decimal}{last}"
        is_number = digits_by_convention(settled).get(self.convention) and text_to_numbers(f"{head}{settled}{tail}")
        return f"{head}{settled}{tail}" if is_number else text
