"""The site is built without a warning, its links lead somewhere, and its notebooks have their figures."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.helpers.pages import ROOT, blocks


class Page(HTMLParser):
    """What a page of the site links to, its anchors, its pictures and its language."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.n_pictures = 0
        self.language: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {found[name] or "" for name in ("id", "name") if name in found}
        self.links += [found[name] or "" for name in ("href", "src") if name in found and tag != "link"]
        self.n_pictures += tag == "img"
        self.language = found.get("lang", self.language) if tag == "html" else self.language


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("sphinx", "myst_nb", "pydata_sphinx_theme", "sphinx_copybutton"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("site")
    [command] = [block.code for block in blocks(ROOT / "docs/README.md") if "sphinx-build" in block.code]
    words = [str(folder) if word == "out/site" else word for word in shlex.split(command)]
    done = subprocess.run([sys.executable, "-m", "sphinx", *words[1:]], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def made(site: Path) -> dict[Path, Page]:
    """The pages of the site by their files, those of source code left out."""
    files = [
        path for path in sorted(site.rglob("*.html")) if path.relative_to(site).parts[0] not in ("_modules", "_static")
    ]
    return {path: Page(path.read_text("utf-8")) for path in files}


def test_links_within_the_site(site: Path, made: dict[Path, Page]) -> None:
    assert len(made) > 60
    broken = []
    for file, page in made.items():
        for link in page.links:
            target, _, anchor = unquote(link).partition("#")
            if re.match(r"[a-z]+:|//", link):
                continue
            path = (file.parent / target.partition("?")[0]).resolve() if target else file
            known = made[path].anchors if path in made else None
            if not path.is_file() or (anchor and known is not None and anchor not in known):
                broken.append(f"{file.relative_to(site)}: {link}")
    assert broken == []


def test_the_front_page_is_the_readme(site: Path, made: dict[Path, Page]) -> None:
    assert "url=README.html" in (site / "index.html").read_text("utf-8")
    assert made[site / "README.html"].language == "en" and made[site / "README.zh-CN.html"].language == "zh-CN"


def test_notebooks_have_their_figures(site: Path, made: dict[Path, Page]) -> None:
    notebooks = sorted((ROOT / "notebooks").rglob("[0-9]*.ipynb"))
    assert notebooks
    for notebook in notebooks:
        outputs = [
            output
            for cell in json.loads(notebook.read_text("utf-8"))["cells"]
            for output in cell.get("outputs", [])
            if "image/png" in output.get("data", {})
        ]
        page = made[site / notebook.relative_to(ROOT).with_suffix(".html")]
        assert page.n_pictures >= len(outputs), notebook.name


def test_the_reference_has_what_users_import(site: Path) -> None:
    import tablerec

    names = {line.split()[0] for line in inventory(site / "objects.inv")}
    documented = {name.rpartition(".")[2] for name in names}
    assert set(tablerec.__all__) - {"__version__"} <= documented


def inventory(path: Path) -> list[str]:
    import zlib

    return zlib.decompress(path.read_bytes().split(b"\n", 4)[4]).decode().splitlines()
