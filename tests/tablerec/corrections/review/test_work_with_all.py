"""What is done with all tables, in the header of the page."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
from PIL import Image

from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import open_review
from tests.helpers.corrections.learning import Commands, make_learner, with_another_text, worse_where
from tests.helpers.review import serve

DROP = """([name, content]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(content)], name));
    for (const type of ["dragenter", "dragover", "drop"]) {
        window.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }
}"""


def picture() -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (30, 20), "white").save(content, "PNG")
    return content.getvalue()


def test_all_tables_are_taken_along_as_a_workbook(page: Any, two_pictures: ReviewServer, tmp_path: Path) -> None:
    open_review(page, two_pictures)
    page.keyboard.press("Control+s")
    page.locator("#tables .done").wait_for()
    page.get_by_role("button", name="Export").click()
    dialog = page.get_by_role("dialog", name="Export")
    assert dialog.get_by_label("Saved tables (1)").is_checked()
    dialog.get_by_label("All tables (2)").check()
    dialog.get_by_label("Link cells to their pictures").check()
    dialog.get_by_role("button", name="Create file").click()
    with page.expect_download() as download:
        dialog.get_by_role("link", name="Download tables.xlsx").click()
    download.value.save_as(tmp_path / "got.xlsx")
    workbook = openpyxl.load_workbook(tmp_path / "got.xlsx")
    assert workbook.sheetnames == ["Contents", "scan_1_1", "second_1_1"]
    dialog.get_by_role("combobox").select_option("csv")
    assert dialog.get_by_label("Link cells to their pictures").is_disabled()
    dialog.get_by_label("Saved tables (1)").check()
    dialog.get_by_role("button", name="Create file").click()
    dialog.get_by_text("Tables in tables_csv.zip: 1").wait_for()
    with zipfile.ZipFile(tmp_path / "corrections" / "outputs" / "tables_csv.zip") as archive:
        assert archive.namelist() == ["scan_1_1.csv"]
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.activeElement.dataset.place === '0,0'")


def test_what_cannot_be_made_is_said_in_the_dialog(page: Any, two_pictures: ReviewServer, tmp_path: Path) -> None:
    open_review(page, two_pictures)
    (tmp_path / "corrections" / "outputs").write_text("in the way")
    page.get_by_role("button", name="Export").click()
    dialog = page.get_by_role("dialog", name="Export")
    assert dialog.get_by_label("Saved tables (0)").is_disabled()
    dialog.get_by_role("button", name="Create file").click()
    dialog.locator(".error", has_text="cannot be written").wait_for()


def test_a_picture_dropped_into_the_page_joins_the_list(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    page.evaluate(DROP, ["dropped.png", list(picture())])
    page.locator('#tables [data-name="dropped_1_1"]').wait_for()
    assert page.locator(".drop-here").is_hidden()
    page.evaluate(DROP, ["notes.txt", [1, 2, 3]])
    page.locator("#note.error", has_text="notes.txt").wait_for()
    page.evaluate(DROP, ["broken.png", [1, 2, 3]])
    page.locator("#note.error", has_text="broken.png").wait_for()
    page.locator("#note").get_by_role("button", name="Close").click()
    assert page.locator("#note").is_hidden() and page.locator("#tables li").count() == 3


def test_files_can_be_chosen_without_dragging(page: Any, two_pictures: ReviewServer, tmp_path: Path) -> None:
    open_review(page, two_pictures)
    (tmp_path / "表 1.png").write_bytes(picture())
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add files").click()
    chooser.value.set_files([tmp_path / "表 1.png"])
    page.locator('#tables [data-name="表_1_1_1"]').wait_for()


def begin_to_learn(page: Any, server: ReviewServer) -> Any:
    """Open the review and let it learn; returns the dialog."""
    open_review(page, server)
    page.get_by_role("button", name="Learn", exact=True).click()
    dialog = page.get_by_role("dialog", name="Learn")
    dialog.get_by_role("button", name="Learn now").click()
    return dialog


def test_what_reads_worse_is_not_used_until_a_person_wants_it(page: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tablerec.corrections.learning.learner.can_train", lambda: True)
    commands = Commands(worse_where(lambda number: number == 0))
    learner = make_learner(tmp_path, commands, 5, 1)
    assert commands.desk is not None
    with serve(commands.desk, learner) as server:
        dialog = begin_to_learn(page, server)
        dialog.get_by_role("cell", name="88.9% → 0.0%").wait_for()
        dialog.get_by_text("the previous detector stays in use").wait_for()
        assert dialog.get_by_role("button", name="Read open tables again").count() == 0
        assert learner.weights is None
        dialog.get_by_role("button", name="Use anyway").click()
        dialog.get_by_text("Nothing would change").wait_for()
        assert learner.weights is not None
        dialog.get_by_role("button", name="Undo learning").click()
        dialog.get_by_role("button", name="Use anyway").wait_for()
        assert learner.weights is None


def test_it_learns_shows_what_would_change_and_takes_it_back(page: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tablerec.corrections.learning.learner.can_train", lambda: True)
    commands = Commands(with_another_text)
    learner = make_learner(tmp_path, commands, 5, 2)
    assert commands.desk is not None
    with serve(commands.desk, learner) as server:
        dialog = begin_to_learn(page, server)
        dialog.get_by_role("cell", name="88.9% → 88.9%").first.wait_for()
        dialog.get_by_role("button", name="Read open tables again").click()
        dialog.get_by_role("checkbox", name="t06_1_1").uncheck()
        dialog.get_by_role("button", name="Change selected tables").click()
        page.locator("#note", has_text="Tables changed: 1.").wait_for()
        assert commands.desk.correction("t05_1_1").table[0, 0].text == "read anew"
        assert commands.desk.correction("t06_1_1").version == 0
        page.locator('.sheet td[data-place="0,0"]', has_text="read anew").wait_for()  # the table that is open shows it
        dialog.get_by_role("button", name="Undo learning").click()
        page.locator("#note", has_text="Tables restored: 1.").wait_for()
        page.locator('.sheet td[data-place="0,0"]', has_text="0.0").wait_for()
