"""Which tables go on in which: what lies on several pages goes out as one table.

Each page is corrected for itself, with its own picture and words.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

from postprocess.captions.continuation import JOIN_SCORE, continuation, join_tables
from postprocess.editing.placing import tidy
from tablerec.corrections.editor import Correction
from tablerec.corrections.tables import Tables
from tablerec.errors import InputError, TablerecError
from tablerec.outputs.files import atomic_file

_FILE = "joined.json"


class Joined:
    """Tables over several pages.

    Args:
        tables: Of the review.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._lock = threading.RLock()
        self._groups = self._read()

    def groups(self) -> list[list[str]]:
        """Names of all tables, each alone or with those that it goes on in, in the order of their inputs."""
        with self._lock:
            names = self._tables.names()
            known = {*names}
            first = {group[0]: [name for name in group if name in known] for group in self._groups if group[0] in known}
            later = {name for group in first.values() for name in group[1:]}
            return [first.get(name, [name]) for name in names if name not in later]

    def view(self, name: str) -> dict[str, Any]:
        """Return what a table goes on in, ready for JSON: its ``group``, and the ``next`` that may go on after it.

        Raises:
            InputError: There is no such table.
        """
        with self._lock:
            group = self._group_of(self._tables.correction(name).head.name)
            last = self._tables.correction(group[-1])
            below = self._next(last)
            found = None if below is None else {"name": below.head.name, "score": round(_score(last, below), 3)}
            return {"group": group, "next": found}

    def join(self, name: str, below: str) -> None:
        """Let a table go on in another.

        Raises:
            InputError: They cannot be one table; the message says why.
            OutputError: It cannot be kept.
        """
        with self._lock:
            group, others = self._group_of(name), self._group_of(self._tables.correction(below).head.name)
            if below in group:
                raise InputError(f"{below}: is already part of this table").named("part_already", below)
            whole = [*group, *others]
            try:
                join_tables([tidy(self._tables.correction(each).table) for each in whole])
            except TablerecError as error:
                message = f"{below}: does not continue {name}: {error}"
                raise InputError(message).named("does_not_go_on", below, name, error) from error
            kept = [each for each in self._groups if each not in (group, others)]
            self._write([*kept, whole])

    def join_all(self) -> int:
        """Join all tables that go on on the next page; returns how many were joined to one before."""
        n_joined = 0
        with self._lock:
            for group in self.groups():
                last = self._tables.correction(group[-1])
                while (below := self._next(last)) is not None and _score(last, below) >= JOIN_SCORE:
                    try:
                        self.join(group[0], below.head.name)
                    except InputError:
                        break
                    n_joined += 1
                    last = below
        return n_joined

    def part(self, name: str) -> None:
        """Take a table over several pages apart.

        Raises:
            InputError: It is on one page.
            OutputError: It cannot be kept.
        """
        with self._lock:
            group = self._group_of(name)
            if len(group) < 2:
                raise InputError(f"{name}: is on one page only").named("on_one_page", name)
            self._write([each for each in self._groups if each != group])

    def _group_of(self, name: str) -> list[str]:
        return next((group for group in self._groups if name in group), [name])

    def _next(self, last: Correction) -> Correction | None:
        """The first table of the next page of the same input, where it is part of no other."""
        here = last.head
        names = self._tables.names()
        for name in names[names.index(here.name) + 1 :]:
            below = self._tables.correction(name)
            if below.head.source != here.source or below.head.page > here.page + 1:
                return None
            if below.head.page == here.page + 1:
                is_table = below.head.number or below.version
                free = name not in {each for group in self._groups for each in group[1:]}
                return below if is_table and free and below.verdict != "rejected" else None
            if below.verdict != "rejected":
                return None  # another table stands below it on its page
        return None

    def _read(self) -> list[list[str]]:
        path = self._tables.corrections.folder / _FILE
        if not self._tables.corrections.holds(path):
            return []
        try:
            data = json.loads(path.read_text("utf-8"))
            groups = [[str(name) for name in group] for group in data if len(group) > 1]
        except (OSError, ValueError, TypeError, RecursionError):
            return []
        names = [name for group in groups for name in group]
        return groups if len(names) == len(set(names)) else []

    def _write(self, groups: Sequence[list[str]]) -> None:
        with atomic_file(self._tables.corrections.folder / _FILE) as file:
            file.write(json.dumps([*groups], ensure_ascii=False).encode())
        self._groups = [*groups]


def _score(above: Correction, below: Correction) -> float:
    return continuation(tidy(above.table), tidy(below.table)).score
