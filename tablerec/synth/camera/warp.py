"""Changes of geometry: the picture and all quads move together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablerec.synth.sample import Image, PointMap, Sample

Floats = NDArray[np.float32]


def rescale(sample: Sample, factor: float) -> Sample:
    """Make a picture larger or smaller.

    >>> from tablerec.synth import draw, load_recipe
    >>> rescale(draw(load_recipe("ruled"), 0, 0), 0.5).image.ndim
    3
    """
    import cv2

    height, width = sample.image.shape[:2]
    new_width, new_height = max(8, round(width * factor)), max(8, round(height * factor))
    method = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    image = np.asarray(cv2.resize(sample.image, (new_width, new_height), interpolation=method), np.uint8)
    scale = np.array([new_width / width, new_height / height], np.float32)
    return sample.mapped(image, lambda points: points * scale)


def quarter_turn(sample: Sample, degrees: int) -> Sample:
    """Turn a picture counter-clockwise by 0, 90, 180 or 270 degrees; quads begin where the table's text begins."""
    turns = degrees // 90 % 4
    if not turns:
        return sample
    height, width = sample.image.shape[:2]
    image: Image = np.ascontiguousarray(np.rot90(sample.image, turns))
    matrix, shift = _TURNS[turns]
    offset = np.array([shift[0] * width + shift[1] * height, shift[2] * width + shift[3] * height], np.float32)
    return sample.mapped(image, lambda points: points @ np.array(matrix, np.float32).T + offset)


_TURNS: dict[int, tuple[list[list[int]], tuple[int, int, int, int]]] = {
    1: ([[0, 1], [-1, 0]], (0, 0, 1, 0)),
    2: ([[-1, 0], [0, -1]], (1, 0, 0, 1)),
    3: ([[0, -1], [1, 0]], (0, 1, 0, 0)),
}
"""Matrix, and how often width and height are added to x and to y."""


def rotate(sample: Sample, degrees: float) -> Sample:
    """Turn a picture a little, on a canvas that holds all of it; the new corners take the colour of the edge."""
    height, width = sample.image.shape[:2]
    angle = math.radians(degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    matrix = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    return _warp(sample, _into_view(matrix, width, height), ground=_edge_color(sample.image))


def perspective(sample: Sample, rng: np.random.Generator) -> Sample:
    """Look at a page from the side, on a desk or so close that no desk is seen."""
    height, width = sample.image.shape[:2]
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], float)
    strength = rng.uniform(0, 0.07) if rng.random() < 0.85 else rng.uniform(0.07, 0.12)
    moved = corners + rng.uniform(-strength, strength, (4, 2)) * [width, height]
    angle = math.radians(rng.normal(0, 2) if rng.random() < 0.8 else rng.uniform(-15, 15))
    centre = moved.mean(axis=0)
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    moved = (moved - centre) @ turn + centre
    matrix = _into_view(
        _homography(corners, moved), width, height, margin=rng.uniform(0, 0.08) if rng.random() < 0.6 else 0
    )
    if rng.random() < 0.35:
        return _warp(sample, matrix, ground=_edge_color(sample.image))
    return _warp(sample, matrix, backdrop=rng)


def curl(sample: Sample, rng: np.random.Generator) -> Sample:
    """Bend a page as near the spine of a book, or as a crumpled sheet does: rows become waves."""
    import cv2

    height, width = sample.image.shape[:2]
    along, across = (width, height) if rng.random() < 0.85 else (height, width)
    amplitude = float(rng.uniform(0.004, 0.025)) * min(across, 1.5 * along)
    waves, phase = float(rng.uniform(0.4, 1.4)) * math.pi, float(rng.uniform(0, 2 * math.pi))
    steep = float(rng.uniform(0, 1)) * (rng.random() < 0.5)

    def shift(position: Any) -> Any:
        """Return how far content moves at a position from 0 to 1 along the bent direction."""
        return amplitude * (np.sin(waves * position + phase) + steep * np.exp(-6 * position))

    pad = math.ceil(2 * amplitude)
    places = np.linspace(0, 1, along, dtype=np.float32)
    offsets = shift(places).astype(np.float32)
    if along == width:
        out = (width, height + 2 * pad)
        grid_x, grid_y = np.meshgrid(np.arange(out[0], dtype=np.float32), np.arange(out[1], dtype=np.float32))
        grid_y = grid_y - pad - offsets[None, :]
    else:
        out = (width + 2 * pad, height)
        grid_x, grid_y = np.meshgrid(np.arange(out[0], dtype=np.float32), np.arange(out[1], dtype=np.float32))
        grid_x = grid_x - pad - offsets[:, None]
    bent_image = cv2.remap(sample.image, grid_x, grid_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)

    def move(points: Floats) -> Floats:
        bent = 1 if along == width else 0
        moved = points.copy()
        moved[:, bent] += pad + shift(points[:, 1 - bent] / max(1, along - 1))
        return moved

    return sample.mapped(np.asarray(bent_image, np.uint8), move)


