from __future__ import annotations

import csv
import errno
import json
import os
import stat
import subprocess
import sys
from dataclasses import replace

import numpy as np
import openpyxl
import PIL.Image
import pytest

from postprocess.cell import Caption, Cell
from postprocess.export import table_from_dict
from postprocess.table import Table
from postprocess.word import Unplaced, Word
from tablerec.errors import OutputError
from tablerec.outputs import files
from tablerec.outputs.files import (
    FORMATS,
    atomic_file,
    check_folder,
    output_paths,
    path_to_format,
    render_files,
    render_page,
    result_to_dict,
    result_to_json,
    save,
)
from tablerec.result import Dropped, Page, PageImage, Result

QUAD = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))
TABLE = Table(
    [Cell(0, 0, colspan=2, text="价格 <b>", header="column"), Cell(1, 0, text="=1+1"), Cell(1, 1, text="2.50")]
)
TEXT_FORMATS = ["html", "csv", "md", "tex", "json"]


def make_page(number=1, tables=(TABLE,), **fields):
    return Page(PageImage("in.png", number, np.full((30, 40, 3), 255, np.uint8)), tuple(tables), **fields)


def make_result(*tables_by_page, source="in.png"):
    return Result(source, tuple(make_page(n, tables) for n, tables in enumerate(tables_by_page, 1)))


DOUBTFUL = replace(TABLE, cells=[replace(cell, confidence=0.6) for cell in TABLE.cells])
ONE = make_result([TABLE])
TWO = make_result([TABLE, Table.from_texts([["x"]])])
NOTHING = make_result([])


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def on_pages(*rows_by_page):
    def cell(row, col, text):
        return Cell(row, col, text=text, quad=((9 * col, row), (9 * col + 9, row), (9 * col + 9, row), (9 * col, row)))

    tables = [
        Table([cell(r, c, text) for r, row in enumerate(rows) for c, text in enumerate(row)]) for rows in rows_by_page
    ]
    return replace(make_result(*[[table] for table in tables]), join_pages=True)


def test_joined_tables_are_one_in_every_file_and_parts_stay_in_json(tmp_path):
    result = on_pages([["a", "1"]], [["b", "2"]], [["c", "3", "x"]])
    save(result, tmp_path / "out.xlsx")
    assert openpyxl.load_workbook(tmp_path / "out.xlsx").sheetnames == ["Page 1 Table 1", "Page 3 Table 1"]
    assert [path.name for path in save(result, tmp_path / "out.csv")] == ["out_p1_t1.csv", "out_p3_t1.csv"]
    data = json.loads(result_to_json(result))
    assert [len(page["tables"]) for page in data["pages"]] == [1, 1, 1]
    [joined] = data["joined"]
    assert joined["parts"] == [{"page": 1, "table": 0}, {"page": 2, "table": 0}]
    assert table_from_dict(joined["table"]).to_grid() == [["a", "1"], ["b", "2"]]


@pytest.mark.parametrize("format", ["html", "xlsx", "csv", "md", "tex"])
def test_no_table_writes_no_file(format, tmp_path):
    assert save(NOTHING, tmp_path / f"out.{format}") == []
    assert names(tmp_path) == []


def test_no_table_still_has_json_and_overlay(tmp_path):
    save(NOTHING, tmp_path / "out.json")
    save(NOTHING, tmp_path / "out.png")
    assert names(tmp_path) == ["out.json", "out.png"]


def test_no_page(tmp_path):
    assert save(make_result(), tmp_path / "out.png") == []


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("result", [ONE, TWO, NOTHING, make_result([TABLE], [], [TABLE, TABLE])])
def test_save_writes_exactly_the_announced_files(format, result, tmp_path):
    path = tmp_path / ("out.overlay.png" if format == "overlay" else f"out.{format}")
    written = save(result, path, format)
    assert written == output_paths(result, path, format)
    assert names(tmp_path) == sorted(path.name for path in written)


def test_each_format_holds_the_texts(tmp_path):
    for format in TEXT_FORMATS:
        (path,) = save(ONE, tmp_path / f"out.{format}")
        content = path.read_bytes().decode("utf-8-sig")
        assert "价格" in content and "2.50" in content
    assert "<title>in.png</title>" in (tmp_path / "out.html").read_text("utf-8")


