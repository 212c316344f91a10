"""From ink to the crop of a text detector: paper, colours, rules, neighbours, seals, and how it is cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np
from numpy.typing import NDArray

from tablerec.synth.lines.layout import Ink, Mask
from tablerec.synth.lines.seals import pooled_seal
from tablerec.synth.lines.typefaces import Split
from tablerec.synth.lines.wear import TINIEST, apply_effect, bolden, break_up, dot_matrix, plain_page, thin

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]

_SLANTED = 0.06
"""Share of lines that slant much, as italics do that a script has no font for."""
_SEALS: dict[Split, int] = {"train": 160, "unseen": 40}
_FREED = 0.06
"""Share of lines for training that a seal lay over which was taken off."""
_GREY, _LIGHT = 30, 150
"""Most difference between the channels of print and paper, and least light of paper, to tell a seal from them."""
_LEAST_CONTRAST = 62
_SMALL_CONTRAST = 120
"""Of ink and paper, of 255; small print is not read with less."""
_PLAIN_BELOW = 14
"""Height, px, below which half of the lines are of a page that was rendered small: dark on white, hardly worn."""
_OTHER_WEIGHT, _BOLDENED = 0.12, 24
"""Share of lines whose strokes get another weight, as some scripts have few fonts; size from which they grow, px."""
_TIGHT = 0.3
"""Share of lone dashes whose ink alone is framed."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is around the print.

    Args:
        above: Ink of a line above, of which a part is in the crop.
        below: The same below.
    """

    above: Ink | None = None
    below: Ink | None = None


@dataclass(slots=True)
class _Canvas:
    """Coverage of print and of other ink, with the box of the line in it."""

    print: Mask
    other: Mask
    box: tuple[float, float, float, float]
    em: float
    rules: list[str] = field(default_factory=list)


def take_picture(
    ink: Ink, zoom: float, around: Surroundings, split: Split, rng: Random, noise: np.random.Generator
) -> Image:
    """Return the crop of a line.

    Args:
        ink: Of the line.
        zoom: Its size, as a multiple of that in the picture.
        around: Other lines.
        split: Which effects and seals may occur.
        rng: Source of chance.
        noise: Source of noise.

    Returns:
        ``(h, w, 3)`` uint8 RGB.
    """
    canvas = _place(ink, around, split, rng)
    canvas.print = _wear(canvas.print, canvas.em, rng, noise)
    if split == "train" and rng.random() < _OTHER_WEIGHT:
        change = bolden if rng.random() < 0.6 and canvas.em >= _BOLDENED else thin
        canvas.print = change(canvas.print, canvas.em, rng)
    _draw_rules(canvas, rng)
    printed, other = _cut(canvas, zoom, split, rng)
    if split == "train" and printed.shape[0] < _PLAIN_BELOW and rng.random() < 0.5:
        return plain_page(_on_white(printed, other, rng), rng)
    is_small = split == "train" and printed.shape[0] < TINIEST
    image = _colour(printed, other, rng, noise, _SMALL_CONTRAST if is_small else _LEAST_CONTRAST)
    if rng.random() < 0.06:
        image = _seal(image, split, rng)
    elif split == "train" and rng.random() < _FREED:
        image = _without_seal(image, split, rng) if rng.random() < 0.5 else _remains(image, split, rng, noise)
    return apply_effect(np.clip(image, 0, 255).astype(np.uint8), split, rng, noise)


def _place(ink: Ink, around: Surroundings, split: Split, rng: Random) -> _Canvas:
    """Put the line on a canvas with room around it, and find its box: of its ink, or of a usual line."""
    height, width = ink.mask.shape
    em = ink.em
    top, bottom = 0.0, float(height)
    is_low = height < 0.45 * em
    if is_low and split == "train" and rng.random() < _TIGHT:
        spare = rng.uniform(0.25, 0.45) * em
        top, bottom = top - spare, bottom + spare
    elif rng.random() < 0.9 or is_low:  # a detector mostly sees the line, not the ink of a dash
        top, bottom = min(top, ink.baseline - 0.74 * em), max(bottom, ink.baseline + 0.02 * em)
    left, right = 0.0, float(width)
    if width < 0.4 * em:
        spare = (rng.uniform(0.4, 0.8) * em - width) / 2
        left, right = left - spare, right + spare
    pad = round(0.75 * em)
    up, aside = pad + max(0, round(-top)), pad + max(0, round(-left))
    canvas = np.zeros(
        (up + height + pad + max(0, round(bottom - height)), aside + width + pad + max(0, round(right - width))),
        np.uint8,
    )
    canvas[up : up + height, aside : aside + width] = ink.mask
    other = np.zeros_like(canvas)
    step = rng.uniform(1.12, 1.5) * em
    for line, baseline in ((around.above, up + ink.baseline - step), (around.below, up + ink.baseline + step)):
        if line is not None:
            _paste(other, line, round(baseline), aside + round(rng.uniform(-0.5, 0.5) * em))
    return _Canvas(canvas, other, (aside + left, up + top, aside + right, up + bottom), em)


def _paste(canvas: Mask, ink: Ink, baseline: int, x: int) -> None:
    """Put another line on the canvas, as far as it lies there."""
    y, x = baseline - ink.baseline, max(0, x)
    first, last = max(0, y), min(canvas.shape[0], y + ink.mask.shape[0])
    right = min(canvas.shape[1], x + ink.mask.shape[1])
    if first < last and x < right:
        canvas[first:last, x:right] = ink.mask[first - y : last - y, : right - x]


def _wear(mask: Mask, em: float, rng: Random, noise: np.random.Generator) -> Mask:
    form = rng.random()
    if form < 0.05 and em >= 30:
        return dot_matrix(mask, em, rng)
    if form < 0.1 and em >= 28:
        return bolden(mask, em, rng)
    if form < 0.15:
        return thin(mask, em, rng)
    if form < 0.21:
        return break_up(mask, em, rng, noise)
    return mask


def _draw_rules(canvas: _Canvas, rng: Random) -> None:
    """Draw borders of cells that are near or touch the text, and underlines."""
    if rng.random() < 0.62:
        return
    height, width = canvas.other.shape
    left, top, right, bottom = canvas.box
    em = canvas.em
    thick = max(1, round(em * rng.choice((0.03, 0.04, 0.06, 0.09))))
    dashed = rng.random() < 0.12

    def across(y: float, first: float = 0, last: float = width) -> None:
        at = round(y)
        if 0 <= at < height:
            canvas.other[at : at + thick, max(0, round(first)) : round(last)] = 255

    def down(x: float) -> None:
        at = round(x)
        if 0 <= at < width:
            canvas.other[:, at : at + thick] = 255

    near = rng.uniform(-0.02, 0.28) * em
    for share, draw in (
        (0.35, lambda: across(bottom + near)),
        (0.22, lambda: across(top - near - thick)),
        (0.2, lambda: down(left - rng.uniform(0.08, 0.45) * em - thick)),
        (0.2, lambda: down(right + rng.uniform(0.08, 0.45) * em)),
        (0.12, lambda: across(bottom - rng.uniform(0.0, 0.16) * em, left, right)),
        (0.015, lambda: across((top + bottom) / 2 + rng.uniform(-0.04, 0.08) * em, left, right)),
    ):
        if rng.random() < share:
            draw()
    if dashed:
        period = max(2, round(em * rng.uniform(0.12, 0.4)))
        canvas.other[:, np.arange(width) % period < period * 0.4] = 0


def _cut(canvas: _Canvas, zoom: float, split: Split, rng: Random) -> tuple[Floats, Floats]:
    """Cut the box with a margin, turned, slanted and seen aslant at times, and bring it to its size in the picture.

    Returns:
        Coverage of the print and of other ink, both ``(h, w)`` float32 from 0 to 1.
    """
    import cv2

    left, top, right, bottom = canvas.box
    tall = bottom - top
    least, most = (-0.05, 0.06) if rng.random() < 0.1 else (0.06, 0.3) if rng.random() < 0.9 else (0.2, 0.5)
    sides = [rng.uniform(least, most) * tall for _ in range(4)]
    if split == "train" and rng.random() < 0.25:  # small lines are found with much ground at their ends
        sides[0], sides[2] = rng.uniform(0.3, 0.8) * tall, rng.uniform(0.3, 0.8) * tall
    corners = np.array(
        [
            (left - sides[0], top - sides[1]),
            (right + sides[2], top - sides[1]),
            (right + sides[2], bottom + sides[3]),
            (left - sides[0], bottom + sides[3]),
        ],
        np.float32,
    )
    wide, high = float(corners[1, 0] - corners[0, 0]), float(corners[3, 1] - corners[0, 1])
    is_bent = rng.random() < 0.35
    if split == "train" and rng.random() < _SLANTED:
        corners[:2, 0] += rng.uniform(-0.3, 0.15) * high
    if is_bent:
        corners += _bent(wide, high, rng)
    stretch = rng.uniform(0.78, 1.15) if rng.random() < (0.4 if split == "train" else 0.2) else 1.0
    size = max(4, round(wide * stretch)), max(4, round(high))
    target = np.array([(0, 0), (size[0], 0), (size[0], size[1]), (0, size[1])], np.float32)
    matrix = cv2.getPerspectiveTransform(corners, target)
    out = max(4, round(size[0] / zoom)), max(4, round(size[1] / zoom))
    layers = []
    for layer in (canvas.print, canvas.other):
        if layer is canvas.other and not layer.any():
            layers.append(np.zeros((out[1], out[0]), np.float32))
            continue
        cut = cv2.warpPerspective(layer, matrix, size, flags=cv2.INTER_LINEAR)
        small = cut if out == size else cv2.resize(cut, out, interpolation=cv2.INTER_AREA)
        layers.append(np.asarray(small / np.float32(255), np.float32))
    return layers[0], layers[1]


def _bent(wide: float, high: float, rng: Random) -> Floats:
    """Return how the corners of the cut move: a small turn, a slant, a view from aside."""
    shift = np.zeros((4, 2), np.float32)
    slope = rng.gauss(0, 0.012) if rng.random() < 0.85 else rng.uniform(-0.05, 0.05)
    slope = max(-0.3 * high / wide, min(0.3 * high / wide, slope))
    shift[:2, 1] -= slope * wide * np.array([0.5, -0.5])
    shift[2:, 1] += slope * wide * np.array([0.5, -0.5])
    slant = rng.gauss(0, 0.06) * high
    shift[:2, 0] += slant
    if rng.random() < 0.4:
        shift += np.array([[rng.gauss(0, 0.05) * high for _ in range(2)] for _ in range(4)], np.float32)
    return shift


def _colour(printed: Floats, other: Floats, rng: Random, noise: np.random.Generator, contrast: float) -> Floats:
    """Put ink on paper: dark on light mostly."""
    ground, ink = _colours(rng, contrast)
    image = np.empty((*printed.shape, 3), np.float32)
    image[:] = ground
    if rng.random() < 0.12:
        _shade(image, ground, rng, noise)
    if rng.random() < 0.06:
        _highlight(image, rng)
    if rng.random() < 0.04:
        _watermark(image, rng)
    if other.any():
        color = ink if rng.random() < 0.5 else _between(ground, ink, rng.uniform(0.3, 1))
        image += (color - image) * other[..., None]
    strength = 1.0 if rng.random() < 0.85 or contrast > _LEAST_CONTRAST else rng.uniform(0.5, 0.95)
    image += (ink - image) * (strength * printed)[..., None]
    return image


def _on_white(printed: Floats, other: Floats, rng: Random) -> Image:
    """Put black or grey ink on white paper."""
    ink, rule = rng.choice((0.0, rng.uniform(0, 60), rng.uniform(40, 130))), rng.uniform(0, 200)
    covered = 255 + (rule - 255) * other
    grey = covered + (ink - covered) * printed
    return np.asarray(np.repeat(grey[..., None], 3, axis=2), np.uint8)


def _colours(rng: Random, contrast: float) -> tuple[Floats, Floats]:
    """Return the colours of paper and ink, ``(3,)`` float32 each, with enough contrast to be read."""
    form = rng.random()
    if form < 0.58:
        ground = np.full(3, 255.0 if rng.random() < 0.7 else rng.uniform(225, 255), np.float32)
        ink = np.full(3, rng.choice((0.0, 0.0, rng.uniform(0, 70), rng.uniform(40, 125))), np.float32)
    elif form < 0.72:
        ground = np.array([rng.uniform(215, 255) for _ in range(3)], np.float32)
        ink = np.array([rng.uniform(0, 110) for _ in range(3)], np.float32)
    elif form < 0.8:
        ground = np.full(3, rng.uniform(235, 255), np.float32)
        ink = np.array(
            rng.choice(
                ((200, 20, 30), (20, 50, 170), (0, 110, 60), (110, 30, 130), (150, 90, 0), (220, 60, 20), (0, 100, 180))
            ),
            np.float32,
        )
    elif form < 0.9:
        ground = np.array([rng.uniform(0, 130) for _ in range(3)], np.float32)
        ink = (
            np.full(3, rng.uniform(215, 255), np.float32)
            if rng.random() < 0.8
            else np.array([rng.uniform(180, 255) for _ in range(3)], np.float32)
        )
    elif form < 0.94:  # faint print
        level = rng.uniform(190, 255)
        ground = np.full(3, level, np.float32)
        ink = np.full(3, level - rng.uniform(_LEAST_CONTRAST, 110), np.float32)
    else:
        ground = np.array([rng.uniform(90, 255) for _ in range(3)], np.float32)
        ink = np.array([rng.uniform(0, 160) for _ in range(3)], np.float32)
    weights = np.array([0.299, 0.587, 0.114], np.float32)
    if abs(float((ground - ink) @ weights)) < contrast:
        ink = np.full(3, 0 if float(ground @ weights) > 110 else 255, np.float32)
    return ground, ink


def _between(first: Floats, second: Floats, share: float) -> Floats:
    return first + (second - first) * np.float32(share)


def _shade(image: Floats, ground: Floats, rng: Random, noise: np.random.Generator) -> None:
    """Give the paper another colour at one side, as beside the border of a cell, or a texture."""
    height, width = image.shape[:2]
    form = rng.random()
    other = np.clip(ground + noise.uniform(-45, 45, 3), 0, 255).astype(np.float32)
    if form < 0.35:
        at = rng.randint(0, max(1, height // 6))
        image[: at if rng.random() < 0.5 else 0] = other
        image[height - at :] = other
    elif form < 0.6:
        at = rng.randint(0, max(1, min(width // 6, height // 2)))
        image[:, :at] = other
    elif form < 0.8:
        share = np.linspace(0, 1, width, dtype=np.float32)[None, :, None]
        image += (other - image) * share
    else:
        grain = noise.standard_normal((height // 2 + 1, width // 2 + 1), np.float32).repeat(2, 0).repeat(2, 1)
        image += grain[:height, :width, None] * rng.uniform(2, 9)


def _highlight(image: Floats, rng: Random) -> None:
    """Draw over with a text marker."""
    height, width = image.shape[:2]
    color = np.array(
        rng.choice(((255, 250, 90), (150, 255, 120), (255, 170, 210), (130, 220, 255), (255, 200, 90))), np.float32
    )
    top, bottom = rng.randint(0, height // 4), height - rng.randint(0, height // 4)
    left, right = (0, width) if rng.random() < 0.6 else (rng.randint(0, width // 3), width - rng.randint(0, width // 3))
    image[top:bottom, left:right] *= 1 - (1 - color / 255) * np.float32(rng.uniform(0.5, 1))


def _watermark(image: Floats, rng: Random) -> None:
    """Draw light stripes through the paper."""
    height, width = image.shape[:2]
    xs, ys = np.arange(width)[None], np.arange(height)[:, None]
    slope, period = rng.uniform(-1.5, 1.5), rng.uniform(0.5, 3) * height
    stripes = ((xs + slope * ys + rng.uniform(0, period)) % period) < rng.uniform(0.1, 0.45) * period
    image -= stripes[..., None] * np.float32(rng.uniform(8, 34))


def _seal(image: Floats, split: Split, rng: Random) -> Floats:
    """Press a part of a seal over the line, which darkens and hides nothing."""
    piece, part = _part_of_seal(image, split, rng)
    if part.size:
        cover = part[..., 3:] * np.float32(rng.uniform(0.45, 0.95))
        piece *= 1 - cover * (1 - part[..., :3])
    return image


def _part_of_seal(image: Floats, split: Split, rng: Random) -> tuple[Floats, Floats]:
    """A part of the picture, and what of a seal lies there: colour and amount, from 0 to 1; both may be empty."""
    import cv2

    height, width = image.shape[:2]
    seal = pooled_seal(rng.randrange(_SEALS[split]), split)
    side = max(16, round(height * rng.uniform(1.6, 6)))
    scaled = cv2.resize(seal, (side, side), interpolation=cv2.INTER_AREA if side < seal.shape[0] else cv2.INTER_LINEAR)
    x, y = rng.randint(-side // 2, max(0, width - side // 2)), rng.randint(-side + height // 2, height // 2)
    first, last, left, right = max(0, y), min(height, y + side), max(0, x), min(width, x + side)
    first, left = min(first, last), min(left, right)
    part = scaled[first - y : last - y, left - x : right - x].astype(np.float32) / np.float32(255)
    return image[first:last, left:right], np.asarray(part, np.float32)


def _without_seal(image: Floats, split: Split, rng: Random) -> Floats:
    """Press a part of a seal over the line and take it off as reading does, which leaves marks and pales print."""
    import cv2

    from tablerec.inputs.seals.find import Shape
    from tablerec.inputs.seals.inks import part as tell_apart

    height, width = image.shape[:2]
    plain = np.clip(image, 0, 255)
    if float(np.ptp(plain, axis=2).max()) > _GREY or float(np.median(plain)) < _LIGHT:
        return image
    piece, part = _part_of_seal(image, split, rng)
    if not part.size or not part[..., 3].any():
        return image
    piece *= 1 - part[..., 3:] * np.float32(rng.uniform(0.45, 0.95)) * (1 - part[..., :3])
    stamped = np.ascontiguousarray(np.clip(image, 0, 255).astype(np.uint8)[..., ::-1])
    if rng.random() < 0.7:  # which spreads colours
        _, data = cv2.imencode(".jpg", stamped, [cv2.IMWRITE_JPEG_QUALITY, rng.randint(60, 95)])
        stamped = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
    color = part[np.unravel_index(int(part[..., 3].argmax()), part.shape[:2])][2::-1]
    hue = int(cv2.cvtColor(np.round(255 * color[None, None]).astype(np.uint8), cv2.COLOR_BGR2HSV)[0, 0, 0])
    corners = np.array([(0, 0), (width, 0), (width, height), (0, height)], np.float64)
    found = tell_apart(stamped, Shape(corners, is_round=False, hue=hue))
    if found is not None:
        left, top, right, bottom = found.box_xyxy
        stamped[top:bottom, left:right] = found.print
    return stamped[..., ::-1].astype(np.float32)


def _remains(image: Floats, split: Split, rng: Random, noise: np.random.Generator) -> Floats:
    """Leave what a seal that was taken off leaves: points at the edges of strokes, some colour, paler print."""
    import cv2

    piece, part = _part_of_seal(image, split, rng)
    if not part.size:
        return image
    strokes, color = part[..., 3], part[..., :3]
    edges = np.clip(2.5 * np.abs(strokes - cv2.blur(strokes, (3, 3))), 0, 1)
    height, width = strokes.shape
    kept = cv2.resize(noise.random((height // 2 + 1, width // 2 + 1), np.float32), (width, height))
    edges *= (kept > rng.uniform(0.3, 0.8)) * np.float32(rng.uniform(0.1, 0.45))
    piece *= 1 - (strokes * rng.uniform(0, 0.12))[..., None] * (1 - color)
    if rng.random() < 0.8:
        piece *= 1 - edges[..., None]
    else:  # print is lighter where the seal lay
        ground = np.median(image.reshape(-1, 3), axis=0)
        piece += (ground - piece) * (strokes * np.float32(rng.uniform(0.1, 0.4)))[..., None]
    return image
