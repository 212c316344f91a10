"""PaddleX's command line with the pipeline registered, and the order of imports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tablerec.errors import SettingsError

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


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--pipeline", "table_recognition_cell", "--input", "a.png"], 2, "did you mean table_recognition_cells?"),
        (["--serve", "--pipeline", "tabel_recognition_cells"], 2, "did you mean table_recognition_cells?"),
        (["--get_pipeline_config", "OCRR"], 2, "no pipeline is called OCRR; did you mean OCR?"),
        (["--pipeline", "\x1b[31m", "--input", "a.png"], 2, r"no pipeline is called \x1b[31m; there are"),
        (["--pipeline", "none.yaml", "--input", "a.png"], 1, "none.yaml: no such file"),
        (["--pipeline", "table_recognition_cells"], 2, "--input is missing"),
        (["--input", "a.png"], 2, "--pipeline is missing"),
        (["--serve"], 2, "--pipeline is missing"),
    ],
)
def test_what_is_missing_or_mistyped_is_one_line(
    arguments: list[str], code: int, message: str, plugin: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from tablerec.plugins.paddlex import __main__ as program

    monkeypatch.setattr(sys, "argv", ["paddlex", *arguments])
    monkeypatch.setattr("paddlex.paddlex_cli.args_cfg", lambda: pytest.fail("it is handed over"))
    with pytest.raises(SystemExit) as ended:
        program.main()
    said = capsys.readouterr().err
    assert ended.value.code == code and said.startswith("Error: ") and message in said and said.count("\n") == 1


def test_a_mistyped_pipeline_in_python_is_asked_about(plugin: ModuleType) -> None:
    with pytest.raises(SettingsError, match=r"did you mean table_recognition_cells\?"):
        plugin.create_pipeline("table_recognition_cell", device="cpu")


def test_the_server_is_for_this_machine_until_told_otherwise(
    plugin: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from tablerec.plugins.paddlex import __main__ as program

    served: list[str] = []
    monkeypatch.setattr("paddlex.paddlex_cli.serve", lambda *args, host, **rest: served.append(host))
    monkeypatch.delenv("TABLEREC_TOKEN", raising=False)
    for more, token, host, is_told in [
        ([], "", "127.0.0.1", False),
        (["--host", "localhost"], "", "localhost", False),
        (["--host=::1"], "", "::1", False),
        (["--host", "0.0.0.0"], "", "0.0.0.0", True),
        (["--host", "tables.example"], "", "tables.example", True),
        (["--host", "0.0.0.0"], "0123456789abcdef", "0.0.0.0", False),
    ]:
        monkeypatch.setenv("TABLEREC_TOKEN", token)
        monkeypatch.setattr(sys, "argv", ["paddlex", "--serve", "--pipeline", "table_recognition_cells", *more])
        program.main()
        assert served.pop() == host
        assert ("TABLEREC_TOKEN" in capsys.readouterr().err) is is_told


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
