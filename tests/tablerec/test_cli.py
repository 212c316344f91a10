from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import types
import weakref
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import PIL.Image
import pytest
from click.testing import CliRunner

import tablerec.cli
from postprocess.cell import Confidence
from postprocess.table import Table
from postprocess.word import Unplaced, Word, Words
from tablerec.batch import Batch, Console, Target
from tablerec.cli import command
from tablerec.config import Settings
from tablerec.errors import InputError, ModelNotFoundError, SettingsError, TableError
from tablerec.inputs.images import load_pages, source_name
from tablerec.pipeline import Recognizer
from tablerec.result import Dropped, Page, PageImage, Seal
from tablerec.stages import Trace

QUAD = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))
TABLE = Table.from_texts([["a", "b", "c"], ["1", "2", "3"]])


class FakeRecognizer:
    """Returns what a test put in ``answers`` by file name, else one table of 2 x 3."""

    answers: dict[str, object] = {}  # noqa: RUF012
    read: list[str] = []  # noqa: RUF012
    settings: Settings

    def __init__(self, settings):
        FakeRecognizer.settings = settings
        if settings.device == "cuda":
            raise SettingsError("device 'cuda' is unknown: choose cpu or gpu:0")

    def pages(self, source):
        name = source_name(source)
        FakeRecognizer.read.append(name)
        answer = self.answers.get(os.path.basename(name), (TABLE,))
        if isinstance(answer, BaseException):
            raise answer
        if answer == "load":
            list(load_pages(source))
        picture = PageImage(name, 1, np.full((30, 40, 3), 255, np.uint8))
        if isinstance(answer, tuple):
            return iter([Page(picture, answer, detector="fake", seconds={"reader": 0.0})])
        return iter(answer)


@pytest.fixture(autouse=True)
def fake(monkeypatch):
    module = types.ModuleType("tablerec.pipeline")
    module.Recognizer = FakeRecognizer
    monkeypatch.setitem(sys.modules, "tablerec.pipeline", module)
    monkeypatch.setattr(FakeRecognizer, "answers", {})
    monkeypatch.setattr(FakeRecognizer, "read", [])
    return FakeRecognizer


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args, **options):
    return CliRunner().invoke(command, args, **options)


def touch(*names):
    for name in names:
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "wb") as file:
            file.write(b"x")


def files(folder="."):
    return sorted(os.listdir(folder))


# nothing to do


def test_no_argument_shows_the_help():
    result = run()
    assert result.exit_code == 2 and "Usage: tablerec" in result.output


def test_no_table_is_said_and_is_no_error(fake):
    touch("a.png")
    fake.answers["a.png"] = ()
    result = run("a.png")
    assert result.exit_code == 0
    assert result.stdout == "a.png: no table found, nothing written\n" and result.stderr == ""
    assert files() == ["a.png"]


# the main job


def test_main_job_writes_html_and_excel_beside_the_input():
    touch("in/a.png")
    result = run(os.path.join("in", "a.png"))
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        f"wrote {os.path.join('in', name)} (1 table: 2 x 3)" for name in ("a.html", "a.xlsx")
    ]
    assert result.stderr == ""
    assert files("in") == ["a.html", "a.png", "a.xlsx"]


def test_options_reach_the_settings(fake, folder):
    touch("a.png")
    run(
        "a.png",
        "--detector",
        "rulings",
        "--detector-dir",
        str(folder),
        "--ocr",
        "none",
        "--device",
        "gpu:0",
        "--layout",
        "table",
        "--turn",
        "270",
    )
    assert fake.settings == Settings("rulings", folder, "none", "gpu:0", "table", 270)
    run("a.png")
    assert fake.settings == Settings()


def test_defaults_in_the_help_are_those_of_the_settings():
    text, settings = " ".join(run("--help").output.split()), Settings()
    for default in (settings.detector, settings.ocr, settings.device, settings.layout, settings.turn, "html, xlsx"):
        assert f"[default: {default}]" in text


