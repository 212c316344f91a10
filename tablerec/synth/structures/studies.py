"""Tables of statistics and of science: ragged headers, dense rows, groups in the stub."""

from __future__ import annotations

from dataclasses import replace

from tablerec.synth.content.phrases import long_header, long_label
from tablerec.synth.content.texts import NumberFormat, Value, Writer
from tablerec.synth.draft import Draft, DraftCell
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures.headers import (
    add_headers,
    choose_size,
    columns_of,
    empty_columns,
    put_group,
    put_section,
)


def statistical(writer: Writer, recipe: Recipe) -> Draft:
    """Compose years, regions or groups by measures."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_stub = 2 if n_cols > 3 and writer.chance(0.12) else 1
    draft = Draft(columns_of(n_stub, max(1, n_cols - n_stub)))
    levels = max(1, int(writer.pick(recipe.header_levels)))
    share_long = writer.choose_real(0, 0, 0.3, 0.8)
    same = [long_header(writer) if writer.chance(share_long) else writer.label("measures") for _ in range(4)]
    years = writer.chance(0.25)
    first_year = writer.year() - n_cols

    def leaf(place: int) -> str:
        if years:
            return str(first_year + place)
        text = same[place % 4]
        if levels == 1 or writer.chance(0.3):
            text = long_header(writer) if writer.chance(share_long) else writer.label("measures")
        return f"{text}\n{writer.label('units')}" if writer.chance(0.08) else text

    heads = [""] * n_stub
    if writer.chance(0.65):
        heads = [writer.choose(["年份", "地区", "项目"] if writer.is_chinese else _STUB_HEADS) for _ in heads]
    add_headers(draft, writer, levels, n_stub, leaf, lambda: writer.label("measure_groups"), heads)
    if levels > 1 and writer.chance(0.2):
        _unit_row(draft, writer, n_stub)
    if writer.chance(0.08):
        row = draft.add_row("header")
        for col in range(len(draft.columns)):
            draft.put(DraftCell(row, col, f"({col + 1})" if writer.chance(0.95) else "", kind="column", align="center"))
    _rows(draft, writer, recipe, n_stub, max(1, n_rows - len(draft.rows)))
    return draft.finish()


_STUB_HEADS = (
    "Year", "Region", "State", "Item", "Group", "Characteristic", "Country", "Category", "Period", "Region and state",
    "Age group", "Industry", "Sector", "Area",
)  # fmt: skip


def _unit_row(draft: Draft, writer: Writer, n_stub: int) -> None:
    row = draft.add_row("header")
    n_cols = len(draft.columns)
    if writer.chance(0.5):
        put_group(draft, row, n_stub, n_cols - n_stub, writer.label("measure_groups"))
        return
    for col in range(n_stub, n_cols):
        draft.put(DraftCell(row, col, writer.label("units"), kind="column"))


def _rows(draft: Draft, writer: Writer, recipe: Recipe, n_stub: int, count: int) -> None:
    stub = writer.pick({"regions": 4, "groups": 4, "years": 2, "months": 0.6})
    labels = _stub_labels(writer, stub, count)
    formats = _formats(writer, len(draft.columns) - n_stub)
    blank = empty_columns(draft, writer, recipe)
    share_empty = writer.real(recipe.empty)
    # Groups: a label in bold, with or without numbers of its own, over indented ones; or free space every few rows.
    grouping = writer.pick({"none": 4, "section": 2, "parent": 3, "space": 2, "span": 5 if n_stub == 2 else 0})
    every = writer.whole((3, 8))
    until = writer.whole((1, every))
    leaders = writer.chance(0.12)
    if grouping == "span" and writer.chance(0.5):
        # The same two or three measures for each group, whose label may need as many lines.
        every = writer.whole((2, 3))
        measures = writer.labels("measures", every)
        labels = [measures[number % every] for number in range(count)]
    else:
        measures = []
    for number in range(count):
        starts = number == 0 or until == 0
        until = (len(measures) - 1 if measures else writer.whole((2, every))) if starts else until - 1
        if starts and grouping == "section":
            put_section(
                draft, writer, writer.label("groups"), spans=recipe.spans, gap=number > 0 and writer.chance(0.5)
            )
        is_parent = starts and grouping == "parent"
        row = draft.add_row(
            "body", gap=starts and number > 0 and grouping in ("space", "parent") and writer.chance(0.6)
        )
        level = int(grouping in ("section", "parent") and not is_parent)
        cell = DraftCell(row, n_stub - 1, labels[number], kind="row", level=level, has_leader=leaders)
        cell.bold = True if is_parent and writer.chance(0.5) else None
        if writer.chance(0.03):
            cell.mark = writer.mark()
        draft.put(cell)
        if n_stub == 2 and starts:
            height = until + 1 if grouping == "span" else 1
            text = long_label(writer, "groups") if writer.chance(0.15) else writer.label("groups")
            draft.put(DraftCell(row, 0, text, rowspan=min(height, count - number), kind="row"))
        for index, form in enumerate(formats):
            col = n_stub + index
            if col not in blank and not writer.chance(share_empty):
                draft.put_value(row, col, writer.number(form)).bold = cell.bold
    _merge_stub(draft, grouping)
    if writer.chance(0.3):
        row = draft.add_row("total", gap=writer.chance(0.3))
        draft.put(DraftCell(row, n_stub - 1, writer.short_total(), kind="total"))
        for index, form in enumerate(formats):
            if n_stub + index not in blank:
                draft.put_value(row, n_stub + index, writer.number(form), "total")


def _merge_stub(draft: Draft, grouping: str) -> None:
    """Let the labels of row groups reach down to the next one; their height was not known before."""
    if grouping != "span":
        return
    starts = [cell for cell in draft.cells if cell.col == 0 and cell.kind == "row"]
    for cell, following in zip(starts, [*(cell.row for cell in starts[1:]), len(draft.rows)], strict=True):
        draft.cells.remove(cell)
        draft.release(cell)
        draft.put(replace(cell, rowspan=following - cell.row, is_centred=True))


def _stub_labels(writer: Writer, stub: str, count: int) -> list[str]:
    if stub == "years":
        first, form = writer.year() - count, writer.pick({"plain": 4, "school": 1, "quarter": 1})
        if form == "school":
            return [f"{first + index}–{(first + index + 1) % 100:02}" for index in range(count)]
        if form == "quarter":
            return [f"{first + index // 4} Q{index % 4 + 1}" for index in range(count)]
        return [f"{first + index}{'年' * writer.is_chinese}" for index in range(count)]
    if stub == "months":
        return [writer.words["months"][index % 12] for index in range(count)]
    share_long = writer.choose_real(0, 0, 0.05, 0.2)
    return [long_label(writer, stub) if writer.chance(share_long) else text for text in writer.labels(stub, count)]


def _formats(writer: Writer, count: int) -> list[NumberFormat]:
    """Return one format for all columns, two in turn, or one for each."""
    kinds = int(writer.pick({"1": 4, "2": 2, "9": 3}))
    formats = [writer.number_format() for _ in range(min(kinds, count))]
    return [formats[index % len(formats)] for index in range(count)]


def scientific(writer: Writer, recipe: Recipe) -> Draft:
    """Compose methods by data sets and metrics, or characteristics by groups of a study."""
    if writer.chance(0.4):
        return _clinical(writer, recipe)
    n_rows, n_cols = choose_size(writer, recipe)
    n_stub = 2 if n_cols > 4 and writer.chance(0.2) else 1
    draft = Draft(columns_of(n_stub, max(1, n_cols - n_stub)))
    levels = min(2, max(1, int(writer.pick(recipe.header_levels))))
    metrics = writer.labels("metrics", 3)
    used = writer.labels("datasets" if writer.chance(0.5) else "metrics", n_cols)

    def leaf(place: int) -> str:
        return used[place % len(used)] if levels == 1 else metrics[place % 3]

    heads = [writer.choose(["Method", "Model", "", "System", "Approach", "Variant"]), writer.label("metrics")][:n_stub]
    add_headers(draft, writer, levels, n_stub, leaf, lambda: writer.label("datasets"), heads)
    digits = writer.whole((1, 4))
    high = 100 if digits < 3 else 1
    form = NumberFormat(high * 0.2, high, digits, extra="sd" if writer.chance(0.25) else "", dash="-", dashes=0.03)
    formats = [form if writer.chance(0.85) else writer.number_format() for _ in range(len(draft.columns) - n_stub)]
    labels = writer.labels("methods", n_rows)
    best = writer.whole((0, 2))
    for number in range(max(1, n_rows - levels)):
        if number and writer.chance(0.06):
            put_section(draft, writer, writer.label("datasets"), spans=0.8, gap=False)
        row = draft.add_row("body")
        cell = draft.put(DraftCell(row, 0, labels[number % len(labels)], kind="row"))
        if writer.chance(0.2):
            cell.text += f" [{writer.whole((1, 60))}]"
        if n_stub == 2:
            draft.put(DraftCell(row, 1, writer.choose(["–", str(writer.whole((1, 512))), "yes", "no", "✓"])))
        for index, column in enumerate(formats):
            value = draft.put_value(row, n_stub + index, writer.number(column))
            value.bold = True if best and writer.chance(0.12) else None
    if n_stub == 1 and writer.chance(0.15):
        draft.rows[-1] = "total"
    return draft.finish()


def _clinical(writer: Writer, recipe: Recipe) -> Draft:
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = min(max(2, n_cols), 9)
    draft = Draft(columns_of(1, n_cols - 1))
    levels = min(2, max(1, int(writer.pick(recipe.header_levels))))
    groups = writer.labels("measure_groups", n_cols)

    def leaf(place: int) -> str:
        text = groups[place % len(groups)] if levels == 1 else writer.label("measures")
        return f"{text}\n(n = {writer.whole((8, 900))})" if writer.chance(0.5) else text

    head = writer.choose(["Characteristic", "Variable", "", "Parameter", "Outcome"])
    add_headers(draft, writer, levels, 1, leaf, lambda: writer.label("measure_groups"), [head])
    forms = [
        NumberFormat(10, 200, 1, extra="sd"),
        NumberFormat(1, 300, 0, extra="paren"),
        NumberFormat(0.2, 9, 2, extra="interval"),
        NumberFormat(1, 90, 1),
    ]
    has_p = n_cols > 2 and writer.chance(0.6)
    if has_p:
        next(cell for cell in reversed(draft.cells) if cell.col + cell.colspan == n_cols).text = "P value"
    labels = writer.labels("clinical", n_rows)
    inside = False
    for number in range(max(1, n_rows - levels)):
        if writer.chance(0.12):
            put_section(draft, writer, writer.label("clinical_sections"), spans=recipe.spans * 0.5, gap=False)
            inside = True
        row = draft.add_row("body")
        draft.put(DraftCell(row, 0, labels[number % len(labels)], kind="row", level=int(inside)))
        form = forms[int(writer.rng.integers(4))]
        for col in range(1, n_cols - has_p):
            if not writer.chance(recipe.empty[1] / 2):
                draft.put_value(row, col, writer.number(form))
        if has_p and writer.chance(0.75):
            text = writer.choose(["<0.001", f"{writer.real((0, 1)):.2f}", f"{writer.real((0, 0.1)):.3f}", "NS"])
            draft.put_value(row, n_cols - 1, Value(text))
    return draft.finish()
