"""Where the tables of a page are, from its words alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely

from postprocess.boxes import Floats, as_quads
from postprocess.rulings import Rulings
from postprocess.tokens import GapSettings, Tokens, words_to_tokens
from postprocess.words import Word


def words_inside(words: Sequence[Word], quads: Floats) -> list[Word]:
    """Words whose middle lies in the hull of some cells."""
    if not len(words) or not len(quads):
        return []
    hull = shapely.convex_hull(shapely.multipoints(quads.reshape(-1, 2)))
    middles = as_quads([word.quad for word in words]).mean(axis=1)
    inside = shapely.intersects(hull, shapely.points(middles))
    return [word for word, keep in zip(words, inside, strict=True) if keep]


def words_to_regions(words: Sequence[Word], frame: Rulings) -> list[list[Word]]:
    """Groups of words that look like tables, from top to bottom.

    A table is a run of text lines of which most hold several tokens; running
    text has one token a line, and columns of prose are wider than they are apart.

    Args:
        words: Words outside all ruled tables.
        frame: Upright frame of the picture.
    """
    tokens = words_to_tokens(words, frame, GapSettings())
    if tokens.n_lines < 2:
        return []
    runs = _tabular_runs(tokens, frame.text_height)
    middles = frame.to_upright(as_quads([word.quad for word in words]).mean(axis=1))[:, 1]
    regions = []
    for top, bottom in runs:
        region = [word for word, y in zip(words, middles, strict=True) if top <= y <= bottom]
        regions.append(region)
    return regions


def _tabular_runs(tokens: Tokens, height: float) -> list[tuple[float, float]]:
    """(top, bottom) of each run of tabular lines."""
    boxes = tokens.boxes_xyxy
    lines = [np.flatnonzero(tokens.line == i) for i in range(tokens.n_lines)]
    tops = [float(boxes[line, 1].min()) for line in lines]
    bottoms = [float(boxes[line, 3].max()) for line in lines]
    tabular = [len(line) > 1 and not _is_prose(boxes[line], height) for line in lines]
    runs: list[list[int]] = []
    for index, is_tabular in enumerate(tabular):
        if not is_tabular:
            continue
        near = runs and index - runs[-1][-1] <= 3 and tops[index] - bottoms[runs[-1][-1]] < 5 * height
        if near:
            runs[-1].append(index)
        else:
            runs.append([index])
    return [
        (tops[run[0]], bottoms[run[-1]]) for run in runs if len(run) >= 2 and len(run) > 0.5 * (run[-1] - run[0] + 1)
    ]


def _is_prose(boxes: Floats, height: float) -> bool:
    """Whether the tokens of a line are columns of running text: long, and close to each other."""
    widths = boxes[:, 2] - boxes[:, 0]
    gaps = boxes[1:, 0] - boxes[:-1, 2]
    return bool(np.median(widths) > 18 * height and gaps.max() < 4 * height)
