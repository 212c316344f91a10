"""Every command and example of the pages is run here as written, or is listed with the reason why not.

A command of ours that is not run is at least parsed: its verbs, options and values are those that the program has.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from PIL import Image, ImageDraw, ImageFont

from tablerec.cli import VERBS
from tablerec.cli import command as program
from tests.helpers.pages import ROOT, blocks, commands, pages

# Beginning of a command -> why it is not run here. Those that begin with tablerec are parsed.
NOT_RUN = {
    "pip ": "installs; python -m tests.benchmarks.install.extras tries each extra",
    ". .venv": "is for a shell",
    "python3 -m venv": "makes an environment, as python -m tests.benchmarks.install.extras does",
    "python -m tests.benchmarks.": "measures for long; tests/benchmarks/test_help.py starts each",
    "python -m tablerec.language.reader.train": "trains for minutes; tests/tablerec/language/reader has small ones",
    "python -m tablerec.course.build": "executes notebooks for minutes; tests/tablerec/course",
    "python data/": "makes data sets; tests/data runs the scripts",
    "pytest": "runs these tests",
    "bash .ci/run": "runs these tests",
    "pre-commit install": "changes the checkout",
    "sphinx-build": "tests/docs/test_site.py runs it, where Sphinx is installed",
    "docling": "needs docling with PyTorch and models; tests/tablerec/plugins/docling",
    "curl": "asks a running server; tests/tablerec/serve",
    "podman": "needs podman",
    "alias": "is for a shell",
    "paddlex": "tests/tablerec/plugins/paddlex/test_command.py",
    "python -m tablerec.plugins.paddlex --serve": "tests/tablerec/plugins/paddlex/test_serving.py",
    "tablerec batch s3://": "needs a store and a cluster; tests/tablerec/bulk has both, simulated",
    "tablerec batch --status": "needs a store; tests/tablerec/bulk",
    "tablerec batch --list pages.txt -o store/ --as parquet": "needs the extra batch; tests/tablerec/bulk",
    "tablerec data/samples/*.png": "bash .ci/run light runs it as it is written",
    "tablerec demo": "opens a browser; tests/tablerec/demo",
    "tablerec device build": "compiles for minutes; tests/tablerec/devices",
    "tablerec device parity": "needs a built plugin; tests/tablerec/devices",
    "tablerec device bench": "needs a built plugin; tests/tablerec/devices",
    "tablerec device coverage": "needs Paddle; tests/tablerec/devices",
    "tablerec device doctor": "needs Paddle or a card; tests/tablerec/devices",
    "tablerec export": "needs a trained network and Paddle; tests/tablerec/models",
    "tablerec lab": "opens JupyterLab; tests/tablerec/course, tests/test_notebooks.py",
    "tablerec models fetch": "downloads",
    "tablerec models verify": "runs each model that is there; tests/tablerec/models",
    "tablerec page.jpg --layout-model": "needs models of PaddleX; tests/tablerec/detect",
    "tablerec review": "serves until it is stopped; tests/tablerec/corrections",
    "tablerec scan.jpg --detector RT-DETR-L": "needs models of PaddleX; tests/tablerec/detect",
    "tablerec scan.png --detector-dir out/mine": "needs a trained network; tests/tablerec/training",
    "tablerec scan.png --ocr tablerec --ocr-dir": "needs a trained network; tests/tablerec/training",
    "tablerec scans/ -o out/ --detector paddlex": "needs models of PaddleX and cards",
    "tablerec scans/ -o out/ --jobs auto --device gpu:0": "needs a card",
    "tablerec serve": "serves until it is stopped; tests/tablerec/serve",
    "tablerec synth mixed -n 100 -o check/ --renderer browser": "needs Chromium; tests/tablerec/synth/browser",
    "tablerec train": "trains for minutes; tests/tablerec/training has small ones",
    "tablerec tune MODEL_FOLDER": "needs a language model; tests/tablerec/language",
    "TABLEREC_FONTS=fonts tablerec train": "trains for minutes",
}
EXAMPLES_NOT_RUN = {
    "from tablerec.devices.plugin import load_plugin": "needs PaddleFormers; tests/tablerec/language",
    'from tablerec import recognize\n\ntable = recognize("data/samples': "tests/test_readme.py runs it",
    "from tablerec.serve.client import": "asks a running server; tests/tablerec/serve",
    "from tablerec.plugins.paddlex import create_pipeline": "tests/tablerec/plugins/paddlex/test_command.py",
    "import tablerec.plugins.paddlex_model": "needs Paddle; tests/tablerec/plugins/paddlex",
    "import base64": "asks a running server; tests/tablerec/plugins/paddlex/test_serving.py",
}
NEEDED = {"TableEditor": "anywidget", "TablerecLoader": "langchain_core", "tablerec eval": "apted"}
# Run with less: this -> that. Reading is tried elsewhere, so that pictures are read by their rulings alone.
FAST = ["--ocr", "none", "--detector", "rulings"]
SMALLER = {"-n 1000": "-n 1", "-n 50": "-n 1", "-n 30": "-n 1", "eval data/samples": "eval data/samples --limit 1"}

COMMANDS = sorted({command for page in pages() for line in commands(page) for command in line.split(" && ")})
EXAMPLES = [
    block for page in pages() if ".zh-CN" not in page.name for block in blocks(page) if block.language == "python"
]


def reason(code: str, reasons: dict[str, str]) -> str | None:
    """Why a command or an example is not run; None where it is."""
    return next((why for start, why in reasons.items() if code.startswith(start)), None)


def draw_table(path: Path, size_wh: tuple[int, int] = (240, 120)) -> Image.Image:
    """A ruled table of two rows and two columns, as small as can be read."""
    picture = Image.new("RGB", size_wh, "white")
    pen = ImageDraw.Draw(picture)
    font = ImageFont.load_default(20)
    for row in range(2):
        for col in range(2):
            pen.rectangle([10 + 110 * col, 10 + 50 * row, 120 + 110 * col, 60 + 50 * row], outline="black", width=2)
            pen.text((25 + 110 * col, 22 + 50 * row), f"{10 * row + col + 12}", "black", font)
    picture.save(path)
    return picture


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages name."""
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    folder = tmp_path_factory.mktemp("reader")
    picture = draw_table(folder / "scan.png")
    for name in ("crop.png", "scan.jpg", "page.jpg", "a.png", "scan.pdf", "b.pdf"):
        picture.save(folder / name)
    picture.save(folder / "report.pdf", save_all=True, append_images=[picture] * 8)
    locked = Canvas(str(folder / "locked.pdf"), pagesize=(200, 100), encrypt=StandardEncryption("secret"))
    locked.drawString(50, 50, "12")
    locked.save()
    for name in ("scans", "models", "out/mine", "out/my_reader"):
        (folder / name).mkdir(parents=True)
    picture.save(folder / "scans/one.png")
    (folder / "data").symlink_to(ROOT / "data")
    (folder / "tablerec").symlink_to(ROOT / "tablerec")
    for name in ("mine", "tables/train", "tables/test"):
        (folder / name).mkdir(parents=True)
        for kind in ("png", "json"):
            shutil.copy(ROOT / f"data/samples/one_cell.{kind}", folder / name)
    for name in ("pages.txt", "MODEL.py"):
        (folder / name).write_text("scan.png\n")
    for name in ("finetune_small/cellnet", "finetune_lines/linenet", "cellnet_finish/cellnet", "linenet_on/linenet"):
        path = folder / f"out/{name}.safetensors"
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return folder


