"""Lists: a row for each thing, and what else has no accounts and no measures."""

from __future__ import annotations

from collections.abc import Callable

from tablerec.synth.content.phrases import long_header, long_label
from tablerec.synth.content.texts import Value, Writer
from tablerec.synth.draft import ColumnKind, Draft, DraftCell
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures.headers import add_headers, choose_size, empty_columns, put_section

Fill = Callable[[], Value]


def records(writer: Writer, recipe: Recipe) -> Draft:
    """Compose a list with a type for each column, groups of rows, and maybe a total."""
    n_rows, n_cols = choose_size(writer, recipe)
    columns = [_column(writer, recipe, col) for col in range(n_cols)]
    draft = Draft([kind for kind, _, _ in columns])
    levels = int(writer.pick(recipe.header_levels))
    levels = min(levels, max(0, n_rows - 1))
    if levels:
        heads = [head for _, head, _ in columns]
        if levels > 1 and n_cols > 2:
            add_headers(
                draft, writer, levels, 1, lambda place: heads[place % n_cols], lambda: writer.label("measure_groups"),
                heads[:1],
            )  # fmt: skip
        else:
            row = draft.add_row("header")
            for col, head in enumerate(heads):
                draft.put(DraftCell(row, col, head, kind="column"))
    _record_rows(draft, writer, recipe, [fill for _, _, fill in columns], max(1, n_rows - len(draft.rows)))
    return draft.finish()


def _record_rows(draft: Draft, writer: Writer, recipe: Recipe, fills: list[Fill], count: int) -> None:
    n_cols = len(draft.columns)
    share_empty = writer.real(recipe.empty)
    blank = empty_columns(draft, writer, recipe)
    sections = writer.chance(0.12)
    grouped = writer.chance(recipe.spans * 0.6)
    until = 0
    has_total = count > 2 and writer.chance(0.2)
    for number in range(count):
        if sections and number % 6 == 0 and writer.chance(0.7):
            put_section(draft, writer, writer.label("groups"), spans=0.3 + recipe.spans / 2, gap=False)
        is_total = has_total and number == count - 1
        row = draft.add_row("total" if is_total else "body")
        for col, fill in enumerate(fills):
            if is_total and draft.columns[col] != "number":
                if col == 0:
                    text = writer.short_total()
                    draft.put(DraftCell(row, 0, text, kind="total", colspan=_merged_total(draft, writer)))
                continue
            if col == 0 and grouped:
                if until:
                    until -= 1
                    continue
                until = min(writer.whole((0, 4)), count - number - 1 - has_total)
                cell = draft.put_value(row, 0, fill(), "row" if draft.columns[0] == "label" else "body")
                cell.is_centred = until > 0
                continue
            if col in blank or (col and writer.chance(share_empty)):
                continue
            kind = "row" if draft.columns[col] == "label" and col == 0 else "total" if is_total else "body"
            draft.put_value(row, col, fill(), kind)  # type: ignore[arg-type]
        if not grouped and not is_total and n_cols > 2 and writer.chance(recipe.spans * 0.06):
            _merge_somewhere(draft, writer, row, fills)
    if grouped:
        merge_down(draft, 0)


def _merged_total(draft: Draft, writer: Writer) -> int:
    """Return over how many columns the label of a total reaches: sometimes all before the first number."""
    before = next((index for index, kind in enumerate(draft.columns) if kind == "number"), 1)
    return max(1, before) if writer.chance(0.4) else 1


def _merge_somewhere(draft: Draft, writer: Writer, row: int, fills: list[Fill]) -> None:
    """Put a note over several columns of a further row."""
    row = draft.add_row("body")
    col = writer.whole((1, len(fills) - 2))
    draft.put(DraftCell(row, 0, fills[0]().text, kind="row"))
    draft.put(DraftCell(row, col, writer.prose((2, 6)), colspan=writer.whole((2, 4)), align="center"))


