"""Column headers of several levels, and what many tables share."""

from __future__ import annotations

from collections.abc import Callable

from tablerec.synth.content.texts import Writer
from tablerec.synth.draft import ColumnKind, Draft, DraftCell
from tablerec.synth.recipe import Recipe


def choose_size(writer: Writer, recipe: Recipe) -> tuple[int, int]:
    """Return numbers of rows and columns within the bounds of the recipe; small ones come more often."""
    low, high = recipe.rows
    n_rows = int(low + (high - low + 0.99) * writer.rng.random() ** 1.5)
    low, high = recipe.columns
    n_cols = int(low + (high - low + 0.99) * writer.rng.random() ** 1.2)
    n_rows = max(n_rows, -(-int(recipe.cells[0]) // n_cols))
    return max(1, min(n_rows, int(recipe.cells[1]) // n_cols)), n_cols


def add_headers(
    draft: Draft,
    writer: Writer,
    levels: int,
    first_col: int,
    leaf: Callable[[int], str],
    group: Callable[[], str],
    stubs: list[str],
) -> None:
    """Add header rows: groups of columns above single ones, some columns without a group.

    Args:
        draft: Has no rows yet.
        writer: Writes.
        levels: Number of header rows, at least 1.
        first_col: First column with a value.
        leaf: Text above a single column, by its place in its group.
        group: Text above several.
        stubs: Texts above the columns before ``first_col``; may be empty.
    """
    for _ in range(levels):
        draft.add_row("header")
    for col, text in enumerate(stubs[:first_col]):
        draft.put(DraftCell(0, col, text, rowspan=levels, kind="column"))
    size = writer.whole((2, 4)) if writer.chance(0.6) else 0
    _add_level(draft, writer, 0, levels, first_col, len(draft.columns), leaf, group, size)


def _add_level(
    draft: Draft,
    writer: Writer,
    row: int,
    levels: int,
    first: int,
    end: int,
    leaf: Callable[[int], str],
    group: Callable[[], str],
    size: int,
) -> None:
    col = first
    while col < end:
        width = min(size or writer.whole((1, 4)), end - col)
        if row == levels - 1 or width == 1 or end - first == 1:
            draft.put(DraftCell(row, col, leaf(col - first), rowspan=levels - row, kind="column"))
            col += 1
            continue
        put_group(draft, row, col, width, group())
        _add_level(draft, writer, row + 1, levels, col, col + width, leaf, group, 0 if writer.chance(0.3) else 1)
        col += width


def put_group(draft: Draft, row: int, col: int, width: int, text: str) -> None:
    """Place a header over several columns."""
    draft.put(DraftCell(row, col, text, colspan=width, kind="column", align="center"))
    draft.groups.append((row, col, col + width))


def put_section(draft: Draft, writer: Writer, text: str, *, spans: float, gap: bool) -> int:
    """Add a row that names the rows below it; it covers the whole table as often as ``spans`` says."""
    row = draft.add_row("section", gap=gap)
    first = next((index for index, kind in enumerate(draft.columns) if kind in ("label", "text", "long")), 0)
    if writer.chance(spans):
        align = "center" if writer.chance(0.25) else "left"
        draft.put(DraftCell(row, 0, text, colspan=len(draft.columns), kind="section", align=align))  # type: ignore[arg-type]
    else:
        draft.put(DraftCell(row, first, text, kind="section"))
    return row


def empty_columns(draft: Draft, writer: Writer, recipe: Recipe) -> set[int]:
    """Return the columns that stay empty below the header."""
    return {
        col for col, kind in enumerate(draft.columns) if kind != "label" and col and writer.chance(recipe.empty_columns)
    }


def columns_of(label: int, number: int) -> list[ColumnKind]:
    """Return kinds of columns: labels, then numbers.

    >>> columns_of(1, 2)
    ['label', 'number', 'number']
    """
    kinds: list[ColumnKind] = ["label"] * label
    return kinds + ["number"] * number
