"""Two inks on paper told apart: what a picture would be without a seal, and the seal alone.

Each ink takes its share of the light, so densities add up (Beer and Lambert). A pixel's density in three channels is
the sum of an amount of the seal's ink, whose colour is that of its own strokes, and one of print, which is grey.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from tablerec.inputs.seals.find import Shape, enlargement, near_paper, region, wide_paper

if TYPE_CHECKING:
    from postprocess.arrays import Image

Mask = NDArray[np.bool_]

FAINT = 0.06
"""Difference between the channels, as a share of the paper, from which a pixel near a stroke belongs to it."""
_COLOURFUL = 0.2
"""Difference between the channels, as a share of what the darkest lacks, of ink that is not print."""
_LEAST_INK = 0.05
"""Amount of ink of a stroke, in that of full strokes ..."""
_NEAR = 41
"""... within this window of others."""
_GHOSTLY = 0.05
"""Amount of ink from which it leaves ghosts."""
_WINDOWS = (101, 51, 21)
"""In which the ground is looked for, the smallest with enough of it counts."""
_ENOUGH = 0.15
"""Share of a window that is bare ground, from which its mean is the ground."""
_HALO = 2
"""Pixels around strokes that have some of their colour."""
_HUES = 22
_SPREAD = 3
"""Pixels over which JPEG spreads colours."""
_LEAST = 0.03
"""Share of the paper's light below which noise decides."""
_MOST_INK = 1.2
"""Amount of the seal's ink, in that of its full strokes."""


@dataclass(frozen=True, slots=True, eq=False)
class Parted:
    """A part of a picture with a seal.

    Args:
        box_xyxy: The part in pixels of the picture.
        print: ``(h, w, 3)`` uint8 the part without the seal.
        seal: ``(h, w, 3)`` uint8 the seal alone, dark on white.
        color: Of its ink, red, green and blue.
    """

    box_xyxy: tuple[int, int, int, int]
    print: Image
    seal: Image
    color: tuple[int, int, int]


def part(image: Image, shape: Shape) -> Parted | None:
    """Tell a seal from print.

    Args:
        image: ``(height, width, 3)`` uint8, BGR.
        shape: Where the seal is.

    Returns:
        The two of them, or None where there is no ink in the shape.
    """
    import cv2

    height, width = image.shape[:2]
    margin = 4 + 0.06 * np.ptp(shape.corners, axis=0)
    x0, y0 = np.clip(np.floor(shape.corners.min(axis=0) - margin), 0, [width, height]).astype(int).tolist()
    x1, y1 = np.clip(np.ceil(shape.corners.max(axis=0) + margin), 0, [width, height]).astype(int).tolist()
    piece = image[y0:y1, x0:x1].astype(np.float32)
    moved = replace(shape, corners=shape.corners - [x0, y0])
    inside = region(moved, piece.shape, 1.06)
    if not inside.any():
        return None
    enlarged = enlargement(image)
    ground = wide_paper(image)[y0:y1, x0:x1] if shape.is_filled else near_paper(image[y0:y1, x0:x1], enlarged)
    strokes = inside & _is_ink(piece / np.maximum(ground, 1), shape.hue)
    if not strokes.any():
        return None
    around = _dilate(strokes, 2 * _HALO + 1) & inside
    paper = _paper(piece, _dilate(strokes, 2 * _HALO + 3) & inside, enlarged)
    shares = np.clip(piece / paper, _LEAST, 1.25)
    density = -np.log(shares)
    chroma = np.ptp(shares, axis=2)
    pure = strokes & (chroma >= 0.7 * np.quantile(chroma[strokes], 0.9))
    ink = np.median(density[pure], axis=0)
    amount, printed = _unmix(density, ink)
    # Pale strokes, whose hue is lost, show by their amount of ink.
    around |= inside & _dilate(strokes, round(_NEAR * enlarged)) & (amount > _LEAST_INK)
    covered = _without_ghost(1 - np.exp(-printed), amount, around, strokes)
    cleaned = np.where(around[..., None], paper * (1 - covered)[..., None], piece)
    # JPEG keeps grey sharper than colours.
    light = np.minimum(shares.mean(axis=2) / np.maximum(1 - covered, 0.3), 1)
    alone = np.where(around, 1 - (1 - light) / (1 - float(np.median(light[pure]))), 1.0)
    hidden = around & (covered > 0.6)
    grey = cv2.inpaint(np.round(255 * alone.clip(0, 1)).astype(np.uint8), hidden.view(np.uint8), 3, cv2.INPAINT_TELEA)
    blue, green, red = np.median(piece[pure], axis=0).round().astype(int).tolist()
    return Parted(
        (x0, y0, x1, y1),
        np.round(cleaned).astype(np.uint8),
        np.repeat(np.asarray(grey, np.uint8)[..., None], 3, axis=2),
        (red, green, blue),
    )


