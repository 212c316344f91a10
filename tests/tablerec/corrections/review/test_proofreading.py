"""Proofreading in the browser."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from postprocess.cell import Cell
from postprocess.editing.placing import complete
from postprocess.table import Table
from tablerec.corrections.editor import Correction
from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import expect_version, open_page, open_review
from tests.helpers.review import make_desk, make_read_desk, make_word, serve

TEXTS = [
    ["Item", "Code", "2024"],
    ["Tea", "H1", "25.10"],
    ["Milk", "HO", "177.05"],
    ["Rice", "H3", "30.20"],
    ["Corn", "H4", "12.00"],
    ["Total", "", "238.35"],
]
"""HO for H0 in a column of codes, and 177.05 for 171.05 in a sum."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ReviewServer]:
    cells = [
        Cell(row, col, text=text, header="column" if row == 0 else None)
        for row, line in enumerate(TEXTS)
        for col, text in enumerate(line)
    ]
    quad = ((20.0, 10.0), (320.0, 10.0), (320.0, 150.0), (20.0, 150.0))
    with serve(make_desk(tmp_path, ["scan.png"], [complete(Table(cells, quad), (340, 160))])) as running:
        yield running


@pytest.fixture
def correction(server: ReviewServer) -> Correction:
    return server.desk.correction("scan_1_1")


def open_proof(page: Any, server: ReviewServer) -> Any:
    open_review(page, server)
    page.keyboard.press("Alt+q")
    dialog = page.locator("dialog.proof[open]")
    dialog.wait_for()
    return dialog


def expect_place(dialog: Any, text: str) -> None:
    dialog.locator(".where", has_text=text).wait_for()


def test_one_key_says_right_and_typing_corrects(
    page: Any, server: ReviewServer, correction: Correction, tmp_path: Path
) -> None:
    dialog = open_proof(page, server)
    # The doubtful ones first, and why.
    expect_place(dialog, "1 of")
    first = dialog.locator(".proof-body > .field textarea")
    doubts = {first.input_value(): dialog.locator(".reasons").inner_text()}
    assert "?" in doubts[first.input_value()] or "right with" in doubts[first.input_value()]
    assert first.evaluate("field => field.ariaLabel").startswith("Text of row")
    assert dialog.locator(".crop canvas").evaluate("canvas => canvas.width") > 50
    page.keyboard.press("ArrowDown")
    expect_place(dialog, "2 of")
    page.keyboard.press("ArrowUp")
    expect_place(dialog, "1 of")
    page.keyboard.type("H0")
    page.keyboard.press("Enter")
    expect_version(page, correction, 1)
    assert correction.table[2, 1].text == "H0" and correction.table[2, 1].confirmed
    # What would be right is offered: one key takes it.
    expect_place(dialog, "row 3, column 3")
    dialog.get_by_role("button", name="171.05").wait_for()
    page.keyboard.press("Alt+1")
    expect_version(page, correction, 2)
    assert correction.table[2, 2].text == "171.05"
    # A sum that agrees proves its column: what is left is gone through from top to bottom.
    dialog.get_by_role("button", name="Continue with those").click()
    expect_place(dialog, "row 1, column 1")
    page.keyboard.press("Enter")
    expect_version(page, correction, 3)
    assert correction.table[0, 0].confirmed and not correction.table[0, 0].typed
    dialog.locator(".share", has_text="% verified").wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    page.keyboard.press("Control+s")
    page.locator("#tables .done").wait_for()
    label = json.loads((tmp_path / "corrections" / "images" / "scan_1_1.json").read_text("utf-8"))
    book = openpyxl.load_workbook(tmp_path / "corrections" / "tables" / "scan_1_1.xlsx")
    assert (
        label["meta"]["share_proved"] == book.custom_doc_props["share_proved"].value == pytest.approx(7 / 17, abs=1e-4)
    )


def test_a_column_at_once(page: Any, server: ReviewServer, correction: Correction) -> None:
    dialog = open_proof(page, server)
    page.keyboard.press("Alt+c")
    fields = dialog.locator(".column textarea")
    assert [fields.nth(at).input_value() for at in range(fields.count())] == ["Code", "H1", "HO", "H3", "H4"]
    assert fields.nth(2).evaluate("field => field === document.activeElement")
    page.keyboard.type("H0")
    page.keyboard.press("Control+Enter")
    expect_version(page, correction, 2)
    assert [correction.table[row, 1].text for row in range(1, 5)] == ["H1", "H0", "H3", "H4"]
    assert all(correction.table[row, 1].confirmed for row in range(5))
    # The next doubtful column.
    dialog.locator(".where", has_text="Column 3").wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    page.keyboard.press("Control+z")
    expect_version(page, correction, 3)


def test_escape_takes_back_what_was_typed_and_then_closes(
    page: Any, server: ReviewServer, correction: Correction
) -> None:
    dialog = open_proof(page, server)
    page.keyboard.type("never")
    page.keyboard.press("Escape")
    assert dialog.locator(".proof-body > .field textarea").input_value() == "HO"
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    assert correction.version == 0
    # The focus is in the sheet again.
    page.keyboard.press("Alt+k")
    expect_version(page, correction, 1)


