from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.cell import Caption, Cell, Picture
from postprocess.errors import InputError, OutputError
from postprocess.export import table_from_dict, table_to_dict, tables_from_json, tables_to_dicts, tables_to_json
from postprocess.table import Table, tables_in
from tests.helpers.strategies import captioned, nested, tables


def test_no_tables_and_no_cells() -> None:
    assert tables_from_json(tables_to_json([])) == []
    assert tables_from_json(tables_to_json([Table([])])) == [Table([])]


@settings(max_examples=30)
@given(st.lists(captioned(tables(with_geometry=True), with_geometry=True), max_size=2), st.sampled_from([None, 2]))
def test_round_trip_is_exact(many: list[Table], indent: int | None) -> None:
    text = tables_to_json(many, indent=indent)
    assert tables_from_json(text) == tables_from_json(text.encode("utf-8")) == many


@given(nested(captioned(tables(max_rows=3, max_cols=3, with_geometry=True), with_geometry=True)))
def test_tables_in_tables_are_read_back_exactly_and_pictures_by_their_place(table: Table) -> None:
    def without_png(table: Table) -> Table:
        cells = [
            replace(
                cell,
                tables=tuple(map(without_png, tables_in(cell))),
                pictures=tuple(Picture(each.quad) for each in cell.pictures),
            )
            for cell in table.cells
        ]
        return replace(table, cells=cells)

    assert tables_from_json(tables_to_json([table, table])) == [without_png(table)] * 2


def test_values_in_inner_tables_are_decided_with_the_others() -> None:
    inner = Table.from_texts([["1.234"]])
    [data] = tables_to_dicts([Table([Cell(0, 0, text="0,5", tables=(inner,)), Cell(0, 1, text="2,5")])])
    assert data["cells"][0]["tables"][0]["cells"][0]["value"] == 1234
    assert "tables" not in data["cells"][1] and "pictures" not in data["cells"][1]


def test_document_says_what_it_is() -> None:
    document = json.loads(tables_to_json([Table([Cell(0, 0, text="表")])]))
    assert (document["format"], document["version"]) == ("tablerec-tables", 1)
    assert document["tables"][0]["n_rows"] == 1
    always = {*Cell.__dataclass_fields__} - {"tables", "pictures", "typed", "confirmed", "words"}
    assert set(document["tables"][0]["cells"][0]) == {*always, "role", "value", "number_format"}


