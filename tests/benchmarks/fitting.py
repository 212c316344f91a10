"""Fit the weights of named evidence, and print them as the product holds them.

All fits are one convex problem: of several candidates with evidence, the right one shall be the most probable in a
softmax of the weighted sums. Yes or no is a choice between the evidence and none, better or worse one between two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from postprocess.arrays import Flags, Floats, Ints
from postprocess.odds import to_probability

FOLDS = 5
STEPS = 200
BINS = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Of the reliability that is printed."""


def to_array(evidence: Sequence[Any]) -> Floats:
    """``(N, F)`` of N instances of a dataclass with F numbers."""
    return np.array([astuple(each) for each in evidence], np.float64)


def fit_choices(
    choices: Sequence[tuple[Floats, int]],
    shrink: ArrayLike,
    *,
    counts: ArrayLike = 1.0,
    nonnegative: ArrayLike = False,
) -> Floats:
    """``(F,)`` weights with which the right candidates are most probable, by Newton's method.

    Args:
        choices: For each, ``(K, F)`` evidence of its candidates, and which of them is right.
        shrink: Half of it times the squared weights is added to the loss; one number or one for each weight.
        counts: How much each choice counts; one number or one for each.
        nonnegative: Which weights may not be negative; one value or one for each weight.
    """
    if not choices:
        raise SystemExit("nothing to fit: give more tables")
    n_kinds, most = choices[0][0].shape[1], max(len(evidence) for evidence, _ in choices)
    evidence, absent = np.zeros((len(choices), most, n_kinds)), np.full((len(choices), most), -1e9)
    for place, (rows, _) in enumerate(choices):
        evidence[place, : len(rows)], absent[place, : len(rows)] = rows, 0
    right = evidence[np.arange(len(choices)), [index for _, index in choices]]
    counts, shrink = np.broadcast_to(counts, len(choices)), np.broadcast_to(shrink, n_kinds)
    bounded: Flags = np.broadcast_to(np.asarray(nonnegative, bool), n_kinds)

    def loss_at(weights: Floats) -> float:
        scores = evidence @ weights + absent
        top = scores.max(axis=1)
        lost = top + np.log(np.exp(scores - top[:, None]).sum(axis=1)) - right @ weights
        return float(counts @ lost + shrink @ weights**2 / 2)

    weights, loss = np.zeros(n_kinds), loss_at(np.zeros(n_kinds))
    for _ in range(STEPS):
        scores = evidence @ weights + absent
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances = odds / odds.sum(axis=1, keepdims=True)
        means = np.einsum("nk,nkf->nf", chances, evidence)
        slope = counts @ (means - right) + shrink * weights
        curve = np.einsum("n,nk,nkf,nkg->fg", counts, chances, evidence, evidence, optimize=True)
        curve += np.diag(shrink + 1e-12) - (means.T * counts) @ means
        free = ~bounded | (weights > 0) | (slope < 0)
        step = np.zeros(n_kinds)
        step[free] = np.linalg.solve(curve[np.ix_(free, free)], slope[free])
        for rate in 0.5 ** np.arange(40):
            tried = weights - rate * step
            tried[bounded] = np.maximum(tried[bounded], 0)
            if loss_at(tried) < loss:
                break
        else:
            break
        weights, loss = tried, loss_at(tried)
    return weights


def fit_binary(
    evidence: Floats, right: Floats, shrink: ArrayLike, *, counts: ArrayLike = 1.0, nonnegative: bool = False
) -> tuple[float, Floats]:
    """Bias and ``(F,)`` weights of a logistic regression; the bias is free.

    Args:
        evidence: ``(N, F)``.
        right: ``(N,)`` 1 or 0.
        shrink: As of ``fit_choices``, for the weights.
        counts: As of ``fit_choices``.
        nonnegative: Whether no weight may be negative.
    """
    with_bias = np.column_stack([np.ones(len(evidence)), evidence])
    choices = [(np.stack([np.zeros(len(row)), row]), int(yes)) for row, yes in zip(with_bias, right, strict=True)]
    bounded = [False, *[nonnegative] * evidence.shape[1]]
    shrinks = np.append(0.0, np.broadcast_to(shrink, evidence.shape[1]))
    bias, *weights = fit_choices(choices, shrinks, counts=counts, nonnegative=bounded).tolist()
    return bias, np.array(weights)


def spread_over_folds(groups: Sequence[str]) -> Ints:
    """``(N,)`` fold of each, 0 to FOLDS - 1, so that those of one group share a fold."""
    names = sorted(set(groups))
    np.random.default_rng(0).shuffle(names)
    return np.array([names.index(group) % FOLDS for group in groups], np.int64)


def to_source(name: str, weights: Any, digits: int = 2) -> str:
    """A statement of Python for the product: an instance of the evidence's class, whose numbers are the weights."""
    lines = [f"    {each.name}={getattr(weights, each.name) + 0.0:.{digits}f},\n" for each in fields(weights)]
    return f"{name} = {type(weights).__name__}(\n{''.join(lines)})"


def report_reliability(label: str, scores: Floats, right: Floats) -> None:
    """Print what probabilities are worth: by score, the mean score, the share that is right, and the number."""
    high = scores > 0.9
    loss = -np.mean(np.log(np.where(right > 0, scores, 1 - scores).clip(1e-9)))
    print(
        f"{label}: {len(right)}, right {right.mean():.3f}, loss {loss:.3f}; "
        f"above 0.9: {high.mean():.3f}, right of these {right[high].mean() if high.any() else np.nan:.3f}"
    )
    for low, top in pairwise(BINS):
        inside = (scores > low) & (scores <= top)
        if inside.any():
            print(
                f"   {low:.1f} to {top:.1f}: score {scores[inside].mean():.3f}"
                f"  right {right[inside].mean():.3f}  {inside.sum()}"
            )


def predict(bias: float, weights: Floats, evidence: Floats) -> Floats:
    """``(N,)`` probabilities of ``(N, F)`` evidence."""
    return to_probability(bias + evidence @ weights)
