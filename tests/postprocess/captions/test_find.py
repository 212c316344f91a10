"""Titles and notes: what belongs to which table, and that no word is lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.captions.blocks import blocks_beside, pieces_of_text
from postprocess.captions.evidence import NoteEvidence, TitleEvidence, table_number
from postprocess.captions.find import MIN_SCORE, find_captions
from postprocess.cell import Cell
from postprocess.geometry.boxes import array_to_quad, as_boxes, quads_to_array, rotate_points
from postprocess.meaning.roles import is_note
from postprocess.table import Table
from postprocess.text.assignment import OUTSIDE, UNCLEAR
from postprocess.word import Unplaced, Word
from tests.helpers.layouts import box_quad

HEIGHT = 12.0


def make_table(
    left: float = 100, top: float = 100, right: float = 500, bottom: float = 200
) -> tuple[Table, list[Word]]:
    """Two rows of two columns with text of the usual height."""
    middle_x, middle_y = (left + right) / 2, (top + bottom) / 2
    boxes = [
        (row, col, x0, y0, x1, y1)
        for row, (y0, y1) in enumerate([(top, middle_y), (middle_y, bottom)])
        for col, (x0, x1) in enumerate([(left, middle_x), (middle_x, right)])
    ]
    cells = [Cell(row, col, quad=box_quad(*box), text="7.50") for row, col, *box in boxes]
    words = [line("7.50", x0 + 5, y0 + 5) for _, _, x0, y0, *_ in boxes]
    return Table(cells, box_quad(left, top, right, bottom)), words


def line(text: str, x: float, y: float, height: float = HEIGHT) -> Word:
    return Word(text, box_quad(x, y, x + 0.5 * height * len(text), y + height))


def find(tables: list[tuple[Table, list[Word]]], *free: Word) -> tuple[list[Table], list[str]]:
    """The tables with their captions, and the texts of what is left."""
    words = [word for _, own in tables for word in own] + list(free)
    found, left = find_captions([table for table, _ in tables], words, [Unplaced(word, OUTSIDE) for word in free])
    return found, [item.word.text for item in left]


def notes(table: Table) -> list[str]:
    return [note.text for note in table.notes]


def test_nothing_anywhere() -> None:
    assert find_captions([], [], []) == ([], [])
    assert blocks_beside(np.array([0.0, 0, 9, 9]), as_boxes([]), as_boxes([]), lambda above, line: False) == []
    assert pieces_of_text(as_boxes([])) == []
    table, words = make_table()
    assert find_captions([table], words, []) == ([table], [])
    lost = [Unplaced(words[0], "no table was found")]
    assert find_captions([], words, lost) == ([], lost)
    assert find_captions([Table([])], words, lost) == ([Table([])], lost)


def test_numbered_title_above_and_source_below() -> None:
    [table], left = find(
        [make_table()], line("Table 3. Prices of drinks", 100, 80), line("Source: annual survey.", 100, 206, 10)
    )
    assert table.title is not None
    assert (table.title.text, notes(table), left) == ("Table 3. Prices of drinks", ["Source: annual survey."], [])
    assert all(caption.score is not None and MIN_SCORE <= caption.score <= 1 for caption in table.captions)
    assert table.title.quad == box_quad(100, 80, 250, 92)


def test_title_over_two_lines_is_one() -> None:
    [table], left = find([make_table()], line("Table 3. Prices of drinks in", 100, 66), line("the last year", 100, 81))
    assert table.title is not None and table.title.text == "Table 3. Prices of drinks in\nthe last year"
    assert left == []


def test_numbered_title_may_be_a_paragraph() -> None:
    texts = ["Table 1. Results of both ways to write a table, with the same network and the", "same pictures.", "end."]
    lines = [line(text, 100, 100 - 14 * (3 - n) - 8) for n, text in enumerate(texts)]
    [table], left = find([make_table()], *lines)
    assert table.title is not None and table.title.text == "\n".join(texts)
    assert left == []


def test_heading_of_the_page_is_no_part_of_a_numbered_title() -> None:
    heading, title = line("Results of the year", 100, 40, 20), line("Table 1. Sales", 100, 80)
    [table], left = find([make_table()], heading, title)
    assert table.title is not None and (table.title.text, left) == (title.text, [heading.text])
    [alone], left = find([make_table()], line("Results of the year", 100, 70, 20))
    assert alone.title is not None and left == []


def test_chinese_title_with_its_unit() -> None:
    title = Word("表2-1 主要财务指标", box_quad(230, 60, 370, 73))
    unit = Word("单位：万元", box_quad(430, 82, 500, 94))
    note = Word("注：以上数据未经审计。", box_quad(100, 205, 240, 216))
    [table], left = find([make_table()], title, unit, note)
    assert table.title is not None
    assert (table.title.text, notes(table), left) == (title.text, [unit.text, note.text], [])


def test_paragraph_below_a_note_is_no_part_of_it() -> None:
    note = Word("Source: own survey.", box_quad(100, 204, 200, 214))
    prose = [
        Word("the results of the survey were compared", box_quad(100, 218 + 14 * n, 480, 228 + 14 * n))
        for n in range(4)
    ]
    [table], left = find([make_table()], note, *prose)
    assert (notes(table), len(left)) == ([note.text], 4)


def test_title_of_single_words() -> None:
    texts = ["Table", "3.", "Prices"]
    words = [line(text, x, 80) for text, x in zip(texts, (100, 136, 155), strict=True)]
    [table], left = find([make_table()], line("Prose that ends here and goes on for long.", 100, 65), *words)
    assert table.title is not None and table.title.text == "Table 3. Prices"
    assert len(left) == 1


def test_each_mark_begins_a_note() -> None:
    texts = ["* p < 0.05, two-sided test", "** p < 0.01, two-sided test", "Source: own calculations."]
    [table], left = find([make_table()], *(line(text, 100, 204 + 14 * n, 10) for n, text in enumerate(texts)))
    assert (notes(table), left) == (texts, [])


def test_prose_stays_outside() -> None:
    prose = "the results of the survey were compared with those of the year before and"
    above = [line(prose, 60, 100 - 16 * n) for n in range(5, 0, -1)]
    below = [line(prose, 60, 230 + 16 * n) for n in range(5)]
    [table], left = find([make_table()], *above, *below)
    assert (table.captions, len(left)) == ((), 10)


@pytest.mark.parametrize(("text", "y"), [("12", 240), ("Northwind Annual Report", 10)])
def test_page_numbers_and_running_heads_stay_outside(text: str, y: float) -> None:
    [table], left = find([make_table()], line(text, 280, y))
    assert (table.captions, left) == ((), [text])


def test_a_row_that_the_table_lacks_is_no_note() -> None:
    row = [line(text, x, 206) for text, x in (("Milk", 105), ("seven", 305))]
    [table], left = find([make_table()], *row)
    assert (table.captions, left) == ((), ["Milk", "seven"])


def test_title_between_two_tables_goes_to_the_one_below() -> None:
    upper, lower = make_table(), make_table(top=280, bottom=380)
    [first, second], left = find([upper, lower], line("Note: rounded.", 100, 206), line("Table 2. Costs", 100, 258))
    assert (first.title, notes(first)) == (None, ["Note: rounded."])
    assert second.title is not None and second.title.text == "Table 2. Costs"
    assert second.notes == () and left == []


def test_title_of_a_neighbour_is_not_taken() -> None:
    left_table, right_table = make_table(), make_table(left=560, right=960)
    [first, second], left = find([left_table, right_table], line("Table 2. Costs", 560, 80))
    assert first.title is None and left == []
    assert second.title is not None


def test_text_behind_another_table_is_not_taken() -> None:
    upper, lower = make_table(), make_table(top=210, bottom=310)
    [first, second], _ = find([upper, lower], line("Table 1. Sales", 100, 80))
    assert first.title is not None and second.title is None


def test_words_for_which_there_is_another_reason_stay() -> None:
    table, words = make_table()
    item = Unplaced(line("Table 1. Sales", 100, 80), UNCLEAR)
    assert find_captions([table], words, [item]) == ([table], [item])


def test_words_without_text_stay() -> None:
    [table], left = find([make_table()], line("", 100, 80), Word(" ", box_quad(100, 206, 200, 216)))
    assert (table.captions, len(left)) == ((), 2)


@given(st.floats(-170, 170))
def test_turned_pictures(degrees: float) -> None:
    table, words = make_table()
    title, note = line("Table 3. Prices of drinks", 100, 80), line("Source: annual survey.", 100, 206, 10)

    def turn(quad: object) -> object:
        return array_to_quad(rotate_points(quads_to_array([quad])[0], degrees, (300, 150)))  # type: ignore[list-item]

    cells = [replace(cell, quad=turn(cell.quad)) for cell in table.cells]
    turned = Table(cells, turn(table.quad))  # type: ignore[arg-type]
    title, note, *words = (replace(word, quad=turn(word.quad)) for word in (title, note, *words))
    [found], left = find([(turned, words)], title, note)
    assert found.title is not None and found.title.quad is not None
    assert (found.title.text, notes(found), left) == (title.text, [note.text], [])
    np.testing.assert_allclose(found.title.quad, title.quad, atol=1e-6)


TEXTS = st.sampled_from(
    [
        "Table 1. Sales",
        "表 2",
        "Note: rounded.",
        "* p < 0.05",
        "(in millions)",
        "",
        "12",
        "some words of prose and more",
    ]
)
LINES = st.builds(line, TEXTS, st.floats(0, 600), st.floats(0, 700), st.floats(0, 30))


@given(st.lists(LINES, max_size=8), st.lists(st.sampled_from([100.0, 210.0, 320.0, 450.0]), unique=True, max_size=3))
def test_no_word_is_lost_or_used_twice(free: list[Word], tops: list[float]) -> None:
    tables, left = find([make_table(top=top, bottom=top + 100) for top in tops], *free)
    used = [word for table in tables for caption in table.captions for word in caption.text.split()]
    assert Counter(used) + Counter(" ".join(left).split()) == Counter(" ".join(word.text for word in free).split())
    assert [len(table) for table in tables] == [4] * len(tops)


@pytest.mark.parametrize("kind", [TitleEvidence, NoteEvidence])
def test_more_evidence_never_lowers_a_score(kind: type[TitleEvidence] | type[NoteEvidence]) -> None:
    plain = kind(*[0.0] * len(fields(kind)))
    for each in fields(kind):
        assert replace(plain, **{each.name: 0.5}).score >= plain.score


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Table 3. Prices", "3"), ("TABLE IV", "iv"), ("Tab. 2: Kosten", "2"), ("表１-2 收入", "１-2"),
        ("附表三", "三"),
        ("Table A.1", "a.1"), ("Exhibit 99-1", "99-1"), ("Tables 3 and 4 show", None), ("Table of contents", None),
        ("Table 3 shows the prices", None), ("Table 12 lists", None), ("表3所示", None), ("表3 价格", "3"),
        ("Table 3", "3"),
        ("Prices", None), ("表格", None), ("", None),
    ],
)  # fmt: skip
def test_numbers_of_tables(text: str, number: str | None) -> None:
    assert table_number(text) == number


@pytest.mark.parametrize("text", [
    "Note. rounded", "Notes: a", "Source: b", "Sources — c", "资料来源：年报", "数据来源: 年报", "注1：未经审计",
    "备注：无",
    "* p<0.05", "† late", "(a) Restated", "a) Restated", "1Includes sales", "b Includes sales", "n.a. = not available",
])  # fmt: skip
def test_beginnings_of_notes(text: str) -> None:
    assert is_note(text)


@pytest.mark.parametrize(
    "text", ["", "Notes payable", "Source of funds", "Table 1", "3 Results", "Total", "注册资本", "12"]
)
def test_other_beginnings(text: str) -> None:
    assert not is_note(text)
