"""The folder of an exported model: what its files are called, which model it is, and whether they are whole."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tablerec.errors import ModelNotFoundError
from tablerec.fields import read_text, read_yaml

DESCRIPTION = "inference.yml"
ONNX = "inference.onnx"
STATIC = ("inference.json", "inference.pdiparams")
NAME = "CellNet"
INPUT = "image"
OUTPUTS = ("quads", "scores", "picture", "table")
"""See ``tablerec.models.cellnet.decode``."""
LINES = "lines"
"""One more output of a network that also finds lines of text: ``(B, 8, h, w)`` float32, see ``models.cellnet``."""
WEIGHTS = Path(__file__).parent / "weights"
"""Folder of the weights that come with the package; without them ``auto`` works from rulings and words alone."""
LINENET = "LineNet"
LINENET_WEIGHTS = WEIGHTS / "linenet"
"""The same of the network that reads lines."""
LINENET_OUTPUTS = ("chars", "scores")
"""See ``tablerec.models.linenet.LineNetWithDecoder``."""


def read_model_name(folder: Path) -> str | None:
    """Return the name of the model in a folder, as ``inference.yml`` has it; None where there is none.

    The text is searched rather than parsed: that of a text recogniser lists its characters, which takes a second.

    >>> read_model_name(WEIGHTS), read_model_name(Path("no such folder"))
    ('CellNet', None)
    """
    try:
        text = read_text(folder / DESCRIPTION)
    except ValueError:
        return None
    found = re.search(r"""\bmodel_name:\s*["']?([\w.+-]+)""", text)
    return found[1] if found else None


def read_description(folder: Path, expected: str | None = NAME) -> Mapping[str, Any]:
    """Read ``inference.yml``; empty where there is none, since the other files do without it.

    Args:
        folder: The folder.
        expected: Name of the model; None for any.

    Raises:
        ModelNotFoundError: It is broken or describes another model.
    """
    path, name = folder / DESCRIPTION, read_model_name(folder)
    if not path.exists():
        return {}
    try:
        read = read_yaml(path)
        sums = read.get("sha256", {})
        if name is None:
            raise TypeError("it has no model_name")
        if not isinstance(sums, dict) or not all(isinstance(key, str) and Path(key).name == key for key in sums):
            raise TypeError("sha256 holds no file names")
    except (ValueError, TypeError, AttributeError) as error:
        cause = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ModelNotFoundError(f"{path} is damaged ({cause}): {_REPAIR}") from error
    if expected is not None and name != expected:
        raise ModelNotFoundError(f"{path} describes the model {name}: name the folder of an exported {NAME}")
    return dict(read)


def check_files(folder: Path, *names: str, expected: str | None = NAME) -> None:
    """Compare files with the sums in ``inference.yml``, so that a damaged one is not taken for a bad model.

    Args:
        folder: The folder.
        *names: Names of files in it.
        expected: Name of the model; None for any.

    Raises:
        ModelNotFoundError: A file is missing, cannot be read, or has another sum; or ``inference.yml`` is broken.
    """
    sums = read_description(folder, expected).get("sha256", {})
    for name in names:
        try:
            found = sha256(folder / name)
        except OSError as error:
            raise ModelNotFoundError(f"{folder / name} cannot be read ({error.strerror}): {_REPAIR}") from error
        if sums.get(name, found) != found:
            raise ModelNotFoundError(
                f"{folder / name} is damaged (its SHA-256 is not the one in {DESCRIPTION}): {_REPAIR}"
            )


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


_REPAIR = "export the network again with `tablerec export`, or install tablerec again if it is the package's"
