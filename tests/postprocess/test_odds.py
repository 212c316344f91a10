"""Log odds: linear in the evidence, and probabilities of them that are bounded and in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.odds import choose, to_probability, weigh

NUMBERS = st.floats(-1e3, 1e3)
MANY = st.lists(st.floats(-700, 700), min_size=1, max_size=8)


@dataclass(frozen=True)
class Two:
    one: float = 0.0
    other: float = 0.0


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_evidence_is_weighed_by_name(a: float, b: float, weight: float, other: float, bias: float) -> None:
    assert weigh(Two(), Two(weight, other), bias) == bias
    found = weigh(Two(other=b, one=a), Two(weight, other), bias)
    assert found == pytest.approx(bias + weight * a + other * b, abs=1e-6)


def test_odds_without_bound_stay_probabilities() -> None:
    assert to_probability([-np.inf, np.inf]).tolist() == pytest.approx([0, 1])
    assert to_probability([]).tolist() == []


@given(MANY)
def test_probabilities_are_bounded_and_in_the_order_of_the_odds(odds: list[float]) -> None:
    found = to_probability(sorted(odds))
    assert (found >= 0).all() and (found <= 1).all() and (np.diff(found) >= 0).all()
    assert found + to_probability(-np.array(sorted(odds))) == pytest.approx(1)


@given(MANY, st.floats(-100, 100))
def test_one_candidate_is_right_whatever_all_have_in_common(odds: list[float], common: float) -> None:
    chances = choose(odds)
    assert chances.sum() == pytest.approx(1) and chances.max() == chances[int(np.argmax(odds))]
    assert choose(np.array(odds) + common) == pytest.approx(chances, abs=1e-9)


def test_two_candidates_are_a_choice_between_yes_and_no() -> None:
    assert choose([0.0, 0.7])[1] == pytest.approx(to_probability(0.7))
