"""Samples of lines: each in a frame of the network's height."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablerec.training.data.feed import Layout
from tablerec.training.readers.sources import Line, LineSource, load_lines

HEIGHT, STRIDE, PAPER = 32, 4, 127
"""As in ``tablerec.models.linenet``, which imports Paddle."""


class FramedLine(NamedTuple):
    """A line in its frame.

    Args:
        width: ``()`` int64 pixels of the frame that it takes.
        length: ``()`` int64 characters of its label.
        label: ``(L,)`` int32 classes of its characters, see ``tablerec.models.linenet``; zeros after the last one.
        image: ``(32, W, 3)`` uint8 RGB.
    """

    width: NDArray[np.int64]
    length: NDArray[np.int64]
    label: NDArray[np.int32]
    image: NDArray[np.uint8]


class LineFrame(NamedTuple):
    """What samples of lines look like.

    Args:
        width: Of the frame in pixels; a line that is wider at the network's height is squeezed.
        characters: What the network reads; the class of a character is its place here, counted from 1.
    """

    width: int
    characters: str

    def load(self, source: str) -> LineSource:
        """Open a source of lines, see ``sources.load_lines``."""
        return load_lines(source, self.characters)

    def prepare(self, load: LineSource, index: int) -> FramedLine:
        """Prepare the sample of an index."""
        return frame_line(load(index), self)

    def layout(self) -> Layout:
        """Type and shape of the arrays of a sample."""
        return {
            "width": (np.int64, ()),
            "length": (np.int64, ()),
            "label": (np.int32, (self.width // STRIDE,)),
            "image": (np.uint8, (HEIGHT, self.width, 3)),
        }

    def make(self, arrays: Mapping[str, Any]) -> FramedLine:
        """Make a sample of its arrays."""
        return FramedLine(**arrays)


def frame_line(line: Line, frame: LineFrame) -> FramedLine:
    """Scale a line to the network's height, and write its text as classes.

    Raises:
        ValueError: It has no text, characters that the network does not read, or more than there are positions.
    """
    import cv2

    height, width = line.image.shape[:2]
    wanted = min(max(STRIDE, round(width * HEIGHT / height)), frame.width)
    label = encode(line.text, frame.characters)
    check_length(label, wanted)
    how = cv2.INTER_AREA if height > HEIGHT else cv2.INTER_LINEAR
    image = np.full((HEIGHT, frame.width, 3), PAPER, np.uint8)
    image[:, :wanted] = cv2.resize(line.image, (wanted, HEIGHT), interpolation=how)
    padded = np.zeros(frame.width // STRIDE, np.int32)
    padded[: len(label)] = label
    return FramedLine(np.array(wanted), np.array(len(label)), padded, image)


def encode(text: str, characters: str) -> list[int]:
    """Write a text as classes.

    Raises:
        ValueError: It is empty, or holds a character that is not in the list.

    >>> encode("ba", "ab")
    [2, 1]
    """
    classes = _classes(characters)
    unknown = [char for char in text if char not in classes]
    if unknown or not text:
        raise ValueError(f"the label {text[:40]!r} holds {unknown[0]!r}" if unknown else "the label is empty")
    return [classes[char] for char in text]


def check_length(label: list[int], width: int) -> None:
    """Make sure that CTC can read a label: a position for each character, and one between two that are alike.

    Raises:
        ValueError: There are too few positions.
    """
    needed = len(label) + sum(a == b for a, b in pairwise(label))
    if needed > -(-width // STRIDE):
        raise ValueError(f"{len(label)} characters in {width} px are more than the network has positions for")


@lru_cache(maxsize=4)
def _classes(characters: str) -> dict[str, int]:
    return {char: number for number, char in enumerate(characters, start=1)}