def test_turned_pictures_are_named_with_the_way_back(fake):
    touch("a.png", "b.pdf")
    picture = PageImage("x", 1, np.full((30, 40, 3), 255, np.uint8))
    fake.answers["a.png"] = [Page(picture, (TABLE,), turn=90)]
    fake.answers["b.pdf"] = [Page(picture, (TABLE,)), Page(PageImage("x", 2, picture.image), turn=180)]
    assert run("a.png", "b.pdf").stderr.splitlines() == [
        "a.png: turned by 90 degrees clockwise to be read; --turn 0 leaves it as it lies",
        "b.pdf: page 2 turned by 180 degrees clockwise to be read; --turn 0 leaves it as it lies",
        "2 inputs, 2 tables",
    ]
    assert run("a.png", "--quiet").stderr == ""


def test_turn_is_a_quarter(fake):
    result = run("a.png", "--turn", "45")
    assert result.exit_code == 2 and "270" in result.stderr and fake.read == []
    run("a.png", "--turn", "auto")
    assert fake.settings.turn == "auto"


@pytest.mark.parametrize("format", ["html", "xlsx", "csv", "md", "json", "tex"])
def test_formats(format):
    touch("a.png")
    assert run("a.png", "--format", format).exit_code == 0
    assert files() == sorted(["a.png", f"a.{format}"])


def test_output_file_and_folder():
    touch("a.png")
    run("a.png", "-o", "t.csv")
    run("a.png", "-o", os.path.join("new", "t.md"))
    run("a.png", "-o", "out/", "--format", "html", "--format", "csv", "--format", "html")
    run("a.png", "-o", "plain", "--format", "html")
    run("a.png", "-o", "over.png")
    assert files() == ["a.png", "new", "out", "over.png", "plain", "t.csv"]
    assert (files("new"), files("out"), files("plain")) == (["t.md"], ["a.csv", "a.html"], ["a.html"])


def test_overlay():
    touch("a.png")
    run("a.png", "--overlay", "-o", "t.html")
    assert files() == ["a.png", "t.html", "t.overlay.png"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-o", "t.docx"], "no format has the suffix .docx"),
        (["-o", "-"], "use --json"),
        (["-o", "t.csv", "--format", "html"], "leave out --format"),
        (["-o", "t.csv", "b.png"], "2 inputs do not fit into one file"),
        (["--format", "docx"], "docx"),
        (["--detector-dir", "missing"], "does not exist"),
        (["--nonsense"], "No such option"),
        (["--device", "cuda"], "device 'cuda' is unknown"),
    ],
)
def test_wrong_usage_exits_2_without_work(args, message, fake):
    touch("a.png", "b.png")
    result = run("a.png", *args)
    assert result.exit_code == 2 and message in result.stderr and result.stdout == ""
    assert fake.read == [] and files() == ["a.png", "b.png"]


def test_faults_of_files_exit_1_and_do_not_stop_the_others(fake):
    touch("a.png", "b.png", "c.png", "d.png", "e.png")
    fake.answers |= {
        "a.png": InputError("a.png: broken picture; export it again"),
        "b.png": TableError("cells clash\nbadly"),
        "d.png": ZeroDivisionError("division by zero"),
    }
    result = run(
        "a.png", "b.png", "missing-glob*.png", "http://example.org/x.png", "c.png", "d.png", "e.png", "-o", "out/"
    )
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "Error: missing-glob*.png: no picture or PDF has such a name; check the pattern",
        "Error: http://example.org/x.png: a URL is not read, as the network is never used; download it first",
        "Error: a.png: broken picture; export it again",
        "Error: b.png: cells clash\\nbadly",
        "Error: d.png: a fault of tablerec (ZeroDivisionError: division by zero); "
        "report it, TABLEREC_DEBUG=1 shows the place",
        "5 inputs, 2 tables, 5 errors",
    ]
    assert files("out") == ["c.html", "c.xlsx", "e.html", "e.xlsx"]


def test_public_report_crash_on_unusual_input_names_the_file(fake):
    """PaddleX#4326 and others: an unusual file ends in a traceback that does not name it."""
    for name in ("empty.png", "text.png", "missing.png"):
        fake.answers[name] = "load"
    touch("empty.png")
    open("empty.png", "w").close()
    touch("text.png")
    result = run("empty.png", "text.png", "missing.png")
    assert result.exit_code == 1 and "Traceback" not in result.output
    for line, name in zip(result.stderr.splitlines(), ("empty.png", "text.png", "missing.png"), strict=False):
        assert line.startswith(f"Error: {name}: ")


