"""How long a person waits in the sheet of a large table: ``python -m tests.benchmarks.editor.interactions``.

In headless Chromium each kind of key is pressed several times in a table of 5,000 cells (or ROWS x COLUMNS). Printed
are the milliseconds from the key to the next frame that shows what it does, and for steps to the frame that shows the
answer of the server, which has then kept it on the disk: median and most.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.helpers.browsing import open_browser, open_page, open_review
from tests.helpers.review import make_desk, make_table, serve

SHAPE = (100, 50)
KEYS: dict[str, Sequence[str]] = {
    "arrow": ("ArrowDown", "ArrowRight"),
    "arrow, extending": ("Shift+ArrowDown", "Shift+ArrowRight"),
    "Ctrl+arrow": ("Control+ArrowDown", "Control+ArrowUp"),
    "Tab": ("Tab", "Shift+Tab"),
    "Ctrl+Home, End": ("Control+End", "Control+Home"),
    "Ctrl+A, arrow": ("Control+a", "ArrowDown"),
    "character, Escape": ("x", "Escape"),
    "next doubt": ("Alt+d",),
}
STEPS: dict[str, Sequence[str]] = {
    "text": ("x", "Enter"),
    "undo, redo": ("Control+z", "Control+y"),
    "headers": ("Alt+h",),
    "row line": ("Alt+r",),
    "column line": ("Alt+c",),
    "move a line": ("Alt+ArrowDown",),
    "insert, delete a row": ("Alt+i", "Alt+x"),
    "insert, delete a column": ("Alt+Shift+i", "Alt+Shift+x"),
    "merge, split": ("Shift+ArrowRight", "Alt+m", "Alt+s"),
    "fill a row": ("Shift+Space", "Control+d"),
    "empty all": ("Control+a", "Delete"),
}
# From a key to the frame after the one in which its work is done; of a step to that in which no step waits any more.
WATCH = """() => {
    let begun = 0;
    document.addEventListener("keydown", (event) => {
        if (!["Control", "Shift", "Alt"].includes(event.key)) begun = performance.now();
    }, true);
    window.settled = (isStep) => new Promise((resolve) => {
        const root = document.querySelector(".tablerec-editor");
        const look = () => {
            if (isStep && root.dataset.waiting !== "0") return requestAnimationFrame(look);
            requestAnimationFrame(() => setTimeout(() => { resolve(performance.now() - begun); }));
        };
        look();
    });
}"""


@contextmanager
def open_table(shape: tuple[int, int]) -> Iterator[Any]:
    """A page with a table of so many rows and columns."""
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        desk = make_desk(Path(folder), ["large.png"], [make_table(*shape, (4, 4, 336, 156))])
        with serve(desk) as server, open_page(browser) as page:
            open_review(page, server)
            page.evaluate(WATCH)
            yield page


def measure(page: Any, keys: Sequence[str], *, is_step: bool, times: int) -> list[float]:
    """Milliseconds that each key took."""
    found = []
    page.keyboard.press("Control+Home")
    page.keyboard.press("ArrowDown")
    for _ in range(times):
        for key in keys:
            page.keyboard.press(key)
            found.append(page.evaluate("(isStep) => window.settled(isStep)", is_step))
    return found


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", nargs="*", type=int, default=[*SHAPE], metavar="ROWS COLUMNS")
    parser.add_argument("--times", type=int, default=5, help="how often each key is pressed")
    arguments = parser.parse_args()
    shape = tuple(arguments.shape)
    with open_table(shape) as page:
        print(f"{shape[0]} x {shape[1]} cells, ms   median    most")
        for is_step, kinds in ((False, KEYS), (True, STEPS)):
            for name, keys in kinds.items():
                times = measure(page, keys, is_step=is_step, times=arguments.times)
                print(f"{'step: ' * is_step + name:30} {statistics.median(times):7.1f} {max(times):7.1f}", flush=True)


if __name__ == "__main__":
    main()
