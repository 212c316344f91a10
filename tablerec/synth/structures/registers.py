"""Registers: official statistics with many narrow columns under headers of many lines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from tablerec.synth.content.texts import NumberFormat, Writer
from tablerec.synth.draft import Draft, DraftCell
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures.headers import choose_size


def register(writer: Writer, recipe: Recipe) -> Draft:
    """Compose a register: title and fields over the whole width, headers of many lines, few rows, notes."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = max(3, n_cols)
    draft = Draft(["label", *(["text"] * (n_cols - 1))])  # type: ignore[list-item]
    draft.widths = _widths(writer, n_cols)
    filled = 0.0 if writer.chance(0.25) else 1 - writer.real(recipe.empty)
    if writer.chance(0.7):
        _title(draft, writer)
    if writer.chance(0.6):
        _fields(draft, writer, filled)
    levels = int(writer.pick(recipe.header_levels))
    if levels:
        _headers(draft, writer, levels)
    _body(draft, writer, max(1, n_rows - len(draft.rows)), filled)
    if writer.chance(0.4):
        _notes(draft, writer)
    return draft.finish()


def _widths(writer: Writer, n_cols: int) -> dict[int, float]:
    """Return widths of columns, in font sizes: all alike or all different, the last ones at times for one character."""
    least = 1.05 if writer.is_chinese else 3.0
    total = writer.real((35, 120))
    usual = min(max(total / n_cols, least), 30)
    spread = writer.choose_real(0, 0.25, 0.6)
    widths = {col: max(least, usual * math.exp(writer.rng.normal(0, spread))) for col in range(n_cols)}
    if n_cols > 6 and writer.chance(0.45):
        for col in range(writer.whole((n_cols // 2, n_cols - 2)), n_cols):
            widths[col] = least + writer.real((0, 0.6))
    widths[0] = writer.real((3, 9)) if writer.chance(0.7) else widths[0]
    return widths


def _title(draft: Draft, writer: Writer) -> None:
    row = draft.add_row("body")
    text = writer.label("captions") if writer.chance(0.65) else ""
    size = writer.real((1, 2))
    draft.put(DraftCell(row, 0, text, colspan=len(draft.columns), kind="section", align="center", size=size))
    draft.heights[row] = writer.real((1.3, 4))


def _fields(draft: Draft, writer: Writer, filled: float) -> None:
    """Add rows of a label and a value, which is mostly empty and as wide as the rest of the table."""
    n_cols = len(draft.columns)
    colon = writer.choose(["：", ":", ""]) if writer.is_chinese else writer.choose([":", ""])
    cuts = [0, 1 if writer.chance(0.75) else min(writer.whole((2, 3)), n_cols - 1), n_cols]
    if n_cols - cuts[1] >= 4 and writer.chance(0.25):
        middle = writer.whole((cuts[1] + 1, n_cols - 2))
        cuts[2:] = [middle, min(n_cols - 1, middle + writer.whole((1, 3))), n_cols]
    for label in writer.labels("fields", writer.whole((1, 6))):
        row = draft.add_row("body")
        if writer.is_chinese and len(label) == 2 and writer.chance(0.5):
            label = f"{label[0]}  {label[1]}"
        for place in range(0, len(cuts) - 1, 2):
            text = label if place == 0 else writer.label("fields")
            span = cuts[place + 1] - cuts[place]
            draft.put(DraftCell(row, cuts[place], text + colon, colspan=span, kind="row", align="center"))
            value = writer.prose((1, 5)) if writer.chance(filled * 0.6) else ""
            draft.put(DraftCell(row, cuts[place + 1], value, colspan=cuts[place + 2] - cuts[place + 1]))
        if writer.chance(0.1):
            draft.heights[row] = writer.real((1.5, 4))


@dataclass(frozen=True, slots=True)
class _Header:
    """A header and those below it; without any, it stands above one column."""

    text: str
    below: tuple[_Header, ...] = ()

    @property
    def depth(self) -> int:
        return 1 + max((header.depth for header in self.below), default=0)

    @property
    def width(self) -> int:
        return sum(header.width for header in self.below) or 1


def _headers(draft: Draft, writer: Writer, levels: int) -> None:
    """Add header rows; a column without a group reaches over all of them."""
    n_cols = len(draft.columns)
    has_stub = writer.chance(0.7)
    names = [_name(writer) for _ in range(writer.whole((2, 8)))] if writer.chance(0.6) else []
    headers = _divide(writer, names, n_cols - has_stub, levels)
    if has_stub:
        headers = (_Header(writer.label("headers")), *headers)
    depth = max(header.depth for header in headers)
    first = len(draft.rows)
    for _ in range(depth):
        row = draft.add_row("header")
        if writer.chance(0.3):
            draft.heights[row] = writer.real((1.5, 6))
    turns = not writer.is_chinese and n_cols > 8 and writer.chance(0.2)
    col = 0
    for header in headers:
        _put_header(draft, writer, header, first, col, depth)
        col += header.width
    for cell in draft.cells:
        if cell.kind == "column" and cell.colspan == 1 and cell.col and len(cell.text) > 6 and turns:
            cell.direction = "up"


def _divide(writer: Writer, names: list[str], count: int, levels: int) -> tuple[_Header, ...]:
    """Return headers over so many columns."""
    headers: list[_Header] = []
    most = max(2, min(12, count if writer.chance(0.15) else count // 2))
    size = writer.whole((2, most)) if writer.chance(0.5) else 0
    start = 0
    while start < count:
        width = min(size or (1 if writer.chance(0.35) else writer.whole((2, most))), count - start)
        if levels == 1 or width == 1:
            headers.append(_Header(names[start % len(names)] if names else _name(writer)))
            start += 1
            continue
        text = writer.label("measure_groups") if writer.chance(0.5) else _name(writer)
        headers.append(_Header(text, _divide(writer, names, width, levels - 1)))
        start += width
    return tuple(headers)


def _put_header(draft: Draft, writer: Writer, header: _Header, row: int, col: int, rows: int) -> None:
    """Place a header and those below it in so many rows; what is left over makes one of them higher."""
    if not header.below:
        draft.put(DraftCell(row, col, header.text, rowspan=rows, kind="column", align="center", is_centred=True))
        return
    height = 1 + (rows - header.depth if writer.chance(0.3) else 0)
    group = DraftCell(row, col, header.text, height, header.width, kind="column", align="center", is_centred=True)
    draft.put(group)
    for below in header.below:
        _put_header(draft, writer, below, row + height, col, rows - height)
        col += below.width


def _name(writer: Writer) -> str:
    """Return what a column holds: a word, or a long name with its kind and unit."""
    kind = writer.pick({"short": 3, "long": 6, "character": 1 if writer.is_chinese else 0})
    if kind == "character":
        return writer.hanzi((1, 2))
    text = writer.label("measures" if writer.chance(0.6) else "headers")
    if kind == "short":
        return text
    gap = "" if writer.is_chinese else " "
    before = [writer.label(writer.choose(["words", "groups", "items"])) for _ in range(writer.whole((1, 3)))]
    text = gap.join([*before, text])
    if writer.chance(0.25):
        text += f"{gap}({writer.code(writer.choose(['A9', 'A9-A9', 'AA9+AA9', 'AA-9', '9']))})"
    return text + gap + writer.label("units") if writer.chance(0.5) else text


def _body(draft: Draft, writer: Writer, count: int, filled: float) -> None:
    n_cols = len(draft.columns)
    number = NumberFormat(1, 10 ** writer.real((1, 3.2)), int(writer.pick({"0": 4, "1": 1})))
    topic = writer.choose(["regions", "items", "groups"])
    has_total = writer.chance(0.4)
    blank = {col for col in range(1, n_cols) if writer.chance(0.5)} if writer.chance(0.3) else set()
    high = writer.real((2, 7)) if writer.chance(0.25) else 0.0
    centred = writer.chance(0.8)
    for index in range(count + has_total):
        is_total = has_total and index == count
        row = draft.add_row("total" if is_total else "body")
        if high and not is_total:
            draft.heights[row] = high
        if is_total:
            draft.put(DraftCell(row, 0, writer.short_total(), kind="total", align="center"))
        elif writer.chance(0.3 + filled):
            draft.put(DraftCell(row, 0, writer.label(topic), kind="row", align="center", is_centred=centred))
        for col in range(1, n_cols):
            if col not in blank and writer.chance(filled):
                cell = draft.put(DraftCell(row, col, writer.number(number).text, align="center", is_centred=centred))
                cell.kind = "total" if is_total else "body"


def _notes(draft: Draft, writer: Writer) -> None:
    """Add notes below: over the whole width, beside one label, or who signs."""
    n_cols = len(draft.columns)
    way = writer.pick({"whole": 3, "beside": 3, "signed": 2})
    if way == "signed":
        row = draft.add_row("body")
        parts = writer.whole((1, min(4, n_cols)))
        cuts = sorted({0, n_cols, *(int(cut) for cut in writer.rng.integers(1, n_cols, parts - 1))})
        for left, right in pairwise(cuts):
            text = writer.label("fields") + ("：" if writer.is_chinese else ":")
            draft.put(DraftCell(row, left, text, colspan=right - left, align="left"))
        draft.heights[row] = writer.real((1.2, 3))
        return
    count = writer.whole((1, 4)) if way == "beside" else writer.whole((1, 2))
    first = 0 if way == "whole" else 1
    start = len(draft.rows)
    for number in range(count):
        row = draft.add_row("body")
        text = writer.label("notes") if writer.chance(0.3) else writer.prose((5, 40))
        prefix = f"{number + 1}{'、' if writer.is_chinese else '.'}" if count > 1 and writer.chance(0.8) else ""
        draft.put(DraftCell(row, first, prefix + text, colspan=n_cols - first, align="left", is_centred=True))
    if first:
        text = writer.choose(["填报说明：", "填表说明", "备注", "说明："]) if writer.is_chinese else "Notes"
        draft.put(DraftCell(start, 0, text, rowspan=count, kind="row", align="center", is_centred=True))
