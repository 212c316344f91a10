"""Longer texts in headers and stubs: most real tables have some that take several lines of their row."""

from __future__ import annotations

from tablerec.synth.content.texts import Writer
from tablerec.synth.draft import Draft
from tablerec.synth.recipe import Recipe

_QUALIFIERS = ("measure_groups", "measures", "headers", "groups", "units")
_JOINTS = (" ", " ", " ", " of ", " and ", " per ", " for ", ", ", " – ", "/", " by ", " in ")


def lengthen_headers(draft: Draft, writer: Writer, recipe: Recipe) -> bool:
    """Give column headers longer texts, in as many tables as ``recipe.long_headers`` says; returns whether it did."""
    if not writer.chance(recipe.long_headers):
        return False
    share = writer.real((0.3, 1))
    for cell in draft.cells:
        is_leaf = cell.kind == "column" and cell.colspan <= 2 and cell.row + cell.rowspan == draft.n_header
        if is_leaf and cell.text and cell.direction == "horizontal" and writer.chance(share):
            for _ in range(writer.whole((1, 3))):
                cell.text = _join(writer, cell.text, writer.label(writer.choose(_QUALIFIERS)))
    return True


def lengthen_stubs(draft: Draft, writer: Writer, recipe: Recipe) -> bool:
    """Give labels of rows longer texts, in as many tables as ``recipe.long_stubs`` says; returns whether it did."""
    if not writer.chance(recipe.long_stubs):
        return False
    share = writer.real((0.1, 0.7))
    for cell in draft.cells:
        is_label = cell.kind == "row" and cell.colspan == 1 and cell.text and cell.direction == "horizontal"
        if is_label and writer.chance(share):
            cell.text = _join(writer, cell.text, _lower(writer.prose((2, 9))))
    return True


def _join(writer: Writer, first: str, second: str) -> str:
    """Put two texts together; Chinese ones without a space, and nothing Latin to Chinese of a bilingual table."""
    if not writer.is_chinese and first[-1:] >= "\u2e80":
        return first
    if writer.is_chinese:
        return first + writer.choose(("", "", "、", "及")) + second
    return first + writer.choose(_JOINTS) + (second if writer.chance(0.4) else _lower(second))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
