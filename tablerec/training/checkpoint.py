"""Checkpoints: folders of safetensors and JSON, complete or absent."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tablerec.errors import InputError, OutputError
from tablerec.models.weights import Arrays, load_arrays, save_arrays

_PREFIX = "checkpoint-"


def save_checkpoint(folder: Path, step: int, groups: Mapping[str, Arrays], state: Mapping[str, Any]) -> Path:
    """Write a checkpoint and remove all but the two newest.

    It is written under another name and renamed, so that one is never found incomplete.

    Args:
        folder: Where the checkpoints of a run are.
        step: Number of steps taken.
        groups: Arrays by name, a file for each group.
        state: What else is to be kept, for JSON; paths are written as text.

    Raises:
        OutputError: It cannot be written; what was there before is left.
    """
    target = folder / f"{_PREFIX}{step:08d}"
    unfinished = folder / f"unfinished-{step:08d}"
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for name, arrays in groups.items():
            save_arrays(unfinished / f"{name}.safetensors", arrays)
        (unfinished / "state.json").write_text(json.dumps({"step": step, **state}, default=str), encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        os.replace(unfinished, target)
    except OSError as error:
        raise OutputError(f"{target} cannot be written ({error}): free some space or choose another output") from error
    for old in checkpoints(folder)[:-2]:
        shutil.rmtree(old, ignore_errors=True)
    return target


def checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, oldest first."""
    return sorted(path for path in folder.glob(f"{_PREFIX}*") if path.is_dir())


def load_checkpoint(path: Path) -> tuple[dict[str, dict[str, NDArray[Any]]], dict[str, Any]]:
    """Read a checkpoint: its groups of arrays and its state.

    Raises:
        InputError: A file is missing or broken.
    """
    try:
        state = json.loads((path / "state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is no checkpoint ({error}): remove it, an earlier one is then used") from error
    return {file.stem: load_arrays(file) for file in sorted(path.glob("*.safetensors"))}, state
