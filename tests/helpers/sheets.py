"""What a person does in the sheet of the editor, and what it shows."""

from __future__ import annotations

from typing import Any

import pytest

from tablerec.corrections.editor import Correction

FOCUSED = "document.activeElement.dataset.place"


def press(page: Any, *keys: str) -> None:
    """Press keys one after the other."""
    for key in keys:
        page.keyboard.press(key)


def choose(page: Any, row: int, col: int, **options: Any) -> None:
    """Click on a cell."""
    page.locator(f'.sheet td[data-place="{row},{col}"]').click(**options)


def texts_shown(page: Any) -> list[list[str]]:
    """Texts of the cells, row by row."""
    rows: list[list[str]] = page.evaluate(
        "() => [...document.querySelectorAll('.sheet tbody tr')].map((row) => "
        "[...row.querySelectorAll('td[data-place]')].map((cell) => cell.textContent))"
    )
    return rows


def chosen(page: Any) -> list[str]:
    """Places of the cells that are chosen."""
    places: list[str] = page.evaluate(
        "() => [...document.querySelectorAll('.sheet [aria-selected=\"true\"]')].map((cell) => cell.dataset.place)"
    )
    return places


def active(page: Any) -> str:
    """Place of the cell that has the focus."""
    place: str = page.evaluate(FOCUSED)
    return place


def expect_texts(page: Any, correction: Correction, expected: list[list[str]]) -> None:
    """Wait until all steps are done, and compare what is shown and what is kept."""
    page.locator('.tablerec-editor[data-waiting="0"]').wait_for()
    if texts_shown(page) != expected or correction.table.to_grid() != expected:
        pytest.fail(f"shown {texts_shown(page)}, kept {correction.table.to_grid()}")


def changed(**texts: str) -> list[list[str]]:
    """The texts of a table of the tests, three by three, with some of them changed: ``changed(r0c1="x")``."""
    return [[texts.get(f"r{row}c{col}", f"{row}.{col}") for col in range(3)] for row in range(3)]
