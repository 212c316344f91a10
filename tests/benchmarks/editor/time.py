"""How fluid the table editor is: ``python -m tests.benchmarks.editor.time [ROWS COLUMNS]``.

First the server alone: what each kind of step takes on a table of 5,000 cells (or ROWS x COLUMNS) with a word in each,
until it is on disk, and the answer is JSON. Then the page: in headless Chromium a line of a table of 1,000 cells (or
ROWS x COLUMNS) is dragged in 200 steps. Printed are the milliseconds that drawing a frame takes, and those from frame
to frame (16.7 is as often as the screen is drawn); then those that a step takes until it is on disk and shown.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.geometry.boxes import array_to_quad, inner_quads
from postprocess.text.assignment import words_to_tables
from postprocess.word import Word
from tablerec.corrections.editor import CorrectionFolder, page_to_drafts
from tablerec.corrections.editor.answers import answer
from tablerec.result import Page, PageImage
from tests.helpers.browsing import drag, open_browser, open_page, open_review, to_screen
from tests.helpers.review import make_desk, make_table, serve

WATCH = """() => {
    const draws = window.draws = [], gaps = window.gaps = [], real = window.requestAnimationFrame;
    window.requestAnimationFrame = (work) => real.call(window, (now) => {
        const start = performance.now(); work(now); draws.push(performance.now() - start); });
    let last = 0;
    const tick = (now) => { if (last) gaps.push(now - last); last = now; real.call(window, tick); };
    real.call(window, tick);
}"""
STEPS = 20
TRIES = 5
SERVER_STEPS: list[dict[str, Any]] = [
    {"do": "set_text", "row": 1, "col": 1, "text": "typed"},
    {"do": "move_line", "axis": "col", "line": 2, "offset": 3.0},
    {"do": "move_line", "axis": "row", "line": 2, "offset": 3.0},
    {"do": "divide", "axis": "col", "index": 1},
    {"do": "divide", "axis": "row", "index": 1},
    {"do": "remove_line", "axis": "col", "line": 2},
    {"do": "remove_line", "axis": "row", "line": 2, "count": 2},
    {"do": "merge", "row": 0, "col": 0, "end_row": 2, "end_col": 2},
    {"do": "split", "row": 0, "col": 0},
    {"do": "extend", "axis": "row", "at_end": True},
    {"do": "insert", "axis": "row", "index": 1},
    {"do": "remove", "axis": "row", "index": 1},
    {"do": "remove", "axis": "col", "index": 1},
    {"do": "fill", "row": 0, "col": 0, "end_row": 3, "end_col": 1, "text": "filled"},
    {"do": "replace_all", "find": "1", "text": "l"},
    {"do": "confirm", "row": 0, "col": 0, "end_row": 3, "end_col": 3},
    {"do": "reset_text", "row": 0, "col": 0, "end_row": 3, "end_col": 3},
    {"do": "set_headers", "n_rows": 2, "n_cols": 1},
    {"do": "undo"},
    {"do": "redo"},
]


def describe(name: str, times: list[float]) -> str:
    """Median, 95th percentile and maximum."""
    ordered = sorted(times)
    middle, late = ordered[len(ordered) // 2], ordered[int(0.95 * len(ordered))]
    return f"{name:12} {len(times):4}  median {middle:6.1f}  95 % {late:6.1f}  most {ordered[-1]:6.1f} ms"


def make_large_page(n_rows: int, n_cols: int) -> Page:
    """A page of one table that was read: in each cell a word, of 40 by 20 pixels."""
    width, height = 40 * n_cols + 40, 24 * n_rows + 40
    bare = make_table(n_rows, n_cols, (20, 20, width - 20, height - 20))
    words = [Word(cell.text, array_to_quad(inner_quads(np.array([cell.quad]), 0.7)[0]), 0.9) for cell in bare.cells]
    table = replace(bare, cells=[replace(cell, text="") for cell in bare.cells])
    [filled], unplaced = words_to_tables([table], words)
    picture = PageImage("large.png", 1, np.full((height, width, 3), 255, np.uint8))
    return Page(picture, (filled,), tuple(words), tuple(unplaced))


def measure_server(n_rows: int, n_cols: int) -> None:
    """Print what each step takes without a browser."""
    with tempfile.TemporaryDirectory() as name:
        folder = CorrectionFolder(Path(name))
        correction = folder.open(page_to_drafts(make_large_page(n_rows, n_cols))[0])
        print(f"the server, {n_rows} x {n_cols} cells: until a step is on disk; the answer as JSON")
        for step in SERVER_STEPS:
            times, size = [], 0
            for at in range(TRIES):
                start, cpu = time.perf_counter(), time.process_time()
                version = correction.version
                is_done, view = answer(folder, correction, {**step, "version": version, "since": version})
                assert is_done, view["error"]
                size = len(json.dumps(view, ensure_ascii=False, allow_nan=False).encode())
                times.append((1000 * (time.perf_counter() - start), 1000 * (time.process_time() - cpu)))
                if at + 1 < TRIES and correction.version > version and step["do"] not in ("undo", "redo"):
                    folder.do(correction, {"do": "undo"})
            wall, used = (sorted(column)[TRIES // 2] for column in zip(*times, strict=True))
            print(f"{step['do']:12} {wall:6.1f} ms, of the processor {used:6.1f}; {size / 1000:7.1f} kB")


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", nargs="*", type=int, default=[], help="Rows and columns.")
    parser.add_argument("--server", action="store_true", help="Measure the server only.")
    options = parser.parse_args()
    measure_server(*(options.shape or (100, 50)))
    if options.server:
        return
    n_rows, n_cols = options.shape or (50, 20)
    table = make_table(n_rows, n_cols, (4, 4, 336, 156))
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        desk = make_desk(Path(folder), ["large.png"], [table])
        with serve(desk) as server, open_page(browser) as page:
            open_review(page, server)
            correction = server.desk.correction("large_1_1")
            x, y = (correction.table[n_rows // 2, n_cols // 2].quad or ())[0]
            page.evaluate(WATCH)
            drag(page, to_screen(page, correction, x + 5, y), to_screen(page, correction, x + 5, y + 30), steps=200)
            page.locator('.tablerec-editor[data-version="1"]').wait_for()
            draws, gaps = page.evaluate("[window.draws, window.gaps]")
            steps = []
            for version in range(2, 2 + STEPS):
                start = time.perf_counter()
                page.keyboard.press("Alt+h")
                page.locator(f'.tablerec-editor[data-version="{version}"]').wait_for()
                steps.append(1000 * (time.perf_counter() - start))
    print(f"{n_rows} x {n_cols} cells")
    for name, times in (("a frame", draws), ("frame gaps", gaps), ("a step", steps)):
        print(describe(name, times))


if __name__ == "__main__":
    main()
