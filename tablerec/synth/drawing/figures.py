"""Pictures that are no tables: charts, logos and lines."""

from __future__ import annotations

import math
from itertools import pairwise

from tablerec.synth.description import Color, Figure, Rule
from tablerec.synth.drawing.canvas import Box, Canvas
from tablerec.synth.drawing.glyphs import Font


def draw_figure(canvas: Canvas, figure: Figure, x: float, y: float) -> list[tuple[str, Box]]:
    """Draw a figure with its top left corner at ``(x, y)``, and return its words with their boxes."""
    if figure.kind == "rule":
        canvas.fill((x, y, x + figure.width, y + max(1.0, figure.height)), figure.colors[0])
        return []
    if figure.kind == "pie":
        _pie(canvas, figure, x, y)
        return []
    if figure.kind == "logo":
        _logo(canvas, figure, x, y)
        return []
    return _chart(canvas, figure, x, y)


def _chart(canvas: Canvas, figure: Figure, x: float, y: float) -> list[tuple[str, Box]]:
    """Draw bars or a line with axes, ticks and grid lines, which look much like rules."""
    font, ink = Font.of(figure.style), figure.style.color
    left, base = x + 3 * font.size, y + figure.height - 2 * font.size
    width, height = figure.width - 3 * font.size, figure.height - 3 * font.size
    words = []
    for tick in range(5):
        level = base - height * tick / 4
        canvas.line(left, level, left + width, level, Rule(1 if tick == 0 else 0.4, ink))
        text = str(tick * 25)
        words.append((text, canvas.text(left - font.width(text) - 4, level + 0.35 * font.size, text, font, ink)))
    step = width / max(1, len(figure.values))
    points = []
    for index, value in enumerate(figure.values):
        middle, top = left + (index + 0.5) * step, base - height * value
        if figure.kind == "bars":
            canvas.fill(
                (middle - 0.32 * step, top, middle + 0.32 * step, base), figure.colors[index % len(figure.colors)]
            )
        points.append((middle, top))
        text = str(2000 + index)
        if step > font.width(text) + 4:
            words.append((text, canvas.text(middle - font.width(text) / 2, base + 1.2 * font.size, text, font, ink)))
    if figure.kind == "lines":
        for first, second in pairwise(points):
            _stroke(canvas, first, second, figure.colors[0])
    return words


def _stroke(canvas: Canvas, first: tuple[float, float], second: tuple[float, float], color: Color) -> None:
    steps = max(2, int(math.dist(first, second)))
    for number in range(steps):
        px = first[0] + (second[0] - first[0]) * number / steps
        py = first[1] + (second[1] - first[1]) * number / steps
        canvas.fill((px - 1, py - 1, px + 1, py + 1), color)


def _pie(canvas: Canvas, figure: Figure, x: float, y: float) -> None:
    radius = min(figure.width, figure.height) / 2
    total = sum(figure.values) or 1.0
    ends, at = [], 0.0
    for value in figure.values:
        at += value / total
        ends.append(at)
    for row in range(int(2 * radius)):
        half = math.sqrt(max(0.0, radius**2 - (row - radius) ** 2))
        for start in range(int(radius - half), int(radius + half), 3):
            angle = (math.atan2(row - radius, start - radius) / (2 * math.pi)) % 1
            slice_index = next((index for index, end in enumerate(ends) if angle <= end), 0)
            color = figure.colors[slice_index % len(figure.colors)]
            canvas.fill((x + start, y + row, x + start + 3, y + row + 1), color)


def _logo(canvas: Canvas, figure: Figure, x: float, y: float) -> None:
    """Draw a few blocks of colour."""
    count = max(1, len(figure.values))
    for index, value in enumerate(figure.values):
        left = x + figure.width * index / count
        top = y + figure.height * (1 - value)
        canvas.fill(
            (left, top, left + figure.width / count * 0.8, y + figure.height), figure.colors[index % len(figure.colors)]
        )
