from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tablerec.synth.lines import Settings, draw_line, engine
from tablerec.synth.lines.layout import Ink, Setting, lay_out
from tablerec.synth.lines.screen import choose_size, take_screenshot
from tablerec.synth.lines.typefaces import typefaces
from tablerec.synth.lines.wording import to_words


def test_nothing_printed_is_an_empty_page() -> None:
    for seed in range(20):
        image = take_screenshot(Ink(np.zeros((14, 14), np.uint8), 14, 14.0), 1, Random(seed))
        assert image.dtype == np.uint8 and image.ndim == 3 and image.size


@pytest.mark.parametrize("zoom", [1, 2, 3])
def test_a_screenshot_has_the_size_of_its_font_whatever_it_was_drawn_at(zoom: int) -> None:
    heights = []
    for seed in range(60):
        ink = lay_out(to_words("Total 12"), Setting(typefaces("latin")[0], (), 14 * zoom), Random(0))
        image = take_screenshot(ink, zoom, Random(seed))
        heights.append(len(image))
        assert np.ptp(image) > 60, "it can be read"
    assert 10 <= np.median(heights) <= 18


def test_colours_of_thirds_of_pixels_and_hard_edges_both_occur() -> None:
    ink = lay_out(to_words("Total 12"), Setting(typefaces("latin")[0], (), 42), Random(0))
    fringed = [image for seed in range(60) if np.ptp(image := take_screenshot(ink, 3, Random(seed)), axis=2).max() > 30]
    assert len(fringed) > 15
    small = lay_out(to_words("Total 12"), Setting(typefaces("latin")[0], (), 14), Random(0))
    assert min(len(np.unique(take_screenshot(small, 1, Random(seed)))) for seed in range(60)) <= 6


def test_lines_for_measuring_are_never_taken_from_screens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "take_screenshot", lambda *_: pytest.fail("a screen was seen"))
    for index in range(8):
        draw_line(1, index, Settings("unseen"), "web")


def test_sizes_are_those_of_pages() -> None:
    sizes = [choose_size(Random(seed)) for seed in range(200)]
    assert all(11 <= size <= 32 and zoom in (1, 2, 3) for size, zoom in sizes)
    assert sum(size <= 16 for size, _ in sizes) > 120
