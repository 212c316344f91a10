"""The site, made of the READMEs, the notebooks and the docstrings where they lie: nothing is copied.

    sphinx-build -W --keep-going -q -c docs . out/site

needs ``pip install ".[docs]"``. Pages link to one another as they do in the repository; what else they link to, such
as source code, is a download. ``CONTENTS`` is all that the site adds: the order of the pages.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tablerec import __version__  # noqa: E402

PARTS = ["inputs", "detect", "ocr", "outputs", "corrections", "evaluate", "engine", "bulk", "serve", "plugins"]
PARTS += ["plugins/paddlex", "training", "devices", "course"]
GUIDES = ["docs/install", "docs/usage", "docs/exit_codes", *(f"tablerec/{part}/README" for part in PARTS)]


def notebooks() -> list[str]:
    """Pages of all notebooks in the order of their index, each before its solutions; then the pages beside them."""
    folder = ROOT / "notebooks"
    order = re.findall(r"\]\((\w+)\.ipynb\)", (folder / "README.md").read_text(encoding="utf-8"))
    files = [path.relative_to(folder) for kind in ("ipynb", "md") for path in folder.glob(f"**/*.{kind}")]
    found = [file for file in files if file.parts[0] not in ("source", "README.md", "README.zh-CN.md")]
    found.sort(key=lambda file: ([*order, file.stem].index(file.stem), file.parts[0] == "solutions"))
    return [f"notebooks/{file.with_suffix('').as_posix()}" for file in found]


def is_chinese(page: str) -> bool:
    """Whether a page is written in Chinese."""
    return page.endswith(".zh-CN") or "/zh/" in page


CONTENTS = {
    "README": ["docs/README", "notebooks/README", "docs/faq", "docs/api/README", "README.zh-CN"],
    "README.zh-CN": ["docs/README.zh-CN", "notebooks/README.zh-CN", "docs/faq.zh-CN"],
    "docs/README": [*GUIDES, "CONTRIBUTING", "CHANGELOG"],
    "docs/README.zh-CN": [f"{page}.zh-CN" for page in GUIDES],
    "docs/api/README": [f"docs/api/{name}" for name in ("recognition", "tables", "exports", "corrections", "others")],
    "notebooks/README": [page for page in notebooks() if not is_chinese(page)],
    "notebooks/README.zh-CN": [page for page in notebooks() if is_chinese(page)],
    "tablerec/detect/README": ["tablerec/models/weights/README"],
    "tablerec/ocr/README": ["tablerec/models/weights/linenet/README"],
    "tablerec/bulk/README": ["data/cluster/README"],
    "tablerec/evaluate/README": ["data/samples/README", "tests/benchmarks/peers/README"],
    "tablerec/training/README": ["tablerec/training/MEASURED", "data/datasets/README", "data/migration/README"],
    "tablerec/course/README": ["tests/benchmarks/course/COMPARED"],
    "tablerec/devices/README": [f"tablerec/devices/{name}" for name in ("MEASURED", "PORTING", "csrc/README")]
    + ["tablerec/language/README"],
    "tablerec/devices/README.zh-CN": ["tablerec/language/README.zh-CN"],
    "tablerec/language/README": ["tablerec/language/MEASURED", "tablerec/language/reader/README"],
    "tablerec/language/README.zh-CN": ["tablerec/language/reader/README.zh-CN"],
    "data/datasets/README": [f"data/datasets/{name}/README" for name in ("agreed_lines", "ctdar19", "kernel_docs")],
}
"""Page -> the pages below it."""

project = "tablerec"
author = "the authors of tablerec"
copyright = f"{author}, Apache-2.0"
version = release = __version__
root_doc = "README"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx_copybutton"]
include_patterns = ["*.md", "docs/**.md", "tablerec/**.md", "data/**/README.md", "tests/benchmarks/**.md"]
include_patterns += ["notebooks/**.ipynb", "notebooks/**.md"]
exclude_patterns = [".*", "**/.*", "out", "notebooks/source"]
suppress_warnings = [
    "myst.header",  # solutions go from the title to the exercises of a section
    "misc.highlighting_failure",  # cells that begin with %%writefile and go on in C++
    "ref.python",  # TablerecError is found under each of the names by which it may be imported
]
default_role = "literal"  # `name` in a docstring
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_mock_imports = ["anywidget", "langchain_core", "paddle", "paddlex"]
html_theme = "pydata_sphinx_theme"
html_title = project
html_show_sourcelink = False
templates_path = ["templates"]
html_additional_pages = {"index": "redirect.html"}
html_theme_options = {
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Append the list of its pages to a page; in the repository the links in its text are enough."""
    if page in CONTENTS:
        pages = (f"简体中文 </{below}>" if below == "README.zh-CN" else f"/{below}" for below in CONTENTS[page])
        source[0] += "\n".join(["\n", "```{toctree}", ":hidden:", *pages, "```\n"])


def say_language(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Tell browsers and search engines which pages are Chinese."""
    if is_chinese(page):
        context["language"] = "zh-CN"


def setup(app: Sphinx) -> None:
    """Do what the settings above cannot."""
    app.connect("source-read", add_contents)
    app.connect("html-page-context", say_language)
