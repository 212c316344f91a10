"""The site, made of the READMEs, the notebooks and the docstrings where they lie: nothing is copied.

    sphinx-build -W --keep-going -c docs . out/site

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

# What reads pictures, in the order of the work; then what is built around it.
PARTS = ["inputs", "detect", "ocr", "outputs", "corrections", "evaluate", "engine", "bulk", "serve", "plugins"]
PARTS += ["plugins/paddlex", "training", "devices", "course"]
LABS = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))


def _labs(folder: str) -> list[str]:
    """Pages of the notebooks in a folder, by their numbers."""
    return [f"/{folder}/{path.stem}" for path in sorted((ROOT / folder).glob("*.ipynb"))]


# Page -> title of its list of pages, and the pages.
CONTENTS = {
    "README": ("", ["/docs/README", "/tablerec/course/README", "/docs/faq", "/docs/api/README", "/README.zh-CN"]),
    "docs/README": (
        "",
        ["/docs/install", "/docs/usage"]
        + [f"/tablerec/{part}/README" for part in PARTS if part != "course"]
        + ["/CONTRIBUTING", "/CHANGELOG"],
    ),
    "tablerec/course/README": ("", _labs("notebooks")),
    "README.zh-CN": (
        "",
        ["/docs/README.zh-CN", "/tablerec/course/README.zh-CN", "/docs/faq.zh-CN"],
    ),
    "docs/README.zh-CN": (
        "",
        ["/docs/install.zh-CN", "/docs/usage.zh-CN"]
        + [f"/tablerec/{part}/README.zh-CN" for part in PARTS if part != "course"],
    ),
    "tablerec/course/README.zh-CN": ("", _labs("notebooks/zh")),
    "docs/api/README": ("", [f"/docs/api/{name}" for name in ("tablerec", "tables", "exports", "corrections", "plugins")]),
    "tablerec/detect/README": ("", ["/tablerec/models/weights/README"]),
    "tablerec/ocr/README": ("", ["/tablerec/models/weights/linenet/README"]),
    "tablerec/bulk/README": ("", ["/data/cluster/README"]),
    "tablerec/evaluate/README": ("", ["/data/samples/README", "/tests/benchmarks/peers/README"]),
    "tablerec/training/README": (
        "",
        ["/tablerec/training/MEASURED", "/data/datasets/README", "/data/migration/README"],
    ),
    "data/datasets/README": ("", [f"/data/datasets/{name}/README" for name in ("agreed_lines", "ctdar19", "kernel_docs")]),
    "tablerec/devices/README": (
        "",
        ["/tablerec/devices/MEASURED", "/tablerec/devices/PORTING", "/tablerec/devices/csrc/README"],
    ),
}

project = "tablerec"
copyright = "the authors of tablerec, Apache-2.0"
version = release = __version__
root_doc = "README"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx_copybutton"]
include_patterns = [
    *("*.md", "docs/**.md", "tablerec/**.md", "data/**/README.md", "tests/benchmarks/peers/README.md"),
    *("notebooks/*.ipynb", "notebooks/zh/*.ipynb"),
]
exclude_patterns = [".*", "**/.*", "out", "**/__pycache__", "notebooks/source"]
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_mock_imports = ["paddle", "paddlex"]
napoleon_use_ivar = True
copybutton_exclude = ".linenos, .gp, .go"
html_theme = "pydata_sphinx_theme"
html_title = "tablerec"
html_show_sourcelink = False
templates_path = ["templates"]
html_additional_pages = {"index": "redirect.html"}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_nav_level": 1,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def _add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Append the list of its pages to a page: in the repository links in the text do as well."""
    if page in CONTENTS:
        title, pages = CONTENTS[page]
        source[0] += "\n".join(["", "", "```{toctree}", ":hidden:", ":maxdepth: 2", *filter(None, [title]), "", *pages, "```", ""])


def _say_language(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Tell browsers and search engines which pages are Chinese."""
    if page.endswith(".zh-CN") or page.startswith("notebooks/zh/"):
        context["language"] = "zh-CN"


def setup(app: Sphinx) -> None:
    """Add what the configuration cannot say."""
    app.connect("source-read", _add_contents)
    app.connect("html-page-context", _say_language)
