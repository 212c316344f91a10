"""Lines of text from maps."""

from __future__ import annotations

import numpy as np
import pytest

from postprocess.geometry.boxes import boxes_to_quads, rotate_points
from tablerec.detect import text_maps
from tablerec.detect.text_maps import _join_bits, decode_lines

SIZE = (240, 320)
LINES = {
    "level": boxes_to_quads([[10, 10, 130, 26], [150, 11, 162, 27], [12, 30, 300, 44]]),
    "set tightly": boxes_to_quads([[10, 10 + 14 * k, 200, 25 + 14 * k] for k in range(12)]),
    "on their side": boxes_to_quads([[20, 20, 36, 220], [60, 100, 75, 118]]),
    "single characters": boxes_to_quads([[30 + 40 * k, 30, 38 + 40 * k, 44] for k in range(6)]),
    "a title": boxes_to_quads([[10, 20, 300, 110]]),
    "beyond the edge": boxes_to_quads([[-30, 50, 60, 66], [290, 100, 360, 118]]),
}


def maps_of(quads: np.ndarray) -> np.ndarray:
    """Perfect maps: the sides of the line whose core is nearest, and its core."""
    y, x = np.mgrid[2 : SIZE[0] : 4, 2 : SIZE[1] : 4].astype(float)

    def distances(dx: float = 0.0, dy: float = 0.0) -> np.ndarray:
        found = []
        for quad in quads:
            ends = [(quad[3], quad[0]), (quad[0], quad[1]), (quad[1], quad[2]), (quad[2], quad[3])]
            normals = [(a, np.array([a[1] - b[1], b[0] - a[0]]) / np.linalg.norm(b - a)) for a, b in ends]
            found.append([n[0] * (x + dx - a[0]) + n[1] * (y + dy - a[1]) for a, n in normals])
        return np.array(found)

    sides = distances()
    nearest = sides.min(1).argmax(0)
    owned = np.take_along_axis(sides, nearest[None, None], axis=0)[0]
    shorter = np.minimum(sides[:, 0] + sides[:, 2], sides[:, 1] + sides[:, 3])[:, None]
    cores = [(distances(dx, dy).min(1) - 0.25 * shorter[:, 0]).max(0) for dy in (-1, 1) for dx in (-1, 1)]
    return np.concatenate([np.where(np.array(cores) > 0, 9.0, -9.0), owned / text_maps.UNIT]).astype(np.float32)


def test_constants_are_those_of_the_network() -> None:
    pytest.importorskip("paddle")
    from tablerec.models import cellnet

    assert (text_maps.STRIDE, text_maps.UNIT) == (cellnet.STRIDE, cellnet.LINE_UNIT)


@pytest.mark.parametrize("shape", [(8, 1, 1), (8, 10, 20)])
@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_no_text(shape: tuple[int, ...], threshold: float) -> None:
    maps = np.full(shape, -9.0, np.float32)
    quads, scores = decode_lines(maps, threshold)
    assert quads.dtype == scores.dtype == np.float32 and quads.shape[1:] == (4, 2)
    assert len(quads) == len(scores) == (threshold == 0.0)


@pytest.mark.parametrize("name", LINES)
def test_perfect_maps_give_the_lines(name: str) -> None:
    quads, scores = decode_lines(maps_of(LINES[name]))
    assert len(quads) == len(LINES[name])
    order = [int(np.abs(quads - line).max(axis=(1, 2)).argmin()) for line in LINES[name]]
    np.testing.assert_allclose(quads[order], LINES[name], atol=0.01)
    assert scores.min() > 0.99


@pytest.mark.parametrize("degrees", [-8, -3, 2, 6])
def test_turned_lines(degrees: float) -> None:
    lines = np.array([[[60, 60], [260, 60], [260, 76], [60, 76]], [[60, 90], [120, 90], [120, 106], [60, 106]]], float)
    turned = rotate_points(lines.reshape(-1, 2), degrees, (160.0, 120.0)).reshape(-1, 4, 2)
    quads, _ = decode_lines(maps_of(turned))
    assert len(quads) == 2
    order = [int(np.abs(quads - line).max(axis=(1, 2)).argmin()) for line in turned]
    np.testing.assert_allclose(quads[order], turned, atol=1.3)


@pytest.mark.parametrize("seed", range(5))
def test_any_maps_give_rectangles(seed: int) -> None:
    maps = np.random.default_rng(seed).normal(0, 3, (8, 20, 30)).astype(np.float32)
    quads, scores = decode_lines(maps)
    assert np.isfinite(quads).all() and ((scores > 0.5) & (scores <= 1)).all()
    sides = np.linalg.norm(quads - np.roll(quads, -1, axis=1), axis=2)
    assert sides.min() > 0
    np.testing.assert_allclose(sides[:, :2], sides[:, 2:], rtol=1e-3)


@pytest.mark.parametrize("degrees", [0, -4, 3])
@pytest.mark.parametrize("box", [[60, 100, 260, 116], [150, 20, 166, 220]])
def test_a_line_whose_core_has_a_gap_is_one(box: list[int], degrees: float) -> None:
    line = rotate_points(boxes_to_quads([box])[0], degrees, (160.0, 120.0))
    maps = maps_of(line[None])
    x, y = np.rint(line.mean(axis=0) / 4).astype(int)
    maps[:4, y - 2 : y + 3, x - 2 : x + 3] = -9
    quads, _ = decode_lines(maps)
    assert len(quads) == 1
    np.testing.assert_allclose(quads[0], line, atol=1.5)


def test_lines_that_touch_stay_apart() -> None:
    boxes = [[10, 10, 100, 26], [98, 10, 200, 26], [10, 23, 100, 39], [10, 60, 26, 76], [10, 72, 26, 88]]
    quads, scores = _join_bits(boxes_to_quads(boxes).astype(np.float32), np.ones(5, np.float32))
    assert len(quads) == len(scores) == 5
    assert [len(each) for each in _join_bits(quads[:0], scores[:0])] == [0, 0]
