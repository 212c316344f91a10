"""All tables at once: workbook, archive, JSON and CSV."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
from PIL import Image

from postprocess.export import tables_from_json
from postprocess.export.excel import MAX_CHARS
from tablerec.corrections.review.desk import Desk
from tablerec.corrections.review.outputs.entries import Entry, to_entries
from tablerec.corrections.review.outputs.files import NAMES, Wanted, write_output
from tablerec.errors import InputError, OutputError
from tablerec.labels.read import read_labels
from tests.helpers.review import make_desk

KINDS = sorted(NAMES)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A table that is saved, one that is open, and one that is none."""
    made = make_desk(tmp_path, ["b.png", "a.png", "none.png"])
    made.read_all()
    made.corrections.do(made.correction("b_1_1"), {"do": "set_text", "row": 0, "col": 0, "text": "=1+1"})
    made.corrections.do(made.correction("b_1_1"), {"do": "save"})
    made.corrections.do(made.correction("none_1_1"), {"do": "reject"})
    return made


def entries(desk: Desk, *, only_saved: bool = False) -> list[Entry]:
    return to_entries([[desk.correction(name)] for name in desk.names()], only_saved=only_saved)


def write(desk: Desk, kind: str, **options: Any) -> Path:
    return write_output(entries(desk), desk.corrections, Wanted(kind, **options))


def test_without_a_table_it_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no table yet"):
        to_entries([], only_saved=False)
    desk = make_desk(tmp_path)
    desk.read_all()
    with pytest.raises(InputError, match="save one, or choose all"):
        entries(desk, only_saved=True)


def test_what_is_no_table_and_pages_without_one_stay_behind(tmp_path: Path, desk: Desk) -> None:
    assert [entry.name for entry in entries(desk)] == ["b_1_1", "a_1_1"]  # as the inputs were given
    assert [entry.name for entry in entries(desk, only_saved=True)] == ["b_1_1"]


def test_the_contents_lead_to_each_table(desk: Desk) -> None:
    workbook = openpyxl.load_workbook(write(desk, "xlsx"))
    assert workbook.sheetnames == ["Contents", "b_1_1", "a_1_1"]
    rows = [[cell.value for cell in row] for row in workbook["Contents"].iter_rows(max_row=3)]
    assert rows == [
        ["Table", "Source", "Page", "Rows", "Columns", "Status", "Share verified"],
        ["b_1_1", "b.png", 1, 3, 3, "saved", 0.1111],
        ["a_1_1", "a.png", 1, 3, 3, "open", 0],
    ]
    assert [workbook["Contents"][place].hyperlink.location for place in ("A2", "A3")] == ["'b_1_1'!A1", "'a_1_1'!A1"]
    assert (workbook["b_1_1"]["A1"].value, workbook["b_1_1"]["A1"].data_type) == ("=1+1", "s")
    assert workbook["a_1_1"]["B3"].value == 2.1


def test_the_contents_are_chinese_where_the_page_is(desk: Desk) -> None:
    sheet = openpyxl.load_workbook(write(desk, "xlsx", language="zh"))["目录"]
    assert (sheet["A1"].value, sheet["F2"].value) == ("表格", "已保存")


def test_names_never_become_formulas_and_each_has_its_sheet(tmp_path: Path) -> None:
    names = ["=cmd()|x.png", f"{'long' * 20}.png", f"{'long' * 20}er.png"]
    desk = make_desk(tmp_path, names)
    desk.read_all()
    workbook = openpyxl.load_workbook(write(desk, "xlsx"))
    cells = [workbook["Contents"].cell(row, 2) for row in (2, 3, 4)]
    assert [cell.value for cell in cells] == names and {cell.data_type for cell in cells} == {"s"}
    assert len(set(workbook.sheetnames)) == 4
    for row, name in zip((2, 3, 4), workbook.sheetnames[1:], strict=True):
        assert workbook["Contents"].cell(row, 1).hyperlink.location == f"'{name}'!A1"


@pytest.mark.parametrize("with_title", [False, True])
def test_each_cell_leads_to_its_picture(tmp_path: Path, desk: Desk, with_title: bool) -> None:
    path = write(desk, "xlsx", with_crops=True)
    sheet = openpyxl.load_workbook(path)["a_1_1"]
    links = {cell.value: cell.hyperlink.target for row in sheet.iter_rows() for cell in row if cell.hyperlink}
    assert len(links) == 9 and links[0.0] == "crops/a_1_1/r1_c1.png"
    picture = np.array(Image.open(desk.corrections.picture(desk.correction("a_1_1"))))
    crop = np.array(Image.open(path.parent / links[0.0]))
    assert np.array_equal(crop, picture[18:62, 18:122])  # two pixels around the first cell


