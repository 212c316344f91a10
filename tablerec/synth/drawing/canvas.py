"""Drawing on an array: fills, lines and text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tablerec.synth.description import Color, Rule
from tablerec.synth.drawing.glyphs import Font
from tablerec.synth.sample import Image

Box = tuple[float, float, float, float]


class Canvas:
    """A picture that is drawn on.

    Fills and lines are drawn at once, text is collected by colour and drawn last.

    Args:
        width: px.
        height: px.
        ground: Colour of the empty picture.

    >>> canvas = Canvas(4, 3, (255, 255, 255))
    >>> canvas.fill((0, 0, 2, 1), (0, 0, 0))
    >>> canvas.finish()[:, :, 0].tolist()
    [[0, 0, 255, 255], [255, 255, 255, 255], [255, 255, 255, 255]]
    """

    def __init__(self, width: int, height: int, ground: Color) -> None:
        self.width, self.height = width, height
        self.pixels: Image = np.empty((height, width, 3), np.uint8)
        # Whole rows are copied many times faster than single pixels.
        row = np.empty((width, 3), np.uint8)
        row[:] = ground
        self.pixels[:] = row
        self._inks: dict[Color, NDArray[np.uint8]] = {}

    def fill(self, box: Box, color: Color, share: float = 1) -> None:
        """Fill a box; with ``share`` below 1 the ground shows through."""
        x0, y0, x1, y1 = (max(0, round(value)) for value in box)
        view = self.pixels[y0:y1, x0:x1]
        if share >= 1:
            view[:] = color
        elif view.size:
            view[:] = (view * (1 - share) + np.array(color) * share).astype(np.uint8)

    def line(self, x0: float, y0: float, x1: float, y1: float, rule: Rule) -> None:
        """Draw a level or upright line, centred on the given one."""
        if rule.pattern == "double":
            single = Rule(rule.width, rule.color)
            apart = max(1.0, rule.width) + 0.5
            dx, dy = (0.0, apart) if y0 == y1 else (apart, 0.0)
            self.line(x0 - dx, y0 - dy, x1 - dx, y1 - dy, single)
            self.line(x0 + dx, y0 + dy, x1 + dx, y1 + dy, single)
            return
        thick = max(1, round(rule.width))
        share = min(1.0, rule.width)
        for start, end in _dashes(max(x1 - x0, y1 - y0), rule):
            if y0 == y1:
                top = round(y0 - thick / 2)
                self.fill((x0 + start, top, x0 + end, top + thick), rule.color, share)
            else:
                left = round(x0 - thick / 2)
                self.fill((left, y0 + start, left + thick, y0 + end), rule.color, share)

    def text(self, x: float, baseline: float, text: str, font: Font, color: Color) -> Box:
        """Draw a text and return the box of its ink."""
        ink = self._ink(color)
        left, top, right, bottom = float("inf"), float("inf"), -float("inf"), -float("inf")
        base, pen = round(baseline), x
        for character in text:
            (bitmap, dx, dy), at = font.bitmap(character, pen)
            height, width = bitmap.shape
            if width:
                x0, y0 = at + dx, base + dy
                stamp(ink, bitmap, x0, y0)
                left, top = min(left, x0), min(top, y0)
                right, bottom = max(right, x0 + width), max(bottom, y0 + height)
            pen += font.advance(character)
        if right < left:
            return x, baseline - font.size * 0.7, pen, baseline
        return left, top, right, bottom

    def turned_text(self, x: float, bottom: float, text: str, font: Font, color: Color) -> Box:
        """Draw a text that is read from below, its base line at ``x``, and return the box of its ink."""
        length, height = int(font.width(text)) + 8, int(2.2 * font.size) + 4
        strip = Canvas(length, height, color)
        base = int(1.5 * font.size)
        x0, y0, x1, y1 = strip.text(2, base, text, font, color)
        bitmap = np.rot90(strip._ink(color))
        stamp(self._ink(color), np.ascontiguousarray(bitmap), round(x) - base, round(bottom) - length + 2)
        right, low = round(x) - base, round(bottom) + 2
        return right + y0, low - x1, right + y1, low - x0

    def finish(self) -> Image:
        """Draw the collected text and return the picture."""
        for color, ink in self._inks.items():
            inked = np.flatnonzero(ink)
            cover = ink.ravel()[inked, None].astype(np.uint16)
            ground = self.pixels.reshape(-1, 3)
            mixed = ground[inked] * (255 - cover) + np.array(color, np.uint16) * cover + 127
            ground[inked] = (mixed // 255).astype(np.uint8)
        self._inks.clear()
        return self.pixels

    def _ink(self, color: Color) -> NDArray[np.uint8]:
        found = self._inks.get(color)
        if found is None:
            found = self._inks[color] = np.zeros((self.height, self.width), np.uint8)
        return found


def stamp(ink: NDArray[np.uint8], bitmap: NDArray[np.uint8], x: int, y: int) -> None:
    """Lay a bitmap over coverage, the darker one counting; what lies outside is cut off."""
    height, width = bitmap.shape
    if x < 0 or y < 0 or x + width > ink.shape[1] or y + height > ink.shape[0]:
        bitmap = bitmap[max(0, -y) : max(0, ink.shape[0] - y), max(0, -x) : max(0, ink.shape[1] - x)]
        x, y = max(0, x), max(0, y)
        height, width = bitmap.shape
    view = ink[y : y + height, x : x + width]
    np.maximum(view, bitmap, out=view)


def _dashes(length: float, rule: Rule) -> Sequence[tuple[float, float]]:
    if rule.pattern == "solid":
        return [(0, length)]
    unit = max(1.0, rule.width)
    on, off = (4 * unit, 3 * unit) if rule.pattern == "dashed" else (unit, 2 * unit)
    return [(start, min(start + on, length)) for start in np.arange(0, length, on + off).tolist()]
