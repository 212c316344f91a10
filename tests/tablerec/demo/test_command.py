"""A first look without arguments: a page and a workbook, opened where there is a screen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import openpyxl
import PIL.Image
import pytest
from click.testing import CliRunner, Result

from tablerec.cli import command
from tablerec.demo.command import find_picture
from tablerec.errors import InputError
from tests.helpers.pdf import make_document


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "LANGUAGE", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    return tmp_path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser is asked for."""
    addresses: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: not addresses.append(address))  # type: ignore[func-returns-value]
    return addresses


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, ["demo", *arguments])


def test_without_arguments_a_sample_is_read_and_shown(
    opened: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER", "firefox")
    done = run()
    assert done.exit_code == 0, done.output
    assert sorted(os.listdir("tablerec-demo")) == ["spans.html", "spans.xlsx"]
    assert opened == [(folder / "tablerec-demo" / "spans.html").as_uri()]
    sheet = openpyxl.load_workbook("tablerec-demo/spans.xlsx").worksheets[0]
    assert (sheet.max_row, sheet.max_column) == (14, 8)
    html = Path("tablerec-demo/spans.html").read_text("utf-8")
    assert '<html lang="en">' in html and "14 rows × 8 columns" in html


def test_without_a_screen_the_address_is_printed(opened: list[str], folder: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("others have a screen")
    done = run("one_cell")
    assert done.exit_code == 0 and opened == []
    assert (folder / "tablerec-demo" / "one_cell.html").as_uri() in done.output


def test_no_browser_is_opened_if_none_is_wanted(opened: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    assert run("one_cell", "--no-browser", "-o", "there").exit_code == 0
    assert opened == [] and sorted(os.listdir()) == ["there"]


@pytest.mark.parametrize(
    ("arguments", "environment"), [(["--language", "zh"], "C"), ([], "zh_CN.UTF-8"), ([], "zh_TW")]
)
def test_in_chinese_a_chinese_sample_is_shown(
    arguments: list[str], environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tablerec.demo import command as module

    read: list[str] = []

    def find(name: str) -> Path:
        read.append(name)
        raise InputError("stop")

    monkeypatch.setenv("LC_ALL", environment)
    monkeypatch.setattr(module, "find_picture", find)
    assert run(*arguments).exit_code == 1 and read == ["chinese"]


def test_a_picture_of_ones_own_without_a_table() -> None:
    PIL.Image.fromarray(np.full((40, 60, 3), 255, np.uint8)).save("<b>空.png")
    done = run("<b>空.png", "--no-browser")
    assert done.exit_code == 0 and "no table found" in done.output
    html = Path("tablerec-demo/<b>空.html").read_text("utf-8")
    assert "No table was found" in html and "<b>空" not in html


def test_a_document_shows_its_first_pages() -> None:
    Path("long.pdf").write_bytes(make_document(7, "open sesame"))
    done = run("long.pdf", "--no-browser", "--pages", "2-", "--password", "open sesame")
    assert done.exit_code == 0, done.output
    html = Path("tablerec-demo/long.html").read_text("utf-8")
    assert "Page 6" in html and "Page 7" not in html and "more pages" in html


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing"], 1, "nothing: no such file, nor a sample; the samples are chinese, dark"),
        (["no/such.png"], 1, "no such file"),
        (["one_cell", "-o", "taken"], 2, "is a file"),
        (["--language", "la"], 2, "'en', 'zh'"),
    ],
)
def test_what_cannot_be_shown_is_told_why(arguments: list[str], code: int, message: str) -> None:
    Path("taken").touch()
    done = run(*arguments, "--no-browser")
    assert done.exit_code == code and message in done.output and os.listdir() == ["taken"]


def test_every_sample_of_the_help_is_there() -> None:
    text = " ".join(run("-h").output.split())
    named = text.partition("one of the samples: ")[2].partition(".")[0].split(", ")
    assert named == sorted(named) and len(named) == 12
    assert [find_picture(name).stem for name in named] == named


def test_a_file_comes_before_a_sample_of_its_name() -> None:
    Path("ruled").touch()
    assert find_picture("ruled") == Path("ruled")


def test_a_real_process_without_a_screen(folder: Path, repository: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    done = subprocess.run(
        [sys.executable, "-m", "tablerec", "demo", "one_cell"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].startswith("a table of 1 x 1, 9")
