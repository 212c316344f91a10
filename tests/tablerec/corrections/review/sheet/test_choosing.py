"""Which cells are chosen, by keys and by the mouse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from postprocess.editing import steps as editing
from tablerec.corrections.editor import Correction
from tests.helpers.browsing import drag, open_review
from tests.helpers.review import make_desk, make_table, serve
from tests.helpers.sheets import active, choose, chosen, press

ALL = [f"{row},{col}" for row in range(3) for col in range(3)]


def test_home_end_and_arrows_with_control(page: Any, tmp_path: Path) -> None:
    """Ctrl and an arrow go to where texts end or begin."""
    table = editing.set_texts(make_table(5, 4), 1, 1, [["", "", ""], ["", "x", ""], ["", "", ""]])
    with serve(make_desk(tmp_path, tables=[table])) as server:
        open_review(page, server)
        for key, expected in (
            *(("Control+End", "4,3"), ("Control+Home", "0,0"), ("End", "0,3"), ("Home", "0,0"), ("PageDown", "4,0")),
            *(("Control+ArrowUp", "0,0"), ("Control+ArrowRight", "0,3"), ("ArrowLeft", "0,2")),
            *(
                ("Control+ArrowDown", "2,2"),
                ("Control+ArrowDown", "4,2"),
                ("ArrowLeft", "4,1"),
                ("Control+ArrowUp", "0,1"),
            ),
            *(("ArrowDown", "1,1"), ("Control+ArrowRight", "1,3"), ("Control+ArrowLeft", "1,0")),
        ):
            press(page, key)
            assert active(page) == expected, key
        press(page, "Control+Home", "Control+Shift+End")
        assert len(chosen(page)) == 20 and active(page) == "0,0"
        press(page, "Control+Home", "Control+Shift+ArrowRight", "Shift+ArrowDown")
        assert chosen(page) == [f"{row},{col}" for row in (0, 1) for col in range(4)]


def test_all_rows_and_columns_by_keys(page: Any, correction: Correction) -> None:
    choose(page, 1, 1)
    press(page, "Control+Space")
    assert chosen(page) == ["0,1", "1,1", "2,1"]
    choose(page, 1, 1)
    press(page, "Shift+Space")
    assert chosen(page) == ["1,0", "1,1", "1,2"]
    choose(page, 1, 1)
    press(page, "Control+a")
    assert (chosen(page), active(page)) == (ALL, "1,1")
    press(page, "ArrowRight")
    assert chosen(page) == ["1,2"]
    assert correction.version == 0


def test_handles_and_the_corner_by_the_mouse(page: Any, correction: Correction) -> None:
    def middle(selector: str) -> tuple[float, float]:
        box = page.locator(selector).bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    drag(page, middle('.handle[data-row="0"]'), middle('.handle[data-row="1"]'))
    assert chosen(page) == ALL[:6]
    drag(page, middle('.handle[data-col="2"]'), middle('.handle[data-col="1"]'))
    assert chosen(page) == [place for place in ALL if not place.endswith(",0")]
    page.locator('.handle[data-row="0"]').click()
    page.locator('.handle[data-row="2"]').click(modifiers=["Shift"])
    assert chosen(page) == ALL
    choose(page, 1, 1)
    page.locator(".sheet .corner").click()
    assert (chosen(page), active(page)) == (ALL, "1,1")
    drag(page, middle('.sheet td[data-place="2,2"]'), middle('.sheet td[data-place="1,1"]'))
    assert (chosen(page), active(page)) == (["1,1", "1,2", "2,1", "2,2"], "2,2")


def test_a_block_holds_whole_merged_cells(page: Any, tmp_path: Path) -> None:
    with serve(make_desk(tmp_path, tables=[editing.merge(make_table(), 0, 1, 2, 3)])) as server:
        open_review(page, server)
        press(page, "Shift+ArrowRight")
        assert chosen(page) == ["0,0", "0,1", "1,0"]
        press(page, "Home", "ArrowRight", "Tab")
        assert active(page) == "1,0"
        press(page, "ArrowRight")
        assert active(page) == "0,1"
        press(page, "Enter", "Enter")
        assert active(page) == "2,1"


def test_the_reader_of_the_screen_is_told_which_cell_it_is(page: Any, correction: Correction) -> None:
    """The focus is in a field, which names the active cell of the grid."""
    choose(page, 1, 2)
    field = page.locator(".sheet textarea")
    grid, cell = field.get_attribute("aria-controls"), field.get_attribute("aria-activedescendant")
    assert page.locator(f"table#{grid}[role=grid] td[id='{cell}']").inner_text() == "1.2"
    assert page.get_by_role("textbox", name="Text of row 2, column 3").is_visible()
