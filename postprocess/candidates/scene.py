"""What a grid has to explain: the words and the rulings of a picture, or of a part of it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import shapely
from numpy.typing import NDArray

from postprocess.arrays import Flags, Floats, Image, Ints
from postprocess.geometry.boxes import inner_quads, quads_to_boxes, quads_to_polygons
from postprocess.geometry.rulings import Rulings, image_to_rulings
from postprocess.lineless.regions import words_inside
from postprocess.text.numbers import is_number, text_to_form
from postprocess.text.tilt import LEAST_LINES, text_perspective, text_tilt
from postprocess.text.tokens import Tokens, words_to_tokens
from postprocess.word import Word, Words

_LEVEL = 0.5
"""Degrees up to which text counts as level: words beside each other are not always set at one height."""
_STRUCK = 0.2
"""A line that is closer to the middle of a word than this share of its height runs through it."""


class Scene:
    """The words of a part of a picture, and the rulings of the whole; what is derived from them is made once.

    Args:
        words: With finite corners.
        rulings: Of the picture, with its upright frame.
        tilt: How far the lines of text of the picture are turned clockwise, in degrees; 0 where they do not tell.
    """

    def __init__(self, words: Iterable[Word], rulings: Rulings, tilt: float = 0.0) -> None:
        self.words = Words.of(words)
        self.rulings = rulings
        self.tilt = tilt

    def inside(self, quads: Floats) -> Scene:
        """The scene of the words whose middle lies in the hull of ``(N, 4, 2)`` cells; this one where all do."""
        words = words_inside(self.words, quads)
        return self if len(words) == len(self.words) else Scene(words, self.rulings, self.tilt)

    def without(self, taken: set[int]) -> Scene:
        """The scene without the words of some ``id``; this one where it has none of them."""
        words = [word for word in self.words if id(word) not in taken]
        return self if len(words) == len(self.words) else Scene(words, self.rulings, self.tilt)

    @cached_property
    def ids(self) -> set[int]:
        """``id`` of each word."""
        return set(map(id, self.words))

    @cached_property
    def tokens(self) -> Tokens:
        """The words, cut at wide gaps, in lines of text."""
        return words_to_tokens(self.words, self.rulings)

    @cached_property
    def token_middles(self) -> Floats:
        """``(T, 2)`` middles of the tokens, in pixels."""
        boxes = self.tokens.boxes_xyxy
        return self.rulings.to_picture((boxes[:, :2] + boxes[:, 2:]) / 2)

    @cached_property
    def numeric(self) -> Flags:
        """``(T,)`` which tokens are numbers."""
        return np.array([is_number(text) for text in self.tokens.texts], bool)

    @cached_property
    def forms(self) -> Ints:
        """``(T,)`` number of the form of each token that has digits and letters, equal ones have one; -1 of others."""
        known: dict[str, int] = {}
        forms = map(text_to_form, self.tokens.texts)
        return np.array([known.setdefault(form, len(known)) if form else -1 for form in forms], np.int64)

    @cached_property
    def boxes(self) -> Floats:
        """``(W, 4)`` words in the upright frame."""
        return quads_to_boxes(self.rulings.to_upright(self.words.quads))

    @cached_property
    def heights(self) -> tuple[Floats, Floats]:
        """``(W,)`` middle and height of each word in the upright frame."""
        low, high = self.boxes[:, 1], self.boxes[:, 3]
        return (low + high) / 2, high - low

    @cached_property
    def rules(self) -> Floats:
        """``(S, 4)`` horizontal rulings in the upright frame, without those that run through a word: its strokes."""
        rulings, (middle, height) = self.rulings.horizontal, self.heights
        half = _STRUCK * height
        cores = shapely.box(self.boxes[:, 0], middle - half, self.boxes[:, 2], middle + half)
        y = (rulings[:, 1] + rulings[:, 3]) / 2
        lines = shapely.linestrings(np.stack([rulings[:, [0, 2]], np.stack([y, y], axis=1)], axis=2))
        line, word = shapely.STRtree(cores).query(lines, predicate="intersects")
        shared = np.minimum(rulings[line, 2], self.boxes[word, 2]) - np.maximum(rulings[line, 0], self.boxes[word, 0])
        return np.asarray(np.delete(rulings, line[shared > self.rulings.text_height], axis=0))

    @cached_property
    def inner_quads(self) -> Floats:
        """``(W, 4, 2)`` corners of the inner part of each word."""
        return inner_quads(self.words.quads, 0.6)

    @cached_property
    def inner_polygons(self) -> NDArray[np.object_]:
        """``(W,)`` the same as polygons."""
        return quads_to_polygons(self.inner_quads)

    @cached_property
    def ruling_points(self) -> Floats:
        """``(P, 2)`` points along the middle of all rulings, one for each text height of length, in pixels."""
        ends = [self.rulings.horizontal.copy(), self.rulings.vertical.copy()]
        for axis, boxes in zip((1, 0), ends, strict=True):
            boxes[:, axis] = boxes[:, axis + 2] = (boxes[:, axis] + boxes[:, axis + 2]) / 2
        lines = self.rulings.to_picture(np.vstack(ends).reshape(-1, 2, 2))
        length = np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1)
        count = np.maximum(np.ceil(length / self.rulings.text_height), 1).astype(np.int64)
        line = np.repeat(np.arange(len(lines)), count)
        place = np.arange(len(line)) - np.repeat(np.cumsum(count) - count, count)
        share = ((place + 0.5) / count[line])[:, None]
        return np.asarray(lines[line, 0] * (1 - share) + lines[line, 1] * share, np.float64)


def image_to_scene(image: Image, words: Iterable[Word]) -> Scene:
    """All words and rulings of a picture.

    Args:
        image: ``(H, W, 3)`` uint8 BGR.
        words: With finite corners.
    """
    known = Words.of(words)
    tilt = text_tilt(known.quads, LEAST_LINES)
    center = (image.shape[1] / 2, image.shape[0] / 2)
    perspective = None if tilt is None else text_perspective(known.quads, tilt, center)
    degrees = tilt if tilt is not None and (abs(tilt) > _LEVEL or perspective is not None) else 0.0
    return Scene(known, image_to_rulings(image, known.quads, (degrees, perspective)), tilt or 0.0)
