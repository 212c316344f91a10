from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.errors import InputError
from tablerec.fields import (
    Check,
    Fields,
    flag,
    list_of,
    number,
    one_of,
    optional,
    pair,
    parse_json,
    parse_yaml,
    read_json,
    read_text,
    read_yaml,
    short,
    text,
    whole,
)
from tests.helpers.strategies import HOSTILE_JSON, HOSTILE_YAML

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


def test_a_file_that_is_not_there_or_is_no_text(tmp_path: Path) -> None:
    for read in (read_text, read_yaml):
        with pytest.raises(ValueError, match="No such file"):
            read(tmp_path / "absent")
    (tmp_path / "empty").touch()
    assert (read_text(tmp_path / "empty"), read_yaml(tmp_path / "empty")) == ("", None)
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="no text in UTF-8"):
        read_text(tmp_path / "bytes")
    with pytest.raises(ValueError, match="is no file"):
        read_text(tmp_path)
    with pytest.raises(ValueError, match="larger than 0 bytes"):
        read_text(tmp_path / "bytes", 0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is no file"):
        read_text(tmp_path / "pipe")


@pytest.mark.parametrize("content", HOSTILE_YAML.values(), ids=HOSTILE_YAML)
def test_hostile_yaml_is_a_line_that_says_what_is_wrong(content: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        parse_yaml(content)
    assert len(str(caught.value)) < 300 and "\n" not in str(caught.value)


@pytest.mark.parametrize("content", HOSTILE_JSON.values(), ids=HOSTILE_JSON)
def test_hostile_json_is_an_error_of_ours(content: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_json(content)
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(InputError, match=r"a\.json: is not JSON"):
        read_json(tmp_path / "a.json")


@given(st.text() | st.text("[]{}&*a:!-,? \n0x'"))
def test_any_text_is_yaml_or_an_error_of_one_line(content: str) -> None:
    try:
        parse_yaml(content)
    except ValueError as error:
        message = str(error)
    else:
        message = "none"
    assert message and "\n" not in message


def test_aliases_of_a_few_values_are_taken() -> None:
    read = parse_yaml("base: &base {a: 1}\nother: {<<: *base, b: 2}\nsame: *base")
    assert read["other"] == {"a": 1, "b": 2} and read["same"] == {"a": 1}


def test_values_without_an_end_are_shown_by_their_kind() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    assert short(nested) == "a value of the type list" and short(16**5000) == "a value of the type int"
