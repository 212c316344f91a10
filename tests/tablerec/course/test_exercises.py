"""A check tells an empty answer from a wrong one and a right one, and never fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tablerec.course import check
from tablerec.course.exercises import outcomes

answer: Any = None


def outcome(given: Any, body: Callable[[], object] | None = None) -> str:
    global answer
    answer = given
    check("Exercise 1")(body or asks_for_four)
    return outcomes["Exercise 1"]


def asks_for_four() -> None:
    assert (answer(2) if callable(answer) else answer) == 4, "twice 2 is 4"


def stub(number: int) -> int: ...


def stub_with_docstring(number: int) -> int:
    """Double it."""


def begun(number: int) -> int:
    doubled = ...
    return doubled  # noqa: RET504 - as a learner finds it


def returns_ellipsis(number: int) -> int:
    if number:
        return ...
    return 0


def not_implemented(number: int) -> int:
    raise NotImplementedError


@pytest.mark.parametrize(
    "empty", [None, ..., [1, ...], stub, stub_with_docstring, begun, returns_ellipsis, not_implemented, lambda n: ...]
)
def test_an_empty_answer_is_to_do(empty: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(empty) == "to do"
    assert capsys.readouterr().out == "Exercise 1: to do · 待做\n"


@pytest.mark.parametrize("solved", [4, lambda n: 2 * n, lambda n: 4, lambda n: np.full((3, 5), 4)[..., n][0]])
def test_a_right_answer_is_right(solved: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(solved) == "right"
    assert capsys.readouterr().out == "Exercise 1: right · 正确\n"


def indexes(array: Any) -> Any:
    return np.ones((2, 3))[..., array]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (5, "twice 2 is 4"),
        (lambda n: n, "twice 2 is 4"),
        (lambda n: n / 0, "ZeroDivisionError"),
        (indexes, "ValueError"),
    ],
)
def test_a_wrong_answer_is_not_yet_right_and_says_why(wrong: Any, reason: str, capsys: Any) -> None:
    assert outcome(wrong) == "not yet"
    assert capsys.readouterr().out.startswith(f"Exercise 1: not yet · 还不对: {reason}")


def test_an_assertion_without_words_has_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    def body() -> None:
        if answer != 4:
            raise AssertionError

    assert outcome(5, body) == "not yet" and "does not hold" in capsys.readouterr().out


def test_an_answer_that_is_read_in_an_inner_function_is_found() -> None:
    def body() -> None:
        assert all(answer[number] == number for number in range(3))

    assert outcome([0, 1, ...], body) == "to do" and outcome([0, 1, 2], body) == "right"
