"""Tables with numbers, with and without seals over them, as print, scans and photographs show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from tablerec.synth.camera.optics import add_noise, blur, jpeg
from tablerec.synth.drawing.fonts import Family, families_for
from tablerec.synth.lines.seals import draw_seal
from tests.helpers.drawing import Color

Rng = np.random.Generator
Pixels = NDArray[np.uint8]

FAMILIES = ("DejaVu", "Liberation", "Noto", "Carlito", "Caladea", "FreeS", "Nimbus", "Open Sans", "Roboto", "Lato")
"""Beginnings of names: families of documents, not of handwriting or titles."""
RED: Color = (200, 20, 30)
FILLS: Sequence[Color] = ((221, 235, 247), (226, 239, 218), (255, 242, 204), (252, 228, 214), (237, 237, 237))
STRONG: Sequence[Color] = ((31, 78, 121), (192, 0, 0), (84, 130, 53), (112, 48, 160), (47, 117, 181))
WORDS = ("Item", "Region", "Total", "Costs", "Income", "North", "South", "Staff", "Rent", "Sales", "Other", "Energy")
LEAST_COVERED = 0.03
"""Share of a number's box under ink from which it counts as covered."""


@dataclass(frozen=True)
class Drawn:
    """A picture, and the numbers in it.

    Args:
        image: ``(H, W, 3)`` uint8 BGR.
        numbers: Text and box xyxy of each number that counts.
        seal: What is written on the seal; empty where there is none.
        box: Around the seal, xyxy.
        bare: The picture without its seal.
    """

    image: Pixels
    numbers: list[tuple[str, tuple[float, float, float, float]]]
    seal: str = ""
    box: tuple[int, int, int, int] = (0, 0, 0, 0)
    bare: Pixels = field(default_factory=lambda: np.zeros((0, 0, 3), np.uint8), repr=False)


