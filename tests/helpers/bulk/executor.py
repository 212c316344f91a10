"""A reader of pages for tests of batches: it opens no picture, and does what the content says.

An input is a text: ``pages=3 tables=2``, and what is to go wrong: ``fail=2:timeout`` on page 2, ``broken`` as a whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from postprocess.cell import Cell, Confidence
from postprocess.table import Table
from tablerec.bulk.executor import Outcome, Task
from tablerec.errors import InputError, ModelNotFoundError, TablerecError
from tablerec.result import Page, PageImage


class LimitError(TablerecError):
    """In place of a page that takes too long."""


class TextExecutor:
    """Reads texts; ``counts`` says how often each page was asked for."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int]] = Counter()
        self.healed = False

    def numbers(self, path: Path, source: str) -> list[int]:
        text = path.read_text(encoding="utf-8")
        if "broken" in text and not self.healed:
            raise InputError(f"{path}: not a picture or PDF; give another file")
        return list(range(1, 1 + _value(text, "pages", 1)))

    def run(self, tasks: Iterator[Task]) -> Iterator[Outcome | None]:
        for task in tasks:
            self.counts[task.source, task.number] += 1
            yield Outcome(task, self._read(task))
            yield None

    def _read(self, task: Task) -> Page | Exception:
        text = task.path.read_text(encoding="utf-8")
        wrong = re.search(rf"fail={task.number}:(\w+)", text)
        if wrong and not self.healed:
            if wrong[1] == "input":
                return InputError(f"{task.path}: page {task.number} is broken; export it again")
            if wrong[1] == "model":
                return ModelNotFoundError("no model; fetch it")
            if wrong[1] == "once" and self.counts[task.source, task.number] > 1:
                return make_page(task, text)
            return LimitError(f"{task.path}: page {task.number} takes too long")
        return make_page(task, text)


def make_page(task: Task, text: str) -> Page:
    """A page whose tables say where they come from."""
    sure = _value(text, "sure", 99) / 100
    tables = tuple(
        Table(
            [Cell(0, 0, text=f"{task.content[:8]} {task.number} {number}")],
            confidence=Confidence(sure, (sure,), (sure,), "cell 1, 1"),
        )
        for number in range(_value(text, "tables", 1))
    )
    picture = PageImage(str(task.path), task.number, np.broadcast_to(np.uint8(255), (9, 9, 3)))
    return Page(picture, tables, detector="test", seconds={"read": 0.25, "detect": 0.5})


def _value(text: str, name: str, default: int) -> int:
    found = re.search(rf"{name}=(\d+)", text)
    return int(found[1]) if found else default
