"""One loaded pipeline for all tests of reports.

A comment above a test names the public reports of other tools that it comes from: the repository on GitHub and the
number there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from postprocess.word import Word
from tablerec import Page, Recognizer, Settings
from tests.helpers.drawing import Read


@pytest.fixture(scope="session")
def read() -> Read:
    """Return a function that reads a picture with given words: ``read(image, words, layout="page")``."""
    recognizers = {layout: Recognizer(Settings(layout=layout, ocr="none")) for layout in ("page", "table")}

    def run(image: np.ndarray, words: Sequence[Word], layout: str = "page") -> Page:
        [page] = recognizers[layout].recognize(image, words).pages
        return page

    return run
