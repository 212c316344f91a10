"""Two inks on paper told apart: what a picture would be without a seal, and the seal alone.

Where an amount of the seal's ink lies, it takes light and gives colour, both by that amount; print takes light alone
(a linear mixture, as of partly covered pixels). JPEG, and most lenses, keep light sharp and blur colours, so the
amount is what explains the colours around a pixel and is as sharp as the light allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tablerec.inputs.seals.find import Shape, enlargement, near_paper, region, wide_paper

if TYPE_CHECKING:
    from postprocess.arrays import Image

Mask = NDArray[np.bool_]
Floats32 = NDArray[np.float32]

FAINT = 0.06
"""Difference between the channels, as a share of the paper, from which a pixel near a stroke belongs to it."""
_COLOURFUL = 0.2
"""Difference between the channels, as a share of what the darkest lacks, of ink that is not print."""
_LEAST_INK = 0.05
"""Amount of ink of a stroke, in that of full strokes ..."""
_NEAR = 41
"""... within this window of others."""
_WINDOWS = (101, 51, 21)
"""In which the ground is looked for, the smallest with enough of it counts."""
_ENOUGH = 0.15
"""Share of a window that is bare ground, from which its mean is the ground."""
_HALO = 2
"""Pixels around strokes that have some of their colour."""
_HUES = 22
_SAME_HUE = 10
"""Half the width of the range of hues of strokes, and of those by which the ink is measured."""
_LUMA = np.array([0.114, 0.587, 0.299], np.float32)
"""Shares of blue, green and red in light, as JPEG has them."""
_SPREADS = (1, 3, 5)
"""Pixels over which a picture may spread colours."""
_AROUND = 17
"""Window in which the ink is measured where it is: JPEG takes blocks of 16 pixels together."""
_STEPS = 4
_GHOST = 0.2
"""Share of the darkness of print that a stroke may leave of itself."""
_PIECE = 0.2
"""Share of the darkness of print that pixels of a piece have at least ..."""
_CORE, _CORE_BESIDE = 0.55, 0.3
"""... and one of them, where the piece lies on strokes alone: less beside print, as points and minus signs do."""
_BESIDE = (4, 1)
"""Pixels to the sides of print, and above and below it, that are beside it."""
_LEAST_SHOWN = 0.3
"""Share of its contrast that print has left under opaque ink, at least."""
_FULL, _PRINT = 0.85, 0.1
"""Light of the darkest that is ink alone and of the lightest that is print alone, as shares of that of full ink."""
_HIDDEN = 0.4
"""Light left by print under which the seal is not seen."""


@dataclass(frozen=True, slots=True, eq=False)
class Parted:
    """A part of a picture with a seal.

    Args:
        box_xyxy: The part in pixels of the picture.
        print: ``(h, w, 3)`` uint8 the part without the seal.
        palest: ``(h, w, 3)`` uint8 the print on white as the channel shows it in which the ink is palest ...
        paler: ... and as the next one does, in which print of the ink's own colour is dark.
        seal: ``(h, w, 3)`` uint8 the seal alone, dark on white.
        color: Of its ink, red, green and blue.
    """

    box_xyxy: tuple[int, int, int, int]
    print: Image
    palest: Image
    paler: Image
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
    strokes = inside & _is_ink(piece / np.maximum(ground, 1), shape.hue, _HUES)
    if not strokes.any():
        return None
    around = _dilate(strokes, 2 * _HALO + 1) & inside
    paper = _paper(piece, _dilate(strokes, 2 * _HALO + 3) & inside, enlarged)
    shares = np.clip(piece / paper, 0, 1.25)
    light, colour = _to_light(shares, strokes)
    pure = _full_strokes(colour, strokes, _is_ink(piece / np.maximum(ground, 1), shape.hue, _SAME_HUE))
    # Pale strokes, whose hue is lost, show by their amount of colour.
    around |= inside & _dilate(strokes, round(_NEAR * enlarged)) & (colour > _LEAST_INK * np.median(colour[pure]))
    amount, darkness = _sharpen(light, np.where(around, colour, np.float32(0)), pure)
    covered = _without_ghost(1 - np.clip(light + darkness * amount, 0, 1), amount, around, enlarged)
    cleaned = np.where((amount > 0)[..., None], paper * (1 - covered)[..., None], piece)
    hidden = around & (covered > 1 - _HIDDEN)
    ink = np.where(hidden, 0, amount / np.maximum(1 - covered, _HIDDEN))
    alone = np.clip(1 - ink / max(float(np.median(ink[pure])), 1e-3), 0, 1)
    grey = cv2.inpaint(np.round(255 * alone).astype(np.uint8), hidden.view(np.uint8), 3, cv2.INPAINT_TELEA)
    palest, paler = _channels(shares, amount, pure)
    blue, green, red = np.median(piece[pure], axis=0).round().astype(int).tolist()
    return Parted(
        (x0, y0, x1, y1),
        np.round(cleaned).astype(np.uint8),
        palest,
        paler,
        np.repeat(np.asarray(grey, np.uint8)[..., None], 3, axis=2),
        (red, green, blue),
    )


def _channels(shares: Floats32, amount: Floats32, pure: Mask) -> tuple[Image, Image]:
    """``(h, w, 3)`` uint8 print on white, as the two channels show it in which ink is palest, the palest first.

    Where there is ink, all that is as light as most of it counts as white.
    """
    import cv2

    ink = np.median(shares[pure], axis=0)
    full = np.clip(amount / max(float(np.median(amount[pure])), 1e-3), 0, 1)
    inked = _blur(np.asarray(cv2.dilate(full, np.ones((5, 5), np.uint8)), np.float32), 3)
    first, second = np.argsort(-ink)[:2].tolist()

    def to_picture(channel: int) -> Image:
        white = 1 - inked * (1 - _FULL * max(float(ink[channel]), _PRINT))
        grey = np.clip((shares[..., channel] / white - _PRINT) / (1 - _PRINT), 0, 1)
        return np.repeat(np.round(255 * grey).astype(np.uint8)[..., None], 3, axis=2)

    return to_picture(first), to_picture(second)


def _is_ink(shares: NDArray[np.floating], hue: int, reach: int) -> Mask:
    import cv2

    hues, saturation, value = cv2.split(cv2.cvtColor(np.clip(shares, 0, 1).astype(np.float32), cv2.COLOR_BGR2HSV))
    distance = np.abs(hues / 2 - hue)
    chroma = saturation * value
    is_coloured = (chroma > FAINT) & (chroma > _COLOURFUL * (1 - value + chroma))
    return np.asarray((np.minimum(distance, 180 - distance) <= reach) & is_coloured, bool)


def _dilate(mask: Mask, side: int) -> Mask:
    import cv2

    return np.asarray(cv2.dilate(mask.view(np.uint8), np.ones((side, side), np.uint8)), bool)


def _blur(values: Floats32, side: int) -> Floats32:
    import cv2

    return np.asarray(cv2.blur(values, (side, side)), np.float32)


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


def _to_light(shares: Floats32, strokes: Mask) -> tuple[Floats32, Floats32]:
    """Light of pixels, 1 for paper, and how much of the colour of strokes they have, beside light."""
    light = shares @ _LUMA
    colours = shares - light[..., None]
    direction = colours[strokes].sum(axis=0)
    direction /= max(float(np.linalg.norm(direction)), 1e-6)
    return light, np.maximum(colours @ direction, 0)


def _full_strokes(colour: Floats32, strokes: Mask, same_hue: Mask) -> Mask:
    """The strokes with most of the ink's own colour."""
    own = strokes & same_hue if (strokes & same_hue).any() else strokes
    return np.asarray(own & (colour >= 0.7 * np.quantile(colour[own], 0.9)), bool)


