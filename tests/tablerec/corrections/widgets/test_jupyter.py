"""The widget in JupyterLab, in a real browser."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tablerec.corrections.editor import CorrectionFolder
from tests.helpers.browsing import drag, open_browser, to_screen

for module in ("anywidget", "ipykernel", "jupyterlab"):
    pytest.importorskip(module)

CELL = """
from pathlib import Path
from tablerec.corrections.widgets import TableEditor
from tests.helpers.review import make_page, make_table
TableEditor(make_page(make_table()), folder=Path("corrections"))
"""


@contextmanager
def serve_lab(folder: Path, repository: Path) -> Iterator[str]:
    """JupyterLab on a folder; gives its address."""
    variables = {f"JUPYTER_{name}_DIR": str(folder / ".jupyter" / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    paths = [str(repository), *filter(None, [os.environ.get("PYTHONPATH")])]
    options = [*("--no-browser", "--allow-root", "--ServerApp.port=0", f"--ServerApp.root_dir={folder}")]
    options += ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    lab = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options, f"--LabApp.workspaces_dir={folder / '.jupyter'}"],
        env={**os.environ, **variables, "PYTHONPATH": os.pathsep.join(paths), "IPYTHONDIR": str(folder / ".ipython")},
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert lab.stderr is not None
        lines = []
        for line in lab.stderr:
            lines.append(line)
            found = re.search(r"http://127\.0\.0\.1:\d+/lab\?token=\w+", line)
            if found:
                yield found[0]
                break
        else:
            pytest.fail("".join(lines))
    finally:
        lab.terminate()
        lab.communicate()


def open_notebook(page: Any, address: str) -> None:
    page.goto(address.replace("/lab?", "/lab/tree/editor.ipynb?"))
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    # In the status bar, and there once the kernel answers: a key before that is lost.
    page.get_by_text("| Idle").wait_for()
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Control+Enter")
    page.locator(".tablerec-editor .sheet td[data-place]").first.wait_for()


def test_drag_merge_and_save_in_jupyterlab(tmp_path: Path, repository: Path) -> None:
    cell = {"cell_type": "code", "execution_count": None, "id": "a", "metadata": {}, "outputs": [], "source": CELL}
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "editor.ipynb").write_text(json.dumps(notebook))
    with open_browser() as browser, serve_lab(tmp_path, repository) as address:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(90_000)
        open_notebook(page, address)
        [correction] = CorrectionFolder(tmp_path / "corrections").read().values()
        page.locator(".tablerec-editor").scroll_into_view_if_needed()
        _, _, (x1, y1), (x0, _) = correction.table[0, 0].quad or ()
        start = to_screen(page, correction, (x0 + x1) / 2, y1)
        drag(page, start, to_screen(page, correction, (x0 + x1) / 2, y1 + 12))
        page.locator('.tablerec-editor[data-version="1"]').wait_for()
        # Letters are steps here, and not JupyterLab's commands.
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("Alt+m")
        page.locator('.tablerec-editor[data-version="2"]').wait_for()
        page.keyboard.press("Control+s")
        page.locator(".tablerec-editor .status", has_text="Saved").wait_for()
        assert page.locator(".jp-Notebook .jp-CodeCell").count() >= 1
        page.screenshot(path=os.environ.get("TABLEREC_SHOT") or tmp_path / "jupyterlab.png")
    label = json.loads((tmp_path / "corrections" / "images" / "scan_1_1.json").read_text("utf-8"))
    assert label["cells"][0]["colspan"] == 2
    assert label["cells"][0]["bbox"][3] == pytest.approx(y1 + 12, abs=1.5)
