"""A review that learns, in which a stand-in takes the place of each command of tablerec."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from postprocess.export.json import table_to_dict
from postprocess.table import Table
from tablerec.corrections.learning.learner import ALONE, Learner
from tablerec.corrections.learning.runs import Report
from tablerec.corrections.review.desk import Desk
from tablerec.errors import TablerecError
from tests.helpers.review import make_desk, make_table


class Commands:
    """Stands in for `tablerec train`, `export` and reading: what it reads after a training is right.

    Args:
        better: From a table as it is to the table as it is read with learned weights.
        alone: The same, where the network reads without its rivals; None reads it as with them.
    """

    def __init__(
        self,
        better: Callable[[Table], Table] = lambda table: table,
        alone: Callable[[Table], Table] | None = None,
    ) -> None:
        self.better, self.alone = better, alone
        self.last: dict[str, Table] = {}
        self.desk: Desk | None = None
        self.words: list[list[str]] = []
        self.stopped = False
        self.fails = ""
        self.waits = threading.Event()
        self.waits.set()

    def run(self, words: Sequence[str], folder: Path, report: Report, stop: threading.Event) -> bool:
        self.words.append(list(words))
        if self.fails == words[0]:
            raise TablerecError("a picture is broken")
        while not self.waits.wait(0.01):
            if stop.is_set():
                self.stopped = True
                return False
        if words[0] == "train":
            output = folder / json.loads((folder / words[1]).read_text())["output"]
            output.mkdir(parents=True, exist_ok=True)
            report("step 29 total 1.0 lr 0.0005 0.1 images/s left 80.0 min")
            (output / "cellnet.safetensors").write_bytes(b"weights")
            report(f"finished: {output}/cellnet.safetensors, report r.html")
        elif words[0] == "export":
            (folder / words[3]).mkdir()
            (folder / words[3] / "inference.onnx").write_bytes(b"model")
        else:
            self._read(words, report)
        return True

    def _read(self, words: Sequence[str], report: Report) -> None:
        assert self.desk is not None
        report("Note: a line that is no table")
        for picture in words[words.index("--") + 1 :]:
            table = self.desk.correction(Path(picture).stem).table
            is_alone = words[: len(ALONE)] == list(ALONE)
            if "--detector-dir" not in words:
                read = make_table()
            elif is_alone and self.alone is not None:
                read = self.alone(table)
            elif is_alone and picture in self.last:
                read = self.last[picture]
            else:
                read = self.last[picture] = self.better(table)
            report(json.dumps({"source": picture, "pages": [{"tables": [table_to_dict(read)]}]}))


def make_learner(folder: Path, commands: Commands, n_saved: int = 0, n_open: int = 0, **options: object) -> Learner:
    """A learner of a desk with so many tables; the first cell of each saved one was corrected."""
    names = [f"t{number:02}.png" for number in range(n_saved + n_open)]
    desk = make_desk(folder, names)
    desk.read_all()
    commands.desk = desk
    for name in desk.names()[:n_saved]:
        if desk.correction(name).verdict != "saved":
            desk.corrections.do(desk.correction(name), {"do": "set_text", "row": 0, "col": 0, "text": "mine"})
            desk.corrections.do(desk.correction(name), {"do": "save"})
    return Learner(desk, run=commands.run, **options)  # type: ignore[arg-type]


def settle(learner: Learner) -> dict[str, Any]:
    """Wait until nothing runs."""
    worker = learner._worker
    if worker is not None:
        worker.join(20)
    return learner.view()


def worse_where(is_worse: Callable[[int], bool]) -> Callable[[Table], Table]:
    """What reads no cell right of tables of which this holds by their number in reading; held-out ones come first."""
    numbers = count()

    def better(table: Table) -> Table:
        return Table.from_texts([["?"]]) if is_worse(next(numbers)) else table

    return better


def with_another_text(table: Table) -> Table:
    """The table with another text in its first cell."""
    first, *others = table.cells
    return replace(table, cells=[replace(first, text="read anew", words=()), *others])
