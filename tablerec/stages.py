"""Every stage of one picture, kept on request and drawable: where did a wrong table go wrong?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Image
from postprocess.candidates.candidate import Candidate
from postprocess.candidates.trace import TableTrace
from postprocess.cell import Cell
from postprocess.geometry.boxes import boxes_to_quads, quads_to_array, quads_to_boxes
from postprocess.table import Table
from postprocess.word import Words
from tablerec.errors import SettingsError
from tablerec.outputs.overlay import CAPTION, CELL, DROPPED, HEADER, SPANNING, UNPLACED, WHITE, Color

if TYPE_CHECKING:
    from postprocess.geometry.rulings import Rulings

STAGES = ("words", "rulings", "candidates", "quads", "boxes", "lines", "spans", "texts", "roles", "scores")
"""In the order in which they happen; each is drawn over the faded picture."""

_SIDE = 760
"""Longer side of a panel in pixels."""
_TITLE = 26
"""Height of its title."""
_ACROSS = 3
"""Panels side by side on a sheet of all stages."""
_FADE = 0.45
"""Opacity of the picture below what is drawn."""
_PALETTE: tuple[Color, ...] = (CELL, SPANNING, HEADER, UNPLACED, (160, 120, 0), (90, 60, 160))

Panel = tuple[str, Image]
"""A title, and ``(H, W, 3)`` uint8 BGR."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture that a notebook shows by itself.

    Args:
        image: ``(H, W, 3)`` uint8, BGR.
    """

    image: Image

    def _repr_png_(self) -> bytes:
        import cv2

        return bytes(cv2.imencode(".png", self.image)[1])


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What each stage made of one picture: ``page.trace``, where ``Settings.trace`` asked for it.

    As the last line of a notebook's cell it shows all stages on one sheet; ``show("lines")`` shows one.

    Args:
        image: The picture as it was read, upright.
        words: The words that were sure enough.
        tables: One for each table.
    """

    image: Image
    words: Words
    tables: tuple[TableTrace, ...]

    @property
    def rulings(self) -> Rulings | None:
        """Lines of the picture; None where no table was found."""
        scenes = (table.chosen.scene for table in self.tables)
        return next((scene.rulings for scene in scenes if scene is not None), None)

    def show(self, stage: str) -> Drawing:
        """Draw one stage; the candidates two by two.

        Args:
            stage: One of ``STAGES``.

        Raises:
            SettingsError: No such stage.

        >>> Trace(np.zeros((50, 100, 3), np.uint8), Words(), ()).show("words").image.shape
        (406, 760, 3)
        """
        if stage not in STAGES:
            raise SettingsError(f"stage {stage!r} is unknown: choose {', '.join(STAGES)}")
        return Drawing(_sheet(list(self._panels(stage)), across=2))

    def sheet(self) -> Drawing:
        """Draw all stages on one sheet."""
        return Drawing(_sheet([panel for stage in STAGES for panel in self._panels(stage)]))

    def _repr_png_(self) -> bytes:
        return self.sheet()._repr_png_()

    def _panels(self, stage: str) -> Iterator[Panel]:
        if stage == "candidates":
            yield from self._candidates()
            return
        canvas = _Canvas(self.image)
        title = _DRAW[stage](self, canvas)
        yield f"{stage}: {title}", canvas.image

    def _candidates(self) -> Iterator[Panel]:
        for number, trace in enumerate(self.tables):
            for candidate in (trace.chosen, *trace.chosen.rivals):
                canvas = _Canvas(self.image)
                canvas.outline(candidate.detected_quads, SPANNING if candidate is trace.chosen else CELL)
                chosen = "chosen" if candidate is trace.chosen else "rival"
                yield f"candidates: table {number + 1}, {chosen}: {_describe(candidate)}", canvas.image
        if not self.tables:
            yield "candidates: none", _Canvas(self.image).image


