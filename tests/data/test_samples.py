"""The sample pictures and their labels agree with each other, with the script and with the README."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from lxml import html as lxml_html
from PIL import Image

from postprocess.cell import Cell
from postprocess.table import Table

FOLDER = Path(__file__).resolve().parents[2] / "data" / "samples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
TABLES = [(name, number) for name in NAMES for number in range(2 if name == "two_tables" else name != "no_table")]


def read_label(name: str) -> dict[str, Any]:
    label: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return label


def read_table(name: str, number: int) -> dict[str, Any]:
    table: dict[str, Any] = read_label(name)["tables"][number]
    return table


def label_to_table(label: dict[str, Any]) -> Table:
    keys = ("row", "col", "rowspan", "colspan", "text", "header")
    return Table([Cell(**{key: cell[key] for key in keys if key in cell}) for cell in label["cells"]])


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("make_samples", FOLDER / "make_samples.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_samples"] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    yield module
    del sys.modules["make_samples"]


@pytest.fixture
def fonts(script: ModuleType) -> None:
    try:
        for file_name, package in script.FONTS.values():
            script.find_font(file_name, package)
    except SystemExit as problem:
        pytest.skip(str(problem))


def test_every_picture_has_a_label_and_a_line_in_the_readme(script: ModuleType) -> None:
    pictures = {path.name for path in FOLDER.iterdir() if path.suffix in {".png", ".jpg"}}
    listed = re.findall(r"^\| `(\S+)` \|", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(pictures) == 12
    assert sorted(listed) == sorted(pictures)
    assert {read_label(name)["image"] for name in NAMES} == pictures
    assert {sample.image for sample in script.make_samples()} == pictures


def test_pictures_are_small() -> None:
    sizes = {name: (FOLDER / read_label(name)["image"]).stat().st_size for name in NAMES}
    assert max(sizes.values()) <= 100_000, sizes
    assert sum(sizes.values()) < 1_000_000


@pytest.mark.parametrize("name", NAMES)
def test_label_describes_its_picture(name: str) -> None:
    label = read_label(name)
    with Image.open(FOLDER / label["image"]) as image:
        assert image.size == (label["meta"]["width"], label["meta"]["height"])
    assert label["id"] == name == Path(label["image"]).stem
    assert label["source"] == "samples"


@pytest.mark.parametrize("name", NAMES)
def test_script_writes_the_same_label(name: str, script: ModuleType) -> None:
    (sample,) = script.make_samples([name])
    written = script.label_to_json(script.sample_to_label(sample))
    assert written.encode() == (FOLDER / f"{name}.json").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_only_a_single_table_stands_at_the_top(name: str) -> None:
    label = read_label(name)
    if len(label["tables"]) == 1:
        top = {key: label[key] for key in ("n_rows", "n_cols", "cells", "html")}
        assert top.items() <= label["tables"][0].items()
    else:
        assert "cells" not in label


def test_number_of_tables_is_as_the_names_say() -> None:
    counts = {name: len(read_label(name)["tables"]) for name in NAMES}
    assert counts == {name: {"two_tables": 2, "no_table": 0}.get(name, 1) for name in NAMES}


@pytest.mark.parametrize(("name", "number"), TABLES)
def test_cells_form_a_complete_table(name: str, number: int) -> None:
    label = read_table(name, number)
    assert label_to_table(label).shape == (label["n_rows"], label["n_cols"])


@pytest.mark.parametrize(("name", "number"), TABLES)
def test_html_equals_the_cells(name: str, number: int) -> None:
    label = read_table(name, number)
    root = lxml_html.fromstring(label["html"])
    for line_break in root.iter("br"):
        line_break.tail = "\n" + (line_break.tail or "")
    found = [
        [(td.text_content(), int(td.get("rowspan", 1)), int(td.get("colspan", 1))) for td in row]
        for row in root.iter("tr")
    ]
    rows = label_to_table(label).rows()
    assert found == [[(cell.text, cell.rowspan, cell.colspan) for cell in row] for row in rows]


@pytest.mark.parametrize(("name", "number"), TABLES)
def test_boxes_lie_in_the_picture_and_in_the_table(name: str, number: int) -> None:
    meta, label = read_label(name)["meta"], read_table(name, number)
    outline = np.array(label["quad"])
    boxes = np.array([cell["bbox"] for cell in label["cells"]])
    assert (boxes[:, :2] < boxes[:, 2:]).all()
    assert (boxes >= [*outline.min(0), *outline.min(0)]).all()
    assert (boxes <= [*outline.max(0), *outline.max(0)]).all()
    assert (outline >= 0).all()
    assert (outline <= [meta["width"], meta["height"]]).all()


@pytest.mark.parametrize(("name", "number"), TABLES)
def test_neighbours_share_their_corners(name: str, number: int) -> None:
    """Each crossing of the grid has one place in the picture."""
    corners: dict[tuple[int, int], list[float]] = {}
    for cell in read_table(name, number)["cells"]:
        left, top, right, bottom = cell["bbox"]
        quad = cell.get("quad", [[left, top], [right, top], [right, bottom], [left, bottom]])
        assert cell["bbox"] == [*np.min(quad, 0), *np.max(quad, 0)]
        row, col, end_row, end_col = (
            cell["row"],
            cell["col"],
            cell["row"] + cell["rowspan"],
            cell["col"] + cell["colspan"],
        )
        crossings = [(row, col), (row, end_col), (end_row, end_col), (end_row, col)]
        for crossing, point in zip(crossings, quad, strict=True):
            assert corners.setdefault(crossing, point) == point


def test_only_askew_pictures_have_quads() -> None:
    with_quads = {name for name, number in TABLES if all("quad" in c for c in read_table(name, number)["cells"])}
    assert with_quads == {"rotated", "photo"}


@pytest.mark.parametrize(("name", "number"), [item for item in TABLES if item[0] not in {"rotated", "photo"}])
def test_ink_is_where_the_label_has_text(name: str, number: int) -> None:
    with Image.open(FOLDER / read_label(name)["image"]) as image:
        pixels = np.asarray(image.convert("L"), int)
    for cell in read_table(name, number)["cells"]:
        left, top, right, bottom = cell["bbox"]
        dx, dy = 0.06 * (right - left), 0.2 * (bottom - top)  # stay clear of the rules
        inside = pixels[int(top + dy) : int(bottom - dy), int(left + dx) : int(right - dx)]
        assert (np.ptp(inside) > 40) == bool(cell["text"]), cell


@pytest.mark.parametrize("name", NAMES)
def test_script_draws_the_same_picture(name: str, script: ModuleType, fonts: None) -> None:
    (sample,) = script.make_samples([name])
    drawn = np.asarray(script.render(sample).convert("L"), float)
    with Image.open(FOLDER / sample.image) as image:
        stored = np.asarray(image.convert("L"), float)
    assert drawn.shape == stored.shape
    assert np.abs(drawn - stored).mean() < 4, "picture is out of date: run make_samples.py"


def test_absent_font_names_the_package(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "FONT_FOLDERS", ())
    with pytest.raises(SystemExit, match=r"absent\.ttf.*apt-get install fonts-absent"):
        script.find_font("absent.ttf", "fonts-absent")


def test_unknown_sample_is_refused(script: ModuleType) -> None:
    with pytest.raises(SystemExit, match="no sample is called teapot"):
        list(script.make_samples(["teapot"]))


def test_text_wider_than_its_cell_is_refused(script: ModuleType, fonts: None) -> None:
    canvas = script.Canvas((100, 40), "white")
    with pytest.raises(ValueError, match="px of room"):
        canvas.text(0, 20, "far too long for this", script.Style(), room=50)
