from __future__ import annotations

from typing import Any

import pytest

from tablerec.corrections.editor import Correction
from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import open_review


@pytest.fixture
def correction(page: Any, two_pictures: ReviewServer) -> Correction:
    """Of the first table of two, three by three, which is open."""
    open_review(page, two_pictures)
    return two_pictures.desk.correction("scan_1_1")
