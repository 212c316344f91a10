"""The editor's JavaScript and style, as a page loads them and as one module for a notebook."""

from __future__ import annotations

import re
from importlib import resources

MODULES = (
    "elements.js", "geometry.js", "texts.js", "memory.js", "icons.js", "marks.js", "banners.js", "menu.js", "places.js",
    "selection.js", "tsv.js", "keys.js", "queue.js", "typing.js", "finder.js", "bar.js", "panes.js", "hints.js",
    "notes.js", "words.js", "lens.js", "proof.js", "picture.js", "extents.js", "grid.js", "series.js", "fill.js",
    "sheet.js", "editor.js",
)  # fmt: skip
"""Each imports only from those before it."""
STYLES = ("editor.css", "sheet.css", "proof.css")

_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)


def read_static(name: str) -> str:
    """Return a file of the editor's page."""
    return resources.files("tablerec.corrections.editor").joinpath("static").joinpath(name).read_text("utf-8")


def to_one_style() -> str:
    """Return all styles as one."""
    return "\n".join(map(read_static, STYLES))


def to_one_module() -> str:
    """Return all modules as one: a notebook loads a single file, so they are joined without their imports."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", read_static(name))) for name in MODULES)
