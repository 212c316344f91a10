"""Values that a file of settings holds, checked field by field against the types of an object of settings."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from reprlib import Repr
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tablerec.errors import SettingsError

_SHORT = Repr()  # a few lines of YAML can hold a value that fills the memory when it is written out
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 2, 60, 60

_MOST = 2**63 - 1


def to_settings(kind: type, values: Mapping[Any, Any], where: str) -> Any:
    """Make an object of settings.

    Numbers may be written as ``5e-4``, which YAML takes for a text.

    Args:
        kind: A dataclass. Its fields are ``int``, ``float``, ``bool``, ``str``, ``Path``, a ``Literal``, a ``tuple`` of
            one of these, a ``Mapping``, or a dataclass of such fields; and any of these ``or None``.
        values: By the names of the fields.
        where: Where they come from, which begins each message.

    Raises:
        SettingsError: A name is unknown or missing, a value is of another type, or the object refuses it.

    >>> from tablerec.training.settings import LoRA
    >>> to_settings(LoRA, {"rank": 4, "alpha": "1e1"}, "train.yaml")
    LoRA(rank=4, alpha=10.0, where='')
    >>> to_settings(LoRA, {"rank": "many"}, "train.yaml")
    Traceback (most recent call last):
        ...
    postprocess.errors.SettingsError: train.yaml: rank is 'many': give a whole number
    """
    known = {each.name: each for each in fields(kind)}
    for name in values:
        if name not in known:
            near = get_close_matches(str(name), known, 3) or known
            raise SettingsError(f"{where}: there is no {_SHORT.repr(name)}; choose from {', '.join(near)}")
    hints = get_type_hints(kind)
    for name, each in known.items():
        if name not in values and each.default is MISSING and each.default_factory is MISSING:
            raise SettingsError(f"{where}: {name} is missing: add it")
    given = {name: _to_type(hints[name], value, f"{where}: {name}") for name, value in values.items()}
    try:
        return kind(**given)
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from error


def _to_type(hint: Any, value: Any, name: str) -> Any:
    """Return the value as a field of this type wants it."""
    if get_origin(hint) in (Union, types.UnionType):
        if value is None:
            return None
        (hint,) = (each for each in get_args(hint) if each is not type(None))
    if isinstance(hint, type) and is_dataclass(hint):
        if isinstance(value, hint):
            return value
        if not isinstance(value, dict):
            raise _wrong(name, value, "names with values, as in {name: value}")
        return to_settings(hint, value, name)
    if get_origin(hint) is Literal:
        if not isinstance(value, str) or value not in get_args(hint):
            raise _wrong(name, value, " or ".join(map(str, get_args(hint))))
        return value
    if get_origin(hint) is tuple:
        kinds = get_args(hint)
        if not isinstance(value, (list, tuple)) or len(value) != len(kinds):
            raise _wrong(name, value, f"a list of {len(kinds)} values")
        return tuple(_to_type(kind, each, name) for kind, each in zip(kinds, value, strict=True))
    return _READERS[get_origin(hint) or hint](value, name)


def _wrong(name: str, value: Any, wanted: str) -> SettingsError:
    return SettingsError(f"{name} is {_SHORT.repr(value)}: give {wanted}")


def _to_float(value: Any, name: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, (int, float, str)) else float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise _wrong(name, value, "a number")
    return number


def _to_int(value: Any, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MOST:
        return value
    try:
        number = _to_float(value, name)
    except SettingsError:
        number = math.nan
    if not number.is_integer() or abs(number) > _MOST:
        raise _wrong(name, value, "a whole number")
    return int(number)


def _to_bool(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, value, "true or false")
    return value


def _to_text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise _wrong(name, value, "a text; put it into quotes")
    return value


def _to_path(value: Any, name: str) -> Path:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value or "\0" in value:
        raise _wrong(name, value, "the name of a file or folder")
    return Path(value)


def _to_mapping(value: Any, name: str) -> dict[str, Any]:
    """Names with plain values, or flat lists of them."""
    plain = (bool, int, float, str)
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _wrong(name, value, "names with values, as in {name: value}")
    for key, each in value.items():
        within = each if isinstance(each, list) else [each]
        if not all(isinstance(item, plain) for item in within) or len(within) > 1000:
            raise _wrong(f"{name}: {key}", each, "a number, a text, or a list of them")
    return value


_READERS: dict[Any, Any] = {
    bool: _to_bool,
    int: _to_int,
    float: _to_float,
    str: _to_text,
    Path: _to_path,
    Mapping: _to_mapping,
}
