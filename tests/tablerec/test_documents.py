"""Documents on the command line: pages, passwords, and the names of what is written of them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from click.testing import CliRunner, Result
from PIL import Image

import tablerec.cli
from tablerec import Settings, recognize
from tablerec.cli import command
from tablerec.corrections.review.command import command as review
from tablerec.errors import InputError, PasswordError
from tablerec.inputs import passwords
from tests.helpers.pdf import make_document

SECRET = "open sésame"
QUICK = ("--detector", "rulings", "--ocr", "none")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(passwords.VARIABLE, raising=False)
    return tmp_path


def write(name: str, *args: Any, **options: Any) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(make_document(*args, **options))


def write_tiff(name: str, n_pages: int) -> None:
    pages = [Image.new("L", (40 + number, 30), 255) for number in range(1, n_pages + 1)]
    pages[0].save(name, save_all=True, append_images=pages[1:])


def run(*args: str, **options: Any) -> Result:
    result = CliRunner().invoke(command, [*QUICK, *args], **options)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result


def pages_of(result: Result) -> list[int]:
    assert result.exit_code == 0, result.output
    return [page["number"] for page in json.loads(result.stdout)["pages"]]


def files(folder: str = ".") -> list[str]:
    return sorted(os.listdir(folder))


# pages


def test_all_pages_without_the_option() -> None:
    write("a.pdf", 3)
    assert pages_of(run("a.pdf", "--json")) == [1, 2, 3]


@pytest.mark.parametrize("name", ["a.pdf", "a.tif"])
def test_only_the_pages_that_are_wanted(name: str) -> None:
    if name == "a.pdf":
        write(name, 5)
    else:
        write_tiff(name, 5)
    for text, expected in [("2", [2]), ("1-2,5", [1, 2, 5]), ("4-", [4, 5]), ("-2", [1, 2]), (" 3 , 1 ", [1, 3])]:
        assert pages_of(run(name, "--json", "--pages", text)) == expected
    result = recognize(name, pages="2,4", ocr="none", detector="rulings")
    assert [page.picture.number for page in result.pages] == [2, 4]


def test_pages_of_a_tiff_that_are_not_wanted_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    write_tiff("a.tif", 5)
    decoded: list[int] = []
    from tablerec.inputs import images

    original = images.picture_to_pixels
    monkeypatch.setattr(images, "picture_to_pixels", lambda frame: decoded.append(frame.width - 40) or original(frame))
    assert pages_of(run("a.tif", "--json", "--pages", "2,4")) == decoded == [2, 4]


@pytest.mark.parametrize("name", ["a.pdf", "a.tif", "a.png"])
def test_a_document_without_any_of_the_pages_is_an_error(name: str) -> None:
    if name == "a.pdf":
        write(name, 3)
    elif name == "a.tif":
        write_tiff(name, 3)
    else:
        Image.new("L", (40, 30), 255).save(name)
    result = run(name, "--pages", "7")
    has = "1 page" if name == "a.png" else "3 pages"
    number = has.split()[0]
    assert result.exit_code == 1
    assert result.stderr == f"Error: {name}: has {has}; --pages 7 asks for none of them: give numbers up to {number}\n"


@pytest.mark.parametrize("name", ["a.pdf", "a.tif"])
def test_some_pages_beyond_the_end_are_a_warning(name: str, caplog: pytest.LogCaptureFixture) -> None:
    if name == "a.pdf":
        write(name, 3)
    else:
        write_tiff(name, 3)
    assert pages_of(run(name, "--json", "--pages", "2-9")) == [2, 3]
    assert caplog.messages == [f"{name}: has 3 pages; --pages 2-9 asks for more, which are left out"]


@pytest.mark.parametrize("text", ["0", "3-1", "two", ""])
def test_pages_in_another_form_are_wrong_usage(text: str) -> None:
    write("a.pdf")
    result = run("a.pdf", "--pages", text)
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith(f"Error: pages is {text!r}") and "such as 1-3,7" in result.stderr


def test_text_layer_is_one_of_three() -> None:
    write("a.pdf")
    for value in ("auto", "use", "ignore"):
        assert pages_of(run("a.pdf", "--json", "--text-layer", value)) == [1]
    assert run("a.pdf", "--text-layer", "believe").exit_code == 2


# passwords


@pytest.mark.parametrize("strength", [40, 128])
@pytest.mark.parametrize("password", [SECRET, "owner"])
def test_password_opens_a_document(strength: int, password: str) -> None:
    write("a.pdf", 1, SECRET, strength=strength)
    assert pages_of(run("a.pdf", "--json", "--password", password)) == [1]
    assert len(recognize("a.pdf", ocr="none", detector="rulings", password=password).tables) == 1


def test_a_document_that_opens_without_password_wants_none() -> None:
    write("a.pdf", 1, "")
    write("b.pdf", 1)
    for name in ("a.pdf", "b.pdf"):
        assert pages_of(run(name, "--json")) == pages_of(run(name, "--json", "--password", "any")) == [1]


def test_password_from_the_environment() -> None:
    write("a.pdf", 1, SECRET)
    assert pages_of(run("a.pdf", "--json", env={passwords.VARIABLE: SECRET})) == [1]
    assert run("a.pdf", env={passwords.VARIABLE: ""}).exit_code == 1


def test_missing_and_wrong_password_are_said_and_the_others_go_on() -> None:
    write("a.pdf", 1, SECRET)
    write("b.pdf", 1)
    result = run("a.pdf", "b.pdf", "--json")
    assert result.exit_code == 1 and json.loads(result.stdout)["source"] == "b.pdf"
    assert "Error: a.pdf: the PDF needs a password; give it as --password or in TABLEREC_PASSWORD" in result.stderr
    result = run("a.pdf", "--password", "wr0ng")
    assert result.exit_code == 1
    assert result.stderr == "Error: a.pdf: the password does not open this PDF; correct it, mind capitals\n"
    with pytest.raises(PasswordError):
        recognize("a.pdf", ocr="none", detector="rulings")
    assert issubclass(PasswordError, InputError)


def test_password_from_standard_input() -> None:
    write("a.pdf", 1, SECRET)
    assert pages_of(run("a.pdf", "--json", "--password", "-", input=f"{SECRET}\n")) == [1]
    result = run("-", "--password", "-", input=SECRET)
    assert result.exit_code == 2 and "standard input holds the picture" in result.stderr


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pretend that somebody sits there; return what was asked."""
    asked: list[str] = []

    def prompt(text: str, **options: Any) -> str:
        assert options["hide_input"] and options["err"]
        asked.append(text)
        return SECRET

    for module in (tablerec.cli, passwords):
        monkeypatch.setattr(module, "has_terminal", lambda: True)
    monkeypatch.setattr("click.prompt", prompt)
    return asked


