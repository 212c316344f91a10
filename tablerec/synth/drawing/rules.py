"""Where lines are drawn: rules on the edges of the grid."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tablerec.synth.content.texts import Writer
from tablerec.synth.description import Color, Rule
from tablerec.synth.draft import Draft, DraftCell

CLOSED = ("grid", "dashed", "partial")
"""Styles in which the lines show which cells are merged, both ways."""


@dataclass(slots=True)
class Edges:
    """Rules by edge: above row ``r`` in column ``c``, and left of column ``c`` in row ``r``."""

    across: dict[tuple[int, int], Rule] = field(default_factory=dict)
    down: dict[tuple[int, int], Rule] = field(default_factory=dict)

    def draw_across(self, row: int, first: int, end: int, rule: Rule) -> None:
        """Draw a line above a row."""
        self.across.update({(row, col): rule for col in range(first, end)})

    def draw_down(self, col: int, first: int, end: int, rule: Rule) -> None:
        """Draw a line left of a column."""
        self.down.update({(row, col): rule for row in range(first, end)})


def shows_merged(style: str) -> tuple[bool, bool]:
    """Return whether lines between rows and between columns show what is merged.

    >>> shows_merged("grid"), shows_merged("horizontal"), shows_merged("none")
    ((True, True), (True, False), (False, False))
    """
    return style in (*CLOSED, "horizontal"), style in (*CLOSED, "columns")


def draw_rules(draft: Draft, writer: Writer, style: str, width: float, color: Color, size: float) -> Edges:
    """Choose the lines of a table.

    Args:
        draft: The finished draft.
        writer: Source of chance.
        style: One of ``recipe.RULES``.
        width: Of thin lines, px.
        color: Of the lines.
        size: Of the font, px: short rules end in proportion to it.
    """
    thin = Rule(width, color)
    thick = Rule(width * writer.real((1.4, 2.6)), color)
    edges = Edges()
    n_rows, n_cols, head = len(draft.rows), len(draft.columns), draft.n_header
    if style in ("grid", "partial", "dashed"):
        _grid(edges, draft, writer, style, thin, thick)
    elif style == "framed":
        _frame(edges, n_rows, n_cols, thick if writer.chance(0.4) else thin)
    elif style == "horizontal":
        _horizontal(edges, draft, writer, thin, thick)
    elif style in ("three_line", "double_line"):
        outer = replace(thin, pattern="double") if style == "double_line" else thick
        edges.draw_across(0, 0, n_cols, outer)
        edges.draw_across(n_rows, 0, n_cols, outer)
    elif style == "tabular":
        _tabular(edges, draft, writer, thin)
    elif style == "columns":
        for col in range(1, n_cols):
            edges.draw_down(col, 0, n_rows, thin)
        boxes = writer.chance(0.6)
        for row, first, end in draft.groups:
            if boxes:
                edges.draw_across(row + 1, first, end, thin)
        if writer.chance(0.5):
            _frame(edges, n_rows, n_cols, thin)
        elif writer.chance(0.6):
            edges.draw_across(0, 0, n_cols, thick if writer.chance(0.5) else thin)
            edges.draw_across(n_rows, 0, n_cols, thin)
    if head and (
        style in ("framed", "three_line", "double_line", "columns", "header")
        or (style == "sums" and writer.chance(0.25))
    ):
        edges.draw_across(head, 0, n_cols, thin)
    if style in ("horizontal", "three_line", "double_line", "header", "sums", "framed"):
        _header_groups(edges, draft, writer, thin, size, underline=style == "sums")
    if style in ("three_line", "double_line", "sums", "header", "framed") or (style == "none" and writer.chance(0.4)):
        _sums(edges, draft, writer, thin, size)
    if style == "three_line" and writer.chance(0.4):
        _totals(edges, draft, writer, thin)
    if style in ("three_line", "header") and writer.chance(0.5):
        between_groups(edges, draft, thin)
    return edges


def edges_of(edges: Edges, cell: DraftCell) -> dict[str, Rule | None]:
    """Return the rules that a cell draws: each edge of the grid belongs to one cell.

    That is the cell above or left of it, so that no line is drawn twice, or thicker than meant.
    """
    rows = range(cell.row, cell.row + cell.rowspan)
    cols = range(cell.col, cell.col + cell.colspan)
    sides = {
        "bottom": [edges.across.get((cell.row + cell.rowspan, col)) for col in cols],
        "right": [edges.down.get((row, cell.col + cell.colspan)) for row in rows],
        "top": [edges.across.get((0, col)) if cell.row == 0 else None for col in cols],
        "left": [edges.down.get((row, 0)) if cell.col == 0 else None for row in rows],
    }
    # A merged cell has one rule on each side; where neighbours disagree, the most of them count.
    return {side: max(rules, key=rules.count) for side, rules in sides.items()}


def _frame(edges: Edges, n_rows: int, n_cols: int, rule: Rule) -> None:
    edges.draw_across(0, 0, n_cols, rule)
    edges.draw_across(n_rows, 0, n_cols, rule)
    edges.draw_down(0, 0, n_rows, rule)
    edges.draw_down(n_cols, 0, n_rows, rule)


def _grid(edges: Edges, draft: Draft, writer: Writer, style: str, thin: Rule, thick: Rule) -> None:
    n_rows, n_cols, head = len(draft.rows), len(draft.columns), draft.n_header
    if style == "dashed":
        thin = replace(thin, pattern="dashed" if writer.chance(0.6) else "dotted")
    for row in range(n_rows + 1):
        edges.draw_across(row, 0, n_cols, thin)
    for col in range(n_cols + 1):
        edges.draw_down(col, 0, n_rows, thin)
    if style == "partial":
        _open_grid(edges, draft, writer)
        return
    if writer.chance(0.3):
        _frame(
            edges,
            n_rows,
            n_cols,
            replace(thin, pattern="double") if writer.chance(0.25) else replace(thick, pattern="solid"),
        )
    if head and writer.chance(0.2):
        edges.draw_across(head, 0, n_cols, replace(thick, pattern="double" if writer.chance(0.3) else "solid"))
    if writer.chance(0.1) and n_cols > 1:
        edges.draw_down(1, 0, n_rows, replace(thin, pattern="double" if writer.chance(0.5) else thin.pattern))


def _open_grid(edges: Edges, draft: Draft, writer: Writer) -> None:
    """Take lines out of a grid: the sides, those of the body, or a few at random."""
    n_rows, n_cols, head = len(draft.rows), len(draft.columns), draft.n_header
    way = writer.pick({"sides": 3, "body_rows": 3, "body_columns": 2, "stub": 2, "random": 1})
    if way == "sides" or writer.chance(0.2):
        for row in range(n_rows):
            edges.down.pop((row, 0), None)
            edges.down.pop((row, n_cols), None)
    if way == "body_rows":
        keep = set(draft.gaps) | {row for row, kind in enumerate(draft.rows) if kind in ("section", "total")}
        for row in range(head + 1, n_rows):
            if row not in keep:
                for col in range(n_cols):
                    edges.across.pop((row, col), None)
    elif way in ("body_columns", "stub"):
        for row in range(head if way == "body_columns" else 0, n_rows):
            for col in range(2 if way == "stub" else 1, n_cols):
                edges.down.pop((row, col), None)
    elif way == "random":
        for kept in (edges.across, edges.down):
            for edge in list(kept):
                if writer.chance(0.08):
                    del kept[edge]


def _horizontal(edges: Edges, draft: Draft, writer: Writer, thin: Rule, thick: Rule) -> None:
    n_rows, n_cols, head = len(draft.rows), len(draft.columns), draft.n_header
    if writer.chance(0.25):
        thin = replace(thin, pattern=writer.choose(["dotted", "dashed"]))  # type: ignore[arg-type]
    for row in range(max(head, 1), n_rows + 1):
        edges.draw_across(row, 0, n_cols, thin)
    if writer.chance(0.6):
        edges.draw_across(0, 0, n_cols, thick if writer.chance(0.6) else thin)
    if head and writer.chance(0.5):
        edges.draw_across(head, 0, n_cols, thick)
    if writer.chance(0.3):
        edges.draw_across(n_rows, 0, n_cols, thick)


def _tabular(edges: Edges, draft: Draft, writer: Writer, thin: Rule) -> None:
    """Draw what LaTeX's tabular offers: lines of one width, single or double, below and beside any row or column."""
    n_rows, n_cols, head = len(draft.rows), len(draft.columns), draft.n_header
    double = replace(thin, pattern="double")
    upright = writer.pick({"all": 4, "stub": 4, "groups": 2, "none": 2})
    stub = next((col for col, kind in enumerate(draft.columns) if kind != "label"), 1) if upright != "none" else 0
    starts = set(range(1, n_cols)) if upright == "all" else {stub} if 0 < stub < n_cols else set()
    if upright == "groups":
        starts |= {side for _, first, end in draft.groups for side in (first, end) if 0 < side < n_cols}
    rare = double if writer.chance(0.12) else thin
    for col in starts:
        edges.draw_down(col, 0, n_rows, rare if upright != "all" or col == stub else thin)
    if upright != "none" and writer.chance(0.45):
        edges.draw_down(0, 0, n_rows, thin)
        edges.draw_down(n_cols, 0, n_rows, thin)
    across = writer.pick({"header": 5, "groups": 4, "all": 2, "none": 0.7})
    if across == "all":
        for row in range(head + 1, n_rows):
            edges.draw_across(row, 0, n_cols, thin)
    elif across == "groups":
        between_groups(edges, draft, thin)
    if writer.chance(0.85):
        outer = double if writer.chance(0.1) else thin
        edges.draw_across(0, 0, n_cols, outer)
        edges.draw_across(n_rows, 0, n_cols, outer)
    if head and across != "none":
        edges.draw_across(head, 0, n_cols, double if writer.chance(0.15) else thin)
    if writer.chance(0.65):
        short = replace(thin, inset=writer.choose_real(0, 0, 3))
        for row, first, end in draft.groups:
            edges.draw_across(row + 1, first, end, short)