def merge_down(draft: Draft, col: int) -> None:
    """Let each cell of a column reach down over the free slots below it."""
    starts = sorted((cell for cell in draft.cells if cell.col == col), key=lambda cell: cell.row)
    for cell, following in zip(starts, [*(cell.row for cell in starts[1:]), len(draft.rows)], strict=True):
        if cell.kind in ("row", "body") and cell.rowspan == 1:
            draft.release(cell)
            draft.cells.remove(cell)
            cell.rowspan = following - cell.row
            cell.is_centred = True
            draft.put(cell)


def _column(writer: Writer, recipe: Recipe, col: int) -> tuple[ColumnKind, str, Fill]:
    """Return kind, header and source of texts of a column."""
    weights = {"number": 8, "label": 3, "name": 1.2, "company": 1, "code": 2, "date": 1.5, "choice": 1.5}
    if col == 0:
        weights = {"label": 6, "name": 1.5, "company": 1.2, "code": 1.5, "date": 1, "count": 2, "number": 0.4}
    what = writer.pick(weights)
    if col and writer.chance(recipe.paragraphs):
        bounds = (3, 14) if writer.chance(0.7) else (10, 45)
        return "long", writer.label("headers"), lambda: Value(writer.prose(bounds))
    if what == "number":
        form = writer.number_format()
        return "number", writer.label("measures"), lambda: writer.number(form)
    if what == "label":
        topic = writer.pick({"items": 4, "regions": 3, "groups": 2, "tasks": 1, "fields": 1})
        return _text_kind(col), writer.label("headers"), lambda: Value(writer.label(topic))
    return _special_column(writer, what, col)


def _special_column(writer: Writer, what: str, col: int) -> tuple[ColumnKind, str, Fill]:
    head = writer.choose(_HEADS[what][writer.is_chinese].split(";"))
    if what == "name":
        return "text", head, lambda: Value(writer.person())
    if what == "company":
        return _text_kind(col), head, lambda: Value(writer.company())
    if what == "code":
        pattern = writer.code_format()
        return "code", head, lambda: Value(writer.code(pattern))
    if what == "date":
        date = writer.date_format()
        return "code", head, lambda: Value(writer.date(date))
    if what == "count":
        numbers = iter(range(1, 100_000))
        counted = writer.choose(["{}", "{}", "{}.", "({})", "{:02}"])
        return "code", head, lambda: Value(counted.format(next(numbers)))
    options = writer.choose(_OPTIONS[writer.is_chinese]).split(";")
    return "code", writer.label("headers"), lambda: Value(writer.choose(options))


def _text_kind(col: int) -> ColumnKind:
    return "text" if col else "label"


_HEADS = {
    "name": ("Name;Contact;Owner;Author;Person", "姓名"),
    "company": ("Company;Supplier;Customer;Sponsor;Institution", "公司名称"),
    "code": ("Code;No.;ID;Ref.", "编号"),
    "date": ("Date;Start;Due;Period", "日期"),
    "count": ("No.;#;Nr;Item;", "序号"),
    "choice": ("", ""),
}
"""Headers of columns: in Latin script, in Chinese."""

_OPTIONS = (
    ("Yes;No", "✓;–", "x;", "High;Medium;Low", "open;closed;in progress", "M;F", "A;B;C;D", "+;++;−", "***;**;*;ns",
     "N;S;E;W", "kg;pcs;m;l", "●;○", "R/W;R;W", "0;1", "Pass;Fail"),
    ("是;否", "√;", "合格;不合格", "子公司;母公司;关联方", "保证;质押;抵押;信用", "男;女", "A;B;C"),
)  # fmt: skip
"""What can be chosen in a column: in Latin script, in Chinese."""


