"""Weights that move between networks which name, join or turn them differently: a small map says how.

A map is a list of steps in YAML. In names, ``#`` stands for a number and ``*`` for anything; what they stand for is put
in their places in the new name, in the same order::

    - rename: {"*._mean": "*.running_mean", "neck.*.bn.*": "neck.*.norm.*"}
    - split: "*.in_proj_weight"
      into: ["*.q_proj.weight", "*.k_proj.weight", "*.v_proj.weight"]
      axis: 1
    - transpose: ["*.q_proj.weight", "*.fc#.weight"]
    - pad: ["class_embed.weight"]       # a row of zeros at the end
    - drop: ["*.num_batches_tracked"]
    - cast: float32

``merge`` is the reverse of ``split``. Every step but the last two can be undone, so a map serves both ways; what is
dropped is so both ways.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import InputError, SettingsError
from tablerec.fields import read_yaml, short

Arrays = Mapping[str, NDArray[Any]]

MAPS = Path(__file__).parents[1] / "maps"
"""Maps in the package: see the first lines of each."""
_KINDS = ("rename", "split", "merge", "transpose", "pad", "drop", "cast")
_CASTS = ("float32", "float16", "float64")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a map.

    Args:
        kind: ``rename``, ``split``, ``merge``, ``transpose``, ``pad``, ``drop`` or ``cast``.
        names: Patterns of the names that it takes; all of those to merge; of a cast the type.
        into: Patterns of the names that it gives.
        axis: Where it splits or merges.
    """

    kind: str
    names: tuple[str, ...]
    into: tuple[str, ...] = ()
    axis: int = 0

    def reversed(self) -> Step | None:
        """Return the step that undoes this one; None for a cast."""
        if self.kind == "cast":
            return None
        if self.kind in ("transpose", "drop", "pad", "unpad"):
            return replace(self, kind={"pad": "unpad", "unpad": "pad"}.get(self.kind, self.kind))
        opposite = {"rename": "rename", "split": "merge", "merge": "split"}
        return Step(opposite[self.kind], self.into, self.names, self.axis)


class Mapped(NamedTuple):
    """What a map made.

    Args:
        arrays: Arrays by their new names.
        untouched: Names to which no step applied.
    """

    arrays: dict[str, NDArray[Any]]
    untouched: list[str]


def read_map(name: str) -> tuple[Step, ...]:
    """Read a map.

    Args:
        name: Of a map in the package, or the path of a YAML file.

    Raises:
        InputError: There is no such map, or it cannot be read.
        SettingsError: A step is none.
    """
    known = sorted(path.stem for path in MAPS.glob("*.yaml"))
    path = MAPS / f"{name}.yaml" if name in known else Path(name)
    try:
        read = read_yaml(path)
    except ValueError as error:
        raise InputError(
            f"map {path} cannot be read ({error}): name a YAML file or one of {', '.join(known)}"
        ) from error
    if not isinstance(read, list):
        raise SettingsError(f"map {path} is no list of steps: begin each with `- rename:` or another of {_KINDS}")
    return tuple(step for each in read for step in _read_step(path, each))


def _read_step(path: Path, read: Any) -> list[Step]:
    kinds = [kind for kind in _KINDS if isinstance(read, dict) and kind in read]
    if len(kinds) != 1 or set(read) - {kinds[0], "into", "axis"}:
        raise SettingsError(f"map {path}: {short(read)} is no step; give one of {', '.join(_KINDS)}")
    kind, value, into, axis = kinds[0], read[kinds[0]], _texts(read.get("into", [])), read.get("axis", 0)
    if kind == "rename" and isinstance(value, dict):
        steps = [Step(kind, _texts(old), _texts(new)) for old, new in value.items()]
    else:
        steps = [Step(kind, _texts(value), into, axis if isinstance(axis, int) else 0)]
    for step in steps:
        _check(path, step)
    return steps


