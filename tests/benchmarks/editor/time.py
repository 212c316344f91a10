"""How fluid the table editor is: ``python -m tests.benchmarks.editor.time [ROWS COLUMNS]``.

In headless Chromium a line of a table of 1,000 cells (or ROWS x COLUMNS) is dragged in 200 steps. Printed are the
milliseconds that drawing a frame takes, and those from frame to frame (16.7 is as often as the screen is drawn); then
those that a step takes until it is on disk and shown.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

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


def describe(name: str, times: list[float]) -> str:
    """Median, 95th percentile and maximum."""
    ordered = sorted(times)
    middle, late = ordered[len(ordered) // 2], ordered[int(0.95 * len(ordered))]
    return f"{name:12} {len(times):4}  median {middle:6.1f}  95 % {late:6.1f}  most {ordered[-1]:6.1f} ms"


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", nargs="*", type=int, default=[50, 20])
    n_rows, n_cols = parser.parse_args().shape
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