def pairs(writer: Writer, recipe: Recipe) -> Draft:
    """Compose two or three columns: what, and how much."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = min(max(2, n_cols), 3)
    draft = Draft(["label", *(["number"] * (n_cols - 1))])  # type: ignore[list-item]
    topic = writer.pick({"items": 2, "regions": 2, "groups": 2, "accounts": 2, "tasks": 1})
    form = writer.number_format()
    leaders = writer.chance(0.15)
    if writer.pick(recipe.header_levels) != "0":
        row = draft.add_row("header")
        for col in range(n_cols):
            text = writer.label("measures" if col else "headers")
            draft.put(DraftCell(row, col, text, kind="column"))
    for label in writer.labels(topic, max(1, n_rows - len(draft.rows))):
        row = draft.add_row("body")
        draft.put(DraftCell(row, 0, label, kind="row", has_leader=leaders))
        for col in range(1, n_cols):
            draft.put_value(row, col, writer.number(form))
    if writer.chance(0.25):
        row = draft.add_row("total")
        draft.put(DraftCell(row, 0, writer.short_total(), kind="total", level=writer.whole((0, 2))))
        for col in range(1, n_cols):
            draft.put_value(row, col, writer.number(form), "total").sum_rule = writer.chance(0.7)
    return draft.finish()


def paragraphs(writer: Writer, recipe: Recipe) -> Draft:
    """Compose a table of long texts beside short ones."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_rows, n_cols = max(2, min(n_rows, 16)), min(max(2, n_cols), 9)
    weights = {"long": 6.0, "text": 4, "code": 0 if n_cols < 4 else 4}
    kinds: list[ColumnKind] = ["label", *(writer.pick(weights) for _ in range(n_cols - 1))]  # type: ignore[list-item]
    if "long" not in kinds:
        kinds[-1] = "long"
    draft = Draft(kinds)
    if writer.pick(recipe.header_levels) != "0":
        row = draft.add_row("header")
        for col in range(n_cols):
            text = long_header(writer, "headers") if writer.chance(0.25) else writer.label("headers")
            draft.put(DraftCell(row, col, text, kind="column"))
    dates, share_empty = writer.date_format(), writer.real(recipe.empty)
    same = [writer.label("items"), long_label(writer, "items"), ""]
    length = writer.choose_real(0.25, 0.5, 0.5, 1, 1.5)
    bullet = writer.choose(["", "", "", "• ", "- ", "● "])
    until = 0
    is_spaced = writer.chance(0.5)
    for number in range(n_rows):
        row = draft.add_row("body", gap=is_spaced and number > 0)
        for col, kind in enumerate(kinds):
            if col == 0:
                if until:
                    until -= 1
                    continue
                until = writer.whole((1, 3)) if writer.chance(recipe.spans * 0.5) else 0
                until = min(until, n_rows - number - 1)
                numbered = f"{number + 1}. " if writer.chance(0.1) else ""
                draft.put(DraftCell(row, 0, numbered + writer.label("fields"), kind="row"))
            elif writer.chance(share_empty):
                continue
            elif kind == "code":
                words = ["–", "Yes", "No", "N/A", "R", str(writer.whole((0, 5000))), str(writer.whole((0, 100)))]
                text = writer.date(dates) if writer.chance(0.25) else writer.choose(words)
                draft.put(DraftCell(row, col, text))
            elif kind == "text":
                draft.put(DraftCell(row, col, writer.choose(same) if writer.chance(0.4) else writer.label("fields")))
            else:
                draft.put(DraftCell(row, col, _long_text(writer, bullet, length)))
    merge_down(draft, 0)
    is_centred = writer.chance(0.5)
    for cell in draft.cells:
        if cell.rowspan > 1:
            cell.is_centred = is_centred
    return draft.finish()


def _long_text(writer: Writer, bullet: str, length: float) -> str:
    """Return one text or several, ``length`` times as long as usual."""
    count = writer.whole((1, 5)) if writer.chance(0.5 if bullet else 0.25) else 1
    bounds = (2, 9) if writer.chance(0.4) else (int(8 * length), int((40 if count == 1 else 20) * length))
    # Free space between two texts of a cell begins no row.
    between = "\n\n" if writer.chance(0.2) else "\n"
    return between.join(bullet * (count > 1) + writer.prose(bounds) for _ in range(count))


