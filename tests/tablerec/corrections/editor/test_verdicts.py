"""What a person said of a table: nothing yet, that it is right, or that it is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablerec.corrections.editor import Correction, CorrectionFolder, page_to_drafts
from tests.helpers.review import make_page, make_table

MERGE = {"do": "merge", "row": 0, "col": 0, "end_row": 1, "end_col": 2}


@pytest.fixture
def corrections(tmp_path: Path) -> CorrectionFolder:
    return CorrectionFolder(tmp_path)


@pytest.fixture
def correction(corrections: CorrectionFolder) -> Correction:
    return corrections.open(page_to_drafts(make_page(make_table()))[0])


def test_nothing_is_said_at_first(corrections: CorrectionFolder, correction: Correction) -> None:
    assert correction.verdict == "open"
    corrections.do(correction, {"do": "reopen"})
    assert (correction.verdict, correction.version) == ("open", 0)


@pytest.mark.parametrize(("said", "verdict"), [("save", "saved"), ("reject", "rejected")])
def test_undoing_what_came_after_brings_it_back(
    corrections: CorrectionFolder, correction: Correction, said: str, verdict: str
) -> None:
    corrections.do(correction, {"do": said})
    for step, expected in (
        (MERGE, "open"),
        ({"do": "undo"}, verdict),
        ({"do": "redo"}, "open"),
        ({"do": "undo"}, verdict),
    ):
        corrections.do(correction, step)
        assert correction.verdict == expected
        assert CorrectionFolder(corrections.folder).read()["scan_1_1"].verdict == expected


def test_no_table_is_taken_back(corrections: CorrectionFolder, correction: Correction) -> None:
    corrections.do(correction, MERGE)
    corrections.do(correction, {"do": "save"})
    corrections.do(correction, {"do": "reject"})
    assert not list((corrections.folder / "tables").iterdir())
    corrections.do(correction, {"do": "reopen"})
    assert correction.verdict == "open" and correction.table[0, 0].colspan == 2
    assert CorrectionFolder(corrections.folder).read()["scan_1_1"].verdict == "open"


def test_a_table_made_equal_to_the_saved_one_is_saved_again(
    corrections: CorrectionFolder, correction: Correction
) -> None:
    corrections.do(correction, {"do": "save"})
    for text in ("x", "0.0"):
        corrections.do(correction, {"do": "set_text", "row": 0, "col": 0, "text": text})
        assert correction.verdict == "open"
    corrections.do(correction, {"do": "save"})
    assert correction.verdict == "saved"