def test_title_notes_and_roles_are_there() -> None:
    table = Table([Cell(0, 0, text="a", header="row")], title=Caption("Table 1", score=0.9), notes=[Caption("n")])
    data = table_to_dict(table)
    assert data["title"] == {"text": "Table 1", "quad": None, "score": 0.9}
    assert [note["text"] for note in data["notes"]] == ["n"]
    assert data["cells"][0]["role"] == "stub"


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"title": 1}, "title is 1"),
        ({"title": {"text": None}}, '"text" is None'),
        ({"title": {"text": " "}}, "no text"),
        ({"notes": {}}, '"notes" is not a list'),
        ({"notes": [{"text": "a", "score": "x"}]}, "note 1: .*score"),
    ],
)
def test_title_and_notes_are_not_trusted(field: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        table_from_dict({"cells": [], **field})


def test_values_and_what_was_decided_are_there() -> None:
    rows = [["Name", "Sum", "Day"], ["00123", "1.234", "02/01/2026"], ["a", "5,5 %", "31/01/2026"]]
    data = table_to_dict(Table.from_texts(rows))
    assert [cell["value"] for cell in data["cells"][3:]] == [None, 1234, "2026-01-02", None, 0.055, "2026-01-31"]
    formats = [None, "#,##0", "dd\\/mm\\/yyyy", None, "0.0 %", "dd\\/mm\\/yyyy"]
    assert [cell["number_format"] for cell in data["cells"][3:]] == formats
    text, numbers, dates = data["columns"]
    assert (text["kind"], text["reason"]) == ("text", '"00123" has digits and is no number')
    assert [numbers[key] for key in ("kind", "decimal", "group", "decided_by")] == ["number", ",", ".", "column"]
    assert [dates[key] for key in ("kind", "date_order", "decided_by")] == ["date", "day-month", "column"]


def test_tables_of_one_document_decide_together() -> None:
    many = [Table.from_texts([["1.234"]]), Table.from_texts([["0,5"]])]
    [first, _] = json.loads(tables_to_json(many))["tables"]
    assert (first["cells"][0]["value"], first["columns"][0]["decided_by"]) == (1234, "page")
    assert table_to_dict(many[0])["cells"][0]["value"] is None


def test_values_are_not_read_back() -> None:
    data = table_to_dict(Table.from_texts([["5"]]))
    data["cells"][0] |= {"value": "x", "number_format": 7}
    assert table_from_dict(data | {"columns": 5}) == Table.from_texts([["5"]])


def test_text_is_readable() -> None:
    assert "表" in tables_to_json([Table([Cell(0, 0, text="表")])])


def test_unknown_fields_are_ignored() -> None:
    data = {"new": 1, "cells": [{"row": 0, "col": 0, "new": 2}]}
    assert table_from_dict(data) == Table([Cell(0, 0)])


def test_coordinate_that_json_cannot_hold() -> None:
    quad = ((0.0, 0.0), (1.0, 0.0), (1.0, float("nan")), (0.0, 1.0))
    with pytest.raises(OutputError, match="finite"):
        tables_to_json([Table([Cell(0, 0, quad=quad)])])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        (b"\xff\xff\xff", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("1" * 5000, "not JSON|format"),
        ("[]", "format"),
        ("null", "format"),
        ("{}", "format"),
        ('{"format": "tablerec-tables"}', "version"),
        ('{"format": "tablerec-tables", "version": true, "tables": []}', "version"),
        ('{"format": "tablerec-tables", "version": 2, "tables": []}', "update tablerec"),
        ('{"format": "tablerec-tables", "version": 1}', "tables"),
        ('{"format": "tablerec-tables", "version": 1, "tables": {}}', "tables"),
        ('{"format": "tablerec-tables", "version": 1, "tables": [[]]}', "table 1 is"),
    ],
    ids=range(14),
)
def test_document_that_is_none(text: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tables_from_json(text)


def change_cell(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["cells"][0].update(fields)


def change(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda data: data.update(fields)


def deep(depth: int) -> list[dict[str, Any]]:
    """Tables in cells of one another."""
    return [{"cells": [{"row": 0, "col": 0, "tables": deep(depth - 1)}]}] if depth else []


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change(cells=None), "cells"),
        (change(cells={}), "cells"),
        (change(cells=[5]), "cell 1 is 5"),
        (change(cells=[]), "n_rows"),
        (change(n_rows=2), "n_rows"),
        (change(n_cols="2"), "n_cols"),
        (change(quad=[[0, 0]]), "quad"),
        (lambda data: data["cells"].pop(), "n_cols"),
        (lambda data: data["cells"].append({"row": 0, "col": 0}), "share row 0, column 0"),
        (lambda data: data["cells"].append({"row": 5, "col": 5}), "belongs to no cell"),
        (lambda data: data["cells"].append({"row": 10**300, "col": 5}), "no cell"),
        (lambda data: data["cells"][0].pop("row"), "row"),
        (change_cell(row=-1), "positions start at 0"),
        (change_cell(row=True), "whole number"),
        (change_cell(row=0.0), "whole number"),
        (change_cell(row="0"), "whole number"),
        (change_cell(rowspan=0), "spans at 1"),
        (change_cell(rowspan=10**9, colspan=10**9), "more than 10,000,000 slots"),
        (change_cell(text=5), "text"),
        (change_cell(text=None), "text"),
        (change_cell(header="title"), "header"),
        (change_cell(header=[]), "header"),
        (change_cell(ocr_score="0.5"), "ocr_score"),
        (change_cell(ocr_score=float("inf")), "finite"),
        (change_cell(ocr_score=10**400), "finite"),
        (change_cell(detector_score=True), "detector_score"),
        (change_cell(header_score=0.5), "header_score is 0.5"),
        (change_cell(header="row", header_score=1.5), "header_score is 1.5"),
        (change_cell(header="row", header_score="1"), "header_score"),
        (change_cell(is_total=1), "is_total"),
        (change_cell(is_total=None), "is_total"),
        (change_cell(tables={}), '"tables" is not a list'),
        (change_cell(tables=[5]), "cell 1, table 1 is 5"),
        (change_cell(tables=[{"cells": [{}]}]), "cell 1, table 1, cell 1"),
        (change_cell(tables=[{"cells": [{"row": 0, "col": 0, "rowspan": 9_999_999}]}]), "more than 10,000,000 slots"),
        (change_cell(tables=deep(11)), "more than 10 deep"),
        (change_cell(pictures=5), '"pictures" is not a list'),
        (change_cell(pictures=[{"quad": 5}]), "picture"),
        (change_cell(quad=[]), "quad"),
        (change_cell(quad="abcd"), "quad"),
        (change_cell(quad=[[0, 0], [1, 0], [1, 1], [0]]), "quad"),
        (change_cell(quad=[[0, 0], [1, 0], [1, 1], [0, None]]), "quad"),
        (change_cell(quad=[[0, 0], [1, 0], [1, 1], [0, float("nan")]]), "finite"),
    ],
    ids=range(43),
)
def test_hostile_table_is_refused(damage: Callable[[dict[str, Any]], object], message: str) -> None:
    data = table_to_dict(Table.from_texts([["a", "b"]]))
    damage(data)
    with pytest.raises(InputError, match=message):
        table_from_dict(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["cells", "row", "col", "rowspan", "quad", "n_rows"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_gives_a_table_or_our_error(data: Any) -> None:
    try:
        table = table_from_dict(data)
    except InputError:
        return
    assert table_from_dict(table_to_dict(table)) == table
