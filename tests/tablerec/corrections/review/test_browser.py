from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from postprocess.editing import steps as editing
from postprocess.table import Table
from tablerec.corrections.editor import CorrectionFolder
from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import drag, expect_banner, expect_status, expect_version, open_page, open_review, to_screen
from tests.helpers.review import make_desk, make_table, serve


def corners(table: Table, row: int, col: int) -> Any:
    quad = table[row, col].quad
    assert quad is not None
    return quad


def test_drag_merge_edit_save(page: Any, two_pictures: ReviewServer, tmp_path: Path) -> None:
    open_review(page, two_pictures)
    correction = two_pictures.desk.correction("scan_1_1")
    (_, _, (x1, y1), (x0, _)) = corners(correction.table, 0, 0)
    start = to_screen(page, correction, (x0 + x1) / 2, y1)
    drag(page, start, to_screen(page, correction, (x0 + x1) / 2, y1 + 12))
    expect_version(page, correction, 1)
    assert corners(correction.table, 1, 2)[0][1] == pytest.approx(y1 + 12, abs=1)

    centers = [[sum(p[axis] for p in corners(correction.table, 0, col)) / 4 for axis in (0, 1)] for col in (0, 1)]
    drag(page, to_screen(page, correction, *centers[0]), to_screen(page, correction, *centers[1]))
    page.get_by_role("button", name="Merge", exact=True).click()
    expect_version(page, correction, 2)

    page.mouse.dblclick(*to_screen(page, correction, *centers[0]))
    page.keyboard.type("<b>sum</b> 表")
    page.keyboard.press("Enter")
    expect_version(page, correction, 3)
    page.get_by_role("button", name="Save", exact=True).click()
    expect_status(page, "Saved")
    page.locator("#tables .done", has_text="saved").wait_for()

    folder = tmp_path / "corrections"
    sheet = openpyxl.load_workbook(folder / "tables" / "scan_1_1.xlsx").active
    assert sheet["A1"].value == "<b>sum</b> 表"
    assert [str(each) for each in sheet.merged_cells.ranges] == ["A1:B1"]
    label = json.loads((folder / "images" / "scan_1_1.json").read_text("utf-8"))
    assert [label["cells"][0][key] for key in ("rowspan", "colspan", "text")] == [1, 2, "<b>sum</b> 表"]
    assert label["cells"][0]["bbox"][3] == pytest.approx(y1 + 12, abs=1)
    coco = json.loads((folder / "annotations" / "instance_train.json").read_text("utf-8"))
    assert len(coco["annotations"]) == 8
    assert "&lt;b&gt;sum" in (folder / "tables" / "scan_1_1.html").read_text("utf-8")


