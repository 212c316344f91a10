"""Detectors without weights: ruling lines, words and white gaps, or whichever explains the picture better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from postprocess.words import Word
from tablerec.detect import Detection

if TYPE_CHECKING:
    from postprocess.lattice import RuledArea
    from postprocess.rulings import Rulings
    from tablerec.result import Image

_CLOSED = 0.9
"""Rulings that enclose their cells this well, on a scale from 0 to 1, leave little doubt."""
_DRAWN_WHOLE = 0.95
"""Rulings that enclose their cells this well leave less: their spans stay, and cells may be empty."""
_EXPLAINED = {True: 0.65, False: 0.8}
"""Closed and open rulings that explain this share of the text are taken without looking at the gaps."""
_CLEARLY = {True: 0.1, False: 0.0}
"""Gaps replace closed and open rulings where they explain at least this much more of the text: two numbers in each cell
of a column do not make two columns of it, where every border is drawn."""
_DRAWN = 0.3
"""Rulings of a table enclose at least this much of their cells."""
_CUT = 0.3
"""Rulings of a table cut a smaller share of the words across."""


class GeometricDetector:
    """The detectors ``rulings``, ``words`` and ``auto``.

    Args:
        name: ``rulings`` reads the drawn lines only, ``words`` the text and its
            gaps with the lines as hints, ``auto`` takes for each table the one
            that explains more of the text.
        layout: ``page`` or ``table``, see ``Settings``.
    """

    def __init__(self, name: str, layout: str = "page") -> None:
        self.name = name
        self.layout = layout

    def detect(self, image: Image, words: Sequence[Word]) -> list[Detection]:
        """See ``CellDetector``."""
        from postprocess.boxes import quads_to_array
        from postprocess.rulings import image_to_rulings

        return self.detect_along(image_to_rulings(image, quads_to_array([word.quad for word in words])), words)

    def detect_along(self, rulings: Rulings, words: Sequence[Word]) -> list[Detection]:
        """Find tables where the rulings of the picture are known.

        Args:
            rulings: Of the whole picture.
            words: What the reader found.
        """
        from postprocess.lattice import rulings_to_areas

        if self.name == "words":
            return [settle_detection(each, words, rulings) for each in self._from_words(rulings, words)]
        areas = rulings_to_areas(rulings, whole=self.layout == "table")
        if self.layout == "page":
            areas = _plausible(areas, words)
        if self.name == "rulings":
            return [_ruled(area) for area in areas]
        return [settle_detection(each, words, rulings) for each in self._best(rulings, areas, words)]

    def _from_words(self, rulings: Rulings, words: Sequence[Word]) -> list[Detection]:
        from postprocess.regions import words_to_regions

        if self.layout == "table":
            return _lineless(rulings, words)
        return [found for region in words_to_regions(words, rulings) for found in _lineless(rulings, region)]

    def _best(self, rulings: Rulings, areas: list[RuledArea], words: Sequence[Word]) -> list[Detection]:
        from postprocess.evidence import explained_share
        from postprocess.regions import words_inside

        detections = []
        rest = list(words)
        for area in areas:
            inside = rest if self.layout == "table" else words_inside(rest, area.quads)
            choice = _ruled(area)
            closed = len(area.quads) > 1 and float(area.scores.mean()) > _CLOSED
            drawn = explained_share(area.quads, inside, rulings, numbers_only=closed)
            if drawn < _EXPLAINED[closed]:
                lineless = _lineless(rulings, inside)
                least = drawn + _CLEARLY[closed]
                if lineless and explained_share(lineless[0].quads, inside, rulings, numbers_only=closed) > least:
                    choice = lineless[0]
            detections.append(choice)
            taken = {id(word) for word in inside}
            rest = [word for word in rest if id(word) not in taken]
        return sorted(detections + self._from_words(rulings, rest), key=_top)


def is_closed(detection: Detection) -> bool:
    """Whether all cells of a table are drawn."""
    return detection.detector == "rulings" and len(detection.quads) > 1 and bool(detection.scores.mean() > _DRAWN_WHOLE)


def settle_detection(detection: Detection, words: Sequence[Word], rulings: Rulings) -> Detection:
    """The detection with the spans that words and rulings confirm; cells that are wholly drawn stay as they are."""
    from postprocess.regions import words_inside
    from postprocess.spans import settle_quads

    if is_closed(detection):
        return detection
    own = words_inside(words, detection.quads)
    quads, scores = settle_quads(detection.quads, detection.scores, own, rulings)
    return replace(detection, quads=quads, scores=scores)


def _plausible(areas: list[RuledArea], words: Sequence[Word]) -> list[RuledArea]:
    """Ruled areas that may be tables: not the frame of a chart, not the bars in it.

    A single cell is a table only where it holds most of the text of the picture.
    """
    from postprocess.evidence import cut_share
    from postprocess.regions import words_inside

    kept = []
    for area in areas:
        inside = words_inside(words, area.quads)
        closed = float(area.scores.mean())
        grid = len(area.quads) > 3 or (len(area.quads) > 1 and closed > _CLOSED)
        filled = bool(inside) or not words
        alone = len(area.quads) == 1 and 2 * len(inside) > len(words)
        if alone or (grid and filled and closed > _DRAWN and cut_share(area.quads, inside) < _CUT):
            kept.append(area)
    return kept


def _ruled(area: RuledArea) -> Detection:
    return Detection(area.quads, area.scores, "rulings")


def _lineless(rulings: Rulings, words: Sequence[Word]) -> list[Detection]:
    import numpy as np

    from postprocess.gaps import words_to_quads

    quads = words_to_quads(words, rulings)
    return [Detection(quads, np.full(len(quads), 0.5), "words")] if len(quads) else []


def _top(detection: Detection) -> float:
    return float(detection.quads[..., 1].min())
