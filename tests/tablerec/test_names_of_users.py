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


BOTH = {
    "ours first": "import tablerec; tablerec.Word; from postprocess import mine",
    "theirs first": "from postprocess import mine; import tablerec; tablerec.Word",
    "each by the name of the package": "import postprocess, tablerec; tablerec.Word; mine = postprocess.mine",
    "again": "import postprocess, tablerec; tablerec.Word; import postprocess.table; mine = postprocess.mine",
    "all names": "import tablerec; from postprocess import *; tablerec.Word",
    "pickled": "import postprocess as p, tablerec, pickle; tablerec.Word; mine = pickle.loads(pickle.dumps(p.call))()",
}


@pytest.mark.parametrize("file", ["postprocess.py", "postprocess/__init__.py"])
@pytest.mark.parametrize("code", BOTH.values(), ids=BOTH)
def test_a_postprocess_of_the_users_own_goes_on_working(code: str, file: str, tmp_path: Path, installed: str) -> None:
    """In the same program as tablerec, in whatever order they are imported."""
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("mine = 'theirs'\ndef call(): return mine")
    (tmp_path / "script.py").write_text(f"{code}; assert mine == 'theirs'")
    done = run(tmp_path, "script.py", search=installed)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("begins", ["", "from postprocess import helpers\n", "import postprocess\n"])
@pytest.mark.parametrize("has_init", [False, True])
def test_modules_in_a_folder_of_the_users_own_go_on_working(
    begins: str, has_init: bool, tmp_path: Path, installed: str
) -> None:
    (tmp_path / "postprocess" / "deep").mkdir(parents=True)
    (tmp_path / "postprocess" / "deep" / "table.py").touch()
    (tmp_path / "postprocess" / "helpers.py").write_text("import postprocess.deep.table; mine = 'theirs'")
    if has_init:
        (tmp_path / "postprocess" / "__init__.py").write_text("from .helpers import mine")
    if begins.startswith("from") and not has_init:
        begins = ""  # a folder without __init__.py is behind our package, as Python has it
    code = "import tablerec; tablerec.Word; from postprocess.helpers import mine; assert mine == 'theirs'"
    (tmp_path / "script.py").write_text(f"{begins}{code}")
    done = run(tmp_path, "script.py", search=installed)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_module_of_the_users_own_with_the_name_of_one_of_ours_is_named(tmp_path: Path, installed: str) -> None:
    (tmp_path / "postprocess").mkdir()
    for name in ("__init__", "table"):
        (tmp_path / "postprocess" / f"{name}.py").write_text("mine = 1")
    done = run(tmp_path, "-c", "import postprocess.table, tablerec", search=installed)
    assert done.returncode == 1
    file = tmp_path / "postprocess" / "table.py"
    assert done.stderr.splitlines()[-1].startswith(f"ImportError: {str(file)!a} is imported as postprocess.table")


def test_a_name_that_nobody_has_is_explained(tmp_path: Path, installed: str) -> None:
    (tmp_path / "postprocess.py").write_text("mine = 1")
    done = run(tmp_path, "-c", "import tablerec, postprocess; postprocess.yours", search=installed)
    assert "is that of tablerec" in done.stderr.splitlines()[-1] and "'yours'" in done.stderr.splitlines()[-1]


def test_two_of_ours_on_the_path_are_no_namesakes(tmp_path: Path, installed: str, repository: Path) -> None:
    search = os.pathsep.join([str(repository), installed])
    done = run(
        tmp_path, "-c", "import tablerec, postprocess; hasattr(postprocess, 'mine') or print('none')", search=search
    )
    assert (done.stdout, done.stderr) == ("none\n", "")


@pytest.mark.parametrize("arguments", [["script.py"], ["-m", "tablerec"], ["tablerec.py"]])
def test_a_tablerec_of_the_users_own_is_named_by_python(arguments: list[str], tmp_path: Path, installed: str) -> None:
    for name in ("tablerec.py", "script.py"):
        (tmp_path / name).write_text("from tablerec import recognize")
    done = run(tmp_path, *arguments, search=installed)
    assert done.returncode == 1 and str(tmp_path / "tablerec.py") in done.stderr.splitlines()[-1]


def test_a_folder_called_tablerec_breaks_nothing(tmp_path: Path, installed: str) -> None:
    """One without __init__.py, such as a clone of the repository."""
    (tmp_path / "tablerec").mkdir()
    done = run(tmp_path, "-m", "tablerec", "--version", search=installed)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_kernel_with_a_postprocess_of_the_users_own(own: Path, installed: str) -> None:
    """Notebooks have their folder on the path, as ``python -c`` has."""
    pytest.importorskip("ipykernel")
    code = f"import IPython; shell = IPython.InteractiveShell.instance(); shell.run_cell({USE!r}).raise_error()"
    done = run(own, "-c", code, search=installed)
    assert done.returncode == 0, done.stderr


def test_our_postprocess_may_be_imported_first(installed: str, tmp_path: Path) -> None:
    done = run(tmp_path, "-c", f"import postprocess.table; {USE}", search=installed)
    assert (done.returncode, done.stderr) == (0, "")
