"""The network and the geometry side by side: for each table the grid that explains the picture best is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from postprocess.words import Word
from tablerec.detect import Detection

if TYPE_CHECKING:
    from postprocess.rulings import Rulings
    from tablerec.detect.cellnet import CellNetDetector
    from tablerec.detect.geometric import GeometricDetector
    from tablerec.result import Image

_CLOSED = 0.95
"""Drawn lines that enclose their cells this well leave no doubt, whatever the words say: cells may be empty."""
_SAME = 0.5
"""Finds that share more than this of the smaller one are the same table."""


class CombinedDetector:
    """``auto`` where there are weights: CellNet at two scales, and rulings, words and gaps.

    Each of the three finds its tables, a grid is built of each, and where they lie on the same place the one stays
    that ``postprocess.explanation`` gives the best score. Cells that are wholly drawn stay as they are; a table
    that only one of them found stays too.

    Args:
        network: Finds cells by looking.
        geometric: Finds cells from rulings and words.
    """

    name = "auto"

    def __init__(self, network: CellNetDetector, geometric: GeometricDetector) -> None:
        self.network = network
        self.geometric = geometric

    def detect(self, image: Image, words: Sequence[Word]) -> list[Detection]:
        """See ``CellDetector``."""
        from postprocess.boxes import quads_to_array
        from postprocess.rulings import image_to_rulings

        if image.size == 0:
            return []
        rulings = image_to_rulings(image, quads_to_array([word.quad for word in words]))
        drawn = self.geometric.detect_along(rulings, words)
        if self.geometric.layout == "table" and drawn and all(map(_is_closed, drawn)):
            return drawn
        finds = [drawn, *self.network.detect_twice(image, words)]
        chosen = chain.from_iterable(_with_rivals(_best(place, words, rulings), place) for place in _places(finds))
        return sorted(chosen, key=lambda detection: float(detection.quads[..., 1].min()))


def _places(finds: Sequence[Sequence[Detection]]) -> list[list[list[Detection]]]:
    """Group what lies on the same place: for each place the finds of each detector that has some there."""
    flat = [(who, detection) for who, found in enumerate(finds) for detection in found]
    place = list(range(len(flat)))
    for b in range(len(flat)):
        for a in range(b):
            if place[a] != place[b] and _is_same_place(flat[a][1], flat[b][1]):
                old, new = place[b], place[a]
                place = [new if each == old else each for each in place]
    groups: dict[int, dict[int, list[Detection]]] = {}
    for number, (who, detection) in zip(place, flat, strict=True):
        groups.setdefault(number, {}).setdefault(who, []).append(detection)
    return [list(by_detector.values()) for by_detector in groups.values()]


def _best(candidates: list[list[Detection]], words: Sequence[Word], rulings: Rulings) -> list[Detection]:
    """The candidate whose tables explain the words of all candidates best; the first one of equals."""
    import numpy as np

    from postprocess.regions import words_inside

    if len(candidates) == 1 or all(map(_is_closed, candidates[0])):
        return candidates[0]
    everything = np.concatenate([detection.quads for found in candidates for detection in found])
    inside = words_inside(words, everything)
    return max(candidates, key=lambda found: _score(found, inside, rulings))


def _with_rivals(chosen: list[Detection], candidates: list[list[Detection]]) -> list[Detection]:
    """The chosen tables, each with those of the other candidates that lie on it."""
    others = [each for found in candidates if found is not chosen for each in found]
    return [replace(mine, rivals=tuple(each for each in others if _is_same_place(mine, each))) for mine in chosen]


def _is_same_place(a: Detection, b: Detection) -> bool:
    import shapely

    hulls = [shapely.convex_hull(shapely.multipoints(each.quads.reshape(-1, 2))) for each in (a, b)]
    shared = shapely.area(shapely.intersection(*hulls))
    return bool(shared > _SAME * min(shapely.area(hulls)))


def _is_closed(detection: Detection) -> bool:
    return detection.detector == "rulings" and len(detection.quads) > 1 and float(detection.scores.mean()) > _CLOSED


def _score(found: Sequence[Detection], words: Sequence[Word], rulings: Rulings) -> float:
    """Mean score of the tables, each for its own words and those that no table of the candidate has."""
    import numpy as np

    from postprocess.explanation import explain
    from postprocess.grid import quads_to_grid
    from postprocess.regions import words_inside

    own = [words_inside(words, detection.quads) for detection in found]
    taken = {id(word) for each in own for word in each}
    rest = [word for word in words if id(word) not in taken]
    grids = [quads_to_grid(detection.quads, detection.scores) for detection in found]
    scores = [explain(grid, each + rest, rulings).score for grid, each in zip(grids, own, strict=True)]
    return float(np.average(scores, weights=[len(each) + 1 for each in own]))
