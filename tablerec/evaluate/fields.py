"""JSON from outside, checked field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tablerec.errors import InputError


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        InputError: It cannot be read, or is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}); check name and permissions") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON in UTF-8 ({error}); write it again") from error


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

    def __init__(self, path: Path, data: Any, where: str = "") -> None:
        self._path = path
        self._where = where
        if not isinstance(data, dict):
            raise InputError(f"{path}: {where.rstrip('.') or 'the top level'} must be a JSON object")
        self._data = data

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string."""
        value = self._get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, "a text")
        return value

    def flag(self, key: str, default: bool | None = None) -> bool:
        """Return true or false."""
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def whole(self, key: str, default: int | None = None, *, low: int = 0) -> int:
        """Return a whole number of at least ``low``."""
        value = self._get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise self._wrong(key, f"a whole number of at least {low}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """Return a finite number."""
        value = self._get(key, default)
        if not _is_number(value):
            raise self._wrong(key, "a number")
        return float(value)

    def number_or_none(self, key: str) -> float | None:
        """Return a finite number, or None where the field is absent or null."""
        return None if self._data.get(key) is None else self.number(key)

    def numbers(self, key: str, count: int) -> tuple[float, ...] | None:
        """Return a list of ``count`` finite numbers, or None where the field is absent."""
        value = self._data.get(key)
        if value is None:
            return None
        if not _is_list_of_numbers(value, count):
            raise self._wrong(key, f"null or a list of {count} numbers")
        return tuple(map(float, value))

    def points(self, key: str, count: int | None = None) -> tuple[tuple[float, float], ...]:
        """Return a list of pairs of finite numbers, of any length or of ``count``."""
        value = self._get(key, None)
        pairs: list[Any] = value if isinstance(value, list) else [None]
        if len(pairs) != (count or len(pairs)) or not all(_is_list_of_numbers(pair, 2) for pair in pairs):
            raise self._wrong(key, f"a list of {count or 'any number of'} pairs of numbers")
        return tuple((float(a), float(b)) for a, b in pairs)

    def all_numbers(self) -> dict[str, float]:
        """Return all fields, each a finite number."""
        return {key: self.number(key) for key in self._data}

    def child(self, key: str) -> Fields:
        """Return an object; an absent one is empty."""
        return Fields(self._path, self._get(key, {}), f"{self._where}{key}.")

    def children(self, key: str) -> list[Fields]:
        """Return a list of objects."""
        value = self._get(key, None)
        if not isinstance(value, list):
            raise self._wrong(key, "a list")
        return [Fields(self._path, item, f"{self._where}{key}[{index}].") for index, item in enumerate(value)]

    def is_set(self, key: str) -> bool:
        """Return whether the field is there and neither null, false, zero nor empty."""
        return bool(self._data.get(key))

    def _get(self, key: str, default: Any) -> Any:
        value = self._data.get(key)
        if value is None and default is None:
            raise InputError(f"{self._path}: {self._where}{key} is missing")
        return default if value is None else value

    def _wrong(self, key: str, needed: str) -> InputError:
        value = repr(self._data.get(key))
        shown = value if len(value) <= 40 else value[:40] + "..."
        return InputError(f"{self._path}: {self._where}{key} is {shown}; {needed} is needed")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e9


def _is_list_of_numbers(value: Any, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(map(_is_number, value))
