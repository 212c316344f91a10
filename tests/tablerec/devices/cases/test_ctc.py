"""Connectionist temporal classification on the simulated device, against counting all paths in float64."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from tests.helpers.devices.plugin_process import ask, needs_device

pytestmark = needs_device

CODE = """
import os
import numpy as np
paddle.set_device(plugin.device)
answers = []
for logits, labels, steps, lengths, blank, dtype in json.load(open(os.environ["PROBLEMS"])):
    x = paddle.to_tensor(np.array(logits), dtype)
    x.stop_gradient = False
    given = paddle.to_tensor(steps, "int64"), paddle.to_tensor(lengths, "int64")
    labels = paddle.to_tensor(np.array(labels).reshape(len(steps), -1).astype("int32"))
    loss = paddle.nn.functional.ctc_loss(x, labels, *given, blank, "none")
    loss.sum().backward()
    answers.append([loss.tolist(), x.grad.tolist()])
answer(answers)
"""

Problem = tuple[list[Any], list[list[int]], list[int], list[int], int, str]
"""Logits ``(T, B, C)``, labels ``(B, L)``, steps and lengths of each sample, the blank, and the type."""


def solve(problems: Sequence[Problem]) -> list[tuple[np.ndarray, np.ndarray]]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "problems.json"
        path.write_text(json.dumps(problems), encoding="utf-8")
        answers = ask(CODE, {"PROBLEMS": str(path)})
    return [(np.array(loss), np.array(gradient)) for loss, gradient in answers]


def count_paths(logits: np.ndarray, label: Sequence[int], blank: int) -> tuple[float, np.ndarray]:
    """Return loss and gradient of one sample, ``(T, C)``: 0 where no path spells the label."""
    probabilities = np.exp(logits - logits.max(-1, keepdims=True))
    probabilities /= probabilities.sum(-1, keepdims=True)
    total, uses = 0.0, np.zeros_like(probabilities)
    for path in itertools.product(range(logits.shape[1]), repeat=len(logits)):
        if [key for key, _ in itertools.groupby(path) if key != blank] == list(label):
            chance = np.prod(probabilities[range(len(path)), path])
            total += chance
            uses[range(len(path)), path] += chance
    if total == 0:
        return 0.0, np.zeros_like(probabilities)
    return -np.log(total), probabilities - uses / total


def test_losses_and_gradients_are_those_of_all_paths() -> None:
    rng = np.random.default_rng(0)
    problems: list[Problem] = []
    for classes, most in ((2, 6), (3, 5), (4, 4)):
        for blank in range(classes):
            letters = [letter for letter in range(classes) if letter != blank]
            labels = rng.choice(letters, (6, 3)).tolist()
            logits = rng.normal(0, 2, (most, 6, classes)).tolist()
            steps, lengths = rng.integers(1, most + 1, 6).tolist(), rng.integers(0, 4, 6).tolist()
            problems += [(logits, labels, steps, lengths, blank, dtype) for dtype in ("float32", "float64")]
    for problem, (loss, gradient) in zip(problems, solve(problems), strict=True):
        logits, labels, steps, lengths, blank, dtype = problem
        tolerance = 1e-5 if dtype == "float32" else 1e-12
        for k, (count, length) in enumerate(zip(steps, lengths, strict=True)):
            expected, slope = count_paths(np.array(logits)[:count, k], labels[k][:length], blank)
            assert loss[k] == pytest.approx(expected, abs=tolerance)
            assert np.abs(gradient[:count, k] - slope).max() < tolerance
            assert not gradient[count:, k].any()


def test_nothing_to_read() -> None:
    """No step, or a label of no character; an impossible label costs nothing and moves nothing."""
    logits = np.random.default_rng(1).normal(size=(3, 4, 5))
    problem: Problem = (logits.tolist(), [[1, 1], [1, 2], [1, 1], [4, 4]], [0, 0, 3, 2], [0, 1, 0, 2], 0, "float64")
    [(loss, gradient)] = solve([problem])
    expected, slope = count_paths(logits[:, 2], [], 0)
    assert loss.tolist() == pytest.approx([0, 0, expected, 0])
    assert np.abs(gradient[:, 2] - slope).max() < 1e-12
    assert not gradient[:, [0, 1, 3]].any()


def test_a_label_that_cannot_be_is_infinite_and_moves_nothing() -> None:
    """A class that is not there, or a length that is longer than the tensor."""
    logits = np.random.default_rng(2).normal(size=(4, 5, 3)).tolist()
    labels = [[7, 1], [-1, 1], [0, 1], [1, 2], [1, 2]]
    [(loss, gradient)] = solve([(logits, labels, [4, 4, 4, 5, 4], [2, 2, 2, 2, 3], 0, "float32")])
    assert np.isposinf(loss).all() and not gradient.any()


def test_long_lines_of_extreme_logits_stay_finite() -> None:
    rng = np.random.default_rng(3)
    logits, labels = 60 * rng.normal(size=(256, 2, 40)), rng.integers(1, 40, (2, 64)).tolist()
    exact, single = solve([(logits.tolist(), labels, [256, 200], [64, 40], 0, each) for each in ("float64", "float32")])
    assert np.isfinite(exact[0]).all() and np.isfinite(single[1]).all()
    assert single[0] == pytest.approx(exact[0], rel=1e-5)
    assert np.abs(single[1] - exact[1]).max() < 1e-2
    assert np.abs(exact[1].sum(-1)).max() < 1e-9  # each step gives to some classes what it takes from others
