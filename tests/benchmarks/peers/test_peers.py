"""Peers side by side, on stubs: neither a network nor a peer is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings

from postprocess.export import table_to_html
from postprocess.table import Table
from postprocess.word import Word
from tablerec.config import Settings
from tablerec.evaluate.scoring.cells import same_cells
from tablerec.evaluate.truth import Truth, find_truths, read_truth
from tests.benchmarks.peers import peers
from tests.benchmarks.peers.peers import (
    ADAPTERS,
    OURS,
    Store,
    Words,
    html_to_grid,
    measure,
    run,
    score_folder,
    score_html,
)
from tests.benchmarks.peers.process import Adapter, NotInstalledError
from tests.benchmarks.peers.summary import METRICS, Row, not_ahead, summarize, to_markdown
from tests.helpers.layouts import draw_layout, even_layout, plain_table, write
from tests.helpers.strategies import tables

HTML = "<table><tr><td>a<td>b<tr><td>c<td>d</table>"
PLACE = [[4.0, 3.0], [14.0, 3.0], [14.0, 9.0], [4.0, 9.0]]
WORDS = [{"text": "a", "quad": PLACE, "score": 0.9, "char_spans": None, "doubt": ""}]

STUBS = {
    "rapid-table 0.3.0": {
        "rapid_table.py": """
class RapidTable:
    def __call__(self, image, words):
        print("loud")
        return f"<table><tr><td>{words[0][1]}</table>", [], 0.1
"""
    },
    "onnxruntime 1.0": {},
    "wired-table-rec 1.1.10": {
        "wired_table_rec.py": """
class WiredTableRecognition:
    def __call__(self, image, words, rec_again):
        return "", 0.0, None, None, None
"""
    },
    "lineless-table-rec 0.0.9": {
        "lineless_table_rec.py": """
import logging

class LinelessTableRecognition:
    def __call__(self, image, words, rec_again):
        if not words:
            logging.warning("Traceback:\\nIndexError: no word")
            return "", 0.0, None, None, None
        return f"<table><tr><td>{words[0][1]} {rec_again}</table>", 0.1, [], [], []
"""
    },
    "table-cls 1.1.3": {
        "table_cls.py": """
class TableCls:
    def __call__(self, image):
        return ("wired" if "ruled" in image else "wireless"), 0.1
"""
    },
    "img2table 2.0.0": {
        "img2table/ocr/_types.py": """
class OCRInstance: ...

class OCRData:
    def __init__(self, records):
        self.records = records
""",
        "img2table/document/rotation.py": """
import cv2

def rotate_img_with_border(img, angle, background_color=(255, 255, 255)):
    return cv2.rotate(img, cv2.ROTATE_90_COUNTERCLOCKWISE)
""",
        "img2table/document/__init__.py": """
from types import SimpleNamespace
import cv2

class Image:
    def __init__(self, src, detect_rotation):
        from img2table.document import rotation
        image = cv2.imread(src)
        self.images = [rotation.rotate_img_with_border(img=image, angle=90) if "turned" in src else image]

    def extract_tables(self, ocr, **options):
        (word,) = ocr.of(self).records[0]
        small = SimpleNamespace(bbox=SimpleNamespace(x1=0, y1=0, x2=1, y2=1), html="small")
        large = SimpleNamespace(bbox=SimpleNamespace(x1=0, y1=0, x2=9, y2=9), html=repr(sorted(word.items())))
        return [small, large]
""",
    },
    "camelot-py 2.0.0": {
        "camelot.py": """
from types import SimpleNamespace
from pathlib import Path

def read_pdf(path, flavor, suppress_stdout):
    text = Path(path).read_text(encoding="utf-8")
    rows = [(("", False, True), ("", True, True)), ((text, True, False), ("7", True, True)), (("", True, True),) * 2]
    cells = [[SimpleNamespace(text=each[0], right=each[1], bottom=each[2]) for each in row] for row in rows]
    return [SimpleNamespace(shape=(1, 1), cells=[]), SimpleNamespace(shape=(3, 2), cells=cells)]
