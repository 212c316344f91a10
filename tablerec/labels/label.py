"""A label: the cells of one picture, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from tablerec.errors import InputError
from tablerec.fields import short
from tablerec.inputs.images import load_pages
from tablerec.labels.files import find_picture

NO_SLOT = (-1, -1, -1, 1, 1)
_GREATEST = 1e9
_SPLIT = re.compile(r"\w[\w.-]{0,59}")
_MOST_POINTS = 4000


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a label.

    Args:
        where: File, and place in it.
        what: Cause and next step.
        is_error: Whether the label cannot be trained on as it is.
    """

    where: str
    what: str
    is_error: bool = True

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.is_error else f"{self.where}: note: {self.what}"


def _no_slots() -> NDArray[np.int32]:
    return np.zeros((0, 5), np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """The cells of one picture, as a label file has them: they may be wrong, see ``tablerec.labels.check``.

    Args:
        image: The picture.
        where: The file and the place in it, for messages.
        quads: ``(N, 4, 2)`` float64 pixels, TL, TR, BR, BL, of the upright picture.
        names: Of each cell in its file, for messages: ``annotation 12``.
        texts: Of each cell; None where it is not known.
        slots: ``(N, 5)`` int32 of each cell: number of its table, row, column, rows and columns covered, from 0;
            ``NO_SLOT`` where they are not known.
        split: ``train`` or ``val`` or another name; None where the format has none.
        size_wh: Width and height of the picture as the label has them, px.
        text_height: Of its lines, px, where it is known.
        outlines_cells: Whether the boxes are said to outline whole cells, and not the texts in them.
        problems: What could not be read.
    """

    image: Path
    where: str
    quads: Floats = field(default_factory=partial(np.zeros, (0, 4, 2)))
    names: tuple[str, ...] = ()
    texts: tuple[str | None, ...] = ()
    slots: NDArray[np.int32] = field(default_factory=_no_slots)
    split: str | None = None
    size_wh: tuple[int, int] | None = None
    text_height: float | None = None
    outlines_cells: bool = True
    problems: tuple[Problem, ...] = ()

    @property
    def has_errors(self) -> bool:
        """Whether something could not be read that must be."""
        return any(problem.is_error for problem in self.problems)


class LabelBuilder:
    """Collects the cells of one picture while its label is read.

    >>> builder = LabelBuilder("a.json")
    >>> builder.add("cells[0]", [0, 0, 8, 4], text="a")
    >>> builder.add("cells[1]", [0, "x", 8, 4])
    >>> label = builder.finish(Path("a.png"))
    >>> label.quads.tolist(), label.texts
    ([[[0.0, 0.0], [8.0, 0.0], [8.0, 4.0], [0.0, 4.0]]], ('a',))
    >>> print(label.problems[0])
    a.json: cells[1]: its place is [0, 'x', 8, 4], which is no list of numbers: correct or delete it
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.problems: list[Problem] = []
        self._quads: list[list[float]] = []
        self._names: list[str] = []
        self._texts: list[str | None] = []
        self._slots: list[tuple[int, ...]] = []

    def add(self, name: str, place: Any, *, text: Any = None, slot: Sequence[Any] = NO_SLOT) -> None:
        """Take a cell, or keep what is wrong with it; see ``place_to_quad``."""
        try:
            quad = place_to_quad(place)
        except ValueError as error:
            self.refuse(name, f"its place is {short(place)}, which is {error}: correct or delete it")
            return
        if slot is not NO_SLOT and not all(type(value) is int and -1 <= value < 1_000_000 for value in slot):
            self.refuse(name, f"its row, column and spans are {short(slot[1:])}: give whole numbers from 0")
            return
        self._quads.append(quad)
        self._names.append(name)
        self._texts.append(text if isinstance(text, str) else None)
        self._slots.append(tuple(slot))

    def refuse(self, name: str, what: str) -> None:
        """Keep an error."""
        self.problems.append(Problem(f"{self.where}: {name}" if name else self.where, what))

    def note(self, what: str) -> None:
        """Keep something that is no error."""
        self.problems.append(Problem(self.where, what, is_error=False))

    def find_picture(self, name: Any, folders: Sequence[Path], root: Path, instead: Path) -> Path:
        """Return where the picture is that the label names; ``instead`` where it is not there, which is an error."""
        try:
            return find_picture(name, folders, root)
        except InputError as error:
            self.refuse("", str(error))
            return instead

    def finish(self, image: Path, *, keep_order: bool = False, split: str | None = None, **others: Any) -> Label:
        """Return the label.

        Args:
            image: The picture.
            keep_order: Whether the format promises the order of corners; else they are put in order.
            split: Its name; a folder is called so when the label is converted.
            **others: Further fields.
        """
        if split and not _SPLIT.fullmatch(split):
            self.refuse("", f"its split {short(split)} is no plain name: write train, val or test")
            split = None
        quads = np.array(self._quads, np.float64).reshape(-1, 4, 2)
        return Label(
            image,
            self.where,
            quads if keep_order else order_corners(quads),
            tuple(self._names),
            tuple(self._texts),
            np.array(self._slots, np.int32).reshape(-1, 5),
            problems=tuple(self.problems),
            split=split,
            **others,
        )


def to_size(width: Any, height: Any) -> tuple[int, int] | None:
    """Width and height in pixels, where a label has both."""
    return (width, height) if isinstance(width, int) and isinstance(height, int) else None


def to_text_height(value: Any) -> float | None:
    """Height of the lines of text in pixels, where a label has one that can be."""
    return float(value) if isinstance(value, (int, float)) and 1 <= value <= 1000 else None


def place_to_quad(place: Any) -> list[float]:
    """Return the corners of a cell, in plain numbers: files hold hundreds of thousands.

    Args:
        place: ``[x0, y0, x1, y1]``, or the points of a polygon one after the other or each a pair: two are opposite
            corners of an upright box, four the corners; of more the upright hull is taken.

    Returns:
        x and y of each corner, eight numbers in pixels; not finite where they are not in the file.

    Raises:
        ValueError: It is none of these.

    >>> place_to_quad([[9, 2], [1, 0]])
    [1, 0, 9, 0, 9, 2, 1, 2]
    """
    if not isinstance(place, list) or len(place) > _MOST_POINTS:
        raise ValueError("no list of numbers")
    if any(isinstance(point, list) for point in place):
        place = [value for point in place for value in (point if isinstance(point, list) else [None])]
    flat: list[Any] = place
    if not all(type(value) in (int, float) for value in flat):
        raise ValueError("no list of numbers")
    if len(flat) < 4 or len(flat) % 2:
        raise ValueError(f"{len(flat)} numbers and not the corners of a cell")
    # What is not finite is found by the checker.
    if any(_GREATEST < abs(value) < float("inf") for value in flat):
        raise ValueError("beyond any picture")
    if len(flat) == 8:
        return flat
    x0, x1, y0, y1 = min(flat[::2]), max(flat[::2]), min(flat[1::2]), max(flat[1::2])
    return [x0, y0, x1, y0, x1, y1, x0, y1]


def order_corners(quads: Floats) -> Floats:
    """Put the corners in the order TL, TR, BR, BL, wherever and in whichever direction they begin.

    Args:
        quads: ``(N, 4, 2)`` pixels of cells turned by less than 45 degrees.

    >>> order_corners(np.array([[[0, 2], [4, 2], [4, 0], [0, 0]]])).tolist()
    [[[0, 0], [4, 0], [4, 2], [0, 2]]]
    """
    following = np.roll(quads, -1, axis=1)
    doubled_areas = (quads[..., 0] * following[..., 1] - quads[..., 1] * following[..., 0]).sum(axis=1)
    clockwise = np.where((doubled_areas < 0)[:, None, None], quads[:, ::-1], quads)
    first = clockwise.sum(axis=2).argmin(axis=1)
    order = (first[:, None] + np.arange(4)) % 4
    return np.take_along_axis(clockwise, order[:, :, None], axis=1)


def load_image(path: Path) -> NDArray[np.uint8]:
    """Read the picture of a label as the pipeline reads pictures: upright, over white.

    Returns:
        ``(H, W, 3)`` uint8 RGB.

    Raises:
        InputError: It cannot be read; the message names it.
    """
    page = next(load_pages(path), None)
    if page is None:
        raise InputError(f"{path} holds no picture: remove it or repair it")
    return np.ascontiguousarray(page.image[:, :, ::-1])
