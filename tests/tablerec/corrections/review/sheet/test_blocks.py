"""Blocks of cells: cut, copied, pasted and filled."""

from __future__ import annotations

from typing import Any

import pytest

from tablerec.corrections.editor import Correction
from tests.helpers.browsing import drag, expect_version
from tests.helpers.sheets import active, changed, choose, chosen, expect_texts, press


@pytest.fixture(autouse=True)
def _clipboard(page: Any) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])


def test_cut_and_paste(page: Any, correction: Correction) -> None:
    press(page, "Shift+ArrowRight", "Control+x")
    expect_version(page, correction, 1)
    choose(page, 2, 1)
    press(page, "Control+v")
    expect_texts(page, correction, changed(r0c0="", r0c1="", r2c1="0.0", r2c2="0.1"))
    assert chosen(page) == ["2,1", "2,2"]
    press(page, "Control+z", "Control+z")
    expect_texts(page, correction, changed())
    press(page, "Control+y")
    expect_texts(page, correction, changed(r0c0="", r0c1=""))


def test_one_text_is_pasted_into_all_that_is_chosen(page: Any, correction: Correction) -> None:
    press(page, "Control+c", "ArrowDown", "Shift+ArrowDown", "Shift+ArrowRight", "Control+v")
    expect_texts(page, correction, changed(r1c0="0.0", r1c1="0.0", r2c0="0.0", r2c1="0.0"))


def test_what_is_typed_has_its_own_clipboard(page: Any, correction: Correction) -> None:
    press(page, "F2", "Control+a", "Control+c", "End")
    page.keyboard.type("+")
    press(page, "Control+v", "Enter")
    expect_texts(page, correction, changed(r0c0="0.0+0.0"))


def test_fill_by_keys(page: Any, correction: Correction) -> None:
    """Of several rows the first goes into the others, of one the row above into it."""
    press(page, "Shift+ArrowRight", "Shift+ArrowDown", "Shift+ArrowDown", "Control+d")
    expect_texts(page, correction, changed(r1c0="0.0", r1c1="0.1", r2c0="0.0", r2c1="0.1"))
    choose(page, 1, 2)
    press(page, "Control+d")
    expect_texts(page, correction, changed(r1c0="0.0", r1c1="0.1", r2c0="0.0", r2c1="0.1", r1c2="0.2"))
    choose(page, 2, 1)
    press(page, "Shift+ArrowRight", "Alt+e")
    expect_version(page, correction, 3)
    assert correction.table.to_grid()[2] == ["0.0", "0.1", "0.1"]
    choose(page, 0, 0)
    press(page, "Control+d")  # there is nothing above
    assert correction.version == 3


def test_fill_by_the_handle(page: Any, correction: Correction) -> None:
    """Several texts go on in their series, a single one is repeated."""

    def pull(place: str) -> None:
        start = page.locator(".fill-handle").bounding_box()
        cell = page.locator(f'.sheet td[data-place="{place}"]').bounding_box()
        drag(page, (start["x"] + 4, start["y"] + 4), (cell["x"] + cell["width"] / 2, cell["y"] + cell["height"] / 2))

    press(page, "Shift+ArrowDown")
    pull("2,0")
    expect_texts(page, correction, changed(r2c0="2.0"))
    assert chosen(page) == ["0,0", "1,0", "2,0"] and active(page) == "0,0"
    choose(page, 1, 1)
    pull("1,2")
    expect_texts(page, correction, changed(r1c2="1.1"))
    choose(page, 2, 2)
    pull("1,2")  # upwards
    expect_texts(page, correction, changed(r1c2="2.2"))
    pull("2,2")  # within what is chosen: nothing
    assert correction.version == 3


def test_a_text_for_a_merged_cell_goes_there_once(page: Any, correction: Correction) -> None:
    choose(page, 1, 1)
    press(page, "Shift+ArrowRight", "Alt+m")
    expect_version(page, correction, 1)
    press(page, "Control+a")
    page.keyboard.type("x")
    press(page, "Control+Enter")
    expect_version(page, correction, 2)
    assert {cell.text for cell in correction.table.cells} == {"x"} and len(correction.table.cells) == 8


def test_undo_goes_to_what_it_undid(page: Any, correction: Correction) -> None:
    choose(page, 2, 2)
    page.keyboard.type("far")
    press(page, "Enter", "Control+Home", "Control+z")
    expect_version(page, correction, 2)
    assert active(page) == "2,2"
    press(page, "Control+Home", "Control+y")
    expect_version(page, correction, 3)
    assert active(page) == "2,2"
    choose(page, 1, 0)
    press(page, "Alt+r", "Control+Home", "Control+z")
    expect_version(page, correction, 5)
    assert active(page) == "1,0" and len(chosen(page)) == 1


