"""GriTS: how well two tables agree, slot by slot, under the best alignment of rows and columns: spans, or texts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablerec.evaluate.scoring.libraries import require_libraries
from tablerec.evaluate.truth import Grid, normalize

MAX_PAIRS = 4_000_000
"""Pairs of slots up to which the score is computed; beyond, the memory grows past a gigabyte."""


def grits_top(predicted: Grid, true: Grid) -> float | None:
    """Return GriTS-Top, 0 to 1, or None where the tables are too large.

    Follows Smock, Pesala, Abraham, "GriTS: Grid Table Similarity Metric for Table Structure
    Recognition", 2022 (arXiv 2203.12555). Each slot holds its cell's extent relative to the
    slot; two slots are as similar as these boxes overlap. The exact optimum over rows and
    columns at once is hard to compute. The paper bounds it from above by aligning rows whose
    columns align freely, and the other way round; the value here is the lower of both bounds.

    >>> from postprocess.table import Table
    >>> grits_top(Table.from_texts([["a", "b"]]), Table.from_texts([["a", "b"], ["c", "d"]]))
    0.6666666666666666
    """
    if predicted.owner.size == 0 or true.owner.size == 0:
        return float(predicted.owner.size == true.owner.size)
    if predicted.owner.size * true.owner.size > MAX_PAIRS:
        return None
    overlap = _overlap(_extents(predicted)[:, None, :, None], _extents(true)[None, :, None, :])
    return _share(overlap, predicted, true)


def grits_con(predicted: Grid, true: Grid) -> float | None:
    """Return GriTS-Con, 0 to 1, or None where the tables are too large.

    As ``grits_top``, but two slots are as similar as the texts of their cells: twice the length of their longest
    common subsequence by the length of both. Texts are compared as ``normalize`` returns them.

    Raises:
        MissingDependencyError: rapidfuzz is not installed.

    >>> from postprocess.table import Table
    >>> grits_con(Table.from_texts([["a", "bx"]]), Table.from_texts([["a", "b"]]))
    0.8333333333333333
    """
    require_libraries("rapidfuzz")
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cdist

    if predicted.owner.size == 0 or true.owner.size == 0:
        return float(predicted.owner.size == true.owner.size)
    if predicted.owner.size * true.owner.size > MAX_PAIRS:
        return None
    # The last text is that of holes.
    texts = [[*(normalize(cell.text) for cell in grid.cells), ""] for grid in (predicted, true)]
    common = np.asarray(cdist(*texts, scorer=LCSseq.similarity, dtype=np.int32), float)
    lengths = np.add.outer(*(np.array([len(text) for text in some], float) for some in texts))
    alike = np.divide(2 * common, lengths, out=np.ones_like(common), where=lengths > 0)
    return _share(alike[predicted.owner[:, None, :, None], true.owner[None, :, None, :]], predicted, true)


def count_agreeing(similarity: NDArray[np.float64]) -> float:
    """Return how many slots agree where rows and columns are matched in their order as well as they can be.

    Args:
        similarity: ``(rows, true rows, columns, true columns)``, 0 to 1.

    >>> count_agreeing(np.ones((3, 2, 4, 5)))
    8.0
    """
    return float(min(_align(_align(similarity)), _align(_align(similarity.transpose(2, 3, 0, 1)))))


def _share(similarity: NDArray[np.float64], predicted: Grid, true: Grid) -> float:
    return 2 * count_agreeing(similarity) / (predicted.owner.size + true.owner.size)


def _extents(grid: Grid) -> NDArray[np.float64]:
    """Return ``(n_rows, n_cols, 4)`` left, top, right, bottom of each slot's cell relative to the slot."""
    spans = np.array([(c.col, c.row, c.end_col, c.end_row) for c in grid.cells], float).reshape(-1, 4)
    rows, cols = np.indices(grid.owner.shape)
    extents = spans[grid.owner] - np.stack([cols, rows, cols, rows], axis=-1)
    extents[grid.owner < 0] = 0
    return extents


def _overlap(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the intersection over union of boxes; 0 where both are empty."""
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    shared = np.clip(sides, 0, None).prod(axis=-1)
    area_a, area_b = ((boxes[..., 2:] - boxes[..., :2]).prod(axis=-1) for boxes in (a, b))
    union = area_a + area_b - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def _align(similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the best total of an order-keeping matching along the last two axes, ``(..., n, m)`` to ``(...)``."""
    n, m = similarity.shape[-2:]
    best = np.zeros((*similarity.shape[:-2], m + 1))
    for i in range(n):
        matched = best[..., :-1] + similarity[..., i, :]
        best[..., 1:] = np.maximum.accumulate(np.maximum(matched, best[..., 1:]), axis=-1)
    return best[..., -1]
