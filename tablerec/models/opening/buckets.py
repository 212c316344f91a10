"""Few shapes: a card takes long for each new one, and batches are of one shape."""

from __future__ import annotations

from collections.abc import Sequence


def fit(size: int, sizes: Sequence[int]) -> int:
    """The least of some sizes that holds a size; multiples of the last beyond it.

    >>> fit(100, (64, 128, 256)), fit(128, (64, 128, 256)), fit(300, (64, 128, 256))
    (128, 128, 512)
    """
    return next((each for each in sizes if each >= size), -(-size // sizes[-1]) * sizes[-1])


def batch_sizes(sizes: Sequence[int], most: int) -> Sequence[int]:
    """Sizes of batches that are at most so large; the least one in any case.

    >>> batch_sizes((4, 16, 64), 20), batch_sizes((4, 16, 64), 2)
    ((4, 16), (4,))
    """
    return tuple(size for size in sizes if size <= most) or tuple(sizes[:1])


def most_at_once(shape: Sequence[int], pixels: int) -> int:
    """How many pictures go through a network together, a power of two.

    Args:
        shape: Of one picture; height and width are last.
        pixels: That go through it together, at most.

    >>> most_at_once((3, 32, 128), 2**18), most_at_once((3, 960, 960), 2**18)
    (64, 1)
    """
    return int(2 ** (max(1, pixels // (shape[-2] * shape[-1])).bit_length() - 1))
