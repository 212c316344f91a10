"""Grids and scenes for tests of candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from postprocess.candidates.candidate import Candidate, Origin, quads_to_candidate
from postprocess.candidates.scene import Scene
from postprocess.geometry.boxes import as_boxes, boxes_to_quads
from postprocess.geometry.rulings import Rulings
from postprocess.grid.layout import Layout
from postprocess.word import Word
from tests.helpers.layouts import make_word

WORDS = [make_word(text, 10 + 100 * col, 5 + 20 * row) for row in range(3) for col, text in enumerate(["Sales", "12"])]


def slots(xs: Sequence[float], ys: Sequence[float]) -> list[list[float]]:
    """Boxes between lines."""
    return [[xs[c], ys[r], xs[c + 1], ys[r + 1]] for r in range(len(ys) - 1) for c in range(len(xs) - 1)]


RIGHT = slots([0, 100, 200], [0, 20, 40, 60])
"""The cells of WORDS."""


def make_scene(words: Iterable[Word] = (), *horizontal: Sequence[float], degrees: float = 0.0) -> Scene:
    """Words and horizontal rulings in a picture with text 10 pixels high."""
    return Scene(words, Rulings(as_boxes(list(horizontal)), as_boxes([]), degrees, (0.0, 0.0), 10.0))


def layout_of(boxes: object) -> Layout:
    """The grid of some boxes."""
    return quads_to_candidate(boxes_to_quads(as_boxes(boxes))).layout


def candidate_of(boxes: object, detector: str = "cellnet", score: float = 0.9) -> Candidate:
    """The candidate of some boxes, from what the detector's name says."""
    quads = boxes_to_quads(as_boxes(boxes))
    origins: dict[str, Origin] = {"rulings": "ruled", "words": "text"}
    return quads_to_candidate(quads, np.full(len(quads), score), detector, origins.get(detector, "network"))
