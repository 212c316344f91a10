"""Tables of 900 and 1,200 cells: see ``python -m tests.benchmarks.outputs.complete`` for more of them."""

from __future__ import annotations

import numpy as np
import pytest

from tablerec import PageImage, Recognizer, Settings
from tablerec.detect.factory import WEIGHTS, has_cellnet
from tablerec.detect.geometric import GeometricDetector
from tests.benchmarks.outputs.complete import FONTS, SIZES, Outcome, draw_table, judge, sample_to_words


def outcome(recognizer: Recognizer, n_rows: int, n_cols: int, font: str, is_ruled: bool) -> Outcome:
    sample = draw_table(n_rows, n_cols, is_ruled=is_ruled, font_size=FONTS[font], seed=0, family="DejaVu Sans")
    picture = PageImage("drawn", 1, np.ascontiguousarray(sample.image[..., ::-1]), sample_to_words(sample))
    [page] = recognizer.recognize(picture).pages
    return judge(sample, page, 0.0)


@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize("size", SIZES)
def test_ruled_table_is_complete_without_a_network(size: tuple[int, int], font: str) -> None:
    found = outcome(Recognizer(detector=GeometricDetector("auto")), *size, font, is_ruled=True)
    assert (found.has_size, found.share, found.seen) == (True, 1, 1)


@pytest.mark.skipif(not has_cellnet(WEIGHTS), reason="the package holds no weights of CellNet")
@pytest.mark.parametrize("is_ruled", [True, False])
@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize("size", SIZES)
def test_table_is_complete_with_the_network(size: tuple[int, int], font: str, is_ruled: bool) -> None:
    recognizer = Recognizer(Settings(detector="cellnet", detector_dir=WEIGHTS))
    found = outcome(recognizer, *size, font, is_ruled)
    assert (found.has_size, found.share) == (True, 1)
