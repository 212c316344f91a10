from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from postprocess.arrays import Gray
from postprocess.geometry.runs import Runs, mask_to_runs

masks = arrays(np.uint8, array_shapes(min_dims=2, max_dims=2, max_side=24), elements=st.integers(0, 1))


def to_mask(runs: Runs, height: int) -> Gray:
    mask = np.zeros((height, runs.width), np.uint8)
    for row, start, end in zip(runs.row, runs.start, runs.end, strict=True):
        mask[row, start:end] = 1
    return mask


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (3, 4)])
def test_empty_mask_has_no_runs(shape: tuple[int, int]) -> None:
    runs = mask_to_runs(np.zeros(shape, np.uint8))
    for each in (runs, runs.closed(3), runs.opened(3)):
        assert len(each.row) == len(each.start) == len(each.end) == len(each.part()) == len(each.count(runs)) == 0


@given(masks, st.integers(1, 9))
def test_runs_are_closed_and_opened_as_opencv_does(mask: Gray, size: int) -> None:
    runs, kernel = mask_to_runs(mask), np.ones((1, size), np.uint8)
    np.testing.assert_array_equal(to_mask(runs, len(mask)), mask)
    np.testing.assert_array_equal(
        to_mask(runs.closed(size), len(mask)), cv2.morphologyEx(mask, cv2.MORPH_CLOSE, kernel)
    )
    np.testing.assert_array_equal(to_mask(runs.opened(size), len(mask)), cv2.morphologyEx(mask, cv2.MORPH_OPEN, kernel))


@given(masks)
def test_parts_are_those_of_opencv(mask: Gray) -> None:
    runs = mask_to_runs(mask)
    label = cv2.connectedComponents(mask, connectivity=8)[1][runs.row, runs.start]
    part = runs.part()
    assert (
        len(set(zip(label.tolist(), part.tolist(), strict=True))) == len(set(label.tolist())) == len(set(part.tolist()))
    )


@given(masks, st.integers(0, 2**32 - 1))
def test_pixels_of_another_mask_are_counted_in_each_run(mask: Gray, seed: int) -> None:
    other = np.random.default_rng(seed).integers(0, 2, mask.shape, np.uint8)
    runs = mask_to_runs(mask)
    expected = [other[row, a:b].sum() for row, a, b in zip(runs.row, runs.start, runs.end, strict=True)]
    assert runs.count(mask_to_runs(other)).tolist() == expected
