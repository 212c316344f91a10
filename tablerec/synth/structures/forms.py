"""Forms, invoices and receipts: labels and values, merged cells without a plan, boxes to tick."""

from __future__ import annotations

from itertools import pairwise

from tablerec.synth.content.texts import NumberFormat, Value, Writer
from tablerec.synth.draft import ColumnKind, Draft, DraftCell
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures.headers import choose_size


def form(writer: Writer, recipe: Recipe) -> Draft:
    """Compose labels beside values, two or four columns, with headings and wide cells between."""
    n_rows, _ = choose_size(writer, recipe)
    n_pairs = int(writer.pick({"1": 3, "2": 4, "3": 1}))
    kinds: list[ColumnKind] = ["label", "text"] * n_pairs
    draft = Draft(kinds)
    filled = 1 - writer.real(recipe.empty)
    colon = writer.choose(["", "", ":", "："] if writer.is_chinese else ["", "", ":"])
    for _ in range(n_rows):
        row = draft.add_row("body")
        if n_rows > 3 and writer.chance(0.08):
            draft.rows[row] = "section"
            draft.put(DraftCell(row, 0, writer.label("captions"), colspan=len(kinds), kind="section", align="center"))
            continue
        if writer.chance(0.15):
            draft.put(DraftCell(row, 0, writer.label("fields") + colon, kind="row"))
            text = writer.prose((6, 30)) if writer.chance(filled) else ""
            draft.put(DraftCell(row, 1, text, colspan=len(kinds) - 1))
            continue
        for pair in range(n_pairs):
            draft.put(DraftCell(row, 2 * pair, writer.label("fields") + colon, kind="row"))
            if writer.chance(filled):
                cell = draft.put(DraftCell(row, 2 * pair + 1, _field_value(writer)))
                if writer.chance(0.08):
                    cell.text, cell.is_checkbox = writer.choose(["Yes", "No", "n/a"]), True
    return draft.finish()


def _field_value(writer: Writer) -> str:
    kind = writer.pick({"name": 2, "company": 1, "code": 2, "date": 2, "number": 2, "label": 2, "prose": 1})
    if kind == "name":
        return writer.person()
    if kind == "company":
        return writer.company()
    if kind == "code":
        return writer.code(writer.code_format())
    if kind == "date":
        return writer.date(writer.date_format())
    if kind == "number":
        return writer.number(writer.number_format()).text
    return writer.label("items") if kind == "label" else writer.prose((2, 8))


