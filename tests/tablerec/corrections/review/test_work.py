"""How the work goes on in the browser: from cell to cell, from table to table, and to tables that were missed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postprocess.editing import steps as editing
from postprocess.table import Table
from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import drag, expect_banner, expect_status, expect_version, open_review, to_screen
from tests.helpers.review import make_desk, make_page_desk, make_table, serve

FOCUSED = "document.activeElement.dataset.place"


def expect_focus(page: Any, place: str) -> None:
    """Wait until a cell has the focus."""
    page.wait_for_function(f"place => {FOCUSED} === place", arg=place)


@pytest.fixture
def page_desk(tmp_path: Path) -> Iterator[ReviewServer]:
    """One page with a table at its left, and room for another at its right."""
    with serve(make_page_desk(tmp_path, make_table(box=(20, 20, 150, 60)))) as running:
        yield running


def grid(table: Table) -> list[list[str]]:
    return table.to_grid()


@pytest.mark.parametrize("how", ["mouse", "keyboard"])
def test_a_table_that_was_missed_is_framed(page: Any, page_desk: ReviewServer, how: str) -> None:
    open_review(page, page_desk)
    page.keyboard.press("Alt+t")
    dialog = page.get_by_role("dialog", name="Add a table that was missed")
    dialog.get_by_text("Frame: 0, 66 to 340, 160").wait_for()  # the largest part of the page without a table
    assert dialog.locator(".known").count() == 1
    if how == "mouse":
        box = dialog.locator("img").bounding_box()
        scale = box["width"] / 340
        drag(page, (box["x"] + 170 * scale, box["y"] + 10 * scale), (box["x"] + 330 * scale, box["y"] + 150 * scale))
        dialog.get_by_role("button", name="Add table").click()
        expected = (170, 10, 330, 150)
    else:
        for key in ("Control+Shift+ArrowLeft", "Control+ArrowRight", "Control+ArrowRight", "ArrowDown"):
            page.keyboard.press(key)
        page.keyboard.press("Enter")
        expected = (34, 66, 340, 160)
    page.locator("#title", has_text="scan_1_2").wait_for()
    added = page_desk.desk.correction("scan_1_2")
    assert added.head.window == pytest.approx(expected, abs=2)
    assert grid(added.table) == [["a", "b"], ["c", "d"]]
    expect_focus(page, "0,0")


def test_a_frame_may_be_divided_evenly_or_left(page: Any, page_desk: ReviewServer) -> None:
    open_review(page, page_desk)
    page.get_by_role("button", name="Add table").click()
    dialog = page.get_by_role("dialog", name="Add a table that was missed")
    dialog.get_by_text("Frame: 0").wait_for()
    dialog.get_by_label("Rows").fill("2")
    page.keyboard.press("Enter")
    dialog.get_by_text("give both or none").wait_for()
    page.keyboard.press("Escape")
    expect_focus(page, "0,0")  # a closed dialog gives it back a moment later
    assert len(page_desk.desk.listing()["tables"]) == 1
    page.keyboard.press("Alt+t")
    dialog.get_by_text("Frame: 0").wait_for()
    dialog.get_by_label("Rows").fill("2")
    dialog.get_by_label("Columns").fill("3")
    page.keyboard.press("Enter")
    page.locator("#title", has_text="scan_1_2").wait_for()
    assert grid(page_desk.desk.correction("scan_1_2").table) == [["7", "", ""], ["", "", ""]]


def test_a_line_moved_by_keys_is_undone_at_once(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    correction = two_pictures.desk.correction("scan_1_1")
    found = correction.table
    for _ in range(5):
        page.keyboard.press("Alt+ArrowDown")
    expect_version(page, correction, 5)
    page.keyboard.press("Control+z")
    expect_version(page, correction, 10)
    assert correction.table == found and not correction.view()["can_undo"]
    page.keyboard.press("Control+y")
    expect_version(page, correction, 15)
    page.keyboard.press("Alt+r")
    expect_version(page, correction, 16)
    page.get_by_role("button", name="Reset").click()
    expect_version(page, correction, 22)
    assert correction.table == found


def test_a_block_is_copied_and_pasted(page: Any, two_pictures: ReviewServer) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_review(page, two_pictures)
    correction = two_pictures.desk.correction("scan_1_1")
    text = '1,5\t"two\nlines ""so"""\r\n\t表\r\n'
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Control+v")
    expect_version(page, correction, 1)
    assert [row[1:] for row in grid(correction.table)] == [["1,5", 'two\nlines "so"'], ["", "表"], ["2.1", "2.2"]]
    page.keyboard.press("Control+c")  # what was pasted is chosen
    for key in ("Delete", "Control+v"):
        page.keyboard.press(key)
    expect_version(page, correction, 3)
    assert [row[1:] for row in grid(correction.table)] == [["1,5", 'two\nlines "so"'], ["", "表"], ["2.1", "2.2"]]
    assert [row[1:] for row in grid(correction.history.states[2].table)] == [["", ""], ["", ""], ["2.1", "2.2"]]
    for key in ("ArrowDown", "ArrowDown", "Control+v"):
        page.keyboard.press(key)
    expect_banner(page, "do not fit")
    assert correction.version == 3


