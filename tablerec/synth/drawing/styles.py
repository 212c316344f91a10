"""From draft to description: fonts, paddings, alignment, fills, and which merged cells are seen as such."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tablerec.synth.content.texts import Writer
from tablerec.synth.content.wording import lengthen_headers, lengthen_stubs
from tablerec.synth.description import (
    Align,
    CellSpec,
    Color,
    ColumnSpec,
    RowSpec,
    TableSpec,
    TextStyle,
    VerticalAlign,
)
from tablerec.synth.draft import ColumnKind, Draft, DraftCell
from tablerec.synth.drawing.rules import CLOSED, draw_rules, edges_of, shows_merged
from tablerec.synth.drawing.themes import Theme
from tablerec.synth.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Look:
    """What tables on one page share.

    Args:
        style: Of the text in the body.
        theme: Colours.
        rules: One of ``recipe.RULES``.
        fill: One of ``recipe.FILLS``.
        rule_width: px.
    """

    style: TextStyle
    theme: Theme
    rules: str
    fill: str
    rule_width: float


@dataclass(frozen=True, slots=True)
class _Habits:
    """What cells of one table share."""

    aligns: dict[ColumnKind, Align]
    header_align: Align | None
    header_valign: VerticalAlign
    valign: VerticalAlign
    bold_header: bool
    italic_header: bool
    bold_stub: bool
    bold_section: bool
    bold_current: bool
    indent: float
    hanging: float
    centres_groups: bool
    underlines_header: bool
    inks: dict[int, tuple[Color, bool]]
    """Colour of the text of a column, and whether it is underlined, as links are."""


def dress(draft: Draft, writer: Writer, recipe: Recipe, look: Look, width: float = 0) -> TableSpec:
    """Give a draft its style.

    Args:
        draft: A finished draft.
        writer: Source of chance.
        recipe: Bounds for lengths.
        look: What the tables of the page share.
        width: Width of the page, px, where the table may be stretched to it; else 0.

    Returns:
        The table; merged cells that its lines and texts would not show are single cells.
    """
    habits = _habits(writer, look)
    if any(cell.has_leader for cell in draft.cells):
        # Dots lead from the last line of a label to the values.
        habits = replace(habits, valign="bottom")
    long_headers, long_stubs = lengthen_headers(draft, writer, recipe), lengthen_stubs(draft, writer, recipe)
    if look.rules in CLOSED and len(draft.columns) > 1 and writer.chance(0.07):
        draft.add_title(writer.label("captions"))
    if writer.chance(0.03):
        _turn_headers(draft)
    if look.rules in CLOSED and writer.chance(0.25):
        _turn_groups(draft)
    _resolve_merged(draft, writer, look, habits)
    size = look.style.size
    edges = draw_rules(draft, writer, look.rules, look.rule_width, look.theme.rule, size)
    fills = _fills(draft, writer, look)
    cells = tuple(
        replace(_cell(draft, cell, look, habits, fills), **edges_of(edges, cell))  # type: ignore[arg-type]
        for cell in draft.cells
    )
    return TableSpec(
        cells=cells,
        rows=_rows(draft, writer, recipe, size),
        columns=_columns(draft, writer, recipe, look, long_headers=long_headers, long_stubs=long_stubs),
        line_height=writer.real(recipe.line_height),
        width=width,
        background=look.theme.body,
    )


def _habits(writer: Writer, look: Look) -> _Habits:
    all_centred = look.rules in ("grid", "dashed", "columns") and writer.chance(0.55 if writer.is_chinese else 0.2)
    number: Align = "right" if writer.chance(0.75) else "center" if writer.chance(0.8) else "left"
    text: Align = "left" if writer.chance(0.8) else "center"
    code: Align = "left" if writer.chance(0.5) else "center"
    aligns: dict[ColumnKind, Align] = {"label": "left", "text": text, "long": "left", "code": code, "number": number}
    if all_centred:
        aligns = dict.fromkeys(aligns, "center")
        aligns["long"] = "center" if writer.chance(0.3) else "left"
    # Without lines text in the middle of its rows would not show where they end.
    closed = look.rules in (*CLOSED, "horizontal")
    header = writer.pick({"column": 4, "center": 4, "left": 0.7})
    return _Habits(
        aligns=aligns,
        header_align=None if header == "column" else header,  # type: ignore[arg-type]
        header_valign=writer.pick({"bottom": 5, "middle": 4 if closed else 1.5, "top": 1.5 if closed else 1}),  # type: ignore[arg-type]
        valign=writer.pick({"middle": 4 if closed else 0.6, "top": 4, "bottom": 2 if closed else 3}),  # type: ignore[arg-type]
        bold_header=writer.chance(0.6),
        italic_header=writer.chance(0.06),
        bold_stub=writer.chance(0.1),
        bold_section=writer.chance(0.7),
        bold_current=writer.chance(0.5),
        indent=look.style.size * writer.real((0.5, 1.6)),
        hanging=look.style.size * writer.real((0.4, 1.2)) if writer.chance(0.5 if closed else 0.7) else 0,
        centres_groups=writer.chance(0.7 if look.rules == "tabular" else 0.35),
        underlines_header=look.rules in ("none", "sums") and writer.chance(0.08),
        inks={writer.whole((0, 4)): (_LINK, writer.chance(0.6))} if writer.chance(0.04) else {},
    )


_LINK: Color = (20, 70, 190)


def _turn_headers(draft: Draft) -> None:
    """Let the headers of number columns be read from below."""
    for cell in draft.cells:
        if cell.kind == "column" and draft.columns[cell.col] == "number" and cell.colspan == 1 and len(cell.text) > 4:
            cell.direction = "up"


def _turn_groups(draft: Draft) -> None:
    """Let short labels of groups of rows be read from below."""
    for cell in draft.cells:
        is_group = cell.kind == "row" and cell.rowspan > 1 and cell.colspan == 1
        if is_group and 0 < len(cell.text) <= 5 * cell.rowspan and cell.text.isascii():
            cell.direction, cell.is_centred = "up", True


def _resolve_merged(draft: Draft, writer: Writer, look: Look, habits: _Habits) -> None:
    """Split the merged cells that nobody could see: empty ones, or text in one row, between open sides."""
    rows_show, cols_show = shows_merged(look.rules)
    cells: list[DraftCell] = []
    for cell in draft.cells:
        hidden_rows = cell.rowspan > 1 and not rows_show
        hidden_cols = cell.colspan > 1 and not cols_show
        header = cell.kind == "column"
        if hidden_rows and cell.is_centred and not habits.centres_groups and cell.colspan == 1:
            # Without lines the label of a group mostly stands beside its first row.
            cells += draft.split(cell, cell.row)
            continue
        valign = habits.header_valign if header else "middle" if cell.is_centred else habits.valign
        single_line = "\n" not in cell.text and len(cell.text) < 14
        fills_rows = cell.text.count("\n") + 1 >= cell.rowspan
        at_edge = hidden_rows and valign != "middle" and (single_line or not (header or fills_rows))
        short_section = cell.kind == "section" and hidden_cols and cell.align != "center" and len(cell.text) < 40
        if ((hidden_rows or hidden_cols) and not cell.text) or (at_edge and cell.colspan == 1) or short_section:
            last = cell.row + cell.rowspan - 1
            cells += draft.split(cell, last if valign == "bottom" and header else cell.row)
        else:
            cells.append(cell)
    draft.cells = sorted(cells, key=lambda cell: (cell.row, cell.col))
    if not rows_show:
        _drop_empty_headers(draft)


def _drop_empty_headers(draft: Draft) -> None:
    """Remove header rows in which nothing is left after merged cells were split: nobody could see them."""
    for row in reversed(range(draft.n_header)):
        here = [cell for cell in draft.cells if cell.row <= row < cell.row + cell.rowspan]
        if draft.n_header > 1 and all(cell.rowspan > 1 or not cell.text for cell in here):
            draft.drop_row(row)


def _cell(
    draft: Draft, cell: DraftCell, look: Look, habits: _Habits, fills: dict[tuple[int, int], tuple[Color, Color | None]]
) -> CellSpec:
    kind = draft.columns[cell.col]
    header = cell.kind == "column"
    fill, ink = fills.get((cell.row, cell.col), (None, None))
    current = draft.current is not None and draft.current[0] <= cell.col < draft.current[1]
    bold = cell.bold
    if bold is None:
        bold = (
            (header and habits.bold_header)
            or (cell.kind == "section" and habits.bold_section)
            or (cell.kind == "row" and habits.bold_stub)
            or (cell.kind == "total" and habits.bold_section)
            or (current and habits.bold_current)
        )
    align = cell.align or habits.aligns[kind]
    if header and cell.align is None:
        align = habits.header_align or align
        if kind == "label" and habits.header_align != "center":
            align = "left"
    if cell.direction != "horizontal":
        align = "center"
    color, underline = habits.inks.get(cell.col, (None, False)) if cell.kind == "body" else (None, False)
    style = replace(
        look.style,
        size=look.style.size * cell.size,
        bold=bool(bold),
        italic=cell.italic or (header and habits.italic_header),
        color=color or ink or look.style.color,
        underline=underline or (header and habits.underlines_header and bool(cell.text)),
    )
    return CellSpec(
        row=cell.row,
        col=cell.col,
        text=cell.text,
        style=style,
        rowspan=cell.rowspan,
        colspan=cell.colspan,
        kind=cell.kind,
        align=align,
        valign="middle" if cell.is_centred else habits.header_valign if header else habits.valign,
        indent=cell.level * habits.indent if align == "left" else 0,
        hanging=habits.hanging if cell.kind == "row" and align == "left" else 0,
        lead=cell.lead,
        trail=cell.trail,
        mark=cell.mark,
        has_leader=cell.has_leader,
        fill=fill,
        direction=cell.direction,
        is_checkbox=cell.is_checkbox,
        wraps=kind not in ("number", "code") or header or cell.colspan > 1,
    )


def _fills(draft: Draft, writer: Writer, look: Look) -> dict[tuple[int, int], tuple[Color, Color | None]]:
    """Return fill and ink by first slot; ink None is that of the body."""
    theme = look.theme
    found: dict[tuple[int, int], tuple[Color, Color | None]] = {}
    n_cols, head = len(draft.columns), draft.n_header
    header = look.fill == "header" or (look.fill in ("bands", "stub", "totals") and writer.chance(0.6))
    dark = look.fill == "dark_header" or (look.fill in ("bands", "totals") and not header and writer.chance(0.6))
    totals = look.fill == "totals" or (look.fill in ("header", "bands", "dark_header") and writer.chance(0.3))
    bands = look.fill == "bands" or (look.fill == "dark_header" and writer.chance(0.35))
    parity = writer.whole((0, 1))
    band = int(writer.pick({"1": 8, "2": 1, "3": 0.5}))
    shaded = _shaded_columns(draft, writer, look.fill)
    for cell in draft.cells:
        slot, kind = (cell.row, cell.col), draft.rows[cell.row]
        if bands and kind == "body" and ((cell.row - head) // band) % 2 == parity:
            found[slot] = theme.band, None
        if cell.col in shaded and cell.colspan == 1:
            found[slot] = theme.shade, None
        if look.fill == "stub" and cell.kind in ("row", "section"):
            found[slot] = theme.shade, None
        if totals and (kind == "total" or kind == "section"):
            found[slot] = theme.shade, None
        if cell.kind == "column" and header:
            found[slot] = theme.shade, None
        if cell.kind == "column" and dark:
            found[slot] = theme.accent, theme.accent_ink
        if look.fill == "cells" and writer.chance(0.1 if n_cols > 1 else 0):
            found[slot] = theme.shade, None
        if cell.fill:
            inks = {
                "band": (theme.band, None),
                "shade": (theme.shade, None),
                "accent": (theme.accent, theme.accent_ink),
            }
            found[slot] = inks[cell.fill]
    return found


def _shaded_columns(draft: Draft, writer: Writer, fill: str) -> set[int]:
    n_cols = len(draft.columns)
    if fill == "columns":
        first = writer.whole((0, 1))
        return set(range(first, n_cols, 2)) if writer.chance(0.6) else {writer.whole((0, n_cols - 1))}
    if fill == "current":
        first, end = draft.current or (n_cols - 1, n_cols)
        draft.current = (first, end)
        return set(range(first, end))
    return set()


def _rows(draft: Draft, writer: Writer, recipe: Recipe, size: float) -> tuple[RowSpec, ...]:
    top = size * writer.real(recipe.padding_y)
    bottom = top if writer.chance(0.7) else size * writer.real(recipe.padding_y)
    header = writer.real((1, 2)) if writer.chance(0.4) else 1
    gap = size * writer.real((0.3, 1.6))
    jitter = writer.chance(0.1)
    rows = []
    for row, kind in enumerate(draft.rows):
        factor = header if kind == "header" else writer.real((1, 2.5)) if jitter else 1
        above = top * factor + (gap if row in draft.gaps or (row == draft.n_header and draft.gaps) else 0)
        rows.append(RowSpec(above, bottom * factor, size * draft.heights.get(row, 0)))
    return tuple(rows)


def _room(trail: str) -> float:
    """Return the widest that a font draws signs, in font sizes."""
    return sum(1.05 if sign in "%‰" else 0.7 for sign in trail)


def _columns(
    draft: Draft, writer: Writer, recipe: Recipe, look: Look, *, long_headers: bool, long_stubs: bool
) -> tuple[ColumnSpec, ...]:
    size = look.style.size
    pad = size * writer.real(recipe.padding_x)
    wrap = size * writer.real(recipe.wrap)
    number_wrap = size * writer.real((3.5, 7.5) if long_headers else (4, 11))
    label_wrap = size * writer.real((7, 18)) if long_stubs else 1.3 * wrap
    flush = look.rules not in ("grid", "dashed", "framed", "columns") and writer.chance(0.3)
    equal = writer.chance(0.25)
    stub_grow = writer.chance(0.6)
    # Free space between the columns of one year and those of the next.
    between = size * writer.real((0.6, 2.5)) if draft.groups and writer.chance(0.2) else 0
    starts = {first for _, first, _ in draft.groups} if between else set()
    specs = []
    for col, kind in enumerate(draft.columns):
        here = [cell for cell in draft.cells if cell.col == col]
        left = right = pad
        if col == 0 and flush:
            left = size * 0.1
        right = max(right, size * max((_room(cell.trail) for cell in here), default=0))
        if any(cell.lead for cell in here):
            left = max(left, size * 0.4)
        if col in starts:
            left += between
        if col in draft.widths:
            width = left + right + size * draft.widths[col]
            specs.append(ColumnSpec(left, right, width, width, draft.widths[col]))
            continue
        limit = {
            "label": label_wrap, "text": wrap, "long": wrap * 2.2, "code": number_wrap, "number": number_wrap,
        }[kind]  # fmt: skip
        lowest = size * writer.real((1.5, 5)) if not any(cell.text for cell in here) else size
        grow = 4.0 if kind == "label" and stub_grow else 3.0 if kind == "long" else 1.0
        specs.append(ColumnSpec(left, right, lowest, left + right + limit, 1 if equal else grow))
    return tuple(specs)
