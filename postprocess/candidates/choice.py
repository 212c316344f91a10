"""Which candidates become tables: those that explain the words and rulings of their place best.

What counts is ``Explanation.score``: what the picture shows, and how far the other candidates agree with the rows and
columns. Cells that rulings enclose on all sides stay as they are, unless both passes of a network deny them; a table
that only one detector found stays too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import shapely

from postprocess.arrays import Ints
from postprocess.candidates.candidate import Candidate
from postprocess.candidates.explanation import agreement, bands_at, explain
from postprocess.candidates.heads import settle
from postprocess.candidates.joins import join_texts
from postprocess.candidates.row_borders import settle_rows
from postprocess.candidates.scene import Scene

Tables = Sequence[Candidate]
"""The tables that one detector, or one pass of it, found at a place."""

_EMPTIED = 0.1
"""Share of cells that detected tables leave empty beyond those of enclosed ones, where they parted these in vain."""
_DRAWN = 0.01
"""What rulings add to the score of a grid whose borders they draw."""
_SAME = 0.5
"""Candidates that share more than this of the smaller one are the same table."""


def group_by_place(found: Sequence[Tables]) -> list[list[list[Candidate]]]:
    """Group what lies on the same place: for each place the tables of each detector that has some there.

    Args:
        found: The candidates of each detector.
    """
    flat = [(who, candidate) for who, tables in enumerate(found) for candidate in tables]
    place = list(range(len(flat)))
    for b in range(len(flat)):
        for a in range(b):
            if place[a] != place[b] and is_same_place(flat[a][1], flat[b][1]):
                old, new = place[b], place[a]
                place = [new if each == old else each for each in place]
    groups: dict[int, dict[int, list[Candidate]]] = {}
    for number, (who, candidate) in zip(place, flat, strict=True):
        groups.setdefault(number, {}).setdefault(who, []).append(candidate)
    return [list(by_detector.values()) for by_detector in groups.values()]


def is_same_place(a: Candidate, b: Candidate) -> bool:
    """Whether two candidates are of the same table."""
    shared = shapely.area(shapely.intersection(a.hull, b.hull))
    return bool(shared > _SAME * min(shapely.area(a.hull), shapely.area(b.hull)))


def choose(place: Sequence[Tables], picture: Scene) -> list[Candidate]:
    """The tables of one place: the best candidates, their rows settled, and the others as rivals with rows as seen.

    Args:
        place: What each detector found there.
        picture: All words and rulings of the picture.
    """
    number, best = best_tables(place, picture)
    others = [each for index, tables in enumerate(place) if index != number for each in tables]
    settled, others = [join_texts(_with_rows(each, place)) for each in best], list(map(join_texts, others))
    return [replace(mine, rivals=tuple(each for each in others if is_same_place(mine, each))) for mine in settled]


def best_tables(place: Sequence[Tables], picture: Scene) -> tuple[int, Tables]:
    """The number of the detector that explains the words of all best, the first one of equals, and its tables.

    Between equal scores the words that no border cuts decide, then the cells that hold words: both weigh nothing in
    the score, but of two grids with the same rows and columns they show which has the spans.
    """
    enclosed = next((n for n, tables in enumerate(place) if all(each.is_enclosed for each in tables)), None)
    if enclosed is not None:
        others = [n for n in range(len(place)) if n != enclosed]
        # Of columns a frame around ruled rows says nothing; else both passes have to see the very same other grid.
        only_rows = all(each.layout.owner.shape[1] == 1 for each in place[enclosed])
        if len(others) < 2 or not (only_rows or _are_same(*(place[n] for n in others))):
            return enclosed, place[enclosed]
        pairs = [explain_tables([place[enclosed], place[n]], picture) for n in others]
        if not all(_denies(detected, ruled) for ruled, detected in pairs):
            return enclosed, pairs[0][0]
        best = max(range(len(others)), key=lambda n: _rank(pairs[n][1]))
        return others[best], pairs[best][1]
    if len(place) == 1:
        return 0, place[0]
    ranked = explain_tables(place, picture)
    best = max(range(len(place)), key=lambda n: _rank(ranked[n], _DRAWN))
    return best, ranked[best]


def explain_tables(place: Sequence[Tables], picture: Scene) -> list[Tables]:
    """The tables of one place with their explanations, each detector's in the light of the others.

    A table has to explain its own words and those that no table of its detector has.
    """
    scene = picture.inside(np.concatenate([each.detected_quads for tables in place for each in tables]))
    layouts = [[each.layout for each in tables] for tables in place]
    agreed = {(a, b): agreement(layouts[a], layouts[b], scene.words) for a, b in combinations(range(len(place)), 2)}
    ranked: list[Tables] = []
    for number, tables in enumerate(place):
        others = [shares for pair, shares in agreed.items() if number in pair]
        rows, columns = np.mean(others, axis=0).tolist() if others else (1.0, 1.0)
        scenes = zip(tables, _with_rest(tables, scene), strict=True)
        ranked.append([replace(each, explanation=explain(each.layout, own, (rows, columns))) for each, own in scenes])
    return ranked


def explained(candidate: Candidate) -> Candidate:
    """The candidate with the explanation that it has, or else the one that its own scene gives."""
    if candidate.explanation is not None:
        return candidate
    assert candidate.scene is not None
    return replace(candidate, explanation=explain(candidate.layout, candidate.scene))


def is_certain(candidate: Candidate) -> bool:
    """Whether each word has a place in an explained candidate, and each row and column words of its own."""
    assert candidate.scene is not None and candidate.explanation is not None
    shares = candidate.explanation
    return not len(candidate.scene.words) or min(shares.separated, shares.used) > 1 - 1e-9


def rows_of_words(place: Sequence[Tables], scene: Scene) -> list[Ints]:
    """``(W,)`` row of each word in the grids of each pass of a network, -1 outside.

    Args:
        place: What each detector found; what words and rulings tell is left out, since it is no other evidence.
        scene: The words.
    """
    passes = [tables for tables in place if tables[0].origin == "network"]
    return [bands_at([each.layout for each in tables], scene.words.middles)[:, 0] for tables in passes]


def _with_rows(candidate: Candidate, place: Sequence[Tables]) -> Candidate:
    """The candidate with rows joined and parted, where a network saw the table and rulings do not enclose its cells."""
    scene = candidate.scene
    assert scene is not None
    if candidate.is_enclosed or not len(scene.words) or not (passes := rows_of_words(place, scene)):
        return candidate
    layout = settle_rows(candidate.layout, scene, passes)
    # Of other rows other heads are at the foot.
    return candidate if layout is candidate.layout else settle(candidate.with_layout(layout))


def _with_rest(tables: Tables, scene: Scene) -> list[Scene]:
    """For each table the scene of its own words and of those that no table has."""
    if len(tables) == 1:
        return [scene]
    own = [each.scene for each in tables if each.scene is not None]
    taken = set[int]().union(*(each.ids for each in own))
    rest = scene.without(taken).words
    return [Scene([*each.words, *rest], scene.rulings) for each in own]


def _are_same(one: Tables, two: Tables) -> bool:
    return len(one) == len(two) and all(
        np.array_equal(a.layout.owner, b.layout.owner) for a, b in zip(one, two, strict=True)
    )


def _denies(detected: Tables, enclosed: Tables) -> bool:
    """Whether detected tables explain more than enclosed ones, and not by parting enclosed cells into empty ones."""
    (score, _, filled), (ruled_score, _, ruled_filled) = _rank(detected), _rank(enclosed)
    return score > ruled_score and filled > ruled_filled - _EMPTIED


def _rank(tables: Tables, for_rulings: float = 0.0) -> tuple[float, ...]:
    """Mean score, words uncut and cells filled, without the dust of sums, which would part equals.

    Args:
        tables: Explained candidates.
        for_rulings: What is added to the score of a grid when rulings draw all borders of its cells: they are seen and
            not inferred, so that of two grids that explain the words almost alike theirs is the better one.
    """
    known = [(each.explanation, each.scene) for each in tables]
    drawn = [for_rulings * float(np.nanmean(each.scores)) if each.origin == "ruled" else 0.0 for each in tables]
    shares = [(e.score + more, e.uncut, e.filled) for (e, _), more in zip(known, drawn, strict=True) if e is not None]
    mean = np.average(shares, axis=0, weights=[len(scene.words) + 1 for _, scene in known if scene is not None])
    return tuple(mean.round(9).tolist())
