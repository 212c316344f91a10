"""Whether all that PDFs show is read or reported: ``python -m tests.benchmarks.pdfs.check``.

A developer script, not a test. Writes about 200 PDFs of known tables in many ways (``--list`` names the kinds), reads
each with the default settings, and prints by kind: PDFs, grids that are right, cells that are exact (place, span and
text), visible characters that are lost (in no cell where they belong, and not reported), those that are reported,
characters invented (in a cell where nobody sees them), numbers that are wrong, and those of them that are silent: the
cell has no doubt, the log no warning, and the table's score is at least 0.9. The exit code is 1 if there are any.
Kinds that need Chromium or LibreOffice are left out where these are not installed. ``--keep`` names a folder for the
PDFs, and for a picture and a list of faults of each that is not all right.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pypdfium2

from tablerec import Recognizer, TablerecError
from tests.benchmarks.pdfs.case import KINDS, Case
from tests.benchmarks.pdfs.kinds import lacking, load_kinds, to_pdfs
from tests.benchmarks.pdfs.scoring import Score, score


@dataclass(frozen=True)
class Made:
    """A PDF on the disk, and what it shows."""

    kind: str
    seed: int
    path: Path
    case: Case


def plan(kinds: Sequence[str], count: int) -> list[tuple[str, int]]:
    """Kinds and seeds, ``count`` in all, by the share of each kind; at least one of each.

    >>> load_kinds()
    >>> len(plan(["plain, embedded", "Type 3"], 7))
    7
    """
    total = sum(KINDS[kind].share for kind in kinds)
    done, planned = 0.0, Counter[str]()
    for kind in kinds:
        start, done = round(done), done + KINDS[kind].share * count / total
        planned[kind] = max(1, round(done) - start)
    return [(kind, seed) for kind in kinds for seed in range(planned[kind])]


def make(jobs: Sequence[tuple[str, int]], folder: Path) -> list[Made]:
    """Write the PDFs of kinds and seeds."""
    # Kinds have variants by the remainders of their seeds: 24 keeps them, and gives each kind tables of its own.
    offsets = {kind: 24 * index for index, kind in enumerate(KINDS)}
    cases = [KINDS[kind].make(offsets[kind] + seed) for kind, seed in jobs]
    made = []
    for (kind, seed), case, data in zip(jobs, cases, to_pdfs(cases), strict=True):
        path = folder / f"{kind.replace(' ', '_').replace(',', '')}_{seed}.pdf"
        path.write_bytes(data)
        made.append(Made(kind, seed, path, case))
    return made


class _Warnings(logging.Handler):
    """Keeps what the log says of a page."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith(("tablerec", "postprocess")):
            self.texts.append(record.getMessage())


def measure(recognizer: Recognizer, made: Made) -> Score:
    """Read one PDF and compare it with what it shows; an exception is a message of the score."""
    handler = _Warnings()
    logging.getLogger().addHandler(handler)
    started = time.perf_counter()
    try:
        result = score(made.case, recognizer.recognize(made.path).pages, handler.texts)
    except TablerecError as error:
        result = Score(cells=len(made.case.truth), error=str(error))
    except Exception as error:  # a fault of the program, which must not end the run
        result = Score(cells=len(made.case.truth), error=f"{type(error).__name__}: {error}")
        result.lost = sum(len(cell.text) for cell in made.case.truth.cells)
    finally:
        logging.getLogger().removeHandler(handler)
    result.seconds = time.perf_counter() - started
    return result


_recognizer: Recognizer | None = None


def read(made: Made) -> tuple[Score, float]:
    """Measure one PDF with the recognizer of this process; return the process's peak memory in MiB as well."""
    import resource

    global _recognizer
    _recognizer = _recognizer or Recognizer()
    result = measure(_recognizer, made)
    return result, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def keep(made: Made, result: Score) -> None:
    """Write a picture of the page and what is wrong beside the PDF."""
    document = pypdfium2.PdfDocument(made.path)
    document.init_forms()
    document[0].render(scale=1.5).to_pil().save(made.path.with_suffix(".png"))
    document.close()
    lines = [result.error, *result.notes, "", *result.messages]
    made.path.with_suffix(".txt").write_text("\n".join(lines), encoding="utf-8")


def is_right(result: Score) -> bool:
    """Whether nothing is to be said of the page."""
    return result.exact == result.cells and not (result.lost or result.invented or result.wrong or result.error)


COLUMNS = ("PDFs", "grids", "cells", "exact", "lost", "reported", "invented", "wrong", "SILENT", "messages", "errors")


def row(scores: Sequence[Score]) -> list[str]:
    """One row of the report."""
    cells = sum(each.cells for each in scores)
    return [
        str(len(scores)),
        str(sum(each.grid and each.direction for each in scores)),
        str(cells),
        f"{100 * sum(each.exact for each in scores) / max(cells, 1):.1f}%",
        *(str(sum(getattr(each, name) for each in scores)) for name in ("lost", "reported", "invented", "wrong")),
        str(sum(each.silent for each in scores)),
        str(sum(len(each.messages) for each in scores)),
        str(sum(bool(each.error) for each in scores)),
    ]


def report(scores: dict[str, list[Score]]) -> str:
    """The table of all kinds."""
    lines = [f"{'kind':46}" + "".join(f"{name:>9}" for name in COLUMNS) + f"{'s/page':>8}"]
    for name, each in [*scores.items(), ("all", [one for some in scores.values() for one in some])]:
        seconds = sum(one.seconds for one in each) / max(len(each), 1)
        lines.append(f"{name:46}" + "".join(f"{value:>9}" for value in row(each)) + f"{seconds:8.2f}")
    return "\n".join(lines)


def main() -> int:
    """Make, read, compare; print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", help="names, or parts of names; all by default")
    parser.add_argument("--count", type=int, default=240, help="PDFs of all kinds; as many fewer as kinds are left out")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the PDFs and say what is wrong in each")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--list", action="store_true", help="print the kinds and end")
    parser.add_argument("--only-make", action="store_true", help="write the PDFs and end")
    options = parser.parse_args()
    load_kinds()
    missing = lacking()
    usable = [name for name in KINDS if name not in missing]
    if options.list:
        print(*usable, *(f"{name}: {reason}" for name, reason in missing.items()), sep="\n")
        return 0
    for reason in sorted(set(missing.values())):
        print(f"{sum(each == reason for each in missing.values())} kinds are left out: {reason}")
    wanted = [name for name in usable if not options.kinds or any(part in name for part in options.kinds)]
    chosen = set(wanted)
    jobs = [job for job in plan(list(KINDS), max(options.count, 1)) if job[0] in chosen]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        made = make(jobs, folder)
        if options.only_make:
            return 0
        scores: dict[str, list[Score]] = defaultdict(list)
        peak = 0.0
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
            for each, (result, memory) in zip(made, pool.map(read, made), strict=True):
                scores[each.kind].append(result)
                peak = max(peak, memory)
                if options.keep and not is_right(result):
                    keep(each, result)
    print(report(scores))
    print(f"peak memory of a process: {peak:.0f} MiB")
    return int(any(each.silent for some in scores.values() for each in some))


if __name__ == "__main__":
    sys.exit(main())
