from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tablerec.errors import SettingsError, TrainingError
from tablerec.language.reader.data import LEVELS, Drawing, Level, level_of, levels_named, place, to_example
from tablerec.language.reader.patches import PATCH_HEIGHT, PATCH_WIDTH, count_patches
from tablerec.language.reader.vocabulary import X_PLACES, tokens_to_table
from tablerec.synth import draw, load_recipe

SMALL = Level(4, 3, 3, 6, 320, 128, "ruled", plain=True)


def test_unknown_levels_are_refused() -> None:
    with pytest.raises(SettingsError, match="choose numbers, tables"):
        levels_named("none")


def test_a_level_grows_no_smaller() -> None:
    levels = LEVELS["tables"]
    numbers = [level_of(levels, index) for index in range(0, 900_000, 5_000)]
    assert numbers == sorted(numbers) and set(numbers) == {0, 1, 2, 3}
    for name in ("rows", "columns", "cells", "patches", "tokens"):
        sizes = [getattr(level, name) for level in levels]
        assert sizes == sorted(sizes)


@pytest.mark.parametrize("levels", [LEVELS["numbers"][1:], (SMALL,)])
def test_an_index_gives_the_same_example_and_it_fits(levels: tuple[Level, ...]) -> None:
    drawing = Drawing(tuple(levels), 5)
    load, again = drawing.load(""), drawing.load("")
    for index in range(4):
        example = load(index)
        for one, other in zip(example, again(index), strict=True):
            assert np.array_equal(one, other)
        height, width = example.grey.shape
        assert count_patches(height + PATCH_HEIGHT - 1, width + PATCH_WIDTH - 1) <= levels[0].patches
        assert len(example.tokens) <= levels[0].tokens
        tokens = place(example.tokens, example.starts)
        assert (tokens >= X_PLACES).sum() == 2 * len(example.starts)
        assert tokens_to_table(tokens).table.shape <= (levels[0].rows, levels[0].columns)


def test_examples_pass_through_arrays_of_fixed_size() -> None:
    drawing = Drawing((SMALL,), 1)
    load = drawing.load("")
    flat = drawing.prepare(load, 3)
    for name, (kind, shape) in drawing.layout().items():
        assert getattr(flat, name).dtype == kind and getattr(flat, name).shape == shape
    copied = drawing.make({name: getattr(flat, name).copy() for name in drawing.layout()})
    for one, other in zip(copied.example(), load(3), strict=True):
        assert np.array_equal(one, other)


def test_places_lie_on_the_ink_of_their_text() -> None:
    example = Drawing(tuple(LEVELS["numbers"][1:]), 2).load("")(0)
    for x, y in example.starts:
        assert example.grey[int(y) - 3 : int(y) + 4, int(x) : int(x) + 8].min() < 100
    moved = place(example.tokens, example.starts, 7, 0) - place(example.tokens, example.starts)
    assert set(moved.tolist()) <= {0, 1} and moved.any()


def test_letters_lie_on_the_ink() -> None:
    example = Drawing((SMALL,), 2).load("")(1)
    assert len(example.letters) == len(example.codes) > 3
    height, width = example.grey.shape
    dark = [
        example.grey[max(0, int(y) - 5) : int(y) + 6, max(0, int(x) - 4) : int(x) + 5]
        for x, y in example.letters
        if 0 <= x < width and 0 <= y < height
    ]
    assert np.mean([np.ptp(part) > 60 for part in dark]) > 0.9


def test_pictures_without_one_table_or_too_large_are_no_examples() -> None:
    sample = draw(load_recipe("ruled"), 0, 0)
    assert to_example(sample, replace(SMALL, patches=9000, tokens=5000)) is not None
    assert to_example(sample, replace(SMALL, patches=9000, tokens=5)) is None
    assert to_example(sample, replace(SMALL, patches=9, tokens=5000)) is None
    none = replace(sample, tables=replace(sample.tables, **{
        name: getattr(sample.tables, name)[:0] for name in ("quads", "n_rows", "n_cols")
    }))  # fmt: skip
    assert to_example(none, SMALL) is None


def test_a_level_that_nothing_fits_says_so() -> None:
    drawing = Drawing((replace(SMALL, tokens=3),), 0)
    with pytest.raises(TrainingError, match="allow more patches and tokens"):
        drawing.load("")(0)