def _font(rng: Rng, size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    families: Sequence[Family] = families_for("latin")
    families = [each for each in families if each.name.startswith(FAMILIES)] or families
    face = families[int(rng.integers(len(families)))].face(bool(rng.random() < 0.2), False)
    return ImageFont.truetype(face.path, size, index=face.index) if face.path else ImageFont.load_default(size)


def _number(rng: Rng) -> str:
    kind = int(rng.integers(5))
    value = float(np.exp(rng.uniform(1.5, 13)))
    return [f"{value:,.2f}", f"{int(value)}", f"{int(value):,}", f"{value % 100:.1f}%", f"-{value % 1000:.2f}"][kind]


def draw_table(rng: Rng, *, coloured: bool) -> Drawn:
    """Draw a table of numbers.

    Args:
        rng: Source of chance.
        coloured: Whether there are coloured headers, fills, rules, negative numbers and a logo.
    """
    size = int(rng.integers(14, 22))
    font, high = _font(rng, size), int(size * rng.uniform(1.7, 2.3))
    n_rows, n_columns = int(rng.integers(5, 9)), int(rng.integers(4, 6))
    texts = [[str(rng.choice(WORDS)) for _ in range(n_columns)]]
    texts += [[str(rng.choice(WORDS)), *(_number(rng) for _ in range(n_columns - 1))] for _ in range(n_rows - 1)]
    wide = [int(max(font.getlength(row[c]) for row in texts) + 2 * size) for c in range(n_columns)]
    xs, ys = 40 + np.cumsum([0, *wide]), 70 + np.arange(n_rows + 1) * high
    canvas = Image.new("RGB", (int(xs[-1]) + 40, int(ys[-1]) + 50), (255, 255, 255))
    pen = ImageDraw.Draw(canvas)
    strong = STRONG[int(rng.integers(len(STRONG)))]
    is_filled, has_negatives, has_rules, has_logo, has_heads = (rng.random(5) < [0.6, 0.6, 0.3, 0.6, 0.5]) & coloured
    if coloured or rng.random() < 0.3:
        fill = FILLS[int(rng.integers(len(FILLS)))]
        for row in range(1, n_rows, 2):
            pen.rectangle((xs[0], ys[row], xs[-1], ys[row + 1]), fill=fill)
    if is_filled:
        pen.rectangle((xs[0], ys[0], xs[-1], ys[1]), fill=strong)
    if has_logo:
        _draw_logo(pen, rng, strong)
    line = strong if has_rules else (0, 0, 0)
    for x in xs if rng.random() < 0.8 else ():
        pen.line((x, ys[0], x, ys[-1]), line, int(rng.integers(1, 3)))
    for y in ys:
        pen.line((xs[0], y, xs[-1], y), line, int(rng.integers(1, 3)))
    numbers = []
    for r, row in enumerate(texts):
        for c, text in enumerate(row):
            x = xs[c] + size * 0.6 if c == 0 else xs[c + 1] - size * 0.6 - font.getlength(text)
            place = int(x), int(ys[r] + (high - size * 1.2) / 2)
            ink: Color = (15, 15, 15)
            if r == 0:
                ink = (255, 255, 255) if is_filled else strong if has_heads else ink
            elif has_negatives and text.startswith("-"):
                ink = RED
            pen.text(place, text, ink, font)
            if r and c:
                box = pen.textbbox(place, text, font)
                numbers.append((text, (float(box[0]), float(box[1]), float(box[2]), float(box[3]))))
    pen.text((40, 22), "Report " + str(rng.integers(1990, 2026)), strong if has_heads else (0, 0, 0), font)
    return Drawn(np.ascontiguousarray(np.asarray(canvas)[..., ::-1]), numbers)


def _draw_logo(pen: ImageDraw.ImageDraw, rng: Rng, color: Color) -> None:
    """A mark of a company at the top: a disc, a bar chart, a shield of two colours, a ring with a letter."""
    x, side, kind = int(rng.integers(180, 260)), int(rng.integers(36, 56)), int(rng.integers(4))
    other = STRONG[int(rng.integers(len(STRONG)))]
    if kind == 0:
        pen.ellipse((x, 8, x + side, 8 + side), fill=color)
        pen.text((x + side // 3, 8 + side // 4), "A", (255, 255, 255), ImageFont.load_default(side // 2))
    elif kind == 1:
        for bar, share in enumerate((0.4, 0.7, 1.0)):
            left = x + bar * side // 3
            pen.rectangle((left, 8 + side * (1 - share), left + side // 4, 8 + side), color)
    elif kind == 2:
        half, low = 8 + side // 2, 8 + side
        pen.polygon([(x, 8), (x + side, 8), (x + side, half), (x + side // 2, low), (x, half)], color)
        pen.rectangle((x + side // 4, 14, x + 3 * side // 4, 8 + side // 2), fill=other)
    else:
        pen.ellipse((x, 8, x + side, 8 + side), outline=color, width=4)
        pen.text((x + side // 3, 8 + side // 5), "e", other, ImageFont.load_default(side // 2))
    pen.text((x + side + 8, 8 + side // 4), "ACME", color, ImageFont.load_default(side // 2))


def press_seal(drawn: Drawn, rng: Rng) -> Drawn:
    """Press a seal over one of the numbers, as ink on paper, or below or above the print as programs do.

    Returns:
        The numbers under the seal alone.
    """
    image = drawn.image.astype(np.float32)
    height, width = image.shape[:2]
    while True:
        side = int(rng.uniform(100, min(210, height * 0.8)))
        seal, text = draw_seal(rng, "unseen", side)
        _, (x0, y0, x1, y1) = drawn.numbers[int(rng.integers(len(drawn.numbers)))]
        x = int(np.clip((x0 + x1) / 2 - side * rng.uniform(0.2, 0.8), 0, width - side))
        y = int(np.clip((y0 + y1) / 2 - side * rng.uniform(0.2, 0.8), 0, height - side))
        share = np.zeros((height, width), np.float32)
        share[y : y + side, x : x + side] = seal[..., 3] / 255
        covered = [
            (text, box)
            for text, box in drawn.numbers
            if (share[int(box[1]) : int(box[3]), int(box[0]) : int(box[2])] > 0.3).mean() >= LEAST_COVERED
        ]
        if covered:
            break
    ink = seal[0, 0, 2::-1].astype(np.float32)
    kind = rng.choice(["ink", "below", "above"], p=[0.7, 0.15, 0.15])
    weight = share[..., None]
    pressed = {
        "ink": image * (1 - weight + weight * ink / 255),
        "below": np.minimum(image, 255 * (1 - weight) + ink * weight),
        "above": image * (1 - 0.8 * weight) + ink * 0.8 * weight,
    }[str(kind)]
    return Drawn(np.clip(pressed, 0, 255).astype(np.uint8), covered, text, (x, y, x + side, y + side))


def see(image: Pixels, rng: Rng) -> Pixels:
    """Let a program, a scanner or a camera save a BGR picture; nothing moves."""
    image = np.ascontiguousarray(image[..., ::-1])
    kind = rng.random()
    if kind < 0.6:
        image = blur(image, float(rng.uniform(0.3, 0.7)))
    if kind < 0.3:
        image = add_noise(_lit(image, rng), float(rng.uniform(0, 4)), rng)
    if kind < 0.85:
        image = jpeg(image, int(rng.integers(50, 93)))
    return np.ascontiguousarray(image[..., ::-1])


def _lit(image: Pixels, rng: Rng) -> Pixels:
    """Light that falls off to one side, in a tint."""
    height, width = image.shape[:2]
    angle = rng.uniform(0, 2 * np.pi)
    across, down = np.linspace(-1, 1, width)[None, :, None], np.linspace(-1, 1, height)[:, None, None]
    light = rng.uniform(0.75, 1) + rng.uniform(0, 0.15) * (across * np.cos(angle) + down * np.sin(angle))
    return np.clip(image * light * rng.uniform(0.92, 1, 3), 0, 255).astype(np.uint8)


def draw(seed: int, index: int, *, with_seal: bool) -> Drawn:
    """Draw one of the pictures: the same for the same numbers on the same machine."""
    rng = np.random.default_rng([seed, index, int(with_seal)])
    drawn = draw_table(rng, coloured=not with_seal or bool(rng.random() < 0.3))
    if not with_seal:
        return replace(drawn, image=see(drawn.image, rng))
    pressed, chance = press_seal(drawn, rng), int(rng.integers(2**32))
    images = [see(image, np.random.default_rng(chance)) for image in (pressed.image, drawn.image)]
    return replace(pressed, image=images[0], bare=images[1])


def pictures_in(folder: Path) -> list[Path]:
    """Pictures below a folder."""
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".png", ".jpg", ".jpeg"))
