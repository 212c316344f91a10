"""Tables that came out wrong: how a picture was read, and what is true of it.

The labels have the grid and the place of each text, but no texts. What stands in a cell is read by another engine than
that of the table, from the very place that the label names, so that no wrong grid can spoil it. Where the two engines
do not agree, a person has written down what is there: ``transcribed.json``, for the tables that come first. Of others,
the other engine's reading stands; where it is wrong itself, a clerk has to type it in both editors alike.
"""

from __future__ import annotations

import json
import pickle
import random
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.arrays import Image
from postprocess.cell import Cell
from postprocess.editing.placing import complete, tidy
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
from postprocess.table import Table
from postprocess.text.lines import words_to_text
from tablerec.config import Settings
from tablerec.corrections.editor.draft import Draft, page_to_drafts
from tablerec.ocr.rapidocr import RapidOcrEngine
from tablerec.pipeline import Recognizer

SEED = 22
_TRANSCRIBED = Path(__file__).with_name("transcribed.json")
_DASHES = re.compile("[\u2010-\u2015\u2212\ufe63]")
_SAME = str.maketrans("\u2018\u2019\u201c\u201d\u2571", "''\"\"/")
_AROUND = 2
"""Pixels around a text that are read with it."""
_ONE_LINE = 1.7
"""A text so much higher than most of its table has several lines."""


@dataclass(frozen=True)
class WrongTable:
    """A table as it was read, and as it is.

    Args:
        name: Of its label.
        draft: As it was read.
        true: The grid, the spans and the texts that it has, in pixels of the same picture.
        boxes: ``(N, 4)`` tight boxes of its texts in the order of its cells, px; NaN where there is none.
    """

    name: str
    draft: Draft
    true: Table
    boxes: Any


def squeeze(text: str) -> str:
    """A text by which two readings are compared.

    White space is left out, in which engines differ where pictures are small, and so is a dash by itself, which labels
    take for nothing at times. Signs that stand for each other are one.

    >>> squeeze("A\\u2013 1\\uff1a"), squeeze("\\u2014")
    ('A-1:', '')
    """
    plain = _DASHES.sub("-", unicodedata.normalize("NFKC", "".join(text.split())))
    return plain.strip("-") and plain


def is_wrong(found: Table, true: Table) -> bool:
    """Whether a table differs in its grid, its spans, or a text."""
    return grid_of(found) != grid_of(true) or any(
        squeeze(found[cell.row, cell.col].text) != squeeze(cell.text) for cell in true.cells
    )


def grid_of(table: Table) -> set[tuple[int, int, int, int]]:
    """First row and column of each cell, and those after its last."""
    return {(cell.row, cell.col, cell.end_row, cell.end_col) for cell in table.cells}


def spread(folder: Path) -> list[Path]:
    """Labels in an order by chance: in turn of each kind of table, and one of each document first."""
    kinds: dict[tuple[str, ...], list[Path]] = {}
    labels = sorted(folder.rglob("*.json"))
    random.Random(SEED).shuffle(labels)
    seen: dict[str, int] = {}
    order: dict[Path, int] = {}
    for path in labels:
        label = json.loads(path.read_text("utf-8"))
        if "cells" not in label or any(cell.get("region") is None for cell in label["cells"]):
            continue
        meta = label["meta"]
        kind = (label["source"], str(meta.get("ruling_est")), str(meta.get("language")))
        seen[meta["doc"]] = order[path] = seen.get(meta["doc"], -1) + 1
        kinds.setdefault(kind, []).append(path)
    for paths in kinds.values():
        paths.sort(key=order.__getitem__)
    longest = max(map(len, kinds.values()), default=0)
    return [paths[at] for at in range(longest) for _, paths in sorted(kinds.items()) if at < len(paths)]