@contextlib.contextmanager
def inside(folder: Path, variables: dict[str, str]) -> Iterator[None]:
    before = Path.cwd(), dict(os.environ)
    os.chdir(folder)
    os.environ |= variables
    try:
        yield
    finally:
        os.chdir(before[0])
        os.environ.clear()
        os.environ.update(before[1])


def parse(arguments: list[str]) -> None:
    """Parse a command line as the program does, and run nothing."""
    context = program.make_context("tablerec", arguments)
    while isinstance(context.command, click.Group):
        group = context.command
        name, command, rest = group.resolve_command(context, [*context._protected_args, *context.args])
        assert command is not None
        context = command.make_context(name, rest, parent=context)


def split(command: str) -> tuple[dict[str, str], list[str], str | None]:
    """Take a command apart: its variables, its words, and the file that is piped into it."""
    piped = re.match(r"cat (\S+) \| ", command)
    words = shlex.split(command[piped.end() :] if piped else command)
    variables = {}
    while "=" in words[0]:
        name, _, variables[name] = words.pop(0).partition("=")
    return variables, words, piped and piped[1]


def faster(words: list[str]) -> list[str]:
    """Append what makes a command faster, where it reads pictures and does not choose itself."""
    reads = words[1] in ("batch", "eval") or words[1] not in VERBS
    return words if not reads or "--ocr" in words or "--detector" in words else words + FAST


def test_commands_are_found() -> None:
    assert len(COMMANDS) > 80 and len(EXAMPLES) > 5
    assert "cat scan.png | tablerec - --json" in COMMANDS
    assert any("--set data.source=crops:tables/train" in command for command in COMMANDS), "continued lines"


@pytest.mark.filterwarnings("ignore:left out, since they hold no or several tables")
@pytest.mark.parametrize("command", COMMANDS)
def test_command(command: str, folder: Path) -> None:
    why = reason(command, NOT_RUN)
    for old, new in SMALLER.items():
        command = re.sub(rf"{re.escape(old)}(?!\d)", new, command)
    for name in NEEDED.keys() & {" ".join(command.split()[:2])}:
        pytest.importorskip(NEEDED[name])
    with inside(folder, {}):
        variables, words, piped = split(command)
        assert why or words[0] == "tablerec", "run it here, or say why not"
        if words[0] != "tablerec":
            return
        if why:
            parse(words[1:])
            return
        given = Path(piped).read_bytes() if piped else None
        with inside(folder, variables):
            done = CliRunner().invoke(program, faster(words)[1:], input=given, catch_exceptions=False)
    assert done.exit_code in ((0, 3) if "--strict" in words else (0,)), done.output


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: f"{block.page}: {block.code.splitlines()[0]}")
def test_example(block: object, folder: Path) -> None:
    code = block.code  # type: ignore[attr-defined]
    if reason(code, EXAMPLES_NOT_RUN):
        return
    for name, package in NEEDED.items():
        if name in code:
            pytest.importorskip(package)
    with inside(folder, {}), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, "example", "exec"), {})


@pytest.mark.parametrize("reasons", [NOT_RUN, EXAMPLES_NOT_RUN], ids=["commands", "examples"])
def test_every_reason_is_needed(reasons: dict[str, str]) -> None:
    known = COMMANDS if reasons is NOT_RUN else [block.code for block in EXAMPLES]
    unused = [start for start in reasons if not any(code.startswith(start) for code in known)]
    assert unused == []
    folders = {word.rstrip(".,;") for why in reasons.values() for word in why.split() if word.startswith("tests/")}
    assert [name for name in folders if not (ROOT / name).exists()] == []
