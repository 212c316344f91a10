"""The second renderer: a page drawn by Chromium, with the truth from its DOM.

It shares the description and the rule of truth with the fast one, but neither layout, nor
line breaking, nor drawing of text: a network trained on one can be tested on the other.
"""

from __future__ import annotations

import base64
import io
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from postprocess.geometry.boxes import boxes_to_quads
from tablerec.synth.browser.chromium import BrowserError, Chromium
from tablerec.synth.browser.markup import Habits, is_spaced, to_html
from tablerec.synth.description import Page, Rule, TableSpec
from tablerec.synth.drawing.layout import Extent, true_sides
from tablerec.synth.sample import TEXT_ROLES, Cells, Image, Sample, Tables, Words

_MAX_PIXELS = 8e6
"""Larger pages are drawn smaller, as by the fast renderer."""

_MAX_SIDE = 15_000
"""Longest side of a picture that Chromium draws, px."""

_WIDE = 4000
"""Width of the window while a page is laid out; the page is as wide as its content, whatever this is."""

_running: dict[int, Chromium] = {}
"""The browser of this process, by process id: a forked process must not use that of its parent."""


def render(page: Page, rng: np.random.Generator, browser: Chromium | None = None) -> Sample:
    """Draw a page in Chromium.

    Args:
        page: What is drawn.
        rng: Source of chance for what HTML leaves open, see ``markup.Habits``.
        browser: A running one; by default this process keeps one for all pages, until it ends.

    Returns:
        The whole page. The same page and state of ``rng`` give the same sample with the same
        version of the browser and the same fonts.

    Raises:
        MissingDependencyError: Playwright or the browser is not installed.
        BrowserError: It does not start, or fails twice.
    """
    habits = Habits.choose(rng)
    if browser is not None:
        return _render(page, habits, browser)
    try:
        return _render(page, habits, _shared())
    except BrowserError:
        # A browser that has drawn thousands of pages may fail once; a new one is tried.
        close()
        return _render(page, habits, _shared())


def close() -> None:
    """End the browser that this process keeps, if any; ``render`` starts another."""
    browser = _running.pop(os.getpid(), None)
    if browser is not None:
        browser.close()


def _shared() -> Chromium:
    browser = _running.get(os.getpid())
    if browser is None:
        browser = _running[os.getpid()] = Chromium()
    return browser


def _render(page: Page, habits: Habits, browser: Chromium) -> Sample:
    _set_window(browser, _WIDE, 1000, habits.scale)
    browser.show(to_html(page, habits))
    measured = browser.evaluate(_script())
    width, height = measured["size"]
    scale = min(habits.scale, (_MAX_PIXELS / (width * height)) ** 0.5, _MAX_SIDE / max(width, height))
    if scale < habits.scale:
        # Lines snap to whole pixels, so that the layout depends a little on the scale.
        _set_window(browser, _WIDE, 1000, scale)
        measured = browser.evaluate(_script())
        width, height = measured["size"]
    _set_window(browser, int(np.ceil(width)), int(np.ceil(height)), scale)
    image = _picture(browser)
    return _to_sample(page, replace(habits, scale=scale), measured, image)


def _set_window(browser: Chromium, width: int, height: int, scale: float) -> None:
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
    )


def _picture(browser: Chromium) -> Image:
    from PIL import Image as Pictures

    answer = browser.call("Page.captureScreenshot", format="png", optimizeForSpeed=True)
    with Pictures.open(io.BytesIO(base64.b64decode(answer["data"]))) as picture:
        return np.array(picture.convert("RGB"))


@cache
def _script() -> str:
    return (resources.files("tablerec.synth") / "measure.js").read_text("utf-8")