def test_workbook_has_a_sheet_for_each_table_named_by_page(tmp_path):
    save(TWO, tmp_path / "a.xlsx")
    assert len(openpyxl.load_workbook(tmp_path / "a.xlsx").sheetnames) == 2
    save(make_result([TABLE], [], [TABLE, TABLE]), tmp_path / "b.xlsx")
    assert openpyxl.load_workbook(tmp_path / "b.xlsx").sheetnames == [
        "Page 1 Table 1",
        "Page 3 Table 1",
        "Page 3 Table 2",
    ]


def test_csv_of_several_tables_is_numbered(tmp_path):
    assert [path.name for path in save(TWO, tmp_path / "out.csv")] == ["out_1.csv", "out_2.csv"]
    with (tmp_path / "out_2.csv").open(encoding="utf-8-sig", newline="") as file:
        assert list(csv.reader(file)) == [["x"]]


@pytest.mark.parametrize("name", ["out.png", "out.jpg", "out.overlay.png"])
def test_overlay_of_several_pages_is_numbered(name, tmp_path):
    stem, _, suffix = name.partition(".")
    paths = save(make_result([TABLE], [TABLE]), tmp_path / name)
    assert [path.name for path in paths] == [f"{stem}_p1.{suffix}", f"{stem}_p2.{suffix}"]
    with PIL.Image.open(paths[1]) as picture:
        assert picture.size == (40, 30) and picture.format == ("JPEG" if suffix == "jpg" else "PNG")


def test_suffix_of_any_case_decides(tmp_path):
    (path,) = save(ONE, tmp_path / "OUT.HTM")
    assert path.read_bytes().startswith(b"<!DOCTYPE html>")
    (path,) = save(ONE, tmp_path / "data", "json")
    assert json.loads(path.read_bytes())["format"] == "tablerec-result"


@pytest.mark.parametrize("name", ["out.docx", "out", ".html"])
def test_unknown_suffix(name, tmp_path):
    with pytest.raises(OutputError, match="no format has the suffix"):
        save(ONE, tmp_path / name)
    assert names(tmp_path) == []


def test_unknown_format(tmp_path):
    with pytest.raises(OutputError, match="'docx' is not a format"):
        save(ONE, tmp_path / "out.html", "docx")


def test_every_format_can_be_asked_for_by_suffix(tmp_path):
    for format in FORMATS[:-1]:
        assert path_to_format(tmp_path / f"x.{format}") == format


# JSON


def test_json_holds_everything():
    word = Word("lost", QUAD, 0.25)
    page = make_page(
        words=(word,),
        unplaced=(Unplaced(word, "outside all cells"),),
        dropped=(Dropped(QUAD, 0.5, "duplicate"),),
        detector="rulings",
        seconds={"cells": 0.5},
    )
    document = json.loads(result_to_json(Result("in.png", (page,))))
    assert document["version"] == 1 and document["source"] == "in.png"
    (read,) = document["pages"]
    assert (read["number"], read["width"], read["height"], read["n_words"]) == (1, 40, 30, 1)
    assert read["unplaced"] == [
        {"text": "lost", "quad": [list(p) for p in QUAD], "score": 0.25, "reason": "outside all cells"}
    ]
    assert read["dropped"] == [{"quad": [list(p) for p in QUAD], "score": 0.5, "reason": "duplicate"}]
    assert read["detector"] == "rulings" and read["seconds"] == {"cells": 0.5}
    assert table_from_dict(read["tables"][0]) == TABLE


def test_json_is_one_line_and_survives_odd_values():
    word = Word("a\nb\udc80", tuple((np.float32(x), np.float32(y)) for x, y in QUAD), np.float32(0.5))
    page = make_page(unplaced=(Unplaced(word, "r"),), seconds={"cells": np.float64(1)})
    content = result_to_json(Result("bad\udcff.png", (page,)))
    assert content.count(b"\n") == 1
    document = json.loads(content)
    assert document["source"] == "bad\udcff.png" and document["pages"][0]["unplaced"][0]["text"] == "a\nb\udc80"


def test_json_refuses_what_is_no_number():
    with pytest.raises(OutputError, match=r"^in.png: JSON cannot hold"):
        result_to_json(Result("in.png", (make_page(seconds={"cells": float("nan")}),)))


def test_dictionary_of_an_empty_result():
    assert result_to_dict(make_result())["pages"] == []


