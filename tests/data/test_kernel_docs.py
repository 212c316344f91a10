"""The preparation of the kernel's documentation, on pages of its layout that are made here."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner

from postprocess.cell import Cell
from postprocess.table import Table
from tablerec.errors import InputError
from tablerec.labels import Summary, check_labels, read_labels
from tests.helpers.browsing import needs_chromium

SCRIPT = Path(__file__).resolve().parents[2] / "data" / "datasets" / "kernel_docs" / "prepare.py"

TABLE = """<table class="docutils"><tr><th colspan="2">Name and unit</th><th>Value</th></tr>
<tr><td rowspan="2">voltage</td><td>V</td><td>12</td></tr><tr><td>mV</td><td>12000</td></tr>
<tr><td>current</td><td>A</td><td>3</td></tr></table>"""
PAGE = (
    '<html><body><nav><table class="docutils"><tr><td>menu</td></tr></table></nav><div itemprop="articleBody">{}</div>'
)


@pytest.fixture(scope="module")
def prepare() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernel_docs_prepare", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def source(tmp_path: Path, prepare: ModuleType) -> Path:
    folder = tmp_path / "html"
    for sheet in prepare.SHEETS:
        (folder / "_static" / sheet).parent.mkdir(parents=True, exist_ok=True)
        (folder / "_static" / sheet).write_text("table.docutils { border-collapse: collapse } td { padding: 4px }")
    for name in ("a", "b/c"):
        (folder / name).parent.mkdir(exist_ok=True)
        other = TABLE.replace("voltage", f"voltage of {name}")
        (folder / f"{name}.html").write_text(PAGE.format(other + TABLE + "<script>document.body.remove()</script>"))
    (folder / "translations").mkdir()
    (folder / "translations" / "d.html").write_text(PAGE.format(TABLE))
    (folder / "none.html").write_text(PAGE.format("").replace("docutils", ""))
    return folder


def test_pages_with_tables_are_found(source: Path, prepare: ModuleType, tmp_path: Path) -> None:
    assert sorted(prepare.name_of(page, source) for page in prepare.pages_of(source)) == ["a", "b_c"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no pages with tables"):
        prepare.pages_of(tmp_path / "empty")


def test_a_document_holds_the_article_alone(source: Path, prepare: ModuleType) -> None:
    document = prepare.to_document(source / "a.html", source, plain=False)
    assert (
        "menu" not in document and "<script" not in document and "collapse" in document and "voltage of a" in document
    )
    assert "collapse" not in prepare.to_document(source / "a.html", source, plain=True)


def test_what_is_wanted(prepare: ModuleType) -> None:
    cells = [
        [[20 * col, 20 * row, 20 * col + 20, 20 * row + 20], row, col, 1, 1, ""] for row in range(3) for col in range(3)
    ]
    assert prepare.is_wanted([0, 0, 60, 60], cells)
    assert not prepare.is_wanted([0, 0, 60, 60], [])
    assert not prepare.is_wanted([0, 0, 60, 60], [*cells[:-1], [*cells[-1][:3], 1, 2, ""]])  # reaches beyond the others
    assert not prepare.is_wanted([0, 0, 60, 6000], cells)


@needs_chromium
def test_tables_are_drawn_with_their_cells(source: Path, prepare: ModuleType, tmp_path: Path) -> None:
    output = tmp_path / "out"
    done = CliRunner().invoke(prepare.main, [str(source), "-o", str(output)])
    assert done.exit_code == 0, done.output
    assert "1 left out: the same as another" in done.output
    summary = Summary()
    assert [problem for problem in check_labels(read_labels(output), summary) if problem.is_error] == []
    assert summary.cells == [10, 10, 10]
    for path in sorted(output.glob("*.json")):
        label = json.loads(path.read_text())
        fields = ("row", "col", "rowspan", "colspan", "text")
        table = Table([Cell(**{name: cell[name] for name in fields}) for cell in label["cells"]])
        assert (table.n_rows, table.n_cols) == (4, 3) and table.cells[0].text == "Name and unit"
        boxes = {(cell["row"], cell["col"]): np.array(cell["bbox"]) for cell in label["cells"]}
        np.testing.assert_allclose(boxes[1, 0][3], boxes[2, 2][3], atol=0.02)  # both end where the row does
        np.testing.assert_allclose(boxes[1, 0][2], boxes[1, 1][0], atol=0.02)  # neighbours share their side