class _Canvas:
    """The faded picture, scaled to a panel, to draw on in pixels of the picture."""

    def __init__(self, image: Image) -> None:
        import cv2

        height, width = image.shape[:2]
        self.scale = _SIDE / max(height, width, 1)
        size = max(1, round(width * self.scale)), max(1, round(height * self.scale))
        small = cv2.resize(image, size, interpolation=cv2.INTER_AREA if self.scale < 1 else cv2.INTER_CUBIC)
        self.image: Image = np.asarray(255 - _FADE * (255.0 - small), np.uint8)

    def points(self, points: NDArray[np.float64]) -> NDArray[np.int32]:
        scaled = np.nan_to_num(np.asarray(points, np.float64) * self.scale)
        return np.ascontiguousarray(scaled.round().clip(-(2**15), 2**15), np.int32)

    def outline(self, quads: NDArray[np.float64], color: Color, width: int = 1) -> None:
        import cv2

        for corners in self.points(quads):
            cv2.polylines(self.image, [corners], True, color, width, cv2.LINE_AA)

    def fill(self, quad: NDArray[np.float64], color: Color, opacity: float = 0.35) -> None:
        import cv2

        layer = self.image.copy()
        corners = self.points(quad)
        (left, top), (right, bottom) = corners.min(axis=0).clip(0), corners.max(axis=0) + 1
        cv2.fillPoly(layer, [corners], color)
        part = np.s_[top:bottom, left:right]
        mixed = opacity * layer[part].astype(np.float64) + (1 - opacity) * self.image[part]
        self.image[part] = mixed.astype(np.uint8)

    def lines(self, ends: NDArray[np.float64], color: Color, width: int = 2) -> None:
        import cv2

        for segment in self.points(ends):
            cv2.polylines(self.image, [segment], False, color, width, cv2.LINE_AA)

    def label(self, text: str, quad: NDArray[np.float64], color: Color = (40, 40, 40)) -> None:
        import cv2

        corners = self.points(quad)
        left, top = corners.min(axis=0).tolist()
        room = (corners.max(axis=0) - corners.min(axis=0)).tolist()
        (width, height), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 1.0, 1)
        size = min(0.45, 0.8 * room[0] / width, 0.7 * room[1] / height)
        if size * height >= 4:
            place = (left + 2, top + 2 + round(size * height))
            cv2.putText(self.image, text, place, cv2.FONT_HERSHEY_SIMPLEX, size, WHITE, 3, cv2.LINE_AA)
            cv2.putText(self.image, text, place, cv2.FONT_HERSHEY_SIMPLEX, size, color, 1, cv2.LINE_AA)


def _describe(candidate: Candidate) -> str:
    n_rows, n_cols = candidate.layout.owner.shape
    return f"{candidate.detector}, {n_rows} x {n_cols}, {len(candidate.detected_quads)} cells"


def _words(trace: Trace, canvas: _Canvas) -> str:
    for word in trace.words:
        canvas.outline(np.array([word.quad]), _heat(word.score))
    return f"{len(trace.words)}, green is sure"


def _rulings(trace: Trace, canvas: _Canvas) -> str:
    if trace.rulings is None:
        return "not sought"
    count = 0
    for boxes, color, axis in ((trace.rulings.horizontal, CELL, 1), (trace.rulings.vertical, DROPPED, 0)):
        middle = boxes.copy()
        middle[:, axis] = middle[:, axis + 2] = (boxes[:, axis] + boxes[:, axis + 2]) / 2
        canvas.lines(trace.rulings.to_picture(middle.reshape(-1, 2, 2)), color)
        count += len(boxes)
    return f"{count}, blue across, red down"


def _quads(trace: Trace, canvas: _Canvas) -> str:
    for table in trace.tables:
        for quad, score in zip(table.chosen.quads, table.chosen.scores.tolist(), strict=True):
            if not np.isnan(score):
                canvas.outline(quad[None], _heat(score))
    return "+".join(sorted({table.chosen.detector for table in trace.tables})) + ", green is sure"


def _boxes(trace: Trace, canvas: _Canvas) -> str:
    dropped = 0
    for table in trace.tables:
        frame = table.chosen.layout.frame
        gone = quads_to_array([each.quad for each in table.chosen.dropped])
        for quads, color, width in ((table.chosen.detected_quads, CELL, 1), (gone, DROPPED, 2)):
            boxes = quads_to_boxes(frame.to_upright(quads))
            canvas.outline(frame.to_picture(boxes_to_quads(boxes)), color, width)
        dropped += len(gone)
    return f"straightened, {dropped} dropped (red)"


def _lines(trace: Trace, canvas: _Canvas) -> str:
    for table in trace.tables:
        layout = table.chosen.layout
        rows, cols, frame = layout.row_lines, layout.col_lines, layout.frame
        if len(rows) and len(cols):
            across = np.array([[(cols[0], y), (cols[-1], y)] for y in rows])
            down = np.array([[(x, rows[0]), (x, rows[-1])] for x in cols])
            canvas.lines(frame.to_picture(across), CELL)
            canvas.lines(frame.to_picture(down), DROPPED)
    return ", ".join(f"{table.table.n_rows} rows x {table.table.n_cols} columns" for table in trace.tables)


