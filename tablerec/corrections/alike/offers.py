"""For which tables the fixes of one are offered, with a preview; done as one, undone as one."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postprocess.editing.axes import reading_quads
from postprocess.table import Table
from tablerec.corrections.alike.fixes import Fix, to_fixes
from tablerec.corrections.alike.likeness import ALIKE, Shape, likeness, to_shape
from tablerec.corrections.alike.transfer import ANYWHERE, transfer
from tablerec.corrections.editor import Correction
from tablerec.corrections.editor.operations import apply
from tablerec.corrections.history import History
from tablerec.corrections.learning.gain import count_changes, to_key, to_keys
from tablerec.corrections.tables import Tables
from tablerec.errors import InputError, TablerecError
from tablerec.outputs.files import atomic_file

_FILE = "alike.json"
_MOST_OFFERED = 200
_QUICK, _SECONDS = 0.3, 15.0
"""For looking through the tables after each step, and when a person asks; those farther away are left out."""
_LARGE = 1000
"""Cells of a table from which on others are looked at only when a person asks."""
_MOST_LINES = 12
"""Changed texts in a preview."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What would be done to a table."""

    correction: Correction
    score: float
    steps: list[dict[str, Any]]
    after: Table


class Offers:
    """Offers the fixes of a table for those that look like it.

    Args:
        tables: Of the review.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._lock = threading.RLock()
        self._shapes: dict[str, tuple[int, Shape]] = {}
        """Name -> number of steps, and what it looked like then."""

    def offer(self, name: str, *, is_quick: bool = False) -> dict[str, Any]:
        """Return the tables for which the fixes of a table are offered, ready for JSON.

        Args:
            name: Of the table with the fixes.
            is_quick: Look at the nearest ones only.

        Raises:
            InputError: There is no such table.
        """
        with self._lock:
            correction = self._tables.correction(name)
            version = correction.version
            fixes: list[Fix] = []
            plans: list[_Plan] = []
            if is_quick and len(correction.table) > _LARGE:
                is_cut = correction.history.place > 0
            else:
                fixes = to_fixes(correction)
                plans, is_cut = self._plans(correction, fixes, _QUICK if is_quick else _SECONDS)
            shown = sorted(plans, key=lambda plan: -plan.score)
            return {
                "name": name,
                "version": version,
                "n_steps": len(fixes),
                "is_cut": is_cut,
                "tables": [_preview(plan) for plan in shown],
                "can_undo": bool(self._read_batch()),
            }

    def apply(self, name: str, version: int, names: Sequence[str]) -> int:
        """Do the fixes of a table to others, as one; returns the number of tables.

        A table that does not allow a step stays as it was.

        Raises:
            InputError: The table with the fixes has changed since.
            OutputError: A journal cannot be written.
        """
        with self._lock:
            correction = self._tables.correction(name)
            if correction.version != version:
                message = "the table has changed since: open the preview again"
                raise InputError(message).named("look_again")
            fixes, batch = to_fixes(correction), {}
            shape = self._shape(correction, fixes)
            try:
                for each in names:
                    plan = self._plan(self._tables.correction(each), fixes, shape)
                    if plan is not None:
                        batch[each] = self._do(plan)
            finally:
                self._write_batch(batch)
            return len(batch)

    def undo(self) -> int:
        """Undo what was done last, where nobody has touched the table since; returns the number of tables.

        Raises:
            InputError: Nothing was done.
        """
        with self._lock:
            batch, n_tables = self._read_batch(), 0
            if not batch:
                raise InputError("there is nothing to undo for all").named("no_undo_for_all")
            for name, (place, version) in batch.items():
                correction = self._tables.correction(name)
                if correction.version == version:
                    self._back_to(correction, place)
                    n_tables += 1
            self._write_batch({})
            return n_tables

    def _plans(self, source: Correction, fixes: Sequence[Fix], seconds: float) -> tuple[list[_Plan], bool]:
        """What would be done to which tables, and whether some were not looked at."""
        if not fixes:
            return [], False
        names, shape = self._tables.names(), self._shape(source, fixes)
        here, begun = names.index(source.head.name), time.monotonic()
        plans: list[_Plan] = []
        for number, (_, name) in enumerate(sorted((abs(at - here), name) for at, name in enumerate(names))):
            if len(plans) == _MOST_OFFERED or (number and time.monotonic() - begun > seconds):
                return plans, True
            if name != source.head.name:
                plan = self._plan(self._tables.correction(name), fixes, shape)
                if plan is not None:
                    plans.append(plan)
        return plans, False

    def _shape(self, source: Correction, fixes: Sequence[Fix]) -> Shape:
        return to_shape(fixes[0].before if fixes else source.table)

    def _plan(self, target: Correction, fixes: Sequence[Fix], shape: Shape) -> _Plan | None:
        if target.verdict != "open" or not target.head.number or not len(target.table):
            return None
        score = likeness(shape, self._shape_of(target))
        history, steps = History((target.state,)), []
        for fix in fixes:
            if score < ALIKE and fix.step["do"] not in ANYWHERE:
                continue
            try:
                for step in transfer(fix.step, fix.before, history.now.table):
                    changed = apply(history, step)
                    if changed is not history:
                        history = changed
                        steps.append(step)
            except (TablerecError, LookupError):
                continue
        return _Plan(target, score, steps, history.now.table) if steps else None

    def _shape_of(self, target: Correction) -> Shape:
        name = target.head.name
        known = self._shapes.get(name)
        if known is None or known[0] != target.version:
            known = self._shapes[name] = target.version, to_shape(target.table)
        return known[1]

    def _do(self, plan: _Plan) -> tuple[int, int]:
        """Do all steps or none; returns the state before and the number of steps after."""
        correction, place = plan.correction, plan.correction.history.place
        try:
            for step in plan.steps:
                self._tables.corrections.do(correction, step)
        except TablerecError:
            self._back_to(correction, place)
            raise
        return place, correction.version

    def _back_to(self, correction: Correction, place: int) -> None:
        while correction.history.place > place:
            before = correction.history.place
            self._tables.corrections.do(correction, {"do": "undo"})
            if correction.history.place == before:
                return

    def _read_batch(self) -> dict[str, tuple[int, int]]:
        path = self._tables.corrections.folder / _FILE
        if not self._tables.corrections.holds(path):
            return {}
        try:
            data = json.loads(path.read_text("utf-8"))
            return {str(name): (int(place), int(version)) for name, (place, version) in data.items()}
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return {}

    def _write_batch(self, batch: Mapping[str, tuple[int, int]]) -> None:
        with atomic_file(self._tables.corrections.folder / _FILE) as file:
            file.write(json.dumps(batch).encode())


def _preview(plan: _Plan) -> dict[str, Any]:
    before, after, head = plan.correction.table, plan.after, plan.correction.head
    old = to_keys(before)
    changed = [cell for cell in after.cells if to_key(cell) not in old]
    return {
        "name": head.name,
        "score": plan.score,
        "is_touched": plan.correction.version > 0,
        "n_steps": len(plan.steps),
        "n_changed": count_changes(before, after),
        "before": list(before.shape),
        "after": list(after.shape),
        "size": list(head.size_wh),
        "lines": reading_quads(after).reshape(-1, 8).round(1).tolist(),
        "texts": [[cell.row, cell.col, cell.text] for cell in changed[:_MOST_LINES]],
    }
