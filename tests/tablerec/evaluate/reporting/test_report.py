from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import cv2
import html5lib
import numpy as np
import pytest

from postprocess.arrays import Image
from postprocess.cell import Cell
from postprocess.table import Table
from tablerec.errors import InputError
from tablerec.evaluate.files import Prediction, write_json
from tablerec.evaluate.reporting.compare import compare, format_comparison
from tablerec.evaluate.reporting.page import worst_page
from tablerec.evaluate.reporting.report import HEADINGS, format_summary, read_report, summarize, to_report
from tablerec.evaluate.runner import Case
from tablerec.evaluate.scores import score
from tablerec.evaluate.truth import Truth
from tablerec.result import Page


def make_case(
    name: str, texts: list[list[str]], source: str = "made", error: str = "", image: Path = Path("x")
) -> Case:
    table = Table([Cell(0, 0, text="<b>1"), Cell(0, 1, text="2")])
    truth = Truth(name, source, image, table, frozenset({(0, 0), (0, 1)}))
    prediction = Prediction(
        name, None if error else Table.from_texts(texts), total_seconds=2.0, seconds={"detect": 1.0}, error=error
    )
    return Case(truth, prediction, score(truth, prediction.table))


def show_worst(cases: list[Case], count: int) -> str:
    return worst_page(cases, count, to_report(cases, {})["sources"])


GOOD, BAD = [["<b>1", "2"]], [["<b>1"], ["2"]]


def test_no_cases_make_a_report_and_a_page() -> None:
    report = to_report([], {})
    assert report["sources"]["ALL"]["n"] == 0
    assert len(format_summary(report["sources"]).splitlines()) == 2
    assert "Worst 0 of 0" in show_worst([], 5)


def test_means_are_by_source_and_over_all() -> None:
    cases = [make_case("a", GOOD, "x"), make_case("b", BAD, "y"), make_case("c", GOOD, "y", error="E: no")]
    summary = to_report(cases, {})["sources"]
    assert list(summary) == ["x", "y", "ALL"]
    assert [summary[name]["n"] for name in summary] == [1, 2, 3]
    assert [summary[name]["missing"] for name in summary] == [0, 1, 1]
    assert [summary[name]["failed"] for name in summary] == [0, 1, 1]
    assert [summary[name]["exact"] for name in summary] == pytest.approx([1, 0, 1 / 3])
    assert summary["ALL"]["detection_f1_60"] is None
    assert summary["ALL"]["seconds"] == 2.0  # of those that worked
    assert summary["ALL"]["seconds_by_stage"] == {"detect": 1.0}


def test_sound_tables_are_told_apart_from_conventions() -> None:
    cases = [make_case("a", GOOD, "x"), make_case("b", BAD, "y")]
    cases[1] = replace(cases[1], truth=replace(cases[1].truth, is_convention=True))
    report = to_report(cases, {})
    assert list(report["sources"]) == ["x", "y", "ALL", "SOUND"]
    assert [report["sources"][name]["exact"] for name in ("ALL", "SOUND")] == [0.5, 1.0]
    # A run that is older than the audit is compared table by table all the same.
    old = [{name: value for name, value in entry.items() if name != "is_convention"} for entry in report["tables"]]
    assert compare(old, report["tables"]).deltas["SOUND"]["n"] == 1


def test_columns_are_aligned() -> None:
    lines = format_summary(to_report([make_case("a", BAD, "a long name")], {})["sources"]).splitlines()
    assert len({len(line) for line in lines}) == 1
    end = len("a long name")
    for heading in HEADINGS.values():
        end = lines[0].index(heading, end) + len(heading)
        assert all(line[end - 1] != " " and line[end : end + 1] in ("", " ") for line in lines[1:])


def test_the_report_is_plain_json_and_comes_back(tmp_path: Path) -> None:
    report = to_report([make_case("a", GOOD), make_case("b", BAD)], {"detector": "auto"}, interrupted=True)
    write_json(tmp_path / "results.json", report)
    assert json.loads((tmp_path / "results.json").read_text()) == report
    assert report["versions"]["numpy"] == np.__version__
    entries = read_report(tmp_path / "results.json")
    assert summarize(entries)["ALL"]["teds"] == report["sources"]["ALL"]["teds"]


