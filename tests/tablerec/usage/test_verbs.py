"""A verb that is mistyped is asked about, and every verb explains itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import PIL.Image
import pytest
from click.testing import CliRunner, Result

from tablerec.cli import command
from tablerec.usage.exit_codes import EXIT_CODES
from tablerec.usage.verbs import VERBS, ask_about, close_to

MISTYPED = {
    "reveiw": "review", "trian": "train", "evla": "eval", "lables": "labels", "exprot": "export", "modles": "models",
    "servre": "serve", "weight": "weights", "devices": "device", "evaluate": "eval", "halp": "help", "dmeo": "demo",
}  # fmt: skip


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


@pytest.fixture
def scans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a picture, below the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scans").mkdir()
    PIL.Image.fromarray(np.full((40, 40, 3), 255, np.uint8)).save(tmp_path / "scans" / "a.png")
    return tmp_path / "scans"


def paths(verbs: dict[str, str]) -> Iterator[tuple[str, ...]]:
    """Verbs, and those of verbs."""
    from tablerec.cli import _load

    for verb, target in verbs.items():
        yield (verb,)
        loaded = _load(target)
        yield from ((verb, name) for name in (loaded.commands if isinstance(loaded, click.Group) else ()))


@pytest.mark.parametrize(("word", "meant"), MISTYPED.items())
def test_a_mistyped_verb_is_asked_about(word: str, meant: str) -> None:
    assert ask_about(word).startswith(f"no verb `{word}`; did you mean {meant}?")


@pytest.mark.parametrize(
    "arguments",
    [
        ["reveiw", "scans"],
        ["reveiw", "scans", "--learn-after", "3"],
        ["--quiet", "reveiw", "scans"],
        ["reveiw", "scans/a.png", "scans/*.png", "-o", "out/"],
    ],
)
def test_a_mistyped_verb_before_real_inputs_reads_and_writes_nothing(arguments: list[str], scans: Path) -> None:
    done = run(*arguments)
    assert done.exit_code == 2 and done.stdout == ""
    assert "no verb `reveiw`; did you mean review?" in done.stderr
    assert os.listdir(scans) == ["a.png"] and os.listdir() == ["scans"]


def test_a_word_that_is_neither_verb_nor_file_reads_nothing_either(scans: Path) -> None:
    done = run("correct", "scans")
    assert done.exit_code == 2 and "no verb, file or folder is called `correct`; `tablerec help`" in done.stderr
    assert os.listdir(scans) == ["a.png"]


def test_a_verb_that_does_not_come_first_is_told_so(scans: Path) -> None:
    done = run("--quiet", "review", "scans")
    assert done.exit_code == 2 and "review is a verb, which comes first: `tablerec review ...`" in done.stderr


def test_what_may_be_an_input_is_no_mistyped_verb(scans: Path) -> None:
    for word in ("reveiw.png", "./reveiw", "reveiw/", "rev*", "-", "--reveiw", "http://reveiw", "scans"):
        assert ask_about(word) == ""
    Path("reveiw").touch()
    assert ask_about("reveiw") == ""


def test_odd_words_stay_on_one_line(scans: Path) -> None:
    done = run("re\x1bveiw\nx", "scans")
    assert (
        done.exit_code == 2 and "\x1b" not in done.stderr and done.stderr.count("\n") == 1 + done.stderr.count("\n\n")
    )


def test_no_verb_is_meant_by_everything() -> None:
    assert [close_to(word, VERBS) for word in ("", "x", "invoices", "tables", "scans", "pictures")] == [""] * 6


@pytest.mark.parametrize("path", list(paths(VERBS)), ids=" ".join)
def test_every_verb_explains_itself(path: tuple[str, ...]) -> None:
    long, short, asked = run(*path, "--help"), run(*path, "-h"), run("help", *path)
    assert (long.exit_code, short.exit_code, asked.exit_code) == (0, 0, 0), short.output + asked.output
    assert long.output == short.output == asked.output
    assert long.output.startswith(f"Usage: tablerec {' '.join(path)} [OPTIONS]") and "-h, --help" in long.output


@pytest.mark.parametrize("path", list(paths(VERBS)), ids=" ".join)
def test_where_there_is_an_output_there_is_o(path: tuple[str, ...]) -> None:
    text = run(*path, "-h").output
    assert "--output" not in text or "-o, --output" in text


def test_help_without_a_verb_is_that_of_the_program() -> None:
    assert run("help").output == run("-h").output == run("--help").output


def test_help_of_no_verb_asks() -> None:
    assert "no verb `labls`; did you mean labels?" in run("help", "labls").stderr
    done = run("help", "nothing")
    assert done.exit_code == 2 and "exit-codes" in done.stderr
    done = run("help", "labels", "chekc")
    assert done.exit_code == 2 and "chekc" in done.stderr


def test_help_lists_how_commands_end() -> None:
    done = run("help", "exit-codes")
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.output.splitlines()[1:] if not line.startswith(" " * 7)] == [
        str(code) for code in EXIT_CODES
    ]


@pytest.mark.parametrize("language", ["", ".zh-CN"])
def test_the_tables_of_exit_codes_are_up_to_date(language: str, repository: Path) -> None:
    text = (repository / "docs" / f"exit_codes{language}.md").read_text("utf-8")
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    assert [row[0] for row in rows[2:]] == [str(code) for code in EXIT_CODES]
    if not language:
        assert [row[1].replace("`", "") for row in rows[2:]] == list(EXIT_CODES.values())


def test_a_mistyped_verb_of_a_real_process(scans: Path, repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tablerec", "reveiw", "scans"],
        env={**os.environ, "PYTHONPATH": str(repository)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr and "did you mean review?" in done.stderr
    assert os.listdir(scans) == ["a.png"]
