from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from postprocess.geometry.boxes import boxes_to_quads, quads_to_boxes, rotate_points
from postprocess.geometry.frame import quads_to_frame, straighten
from tests.helpers.layouts import even_layout, plain_table

FEW = settings(max_examples=30)
LAYOUT = even_layout(plain_table(12, 10), 60, 22, left=40, top=70)
QUADS = boxes_to_quads(LAYOUT.boxes)
ANGLES = st.floats(-180, 180)


def spread(quads: np.ndarray) -> float:
    """Largest difference between the tops of one row or the lefts of one column, in the straight frame."""
    boxes = straighten(quads, quads_to_frame(quads)).reshape(12, 10, 4)
    return float(max(np.ptp(boxes[..., 1], axis=1).max(), np.ptp(boxes[..., 0], axis=0).max()))


def in_perspective(quads: np.ndarray, x: float, y: float) -> np.ndarray:
    """The right and the lower end are smaller by these shares than the middle."""
    middle, reach = quads.mean(axis=(0, 1)), np.ptp(quads, axis=(0, 1)) / 2
    place = (quads - middle) / reach
    return middle + reach * place / (1 + place @ np.array([x, y]))[..., None]


def curled(quads: np.ndarray, amount: float) -> np.ndarray:
    place = (quads[..., 0] - quads[..., 0].mean()) / 300
    return np.stack([quads[..., 0], quads[..., 1] + amount * np.cos(2 * place)], axis=-1)


def test_nothing_lies_upright() -> None:
    frame = quads_to_frame(QUADS[:0])
    assert frame.degrees == 0
    assert straighten(QUADS[:0], frame).shape == (0, 4)
    assert frame.to_picture(np.zeros((0, 2))).shape == (0, 2)


def test_upright_cells_stay_where_they_are() -> None:
    frame = quads_to_frame(QUADS)
    assert (straighten(QUADS, frame) == LAYOUT.boxes).all()
    assert frame.slopes == (0, 0)


@FEW
@given(ANGLES)
def test_a_turned_table_is_straight(degrees: float) -> None:
    assert spread(rotate_points(QUADS, degrees, (300.0, 100.0))) < 0.7  # a turn below a milliradian is left


@FEW
@given(ANGLES, st.floats(-0.15, 0.15), st.floats(-0.15, 0.15))
def test_a_table_seen_at_an_angle_is_nearly_straight(degrees: float, x: float, y: float) -> None:
    assert spread(rotate_points(in_perspective(QUADS, x, y), degrees)) < 0.05 * 22


@FEW
@given(ANGLES, st.floats(-20, 20))
def test_a_curled_table_is_nearly_straight(degrees: float, amount: float) -> None:
    assert spread(rotate_points(curled(QUADS, amount), degrees)) < 0.05 * 22


@pytest.mark.parametrize("degrees", [-4, -1, 0, 1, 4])
def test_upright_boxes_of_a_tilted_table_show_the_tilt(degrees: float) -> None:
    hulls = boxes_to_quads(quads_to_boxes(rotate_points(QUADS, degrees)))
    assert quads_to_frame(hulls).slopes == pytest.approx(
        [np.tan(np.radians(degrees)), -np.tan(np.radians(degrees))], abs=2e-3
    )


@FEW
@given(st.integers(0, 2**32 - 1), ANGLES)
def test_noise_is_no_bend(seed: int, degrees: float) -> None:
    noisy = QUADS + np.random.default_rng(seed).normal(0, 1.5, QUADS.shape)
    frame = quads_to_frame(rotate_points(noisy, degrees))
    rise = np.ptp(frame.to_upright(rotate_points(QUADS, degrees)).reshape(12, 10, 4, 2)[:, :, 0, 1], axis=1)
    assert rise.max() < 0.15 * 22


@FEW
@given(
    arrays(np.float64, (8, 4, 2), elements=st.floats(-1e4, 1e4)),
    arrays(np.float64, (5, 2), elements=st.floats(-1e4, 1e4)),
)
def test_the_way_back_leads_to_the_picture(quads: np.ndarray, points: np.ndarray) -> None:
    frame = quads_to_frame(quads)
    there = frame.to_upright(points)
    assert frame.to_picture(there) == pytest.approx(points, abs=0.1)
    assert np.isfinite(frame.slopes).all()
