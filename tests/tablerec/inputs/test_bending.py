"""Bent pages: told from flat ones, flattened, and what is found told in the picture as given."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import cv2
import numpy as np
import pytest

from postprocess.arrays import Floats, Image
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
from postprocess.word import Unplaced, Word
from tablerec.config import Settings
from tablerec.errors import SettingsError
from tablerec.inputs.bending import Bend, Pairs, _fit, find_surface, flatten
from tablerec.inputs.unwarping import unflatten_points
from tablerec.pipeline import Recognizer
from tablerec.result import PageImage, TextLayer

WIDTH, HEIGHT, ROWS, COLS = 900, 600, 8, 5
LETTER = 16
MARGIN = 90


def moved_down(points: Floats, sag: float) -> Floats:
    """Points of the flat page where they are on one that sags in the middle, more so at the bottom."""
    x, y = np.moveaxis(np.asarray(points, float), -1, 0)
    share = x / WIDTH
    return np.stack([x, y + sag * WIDTH * (4 * share * (1 - share) - 0.5) * (0.8 + 0.4 * y / HEIGHT)], axis=-1)


def grid_lines() -> tuple[Floats, Floats]:
    return np.linspace(MARGIN, WIDTH - MARGIN, COLS + 1), np.linspace(MARGIN, HEIGHT - MARGIN, ROWS + 1)


def word_boxes() -> Floats:
    """A word in each cell, six letters wide."""
    xs, ys = grid_lines()
    x, y = np.meshgrid(xs[:-1] + 15, (ys[:-1] + ys[1:]) / 2)
    return np.stack([x, y - LETTER / 2, x + 6 * LETTER, y + LETTER / 2], axis=-1).reshape(-1, 4)


def draw(move: Any, *, ruled: bool = True) -> Image:
    """A page whose lines and letters are moved."""
    image = np.full((HEIGHT, WIDTH, 3), 245, np.uint8)
    xs, ys = grid_lines()
    lines = [np.stack([np.linspace(xs[0], xs[-1], 200), np.full(200, y)], axis=1) for y in ys]
    lines += [np.stack([np.full(200, x), np.linspace(ys[0], ys[-1], 200)], axis=1) for x in xs]
    for line in lines if ruled else ():
        cv2.polylines(image, [np.round(16 * move(line)).astype(int)], False, (30, 30, 30), 2, cv2.LINE_AA, 4)
    boxes = word_boxes()
    for place in range(6):
        letters = boxes[:, :2] + np.array([place * LETTER + 3, 2])
        letters = np.concatenate([letters, letters + np.array([LETTER - 6, LETTER - 4])], axis=1)
        cv2.fillPoly(image, list(np.round(16 * move(boxes_to_quads(letters))).astype(int)), (20, 20, 20), 0, 4)
    return image


def bent_words(sag: float) -> tuple[Floats, list[Word]]:
    quads = moved_down(boxes_to_quads(word_boxes()), sag)
    return quads, [Word("number", array_to_quad(quad)) for quad in quads]


def unevenness(lines: Floats) -> float:
    """How far points of ``(N, P, 2)`` lines are from straight ones, pixels."""
    off = [y - np.polyval(np.polyfit(x, y, 1), x) for x, y in np.moveaxis(lines, -1, 1)]
    return float(np.abs(off).max())


def page_lines(sag: float) -> Floats:
    xs, ys = grid_lines()
    x, y = np.meshgrid(np.linspace(xs[0], xs[-1], 50), ys)
    return moved_down(np.stack([x, y], axis=-1), sag)


@pytest.mark.parametrize("size_hw", [(0, 0), (1, 40), (40, 1), (50, 60)])
def test_nothing_is_known_of_a_page_without_words(size_hw: tuple[int, int]) -> None:
    assert find_surface(np.zeros((*size_hw, 3), np.uint8), np.zeros((0, 4, 2))) is None


@pytest.mark.parametrize("size_hw", [(1, 40), (40, 1), (50, 60)])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200, -5.0, 3.0])
def test_words_of_any_place_are_no_bend(size_hw: tuple[int, int], value: float) -> None:
    assert find_surface(np.zeros((*size_hw, 3), np.uint8), np.full((6, 4, 2), value)) is None


@pytest.mark.parametrize("ruled", [True, False])
@pytest.mark.parametrize("sag", [0.03, 0.06, 0.12])
def test_lines_of_a_bent_page_become_straight(sag: float, ruled: bool) -> None:
    quads, _ = bent_words(sag)
    surface = find_surface(draw(partial(moved_down, sag=sag), ruled=ruled), quads)
    assert surface is not None
    lines = page_lines(sag)
    assert unevenness(lines) > 0.4 * sag * WIDTH
    assert unevenness(surface.flatten_points(lines)) < 0.25 * LETTER


def test_a_surface_goes_both_ways() -> None:
    quads, _ = bent_words(0.08)
    surface = find_surface(draw(partial(moved_down, sag=0.08)), quads)
    assert surface is not None
    points = np.random.default_rng(0).uniform([20, 20], [WIDTH - 20, HEIGHT - 20], (50, 2))
    flat = surface.flatten_points(points)
    assert np.allclose(surface.unflatten_points(flat), points, atol=0.05)
    assert np.allclose(unflatten_points(flat, surface.to_map()), points, atol=0.3)


def tilted(points: Floats) -> Floats:
    """A flat page seen at an angle."""
    matrix = cv2.getPerspectiveTransform(
        np.float32([[0, 0], [WIDTH, 0], [WIDTH, HEIGHT], [0, HEIGHT]]),
        np.float32([[30, 10], [WIDTH - 5, 40], [WIDTH - 40, HEIGHT - 50], [10, HEIGHT - 5]]),
    )
    return np.asarray(cv2.perspectiveTransform(np.float64(points).reshape(1, -1, 2), matrix).reshape(points.shape))


@pytest.mark.parametrize("move", [np.asarray, tilted])
@pytest.mark.parametrize("ruled", [True, False])
def test_a_flat_page_stays_as_it_is(move: Any, ruled: bool) -> None:
    quads = np.asarray(move(boxes_to_quads(word_boxes())))
    assert find_surface(draw(move, ruled=ruled), quads) is None


def crumpled(points: Floats) -> Floats:
    """Points of the flat page where they are on one that sags a little, each word tilted by the crease it lies in."""
    xs, ys = grid_lines()
    x, y = np.moveaxis(np.asarray(points, float), -1, 0)
    column, row = (np.clip(np.searchsorted(lines, at) - 1, 0, len(lines) - 2) for lines, at in ((xs, x), (ys, y)))
    slope = np.random.default_rng(3).normal(0, 0.06, (ROWS, COLS))[row, column]
    return np.stack([x, moved_down(points, 0.025)[..., 1] + slope * (x - xs[column] - 3 * LETTER)], axis=-1)


def test_a_crumpled_page_has_no_surface() -> None:
    """A receipt with folds was flattened by a surface that few of its lines followed, and its rows were merged."""
    quads = crumpled(boxes_to_quads(word_boxes()))
    assert find_surface(draw(crumpled, ruled=False), quads) is None


def test_pages_of_a_pdf_with_words_were_not_photographed() -> None:
    quads, words = bent_words(0.08)
    layer = TextLayer((), {}, (), np.zeros((0, 4)), np.zeros((0, 0, 3), np.uint8), True)
    picture = PageImage("a.pdf", 1, draw(partial(moved_down, sag=0.08)), tuple(words), layer)
    assert flatten(picture, quads) is None
    assert flatten(replace(picture, layer=None), quads) is not None


def test_words_that_are_known_move_along() -> None:
    quads, words = bent_words(0.08)
    hidden = Unplaced(words[0], "invisible")
    layer = TextLayer((), {}, (hidden,), np.zeros((0, 4)), np.zeros((0, 0, 3), np.uint8), True)
    image = draw(partial(moved_down, sag=0.08))
    known = flatten(PageImage("a.png", 1, image, tuple(words)), quads)
    scanned = flatten(PageImage("a.pdf", 1, image, None, layer), quads)
    assert known is not None and known[0].words is not None
    assert scanned is not None and scanned[0].words is None and scanned[0].layer is not None
    moved = known[0].words[0].quad
    assert scanned[0].layer.hidden[0].word.quad == moved
    assert np.allclose(unflatten_points(np.array(moved), known[1]), words[0].quad, atol=0.3)


@pytest.mark.parametrize("detector", ["rulings", "words"])
def test_a_table_on_a_bent_page_is_read_as_if_it_were_flat(detector: str) -> None:
    _, words = bent_words(0.12)
    image = draw(partial(moved_down, sag=0.12), ruled=detector == "rulings")
    settings = Settings(detector=detector, ocr="none")
    (page,) = Recognizer(settings).recognize(image, words).pages
    assert np.array_equal(page.picture.image, image)
    (table,) = page.tables
    assert table.shape == (ROWS, COLS)
    assert {cell.text for cell in table.cells} == {"number"}
    off = np.abs(np.array([word.quad for word in page.words]) - [word.quad for word in words])
    assert off.max() < 0.5
    # Corners are in the picture as given.
    middles = {(cell.row, cell.col): np.mean(cell.quad, axis=0) for cell in table.cells if cell.quad}
    xs, ys = grid_lines()
    for row in range(ROWS) if detector == "rulings" else ():
        middle = moved_down(np.array([(xs[2] + xs[3]) / 2, (ys[row] + ys[row + 1]) / 2]), 0.12)
        assert np.abs(middles[row, 2] - middle).max() < LETTER / 2


def test_off_leaves_a_bent_page_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablerec.pipeline.flatten", None)
    _, words = bent_words(0.12)
    settings = Settings(detector="rulings", ocr="none", unwarp="off")
    assert Recognizer(settings).recognize(draw(partial(moved_down, sag=0.12)), words).pages


def test_an_unknown_way_to_flatten_is_named() -> None:
    with pytest.raises(SettingsError, match="unwarp is True: choose 'auto', 'UVDoc' or 'off'"):
        Settings(unwarp=True)  # type: ignore[arg-type]


def test_without_evidence_a_bend_is_what_is_usual() -> None:
    nothing = Pairs(np.zeros((0, 2, 2)), np.zeros(0))
    bend, off = _fit(nothing, (200, 100), slope=0.1)
    at = np.linspace(0, 200, 5)
    assert len(off) == 0
    assert np.allclose(np.diff(bend.shift(at, np.full(5, 50.0))), 5, atol=1e-6)


def test_levels_are_those_of_the_shift() -> None:
    coefficients = np.random.default_rng(0).normal(0, 3, (13, 5)) * 0.5 ** np.arange(5)
    bend = Bend((200, 100), coefficients)
    along, level = np.random.default_rng(1).uniform(0, [[200], [100]], (2, 40))
    assert np.allclose(bend.level(along, level + bend.shift(along, level)), level, atol=0.01)
