"""Tables <-> JSON, with nothing left out but pictures: the one export that reads back exactly.

A document is ``{"format": "tablerec-tables", "version": 1, "tables": [...]}``.
A table has ``n_rows``, ``n_cols``, ``quad``, ``confidence``, ``title``, ``notes``, ``columns`` and ``cells``; a cell
has the fields of `postprocess.cell.Cell` and its ``role``, see `postprocess.meaning.roles`. Quads are four ``[x, y]``
in pixels of the original picture. A cell that holds tables has them as ``tables``, of the same form; one that holds
pictures has ``pictures``, and of each its place, ``quad``, in the picture of the page. A reader ignores fields that it
does not know; a change that an older reader would misread raises the version.

``columns`` says what `postprocess.values` decided about each column, with the fields of `postprocess.values.Column`; a
cell has its ``value``, a number, a date as ``"2026-01-02"`` or null for text, and the ``number_format`` by which a
spreadsheet shows it as it was read. Texts are what counts: values are made anew whenever a table is written.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import Any, get_args

from postprocess.cell import Caption, Cell, Confidence, Direction, HeaderKind, Picture, Quad
from postprocess.errors import InputError, OutputError, TableError
from postprocess.meaning.roles import cell_role
from postprocess.table import Table, all_tables, tables_in
from postprocess.values import TableValues, Value, tables_to_values

FORMAT = "tablerec-tables"
VERSION = 1

MAX_SLOTS = 10_000_000
"""A table read from JSON may cover this many slots."""

SCORES = ("detector_score", "ocr_score", "alignment_score", "confidence", "header_score")
MAX_DEPTH = 10
"""Tables read may stand in cells of one another so often."""

_BY_A_PERSON = ("typed", "confirmed")
"""Flags of a cell that are written only where they are true."""

DIRECTIONS = get_args(Direction)
HEADERS = (None, *get_args(HeaderKind))


def tables_to_json(tables: Sequence[Table], *, indent: int | None = None) -> str:
    """Write tables as a JSON document.

    Args:
        tables: Any number of tables.
        indent: Blanks by level for people to read; None writes one line.

    Raises:
        OutputError: A coordinate or score is not a finite number.

    >>> tables_to_json([])
    '{"format": "tablerec-tables", "version": 1, "tables": []}'
    """
    document = {"format": FORMAT, "version": VERSION, "tables": tables_to_dicts(tables)}
    try:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent)
    except ValueError as error:
        raise OutputError(f"a coordinate or score is not a finite number ({error}): JSON cannot hold it") from error
    # Half of a surrogate pair is no character, UTF-8 refuses it; as an escape it is kept.
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)


def tables_from_json(text: str | bytes) -> list[Table]:
    """Read what `tables_to_json` wrote.

    Raises:
        InputError: The text is not such a document; the message says where.

    >>> tables_from_json(tables_to_json([Table([Cell(0, 0, text="a")])]))[0][0, 0].text
    'a'
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is not JSON: {error}") from error
    _check(isinstance(document, dict) and document.get("format") == FORMAT, f'"format" is not "{FORMAT}"')
    version = document.get("version")
    _check(_is_int(version), '"version" is not a number')
    _check(version <= VERSION, f"it has version {version}, this program reads {VERSION}: update tablerec")
    tables = document.get("tables")
    _check(isinstance(tables, list), '"tables" is not a list')
    return [table_from_dict(table, name=f"table {number}") for number, table in enumerate(tables, 1)]


def table_to_dict(table: Table) -> dict[str, Any]:
    """Return a table as plain dictionaries, lists, texts and numbers.

    >>> cell = table_to_dict(Table([Cell(0, 0, text="12.50", ocr_score=0.9)]))["cells"][0]
    >>> cell["ocr_score"], cell["value"], cell["number_format"]
    (0.9, 12.5, '0.00')
    """
    return tables_to_dicts([table])[0]


