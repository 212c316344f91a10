"""What each lab of the course holds, and how long it takes: ``python -m tests.benchmarks.course.labs [LAB...]``.

Counts figures, exercises with a check, questions, papers, words in English and characters in Chinese, and the size of
the executed copy. With ``--run`` each lab is also executed: seconds on the clock and of the processors; everything in
it is small where ``TABLEREC_SMOKE`` is set. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tablerec.course.run import execute, missing_for, read_notebook

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"
COLUMNS = ["code cells", "figures", "formulas", "exercises", "questions", "papers", "words", "Chinese", "kB"]


def count(name: str) -> list[int]:
    """Count what a lab holds, in the order of ``COLUMNS``."""
    path = NOTEBOOKS / f"{name}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    data = [output.get("data", {}) for cell in code for output in cell["outputs"]]
    questions = re.search(r"^## Questions\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    further = re.search(r"^## Further reading\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    chinese = NOTEBOOKS / "source" / "zh" / f"{name}.md"
    return [
        len(code),
        sum(any(kind.startswith("image/") or kind == "text/html" for kind in each) for each in data),
        text.count("$$") // 2,
        sum("check" in cell["metadata"].get("tags", []) for cell in code),
        len(re.findall(r"^\d\. ", questions[1], re.MULTILINE)) if questions else 0,
        len(re.findall(r"^- .*(?:arXiv:|\b(?:19|20)\d\d\b)", further[1], re.MULTILINE)) if further else 0,
        len(text.split()),
        len(re.findall(r"[\u4e00-\u9fff]", chinese.read_text(encoding="utf-8"))) if chinese.is_file() else 0,
        round(path.stat().st_size / 1000),
    ]


def run(name: str) -> list[str]:
    """Execute a lab; seconds on the clock, and of the processors."""
    notebook: Any = read_notebook(NOTEBOOKS / f"{name}.ipynb")
    if missing := missing_for(notebook):
        return [f"needs {', '.join(missing)}", ""]
    begin, before = time.perf_counter(), processor_seconds()
    execute(notebook, NOTEBOOKS)
    return [f"{time.perf_counter() - begin:.0f}", f"{processor_seconds() - before:.0f}"]


def processor_seconds() -> float:
    """Of the processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def show(row: Sequence[object]) -> None:
    """Print a row of the table."""
    print("|", " | ".join(map(str, row)), "|", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labs", nargs="*", help="numbers or beginnings of names; all without any")
    parser.add_argument("--run", action="store_true", help="execute them")
    arguments = parser.parse_args()
    names = [path.stem for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))]
    chosen = [name for name in names if not arguments.labs or name.startswith(tuple(arguments.labs))]
    header = ["lab", *COLUMNS, *(["seconds", "of processors"] if arguments.run else [])]
    show(header)
    show(["---"] * len(header))
    for name in chosen:
        show([name, *count(name), *(run(name) if arguments.run else [])])
    counts = list(zip(*map(count, chosen), strict=True))
    show(["all", *map(sum, counts), *(["", ""] if arguments.run else [])])


if __name__ == "__main__":
    main()
