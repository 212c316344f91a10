"""The network and the geometry side by side: for each table the grid that explains the picture best is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import TYPE_CHECKING, Protocol

from postprocess.words import Word
from tablerec.detect import Detection
from tablerec.detect.geometric import is_closed, settle_detection

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from postprocess.explanation import Explanation
    from postprocess.rulings import Rulings
    from tablerec.detect.geometric import GeometricDetector
    from tablerec.result import Image

_SAME = 0.5
"""Finds that share more than this of the smaller one are the same table."""

_GEOMETRIC = ("rulings", "words")
"""Names of detections that the geometry made."""
_SURE_CELL = 0.6
"""Least score of the surest cell of a table; in charts no cell is that sure."""


class LooksTwice(Protocol):
    """A network, or two, with two views of a picture: CellNet at two scales, PaddleX's two detectors."""

    def detect_twice(self, image: Image, words: Sequence[Word]) -> list[list[Detection]]:
        """Return the tables of either view."""
        ...


class CombinedDetector:
    """``auto`` where there are weights: CellNet at two scales, and rulings, words and gaps.

    Each of the three finds its tables, words and rulings settle the spans of each, and where tables lie on the same
    place those of one detector stay: the ones that ``postprocess.explanation`` gives the best score, for what the
    picture shows and for how far the other detectors agree with their rows and columns. Cells that are wholly drawn
    stay as they are, unless both looks of the network deny them; a table that only one of them found stays too. Rows of
    the chosen tables are joined and parted where ``postprocess.row_borders`` is sure.

    Args:
        network: Finds cells by looking, in two ways.
        geometric: Finds cells from rulings and words.
        name: Under which name they are chosen.
    """

    def __init__(self, network: LooksTwice, geometric: GeometricDetector, name: str = "auto") -> None:
        self.network = network
        self.geometric = geometric
        self.name = name

    def detect(self, image: Image, words: Sequence[Word]) -> list[Detection]:
        """See ``CellDetector``."""
        from postprocess.boxes import quads_to_array
        from postprocess.rulings import image_to_rulings

        if image.size == 0:
            return []
        rulings = image_to_rulings(image, quads_to_array([word.quad for word in words]))
        drawn = self.geometric.detect_along(rulings, words)
        if self.geometric.layout == "table" and drawn and all(_is_certain(each, words, rulings) for each in drawn):
            return [replace(each, rulings=rulings) for each in drawn]
        seen = self.network.detect_twice(image, words)
        places = find_candidates(drawn, seen, words, rulings)
        chosen = list(chain.from_iterable(_decide(place, words, rulings) for place in places))
        if self.geometric.layout == "page":
            chosen = [each for each in chosen if _is_plausible(each)]
        return sorted(chosen, key=lambda detection: float(detection.quads[..., 1].min()))


def find_candidates(
    drawn: Sequence[Detection], seen: Sequence[Sequence[Detection]], words: Sequence[Word], rulings: Rulings
) -> list[list[list[Detection]]]:
    """For each place with tables the finds of each detector that has some there, their spans settled.

    Args:
        drawn: What the geometry found, settled.
        seen: What each look of the network found.
        words: What the reader found.
        rulings: Of the whole picture.
    """
    return _places([drawn, *([settle_detection(each, words, rulings) for each in found] for found in seen)])


def _decide(candidates: list[list[Detection]], words: Sequence[Word], rulings: Rulings) -> list[Detection]:
    """The tables of one place: the best candidate with its rows settled, and the others as rivals."""
    best = best_candidate(candidates, words, rulings)
    settled = [_with_rows(each, candidates, words, rulings) for each in best]
    return _with_rivals(settled, [found for found in candidates if found is not best], rulings)


def _with_rows(
    detection: Detection, candidates: Sequence[Sequence[Detection]], words: Sequence[Word], rulings: Rulings
) -> Detection:
    """The detection with rows joined and parted, where the network saw the table and its cells are not wholly drawn."""
    from postprocess.grid import quads_to_grid
    from postprocess.layout import grid_to_layout, redraw
    from postprocess.regions import words_inside
    from postprocess.row_borders import settle_rows

    own = words_inside(words, detection.quads)
    if is_closed(detection) or not own or not (looks := rows_of_words(candidates, own)):
        return detection
    grid = quads_to_grid(detection.quads, detection.scores)
    before = grid_to_layout(grid)
    after = settle_rows(before, own, rulings, looks)
    if after is before:
        return detection
    quads, scores = redraw(detection.quads, detection.scores, grid, after)
    return replace(detection, quads=quads, scores=scores)


def rows_of_words(candidates: Sequence[Sequence[Detection]], words: Sequence[Word]) -> list[NDArray[np.int64]]:
    """``(W,)`` row of each word in the grids of each look of the network, -1 outside.

    Args:
        candidates: Of one place; what the geometry found is left out, since it reads the same words and rulings.
        words: Of one table.
    """
    from postprocess.boxes import as_quads
    from postprocess.explanation import bands_at
    from postprocess.grid import quads_to_grid

    middles = as_quads([word.quad for word in words]).mean(axis=1)
    looks = [found for found in candidates if found[0].detector not in _GEOMETRIC]
    return [bands_at([quads_to_grid(each.quads, each.scores) for each in found], middles)[:, 0] for found in looks]


