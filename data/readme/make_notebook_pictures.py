"""Draw tour.png, grid.png and port.png: notebooks 00, 01 and 07 as they look once they ran.

Needs Chromium and the extras ``lab`` and ``browser``.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from nbconvert import HTMLExporter
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tablerec.course.run import read_notebook

HERE = Path(__file__).resolve().parent
NOTEBOOKS = HERE.parent.parent / "notebooks"
SIZE_WH = (900, 640)
SHOWN = {  # the notebook, and the text at which the picture begins
    "tour": ("00_tour", "2. Recognize it"),
    "grid": ("01_cells_to_grid", "Lines are searched on the right side"),
    "port": ("07_customdevice_port", "This is the work list"),
}


def to_page(name: str) -> str:
    """Return a notebook with its outputs as a page."""
    page, _ = HTMLExporter(template_name="lab").from_notebook_node(read_notebook(NOTEBOOKS / f"{name}.ipynb"))
    return page


def photograph(page: Page, address: str, begin: str, target: Path) -> None:
    """Write what is seen from some text on as a PNG of few colours."""
    page.goto(address)
    page.get_by_text(begin).first.evaluate("element => element.scrollIntoView()")
    page.screenshot(path=target)
    Image.open(target).convert("RGB").quantize(128).save(target, optimize=True)


def main() -> None:
    """Photograph the notebooks."""
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": SIZE_WH[0], "height": SIZE_WH[1]})
        for name, (notebook, begin) in SHOWN.items():
            written = Path(temporary) / f"{name}.html"
            written.write_text(to_page(notebook), encoding="utf-8")
            photograph(page, written.as_uri(), begin, HERE / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
