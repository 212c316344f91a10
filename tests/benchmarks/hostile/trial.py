"""One hostile input through the program, and what must hold of whatever comes back.

Run as ``python -m tests.benchmarks.hostile.trial SEED GIBIBYTES`` it answers for lines ``KIND NUMBER``, one line of
JSON each, until its input ends: the worker of ``tests.benchmarks.hostile.fuzz``.
"""

from __future__ import annotations

import argparse
import collections
import io
import json
import math
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.export import html_to_tables, tables_from_json, tables_to_html, tables_to_json
from postprocess.table import Table
from tablerec import Page, Recognizer, Result, Settings, TablerecError, save
from tablerec.inputs.pdf.words import HIDDEN, WATERMARK
from tablerec.outputs.files import result_to_json
from tests.benchmarks.hostile.inputs import Given, make

SHARE_BY_COMMAND = 5
"""Every fifth file goes through the command line."""


class FindingError(AssertionError):
    """What must hold of every result does not."""


def attempt(given: Given, number: int) -> str:
    """Hand the input in; how it ended: ``read``, ``refused``, or for the command line ``exit CODE``.

    Raises:
        Exception: Anything but a ``TablerecError`` is a finding.
    """
    by_command = given.data and number % SHARE_BY_COMMAND == 0 and given.kind in _COMMANDS
    run = _run_command if by_command else _CALLS[given.kind]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run(given) or "read"
    except TablerecError as error:
        _check(str(error).strip() != "", "the error says nothing")
        _check(len(str(error)) < 2000, f"the error has {len(str(error))} characters: {str(error)[:200]}")
        return "refused"


# Pictures and documents


@cache
def _recognizer(ocr: str, detector: str, layout: Any) -> Recognizer:
    return Recognizer(Settings(ocr=ocr, detector=detector, layout=layout, max_page_seconds=10.0))


def _recognize(given: Given) -> None:
    digest = sum(given.data[:100]) + len(given.words or ())
    detector = ("auto", "rulings", "words", "auto")[digest % 4]
    layout = ("page", "table")[digest // 4 % 2]
    recognizer = _recognizer("auto" if given.kind == "read" else "none", detector, layout)
    source = given.data or given.image
    check_result(recognizer.recognize(source, given.words))


def check_result(result: Result) -> None:
    """Nothing is lost or invented, tables are valid, and every format can be written and read back."""
    for page in result.pages:
        check_page(page)
    check_outputs(result)


def check_outputs(result: Result) -> None:
    """Tables are valid, and every format can be written and read back."""
    json.loads(result_to_json(result), parse_constant=_no_constant)
    check_tables(result.tables)
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("xlsx", "csv", "md", "tex", "html"):
            for path in save(result, Path(folder, f"out.{suffix}")):
                _check(path.stat().st_size > 0 or not any(map(len, result.tables)), f"{suffix} is empty")
            if suffix == "xlsx" and result.tables:
                _check_workbook(Path(folder, "out.xlsx"), len(result.tables))


def check_page(page: Page) -> None:
    """Every word is in a cell, a title, a note, or among the unplaced ones."""
    texts = [cell.text for table in page.tables for cell in table.cells]
    texts += [caption.text for table in page.tables for caption in table.captions]
    texts += [item.word.text for item in page.unplaced if item.reason not in (HIDDEN, WATERMARK)]
    given, found = (_count(some) for some in ([word.text for word in page.words], texts))
    _check(sum(given.values()) == sum(found.values()), f"lost {given - found}, invented {found - given}")
    letters = {char: n for char, n in given.items() if char.isalnum() and char.isascii() and char not in "lIO01"}
    _check(all(found[char] == n for char, n in letters.items()), f"lost {given - found}, invented {found - given}")
    _check(all(item.reason for item in page.unplaced), "a word is unplaced without a reason")


def check_tables(tables: Any) -> None:
    """Tables form grids of finite numbers, and JSON and HTML give back what they are given."""
    for table in tables:
        Table(table.cells)
        numbers = [x for cell in table.cells for corner in cell.quad or () for x in corner]
        scores = [
            s for cell in table.cells for s in (cell.confidence, cell.ocr_score, cell.detector_score) if s is not None
        ]
        _check(all(map(math.isfinite, numbers)), "a corner is not a finite number")
        _check(all(0 <= score <= 1 for score in scores), f"a score is not from 0 to 1: {scores}")
    _check(tables_from_json(tables_to_json(tables)) == list(tables), "JSON gives back other tables")
    back = html_to_tables(tables_to_html(tables))
    shapes, again = ([table.shape for table in some if len(table)] for some in (tables, back))
    _check(shapes == again, "HTML gives back tables of other shapes")


def _count(texts: list[str]) -> collections.Counter[str]:
    return collections.Counter(char for text in texts for char in text if not char.isspace())


def _check_workbook(path: Path, n_tables: int) -> None:
    import openpyxl

    book = openpyxl.load_workbook(path)
    _check(len(book.sheetnames) == n_tables, "the workbook has another number of sheets")
    formulas = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.data_type == "f"]
    _check(not formulas, f"a live formula: {formulas[:1]}")


# Files of tables, labels, settings, weights


