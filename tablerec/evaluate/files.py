"""Files that an evaluation keeps: predictions, and the words that the OCR engine returned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.cell import Cell, Quad
from postprocess.geometry.boxes import array_to_quad
from postprocess.table import Table
from postprocess.word import Word
from tablerec.errors import InputError, TableError
from tablerec.fields import Fields, list_of, number, read_json
from tablerec.outputs.files import atomic_file

DetectedBox = tuple[float, ...]
"""x0, y0, x1, y1 of a detected cell in pixels, and how sure the detector is of it, 0 to 1."""

_BOX = list_of(number(), 5, "numbers")
_CELL_FIELDS = ("row", "col", "rowspan", "colspan", "quad", "text")


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the pipeline made of one picture.

    Args:
        id: The table's name.
        table: The largest table found, or None.
        n_tables: Number of tables found.
        detector: Name of the detector that found the cells.
        n_unplaced: Words in no cell.
        n_dropped: Detected cells in no grid.
        characters_kept: Share of the characters read that are in a cell or among the
            unplaced words, 0 to 1.
        seconds: Time by stage.
        total_seconds: Time from picture file to table.
        words_were_kept: Whether the words came from a file of an earlier run.
        error: What went wrong, or empty.
        detected: The detected cells of all tables, before they became a grid.
    """

    id: str
    table: Table | None = None
    n_tables: int = 0
    detector: str = ""
    n_unplaced: int = 0
    n_dropped: int = 0
    characters_kept: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    total_seconds: float = 0.0
    words_were_kept: bool = False
    error: str = ""
    detected: tuple[DetectedBox, ...] = ()


def write_prediction(path: Path, prediction: Prediction, made_with: Mapping[str, Any]) -> None:
    """Write a prediction and the settings that it was made with.

    Raises:
        OutputError: The file cannot be written.
    """
    data = {key: getattr(prediction, key) for key in Prediction.__dataclass_fields__ if key != "table"}
    cells = None
    if prediction.table is not None:
        cells = [{key: getattr(cell, key) for key in _CELL_FIELDS} for cell in prediction.table.cells]
    write_json(path, {"made_with": made_with, **data, "cells": cells})


def read_prediction(path: Path, made_with: Mapping[str, Any]) -> Prediction | None:
    """Read a prediction back, or return None where there is none, it failed, or other settings made it.

    Raises:
        InputError: The file is not a prediction.
    """
    if not path.exists():
        return None
    data = read_json(path)
    fields = Fields(path, data)
    if data.get("made_with") != made_with or fields.text("error", ""):
        return None
    return Prediction(
        id=fields.text("id"),
        table=_read_table(fields, path) if fields.is_set("cells") else None,
        n_tables=fields.whole("n_tables"),
        detector=fields.text("detector"),
        n_unplaced=fields.whole("n_unplaced"),
        n_dropped=fields.whole("n_dropped"),
        characters_kept=fields.get_or_none("characters_kept", number()),
        seconds=fields.child("seconds").all_numbers(),
        total_seconds=fields.number("total_seconds"),
        words_were_kept=fields.flag("words_were_kept"),
        detected=fields.get("detected", list_of(_BOX, name="boxes with scores")),
    )


def write_words(path: Path, words: Sequence[Word]) -> None:
    """Write an OCR engine's words, so that later runs need no OCR engine.

    Raises:
        OutputError: The file cannot be written.
    """
    write_json(path, [asdict(word) for word in words])


def read_words(path: Path) -> tuple[Word, ...] | None:
    """Read the words of an earlier run, or return None where there are none.

    Raises:
        InputError: The file does not hold words.
    """
    if not path.exists():
        return None
    return tuple(_read_word(fields) for fields in Fields(path, {"words": read_json(path)}).children("words"))


def write_json(path: Path, data: Any) -> None:
    """Write JSON; see ``write_text``."""
    write_text(path, json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole or not at all, and the folders above it.

    Raises:
        OutputError: The file cannot be written.
    """
    with atomic_file(path) as file:
        file.write(text.encode("utf-8", "replace"))


def _read_table(fields: Fields, path: Path) -> Table:
    try:
        return Table([_read_cell(cell) for cell in fields.children("cells")])
    except TableError as error:
        raise InputError(f"{path}: cells form no table ({error}); delete the file to make it again") from error


def _read_cell(fields: Fields) -> Cell:
    return Cell(
        row=fields.whole("row"),
        col=fields.whole("col"),
        rowspan=fields.whole("rowspan", low=1),
        colspan=fields.whole("colspan", low=1),
        quad=_read_quad(fields) if fields.is_set("quad") else None,
        text=fields.text("text"),
    )


def _read_word(fields: Fields) -> Word:
    spans = fields.points("char_spans") if fields.is_set("char_spans") else None
    return Word(fields.text("text"), _read_quad(fields), fields.number("score"), spans)


def _read_quad(fields: Fields) -> Quad:
    return array_to_quad(np.array(fields.points("quad", 4), float))
