from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postprocess.cell import Cell
from postprocess.table import Table
from tablerec.errors import InputError
from tablerec.evaluate.truth import RaggedTable, Truth, find_truths, normalize, place_as_browser, read_truth

WriteTruth = Callable[..., Path]


def test_a_folder_without_truths_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no JSON"):
        find_truths(tmp_path)
    with pytest.raises(InputError, match="not a folder"):
        find_truths(tmp_path / "nowhere")


def test_a_truth_is_read_whole(write_truth: WriteTruth) -> None:
    cells = [Cell(0, 0, colspan=2, text="Q1"), Cell(1, 0, text="7"), Cell(1, 1)]
    path = write_truth("invoice", cells, source="bills")
    truth = read_truth(path)
    assert (truth.id, truth.source, truth.image) == ("invoice", "bills", path.with_suffix(".png"))
    assert isinstance(truth.table, Table)
    assert truth.table[0, 1].text == "Q1"
    assert truth.table[1, 1].quad == ((20, 20), (40, 20), (40, 40), (20, 40))
    assert truth.filled == {(0, 0), (1, 0), (1, 1)}
    assert (truth.has_text, truth.flawed, truth.boxes_are_cells) == (True, False, True)


@pytest.mark.parametrize(
    ("meta", "has_text", "flawed", "boxes_are_cells"),
    [
        ({}, True, False, False),
        ({"has_text": False, "bbox_kind": "text"}, False, False, False),
        ({"suspect_spans": True}, True, True, False),
        ({"ambiguous_spans": 2, "bbox_kind": "cell"}, True, True, True),
        ({"audit": "wrong"}, True, True, False),
        ({"audit": "right"}, True, False, False),
        ({"ambiguous_spans": 0, "suspect_spans": None, "bbox_kind": "grid region"}, True, False, False),
    ],
)
def test_meta_decides(
    write_truth: WriteTruth, meta: dict[str, Any], has_text: bool, flawed: bool, boxes_are_cells: bool
) -> None:
    truth = read_truth(write_truth("a", [Cell(0, 0, text="7")], meta=meta))
    assert (truth.has_text, truth.flawed, truth.boxes_are_cells) == (has_text, flawed, boxes_are_cells)


def test_an_audit_tells_conventions_apart(write_truth: WriteTruth) -> None:
    cells = [Cell(0, 0, text="7")]
    known = [{}, {"audit": None}, {"audit": "right"}, {"audit": "convention"}]
    truths = [read_truth(write_truth("a", cells, meta=meta)) for meta in known]
    assert [(truth.is_convention, truth.flawed) for truth in truths] == [(False, False)] * 3 + [(True, False)]
    with pytest.raises(InputError, match=r"a\.json: .*audit"):
        read_truth(write_truth("a", cells, meta={"audit": "perhaps"}))


def test_cells_with_a_hole_are_kept_as_a_browser_shows_them(write_truth: WriteTruth) -> None:
    table = read_truth(write_truth("a", [Cell(0, 0), Cell(0, 1), Cell(1, 1, text="x")])).table
    assert isinstance(table, RaggedTable)
    assert table.owner.tolist() == [[0, 1], [2, -1]]
    assert table.cells[2].text == "x"


