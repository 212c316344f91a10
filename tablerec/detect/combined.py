"""The network and the geometry side by side: for each table the grid that explains the picture best is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from postprocess.word import Word
from tablerec.detect import Detection

if TYPE_CHECKING:
    from postprocess.arrays import Image
    from postprocess.candidates.candidate import Candidate
    from postprocess.candidates.scene import Scene
    from tablerec.detect.geometric import GeometricDetector

_SURE_CELL = 0.6
"""Least score of the surest cell of a table; in charts no cell is that sure."""


class DetectsTwice(Protocol):
    """A network with two passes over a picture, or two networks: CellNet at two scales, PaddleX's two detectors."""

    def detect_twice(self, image: Image, picture: Scene) -> list[list[Detection]]:
        """Return the tables of either pass."""
        ...


class CombinedDetector:
    """``auto`` where there are weights: CellNet at two scales, and rulings, words and gaps.

    Each of the three finds its tables, words and rulings settle the spans of each, and where tables lie on the same
    place those of one detector stay, see ``postprocess.candidates.choice``. Rows of the chosen tables are joined and
    parted where ``postprocess.candidates.row_borders`` is sure.

    Args:
        network: Detects cells in two passes.
        geometric: Infers cells from rulings and words.
        name: Under which name they are chosen.
    """

    def __init__(self, network: DetectsTwice, geometric: GeometricDetector, name: str = "auto") -> None:
        self.network = network
        self.geometric = geometric
        self.name = name

    def detect(self, image: Image, words: Sequence[Word]) -> list[Candidate]:
        """See ``CellDetector``."""
        from postprocess.candidates.choice import choose, explained, group_by_place, is_certain
        from postprocess.candidates.joins import join_texts
        from postprocess.candidates.scene import image_to_scene

        if image.size == 0:
            return []
        picture = image_to_scene(image, words)
        inferred = self.geometric.detect_in(picture)
        if self.geometric.layout == "table" and inferred and all(each.is_enclosed for each in inferred):
            sure = [explained(each) for each in inferred]
            if all(map(is_certain, sure)):
                return [join_texts(each) for each in sure]
        passes = detect_candidates(self.network, image, picture)
        chosen = list(chain.from_iterable(choose(place, picture) for place in group_by_place([inferred, *passes])))
        if self.geometric.layout == "page":
            chosen = [each for one in chosen for each in _plausible(one)]
        return sorted(chosen, key=lambda each: each.top)


def detect_candidates(network: DetectsTwice, image: Image, picture: Scene) -> list[list[Candidate]]:
    """The candidates of each pass of a network, their spans settled.

    Args:
        network: Detects cells in two passes.
        image: The picture.
        picture: Its words and rulings.
    """
    from postprocess.candidates.heads import settle

    passes = network.detect_twice(image, picture)
    return [[settle(each.to_candidate().in_scene(picture)) for each in found] for found in passes]


def _plausible(candidate: Candidate) -> list[Candidate]:
    """The candidate if it is a table, or else the ones that rulings enclose in its place: they are never dropped."""
    if _is_plausible(candidate):
        return [candidate]
    return [replace(rival, rivals=(candidate,)) for rival in candidate.rivals if rival.is_enclosed]


def _is_plausible(candidate: Candidate) -> bool:
    """Whether cells that a network found are a table: several rows, and one cell at least that is sure."""
    if candidate.origin != "network":
        return True
    return (
        bool(candidate.scores[candidate.is_detected].max(initial=0.0) >= _SURE_CELL) and len(candidate.layout.owner) > 1
    )
