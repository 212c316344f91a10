"""Fits: at the optimum the slope vanishes, bounds hold, and known weights are found again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.odds import to_probability
from tests.benchmarks.fitting import fit_binary, fit_choices, predict, spread_over_folds, to_source


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 4), st.floats(0.01, 10))
@settings(max_examples=40)
def test_the_slope_of_the_loss_vanishes(seed: int, count: int, n_kinds: int, shrink: float) -> None:
    rng = np.random.default_rng(seed)
    choices = []
    for _ in range(count):
        evidence = rng.normal(size=(int(rng.integers(1, 5)), n_kinds))
        choices.append((evidence, int(rng.integers(len(evidence)))))
    weights = fit_choices(choices, shrink)
    slope = shrink * weights
    for evidence, right in choices:
        odds = np.exp(evidence @ weights)
        slope += odds / odds.sum() @ evidence - evidence[right]
    assert slope == pytest.approx(0, abs=1e-5)


def test_weights_are_found_again() -> None:
    rng = np.random.default_rng(0)
    evidence = rng.normal(size=(20_000, 3))
    right = (rng.random(len(evidence)) < to_probability(0.5 + evidence @ [2.0, -1.0, 0.0])).astype(float)
    bias, weights = fit_binary(evidence, right, 1.0)
    assert [bias, *weights] == pytest.approx([0.5, 2.0, -1.0, 0.0], abs=0.1)
    assert predict(bias, weights, evidence).mean() == pytest.approx(right.mean(), abs=1e-6)


def test_a_bound_holds_and_leaves_the_others_free() -> None:
    rng = np.random.default_rng(1)
    evidence = rng.normal(size=(2000, 2))
    right = (rng.random(len(evidence)) < to_probability(evidence @ [1.0, -1.0])).astype(float)
    _, weights = fit_binary(evidence, right, 1.0, nonnegative=True)
    alone = fit_binary(evidence[:, :1], right, 1.0, nonnegative=True)[1]
    assert weights == pytest.approx([alone[0], 0.0], abs=1e-6)


def test_counting_twice_is_being_there_twice() -> None:
    rng = np.random.default_rng(2)
    evidence, right = rng.normal(size=(30, 2)), (np.arange(30) % 3 == 0).astype(float)
    twice = fit_binary(np.tile(evidence, (2, 1)), np.tile(right, 2), 1.0)
    counted = fit_binary(evidence, right, 1.0, counts=np.full(30, 2.0))
    assert counted[1] == pytest.approx(twice[1], abs=1e-6) and counted[0] == pytest.approx(twice[0], abs=1e-6)


def test_a_group_is_in_one_fold() -> None:
    groups = [f"page {number // 3}" for number in range(60)]
    folds = spread_over_folds(groups)
    assert spread_over_folds([]).tolist() == [] and set(folds.tolist()) == set(range(5))
    assert all(len(set(folds[np.array(groups) == group].tolist())) == 1 for group in groups)


def test_weights_are_printed_as_the_product_holds_them() -> None:
    @dataclass
    class Rain:
        clouds: float
        sun: float

    source = to_source("_WEIGHTS", Rain(1.234, -0.0))
    assert source == "_WEIGHTS = Rain(\n    clouds=1.23,\n    sun=0.00,\n)"
