"""How much two tables look alike: the lines of their columns, the texts of their head."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from postprocess.arrays import Floats
from postprocess.editing.axes import Axis
from postprocess.table import Table

ALIKE = 0.6
"""Tables look alike from this score on."""

_FAR = 0.5
"""Two lines have nothing in common when they are so far apart, as a share of the narrower column beside them."""
_SAME_TEXT = 0.8
"""Texts are the same from this similarity on: the engine reads a letter otherwise."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a table is compared.

    Args:
        cols: ``(C + 1,)`` lines of its columns, from 0 to 1.
        rows: ``(R + 1,)`` lines of its rows, from 0 to 1.
        head: Texts of the cells in its head, or in its first row where nothing is marked as one.
    """

    cols: Floats
    rows: Floats
    head: tuple[str, ...]


def to_shape(table: Table) -> Shape:
    """What of a table is compared.

    Args:
        table: With a place for each cell, one or more.

    >>> from postprocess.editing.placing import complete
    >>> shape = to_shape(complete(Table.from_texts([["Year 2025", ""], ["a", "b"]]), (90, 40)))
    >>> shape.cols.tolist(), shape.head
    ([0.0, 0.5, 1.0], ('year0000', ''))
    """
    n_rows = max(table.n_header_rows, 1)
    head = tuple(plain(cell.text) for cell in table.cells if cell.row < n_rows)
    return Shape(relative_lines(table, "col"), relative_lines(table, "row"), head)


def relative_lines(table: Table, axis: Axis) -> Floats:
    """``(n + 1,)`` positions of lines, 0 at the first and 1 at the last.

    They are compared with those of very many tables, so they are not found as exactly as where lines are edited.

    >>> from postprocess.editing.placing import complete
    >>> relative_lines(complete(Table.from_texts([["a", "b"]]), (40, 20)), "col").tolist()
    [0.0, 0.5, 1.0]
    """
    quads = np.asarray(table.quads)
    before, after = ([0, 3], [1, 2]) if axis == "col" else ([0, 1], [3, 2])
    if axis == "col" and table.direction == "rtl":
        before, after = after, before
    sides = np.stack([quads[:, before].mean(axis=1), quads[:, after].mean(axis=1)])
    places = sides @ (sides[1] - sides[0]).mean(axis=0)
    ends = [[cell.col, cell.end_col] if axis == "col" else [cell.row, cell.end_row] for cell in table.cells]
    index, count = np.array(ends).T, (table.n_cols if axis == "col" else table.n_rows) + 1
    total = np.bincount(index.ravel(), minlength=count)
    lines = np.bincount(index.ravel(), places.ravel(), count) / np.maximum(total, 1)
    known = np.flatnonzero(total)
    lines = np.interp(np.arange(count), known, lines[known])
    length = lines[-1] - lines[0]
    return np.asarray((lines - lines[0]) / length if length else np.linspace(0, 1, count), np.float64)


def likeness(one: Shape, other: Shape) -> float:
    """How much two tables look alike, 0 to 1; 0 where they have other numbers of columns.

    >>> shape = Shape(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0]), ("name", "age"))
    >>> likeness(shape, shape), likeness(shape, Shape(np.array([0.0, 1.0]), shape.rows, ("name",)))
    (1.0, 0.0)
    """
    columns = agreement(one.cols, other.cols)
    if not columns:
        return 0.0
    pairs = [pair for pair in zip(one.head, other.head, strict=False) if any(pair)]
    if not pairs or len(one.head) != len(other.head):
        return round(columns * (1.0 if not pairs else 0.5), 3)
    heads = float(np.mean([_similar(*pair) for pair in pairs]))
    return round((columns + heads) / 2, 3)


def agreement(one: Floats, other: Floats) -> float:
    """How well lines agree, 0 to 1; 0 where there are more of one.

    >>> agreement(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.625, 1.0])) < 1
    True
    """
    if len(one) != len(other) or not (np.isfinite(one).all() and np.isfinite(other).all()):
        return 0.0
    widths = np.minimum(np.diff(one), np.diff(other))
    beside = np.minimum(np.append(widths, np.inf), np.append(np.inf, widths))
    return float(1 - (np.abs(one - other) / np.maximum(_FAR * beside, 1e-9)).clip(0, 1).mean())


def plain(text: str) -> str:
    """A text without blanks and case, all of whose digits are the same: years and page numbers change."""
    return re.sub(r"\d", "0", re.sub(r"\s", "", text.casefold()))


def _similar(one: str, other: str) -> float:
    if one == other:
        return 1.0
    ratio = SequenceMatcher(None, one, other, autojunk=False).ratio()
    return ratio if ratio >= _SAME_TEXT else 0.0
