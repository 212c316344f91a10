"""Files of JSON and YAML, which may be hostile; values from outside, checked one by one, and field by field.

A ``Check`` takes a value and returns it as it is used, or raises ``ValueError`` with what is needed in its place, for
the caller to put the file and the field before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from tablerec.errors import InputError

T = TypeVar("T")
Check = Callable[[Any], T]

_GREATEST = 1e9
_SHOWN = 40
_MOST_YAML_BYTES = 4_000_000
"""PaddleX's descriptions list the characters of a recogniser."""
_MOST_VALUES = 500_000
"""In a YAML file, each alias counted as what it stands for."""
_MOST_LEVELS = 60
_LONG_NUMBER = re.compile(r"[-+]?[0-9][0-9a-fA-FxXoO_:]{1000,}")


def read_text(path: Path, most_bytes: int | None = None) -> str:
    """Read a text file.

    Args:
        path: The file; no pipe or device, which might never end.
        most_bytes: Greatest size, if there is one.

    Raises:
        ValueError: It cannot be read; the message says why, to be put behind its name.
    """
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is no file")
        if most_bytes is not None and path.stat().st_size > most_bytes:
            raise ValueError(f"it is larger than {most_bytes:,} bytes")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise ValueError("it is no text in UTF-8") from error


def parse_json(text: str | bytes) -> Any:
    """Parse JSON.

    Raises:
        ValueError: It is none, or nested too deeply, or holds a number that is too long.

    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    ValueError: it is nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read_yaml(path: Path) -> Any:
    """Read a YAML file; see ``read_text`` and ``parse_yaml``."""
    return parse_yaml(read_text(path, _MOST_YAML_BYTES))


def parse_yaml(text: str) -> Any:
    """Parse YAML of plain values.

    Raises:
        ValueError: It is none, or what a small text may blow up to; the message says why, on one line.

    >>> parse_yaml("a: [1, b]"), parse_yaml("")
    ({'a': [1, 'b']}, None)
    >>> parse_yaml("a: 2020-13-45")
    Traceback (most recent call last):
    ValueError: month must be in 1..12
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_events(yaml.parse(text, loader))
        return yaml.load(text, loader)  # noqa: S506
    except Exception as error:  # a value that is none of its type raises all kinds
        cause = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(cause if isinstance(error, (ValueError, yaml.YAMLError)) else f"a value: {cause}") from error


def _check_events(events: Iterable[Any]) -> None:
    """Refuse deep nesting, and aliases that stand for more than a file can say, before anything is built."""
    import yaml

    anchors: dict[str, int] = {}
    levels: list[tuple[str | None, int]] = [(None, 0)]
    for event in events:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.CollectionStartEvent):
            levels.append((event.anchor, 1))
            if len(levels) > _MOST_LEVELS:
                raise ValueError(f"line {line}: it is nested too deeply")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = levels.pop()
        elif isinstance(event, yaml.ScalarEvent):
            anchor, size = event.anchor, 1
            if not event.style and _LONG_NUMBER.fullmatch(event.value):
                raise ValueError(f"line {line}: a number of {len(event.value):,} digits")
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise ValueError(f"line {line}: *{event.anchor} stands for nothing, or for what it is in")
            anchor, size = None, anchors[event.anchor]
        else:
            continue
        if anchor is not None:
            anchors[anchor] = size
        above, total = levels[-1]
        levels[-1] = above, total + size
        if total + size > _MOST_VALUES:
            raise ValueError(f"line {line}: it stands for more than {_MOST_VALUES:,} values")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        InputError: It cannot be read, or is not JSON.
    """
    try:
        text = read_text(path)
    except ValueError as error:
        raise InputError(f"{path}: cannot be read ({error}); check name and permissions") from error
    try:
        return parse_json(text)
    except ValueError as error:
        raise InputError(f"{path}: is not JSON ({error}); write it again") from error


def short(value: Any) -> str:
    """A value as messages show it, not too long.

    >>> short("a" * 50)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number with too many digits
        return f"a value of the type {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def text(value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ValueError("a text")
    return value


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def whole(low: int = 0, high: int | None = None) -> Check[int]:
    """Check for a whole number.

    >>> whole(1)(3)
    3
    >>> whole(1)(0)
    Traceback (most recent call last):
    ValueError: a whole number of at least 1
    """
    needed = f"a whole number of at least {low}" if high is None else f"a whole number from {low} to {high:,}"

    def check(value: Any) -> int:
        if type(value) is not int or value < low or (high is not None and value > high):
            raise ValueError(needed)
        return value

    return check


