from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import open_browser, open_page
from tests.helpers.review import make_desk, serve


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as running:
        yield running


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with open_page(browser) as opened:
        yield opened


@pytest.fixture
def two_pictures(tmp_path: Path) -> Iterator[ReviewServer]:
    with serve(make_desk(tmp_path, ["scan.png", "second.png"])) as running:
        yield running
