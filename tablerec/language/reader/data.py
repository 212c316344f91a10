"""Examples for training: drawn tables, small ones first.

Processes draw them while the device trains (``tablerec.training.data.feed``); nothing here imports Paddle.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postprocess.cell import Cell
from postprocess.table import Table
from tablerec.errors import SettingsError, TrainingError
from tablerec.language.reader.patches import PATCH_HEIGHT, PATCH_WIDTH, Grey, fit
from tablerec.language.reader.vocabulary import (
    BYTES,
    PLACES,
    X_PLACES,
    Y_PLACES,
    Tokens,
    table_to_tokens,
)
from tablerec.synth import Sample, draw, load_recipe
from tablerec.synth.recipe import Recipe


class Example(NamedTuple):
    """A picture and what is to be written.

    Args:
        grey: ``(H, W)`` uint8.
        tokens: ``(N,)`` uint16, see ``vocabulary``; those of places are set by ``place``.
        starts: ``(K, 2)`` float32 x and y in pixels where each text begins, its first line's middle; in the order of
            their tokens.
        letters: ``(M, 2)`` float32 x and y of the middle of each character in the picture, about.
        codes: ``(M,)`` uint16 the token of its first byte.
    """

    grey: Grey
    tokens: NDArray[np.uint16]
    starts: NDArray[np.float32]
    letters: NDArray[np.float32]
    codes: NDArray[np.uint16]


class Flat(NamedTuple):
    """An example in arrays of fixed size, as it comes from the processes that draw.

    Args:
        starts: ``(most tokens, 2)`` float32.
        letters: ``(most tokens, 2)`` float32.
        sizes: ``(5,)`` int32: height, width, tokens, starts, letters.
        tokens: ``(most tokens,)`` uint16.
        codes: ``(most tokens,)`` uint16.
        pixels: ``(most pixels,)`` uint8.
    """

    starts: NDArray[np.float32]
    letters: NDArray[np.float32]
    sizes: NDArray[np.int32]
    tokens: NDArray[np.uint16]
    codes: NDArray[np.uint16]
    pixels: NDArray[np.uint8]

    def example(self) -> Example:
        """Copy what there is of it."""
        height, width, n_tokens, n_starts, n_letters = self.sizes.tolist()
        return Example(
            self.pixels[: height * width].reshape(height, width).copy(),
            self.tokens[:n_tokens].copy(),
            self.starts[:n_starts].copy(),
            self.letters[:n_letters].copy(),
            self.codes[:n_letters].copy(),
        )


@dataclass(frozen=True, slots=True)
class Level:
    """How large the tables of a part of the training are.

    Args:
        samples: How many samples are drawn before the next level begins.
        rows: Rows at most.
        columns: Columns at most.
        cells: Rows times columns at most.
        patches: Patches of a picture at most.
        tokens: Tokens of a table at most.
        recipe: What is drawn, see ``tablerec.synth.load_recipe``; or ``numbers``: numbers of one or two digits in
            ruled cells, which a small network learns to read on a CPU.
        plain: Whether pictures are as they were drawn, without scanner and camera.
        share: How large batches are, as a share of the largest: while all is new, many steps count for more.
    """

    samples: int
    rows: int
    columns: int
    cells: int
    patches: int
    tokens: int
    recipe: str = "mixed"
    plain: bool = False
    share: float = 1.0


LEVELS: Mapping[str, Sequence[Level]] = {
    "numbers": (Level(6_000, 1, 1, 1, 40, 16, "numbers"), Level(1 << 40, 2, 2, 4, 80, 48, "numbers")),
    "tables": (
        Level(200_000, 3, 3, 6, 320, 128, "ruled", plain=True, share=0.25),
        Level(200_000, 6, 5, 20, 864, 320, "mixed", plain=True, share=0.5),
        Level(200_000, 12, 8, 60, 1568, 608),
        Level(1 << 40, 18, 10, 100, 2304, 896),
    ),
}
"""Levels by name; what a training goes through."""
EARLIER = 0.2
"""Share of samples that are of a level before."""
LEAST_SCALE = 0.6
"""A picture that had to be smaller than this is no example."""
TRIES = 40


def level_of(levels: Sequence[Level], index: int) -> int:
    """Return the number of the level that a sample is of.

    >>> [level_of(LEVELS["tables"], index) for index in (0, 199_999, 200_000, 10**7)]
    [0, 0, 1, 3]
    """
    ends = np.cumsum([level.samples for level in levels])[:-1].tolist()
    return bisect_right(ends, index)


def recipe_of(level: Level, scripts: Mapping[str, float]) -> Recipe:
    """Return what a level draws: one table to a picture, cut as a user would."""
    recipe = load_recipe(level.recipe)
    chosen: dict[str, Any] = {
        "scripts": dict(scripts),
        "rows": (1, level.rows),
        "columns": (1, level.columns),
        "cells": (1, level.cells),
        "font_size": (11, 20),
        "wrap": (6, 16),
        "stretch": 0.1,
        "paragraphs": 0.0,
        "tables": (1, 1),
        "surroundings": 0.0,
        "neighbours": 0.0,
        "report_heads": 0.0,
        "framing": {"tight": 4, "flush": 1},
        "turns": {"0": 1},
        "max_side": (1600, 1600),
        "renderers": {"fast": 1},
    }
    if level.plain:
        chosen |= {"effects": {"clean": 1, "soft": 1}, "long_headers": 0.1, "long_stubs": 0.1}
    return replace(recipe, **chosen, own=recipe.own | chosen.keys())


def to_example(sample: Sample, level: Level, *, places: bool = True) -> Example | None:
    """Make an example of a sample; None where it is too large, or has not one table.

    Args:
        sample: See ``tablerec.synth``.
        level: How large it may be.
        places: Whether tokens of place stand before each text.
    """
    if len(sample.tables) != 1:
        return None
    grey, scale = fit(sample.image, level.patches)
    if scale < LEAST_SCALE:
        return None
    table = sample.to_tables()[0]
    cells = sample.cells
    at = {(int(row), int(col)): index for index, (row, col) in enumerate(zip(cells.rows, cells.cols, strict=True))}
    first = _first_words(sample)
    known = [first.get(at[cell.row, cell.col]) for cell in table.cells]
    if any(cell.text.strip() and start is None for cell, start in zip(table.cells, known, strict=True)):
        return None  # a text without words: it is not seen
    tokens = table_to_tokens(table, [(0, 0)] * len(table.cells) if places else None)
    if len(tokens) > level.tokens:
        return None
    starts = [start for cell, start in zip(table.cells, known, strict=True) if cell.text.strip() and start is not None]
    letters, codes = find_letters(sample.words.quads, sample.words.texts)
    first_texts = scale * np.array(starts, np.float32).reshape(-1, 2)
    return Example(grey, tokens.astype(np.uint16), first_texts, scale * letters, codes)


_NARROW, _WIDE = frozenset("ijlftrI.,:;'!|()[]/1 "), frozenset("mwMW@%—…")


def find_letters(quads: NDArray[np.float32], texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.uint16]]:
    """Tell about where the characters of words stand: narrow ones take half as much as others, wide ones more.

    Args:
        quads: ``(N, 4, 2)`` of the words.
        texts: Of the words.

    Returns:
        ``(M, 2)`` float32 middles; ``(M,)`` uint16 tokens of their first bytes.

    >>> quad = np.array([[[0, 0], [30, 0], [30, 8], [0, 8]]], np.float32)
    >>> find_letters(quad, ["ab1i"])[0].tolist()
    [[5.0, 4.0], [15.0, 4.0], [22.5, 4.0], [27.5, 4.0]]
    """
    points, codes = list[NDArray[np.float32]](), list[int]()
    for quad, text in zip(quads, texts, strict=True):
        widths = np.array([0.5 if char in _NARROW else 1.5 if char in _WIDE else 1.0 for char in text], np.float32)
        shares = (np.cumsum(widths) - widths / 2) / widths.sum()
        begin, end = (quad[0] + quad[3]) / 2, (quad[1] + quad[2]) / 2
        points.append(begin + shares[:, None] * (end - begin))
        codes += [BYTES + char.encode("utf-8", "replace")[0] for char in text]
    return np.concatenate([np.zeros((0, 2), np.float32), *points]).astype(np.float32), np.array(codes, np.uint16)


def draw_numbers(level: Level, rng: np.random.Generator, *, places: bool = True) -> Example:
    """Draw a small table of numbers, some of its cells merged.

    Args:
        level: How many rows and columns there may be.
        rng: What it is like.
        places: Whether tokens of place stand before each text.

    >>> example = draw_numbers(LEVELS["numbers"][0], np.random.default_rng(0))
    >>> example.grey.shape, len(example.starts) > 0
    ((33, 43), True)
    """
    import cv2

    rows, columns = int(rng.integers(1, level.rows + 1)), int(rng.integers(1, level.columns + 1))
    height, width, edge = int(rng.integers(22, 29)), int(rng.integers(30, 41)), int(rng.integers(1, 6))
    grey = np.full((rows * height + 2 * edge, columns * width + 2 * edge), 255, np.uint8)
    cells, starts, quads, texts = list[Cell](), list[tuple[float, float]](), list[Any](), list[str]()
    merged = columns > 1 and rng.random() < 0.3
    for row in range(rows):
        for col in range(0, columns, columns if merged and row == 0 else 1):
            span = columns if merged and row == 0 else 1
            left, top = edge + col * width, edge + row * height
            cv2.rectangle(grey, (left, top), (left + span * width, top + height), int(rng.integers(0, 120)), 1)
            text = str(rng.integers(100)) if rng.random() < 0.9 else ""
            at = left + int(rng.integers(4, 8)) + (span - 1) * width // 2, top + height // 2 + 5
            cv2.putText(grey, text, at, cv2.FONT_HERSHEY_SIMPLEX, 0.42, int(rng.integers(0, 60)), 1, cv2.LINE_AA)
            cells.append(Cell(row, col, colspan=span, text=text))
            if text:
                x0, y0, x1, y1 = at[0], at[1] - 9, at[0] + 8 * len(text), at[1]
                starts.append((x0, at[1] - 5))
                quads.append([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
                texts.append(text)
    table = Table(cells)
    tokens = table_to_tokens(table, [(0, 0)] * len(cells) if places else None)
    letters, codes = find_letters(np.array(quads, np.float32).reshape(-1, 4, 2), texts)
    return Example(grey, tokens.astype(np.uint16), np.array(starts, np.float32).reshape(-1, 2), letters, codes)


def _first_words(sample: Sample) -> dict[int, tuple[float, float]]:
    """Left end and middle of the first word of each cell."""
    found: dict[int, tuple[float, float]] = {}
    for cell, quad in zip(sample.words.cells.tolist(), sample.words.quads, strict=True):
        if cell not in found:
            found[cell] = float(quad[:, 0].min()), float(quad[:, 1].mean())
    return found


def place(tokens: NDArray[np.integer], starts: NDArray[np.float32], left: int = 0, top: int = 0) -> Tokens:
    """Set the tokens of places.

    Args:
        tokens: ``(N,)`` of an example.
        starts: ``(K, 2)`` of the same.
        left: Where the picture begins in its first patch, px.
        top: The same, downwards.

    >>> from tablerec.language.reader.vocabulary import describe
    >>> describe(place(np.array([4, X_PLACES, Y_PLACES, 76]), np.array([[20, 5]], np.float32), left=5))
    ['<cell>', '<x 3>', '<y 0>', 'A']
    """
    placed = tokens.astype(np.int64)
    at = np.flatnonzero((placed >= X_PLACES) & (placed < Y_PLACES))
    if len(at):
        size = np.array([PATCH_WIDTH, PATCH_HEIGHT], np.float32)
        patches = ((starts + np.array([left, top], np.float32)) // size).astype(np.int64).clip(0, PLACES - 1)
        placed[at], placed[at + 1] = X_PLACES + patches[:, 0], Y_PLACES + patches[:, 1]
    return placed


@dataclass(frozen=True)
class Drawing:
    """How examples are drawn; it goes to the processes that do so. See ``feed.Preparation``.

    Args:
        levels: What a training goes through.
        seed: Of the set.
        scripts: Languages by weight.
        places: Whether tokens of place stand before each text.
        fixed: The number of a level that all samples are of; None: they go through all.
    """

    levels: tuple[Level, ...]
    seed: int
    scripts: tuple[tuple[str, float], ...] = (("english", 8), ("latin", 1))
    places: bool = True
    fixed: int | None = None

    def load(self, source: str) -> Callable[[int], Example]:
        """Open the source; its name says nothing here."""
        recipes = [None if level.recipe == "numbers" else recipe_of(level, dict(self.scripts)) for level in self.levels]
        return lambda index: self._draw(recipes, index)

    def _draw(self, recipes: Sequence[Recipe | None], index: int) -> Example:
        rng = np.random.default_rng([self.seed, index])
        number = level_of(self.levels, index) if self.fixed is None else self.fixed
        if self.fixed is None and number and rng.random() < EARLIER:
            number = int(rng.integers(number))
        recipe = recipes[number]
        if recipe is None:
            return draw_numbers(self.levels[number], rng, places=self.places)
        for trial in range(TRIES):
            sample = draw(recipe, self.seed, index * TRIES + trial)
            example = to_example(sample, self.levels[number], places=self.places)
            if example is not None:
                return example
        raise TrainingError(
            f"none of {TRIES} drawn tables fits {self.levels[number]}: allow more patches and tokens, or fewer cells"
        )

    def prepare(self, load: Callable[[int], Example], index: int) -> Flat:
        """Draw the example of an index."""
        flat = Flat(**{name: np.zeros(shape, kind) for name, (kind, shape) in self.layout().items()})
        example = load(index)
        n_letters = min(len(example.letters), len(flat.letters))
        flat.sizes[:] = *example.grey.shape, len(example.tokens), len(example.starts), n_letters
        flat.letters[:n_letters], flat.codes[:n_letters] = example.letters[:n_letters], example.codes[:n_letters]
        flat.pixels[: example.grey.size] = example.grey.reshape(-1)
        flat.tokens[: len(example.tokens)] = example.tokens
        flat.starts[: len(example.starts)] = example.starts
        return flat

    def layout(self) -> Mapping[str, tuple[Any, tuple[int, ...]]]:
        """Type and shape of the arrays."""
        patches = max(level.patches for level in self.levels)
        tokens = max(level.tokens for level in self.levels)
        return {
            "starts": (np.float32, (tokens, 2)),
            "letters": (np.float32, (tokens, 2)),
            "sizes": (np.int32, (5,)),
            "tokens": (np.uint16, (tokens,)),
            "codes": (np.uint16, (tokens,)),
            "pixels": (np.uint8, (patches * PATCH_HEIGHT * PATCH_WIDTH,)),
        }

    def make(self, arrays: Mapping[str, Any]) -> Flat:
        """Make an example of the arrays."""
        return Flat(**arrays)


def levels_named(name: str) -> tuple[Level, ...]:
    """Return the levels of a name.

    Raises:
        SettingsError: There are none.
    """
    if name not in LEVELS:
        raise SettingsError(f"levels {name!r} are unknown; choose {', '.join(LEVELS)}")
    return tuple(LEVELS[name])