_LARGEST_SAG = 0.11
"""Largest departure of a straight line from its chord, in widths of the flat page; up to 0.13 of what is seen."""
_MAP_STEP = 8
"""Distance of the points at which the map of a bent page is computed, px."""


def bend(sample: Sample, rng: np.random.Generator, sag: float | None = None) -> Sample:
    """Bend a page as an open book does: a sheet of cubic profile, seen by a camera from near.

    The page is a cylinder: flat from head to foot, and as high above the desk along its width as a cubic that is 0 at
    both sides (after M. Zucker's ``page-dewarp``). Lines of text become curves that differ from head to foot, and
    what stands on a slope becomes narrower.

    Args:
        sample: Upright.
        rng: Source of chance.
        sag: Departure of the middle line from its chord, in widths of the flat page; by default up to 0.11,
            small ones more often.
    """
    import cv2

    height, width = sample.image.shape[:2]
    sag = _LARGEST_SAG * float(rng.random()) ** 1.5 if sag is None else sag
    crest = float(rng.uniform(0.15, 0.5)) if rng.random() < 0.7 else 0.5  # the side at which the spine is
    crest = 1 - crest if rng.random() < 0.5 else crest
    tilt = math.radians(float(rng.uniform(30, 50))) * float(rng.choice([-1, 1]))
    distance = float(rng.uniform(1.6, 4)) * max(1, height / width)
    # With cubic u(1-u)(a(1-u) + b u) the page is highest at the crest.
    profile = np.polynomial.Polynomial([0, 1]) * np.polynomial.Polynomial([1, -1])
    profile = profile * np.polynomial.Polynomial([1 - crest, 2 * crest - 1])
    places = np.linspace(0, 1, 257)
    heights = profile(places)
    heights = heights * (sag / (float(heights.max()) * abs(math.sin(tilt))))
    slopes = np.clip(np.gradient(heights, places), -0.9, 0.9)
    across = np.concatenate([[0], np.cumsum(np.sqrt(1 - ((slopes[1:] + slopes[:-1]) / 2) ** 2))]) / 256
    across = across - across[-1] / 2
    sin, cos = math.sin(tilt), math.cos(tilt)

    def see(points: Floats) -> NDArray[np.float64]:
        """Return where points of the page appear, in widths of the page around its middle."""
        at = points[:, 0] / width
        x = np.interp(at, places, across) + np.clip(at - 1, 0, None) + np.clip(at, None, 0)
        y, z = (points[:, 1] - height / 2) / width, np.interp(at, places, heights)
        seen = np.stack([x, y * cos - z * sin], axis=1)
        return np.asarray(seen * (distance / (distance - y * sin - z * cos))[:, None])

    rim = np.array([[x, y] for x in np.linspace(0, width, 65) for y in (0, height)], np.float32)
    low, high = see(rim).min(axis=0), see(rim).max(axis=0)
    steps = [math.ceil(float(side) * width / _MAP_STEP) for side in high - low]
    out_width, out_height = (_MAP_STEP * count for count in steps)
    # One more at each end, so that enlarging the map interpolates up to the rim.
    columns, rows = ((_MAP_STEP * (np.arange(-1, count + 1) + 0.5) - 0.5) / width for count in steps)
    seen_x, seen_y = columns + low[0], (rows + low[1])[:, None]
    # In a row of the picture each place of the profile is seen once, from left to right.
    beyond = np.array([-1, *places, 2])
    z, x = np.pad(heights, 1), np.array([across[0] - 1, *across, across[-1] + 1])
    y = (seen_y * (distance - z * cos) + distance * z * sin) / (distance * cos + seen_y * sin)
    x = x * distance / (distance - y * sin - z * cos)
    at = np.stack([np.interp(seen_x, line, beyond) for line in x])
    z = np.interp(at, beyond, z)
    y = (seen_y * (distance - z * cos) + distance * z * sin) / (distance * cos + seen_y * sin)
    source = np.stack([at * width, y * width + height / 2], axis=-1)
    larger = (_MAP_STEP * len(columns), _MAP_STEP * len(rows))
    inside = slice(_MAP_STEP, -_MAP_STEP)
    map_x, map_y = (
        cv2.resize(np.ascontiguousarray(source[..., axis], np.float32), larger)[inside, inside].copy()
        for axis in (0, 1)
    )
    ground = _edge_color(sample.image)
    backdrop = make_backdrop(out_height, out_width, rng) if rng.random() < 0.5 else None
    image = cv2.remap(sample.image, map_x, map_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=ground)
    if backdrop is not None:
        outside = (map_x < 0) | (map_x > width) | (map_y < 0) | (map_y > height)
        image[outside] = backdrop[outside]
    # A slope is darker: the light comes from one side.
    light = 1 - 0.45 * np.clip(np.interp(map_x / width, places, slopes) * rng.choice([-1, 1]), 0, 1)
    image = (image * light[..., None]).astype(np.uint8)

    def move(points: Floats) -> Floats:
        return np.asarray((see(points) - low) * width, np.float32)

    return sample.mapped(np.asarray(image, np.uint8), move)


