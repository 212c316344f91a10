"""Longer texts: in the share of tables that the recipe says, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tablerec.synth import draw, load_recipe
from tablerec.synth.content.texts import Writer
from tablerec.synth.content.wording import lengthen_headers, lengthen_stubs
from tablerec.synth.draft import Draft, DraftCell
from tablerec.synth.recipe import Recipe


def make_draft() -> Draft:
    draft = Draft(["label", "number", "number"])
    draft.add_row("header")
    draft.add_row()
    draft.put(DraftCell(0, 1, "Price", kind="column"))
    draft.put(DraftCell(1, 0, "Wheat", kind="row"))
    draft.put(DraftCell(1, 1, "12"))
    return draft.finish()


@pytest.mark.parametrize("language", ["english", "latin", "chinese"])
def test_only_headers_and_labels_grow(language: str) -> None:
    always, never = Recipe(long_headers=1, long_stubs=1), Recipe(long_headers=0, long_stubs=0)
    grown = set()
    for seed in range(20):
        writer = Writer(np.random.default_rng(seed), language)  # type: ignore[arg-type]
        draft = make_draft()
        assert not lengthen_headers(draft, writer, never) and not lengthen_stubs(draft, writer, never)
        assert draft.cells == make_draft().cells
        assert lengthen_headers(draft, writer, always) and lengthen_stubs(draft, writer, always)
        for cell, before in zip(draft.cells, make_draft().cells, strict=True):
            assert cell.text.startswith(before.text)
            grown |= {before.text} if cell.text != before.text else set()
    # A Latin word stays as it is in a Chinese sentence; empty cells and values never grow.
    assert grown == {"Price", "Wheat"}


def test_long_headers_take_several_lines() -> None:
    def share_of_lines(long_headers: float) -> float:
        recipe = replace(load_recipe("statistical"), long_headers=long_headers, long_stubs=0)
        cells = [draw(recipe, 3, index).cells for index in range(12)]
        headers = [
            text for each in cells for text, kind in zip(each.texts, each.kinds, strict=True) if kind == "column"
        ]
        return sum("\n" in text for text in headers) / len(headers)

    assert share_of_lines(1) > 0.3 > share_of_lines(0)