def _sharpen(light: Floats32, colour: Floats32, pure: Mask) -> tuple[Floats32, Floats32]:
    """Amounts of ink that explain blurred colours and are as sharp as the light (Richardson and Lucy).

    A pixel has no more ink than takes all light that it lacks, and none that is darker than the fullest nearby: what is
    darker holds print.

    Returns:
        Amounts, in units of colour, and how much light such a unit takes; both ``(h, w)`` float32.
    """
    import cv2

    dark = np.maximum(1 - light, 0)
    usual = float(np.median(_blur(dark, 5)[pure] / np.maximum(_blur(colour, 5)[pure], 1e-3)))
    side = min(_SPREADS, key=lambda side: float(np.median(np.abs(_blur(dark, side) / usual - colour)[pure])))
    # Sharp colours are believed as they are, or strokes narrower than a window would have less ink than they have.
    full = np.asarray(cv2.dilate(colour if side == 1 else _blur(colour, 3), np.ones((9, 9), np.uint8)), np.float32)
    bare = (colour > 0.25 * np.median(colour[pure])) & (dark < 1.15 * usual * full)
    own = [_blur(np.where(bare, values, np.float32(0)), _AROUND) for values in (dark, colour)]
    darkness = np.clip((own[0] + 1e-3 * usual) / (own[1] + 1e-3), 0.75 * usual, 1.5 * usual).astype(np.float32)
    most = np.minimum(dark / darkness, light * 1.1 * full / np.maximum(1 - 1.1 * full * darkness, 0.05))
    amount = most
    for _ in range(_STEPS):
        missing = np.minimum(colour / np.maximum(_blur(amount, side), 1e-3), 4)
        amount = np.minimum(amount * _blur(missing, side), most)
    return amount, darkness