def test_texts_are_typed_down_a_column_as_in_a_spreadsheet(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    correction = two_pictures.desk.correction("scan_1_1")
    for typed in ("12", "Total", "=1"):
        page.keyboard.type(typed)
        page.keyboard.press("Enter")
    expect_version(page, correction, 3)
    assert [row[0] for row in grid(correction.table)] == ["12", "Total", "=1"]


def test_several_rows_go_in_one_step(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    correction = two_pictures.desk.correction("scan_1_1")
    for key in ("Shift+ArrowDown", "Alt+x"):
        page.keyboard.press(key)
    expect_version(page, correction, 1)
    assert grid(correction.table) == [["2.0", "2.1", "2.2"]]
    page.keyboard.press("Control+z")
    expect_version(page, correction, 2)
    for key in ("Shift+ArrowDown", "Shift+ArrowDown", "Alt+j"):
        page.keyboard.press(key)
    expect_version(page, correction, 3)
    assert grid(correction.table) == [["0.0\n1.0\n2.0", "0.1\n1.1\n2.1", "0.2\n1.2\n2.2"]]


def test_texts_and_doubtful_cells_are_found(page: Any, tmp_path: Path) -> None:
    table = editing.set_text(make_table(), 2, 1, "Total 表")
    cells = [
        replace(cell, confidence=0.3 if (cell.row, cell.col) in ((0, 2), (1, 1)) else 0.95) for cell in table.cells
    ]
    with serve(make_desk(tmp_path, ["scan.png"], [replace(table, cells=cells)])) as server:
        open_review(page, server)
        seen = []
        for key in ("Alt+d", "Alt+d", "Alt+d", "Alt+Shift+d"):
            page.keyboard.press(key)
            seen.append(page.evaluate(FOCUSED))
        assert seen == ["0,2", "1,1", "0,2", "1,1"]
        page.keyboard.press("Alt+f")
        page.keyboard.type("total")
        page.keyboard.press("Enter")
        expect_status(page, "row 3, column 2")
        page.keyboard.press("Escape")
        assert page.evaluate(FOCUSED) == "2,1"
        page.keyboard.press("Alt+f")
        page.keyboard.type("nowhere")
        page.keyboard.press("Enter")
        expect_status(page, "No cell contains this text")


def test_from_table_to_table(page: Any, tmp_path: Path) -> None:
    with serve(make_desk(tmp_path, [f"{letter}.png" for letter in "abc"])) as server:
        open_review(page, server)
        current = page.locator('#tables [aria-current="true"]')
        for key, name in (("Alt+PageDown", "b_1_1"), ("Alt+PageDown", "c_1_1"), ("Alt+PageUp", "b_1_1")):
            page.keyboard.press(key)
            current.filter(has_text=name).wait_for()
            page.locator("#title", has_text=name).wait_for()
        page.keyboard.press("Control+Enter")
        page.locator("#title", has_text="c_1_1").wait_for()
        page.get_by_label("Open tables only").check()
        assert page.locator("#tables .name").all_inner_texts() == ["a_1_1", "c_1_1"]
        page.locator("#progress", has_text="1 of 3 tables done").wait_for()
        page.reload()
        page.locator("#title", has_text="c_1_1").wait_for()
        assert page.get_by_label("Open tables only").is_checked()
        page.locator(".sheet td[data-place]").first.focus()
        page.keyboard.press("Alt+n")
        page.locator("#progress", has_text="2 of 3").wait_for()
        page.keyboard.press("Control+Enter")
        page.locator("#title", has_text="a_1_1").wait_for()
        page.get_by_role("button", name="Save & next").click()
        page.locator("#progress", has_text="All 3 tables are done. Workbooks are in corrections/tables").wait_for()


def test_keys_are_for_the_table_that_is_open_alone(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    first, second = (two_pictures.desk.correction(name) for name in ("scan_1_1", "second_1_1"))
    page.keyboard.press("Alt+r")
    expect_version(page, first, 1)
    page.keyboard.press("Alt+PageDown")
    page.locator("#title", has_text="second_1_1").wait_for()
    page.keyboard.press("Alt+r")
    expect_version(page, second, 1)
    page.keyboard.press("Control+z")
    expect_version(page, second, 2)
    page.keyboard.press("Control+s")
    expect_status(page, "Saved")
    assert (first.version, first.verdict, second.verdict) == (1, "open", "saved")


def test_the_picture_is_moved_and_enlarged(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    correction = two_pictures.desk.correction("scan_1_1")
    image = page.locator(".picture img")

    def box() -> dict[str, float]:
        page.evaluate("() => new Promise(requestAnimationFrame)")
        found: dict[str, float] = image.bounding_box()
        return found

    whole = box()
    for key, grown in (("Alt+Equal", 1.25), ("Alt+Minus", 1.0), ("Alt+Equal", 1.25)):
        page.keyboard.press(key)
        assert box()["width"] == pytest.approx(grown * whole["width"], rel=0.01)
    larger = box()
    # Beside the table, and with the space bar anywhere; no cell is chosen by that.
    outside, inside = to_screen(page, correction, 200, 150), to_screen(page, correction, 120, 30)
    drag(page, outside, (outside[0] - 30, outside[1] + 20))
    assert (box()["x"], box()["y"]) == pytest.approx((larger["x"] - 30, larger["y"] + 20), abs=1)
    page.keyboard.down(" ")
    drag(page, (inside[0] - 30, inside[1] + 20), inside)
    page.keyboard.up(" ")
    assert box() == pytest.approx(larger, abs=1)
    assert (correction.version, page.evaluate(FOCUSED)) == (0, "0,0")
    # The chosen cell is brought into view.
    for _ in range(2):
        page.keyboard.press("Alt+Equal")
    box()
    pane = page.locator(".picture").bounding_box()
    last = (correction.table[2, 2].quad or ())[2]
    assert to_screen(page, correction, *last)[0] > pane["x"] + pane["width"]
    page.keyboard.press("PageDown")
    page.keyboard.press("End")
    box()
    x, y = to_screen(page, correction, *last)
    assert pane["x"] < x < pane["x"] + pane["width"] and pane["y"] < y < pane["y"] + pane["height"]
    page.keyboard.press("Alt+0")
    assert box() == pytest.approx(whole, abs=1)
