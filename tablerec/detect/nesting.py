"""Tables in the cells of tables: each is detected alone, and the one around it as if there were nothing in its cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from postprocess.word import Words
from tablerec.detect import CellDetector, Detection

if TYPE_CHECKING:
    from postprocess.arrays import Flags, Floats, Image
    from postprocess.candidates.candidate import Candidate
    from postprocess.candidates.nesting import InnerTable


def detect_with_inner(detector: CellDetector, image: Image, words: Words) -> tuple[list[Candidate], list[Candidate]]:
    """Detect the tables of a picture, and those that stand in their cells.

    Only a picture that shows inner tables is looked at a second time.

    Args:
        detector: Finds the tables.
        image: ``(H, W, 3)`` uint8 BGR.
        words: In it.

    Returns:
        The tables and the inner ones, each with its words and the rulings of the picture.
    """
    from postprocess.candidates.nesting import are_held, find_inner_tables
    from postprocess.candidates.scene import Scene

    found = _detect(detector, image, words)
    scene = next((each.scene for each in found), None)
    inner = [] if scene is None else find_inner_tables(Scene(words, scene.rulings))
    while inner:
        top = [each for each in inner if not each.is_deep]
        around = _detect(detector, _painted_over(image, top), words.select(~_lie_in(words, top)))
        held = are_held(inner, around)
        if held.all():
            return around, [each.candidate for each in inner]
        inner = [each for each, is_held in zip(inner, held.tolist(), strict=True) if is_held]
    return found, []


def _detect(detector: CellDetector, image: Image, words: Words) -> list[Candidate]:
    """The candidates that become tables, each with its words and the rulings of the picture."""
    from postprocess.candidates.scene import image_to_scene

    found = [each.to_candidate() if isinstance(each, Detection) else each for each in detector.detect(image, words)]
    if all(each.scene is not None for each in found):
        return found
    picture = image_to_scene(image, words)
    return [each if each.scene is not None else each.in_scene(picture) for each in found]


def _lie_in(words: Words, inner: list[InnerTable]) -> Flags:
    """``(W,)`` which words have their middle in an inner table."""
    import shapely

    outlines = shapely.union_all(shapely.polygons(np.array([each.quad for each in inner])))
    inside: Flags = shapely.intersects_xy(outlines, *words.middles.T)
    return inside


def _painted_over(image: Image, inner: list[InnerTable]) -> Image:
    """The picture with the ground around each inner table in its place."""
    import cv2

    painted = image.copy()
    for each in inner:
        corners = np.round(each.quad).astype(np.int32)
        ground = _ground(image, each.quad)
        cv2.fillPoly(painted, [corners], ground)
    return painted


def _ground(image: Image, quad: Floats) -> tuple[int, ...]:
    """The median colour along the outline of an area."""
    ends = np.roll(quad, -1, axis=0)
    steps = np.linspace(0, 1, 50, endpoint=False)[:, None, None]
    x, y = (quad + steps * (ends - quad)).reshape(-1, 2).round().astype(np.int64).T
    height, width = image.shape[:2]
    return tuple(np.median(image[y.clip(0, height - 1), x.clip(0, width - 1)], axis=0).astype(int).tolist())
