"""Examples of unlike sizes in batches of one size: several of them share a row ("patch n' pack").

Dehghani et al., "Patch n' Pack: NaViT, a Vision Transformer for any Aspect Ratio and Resolution", 2023. All batches of
a level have one shape, so a device plans its products once, and its memory stays flat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablerec.language.reader.data import Example, place
from tablerec.language.reader.patches import PATCH_HEIGHT, PATCH_WIDTH, WINDOW, count_patches, cut
from tablerec.language.reader.vocabulary import N_TOKENS, PAD, PLACES

Integers = NDArray[np.int64]

IGNORED = -100
"""A label that counts for nothing."""
REFUSALS = 12
"""After so many examples in turn that fit nowhere, a batch is full."""


class Shape(NamedTuple):
    """How large a batch is.

    Args:
        patch_rows: Rows of patches.
        patches: Patches in each.
        token_rows: Rows of tokens, in which the patches of a picture stand before its table.
        tokens: Tokens in each, patches counted.
    """

    patch_rows: int
    patches: int
    token_rows: int
    tokens: int


class Batch(NamedTuple):
    """Examples for the network. ``S`` below is a ``Shape``.

    Args:
        windows: ``(S.patch_rows * S.patches, 1, 24, 16)`` uint8.
        patch_places: ``(S.patch_rows, S.patches)`` int64 row * ``PLACES`` + column in the picture.
        patch_owners: The same shape, int32: the example from 1, 0 where nothing stands.
        inputs: ``(S.token_rows, S.tokens)`` int64: tokens; a patch is ``N_TOKENS`` + its number in the batch.
        positions: The same shape: 0 for patches, then 1 and so on; see ``decoder``.
        owners: The same shape, int32: as for the patches.
        labels: The same shape: the token that follows, or ``IGNORED``.
        patch_labels: ``(S.patch_rows, S.patches)`` int64: the first byte of the character whose middle a patch holds,
            as a token; ``PAD`` where there is none, ``IGNORED`` where nothing stands.
        n_examples: How many there are.
    """

    windows: NDArray[np.uint8]
    patch_places: Integers
    patch_owners: NDArray[np.int32]
    inputs: Integers
    positions: Integers
    owners: NDArray[np.int32]
    labels: Integers
    patch_labels: Integers
    n_examples: int


def pack(draw: Callable[[], Example | None], shape: Shape, rng: np.random.Generator | None = None) -> Batch:
    """Fill a batch.

    Args:
        draw: Gives the next example; None when there are no more.
        shape: How large the batch is.
        rng: Moves each picture by up to a patch, so that patches are cut elsewhere; None: they begin where they do.
    """
    batch = empty_batch(shape)
    patch_ends, token_ends = [0] * shape.patch_rows, [0] * shape.token_rows
    n_examples = refused = 0
    while refused < REFUSALS:
        example = draw()
        if example is None:
            break
        left, top = (0, 0) if rng is None else rng.integers([PATCH_WIDTH, PATCH_HEIGHT]).tolist()
        height, width = example.grey.shape
        n_patches, n_tokens = count_patches(height + top, width + left), len(example.tokens) - 1
        patch_row = _first_fit(patch_ends, n_patches, shape.patches)
        token_row = _first_fit(token_ends, n_patches + n_tokens, shape.tokens)
        if patch_row is None or token_row is None:
            refused += 1
            continue
        refused, n_examples = 0, n_examples + 1
        patch, token = patch_ends[patch_row], token_ends[token_row]
        patch_ends[patch_row] += n_patches
        token_ends[token_row] += n_patches + n_tokens
        windows, rows, columns = cut(example.grey, left, top)
        here = patch_row, slice(patch, patch + n_patches)
        number = patch_row * shape.patches + patch
        batch.windows[number : number + n_patches, 0] = windows
        batch.patch_places[here] = rows * PLACES + columns
        batch.patch_owners[here] = n_examples
        batch.patch_labels[here] = _letters(example, left, top, int(columns[-1]) + 1, n_patches)
        tokens = place(example.tokens, example.starts, left, top)
        start = token + n_patches
        batch.inputs[token_row, token:start] = N_TOKENS + number + np.arange(n_patches)
        batch.inputs[token_row, start : start + n_tokens] = tokens[:-1]
        batch.positions[token_row, start : start + n_tokens] = 1 + np.arange(n_tokens)
        batch.owners[token_row, token : start + n_tokens] = n_examples
        batch.labels[token_row, start : start + n_tokens] = tokens[1:]
    return batch._replace(n_examples=n_examples)


def _letters(example: Example, left: int, top: int, n_columns: int, n_patches: int) -> Integers:
    """``(n_patches,)`` labels of the patches of a picture."""
    labels = np.full(n_patches, PAD, np.int64)
    columns, rows = ((example.letters + np.array([left, top])) // [PATCH_WIDTH, PATCH_HEIGHT]).astype(np.int64).T
    inside = (columns >= 0) & (columns < n_columns) & (rows >= 0) & (rows < n_patches // n_columns)
    # Of two characters in a patch the first one counts.
    labels[(rows * n_columns + columns)[inside][::-1]] = example.codes[inside][::-1]
    return labels


def empty_batch(shape: Shape) -> Batch:
    """Return a batch of no examples."""
    patches, tokens = (shape.patch_rows, shape.patches), (shape.token_rows, shape.tokens)
    return Batch(
        np.full((shape.patch_rows * shape.patches, 1, *WINDOW), 255, np.uint8),
        np.zeros(patches, np.int64),
        np.zeros(patches, np.int32),
        np.full(tokens, PAD, np.int64),
        np.zeros(tokens, np.int64),
        np.zeros(tokens, np.int32),
        np.full(tokens, IGNORED, np.int64),
        np.full(patches, IGNORED, np.int64),
        0,
    )


def _first_fit(ends: Sequence[int], length: int, size: int) -> int | None:
    return next((row for row, end in enumerate(ends) if end + length <= size), None)


def bounds_of(owners: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return where the examples of rows begin, the rows one after another, and the end; for ``flash_attn_unpadded``.

    Args:
        owners: ``(rows, length)`` int32.

    >>> bounds_of(np.array([[1, 1, 2], [3, 0, 0]], np.int32)).tolist()
    [0, 2, 3, 4, 6]
    """
    new = np.ones(owners.shape, np.bool_)
    new[:, 1:] = owners[:, 1:] != owners[:, :-1]
    return np.append(np.flatnonzero(new), owners.size).astype(np.int32)
