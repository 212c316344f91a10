"""The text layer of a PDF page against its picture: what the page says is believed as far as it shows it.

``inputs.pdf`` has found out which words are seen. Here an OCR engine reads what can only be judged by reading: a few
words of a font whose glyphs have not the shape of their characters; words with characters that have no
meaning; and pictures and outlines between the words. Of a page without words that are seen all is read, and a hidden
layer, such as that of a searchable scan, is no more than a second reading.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import numpy as np

from postprocess.arrays import Floats
from postprocess.geometry.boxes import quads_to_array, quads_to_boxes
from postprocess.text.lines import words_to_text
from postprocess.word import UNREAD, Unplaced, Word
from tablerec.inputs.turning import grown
from tablerec.result import PageImage, TextLayer, move_word

if TYPE_CHECKING:
    from postprocess.arrays import Image
    from tablerec.ocr import OcrEngine

LEAST_HEIGHT = 12.0
"""Pixels; smaller print is no evidence against a font."""
SAMPLE = 10
"""Words of a font that are read."""
ALIKE = 0.5
"""Share of its characters that the words of a font have in common with their picture, at least."""
SWAPS = 2
"""So often a character of another shape is read as the same other one where a font lies."""
LEAST_READ = 0.8
"""Score of a reading that speaks against a word."""
AGREES = 0.9
"""Share of the words of a hidden layer that are the same in the picture where it is a second reading."""
UNREADABLE = "cannot be read in the picture"
SECOND_HAND = "it is that of the hidden text layer"
"""The doubt of such a word."""
EDGES = 0.002
"""Share of steep edges from which a picture may hold text."""
STEEP = 40
"""Grey levels from one pixel to the next."""

_LOOKALIKES = str.maketrans("0o1il|5s8b2z", "oolllls5bbzz".replace("5", "s"))

_logger = logging.getLogger(__name__)


def trust_layer(picture: PageImage, ocr: OcrEngine) -> PageImage:
    """Compare the words of a page with what its picture shows.

    Args:
        picture: A page of a PDF, or any other picture, which is returned as it is.
        ocr: Reads words and pictures.

    Returns:
        The page with words that can be trusted, or without words where it has to be read.
    """
    layer = picture.layer
    if layer is None or picture.words is None:
        return picture
    lying = _find_lying_font(picture, layer, ocr)
    if lying is not None:
        said, read = lying
        _warn(picture, f"the text layer says {said!r} where the picture shows {read!r}: it is not used")
        return replace(picture, words=None)
    words = _read_unmapped(picture, ocr)
    more = _read_rest(layer, words, ocr)
    return replace(picture, words=(*words, *more), layer=replace(layer, fonts=(), doubtful_fonts={}))


def compare_hidden(picture: PageImage, words: Sequence[Word]) -> list[Word]:
    """Compare what was read in a picture with its hidden text layer.

    Args:
        picture: A page without words that are seen.
        words: What an OCR engine has read.

    Returns:
        The words; where the layer agrees in general, those whose digits differ have a doubt, and those that could
        not be read have the text of the layer, and a doubt.
    """
    hidden = [item.word for item in picture.layer.hidden] if picture.layer is not None else []
    if picture.words is not None or not hidden or not words:
        return list(words)
    pairs = _pair_up(words, hidden)
    same = [
        _plain(_joined(partners)) == _plain(words[index].text)
        for index, partners in pairs.items()
        if UNREAD not in words[index].text
    ]
    if not pairs or (same and np.mean(same) < AGREES):
        _warn(picture, "the hidden text layer is not what the picture shows, and was not used")
        return list(words)
    return [_doubted(word, pairs.get(index)) for index, word in enumerate(words)]


def hidden_words(picture: PageImage) -> list[Unplaced]:
    """Words that a page has and does not show, if it shows others; of a scan the picture alone is read."""
    if picture.layer is None or picture.words is None:
        return []
    return list(picture.layer.hidden)


def _warn(picture: PageImage, message: str) -> None:
    from tablerec.inputs.images import display_name

    _logger.warning("%s: page %d: %s", display_name(picture.source), picture.number, message)


# Fonts


def _find_lying_font(picture: PageImage, layer: TextLayer, ocr: OcrEngine) -> tuple[str, str] | None:
    """A word of a font whose characters are not those that are drawn, and what is read there."""
    by_font: dict[int, list[Word]] = defaultdict(list)
    for word, font in zip(picture.words or (), layer.fonts, strict=False):
        if _can_be_read(word):
            by_font[font].append(word)
    for font, words in by_font.items():
        doubtful = layer.doubtful_fonts.get(font, "") + _letters_in_numbers(words)
        if not doubtful:
            continue
        words.sort(key=lambda word: _value_of_sample(word, doubtful), reverse=True)
        texts = [(said.text, read) for said, read in _read_each(picture.image, words[:SAMPLE], ocr)]
        if _likeness(texts) < ALIKE or _has_swap(texts, doubtful):
            return min((pair for pair in texts if pair[0] != pair[1]), key=lambda pair: _likeness([pair]))
    return None


def _letters_in_numbers(words: Iterable[Word]) -> str:
    """Letters that look like digits and stand between such: they may be digits to which a font gives another name."""
    found = Counter(char for word in words for char in _STRANGE.findall(word.text))
    return "".join(char for char, count in found.items() if count >= SWAPS)


_STRANGE = re.compile(r"(?<=[0-9.,])[OolISbBZ](?![A-Za-z])|(?<![A-Za-z])[OolISbBZ](?=[0-9.,])")


def _can_be_read(word: Word) -> bool:
    """Whether all engines know its characters, and it is large enough."""
    (_, y0), _, (_, y2), _ = word.quad
    plain = word.text.replace(" ", "")
    return plain.isascii() and sum(map(str.isalnum, plain)) >= 2 and abs(y2 - y0) >= LEAST_HEIGHT


def _value_of_sample(word: Word, doubtful: str) -> tuple[bool, int]:
    return len(word.text) <= 30, len(set(word.text) & set(doubtful))


def _read_each(image: Image, words: Iterable[Word], ocr: OcrEngine) -> list[tuple[Word, str]]:
    """What is read at the place of each word, if it is read with confidence."""
    pairs = []
    for word in words:
        read = ocr.read_quads(image, grown(quads_to_array([word.quad])))
        if read and min(each.score for each in read) >= LEAST_READ:
            pairs.append((word, _joined(read)))
    return pairs


def _likeness(pairs: Sequence[tuple[str, str]]) -> float:
    matches = [SequenceMatcher(None, _plain(said), _plain(read), autojunk=False).ratio() for said, read in pairs]
    return float(np.mean(matches)) if matches else 1.0


def _has_swap(pairs: Sequence[tuple[str, str]], doubtful: str) -> bool:
    """Whether a character of another shape is read as the same other one."""
    read_as: dict[str, Counter[str]] = defaultdict(Counter)
    for said, read in pairs:
        a, b = said.replace(" ", ""), read.replace(" ", "")
        for x, y in zip(a, b, strict=False) if len(a) == len(b) else ():
            if x in doubtful:
                read_as[x][y] += 1
    return any(count >= SWAPS for char, seen in read_as.items() for other, count in seen.items() if other != char)


def _digits(text: str) -> str:
    return re.sub("[^0-9]", "", text)


def _plain(text: str) -> str:
    """Letters and digits alone, those that look alike as one."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(filter(str.isalnum, folded)).translate(_LOOKALIKES)