def _to_sample(page: Page, habits: Habits, measured: dict[str, Any], image: Image) -> Sample:
    boxes = {int(index): box for index, *box in measured["cells"]}
    words = measured["words"]
    texts, extents = _texts(words), _extents(words, measured["inks"])
    specs = [cell for table in page.tables for cell in table.cells]
    cell_boxes, outlines, owners, first = [], [], [], 0
    for number, table in enumerate(page.tables):
        end = first + len(table.cells)
        mine = [boxes[index] for index in range(first, end)]
        held = [extents.get(index) for index in range(first, end)]
        xs, ys = (true_sides(table, held, _sides(table, habits, mine, axis), axis) for axis in range(2))
        cell_boxes += [
            (xs[cell.col], ys[cell.row], xs[cell.col + cell.colspan], ys[cell.row + cell.rowspan])
            for cell in table.cells
        ]
        outlines.append((xs[0], ys[0], xs[-1], ys[-1]))
        owners += [number] * len(table.cells)
        first = end

    def column(values: Sequence[int]) -> NDArray[np.int32]:
        return np.array(values, np.int32)

    def quads(found: Sequence[Sequence[float]]) -> NDArray[np.float32]:
        scaled = np.array(found, float).reshape(-1, 4) * habits.scale
        return boxes_to_quads(scaled).astype(np.float32)

    word_quads = quads([word[4:8] for word in words])
    turned = np.array([word[3] for word in words], bool)
    # Read from below: the first corner is at the bottom left.
    word_quads[turned] = np.roll(word_quads[turned], 1, axis=1)
    word_types = quads(_types(words, measured["inks"]))
    word_types[turned] = word_quads[turned]
    return Sample(
        image=image,
        cells=Cells(
            quads=quads(cell_boxes),
            rows=column([cell.row for cell in specs]),
            cols=column([cell.col for cell in specs]),
            rowspans=column([cell.rowspan for cell in specs]),
            colspans=column([cell.colspan for cell in specs]),
            tables=column(owners),
            kinds=tuple(cell.kind for cell in specs),
            texts=tuple(texts.get(index, "") for index in range(len(specs))),
        ),
        words=Words(
            word_quads,
            tuple(word[0] for word in words),
            column([max(-1, word[1]) for word in words]),
            word_types,
            tuple(TEXT_ROLES[max(0, -1 - word[1])] for word in words),
        ),
        tables=Tables(
            quads(outlines),
            column([len(table.rows) for table in page.tables]),
            column([len(table.columns) for table in page.tables]),
        ),
        about=dict(page.about),
    )


def _texts(words: Sequence[Sequence[Any]]) -> dict[int, str]:
    """Return the text of each cell as it was broken into lines."""
    lines: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for text, cell, line, *_ in words:
        lines[cell][line].append(text)
    return {cell: "\n".join(" ".join(line) for line in found.values()) for cell, found in lines.items()}


def _types(words: Sequence[Sequence[Any]], inks: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the box of each word as high as its type, with the check box before it."""
    types = [[x0, min(y0, high), x1, max(y1, low)] for _, _, _, _, x0, y0, x1, y1, high, low in words]
    first_of = {int(word[1]): index for index, word in reversed(list(enumerate(words)))}
    for cell, x0, y0, x1, y1 in inks:
        box = types[first_of[int(cell)]] if int(cell) in first_of else None
        if box is not None and x1 <= box[0] + 1 and x1 - x0 < 2 * (y1 - y0) and min(y1, box[3]) > max(y0, box[1]):
            box[0] = x0
    return types


def _extents(words: Sequence[Sequence[Any]], inks: Sequence[Sequence[float]]) -> dict[int, Extent]:
    """Return left, top, right, bottom of what stands in each cell."""
    found: dict[int, list[Sequence[float]]] = defaultdict(list)
    for _, cell, _, _, x0, _, x1, _, y0, y1 in words:
        found[cell].append((x0, y0, x1, y1))
    for cell, *box in inks:
        found[int(cell)].append(box)
    extents = {}
    for index, boxes in found.items():
        low, high = np.min(boxes, axis=0), np.max(boxes, axis=0)
        extents[index] = (float(low[0]), float(low[1]), float(high[2]), float(high[3]))
    return extents


def _sides(spec: TableSpec, habits: Habits, boxes: Sequence[Sequence[float]], axis: int) -> Floats:
    """Return the sides of the columns (axis 0) or rows (axis 1) of a table, in the middle of their rules."""
    count = len((spec.columns, spec.rows)[axis])
    found: list[list[float]] = [[] for _ in range(count + 1)]
    # Rules that are not collapsed lie inside the cell that has them: before or behind the side.
    thick_after: list[list[float]] = [[] for _ in range(count + 1)]
    thick_before: list[list[float]] = [[] for _ in range(count + 1)]
    gap = habits.spacing / 2 if is_spaced(spec, habits) else 0.0
    for cell, box in zip(spec.cells, boxes, strict=True):
        start, span = ((cell.col, cell.colspan), (cell.row, cell.rowspan))[axis]
        before, after = ((cell.left, cell.right), (cell.top, cell.bottom))[axis]
        found[start].append(box[axis] - gap)
        found[start + span].append(box[axis + 2] + gap)
        thick_after[start].append(_thickness(before))
        thick_before[start + span].append(_thickness(after))
    known = [index for index, values in enumerate(found) if values]
    middles = [float(np.median(found[index])) for index in known]
    if habits.borders != "collapse" and not gap:
        shifts = [_median(thick_after[index]) - _median(thick_before[index]) for index in known]
        middles = [middle + shift / 2 for middle, shift in zip(middles, shifts, strict=True)]
    return np.maximum.accumulate(np.interp(np.arange(count + 1), known, middles))


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else 0.0


def _thickness(rule: Rule | None) -> float:
    if rule is None or rule.inset:
        return 0
    return max(3.0, 3 * rule.width) if rule.pattern == "double" else rule.width
