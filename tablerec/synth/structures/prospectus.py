"""Tables of prospectuses and reports: tall headers and wrapped labels between which no line is drawn."""

from __future__ import annotations

from dataclasses import replace

from tablerec.synth.content.phrases import long_header, long_label
from tablerec.synth.content.texts import NumberFormat, Value, Writer
from tablerec.synth.draft import ColumnKind, Draft, DraftCell
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures.headers import choose_size, columns_of, put_group, put_section


def prospectus(writer: Writer, recipe: Recipe) -> Draft:
    """Compose a stub of long labels, maybe columns of text, and numbers below long headers."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = max(2, n_cols)
    n_texts = min(int(writer.pick({"0": 6, "1": 2.5, "2": 1})), n_cols - 2)
    counts = writer.chance(0.08) and n_cols > 2 + n_texts
    first = 1 + counts + n_texts
    kinds: list[ColumnKind] = ["code"] * counts
    kinds += ["label", *(["text"] * n_texts), *columns_of(0, n_cols - first)]  # type: ignore[list-item]
    draft = Draft(kinds)
    _headers(draft, writer, recipe, first)
    _body(draft, writer, recipe, first, max(1, n_rows - len(draft.rows)))
    return draft.finish()


_DATES = (
    "As of December 31,", "As of September 30,", "Year ended December 31,", "Six months ended June 30,",
    "For the year ended 31 March", "As at 31 December", "For the three months ended March 31,",
)  # fmt: skip


def _headers(draft: Draft, writer: Writer, recipe: Recipe, first: int) -> None:
    levels = int(writer.pick(recipe.header_levels))
    n_cols = len(draft.columns)
    if not levels:
        return
    if levels > 1 and n_cols - first > 1:
        row = draft.add_row("header")
        dated = not writer.is_chinese and writer.chance(0.4)
        size = writer.whole((2, 4)) if writer.chance(0.7) else n_cols - first
        for col in range(first, n_cols, size):
            width = min(size, n_cols - col)
            text = long_header(writer) if writer.chance(0.25) else writer.label("measure_groups")
            if dated:
                text = writer.choose(_DATES)
            if width > 1:
                put_group(draft, row, col, width, text)
            else:
                draft.put(DraftCell(row, col, text.replace("of ", "of\n").replace("ended ", "ended\n"), kind="column"))
    row = draft.add_row("header")
    stub = first - 1 - draft.columns[:first].count("text")
    if writer.chance(0.7):
        draft.put(DraftCell(row, stub, writer.label("headers"), kind="column"))
    style = writer.pick({"long": 6, "years": 2, "short": 1.5})
    share_long, share_tall = writer.choose_real(0.4, 0.7, 1), writer.choose_real(0, 0.3, 0.7)
    year = writer.year() - n_cols
    for col in range(stub + 1, n_cols):
        text = writer.label("measures")
        if style == "long" and writer.chance(share_long):
            text = long_header(writer)
            while len(text) < 200 and writer.chance(share_tall):
                text += f"{'及' if writer.is_chinese else ' / '}{long_header(writer)}"
        if style == "years" and col >= first:
            text = str(year + col) if writer.chance(0.9) else f"{year}–{year + n_cols}\n{text}"
        draft.put(DraftCell(row, col, text, kind="column"))
    if writer.chance(0.35):
        _units(draft, writer, first)


def _units(draft: Draft, writer: Writer, first: int) -> None:
    row = draft.add_row("header")
    n_cols = len(draft.columns)
    italic = writer.chance(0.5)
    if n_cols - first > 1 and writer.chance(0.4):
        put_group(draft, row, first, n_cols - first, f"({writer.label('units').strip('()')})")
        draft.groups.pop()
        draft.cells[-1].italic = italic
        return
    for col in range(first, n_cols):
        if writer.chance(0.9):
            text = f"({writer.label('units').strip('()')})"
            draft.put(DraftCell(row, col, text, kind="column", italic=italic, bold=False))


def _body(draft: Draft, writer: Writer, recipe: Recipe, first: int, count: int) -> None:
    stub = draft.columns.index("label")
    texts = [col for col, kind in enumerate(draft.columns) if kind == "text"]
    topic = writer.pick({"accounts": 4, "items": 2, "company": 2, "groups": 1, "tasks": 1})
    known = writer.labels("accounts" if topic == "company" else topic, count)
    leaders = writer.chance(0.5) and not texts
    share_long = writer.choose_real(0.15, 0.35, 0.6, 0.9)
    share_notes = writer.choose_real(0, 0, 0, 0.3)
    share_empty = writer.real(recipe.empty)
    sections = writer.chance(0.35)
    gaps = writer.choose_real(0, 0.3, 1)
    # The same few texts come again and again in a column, each wrapped in the same way.
    n_usual = writer.whole((2, 6))
    usual = [long_label(writer, "items") if writer.chance(0.5) else writer.label("fields") for _ in range(n_usual)]
    formats = _formats(writer, len(draft.columns) - first)
    stacked = first + writer.whole((0, 30)) if writer.chance(0.05) else -1
    # Under one label several lines may follow, told apart by the texts of the next column.
    share_same = writer.real((0.2, 0.6)) if texts and writer.chance(0.35) else 0
    level = 0
    for number in range(count):
        if sections and count - number > 2 and (number == 0 or writer.chance(0.12)):
            put_section(
                draft, writer, writer.label("groups"), spans=recipe.spans * 0.4, gap=number > 0 and writer.chance(gaps)
            )
            level = writer.whole((0, 1))
        if count > 2 and writer.chance(0.75 if number == count - 1 else 0.05):
            _total(draft, writer, first, formats, gap=writer.chance(gaps), is_last=number == count - 1)
            continue
        row = draft.add_row("body", gap=writer.chance(0.5 if number == 0 else 0.1 * gaps))
        label = writer.company() if topic == "company" else known[number]
        if writer.chance(share_long):
            label = f"{label} {writer.prose((3, 12))}" if topic == "company" else long_label(writer, topic)
        if writer.chance(share_notes):
            label += f"\n(note {writer.whole((1, 12))})"
        is_same = row > 0 and draft.rows[row - 1] == "body" and writer.chance(share_same)
        label *= not is_same
        cell = draft.put(DraftCell(row, stub, label, kind="row", level=level, has_leader=leaders))
        if label and writer.chance(0.06):
            cell.mark = writer.mark()
        if stub and label:
            draft.put(DraftCell(row, 0, f"{row - draft.n_header + 1}."))
        for col in texts:
            if is_same or not writer.chance(share_empty):
                draft.put(DraftCell(row, col, writer.choose(usual)))
        for col, form in enumerate(formats, start=first):
            if not writer.chance(share_empty):
                value = writer.number(form)
                if col == stacked:
                    value = replace(value, text=f"{writer.label('headers')}:\n{value.text}")
                draft.put_value(row, col, value)


def _formats(writer: Writer, count: int) -> list[NumberFormat]:
    percent = NumberFormat(0, 100, writer.whole((1, 2)), suffix="%", hangs=writer.chance(0.3))
    formats = [writer.money_format() if writer.chance(0.7) else writer.number_format()]
    formats += [percent if writer.chance(0.35) else formats[0] for _ in range(count - 1)]
    return formats


def _total(draft: Draft, writer: Writer, first: int, formats: list[NumberFormat], *, gap: bool, is_last: bool) -> None:
    row = draft.add_row("total", gap=gap)
    rules, currency = writer.chance(0.85), writer.currency() if writer.chance(0.15) else ""
    draft.put(DraftCell(row, draft.columns.index("label"), writer.label("account_totals"), kind="total"))
    for col, form in enumerate(formats, start=first):
        value = writer.number(form)
        cell = draft.put_value(row, col, Value(value.text, currency, value.trail), "total")
        cell.sum_rule = rules
        cell.final_rule = rules and is_last