""",
    },
    "fpdf2 2.8.9": {
        "fpdf/__init__.py": """
from contextlib import nullcontext
from pathlib import Path

class FPDF:
    def __init__(self, unit, format):
        self.told = []

    def __getattr__(self, name):
        return lambda *args, **options: self.told.append((name, *args)) or 5.0

    def local_context(self, text_mode):
        return nullcontext()

    def output(self, path):
        Path(path).write_text(" ".join(map(str, dict.fromkeys(self.told))), encoding="utf-8")
""",
        "fpdf/enums.py": """
class TextMode:
    INVISIBLE = 3
""",
    },
    "paddlex 3.7.2": {
        "paddlex/inference/pipelines/table_recognition/pipeline_v2.py": """
class _TableRecognitionPipelineV2:
    def __init__(self):
        raise AssertionError("loads models")

    def cells_det_results_nms(self, boxes, scores):
        return boxes[:1], scores[:1]

    def trans_cells_det_results_to_html(self, boxes):
        return ["<table>", str(boxes), "</table>"]
""",
        "paddlex/inference/pipelines/table_recognition/table_recognition_post_processing_v2.py": """
def get_table_recognition_res(whole, structure, boxes, read, *rest):
    return {"pred_html": "".join(structure) + repr((whole, read["rec_boxes"].tolist(), read["rec_texts"]))}
""",
    },
}


@pytest.fixture
def stubs(tmp_path: Path) -> Path:
    """Return a folder with a stub of each peer's packages."""
    folder = tmp_path / "stubs"
    for distribution, files in STUBS.items():
        name, version = distribution.split()
        info = folder / f"{name.replace('-', '_')}-{version}.dist-info" / "METADATA"
        for path, text in {info: f"Name: {name}\nVersion: {version}\n"}.items() | {
            (folder / path, text) for path, text in files.items()
        }:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return folder


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    """Return a picture of 40 by 20 pixels."""
    path = tmp_path / "plain.png"
    cv2.imwrite(str(path), np.full((20, 40, 3), 255, np.uint8))
    return path


