"""PaddleX's command line with the pipeline registered, and the order of imports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]


def run(*arguments: str, code: str | None = None) -> subprocess.CompletedProcess[str]:
    command = ["-c", code] if code else ["-m", "tablerec.plugins.paddlex", *arguments]
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_predict(samples: Path, tmp_path: Path) -> None:
    done = run(
        "--pipeline", "table_recognition_cells", "--input", str(samples / "one_cell.png"), "--save_path", str(tmp_path),
        "--device", "cpu", "--use_layout_detection", "False",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "table_res_list" in done.stderr + done.stdout
    assert {"one_cell_tables.xlsx", "one_cell_table_1.html", "one_cell_res.json"} <= {
        path.name for path in tmp_path.iterdir()
    }


def test_an_error_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.png").write_text("no picture", encoding="utf-8")
    done = run("--pipeline", "table_recognition_cells", "--input", str(tmp_path / "notes.png"), "--device", "cpu")
    assert done.returncode == 1
    assert "a text file, not a picture" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_file_can_be_fetched(tmp_path: Path) -> None:
    done = run("--get_pipeline_config", "table_recognition_cells", "--save_path", str(tmp_path))
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "table_recognition_cells.yaml").read_text(encoding="utf-8")
    assert "pipeline_name: table_recognition_cells" in text


@pytest.mark.parametrize("first", ["paddle", "tablerec.plugins.paddlex", "tablerec.paddlex_support"])
def test_pipelines_of_paddlex_are_as_before(first: str) -> None:
    done = run(
        code=f"import {first}; import tablerec.plugins.paddlex, paddlex; "
        "from paddlex.inference import load_pipeline_config as load; "
        "print(load('OCR')['pipeline_name'], load('table_recognition_cells')['pipeline_name'])"
    )
    assert done.stdout.split() == ["OCR", "table_recognition_cells"], done.stderr


def test_paddlex_imported_too_early_says_what_to_do() -> None:
    # PaddleX asks for this distribution; a machine may have it or not.
    hidden = "lambda name: version('none' if 'contrib' in name else name)"
    before = f"import importlib.metadata as metadata; version = metadata.version; metadata.version = {hidden}\n"
    after = "import paddlex; metadata.version = version; import tablerec.plugins.paddlex"
    done = run(code=before + after)
    assert "import tablerec.plugins.paddlex first" in done.stderr


def test_the_script_of_its_page_runs(tmp_path: Path) -> None:
    readme = (ROOT / "tablerec/plugins/paddlex/README.md").read_text(encoding="utf-8")
    [script] = re.findall(r"```python\n(from tablerec\.plugins\.paddlex .*?)```", readme, re.DOTALL)
    assert len(script.strip().splitlines()) <= 10
    done = run(code=script.replace('"out/"', repr(str(tmp_path))))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 85 <html><body><table>")
    assert (tmp_path / "spans_tables.xlsx").is_file()
