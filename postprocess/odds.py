"""Evidence with names: its weighted sum, and the probabilities of log odds.

Evidence is a dataclass of numbers, and its weights are another instance of the same class. What printed the weights is
named beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter, mul
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from postprocess.arrays import Floats


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


EvidenceT = TypeVar("EvidenceT", bound=_Dataclass)


def weigh(evidence: EvidenceT, weights: EvidenceT, bias: float = 0.0) -> float:
    """Return the sum of all evidence times its weights, and of the bias.

    Args:
        evidence: Numbers with names.
        weights: The weight of each, by the same names.
        bias: What is added.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Rain:
    ...     clouds: float
    ...     sun: float
    >>> weigh(Rain(clouds=0.5, sun=1.0), weights=Rain(clouds=4.0, sun=-3.0), bias=1.0)
    0.0
    """
    values = _values_of(type(weights))
    return float(bias + sum(map(mul, values(weights), values(evidence))))


@lru_cache
def _values_of(kind: type[_Dataclass]) -> Callable[[_Dataclass], tuple[float, ...]]:
    """What reads the fields of a dataclass, of which there are several."""
    return attrgetter(*(each.name for each in fields(kind)))


def to_probability(log_odds: ArrayLike) -> Floats:
    """Return the probabilities, in the shape given, of logarithms of odds.

    >>> to_probability([0.0, 1000.0]).tolist()
    [0.5, 1.0]
    """
    bounded = np.minimum(np.maximum(log_odds, -40), 40)  # for single numbers several times as fast as numpy.clip
    return np.asarray(1 / (1 + np.exp(-bounded)), np.float64)


def choose(log_odds: ArrayLike) -> Floats:
    """Return the probabilities ``(K,)`` of candidates of which one is right, sum 1: a softmax.

    >>> choose([0.0, 1.1]).round(2).tolist()
    [0.25, 0.75]
    """
    scores = np.asarray(log_odds, np.float64)
    odds = np.exp(scores - scores.max())
    return np.asarray(odds / odds.sum(), np.float64)
