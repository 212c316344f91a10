"""Where the fast renderer places text, and in which font."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tablerec.synth.description import CellSpec, ColumnSpec, RowSpec, TableSpec, TextStyle
from tablerec.synth.drawing import fonts
from tablerec.synth.drawing.canvas import Canvas
from tablerec.synth.drawing.layout import lay_out_table

TEXT = "one two three four five six seven eight"


def table_of(cell: CellSpec, width: float) -> TableSpec:
    return TableSpec((cell,), (RowSpec(2, 2),), (ColumnSpec(3, 3, max_width=60),), width=width)


def test_text_fills_a_column_that_is_stretched() -> None:
    cell = CellSpec(0, 0, TEXT, TextStyle("Sans", 10))
    narrow, wide = (lay_out_table(table_of(cell, width)) for width in (0, 150))
    assert len(narrow.cells[0].lines) > len(wide.cells[0].lines) > 1
    assert wide.size[1] < narrow.size[1]
    for layout in (narrow, wide):
        assert layout.cells[0].extent is not None
        assert 3 <= layout.cells[0].extent[0] < layout.cells[0].extent[2] <= layout.size[0] - 2


def test_a_table_is_squeezed_into_its_page_as_far_as_its_words_allow() -> None:
    style = TextStyle("Sans", 10)
    cells = (CellSpec(0, 0, TEXT, style), CellSpec(0, 1, "1234567", style, wraps=False))
    spec = TableSpec(cells, (RowSpec(2, 2),), (ColumnSpec(3, 3),) * 2)
    layouts = [lay_out_table(replace(spec, width=width)) for width in (0, 160, 10)]
    widths = [layout.size[0] for layout in layouts]
    assert widths[0] > 200 and widths[1] == pytest.approx(160, abs=1) and 80 < widths[2] < 120
    n_lines = [len(layout.cells[0].lines) for layout in layouts]
    assert n_lines[0] == 1 < n_lines[1] < n_lines[2]
    for layout in layouts:
        for side, cell in zip(layout.xs[1:], layout.cells, strict=True):
            assert cell.extent is not None and cell.extent[2] <= side - 1


@pytest.mark.parametrize("changes", [{"wraps": False}, {"has_leader": True}, {"lead": "$"}])
def test_lines_that_are_held_by_something_stay(changes: dict[str, object]) -> None:
    cell = replace(CellSpec(0, 0, "one\ntwo", TextStyle("Sans", 10)), **changes)  # type: ignore[arg-type]
    assert [line.text for line in lay_out_table(table_of(cell, 200)).cells[0].lines] == ["one", "two"]


def test_a_medium_weight_is_regular_where_there_is_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    styles = {"A": ("Medium", "Medium Italic", "Bold"), "B": ("Medium", "Regular", "Bold")}
    listed = [
        (name, fonts.Face(f"{name}-{style}.ttf", 0, *fonts._weights(style)))
        for name, of_name in styles.items()
        for style in of_name
    ]
    monkeypatch.setattr(fonts, "_ask_fontconfig", lambda: listed)
    monkeypatch.setattr(fonts, "_covered", lambda face: frozenset(["latin"]))
    first, second = fonts.find_families.__wrapped__()
    assert Path(first.face(bold=False, italic=False).path).stem == "A-Medium"
    assert Path(first.face(bold=True, italic=False).path).stem == "A-Bold"
    assert Path(second.face(bold=False, italic=False).path).stem == "B-Regular"


def test_ink_covers_the_ground_by_its_share() -> None:
    canvas = Canvas(3, 1, (200, 100, 0))
    canvas._ink((0, 0, 255))[0, 1:] = 51, 255
    assert canvas.finish()[0].tolist() == [[200, 100, 0], [160, 80, 51], [0, 0, 255]]