def test_debug_variable_shows_the_fault(fake, monkeypatch):
    touch("a.png")
    fake.answers["a.png"] = ZeroDivisionError()
    monkeypatch.setenv("TABLEREC_DEBUG", "1")
    assert isinstance(run("a.png").exception, ZeroDivisionError)


def test_missing_model_ends_the_batch_at_once(fake):
    touch("a.png", "b.png")
    fake.answers["a.png"] = ModelNotFoundError("model X is not here; put it into DIR")
    result = run("a.png", "b.png")
    assert result.exit_code == 1 and result.stderr == "Error: model X is not here; put it into DIR\n"
    assert fake.read == ["a.png"]


def test_closed_folder_is_said_before_the_work(fake, monkeypatch):
    touch("a.png")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    result = run("a.png")
    assert result.exit_code == 1 and "no permission to write in this folder; choose another with -o" in result.stderr
    assert fake.read == []


def test_interrupt_exits_130_and_leaves_no_half_file(fake):
    touch("a.png", "b.png")
    fake.answers["b.png"] = KeyboardInterrupt()
    result = run("a.png", "b.png")
    assert result.exit_code == 130 and result.stderr.endswith("stopped\n")
    assert files() == ["a.html", "a.png", "a.xlsx", "b.png"]


# what is left over


def test_leftovers_are_counted_with_their_reason(fake):
    touch("a.png")
    words = tuple(Word(str(n), QUAD) for n in range(5))
    page = Page(
        PageImage("a.png", 1, np.zeros((9, 9, 3), np.uint8)),
        (TABLE,),
        words,
        tuple(Unplaced(word, reason) for word, reason in zip(words, ["outside", "low score", "outside"], strict=False)),
        (Dropped(QUAD, 0.5, "duplicate"),),
    )
    fake.answers["a.png"] = [page]
    result = run("a.png")
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "a.png: 3 of 5 words in no cell (outside, ...); --overlay shows them, --json lists them",
        "a.png: 1 detected cell in no table (duplicate); --overlay shows them, --json lists them",
    ]
    assert run("a.png", "--quiet").stderr == ""


def test_seals_are_named(fake):
    touch("a.png")
    seals = (Seal("ACME PAID\x1b", 0.9, QUAD, "#c02020"), Seal("", 0.0, QUAD, "#2020c0"))
    fake.answers["a.png"] = [Page(PageImage("a.png", 1, np.zeros((9, 9, 3), np.uint8)), (TABLE,), seals=seals)]
    said = run("a.png").stderr.splitlines()
    assert said == ["a.png: 2 seals, read apart from the print: ACME PAID\\x1b, not readable"]
    assert run("a.png", "--quiet").stderr == ""


def test_words_that_were_not_read_are_counted(fake):
    touch("a.png")
    words = tuple(Word(text, QUAD) for text in ("1", "\ufffd", "a\ufffd", "\ufffd \ufffd"))
    fake.answers["a.png"] = [Page(PageImage("a.png", 1, np.zeros((9, 9, 3), np.uint8)), (TABLE,), words)]
    result = run("a.png", "--json")
    assert result.stderr.splitlines()[-1] == "a.png: 3 of 4 words found and not read; their cells are marked"
    assert json.loads(result.stdout)["pages"][0]["n_unread"] == 3


def test_pictures_of_a_long_document_are_not_kept(fake):
    touch("a.pdf")
    alive = []

    def pages():
        for number in range(1, 20):
            image = np.zeros((90, 70, 3), np.uint8)
            alive.append(weakref.ref(image))
            assert sum(reference() is not None for reference in alive) <= 2
            yield Page(PageImage("a.pdf", number, image), (TABLE,))
            del image

    fake.answers["a.pdf"] = pages()
    result = run("a.pdf", "--json")
    assert result.exit_code == 0, result.output
    sizes = [(page["width"], page["height"]) for page in json.loads(result.stdout)["pages"]]
    assert sizes == [(70, 90)] * 19


