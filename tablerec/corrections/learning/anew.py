"""Open tables read again: what would change, and the change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.editing.placing import complete, join
from postprocess.export.json import table_from_dict, table_to_dict
from postprocess.table import Table
from tablerec.corrections.editor import Correction
from tablerec.corrections.learning.gain import count_changes
from tablerec.corrections.tables import Tables
from tablerec.errors import InputError, TablerecError


@dataclass(frozen=True, slots=True)
class Change:
    """What a new reading makes of a table.

    Args:
        name: Of the table.
        version: Steps of it so far.
        table: As it was read anew, in pixels of its picture.
        n_changed: Cells that differ.
        shapes: Rows and columns before and after.
        sureness: Probability that it is right, 0 to 1, before and after; None where it is not known.
    """

    name: str
    version: int
    table: Table
    n_changed: int
    shapes: tuple[tuple[int, int], tuple[int, int]]
    sureness: tuple[float | None, float | None]

    def to_dict(self) -> dict[str, Any]:
        """What a person is shown, ready for JSON."""
        return {
            "name": self.name,
            "n_changed": self.n_changed,
            "before": [*self.shapes[0], self.sureness[0]],
            "after": [*self.shapes[1], self.sureness[1]],
        }


def picture_words(names: Iterable[str], weights: Path | None) -> list[str]:
    """The command that reads the pictures of tables, and prints a line of JSON for each.

    Args:
        names: Of the tables.
        weights: Folder of the detector, in that of the corrections, where the command works; None for the package's.

    >>> picture_words(["scan_1_1"], Path("learnt/1/weights"))
    ['--layout', 'table', '--turn', '0', '--detector-dir', 'learnt/1/weights', '--json', '--', 'images/scan_1_1.png']
    """
    given = [] if weights is None else ["--detector-dir", weights.as_posix()]
    pictures = [f"images/{name}.png" for name in names]
    return ["--layout", "table", "--turn", "0", *given, "--json", "--", *pictures]


def line_to_table(line: str) -> tuple[str, Table | None] | None:
    """Read a line of ``tablerec --json`` on a picture of a table.

    Returns:
        Name of the table and its largest table, None where there is none; None for another line.

    >>> line_to_table("Note: something"), line_to_table('{"source": "images/a_1_1.png", "pages": []}')
    (None, ('a_1_1', None))
    """
    try:
        data = json.loads(line)
        found = [table_from_dict(table, name="the table") for page in data["pages"] for table in page["tables"]]
        return Path(data["source"]).stem, max(found, key=len, default=None)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, TablerecError):
        return None


def to_change(correction: Correction, read: Table | None) -> Change | None:
    """What a new reading would change in a table; None where that is nothing.

    Args:
        correction: Of the table.
        read: As its picture was read.
    """
    if read is None or not len(read):
        return None
    now, size_wh = correction.table, correction.head.size_wh
    after = join(complete(read, size_wh))
    n_changed = count_changes(now, after)
    if not n_changed:
        return None
    sureness = (_sureness(now, correction.head.sureness), _sureness(read, None))
    return Change(correction.head.name, correction.version, after, n_changed, (now.shape, after.shape), sureness)


def apply_changes(tables: Tables, changes: Sequence[Change]) -> dict[str, int]:
    """Do changes, each as a step that can be undone.

    Returns:
        Name -> number of steps after it, of those that were done: a table that a person has touched since is left.
    """
    done = {}
    for change in changes:
        correction = tables.correction(change.name)
        if correction.verdict != "open":
            continue
        try:
            step = {"do": "set_table", "table": table_to_dict(change.table)}
            tables.corrections.do(correction, step, change.version)
        except InputError:
            continue
        done[change.name] = correction.version
    return done


def take_back(tables: Tables, done: dict[str, int]) -> int:
    """Undo what ``apply_changes`` did, where nobody has touched the table since; returns the number of tables."""
    n_tables = 0
    for name, version in done.items():
        try:
            correction = tables.correction(name)
            if correction.verdict == "open":
                tables.corrections.do(correction, {"do": "undo"}, version)
                n_tables += 1
        except InputError:
            continue
    return n_tables


def _sureness(table: Table, known: float | None) -> float | None:
    if table.confidence is None:
        return None if known is None else round(known, 3)
    return round(float(np.nan_to_num(table.confidence.table).clip(0, 1)), 3)
