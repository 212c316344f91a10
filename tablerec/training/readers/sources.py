"""Where lines come from: functions from an index to a picture with its text."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from multiprocessing import parent_process
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import InputError, SettingsError
from tablerec.labels import Problem, load_image
from tablerec.models.characters import unknown_characters
from tablerec.training.data.sources import (
    MOST_NAMED,
    load_function,
    mix_sources,
    shuffled,
    split_name,
    split_shares,
)
from tablerec.training.readers.cells import LabelledCell, cut_line, read_cells
from tablerec.training.readers.lists import ListedLine, read_lists

LineSource = Callable[[int], Any]
"""From an index to anything with an ``image``, ``(h, w, 3)`` uint8 RGB, and its ``text`` from left to right; the same \
index gives the same line."""

_MOST_TRIES = 50
"""Cells in turn that hold no line, or several, before it is an error."""


class Line(NamedTuple):
    """A picture of a line and its text.

    Args:
        image: ``(h, w, 3)`` uint8 RGB.
        text: From left to right.
    """

    image: NDArray[np.uint8]
    text: str


def load_lines(text: str, characters: str) -> LineSource:
    """Make a source of lines from its description.

    Args:
        text: One of ``synth:lines``, ``synth:lines/KIND`` or either with ``@SEED``, synthetic lines of
            ``tablerec.synth.lines``; ``lines:PATH``, recognition lists as PaddleOCR has them; ``crops:PATH``, cells
            with one line of labelled tables, such as those that `tablerec review` saves; ``MODULE:FUNCTION``. Several
            of them, separated by commas, each with its share: ``synth:lines*3, lines:my*1``. ``PATH#train`` takes the
            labels of a split.
        characters: What the network reads. A label with another is skipped, counted and named in a warning.

    Raises:
        SettingsError: There is no such kind of lines or function.
        InputError: The lists or labels cannot be read, or hold nothing to train on.
    """
    return mix_sources(text, lambda part: _load_one(part, characters))


def _load_one(text: str, characters: str) -> LineSource:
    kind, _, name = text.partition(":")
    if kind in ("lines", "crops"):
        return _Labelled(text, characters)
    if kind == "synth":
        return _load_synthetic(name)
    return load_function(text, "synth:lines, lines:PATH, crops:PATH")


def _load_synthetic(text: str) -> LineSource:
    name, _, seed = text.partition("@")
    first, _, kind = name.partition("/")
    try:
        number = int(seed or 0)
    except ValueError as error:
        raise SettingsError(f"source 'synth:{text}' cannot be loaded ({error}): write synth:lines@SEED") from error
    if first != "lines":
        raise SettingsError(f"source 'synth:{text}' holds tables, not lines: write synth:lines or synth:lines/KIND")
    found: LineSource = import_module("tablerec.synth.lines").load_line_source(kind or "mixed", number)
    return found


class _Labelled:
    """Labelled lines, in another order each time that all have been seen."""

    def __init__(self, text: str, characters: str) -> None:
        self.text = text
        self.members = _keep_known(text, characters)

    def __call__(self, index: int) -> Line:
        turn, place = divmod(index, len(self.members))
        order, rng = shuffled(turn, len(self.members)), np.random.default_rng([index, 6])
        for step in range(min(_MOST_TRIES, len(order))):
            member = self.members[order[(place + step) % len(order)]]
            found = _open(member, rng)
            if found is not None:
                return Line(found, member.text)
        raise InputError(f"source {self.text}: {_MOST_TRIES} cells in turn hold no line of text that stands alone")


def _open(member: ListedLine | LabelledCell, rng: np.random.Generator) -> NDArray[np.uint8] | None:
    try:
        image = load_image(member.image)
    except InputError as error:
        raise InputError(f"{member.where}: {error}") from error
    return cut_line(image, member.quad, rng) if isinstance(member, LabelledCell) else image


def _read(text: str) -> Iterator[ListedLine | LabelledCell | Problem]:
    kind, _, name = text.partition(":")
    path, split = split_name(name)
    return read_lists(path, split) if kind == "lines" else read_cells(path, split)


def _keep_known(text: str, characters: str) -> Sequence[ListedLine | LabelledCell]:
    known = frozenset(characters)
    members: list[ListedLine | LabelledCell] = []
    bad: list[Problem] = []
    strange: Counter[str] = Counter()
    for each in _read(text):
        if isinstance(each, Problem):
            bad.append(each)
        elif new := unknown_characters(each.text, known):
            strange.update(new)
        else:
            members.append(each)
    named = "".join(f"\n  {problem}" for problem in bad[:MOST_NAMED])
    if strange:
        some = " ".join(char for char, _ in strange.most_common(40))
        named += f"\n  labels with characters that the network does not read: {some}; see network.characters"
    if not members:
        raise InputError(
            f"source {text} holds no lines to train on: give lists with PICTURE<tab>TEXT on each line (lines:PATH), or "
            f"labelled tables whose cells have texts (crops:PATH){named}"
        )
    if named and parent_process() is None:  # the workers would say it again
        warnings.warn(f"{text}: labels are skipped:{named}", stacklevel=2)
    return members


def new_characters(sources: Iterable[str], characters: str) -> str:
    """Return the characters of labels that a list lacks, those of more labels first.

    Args:
        sources: See ``load_lines``; synthetic lines and functions are not looked at.
        characters: The list.

    Raises:
        InputError: Lists or labels cannot be read.
    """
    known, found = frozenset(characters), Counter[str]()
    for name, _ in (part for text in sources for part in split_shares(text)):
        if name.partition(":")[0] in ("lines", "crops"):
            for each in _read(name):
                if not isinstance(each, Problem):
                    found.update(unknown_characters(each.text, known))
    return "".join(char for char, _ in found.most_common())
