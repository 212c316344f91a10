"""Seals and stamps: rings with a star and the name of a company, frames with a name, stamps of dates."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from random import Random

import numpy as np
from numpy.typing import NDArray

from tablerec.synth.content.texts import vocabulary
from tablerec.synth.drawing.fonts import Script
from tablerec.synth.lines.typefaces import Split, Typeface, open_font, typefaces

Rgba = NDArray[np.uint8]
Mask = NDArray[np.uint8]

_COLORS: dict[Split, tuple[tuple[int, int, int], ...]] = {
    "train": ((205, 30, 40), (190, 20, 30), (225, 60, 60), (40, 60, 170), (30, 40, 120), (120, 40, 140), (170, 30, 80)),
    "unseen": ((215, 45, 20), (60, 90, 200), (0, 110, 90), (145, 20, 110)),
}
_PURPOSES = (
    "合同专用章",
    "财务专用章",
    "发票专用章",
    "公章",
    "业务专用章",
    "审核专用章",
    "检验专用章",
    "人事专用章",
    "收讫",
    "已审核",
)
_WORDS = (
    "APPROVED", "PAID", "RECEIVED", "COPY", "ORIGINAL", "CONFIDENTIAL", "DRAFT", "CHECKED", "VOID", "CANCELLED",
    "BEZAHLT", "PAGADO", "PAYÉ", "收讫", "已付款", "作废", "已审核", "现金付讫", "原件", "副本",
)  # fmt: skip


def draw_seal(rng: np.random.Generator, split: Split = "train", side: int = 160) -> tuple[Rgba, str]:
    """Draw a seal or a stamp.

    Args:
        rng: Source of chance.
        split: Other shapes, colours and fonts for measuring than for training.
        side: Side of the picture, px.

    Returns:
        ``(side, side, 4)`` uint8 RGB and how much ink there is; and the text, its lines separated by line feeds.

    >>> seal, text = draw_seal(np.random.default_rng(0))
    >>> seal.shape, seal.dtype, text != ""
    ((160, 160, 4), dtype('uint8'), True)
    """
    chance = Random(int(rng.integers(2**62)))  # noqa: S311 - no secret
    draw = chance.choices(list(_SHAPES[split]), list(_SHAPES[split].values()))[0]
    ink, text = draw(chance, split, 2 * side)
    ink = _worn(ink, chance, rng)
    small = _turned(ink, chance.gauss(0, 9) if chance.random() < 0.8 else chance.uniform(-180, 180), side)
    color = np.array(chance.choice(_COLORS[split]), np.float32) + np.array([chance.gauss(0, 8) for _ in range(3)])
    seal = np.empty((side, side, 4), np.uint8)
    seal[..., :3] = np.clip(color, 0, 255).astype(np.uint8)
    seal[..., 3] = small
    return seal, text


def _company(rng: Random) -> str:
    words = vocabulary("chinese")
    place = rng.choice(("北京", "上海", "南京", "深圳", "杭州", "广州", "苏州", "天津", "成都"))
    return place + rng.choice(words["company_names"]) + rng.choice(words["company_kinds"])


def _latin_company(rng: Random) -> str:
    words = vocabulary("english")
    return f"{rng.choice(words['company_names'])} {rng.choice(words['company_kinds'])}".upper()


def _face(rng: Random, text: str, split: Split) -> Typeface:
    script: Script = "chinese" if any(char >= "\u2e80" for char in text) else "latin"
    pool = typefaces(script, split)
    tried = [pool[rng.randrange(len(pool))] for _ in range(8)]
    return max(tried, key=lambda face: sum(face.covers(char) for char in text))


def _glyph(face: Typeface, text: str, size: int) -> Mask:
    core, _ = open_font(face.face, max(6, size), shaped=False).getmask2(text, "L", anchor="ls")
    width, height = core.size
    return np.frombuffer(bytes(core), np.uint8).reshape(height, width)


def _stamp(canvas: Mask, glyph: Mask, x: float, y: float, angle: float = 0) -> None:
    """Put a glyph with its middle at a place, turned by degrees."""
    import cv2

    if not glyph.size:
        return
    height, width = glyph.shape
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), angle, 1)
    matrix[:, 2] += (x - width / 2, y - height / 2)
    turned = cv2.warpAffine(glyph, matrix, (canvas.shape[1], canvas.shape[0]))
    np.maximum(canvas, turned, out=canvas)


def _along_arc(canvas: Mask, face: Typeface, text: str, size: int, radii: tuple[float, float], span: float) -> None:
    """Write around the top of an ellipse; ``span`` are the degrees that the text takes."""
    middle = canvas.shape[0] / 2
    for index, char in enumerate(text):
        angle = math.radians(-span / 2 + span * index / max(1, len(text) - 1))
        x, y = middle + radii[0] * math.sin(angle), middle - radii[1] * math.cos(angle)
        _stamp(canvas, _glyph(face, char, size), x, y, -math.degrees(angle))


def _star(canvas: Mask, radius: float) -> None:
    import cv2

    middle = canvas.shape[0] / 2
    points = [
        (
            middle + radius * (1 if index % 2 == 0 else 0.4) * math.sin(index * math.pi / 5),
            middle - radius * (1 if index % 2 == 0 else 0.4) * math.cos(index * math.pi / 5),
        )
        for index in range(10)
    ]
    cv2.fillPoly(canvas, [np.array(points, np.int32)], 255)


def _ring(rng: Random, split: Split, side: int, rings: int, squeeze: float) -> tuple[Mask, str]:
    import cv2

    canvas = np.zeros((side, side), np.uint8)
    middle, radius = side // 2, side * 0.46
    line = max(2, round(side * rng.uniform(0.012, 0.03)))
    for ring in range(rings):
        shrunk = radius - ring * line * rng.uniform(1.8, 2.4)
        cv2.ellipse(
            canvas, (middle, middle), (round(shrunk), round(shrunk * squeeze)), 0, 0, 360, 255, max(1, line - ring)
        )
    is_latin = rng.random() < 0.3
    name = _latin_company(rng) if is_latin else _company(rng)
    face = _face(rng, name, split)
    span = rng.uniform(210, 265) if len(name) > 8 else 180
    within = radius - line * (1 + 2 * (rings - 1))
    size = round(min(0.14 * side, math.radians(span) * 0.8 * within * squeeze / len(name) / (0.75 if is_latin else 1)))
    reach = within - size * 0.62
    _along_arc(canvas, face, name, size, (reach, reach * squeeze), span)
    text = name
    if rng.random() < 0.75 and squeeze > 0.9:
        _star(canvas, side * rng.uniform(0.1, 0.16))
    if rng.random() < 0.75:
        below = rng.choice(_PURPOSES) if not is_latin else rng.choice(_WORDS[:8])
        glyph = _glyph(_face(rng, below, split), below, round(side * (0.085 if squeeze > 0.9 else 0.075)))
        _stamp(canvas, glyph, middle, middle + side * 0.23 * squeeze)
        text += f"\n{below}"
    if rng.random() < 0.4:
        number = "".join(rng.choices("0123456789", k=13))
        _stamp(
            canvas,
            _glyph(_face(rng, number, split), number, round(side * 0.055)),
            middle,
            middle + side * 0.33 * squeeze,
        )
        text += f"\n{number}"
    return canvas, text


def _round(rng: Random, split: Split, side: int) -> tuple[Mask, str]:
    return _ring(rng, split, side, 1 if rng.random() < 0.7 else 2, 1)


def _oval(rng: Random, split: Split, side: int) -> tuple[Mask, str]:
    return _ring(rng, split, side, 1, rng.uniform(0.62, 0.78))


def _double_ring(rng: Random, split: Split, side: int) -> tuple[Mask, str]:
    return _ring(rng, split, side, 3, rng.choice((1.0, 1.0, 0.85)))


def _octagon(rng: Random, split: Split, side: int) -> tuple[Mask, str]:
    import cv2

    canvas = np.zeros((side, side), np.uint8)
    angles = np.arange(8) * math.pi / 4 + math.pi / 8
    points = np.stack([np.cos(angles), np.sin(angles)], 1) * side * 0.46 + side / 2
    cv2.polylines(canvas, [points.astype(np.int32)], isClosed=True, color=255, thickness=max(2, side // 45))
    lines = [rng.choice(_WORDS), f"{rng.randint(2000, 2030)}.{rng.randint(1, 12):02}.{rng.randint(1, 28):02}"]
    return _write_lines(canvas, lines, rng, split, 0.62)


def _square(rng: Random, split: Split, side: int) -> tuple[Mask, str]:
    """A personal seal: two or four characters, white on red or red on white."""
    import cv2

    canvas = np.zeros((side, side), np.uint8)
    half = round(side * rng.uniform(0.3, 0.42))
    name = rng.choice(vocabulary("chinese")["surnames"])[:2] + rng.choice(vocabulary("chinese")["given_names"])
    name = (name + "之印")[:4] if len(name) < 4 else name[:4]
    face, size = _face(rng, name, split), round(half * 0.85)
    middle = side / 2
    for index, char in enumerate(name):  # from right to left, in columns
        x, y = middle + (0.5 - index // 2) * half, middle + (index % 2 - 0.5) * half
        _stamp(canvas, _glyph(face, char, size), x, y)
    if rng.random() < 0.4:
        filled = np.zeros_like(canvas)
        filled[side // 2 - half : side // 2 + half, side // 2 - half : side // 2 + half] = 255
        canvas = np.asarray(cv2.subtract(filled, canvas), np.uint8)
    else:
        corner = side // 2 - half
        cv2.rectangle(canvas, (corner, corner), (side // 2 + half, side // 2 + half), 255, max(2, side // 50))
    return canvas, name


def _dated(rng: Random, split: Split, side: int) -> tuple[Mask, str]:
    """A frame with a word and a date."""
    import cv2

    canvas = np.zeros((side, side), np.uint8)
    width, height = round(side * 0.43), round(side * rng.uniform(0.15, 0.27))
    thick = max(2, round(side * rng.uniform(0.01, 0.025)))
    middle = side // 2
    if rng.random() < 0.85:
        cv2.rectangle(canvas, (middle - width, middle - height), (middle + width, middle + height), 255, thick)
    lines = [rng.choice(_WORDS)]
    year, month, day = rng.randint(2000, 2030), rng.randint(1, 12), rng.randint(1, 28)
    if rng.random() < 0.75:
        lines.append(
            rng.choice((f"{year}-{month:02}-{day:02}", f"{day:02}.{month:02}.{year}", f"{year}年{month}月{day}日"))
        )
    if rng.random() < 0.3:
        lines.insert(0, _company(rng) if rng.random() < 0.5 else _latin_company(rng))
    return _write_lines(canvas, lines, rng, split, 2 * height / side)


def _write_lines(canvas: Mask, lines: list[str], rng: Random, split: Split, share: float) -> tuple[Mask, str]:
    side = canvas.shape[0]
    step = side * share / (len(lines) + 0.4)
    for index, line in enumerate(lines):
        size = min(step * 0.72, side * 0.8 / max(1.0, 0.62 * len(line) if line.isascii() else 1.05 * len(line)))
        y = side / 2 + (index - (len(lines) - 1) / 2) * step
        _stamp(canvas, _glyph(_face(rng, line, split), line, round(size)), side / 2, y)
    return canvas, "\n".join(lines)


def _worn(ink: Mask, chance: Random, rng: np.random.Generator) -> Mask:
    """Press unevenly: less ink in spots, and less to one side."""
    import cv2

    side = ink.shape[0]
    coarse = rng.uniform(chance.uniform(0.3, 0.9), 1, (5, 5)).astype(np.float32)
    field = cv2.resize(coarse, (side, side), interpolation=cv2.INTER_CUBIC)
    spots = cv2.resize(rng.random((side // 4, side // 4), np.float32), (side, side), interpolation=cv2.INTER_LINEAR)
    field = field * np.where(spots < chance.uniform(0, 0.25), chance.uniform(0.2, 0.7), 1)
    return np.clip(ink * field * chance.uniform(0.65, 1), 0, 255).astype(np.uint8)


def _turned(ink: Mask, angle: float, side: int) -> Mask:
    import cv2

    middle = ink.shape[0] / 2
    matrix = cv2.getRotationMatrix2D((middle, middle), angle, 0.97)
    turned = cv2.warpAffine(ink, matrix, (ink.shape[1], ink.shape[0]))
    return np.asarray(cv2.resize(turned, (side, side), interpolation=cv2.INTER_AREA), np.uint8)


_SHAPES: dict[Split, dict[Callable[[Random, Split, int], tuple[Mask, str]], float]] = {
    "train": {_round: 0.5, _oval: 0.12, _square: 0.2, _dated: 0.18},
    "unseen": {_double_ring: 0.45, _octagon: 0.2, _square: 0.15, _dated: 0.2},
}


@lru_cache(maxsize=256)
def pooled_seal(number: int, split: Split) -> Rgba:
    """Return a seal by its number: drawn once, as drawing one takes longer than a line."""
    return draw_seal(np.random.default_rng([number, 77]), split)[0]
