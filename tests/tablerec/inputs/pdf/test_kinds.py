"""One PDF of each kind that needs no other program: what it shows is in its cell or reported, no value silently wrong.

``python -m tests.benchmarks.pdfs.check`` reads more of each kind, and those of Chromium and LibreOffice.
"""

from __future__ import annotations

import pytest

from tablerec import Recognizer

pytest.importorskip("reportlab")

from tests.benchmarks.pdfs.case import KINDS
from tests.benchmarks.pdfs.check import make, measure
from tests.benchmarks.pdfs.kinds import lacking, load_kinds

load_kinds()
NOT_YET = {"text over an empty neighbour"}
"""Kinds in which text is still lost without a report, or values are silently wrong."""


@pytest.fixture(scope="module")
def recognizer():
    return Recognizer()


def test_kinds_that_do_not_pass_yet_exist():
    assert set(KINDS) >= NOT_YET


@pytest.mark.parametrize("kind", [name for name, each in KINDS.items() if not each.program and name not in NOT_YET])
def test_what_a_pdf_shows_is_in_its_cell_or_reported(kind, recognizer, tmp_path):
    if kind in lacking():
        pytest.skip(lacking()[kind])
    for made in make([(kind, 0)], tmp_path):
        result = measure(recognizer, made)
        assert (result.error, result.lost, result.silent) == ("", 0, 0), result.notes
