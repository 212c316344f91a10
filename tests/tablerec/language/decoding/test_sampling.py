"""How the next token is chosen, on the CPU against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tablerec.errors import SettingsError
from tablerec.language.decoding.sampling import Sampling, choose, draw

paddle = pytest.importorskip("paddle")

LOGITS = np.random.default_rng(0).normal(0, 2, (3, 50)).astype("float32")


def chosen(sampling: Sampling, draws: np.ndarray, logits: np.ndarray = LOGITS, seen: np.ndarray | None = None) -> list:
    given = [None if each is None else paddle.to_tensor(each) for each in (draws, seen)]
    found = choose(paddle.to_tensor(logits), sampling, *given)
    assert found.dtype == paddle.int64 and found.shape == [len(logits), 1]
    return found[:, 0].tolist()


def frequencies(sampling: Sampling, count: int = 4000) -> np.ndarray:
    """How often each token of one row is chosen, over evenly spread random numbers."""
    draws = ((np.arange(count) + 0.5) / count).astype("float32")[:, None]
    tokens = chosen(sampling, draws, np.repeat(LOGITS[:1], count, 0))
    return np.bincount(tokens, minlength=LOGITS.shape[1]) / count


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits.astype("float64") - logits.max())
    return weights / weights.sum()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("temperature", value) for value in (-0.1, float("nan"), float("inf"))),
        *(("top_p", value) for value in (0.0, 1.1, float("nan"))),
        ("top_k", -1),
        *(("repetition_penalty", value) for value in (0.0, -1.0, float("nan"))),
    ],
)
def test_numbers_out_of_range_are_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(SettingsError, match=name):
        Sampling(**{name: value})


def test_greedy_takes_the_first_of_the_most_likely_tokens() -> None:
    tied = np.array([[1.0, 3.0, 3.0, -1.0]], "float32")
    assert chosen(Sampling(), None, tied) == [1]
    assert chosen(Sampling(temperature=1.0, top_k=1), None) == LOGITS.argmax(1).tolist()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_tokens_are_chosen_as_often_as_the_softmax_says(temperature: float) -> None:
    found = frequencies(Sampling(temperature=temperature))
    assert np.abs(found - softmax(LOGITS[0] / temperature)).max() < 1e-3


@pytest.mark.parametrize("top_k", [2, 7, 50, 1000])
def test_only_the_most_likely_k_are_chosen(top_k: int) -> None:
    expected = softmax(LOGITS[0])
    expected[np.argsort(-LOGITS[0])[top_k:]] = 0
    assert np.abs(frequencies(Sampling(temperature=1.0, top_k=top_k)) - expected / expected.sum()).max() < 1e-3


@pytest.mark.parametrize("top_p", [1e-6, 0.3, 0.9, 1.0])
def test_only_the_most_likely_that_reach_p_are_chosen(top_p: float) -> None:
    expected = softmax(LOGITS[0])
    order = np.argsort(-expected)
    before = np.cumsum(expected[order]) - expected[order]
    expected[order[before >= top_p]] = 0
    assert np.abs(frequencies(Sampling(temperature=1.0, top_p=top_p)) - expected / expected.sum()).max() < 1e-3


def test_k_and_p_together_take_the_fewer() -> None:
    both = frequencies(Sampling(temperature=1.0, top_k=3, top_p=0.999))
    assert np.count_nonzero(both) == 3
    assert np.count_nonzero(frequencies(Sampling(temperature=1.0, top_k=40, top_p=0.01))) == 1


def test_the_largest_random_number_takes_a_token_that_may_be_taken() -> None:
    last = draw([1], 1) * 0 + np.float32(1 - 1e-6)
    for sampling in (Sampling(1.0), Sampling(1.0, top_k=5), Sampling(1.0, top_p=0.5)):
        for row in LOGITS:
            (token,) = chosen(sampling, last, row[None])
            assert 0 <= token < 50 and frequencies(sampling).sum() == pytest.approx(1)


def test_tokens_that_were_there_are_penalized_towards_less_whatever_their_sign() -> None:
    logits = np.array([[2.0, 1.5, -1.0, -1.2]], "float32")
    seen = np.array([[True, False, False, False]])
    assert chosen(Sampling(repetition_penalty=1.2), None, logits, seen) == [0]
    assert chosen(Sampling(repetition_penalty=1.5), None, logits, seen) == [1]
    seen = np.array([[True, True, True, False]])
    assert chosen(Sampling(repetition_penalty=1.3), None, logits - 2.5, seen) == [0]
    assert chosen(Sampling(repetition_penalty=9.0), None, logits - 2.5, seen) == [3]


def test_a_row_draws_the_same_numbers_whatever_the_others_and_the_count() -> None:
    numbers = draw([4, 5], 40)
    assert numbers.dtype == np.float32 and numbers.shape == (2, 40)
    assert (numbers >= 0).all() and (numbers < 1).all() and 0.3 < numbers.mean() < 0.7
    assert draw([5], 7).tolist() == numbers[1:, :7].tolist()
