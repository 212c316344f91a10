"""A file of a user that is called as a package of ours breaks nothing, or is named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tablerec.cli import main

USE = "import tablerec; assert tablerec.recognize and tablerec.Table; from postprocess.word import Word"
CONSOLE_SCRIPT = f"import sys; from {main.__module__} import main; sys.argv = ['tablerec', '--version']; main()"


@pytest.fixture(params=["postprocess.py", "postprocess/__init__.py", "postprocess/table.py"])
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a file that must not run, and with a script."""
    file = tmp_path / str(request.param)
    file.parent.mkdir(exist_ok=True)
    file.write_text("raise SystemExit('it runs')")
    (tmp_path / "script.py").write_text(USE)
    return tmp_path


def run(folder: Path, *arguments: str, search: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": search}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def others() -> list[str]:
    """The path of this Python but for the checkout."""
    return [each for each in sys.path if each and not (Path(each) / "tablerec").is_dir()]


@pytest.fixture(scope="module")
def installed(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A path on which both packages lie in one folder, as a wheel puts them."""
    folder = tmp_path_factory.mktemp("installed")
    for package in ("tablerec", "postprocess"):
        shutil.copytree(repository / package, folder / package, ignore=shutil.ignore_patterns("*.onnx", "__pycache__"))
    return os.pathsep.join([str(folder), *others()])


@pytest.mark.parametrize(
    "arguments",
    [["-m", "tablerec", "--version"], ["-c", USE], ["script.py"], ["-c", CONSOLE_SCRIPT]],
    ids=["module", "command", "script", "console script"],
)
def test_a_postprocess_of_the_users_own_is_not_run(own: Path, installed: str, arguments: list[str]) -> None:
    done = run(own, *arguments, search=os.pathsep.join([str(own), installed]))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_postprocess_of_the_users_own_beside_a_checkout(own: Path, repository: Path) -> None:
    done = run(own, "-m", "tablerec", "--version", search=os.pathsep.join([str(repository), *others()]))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_postprocess_of_the_users_own_that_was_imported_first_is_named(tmp_path: Path, installed: str) -> None:
    (tmp_path / "postprocess.py").write_text("mine = 1")
    done = run(tmp_path, "-c", "import postprocess, tablerec", search=installed)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {str(tmp_path / 'postprocess.py')!a} is imported as postprocess")


def test_a_postprocess_of_the_users_own_that_is_hidden_is_explained(tmp_path: Path, installed: str) -> None:
    (tmp_path / "postprocess.py").write_text("mine = 1")
    done = run(tmp_path, "-c", "import tablerec, postprocess; postprocess.mine", search=installed)
    assert "is that of tablerec" in done.stderr.splitlines()[-1]


def test_our_postprocess_may_be_imported_first(installed: str, tmp_path: Path) -> None:
    done = run(tmp_path, "-c", f"import postprocess.table; {USE}", search=installed)
    assert (done.returncode, done.stderr) == (0, "")