def matrix_map(matrix: NDArray[np.float64]) -> PointMap:
    """Return the map of points that belongs to a homography.

    >>> matrix_map(np.diag([2.0, 2.0, 1.0]))(np.array([[1, 2]], np.float32)).tolist()
    [[2.0, 4.0]]
    """

    def move(points: Floats) -> Floats:
        places = np.hstack([points, np.ones((len(points), 1))]) @ matrix.T
        return (places[:, :2] / places[:, 2:]).astype(np.float32)

    return move


def _warp(
    sample: Sample,
    view: tuple[NDArray[np.float64], int, int],
    *,
    ground: tuple[int, int, int] | None = None,
    backdrop: np.random.Generator | None = None,
) -> Sample:
    import cv2

    matrix, width, height = view
    if backdrop is None:
        scene: Image = np.empty((height, width, 3), np.uint8)
        scene[:] = ground or (255, 255, 255)
    else:
        scene = make_backdrop(height, width, backdrop)
    options = {"flags": cv2.INTER_LINEAR, "borderMode": cv2.BORDER_TRANSPARENT}
    cv2.warpPerspective(sample.image, matrix, (width, height), dst=scene, **options)
    return sample.mapped(scene, matrix_map(matrix))


def _into_view(
    matrix: NDArray[np.float64], width: int, height: int, margin: float = 0
) -> tuple[NDArray[np.float64], int, int]:
    """Return a homography shifted so that the whole page is seen, and the size of the picture."""
    corners = matrix_map(matrix)(np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32))
    low, high = corners.min(axis=0), corners.max(axis=0)
    room = margin * float((high - low).max())
    shift = np.array([[1, 0, room - low[0]], [0, 1, room - low[1]], [0, 0, 1]])
    size = np.ceil(high - low + 2 * room).astype(int)
    return shift @ matrix, int(size[0]), int(size[1])


def _homography(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    import cv2

    return np.asarray(cv2.getPerspectiveTransform(first.astype(np.float32), second.astype(np.float32)), np.float64)


def _edge_color(image: Image) -> tuple[int, int, int]:
    edge = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
    red, green, blue = np.median(edge, axis=0).astype(int).tolist()
    return red, green, blue


def make_backdrop(height: int, width: int, rng: np.random.Generator) -> Image:
    """Return a desk, a cloth or a wall to lie on: ``(height, width, 3)`` uint8."""
    import cv2

    color = rng.uniform(20, 235, 3) if rng.random() < 0.2 else rng.uniform(30, 230) + rng.uniform(-20, 20, 3)
    coarse = rng.normal(0, 1, (12, 12, 1)).astype(np.float32)
    stretched = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)[..., None]
    texture = np.float32(rng.uniform(0, 22)) * stretched
    if rng.random() < 0.4:
        grain = rng.normal(0, 1, (height, 1, 1)) if rng.random() < 0.5 else rng.normal(0, 1, (1, width, 1))
        texture = texture + (rng.uniform(2, 14) * grain).astype(np.float32)
    return np.clip(color + texture, 0, 255, dtype=np.float32, casting="unsafe").astype(np.uint8)
