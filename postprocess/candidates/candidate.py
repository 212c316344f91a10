"""A table as one detector sees it: what is handed on from the detectors to the rating."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import shapely
from numpy.typing import ArrayLike

from postprocess.arrays import Flags, Floats, Ints
from postprocess.candidates.contents import Contents
from postprocess.candidates.explanation import Explanation
from postprocess.candidates.scene import Scene
from postprocess.cell import Cell, Quad
from postprocess.geometry.boxes import (
    array_to_quad,
    as_quads,
    boxes_to_quads,
    count_in_spans,
    drop_unused_lines,
    spans_to_boxes,
)
from postprocess.geometry.lattice import RuledArea
from postprocess.grid.build import Grid, boxes_to_grid, quads_to_grid
from postprocess.grid.layout import Layout, grid_to_layout, spans_to_layout
from postprocess.lineless.gaps import LinelessArea
from postprocess.table import Table

Origin = Literal["ruled", "text", "network"]
"""What the lines of a grid come from: rulings, words and the gaps between them, or a network's cells."""

_ENCLOSED = 0.95
"""Rulings that enclose their cells this well leave no doubt: their spans stay, and cells may be empty."""
_OPEN = 0.5
"""Rulings that draw less than this of a side leave a cell open: it may be several beside a frame."""
_TEXT_SCORE = 0.5
"""Score of cells that are only inferred from words."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A detected cell that is not in the grid, and why."""

    quad: Quad
    score: float
    reason: str