def test_json_holds_nothing_that_commands_a_terminal():
    text = "".join(map(chr, range(0xA0)))
    written = result_to_json(make_result([Table.from_texts([[text]])]))
    assert not set(written[:-1].decode()) & set("".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)])))
    assert json.loads(written)["pages"][0]["tables"][0]["cells"][0]["text"] == text


# atomic writing


def test_folders_are_made(tmp_path):
    save(ONE, tmp_path / "new" / "folder" / "out.html")
    assert (tmp_path / "new" / "folder" / "out.html").is_file()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_failure_leaves_the_old_file_and_nothing_else(error, tmp_path):
    path = tmp_path / "out.html"
    path.write_text("old")

    def write_half():
        with atomic_file(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        write_half()
    assert names(tmp_path) == ["out.html"] and path.read_text() == "old"


def test_full_disk_is_one_clear_line(tmp_path, monkeypatch):
    with (
        pytest.raises(OutputError, match=r"out.html: cannot be written \(.*\); make room on the disk"),
        atomic_file(tmp_path / "out.html"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert names(tmp_path) == []


def test_permission_names_the_way_out(tmp_path):
    with pytest.raises(OutputError, match="choose another folder with -o"), atomic_file(tmp_path / "out.html"):
        raise PermissionError(errno.EACCES, "Permission denied")


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_permissions_are_those_of_any_other_file(tmp_path):
    usual = tmp_path / "usual"
    usual.touch()
    (path,) = save(ONE, tmp_path / "out.html")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    path.chmod(0o600)
    save(TWO, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_folder_and_file_in_the_way(tmp_path):
    (tmp_path / "out.html").mkdir()
    with pytest.raises(OutputError, match="a folder or device, not a file"):
        save(ONE, tmp_path / "out.html")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        save(ONE, tmp_path / "file" / "out.html")
    with pytest.raises(OutputError, match="cannot be written"):
        save(ONE, tmp_path / ("x" * 300 + ".html"))


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="needs links")
def test_links_are_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "out.html").symlink_to(victim)
    with pytest.raises(OutputError, match="a link to"):
        save(ONE, tmp_path / "out.html")
    assert victim.read_text() == "precious" and (tmp_path / "out.html").is_symlink()


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no device files here")
def test_devices_are_not_replaced():
    with pytest.raises(OutputError, match="a folder or device"):
        save(ONE, "/dev/null", "html")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_input_is_never_overwritten(tmp_path):
    source = tmp_path / "in.png"
    source.write_bytes(b"the picture")
    with pytest.raises(OutputError, match="is the input itself"):
        save(make_result([TABLE], source=str(source)), source)
    assert source.read_bytes() == b"the picture"


def test_check_folder(tmp_path, monkeypatch):
    check_folder(tmp_path / "not" / "yet" / "there")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="a file, not a folder"):
        check_folder(tmp_path / "file" / "inner")
    with pytest.raises(OutputError, match="choose another folder"):
        check_folder(tmp_path / ("n" * 300))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(OutputError, match="no permission to write in this folder; choose another with -o"):
        check_folder(tmp_path)


def test_joined_tables_are_computed_once():
    result = Result("in.pdf", (make_page(1, [TABLE]), make_page(2, [TABLE])), join_pages=True)
    assert result.tables is result.tables and result.parts is result.parts
    assert result == Result("in.pdf", result.pages, join_pages=True)
    assert replace(result, join_pages=False).tables == (TABLE, TABLE)


def test_doubtful_cells_are_marked_when_asked_for(tmp_path):
    cells = [replace(cell, confidence=0.5) for cell in TABLE.cells]
    result = make_result([replace(TABLE, cells=cells)])
    for name, options, n_marked in (("a", {}, 0), ("b", {"mark_below": 0.9}, 3)):
        save(result, tmp_path / f"{name}.html", **options)
        save(result, tmp_path / f"{name}.xlsx", **options)
        assert (tmp_path / f"{name}.html").read_text(encoding="utf-8").count("data-confidence") == n_marked
        sheet = openpyxl.load_workbook(tmp_path / f"{name}.xlsx").active
        assert sum(cell.fill.fill_type == "solid" for row in sheet["A1:B2"] for cell in row) >= n_marked
        assert (sheet["A2"].fill.fill_type == "solid") == bool(n_marked)


def test_title_and_notes_are_in_every_document(tmp_path):
    table = replace(TABLE, title=Caption("Table 7"), notes=[Caption("Source: survey")])
    for format in ("html", "md", "tex", "json"):
        [path] = save(make_result([table]), tmp_path / f"out.{format}")
        text = path.read_text(encoding="utf-8")
        assert "Table 7" in text and "Source: survey" in text


# what a killed process leaves

HOLD = """
import sys
from pathlib import Path
from tablerec.outputs.files import atomic_file

with atomic_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def held(tmp_path):
    """A process that has begun to write a file."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", HOLD, str(tmp_path / "held.html")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout.readline().strip() == b"ready"
        yield process
        process.kill()


def make_old(folder):
    (hidden,) = folder.glob(".tablerec-*.part")
    os.utime(hidden, (0, 0))


def write_anew(path):
    files._remove_leftovers.cache_clear()  # as a new process does
    save(ONE, path)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path, held):
    held.kill()
    held.wait()
    write_anew(tmp_path / "out.html")
    assert len(names(tmp_path)) == 2, "it may have just begun"
    make_old(tmp_path)
    write_anew(tmp_path / "out.html")
    assert names(tmp_path) == ["out.html"]


