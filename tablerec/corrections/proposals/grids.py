"""Other grids of a table: what the detectors saw besides the one that was chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from postprocess.arrays import Image
from postprocess.candidates.candidate import Candidate
from postprocess.candidates.choice import explained
from postprocess.cell import Cell, rewrite
from postprocess.editing.axes import reading_quads
from postprocess.editing.placing import complete, join
from postprocess.editing.state import State
from postprocess.errors import TableError
from postprocess.export.json import table_to_dict
from postprocess.geometry.boxes import quads_to_boxes
from postprocess.grid.snapping import snap_quads
from postprocess.meaning.headers import mark_headers
from postprocess.table import Table
from postprocess.text.direction import in_reading_order
from postprocess.word import Word
from tablerec.corrections.editor import Correction
from tablerec.corrections.editor.operations import apply
from tablerec.corrections.history import History
from tablerec.corrections.learning.gain import count_changes
from tablerec.result import Page, PageImage

Find = Callable[[PageImage], Iterable[Page]]
"""From a picture of one table, whose words are known, to its page with a trace, see ``Settings.trace``."""

_SAME = 0.5
"""A table that was found is the one that is corrected where they share so much of the smaller one."""


@dataclass(frozen=True, slots=True)
class OtherGrid:
    """A grid that a person may take.

    Args:
        step: That takes it.
        after: The table after it.
        n_changed: Cells that differ.
    """

    step: dict[str, Any]
    after: Table
    n_changed: int

    def to_dict(self) -> dict[str, Any]:
        """What a person is shown, ready for JSON."""
        return {
            "step": self.step,
            "shape": list(self.after.shape),
            "n_changed": self.n_changed,
            "lines": reading_quads(self.after).reshape(-1, 8).round(1).tolist(),
        }


def find_grids(correction: Correction, image: Image, find: Find) -> list[OtherGrid]:
    """Find the grids that differ from that of a table as it is now, the most likely one first.

    Args:
        correction: Of the table.
        image: Its picture, ``(H, W, 3)`` uint8 BGR.
        find: Finds its tables, by the words that are known.
    """
    state, size_wh = correction.state, correction.head.size_wh
    picture = PageImage(correction.head.name, 1, image, words=known_words(state))
    candidates = [each for page in find(picture) for each in _candidates(page, state.table)]
    seen, grids = [_shape_of(state.table)], []
    for candidate in candidates:
        grid = join(complete(in_reading_order(_to_table(candidate)), size_wh))
        if _shape_of(grid) in seen:
            continue
        seen.append(_shape_of(grid))
        other = _take(state, grid)
        if other is not None:
            grids.append(other)
    return grids


def known_words(state: State) -> tuple[Word, ...]:
    """The words of a table that count: those that were read anew stand for what was there before."""
    return tuple(word for index, word in enumerate(state.words) if index not in state.replaced)


def _take(state: State, grid: Table) -> OtherGrid | None:
    """The step that takes a grid; None where that cannot be done."""
    try:
        bare = replace(grid, cells=rewrite(grid.cells, text=[""] * len(grid)))
        dealt = apply(History((state,)), {"do": "set_grid", "grid": table_to_dict(bare)}).now.table
        # Which rows are heads is seen by their texts.
        headers = [cell.header for cell in mark_headers(dealt).cells]
        step = {"do": "set_grid", "grid": table_to_dict(replace(bare, cells=rewrite(bare.cells, header=headers)))}
        after = apply(History((state,)), step).now.table
    except TableError:
        return None
    return OtherGrid(step, after, count_changes(state.table, after))


def _candidates(page: Page, table: Table) -> Iterator[Candidate]:
    """What was found in the place of a table: what is chosen now, and its rivals by what they explain."""
    traces = () if page.trace is None else page.trace.tables
    for trace in traces:
        if _shares(trace.table, table) > _SAME:
            yield trace.chosen
            yield from sorted(trace.chosen.rivals, key=_explains, reverse=True)


def _explains(candidate: Candidate) -> float:
    """How well a candidate explains the words and lines of the picture, where that can be said."""
    explanation = None if candidate.scene is None else explained(candidate).explanation
    return 0.0 if explanation is None else explanation.score


def _to_table(candidate: Candidate) -> Table:
    scene = candidate.scene
    if scene is None:
        return candidate.to_table()
    return replace(candidate, quads=snap_quads(candidate.quads, scene.rulings)).to_table()


def _shape_of(table: Table) -> frozenset[tuple[int, int, int, int]]:
    return frozenset((cell.row, cell.col, cell.rowspan, cell.colspan) for cell in table.cells)


def _shares(one: Table, other: Table) -> float:
    """How much of the smaller one of two tables both have."""
    boxes = [quads_to_boxes(_quads(each.cells)) for each in (one, other)]
    if not all(map(len, boxes)):
        return 0.0
    low, high = (
        np.stack([each[:, :2].min(axis=0) for each in boxes]),
        np.stack([each[:, 2:].max(axis=0) for each in boxes]),
    )
    shared = (high.min(axis=0) - low.max(axis=0)).clip(0).prod()
    return float(shared / max((high - low).prod(axis=1).min(), 1e-9))


def _quads(cells: Iterable[Cell]) -> list[Any]:
    return [cell.quad for cell in cells if cell.quad is not None]
