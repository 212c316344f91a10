"""What the scripted clerk of the benchmarks counts is what the editor's page takes: each thing is done once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from postprocess.editing.steps import remove_line
from postprocess.word import Word
from tablerec.corrections.editor import Correction
from tablerec.corrections.review.server import ReviewServer
from tests.helpers.browsing import expect_version, open_browser, open_page, open_review, to_screen
from tests.helpers.clerk.costs import COSTS
from tests.helpers.review import find_rivals, make_read_desk, make_table, make_word, serve


class OneWord:
    """Reads one word, wherever it looks."""

    def read(self, image: Any) -> list[Word]:
        return [make_word("seen", 20, 20)]

    def read_quads(self, image: Any, quads: Any) -> list[Word]:
        return []


class Hands:
    """A mouse and a keyboard that count.

    Args:
        page: With the table of ``make_read_desk``.
        correction: Of it.
    """

    def __init__(self, page: Any, correction: Correction) -> None:
        self.page, self.correction = page, correction
        self.clicks, self.keys, self.typed = 0, [], ""  # type: int, list[str], str

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.keys += keys

    def write(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.typed += text

    def click(self, element: Any) -> None:
        element.click()
        self.clicks += 1

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=5)
        self.page.mouse.up()
        self.clicks += 1

    def cell(self, row: int, col: int) -> Any:
        return self.page.locator(f'.sheet td[data-place="{row},{col}"]')

    def choose(self, row: int, col: int, end_row: int | None = None, end_col: int | None = None) -> None:
        """A click on a cell, or a drag over several."""
        if end_row is None or end_col is None:
            return self.click(self.cell(row, col))
        boxes = [self.cell(*place).bounding_box() for place in ((row, col), (end_row, end_col))]
        start, end = ((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes)
        return self.drag(start, end)

    def row(self, index: int) -> None:
        self.click(self.page.locator(f'.sheet th[data-row="{index}"]'))

    def column(self, index: int) -> None:
        self.click(self.page.locator(f'.sheet th[data-col="{index}"]'))

    def tool(self, name: str) -> None:
        self.click(self.page.locator(f'.bar [data-tool="{name}"]'))

    def point(self, x: float, y: float) -> tuple[float, float]:
        return to_screen(self.page, self.correction, x, y)

    def click_picture(self, x: float, y: float) -> None:
        self.page.mouse.click(*self.point(x, y))
        self.clicks += 1

    def move_border(self) -> None:
        self.page.keyboard.down("Shift")
        self.keys.append("Shift")
        self.drag(self.point(70, 60), self.point(70, 66))
        self.page.keyboard.up("Shift")

    def replace(self) -> None:
        self.press("Control+h")
        self.write("km")
        self.click(self.page.locator(".find input[type=text]"))
        self.write("mi")
        self.click(self.page.locator('[data-find="replaceAll"]'))

    def look(self, name: str) -> Any:
        """Open a dialog."""
        self.click(self.page.get_by_role("button", name=name))
        dialog = self.page.get_by_role("dialog", name=name)
        dialog.wait_for()
        return dialog

    def take_grid(self) -> None:
        self.click(self.look("Other grids").locator(".preview"))

    def take_readings(self) -> None:
        dialog = self.look("Compare readings")
        dialog.get_by_role("radio", name="seen").check()  # the clerk counts one for each text
        self.click(dialog.get_by_role("button", name="Use selected texts"))


def type_on(hands: Hands) -> None:
    """Two texts: the second one's cell need not be chosen."""
    do_each(hands, lambda: hands.choose(0, 0), lambda: hands.write("a"), lambda: hands.press("Enter"))
    hands.clicks, hands.keys, hands.typed = 0, [], ""
    do_each(hands, lambda: hands.write("b"), lambda: hands.press("Enter"))


def do_each(hands: Hands, *parts: Callable[[], None]) -> None:
    for part in parts:
        part()


def edit(hands: Hands) -> None:
    hands.press("F2")
    hands.page.locator(".typing").click()  # the clerk counts one for each place in the text
    hands.write("s")
    hands.press("Enter")


def undo(hands: Hands) -> None:
    hands.choose(0, 0)
    hands.press("Delete")
    hands.clicks, hands.keys = 0, []
    hands.press("Control+z")