def _is_ink(shares: NDArray[np.floating], hue: int) -> Mask:
    import cv2

    hues, saturation, value = cv2.split(cv2.cvtColor(np.clip(shares, 0, 1).astype(np.float32), cv2.COLOR_BGR2HSV))
    distance = np.abs(hues / 2 - hue)
    chroma = saturation * value
    is_coloured = (chroma > FAINT) & (chroma > _COLOURFUL * (1 - value + chroma))
    return np.asarray((np.minimum(distance, 180 - distance) <= _HUES) & is_coloured, bool)


def _dilate(mask: Mask, side: int) -> Mask:
    import cv2

    return np.asarray(cv2.dilate(mask.view(np.uint8), np.ones((side, side), np.uint8)), bool)


def _paper(piece: NDArray[np.float32], inked: Mask, enlarged: float) -> NDArray[np.float32]:
    """The ground under ink: the mean of what is bright nearby, or far off where there is none nearby."""
    import cv2

    brightest = piece.max(axis=2)
    dark = brightest < 0.8 * np.quantile(brightest[~inked], 0.75) if (~inked).any() else inked
    bare = ~(inked | _dilate(np.asarray(dark, bool), 3))
    free = bare.astype(np.float32)
    paper = np.full_like(piece, piece[bare].mean(axis=0) if bare.any() else 255)
    for side in (round(window * enlarged) for window in _WINDOWS):
        weight = cv2.blur(free, (side, side), borderType=cv2.BORDER_CONSTANT)
        mean = cv2.blur(piece * free[..., None], (side, side), borderType=cv2.BORDER_CONSTANT)
        enough = weight > _ENOUGH
        paper[enough] = mean[enough] / weight[enough][:, None]
    return np.maximum(paper, 1)


def _unmix(density: NDArray[np.float32], ink: Floats) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Amounts of the seal's ink, within limits, and of grey print that explain densities best.

    Where there is no print its amount is below 0 as often as above: JPEG spreads colours over neighbours.
    """
    a, b, c = float(ink @ ink), float(ink.sum()), 3.0
    of_ink, of_print = density @ ink.astype(np.float32), density.sum(axis=2)
    amount = (c * of_ink - b * of_print) / max(a * c - b * b, 1e-6)
    amount = np.clip(amount, 0, _MOST_INK)
    return amount, (of_print - amount * np.float32(b)) / np.float32(c)


def _without_ghost(
    covered: NDArray[np.float32], amount: NDArray[np.float32], around: Mask, strokes: Mask
) -> NDArray[np.float32]:
    """Shares of pixels that print covers, without what strokes of the seal leave of themselves, as dark as they were.

    The colour of a thin stroke is spread over its neighbours, so that it seems to hold print, and they less than none:
    together they hold none, where real print has a share of its neighbourhood.
    """
    import cv2

    darkest = _darkness(covered[~around])
    nearby = cv2.blur(covered, (_SPREAD, _SPREAD))
    bare = strokes & (nearby < 0.4 * darkest)
    if not bare.any():
        return np.clip(covered, 0, 1)
    usual = min(float(np.quantile(nearby[bare], 0.7)), 0.15 * darkest)
    gate = np.clip((nearby - usual) / (0.12 * darkest), 0, 1)
    # Nor is a ghost ever as dark as a point.
    gate = np.maximum(gate, np.clip((covered - 0.5 * darkest) / (0.2 * darkest), 0, 1))
    ghost = min(max(0.06, float(np.quantile(covered[bare], 0.6))), 0.25 * darkest)
    likely = np.asarray(gate * np.maximum(covered - ghost, 0) * (darkest / (darkest - ghost)), np.float32)
    # Where there is no ink near, there is no ghost.
    spread = cv2.dilate(cv2.blur(amount.astype(np.float32), (3, 3)), np.ones((3, 3), np.uint8))
    inked = np.clip((spread - _LEAST_INK) / _GHOSTLY, 0, 1)
    return np.clip(inked * likely + (1 - inked) * covered, 0, 1)


def _darkness(covered: NDArray[np.float32]) -> float:
    """How much of a pixel dark print covers, by the print beside the seal."""
    printed = covered[covered > 0.25]
    return float(np.quantile(printed, 0.9)) if len(printed) >= 20 else 0.9