def between_groups(edges: Edges, draft: Draft, thin: Rule) -> None:
    """Draw a line above each row of the body that begins a group: whose first cell says something, if not all do."""
    rows = range(draft.n_header, len(draft.rows))
    named = {cell.row for cell in draft.cells if cell.col == 0 and cell.text}
    if all(row in named for row in rows):
        named = {row for row in rows if draft.rows[row] in ("section", "total")}
    for row in named:
        if row > draft.n_header:
            edges.draw_across(row, 0, len(draft.columns), thin)


def _header_groups(edges: Edges, draft: Draft, writer: Writer, thin: Rule, size: float, *, underline: bool) -> None:
    """Draw short rules under headers of several columns, and maybe under single ones."""
    short = replace(thin, inset=size * writer.real((0.05, 0.6)))
    if writer.chance(0.8):
        for row, first, end in draft.groups:
            edges.draw_across(row + 1, first, end, short)
    if underline and draft.n_header and writer.chance(0.6):
        row = draft.n_header
        for cell in draft.cells:
            if (
                cell.row + cell.rowspan == row
                and cell.text
                and draft.columns[cell.col] == "number"
                and cell.colspan == 1
            ):
                edges.draw_across(row, cell.col, cell.col + 1, short)


def _sums(edges: Edges, draft: Draft, writer: Writer, thin: Rule, size: float) -> None:
    """Draw a short rule above each sum, and a double one below the last."""
    short = replace(thin, inset=size * writer.real((0.1, 0.5)))
    final = replace(short, pattern="double") if writer.chance(0.75) else short
    for cell in draft.cells:
        end = cell.col + cell.colspan
        if cell.sum_rule and (cell.row, cell.col) not in edges.across:
            edges.draw_across(cell.row, cell.col, end, short)
        if cell.final_rule and (cell.row + 1, cell.col) not in edges.across:
            edges.draw_across(cell.row + 1, cell.col, end, final)


def _totals(edges: Edges, draft: Draft, writer: Writer, thin: Rule) -> None:
    sections = writer.chance(0.4)
    for row, kind in enumerate(draft.rows):
        if kind == "total" or (kind == "section" and sections and row > draft.n_header):
            edges.draw_across(row, 0, len(draft.columns), thin)
