"""What the browser draws holds what the fast renderer's samples hold, and the browser never stays behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tablerec.errors import MissingDependencyError, SettingsError
from tablerec.synth import Sample, describe, draw, load_recipe
from tablerec.synth.browser import renderer as browser
from tablerec.synth.browser.chromium import VARIABLE, BrowserError, Chromium, find_browser
from tablerec.synth.browser.markup import Habits, is_spaced, to_html
from tablerec.synth.command import command
from tablerec.synth.description import WHITE, CellSpec, ColumnSpec, Page, Placed, RowSpec, Rule, TableSpec, TextStyle
from tablerec.synth.drawing import render
from tablerec.synth.drawing.fonts import find_families
from tests.helpers.browsing import needs_chromium

# Several tables, turned and stacked text, leaders, marks, currency signs, short and double rules.
PAGES = [
    ("financial", 9), ("financial", 10), ("form", 5), ("form", 10), ("page", 0), ("dashed", 3), ("lineless", 1),
    ("dense", 8), ("coloured", 7), ("register", 0), ("register", 4), ("register", 6), ("webpage", 1), ("textbook", 2),
    ("prospectus", 7), ("census", 4), ("textual", 1),
    ("journal", 3), ("thumbnail", 2), ("typeset", 0), ("typeset", 5),
]  # fmt: skip
SEED = 31


@pytest.fixture(scope="module", autouse=True)
def _one_browser() -> Iterator[None]:
    yield
    browser.close()


@cache
def drawn(name: str, index: int) -> tuple[Page, Sample]:
    page = describe(load_recipe(name), SEED, index)
    return page, browser.render(page, np.random.default_rng([SEED, index]))


def squeezed(text: str) -> str:
    return "".join(text.split())


def grid(borders: str, rule: Rule | None) -> tuple[Page, Habits]:
    """Return three by two cells with text and rules on all sides."""
    cells = tuple(
        CellSpec(
            row, col, f"r{row}c{col}", TextStyle("Sans", 20), top=None if row else rule, left=None if col else rule,
            bottom=rule, right=rule,
        )
        for row in range(3)
        for col in range(2)
    )  # fmt: skip
    table = TableSpec(cells, (RowSpec(8, 8),) * 3, (ColumnSpec(20, 20),) * 2)
    return Page((Placed(table),), 20, WHITE, "page"), Habits(borders=borders, spacing=4)  # type: ignore[arg-type]


@needs_chromium
@pytest.mark.parametrize(("name", "index"), PAGES)
def test_truth_of_the_dom_is_sound(name: str, index: int) -> None:
    page, sample = drawn(name, index)
    height, width = sample.image.shape[:2]
    for table, spec in zip(sample.to_tables(), page.tables, strict=True):  # refuses holes and overlaps
        assert table.shape == (len(spec.rows), len(spec.columns))
    quads, words = sample.cells.quads, sample.words
    assert quads.min() >= 0 and (quads <= [width, height]).all()
    assert (quads[:, 2] - quads[:, 0] > 2).all()
    owned = words.cells >= 0
    centres, owners = words.quads[owned].mean(axis=1), quads[words.cells[owned]]
    assert (centres >= owners[:, 0]).all() and (centres <= owners[:, 2]).all()
    wanted = [squeezed(cell.full_text) for table in page.tables for cell in table.cells]
    said = defaultdict(str)
    for text, cell in zip(words.texts, words.cells.tolist(), strict=True):
        said[cell] += text
    assert [squeezed(text) for text in sample.cells.texts] == wanted
    assert [said[at] for at in range(len(wanted))] == wanted


@needs_chromium
@pytest.mark.parametrize(("name", "index"), PAGES)
def test_the_two_renderers_agree(name: str, index: int) -> None:
    page, sample = drawn(name, index)
    other = render.render(page)
    assert sample.cells.kinds == other.cells.kinds
    for field in ("rows", "cols", "rowspans", "colspans", "tables"):
        assert getattr(sample.cells, field).tolist() == getattr(other.cells, field).tolist()
    # Laid out in its own way, a page is about as large as ours, seen at the same scale.
    shapes = [np.ptp(s.tables.quads.reshape(-1, 2), axis=0) for s in (sample, other)]
    assert 0.4 < (shapes[0][0] / shapes[0][1]) / (shapes[1][0] / shapes[1][1]) < 2.5


@needs_chromium
@pytest.mark.parametrize(("name", "index"), [("financial", 10), ("form", 5), ("form", 10)])
def test_words_lie_on_their_ink(name: str, index: int) -> None:
    _, sample = drawn(name, index)
    grey, off = sample.image.astype(int).sum(axis=2), []
    for quad in sample.words.quads:
        (x0, y0), (x1, y1) = quad.min(axis=0), quad.max(axis=0)
        left, top = int(x0) - 3, int(y0) - 3
        patch = grey[max(0, top) : int(y1) + 4, max(0, left) : int(x1) + 4]
        ink = np.abs(patch - patch[0, 0]) > 150
        if not (ink[[0, -1]].any() or ink[:, [0, -1]].any()):
            ys, xs = np.nonzero(ink)
            found = [xs.min() + left, ys.min() + top, xs.max() + 1 + left, ys.max() + 1 + top]
            off.append(np.subtract(found, [x0, y0, x1, y1]))
    assert len(off) > 10
    assert np.abs(np.mean(off, axis=0)).max() < 1.5 and np.abs(off).max() < 4


@needs_chromium
@pytest.mark.parametrize("borders", ["collapse", "separate", "spaced"])
def test_sides_lie_in_the_middle_of_rules(borders: str) -> None:
    page, habits = grid(borders, Rule(4))
    sample = browser._render(page, habits, browser._shared())
    grey = sample.image.astype(int).mean(axis=2)
    for quad in sample.cells.quads:
        (x0, y0), (x1, y1) = quad[0], quad[2]
        middle_x, middle_y = round((x0 + x1) / 2 - (x1 - x0) * 0.45), round((y0 + y1) / 2 - (y1 - y0) * 0.4)
        for line, at in ((grey[middle_y], x0), (grey[middle_y], x1), (grey[:, middle_x], y0), (grey[:, middle_x], y1)):
            near = np.arange(round(at) - 7, round(at) + 7)
            dark = near[line[near] < 128] + 0.5
            # Spaced frames are two rules with the gap between, the outermost of which is the table's own.
            assert abs(dark.mean() - at) <= (0.6 if borders != "spaced" else 1.1)


@needs_chromium
def test_drawing_is_repeatable_and_the_recipe_may_choose(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("extends: ruled\nrenderers: {fast: 1, browser: 1}\nrows: [2, 4]\n", encoding="utf-8")
    recipe = load_recipe(path)
    samples = [draw(recipe, 0, index) for index in range(4)]
    assert {sample.about["renderer"] for sample in samples} == {"fast", "browser"}
    first = draw(recipe, 0, 0, "browser")
    again = draw(recipe, 0, 0, "browser")
    np.testing.assert_array_equal(first.image, again.image)
    np.testing.assert_array_equal(first.cells.quads, again.cells.quads)
    assert draw(recipe, 0, 0, "fast").cells.texts != () and first.about["renderer"] == "browser"


@needs_chromium
def test_command_draws_with_the_browser(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = CliRunner().invoke(command, ["ruled", "-n", "1", "-o", str(out), "--renderer", "browser"])
    assert done.exit_code == 0, done.output
    assert "renderer browser\n" in (out / "synth.txt").read_text("utf-8")
    done = CliRunner().invoke(command, ["ruled", "-n", "1", "-o", str(out), "--renderer", "fast"])
    assert "holds samples with 'renderer browser', not 'renderer fast'" in done.output


@needs_chromium
def test_a_page_reaches_nothing_outside() -> None:
    running = browser._shared()
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        running.show(f'<img src="{address}a.png"><p>text')
        fetched = f"fetch('{address}').then(() => 'reached', () => document.querySelector('p').textContent)"
        assert running.evaluate(fetched) == "text"
        server.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody has called
            server.accept()


@needs_chromium
def test_a_notebook_may_draw() -> None:
    page, sample = drawn("lineless", 1)

    async def cell() -> Sample:
        return browser.render(page, np.random.default_rng([SEED, 1]))

    np.testing.assert_array_equal(asyncio.run(cell()).image, sample.image)


@needs_chromium
def test_faults_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    running = browser._shared()
    with pytest.raises(BrowserError, match="missing is not defined"):
        running.evaluate("missing.thing")
    with pytest.raises(BrowserError, match=r"No\.such"):
        running.call("No.such")
    with monkeypatch.context() as patch:
        patch.setattr(running, "timeout", 0.3)
        with pytest.raises(BrowserError, match=r"no answer in 0\.3 s"):
            running.evaluate("new Promise(() => {})")
    assert running.evaluate("1 + 1") == 2


@needs_chromium
@pytest.mark.parametrize("end", ["Page.crash", "Browser.close"])
def test_a_crashed_browser_is_replaced(end: str) -> None:
    page, sample = drawn("lineless", 1)
    running = browser._shared()
    with suppress(BrowserError):
        running.call(end)
    again = browser.render(page, np.random.default_rng([SEED, 1]))
    assert browser._shared() is not running
    np.testing.assert_array_equal(again.image, sample.image)


@needs_chromium
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("blow", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_the_browser_ends_with_its_process(blow: str, repository: Path) -> None:
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background ignores it
        "from tablerec.synth.browser.chromium import Chromium\n"
        "browser = Chromium(); print('runs', flush=True); signal.pause()"
    )
    # The path of a browser's socket must be short, which pytest's folders are not.
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=repository,
            env={**os.environ, "TMPDIR": folder},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stdout.readline() == "runs\n"
        assert os.listdir(folder)
        process.send_signal(signal.Signals[blow])
        process.communicate(timeout=60)  # until the driver, which has the same stderr, has ended the browser
        assert not os.listdir(folder)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, "no-such-browser")
    with pytest.raises(MissingDependencyError, match="TABLEREC_BROWSER is 'no-such-browser', which is no program"):
        find_browser()
    monkeypatch.delenv(VARIABLE)
    find_families()  # kept for all tests: without fontconfig's program, fonts would be others
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependencyError, match="Chromium is not installed; install it, such as with"):
        find_browser()
    browser.close()
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    with pytest.raises(MissingDependencyError, match=r'needs Playwright: pip install "tablerec\[browser\]"'):
        draw(load_recipe("ruled"), 0, 0, "browser")


def test_an_unknown_renderer_is_refused() -> None:
    with pytest.raises(SettingsError, match="renderer 'word' is unknown; choose fast or browser"):
        draw(load_recipe("ruled"), 0, 0, "word")  # type: ignore[arg-type]


@needs_chromium
@pytest.mark.skipif(sys.platform == "win32", reason="the program is a shell script")
def test_a_program_that_is_no_browser_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "fake"
    program.write_text("#!/bin/sh\necho I am no browser >&2\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(BrowserError, match="I am no browser") as raised:
        Chromium(str(program))
    assert "--headless" not in str(raised.value)


def test_text_is_escaped_and_nothing_is_loaded() -> None:
    habits = Habits()
    evil = CellSpec(0, 0, "<script>alert(1)</script> & 'x'\nb", TextStyle("Sans", 20))
    table = TableSpec((evil,), (RowSpec(0, 0),), (ColumnSpec(0, 0),))
    html = to_html(Page((Placed(table),), 0, WHITE, "page"), habits)
    assert "<script" not in html and "&lt;script&gt;" in html and "<br>b" in html
    assert "default-src 'none'" in html and "http://" not in html


def test_only_closed_grids_are_spaced() -> None:
    page, habits = grid("spaced", Rule(1))
    assert is_spaced(page.tables[0], habits)
    page, habits = grid("spaced", None)
    assert not is_spaced(page.tables[0], habits)