@pytest.fixture
def truth(tmp_path: Path, picture: Path) -> Truth:
    """Return a table of two rows and columns with words of an earlier reading."""
    cells = [{"row": i // 2, "col": i % 2, "text": "abcd"[i], "bbox": [0, 0, 9, 9]} for i in range(4)]
    path = tmp_path / "truth" / "t1.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"id": "t1", "source": "made", "image": picture.name, "cells": cells}))
    picture.rename(path.parent / picture.name)
    return read_truth(path)


@pytest.fixture
def words(tmp_path: Path) -> Words:
    """Return words of an earlier reading."""
    path = tmp_path / "words" / Settings().ocr / "t1.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(WORDS))
    return Words(tmp_path / "words")


def python(code: str, log: Path) -> Adapter:
    return Adapter([sys.executable, "-c", code], dict(os.environ), log)


def ask_adapter(name: str, stubs: Path, *jobs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Run an adapter over jobs, in this Python with stubs, and return all its lines."""
    done = subprocess.run(
        [sys.executable, str(ADAPTERS / f"{name}_adapter.py")],
        input="".join(json.dumps({"words": WORDS, "boxes": [], "box_scores": [], **job}) + "\n" for job in jobs),
        env={**os.environ, "PYTHONPATH": str(stubs)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


# adapters


def test_without_the_package_an_adapter_says_so(tmp_path: Path) -> None:
    (answer,) = ask_adapter("rapid_table", tmp_path)
    assert "rapid_table" in answer["missing"]


def test_rapid_table(stubs: Path) -> None:
    """What the package prints does not mix with the answers; without a word it still gets one."""
    hello, answer, empty = ask_adapter("rapid_table", stubs, {"image": "a.png"}, {"image": "a.png", "words": []})
    assert hello["versions"]["rapid-table"] == "0.3.0"
    assert answer["html"] == "<table><tr><td>a</table>" and answer["seconds"] >= 0
    assert empty["html"] == "<table><tr><td></table>"


def test_wired_lineless(stubs: Path) -> None:
    """The classifier decides; nothing found is no crash, a crash that the package logs is one."""
    jobs = [{"image": "ruled.png"}, {"image": "open.png"}, {"image": "open.png", "words": []}]
    _, wired, lineless, crash = ask_adapter("wired_lineless", stubs, *jobs)
    assert wired["html"] == ""
    assert lineless["html"] == "<table><tr><td>a False</table>"
    assert crash["error"] == "RuntimeError: wireless: IndexError: no word"


def test_img2table_turns_the_words_as_it_turned_the_picture(stubs: Path, picture: Path) -> None:
    turned = picture.rename(picture.with_name("turned.png"))
    cv2.imwrite(str(picture), cv2.imread(str(turned)))
    _, plain, after = ask_adapter("img2table", stubs, {"image": str(picture)}, {"image": str(turned)})
    assert "('x1', 4), ('x2', 14), ('y1', 3), ('y2', 9)" in plain["html"]
    # A quarter turn against the clock of 40 x 20 pixels: (x, y) -> (y, 40 - x).
    assert "('x1', 3), ('x2', 9), ('y1', 26), ('y2', 36)" in after["html"]


def test_camelot_gets_a_page_with_the_words_and_tells_spans_by_borders(stubs: Path, picture: Path) -> None:
    word = {**WORDS[0], "text": "千<"}
    _, answer = ask_adapter("camelot", stubs, {"image": str(picture), "words": [word]})
    grid = html_to_grid(answer["html"])
    assert grid is not None and grid.owner.tolist() == [[0, 0], [1, 2], [1, 3]]
    # The word is 6 pixels high, 11 points on the page; its text would be 5 points wide.
    page = grid.cells[1].text
    assert "('set_stretching', 366.6" in page
    assert f"{11 / 6 * 4}, {11 / 6 * 9 - 11 / 4}, '千<')" in page


def test_paddlex_gets_boxes_and_words_and_loads_no_model(stubs: Path, picture: Path) -> None:
    job = {"image": str(picture), "boxes": [[0, 0, 9, 9], [1, 1, 9, 9]], "box_scores": [0.9, 0.8]}
    _, nothing, answer = ask_adapter("paddlex", stubs, {"image": str(picture)}, job)
    assert nothing["html"] == ""
    assert answer["html"] == "<table>[[0, 0, 9, 9]]</table>([0, 0, 40, 20], [[4.0, 3.0, 14.0, 9.0]], ['a'])"


def test_tablerec_tells_the_boxes_that_its_grid_was_built_of(tmp_path: Path, repository: Path) -> None:
    layout = even_layout(plain_table(2, 3), left=5, top=5)
    image = draw_layout(layout)
    quads = write(image, layout)
    cv2.imwrite(str(tmp_path / "grid.png"), image)
    found = [asdict(Word("Hg 9", tuple(map(tuple, quad.tolist())))) for quad in quads]
    _, nothing, answer = ask_adapter(
        "tablerec",
        repository,
        {"image": str(tmp_path / "none.png")},
        {"image": str(tmp_path / "grid.png"), "words": found},
    )
    assert "none.png" in nothing["error"]
    grid = html_to_grid(answer["html"])
    assert grid is not None and grid.owner.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.allclose(sorted(answer["boxes"]), sorted(layout.boxes.tolist()), atol=2)
    assert len(answer["box_scores"]) == 6


def test_slots_where_no_cell_was_detected_are_no_boxes(tmp_path: Path, repository: Path) -> None:
    places = [(row, col) for row in range(3) for col in range(3) if row or col]
    image = np.full((140, 360, 3), 255, np.uint8)
    words = []
    for row, col in places:
        x, y = 20 + 120 * col, 20 + 40 * row
        cv2.putText(image, "12", (x, y + 14), cv2.FONT_HERSHEY_SIMPLEX, 0.55, (0, 0, 0))
        words.append(asdict(Word("12", ((x, y), (x + 20, y), (x + 20, y + 16), (x, y + 16)))))
    cv2.imwrite(str(tmp_path / "grid.png"), image)
    _, answer = ask_adapter("tablerec", repository, {"image": str(tmp_path / "grid.png"), "words": words})
    assert np.isfinite(answer["box_scores"]).all()
    assert len(answer["boxes"]) == len(answer["box_scores"]) >= len(places)


# processes


def test_a_python_that_is_not_there_is_not_installed(tmp_path: Path) -> None:
    with pytest.raises(NotInstalledError, match="no-python"):
        Adapter([str(tmp_path / "no-python")], {}, tmp_path / "log").start()


@pytest.mark.parametrize(
    ("code", "message"), [('print(\'{"missing": "No module x"}\')', "No module x"), ("raise SystemExit(3)", "code 3")]
)
def test_a_start_that_fails_is_not_installed(tmp_path: Path, code: str, message: str) -> None:
    with pytest.raises(NotInstalledError, match=message):
        python(code, tmp_path / "log").start()


def test_after_a_crash_or_a_hang_the_next_job_is_answered(tmp_path: Path) -> None:
    adapter = python(
        """
import json, os, sys, threading
print('{"versions": {}}', flush=True)
for line in sys.stdin:
    what = json.loads(line)["do"]
    if what == "crash":
        print("last words", file=sys.stderr, flush=True)
        os._exit(7)
    if what == "hang":
        threading.Event().wait()
    print('{"html": "x"}', flush=True)
""",
        tmp_path / "log",
    )
    assert adapter.ask({"do": "crash"}, 60)["error"].startswith("crashed (exit code 7)")
    assert "last words" in (tmp_path / "log").read_text()
    assert adapter.ask({"do": "hang"}, 0.05) == {"error": "took longer than 0.05 s"}
    assert adapter.ask({"do": "answer"}, 60) == {"html": "x"}
    adapter.close()


# scoring


@settings(max_examples=30)
@given(tables(max_rows=5, max_cols=5))
def test_our_html_is_read_back_as_it_was(table: Table) -> None:
    grid = html_to_grid(table_to_html(table))
    assert grid is not None and same_cells(grid, table)


@pytest.mark.parametrize(
    ("html", "owner"),
    [
        ("<table><tr><td>a<td>b<tr><td>c</table>", [[0, 1], [2, -1]]),
        ("<table><tr><td>a</table><table><tr><td>b<td>c</table>", [[0, 1]]),
        ("<table><tr><td><table><tr><td>a<td>b</table></table>", [[0, 1]]),
        ("<table><tr><td>a<td rowspan=9>b<tr><td colspan=2>c</table>", [[0, 1], [2, 1]]),
    ],
    ids=["short row", "the largest", "a table in a table", "overlap"],
)
def test_html_of_others_lies_as_in_a_browser(html: str, owner: list[list[int]]) -> None:
    grid = html_to_grid(html)
    assert grid is not None and grid.owner.tolist() == owner


@pytest.mark.parametrize(
    ("answer", "missing", "error"),
    [
        ({"html": ""}, True, ""),
        ({"error": "crashed"}, True, "crashed"),
        ({"html": "<table><tr><td colspan=x></table>"}, True, "its HTML cannot be read: ValueError"),
    ],
    ids=["no table", "a crash", "no markup"],
)
def test_what_is_missing_or_fails_scores_zero(truth: Truth, answer: Any, missing: bool, error: str) -> None:
    result = score_html(truth, answer)
    assert result["scores"] == dict.fromkeys(METRICS, 0.0)
    assert result["missing"] is missing and result["error"].startswith(error) and bool(result["error"]) is bool(error)


def test_scores_are_those_of_tablerec_eval(truth: Truth) -> None:
    assert score_html(truth, {"html": HTML})["scores"] == dict.fromkeys(METRICS, 1.0)


def test_html_made_elsewhere(truth: Truth, tmp_path: Path) -> None:
    (missing,) = score_folder([truth], tmp_path, "other")
    assert missing.missing and not missing.error
    (tmp_path / "t1.html").write_text(HTML)
    (row,) = score_folder([truth], tmp_path, "other")
    assert (row.peer, row.scores["exact"]) == ("other", 1.0)


# runs


class FakeAdapter:
    """Answers each job alike and keeps the jobs."""

    def __init__(self, **answer: Any) -> None:
        self.answer, self.jobs = answer, []

    def ask(self, job: Mapping[str, Any], limit: float) -> dict[str, Any]:
        self.jobs.append(dict(job))
        return {"seconds": float(len(self.jobs)), **self.answer}


@pytest.fixture
def fakes() -> dict[str, Any]:
    """Return tablerec, a peer that takes its boxes, and one that crashes."""
    ours = FakeAdapter(html=HTML, boxes=[[0, 0, 9, 9]], box_scores=[0.5])
    return {OURS: ours, "rapid_table": FakeAdapter(error="crashed"), "paddlex": FakeAdapter(html="")}


def run_again(truth: Truth, fakes: dict[str, Any], store: Store, words: Words, version: str = "1") -> list[Row]:
    return list(run([truth], fakes, {name: {"package": version} for name in fakes}, store, words, 60))


def test_no_tables(fakes: dict[str, Any], words: Words, tmp_path: Path) -> None:
    assert list(run([], fakes, {}, Store(tmp_path), words, 60)) == []
    assert measure([], fakes, Store(tmp_path), words, 60, 3) == {name: {} for name in fakes}


def test_all_get_the_same_words_and_only_paddlex_our_boxes(
    truth: Truth, fakes: dict[str, Any], words: Words, tmp_path: Path
) -> None:
    rows = run_again(truth, fakes, Store(tmp_path / "kept"), words)
    jobs = {name: fake.jobs[0] for name, fake in fakes.items()}
    assert {json.dumps(job["words"]) for job in jobs.values()} == {json.dumps(WORDS)}
    assert {job["image"] for job in jobs.values()} == {str(truth.image.resolve())}
    assert [len(job["boxes"]) for job in jobs.values()] == [0, 0, 1]
    assert [(row.scores["exact"], row.missing, row.error) for row in rows] == [
        (1.0, False, ""),
        (0.0, True, "crashed"),
        (0.0, True, ""),
    ]


def test_a_run_goes_on_where_it_was_stopped(truth: Truth, fakes: dict[str, Any], words: Words, tmp_path: Path) -> None:
    def asked() -> list[int]:
        return [len(fake.jobs) for fake in fakes.values()]

    kept = tmp_path / "kept"
    first = run_again(truth, fakes, Store(kept), words)
    assert run_again(truth, fakes, Store(kept), words) == first
    assert asked() == [1, 1, 1]
    run_again(truth, fakes, Store(kept, ["rapid_table"]), words)
    assert asked() == [1, 2, 1]
    run_again(truth, fakes, Store(kept), words, version="2")
    assert asked() == [2, 3, 2]
    assert run_again(truth, fakes, Store(kept, rescore=True), words, version="2") == first
    assert asked() == [2, 3, 2]
    fakes[OURS].answer["boxes"] = [[0, 0, 8, 8]]
    run_again(truth, fakes, Store(kept, [OURS]), words, version="2")
    assert asked() == [3, 3, 3]


def test_times_are_measured_in_turn_after_a_warm_up(
    truth: Truth, fakes: dict[str, Any], words: Words, tmp_path: Path
) -> None:
    store = Store(tmp_path / "kept")
    run_again(truth, fakes, store, words)
    times = measure([truth], fakes, store, words, 60, repeats=2)
    # One job of the run, two to warm up, two that count; a crash has no time.
    assert times == {OURS: {"t1": [4.0, 5.0]}, "rapid_table": {}, "paddlex": {"t1": [4.0, 5.0]}}
    assert fakes["paddlex"].jobs[-1]["boxes"] == [[0, 0, 9, 9]]


# the table


def test_no_rows() -> None:
    assert summarize([]) == {"all": {}}
    assert "left out: p: why" in to_markdown([], {"p": "why"}, {})


@pytest.fixture
def rows() -> Iterator[list[Row]]:
    """Two sources; the peer is better in one table, fails in one, and finds nothing in one."""
    good, fair, zero = (dict.fromkeys(METRICS, value) for value in (1.0, 0.5, 0.0))
    return [
        Row(OURS, "s", "t1", good, seconds=[0.1, 0.3, 0.2]),
        Row(OURS, "s", "t2", {**fair, "teds": None}, seconds=[0.4]),
        Row(OURS, "r", "t3", fair),
        Row("p", "s", "t1", zero, missing=True, error="crashed"),
        Row("p", "s", "t2", {**good, "teds": None}, seconds=[4.0]),
        Row("p", "r", "t3", zero, missing=True),
    ]  # fmt: skip


def test_means_counts_and_ratios(rows: list[Row]) -> None:
    summary = summarize(rows)
    assert list(summary) == ["r", "s", "all"]
    ours, peer = summary["s"][OURS], summary["s"]["p"]
    assert (ours["n"], ours["exact"], ours["teds"]) == (2, 0.75, 1.0)
    assert (peer["exact"], peer["missing"], peer["failed"]) == (0.5, 0, 1)
    assert (summary["r"]["p"]["missing"], summary["r"]["p"]["seconds"]) == (1, None)
    assert ours["seconds"] == pytest.approx(0.3) and ours["times_ours"] == 1
    assert (peer["seconds"], peer["times_ours"], peer["timed"]) == (4.0, pytest.approx(10), 1)


def test_the_table_marks_the_best_and_names_what_failed(rows: list[Row]) -> None:
    text = to_markdown(rows, {"q": "no environment; make one"}, {"p": {"package": "1.0"}})
    assert "| s | 2 | tablerec | **0.750** |" in text and "| 0 | 0 | 0.300 | 1.0 |" in text
    assert "| s | 2 | p | 0.500 |" in text and "| 0 | 1 | 4.000 | 10.0 |" in text
    assert "- p failed: t1: crashed" in text
    assert "- left out: q: no environment; make one" in text
    assert "- p: package 1.0" in text
    assert "- t2: p 1.000, tablerec 0.500" in text
    assert "t3" not in text and "not ahead" not in text


def test_where_we_are_not_ahead_is_told(rows: list[Row]) -> None:
    level = [*rows, Row("q", "r", "t3", dict.fromkeys(METRICS, 0.5))]
    assert ("r", "exact", "q", 0.5, 0.5) in not_ahead(summarize(level))
    assert "- r: not ahead of q in GriTS-Top (0.500, ours 0.500), TEDS-Struct" in to_markdown(level, {}, {})


# the command


def test_the_command_runs_what_is_installed_and_says_how_to_install_the_rest(
    truth: Truth, words: Words, stubs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for name, packages in {"rapid_table": stubs, "img2table": tmp_path / "nothing"}.items():
        program = tmp_path / "environments" / name / "bin" / "python"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{sys.executable}" "$@"\n')
        program.chmod(0o755)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "t1.html").write_text(HTML)
    places = ["--output", "out", "--environments", "environments", "--words", "words", "--add", "other", "theirs"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["peers.py", "truth", *places, "--time", "1", "--repeats", "1"])
    peers.main()
    printed = capsys.readouterr().out
    assert printed == (tmp_path / "out" / "peers.md").read_text() + "\n"
    assert "- left out: paddlex: no environment; python3.11 -m venv environments/paddlex" in printed
    assert "- left out: img2table: No module named 'img2table'; python3.11" in printed
    written = json.loads((tmp_path / "out" / "peers.json").read_text())
    assert set(written["summary"]["made"]) == {OURS, "rapid_table", "theirs"}
    assert written["summary"]["made"]["theirs"]["exact"] == 1
    assert written["summary"]["all"]["rapid_table"]["timed"] == 1
    assert [truth.id for truth in find_truths(tmp_path / "truth")] == ["t1"]
