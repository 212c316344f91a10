"""Lines of text of drawn tables."""

from __future__ import annotations

import numpy as np
import pytest

from postprocess.geometry.boxes import quads_to_boxes
from tablerec.synth import draw, load_recipe
from tablerec.synth.camera.warp import quarter_turn
from tablerec.synth.labels import label_to_sample, sample_to_label
from tablerec.synth.text_lines import words_to_lines


def words(*boxes: tuple[float, float, float, float]) -> np.ndarray:
    return np.array([[[x0, y0], [x1, y0], [x1, y1], [x0, y1]] for x0, y0, x1, y1 in boxes], np.float32)


def test_no_words() -> None:
    found = words_to_lines(words().reshape(-1, 4, 2), np.zeros(0, int))
    assert found.shape == (0, 4, 2) and found.dtype == np.float32


@pytest.mark.parametrize(
    ("boxes", "cells", "count"),
    [
        ([(0, 0, 20, 10), (24, 0, 40, 10)], [0, 0], 1),
        ([(0, 0, 20, 10), (24, 0, 40, 10)], [0, 1], 2),  # a border between them
        ([(0, 0, 20, 10), (32, 0, 40, 10)], [0, 0], 2),  # a wide gap
        ([(0, 0, 20, 10), (0, 12, 40, 22)], [0, 0], 2),  # the next line
        ([(0, 0, 20, 10), (24, -8, 60, 22)], [0, 0], 2),  # other type
    ],
)
def test_what_is_one_line(boxes: list, cells: list[int], count: int) -> None:
    assert len(words_to_lines(words(*boxes), np.array(cells))) == count


@pytest.mark.parametrize("recipe", ["mixed", "page", "form"])
def test_each_word_is_in_a_line(recipe: str) -> None:
    sample = draw(load_recipe(recipe), 0, 3)
    assert sample.words.types is not None and len(sample.words)
    middles = sample.words.quads.mean(axis=1)
    boxes = quads_to_boxes(sample.lines)
    inside = (middles[:, None] > boxes[:, :2]) & (middles[:, None] < boxes[:, 2:])
    assert inside.all(axis=2).any(axis=1).all()
    assert len(sample.lines) <= len(sample.words)


def test_lines_move_with_the_picture() -> None:
    sample = draw(load_recipe("ruled"), 0, 1)
    turned = quarter_turn(sample, 180)
    height, width = sample.image.shape[:2]
    np.testing.assert_allclose(turned.lines, np.array([width, height]) - sample.lines, atol=0.01)
    again = label_to_sample(sample_to_label(sample, "a"), sample.image)
    np.testing.assert_allclose(again.lines, sample.lines, atol=0.05)
