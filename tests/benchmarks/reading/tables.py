"""Tables whose texts are known, and the cells of what was recognized that answer to theirs."""

from __future__ import annotations

import random
import re
import unicodedata
import warnings
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np

from postprocess.cell import Cell
from postprocess.geometry.boxes import box_areas, cells_to_quads, intersection_areas, quads_to_boxes
from postprocess.table import Table
from tablerec.evaluate.scoring.cells import same_cells, same_size
from tablerec.evaluate.truth import Truth, find_truths, normalize

SEED = 19
INSIDE = 0.8
"""Share of a true box that a found cell holds, to answer to it."""
SIGNS = str.maketrans({"–": "-", "—": "-", "‐": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "•": "·", "．": "."})
FORMULAS = {"$ \\pm $": "±", "$ \\times $": "×"}
"""LaTeX in the truths of OmniDocBench."""


def sample_truths(folder: Path, count: int | None = None, *, with_text: bool = True) -> list[Truth]:
    """The tables of a folder, or those with known texts, sources taking turns; so many, always the same ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truths = [truth for truth in find_truths(folder) if truth.has_text or not with_text]
    by_source: dict[str, list[Truth]] = {}
    for truth in truths:
        by_source.setdefault(truth.source, []).append(truth)
    chance = random.Random(SEED)
    for some in by_source.values():
        chance.shuffle(some)
    turns = zip_longest(*by_source.values())
    return [truth for turn in turns for truth in turn if truth is not None][:count]


def pair_cells(truth: Truth, table: Table | None) -> dict[int, str]:
    """What was read in the true cells: their index, and the text of the cell that answers to each.

    Where both grids agree, cells of one place do. Else a cell answers that holds one true box, nearly whole; where the
    truth has no boxes, a cell of the same place and span in a grid of the same size.
    """
    if table is None or not len(table.cells):
        return {}
    found, true = truth.in_its_order(table), truth.table
    wanted = [index for index, cell in enumerate(true.cells) if normalize(cell.text)]
    if same_cells(found, true) or not any(cell.quad for cell in true.cells):
        if not same_size(found, true):
            return {}
        texts = {_span_of(cell): cell.text for cell in found.cells}
        return {index: texts[span] for index in wanted if (span := _span_of(true.cells[index])) in texts}
    boxed = [index for index in wanted if true.cells[index].quad is not None]
    placed = [cell for cell in found.cells if cell.quad is not None]
    if not boxed or not placed:
        return {}
    boxes = quads_to_boxes(cells_to_quads([true.cells[index] for index in boxed]))
    cells = quads_to_boxes(cells_to_quads(placed))
    held = intersection_areas(boxes, cells) >= INSIDE * np.maximum(box_areas(boxes), 1e-9)[:, None]
    touched = intersection_areas(boxes, cells) > 0.5 * np.maximum(box_areas(boxes), 1e-9)[:, None]
    alone = touched.sum(axis=0) == 1
    return {
        index: placed[int(np.argmax(row & alone))].text
        for index, row in zip(boxed, held, strict=True)
        if (row & alone).any()
    }


def _span_of(cell: Cell) -> tuple[int, int, int, int]:
    return cell.row, cell.col, cell.rowspan, cell.colspan


def with_blanks(text: str) -> str:
    """The text by NFKC, with one blank for any white space."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def plain(text: str) -> str:
    """The text by NFKC, without white space and with one form of dashes and quotes.

    >>> plain("1 – 2²"), plain("“x”"), plain("5 $ \\\\pm $ 1")
    ('1-22', '"x"', '5±1')
    """
    for formula, sign in FORMULAS.items():
        text = text.replace(formula, sign)
    return normalize(text.translate(SIGNS)).translate(SIGNS)


def is_number(text: str) -> bool:
    """Whether a text is a number with its signs: digits and no letters."""
    return bool(re.search(r"\d", text)) and not any(char.isalpha() for char in text)


def error_count(read: Sequence[str], true: Sequence[str]) -> int:
    """Levenshtein distance, the sum over all pairs."""
    from rapidfuzz.distance import Levenshtein

    return sum(Levenshtein.distance(a, b) for a, b in zip(read, true, strict=True))
