"""Tables that go on over several pages: told by their columns, and joined.

Lines of columns are compared in widths of the columns beside them. A scan may lie elsewhere on each page, so
where both tables have as many columns their outlines are laid on each other first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from postprocess.arrays import Floats
from postprocess.captions.evidence import table_number
from postprocess.cell import Caption, Cell, Confidence, shift
from postprocess.errors import TableError
from postprocess.geometry.boxes import quads_to_boxes
from postprocess.meaning.headers import mark_headers
from postprocess.table import Table, fill_holes
from postprocess.text.numbers import EMPTY, NUMBER, text_to_kind

JOIN_SCORE = 0.6
"""Tables are one from this score of ``continuation`` on."""

_NEAR = 0.35
"""Two lines are the same when they are closer than this share of the narrower column beside them."""
_NO_HEADER = 0.7
"""What the header rows say, 0 to 1, where the second part has none; repeated ones say 1."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """How the part of a table on one page goes on from the part before.

    Args:
        score: How sure it is that both are one table, 0 to 1; 0 where their columns or header rows differ.
        first_col: The column of the part before that this part's first one is.
        n_repeated: Number of header rows that this part repeats from the one before.
    """

    score: float
    first_col: int = 0
    n_repeated: int = 0


_NONE = Continuation(0.0)


def continuation(above: Table, below: Table) -> Continuation:
    """Judge whether a table goes on in another one, the first of the next page.

    Args:
        above: The table that may go on, with quads.
        below: The first table of a later page, with quads in pixels of a picture of the same scale.

    Returns:
        The score, and where ``below`` begins in ``above``. The first or last columns may be missing in it, as where
        they have no text on a page.

    >>> def row(y, *texts):
    ...     return [Cell(0, c, text=t, quad=((c * 50, y), (c * 50 + 50, y), (c * 50 + 50, y + 9), (c * 50, y + 9)))
    ...             for c, t in enumerate(texts)]
    >>> above, below = Table(row(700, "Tea", "1.50")), Table(row(40, "Milk", "2.75"))
    >>> continuation(above, below).score, continuation(above, Table(row(40, "a", "b", "c"))).score
    (0.85, 0.0)
    """
    if not len(above) or not len(below):
        return _NONE
    below = _like(below, above)
    first_col, agreement = _match_lines(column_lines(above), column_lines(below))
    n_repeated = _repeated_rows(above, below)
    if not agreement or (below.n_header_rows and not n_repeated) or _has_other_number(above, below):
        return _NONE
    kinds = _same_kinds(above, below, first_col, n_repeated)
    return Continuation(agreement * (kinds + (1.0 if n_repeated else _NO_HEADER)) / 2, first_col, n_repeated)


def join_tables(parts: Sequence[Table]) -> Table:
    """One table of the parts of a table on consecutive pages.

    Header rows that a part repeats are kept once, and so are notes; the title is that of the first part. The parts
    lie in different pictures, so cells, title and notes of the result have no quads.

    Args:
        parts: At least one table; each of the others continues the first, see ``continuation``.

    Returns:
        All their rows, with headers marked anew; a single part as it is. It is as sure as all its parts together,
        where each has a confidence: the rows as they were, a column as its least sure part.

    Raises:
        TableError: A part does not continue the first.
    """
    whole, *others = (_like(part, parts[0]) for part in parts)
    if not others:
        return whole
    places = [_Place(whole, 0, _NONE)]
    n_rows = whole.n_rows
    for part in others:
        going_on = continuation(whole, part)
        if not going_on.score:
            raise TableError("the tables have other columns or header rows: continuation() tells which go together")
        places.append(_Place(part, n_rows, going_on))
        n_rows += part.n_rows - going_on.n_repeated
    cells = [cell for place in places for cell in place.cells()]
    joined = mark_headers(Table(fill_holes(cells), direction=whole.direction).moved(None))
    notes = {note.text: replace(note, quad=None) for part in parts for note in part.notes}
    title = whole.title and replace(whole.title, quad=None)
    return replace(joined, confidence=_joined_confidence(places), title=title, notes=tuple(notes.values()))


def _like(part: Table, first: Table) -> Table:
    """The part with its columns counted as in the first one: a page of numbers alone does not say where they begin."""
    return part if part.direction == first.direction else part.mirrored()


class _Place(NamedTuple):
    """Where a part begins in the whole."""

    part: Table
    n_rows: int
    going_on: Continuation

    def cells(self) -> list[Cell]:
        down, right = self.n_rows - self.going_on.n_repeated, self.going_on.first_col
        return [shift(cell, down, right) for cell in self.part.cells if cell.row >= self.going_on.n_repeated]


def _joined_confidence(places: Sequence[_Place]) -> Confidence | None:
    sure = [(place, place.part.confidence) for place in places if place.part.confidence is not None]
    if len(sure) < len(places):
        return None
    cols = np.ones(places[0].part.n_cols)
    for place, each in sure:
        own = slice(place.going_on.first_col, place.going_on.first_col + len(each.cols))
        cols[own] = np.minimum(cols[own], each.cols)
    number, (_, weakest) = min(enumerate(sure, 1), key=lambda item: item[1][1].table)
    return Confidence(
        table=float(np.prod([each.table for _, each in sure])),
        rows=tuple(value for place, each in sure for value in each.rows[place.going_on.n_repeated :]),
        cols=tuple(cols.tolist()),
        weakest=f"part {number}, {weakest.weakest}",
    )


def _has_other_number(above: Table, below: Table) -> bool:
    """Whether the titles of both tables say that they are Table 1 and Table 2."""
    ours, theirs = (_number_of(table.title) for table in (above, below))
    return ours is not None and theirs is not None and ours != theirs


def _number_of(title: Caption | None) -> str | None:
    return None if title is None else table_number(title.text)


def group_parts(pages: Sequence[Sequence[Table]]) -> list[list[Table]]:
    """The parts of each table of a document: the last table of a page with the first of the next where they are one.

    Args:
        pages: Tables of each page from top to bottom.

    Returns:
        For each table its parts, in reading order; give them to ``join_tables``.

    >>> group_parts([[Table.from_texts([["a"]])], [], [Table.from_texts([["b"]])]])
    [[Table(1 rows x 1 columns, 1 cells)], [Table(1 rows x 1 columns, 1 cells)]]
    """
    found: list[list[Table]] = []
    for number, tables in enumerate(pages):
        for index, table in enumerate(tables):
            is_next = index == 0 and number > 0 and len(pages[number - 1]) > 0
            if is_next and continuation(found[-1][0], table).score >= JOIN_SCORE:
                found[-1].append(table)
            else:
                found.append([table])
    return found


def column_lines(table: Table) -> Floats:
    """``(C + 1,)`` middle position of the lines between the columns, in pixels; NaN where no cell with a quad ends.

    Positions grow with the columns: of a table that runs from right to left they are negative.
    """
    cells = [cell for cell in table.cells if cell.quad]
    boxes = quads_to_boxes(table.quads)
    line = np.array([[cell.col, cell.end_col] for cell in cells], np.int64).reshape(-1, 2)
    ends = boxes[:, [0, 2]] if table.direction == "ltr" else -boxes[:, [2, 0]]
    return np.array([_median(ends[line == number]) for number in range(table.n_cols + 1)])


def _median(values: Floats) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def _match_lines(above: Floats, below: Floats) -> tuple[int, float]:
    """The line above that the first line below is, and how well all agree, 0 to 1; 0 where one has no counterpart."""
    if not (np.diff(above) > 0).all() or not (np.diff(below) > 0).all():  # NaN too
        return 0, 0.0
    if len(above) == len(below):
        below = above[0] + (below - below[0]) * (above[-1] - above[0]) / (below[-1] - below[0])
    first = int(np.abs(above - below[0]).argmin())
    same = above[first : first + len(below)]
    if len(same) < len(below):
        return 0, 0.0
    width = np.diff(below)
    room = np.minimum(np.append(width[:1], width), np.append(width, width[-1:]))
    off = np.abs(same - below) / (_NEAR * room)
    return first, float(1 - off.mean()) if off.max() < 1 else 0.0


def _repeated_rows(above: Table, below: Table) -> int:
    """Number of rows at the top of both tables that hold the same texts at the same places."""
    depth = max(above.n_header_rows, 1)
    if depth >= below.n_rows or above.n_cols != below.n_cols:
        return 0
    head, again = (
        [(c.row, c.col, c.end_col, _plain(c.text)) for c in t.cells if c.row < depth] for t in (above, below)
    )
    labels = [text for *_, text in head if text]
    return depth if head == again and len(labels) > 1 else 0


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()


def _same_kinds(above: Table, below: Table, first_col: int, n_repeated: int) -> float:
    """Share of the columns with values in both tables that hold numbers in both, or texts in both; 1 without any."""
    same = []
    for col in range(below.n_cols):
        ours = _number_share(above, first_col + col, above.n_header_rows)
        theirs = _number_share(below, col, n_repeated)
        if ours is not None and theirs is not None:
            same.append(1 - abs(ours - theirs))
    return float(np.mean(same)) if same else 1.0


def _number_share(table: Table, col: int, first: int) -> float | None:
    kinds = [text_to_kind(table[row, col].text) for row in range(first, table.n_rows) if table[row, col].colspan == 1]
    filled = [kind for kind in kinds if kind != EMPTY]
    return sum(kind >= NUMBER for kind in filled) / len(filled) if filled else None
