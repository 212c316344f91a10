"""One fix for all alike, and tables over pages as one, in the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import expect_version, open_review
from tests.helpers.corrections.documents import open_document
from tests.helpers.review import make_desk, serve


def test_a_fix_is_seen_done_and_undone_for_all_alike(page: Any, tmp_path: Path) -> None:
    with serve(make_desk(tmp_path, ["scan.png", "second.png", "third.png"])) as server:
        open_review(page, server)
        desk = server.desk
        desk.corrections.do(desk.correction("third_1_1"), {"do": "set_text", "row": 2, "col": 2, "text": "mine"})
        assert page.get_by_role("button", name="similar").is_hidden()
        page.keyboard.press("Alt+h")
        expect_version(page, desk.correction("scan_1_1"), 1)
        page.get_by_role("button", name="Apply to 2 similar").click()
        dialog = page.get_by_role("dialog", name="Apply to similar tables")
        assert dialog.locator(".preview polygon").count() == 18
        assert dialog.get_by_role("checkbox", name="second_1_1").is_checked()
        assert not dialog.get_by_role("checkbox", name="third_1_1").is_checked()
        dialog.get_by_role("button", name="Apply to selected").click()
        page.locator("#note", has_text="Tables changed: 1.").wait_for()
        assert desk.correction("second_1_1").table.n_header_rows == 1
        assert desk.correction("third_1_1").table.n_header_rows == 0
        page.get_by_role("button", name="Undo in all").click()
        page.locator("#note", has_text="Undone in tables: 1.").wait_for()
        assert desk.correction("second_1_1").table.n_header_rows == 0
        page.wait_for_function("() => document.activeElement.closest('.tablerec-editor')")


def test_who_goes_to_another_table_sees_no_offer_of_the_first(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    page.keyboard.press("Alt+h")
    page.get_by_role("button", name="Apply to 1 similar").wait_for()
    page.keyboard.press("Alt+PageDown")
    page.locator("#title", has_text="second_1_1").wait_for()
    page.get_by_role("button", name="similar").wait_for(state="hidden")


def test_pages_are_joined_and_taken_apart(page: Any, tmp_path: Path) -> None:
    with serve(open_document(tmp_path, 3)) as server:
        open_review(page, server)
        page.get_by_text("May continue").wait_for()
        page.get_by_role("button", name="Join", exact=True).click()
        page.get_by_text("One table across 2 pages").wait_for()
        page.get_by_role("button", name="Join all").click()
        page.get_by_text("One table across 3 pages").wait_for()
        page.locator("#joined").get_by_role("link", name="book_3_1").click()
        page.locator("#title", has_text="book_3_1").wait_for()
        page.get_by_role("button", name="Separate").click()
        page.locator("#joined").wait_for(state="hidden")
    assert server.review.joined.groups() == [["book_1_1"], ["book_2_1"], ["book_3_1"]]