def _read_tables(given: Given) -> None:
    text = given.data.decode("utf-8", "replace")
    if given.name.endswith(".html"):
        tables = html_to_tables(text)
    else:
        tables = tables_from_json(given.data if len(given.data) % 2 else text)
    check_outputs(Result("tables", (Page(_NO_PICTURE, tuple(tables)),)))


def _read_labels(given: Given) -> None:
    from tablerec.labels.check import Summary, check_labels
    from tablerec.labels.read import read_labels

    with _written(given) as (folder, _):
        summary = Summary()
        for problem in check_labels(read_labels(folder), summary):
            str(problem)


def _read_settings(given: Given) -> None:
    from tablerec.models.folder import read_description
    from tablerec.synth.recipe import load_recipe
    from tablerec.training.settings import read_settings

    with _written(given) as (folder, path):
        if given.name == "inference.yml":
            read_description(folder)
        elif given.name == "recipe.yaml":
            load_recipe(path)
        else:
            read_settings(path)


def _read_weights(given: Given) -> str | None:
    from tablerec.models.formats.mapping import load_weights

    with _written(given) as (_, path):
        try:
            arrays = load_weights(path)
        except ModuleNotFoundError as error:
            return f"needs {error.name}"
        for name, array in arrays.items():
            _check(isinstance(name, str) and array.dtype != object, "weights hold anything but arrays")
    return None


_CALLS: dict[str, Callable[[Given], str | None]] = {
    **dict.fromkeys(("picture", "pdf", "crafted_pdf", "words", "array", "read"), _recognize),
    "tables": _read_tables,
    "labels": _read_labels,
    "settings": _read_settings,
    "weights": _read_weights,
}


# The command line


_COMMANDS: dict[str, Callable[[Path, Path], list[str]]] = {
    **dict.fromkeys(
        ("picture", "pdf", "crafted_pdf"),
        lambda folder, path: [
            str(path),
            "--ocr",
            "none",
            "-o",
            f"{folder / 'out'}/",
            "--format",
            "json",
            "--format",
            "xlsx",
        ],
    ),
    "labels": lambda folder, path: ["labels", "check", str(folder)],
    "weights": lambda folder, path: ["weights", "inspect", str(path)],
}


def _run_command(given: Given) -> str:
    """As ``tablerec ARGUMENTS``, in this process; whatever it raises or calls its own fault is a finding."""
    from tablerec import cli

    with _written(given) as (folder, path):
        said, told = io.StringIO(), io.StringIO()
        code: Any = 0
        try:
            with redirect_stdout(said), redirect_stderr(told):
                cli.command.main(_COMMANDS[given.kind](folder, path), prog_name="tablerec")
        except SystemExit as ended:
            code = ended.code
        text = said.getvalue() + told.getvalue()
        _check("Traceback" not in text and "a fault of tablerec" not in text, text[-400:])
        _check("\x1b" not in text, "an escape sequence reaches the terminal")
        _check(code in (0, 1, 2, 3), f"exit code {code}")
        _check(code == 0 or bool(text.strip()), f"exit code {code} and not a word")
        for written in folder.glob("out/*.json"):
            json.loads(written.read_bytes(), parse_constant=_no_constant)
        _check(not list(folder.rglob("*.part")), "a part of a file is left behind")
        return f"exit {code}"


@contextmanager
def _written(given: Given) -> Iterator[tuple[Path, Path]]:
    """The files of an input in a folder of their own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, data in {given.name: given.data, **given.more}.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        yield folder, folder / given.name


def _check(is_right: bool, message: str) -> None:
    if not is_right:
        raise FindingError(message)


def _no_constant(name: str) -> None:
    raise FindingError(f"JSON holds {name}")


def _no_picture() -> Any:
    from tablerec import PageImage

    return PageImage("none", 1, np.zeros((1, 1, 3), np.uint8))


_NO_PICTURE = _no_picture()


# The worker


def answer(kind: str, seed: int, number: int) -> dict[str, Any]:
    """Try one input and say how it ended: an outcome, and for a finding what and where."""
    started = time.perf_counter()
    _forget_peak()
    try:
        outcome, message = attempt(make(kind, seed, number), number), ""
    except MemoryError as error:
        outcome, message = "memory", _place(error)
    except Exception as error:
        outcome, message = "finding" if isinstance(error, FindingError) else "traceback", _place(error)
    seconds = time.perf_counter() - started
    return {"outcome": outcome, "seconds": round(seconds, 3), "mib": _peak_mib(), "message": message}


def _place(error: Exception) -> str:
    """What went wrong, and the last place in the project's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/postprocess/" in f.filename or "/tablerec/" in f.filename] or frames
    where = f"{Path(ours[-1].filename).name}:{ours[-1].name}" if ours else ""
    return f"{where}: {type(error).__name__}: {str(error)[:300]}"


def _forget_peak() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_mib() -> int:
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) // 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("memory", type=float, help="most GiB of address space")
    options = parser.parse_args()
    seed, limit = options.seed, int(options.memory * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        kind, number = line.split()
        print(json.dumps(answer(kind, seed, int(number))), file=answers, flush=True)


if __name__ == "__main__":
    main()