def read_wrong_tables(folder: Path, kept: Path, count: int, skip: int = 0) -> Iterator[WrongTable]:
    """Read pictures until so many came out wrong; what was read is kept in a folder.

    Args:
        folder: Of pictures and labels.
        kept: Folder of what was read.
        count: Tables to yield.
        skip: Tables that came out wrong and are left out before, with all others of their documents.
    """
    skipped: set[str] = set()
    for label in spread(folder):
        if count <= 0:
            return
        document = json.loads(label.read_text("utf-8"))["meta"]["doc"]
        if skip <= 0 and document in skipped:
            continue
        file = kept / f"{label.stem}.pickle"
        if not file.is_file():
            kept.mkdir(parents=True, exist_ok=True)
            file.with_suffix(".part").write_bytes(pickle.dumps(_read(label)))
            file.with_suffix(".part").replace(file)
        table: WrongTable | None = pickle.loads(file.read_bytes())
        if table is None:
            continue
        table = replace(table, true=with_transcribed(table.name, table.true))
        if not is_wrong(table.draft.table, table.true):
            continue
        if skip > 0:
            skip -= 1
            skipped.add(document)
            continue
        count -= 1
        yield table


def with_transcribed(name: str, true: Table) -> Table:
    """The table with the texts that a person has written down."""
    texts = json.loads(_TRANSCRIBED.read_text("utf-8")).get(name, {})
    return replace(true, cells=[replace(c, text=texts.get(f"{c.row},{c.col}", c.text)) for c in true.cells])


def _read(path: Path) -> WrongTable | None:
    """Read the picture of a label; None where no part of it was taken for the table."""
    label = json.loads(path.read_text("utf-8"))
    [page] = recognizer().pages(path.parent / label["image"])
    drafts = [draft for draft in page_to_drafts(page) if draft.number]
    if not drafts:
        return None
    draft = max(drafts, key=lambda draft: len(draft.table))
    offset = (draft.window or (0, 0, 0, 0))[:2]
    regions = boxes_to_quads(np.array([cell["region"] for cell in label["cells"]], float))
    nothing = [float("nan")] * 4
    boxes = np.array([cell["bbox"] or nothing for cell in label["cells"]], float)
    cells = [
        Cell(cell["row"], cell["col"], cell["rowspan"], cell["colspan"], quad=array_to_quad(quad), text=text)
        for cell, quad, text in zip(label["cells"], regions, read_texts(page.picture.image, boxes), strict=True)
    ]
    table = complete(tidy(Table(cells)), (page.picture.image.shape[1], page.picture.image.shape[0]))
    by_place = {(cell["row"], cell["col"]): box for cell, box in zip(label["cells"], boxes, strict=True)}
    moved = table.moved(lambda points: points - np.array(offset))
    ordered = np.array([by_place.get((cell.row, cell.col), nothing) for cell in moved.cells])
    return WrongTable(path.stem, draft, moved, ordered - np.array([*offset, *offset]))


def read_texts(image: Image, boxes: Any) -> list[str]:
    """Read texts in their places, with another engine than that of the tables.

    Args:
        image: ``(H, W, 3)`` uint8 BGR.
        boxes: ``(N, 4)`` px; NaN where there is no text.
    """
    height, width = image.shape[:2]
    texts = [""] * len(boxes)
    there = np.flatnonzero(np.isfinite(boxes).all(axis=1)).tolist()
    heights = boxes[:, 3] - boxes[:, 1]
    line = float(np.median(heights[there])) if there else 0.0
    crops = {}
    for index in there:
        x0, y0 = np.floor(boxes[index, :2] - _AROUND).clip(0).astype(int)
        x1, y1 = np.ceil(boxes[index, 2:] + _AROUND).clip(0, [width, height]).astype(int)
        crops[index] = np.ascontiguousarray(image[y0:y1, x0:x1])
    single = [index for index in there if heights[index] <= _ONE_LINE * line]
    for index, read in zip(single, other_engine().recognize([crops[index] for index in single]), strict=True):
        texts[index] = read.text.strip()
    for index in set(there) - set(single):
        texts[index] = words_to_text(other_engine().read(crops[index]))
    return texts


@cache
def recognizer() -> Recognizer:
    """What reads the tables, and cells again."""
    return Recognizer(Settings(layout="table", turn=0))


@cache
def other_engine() -> RapidOcrEngine:
    """What reads the truth."""
    return RapidOcrEngine()
