from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.errors import InputError
from tablerec.fields import Check, Fields, flag, list_of, number, one_of, optional, pair, short, text, whole

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=6,
)
CHECKS: dict[str, Check[Any]] = {
    "text": text,
    "flag": flag,
    "whole": whole(0, 9),
    "number": number(0, 9),
    "one_of": one_of(0, 90),
    "pair": pair,
    "list_of": list_of(whole(), 2, "numbers"),
}


def test_an_empty_object_has_its_defaults() -> None:
    fields = Fields("a.json", {})
    assert (fields.text("a", "x"), fields.whole("a", 3), fields.flag("a", False)) == ("x", 3, False)
    assert fields.get_or_none("a", number()) is None
    assert fields.all_numbers() == fields.child("a").all_numbers() == {}
    with pytest.raises(InputError, match=r"^a\.json: a is missing$"):
        fields.number("a")


@pytest.mark.parametrize("name", CHECKS)
@given(value=VALUES)
def test_a_check_returns_what_passes_it_again_or_says_what_is_needed(name: str, value: Any) -> None:
    check = CHECKS[name]
    try:
        taken = check(value)
    except ValueError:
        with pytest.raises(ValueError, match=r"^null or \w"):
            optional(check)(value if value is not None else ())
    else:
        assert optional(check)(value) == taken
        assert check(list(taken) if isinstance(taken, tuple) else taken) == taken


@pytest.mark.parametrize("value", [True, math.nan, math.inf, 10**12, "1", None])
def test_what_only_looks_like_a_number_is_none(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^a number$"):
        number()(value)


def test_a_value_of_another_type_is_not_the_same() -> None:
    with pytest.raises(ValueError, match=r"^0 or 90$"):
        one_of(0, 90)(False)


def test_the_message_names_file_place_value_and_need() -> None:
    fields = Fields(Path("a.json"), {"cells": [{}, {"quad": [1] * 99}]})
    with pytest.raises(InputError) as caught:
        fields.children("cells")[1].points("quad", 4)
    assert str(caught.value) == f"a.json: cells[1].quad is {short([1] * 99)}; a list of 4 pairs of numbers is needed"
    with pytest.raises(InputError, match=r"cells\[0\] must be a JSON object"):
        Fields("a.json", {"cells": [1]}).children("cells")
