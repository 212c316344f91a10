"""Receipts in letters of equal width: what stands on one raster is no column for that."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from postprocess.geometry.boxes import array_to_quad, rotate_points
from postprocess.grid.layout import spans_to_layout
from postprocess.lineless.gaps import words_to_area
from postprocess.text.lines import words_to_texts
from postprocess.word import Word, Words

HEIGHT = 20.0
ARTICLES = [
    "Milk 1,5% 1l",
    "Rye bread 750 g",
    "Butter",
    "Coffee beans",
    "Paper bag",
    "Croissant",
    "Cheese cut",
    "Oat drink",
    "Apples red kg",
    "Bananas",
    "Tomato soup",
    "Olive oil 0,5l",
    "Dark chocolate",
    "SALTED F.RICE",
    "LARGE ICE TEA",
    "Cola zero 6x0,33",
]
Line = list[tuple[int, str]]
"""Texts of one line, each with the number of letters before it; a truth of one row each."""


def amount(random: Random, most: int = 19) -> str:
    return f"{random.randint(0, most)},{random.randint(0, 99):02d}"


def at_right(end: int, text: str) -> tuple[int, str]:
    return end - len(text), text


def articles(random: Random) -> list[Line]:
    """Article and price, some with the letter of a tax rate behind it."""
    letters = random.choice([["A", "B"], [""]])
    return [
        [(0, random.choice(ARTICLES)), at_right(36, f"{amount(random)} {random.choice(letters)}".strip())]
        for _ in range(random.randint(6, 14))
    ]


def quantities(random: Random) -> list[Line]:
    """A quantity before each article, and a sum without one."""
    lines: list[Line] = [
        [(0, f"{random.randint(1, 9)} {random.choice(ARTICLES)}"), at_right(36, amount(random))]
        for _ in range(random.randint(6, 14))
    ]
    return [*lines, [(0, "Total"), at_right(36, amount(random, 99))]]


def records(random: Random) -> list[Line]:
    """Some articles with quantity and price on a line of their own."""
    lines: list[Line] = []
    for _ in range(random.randint(6, 10)):
        article, price = (0, random.choice(ARTICLES)), at_right(36, amount(random, 99))
        if random.random() < 0.5:
            lines += [[article], [(2, f"{random.randint(2, 9)} x {amount(random)}"), price]]
        else:
            lines += [[article, price]]
    return [*lines, [(0, "Total"), at_right(36, amount(random, 99))]]


def four_columns(random: Random) -> list[Line]:
    """Article, quantity, price and sum under heads."""
    ends = 28, 36, 46
    heads = [(0, "Article"), *(at_right(end, text) for end, text in zip(ends, ("Qty", "Price", "Total"), strict=True))]
    rows = [
        [(0, random.choice(ARTICLES)), *(at_right(end, amount(random)) for end in ends)]
        for _ in range(random.randint(5, 12))
    ]
    return [heads, *rows]


def lines_to_words(lines: list[Line], pitch: float, cut: bool, random: Random) -> list[Word]:
    """The words as an OCR engine boxes them, one for each text or, cut, for each word of it."""
    words = []
    for number, line in enumerate(lines):
        for start, text in line:
            for word in text.split() if cut else [text]:
                at = start + text.index(word)
                x0, x1 = ((each + random.gauss(0, 0.05)) * pitch for each in (at + 0.1, at + len(word) - 0.1))
                y0 = 1.3 * HEIGHT * number + random.gauss(0, 1)
                words.append(Word(word, ((x0, y0), (x1, y0), (x1, y0 + HEIGHT), (x0, y0 + HEIGHT))))
    return words


def turn_words(words: list[Word], degrees: float) -> list[Word]:
    """The words of a picture that is turned; boxes of short ones stay level, as OCR engines box them."""
    turned = []
    for word in words:
        corners = np.array(word.quad)
        middle = rotate_points(corners.mean(axis=0), degrees, (0.0, 0.0))
        length, height = np.ptp(corners, axis=0)
        rise = length * abs(np.sin(np.radians(degrees)))
        box = corners - corners.mean(axis=0)
        own = rotate_points(box, degrees, (0.0, 0.0)) if rise > 0.15 * height else box
        turned.append(Word(word.text, array_to_quad(own + middle)))
    return turned


def read_rows(words: list[Word]) -> list[list[str]]:
    area = words_to_area(words)
    assert area is not None
    layout, known = spans_to_layout(area.ys, area.xs, area.frame, area.spans), Words(words)
    texts = words_to_texts(known, layout.cells_at(known.middles), len(layout.spans))
    return [[texts[cell] for cell in row] for row in layout.owner.tolist()]


def true_rows(lines: list[Line]) -> list[list[str]]:
    """Texts of each line; an article that stands alone is in the first column."""
    n_columns = max(map(len, lines))
    return [[text for _, text in line] + [""] * (n_columns - len(line)) for line in lines]


@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut"])
@pytest.mark.parametrize("pitch", [0.42, 0.6, 1.0])
@pytest.mark.parametrize("draw", [articles, quantities, records, four_columns])
def test_receipts_are_not_cut_at_each_blank(draw: Callable[[Random], list[Line]], pitch: float, cut: bool) -> None:
    for seed in range(8):
        random = Random(seed)
        lines = draw(random)
        assert read_rows(lines_to_words(lines, pitch * HEIGHT, cut, random)) == true_rows(lines), seed


@pytest.mark.parametrize("degrees", [-5.0, -2.0, -0.7, 0.0, 0.7, 2.0, 5.0])
def test_rows_of_a_turned_receipt_are_level(degrees: float) -> None:
    """Price and article are far apart, and their boxes say little of how they are turned."""
    for seed in range(8):
        lines = articles(Random(seed))
        words = turn_words(lines_to_words(lines, 0.6 * HEIGHT, False, Random(seed)), degrees)
        assert read_rows(words) == true_rows(lines), seed


def test_the_scale_of_a_receipt_changes_nothing() -> None:
    for factor in (0.1, 1.0, 7.0):
        lines = quantities(Random(1))
        words = lines_to_words(lines, HEIGHT, True, Random(2))
        scaled = [Word(word.text, tuple((factor * x, factor * y) for x, y in word.quad)) for word in words]  # type: ignore[arg-type]
        assert read_rows(scaled) == true_rows(lines)
