from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from postprocess.geometry.boxes import (
    array_to_quad,
    as_boxes,
    as_quads,
    box_areas,
    boxes_to_quads,
    intersection_areas,
    quad_angles,
    quads_to_array,
    quads_to_boxes,
    rotate_points,
)

FEW = settings(max_examples=25)
COORDINATES = st.floats(-1e4, 1e4)
CORNERS = arrays(np.float64, st.tuples(st.integers(0, 5), st.just(2), st.just(2)), elements=COORDINATES)


@st.composite
def boxes(draw: st.DrawFn) -> np.ndarray:
    corners = np.sort(draw(CORNERS), axis=1)
    return corners.reshape(-1, 4)


def test_nothing_keeps_its_shape() -> None:
    assert boxes_to_quads([]).shape == as_quads([]).shape == quads_to_array([]).shape == (0, 4, 2)
    assert quads_to_boxes([]).shape == as_boxes([]).shape == (0, 4)
    assert box_areas(as_boxes([])).shape == quad_angles(as_quads([])).shape == (0,)
    assert intersection_areas(as_boxes([]), as_boxes([[0, 0, 1, 1]])).shape == (0, 1)
    assert rotate_points(np.zeros((0, 2)), 30).shape == (0, 2)


@FEW
@given(boxes())
def test_boxes_to_quads_and_back(some: np.ndarray) -> None:
    assert np.array_equal(quads_to_boxes(boxes_to_quads(some)), some)


@FEW
@given(boxes())
def test_corners_of_a_box_start_at_the_top_left_and_go_clockwise(some: np.ndarray) -> None:
    for (x0, y0, x1, y1), quad in zip(some, boxes_to_quads(some), strict=True):
        assert quad.tolist() == [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]


@FEW
@given(arrays(np.float64, (4, 2), elements=COORDINATES))
def test_quad_of_plain_tuples_keeps_every_corner(corners: np.ndarray) -> None:
    quad = array_to_quad(corners)
    assert all(type(value) is float for point in quad for value in point)
    assert np.array_equal(quads_to_array([quad, quad]), [corners, corners])


@FEW
@given(boxes(), boxes())
def test_areas_agree_with_shapely(a: np.ndarray, b: np.ndarray) -> None:
    shapes_a, shapes_b = shapely.box(*a.T), shapely.box(*b.T)
    assert box_areas(a) == pytest.approx(shapely.area(shapes_a), rel=1e-6, abs=1e-3)
    expected = shapely.area(shapely.intersection(shapes_a[:, None], shapes_b[None]))
    assert intersection_areas(a, b) == pytest.approx(expected, rel=1e-6, abs=1e-3)


@FEW
@given(boxes(), boxes())
def test_shared_areas_are_symmetric_and_no_larger_than_either(a: np.ndarray, b: np.ndarray) -> None:
    shared = intersection_areas(a, b)
    assert np.array_equal(shared, intersection_areas(b, a).T)
    assert (shared <= np.minimum(box_areas(a)[:, None], box_areas(b)[None]) + 1e-9).all()


def test_turned_over_box_has_no_area() -> None:
    assert box_areas(as_boxes([[5, 5, 0, 9], [5, 5, 0, 0]])).tolist() == [0, 0]


@FEW
@given(st.floats(-179, 179))
def test_angle_of_a_turned_box_is_the_turn(degrees: float) -> None:
    turned = rotate_points(boxes_to_quads([[0, 0, 40, 10], [7, 9, 90, 12]]), degrees, (20.0, 5.0))
    assert quad_angles(turned) == pytest.approx([degrees, degrees])


@FEW
@given(arrays(np.float64, (3, 2), elements=COORDINATES), st.floats(-360, 360), st.tuples(COORDINATES, COORDINATES))
def test_turn_keeps_distances_and_its_center_and_goes_back(
    points: np.ndarray, degrees: float, center: tuple[float, float]
) -> None:
    turned = rotate_points(points, degrees, center)
    assert rotate_points(turned, -degrees, center) == pytest.approx(points, abs=1e-6)
    distances = np.linalg.norm(points - np.array(center), axis=1)
    assert np.linalg.norm(turned - np.array(center), axis=1) == pytest.approx(distances, abs=1e-6)
    assert rotate_points(np.array([center]), degrees, center) == pytest.approx(np.array([center]))
