"""Financial statements: a stub of labels in several levels, sections, sums."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tablerec.synth.content.phrases import long_header, long_label
from tablerec.synth.content.texts import NumberFormat, Value, Writer, vocabulary
from tablerec.synth.draft import Draft, DraftCell
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures.headers import choose_size, columns_of, put_group


@dataclass(frozen=True, slots=True)
class _Habits:
    """What stays the same in one statement."""

    first: int
    """First column of numbers."""
    formats: tuple[NumberFormat, ...]
    currency: str
    has_currency: bool
    leaders: bool
    dash_labels: bool
    gaps: float
    sum_rules: bool
    final_rules: bool
    bold_totals: bool
    indent_totals: int
    share_long: float
    """Share of labels that are wrapped."""
    notes: int
    """Column of note numbers, -1 where there is none."""


def statement(writer: Writer, recipe: Recipe) -> Draft:
    """Compose accounts with labels in one column."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = max(2, n_cols)
    has_numbering = n_cols > 2 and writer.chance(0.08)
    has_notes = n_cols > 2 + has_numbering and writer.chance(0.25)
    first = 1 + has_numbering + has_notes
    draft = Draft([*(["code"] if has_numbering else []), *columns_of(1, n_cols - 1 - has_numbering)])  # type: ignore[list-item]
    if has_notes:
        draft.columns[first - 1] = "code"
    habits = _habits(writer, n_cols - first, first, first - 1 if has_notes else -1)
    _headers(draft, writer, recipe, habits)
    _body(draft, writer, recipe, habits, max(1, n_rows - len(draft.rows)))
    if has_numbering:
        for number, row in enumerate(index for index, kind in enumerate(draft.rows) if kind in ("body", "total")):
            draft.put(DraftCell(row, 0, str(number + 1)))
    return draft.finish()


