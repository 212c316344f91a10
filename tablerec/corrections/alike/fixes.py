"""The steps of a correction that are still in force: what was undone is none of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from postprocess.table import Table
from tablerec.corrections.editor import Correction

_NO_CHANGE = ("save", "reject", "reopen")


@dataclass(frozen=True, slots=True)
class Fix:
    """A step, and the table on which it was done.

    Args:
        before: The table.
        step: As it was asked for.
    """

    before: Table
    step: dict[str, Any]


def to_fixes(correction: Correction) -> list[Fix]:
    """Return the steps from a table as it was found to the table as it is, in their order."""
    with correction.lock:
        states, place = correction.history.states, correction.history.place
        lines = correction.path.read_bytes().split(b"\n")[1 : 1 + correction.version]
    steps = in_force(json.loads(line) for line in lines if line)
    known = min(len(steps), place)  # of very many steps the oldest states are forgotten
    pairs = zip(states[place - known : place], steps[len(steps) - known :], strict=True)
    return [Fix(state.table, step) for state, step in pairs]


def in_force(steps: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what was undone, and what changes no table.

    >>> in_force([{"do": "a", "id": "1"}, {"do": "b"}, {"do": "undo"}, {"do": "save"}, {"do": "c"}, {"do": "undo"}])
    [{'do': 'a'}]
    """
    done: list[dict[str, Any]] = []
    place = 0
    for step in steps:
        name = step.get("do")
        if name == "undo":
            place = max(0, place - 1)
        elif name == "redo":
            place = min(len(done), place + 1)
        elif name not in _NO_CHANGE:
            done[place:] = [{key: value for key, value in step.items() if key not in ("dealt", "id")}]
            place += 1
    return done[:place]
