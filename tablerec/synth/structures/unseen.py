"""Kinds of tables that the network in the package was not trained on: to measure what learning from a few brings."""

from __future__ import annotations

from tablerec.synth.content.texts import NumberFormat, Writer
from tablerec.synth.draft import Draft, DraftCell, Fill
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures.headers import choose_size

_FILLS: tuple[Fill, ...] = ("shade", "accent", "band")


def rota(writer: Writer, recipe: Recipe) -> Draft:
    """Compose a plan of shifts: people by days, each day a column for a letter or two, stretches of days filled."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = max(8, n_cols)
    draft = Draft(["label", *(["code"] * (n_cols - 1))])  # type: ignore[list-item]
    draft.widths = dict.fromkeys(range(1, n_cols), writer.real((1.3, 2.2)))
    draft.widths[0] = writer.real((6, 11))
    _days(draft, writer)
    free = writer.whole((0, 6))
    codes = [writer.code("A"), writer.code("A9"), writer.choose(["E", "L", "N"]), ""]
    fills = dict(zip(codes, _FILLS, strict=False))
    for _ in range(max(2, n_rows - len(draft.rows))):
        row = draft.add_row()
        draft.put(DraftCell(row, 0, writer.person(), kind="row", is_centred=True))
        col = 1
        while col < n_cols:
            code = writer.choose(codes)
            width = writer.whole((2, 6)) if writer.chance(0.3) else 1
            fill = fills.get(code, "") if writer.chance(0.85) else ""
            text = writer.label("tasks")[: 2 * width] if code and width > 1 else code
            if (col + free) % 7 < 2 and width == 1:
                text, fill = "", "band"
            cell = draft.put(DraftCell(row, col, text, colspan=width, align="center", fill=fill, is_centred=True))
            col += cell.colspan
    return draft.finish()


def _days(draft: Draft, writer: Writer) -> None:
    """Add weeks above days, and mostly the names of the days, read from below."""
    n_cols = len(draft.columns)
    week = draft.add_row("header")
    names = draft.add_row("header") if writer.chance(0.7) else None
    numbers = draft.add_row("header")
    draft.put(DraftCell(week, 0, writer.label("headers"), rowspan=len(draft.rows), kind="column", is_centred=True))
    first = writer.whole((1, 24))
    weekdays = [writer.label("weekdays") for _ in range(7)]
    for col in range(1, n_cols):
        if (col - 1) % 7 == 0:
            text = f"{writer.label('captions')[:10]} {first + col // 7}" if n_cols - col > 4 else str(first)
            draft.put(DraftCell(week, col, text, colspan=7, kind="column", align="center", fill="accent"))
        if names is not None:
            direction = "stacked" if writer.is_chinese else "up"
            text = weekdays[col % 7][: 3 if writer.is_chinese else 9]
            draft.put(DraftCell(names, col, text, kind="column", direction=direction))  # type: ignore[arg-type]
        draft.put(DraftCell(numbers, col, str((first + col) % 31 + 1), kind="column", align="center"))


def cards(writer: Writer, recipe: Recipe) -> Draft:
    """Compose a sheet of cards, such as the elements, badges or labels of shelves: each cell holds several lines."""
    n_rows, n_cols = choose_size(writer, recipe)
    draft = Draft(["text"] * n_cols)
    draft.widths = dict.fromkeys(range(n_cols), writer.real((5, 11)))
    draft.heights = dict.fromkeys(range(n_rows), writer.real((4, 9)))
    kinds = ["number", "code", "name", "label", "price"]
    lines = [kinds[place] for place in writer.rng.permutation(5)[: writer.whole((2, 4))]]
    price = NumberFormat(1, 400, 2, prefix=writer.choose(["", "$", "€ ", "¥"]))
    count, missing = writer.whole((1, 60)), writer.choose_real(0, 0.1, 0.3)
    filled = writer.chance(0.8)
    align, centred = writer.choose(["left", "center", "center"]), writer.chance(0.6)
    for row in range(n_rows):
        draft.add_row()
        for col in range(n_cols):
            count += 1
            if writer.chance(missing):
                continue
            text = "\n".join(_card_line(writer, line, count, price) for line in lines)
            fill: Fill = _FILLS[count % 3 if writer.chance(0.3) else 0] if filled else ""
            draft.put(DraftCell(row, col, text, align=align, fill=fill, is_centred=centred))  # type: ignore[arg-type]
    return draft.finish()


def _card_line(writer: Writer, kind: str, count: int, price: NumberFormat) -> str:
    if kind == "number":
        return str(count)
    if kind == "code":
        return writer.code("AA9-99")
    if kind == "price":
        return writer.number(price).text
    return writer.label("items") if kind == "label" else writer.person()


def questionnaire(writer: Writer, recipe: Recipe) -> Draft:
    """Compose numbered questions, each beside one cell with all its answers to tick, and columns to fill in."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = max(3, n_cols)
    draft = Draft(["code", "long", *(["text"] * (n_cols - 2))])  # type: ignore[list-item]
    draft.widths = {0: 2.4, 1: writer.real((9, 20)), **{col: writer.real((6, 12)) for col in range(2, n_cols)}}
    tick = writer.choose(["[ ] ", "( ) ", "___ "])
    striped, headed = writer.chance(0.5), writer.chance(0.7)
    number = section = 0
    while len(draft.rows) < n_rows:
        if number % 5 == 0 and headed:
            section += 1
            _heading(draft, writer, section)
        number += 1
        row = draft.add_row()
        fill: Fill = "band" if striped and number % 2 else ""
        draft.put(DraftCell(row, 0, f"{section or 1}.{number}", kind="row", fill=fill))
        draft.put(DraftCell(row, 1, writer.prose((4, 16)), kind="row", align="left", fill=fill))
        for col in range(2, n_cols):
            answers = writer.labels("items" if col % 2 else "groups", writer.whole((1, 5)))
            leads = col > 2 and writer.chance(0.4)
            text = writer.label("fields") + ":" if leads else "\n".join(tick + answer for answer in answers)
            draft.put(DraftCell(row, col, text, has_leader=leads, align="left", fill=fill))
    return draft.finish()


def _heading(draft: Draft, writer: Writer, section: int) -> None:
    row = draft.add_row("section")
    title = f"{chr(64 + section % 26)}  {writer.label('captions')}"
    draft.put(DraftCell(row, 0, title, colspan=2, kind="row", fill="accent", align="left"))
    for col in range(2, len(draft.columns)):
        draft.put(DraftCell(row, col, writer.label("headers"), kind="column", fill="shade", align="left"))
