"""How well a finished grid explains what a picture shows: its words, its lines, and nothing besides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from postprocess.arrays import Flags, Floats, Ints
from postprocess.candidates.evidence import cut_share, explained_share
from postprocess.candidates.scene import Scene
from postprocess.grid.layout import Layout
from postprocess.odds import weigh
from postprocess.word import Words

_SAME_LINE = 0.5
"""Words whose middles are closer than this, in heights of the tallest, are side by side."""
_NEAR = 0.35
"""A border follows a ruling closer than this, in text heights."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Shares from 0 to 1, the larger the better.

    Args:
        separated: Text that lies in a cell, with no wide gap and no second number of a column beside it.
        uncut: Words that no border cuts; weighs nothing, but parts grids of equal score.
        followed: Length of the rulings that borders follow.
        filled: Cells that hold words; as ``uncut``.
        used: Rows and columns in which a cell of their own holds words.
        single: Cells with words that hold one line of text.
        shared: Rows with words that hold them in more than one cell.
        rows: Agreement of the rows with those of other grids of the same words, see ``agreement``.
        columns: The same of the columns.
    """

    separated: float
    uncut: float
    followed: float
    filled: float
    used: float
    single: float
    shared: float
    rows: float = 1.0
    columns: float = 1.0

    @property
    def score(self) -> float:
        """Weighted mean of the shares, 0 to 1, to compare grids of the same words by.

        >>> round(Explanation(1, 1, 1, 1, 1, 1, 1).score, 9)
        1.0
        """
        return weigh(self, _WEIGHTS)


# Printed by `python -m tests.benchmarks.candidates.fit_explanation`.
_WEIGHTS = Explanation(
    separated=0.09,
    uncut=0.00,
    followed=0.02,
    filled=0.00,
    used=0.35,
    single=0.09,
    shared=0.11,
    rows=0.19,
    columns=0.15,
)
"""Sum 1; fitted so that of two grids of one table the better one has the higher score."""


def explain(layout: Layout, scene: Scene, agreed: tuple[float, float] = (1.0, 1.0)) -> Explanation:
    """Compare a grid with the words and rulings of its part of the picture.

    Args:
        layout: Rows, columns and spans.
        scene: The words that a table here should hold, and the rulings of the picture.
        agreed: Shares ``rows`` and ``columns``, where there are other grids.

    Returns:
        All shares; 0 for an empty grid.

    >>> from postprocess.geometry.boxes import boxes_to_quads
    >>> from postprocess.geometry.frame import UPRIGHT
    >>> from postprocess.geometry.rulings import Rulings
    >>> from postprocess.word import Word
    >>> places = boxes_to_quads([[5, 5, 15, 15], [5, 25, 15, 35]]).tolist()
    >>> scene = Scene([Word("5", places[0]), Word("7", places[1])], Rulings(*2 * [np.zeros((0, 4))], 0, (0, 0), 10))
    >>> one = Layout(np.array([0.0, 40]), np.array([0.0, 20]), UPRIGHT, np.array([[0]]))
    >>> two = Layout(np.array([0.0, 20, 40]), np.array([0.0, 20]), UPRIGHT, np.array([[0], [1]]))
    >>> [explain(layout, scene).separated for layout in (one, two)]
    [0.0, 1.0]
    """
    if not layout.owner.size:
        return Explanation(*[0.0] * 9)
    cell = layout.cells_at(scene.words.middles)
    holds = np.zeros(len(layout.spans), bool)
    holds[cell[cell >= 0]] = True
    return Explanation(
        separated=explained_share(layout, scene),
        uncut=1 - cut_share(layout, scene),
        followed=_followed_share(layout, scene),
        filled=float(holds.mean()),
        used=_used_share(layout, holds),
        single=_single_share(cell, scene),
        shared=_shared_share(layout, holds),
        rows=agreed[0],
        columns=agreed[1],
    )


def agreement(ours: Sequence[Layout], theirs: Sequence[Layout], words: Words) -> tuple[float, float]:
    """How far the tables of two detectors have the same rows and the same columns, 0 to 1.

    The mean of two shares: words that follow one another downwards (to the right) between which both begin a
    new row (column), and the ratio of the numbers of rows (columns).

    Args:
        ours: Grids of one detector, one a table.
        theirs: Grids of another one at the same place.
        words: Words there.

    >>> from postprocess.geometry.frame import UPRIGHT
    >>> one = Layout(np.array([0.0, 40]), np.array([0.0, 20]), UPRIGHT, np.array([[0]]))
    >>> two = Layout(np.array([0.0, 20, 40]), np.array([0.0, 20]), UPRIGHT, np.array([[0], [1]]))
    >>> agreement([two], [two], Words()), agreement([one], [two], Words())
    ((1.0, 1.0), (0.75, 1.0))
    """
    middles = words.middles
    a, b = bands_at(ours, middles), bands_at(theirs, middles)
    shares = []
    for axis in (0, 1):
        order = np.argsort(middles[:, 1 - axis], kind="stable")
        steps = [np.diff(bands[order, axis]) != 0 for bands in (a, b)]
        both, each = int((steps[0] & steps[1]).sum()), int(steps[0].sum() + steps[1].sum())
        counts = [sum(layout.owner.shape[axis] for layout in layouts) for layouts in (ours, theirs)]
        ratio = min(counts) / max(counts) if max(counts) else 1.0
        shares.append(((2 * both / each if each else 1.0) + ratio) / 2)
    return shares[0], shares[1]


def bands_at(layouts: Sequence[Layout], points: Floats) -> Ints:
    """``(P, 2)`` where the cell at each of ``(P, 2)`` points begins, counted on over the tables, -1 outside.

    Args:
        layouts: One a table.
        points: In pixels of the picture.
    """
    bands = np.full((len(points), 2), -1, np.int64)
    before = np.zeros(2, np.int64)
    for layout in layouts:
        cells = layout.cells_at(points)
        bands[cells >= 0] = layout.spans[cells[cells >= 0], :2] + before
        before += layout.owner.shape
    return bands


def _used_share(layout: Layout, holds: Flags) -> float:
    """Share of the rows and columns in which a cell with words lies that spans no other row or column."""
    filled = layout.spans[holds]
    rows, cols = (filled[filled[:, axis + 2] - filled[:, axis] == 1, axis] for axis in (0, 1))
    return (len(np.unique(rows)) + len(np.unique(cols))) / sum(layout.owner.shape)


def _single_share(cell: Ints, scene: Scene) -> float:
    """Share of the cells with words in which all words are side by side."""
    inside = cell >= 0
    if not inside.any():
        return 0.0
    middle, height = (each[inside] for each in scene.heights)
    _, owner = np.unique(cell[inside], return_inverse=True)
    n = int(owner.max()) + 1
    low, high, size = np.full(n, np.inf), np.full(n, -np.inf), np.zeros(n)
    np.minimum.at(low, owner, middle)
    np.maximum.at(high, owner, middle)
    np.maximum.at(size, owner, height)
    return float((high - low < _SAME_LINE * size).mean())


def _shared_share(layout: Layout, holds: Flags) -> float:
    """Share of the rows with words in which several cells hold some."""
    counts = np.bincount(layout.spans[holds, 0])
    return float((counts[counts > 0] > 1).mean()) if holds.any() else 0.0


def _followed_share(layout: Layout, scene: Scene) -> float:
    """Share of the rulings inside the grid along which a border runs; 1 where there are none."""
    near = _NEAR * scene.rulings.text_height
    points = layout.frame.to_upright(scene.ruling_points)
    y, x = points[:, 1], points[:, 0]
    rows, cols = layout.row_lines, layout.col_lines
    inside = (y > rows[0] - near) & (y < rows[-1] + near) & (x > cols[0] - near) & (x < cols[-1] + near)
    if not inside.any():
        return 1.0
    owner = np.pad(layout.owner, 1, constant_values=-1)
    across = _is_border(owner, rows, cols, y[inside], x[inside], near)
    down = _is_border(owner.T, cols, rows, x[inside], y[inside], near)
    return float((across | down).mean())


def _is_border(owner: Ints, lines: Floats, crossing: Floats, at: Floats, along: Floats, near: float) -> Flags:
    """``(P,)`` whether points lie near a line where it parts two cells.

    Args:
        owner: ``(L + 1, C + 1)`` cell before and behind each line, outside -1.
        lines: ``(L,)`` positions.
        crossing: ``(C,)`` positions of the lines of the other axis.
        at: ``(P,)`` positions of the points across the lines.
        along: ``(P,)`` positions along them.
        near: Distance that counts as near.
    """
    slot = np.clip(np.searchsorted(crossing, along), 1, len(crossing) - 1)
    behind = np.searchsorted(lines, at)
    found = np.zeros(len(at), bool)
    for line in (behind - 1, behind):
        known = np.clip(line, 0, len(lines) - 1)
        found |= (np.abs(at - lines[known]) <= near) & (owner[known, slot] != owner[known + 1, slot])
    return found
