"""Colours that go together."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

from tablerec.synth.content.texts import Writer
from tablerec.synth.description import BLACK, WHITE, Color


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of a table.

    Args:
        ground: Behind the table.
        ink: Of the text.
        rule: Of lines.
        shade: A light fill, for headers and totals.
        band: A lighter fill, for every second row.
        accent: A strong fill.
        accent_ink: Of text on it.
        body: Fill of all other cells, or None.
    """

    ground: Color
    ink: Color
    rule: Color
    shade: Color
    band: Color
    accent: Color
    accent_ink: Color
    body: Color | None = None


def make_theme(writer: Writer, name: str) -> Theme:
    """Return the colours of a theme: ``light``, ``tinted``, ``dark``, ``coloured`` or ``saturated``.

    >>> import numpy as np
    >>> theme = make_theme(Writer(np.random.default_rng(1), "english"), "dark")
    >>> sum(theme.ground) < sum(theme.ink)
    True
    """
    hue = writer.real((0, 1))
    grey = writer.chance(0.6)
    strong = _color(hue, 0 if writer.chance(0.15) else writer.real((0.4, 1)), writer.real((0.3, 0.8)))
    if name == "dark":
        ground = _color(hue, writer.real((0, 0.4)), writer.real((0.04, 0.22)))
        ink = mix(ground, WHITE, writer.real((0.7, 1)))
        return Theme(
            ground, ink, mix(ground, ink, writer.real((0.2, 0.7))), mix(ground, WHITE, writer.real((0.06, 0.2))),
            mix(ground, WHITE, writer.real((0.03, 0.1))), mix(strong, BLACK, 0.2), WHITE,
        )  # fmt: skip
    if name == "saturated":
        return _saturated(writer)
    ground = WHITE
    ink = BLACK if writer.chance(0.7) else _color(hue, writer.real((0, 0.7)), writer.real((0.05, 0.45)))
    if name == "tinted":
        ground = _color(hue, writer.real((0, 0.08)), writer.real((0.88, 0.99)))
    shade_from = (128, 128, 128) if grey else strong
    light = mix(ground, shade_from, writer.real((0.1, 0.4)) * (1 if grey else 0.9))
    rule = ink if writer.chance(0.6) else mix(ground, ink if grey else strong, writer.real((0.3, 0.9)))
    accent_ink = WHITE if _luma(strong) < 150 else BLACK
    body = None
    if name == "coloured":
        rule = writer_choice(writer, [WHITE, strong, rule])
        body = mix(WHITE, strong, writer.real((0.08, 0.35))) if writer.chance(0.6) else None
        light = mix(WHITE, strong, writer.real((0.2, 0.5)))
        ink = BLACK if body is None or _luma(body) > 120 else WHITE
    return Theme(ground, ink, rule, light, mix(ground, light, writer.real((0.4, 1))), strong, accent_ink, body)


_BRIGHT = (0.14, 0.09, 0.22, 0.27, 0.5, 0.03)
"""Hues that black text stands on: yellow, orange, lime, green, cyan, tomato."""
_DEEP = (0.39, 0.6, 0.65, 0.97, 0.78)
"""Hues that white text stands on: dark green, blues, crimson, purple."""


def _saturated(writer: Writer) -> Theme:
    """Return fills of full colour, with lines that are black, white or a shade of the ground."""

    def hue(hues: tuple[float, ...]) -> float:
        return writer.choose_real(*hues) + writer.real((-0.015, 0.015))

    bright, second = (_color(hue(_BRIGHT), writer.real((0.75, 1)), writer.real((0.85, 1))) for _ in range(2))
    deep = _color(hue(_DEEP), writer.real((0.75, 1)), writer.real((0.3, 0.7)))
    accent, accent_ink = (deep, WHITE) if writer.chance(0.65) else (second, BLACK)
    rule = writer_choice(writer, [BLACK, BLACK, WHITE, mix(deep, BLACK, writer.real((0, 0.6)))])
    body = mix(WHITE, second, writer.real((0.3, 1))) if writer.chance(0.35) else None
    if rule == WHITE and body is None:
        body = mix(WHITE, second, 0.6)
    return Theme(WHITE, BLACK, rule, bright, mix(WHITE, second, writer.real((0.4, 1))), accent, accent_ink, body)


def writer_choice(writer: Writer, colors: list[Color]) -> Color:
    """Return any of the colours."""
    return colors[int(writer.rng.integers(len(colors)))]


def mix(first: Color, second: Color, share: float) -> Color:
    """Return a colour between two.

    >>> mix((0, 0, 0), (255, 255, 255), 0.2)
    (51, 51, 51)
    """
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


def _color(hue: float, saturation: float, value: float) -> Color:
    red, green, blue = (round(255 * part) for part in colorsys.hsv_to_rgb(hue, saturation, value))
    return red, green, blue


def _luma(color: Color) -> float:
    red, green, blue = color
    return 0.3 * red + 0.59 * green + 0.11 * blue