@dataclass(frozen=True, eq=False)
class Candidate:
    """A grid with its cells.

    Args:
        layout: Rows, columns and spans; complete, so that a slot where nothing was detected is a cell too.
        quads: ``(N, 4, 2)`` corners of the cells of the layout, in pixels: where one was detected, as it was.
        scores: ``(N,)`` how sure the detector is of each cell, 0 to 1; NaN where nothing was detected.
        alignment: ``(N,)`` how well each detected cell agrees with the lines, 0 to 1, else NaN.
        origin: What the lines come from.
        detector: Name of the detector.
        dropped: Detected cells outside the grid.
        scene: The words whose middle lies in the hull of the detected cells, and the rulings; None where the
            detector had none.
        explanation: How well the grid explains its scene, where candidates were compared.
        rivals: What other detectors found in the same place: the more they agree, the surer the table.
    """

    layout: Layout
    quads: Floats
    scores: Floats
    alignment: Floats
    origin: Origin
    detector: str
    dropped: tuple[Dropped, ...] = ()
    scene: Scene | None = None
    explanation: Explanation | None = None
    rivals: tuple[Candidate, ...] = ()

    @cached_property
    def is_detected(self) -> Flags:
        """``(N,)`` which cells the detector saw; the others complete the grid."""
        return ~np.isnan(self.scores)

    @cached_property
    def hull(self) -> shapely.Geometry:
        """Convex hull of the detected cells, in pixels."""
        return shapely.convex_hull(shapely.multipoints(self.detected_quads.reshape(-1, 2)))

    @cached_property
    def contents(self) -> Contents:
        """What of the scene lies in the rows, columns and cells."""
        assert self.scene is not None
        return Contents(self.layout, self.scene)

    @property
    def detected_quads(self) -> Floats:
        """``(M, 4, 2)`` detected cells of the grid, in pixels."""
        return np.asarray(self.quads[self.is_detected], np.float64)

    @property
    def top(self) -> float:
        """Height of the topmost corner in the picture."""
        return float(self.detected_quads[..., 1].min(initial=np.inf))

    @property
    def is_enclosed(self) -> bool:
        """Whether all cells are ruled on all sides, and those over several rows so that nothing else can part them."""
        if self.origin != "ruled" or len(self.scores) < 2 or not self.scores.mean() > _ENCLOSED:
            return False
        is_tall = self.layout.spans[:, 2] - self.layout.spans[:, 0] > 1
        return bool(np.nanmin(self.scores[is_tall], initial=1.0) > _OPEN)

    def in_scene(self, picture: Scene) -> Candidate:
        """The candidate with its words.

        Args:
            picture: All words and rulings of the picture.
        """
        return replace(self, scene=picture.inside(self.detected_quads))

    def with_layout(self, layout: Layout) -> Candidate:
        """The candidate with other spans or rows: cells that stay are as they were, others as the layout draws them.

        The very same where nothing is other in the layout.

        Args:
            layout: What became of this candidate's; rows and columns may be joined or parted.

        >>> from postprocess.geometry.boxes import boxes_to_quads
        >>> one = quads_to_candidate(boxes_to_quads([[0, 0, 9, 9], [0, 9, 9, 18], [0, 18, 9, 27]]), [1.0, 0.5, 0.9])
        >>> one.with_layout(one.layout.rows_joined(0, 2)).scores.round(3).tolist()  # a new cell has the mean score
        [0.8, 0.9]
        """
        before = self.layout
        lines_before, lines = ((each.row_lines, each.col_lines) for each in (before, layout))
        if np.array_equal(layout.owner, before.owner) and all(map(np.array_equal, lines, lines_before)):
            return self
        top, left = (np.searchsorted(old, new, "right") - 1 for old, new in zip(lines_before, lines, strict=True))
        bottom, right = (np.searchsorted(old, new) for old, new in zip(lines_before, lines, strict=True))
        row, col, end_row, end_col = layout.spans.T
        below = np.column_stack([top[row], left[col], bottom[end_row], right[end_col]])
        covers = count_in_spans(self.is_detected[before.owner], below) > 0
        quads = layout.quads.copy()
        scores = np.where(covers, self.scores[self.is_detected].mean(), np.nan)
        alignment = np.where(covers, 1.0, np.nan)
        old = {place: index for index, place in enumerate(_places(before)) if self.is_detected[index]}
        kept = [(new, old[place]) for new, place in enumerate(_places(layout)) if place in old]
        new, same = np.array(kept, np.int64).reshape(-1, 2).T
        quads[new], scores[new], alignment[new] = self.quads[same], self.scores[same], self.alignment[same]
        # As where a grid is inferred, a row or column in which no detected cell starts is none.
        spans, ys, xs = drop_unused_lines(layout.spans[covers], layout.row_lines, layout.col_lines)
        if (len(ys), len(xs)) != (len(layout.row_lines), len(layout.col_lines)):
            layout = spans_to_layout(ys, xs, layout.frame, spans)
        cells = layout.owner[spans[:, 0], spans[:, 1]]
        changed = _candidate(
            layout, cells, quads[covers], scores[covers], alignment[covers], self.origin, self.detector
        )
        return replace(changed, dropped=self.dropped, scene=self.scene, rivals=self.rivals)

    def shifted(self, by: tuple[float, float]) -> Candidate:
        """The candidate in a larger picture, of which its own picture is the part that begins at a point.

        The words and rulings of the part say nothing of the whole.
        """
        dropped = tuple(replace(each, quad=array_to_quad(np.array(each.quad) + by)) for each in self.dropped)
        rivals = tuple(rival.shifted(by) for rival in self.rivals)
        layout = self.layout.shifted(by)
        return replace(self, layout=layout, quads=self.quads + by, dropped=dropped, rivals=rivals, scene=None)

    def to_table(self) -> Table:
        """The cells without texts.

        >>> from postprocess.geometry.boxes import boxes_to_quads
        >>> table = quads_to_candidate(boxes_to_quads([[0, 0, 10, 10], [10, 10, 20, 20]])).to_table()
        >>> table.shape, [cell.detector_score for cell in table.cells]
        ((2, 2), [1.0, None, None, 1.0])
        """
        detected = zip(self.scores.tolist(), self.alignment.tolist(), self.is_detected.tolist(), strict=True)
        cells = [
            Cell(
                row, col, end_row - row, end_col - col,
                quad=((ax, ay), (bx, by), (cx, cy), (dx, dy)),
                detector_score=score if is_detected else None,
                alignment_score=alignment if is_detected else None,
            )
            for (row, col, end_row, end_col), (ax, ay, bx, by, cx, cy, dx, dy), (score, alignment, is_detected) in zip(
                self.layout.spans.tolist(), self.quads.reshape(-1, 8).tolist(), detected, strict=True
            )
        ]  # fmt: skip
        return Table(cells, self.layout.outline)