def _texts(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(each for each in values if isinstance(each, str))


def _check(path: Path, step: Step) -> None:
    wanted = {"rename": (1, 1), "split": (1, 2), "merge": (2, 1)}.get(step.kind, (1, 0))
    if len(step.names) < wanted[0] or len(step.into) < wanted[1]:
        raise SettingsError(f"map {path}: {step.kind} of {list(step.names)} lacks names: see the maps in the package")
    if step.kind == "cast" and step.names[0] not in _CASTS:
        raise SettingsError(f"map {path}: cast to {step.names[0]}: choose {', '.join(_CASTS)}")
    marks = {re.sub(r"[^#*]", "", name) for name in step.names + step.into if step.into}
    if len(marks) > 1:
        raise SettingsError(f"map {path}: {step.names[0]} and {step.into[0]} have other marks (# and *)")


def apply_map(arrays: Arrays, steps: Sequence[Step], *, reverse: bool = False) -> Mapped:
    """Rename, join, part and turn arrays.

    Args:
        arrays: Arrays by name.
        steps: Of ``read_map``.
        reverse: Undo the map; what it casts stays as it is.

    Raises:
        InputError: An array does not fit its step, or two get the same name.

    >>> steps = (Step("rename", ("a.#.bn._mean",), ("b.#.norm.mean",)), Step("transpose", ("*.weight",)))
    >>> made = apply_map({"a.3.bn._mean": np.zeros(2), "fc.weight": np.zeros((2, 3)), "x": np.ones(1)}, steps)
    >>> {name: array.shape for name, array in made.arrays.items()}
    {'b.3.norm.mean': (2,), 'fc.weight': (3, 2), 'x': (1,)}
    >>> made.untouched
    ['x']
    >>> sorted(apply_map(made.arrays, steps, reverse=True).arrays)
    ['a.3.bn._mean', 'fc.weight', 'x']
    """
    undone = [step.reversed() for step in reversed(steps)] if reverse else steps
    made, untouched = dict(arrays), set(arrays)
    for step in undone:
        if step is not None:
            made, touched = _STEPS[step.kind](made, step)
            untouched -= touched
    return Mapped(made, sorted(untouched))


def _match(pattern: str, name: str) -> tuple[str, ...] | None:
    """What the marks of a pattern stand for in a name."""
    parts = {"#": r"(\d+)", "*": r"(.+?)"}
    expression = "".join(parts.get(part, re.escape(part)) for part in re.split(r"([#*])", pattern))
    found = re.fullmatch(expression, name)
    return found.groups() if found else None


def _fill(pattern: str, values: Sequence[str]) -> str:
    remaining = iter(values)
    return re.sub(r"[#*]", lambda _: next(remaining), pattern)


def _put(arrays: dict[str, NDArray[Any]], name: str, array: NDArray[Any]) -> None:
    if name in arrays:
        raise InputError(f"the map gives two arrays the name {name}: it is for weights of another network")
    arrays[name] = array


Made = tuple[dict[str, NDArray[Any]], set[str]]


def _split(arrays: Arrays, step: Step) -> Made:
    """Renames too: into one part."""
    made: dict[str, NDArray[Any]] = {}
    touched = set()
    for name, array in arrays.items():
        values = _match(step.names[0], name)
        if values is None:
            _put(made, name, array)
            continue
        n_parts = len(step.into)
        if n_parts > 1 and (not -array.ndim <= step.axis < array.ndim or array.shape[step.axis] % n_parts):
            raise InputError(f"{name} of {list(array.shape)} has no {n_parts} equal parts along axis {step.axis}")
        parts = np.split(array, n_parts, step.axis) if n_parts > 1 else [array]
        for pattern, part in zip(step.into, parts, strict=True):
            _put(made, _fill(pattern, values), part)
        touched.add(name)
    return made, touched


def _merge(arrays: Arrays, step: Step) -> Made:
    found: dict[tuple[str, ...], dict[int, str]] = {}
    for name in arrays:
        for number, pattern in enumerate(step.names):
            values = _match(pattern, name)
            if values is not None:
                found.setdefault(values, {})[number] = name
                break
    touched = {name for names in found.values() for name in names.values()}
    made = {name: array for name, array in arrays.items() if name not in touched}
    for values, names in found.items():
        if len(names) < len(step.names):
            missing = next(number for number in range(len(step.names)) if number not in names)
            raise InputError(f"{_fill(step.names[missing], values)} is missing: {min(names.values())} belongs to it")
        parts = [arrays[names[number]] for number in range(len(step.names))]
        try:
            _put(made, _fill(step.into[0], values), np.concatenate(parts, step.axis))
        except ValueError as error:
            raise InputError(f"{names[0]} and its like cannot be joined along axis {step.axis} ({error})") from error
    return made, touched


def _change(arrays: Arrays, step: Step) -> Made:
    """Transpose, pad, drop or cast."""
    made: dict[str, NDArray[Any]] = {}
    touched = set()
    for name, array in arrays.items():
        if step.kind == "cast":
            made[name] = array.astype(step.names[0]) if array.dtype.kind == "f" else array
        elif not any(_match(pattern, name) is not None for pattern in step.names):
            made[name] = array
        else:
            touched.add(name)
            if step.kind != "drop":
                made[name] = _changed(name, array, step.kind)
    return made, touched


def _changed(name: str, array: NDArray[Any], kind: str) -> NDArray[Any]:
    if array.ndim < 1 or (kind == "transpose" and array.ndim != 2):
        raise InputError(f"{name} of {list(array.shape)} cannot be changed by {kind}: the map is for another network")
    if kind == "transpose":
        return np.ascontiguousarray(array.T)
    return array[:-1] if kind == "unpad" else np.concatenate([array, np.zeros_like(array[:1])])


_STEPS = {
    "rename": _split,
    "split": _split,
    "merge": _merge,
    **dict.fromkeys(("transpose", "pad", "unpad", "drop", "cast"), _change),
}


def load_weights(path: Path) -> dict[str, NDArray[Any]]:
    """Read weights by the ending of the file: ``.pdparams``, PyTorch's ``.pt``, ``.pth`` and ``.bin``, or safetensors.

    Args:
        path: The file, or a folder of ``tablerec export``.

    Raises:
        InputError: It cannot be read, or holds anything but arrays.
    """
    from tablerec.models.arrays import load_arrays
    from tablerec.models.formats.pickles import load_pdparams, load_torch

    readers = {".pdparams": load_pdparams, **dict.fromkeys((".pt", ".pth", ".bin"), load_torch)}
    return readers.get(path.suffix, load_arrays)(path)


def save_weights(path: Path, arrays: Arrays) -> None:
    """Write weights as ``.pdparams`` or ``.safetensors``, completely or not at all.

    Raises:
        SettingsError: The file has another ending.
        OutputError: It cannot be written.
    """
    from tablerec.models.arrays import save_arrays
    from tablerec.models.formats.pickles import save_pdparams

    writers = {".pdparams": save_pdparams, ".safetensors": save_arrays}
    if path.suffix not in writers:
        raise SettingsError(f"{path}: weights are written as .safetensors, which PyTorch can read, or as .pdparams")
    writers[path.suffix](path, arrays)


def compare_names(arrays: Arrays, like: Arrays) -> list[str]:
    """Say in lines how names and shapes differ from those of a network.

    >>> compare_names({"a": np.zeros(2), "b": np.zeros(1)}, {"a": np.zeros(3), "c": np.zeros(1)})
    ['missing: c', 'unknown: b', 'a is [2], not [3]']
    """
    lines = [f"missing: {name}" for name in sorted(set(like) - set(arrays))]
    lines += [f"unknown: {name}" for name in sorted(set(arrays) - set(like))]
    return lines + [
        f"{name} is {list(arrays[name].shape)}, not {list(like[name].shape)}"
        for name in sorted(set(arrays) & set(like))
        if arrays[name].shape != like[name].shape
    ]


def check_round_trip(arrays: Arrays, made: Arrays, steps: Sequence[Step], *, reverse: bool = False) -> list[str]:
    """Undo a map and say in lines what is not as it was, bit for bit; what it drops and casts is not looked at.

    Args:
        arrays: What the map was applied to.
        made: What it made.
        steps: The map.
        reverse: Whether it was applied in reverse.

    >>> steps = (Step("split", ("qkv",), ("q", "k")),)
    >>> check_round_trip({"qkv": np.arange(4)}, {"q": np.arange(2), "k": np.arange(2)}, steps)
    ['qkv is not as it was']
    """
    dropped = [pattern for step in steps if step.kind == "drop" for pattern in step.names]
    back = apply_map(made, steps, reverse=not reverse).arrays
    wanted = {name: each for name, each in arrays.items() if all(_match(one, name) is None for one in dropped)}
    lines = compare_names(back, wanted)
    if any(step.kind == "cast" for step in steps):
        return lines
    same = [name for name in wanted if name in back and back[name].shape == wanted[name].shape]
    return lines + [f"{name} is not as it was" for name in same if not np.array_equal(back[name], wanted[name])]