def test_overlays_of_all_pages_show_their_pictures(fake):
    touch("a.pdf")
    fake.answers["a.pdf"] = [Page(PageImage("a.pdf", n, np.full((9, 9, 3), n, np.uint8)), (TABLE,)) for n in (1, 2)]
    run("a.pdf", "--overlay", "--format", "csv")
    assert files() == ["a.pdf", "a_p1.overlay.png", "a_p1_t1.csv", "a_p2.overlay.png", "a_p2_t1.csv"]
    with PIL.Image.open("a_p2.overlay.png") as picture:
        assert picture.getpixel((4, 4)) == (2, 2, 2)


# names of outputs


def test_inputs_of_one_stem_do_not_overwrite_one_another():
    touch("x/a.png", "x/a.jpg", "y/a.png", "A.png")
    result = run("x/a.png", "x/a.jpg", "y/a.png", "A.png", "-o", "out", "--format", "html")
    assert result.exit_code == 0
    assert files("out") == ["A_4.html", "a.html", "a_2.html", "a_3.html"]


def test_numbered_csv_does_not_overwrite_another_input_of_that_name(fake):
    touch("a.png", "a_1.png")
    fake.answers["a.png"] = (TABLE, TABLE)
    run("a.png", "a_1.png", "--format", "csv")
    assert files() == ["a.png", "a_1.csv", "a_1.png", "a_1_2.csv", "a_2.csv"]


def test_inputs_are_never_overwritten():
    touch("a.png", "a.overlay.png")
    result = run("a.png", "a.overlay.png", "--overlay", "--format", "html")
    assert result.exit_code == 0
    with open("a.overlay.png", "rb") as file:
        assert file.read() == b"x"
    assert "a_2.overlay.png" in files()
    refused = run("a.png", "-o", "a.png")
    assert refused.exit_code == 1 and "is the input itself" in refused.stderr
    with open("a.png", "rb") as file:
        assert file.read() == b"x"


def test_the_same_input_twice_is_read_once(fake):
    touch("a.png")
    run("a.png", "./a.png", ".")
    assert fake.read == ["a.png"]


def test_running_again_replaces_the_outputs():
    touch("a.png")
    run("a.png")
    run(".", "--overlay")
    run(".", "--overlay")
    assert files() == ["a.html", "a.overlay.png", "a.png", "a.xlsx"]


@pytest.mark.skipif(os.name == "nt", reason="names that Windows forbids")
def test_odd_names_stay_on_one_line():
    odd = ["报表 1.png", "new\nline.png", "-dash.png", "a;b$(c).png", "\x1b[31mred.png"]
    touch(*odd)
    result = run("--format", "html", "--", *odd)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "wrote 报表 1.html (1 table: 2 x 3)",
        "wrote new\\nline.html (1 table: 2 x 3)",
        "wrote -dash.html (1 table: 2 x 3)",
        "wrote a;b$(c).html (1 table: 2 x 3)",
        "wrote \\x1b[31mred.html (1 table: 2 x 3)",
    ]


def test_folder_and_recursive():
    touch("scans/p2.png", "scans/p10.png", "scans/inner/q.png", "scans/notes.txt")
    result = run("scans", "-o", "out/", "--format", "csv")
    assert result.stdout.splitlines() == [
        f"wrote {os.path.join('out', name)} (1 table: 2 x 3)" for name in ("p2.csv", "p10.csv")
    ]
    assert run("scans", "-o", "out/", "--recursive", "--quiet").stdout == ""
    assert "q.html" in files("out")


def test_standard_input_is_written_to_the_current_folder(fake):
    assert run("-", input=b"picture").exit_code == 0
    assert files() == ["stdin.html", "stdin.xlsx"]


# JSON, timing, progress


def test_json_is_all_that_standard_output_holds(fake):
    touch("a.png", "b.png", "c.png")
    fake.answers |= {"b.png": (), "c.png": InputError("c.png: broken; export it again")}
    result = run("a.png", "b.png", "c.png", "--json")
    assert result.exit_code == 1
    first, second = map(json.loads, result.stdout.splitlines())
    assert first["source"] == "a.png" and first["pages"][0]["tables"][0]["n_cols"] == 3
    assert second["pages"][0]["tables"] == []
    assert "b.png: no table found" in result.stderr and files() == ["a.png", "b.png", "c.png"]