def test_a_file_that_another_process_writes_is_left_however_long_it_takes(tmp_path, held):
    if os.name != "nt":
        make_old(tmp_path)
    write_anew(tmp_path / "out.html")
    held.communicate(b"")
    assert held.returncode == 0
    assert names(tmp_path) == ["held.html", "out.html"]
    assert (tmp_path / "held.html").read_bytes() == b"half"


def test_hidden_files_of_others_are_left(tmp_path):
    others = [".tablerec-mine.part", ".tablerec-0123456789ab.part.html", ".hidden.part"]
    for name in others:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / ".tablerec-000000000000.part").mkdir()
    write_anew(tmp_path / "out.html")
    assert set(names(tmp_path)) == {*others, ".tablerec-000000000000.part", "out.html"}


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
def test_a_file_that_may_not_grow_is_one_line_and_leaves_nothing(tmp_path):
    import resource

    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # noqa: E731
    code = (
        "import sys; from pathlib import Path; from tablerec.outputs.files import atomic_file\n"
        "with atomic_file(Path(sys.argv[1])) as file: file.write(bytes(10**6))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment.pop("COVERAGE_PROCESS_START", None)  # its file may not grow either
    done = subprocess.run(
        [sys.executable, "-Bc", code, str(tmp_path / "out.html")],
        env=environment, preexec_fn=limit, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "OutputError" in done.stderr.splitlines()[-1] and "cannot be written" in done.stderr
    assert names(tmp_path) == []


@pytest.mark.parametrize("tables", [[], [TABLE], [DOUBTFUL, Table.from_texts([["x"]])]])
@pytest.mark.parametrize("mark_below", [None, 0.9])
def test_what_was_rendered_of_a_page_is_what_is_written_of_it(monkeypatch, tables, mark_below):
    page = make_page(tables=tables)
    rendered = Result("in.png", (render_page(FORMATS, mark_below, "in.png", page),))
    expected = [render_files(Result("in.png", (page,)), format, mark_below) for format in TEXT_FORMATS]
    marked_otherwise = render_files(Result("in.png", (page,)), "html", 0.5)
    assert render_files(rendered, "html", 0.5) == marked_otherwise
    assert render_files(rendered, "overlay") == render_files(Result("in.png", (page,)), "overlay")
    assert len(render_files(rendered, "xlsx", mark_below)) == bool(tables)
    monkeypatch.setattr(files, "_document_writer", None)  # nothing is rendered once more
    monkeypatch.setattr(files, "_csv_writer", None)
    assert [render_files(rendered, format, mark_below) for format in TEXT_FORMATS] == expected


def test_a_page_that_cannot_be_rendered_says_so_when_it_is_saved(tmp_path):
    page = render_page(["json"], None, "in.png", make_page(seconds={"cells": float("nan")}))
    with pytest.raises(OutputError, match="JSON cannot hold a number"):
        save(Result("in.png", (page,)), tmp_path / "a.json")


def test_a_page_of_a_document_with_others_is_rendered_with_them():
    first = render_page(["html"], None, "in.png", make_page())
    second = make_page(2)
    assert render_files(Result("in.png", (first, second)), "html") == render_files(
        Result("in.png", (make_page(), second)), "html"
    )