DOING: dict[str, tuple[str, Callable[[Hands], Any]]] = {
    "move a line": ("move_line", lambda h: h.drag(h.point(70, 60), h.point(70, 66))),
    "move a border": ("move_line", Hands.move_border),
    "draw a row line": ("divide", lambda h: do_each(h, lambda: h.press("Alt+r"), lambda: h.click_picture(70, 40))),
    "draw a column line": ("divide", lambda h: do_each(h, lambda: h.press("Alt+c"), lambda: h.click_picture(75, 50))),
    "add a row at the top": ("extend", lambda h: h.tool("top")),
    "add a row at the bottom": ("extend", lambda h: h.press("Alt+a")),
    "add a column at the left": ("extend", lambda h: h.tool("left")),
    "add a column at the right": ("extend", lambda h: h.press("Alt+Shift+a")),
    "delete rows": ("remove", lambda h: do_each(h, lambda: h.row(1), lambda: h.press("Alt+x"))),
    "delete columns": ("remove", lambda h: do_each(h, lambda: h.column(1), lambda: h.press("Alt+Shift+x"))),
    "join rows": ("remove_line", lambda h: do_each(h, lambda: h.choose(0, 0, 2, 0), lambda: h.press("Alt+j"))),
    "join columns": ("remove_line", lambda h: do_each(h, lambda: h.choose(0, 1), lambda: h.press("Alt+Shift+j"))),
    "merge": ("merge", lambda h: do_each(h, lambda: h.choose(0, 0, 1, 1), lambda: h.press("Alt+m"))),
    "empty": ("set_texts", lambda h: do_each(h, lambda: h.choose(0, 0, 2, 0), lambda: h.press("Delete"))),
    "type": ("set_text", lambda h: do_each(h, lambda: h.choose(1, 1), lambda: h.write("7"), lambda: h.press("Enter"))),
    "type on": ("set_text", type_on),
    "edit": ("set_text", lambda h: do_each(h, lambda: h.choose(1, 1), lambda: edit(h))),
    "edit on": ("set_text", edit),
    "undo": ("undo", undo),
    "save and go on": ("save", lambda h: h.press("Control+Enter")),
    "fill": (
        "set_texts",
        lambda h: do_each(h, lambda: h.choose(0, 1, 2, 1), lambda: h.write("x"), lambda: h.press("Control+Enter")),
    ),
    "read again": ("set_words", lambda h: do_each(h, lambda: h.choose(0, 0, 1, 1), lambda: h.press("Alt+l"))),
    "place a word": ("place_word", lambda h: h.drag(h.point(138, 151), h.point(170, 80))),
    "replace all": ("replace_all", Hands.replace),
    "take another grid": ("set_grid", Hands.take_grid),
    "take readings": ("set_readings", Hands.take_readings),
    "look for nothing": ("", lambda h: do_each(h, lambda: h.look("Other grids"), lambda: h.press("Escape"))),
}
AFTER: dict[str, tuple[str, str]] = {"split": ("merge", "Alt+s")}
"""Done in what another thing has made."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as running:
        yield running


def last_step(correction: Correction) -> str:
    import json

    return str(json.loads(correction.path.read_text("utf-8").splitlines()[-1])["do"])


def test_everything_that_costs_is_done_here() -> None:
    assert {*DOING, *AFTER} == {*COSTS}


def test_each_thing_takes_the_keys_and_clicks_that_are_counted(browser: Any, tmp_path: Path) -> None:
    find = find_rivals(make_table(), remove_line(make_table(), "row", 1))
    with serve(make_read_desk(tmp_path, OneWord(), find=find)) as server:
        for name, (step, work) in DOING.items():
            with open_page(browser) as page:
                hands = start(page, server)
                work(hands)
                finish(hands, name, step)
                if name == "merge":
                    hands.clicks, hands.keys = 0, []
                    hands.choose(0, 0)
                    hands.press("Alt+s")
                    finish(hands, "split", "split")
                hands.correction.do({"do": "restore"})


def start(page: Any, server: ReviewServer) -> Hands:
    open_review(page, server)
    return Hands(page, server.desk.correction("scan_1_1"))


def finish(hands: Hands, name: str, step: str) -> None:
    """Wait until the step is kept, and compare what it took."""
    page, correction = hands.page, hands.correction
    page.wait_for_function("() => document.querySelector('.tablerec-editor').dataset.waiting === '0'")
    if step:
        page.locator("dialog.proposals").wait_for(state="detached")
        expect_version(page, correction, correction.version)
        assert last_step(correction) == step, name
    cost = COSTS[name]
    assert (hands.clicks, tuple(hands.keys)) == (cost.clicks, cost.keys), name