def test_json_with_files():
    touch("a.png")
    result = run("a.png", "--json", "--format", "html")
    assert json.loads(result.stdout)["source"] == "a.png"
    assert result.stderr == "wrote a.html (1 table: 2 x 3)\n"


def test_json_is_utf_8_whatever_the_terminal_speaks():
    touch("报表.png")
    result = CliRunner(charset="ascii").invoke(command, ["报表.png", "--json"])
    assert json.loads(result.stdout_bytes.decode("utf-8"))["source"] == "报表.png"


def test_timing_by_stage(fake):
    touch("a.png", "b.png")
    result = run("a.png", "b.png", "--timing", "--quiet")
    stages = [line.split()[0] for line in result.stderr.splitlines()]
    assert stages == ["reader", "everything", "total"] and "for 2 pages" in result.stderr
    assert result.stdout == ""


def test_quiet_prints_errors_only(fake):
    touch("a.png", "b.png")
    fake.answers["b.png"] = InputError("b.png: broken; export it again")
    result = run("a.png", "b.png", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "Error: b.png: broken; export it again\n")


def test_progress_bar_only_on_a_terminal(fake, monkeypatch, capsys):
    touch("a.png", "b.png")
    Batch(fake(Settings()), Target(("html",)), Console()).run(["a.png", "b.png"])
    assert "Reading" not in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    Batch(fake(Settings()), Target(("html",)), Console()).run(["a.png", "b.png"])
    captured = capsys.readouterr()
    assert "Reading" in captured.err and "100%" in captured.err
    assert captured.out.splitlines()[0].endswith("wrote a.html (1 table: 2 x 3)")


# verbs


@pytest.fixture
def verb(monkeypatch):
    @click.command("show")
    @click.argument("folder")
    @click.option("--fail", is_flag=True)
    def show(folder, fail):
        """Show a folder."""
        if fail:
            raise InputError("labels.json: broken; write it again")
        click.echo(f"showing {folder}")

    module = types.ModuleType("fake_verb")
    module.show = show
    monkeypatch.setitem(sys.modules, "fake_verb", module)
    monkeypatch.setitem(tablerec.cli.VERBS, "show", "fake_verb:show")


