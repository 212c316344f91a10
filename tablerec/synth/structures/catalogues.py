"""Catalogues: things in groups within groups, bands, and descriptions that hold for a whole group."""

from __future__ import annotations

from collections.abc import Callable

from tablerec.synth.content.texts import Writer
from tablerec.synth.draft import ColumnKind, Draft, DraftCell, Fill
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures.headers import choose_size, put_group

Runs = list[tuple[int, int]]
"""First rows and numbers of rows."""


def catalogue(writer: Writer, recipe: Recipe) -> Draft:
    """Compose groups of rows, up to two levels of which have names, with values for each row and texts for a group."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = max(3, n_cols)
    levels = int(writer.pick({"0": 3, "1": 4, "2": 4 if n_cols > 3 else 0}))
    # More of them would make a page so wide that nobody could read it.
    long_cols = [col for col in range(levels + 1, n_cols) if writer.chance(recipe.paragraphs)][-2:]
    texts = {col: _long_text(writer) for col in long_cols}
    if not levels and not texts:
        texts = {n_cols - 1: _long_text(writer)}
    kinds: list[ColumnKind] = [*(["label"] * levels), "text"]  # type: ignore[list-item]
    kinds.extend(
        "long" if col in texts else "number" if writer.chance(0.75) else "text" for col in range(levels + 1, n_cols)
    )
    first_is_text = levels == 1 and writer.chance(recipe.paragraphs * 0.4)
    if first_is_text:
        kinds[0] = "long"
    draft = Draft(kinds)
    if writer.pick(recipe.header_levels) != "0":
        _header(draft, writer, levels)
    start, count = len(draft.rows), max(2, n_rows - len(draft.rows))
    for _ in range(count):
        draft.add_row("body")
    groups = [_runs(writer, start, count, 8)]
    groups.append([run for first, size in groups[0] for run in _runs(writer, first, size, 5)])
    if first_is_text:
        # One text for all: what the table is about.
        _fill(draft, 0, [(start, count)] if writer.chance(0.5) else groups[0], _long_text(writer))
    for level in range(levels - first_is_text):
        label = writer.choose(["groups", "items", "tasks", "fields", "headers"])
        _fill(draft, level, groups[level], lambda label=label: writer.label(label), "row")  # type: ignore[misc]
    if writer.chance(0.15):
        _turn(draft, writer)
    rows = [(row, 1) for row in range(start, start + count)]
    _fill(draft, levels, rows, _names(writer))
    empty = writer.real(recipe.empty)
    for col in range(levels + 1, n_cols):
        runs = groups[max(levels - 1, 0)] if writer.chance(0.7 if col in texts else recipe.spans * 0.3) else rows
        value = texts.get(col) or (_numbers(writer) if kinds[col] == "number" else _names(writer))
        _fill(draft, col, runs, lambda value=value: "" if writer.chance(empty) else value())  # type: ignore[misc]
    if writer.chance(0.5):
        for cell in draft.cells:
            cell.is_centred = cell.rowspan > 1
    return draft.finish()


def _header(draft: Draft, writer: Writer, levels: int) -> None:
    """Add a header; that of two columns of groups is one cell at times."""
    row = draft.add_row("header")
    shared = writer.chance(0.2)
    for col in range(len(draft.columns)):
        text = writer.label("measures" if col > levels else "headers")
        if col > levels and writer.chance(0.3):
            text += ("" if writer.is_chinese else " ") + writer.label("units")
        span = levels + 1 if shared and col == 0 else 1
        draft.put(DraftCell(row, col, text, colspan=span, kind="column", is_centred=True))


def _runs(writer: Writer, first: int, count: int, most: int) -> Runs:
    """Divide rows into groups."""
    runs, end = [], first + count
    usual = writer.whole((1, most))
    while first < end:
        size = min(usual if writer.chance(0.3) else writer.whole((1, most)), end - first)
        runs.append((first, size))
        first += size
    return runs


def _fill(draft: Draft, col: int, runs: Runs, text: Callable[[], str], kind: str = "body") -> None:
    """Place one cell for each run of rows."""
    for row, size in runs:
        draft.put(DraftCell(row, col, text(), rowspan=size, kind=kind, is_centred=True))  # type: ignore[arg-type]


def _turn(draft: Draft, writer: Writer) -> None:
    """Let the short names of large groups run from top to bottom, or be read from below."""
    for cell in draft.cells:
        if cell.kind == "row" and cell.rowspan > 2 and len(cell.text) < 4 * cell.rowspan:
            cell.direction = "stacked" if writer.is_chinese else "up"


def _names(writer: Writer) -> Callable[[], str]:
    """Return what writes the names of things: words, identifiers, or several of them one below the other."""
    most = writer.whole((2, 5)) if writer.chance(0.35) else 1
    topic = writer.pick({"identifier": 3, "items": 2, "regions": 1, "groups": 1, "prose": 1})

    def name() -> str:
        if topic == "identifier":
            forms = [writer.choose(["AA-AA9", "AAA", "A9", "AAAA", "99"]) for _ in range(writer.whole((1, 4)))]
            return writer.choose(["_", "-", ""]).join(writer.code(form) for form in forms)
        return writer.prose((2, 5)) if topic == "prose" else writer.label(topic)

    return lambda: "\n".join(name() for _ in range(writer.whole((1, most))))


def _numbers(writer: Writer) -> Callable[[], str]:
    form = writer.number_format()
    return lambda: writer.number(form).text


def _long_text(writer: Writer) -> Callable[[], str]:
    """Return what writes the descriptions of one column."""
    low = writer.whole((3, 12))
    bounds = low, low + writer.whole((3, 30))
    return lambda: writer.prose(bounds)


def banded(writer: Writer, recipe: Recipe) -> Draft:
    """Compose rows below bands over all columns, with labels in the middle of several rows and wide heads."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = max(3, n_cols)
    is_grouped = n_cols > 3 and writer.chance(0.5)
    stub = 1 + is_grouped
    draft = Draft([*(["label"] * stub), *(["number"] * (n_cols - stub))])  # type: ignore[list-item]
    if writer.pick(recipe.header_levels) != "0":
        _wide_heads(draft, writer, stub)
    fill: Fill = writer.choose(["", "", "shade", "accent", "band"])  # type: ignore[assignment]
    align = writer.choose(["left", "left", "center"])
    forms = [writer.number_format() for _ in range(n_cols)]
    same_form = writer.chance(0.5)
    count = max(3, n_rows - len(draft.rows))
    while count > 0:
        row = draft.add_row("section")
        text = writer.label("captions") if writer.chance(0.4) else writer.label("groups")
        draft.put(DraftCell(row, 0, text, colspan=n_cols, kind="section", align=align, fill=fill))  # type: ignore[arg-type]
        size = min(count, writer.whole((2, 7)))
        count -= size + 1
        start = len(draft.rows)
        for _ in range(size):
            row = draft.add_row()
            draft.put(DraftCell(row, stub - 1, writer.label("items"), kind="row"))
            for col in range(stub, n_cols):
                if not writer.chance(recipe.empty[1] / 2):
                    draft.put_value(row, col, writer.number(forms[0 if same_form else col]))
        if is_grouped:
            _fill(draft, 0, _runs(writer, start, size, 4), lambda: writer.label("regions"), "row")
    return draft.finish()


def _wide_heads(draft: Draft, writer: Writer, stub: int) -> None:
    """Add heads over several columns, centred or at the left, above those of single ones; unit line at times."""
    n_cols = len(draft.columns)
    top, leaf = draft.add_row("header"), draft.add_row("header")
    shared = stub > 1 and writer.chance(0.3)
    for col in range(stub):
        draft.put(DraftCell(top, col, writer.label("headers"), rowspan=2, colspan=2 if shared else 1, kind="column"))
    at_left, same = writer.chance(0.45), writer.labels("measures", 2)
    col = stub
    while col < n_cols:
        width = min(writer.whole((1, 4)), n_cols - col)
        if width == 1:
            draft.put(DraftCell(top, col, writer.label("measures"), rowspan=2, kind="column"))
        else:
            text = writer.label("measure_groups")
            put_group(draft, top, col, width, text)
            # At the left of its columns a short head would stand above the first of them alone.
            if at_left and len(text) * (1 + writer.is_chinese) > 14:
                draft.cells[-1].align = "left"
            for place in range(width):
                name = same[place % 2] if width % 2 == 0 else writer.label("measures")
                draft.put(DraftCell(leaf, col + place, name, kind="column"))
        col += width