def tables_to_dicts(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """Return tables that belong together: what the marks in their numbers mean is decided by all of them.

    >>> [table["columns"][0]["decided_by"] for table in tables_to_dicts([Table([Cell(0, 0, text="0.5")])])]
    ['column']
    """
    values = iter(tables_to_values(list(all_tables(tables))))
    return [_table_to_dict(table, values) for table in tables]


def _table_to_dict(table: Table, values: Iterator[TableValues]) -> dict[str, Any]:
    n_rows, n_cols = table.shape
    found = next(values)
    cells = [
        {
            **_cell_to_dict(cell),
            "role": cell_role(cell, table),
            **_value_to_dict(value),
            **_inside_to_dict(cell, values),
        }
        for cell, value in zip(table.cells, found.cells, strict=True)
    ]
    data: dict[str, Any] = {"n_rows": n_rows, "n_cols": n_cols, "direction": table.direction}
    data |= {"quad": _quad_to_list(table.quad)}
    data |= {"confidence": _confidence_to_dict(table.confidence)}
    data |= {"title": None if table.title is None else _caption_to_dict(table.title)}
    data |= {"notes": [_caption_to_dict(note) for note in table.notes]}
    data |= {"columns": [asdict(column) for column in found.columns]}
    return {**data, "cells": cells}


def _inside_to_dict(cell: Cell, values: Iterator[TableValues]) -> dict[str, Any]:
    """Tables and pictures in a cell; few cells hold any."""
    inside: dict[str, Any] = {}
    if cell.tables:
        inside["tables"] = [_table_to_dict(table, values) for table in tables_in(cell)]
    if cell.pictures:
        inside["pictures"] = [{"quad": _quad_to_list(picture.quad)} for picture in cell.pictures]
    return inside


def _value_to_dict(value: Value) -> dict[str, Any]:
    if isinstance(value.value, str):
        return {"value": None, "number_format": None}
    shown = value.value.isoformat() if isinstance(value.value, date) else value.value
    return {"value": shown, "number_format": value.number_format}


def table_from_dict(data: Mapping[str, Any], *, name: str = "the table") -> Table:
    """Read a table from what `table_to_dict` returned; nothing in it is trusted.

    Args:
        data: A table, as `json.loads` returns it.
        name: What to call it in messages.

    Raises:
        InputError: A field is missing, has the wrong type, or the cells do not form a table.

    >>> table_from_dict({"cells": [{"row": 0, "col": 0, "rowspan": "2"}]})
    Traceback (most recent call last):
    postprocess.errors.InputError: the table, cell 1: "rowspan" is '2', not a whole number
    """
    return _table_from_dict(data, name, 0)


def _table_from_dict(data: Any, name: str, depth: int) -> Table:
    _check(isinstance(data, Mapping), f"{name} is {reprlib.repr(data)}, not an object")
    _check(depth <= MAX_DEPTH, f"{name}: tables stand in cells of one another, more than {MAX_DEPTH} deep")
    cells = data.get("cells")
    _check(isinstance(cells, list), f'{name}: "cells" is not a list')
    direction = data.get("direction", "ltr")
    _check(direction in DIRECTIONS, f'{name}: "direction" is {reprlib.repr(direction)}, not one of {DIRECTIONS}')
    n_slots = 0
    parsed = []
    for number, cell_data in enumerate(cells or (), 1):
        cell = _cell_from_dict(cell_data, f"{name}, cell {number}", depth)
        n_slots += cell.rowspan * cell.colspan + sum(table.owner.size for table in tables_in(cell))
        _check(n_slots <= MAX_SLOTS, f"{name} covers more than {MAX_SLOTS:,} slots")
        parsed.append(cell)
    try:
        table = Table(
            parsed,
            _quad_from_list(data.get("quad"), name),
            _confidence_from_dict(data, name),
            title=None if data.get("title") is None else _caption_from_dict(data["title"], f"{name}, title"),
            notes=_notes_from_dict(data, name),
            direction=direction,
        )
    except TableError as error:
        raise InputError(f"{name}: {error}") from error
    for key, size in zip(("n_rows", "n_cols"), table.shape, strict=True):
        _check(data.get(key, size) == size, f'{name}: "{key}" is {reprlib.repr(data.get(key))}, the cells make {size}')
    return table


def _confidence_to_dict(confidence: Confidence | None) -> dict[str, Any] | None:
    if confidence is None:
        return None
    rows, cols = ([float(value) for value in values] for values in (confidence.rows, confidence.cols))
    return {"table": float(confidence.table), "rows": rows, "cols": cols, "weakest": confidence.weakest}


def _confidence_from_dict(table: Mapping[str, Any], name: str) -> Confidence | None:
    data = table.get("confidence")
    if data is None:
        return None
    _check(isinstance(data, Mapping), f'{name}: "confidence" is {reprlib.repr(data)}, not an object')
    rows, cols, weakest = data.get("rows"), data.get("cols"), data.get("weakest", "")
    _check(isinstance(rows, list) and isinstance(cols, list), f'{name}: "rows" or "cols" of "confidence" is not a list')
    _check(isinstance(weakest, str), f'{name}: "weakest" is {reprlib.repr(weakest)}, not a text')
    return Confidence(
        table=_to_float(data.get("table"), "table", name),
        rows=tuple(_to_float(value, "rows", name) for value in rows or ()),
        cols=tuple(_to_float(value, "cols", name) for value in cols or ()),
        weakest=weakest,
    )


def _caption_to_dict(caption: Caption) -> dict[str, Any]:
    score = None if caption.score is None else float(caption.score)
    return {"text": caption.text, "quad": _quad_to_list(caption.quad), "score": score}


def _notes_from_dict(table: Mapping[str, Any], name: str) -> list[Caption]:
    notes = table.get("notes")
    _check(notes is None or isinstance(notes, list), f'{name}: "notes" is not a list')
    return [_caption_from_dict(note, f"{name}, note {number}") for number, note in enumerate(notes or (), 1)]


def _caption_from_dict(data: Any, name: str) -> Caption:
    _check(isinstance(data, Mapping), f"{name} is {reprlib.repr(data)}, not an object")
    text, score = data.get("text"), data.get("score")
    _check(isinstance(text, str), f'{name}: "text" is {reprlib.repr(text)}, not a text')
    return Caption(
        text, _quad_from_list(data.get("quad"), name), None if score is None else _to_float(score, "score", name)
    )


def _cell_to_dict(cell: Cell) -> dict[str, Any]:
    data: dict[str, Any] = {key: int(getattr(cell, key)) for key in ("row", "col", "rowspan", "colspan")}
    data |= {"text": cell.text, "header": cell.header, "quad": _quad_to_list(cell.quad)}
    for key in SCORES:
        score = getattr(cell, key)
        data[key] = None if score is None else float(score)
    data |= {"is_total": bool(cell.is_total), "doubt": cell.doubt}
    return data | {key: True for key in _BY_A_PERSON if getattr(cell, key)}


def _tables_from_dict(data: Any, name: str, depth: int) -> tuple[Table, ...]:
    _check(isinstance(data, list), f'{name}: "tables" is not a list')
    return tuple(_table_from_dict(each, f"{name}, table {number}", depth + 1) for number, each in enumerate(data, 1))


def _pictures_from_dict(data: Any, name: str) -> tuple[Picture, ...]:
    is_list = isinstance(data, list) and all(isinstance(each, Mapping) for each in data)
    _check(is_list, f'{name}: "pictures" is not a list of objects')
    return tuple(Picture(_quad_from_list(each.get("quad"), f"{name}, picture")) for each in data)


def _cell_from_dict(data: Any, name: str, depth: int) -> Cell:
    if not isinstance(data, Mapping):
        raise InputError(f"{name} is {reprlib.repr(data)}, not an object")
    text, header, doubt = data.get("text", ""), data.get("header"), data.get("doubt", "")
    flags = {key: data.get(key, False) for key in ("is_total", *_BY_A_PERSON)}
    if header not in HEADERS:
        raise InputError(f'{name}: "header" is {reprlib.repr(header)}, not one of {HEADERS}')
    for key, value in (("text", text), ("doubt", doubt)):
        if not isinstance(value, str):
            raise InputError(f'{name}: "{key}" is {reprlib.repr(value)}, not a text')
    for key, value in flags.items():
        if not isinstance(value, bool):
            raise InputError(f'{name}: "{key}" is {reprlib.repr(value)}, not true or false')

    def score(key: str) -> float | None:
        return None if data.get(key) is None else _to_float(data[key], key, name)

    try:
        return Cell(
            row=_to_int(data.get("row"), "row", name),
            col=_to_int(data.get("col"), "col", name),
            rowspan=_to_int(data.get("rowspan", 1), "rowspan", name),
            colspan=_to_int(data.get("colspan", 1), "colspan", name),
            quad=_quad_from_list(data.get("quad"), name),
            text=text,
            header=header,
            detector_score=score("detector_score"),
            ocr_score=score("ocr_score" if "ocr_score" in data else "reader_score"),  # its name before
            alignment_score=score("alignment_score"),
            confidence=score("confidence"),
            header_score=score("header_score"),
            doubt=doubt,
            tables=_tables_from_dict(data.get("tables", []), name, depth),
            pictures=_pictures_from_dict(data.get("pictures", []), name),
            **flags,
        )
    except TableError as error:
        raise InputError(f"{name}: {error}") from error


def _quad_to_list(quad: Quad | None) -> list[list[float]] | None:
    return None if quad is None else [[float(x), float(y)] for x, y in quad]


def _quad_from_list(data: Any, name: str) -> Quad | None:
    if data is None:
        return None
    is_quad = isinstance(data, list) and len(data) == 4 and all(isinstance(p, list) and len(p) == 2 for p in data)
    if not is_quad:
        raise InputError(f'{name}: "quad" is {reprlib.repr(data)}, not four [x, y]')
    top_left, top_right, bottom_right, bottom_left = (
        (_to_float(x, "quad", name), _to_float(y, "quad", name)) for x, y in data
    )
    return top_left, top_right, bottom_right, bottom_left


# A message is made only where it is needed: a table has thousands of numbers.
def _to_int(value: Any, key: str, name: str) -> int:
    if not _is_int(value):
        raise InputError(f'{name}: "{key}" is {reprlib.repr(value)}, not a whole number')
    return int(value)


def _to_float(value: Any, key: str, name: str) -> float:
    is_number = isinstance(value, float) or (_is_int(value) and abs(value) < 2**53)
    if not (is_number and math.isfinite(value)):
        raise InputError(f'{name}: "{key}" is {reprlib.repr(value)}, not a finite number')
    return float(value)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check(is_right: bool, message: str) -> None:
    if not is_right:
        raise InputError(message)