def _without_ghost(covered: Floats32, amount: Floats32, around: Mask, enlarged: float) -> Floats32:
    """Shares of pixels that print covers, without what strokes leave of themselves, as dark under them as beside.

    Opaque ink leaves print a part of its contrast.
    """
    import cv2

    darkest = _darkness(covered[~around])
    full = cv2.dilate(_blur(amount, 3), np.ones((5, 5), np.uint8))
    usual = float(np.quantile(amount[amount > 0], 0.9)) if (amount > 0).any() else 1.0
    inked = np.clip(full / (0.4 * usual), 0, 1)
    seen = covered[(inked == 1) & (covered > 0.25 * darkest)]
    shown = np.clip(np.quantile(seen, 0.9) / darkest, _LEAST_SHOWN, 1) if len(seen) >= 20 else 1.0
    deepest = darkest * (1 - inked * (1 - shown))
    ghost = _GHOST * deepest * inked
    clear = np.clip((covered - ghost) / (deepest - ghost) * darkest, 0, 1)
    # What lies on strokes alone is a ghost unless it is dark; print goes on beside them.
    _, labels = cv2.connectedComponents((clear > _PIECE * darkest).view(np.uint8), connectivity=8)
    kept = np.zeros(int(labels.max()) + 1, bool)
    kept[labels[(inked < 0.1) | (covered > _CORE * deepest)]] = True
    kept[0] = False
    width, height = (2 * round(reach * enlarged) + 1 for reach in _BESIDE)
    beside = cv2.dilate(kept[labels].view(np.uint8), np.ones((height, width), np.uint8)).view(bool)
    kept[labels[beside & (covered > _CORE_BESIDE * deepest)]] = True
    kept[0] = False
    apart = ~_dilate(kept[labels], 2 * _HALO + 1)
    return np.asarray(np.where(apart, clear * (1 - inked), clear), np.float32)


def _darkness(covered: Floats32) -> float:
    """How much of a pixel dark print covers, by the print beside the seal."""
    printed = covered[covered > 0.25]
    return float(np.quantile(printed, 0.9)) if len(printed) >= 20 else 0.9
