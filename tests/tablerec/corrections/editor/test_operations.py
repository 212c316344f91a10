from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.editing.state import State
from postprocess.editing.steps import merge
from tablerec.corrections.editor.operations import MAX_TEXT, OPERATIONS, apply
from tablerec.corrections.history import History
from tablerec.errors import InputError, TablerecError
from tests.helpers.find_corrections import find_corrections
from tests.helpers.review import make_table

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["row", "col"]),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=3), children, max_size=3),
    max_leaves=5,
)
ARGUMENTS = sorted({name for _, checks in OPERATIONS.values() for name in checks})


@settings(max_examples=60)
@given(st.sampled_from([*OPERATIONS, "undo", "redo", "save", ""]), st.dictionaries(st.sampled_from(ARGUMENTS), VALUES))
def test_whatever_is_asked_for_is_done_or_refused(name: str, arguments: dict[str, Any]) -> None:
    before = History((State(make_table()),))
    try:
        after = apply(before, {"do": name, **arguments})
    except TablerecError:
        return
    assert after.now == before.now or after.undo().now == before.now
    assert len(after.now.table) == len(np.unique(after.now.table.owner)) and after.now.table.owner.min(initial=0) >= 0


@pytest.mark.parametrize("step", [None, [], "undo", {}, {"do": None}, {"do": ["undo"]}, {"do": "__class__"}])
def test_what_is_no_step_is_refused(step: Any) -> None:
    with pytest.raises(InputError, match="step"):
        apply(History((State(make_table()),)), step)


@pytest.mark.parametrize(
    ("step", "named"),
    [
        ({"do": "set_text", "row": 0, "col": 0}, "missing"),
        (
            {"do": "set_text", "row": 0, "col": 0, "text": "x" * (MAX_TEXT + 1)},
            "; a text of at most 10,000",
        ),
        (
            {"do": "set_text", "row": True, "col": 0, "text": ""},
            "row is True; a whole number from 0",
        ),
        ({"do": "split", "row": 0, "col": 0, "table": 1}, "'table' is unknown"),
        (
            {"do": "move_line", "axis": "row", "line": 1, "offset": float("nan")},
            "; a number from -1,000,000",
        ),
        (
            {"do": "move_line", "axis": "row", "line": 1, "offset": -(10**400)},
            "; a number from -1,000,000",
        ),
        ({"do": "divide", "axis": "x", "index": 0}, "axis is 'x'; 'row' or 'col' is needed"),
        ({"do": "set_texts", "row": 0, "col": 0, "texts": ["a"]}, "rows of texts"),
        ({"do": "set_texts", "row": 0, "col": 0, "texts": [[""] * 60_000] * 2}, "at most 100,000 texts"),
        ({"do": "remove", "axis": "row", "index": 0, "count": 0}, "count is 0; a whole number from 1"),
    ],
)
def test_the_message_names_what_is_wrong(step: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        apply(History((State(make_table()),)), step)


def test_a_step_that_changes_nothing_is_none() -> None:
    history = History((State(make_table()),))
    assert apply(history, {"do": "move_line", "axis": "row", "line": 1, "offset": 0}) is history
    assert apply(history, {"do": "undo"}) is history


def test_the_corrections_that_are_found_are_steps() -> None:
    found, true = make_table(3, 3), merge(make_table(4, 2), 1, 0, 3, 1)
    history = History((State(found),))
    for step in json.loads(json.dumps(find_corrections(found, true))):
        history = apply(history, step)
    assert history.now.table.to_grid() == true.to_grid()
    assert [cell.rowspan for cell in history.now.table.cells] == [cell.rowspan for cell in true.cells]


def test_half_a_surrogate_pair_can_be_written_to_a_file() -> None:
    step = json.loads('{"do": "set_text", "row": 0, "col": 0, "text": "a\\ud800\\r\\nb"}')
    assert apply(History((State(make_table()),)), step).now.table[0, 0].text.encode() == b"a?\nb"
