"""Checkpoints: folders of safetensors and JSON, complete or absent.

Paddle's own checkpoints (``paddle.distributed.save_state_dict``) keep a pickle beside the arrays, and reading one runs
whatever it holds. So ours are arrays alone, each whole in one file and under a name that no other has: any number of
ranks reads what any other number wrote, with ``load_checkpoint`` or with Paddle's loader and ``safetensors=True``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tablerec.errors import InputError, OutputError
from tablerec.fields import parse_json, read_text
from tablerec.models.arrays import Arrays, load_arrays, save_arrays

_PREFIX = "checkpoint-"
_UNFINISHED = "unfinished-"
_STATE = "state.json"


def save_checkpoint(
    folder: Path,
    step: int,
    groups: Mapping[str, Arrays],
    state: Mapping[str, Any],
    number: int = 0,
    count: int = 1,
    meet: Callable[[], object] = lambda: None,
) -> Path:
    """Write a checkpoint and remove all but the two newest.

    It is written under another name, brought to the disk and renamed: however the process ends, none is found
    incomplete. Of several ranks each writes what it alone holds, and the first one renames.

    Args:
        folder: Where the checkpoints of a run are.
        step: Number of steps taken.
        groups: Arrays by name, a file for each group.
        state: What else is to be kept, for JSON; paths are written as text.
        number: Which of the ranks this is, from 0.
        count: How many ranks there are; all call this, with the same folder and step.
        meet: Waits until all ranks are here.

    Raises:
        OutputError: It cannot be written; what was there before is left.
    """
    target, unfinished = folder / f"{_PREFIX}{step:08d}", folder / f"{_UNFINISHED}{step:08d}"
    begun = time.monotonic()
    try:
        if number == 0:
            for left in folder.glob(f"{_UNFINISHED}*"):
                shutil.rmtree(left, ignore_errors=True)
            unfinished.mkdir(parents=True)
        meet()
        _write(unfinished, groups, {"step": step, "ranks": count, **state}, number, begun)
        meet()
        if number == 0:
            # A run that ends where it began saves its step again; should it be killed here, the one before remains.
            shutil.rmtree(target, ignore_errors=True)
            os.replace(unfinished, target)
            _sync(folder)
            for old in checkpoints(folder)[:-2]:
                shutil.rmtree(old, ignore_errors=True)
        meet()
    except (OSError, OutputError) as error:
        raise OutputError(f"{target} cannot be written ({error}): free some space or choose another output") from error
    return target


def _write(folder: Path, groups: Mapping[str, Arrays], state: dict[str, Any], number: int, begun: float) -> None:
    """Write the files of one rank; the state comes last, with the sums of the others."""
    sums = {}
    for group, arrays in groups.items():
        path = folder / _of_rank(f"{group}.safetensors", number)
        save_arrays(path, {f"{group}/{name}": array for name, array in arrays.items()})
        _sync(path)
        sums[path.name] = _sum(path)
    path = folder / _of_rank(_STATE, number)
    state = {**state, "sums": sums, "seconds_to_save": round(time.monotonic() - begun, 3)}
    path.write_text(json.dumps(state, default=str), encoding="utf-8")
    _sync(path)
    _sync(folder)


def _of_rank(name: str, number: int) -> str:
    """The first rank's files have the plain name.

    >>> _of_rank("state.json", 0), _of_rank("state.json", 2)
    ('state.json', 'state.2.json')
    """
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}.{number}{dot}{suffix}" if number else name


def _sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk; Windows does so for files alone."""
    if path.is_dir() and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, oldest first."""
    return sorted(path for path in folder.glob(f"{_PREFIX}*") if path.is_dir())


def load_checkpoint(path: Path) -> tuple[dict[str, dict[str, NDArray[Any]]], dict[str, Any]]:
    """Read a checkpoint: its groups of arrays, and the state of the first rank.

    Where several ranks wrote it, ``of_ranks`` in the state holds the states of all.

    Raises:
        InputError: A file is missing or broken.
    """
    state = _read_state(path, 0)
    states = [state, *(_read_state(path, number) for number in range(1, state.get("ranks", 1)))]
    groups: dict[str, dict[str, NDArray[Any]]] = {}
    for each in states:
        for name, expected in each["sums"].items():
            file = path / Path(name).name
            if not file.is_file() or _sum(file) != expected:
                raise InputError(f"{file} is not as it was written: remove {path}, an earlier one is then used")
            for key, array in load_arrays(file).items():
                group, _, own = key.partition("/")
                groups.setdefault(group, {})[own] = array
    return groups, {**state, "of_ranks": states} if len(states) > 1 else state


def _read_state(path: Path, number: int) -> dict[str, Any]:
    file = path / _of_rank(_STATE, number)
    try:
        state = parse_json(read_text(file))
        if not isinstance(state, dict) or not isinstance(state.get("sums"), dict):
            raise ValueError("it lists no files")
    except ValueError as error:
        raise InputError(f"{path} is no checkpoint ({error}): remove it, an earlier one is then used") from error
    return state


def load_newest(
    folder: Path, report: Callable[[str], None]
) -> tuple[Path, dict[str, dict[str, NDArray[Any]]], dict[str, Any]] | None:
    """Read the newest whole checkpoint in a folder; None where there is none at all.

    Args:
        folder: Where the checkpoints of a run are.
        report: Called with a line for each one that is broken and skipped.

    Raises:
        InputError: All are broken.
    """
    found = checkpoints(folder)
    for path in reversed(found):
        try:
            return (path, *load_checkpoint(path))
        except InputError as error:
            report(f"skipped: {error}")
    if found:
        raise InputError(f"{folder}: all checkpoints are broken; remove them to begin anew")
    return None
