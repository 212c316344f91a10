"""One fix for all tables like it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from postprocess.editing.placing import complete, table_lines
from postprocess.table import Table
from tablerec.corrections.alike.fixes import to_fixes
from tablerec.corrections.alike.offers import Offers
from tablerec.corrections.editor import CorrectionFolder
from tablerec.corrections.review.desk import Desk
from tablerec.errors import InputError
from tablerec.result import Page
from tests.helpers.review import make_page

HEADS = ["Item", "No.", "Sum"]


def bill(n_rows: int, width: float = 300, heads: list[str] = HEADS) -> Table:
    rows = [[f"item {row}", str(row), f"{row}O.5"] for row in range(n_rows)]
    quad = ((10.0, 10.0), (10 + width, 10.0), (10 + width, 150.0), (10.0, 150.0))
    return complete(replace(Table.from_texts([heads, *rows]), quad=quad), (340, 160))


TABLES = {
    "a.png": bill(3),
    "b.png": bill(5),
    "c.png": bill(2, 150),
    "d.png": bill(3, heads=["Date", "Place", "Weather"]),
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Three bills, and something else."""
    return open_desk(tmp_path)


def open_desk(folder: Path) -> Desk:
    for number, name in enumerate(TABLES):
        Image.fromarray(np.full((8, 8, 3), number, np.uint8)).save(folder / name)

    def read(source: str) -> Iterator[Page]:
        yield make_page(TABLES[Path(source).name], source=source)

    made = Desk([folder / name for name in TABLES], folder, CorrectionFolder(folder / "corrections"), read)
    made.read_all()
    return made


def do(desk: Desk, name: str, *steps: dict[str, Any]) -> None:
    for step in steps:
        desk.corrections.do(desk.correction(name), step)


def offered(desk: Desk, name: str = "a_1_1") -> dict[str, Any]:
    """Name of each table for which the fixes are offered -> its preview."""
    return {each["name"]: each for each in Offers(desk).offer(name)["tables"]}


def test_without_a_fix_nothing_is_offered(desk: Desk) -> None:
    offers = Offers(desk)
    assert offers.offer("a_1_1")["tables"] == []
    do(desk, "a_1_1", {"do": "set_headers", "n_rows": 1, "n_cols": 0}, {"do": "undo"}, {"do": "save"})
    assert offers.offer("a_1_1")["tables"] == [] and to_fixes(desk.correction("a_1_1")) == []
    assert offers.apply("a_1_1", desk.correction("a_1_1").version, ["b_1_1"]) == 0
    with pytest.raises(InputError):
        offers.undo()
    with pytest.raises(InputError):
        offers.offer("nothing")


def test_a_line_is_moved_in_all_by_the_same_share_and_undone_in_all(desk: Desk) -> None:
    starts = {name: desk.correction(name).table for name in desk.names()}
    do(desk, "a_1_1", {"do": "move_line", "axis": "col", "line": 1, "offset": 30.0})
    shown = offered(desk)
    assert shown.keys() == {"b_1_1", "c_1_1"} and {each["n_steps"] for each in shown.values()} == {1}
    offers = Offers(desk)
    assert offers.apply("a_1_1", 1, ["b_1_1", "c_1_1"]) == 2
    for name, offset in (("a_1_1", 30), ("b_1_1", 30), ("c_1_1", 15), ("d_1_1", 0)):
        moved = table_lines(desk.correction(name).table, "col")[1] - table_lines(starts[name], "col")[1]
        assert moved == pytest.approx(offset)
    assert Offers(desk).undo() == 2, "also after a restart"
    assert desk.correction("b_1_1").table == starts["b_1_1"] and desk.correction("c_1_1").table == starts["c_1_1"]
    assert desk.correction("a_1_1").table != starts["a_1_1"], "the fix itself stays"


def test_what_was_touched_since_is_not_undone(desk: Desk) -> None:
    do(desk, "a_1_1", {"do": "set_headers", "n_rows": 1, "n_cols": 0})
    offers = Offers(desk)
    offers.apply("a_1_1", 1, ["b_1_1", "c_1_1"])
    do(desk, "b_1_1", {"do": "set_text", "row": 1, "col": 0, "text": "mine"})
    assert offers.undo() == 1
    assert desk.correction("b_1_1").table.n_header_rows == 1 and desk.correction("b_1_1").table[1, 0].text == "mine"