@pytest.mark.parametrize("data", [[], {}, {"format": "tablerec eval", "format_version": 99, "tables": []}])
def test_another_file_is_no_report(tmp_path: Path, data: object) -> None:
    write_json(tmp_path / "a.json", data)
    with pytest.raises(InputError, match=r"a\.json"):
        read_report(tmp_path / "a.json")


def test_a_run_compared_with_itself_did_not_change() -> None:
    entries = to_report([make_case("a", GOOD), make_case("b", BAD)], {})["tables"]
    same = compare(entries, entries)
    assert same.worse == same.better == ()
    assert same.deltas["ALL"]["teds"] == same.deltas["made"]["seconds"] == 0


def test_only_tables_of_both_runs_are_compared() -> None:
    old = to_report([make_case("a", GOOD), make_case("b", BAD), make_case("old", BAD)], {})["tables"]
    new = to_report([make_case("new", BAD), make_case("a", BAD), make_case("b", GOOD)], {})["tables"]
    comparison = compare(old, new)
    assert [change.id for change in comparison.worse] == ["a"]
    assert [change.id for change in comparison.better] == ["b"]
    assert comparison.deltas["ALL"]["n"] == 2
    assert comparison.deltas["ALL"]["teds"] == pytest.approx(0)
    text = format_comparison(comparison)
    assert re.search(r"worse: 1\n  -0\.\d{3}  1\.000 -> 0\.\d{3}  a\n", text)


def test_runs_without_a_table_in_common_are_compared_to_nothing() -> None:
    entries = to_report([make_case("a", GOOD)], {})["tables"]
    assert compare(entries, []).deltas["ALL"]["n"] == 0
    assert compare([], entries).worse == ()


def test_the_page_shows_the_worst_first_and_escapes_everything(tmp_path: Path) -> None:
    cases = [
        make_case("good", GOOD),
        make_case("bad<script>", BAD),
        make_case("failed", GOOD, error="ValueError: <img src=x>"),
    ]
    page = show_worst(cases, 2)
    html5lib.HTMLParser(strict=True).parse(page)
    assert "good" not in page
    assert page.index("failed") < page.index("bad&lt;script&gt;")
    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;img src=x&gt;" in page
    assert not re.search(r"""(src|href)=["'](?!data:)""", page)


def test_the_page_holds_picture_and_overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = tmp_path / "a.png"
    cv2.imwrite(str(image), np.zeros((1500, 3000, 3), np.uint8))
    drawn: list[Page] = []

    def draw_overlay(page: Page) -> Image:
        drawn.append(page)
        return page.picture.image

    overlay = ModuleType("tablerec.outputs.overlay")
    overlay.draw_overlay = draw_overlay  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tablerec.outputs.overlay", overlay)
    case = make_case("a", BAD, image=image)
    page = show_worst([case], 1)
    assert page.count("data:image/jpeg;base64,") == 2
    assert len(page) < 100_000
    assert drawn[0].tables == (case.prediction.table,)


def test_a_picture_that_cannot_be_drawn_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = tmp_path / "a.png"
    cv2.imwrite(str(image), np.zeros((20, 20, 3), np.uint8))
    monkeypatch.setitem(sys.modules, "tablerec.outputs.overlay", None)
    page = show_worst([make_case("a", BAD, image=image), make_case("b", BAD, image=tmp_path / "absent.png")], 2)
    assert page.count("data:image/jpeg;base64,") == 1
    assert "cannot be drawn" in page
    assert "absent.png" in page


def test_control_characters_do_not_break_the_page() -> None:
    page = show_worst([make_case("a", [["\x00<b>1\x0b", "2"]])], 1)
    html5lib.HTMLParser(strict=True).parse(page)
    assert "\x00" not in page


def test_differing_cells_are_marked() -> None:
    case = make_case("a", [["<b>1", "3"]])
    assert show_worst([case], 1).count('class="text"') == 2
    assert show_worst([replace(case, truth=replace(case.truth, has_text=False))], 1).count('class="text"') == 0
    assert show_worst([make_case("a", BAD)], 1).count('class="place"') == 2