def _is_plausible(detection: Detection) -> bool:
    """Whether cells that the network found are a table: several rows, and one cell at least that is sure."""
    from postprocess.grid import quads_to_grid

    if detection.detector in _GEOMETRIC:
        return True
    is_sure = bool(detection.scores.max() >= _SURE_CELL)
    return is_sure and len(quads_to_grid(detection.quads, detection.scores).row_lines) > 2


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


def best_candidate(candidates: list[list[Detection]], words: Sequence[Word], rulings: Rulings) -> list[Detection]:
    """The candidate whose tables explain the words of all candidates best; the first one of equals.

    Between equal scores the words that no border cuts decide, then the cells that hold words: both weigh nothing in
    the score, but of two grids with the same rows and columns they show which has the spans.
    """
    for number, found in enumerate(candidates):
        if all(map(is_closed, found)):
            return _unless_denied(found, candidates[:number] + candidates[number + 1 :], words, rulings)
    if len(candidates) == 1:
        return candidates[0]
    ranks = map(_rank, explain_candidates(candidates, words, rulings))
    return max(zip(ranks, candidates, strict=True), key=lambda pair: pair[0])[1]


def _with_rivals(chosen: list[Detection], candidates: list[list[Detection]], rulings: Rulings) -> list[Detection]:
    """The chosen tables, each with those of the other candidates that lie on it."""
    others = [each for found in candidates for each in found]
    return [
        replace(mine, rivals=tuple(each for each in others if _is_same_place(mine, each)), rulings=rulings)
        for mine in chosen
    ]


def _is_same_place(a: Detection, b: Detection) -> bool:
    import shapely

    hulls = [shapely.convex_hull(shapely.multipoints(each.quads.reshape(-1, 2))) for each in (a, b)]
    shared = shapely.area(shapely.intersection(*hulls))
    return bool(shared > _SAME * min(shapely.area(hulls)))


def _unless_denied(
    closed: list[Detection], others: list[list[Detection]], words: Sequence[Word], rulings: Rulings
) -> list[Detection]:
    """Wholly drawn cells, unless both looks of the network show one and the same grid that explains more."""
    if len(others) < 2 or not _are_same(*others):
        return closed
    drawn, seen = score_candidates([closed, others[0]], words, rulings)
    return others[0] if seen > drawn else closed


def _are_same(one: list[Detection], two: list[Detection]) -> bool:
    import numpy as np

    from postprocess.grid import quads_to_grid
    from postprocess.layout import grid_to_layout

    first, second = ([grid_to_layout(quads_to_grid(each.quads, each.scores)).owner for each in f] for f in (one, two))
    return len(first) == len(second) and all(map(np.array_equal, first, second))


def _is_certain(detection: Detection, words: Sequence[Word], rulings: Rulings) -> bool:
    """Whether cells are wholly drawn, with a place for each word and words of its own in each row and column."""
    if not is_closed(detection):
        return False
    [[(explanation, _)]] = explain_candidates([[detection]], words, rulings)
    return not words or min(explanation.separated, explanation.used) > 1 - 1e-9


def explain_candidates(
    candidates: Sequence[Sequence[Detection]], words: Sequence[Word], rulings: Rulings
) -> list[list[tuple[Explanation, int]]]:
    """For each table of each candidate its explanation and its number of words.

    A table has to explain its own words and those that no table of its candidate has.
    """
    import numpy as np

    from postprocess.explanation import agreement, explain
    from postprocess.grid import quads_to_grid
    from postprocess.regions import words_inside

    words = words_inside(words, np.concatenate([detection.quads for found in candidates for detection in found]))
    grids = [[quads_to_grid(detection.quads, detection.scores) for detection in found] for found in candidates]
    agreed = {(a, b): agreement(grids[a], grids[b], words) for a, b in combinations(range(len(grids)), 2)}
    explained = []
    for number, (found, ours) in enumerate(zip(candidates, grids, strict=True)):
        others = [shares for pair, shares in agreed.items() if number in pair]
        rows, columns = np.mean(others, axis=0) if others else (1.0, 1.0)
        own = [words_inside(words, detection.quads) for detection in found]
        taken = {id(word) for each in own for word in each}
        rest = [word for word in words if id(word) not in taken]
        explained.append(
            [
                (explain(grid, each + rest, rulings, (float(rows), float(columns))), len(each))
                for grid, each in zip(ours, own, strict=True)
            ]
        )
    return explained


def score_candidates(candidates: Sequence[Sequence[Detection]], words: Sequence[Word], rulings: Rulings) -> list[float]:
    """Mean score of the tables of each candidate."""
    return [_rank(tables)[0] for tables in explain_candidates(candidates, words, rulings)]


def _rank(tables: Sequence[tuple[Explanation, int]]) -> tuple[float, ...]:
    """Mean score, words uncut and cells filled, without the dust of sums, which would part equals."""
    import numpy as np

    shares = [(each.score, each.uncut, each.filled) for each, _ in tables]
    mean = np.average(shares, axis=0, weights=[count + 1 for _, count in tables])
    return tuple(mean.round(9).tolist())