def schedule(writer: Writer, recipe: Recipe) -> Draft:
    """Compose a timetable: days by hours, or phases with tasks, merged both ways."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_rows, n_cols = max(3, n_rows), max(3, n_cols)
    kinds: list[ColumnKind] = ["label", *(["text"] * (n_cols - 1))]  # type: ignore[list-item]
    draft = Draft(kinds)
    row = draft.add_row("header")
    days = writer.words.get("weekdays", ()) or writer.labels("headers", n_cols)
    by_week = writer.chance(0.3)
    draft.put(DraftCell(row, 0, "" if writer.chance(0.4) else writer.label("headers"), kind="column"))
    for col in range(1, n_cols):
        text = f"W{col}" if by_week else days[(col - 1) % len(days)]
        draft.put(DraftCell(row, col, text, kind="column"))
    start, step = writer.whole((7, 10)), writer.choose(["30", "45", "60", "90"])
    for number in range(n_rows - 1):
        draft.add_row("body")
        minutes = start * 60 + number * int(step)
        time = f"{minutes // 60 % 24}:{minutes % 60:02}"
        label = time if step != "45" else f"{time}–{(minutes + 45) // 60 % 24}:{(minutes + 45) % 60:02}"
        draft.put(DraftCell(number + 1, 0, writer.label("tasks") if by_week else label, kind="row"))
    share_empty = max(writer.real(recipe.empty), 0.15)
    for number in range(1, n_rows):
        for col in range(1, n_cols):
            if writer.chance(share_empty):
                continue
            rowspan = writer.whole((1, 3)) if writer.chance(recipe.spans * 0.5) else 1
            colspan = writer.whole((1, 3)) if writer.chance(recipe.spans * 0.3) else 1
            text = writer.label("tasks")
            if writer.chance(0.2):
                text += f"\n{writer.person()}"
            draft.put(DraftCell(number, col, text, rowspan, colspan, align="center", is_centred=True))
    return draft.finish()


def ledger(writer: Writer, recipe: Recipe) -> Draft:
    """Compose entries: a date or number, a description of up to four lines, values beside it; some in two lines."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = max(3, n_cols)
    n_before = writer.whole((1, 2)) if n_cols > 3 else 1
    kinds: list[ColumnKind] = [*(["code"] * n_before), "long", *(["number"] * (n_cols - n_before - 1))]  # type: ignore[list-item]
    draft = Draft(kinds)
    draft.widths = {n_before: writer.real((9, 26))}
    if writer.pick(recipe.header_levels) != "0":
        row = draft.add_row("header")
        for col, kind in enumerate(kinds):
            draft.put(DraftCell(row, col, writer.label("measures" if kind == "number" else "headers"), kind="column"))
    dates, codes, form = writer.date_format(), writer.code_format(), writer.money_format()
    is_dated, in_two_lines, is_spaced = writer.chance(0.7), writer.chance(0.3), writer.chance(0.5)
    longest = writer.whole((4, 18))
    share_empty = max(0.0, min(0.8, writer.real(recipe.empty) + writer.choose_real(0, 0.3)))
    for number in range(max(1, n_rows - len(draft.rows))):
        row = draft.add_row(gap=is_spaced and number > 0)
        for col in range(n_before):
            text = writer.date(dates) if (col == 0) == is_dated else writer.code(codes)
            if in_two_lines and col == n_before - 1:
                text += f"\n{writer.whole((0, 23)):02}:{writer.whole((0, 59)):02}"
            draft.put(DraftCell(row, col, text, kind="row"))
        text = writer.company() if writer.chance(0.3) else writer.prose((2, longest))
        if in_two_lines:
            text += f"\n{writer.choose([writer.person(), writer.label('items'), writer.code(codes)])}"
        draft.put(DraftCell(row, n_before, text))
        filled = [col for col in range(n_before + 1, n_cols) if not writer.chance(share_empty)]
        for col in filled or [n_cols - 1]:
            draft.put_value(row, col, writer.number(form))
    if writer.chance(0.3):
        row = draft.add_row("total")
        draft.put(DraftCell(row, n_before, writer.short_total(), kind="total"))
        for col in range(n_before + 1, n_cols):
            draft.put_value(row, col, writer.number(form), "total").sum_rule = writer.chance(0.7)
    return draft.finish()