def number(low: float = -_GREATEST, high: float = _GREATEST) -> Check[float]:
    """Check for a finite number.

    >>> number(0, 1)(True)
    Traceback (most recent call last):
    ValueError: a number from 0 to 1
    """
    needed = "a number" if (low, high) == (-_GREATEST, _GREATEST) else f"a number from {low:,} to {high:,}"

    def check(value: Any) -> float:
        if type(value) not in (int, float) or not low <= value <= high:
            raise ValueError(needed)
        return float(value)

    return check


def one_of(*known: T) -> Check[T]:
    """Check for one of several values.

    >>> one_of("row", "col")("page")
    Traceback (most recent call last):
    ValueError: 'row' or 'col'
    """

    def check(value: Any) -> T:
        for each in known:
            if type(each) is type(value) and each == value:
                return each
        raise ValueError(" or ".join(", ".join(map(repr, known)).rsplit(", ", 1)))

    return check


def optional(check: Check[T]) -> Check[T | None]:
    """Check for null, or what another check wants."""

    def check_unless_none(value: Any) -> T | None:
        try:
            return None if value is None else check(value)
        except ValueError as error:
            raise ValueError(f"null or {error}") from error

    return check_unless_none


def list_of(check: Check[T], count: int | None = None, name: str = "values") -> Check[tuple[T, ...]]:
    """Check for a list of any length, or of ``count``.

    >>> list_of(number(), 2, "numbers")([1, 2])
    (1.0, 2.0)
    >>> list_of(number(), 4, "numbers")([1, 2])
    Traceback (most recent call last):
    ValueError: a list of 4 numbers
    """
    needed = f"a list of {'any number of' if count is None else count} {name}"

    def check_all(value: Any) -> tuple[T, ...]:
        if not isinstance(value, list) or count not in (None, len(value)):
            raise ValueError(needed)
        try:
            return tuple(map(check, value))
        except ValueError as error:
            raise ValueError(needed) from error

    return check_all


def pair(value: Any) -> tuple[float, float]:
    """Two finite numbers."""
    first, second = list_of(number(), 2, "numbers")(value)
    return first, second


class Fields:
    """One object of a JSON file; each method returns one field or says what is wrong with it.

    A field that is absent or null takes the default. Without a default it is required.

    >>> fields = Fields(Path("a.json"), {"row": 2, "cells": [{"row": -1}]})
    >>> fields.whole("row"), fields.text("text", "")
    (2, '')
    >>> fields.children("cells")[0].whole("row")
    Traceback (most recent call last):
    postprocess.errors.InputError: a.json: cells[0].row is -1; a whole number of at least 0 is needed
    """

    def __init__(self, file: Path | str, data: Any, where: str = "") -> None:
        self._file = file
        self._where = where
        if not isinstance(data, dict):
            raise InputError(f"{file}: {where.rstrip('.') or 'the top level'} must be a JSON object")
        self._data = data

    def get(self, key: str, check: Check[T], default: T | None = None) -> T:
        """Return a field that passes a check.

        Raises:
            InputError: It does not, or it is missing and there is no default.
        """
        value = self._data.get(key)
        if value is None:
            if default is None:
                raise InputError(f"{self._file}: {self._where}{key} is missing")
            return default
        try:
            return check(value)
        except ValueError as error:
            raise InputError(f"{self._file}: {self._where}{key} is {short(value)}; {error} is needed") from error

    def get_or_none(self, key: str, check: Check[T]) -> T | None:
        """Return a field that passes a check, or None where it is absent or null."""
        return None if self._data.get(key) is None else self.get(key, optional(check))

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string."""
        return self.get(key, text, default)

    def flag(self, key: str, default: bool | None = None) -> bool:
        """Return true or false."""
        return self.get(key, flag, default)

    def whole(self, key: str, default: int | None = None, *, low: int = 0) -> int:
        """Return a whole number of at least ``low``."""
        return self.get(key, whole(low), default)

    def number(self, key: str, default: float | None = None) -> float:
        """Return a finite number."""
        return self.get(key, number(), default)

    def points(self, key: str, count: int | None = None) -> tuple[tuple[float, float], ...]:
        """Return a list of pairs of finite numbers, of any length or of ``count``."""
        return self.get(key, list_of(pair, count, "pairs of numbers"))

    def all_numbers(self) -> dict[str, float]:
        """Return all fields, each a finite number."""
        return {key: self.number(key) for key in self._data}

    def child(self, key: str) -> Fields:
        """Return an object; an absent one is empty."""
        value = self._data.get(key)
        return Fields(self._file, {} if value is None else value, f"{self._where}{key}.")

    def children(self, key: str) -> list[Fields]:
        """Return a list of objects."""
        items = self.get(key, list_of(lambda item: item, name="objects"))
        return [Fields(self._file, item, f"{self._where}{key}[{index}].") for index, item in enumerate(items)]

    def is_set(self, key: str) -> bool:
        """Return whether the field is there and neither null, false, zero nor empty."""
        return bool(self._data.get(key))