def quads_to_candidate(
    quads: ArrayLike, scores: ArrayLike | None = None, detector: str = "", origin: Origin = "network"
) -> Candidate:
    """Infer the grid of detected cells.

    Args:
        quads: ``(N, 4, 2)`` cells in pixels.
        scores: ``(N,)`` how sure the detector is of each, 0 to 1; 1 where None.
        detector: Name of the detector.
        origin: What the cells come from.
    """
    corners = as_quads(quads)
    sure = np.ones(len(corners)) if scores is None else np.asarray(scores, np.float64)
    return _grid_to_candidate(quads_to_grid(corners, sure), corners, sure, origin, detector)


def area_to_candidate(area: RuledArea | LinelessArea, scene: Scene) -> Candidate:
    """The grid of an area whose lines and spans are known; lines that are closer than the noise are one.

    Args:
        area: What rulings enclose, or what words and gaps tell.
        scene: All words and rulings of the picture.
    """
    if isinstance(area, RuledArea):
        area = _open_cells_parted(area, scene)
    boxes = spans_to_boxes(area.spans, area.xs, area.ys)
    if isinstance(area, RuledArea):
        grid = boxes_to_grid(boxes, area.scores, scene.rulings)
        return _grid_to_candidate(grid, area.quads, area.scores, "ruled", "rulings").in_scene(scene)
    scores = np.full(len(boxes), _TEXT_SCORE)
    grid = boxes_to_grid(boxes, scores, area.frame)
    return _grid_to_candidate(grid, area.quads, scores, "text", "words").in_scene(scene)


def _open_cells_parted(area: RuledArea, scene: Scene) -> RuledArea:
    """Part cells beside a frame, which no ruling closes, at its rows where each row has words there."""
    tall = np.flatnonzero((area.spans[:, 2] - area.spans[:, 0] > 1) & (area.scores < _OPEN))
    parts = [
        (index, [(row, col, row + 1, end_col) for row in range(top, bottom)])
        for index, (top, col, bottom, end_col) in zip(tall.tolist(), area.spans[tall].tolist(), strict=True)
        if _each_row_has_words(area, scene.boxes, top, col, bottom, end_col)
    ]
    if not parts:
        return area
    opened = [index for index, _ in parts]
    more = np.array([span for _, spans in parts for span in spans], np.int64)
    scores = np.repeat(area.scores[opened], [len(spans) for _, spans in parts])
    quads = scene.rulings.to_picture(boxes_to_quads(spans_to_boxes(more, area.xs, area.ys)))
    return replace(
        area,
        quads=np.concatenate([np.delete(area.quads, opened, axis=0), quads]),
        scores=np.concatenate([np.delete(area.scores, opened), scores]),
        spans=np.concatenate([np.delete(area.spans, opened, axis=0), more]),
    )


def _each_row_has_words(area: RuledArea, words_xyxy: Floats, top: int, col: int, bottom: int, end_col: int) -> bool:
    """Whether words stand in each of several rows of a cell."""
    x, y = (words_xyxy[:, :2] + words_xyxy[:, 2:]).T / 2
    row = np.searchsorted(area.ys, y[(x > area.xs[col]) & (x < area.xs[end_col])]) - 1
    return set(range(top, bottom)) <= set(row.tolist())


def _grid_to_candidate(grid: Grid, quads: Floats, scores: Floats, origin: Origin, detector: str) -> Candidate:
    layout = grid_to_layout(grid)
    cells = layout.owner[grid.spans[:, 0], grid.spans[:, 1]]
    found = _candidate(layout, cells, quads[grid.kept], scores[grid.kept], grid.alignment, origin, detector)
    dropped = tuple(Dropped(array_to_quad(quads[index]), float(scores[index]), why) for index, why in grid.dropped)
    return replace(found, dropped=dropped)


def _candidate(
    layout: Layout, cells: Ints, quads: Floats, scores: Floats, alignment: Floats, origin: Origin, detector: str
) -> Candidate:
    """Cells of a layout with what was detected in some of them."""
    corners = layout.quads.copy()
    corners[cells] = quads
    sure, aligned = np.full((2, len(corners)), np.nan)
    sure[cells], aligned[cells] = scores, alignment
    return Candidate(layout, corners, sure, aligned, origin, detector)


def _places(layout: Layout) -> list[tuple[float, ...]]:
    """Where each cell is, whatever the numbers of the rows and columns."""
    return list(map(tuple, spans_to_boxes(layout.spans, layout.col_lines, layout.row_lines).tolist()))
