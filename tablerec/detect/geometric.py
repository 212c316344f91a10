"""Detectors without weights: ruling lines, words and white gaps, or whichever explains the picture better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from postprocess.word import Word

if TYPE_CHECKING:
    from postprocess.arrays import Image
    from postprocess.candidates.candidate import Candidate
    from postprocess.candidates.scene import Scene

_CLOSED = 0.9
"""Rulings that enclose their cells this well, on a scale from 0 to 1, leave little doubt."""
_EXPLAINED = {True: 0.65, False: 0.8}
"""Closed and open rulings that explain this share of the text are taken without looking at the gaps."""
_CLEARLY = {True: 0.1, False: 0.0}
"""Gaps replace closed and open rulings where they explain at least this much more of the text: two numbers in each cell
of a column do not make two columns of it, where every border is ruled."""
_RULED = 0.3
"""Rulings of a table enclose at least this much of their cells."""
_CUT = 0.3
"""Rulings of a table cut a smaller share of the words across."""


class GeometricDetector:
    """The detectors ``rulings``, ``words`` and ``auto``.

    Args:
        name: ``rulings`` reads the ruling lines only, ``words`` the text and its
            gaps with the lines as hints, ``auto`` takes for each table the one
            that explains more of the text.
        layout: ``page`` or ``table``, see ``Settings``.
    """

    def __init__(self, name: str, layout: str = "page") -> None:
        self.name = name
        self.layout = layout

    def detect(self, image: Image, words: Sequence[Word]) -> list[Candidate]:
        """See ``CellDetector``."""
        from postprocess.candidates.scene import image_to_scene

        return self.detect_in(image_to_scene(image, words))

    def detect_in(self, picture: Scene) -> list[Candidate]:
        """Find tables where the rulings of the picture are known.

        Args:
            picture: All words and rulings of the picture.
        """
        from postprocess.candidates.candidate import area_to_candidate
        from postprocess.candidates.heads import settle
        from postprocess.geometry.lattice import rulings_to_areas

        if self.name == "words":
            return [settle(each) for each in self._from_words(picture, picture)]
        areas = rulings_to_areas(picture.rulings, whole=self.layout == "table")
        ruled = [area_to_candidate(area, picture) for area in areas]
        if self.layout == "page":
            ruled = _without_frames([each for each in ruled if _is_plausible(each, picture)])
        if self.name == "rulings":
            return ruled
        return [settle(each) for each in self._best(ruled, picture)]

    def _from_words(self, scene: Scene, picture: Scene) -> list[Candidate]:
        from postprocess.candidates.scene import Scene
        from postprocess.lineless.regions import words_to_regions

        if self.layout == "table":
            return _lineless(scene, picture)
        regions = words_to_regions(scene.words, scene.rulings)
        return [each for words in regions for each in _lineless(Scene(words, scene.rulings), picture)]

    def _best(self, ruled: list[Candidate], picture: Scene) -> list[Candidate]:
        from postprocess.candidates.evidence import explained_share

        chosen = []
        rest, taken = picture, set[int]()
        for choice in ruled:
            assert choice.scene is not None
            inside = rest if self.layout == "table" else choice.scene.without(taken)
            closed = len(choice.scores) > 1 and float(choice.scores.mean()) > _CLOSED
            share = explained_share(choice.layout, inside, numbers_only=closed)
            if share < _EXPLAINED[closed]:
                least = share + _CLEARLY[closed]
                better = [
                    each
                    for each in _lineless(inside, picture)
                    if explained_share(each.layout, inside, numbers_only=closed) > least
                ]
                choice = better[0] if better else choice
            chosen.append(choice)
            taken |= inside.ids
            rest = picture.without(taken)
        return sorted(chosen + self._from_words(rest, picture), key=lambda each: each.top)


def _is_plausible(ruled: Candidate, picture: Scene) -> bool:
    """Whether a ruled area may be a table: not the frame of a chart, not the bars in it.

    A single cell is a table only where it holds most of the text of the picture.
    """
    from postprocess.candidates.evidence import cut_share

    assert ruled.scene is not None
    n_cells, n_words, closed = len(ruled.scores), len(ruled.scene.words), float(ruled.scores.mean())
    if n_cells == 1 and 2 * n_words > len(picture.words):
        return True
    grid = n_cells > 3 or (n_cells > 1 and closed > _CLOSED)
    filled = bool(n_words) or not picture.words
    return grid and filled and closed > _RULED and cut_share(ruled.layout, ruled.scene) < _CUT


def _without_frames(ruled: list[Candidate]) -> list[Candidate]:
    """The ruled areas but for single cells around others, such as the edge of a page on a desk."""
    boxes = [np.concatenate([each.quads.min(axis=(0, 1)), -each.quads.max(axis=(0, 1))]) for each in ruled]
    return [
        each
        for each, box in zip(ruled, boxes, strict=True)
        if len(each.scores) > 1 or not any((box < other).all() for other in boxes)
    ]


def _lineless(scene: Scene, picture: Scene) -> list[Candidate]:
    """The table that the words of a scene are, if they are any."""
    from postprocess.candidates.candidate import area_to_candidate
    from postprocess.lineless.gaps import words_to_area

    area = words_to_area(scene.words, scene.rulings)
    return [] if area is None else [area_to_candidate(area, picture)]
