"""The picture: what is seen of it, how large, and what can be done there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tablerec.corrections.editor import Correction
from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import expect_version, open_review, to_screen
from tests.helpers.review import make_desk, make_table, serve

EDGE = 16
SEEN = "document.querySelector('.picture img').getBoundingClientRect()"
Box = dict[str, float]


@pytest.fixture
def aside(tmp_path: Path) -> Iterator[ReviewServer]:
    """Two pages with a table of many rows that fills their left part."""
    with serve(make_desk(tmp_path, ["a.png", "b.png"], [make_table(12, 4, (20, 20, 200, 150))])) as running:
        yield running


def expect_focus(page: Any, place: str) -> None:
    page.wait_for_function("place => document.activeElement.dataset.place === place", arg=place)


def box_of(page: Any, selector: str) -> Box:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found: Box = page.locator(selector).bounding_box()
    return found


def corners(correction: Correction, row: int, col: int) -> Any:
    quad = correction.table[row, col].quad
    assert quad is not None
    return quad


def cell_box(page: Any, correction: Correction, row: int, col: int) -> Box:
    """Where a cell of the picture is on the screen."""
    image = box_of(page, ".picture img")
    scale = image["width"] / correction.head.size_wh[0]
    (x0, y0), _, (x1, y1), _ = corners(correction, row, col)
    x, y = image["x"] + x0 * scale, image["y"] + y0 * scale
    return {"x": x, "y": y, "width": (x1 - x0) * scale, "height": (y1 - y0) * scale}


def test_the_table_fills_the_pane_when_it_is_opened_and_the_page_when_asked(page: Any, aside: ReviewServer) -> None:
    open_review(page, aside)
    correction, pane = aside.desk.correction("a_1_1"), box_of(page, ".picture")
    first, last = cell_box(page, correction, 0, 0), cell_box(page, correction, 11, 3)
    assert first["x"] == pytest.approx(pane["x"] + EDGE, abs=1)
    assert last["x"] + last["width"] == pytest.approx(pane["x"] + pane["width"] - EDGE, abs=1)
    assert box_of(page, ".picture img")["width"] > pane["width"]
    page.keyboard.press("Alt+0")
    assert box_of(page, ".picture img")["width"] == pytest.approx(pane["width"] - 2 * EDGE, abs=1)
    page.keyboard.press("Alt+0")
    assert cell_box(page, correction, 0, 0) == pytest.approx(first, abs=1)


@pytest.mark.parametrize("zooms", [0, 4])
def test_the_wheel_never_pushes_the_picture_out_of_its_pane(page: Any, aside: ReviewServer, zooms: int) -> None:
    open_review(page, aside)
    for _ in range(zooms):
        page.keyboard.press("Alt+Equal")
    pane = box_of(page, ".picture")
    page.mouse.move(pane["x"] + pane["width"] / 2, pane["y"] + pane["height"] / 2)
    for dx, dy in ((0, 9000), (9000, 0), (0, -9000), (-9000, 0)):
        page.mouse.wheel(dx, dy)
        image = box_of(page, ".picture img")
        for axis, size in (("x", "width"), ("y", "height")):
            low, high = image[axis] - pane[axis], image[axis] + image[size] - pane[axis]
            assert low <= EDGE + 1 or high <= pane[size] - EDGE + 1
            assert high - max(low, 0) >= min(image[size], pane[size] - 2 * EDGE) - 1


def test_the_chosen_cell_is_shown_large_once_or_all_the_time(page: Any, aside: ReviewServer) -> None:
    open_review(page, aside)
    correction, pane = aside.desk.correction("a_1_1"), box_of(page, ".picture")
    middle = pane["y"] + pane["height"] / 2
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    before = cell_box(page, correction, 5, 1)
    page.keyboard.press("Alt+z")
    now = cell_box(page, correction, 5, 1)
    assert now["height"] >= 1.3 * before["height"] and now["y"] + now["height"] / 2 == pytest.approx(middle, abs=2)
    page.keyboard.press("ArrowDown")
    assert cell_box(page, correction, 5, 1) == pytest.approx(now, abs=1)  # once
    page.get_by_role("button", name="Follow cell").click()
    large = now["height"]
    for row in (7, 8, 9, 10, 11):
        page.keyboard.press("ArrowDown")
        now = cell_box(page, correction, row, 1)
        assert now["height"] == pytest.approx(large, abs=1)
        assert pane["y"] < now["y"] and now["y"] + now["height"] < pane["y"] + pane["height"]
    assert page.get_by_role("button", name="Follow cell").get_attribute("aria-pressed") == "true"
    page.keyboard.press("Alt+Shift+Z")
    assert cell_box(page, correction, 0, 0)["x"] == pytest.approx(pane["x"] + EDGE, abs=1)


PIXELS = """() => {
    const canvas = document.querySelector(".lens canvas");
    const [red] = canvas.getContext("2d").getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data;
    return [canvas.clientHeight, red];
}"""


def test_the_magnifier_shows_the_chosen_cell_and_stays_over_a_reload(page: Any, aside: ReviewServer) -> None:
    open_review(page, aside)
    page.keyboard.press("Alt+p")
    page.get_by_role("img", name="Picture of row 1, column 1").wait_for()
    height, red = page.evaluate(PIXELS)
    assert height >= 60 and red > 200  # the paper
    page.keyboard.press("ArrowDown")
    page.get_by_role("img", name="Picture of row 2, column 1").wait_for()
    page.reload()
    page.get_by_role("img", name="Picture of row 2, column 1").wait_for()
    page.get_by_role("button", name="Magnifier").click()
    page.locator(".lens").wait_for(state="hidden")


def test_each_table_is_found_again_as_it_was_left(page: Any, aside: ReviewServer) -> None:
    open_review(page, aside)
    for key in ("ArrowDown", "ArrowRight", "Alt+Equal", "Alt+Equal", "Alt+Equal"):
        page.keyboard.press(key)
    left = box_of(page, ".picture img")
    page.keyboard.press("Alt+PageDown")
    page.locator("#title", has_text="b_1_1").wait_for()
    expect_focus(page, "0,0")
    assert box_of(page, ".picture img")["width"] < left["width"]
    page.keyboard.press("Alt+PageUp")
    page.locator("#title", has_text="a_1_1").wait_for()
    expect_focus(page, "1,1")
    assert box_of(page, ".picture img") == pytest.approx(left, abs=1)
    page.reload()
    expect_focus(page, "1,1")
    assert box_of(page, ".picture img") == pytest.approx(left, abs=1)


def test_the_right_button_draws_a_line_where_it_was_pressed(page: Any, aside: ReviewServer) -> None:
    open_review(page, aside)
    correction = aside.desk.correction("a_1_1")
    (x0, y0), _, (x1, y1), _ = corners(correction, 2, 1)
    at = to_screen(page, correction, x0 + 0.25 * (x1 - x0), (y0 + y1) / 2)
    page.mouse.click(*at, button="right")
    menu = page.get_by_role("menu")
    assert page.evaluate("document.activeElement.role") == "menuitem"
    page.keyboard.press("Escape")
    menu.wait_for(state="detached")
    assert page.evaluate("document.activeElement.dataset.place") == "2,1"
    page.mouse.click(*at, button="right")
    assert menu.get_by_role("menuitem", name="Merge", exact=True).is_disabled()
    menu.get_by_role("menuitem", name="Column line", exact=True).click()
    expect_version(page, correction, 1)
    assert correction.table.n_cols == 5
    assert corners(correction, 0, 2)[0][0] == pytest.approx(x0 + 0.25 * (x1 - x0), abs=1)
    page.mouse.click(*at, button="right")
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.tool") == "frame"
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Add a table that was missed").wait_for()


EMBEDDED = """async ([state, picture]) => {
    const { mount } = await import("/static/editor.js");
    document.body.className = "";
    document.body.style.display = "block";
    document.body.style.height = "3000px";
    document.documentElement.style.height = "auto";
    const root = document.createElement("div"), field = document.createElement("input");
    root.style.height = "500px";
    document.body.replaceChildren(field, root);
    mount(root, { state, picture, send: async () => state });
    field.focus();
}"""


def test_the_wheel_belongs_to_the_page_of_a_notebook_until_the_editor_has_the_focus(
    page: Any, aside: ReviewServer
) -> None:
    open_review(page, aside)
    state = page.evaluate("fetch('/tables/a_1_1').then((reply) => reply.json())")
    page.evaluate(EMBEDDED, [state, "/tables/a_1_1/picture"])
    page.locator(".sheet td[data-place]").first.wait_for()
    pane = box_of(page, ".picture")
    at = (pane["x"] + 60, pane["y"] + 120)
    page.mouse.move(*at)
    page.mouse.wheel(0, 100)
    page.wait_for_function("() => window.scrollY === 100")
    page.evaluate("window.scrollTo(0, 0)")
    wide = box_of(page, ".picture img")["width"]
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    page.wait_for_function(f"wide => {SEEN}.width > wide", arg=wide)
    page.mouse.click(*at)
    before = box_of(page, ".picture img")["y"]
    page.mouse.wheel(0, 40)
    page.wait_for_function(f"top => {SEEN}.top < top", arg=before)
    assert page.evaluate("window.scrollY") == 0