def official(writer: Writer, recipe: Recipe) -> Draft:
    """Compose an official form: bands of rows, each divided in its own way on a shared grid."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = max(4, n_cols)
    draft = Draft(["text"] * n_cols)
    filled = 1 - writer.real(recipe.empty)
    while len(draft.rows) < n_rows:
        kind = writer.pick({"pairs": 5, "wide": 1.5, "table": 2, "side": 2, "opinion": 0.7})
        if kind == "pairs":
            _divided_row(draft, writer, filled)
        elif kind == "wide":
            _wide_row(draft, writer, filled)
        elif kind == "table":
            _inner_table(draft, writer, min(writer.whole((2, 5)), max(2, n_rows - len(draft.rows))), 0, filled)
        elif kind == "side":
            _side_block(draft, writer, min(writer.whole((2, 6)), max(2, n_rows - len(draft.rows))), filled)
        else:
            _wide_row(draft, writer, filled, lines=writer.whole((2, 4)))
    if writer.chance(0.4):
        least = 1.5 if writer.is_chinese else 4
        draft.widths = {col: writer.real((least, 8)) for col in range(n_cols)}
    return draft.finish()


def _divided_row(draft: Draft, writer: Writer, filled: float, first: int = 0) -> None:
    row = draft.add_row()
    col, is_label = first, True
    while col < len(draft.columns):
        width = 1 if is_label and writer.chance(0.8) else writer.whole((1, 3))
        if is_label and col == len(draft.columns) - 1:
            draft.put(DraftCell(row, col))
            return
        text = writer.label("fields") if is_label else _field_value(writer) if writer.chance(filled) else ""
        cell = DraftCell(row, col, text, colspan=width, kind="row" if is_label else "body", align="center")
        col += draft.put(cell).colspan
        is_label = not is_label


def _wide_row(draft: Draft, writer: Writer, filled: float, lines: int = 1) -> None:
    row = draft.add_row()
    width = 1 if writer.chance(0.7) else 2
    draft.put(DraftCell(row, 0, writer.label("fields"), colspan=width, kind="row", align="center"))
    text = writer.prose((4, 24)) if writer.chance(filled) else ""
    if lines > 1:
        sign = "签字（盖章）：\n年   月   日" if writer.is_chinese else "Signature:\nDate:"
        text = "\n" * (lines - 1) + sign
    draft.put(DraftCell(row, width, text, colspan=len(draft.columns) - width, align="right" if lines > 1 else None))


def _inner_table(draft: Draft, writer: Writer, n_rows: int, first: int, filled: float) -> None:
    """Add a header row and rows below it with the same division."""
    n_cols = len(draft.columns)
    inner = writer.rng.integers(first + 1, n_cols + 1, max(1, n_cols // 2))
    cuts = sorted({first, n_cols} | {int(cut) for cut in inner})
    for number in range(n_rows):
        row = draft.add_row()
        for left, right in pairwise(cuts):
            if number == 0:
                text = writer.label("headers")
            else:
                text = _field_value(writer) if writer.chance(filled * 0.7) else ""
            kind = "column" if number == 0 else "body"
            draft.put(DraftCell(row, left, text, colspan=right - left, kind=kind, align="center"))  # type: ignore[arg-type]


def _side_block(draft: Draft, writer: Writer, n_rows: int, filled: float) -> None:
    """Add rows beside one label that reaches over all of them, often written from top to bottom."""
    start = len(draft.rows)
    if writer.chance(0.5):
        _inner_table(draft, writer, n_rows, 1, filled)
    else:
        for _ in range(n_rows):
            _divided_row(draft, writer, filled, first=1)
    vertical = writer.chance(0.6)
    label = writer.label("fields")
    cell = DraftCell(start, 0, label, rowspan=n_rows, kind="row", align="center", is_centred=True)
    if vertical:
        cell.direction = "stacked" if writer.is_chinese else "up"
    draft.put(cell)


def invoice(writer: Writer, recipe: Recipe) -> Draft:
    """Compose lines of an invoice with sums below on the right."""
    n_rows, _ = choose_size(writer, recipe)
    heads, kinds = _invoice_columns(writer)
    draft = Draft(kinds)
    row = draft.add_row("header")
    for col, head in enumerate(heads):
        draft.put(DraftCell(row, col, head, kind="column"))
    money = NumberFormat(1, 10 ** writer.real((2, 4)), 2, prefix=writer.choose(["", "", "$", "€ ", "£", "¥"]))
    count = NumberFormat(1, 40, 0)
    codes = writer.code_format()
    for number in range(max(1, n_rows - 4)):
        row = draft.add_row()
        for col, kind in enumerate(kinds):
            draft.put_value(row, col, _invoice_value(writer, kind, heads[col], number, money, count, codes))
    _invoice_sums(draft, writer, money)
    return draft.finish()


def _invoice_columns(writer: Writer) -> tuple[list[str], list[ColumnKind]]:
    if writer.is_chinese:
        heads = ["序号", "货物名称", "规格型号", "单位", "数量", "单价", "金额", "税率", "税额"]
    elif writer.language == "latin":
        heads = ["Pos.", "Désignation", "Réf.", "Unité", "Qté", "Prix", "Montant", "TVA", "Total"]
    else:
        heads = ["No.", "Description", "Code", "Unit", "Qty", "Unit price", "Amount", "VAT", "Total"]
    kinds: list[ColumnKind] = ["code", "label", "code", "code", "number", "number", "number", "number", "number"]
    kept = [index for index in range(9) if index in (1, 4, 5, 6) or writer.chance(0.45)]
    return [heads[index] for index in kept], [kinds[index] for index in kept]


def _invoice_value(
    writer: Writer, kind: ColumnKind, head: str, number: int, money: NumberFormat, count: NumberFormat, codes: str
) -> Value:
    if kind == "label":
        text = writer.label("items")
        return Value(f"{text}\n{writer.prose((2, 8))}" if writer.chance(0.12) else text)
    if head in ("No.", "Pos.", "序号"):
        return Value(str(number + 1))
    if head in ("Unit", "Unité", "单位"):
        units = ["个", "台", "箱", "千克", "米"] if writer.is_chinese else ["pcs", "kg", "m", "h", "box"]
        return Value(writer.choose(units))
    if kind == "code":
        return Value(writer.code(codes))
    if head in ("VAT", "TVA", "税率"):
        return Value(writer.choose(["20%", "19%", "7%", "13%", "6%"]))
    return writer.number(count if head in ("Qty", "Qté", "数量") else money)


def _invoice_sums(draft: Draft, writer: Writer, money: NumberFormat) -> None:
    n_cols = len(draft.columns)
    names = ["小计", "税额", "合计"] if writer.is_chinese else ["Subtotal", "VAT 20%", "Total"]
    style = writer.pick({"merged": 2, "cells": 2, "none": 1})
    for name in names if style != "none" else names[-1:]:
        row = draft.add_row("total")
        if style == "merged":
            draft.put(DraftCell(row, 0, name, colspan=n_cols - 1, kind="total", align="right"))
        else:
            draft.put(DraftCell(row, n_cols - 2, name, kind="total"))
        draft.put_value(row, n_cols - 1, writer.number(money), "total")


def receipt(writer: Writer, recipe: Recipe) -> Draft:
    """Compose what a till prints: articles with wide blanks inside, a second line with the quantity, sums."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = min(max(2, n_cols), 4)
    has_count = n_cols > 2 and writer.chance(0.5)
    kinds: list[ColumnKind] = [*(["code"] if has_count else []), "label", *(["number"] * (n_cols - 1 - has_count))]  # type: ignore[list-item]
    draft = Draft(kinds)
    label = int(has_count)
    draft.widths = {label: writer.real((10, 22))}
    if writer.pick(recipe.header_levels) != "0":
        row = draft.add_row("header")
        heads = _receipt_heads(writer)
        for col in range(n_cols):
            text = heads[0] if col < label else heads[1] if col == label else heads[col - n_cols]
            draft.put(DraftCell(row, col, text, kind="column"))
    money = NumberFormat(0.3, 10 ** writer.real((1.3, 3)), 2, prefix=writer.choose(["", "", "", "$", "€", "¥"]))
    capitals, blanks = writer.chance(0.6), writer.real((0, 0.6))
    inside, leaders = not has_count and writer.chance(0.4), writer.chance(0.15)
    tax = writer.choose(["", "", " A", " B", "*"])
    second = writer.choose_real(0, 0.2, 0.6)
    for _ in range(max(1, n_rows - 3)):
        row, count = draft.add_row(), writer.whole((1, 4))
        price = writer.number(money).text
        text = _article(writer, blanks)
        text = text.upper() if capitals else text
        if inside:
            text = f"{count}{writer.choose(['x', ' x', ''])}{writer.choose([' ', '  ', '   '])}{text}"
        if writer.chance(second):
            text += f"\n{writer.choose(['  ', '   ', ''])}{count} x {writer.choose([' ', ''])}{price}"
        draft.put(DraftCell(row, label, text, kind="row", has_leader=leaders))
        if has_count:
            draft.put(DraftCell(row, 0, f"{count}{writer.choose(['', 'x'])}"))
        for col in range(label + 1, n_cols):
            draft.put(DraftCell(row, col, writer.number(money).text + (tax if col == n_cols - 1 else "")))
    for name in _receipt_sums(writer):
        row = draft.add_row("total")
        draft.put(DraftCell(row, label, name.upper() if capitals else name, kind="total", has_leader=leaders))
        draft.put(DraftCell(row, n_cols - 1, writer.number(money).text, kind="total"))
    return draft.finish()


def _receipt_heads(writer: Writer) -> list[str]:
    """Return heads of the columns: quantity, article, others, unit price, amount."""
    if writer.is_chinese:
        return ["数量", "品名", "单价", "金额"]
    return ["Qty", "Item", "Price", "Total"] if writer.language == "english" else ["Qté", "Article", "P.U.", "Montant"]


def _receipt_sums(writer: Writer) -> list[str]:
    names = ["小计", "合计", "现金", "找零"] if writer.is_chinese else ["Subtotal", "Total", "Cash", "Change"]
    return names[: writer.whole((1, 4))]


def _article(writer: Writer, blanks: float) -> str:
    """Return an article whose parts stand apart as far as tills put them."""
    parts = writer.label("items").split(" ")
    if writer.chance(0.5):
        parts.append(writer.choose(["250g", "1L", "3.5%", "BIO", "6 PK", "XL", "0.7L"]))
    text = parts[0]
    for part in parts[1:]:
        text += (" " * writer.whole((2, 3)) if writer.chance(blanks) else " ") + part
    return text
