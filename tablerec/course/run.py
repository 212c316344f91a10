"""Executes notebooks from top to bottom, each in a fresh kernel, and keeps what they showed.

A notebook says in its metadata what it needs besides the base install::

    {"tablerec": {"packages": ["paddle", "matplotlib"], "compiler": true}}

``TABLEREC_SMOKE=1`` in the environment makes everything in them small, to see that they run.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablerec.errors import InputError, MissingDependencyError
from tablerec.inputs.images import display_name
from tablerec.outputs.files import atomic_file

_CELL_SECONDS = 3600
"""The longest that one cell may take: the slowest trains for ten minutes on two cores."""
QUIET = {"GLOG_minloglevel": "2", "PYTHONWARNINGS": "ignore:No ccache found"}
"""Environment of a kernel: Paddle speaks of its interpreter, and of a compiler that nobody needs."""
_MARK = "tablerec_run"
"""Metadata of a notebook that was executed to its end."""


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a notebook.

    Args:
        name: Of the notebook, without suffix.
        seconds: That it took; 0 where it was not run now.
        skipped: Why it was not run; empty where it was.
        error: What stopped it; empty where it ran to its end.
    """

    name: str
    seconds: float = 0.0
    skipped: str = ""
    error: str = ""


def run_notebooks(folder: Path, output: Path, on_cell: Callable[[str, int, int], None]) -> Iterator[Run]:
    """Execute the notebooks of a folder in the order of their names; go on after one that fails.

    One that ran to its end into the output folder before, with the same cells, is not run again: so an interrupted
    run goes on. Remove the folder to run all anew.

    Args:
        folder: With the notebooks, which stay as they are; it is the working directory of each.
        output: Where the executed notebooks go, as far as they came.
        on_cell: Called with the name, the number of the cell from 1, and the number of cells.

    Yields:
        What became of each, as soon as it is known.

    Raises:
        InputError: There are no notebooks, or one cannot be read.
        MissingDependencyError: Without the lab extra.
        OutputError: An executed notebook cannot be written.
    """
    paths = sorted(folder.glob("*.ipynb"))
    if not paths:
        raise InputError(f"{display_name(str(folder))}: no notebooks; name the folder of the course")
    for path in paths:
        notebook = read_notebook(path)
        kept = output / path.name
        missing = missing_for(notebook)
        if missing:
            yield Run(path.stem, skipped=f"needs {', '.join(missing)}")
        elif kept.is_file() and _is_done(read_notebook(kept), notebook):
            yield Run(path.stem, skipped=f"was run before, see {display_name(str(kept))}")
        else:
            yield _run(notebook, path.stem, folder, kept, on_cell)


def _run(notebook: Any, name: str, folder: Path, kept: Path, on_cell: Callable[[str, int, int], None]) -> Run:
    begin, error = time.perf_counter(), ""
    try:
        execute(notebook, folder, lambda cell: on_cell(name, cell, len(notebook.cells)))
    except InputError as failure:
        error = str(failure)
    else:
        notebook.metadata[_MARK] = _mark()
    with atomic_file(kept) as file:
        file.write(import_jupyter("nbformat").writes(notebook).encode())
    return Run(name, time.perf_counter() - begin, error=error)


def execute(notebook: Any, folder: Path, on_cell: Callable[[int], None] = lambda cell: None) -> None:
    """Execute the cells of a notebook in a fresh kernel; the outputs go into it.

    Args:
        notebook: Of nbformat, changed in place.
        folder: Working directory of the kernel.
        on_cell: Called with the number of each cell, from 1, before it runs.

    Raises:
        InputError: A cell fails or takes longer than an hour; the message names the cell and the error.
        MissingDependencyError: Without the lab extra.
    """
    nbclient = import_jupyter("nbclient")
    client = nbclient.NotebookClient(
        notebook,
        timeout=_CELL_SECONDS,
        kernel_name="python3",  # of this environment, whatever the notebook was saved with
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],  # else each kernel warns of its own socket
        on_cell_start=lambda cell, cell_index: on_cell(cell_index + 1),
    )
    try:
        client.execute(env={**QUIET, **os.environ})
    except nbclient.exceptions.CellExecutionError as error:
        raise InputError(f"cell {_failed_cell(notebook)}: {error.ename}: {_plain(error.evalue)}") from error
    except (nbclient.exceptions.CellTimeoutError, nbclient.exceptions.DeadKernelError) as error:
        raise InputError(f"its kernel stopped: {_plain(str(error))}") from error


def missing_for(notebook: Any) -> list[str]:
    """Return the packages and programs that a notebook needs and that are not here."""
    needs = notebook.metadata.get("tablerec", {})
    missing = [name for name in needs.get("packages", ()) if importlib.util.find_spec(name) is None]
    if needs.get("compiler") and shutil.which(os.environ.get("CXX") or "g++") is None:
        missing.append("g++")
    return missing


def read_notebook(path: Path) -> Any:
    """Read a notebook.

    Raises:
        InputError: It is none; the message names the file.
        MissingDependencyError: Without the lab extra.
    """
    nbformat = import_jupyter("nbformat")
    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:  # nbformat raises errors of its own, of json and of jsonschema
        raise InputError(f"{display_name(str(path))}: no notebook ({_plain(str(error))}); move it away") from error


def _is_done(kept: Any, notebook: Any) -> bool:
    """Whether these cells were run to their end, as large or small as now."""
    same = [cell.source for cell in kept.cells] == [cell.source for cell in notebook.cells]
    return same and kept.metadata.get(_MARK) == _mark()


def _mark() -> dict[str, Any]:
    return {"smoke": bool(os.environ.get("TABLEREC_SMOKE"))}


def _failed_cell(notebook: Any) -> int:
    code = [(number, cell) for number, cell in enumerate(notebook.cells, start=1) if cell.cell_type == "code"]
    return next((n for n, cell in code if any(each.output_type == "error" for each in cell.outputs)), 0)


def _plain(message: str) -> str:
    """One line without colours of a terminal, not too long."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", message).split())[:300]


def import_jupyter(name: str) -> Any:
    """Import a package of Jupyter.

    Raises:
        MissingDependencyError: Without the lab extra.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        message = f'notebooks need {name} ({error}): run pip install "tablerec[lab]"'
        raise MissingDependencyError(message) from error