def bilingual(writer: Writer, recipe: Recipe) -> Draft:
    """Compose accounts with Chinese labels in one column and English ones in another."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = max(3, n_cols)
    has_notes = n_cols > 3 and writer.chance(0.4)
    first = 2 + has_notes
    draft = Draft(columns_of(2, n_cols - 2))
    if has_notes:
        draft.columns[2] = "code"
    habits = replace(_habits(writer, n_cols - first, first, 2 if has_notes else -1), leaders=False)
    _bilingual_headers(draft, writer, habits)
    words = vocabulary("bilingual")
    put_rows = max(1, n_rows - len(draft.rows))
    for number in range(put_rows):
        kind = writer.pick({"body": 7, "section": 1, "total": 1.2})
        if number == put_rows - 1:
            kind = "total"
        topic = {"body": "accounts", "section": "account_sections", "total": "account_totals"}[kind]
        chinese, english = writer.choose(words[topic]).split("|")
        if kind == "body" and writer.chance(habits.share_long):
            also = writer.choose(words[topic]).split("|")
            chinese, english = f"{chinese}及{also[0]}", f"{english} and {also[1][:1].lower()}{also[1][1:]}"
        row = draft.add_row(kind, gap=kind != "body" and writer.chance(habits.gaps))  # type: ignore[arg-type]
        cell_kind = {"body": "row", "section": "section", "total": "total"}[kind]
        named = not (kind == "total" and writer.chance(0.5))
        for col, text in enumerate((chinese, english) if named else ()):
            draft.put(DraftCell(row, col, text, kind=cell_kind, bold=kind != "body" and habits.bold_totals))  # type: ignore[arg-type]
        if kind != "section":
            _numbers(draft, writer, habits, row, is_total=kind == "total", share_empty=0.1)
    return draft.finish()


def _habits(writer: Writer, n_numbers: int, first: int, notes: int) -> _Habits:
    form = writer.money_format()
    percent = NumberFormat(0, 100, 1, suffix="%", hangs=form.hangs, dash=form.dash)
    formats = [form] * n_numbers
    if n_numbers > 2 and writer.chance(0.2):
        for column in range(1, n_numbers, 2):
            formats[column] = percent
    elif n_numbers > 1 and writer.chance(0.15):
        formats[-1] = replace(percent, negatives=0.3, parentheses=writer.chance(0.5))
    leaders = writer.chance(0.3)
    return _Habits(
        first=first,
        formats=tuple(formats),
        currency=writer.currency(),
        has_currency=not writer.is_chinese and writer.chance(0.35),
        leaders=leaders,
        dash_labels=writer.chance(0.25),
        gaps=writer.choose_real(0, 0.5, 1),
        sum_rules=writer.chance(0.75),
        final_rules=writer.chance(0.6),
        bold_totals=writer.chance(0.6),
        indent_totals=writer.whole((1, 3)) if writer.chance(0.2) else 0,
        share_long=writer.choose_real(0, 0, 0.08, 0.2, 0.5),
        notes=notes,
    )


def _headers(draft: Draft, writer: Writer, recipe: Recipe, habits: _Habits) -> None:
    """Add years under "As of December 31," with units below, or plain headers."""
    levels = int(writer.pick(recipe.header_levels))
    if not levels:
        return
    n_cols = len(draft.columns)
    years = _periods(writer, n_cols - habits.first)
    if levels > 1 and n_cols - habits.first > 1:
        row = draft.add_row("header")
        col = habits.first
        same = writer.label("measure_groups")
        while col < n_cols:
            width = min(writer.whole((2, 4)) if levels > 1 else 1, n_cols - col)
            if n_cols - col - width == 1 and writer.chance(0.5):
                width += 1
            text = same if writer.chance(0.6) else writer.label("measure_groups")
            if writer.chance(0.12):
                text = long_header(writer)
            if width > 1:
                put_group(draft, row, col, width, text)
            else:
                draft.put(DraftCell(row, col, text, kind="column"))
            col += width
    row = draft.add_row("header")
    for col in range(habits.first, n_cols):
        draft.put(DraftCell(row, col, years[col - habits.first], kind="column"))
    if habits.notes >= 0:
        text = writer.choose(["附注", "注释"] if writer.is_chinese else ["Note", "Notes", "Footnotes"])
        draft.put(DraftCell(row, habits.notes, text, kind="column", italic=writer.chance(0.5)))
    if writer.chance(0.3):
        text = writer.label(writer.choose(["captions", "units", "measure_groups"]))
        if writer.chance(0.25):
            text += f"\n({writer.label('units').strip('()')})"
        draft.put(DraftCell(row, habits.first - 1 - (habits.notes >= 0), text, kind="column", align="left"))
    if levels > 2 or writer.chance(0.4):
        _units(draft, writer, habits)
    if writer.chance(0.35) and n_cols - habits.first > 1:
        draft.current = (habits.first, habits.first + max(1, (n_cols - habits.first) // 2))


def _periods(writer: Writer, count: int) -> list[str]:
    year = writer.year()
    step = -1 if writer.chance(0.6) else 1
    style = writer.pick({"year": 6, "labels": 2, "long": 4, "quarter": 1, "date": 2, "cycle": 1})
    if style == "long":
        return [long_header(writer) if writer.chance(0.8) else writer.label("measures") for _ in range(count)]
    if style == "labels":
        return writer.labels("measures", count)
    if style == "cycle":
        pair = writer.labels("measures", 2)
        return [pair[index % 2] for index in range(count)]
    if style == "quarter":
        return [f"{index % 4 + 1}Q{(year + index // 4) % 100:02}" for index in range(count)]
    if style == "date" and not writer.is_chinese:
        month = writer.choose(["December 31,", "June 30,", "31 Dec", "Mar 31,", "30 September"])
        return [f"{month}\n{year + index * step}" for index in range(count)]
    suffix = writer.choose(["年", "年度", ""]) if writer.is_chinese else ""
    return [f"{year + (index % writer_period(count)) * step}{suffix}" for index in range(count)]


def writer_period(count: int) -> int:
    """Return after how many columns the years repeat: under two groups they stand twice.

    >>> writer_period(4), writer_period(3)
    (2, 3)
    """
    return count // 2 if count in (4, 6) else count


def _units(draft: Draft, writer: Writer, habits: _Habits) -> None:
    row = draft.add_row("header")
    n_cols = len(draft.columns)
    unit = writer.label("units")
    if writer.chance(0.2):
        put_group(draft, row, habits.first, n_cols - habits.first, f"({unit.strip('()')})")
        draft.groups.pop()
        draft.cells[-1].italic = writer.chance(0.5)
        return
    only_last = writer.chance(0.15)
    for col in range(habits.first, n_cols):
        if not only_last or col == n_cols - 1:
            draft.put(DraftCell(row, col, unit, kind="column", italic=False))


def _bilingual_headers(draft: Draft, writer: Writer, habits: _Habits) -> None:
    years = _periods(writer, len(draft.columns) - habits.first)
    words = vocabulary("bilingual")
    by_year = writer.chance(0.5)
    row = draft.add_row("header")
    for col in range(habits.first, len(draft.columns)):
        chinese, english = writer.choose(words["headers"]).split("|")
        text = years[col - habits.first] if by_year else f"{chinese}\n{english}"
        if writer.chance(0.5):
            text += "\n千港元\nHK$'000"
        draft.put(DraftCell(row, col, text, kind="column", align="right"))
    if habits.notes >= 0:
        draft.put(DraftCell(row, habits.notes, "附註\nNotes", kind="column"))
    if writer.chance(0.4):
        draft.current = (habits.first, habits.first + 1)


def _body(draft: Draft, writer: Writer, recipe: Recipe, habits: _Habits, count: int) -> None:
    """Add sections of labels that end in a sum, with labels of a deeper level here and there."""
    in_section = level = 0
    # Movements of equity: most columns are empty in most rows.
    is_sparse = len(habits.formats) > 3 and writer.chance(0.15)
    share_empty = writer.real((0.3, 0.75) if is_sparse else recipe.empty)
    labels = writer.labels("accounts", count)
    has_sections = writer.chance(0.65)
    for number in range(count):
        is_last = number == count - 1
        if not in_section and has_sections and not is_last and count - number > 2:
            row = draft.add_row("section", gap=bool(number) and writer.chance(habits.gaps))
            text = writer.label("account_sections")
            wide = writer.chance(recipe.spans * 0.5)
            cell = DraftCell(row, habits.first - 1 - (habits.notes >= 0), text, kind="section")
            cell.colspan = len(draft.columns) - cell.col if wide else 1
            draft.put(cell)
            in_section, level = writer.whole((2, 7)), writer.whole((0, 1))
            continue
        is_total = (is_last and writer.chance(0.75)) or (in_section == 1 and writer.chance(0.7))
        in_section = max(0, in_section - 1)
        if is_total:
            _total(draft, writer, habits, level, is_last)
        else:
            _line(draft, writer, habits, level, labels[number], share_empty)
            deeper = in_section > 2 and writer.chance(0.15)
            level = min(level + deeper, 3) if not writer.chance(0.2) or deeper else max(0, level - 1)


def _line(draft: Draft, writer: Writer, habits: _Habits, level: int, label: str, share_empty: float) -> None:
    row = draft.add_row("body")
    if writer.chance(habits.share_long):
        label = long_label(writer, "accounts")
    if habits.dash_labels and level:
        label = f"{writer.choose(['–', '-'])} {label[:1].lower()}{label[1:]}"
    # A label that only announces the lines below it has no numbers.
    announces = writer.chance(0.06)
    cell = DraftCell(row, habits.first - 1 - (habits.notes >= 0), label + ":" * announces, kind="row", level=level)
    cell.has_leader = habits.leaders and not announces
    if writer.chance(0.04):
        cell.mark = writer.mark()
    draft.put(cell)
    if habits.notes >= 0 and writer.chance(0.4):
        text = writer.choose([str(writer.whole((3, 40))), f"{writer.whole((3, 30))}(a)"])
        draft.put(DraftCell(row, habits.notes, text, align="center", italic=writer.chance(0.3)))
    if not announces:
        _numbers(draft, writer, habits, row, is_total=False, share_empty=share_empty)


def _total(draft: Draft, writer: Writer, habits: _Habits, level: int, is_last: bool) -> None:
    row = draft.add_row("total", gap=writer.chance(habits.gaps * 0.4))
    if not writer.chance(0.12):
        cell = DraftCell(row, habits.first - 1 - (habits.notes >= 0), writer.label("account_totals"), kind="total")
        cell.level = habits.indent_totals or (0 if is_last else level)
        cell.bold = habits.bold_totals
        cell.has_leader = habits.leaders and writer.chance(0.8)
        draft.put(cell)
    _numbers(draft, writer, habits, row, is_total=True, share_empty=0.03, final=is_last or writer.chance(0.15))


def _numbers(
    draft: Draft, writer: Writer, habits: _Habits, row: int, *, is_total: bool, share_empty: float, final: bool = False
) -> None:
    above = next((kind for kind in reversed(draft.rows[:row]) if kind != "section"), "header")
    signs = habits.has_currency and (is_total or above == "header" or writer.chance(0.1))
    for index, form in enumerate(habits.formats):
        if writer.chance(share_empty):
            continue
        value = writer.number(form)
        if signs and not form.suffix:
            value = Value(value.text, habits.currency, value.trail)
        cell = draft.put_value(row, habits.first + index, value, "total" if is_total else "body")
        cell.bold = habits.bold_totals if is_total else None
        cell.sum_rule = is_total and habits.sum_rules
        cell.final_rule = is_total and final and habits.final_rules
