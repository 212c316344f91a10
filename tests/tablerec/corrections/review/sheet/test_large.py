"""In a large table only what changes is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.helpers.browsing import expect_version, open_review
from tests.helpers.review import make_desk, make_table, serve
from tests.helpers.sheets import choose, expect_texts, press

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
    with serve(make_desk(tmp_path, ["large.png"], [make_table(40, 25, (4, 4, 336, 156))])) as server:
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
        choose(page, 38, 3)
        assert touched("Alt+i") <= 3 * 26 + 10
        assert correction.table.n_rows == 41 and correction.table.to_grid()[38] == [""] * 25
        expect_version(page, correction, 2)
        shown = correction.table.to_grid()
        expect_texts(page, correction, shown)
        choose(page, 0, 12)
        press(page, "Alt+Shift+i", "Shift+ArrowRight", "Shift+ArrowDown", "Alt+m")
        expect_version(page, correction, 4)
        press(page, *["Control+z"] * 4)
        expect_version(page, correction, 8)
        expect_texts(page, correction, make_table(40, 25).to_grid())