def test_placing_a_complete_table_changes_nothing() -> None:
    table = Table([Cell(0, 0, 2, 1), Cell(0, 1), Cell(0, 2, 1, 2), Cell(1, 1, 1, 3)])
    placed = place_as_browser(table.cells)
    assert placed.cells == table.cells
    assert placed.owner.tolist() == table.owner.tolist()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": "b"}, "id is 'b'"),
        ({"id": 7}, "id is 7; a text is needed"),
        ({"image": "../secret.png"}, "must be a file name"),
        ({"image": None}, "image is missing"),
        ({"cells": []}, "cells is empty"),
        ({"cells": None}, "cells is missing"),
        ({"cells": {}}, "cells is {}; a list"),
        ({"cells": [7]}, r"cells\[0\] must be a JSON object"),
        ({"cells": [{"row": -1, "col": 0}]}, r"cells\[0\].row is -1"),
        ({"cells": [{"row": True, "col": 0}]}, r"cells\[0\].row is True"),
        ({"cells": [{"row": 0}]}, r"cells\[0\].col is missing"),
        ({"cells": [{"row": 0, "col": 0, "colspan": 0}]}, r"colspan is 0; a whole number of at least 1"),
        ({"cells": [{"row": 0, "col": 0, "rowspan": 10**9}]}, "slots"),
        ({"cells": [{"row": 10**9, "col": 10**9}]}, "slots"),
        ({"cells": [{"row": 0, "col": 0, "bbox": [0, 0, 1]}]}, r"bbox is \[0, 0, 1\]; null or a list of 4 numbers"),
        ({"cells": [{"row": 0, "col": 0, "bbox": [0, 0, 1, float("nan")]}]}, "bbox"),
        ({"cells": [{"row": 0, "col": 0, "text": ["x" * 1000]}]}, r"text is \['x{38}\.\.\.; a text"),
        ({"meta": []}, "meta"),
        ({"meta": {"has_text": "yes"}}, "meta.has_text is 'yes'; true or false"),
        ({"meta": {"ambiguous_spans": "many"}}, "meta.ambiguous_spans"),
    ],
)
def test_a_wrong_field_is_named(write_truth: WriteTruth, fields: dict[str, Any], message: str) -> None:
    path = write_truth("a", [Cell(0, 0)], **fields)
    with pytest.raises(InputError, match=message) as caught:
        read_truth(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000])
def test_a_file_that_is_no_truth_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.json: "):
        read_truth(path)


def test_the_same_id_twice_is_refused(write_truth: WriteTruth, tmp_path: Path) -> None:
    path = write_truth("a", [Cell(0, 0)])
    again = tmp_path / "truth" / "other"
    again.mkdir()
    (again / "a.json").write_bytes(path.read_bytes())
    with pytest.raises(InputError, match="has the same id"):
        find_truths(tmp_path / "truth")


anything = (
    st.none() | st.booleans() | st.integers(-5, 50) | st.floats() | st.text(max_size=3) | st.just([]) | st.just({})
)
small = st.integers(-1, 9) | anything
cell = st.fixed_dictionaries(
    {"row": small, "col": small},
    optional={"rowspan": small, "colspan": small, "bbox": st.lists(anything, max_size=5) | anything, "text": anything},
)
meta = st.fixed_dictionaries({}, optional={"has_text": anything, "ambiguous_spans": anything, "bbox_kind": anything})


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.fixed_dictionaries({"cells": st.lists(cell, max_size=4) | anything, "meta": meta | anything}))
def test_whatever_the_file_holds_it_is_read_or_refused(tmp_path: Path, data: dict[str, Any]) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"id": "a", "image": "a.png", **data}), encoding="utf-8")
    outcome: Truth | InputError
    try:
        outcome = read_truth(path)
    except InputError as error:
        outcome = error
    if isinstance(outcome, InputError):
        assert "a.json" in str(outcome)
    else:
        assert outcome.table.owner.max() < len(outcome.table.cells)


def test_labels_of_pages_are_left_out_and_named(tmp_path: Path) -> None:
    cell = {"row": 0, "col": 0, "rowspan": 1, "colspan": 1, "bbox": None, "text": "a"}
    single = {"id": "one", "source": "s", "image": "one.png", "cells": [cell], "meta": {}, "tables": [{}]}
    (tmp_path / "one.json").write_text(json.dumps(single), encoding="utf-8")
    (tmp_path / "page.json").write_text(json.dumps({"id": "page", "tables": []}), encoding="utf-8")
    with pytest.warns(UserWarning, match=r"page\.json"):
        truths = find_truths(tmp_path)
    assert [truth.id for truth in truths] == ["one"]


@pytest.mark.parametrize(
    ("true", "read"),
    [("m2", "m²"), ("m²", "m2"), ("10-3", "10⁻³"), ("10\u22123", "10⁻³"), ("41a", "41ᵃ"), ("H2O", "H₂O")],
)
def test_a_truth_need_not_say_what_is_raised(true: str, read: str) -> None:
    assert normalize(read) == normalize(true)
