"""A review of a folder of many pages: ``python -m tests.benchmarks.editor.large_folder [PAGES]``.

Each of 2,000 pages (or PAGES) has a table of 10 x 8 cells that is found at once. Printed are the seconds until the
first table can be opened, the milliseconds of a poll of the list while nothing changes, of the whole list, and of a
step, and the memory that the review takes after half of the pages and after all; and the same for a review that is
begun again. Then over HTTP: the slowest of twenty answers of each kind, alone and while somebody looks for tables like
one. Where Chromium is there, the page: seconds until the first table can be edited, milliseconds of a step until it is
shown and of the list to be scrolled to its end.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tablerec.corrections.alike.offers import Offers
from tablerec.corrections.editor import CorrectionFolder
from tablerec.corrections.review.desk import Desk
from tablerec.corrections.review.server import ReviewServer
from tablerec.result import Page, PageImage
from tests.helpers.browsing import has_chromium, open_browser, open_page, open_review
from tests.helpers.review import make_table, serve

SIZE = 340, 160
SCROLL = """async () => {
  const list = document.getElementById("list"), begun = performance.now();
  list.scrollTop = list.scrollHeight;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - begun;
}"""


def read(source: str) -> Iterator[Page]:
    """A page whose picture no other page has."""
    number = int(Path(source).stem[1:])
    image = np.full((SIZE[1], SIZE[0], 3), 255, np.uint8)
    image[0, :32] = [[255 * (number >> bit & 1)] * 3 for bit in range(32)]
    yield Page(PageImage(source, 1, image), (make_table(10, 8),))


def memory() -> float:
    """Megabytes of this process now."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def milliseconds(work: Any, times: int = 20) -> float:
    """Median time of a call."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        taken.append(1000 * (time.perf_counter() - begun))
    return float(np.median(taken))


def measure(folder: Path, n_pages: int, name: str) -> None:
    """Review the folder once."""
    before = memory()
    begun = time.perf_counter()
    desk = Desk(sorted(folder.glob("*.png")), folder, CorrectionFolder(folder / "corrections"), read)
    reading = threading.Thread(target=desk.read_all)
    reading.start()
    while not desk.names():
        time.sleep(0.002)
    first = desk.names()[0]
    desk.correction(first).view()
    seconds, half = time.perf_counter() - begun, 0.0
    while reading.is_alive():
        reading.join(0.2)
        if not half and len(desk.names()) >= n_pages / 2:
            half = memory() - before
    whole, revision = time.perf_counter() - begun, desk.listing()["revision"]
    assert len(desk.names()) == n_pages

    def step() -> None:
        desk.corrections.do(desk.correction(first), {"do": "set_headers", "n_rows": next(numbers), "n_cols": 0})

    numbers = iter(number % 3 for number in range(1, 1000))
    polls = milliseconds(lambda: desk.listing(revision)), milliseconds(lambda: desk.listing())
    used = f"{half:.0f} MB at half, {memory() - before:.0f} MB at all"
    print(f"{name}: first table {seconds:.2f} s, all {whole:.1f} s; {used}")
    print(f"  a poll {polls[0]:.1f} ms, of the whole list {polls[1]:.1f} ms, a step {milliseconds(step):.1f} ms")
    for is_quick in (True, False):
        begun = time.perf_counter()
        offer = Offers(desk).offer(first, is_quick=is_quick)
        taken = 1000 * (time.perf_counter() - begun)
        print(f"  an offer to {len(offer['tables'])} alike {taken:.0f} ms{', after a step' if is_quick else ''}")


class Asked:
    """Asks a server as its page does.

    Args:
        server: Of the review.
    """

    def __init__(self, server: ReviewServer) -> None:
        self.connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
        self.headers = {"Origin": f"http://127.0.0.1:{server.server_port}"}
        self.connection.request("GET", f"/?token={server.token}")
        reply = self.connection.getresponse()
        reply.read()
        self.headers["Cookie"] = reply.headers["Set-Cookie"].partition(";")[0]

    def ask(self, address: str, data: Any = None) -> Any:
        """The answer to a question, or to what is sent."""
        body = None if data is None else json.dumps(data)
        headers = self.headers if data is None else {**self.headers, "Content-Type": "application/json"}
        self.connection.request("GET" if data is None else "POST", address, body, headers)
        reply = self.connection.getresponse()
        content = reply.read()
        assert reply.status == HTTPStatus.OK, content
        return json.loads(content)


def measure_answers(server: ReviewServer) -> None:
    """Ask for what a page asks for, alone and beside an offer for all alike."""
    name = server.desk.names()[0]
    asked, beside = Asked(server), Asked(server)
    revision = asked.ask("/tables")["revision"]
    numbers = iter(range(1, 1000))

    def step() -> None:
        version = asked.ask(f"/tables/{name}")["version"]
        asked.ask(
            f"/tables/{name}/do", {"do": "set_headers", "n_rows": next(numbers) % 3, "n_cols": 0, "version": version}
        )

    kinds = {
        "the list": lambda: asked.ask("/tables"),
        "what has changed in it": lambda: asked.ask(f"/tables?since={revision}"),
        "a table": lambda: asked.ask(f"/tables/{name}"),
        "a table and a step": step,
        "learning": lambda: asked.ask("/learning"),
        "a quick offer": lambda: asked.ask(f"/tables/{name}/alike?quick=1"),
    }
    alone = {kind: slowest(work) for kind, work in kinds.items()}
    stop = threading.Event()

    def offer() -> None:
        while not stop.is_set():
            beside.ask(f"/tables/{name}/alike?quick=1")

    other = threading.Thread(target=offer)
    other.start()
    both = {kind: slowest(work) for kind, work in kinds.items() if kind != "a quick offer"}
    stop.set()
    other.join()
    print("  slowest of twenty answers, ms: " + ", ".join(f"{kind} {taken:.0f}" for kind, taken in alone.items()))
    print("  beside quick offers: " + ", ".join(f"{kind} {taken:.0f}" for kind, taken in both.items()))


def slowest(work: Any, times: int = 20) -> float:
    """Milliseconds of the slowest call."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        taken.append(1000 * (time.perf_counter() - begun))
    return max(taken)