Check = Callable[[Table], bool]
STEPS: list[tuple[dict[str, Any], Check]] = [
    ({"do": "divide", "axis": "col", "index": 0, "fraction": 0.5}, lambda t: t.n_cols == 4),
    ({"do": "remove_line", "axis": "col", "line": 1, "count": 1}, lambda t: t.n_cols == 2),
    ({"do": "remove", "axis": "col", "index": 2, "count": 1}, lambda t: t.n_cols == 2),
    ({"do": "extend", "axis": "col", "at_end": True}, lambda t: t.n_cols == 4),
    ({"do": "set_headers", "n_rows": 1, "n_cols": 1}, lambda t: t.n_header_rows == 1),
    ({"do": "merge", "row": 0, "col": 0, "end_row": 1, "end_col": 2}, lambda t: t[0, 0].colspan == 2),
    ({"do": "set_text", "row": 0, "col": 1, "text": "Number"}, lambda t: t[0, 1].text == "Number"),
    ({"do": "set_header", "row": 2, "col": 0, "kind": "section"}, lambda t: t[2, 0].header == "section"),
    ({"do": "replace_all", "find": "O.5", "text": "0.5", "match_case": True}, lambda t: t[1, 2].text == "00.5"),
]


@pytest.mark.parametrize(("step", "is_done"), STEPS)
def test_fixes_of_grid_head_role_and_text_go_to_all_alike(desk: Desk, step: dict[str, Any], is_done: Check) -> None:
    do(desk, "a_1_1", step)
    shown = offered(desk)
    assert {"b_1_1", "c_1_1"} <= shown.keys()
    preview = shown["b_1_1"]
    assert Offers(desk).apply("a_1_1", 1, ["b_1_1"]) == 1
    table = desk.correction("b_1_1").table
    assert is_done(table) and [*table.shape] == preview["after"] and len(preview["lines"]) == len(table)


def test_a_replacement_goes_wherever_the_text_is(desk: Desk) -> None:
    do(desk, "a_1_1", {"do": "replace_all", "find": "o.5", "text": "0.5", "match_case": False})
    assert offered(desk).keys() == {"b_1_1", "c_1_1", "d_1_1"}
    assert offered(desk)["d_1_1"]["texts"][0] == [1, 2, "00.5"]


ALONE = [
    {"do": "set_text", "row": 1, "col": 0, "text": "mine"},
    {"do": "remove", "axis": "row", "index": 1, "count": 1},
    {"do": "move_line", "axis": "row", "line": 1, "offset": 3.0},
    {"do": "merge", "row": 1, "col": 0, "end_row": 2, "end_col": 2},
]


@pytest.mark.parametrize("step", ALONE)
def test_what_is_about_one_table_alone_is_not_offered(desk: Desk, step: dict[str, Any]) -> None:
    do(desk, "a_1_1", step)
    assert offered(desk) == {}


def test_several_fixes_go_together_and_those_that_do_not_fit_are_left(desk: Desk) -> None:
    steps = [STEPS[0][0], ALONE[0], {"do": "set_headers", "n_rows": 1, "n_cols": 0}, {"do": "reject"}]
    do(desk, "a_1_1", *steps[:3])
    do(desk, "c_1_1", {"do": "reject"})
    assert {name: each["n_steps"] for name, each in offered(desk).items()} == {"b_1_1": 2}


def test_who_looked_at_an_older_state_is_told(desk: Desk) -> None:
    do(desk, "a_1_1", STEPS[4][0])
    with pytest.raises(InputError, match="preview"):
        Offers(desk).apply("a_1_1", 0, ["b_1_1"])
    assert desk.correction("b_1_1").version == 0


@pytest.mark.parametrize("content", ["", "[]", "{", '{"b_1_1": 3}', '{"b_1_1": [0, "x"]}'])
def test_a_broken_note_of_what_was_done_is_as_none(desk: Desk, content: str) -> None:
    (desk.corrections.folder / "alike.json").write_text(content)
    with pytest.raises(InputError, match="nothing to undo"):
        Offers(desk).undo()


def test_a_table_that_was_touched_is_said_to_be(desk: Desk) -> None:
    do(desk, "b_1_1", {"do": "set_text", "row": 1, "col": 0, "text": "mine"})
    do(desk, "a_1_1", STEPS[4][0])
    assert {name: each["is_touched"] for name, each in offered(desk).items()} == {"b_1_1": True, "c_1_1": False}


def test_after_a_step_on_a_large_table_others_are_looked_at_only_when_a_person_asks(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablerec.corrections.alike.offers._LARGE", 3)
    assert not Offers(desk).offer("a_1_1", is_quick=True)["is_cut"]
    do(desk, "a_1_1", STEPS[4][0])
    glance = Offers(desk).offer("a_1_1", is_quick=True)
    assert glance["tables"] == [] and glance["is_cut"]
    assert offered(desk).keys() == {"b_1_1", "c_1_1"}