def test_blank_rows_and_columns_are_inserted_in_the_midst(page: Any, correction: Correction) -> None:
    choose(page, 1, 1)
    press(page, "Alt+i")
    expect_version(page, correction, 1)
    assert correction.table.to_grid() == [changed()[0], ["", "", ""], *changed()[1:]]
    assert active(page) == "1,1"
    press(page, "Alt+Shift+i")
    expect_version(page, correction, 2)
    assert [row[1] for row in correction.table.to_grid()] == [""] * 4
    assert [row[2] for row in correction.table.to_grid()] == ["0.1", "", "1.1", "2.1"]


def test_a_series_goes_on_to_the_right(page: Any, correction: Correction) -> None:
    """As one step; into the empty columns after those with texts."""
    correction.do({"do": "set_texts", "row": 0, "col": 0, "texts": [["1", "2", ""], ["Item 9", "Item 10", ""]]})
    page.reload()
    page.locator(".sheet td[data-place]").first.wait_for()
    choose(page, 0, 0)
    press(page, "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowDown", "Alt+e")
    expect_version(page, correction, 2)
    assert correction.table.to_grid()[:2] == [["1", "2", "3"], ["Item 9", "Item 10", "Item 11"]]
    press(page, "Control+z")
    expect_version(page, correction, 3)
    assert correction.table.to_grid()[:2] == [["1", "2", ""], ["Item 9", "Item 10", ""]]


SERIES: dict[tuple[str, ...], list[str]] = {
    # Numbers, as they are written.
    ("1", "2"): ["3", "4"],
    ("10", "5"): ["0", "-5"],
    ("1.5", "2"): ["2.5", "3.0"],
    ("0,9", "1,0"): ["1,1", "1,2"],
    ("9,000", "10,000"): ["11,000", "12,000"],
    ("950", "1,000"): ["1,050", "1,100"],
    ("1.000.000", "2.000.000"): ["3.000.000", "4.000.000"],
    ("08", "09"): ["10", "11"],
    ("−2", "−1"): ["0", "1"],
    ("+1", "+2"): ["+3", "+4"],
    ("12 %", "14 %"): ["16 %", "18 %"],
    ("$5.00", "$7.50"): ["$10.00", "$12.50"],
    # In a text.
    ("Item 1", "Item 2"): ["Item 3", "Item 4"],
    ("v1.9", "v1.10"): ["v1.11", "v1.12"],
    ("第1页", "第2页"): ["第3页", "第4页"],
    ("1 of 5", "2 of 5"): ["3 of 5", "4 of 5"],
    ("1-10", "11-20"): ["21-30", "31-40"],
    # Dates by days, months, ends of months and years.
    ("2024-02-28", "2024-02-29"): ["2024-03-01", "2024-03-02"],
    ("2024-01-31", "2024-02-29"): ["2024-03-31", "2024-04-30"],
    ("31.12.2023", "01.01.2024"): ["02.01.2024", "03.01.2024"],
    ("5/30/2024", "5/31/2024"): ["6/1/2024", "6/2/2024"],
    ("2024年11月", "2024年12月"): ["2025年1月", "2025年2月"],
    ("2023年5月1日", "2024年5月1日"): ["2025年5月1日", "2026年5月1日"],
    ("2024-11", "2024-12"): ["2025-01", "2025-02"],
    ("Nov 2023", "Dec 2023"): ["Jan 2024", "Feb 2024"],
    # Names in turn.
    ("Nov", "Dec"): ["Jan", "Feb"],
    ("Monday", "Wednesday"): ["Friday", "Sunday"],
    ("星期六", "星期日"): ["星期一", "星期二"],
    ("十一月", "十二月"): ["一月", "二月"],
    # No series: again and again.
    ("7",): ["7", "7"],
    ("a", "b"): ["a", "b"],
    ("1", "2", "4"): ["1", "2", "4"],
    ("1", ""): ["1", ""],
    ("1", "x2"): ["1", "x2"],
    ("2024-13-01", "x"): ["2024-13-01", "x"],
    ("", ""): ["", ""],
    ("5", "5"): ["5", "5"],
    ("99999999999999999", "99999999999999998"): ["99999999999999999", "99999999999999998"],
}


def test_how_a_series_goes_on(page: Any, correction: Correction) -> None:
    cases = [[[*texts], len(following)] for texts, following in SERIES.items()]
    found = page.evaluate(
        "(cases) => import('/static/series.js').then(({ goOn }) => cases.map((each) => goOn(...each)))", cases
    )
    assert dict(zip(SERIES, found, strict=True)) == SERIES