def _spans(trace: Trace, canvas: _Canvas) -> str:
    spanning = 0
    for cell, quad in _cells(table.table for table in trace.tables):
        if cell.is_spanning:
            canvas.fill(quad, SPANNING)
            spanning += 1
        canvas.outline(quad[None], CELL)
        canvas.label(f"{cell.row},{cell.col}", quad)
    return f"{spanning} cells over several slots (orange)"


def _texts(trace: Trace, canvas: _Canvas) -> str:
    import shapely

    cells = list(_cells(table.table for table in trace.tables))
    for _, quad in cells:
        canvas.outline(quad[None], CELL)
    tree = shapely.STRtree([shapely.Polygon(quad) for _, quad in cells])
    outside = 0
    beside = shapely.union_all(
        [shapely.Polygon(c.quad) for each in trace.tables for c in each.table.captions if c.quad]
    )
    for word in trace.words:
        corners = np.array(word.quad)
        middle = shapely.Point(*corners.mean(axis=0))
        found = tree.query(middle, "intersects")
        cell = cells[int(found[0])][0] if len(found) else None
        is_beside = cell is None and shapely.intersects(beside, middle)
        outside += cell is None and not is_beside
        color = CAPTION if is_beside else UNPLACED if cell is None else _PALETTE[(2 * cell.row + cell.col) % 3]
        canvas.fill(corners, color, 0.6)
    return f"words of one cell in one colour, title and notes teal, {outside} in none (violet)"


def _roles(trace: Trace, canvas: _Canvas) -> str:
    for cell, quad in _cells(table.table for table in trace.tables):
        if cell.header is not None:
            canvas.fill(quad, HEADER)
            canvas.label(cell.header, quad)
        canvas.outline(quad[None], CELL)
    for caption in (caption for table in trace.tables for caption in table.table.captions):
        if caption.quad is not None:
            quad = np.array(caption.quad)
            canvas.fill(quad, CAPTION)
            canvas.label(f"{caption.score or 0:.2f}", quad)
    return "header cells (green), title and notes (teal)"


def _scores(trace: Trace, canvas: _Canvas) -> str:
    for cell, quad in _cells(table.table for table in trace.tables):
        if cell.confidence is not None:
            canvas.fill(quad, _heat(cell.confidence))
            canvas.label(f"{cell.confidence:.2f}", quad)
    sure = [table.table.confidence for table in trace.tables]
    return ", ".join(f"table {each.table:.2f}, weakest {each.weakest}" for each in sure if each is not None)


_DRAW: dict[str, Callable[[Trace, _Canvas], str]] = {
    "words": _words,
    "rulings": _rulings,
    "quads": _quads,
    "boxes": _boxes,
    "lines": _lines,
    "spans": _spans,
    "texts": _texts,
    "roles": _roles,
    "scores": _scores,
}


def _cells(tables: Iterator[Table]) -> Iterator[tuple[Cell, NDArray[np.float64]]]:
    for table in tables:
        yield from ((cell, np.array(cell.quad)) for cell in table.cells if cell.quad is not None)


def _heat(score: float) -> Color:
    """Red at one half and below, green at 1."""
    sure = min(max(2 * score - 1, 0.0), 1.0)
    return 40, round(170 * sure), round(220 * (1 - sure))


def _sheet(panels: Sequence[Panel], across: int = _ACROSS) -> Image:
    """Panels in rows, each under its title."""
    import cv2

    height, width = (max(image.shape[axis] for _, image in panels) for axis in (0, 1))
    across = min(across, len(panels))
    down = -(-len(panels) // across)
    sheet = np.full((down * (height + _TITLE), across * width, 3), 255, np.uint8)
    for index, (title, image) in enumerate(panels):
        top, left = index // across * (height + _TITLE), index % across * width
        sheet[top + _TITLE : top + _TITLE + image.shape[0], left : left + image.shape[1]] = image
        (length, _), _ = cv2.getTextSize(title, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 1)
        size = min(0.5, 0.5 * (width - 8) / max(length, 1))
        cv2.putText(sheet, title, (left + 4, top + 18), cv2.FONT_HERSHEY_SIMPLEX, size, (0, 0, 0), 1, cv2.LINE_AA)
    return sheet
