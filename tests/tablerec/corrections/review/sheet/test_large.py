"""In a large table only the rows in and near the view are there, and only what changes is touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tablerec.corrections.editor import Correction
from tests.helpers.browsing import expect_version, open_page, open_review
from tests.helpers.review import make_desk, make_table, serve
from tests.helpers.sheets import active, choose, expect_texts, press

WATCH = """() => {
    const seen = window.seen = new Set();
    new MutationObserver((records) => records.forEach((record) => {
        const element = record.target.nodeType === 1 ? record.target : record.target.parentElement;
        seen.add(element.closest("td, tr, tbody, textarea") ?? element);
        record.addedNodes.forEach((node) => seen.add(node));
    })).observe(document.querySelector(".sheet table"), {
        attributes: true, childList: true, subtree: true, characterData: true,
    });
}"""


def test_keys_and_steps_touch_few_cells(page: Any, tmp_path: Path) -> None:
    with serve(make_desk(tmp_path, ["large.png"], [make_table(30, 25, (4, 4, 336, 156))])) as server:
        # What proofreading finds, it would mark between two keys.
        page.route("**/proof", lambda route: route.fulfill(json={"version": -1}))
        open_review(page, server)
        correction = server.desk.correction("large_1_1")
        choose(page, 20, 10)
        page.evaluate(WATCH)

        def touched(*keys: str) -> int:
            page.evaluate("window.seen.clear()")
            press(page, *keys)
            page.locator('.tablerec-editor[data-waiting="0"]').wait_for()
            count: int = page.evaluate("window.seen.size")
            return count

        assert touched("ArrowDown", "ArrowRight", "Tab") <= 6
        assert touched("Shift+ArrowDown") <= 3
        assert touched("Control+Home") <= 6
        assert touched("x", "Enter") <= 6
        # A row, its cells and the rows after it, whose numbers are others.
        choose(page, 28, 3)
        assert touched("Alt+i") <= 3 * 26 + 10
        assert correction.table.n_rows == 31 and correction.table.to_grid()[28] == [""] * 25
        expect_version(page, correction, 2)
        shown = correction.table.to_grid()
        expect_texts(page, correction, shown)
        choose(page, 0, 12)
        press(page, "Alt+Shift+i", "Shift+ArrowRight", "Shift+ArrowDown", "Alt+m")
        expect_version(page, correction, 4)
        press(page, *["Control+z"] * 4)
        expect_version(page, correction, 8)
        expect_texts(page, correction, make_table(30, 25).to_grid())


ROWS, COLS = 400, 5
# Of the rows that are there: their numbers, and that of each by its aria-rowindex.
NUMBERS = """() => [...document.querySelectorAll(".sheet tbody tr")].map(
    (row) => [Number(row.querySelector("th").textContent), Number(row.getAttribute("aria-rowindex")) - 1])"""
IN_VIEW = """(place) => {
    const found = [".sheet", `.sheet td[data-place="${place}"]`].map((each) => document.querySelector(each));
    const [pane, cell] = found.map((each) => each?.getBoundingClientRect());
    return Boolean(cell) && cell.top >= pane.top && cell.bottom <= pane.bottom + 1;
}"""


@pytest.fixture
def long(page: Any, tmp_path: Path) -> Iterator[Correction]:
    """Of a table of 400 rows, of which each seventh has texts of several lines, and which is open."""
    table = make_table(ROWS, COLS, (4, 4, 336, 20 * ROWS))  # most of it below its picture
    several = "two\nlines, and more than fit beside each other"
    cells = [replace(each, text=f"{each.text} {several}" if each.row % 7 == 3 else each.text) for each in table.cells]
    with serve(make_desk(tmp_path, ["long.png"], [replace(table, cells=cells)])) as server:
        open_review(page, server)
        yield server.desk.correction("long_1_1")


def rows_shown(page: Any) -> range:
    """The rows that are there: without a gap, and each with its number."""
    numbers = page.evaluate(NUMBERS)
    assert all(number == index for number, index in numbers)
    found = range(numbers[0][0] - 1, numbers[-1][0])
    assert [number - 1 for number, _ in numbers] == list(found)
    return found


def scroll_to(page: Any, share: float) -> range:
    """Scroll, and wait until rows are drawn there."""
    page.evaluate(
        """async (share) => {
            const pane = document.querySelector(".sheet");
            pane.scrollTop = share * (pane.scrollHeight - pane.clientHeight);
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        }""",
        share,
    )
    return rows_shown(page)


def test_only_rows_in_and_near_the_view_are_there(page: Any, long: Correction) -> None:
    grid = page.locator(".sheet table")
    assert grid.get_attribute("aria-rowcount") == str(ROWS + 1)
    assert rows_shown(page)[0] == 0 and len(rows_shown(page)) < ROWS / 2
    press(page, "Control+End")
    assert rows_shown(page)[-1] == ROWS - 1 and active(page) == f"{ROWS - 1},{COLS - 1}"
    assert page.evaluate(IN_VIEW, f"{ROWS - 1},{COLS - 1}")
    assert page.locator(".typing").get_attribute("aria-activedescendant") == page.locator(
        ".sheet .current"
    ).get_attribute("id")
    press(page, "ArrowUp", "Shift+ArrowUp", "Shift+ArrowLeft")
    assert page.locator('.sheet [aria-selected="true"]').count() == 4
    press(page, "Control+Home", "PageDown")
    assert page.evaluate(IN_VIEW, f"{ROWS - 1},0")
    press(page, "PageUp")
    for _ in range(60):
        press(page, "ArrowDown")
    assert active(page) == "60,0" and page.evaluate(IN_VIEW, "60,0")


def test_rows_of_any_height_scroll_past(page: Any, long: Correction) -> None:
    """Each row is seen once on the way down and up, and what is seen stays where it is."""
    box, seen = page.locator(".sheet").bounding_box(), set(rows_shown(page))
    page.mouse.move(box["x"] + 100, box["y"] + 200)
    tops = """() => Object.fromEntries(
        [...document.querySelectorAll(".sheet tbody th")].map(
            (each) => [each.textContent, each.getBoundingClientRect().top]))"""
    for step in (*[700] * 30, *[-900] * 30):
        before = page.evaluate(tops)
        page.mouse.wheel(0, step)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        after, shown = page.evaluate(tops), rows_shown(page)
        seen |= set(shown)
        moves = {round(after[number] - before[number]) for number in before.keys() & after.keys()}
        assert max(moves, default=0) - min(moves, default=0) <= 1
        assert after[str(shown[0] + 1)] <= box["y"] + 60 or shown[0] == 0
        assert after[str(shown[-1] + 1)] >= box["y"] + box["height"] - 100 or shown[-1] == ROWS - 1
    assert seen == set(range(ROWS)) and rows_shown(page)[0] == 0


def test_what_is_not_there_is_chosen_typed_found_and_copied_all_the_same(page: Any, long: Correction) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    choose(page, 2, 1)
    assert 2 not in scroll_to(page, 0.6)
    assert page.locator(".typing").get_attribute("aria-activedescendant") is None
    # Typing goes where the cell is, and there is one to see.
    page.keyboard.type("7")
    assert page.evaluate(IN_VIEW, "2,1") and page.locator(".typing.open").input_value() == "7"
    press(page, "Enter")
    expect_version(page, long, 1)
    assert long.table[2, 1].text == "7" and active(page) == "3,1"
    press(page, "Control+a", "Control+c")
    lines = page.evaluate("navigator.clipboard.readText()")
    assert lines.count("\n0.0") == 0 and f"\n{ROWS - 1}.0\t" in lines and "\n200.0\t200.1\t" in lines
    assert page.locator('.sheet td[aria-selected="false"]').count() == 0
    scroll_to(page, 1)
    assert page.locator('.sheet td[aria-selected="false"]').count() == 0
    press(page, "Control+f")
    page.keyboard.type("333.2")
    press(page, "Enter", "Escape")
    assert active(page) == "333,2" and page.evaluate(IN_VIEW, "333,2")
    # A drag over many rows: from a click to one with Shift.
    choose(page, 330, 0)
    scroll_to(page, 0)
    choose(page, 5, 1, modifiers=["Shift"])
    press(page, "Delete")
    expect_version(page, long, 2)
    assert {long.table[row, col].text for row in (5, 100, 330) for col in (0, 1)} == {""} and long.table[331, 0].text
    press(page, "Control+z")
    expect_version(page, long, 3)


def test_a_merged_cell_reaches_in_from_above(page: Any, long: Correction) -> None:
    long.do({"do": "merge", "row": 10, "col": 0, "end_row": 390, "end_col": 1})
    long.do({"do": "set_text", "row": 10, "col": 0, "text": "tall"})
    page.reload()
    page.locator(".sheet td[data-place]").first.wait_for()
    shown = scroll_to(page, 0.5)
    cut = page.locator('.sheet td[data-place="10,0"]')
    assert cut.count() == 1 and cut.inner_text() == "tall" and shown[0] > 10
    assert cut.evaluate("cell => cell.rowSpan") == 390 - shown[0]
    # It is beside all rows that are there, none of which has another first cell.
    assert page.locator('.sheet td[data-place$=",0"]').count() == 1
    heights = [page.locator(each).bounding_box()["height"] for each in ('.sheet td[data-place="10,0"]', ".sheet tbody")]
    assert abs(heights[0] - heights[1]) < 2
    page.mouse.click(*[cut.bounding_box()["x"] + 5, page.locator(".sheet").bounding_box()["y"] + 200])
    assert active(page) == "10,0" and rows_shown(page) == shown
    page.keyboard.type("new")
    press(page, "Enter")
    expect_version(page, long, 3)
    assert long.table[10, 0].text == "new" and active(page) == "390,0"


def test_lines_come_and_go_in_the_midst(page: Any, long: Correction) -> None:
    def expect_same() -> None:
        page.locator('.tablerec-editor[data-waiting="0"]').wait_for()
        grid, shown = long.table.to_grid(), rows_shown(page)
        texts = page.evaluate(
            """() => [...document.querySelectorAll(".sheet tbody tr")].map(
                (row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent))"""
        )
        assert texts == [grid[row] for row in shown]

    press(page, "Control+End")
    choose(page, 390, 2)
    for version, key in enumerate(("Alt+i", "Alt+x", "Control+z", "Alt+Shift+i", "Control+z"), start=1):
        press(page, key)
        expect_version(page, long, version)
        expect_same()
    press(page, "Control+Home", "ArrowDown", "Alt+i")
    expect_version(page, long, 6)
    expect_same()
    scroll_to(page, 0.5)
    press(page, "Control+z")  # goes to where it was
    expect_version(page, long, 7)
    expect_same()
    assert rows_shown(page)[0] == 0
    long.do({"do": "remove", "axis": "row", "index": 20, "count": 370})
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.locator('.sheet table[aria-rowcount="32"]').wait_for()
    expect_same()


def test_all_rows_are_printed(page: Any, long: Correction) -> None:
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert rows_shown(page) == range(ROWS)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert len(rows_shown(page)) < ROWS / 2


def test_a_part_of_a_table_is_told_as_such(browser: Any, tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    table = make_table(ROWS, COLS)
    with serve(make_desk(tmp_path, ["long.png"], [table])) as server, open_page(browser, bypass_csp=True) as page:
        open_review(page, server)
        server.desk.correction("long_1_1").do({"do": "merge", "row": 1, "col": 0, "end_row": 300, "end_col": 1})
        page.reload()
        page.locator(".sheet td[data-place]").first.wait_for()
        assert scroll_to(page, 0.5)[0] > 1
        found = axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
