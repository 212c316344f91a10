"""PaConvert, what it marked, what it missed, and the lines that are mended by hand."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablerec.errors import InputError, MissingDependencyError
from tablerec.fields import Fields, read_yaml
from tablerec.outputs.files import atomic_file

MARK = ">>>>>>"
"""What PaConvert puts before a line that it cannot convert."""
HELPER = "paddle_utils"
"""Module of stand-ins that PaConvert writes beside the converted files."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a converted file."""

    file: str
    line: int
    code: str


@dataclass(frozen=True, slots=True)
class Conversion:
    """What PaConvert says of its work.

    Args:
        n_calls: Uses of PyTorch that it saw.
        n_converted: Those that it rewrote, or left because Paddle has the same.
        marked: Lines that it could not convert.
    """

    n_calls: int
    n_converted: int
    marked: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """A mending by hand.

    Args:
        file: The converted file, below the folder.
        old: Text in it, wherever it occurs.
        new: What it becomes.
        shown_by: How the need showed: ``mark`` of PaConvert, ``name`` that Paddle lacks, ``error`` when it runs,
            ``values`` that differ.
        why: The reason.
    """

    file: str
    old: str
    new: str
    shown_by: str
    why: str


def convert(source: Path, target: Path) -> Conversion:
    """Convert the Python files of a folder with PaConvert (https://github.com/PaddlePaddle/PaConvert).

    The files are read, never run.

    Args:
        source: Folder of PyTorch code.
        target: Folder for the Paddle code.

    Raises:
        MissingDependencyError: PaConvert is not installed.
        InputError: There is no such folder, or PaConvert fails on it.
    """
    if importlib.util.find_spec("paconvert") is None:
        raise MissingDependencyError('the conversion needs PaConvert: run pip install "tablerec[migrate]"')
    if not source.is_dir():
        raise InputError(f"{source}: not a folder; name the one that holds the PyTorch code")
    command = [sys.executable, "-m", "paconvert.main", "-i", str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603, our own arguments
    counts = _counts(done.stdout + done.stderr)
    if done.returncode or counts is None:
        last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise InputError(f"{source}: PaConvert fails ({last}); try it on single files to find the one that stops it")
    return Conversion(*counts, tuple(find_marked(target)))


def find_marked(folder: Path) -> list[Place]:
    """Return the lines that PaConvert marked as not converted."""
    return [
        Place(_name(path, folder), number, line.removeprefix(MARK).strip())
        for path in _sources(folder)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if line.startswith(MARK)
    ]


def find_unknown(folder: Path) -> list[Place]:
    """Return the names below ``paddle`` that the installed Paddle does not have.

    PaConvert writes for the newest Paddle, which may not be out yet.

    Raises:
        InputError: A file is no Python, such as one with lines that PaConvert marked.
    """
    import paddle

    found = []
    for path in _sources(folder):
        for line, name in sorted(set(_dotted_names(path))):
            if name.startswith("paddle.") and not _exists(paddle, name.split(".")[1:]):
                found.append(Place(_name(path, folder), line, name))
    return found


def read_edits(path: Path) -> list[Edit]:
    """Read the mendings of a YAML file: a list of the fields of ``Edit``.

    Raises:
        InputError: The file cannot be read, or a field is missing or no text.
    """
    try:
        data = read_yaml(path)
    except ValueError as error:
        raise InputError(f"{path}: cannot be read as YAML ({error}); write it again") from error
    names = Edit.__dataclass_fields__
    return [Edit(*(item.text(name) for name in names)) for item in Fields(path, {"edits": data}).children("edits")]


def apply_edits(folder: Path, edits: Sequence[Edit]) -> int:
    """Mend converted files, and return the number of places.

    Raises:
        InputError: A text is not there, as another version of PaConvert or of the definition writes another one.

    >>> apply_edits(Path("."), [])
    0
    """
    return sum(_apply(folder, edit) for edit in edits)


@contextmanager
def set_apart() -> Iterator[None]:
    """Undo afterwards what running converted code does to the process.

    Its helper ``paddle_utils`` adds its folder to ``sys.path`` and gives ``paddle.Tensor`` other methods, and each
    conversion has one of its own under the same name.
    """
    import paddle

    path, methods = list(sys.path), dict(vars(paddle.Tensor))
    helper = sys.modules.pop(HELPER, None)
    try:
        yield
    finally:
        sys.path[:] = path
        sys.modules.pop(HELPER, None)
        if helper is not None:
            sys.modules[HELPER] = helper
        _restore(paddle.Tensor, methods)


def _restore(kind: Any, before: Mapping[str, Any]) -> None:
    for name, value in list(vars(kind).items()):
        if name not in before:
            delattr(kind, name)
        elif value is not before[name]:
            setattr(kind, name, before[name])


def _apply(folder: Path, edit: Edit) -> int:
    path = folder / edit.file
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{edit.file}: lies outside of {folder}; name a converted file")
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if not (count := text.count(edit.old)):
        raise InputError(f"{path}: does not hold {edit.old!r}; the mendings are for other versions, look at them again")
    with atomic_file(path) as file:
        file.write(text.replace(edit.old, edit.new).encode())
    return count


def _sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _counts(log: str) -> tuple[int, int] | None:
    found = [
        re.search(pattern, log) for pattern in (r"There are (\d+) Pytorch APIs", r"(\d+)\s+Pytorch APIs have been")
    ]
    n_calls, n_converted = (int(match[1]) if match else None for match in found)
    return None if n_calls is None or n_converted is None else (n_calls, n_converted)


def _dotted_names(path: Path) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise InputError(f"{path}: line {error.lineno} is no Python; mend the marked lines first") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (name := _dotted(node)):
            yield node.lineno, name


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    before = _dotted(node.value) if isinstance(node, ast.Attribute) else None
    return f"{before}.{node.attr}" if before and isinstance(node, ast.Attribute) else None


def _exists(value: object, names: Sequence[str]) -> bool:
    for name in names:
        if not hasattr(value, name):
            return False
        value = getattr(value, name)
    return True