def test_verbs(verb, fake):
    assert run("show", "x").stdout == "showing x\n"
    assert "Usage: tablerec show [OPTIONS] FOLDER" in run("show", "--help").output
    assert run("show").exit_code == 2
    failed = run("show", "x", "--fail")
    assert (failed.exit_code, failed.stderr) == (1, "Error: labels.json: broken; write it again\n")
    assert fake.read == []


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "\nstopped"),
        (SettingsError("speed is 0: give more"), 2, "Error: speed is 0: give more"),
        (OSError(28, "No space left on device", "a.log"), 1, "Error: a.log: No space left on device"),
        (MemoryError(), 1, "Error: not enough memory"),
        (ZeroDivisionError("by\x1bzero"), 1, r"Error: a fault of tablerec (ZeroDivisionError: by\x1bzero); report it"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("when", ["running", "starting"])
def test_whatever_a_verb_raises_is_one_line(verb, monkeypatch, error, code, said, when):
    def fail(*_, **__):
        raise error

    show = sys.modules["fake_verb"].show
    monkeypatch.setattr(show, "callback" if when == "running" else "make_context", fail)
    result = run("show", "x")
    assert result.exit_code == code and result.stderr.startswith(said) and result.stderr.strip().count("\n") == 0
    monkeypatch.setenv("TABLEREC_DEBUG", "1")
    assert isinstance(run("show", "x").exception, ZeroDivisionError | SystemExit | OSError | MemoryError)


def test_a_file_named_like_a_verb(verb, fake):
    touch("show")
    assert run("./show").exit_code == 0
    assert run("--", "show").exit_code == 0
    assert fake.read == ["./show", "show"]


def test_all_verbs_can_be_loaded_and_are_in_the_help():
    text = run("--help").output
    for name, target in tablerec.cli.VERBS.items():
        assert f"tablerec {name} " in text
        assert isinstance(tablerec.cli._load(target), click.Command)


def test_shell_completion(verb):
    from click.shell_completion import BashComplete

    complete = BashComplete(command, {}, "tablerec", "_TABLEREC_COMPLETE")
    assert [item.value for item in complete.get_completions([], "sh")] == ["sh", "show"]
    assert [item.value for item in complete.get_completions([], "--over")] == ["--overlay"]
    assert "csv" in [item.value for item in complete.get_completions(["--format"], "")]
    assert [item.value for item in complete.get_completions(["show"], "--f")] == ["--fail"]


# real processes


def start(*args, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **options.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        encoding="utf-8",
        **options,
    )


def finish(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_help_imports_nothing_heavy():
    code, out, err = finish(start("-X", "importtime", "-m", "tablerec", "--help"))
    assert code == 0 and out.startswith("Usage: tablerec")
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in err.splitlines()}
    assert "click" in loaded
    heavy = {"cv2", "onnxruntime", "rapidocr", "paddle", "paddlex", "openpyxl", "pandas", "pypdfium2", "PIL", "shapely"}
    assert not loaded & heavy


FAKE_PIPELINE = """
import sys, types
from postprocess.cell import Confidence
from postprocess.table import Table
from tablerec.inputs.images import load_pages, source_name
from tablerec.pipeline import Recognizer
from tablerec.result import Page

class Recognizer:
    def __init__(self, settings):
        pass
    def pages(self, source):
        for page in load_pages(source):
            if "slow" in source_name(source):
                print("ready", flush=True)
                sys.stdin.read()
            yield Page(page, (Table.from_texts([["价"]]),))

module = types.ModuleType("tablerec.pipeline")
module.Recognizer = Recognizer
sys.modules["tablerec.pipeline"] = module
from tablerec.cli import main
main()
"""


@pytest.fixture
def script(folder):
    (folder / "fake.py").write_text(FAKE_PIPELINE, "utf-8")
    return "fake.py"


def write_picture(name):
    PIL.Image.new("L", (20, 10), 255).save(name, "PNG")


@pytest.mark.parametrize(("encoding", "shown"), [("ascii", "表"), ("utf-8", "表"), ("latin-1", "\\u8868")])
def test_any_terminal_encoding(script, encoding, shown):
    write_picture("表.png")
    environment = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    code, out, err = finish(start(script, "表.png", "--format", "html", env=environment))
    assert (code, err) == (0, "")
    assert out == f"wrote {shown}.html (1 table: 1 x 1)\n" and "表.html" in files()


def test_missing_file_has_no_traceback(script):
    assert finish(start(script, "missing.png")) == (
        1,
        "",
        "Error: missing.png: no such file; check the name and the folder\n",
    )


def test_picture_from_a_pipe(script):
    write_picture("a.png")
    with open("a.png", "rb") as file:
        code, out, _ = finish(start(script, "-", "--json", stdin=file))
    assert code == 0 and json.loads(out)["source"] == "stdin"


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c(script):
    write_picture("slow.png")
    # Tests that run in the background of a shell inherit that Ctrl-C is ignored.
    listens = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    process = start(script, "slow.png", stdin=subprocess.PIPE, preexec_fn=listens)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    assert (code, out, err.strip()) == (130, "", "stopped")
    assert files() == ["fake.py", "slow.png"]


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_reader_that_goes_away(script):
    for number in range(3):
        write_picture(f"{number}.png")
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with os.fdopen(writing, "wb") as stdout:
        result = subprocess.run(
            [sys.executable, script, "0.png", "1.png", "2.png", "--json"],
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
            timeout=60,
        )
    assert result.returncode == 1 and result.stderr == ""


# doubtful tables and traces


def rated(score):
    return (replace(TABLE, confidence=Confidence(score, (score,) * 2, (score,) * 3, f"row 1, column 2 ({score})")),)


def test_strict_names_each_doubtful_table_and_ends_with_3(fake):
    touch("a.png", "b.png", "c.png")
    fake.answers.update({"a.png": rated(0.95), "b.png": rated(0.4), "c.png": rated(0.2)})
    result = run("a.png", "b.png", "c.png", "--strict")
    assert result.exit_code == 3
    assert [line for line in result.stderr.splitlines() if "Doubtful" in line] == [
        "Doubtful: b.png: table 1 has a score of 0.40, below 0.9: row 1, column 2 (0.4)",
        "Doubtful: c.png: table 1 has a score of 0.20, below 0.9: row 1, column 2 (0.2)",
    ]
    assert {"a.html", "b.html", "c.html", "b.xlsx"} <= set(files())


def test_doubt_is_no_matter_without_strict_or_above_the_threshold(fake):
    touch("a.png")
    fake.answers["a.png"] = rated(0.4)
    assert run("a.png").exit_code == 0
    assert run("a.png", "--strict", "--min-confidence", "0.3").exit_code == 0
    assert run("a.png", "--strict", "--min-confidence", "0.5").exit_code == 3


def test_doubtful_cells_are_marked_when_asked_for(fake):
    touch("a.png")
    fake.answers["a.png"] = (replace(TABLE, cells=[replace(cell, confidence=0.6) for cell in TABLE.cells]),)
    marked = []
    for options in ([], ["--mark-doubtful"], ["--mark-doubtful", "--min-confidence", "0.5"]):
        assert run("a.png", *options).exit_code == 0
        with open("a.html", encoding="utf-8") as file:
            marked.append("data-confidence" in file.read())
    assert marked == [False, True, False]


def test_a_failed_input_outweighs_a_doubtful_one(fake):
    touch("a.png", "b.png")
    fake.answers.update({"a.png": rated(0.4), "b.png": InputError("b.png: broken")})
    result = run("a.png", "b.png", "--strict")
    assert result.exit_code == 1 and "Doubtful: a.png" in result.stderr


def test_trace_writes_a_picture_for_each_page(fake):
    touch("in/a.png")
    image = np.full((30, 40, 3), 255, np.uint8)
    pages = [Page(PageImage("in/a.png", n, image), (TABLE,), trace=Trace(image, Words(), ())) for n in (1, 2)]
    fake.answers["a.png"] = pages
    result = run(os.path.join("in", "a.png"), "--trace", "traces")
    assert result.exit_code == 0, result.output
    assert files("traces") == ["a_p1.trace.png", "a_p2.trace.png"]


def test_jobs_and_devices_share_the_inputs_and_write_in_order(fake, monkeypatch):
    names = [f"{letter}.png" for letter in "abcdefg"]
    for name in names:
        PIL.Image.new("L", (40, 30), 255).save(name)
    touch("c.png")
    monkeypatch.setattr("tablerec.engine.engine.READER", "tests.tablerec.engine.reader:make_reader")
    for args in (["--jobs", "2"], ["--device", "gpu:0,3"]):
        result = run(*names, *args, "--format", "html")
        assert result.exit_code == 1 and "c.png: " in result.stderr, result.output
        written = [line.split()[1] for line in result.stdout.splitlines() if line.startswith("wrote")]
        assert written == [f"{letter}.html" for letter in "abdefg"]
    assert fake.read == []


def test_jobs_write_what_one_process_writes_and_render_it_beside_each_other(fake, samples, monkeypatch):
    monkeypatch.setattr(sys.modules["tablerec.pipeline"], "Recognizer", Recognizer)
    names = [str(samples / f"{name}.png") for name in ("ruled", "two_tables", "spans")]
    formats = [f"--format={each}" for each in ("csv", "md", "html")]
    how = ["--detector", "rulings", "--ocr", "none", "--overlay", *formats]
    one = run(*names, *how, "-o", "one/")
    monkeypatch.setattr("tablerec.outputs.files.render", None)  # in this process
    two = run(*names, *how, "-o", "two/", "--jobs", "2")
    assert (one.exit_code, two.exit_code) == (0, 0), two.output
    assert two.output.replace("two/", "one/") == one.output
    assert files("one") == files("two")
    assert all(Path("one", name).read_bytes() == Path("two", name).read_bytes() for name in files("one"))


@pytest.mark.parametrize("jobs", ["0", "-1", "many", "1.5"])
def test_numbers_of_jobs_that_are_none_are_refused(jobs):
    touch("a.png")
    result = run("a.png", "--jobs", jobs)
    assert result.exit_code == 2 and "give a number from 1, or auto" in result.stderr


def test_help_groups_every_option_once():
    result = run("--help")
    headings = [line for line in result.output.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["How pictures are read:", "What is written:", "Models:", "Others:"]
    for option in ("--detector NAME", "--output", "--models-dir", "--engine", "--unwarp", "--version", "--help"):
        assert result.output.count(option) == 1
