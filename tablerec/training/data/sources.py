"""Where samples come from: functions from an index to a picture with its cells."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import InputError, SettingsError
from tablerec.labels import Problem, find_unusable, load_image, read_labels
from tablerec.training.data.crops import crop_anew
from tablerec.training.data.line_pictures import LineFolder

Source = Callable[[int], Any]
"""From an index to anything with an ``image``, ``(H, W, 3)`` uint8 RGB, and ``quads`` or ``cells.quads``, \
``(N, 4, 2)`` px; the same index gives the same sample."""


MOST_NAMED = 10
"""Problems in a warning."""


class LabelledPicture(NamedTuple):
    """A picture and its cells.

    Args:
        image: ``(H, W, 3)`` uint8 RGB.
        quads: ``(N, 4, 2)`` float32 pixels, TL, TR, BR, BL.
    """

    image: NDArray[np.uint8]
    quads: NDArray[np.float32]


def load_source(text: str) -> Source:
    """Make a source from its description.

    Args:
        text: One of ``synth:RECIPE`` or ``synth:RECIPE@SEED``, synthetic tables of ``tablerec.synth``;
            ``folder:PATH``, labelled pictures in any format of ``tablerec.labels.read_labels``;
            ``crops:PATH``, the same, cropped, scaled and compressed anew each time (``crops.crop_anew``);
            ``lines:PATH``, such crops with lines of text in place of cells (``line_pictures.LineFolder``);
            ``MODULE:FUNCTION``. Several of them, separated by commas, each with its share:
            ``synth:mixed*3, crops:tables*1``. ``folder:PATH#train`` takes the labels of a split, where they have one.
            A picture with a bad label is skipped and named in a warning: the network would learn to miss its cells.

    Raises:
        SettingsError: There is no such recipe or function.
        InputError: The folder holds no labels of cells.
    """
    return mix_sources(text, _load_one)


def split_shares(text: str) -> list[tuple[str, float]]:
    """Split a source into its parts and their shares.

    Raises:
        SettingsError: A share is no number.

    >>> split_shares("synth:mixed*3, crops:tables"), split_shares("synth:mixed")
    ([('synth:mixed', 3.0), ('crops:tables', 1.0)], [('synth:mixed', 1.0)])
    """
    parts = [part.strip().partition("*") for part in text.split(",")]
    try:
        return [(name, float(share) if star else 1.0) for name, star, share in parts]
    except ValueError as error:
        raise SettingsError(f"source {text!r}: a share is no number ({error}); write SOURCE*SHARE, SOURCE") from error


def mix_sources(text: str, load_one: Callable[[str], Source]) -> Source:
    """Open the parts of a source, and take from each as often as its share says.

    Args:
        text: As of ``load_source``.
        load_one: Opens a part.

    Raises:
        SettingsError: A share is no number.
    """
    parts = split_shares(text)
    if len(parts) == 1:
        return load_one(parts[0][0])
    sources, shares = [load_one(name) for name, _ in parts], np.array([share for _, share in parts])
    ends = np.cumsum(shares) / shares.sum()

    def load(index: int) -> Any:
        chosen = np.searchsorted(ends, np.random.default_rng([index, 3]).random(), side="right")
        return sources[min(int(chosen), len(sources) - 1)](index)

    return load


def _load_one(text: str) -> Source:
    kind, _, name = text.partition(":")
    if kind in ("folder", "crops"):
        return _Folder(name, anew=kind == "crops")
    if kind == "lines":
        return LineFolder(Path(name))
    if kind == "synth":
        return _load_recipe(name)
    return load_function(text, "synth:RECIPE, folder:PATH, crops:PATH")


def load_function(text: str, others: str) -> Source:
    """Import ``MODULE:FUNCTION``.

    Args:
        text: The source.
        others: What else a source may be, for the message.

    Raises:
        SettingsError: There is no such function.
    """
    kind, _, name = text.partition(":")
    try:
        found: Source = getattr(import_module(kind), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(f"source {text!r} cannot be loaded ({error}): write {others} or MODULE:FUNCTION") from error
    return found


def _load_recipe(text: str) -> Source:
    name, _, seed = text.partition("@")
    try:
        synth = import_module("tablerec.synth")
        first = int(seed or 0)
    except (ImportError, ValueError) as error:
        raise SettingsError(f"source 'synth:{text}' cannot be loaded ({error}): write synth:RECIPE@SEED") from error
    recipe = synth.load_recipe(name)
    return lambda index: synth.draw(recipe, first, index)


class _Member(NamedTuple):
    """A picture of a folder; its text height is None where it is not known."""

    image: Path
    where: str
    quads: NDArray[np.float32]
    text_height: float | None


class _Folder:
    """Labelled pictures, in another order each time that all have been seen."""

    def __init__(self, text: str, *, anew: bool) -> None:
        self.anew = anew
        self.members = _read_members(text)

    def __call__(self, index: int) -> LabelledPicture:
        turn, place = divmod(index, len(self.members))
        member = self.members[shuffled(turn, len(self.members))[place]]
        try:
            image, quads = load_image(member.image), member.quads
        except InputError as error:
            raise InputError(f"{member.where}: {error}") from error
        if self.anew:
            image, quads = crop_anew(image, quads, member.text_height, np.random.default_rng([index, 5]))
        return LabelledPicture(image, quads)


def _read_members(text: str) -> list[_Member]:
    """Read ``PATH`` or ``PATH#SPLIT``; a picture with a bad label is skipped and named."""
    path, split = split_name(text)
    members: list[_Member] = []
    bad: list[Problem] = []
    splits: set[str] = set()
    for label in read_labels(path):
        if isinstance(label, Problem):
            bad += [label] * label.is_error
            continue
        splits |= {label.split} if label.split else set()
        if label.outlines_cells and split in ("", label.split):
            faults = find_unusable(label)
            bad += faults[:1]
            if not faults:
                members.append(_Member(label.image, label.where, label.quads.astype(np.float32), label.text_height))
    named = "".join(f"\n  {problem}" for problem in bad[:MOST_NAMED])
    check = f"`tablerec labels check {path}` names all faults"
    if not members:
        having = f"; its splits are {', '.join(sorted(splits)) or 'none'}" if split else ""
        raise InputError(
            f"source folder:{text} holds no labels of cells to train on{having}: give COCO, PPOCRLabel, "
            f"labelme, or for each picture a JSON file beside it, with `image` and `cells` with `quad` or `bbox`, and "
            f"bbox_kind `cell` in `meta`; {check}{named}"
        )
    if bad and parent_process() is None:  # the workers would say it again
        warnings.warn(f"{len(bad)} bad labels are skipped, {check}:{named}", stacklevel=2)
    return members


def split_name(text: str) -> tuple[Path, str]:
    """Split ``PATH#SPLIT``; a path that is there is one, whatever signs it holds."""
    path, mark, split = text.rpartition("#")
    return (Path(path), split) if mark and not Path(text).exists() else (Path(text), "")


@lru_cache(maxsize=2)
def shuffled(turn: int, count: int) -> Sequence[int]:
    """Return the numbers below ``count`` in an order of their own for each turn."""
    return np.random.default_rng([turn, 4]).permutation(count).tolist()
