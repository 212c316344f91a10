"""README.md: its commands are the ones CI runs, its example prints what it says. tests/docs has the rest."""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reader() -> ModuleType:
    """Return .ci/readme.py, with which .ci/run reads the same commands."""
    spec = importlib.util.spec_from_file_location("ci_readme", ROOT / ".ci" / "readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_job_command_reads_the_samples(readme: str, reader: ModuleType) -> None:
    job, _ = reader.set_up_commands(readme)
    words = shlex.split(job)
    inputs = [word for word in words if word.startswith("data/samples")]
    assert inputs, f"{job!r} reads nothing of data/samples"
    assert all(list(ROOT.glob(word)) for word in inputs)


def test_test_command_runs_everything(readme: str, reader: ModuleType) -> None:
    _, tests = reader.set_up_commands(readme)
    last = [word for word in shlex.split(tests.split("&&")[-1]) if word not in ("python", "-m")]
    assert last == ["pytest"], "the command must not leave tests out"
    assert "[dev]" in tests


def test_example_prints_what_it_says(readme: str, reader: ModuleType) -> None:
    code, output = reader.example(readme)
    assert len(code.strip().splitlines()) <= 6
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines() == output.strip().splitlines()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "## Set up\n",
        "## Set up\n```bash\npip install . && tablerec a.png\n```\n",
        "## Set up\n```bash\npip install .\n```\n```bash\npip install . && pytest\n```\n",
        "## Set up\n```bash\npip install . && tablerec a.png\n```\n## Other\n```bash\npip install . && pytest\n```\n",
    ],
)
def test_missing_commands_are_noticed(text: str, reader: ModuleType) -> None:
    with pytest.raises(ValueError, match="Set up"):
        reader.set_up_commands(text)


@pytest.mark.parametrize("text", ["", "```python\n1\n```\n", "```python\n1\n```\n```bash\nls\n```\n```text\n1\n```\n"])
def test_missing_example_is_noticed(text: str, reader: ModuleType) -> None:
    with pytest.raises(ValueError, match="python block"):
        reader.example(text)
