"""Fields of settings: default, range and help beside each, from which checks, reading and documentation follow."""

from __future__ import annotations

import json
import math
import textwrap
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, asdict, field, fields, is_dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from reprlib import Repr
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tablerec.errors import SettingsError

REQUIRED = MISSING
_BOUNDS = {"low": "at least {}", "above": "above {}", "high": "at most {}", "below": "below {}"}
_MAX_INT = 2**63 - 1
_MAX_VALUES = 10_000
"""In a mapping."""
_SHORT = Repr()  # a few lines of YAML can hold a value that fills the memory when it is written out
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 2, 60, 60


def setting(default: Any, help: str, **bounds: float) -> Any:
    """Make a field of a frozen dataclass whose ``__post_init__`` calls ``check_fields``.

    Its type is ``int``, ``float``, ``bool``, ``str``, ``Path``, a ``Literal``, a ``tuple`` of one of these, a
    ``Mapping`` with plain values, or a dataclass of such fields, a group; and any of these ``or None``.

    Args:
        default: The default, or ``REQUIRED``.
        help: One or more sentences, which are printed.
        **bounds: ``low`` and ``high`` are within the range, ``above`` and ``below`` are not. They hold for each number
            of a tuple; None passes.
    """
    metadata = {"help": help, "bounds": bounds}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


def check_fields(settings: Any) -> None:
    """Convert the values of an object to the types of its fields, and check their ranges.

    Numbers may be written as ``5e-4``, which YAML takes for a text; groups may be given as mappings.

    Raises:
        SettingsError: A value is of another type or outside its range; the message begins with the field.
    """
    for each in fields(settings):
        value = _convert(_hints(settings.__class__)[each.name], getattr(settings, each.name), each.name)
        object.__setattr__(settings, each.name, value)
        if value is not None and not all(_is_within(number, _bounds(each)) for number in _numbers(value)):
            raise SettingsError(f"{each.name} is {_SHORT.repr(value)}: give {_range(each)}")


def to_settings(kind: type, values: Mapping[Any, Any]) -> Any:
    """Make an object of settings from values by name, as a file holds them.

    Raises:
        SettingsError: A name is unknown or missing, or the object refuses a value; the message begins with the field.

    >>> from tablerec.training.settings import LoRA
    >>> to_settings(LoRA, {"rank": 4, "alpha": "1e1"})
    LoRA(rank=4, alpha=10.0, target_modules='')
    >>> to_settings(LoRA, {"rank": "many"})
    Traceback (most recent call last):
    postprocess.errors.SettingsError: rank is 'many': give a whole number
    """
    known = {each.name: each for each in fields(kind)}
    for name in values:
        if name not in known:
            near = get_close_matches(str(name), known, 3) or known
            raise SettingsError(f"{_short_name(name)} is unknown: choose from {', '.join(near)}")
    for name, each in known.items():
        if name not in values and each.default is MISSING and each.default_factory is MISSING:
            raise SettingsError(f"{name} is missing: give it. {_help(each)}")
    return kind(**values)


def change(settings: Any, changes: Mapping[str, Any]) -> Any:
    """Return settings with other values.

    Args:
        settings: An object of settings.
        changes: By path, such as ``data.batch_size``.

    >>> from tablerec.training.settings import LoRA
    >>> change(LoRA(), {"rank": 2}).scale
    8.0
    """
    return to_settings(type(settings), merge(asdict(settings), changes))


def merge(values: Mapping[Any, Any], changes: Mapping[str, Any]) -> dict[Any, Any]:
    """Return the values of a file with other ones, by path.

    Raises:
        SettingsError: The file has a plain value where a group is meant.

    >>> merge({"data": {"source": "a:b"}}, {"data.batch_size": 2, "seed": 1})
    {'data': {'source': 'a:b', 'batch_size': 2}, 'seed': 1}
    """
    merged = dict(values)
    for path, value in changes.items():
        name, _, rest = path.partition(".")
        inner = merged.get(name) or {}
        if rest and not isinstance(inner, Mapping):
            raise _wrong(name, inner, _GROUP)
        merged[name] = merge(inner, {rest: value}) if rest else value
    return merged


def list_fields(kind: Any, prefix: str = "") -> Iterator[tuple[str, Field[Any], Any]]:
    """Yield path, field and type of each field: plain ones, then groups, each before its own fields.

    >>> from tablerec.training.settings import LoRA
    >>> [path for path, _, _ in list_fields(LoRA)]
    ['rank', 'alpha', 'target_modules']
    """
    for each in sorted(fields(kind), key=lambda each: is_dataclass(_hints(kind)[each.name])):
        hint = _hints(kind)[each.name]
        yield f"{prefix}{each.name}", each, hint
        if is_dataclass(hint):
            yield from list_fields(hint, f"{prefix}{each.name}.")


def describe(kind: Any) -> str:
    """Return what ``--settings`` prints: path, type, range, default and help of each field.

    >>> from tablerec.training.settings import LoRA
    >>> print(describe(LoRA).split(chr(10))[0])
    rank: a whole number, at least 1 (default 8)
    """
    lines = []
    for path, each, hint in list_fields(kind):
        if is_dataclass(hint):
            lines.append(f"\n{path}: {_help(each)}")
            continue
        default = each.default if each.default_factory is MISSING else each.default_factory()
        ending = "required" if default is MISSING else f"default {_plain(default)}"
        bounds = f", {_range(each)}" if _bounds(each) else ""
        lines += [f"{path}: {_type_text(hint)}{bounds} ({ending})"]
        lines += textwrap.wrap(_help(each), 100, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines).strip()