def test_password_is_asked_for_once(terminal: list[str]) -> None:
    for name in ("a.pdf", "b.pdf"):
        write(name, 2, SECRET)
    write("c.pdf", 1)
    write("d.pdf", 1, "another")
    result = run("c.pdf", "a.pdf", "b.pdf", "d.pdf", "--format", "html")
    assert terminal == ["Password of a.pdf"]
    assert [line.split()[1] for line in result.stdout.splitlines()] == ["c.html", "a.html", "b.html"]
    assert "d.pdf: the password does not open this PDF" in result.stderr


def test_password_is_asked_for_where_it_is_wanted(terminal: list[str]) -> None:
    write("a.pdf", 1, SECRET)
    assert pages_of(run("a.pdf", "--json", "--password", "-")) == [1]
    assert terminal == ["Password"]


@pytest.mark.parametrize("args", [["--quiet"], ["--password", "wrong"]])
def test_nobody_is_asked_where_that_is_not_wanted(terminal: list[str], args: list[str]) -> None:
    write("a.pdf", 1, SECRET)
    assert run("a.pdf", *args).exit_code == 1
    assert terminal == []


def test_nobody_is_asked_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.pdf", 1, SECRET)
    monkeypatch.setattr("click.prompt", lambda *args, **options: pytest.fail("asked"))
    assert run("a.pdf", input=SECRET).exit_code == 1


def test_who_would_rather_stop_stops(terminal: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import click

    write("a.pdf", 1, SECRET)

    def stop(*args: Any, **options: Any) -> str:
        raise click.Abort

    monkeypatch.setattr("click.prompt", stop)
    result = run("a.pdf", "--format", "html")
    assert result.exit_code == 130 and files() == ["a.pdf"]


def test_several_processes_get_the_answer(terminal: list[str]) -> None:
    names = [f"{letter}.pdf" for letter in "abcd"]
    for name in names:
        write(name, 1, SECRET)
    result = run(*names, "--jobs", "2", "--format", "html")
    assert result.exit_code == 0, result.output
    assert len(terminal) == 1 and [line.split()[1] for line in result.stdout.splitlines()] == [
        name.replace("pdf", "html") for name in names
    ]


def test_password_is_in_nothing_that_is_written(caplog: pytest.LogCaptureFixture) -> None:
    secret = "x9secretx9"
    assert secret not in repr(Settings(password=secret))
    write("a.pdf", 2, secret)
    caplog.set_level("DEBUG")
    result = run("a.pdf", "--json", "--format", "html", "--trace", "traces", "--overlay", "--password", secret)
    assert result.exit_code == 0
    failed = run("a.pdf", "--password", secret + "x")
    written = b"".join(path.read_bytes() for path in Path().rglob("*") if path.is_file() and path.suffix != ".pdf")
    for text in (result.output, failed.output, caplog.text, written.decode("latin-1")):
        assert secret not in text
    found = recognize("a.pdf", ocr="none", detector="rulings", password=secret, trace=True)
    assert secret not in repr(found) + repr(found.pages[0].trace)


@pytest.mark.parametrize("value", [123, b"bytes"])
def test_password_that_is_no_text_is_refused_without_being_shown(value: object) -> None:
    from tablerec.errors import SettingsError

    with pytest.raises(SettingsError, match=r"^password is no text"):
        Settings(password=value)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no terminals of this kind here")
def test_password_is_not_shown_on_a_real_terminal() -> None:
    import pty

    write("a.pdf", 1, SECRET)
    code = "import sys, tablerec.cli; sys.argv[0] = 'tablerec'; tablerec.cli.main()"
    person, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code, *QUICK, "a.pdf", "--format", "html"],
        stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, preexec_fn=claim_terminal,
    ) as process:  # fmt: skip
        os.close(terminal)
        shown = read_until(person, b"Password of a.pdf")
        os.write(person, f"{SECRET}\n".encode())
        shown += read_until(person, b"wrote a.html")
        assert process.wait(60) == 0
    os.close(person)
    assert SECRET.encode() not in shown


