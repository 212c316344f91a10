"""Runs of set pixels in the rows of a mask: morphology and labels that cost by the ink, not by the area."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Flags, Ints
from postprocess.geometry.boxes import connected


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of pixels, row by row and from left to right.

    Args:
        row: ``(N,)`` row of each run.
        start: ``(N,)`` first pixel.
        end: ``(N,)`` pixel after the last.
        width: Of the mask, pixels.
    """

    row: Ints
    start: Ints
    end: Ints
    width: int

    def closed(self, size: int) -> Runs:
        """Runs with the gaps below ``size`` pixels closed, as OpenCV does with a kernel of ``(1, size)``.

        >>> mask_to_runs(np.array([[0, 0, 0, 1, 0, 0, 1, 0, 0, 0]])).closed(3).end.tolist()
        [7]
        """
        joined = (self.row[1:] == self.row[:-1]) & (self.start[1:] - self.end[:-1] < size)
        first, last = np.append(True, ~joined)[: len(self.row)], np.append(~joined, True)[: len(self.row)]
        before, after, shift = _kernel(size)
        start, end = self.start[first], self.end[last]
        # Beyond the border all pixels count as set.
        start = np.where(start <= after, 0, start + shift)
        end = np.where(end + before >= self.width, self.width, end + shift)
        return Runs(self.row[first], start, end, self.width)

    def opened(self, size: int) -> Runs:
        """Runs of at least ``size`` pixels, as OpenCV has them after opening with a kernel of ``(1, size)``.

        >>> mask_to_runs(np.array([[0, 1, 1, 1, 0, 1, 0, 0]])).opened(3).start.tolist()
        [1]
        """
        before, after, shift = _kernel(size)
        start = np.where(self.start == 0, -before, self.start)
        end = np.where(self.end == self.width, self.width + after, self.end)
        long = end - start >= size
        start, end = (np.clip(side[long] + shift, 0, self.width) for side in (start, end))
        return Runs(self.row[long], start, end, self.width)

    def count(self, mask: Runs) -> Ints:
        """``(N,)`` pixels of each run that are set in another mask of the same size.

        >>> mask_to_runs(np.ones((1, 5))).count(mask_to_runs(np.array([[1, 1, 0, 1, 0]]))).tolist()
        [3]
        """
        starts, ends = mask._flat()
        total = np.append(0, np.cumsum(ends - starts))
        ends = np.append(0, ends)
        upto = [np.searchsorted(starts, at, side="right") for at in self._flat()]
        before, after = (total[k] - np.maximum(ends[k] - at, 0) for k, at in zip(upto, self._flat(), strict=True))
        return np.asarray(after - before)

    def part(self) -> Ints:
        """``(N,)`` number of the connected part that each run belongs to, corners count, from 0.

        >>> mask_to_runs(np.array([[1, 0, 0, 1], [0, 1, 0, 1]])).part().tolist()
        [0, 1, 0, 1]
        """
        starts, ends = self._flat()
        low, high = (
            np.searchsorted(ends, starts + self.width + 1),
            np.searchsorted(starts, ends + self.width + 1, "right"),
        )
        count = np.maximum(high - low, 0)
        above = np.repeat(np.arange(len(low)), count)
        within = np.arange(len(above)) - np.repeat(np.cumsum(count) - count, count)
        return connected(len(starts), above, low[above] + within)

    def _flat(self) -> tuple[Ints, Ints]:
        """Start and end as places in the rows put one after the other, with a pixel between two rows."""
        return self.row * (self.width + 1) + self.start, self.row * (self.width + 1) + self.end


_EIGHT = 8
"""Flags in a number of 64 bits."""
_SMALL = 2**31 - 2**16
"""Places below this are numbers of 32 bits, also those beside them."""


def mask_to_runs(mask: NDArray[np.generic]) -> Runs:
    """Runs of a ``(height, width)`` mask.

    >>> runs = mask_to_runs(np.array([[1, 1, 0], [0, 0, 1]]))
    >>> runs.row.tolist(), runs.start.tolist(), runs.end.tolist()
    ([0, 1], [0, 2], [2, 3])
    >>> len(mask_to_runs(np.zeros((0, 3))).row)
    0
    """
    height, width = mask.shape
    size = (height + 1) * (width + 1)
    flat = np.zeros(-(-size // _EIGHT) * _EIGHT + 1, mask.dtype)
    flat[:size].reshape(height + 1, width + 1)[:-1, 1:] = mask
    at = _set_places(flat[1:] != flat[:-1])
    if flat.size < _SMALL:
        at = at.astype(np.int32)  # half the memory, for masks of noise
    row = at[::2] // (width + 1)
    return Runs(row, at[::2] - row * (width + 1), at[1::2] - row * (width + 1), width)


def _set_places(flags: Flags) -> Ints:
    """``numpy.flatnonzero`` of a multiple of eight flags, looked at by eights: twice as fast where few are set."""
    eights = flags.view(np.uint64)
    some = np.flatnonzero(eights != 0)
    among = np.flatnonzero(eights[some].view(np.bool_))
    left_out = _EIGHT * (some - np.arange(len(some)))
    return np.asarray(among + left_out[among >> 3])


def run_ends(flags: Flags) -> Ints:
    """``(2N,)`` first place of each run of set flags in a row and the place after its last, in turns.

    >>> run_ends(np.array([True, True, False, True])).tolist()
    [0, 2, 3, 4]
    """
    framed = np.zeros(len(flags) + 2, np.bool_)
    framed[1:-1] = flags
    return (framed[1:] != framed[:-1]).nonzero()[0]


def _kernel(size: int) -> tuple[int, int, int]:
    """Pixels of a kernel before and after its anchor; a kernel of even size moves what it closes or opens by one."""
    return size // 2, size - 1 - size // 2, 1 - size % 2