def measure_page(server: ReviewServer) -> None:
    """Open the page, do steps, and scroll the list."""
    with open_browser() as browser, open_page(browser) as page:
        begun = time.perf_counter()
        open_review(page, server)
        seconds, steps = time.perf_counter() - begun, []
        for _ in range(10):
            version = int(page.locator(".tablerec-editor").get_attribute("data-version"))
            begun = time.perf_counter()
            page.keyboard.press("Alt+h")
            page.wait_for_selector(f'.tablerec-editor[data-version="{version + 1}"]')
            steps.append(1000 * (time.perf_counter() - begun))
        scrolled = page.evaluate(SCROLL)
    print(
        f"  page: first table {seconds:.2f} s, a step {max(steps):.0f} ms at most, the list scrolled {scrolled:.0f} ms"
    )


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="?", type=int, default=2000)
    n_pages = parser.parse_args().pages
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(n_pages):
            pixels = np.zeros((4, 8, 3), np.uint8)
            pixels[0, :, 0] = [255 * (number >> bit & 1) for bit in range(8)]
            pixels[1, :, 0] = [255 * (number >> bit & 1) for bit in range(8, 16)]
            Image.fromarray(pixels).save(folder / f"p{number:05}.png")
        measure(folder, n_pages, f"{n_pages:,} pages")
        measure(folder, n_pages, "begun again")
        desk = Desk(sorted(folder.glob("*.png")), folder, CorrectionFolder(folder / "corrections"), read)
        with serve(desk) as server:
            measure_answers(server)
            if has_chromium():
                measure_page(server)


if __name__ == "__main__":
    main()
