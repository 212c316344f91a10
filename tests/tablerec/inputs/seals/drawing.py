"""Tables with a seal over their numbers, drawn with OpenCV and Pillow's own font alone."""

from __future__ import annotations

import math

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tests.helpers.drawing import Color, Drawing, Look, draw_table

RED: Color = (205, 30, 40)
BLUE: Color = (40, 60, 170)
GREEN: Color = (0, 130, 80)
PURPLE: Color = (140, 30, 130)
ROWS = [
    ["Item", "January", "February", "March"],
    ["Rent", "1,204.50", "1,310.00", "1,287.25"],
    ["Energy", "348.10", "402.75", "377.90"],
    ["Staff", "5,120.00", "5,240.30", "5,180.60"],
    ["Other", "96.35", "104.80", "88.15"],
    ["Total", "6,768.95", "7,057.85", "6,933.90"],
]


def draw_numbers(look: Look | None = None) -> Drawing:
    return draw_table(ROWS, look or Look(size=20, gap=16, leading=9, margin=50))


def ring(side: int, text: str = "ACME TRADING COMPANY", middle: str = "PAID") -> np.ndarray:
    """``(side, side)`` float32 share of ink: a ring, text along it and in its middle."""
    canvas = Image.new("L", (side, side))
    pen = ImageDraw.Draw(canvas)
    thick = max(3, side // 30)
    pen.ellipse((4, 4, side - 5, side - 5), outline=255, width=thick)
    font = ImageFont.load_default(side // 9)
    for index, char in enumerate(text):
        angle = math.radians(-125 + 250 * index / (len(text) - 1))
        letter = Image.new("L", (side, side))
        ImageDraw.Draw(letter).text((side / 2, side * 0.16), char, 255, font, anchor="mm")
        canvas.paste(255, mask=letter.rotate(-math.degrees(angle), Image.Resampling.BICUBIC))
    pen.text((side / 2, side / 2), middle, 255, ImageFont.load_default(side // 6), anchor="mm")
    return np.asarray(canvas, np.float32) / 255


def frame(side: int, text: str = "RECEIVED", degrees: float = 8.0) -> np.ndarray:
    """The same for a frame with a word and a date, turned."""
    canvas = Image.new("L", (side, side))
    pen = ImageDraw.Draw(canvas)
    pen.rectangle((side * 0.08, side * 0.28, side * 0.92, side * 0.72), outline=255, width=max(3, side // 40))
    pen.text((side / 2, side * 0.41), text, 255, ImageFont.load_default(side // 8), anchor="mm")
    pen.text((side / 2, side * 0.59), "2024-03-05", 255, ImageFont.load_default(side // 9), anchor="mm")
    return np.asarray(canvas.rotate(degrees, Image.Resampling.BICUBIC), np.float32) / 255


def filled(side: int, text: str = "FULL", degrees: float = 7.0) -> np.ndarray:
    """The same for a field of ink in which letters are left free, turned."""
    canvas = Image.new("L", (side, side))
    pen = ImageDraw.Draw(canvas)
    pen.rectangle((side * 0.15, side * 0.15, side * 0.85, side * 0.85), fill=255)
    for index, char in enumerate(text):
        place = side * (0.34 + 0.32 * (index % 2)), side * (0.34 + 0.32 * (index // 2))
        pen.text(place, char, 0, ImageFont.load_default(side // 3), anchor="mm")
    return np.asarray(canvas.rotate(degrees, Image.Resampling.BICUBIC), np.float32) / 255


def lines(
    side: int, texts: tuple[str, ...] = ("RECEIVED", "2024-03-05", "ACME LTD"), degrees: float = 9.0
) -> np.ndarray:
    """The same for lines of text without a frame."""
    canvas = Image.new("L", (side, side))
    pen = ImageDraw.Draw(canvas)
    for index, text in enumerate(("RECEIVED", "2024-03-05", "ACME LTD")):
        place = side / 2, side * (0.3 + 0.2 * index)
        pen.text(place, text, 255, ImageFont.load_default(side // 8), anchor="mm", stroke_width=1, stroke_fill=255)
    return np.asarray(canvas.rotate(degrees, Image.Resampling.BICUBIC), np.float32) / 255


def cover(image: np.ndarray, ink: np.ndarray, at: tuple[int, int], color: Color, share: float = 0.75) -> np.ndarray:
    """Lay ink that hides most of what is below on a BGR picture, as programs do."""
    x, y = at
    side = len(ink)
    covered = image.astype(np.float32)
    weight = share * ink[..., None]
    covered[y : y + side, x : x + side] *= 1 - weight
    covered[y : y + side, x : x + side] += weight * np.array(color[::-1], np.float32)
    return covered.round().astype(np.uint8)


def press(image: np.ndarray, ink: np.ndarray, at: tuple[int, int], color: Color) -> np.ndarray:
    """Press ink on a BGR picture, as ink on paper: what is below shows through."""
    x, y = at
    side = len(ink)
    pressed = image.astype(np.float32)
    share = ink[..., None]
    pressed[y : y + side, x : x + side] *= 1 - share + share * np.array(color[::-1], np.float32) / 255
    return pressed.round().astype(np.uint8)


def jpeg(image: np.ndarray, quality: int) -> np.ndarray:
    return np.asarray(cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], 1), np.uint8)
