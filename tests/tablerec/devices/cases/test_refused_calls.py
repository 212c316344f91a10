"""What comparing operators says of a call that fails."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from tablerec.devices.cases.case import Case, Input

pytestmark = pytest.mark.skipif(importlib.util.find_spec("paddle") is None, reason="needs Paddle")


def test_a_call_that_paddle_refuses_is_told_in_its_words_and_not_by_the_condition_in_c_plus_plus() -> None:
    from tablerec.devices.parity import compare_operators

    def multiply(paddle: Any, x: Any) -> Any:
        return paddle.matmul(x, x)

    case = Case("matmul of shapes that do not fit", ("matmul",), multiply, (Input((2, 3)),), ("float32",))
    [outcome] = compare_operators("cpu", [case])
    assert not outcome.passed
    assert outcome.problem.startswith("ValueError: (InvalidArgument)") and "dimension of Input(X)" in outcome.problem