def _joined(words: Iterable[Word]) -> str:
    return words_to_text(words).replace("\n", " ")


# Words without meaning, and what is no word


def _read_unmapped(picture: PageImage, ocr: OcrEngine) -> list[Word]:
    """The words of a page, those with characters of no meaning as they are read in the picture."""
    words = list(picture.words or ())
    for index, word in enumerate(words):
        if UNREAD in word.text:
            read = ocr.read_quads(picture.image, grown(quads_to_array([word.quad])))
            if len(read) == 1 and read[0].text:
                words[index] = replace(read[0], quad=word.quad, char_spans=None)
            else:
                words[index] = replace(word, doubt="has characters that the text layer does not name")
    return words


def _read_rest(layer: TextLayer, words: Sequence[Word], ocr: OcrEngine) -> list[Word]:
    """Words in pictures, in outlines, and in text without characters."""
    areas = np.array([area for area in layer.areas if _may_hold_text(layer.rest, area)]).reshape(-1, 4)
    if not len(areas):
        return []
    x0, y0 = np.floor(areas[:, :2].min(axis=0)).astype(int).tolist()
    x1, y1 = np.ceil(areas[:, 2:].max(axis=0)).astype(int).tolist()
    read = ocr.read(np.ascontiguousarray(layer.rest[y0:y1, x0:x1]))
    on_page = [move_word(word, lambda points: points + np.array([x0, y0])) for word in read]
    return [word for word in on_page if _is_inside(word, areas)]


def _may_hold_text(image: Image, box: Floats) -> bool:
    x0, y0, x1, y1 = (round(float(side)) for side in box)
    grey = image[y0:y1, x0:x1].min(axis=2).astype(np.int16)
    if min(grey.shape, default=0) < 2:
        return False
    return float((np.abs(np.diff(grey, axis=1)) > STEEP).mean()) > EDGES


def _is_inside(word: Word, areas: Floats) -> bool:
    x, y = np.mean(word.quad, axis=0)
    return bool(((areas[:, 0] <= x) & (x <= areas[:, 2]) & (areas[:, 1] <= y) & (y <= areas[:, 3])).any())


# Hidden layers


def _pair_up(words: Sequence[Word], hidden: Sequence[Word]) -> dict[int, list[Word]]:
    """By index of a word that was read the hidden words that lie on it, for the most part."""
    boxes = quads_to_boxes(quads_to_array([word.quad for word in words]))
    pairs: dict[int, list[Word]] = defaultdict(list)
    for word, box in zip(hidden, quads_to_boxes(quads_to_array([word.quad for word in hidden])), strict=True):
        shared = np.clip(np.minimum(boxes[:, 2:], box[2:]) - np.maximum(boxes[:, :2], box[:2]), 0, None).prod(axis=1)
        area = float(np.prod(box[2:] - box[:2]))
        best = int(shared.argmax())
        if area > 0 and shared[best] > 0.5 * area:
            pairs[best].append(word)
    return pairs


def _doubted(word: Word, partners: Sequence[Word] | None) -> Word:
    if partners and UNREAD in word.text:
        return replace(
            word, text=_joined(partners), char_spans=None, doubt=f"{word.doubt or UNREADABLE}; {SECOND_HAND}"
        )
    if not partners or word.doubt or _digits(_joined(partners)) == _digits(word.text):
        return word
    return replace(word, doubt=f"reads {word.text!r} in the picture and {_joined(partners)!r} in the hidden text layer")
