"""What the benchmark counts, on pages made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from postprocess.cell import Cell, Confidence
from postprocess.table import Table
from postprocess.word import UNREAD, Unplaced, Word
from tablerec import Page, PageImage
from tests.benchmarks.pdfs.case import Case
from tests.benchmarks.pdfs.scoring import Score, fold, score

TRUTH = Table.from_texts([["Item", "Sum"], ["Water", "1,234.50"]])
PICTURE = PageImage("page", 1, np.zeros((1, 1, 3), np.uint8))
QUAD = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))


def found(number="1,234.50", *, doubt="", unplaced=(), sureness=1.0, warnings=(), label="Water") -> Score:
    cells = [Cell(0, 0, text="Item"), Cell(0, 1, text="Sum"), Cell(1, 0, text=label)]
    table = Table([*cells, Cell(1, 1, text=number, doubt=doubt)], confidence=Confidence(sureness, (), (), ""))
    items = tuple(Unplaced(Word(text, QUAD), "elsewhere") for text in unplaced)
    return score(Case(TRUTH, b""), [Page(PICTURE, (table,), unplaced=items)], warnings)


def counts(result: Score) -> tuple[int, int, int, int, int]:
    return result.lost, result.reported, result.invented, result.wrong, result.silent


def test_nothing_found_loses_all():
    result = score(Case(TRUTH, b""), [], [])
    assert (result.grid, result.exact, result.lost) == (False, 0, sum(len(cell.text) for cell in TRUTH.cells))


def test_all_found():
    result = found()
    assert (result.grid, result.exact, result.cells) == (True, 4, 4) and counts(result) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"number": "1,234.5"}, (1, 0, 0, 1, 1)),
        ({"number": "1,234.5", "doubt": "is cut"}, (0, 1, 0, 1, 0)),
        ({"number": "1,234.5", "warnings": ["a message"]}, (1, 0, 0, 1, 0)),
        ({"number": "1,234.5", "sureness": 0.5}, (1, 0, 0, 1, 0)),
        ({"number": "", "unplaced": ["1,234.50"]}, (0, 8, 0, 1, 0)),
        ({"number": f"1,234.5{UNREAD}"}, (0, 1, 0, 1, 0)),
        ({"number": "1,234.509"}, (0, 0, 1, 1, 1)),
        ({"label": "Watre"}, (0, 0, 0, 0, 0)),
        ({"label": "Wine"}, (3, 0, 2, 0, 0)),
    ],
)
def test_lost_reported_invented_wrong_silent(options, expected):
    result = found(**options)
    assert counts(result) == expected and result.exact == 3


def test_another_grid_is_compared_as_a_whole():
    table = Table.from_texts([["Item", "Sum", ""], ["Water", "1,234", ".50"]])
    result = score(Case(TRUTH, b""), [Page(PICTURE, (table,))], [])
    assert not result.grid and counts(result) == (0, 0, 0, 2, 2)


def test_what_is_cut_may_be_read_or_not():
    truth = Table.from_texts([["12"]])
    for text, silent in (("12", 0), ("123", 0), ("1234", 1)):
        pages = [Page(PICTURE, (Table.from_texts([[text]]),))]
        assert score(Case(truth, b"", maybe={(0, 0): "3"}), pages, []).silent == silent


def test_folding_keeps_raised_signs_and_joins_lines():
    assert fold("ﬁ − x²") == "fi - x²" != fold("fi - x2")
    assert fold("Under-\nstanding 利息\n支出") == "Understanding利息支出"
    assert fold("40.86-") == fold("-40.86")
