"""Other grids and other readings, in the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from postprocess.editing.steps import remove_line
from postprocess.word import Word
from tests.helpers.browsing import expect_version, open_review
from tests.helpers.review import find_rivals, make_desk, make_read_desk, make_table, serve


class Misreads:
    """Reads no line, and then one word in the first cell."""

    def read(self, image: Any) -> list[Word]:
        return [Word("OO.5 km", ((22, 20), (64, 20), (64, 30), (22, 30)), 0.9)]

    def read_quads(self, image: Any, quads: Any) -> list[Word]:
        return []


def test_another_grid_is_seen_taken_by_one_click_and_undone_by_one_key(page: Any, tmp_path: Path) -> None:
    find = find_rivals(make_table(), remove_line(make_table(), "row", 1))
    with serve(make_read_desk(tmp_path, find=find)) as server:
        open_review(page, server)
        correction = server.desk.correction("scan_1_1")
        page.get_by_role("button", name="Other grids").click()
        dialog = page.get_by_role("dialog", name="Other grids")
        dialog.wait_for()
        assert dialog.locator(".preview polygon").count() == 6
        dialog.locator(".preview").click()
        page.locator("#note", has_text="Grid changed").wait_for()
        expect_version(page, correction, 1)
        assert correction.table.shape == (2, 3)
        page.keyboard.press("Control+z")
        expect_version(page, correction, 2)
        assert correction.table.shape == (3, 3)


def test_who_asks_for_other_grids_where_there_are_none_is_told_so(page: Any, tmp_path: Path) -> None:
    with serve(make_read_desk(tmp_path, find=find_rivals(make_table()))) as server:
        open_review(page, server)
        page.get_by_role("button", name="Other grids").click()
        page.locator("#note", has_text="No other grid").wait_for()


def test_without_a_reader_or_a_detector_the_page_says_so(page: Any, tmp_path: Path) -> None:
    with serve(make_desk(tmp_path)) as server:
        open_review(page, server)
        page.get_by_role("button", name="Other grids").click()
        page.locator("#note", has_text="cannot be recognized again").wait_for()


def read_twice(page: Any) -> Any:
    """Open the dialog of other readings, and return it."""
    page.get_by_role("button", name="Compare readings").click()
    dialog = page.get_by_role("dialog", name="Compare readings")
    dialog.wait_for()
    return dialog


def test_readings_that_differ_are_compared_with_the_picture_and_taken_as_one(page: Any, tmp_path: Path) -> None:
    with serve(make_read_desk(tmp_path, Misreads())) as server:
        open_review(page, server)
        correction = server.desk.correction("scan_1_1")
        dialog = read_twice(page)
        first = dialog.get_by_role("group", name="Row 1, column 1")
        assert dialog.get_by_role("group").count() == 9 and first.get_by_role("radio").count() == 3
        assert first.get_by_role("radio", name="00.5 km current").is_checked()
        assert dialog.locator("svg image").first.get_attribute("href") == "/tables/scan_1_1/picture"
        first.get_by_role("radio", name="OO.5 km").check()
        dialog.get_by_role("group", name="Row 2, column 2").get_by_role("textbox").fill("typed")
        dialog.get_by_role("button", name="Use selected texts").click()
        page.locator("#note", has_text="Texts changed: 2.").wait_for()
        expect_version(page, correction, 1)
        assert correction.table[0, 0].text == "OO.5 km" and correction.table[0, 1].text == "01.5 km ab"
        assert correction.table[1, 1].text == "typed" and correction.table[1, 1].typed
        page.keyboard.press("Control+z")
        expect_version(page, correction, 2)
        assert correction.table[0, 0].text == "00.5 km"


def test_a_dialog_of_a_table_that_has_changed_says_so_and_takes_nothing(page: Any, tmp_path: Path) -> None:
    with serve(make_read_desk(tmp_path, Misreads())) as server:
        open_review(page, server)
        correction = server.desk.correction("scan_1_1")
        dialog = read_twice(page)
        dialog.get_by_role("radio", name="OO.5 km").check()
        server.desk.corrections.do(correction, {"do": "set_text", "row": 0, "col": 0, "text": "mine"})
        dialog.get_by_role("button", name="Use selected texts").click()
        dialog.locator(".error", has_text="changed in another window").wait_for()
        assert correction.table[0, 0].text == "mine"
