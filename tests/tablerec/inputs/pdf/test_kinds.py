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
NOT_YET = {
    "wrong meaning of digits",
    "wrong meaning of one digit",
    "Type 3",
    "raised by Ts",
    "raised by place",
    "ActualText",
    "Hebrew as seen",
    "Hebrew in reading order",
    "Arabic, presentation forms",
    "Arabic, letters",
    "right-to-left with numbers and Latin",
    "Arabic with its own digits",
    "scan over a wrong drawn layer",
    "half text, half scan",
    "table of text and of a picture",
    "text over a scanned form",
    "wrong digits under a scan, right ones over it",
    "clipped at the cell",
    "covered by the next cell",
    "covered by small pictures",
    "covered by other numbers",
    "watermark",
    "hidden fields and notes",
    "wrong meaning of one sign",
    "letters shifted",
    "old page in a clipped form",
    "text over an empty neighbour",
    "reportlab, super and sub",
}
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