def test_undo_goes_back_to_the_cell(page: Any, server: ReviewServer, correction: Correction) -> None:
    dialog = open_proof(page, server)
    page.keyboard.press("Enter")
    expect_version(page, correction, 1)
    assert correction.table[2, 1].confirmed
    expect_place(dialog, "row 3, column 3")
    page.keyboard.press("Control+z")
    expect_version(page, correction, 2)
    expect_place(dialog, "row 3, column 2")
    assert not correction.table[2, 1].confirmed


def test_marks_in_the_sheet_are_those_of_the_checks(page: Any, server: ReviewServer, correction: Correction) -> None:
    open_review(page, server)
    page.locator('td[data-place="2,1"].doubt-text').wait_for()
    assert "H0" in page.locator('td[data-place="2,1"]').get_attribute("title")
    assert page.locator(".sheet td.doubtful").count() == 2
    page.keyboard.press("Alt+d")
    page.locator('td[data-place="2,1"][aria-selected="true"]').wait_for()
    page.keyboard.press("Alt+k")
    expect_version(page, correction, 1)
    page.locator('td[data-place="2,1"]:not(.doubt-text)').wait_for()


def test_in_chinese_and_for_all_senses(browser: Any, server: ReviewServer) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")

    def check(page: Any) -> None:
        found = axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()

    looks: list[dict[str, Any]] = [{"locale": "zh-CN"}, {"color_scheme": "dark"}]
    for options in looks:
        with open_page(browser, bypass_csp=True, **options) as page:
            dialog = open_proof(page, server)
            check(page)
            page.keyboard.press("Alt+c")
            dialog.locator(".column").wait_for()
            check(page)
            if "locale" in options:
                assert dialog.get_attribute("aria-label") == "校对"
                assert "其他单元格形如" in dialog.locator(".column").inner_text()


def test_without_a_cell_with_text_there_is_nothing_to_prove(page: Any, tmp_path: Path) -> None:
    empty = complete(Table.from_texts([[""]]), (340, 160))
    with serve(make_desk(tmp_path, ["blank.png"], [empty])) as running:
        dialog = open_proof(page, running)
        dialog.locator(".done", has_text="All cells with text are verified.").wait_for()


def test_what_proves_is_told_while_steps_go_on(page: Any, server: ReviewServer, correction: Correction) -> None:
    """The answer says of which version it is."""
    open_review(page, server)
    asked = "fetch('/tables/scan_1_1/proof').then((reply) => reply.json())"
    before = page.evaluate(asked)
    done = threading.Thread(
        target=lambda: correction.do(
            {"do": "confirm", "row": 0, "col": 0, "end_row": 6, "end_col": 3, "is_right": True}
        )
    )
    done.start()
    done.join()
    after = page.evaluate(asked)
    assert (before["version"], after["version"], after["share_proved"]) == (0, 1, 1.0)
    assert before["share_proved"] < 1 and all(not cell["doubts"] for cell in after["cells"])


def test_the_doubtful_words_of_a_long_text_are_marked(page: Any, tmp_path: Path) -> None:
    """In the text and in its picture, until the text is changed."""
    texts = ["Los", "Angeles", "in", "spring"]
    words = [
        replace(make_word(text, 24 + 50 * (at % 2), 24 + 16 * (at // 2)), score=0.5 if text == "Angeles" else 1.0)
        for at, text in enumerate(texts)
    ]
    with serve(make_read_desk(tmp_path, words=words)) as running:
        dialog = open_proof(page, running)
        field, mark = dialog.locator(".field textarea"), dialog.locator(".field mark")
        assert (field.input_value(), mark.all_inner_texts()) == ("Los Angeles\nin spring", ["Angeles"])
        assert "doubtful: Angeles" in field.evaluate("field => field.ariaLabel")
        # The mark lies below its word.
        boxes = [dialog.locator(each).bounding_box() for each in (".field", ".field mark", ".field textarea")]
        assert boxes[1]["height"] < boxes[0]["height"] / 1.5 and boxes[0]["height"] >= boxes[2]["height"]
        colours = """canvas => {
            const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            const marked = [];
            for (let at = 0; at < data.length; at += 4) {
                if (data[at] - data[at + 2] > 60 && data[at] > 200) marked.push((at / 4 % width) / width);
            }
            return marked.length ? [Math.min(...marked), Math.max(...marked)] : null;
        }"""
        canvas = dialog.locator(".crop canvas").element_handle()
        first, last = page.wait_for_function(colours, arg=canvas).json_value()  # it is drawn when its picture is there
        assert 0.3 < first < last  # the word is the second of its line
        # Typing replaces that word alone; as it was, it is marked again.
        page.keyboard.type("Alamos")
        assert field.input_value() == "Los Alamos\nin spring" and not mark.is_visible()
        page.keyboard.press("Escape")
        assert field.input_value() == "Los Angeles\nin spring" and mark.is_visible()
        page.keyboard.press("Alt+c")
        assert dialog.locator(".column mark").all_inner_texts() == ["Angeles"]