def to_values(settings: Any) -> dict[str, Any]:
    """Return the values that differ from the defaults, and those that are required, for JSON and YAML.

    >>> from tablerec.training.settings import LoRA
    >>> to_values(LoRA(rank=2))
    {'rank': 2}
    """
    values: dict[str, Any] = {}
    for each in fields(settings):
        value = getattr(settings, each.name)
        default = each.default if each.default_factory is MISSING else each.default_factory()
        if value != default:
            values[each.name] = to_values(value) if is_dataclass(value) else json.loads(json.dumps(value, default=str))
    return values


def to_json(settings: Any) -> str:
    """Return all values as JSON that ``to_settings`` reads."""
    return json.dumps(asdict(settings), default=str, indent=1)


def _plain(value: Any) -> str:
    """A value as YAML has it."""
    return value if isinstance(value, str) and value else json.dumps(value)


def _help(each: Field[Any]) -> str:
    return str(each.metadata["help"])


def _bounds(each: Field[Any]) -> Mapping[str, float]:
    bounds: Mapping[str, float] = each.metadata["bounds"]
    return bounds


def _range(each: Field[Any]) -> str:
    return " and ".join(_BOUNDS[name].format(bound) for name, bound in _bounds(each).items())


def _numbers(value: Any) -> list[float]:
    return [each for each in (value if isinstance(value, tuple) else [value]) if isinstance(each, (int, float))]


def _is_within(value: float, bounds: Mapping[str, float]) -> bool:
    low, high = bounds.get("low", -math.inf), bounds.get("high", math.inf)
    return low <= value <= high and bounds.get("above", -math.inf) < value < bounds.get("below", math.inf)


@lru_cache(maxsize=64)
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _short_name(name: Any) -> str:
    return name if isinstance(name, str) and name.isprintable() and len(name) < 60 else str(_SHORT.repr(name))


def _wrong(name: str, value: Any, wanted: str) -> SettingsError:
    return SettingsError(f"{name} is {_SHORT.repr(value)}: give {wanted}")


def _convert(hint: Any, value: Any, name: str) -> Any:
    """Return the value as a field of this type wants it."""
    if get_origin(hint) in (Union, types.UnionType):
        if value is None:
            return None
        (hint,) = (each for each in get_args(hint) if each is not type(None))
    if is_dataclass(hint):
        return value if isinstance(value, hint) else _to_group(hint, value, name)  # type: ignore[arg-type]
    origin = get_origin(hint) or hint
    try:
        if origin is tuple:
            kinds = get_args(hint)
            if not isinstance(value, (list, tuple)) or len(value) != len(kinds):
                raise ValueError
            return tuple(_READERS[kind](each) for kind, each in zip(kinds, value, strict=True))
        if origin is Literal:
            if not isinstance(value, str) or value not in get_args(hint):
                raise ValueError
            return value
        return _READERS[origin](value)
    except (ValueError, OverflowError) as error:
        raise _wrong(name, value, _type_text(hint)) from error


def _to_group(hint: Any, value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        raise _wrong(name, value, _GROUP)
    try:
        return to_settings(hint, value)
    except SettingsError as error:
        raise SettingsError(f"{name}.{error}") from error


_GROUP = "names with values, as in {name: value}"
_TEXTS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text, in quotes if need be",
    Path: "the name of a file or folder",
    Mapping: "names with values, each a number, a text, or lists and names of them",
}


def _type_text(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join("none" if each is type(None) else _type_text(each) for each in get_args(hint))
    if get_origin(hint) is Literal:
        return " or ".join(get_args(hint))
    if get_origin(hint) is tuple:
        return f"a list of {len(get_args(hint))} values, each {_type_text(get_args(hint)[0])}"
    return _TEXTS[get_origin(hint) or hint]


def _to_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or not math.isfinite(float(value)):
        raise ValueError
    return float(value)


def _to_int(value: Any) -> int:
    if not isinstance(value, int) and _to_float(value).is_integer():
        value = int(_to_float(value))
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _MAX_INT:
        raise ValueError
    return value


def _to_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _to_text(value: Any) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError
    return value


def _to_path(value: Any) -> Path:
    if not isinstance(value, (str, Path)) or not str(value) or "\0" in str(value):
        raise ValueError
    return Path(value)


def _to_mapping(value: Any) -> Mapping[str, Any]:
    """Names with plain values, or lists and mappings of them; not too many, as YAML can repeat a part without end."""
    pending, n_seen = [value], 0
    while pending:
        each, n_seen = pending.pop(), n_seen + 1
        if isinstance(each, Mapping) and all(isinstance(key, str) for key in each):
            pending += each.values()
        elif isinstance(each, (list, tuple)):
            pending += each
        elif not isinstance(each, (bool, int, float, str)):
            raise ValueError
        if n_seen + len(pending) > _MAX_VALUES:
            raise ValueError
    if not isinstance(value, Mapping):
        raise ValueError
    return value


_READERS: dict[Any, Any] = {
    bool: _to_bool,
    int: _to_int,
    float: _to_float,
    str: _to_text,
    Path: _to_path,
    Mapping: _to_mapping,
}