def test_a_line_is_drawn_where_one_clicks_and_one_border_moves_alone(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    correction = two_pictures.desk.correction("scan_1_1")
    (x0, y0), _, (x1, y1), _ = corners(correction.table, 1, 1)
    page.get_by_role("button", name="Row line").click()
    page.mouse.click(*to_screen(page, correction, (x0 + x1) / 2, y0 + 0.25 * (y1 - y0)))
    expect_version(page, correction, 1)
    assert correction.table.shape == (4, 3)
    assert corners(correction.table, 2, 0)[0][1] == pytest.approx(y0 + 0.25 * (y1 - y0), abs=1)
    page.keyboard.press("Escape")
    page.keyboard.down("Shift")
    middle = (x0 + x1) / 2
    drag(page, to_screen(page, correction, middle, y1), to_screen(page, correction, middle, y1 + 8))
    page.keyboard.up("Shift")
    expect_version(page, correction, 2)
    bottoms = [corners(correction.table, 2, col)[3][1] - y1 for col in range(3)]
    assert bottoms == pytest.approx([0, 8, 0], abs=1)


def test_everything_by_keyboard_alone(page: Any, two_pictures: ReviewServer, tmp_path: Path) -> None:
    open_review(page, two_pictures)
    correction = two_pictures.desk.correction("scan_1_1")
    expected = correction.table
    steps = [
        ("Alt+ArrowDown", lambda t: editing.move_line(t, "row", 1, 1.0)),
        ("Alt+Shift+ArrowRight", lambda t: editing.move_line(t, "col", 1, 10.0)),
        ("Alt+r", lambda t: editing.divide(t, "row", 0)),
        ("Alt+Shift+c", lambda t: editing.divide(t, "col", 0, at=0)),
        ("Control+z", None),
        ("Control+y", None),
        ("Alt+j", lambda t: editing.remove_line(t, "row", 1)),
        ("Alt+a", lambda t: editing.extend(t, "row")),
        ("Alt+Shift+a", lambda t: editing.extend(t, "col")),
        ("Alt+h", lambda t: editing.set_headers(t, 1, 0)),
        ("Alt+Shift+h", lambda t: editing.set_headers(t, 1, 1)),
        ("Alt+g", lambda t: editing.set_header(t, 0, 0, "section")),
        ("Alt+Shift+x", lambda t: editing.remove(t, "col", 4)),
    ]
    for number, (key, step) in enumerate(steps, start=1):
        if key == "Alt+Shift+x":
            page.keyboard.press("End")
        page.keyboard.press(key)
        expect_version(page, correction, number)
        if step is not None:
            expected = step(expected)
            assert correction.table == expected, key
    for key in ("End", "Shift+ArrowLeft", "Shift+ArrowDown", "Alt+m"):
        page.keyboard.press(key)
    expect_version(page, correction, len(steps) + 1)
    assert max(cell.colspan * cell.rowspan for cell in correction.table.cells) >= 4
    page.keyboard.press("Alt+s")
    expect_version(page, correction, len(steps) + 2)
    page.keyboard.press("Home")
    page.keyboard.press("F2")
    page.keyboard.type("two")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("lines")
    page.keyboard.press("Enter")
    expect_version(page, correction, len(steps) + 3)
    assert correction.table[0, 0].text == "two\nlines"
    page.keyboard.press("Control+Enter")
    page.locator("#tables .done").wait_for()
    assert (tmp_path / "corrections" / "tables" / "scan_1_1.xlsx").is_file()
    page.locator('#tables [aria-current="true"]', has_text="second_1_1").wait_for()
    page.keyboard.press("F1")
    page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
    page.keyboard.press("Escape")


def test_nothing_is_lost_when_the_tab_closes(browser: Any, two_pictures: ReviewServer, tmp_path: Path) -> None:
    with open_page(browser) as first:
        open_review(first, two_pictures)
        correction = two_pictures.desk.correction("scan_1_1")
        first.keyboard.press("Shift+ArrowRight")
        first.keyboard.press("Alt+m")
        expect_version(first, correction, 1)
        first.keyboard.press("Enter")
        first.keyboard.type("typed, not yet kept")
        first.reload()
        first.locator(".sheet td[data-place]", has_text="typed, not yet kept").wait_for()
    assert CorrectionFolder(tmp_path / "corrections").read()["scan_1_1"].view() == correction.view()


def test_two_windows_do_not_overwrite_each_other(browser: Any, two_pictures: ReviewServer) -> None:
    with open_page(browser) as first, open_page(browser) as second:
        for page in (first, second):
            open_review(page, two_pictures)
        correction = two_pictures.desk.correction("scan_1_1")
        first.keyboard.press("Alt+r")
        expect_version(first, correction, 1)
        second.keyboard.press("Alt+Shift+x")
        expect_banner(second, "another window")
        assert correction.version == 1
        assert second.locator(".sheet tbody tr").count() == 4


def test_hostile_texts_stay_texts(page: Any, tmp_path: Path) -> None:
    bad = '<img src=x onerror="document.title=1">'
    table = editing.set_text(make_table(), 0, 0, bad)
    with serve(make_desk(tmp_path, [f"a{bad[:4]} b.png"], [table])) as server:
        open_review(page, server)
        assert page.locator(".sheet td[data-place]").first.inner_text() == bad
        assert page.locator(".sheet img, nav img").count() == 0
        assert page.title() == "tablerec review"


ATTACK = """
async (review) => {
  const load = (tag, path, key = "src") => new Promise((resolve) => {
    const element = document.createElement(tag);
    element.onload = () => resolve("loaded");
    element.onerror = () => resolve("refused");
    element[key] = review + path;
    document.body.append(element);
  });
  const ask = (path, options) => fetch(review + path, { credentials: "include", ...options })
    .then((reply) => reply.type === "opaque" ? "sent" : "read", () => "refused");
  const body = JSON.stringify({ do: "set_text", row: 0, col: 0, text: "theirs", version: 0 });
  return {
    picture: await load("img", "/tables/scan_1_1/picture"),
    script: await load("script", "/static/editor.js"),
    list: await ask("/tables"),
    step: await ask("/tables/scan_1_1/do", { method: "POST", body, headers: { "Content-Type": "application/json" } }),
    plain: await ask("/tables/scan_1_1/do", { method: "POST", body, mode: "no-cors" }),
  };
}
"""


def test_a_page_of_another_server_of_this_machine_gets_nothing(browser: Any, two_pictures: ReviewServer) -> None:
    """To a browser it is the same site, so that it sends the cookie along: the ports differ only."""
    handler = type("Page", (BaseHTTPRequestHandler,), {"do_GET": send_blank, "log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as other:
        thread = threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            context = browser.new_context()
            open_review(context.new_page(), two_pictures)
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{other.server_port}/")
            got = page.evaluate(ATTACK, f"http://127.0.0.1:{two_pictures.server_port}")
            page.set_content(f'<iframe src="http://127.0.0.1:{two_pictures.server_port}/"></iframe>')
            framed = page.frames[-1].url
            context.close()
        finally:
            other.shutdown()
            thread.join()
    assert len(got) == 5 and set(got.values()) == {"refused"}
    assert framed.startswith("chrome-error:")
    assert two_pictures.desk.correction("scan_1_1").version == 0


def send_blank(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/html")
    handler.end_headers()
    handler.wfile.write(b"<!doctype html><body>")


def test_an_address_that_was_cut_off_opens_the_first_table(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    page.goto(f"http://127.0.0.1:{two_pictures.server_port}/#%")
    page.reload()
    page.locator(".sheet td[data-place]").first.wait_for()


def test_a_table_outside_its_picture_is_said_to_have_no_label(page: Any, two_pictures: ReviewServer) -> None:
    open_review(page, two_pictures)
    correction = two_pictures.desk.correction("scan_1_1")
    two_pictures.desk.corrections.do(correction, {"do": "extend", "axis": "row", "at_end": True})
    page.reload()
    page.locator(".sheet td[data-place]").first.wait_for()
    page.get_by_role("button", name="Save", exact=True).click()
    expect_banner(page, "no label")
    expect_banner(page, "outside the picture")


def test_the_page_is_accessible(browser: Any, two_pictures: ReviewServer) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    with open_page(browser, bypass_csp=True) as page:
        open_review(page, two_pictures)
        found = axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        page.keyboard.press("F1")
        page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
        found = axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_a_thousand_cells_stay_fluid(page: Any, tmp_path: Path) -> None:
    table = make_table(50, 20, (4, 4, 336, 156))
    with serve(make_desk(tmp_path, ["large.png"], [table])) as server:
        open_review(page, server)
        correction = server.desk.correction("large_1_1")
        assert page.locator(".sheet table").get_attribute("aria-rowcount") == "51"
        page.evaluate(
            """() => {
                const times = window.times = [], real = window.requestAnimationFrame;
                window.requestAnimationFrame = (work) => real.call(window, (now) => {
                    const start = performance.now(); work(now); times.push(performance.now() - start); });
            }"""
        )
        x, y = corners(correction.table, 25, 10)[0]
        drag(page, to_screen(page, correction, x + 5, y), to_screen(page, correction, x + 5, y + 30), steps=60)
        expect_version(page, correction, 1)
        times = sorted(page.evaluate("window.times"))
        assert len(times) >= 10
        # The median: on a busy machine single frames wait for others.
        assert times[len(times) // 2] < 16, times


def test_a_table_from_right_to_left_is_edited_from_right_to_left(page: Any, tmp_path: Path) -> None:
    with serve(make_desk(tmp_path, tables=[make_table().mirrored()])) as server:
        open_review(page, server)
        correction = server.desk.correction("scan_1_1")
        assert page.locator(".sheet table").get_attribute("dir") == "rtl"
        first, second = (page.locator(f'.sheet td[data-place="0,{col}"]').bounding_box() for col in (0, 1))
        assert first["x"] > second["x"] and correction.table[0, 0].text == "0.2"
        (x0, y0), _, (_, y1), _ = corners(correction.table, 0, 0)
        middle = (y0 + y1) / 2
        drag(page, to_screen(page, correction, x0, middle), to_screen(page, correction, x0 - 10, middle))
        expect_version(page, correction, 1)
        assert (
            corners(correction.table, 2, 0)[0][0]
            == corners(correction.table, 2, 1)[1][0]
            == pytest.approx(x0 - 10, abs=1)
        )
        page.keyboard.press("Alt+Shift+ArrowRight")
        expect_version(page, correction, 2)
        assert corners(correction.table, 0, 0)[0][0] == pytest.approx(x0, abs=1)
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("F2")
        page.keyboard.type("next")
        page.keyboard.press("Enter")
        expect_version(page, correction, 3)
        assert correction.table[0, 1].text == "next"
        page.get_by_role("button", name="Column line").click()
        page.mouse.click(*to_screen(page, correction, x0 + 20, middle))
        expect_version(page, correction, 4)
        assert correction.table.n_cols == 4 and corners(correction.table, 0, 0)[0][0] == pytest.approx(x0 + 20, abs=1)
        page.keyboard.press("Escape")
        page.locator('[data-tool="left"]').click()
        expect_version(page, correction, 5)
        assert correction.table.n_cols == 5 and not correction.table[0, 4].text
