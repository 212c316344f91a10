"""Lines of text, made of words: what a detector of text should find."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Quads = NDArray[np.float32]

WIDEST_GAP = 1.0
"""Words further apart, in heights of their type, are in two lines."""
_ABOVE, _BELOW, _BESIDE = 0.18, 0.04, 0.18
"""Ground around a line, in heights of its type: as much as the detectors of PP-OCR leave."""


def words_to_lines(quads: Quads, cells: NDArray[np.integer]) -> Quads:
    """Join words that follow one another on one base line, in one cell, with no wide gap between them.

    Args:
        quads: ``(N, 4, 2)`` the type of each word, first the corner where it begins; in the order of reading.
        cells: ``(N,)`` which cell each is in, or -1.

    Returns:
        ``(M, 4, 2)`` float32 rectangles with some ground around the type, first the corner where the line begins.

    >>> words = np.array([[[x, 10], [x + 20, 10], [x + 20, 20], [x, 20]] for x in (0, 25, 80)], np.float32)
    >>> (10 * words_to_lines(words, np.array([3, 3, 3]))[0]).round().astype(int).tolist()
    [[-18, 82], [468, 82], [468, 204], [-18, 204]]
    >>> len(words_to_lines(words, np.array([3, 3, 3]))), len(words_to_lines(words[:0], np.zeros(0, int)))
    (2, 0)
    """
    if not len(quads):
        return np.empty((0, 4, 2), np.float32)
    quads = np.asarray(quads, np.float64)
    begins, ends = quads[:, [0, 3]].mean(axis=1), quads[:, [1, 2]].mean(axis=1)
    heights = np.linalg.norm(quads[:, [3, 2]] - quads[:, [0, 1]], axis=2).mean(axis=1).clip(1e-3)
    starts = np.flatnonzero(np.r_[True, ~_follow(begins, ends, heights, cells)])
    last = np.r_[starts[1:], len(quads)] - 1
    along = _unit(ends[last] - begins[starts])
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    of_word = np.repeat(np.arange(len(starts)), last - starts + 1)
    u, v = (np.einsum("nkx,nx->nk", quads, axes[of_word]) for axes in (along, across))
    left, top = (np.minimum.reduceat(each.min(axis=1), starts) for each in (u, v))
    right, bottom = (np.maximum.reduceat(each.max(axis=1), starts) for each in (u, v))
    height = bottom - top
    left, right = left - _BESIDE * height, right + _BESIDE * height
    top, bottom = top - _ABOVE * height, bottom + _BELOW * height
    u, v = np.stack([left, right, right, left], axis=1), np.stack([top, top, bottom, bottom], axis=1)
    return np.asarray(u[:, :, None] * along[:, None] + v[:, :, None] * across[:, None], np.float32)


def _follow(
    begins: NDArray[np.float64], ends: NDArray[np.float64], heights: NDArray[np.float64], cells: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """``(N - 1,)`` whether the next word is in the same line as each."""
    along = _unit(ends - begins)[:-1]
    gap = begins[1:] - ends[:-1]
    ahead = (gap * along).sum(axis=1)
    aside = np.abs(gap[:, 1] * along[:, 0] - gap[:, 0] * along[:, 1])
    height = heights[:-1]
    near = (ahead > -0.5 * height) & (ahead < WIDEST_GAP * height) & (aside < 0.4 * height)
    similar = np.abs(np.log(heights[1:] / height)) < np.log(1.8)
    turned = (_unit(ends - begins)[1:] * along).sum(axis=1) < 0.7
    return np.asarray(near & similar & ~turned & (np.asarray(cells)[1:] == np.asarray(cells)[:-1]))


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-6))
