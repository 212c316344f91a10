"""How the next token is chosen from the logits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tablerec.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen; by default greedily, the most likely one.

    Args:
        temperature: Divides the logits before the softmax, at least 0; at 0 the choice is greedy.
        top_k: Choose among the ``top_k`` most likely tokens; 0 for all.
        top_p: Choose among the most likely tokens that reach this probability together, in (0, 1].
        repetition_penalty: Divides positive logits, and multiplies negative ones, of tokens that the row
            holds already, its prompt included; above 0, and 1 for none.

    Raises:
        SettingsError: A number is out of range.

    Examples:
        >>> Sampling().greedy
        True
        >>> Sampling(temperature=0.7, top_p=0.9).greedy
        False
        >>> Sampling(top_p=0)
        Traceback (most recent call last):
        ...
        postprocess.errors.SettingsError: top_p is 0: choose a number above 0, up to 1
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        if not (self.temperature >= 0 and math.isfinite(self.temperature)):
            raise SettingsError(f"temperature is {self.temperature}: choose 0 for the most likely token, or more")
        if self.top_k < 0:
            raise SettingsError(f"top_k is {self.top_k}: choose 0 for all tokens, or more")
        if not 0 < self.top_p <= 1:
            raise SettingsError(f"top_p is {self.top_p}: choose a number above 0, up to 1")
        if not (self.repetition_penalty > 0 and math.isfinite(self.repetition_penalty)):
            raise SettingsError(f"repetition_penalty is {self.repetition_penalty}: choose a number above 0; 1 is none")

    @property
    def greedy(self) -> bool:
        """Return whether no random number is needed."""
        return self.temperature == 0 or self.top_k == 1

    @property
    def remembers(self) -> bool:
        """Return whether the tokens that a row holds count."""
        return self.repetition_penalty != 1


def draw(seeds: Sequence[int], count: int) -> np.ndarray:
    """Draw the random numbers of rows, a stream of its own for each.

    Drawn on the host before decoding begins, they are the same for every device, with and without
    a graph, whatever the other rows are.

    Args:
        seeds: One for each row.
        count: Tokens to come.

    Returns:
        Uniform numbers in [0, 1), float32, ``[len(seeds), count]``.

    >>> draw([7, 8], 3)[1].tolist() == draw([8], 3)[0].tolist()
    True
    """
    numbers = np.stack([np.random.default_rng(seed).random(count, dtype=np.float32) for seed in seeds])
    # So that a number times the sum of all weights stays below the sum, when it is rounded.
    return np.minimum(numbers, np.float32(1 - 1e-6))


def choose(logits: Any, sampling: Sampling, draws: Any = None, seen: Any = None) -> Any:
    """Choose a token for each row, on the device.

    Args:
        logits: ``[batch, vocabulary]``.
        sampling: How.
        draws: Random numbers in [0, 1), float32, ``[batch, 1]``; not needed where the choice is greedy.
        seen: Which tokens a row holds, bool, ``[batch, vocabulary]``; needed where they are penalized.

    Returns:
        Tokens, int64, ``[batch, 1]``.
    """
    import paddle

    if sampling.remembers:
        logits = logits.astype("float32")
        penalty = sampling.repetition_penalty
        logits = paddle.where(seen, paddle.where(logits > 0, logits * (1 / penalty), logits * penalty), logits)
    if sampling.greedy:
        return paddle.argmax(logits, -1, keepdim=True)
    vocabulary = logits.shape[-1]
    logits = logits.astype("float32")
    tokens = None
    if 0 < sampling.top_k < vocabulary or sampling.top_p < 1:
        logits, tokens = paddle.topk(logits, min(sampling.top_k or vocabulary, vocabulary))
    weights = paddle.nn.functional.softmax(logits * (1 / sampling.temperature))
    sums = paddle.cumsum(weights, -1)
    if sampling.top_p < 1:  # those before which the sum is not reached; the first one always
        weights = weights * (sums - weights < sampling.top_p).astype("float32")
        sums = paddle.cumsum(weights, -1)
    places = (sums <= draws * sums[:, -1:]).astype("int64").sum(-1, keepdim=True)
    return places if tokens is None else paddle.take_along_axis(tokens, places, 1)