def claim_terminal() -> None:
    """Make standard input the terminal that ``/dev/tty`` is."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def read_until(terminal: int, wanted: bytes) -> bytes:
    seen = b""
    while wanted not in seen:
        seen += os.read(terminal, 1000)
    return seen


# review


def test_review_takes_the_same_options(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """The desk is made with them; the server is not started."""
    write("scans/a.pdf", 3, SECRET)
    made: list[Settings] = []

    class Stop(Exception):  # noqa: N818
        pass

    def make(*args: Any) -> None:
        made.append(args[5])
        raise Stop

    monkeypatch.setattr("tablerec.corrections.review.desk.Desk", make)
    args = ["scans", *QUICK, "--pages", "2-", "--text-layer", "ignore", "--turn", "90"]
    result = CliRunner().invoke(review, args, env={passwords.VARIABLE: SECRET})
    assert isinstance(result.exception, Stop), result.output
    assert (made[0].pages, made[0].text_layer, made[0].password, made[0].turn) == ("2-", "ignore", SECRET, 90)


# names


def test_names_say_document_and_page() -> None:
    write("in/a.pdf", 3)
    args = ["--pages", "2-3", "-o", "out/", "--overlay", "--trace", "out"]
    for format in ("html", "xlsx", "csv", "md", "tex", "json"):
        args += ["--format", format]
    result = run("in/a.pdf", *args)
    assert result.exit_code == 0, result.output
    pages = [f"a_p{number}{suffix}" for number in (2, 3) for suffix in (".overlay.png", ".trace.png", "_t1.csv")]
    assert files("out") == sorted([*pages, "a.html", "a.json", "a.md", "a.tex", "a.xlsx"])
    names = ["Page 2 Table 1", "Page 3 Table 1"]
    assert openpyxl.load_workbook("out/a.xlsx").sheetnames == names
    for format, heading in [("html", "<h2>{}</h2>"), ("md", "## {}"), ("tex", "% {}")]:
        text = Path(f"out/a.{format}").read_text("utf-8")
        assert [text.count(heading.format(name)) for name in names] == [1, 1]


def test_one_page_from_amid_a_document_keeps_its_number() -> None:
    write("a.pdf", 3)
    run("a.pdf", "--pages", "3", "--format", "xlsx", "--format", "csv", "--overlay")
    assert openpyxl.load_workbook("a.xlsx").sheetnames == ["Page 3 Table 1"]
    assert files() == ["a.csv", "a.overlay.png", "a.pdf", "a.xlsx"]


def test_a_picture_has_no_page_numbers() -> None:
    write("a.pdf", 1)
    run("a.pdf", "--format", "xlsx", "--format", "html")
    assert openpyxl.load_workbook("a.xlsx").sheetnames == ["Table 1"]
    assert "<h2>" not in Path("a.html").read_text("utf-8")


def test_inputs_of_one_stem_are_told_apart(folder: Path) -> None:
    write("x/a.pdf", 2)
    write("y/A.pdf", 1)
    write("b.pdf", 1)
    result = run("x/a.pdf", "y/A.pdf", "b.pdf", "-o", "out", "--format", "html", "--overlay", "--trace", "t")
    written = [line.removeprefix("wrote ").split(" (")[0] for line in result.stdout.splitlines()]
    assert [line.replace(os.sep, "/") for line in written] == [
        "t/a_p1.trace.png from x/a.pdf",
        "t/a_p2.trace.png from x/a.pdf",
        "out/a.html from x/a.pdf",
        "out/a_p1.overlay.png from x/a.pdf",
        "out/a_p2.overlay.png from x/a.pdf",
        "t/A_2_p1.trace.png from y/A.pdf",
        "out/A_2.html from y/A.pdf",
        "out/A_2.overlay.png from y/A.pdf",
        "t/b_p1.trace.png",
        "out/b.html",
        "out/b.overlay.png",
    ]


def test_standard_input_has_pages_and_a_password() -> None:
    content = make_document(3, SECRET)
    assert pages_of(run("-", "--json", "--pages", "2", "--password", SECRET, input=content)) == [2]
    result = recognize(io.BytesIO(content), ocr="none", detector="rulings", password=SECRET, pages="3")
    assert [page.picture.number for page in result.pages] == [3]
