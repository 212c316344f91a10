"""One loaded pipeline for all kinds of faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from postprocess.words import Word
from tablerec import Page, Recognizer, Settings

Read = Callable[..., Page]


@pytest.fixture(scope="session")
def read() -> Read:
    """Return a function that reads a picture with given words: ``read(image, words, layout="page")``."""
    recognizers = {layout: Recognizer(Settings(layout=layout, reader="none")) for layout in ("page", "table")}

    def run(image: np.ndarray, words: Sequence[Word], layout: str = "page") -> Page:
        [page] = recognizers[layout].recognize(image, words).pages
        return page

    return run