def test_an_empty_cell_has_no_link_and_crops_of_before_are_gone(desk: Desk) -> None:
    write(desk, "xlsx", with_crops=True)
    correction = desk.correction("a_1_1")
    desk.corrections.do(correction, {"do": "remove", "axis": "row", "index": 2, "count": 1})
    desk.corrections.do(correction, {"do": "set_text", "row": 0, "col": 0, "text": ""})
    path = write(desk, "xlsx", with_crops=True)
    sheet = openpyxl.load_workbook(path)["a_1_1"]
    assert (sheet["A1"].value, sheet["A1"].hyperlink) == (None, None)
    assert len(list((path.parent / "crops" / "a_1_1").iterdir())) == 6
    assert sorted(each.name for each in path.parent.iterdir()) == ["crops", "tables.xlsx"]


def test_the_archive_has_everything_and_its_labels_can_be_trained_on(desk: Desk, tmp_path: Path) -> None:
    with zipfile.ZipFile(write(desk, "zip", with_crops=True)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        archive.extractall(tmp_path / "out")
    for name in ("a_1_1", "b_1_1"):
        expected = {f"html/{name}.html", f"csv/{name}.csv", f"json/{name}.json", f"crops/{name}/r3_c3.png"}
        assert expected <= set(names)
    assert len(names) == len(set(names)) == 2 * 3 + 2 * 9 + 2 + 2 + 1
    [label] = read_labels(tmp_path / "out" / "labels")
    assert label.image.name == "b_1_1.png" and len(label.quads) == 9
    workbook = openpyxl.load_workbook(tmp_path / "out" / "tables.xlsx")
    target = workbook["b_1_1"]["B1"].hyperlink.target
    assert (tmp_path / "out" / target).is_file()
    [table] = tables_from_json((tmp_path / "out" / "json" / "b_1_1.json").read_bytes())
    assert table[0, 0].text == "=1+1"


def test_json_reads_back_and_csv_starts_no_formula(desk: Desk) -> None:
    content = write(desk, "json").read_bytes()
    assert [table[0, 0].text for table in tables_from_json(content)] == ["=1+1", "0.0"]
    about = [
        {key: each[key] for key in ("name", "source", "pages", "verdict")} for each in json.loads(content)["tables"]
    ]
    assert about[0] == {"name": "b_1_1", "source": "b.png", "pages": "1", "verdict": "saved"}
    with zipfile.ZipFile(write(desk, "csv")) as archive:
        assert archive.namelist() == ["b_1_1.csv", "a_1_1.csv"]
        assert archive.read("b_1_1.csv").decode("utf-8-sig").startswith('"\'=1+1","0.1"')


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_written_leaves_the_former_file(desk: Desk, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(desk, kind)
    before = path.read_bytes()

    def fail(*_: Any) -> bytes:
        raise OSError(28, "No space left on device")

    if kind == "xlsx":
        long = {"do": "set_text", "row": 0, "col": 0, "text": "x" * 9000}
        monkeypatch.setattr("postprocess.export.excel.MAX_CHARS", 8000)
        desk.corrections.do(desk.correction("a_1_1"), long)
        assert MAX_CHARS > 8000
    else:
        monkeypatch.setattr("tablerec.corrections.review.outputs.files._to_json", fail)
        monkeypatch.setattr("tablerec.corrections.review.outputs.files._to_csv", fail)
    with pytest.raises(OutputError):
        write(desk, kind)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_crops_that_cannot_be_made_leave_the_former_ones(desk: Desk) -> None:
    path = write(desk, "xlsx", with_crops=True)
    desk.corrections.picture(desk.correction("b_1_1")).write_bytes(b"broken")
    with pytest.raises(InputError, match=r"b_1_1\.png"):
        write(desk, "xlsx", with_crops=True)
    assert len(list((path.parent / "crops" / "b_1_1").iterdir())) == 9
    assert sorted(each.name for each in path.parent.iterdir()) == ["crops", "tables.xlsx"]


def test_nothing_is_written_through_a_link(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "corrections" / "outputs").symlink_to(tmp_path / "elsewhere")
    for kind in KINDS:
        with pytest.raises(OutputError, match="leads out"):
            write(desk, kind)
    (tmp_path / "corrections" / "outputs").unlink()
    (tmp_path / "corrections" / "outputs").mkdir()
    (tmp_path / "corrections" / "outputs" / "crops").symlink_to(tmp_path / "elsewhere")
    write(desk, "xlsx", with_crops=True)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_pictures_and_labels_that_lead_out_stay_behind(desk: Desk, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    label = tmp_path / "corrections" / "images" / "b_1_1.json"
    label.unlink()
    label.symlink_to(secret)
    with zipfile.ZipFile(io.BytesIO(write(desk, "zip").read_bytes())) as archive:
        assert "labels/images/b_1_1.json" not in archive.namelist()
