"""Worksheets: tables of textbooks and exams, large letters, few rows, much to fill in."""

from __future__ import annotations

from tablerec.synth.content.texts import NumberFormat, Writer
from tablerec.synth.description import Align
from tablerec.synth.draft import Draft, DraftCell
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures.headers import choose_size

_FORMULAS = (
    "y = 2x + 1", "x² − 4", "a² + b² = c²", "½at²", "F = ma", "E = mc²", "√2", "3√5", "2π", "πr²", "180° − α",
    "n(n + 1)/2", "v = s/t", "(x, y)", "x ≤ 3", "−1 < x < 5", "H2SO4", "2H2 + O2", "NaOH", "CO2", "Ω", "μm", "3 × 10⁵",
    "1/2", "¾", "0.25", "P(A)", "f(x)", "kx + b", "±0.5", "∞", "α + β", "sin 30°", "x₁ + x₂", "log 2",
)  # fmt: skip


def worksheet(writer: Writer, recipe: Recipe) -> Draft:
    """Compose pairs of values in two or three long rows, questions with boxes to tick, or facts and formulas."""
    way = writer.pick({"values": 3, "ticks": 3, "facts": 4})
    n_rows, n_cols = choose_size(writer, recipe)
    empty = writer.real(recipe.empty)
    if way == "values":
        draft = _values(writer, writer.whole((2, 4)), max(3, n_cols), empty)
    elif way == "ticks":
        draft = _ticks(writer, max(2, n_rows), max(3, n_cols), empty)
    else:
        draft = _facts(writer, max(2, n_rows), n_cols, empty)
    draft.finish()
    if writer.chance(0.2):
        draft.add_title(writer.label("captions"))
    return draft


def _values(writer: Writer, n_rows: int, n_cols: int, empty: float) -> Draft:
    """Compose a function or a series of measurements: its names stand left, its values run to the right."""
    draft = Draft(["label", *(["number"] * (n_cols - 1))])  # type: ignore[list-item]
    start, step = writer.whole((-5, 10)), writer.whole((1, 5))
    for number in range(n_rows):
        row = draft.add_row("body")
        name = writer.label("measures")
        if writer.chance(0.5):
            name = writer.choose(["x", "y", "f(x)", "n", "t (s)", "v (m/s)"])
        draft.put(DraftCell(row, 0, name, kind="row", align="center"))
        form = NumberFormat(1, 10 ** writer.real((1, 3)), int(writer.pick({"0": 3, "1": 1})))
        for col in range(1, n_cols):
            text = str(start + (col - 1) * step) if number == 0 else writer.number(form).text
            blank = writer.choose(["", "", "?", "____", "…"])
            draft.put(DraftCell(row, col, blank if number and writer.chance(empty) else text, align="center"))
    return draft


def _ticks(writer: Writer, n_rows: int, n_cols: int, empty: float) -> Draft:
    """Compose questions with many narrow columns beside them."""
    draft = Draft(["long", *(["code"] * (n_cols - 1))])  # type: ignore[list-item]
    width = writer.real((1, 4))
    draft.widths = dict.fromkeys(range(1, n_cols), width)
    letters = writer.chance(0.5)
    row = draft.add_row("header")
    draft.put(DraftCell(row, 0, writer.prose((1, 3)), kind="column"))
    for col in range(1, n_cols):
        text = chr(64 + col % 26) if letters else str(col) if writer.chance(0.6) else writer.label("headers")
        draft.put(DraftCell(row, col, text, kind="column", align="center"))
    sign = writer.choose(["✓", "√", "X", "●", "1"])
    share = writer.real((0, 1 - empty)) if writer.chance(0.5) else 0.0
    question = "" if writer.chance(0.5) else "？" if writer.is_chinese else "?"
    for _ in range(n_rows):
        row = draft.add_row("body")
        draft.put(DraftCell(row, 0, writer.prose((2, 9)) + question, kind="row"))
        for col in range(1, n_cols):
            draft.put(DraftCell(row, col, sign if writer.chance(share) else "", align="center"))
    return draft


def _facts(writer: Writer, n_rows: int, n_cols: int, empty: float) -> Draft:
    """Compose words, formulas and short texts, some cells of which are to be filled in."""
    kinds = [writer.pick({"formula": 2, "word": 3, "text": 2, "number": 2}) for _ in range(n_cols)]
    draft = Draft(["label", *("long" if kind == "text" else "text" for kind in kinds[1:])])
    if writer.chance(0.8):
        row = draft.add_row("header")
        for col in range(n_cols):
            draft.put(DraftCell(row, col, writer.label("headers"), kind="column", align="center", is_centred=True))
    form = NumberFormat(1, 10 ** writer.real((1, 4)), prefix=writer.choose(["", "", "$", "¥"]))
    centred = writer.chance(0.6)
    for _ in range(n_rows):
        row = draft.add_row("body")
        for col, kind in enumerate(kinds):
            text = ""
            if not writer.chance(empty) or col == 0:
                text = _fact(writer, kind, form)
            align: Align | None = "center" if centred and kind != "text" else None
            draft.put(DraftCell(row, col, text, kind="body" if col else "row", align=align, is_centred=True))
        if writer.chance(0.15):
            draft.heights[row] = writer.real((2, 6))
    return draft


def _fact(writer: Writer, kind: str, form: NumberFormat) -> str:
    if kind == "formula":
        return writer.choose(_FORMULAS)
    if kind == "number":
        return writer.number(form).text
    if kind == "text":
        return writer.prose((3, 18))
    return writer.label(writer.choose(["items", "regions", "groups", "tasks"]))
