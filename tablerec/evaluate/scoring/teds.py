"""TEDS: similarity of two tables as trees, by edit distance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tablerec.evaluate.scoring.libraries import require_libraries
from tablerec.evaluate.truth import Grid, normalize

MAX_TRUE_CELLS = 220
"""Cells of the truth up to which TEDS is computed: the time grows faster than their square."""

MAX_PREDICTED_CELLS = 400
"""Cells of a prediction up to which TEDS is computed; a larger one counts as 0."""


def teds(predicted: Grid, true: Grid, *, text: bool = True) -> float | None:
    """Return TEDS, 0 to 1, or TEDS-Struct without ``text``; None where the truth is too large.

    Follows Zhong, ShafieiBavani, Jimeno Yepes, "Image-based table recognition: data, model, and
    evaluation", 2020 (arXiv 1911.10683): the tree is table, rows, cells; renaming a cell costs
    1 when the spans differ, else the normalized edit distance of the texts.

    Raises:
        MissingDependencyError: apted or rapidfuzz is not installed.

    >>> from postprocess.table import Table
    >>> truth = Table.from_texts([["a", "b"]])
    >>> teds(Table.from_texts([["a", "x"]]), truth), teds(Table.from_texts([["a", "x"]]), truth, text=False)
    (0.75, 1.0)
    """
    require_libraries("apted", "rapidfuzz")
    from apted import APTED

    if len(true.cells) > MAX_TRUE_CELLS:
        return None
    if len(predicted.cells) > MAX_PREDICTED_CELLS:
        return 0.0
    a, b = _grid_to_tree(predicted, text), _grid_to_tree(true, text)
    if a == b:
        return 1.0
    distance = APTED(a, b, _costs()).compute_edit_distance()
    return float(1 - distance / max(a.size(), b.size()))


@dataclass(slots=True)
class _Node:
    kind: tuple[str, int, int]
    text: str = ""
    children: list[_Node] = field(default_factory=list)

    def size(self) -> int:
        return 1 + sum(child.size() for child in self.children)


def _grid_to_tree(grid: Grid, text: bool) -> _Node:
    rows = [_Node(("row", 1, 1)) for _ in range(grid.owner.shape[0])]
    for cell in grid.cells:
        content = normalize(cell.text) if text else ""
        rows[cell.row].children.append(_Node(("cell", cell.rowspan, cell.colspan), content))
    return _Node(("table", 1, 1), children=rows)


def _costs() -> Any:
    from apted import Config
    from rapidfuzz.distance import Levenshtein

    class Costs(Config):
        def rename(self, a: _Node, b: _Node) -> float:
            return 1.0 if a.kind != b.kind else Levenshtein.normalized_distance(a.text, b.text)

    return Costs()
