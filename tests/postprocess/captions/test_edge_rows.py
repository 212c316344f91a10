"""Titles, units and notes inside a found grid stand beside the table; its own rows stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.candidates.candidate import Candidate
from postprocess.candidates.scene import Scene
from postprocess.captions.edge_rows import RowEvidence, gather_evidence, score, without_captions
from postprocess.geometry.boxes import as_boxes
from postprocess.geometry.rulings import Rulings
from postprocess.word import Word
from tests.helpers.candidates import candidate_of, make_scene, slots
from tests.helpers.layouts import make_word

XS = [0.0, 120.0, 200.0, 280.0]
HEAD, BODY = ["", "2018", "2017"], [["Cash", "12", "13"], ["Loans", "7", "9"], ["Total", "19", "22"]]
TITLE = "Assets of the group by kind and country"
PITCH = 20.0
MIDDLE = 108.0
"""Of the text in ``numbers``."""


def grid(rows: Sequence[Sequence[str]], *horizontal: Sequence[float], is_framed: bool = False) -> Candidate:
    """Rows as high as a line and a half, each text at the left end of its column."""
    bottom = PITCH * len(rows)
    words = [
        make_word(text, x + 5, PITCH * row + 5)
        for row, texts in enumerate(rows)
        for text, x in zip(texts, XS, strict=False)
        if text
    ]
    sides = [[XS[0] - 1, 0, XS[0] + 1, bottom], [XS[-1] - 1, 0, XS[-1] + 1, bottom]] if is_framed else []
    rulings = Rulings(as_boxes(list(horizontal)), as_boxes(sides), 0.0, (0.0, 0.0), 10.0)
    cells = slots(XS, [PITCH * row for row in range(len(rows) + 1)])
    return candidate_of(cells).in_scene(Scene(words, rulings))


def grid_of_words(words: Sequence[Word], n_rows: int, *horizontal: Sequence[float]) -> Candidate:
    cells = slots(XS, [PITCH * row for row in range(n_rows + 1)])
    return candidate_of(cells).in_scene(make_scene(words, *horizontal))


def numbers(*rows: int) -> list[Word]:
    texts = ("Ada", "12", "7")
    return [make_word(text, x + 5, PITCH * row + 5) for row in rows for text, x in zip(texts, XS, strict=False)]


def texts_left(rows: Sequence[Sequence[str]], *horizontal: Sequence[float], is_framed: bool = False) -> list[str]:
    """The first text of each row that stays."""
    found = without_captions(grid(rows, *horizontal, is_framed=is_framed))
    assert found.scene is not None
    first: dict[int, Word] = {}
    cells = found.layout.cells_at(found.scene.words.middles)
    for word, cell in zip(found.scene.words, cells.tolist(), strict=True):
        first.setdefault(int(found.layout.spans[cell, 0]), word)
    assert list(first) == list(range(len(found.layout.owner)))
    return [word.text for word in first.values()]


STAYS = ["2018", "Cash", "Loans", "Total"]


def test_nothing_to_take_off() -> None:
    empty = candidate_of([]).in_scene(make_scene())
    assert without_captions(empty) is empty
    without_words = candidate_of(slots(XS, [0, 20, 40])).in_scene(make_scene())
    assert without_captions(without_words) is without_words
    plain = grid([HEAD, *BODY])
    assert without_captions(plain) is plain


@pytest.mark.parametrize("title", [TITLE, "Table 3: Assets", "Assets of the group"])
def test_a_title_in_the_first_row_stands_above(title: str) -> None:
    assert texts_left([[title], HEAD, *BODY]) == STAYS


def test_title_and_unit_stand_above() -> None:
    assert texts_left([["Table 3: Assets"], ["(in millions of euros)"], HEAD, *BODY]) == STAYS


def test_a_line_between_the_top_rule_and_the_heads_stands_above() -> None:
    top, below = [0, -1, 280, 1], [115, 19, 280, 21]
    assert texts_left([["Assets of the group"], HEAD, *BODY], top, below) == STAYS


@pytest.mark.parametrize("note", ["* Not audited, and without the branches abroad", "Note: Figures are rounded."])
def test_a_note_in_the_last_row_stands_below(note: str) -> None:
    assert texts_left([HEAD, *BODY, [note]]) == STAYS


def test_a_title_in_the_frame_of_the_table_is_a_row() -> None:
    assert texts_left([[TITLE], HEAD, *BODY], is_framed=True) == [TITLE, *STAYS]


def test_a_numbered_title_in_a_band_stands_above() -> None:
    """A fill behind the title has edges that look like a frame around it and the heads."""
    assert texts_left([["Table III.1-15 Sales of the year"], HEAD, *BODY], is_framed=True) == STAYS


def test_a_title_between_rules_along_the_whole_table_is_a_row() -> None:
    assert texts_left([["Assets of the group"], HEAD, *BODY], [0, -1, 280, 1], [0, 19, 280, 21])[1:] == STAYS


def test_a_head_over_the_columns_of_values_stays() -> None:
    assert texts_left([["", "Year ended"], HEAD, *BODY]) == ["Year ended", *STAYS]


def test_a_section_above_the_first_numbers_stays() -> None:
    assert texts_left([["Current:"], *BODY])[0] == "Current:"


def test_the_first_of_several_centred_sections_stays() -> None:
    bands = [make_word(text, MIDDLE, PITCH * row + 5, align="middle") for row, text in ((0, "Alcona"), (2, "Curtis"))]
    contents = grid_of_words([*bands, *numbers(1, 3, 4)], 5).contents
    assert gather_evidence(contents, 0, 5, True) is None


def test_a_centred_title_above_the_top_rule_stands_above() -> None:
    heads = [make_word(text, x + 5, PITCH + 5) for text, x in zip(("Town", "2018", "2019"), XS, strict=False)]
    title = make_word("Population by town", MIDDLE, 4, 13, align="middle")
    found = without_captions(grid_of_words([title, *heads, *numbers(2, 3)], 4, [0, 19, 280, 21]))
    assert len(found.layout.owner) == 3


def test_the_fields_of_a_report_stand_above() -> None:
    assert texts_left([["Prepared by: Ada Lovelace & Co.", "", "Date: 3 May"], HEAD, *BODY]) == STAYS


def test_the_fields_of_a_form_are_rows() -> None:
    contents = grid([[f"Name of no. {row}: Ada"] for row in range(3)]).contents
    assert gather_evidence(contents, 0, 3, True) is None


def test_a_lone_label_in_the_last_row_stays() -> None:
    assert texts_left([HEAD, *BODY, ["Notes payable"]])[-1] == "Notes payable"


def test_heads_below_a_title_are_settled_as_the_first_rows() -> None:
    rows = [[TITLE], ["", "Year ended 31 December"], HEAD, *BODY]
    found = without_captions(grid(rows, [120, 2 * PITCH - 1, 280, 2 * PITCH + 1]))
    assert [0, 1, 1, 3] in found.layout.spans.tolist()


def test_a_row_of_several_texts_is_none() -> None:
    contents = grid([["Item", "Price"], *BODY]).contents
    assert gather_evidence(contents, 0, 4, True) is None


def test_heads_at_unlike_heights_are_no_running_text() -> None:
    heads = [make_word("Author", 5, 9), make_word("Number of answers", 125, 1)]
    contents = grid_of_words([*heads, *numbers(1, 2)], 3).contents
    assert gather_evidence(contents, 0, 3, True) is None


def test_a_table_keeps_its_only_row() -> None:
    contents = grid([["Table 3: Assets"]]).contents
    assert gather_evidence(contents, 0, 1, True) is None


@given(evidence=st.builds(RowEvidence, *[st.floats(-2, 6)] * len(fields(RowEvidence))), is_top=st.booleans())
def test_scores_are_probabilities(evidence: RowEvidence, is_top: bool) -> None:
    assert 0 <= score(evidence, is_top) <= 1


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["", "12", "Cash", "Note: late", "Table 3", "(%)", TITLE]), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    )
)
def test_what_stays_is_a_run_of_rows(rows: list[list[str]]) -> None:
    before = grid(rows)
    found = without_captions(before)
    lines = before.layout.row_lines.tolist()
    kept = found.layout.row_lines.tolist()
    first = lines.index(kept[0])
    assert kept == lines[first : first + len(kept)] or found is before
    assert len(kept) > 1
