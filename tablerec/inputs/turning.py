"""Pictures that lie on their side or upside down: told by their text, turned upright, and the results turned back.

Turns are degrees clockwise: by 90, what runs upwards in the picture as given runs from left to right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Image
from postprocess.geometry.boxes import quads_to_array
from postprocess.table import Move
from postprocess.word import Word
from tablerec.result import Page, PageImage, move_page, move_picture

if TYPE_CHECKING:
    from tablerec.ocr import OcrEngine
    from tablerec.paddlex_support import LazyModel

ORIENTATION = "PP-LCNet_x1_0_doc_ori"
"""PaddleX's classifier of orientations."""
TURNS = (0, 90, 180, 270)
"""What stands text upright that runs to the right, upwards, to the left (upside down) and downwards."""

_LONG = 1.5
"""Lines at least this many times as long as high show how text runs ..."""
_LEAST_CHARACTERS = 3
"""... if they have this many characters: a narrow digit is higher than wide in any picture."""
_LEAST_LINES = 3
"""Fewer lines turn no picture."""
_MOST = 0.75
"""Share of the text that runs the same way in a turned picture; headers turned to save width stay far below it."""
_CLEAR = 0.9
"""Mean score of text that is certainly upright: upside down it is 0.8 at most, upright rarely less than this."""
_SAMPLE = 16
"""Lines that are read a second time to tell whether text is upside down."""
_GROUND = 0.15
"""Ground around them, as a share of their height."""
_BETTER = 0.05
"""How much better they then score, at least."""


def choose_turn(image: Image, words: Sequence[Word], ocr: OcrEngine | None) -> int | None:
    """Say how a picture has to be turned so that its text is upright.

    Quarter turns show in the words themselves, whose corners are in reading direction. Text upside down is read as
    if it were upright, but badly: where the scores are low, the longest lines are read once more the other way round.

    Args:
        image: ``(height, width, 3)`` uint8, BGR.
        words: What is written in it.
        ocr: Who read the words; None where they are not read but known.

    Returns:
        Degrees clockwise; 0 where there is too little text to tell, None where no direction prevails.

    >>> up = [Word("total", ((8 + x, 60), (8 + x, 20), (18 + x, 20), (18 + x, 60))) for x in (0, 20, 40)]
    >>> choose_turn(np.zeros((80, 80, 3), np.uint8), up, None)
    90
    >>> choose_turn(np.zeros((80, 80, 3), np.uint8), [], None)
    0
    """
    lines = _long_lines(words)
    if len(lines) < _LEAST_LINES:
        return 0
    corners = quads_to_array([word.quad for word in lines])
    along = (corners[:, 1] + corners[:, 2] - corners[:, 0] - corners[:, 3]) / 2
    # To the right, downwards, to the left, upwards: TURNS the other way round.
    towards = np.argmax(np.concatenate([along, -along], axis=1), axis=1)
    weights = [len(word.text) * max(word.score, 0.0) for word in lines]
    share = np.bincount(towards, weights, 4) / max(sum(weights), 1e-9)
    prevailing = int(share.argmax())
    if prevailing and share[prevailing] < _MOST:
        return None
    if not prevailing and ocr is not None and _reads_better_upside_down(image, lines, ocr):
        return 180
    return TURNS[-prevailing % 4]


def ask_for_turn(image: Image, classifier: LazyModel) -> int:
    """Ask PaddleX's classifier of orientations how a picture has to be turned, degrees clockwise.

    Args:
        image: ``(height, width, 3)`` uint8, BGR.
        classifier: The model ``ORIENTATION``, whose labels are degrees counterclockwise.
    """
    return -int(classifier.predict(image)["label_names"][0]) % 360 if image.size else 0


def _long_lines(words: Sequence[Word]) -> list[Word]:
    """Words from which the direction of text can be seen."""
    corners = quads_to_array([word.quad for word in words])
    length = np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)
    height = np.linalg.norm(corners[:, 3] - corners[:, 0], axis=1)
    scores = np.array([word.score for word in words])
    long = (length > _LONG * height) & np.isfinite(length + height) & np.isfinite(scores)
    return [word for word, ok in zip(words, long, strict=True) if ok and len(word.text) >= _LEAST_CHARACTERS]


def _reads_better_upside_down(image: Image, lines: Sequence[Word], ocr: OcrEngine) -> bool:
    if np.average([word.score for word in lines], weights=[len(word.text) for word in lines]) >= _CLEAR:
        return False
    sample = sorted(lines, key=lambda word: -len(word.text))[:_SAMPLE]
    turned = ocr.read_quads(image, np.roll(grown(quads_to_array([word.quad for word in sample])), 2, axis=1))
    # An OCR engine that sees upside down text itself turns it back.
    upside_down = [word for word in turned if word.quad[1][0] < word.quad[0][0]]
    before, after = (sum(word.score for word in read) / len(sample) for read in (sample, upside_down))
    return after > before + _BETTER


def grown(quads: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quads with the ground around their text that a second pass wants, on whole pixels: between them print blurs."""
    down = _GROUND * (quads[:, 3] - quads[:, 0])
    along = np.stack([down[:, 1], -down[:, 0]], axis=1)
    return np.round(quads + np.stack([-along - down, along - down, along + down, down - along], axis=1))


def turn_image(image: Image, turn: int) -> Image:
    """Turn a picture.

    Args:
        image: ``(height, width, 3)``.
        turn: Degrees clockwise, a multiple of 90.

    >>> turn_image(np.zeros((30, 50, 3), np.uint8), 90).shape
    (50, 30, 3)
    """
    return np.ascontiguousarray(np.rot90(image, -turn // 90))


def turned_size(image: Image, turn: int) -> tuple[int, int]:
    """Width and height of a picture once it is turned so many degrees, a multiple of 90."""
    height, width = image.shape[:2]
    return (height, width) if turn % 180 else (width, height)


def turn_points(points: NDArray[np.float64], turn: int, size_wh: tuple[int, int]) -> NDArray[np.float64]:
    """Take points of a picture to their places in the turned picture.

    Args:
        points: ``(..., 2)`` x and y in pixels, from the corner of the picture.
        turn: Degrees clockwise, a multiple of 90.
        size_wh: Width and height of the picture before it is turned.

    >>> turn_points(np.array([[50.0, 0.0], [0.0, 30.0]]), 90, (50, 30)).tolist()
    [[30.0, 50.0], [0.0, 0.0]]
    """
    (x, y), (width, height) = np.moveaxis(points, -1, 0), size_wh
    turned = {0: (x, y), 90: (height - y, x), 180: (width - x, height - y), 270: (y, width - x)}
    return np.stack(turned[turn % 360], axis=-1)


def turn_picture(picture: PageImage, turn: int) -> PageImage:
    """Turn a picture, with the words that are known of it, so many degrees clockwise."""
    if not turn:
        return picture
    return move_picture(picture, turn_image(picture.image, turn), _turning(turn, picture))


def turn_page_back(page: Page, picture: PageImage, turn: int) -> Page:
    """Say of a turned picture's tables and words where they are in the picture as given.

    Args:
        page: What was found in the turned picture.
        picture: The picture as given.
        turn: Degrees clockwise by which it was turned.

    Returns:
        The page with all corners in pixels of the picture as given, still in reading direction: TL of a table
        that lies on its side is where its first cell is.
    """
    return replace(move_page(page, picture, _turning(-turn, page.picture)), turn=turn)


def _turning(turn: int, picture: PageImage) -> Move:
    height, width = picture.image.shape[:2]
    return partial(turn_points, turn=turn, size_wh=(width, height))
