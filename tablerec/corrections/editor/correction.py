"""A table on its way from found to right: every step is on disk before it counts."""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any, Literal

from postprocess.cell import rewrite
from postprocess.editing.placing import tidy
from postprocess.editing.state import State
from postprocess.export.json import table_from_dict, table_to_dict
from postprocess.table import Table
from tablerec.corrections.editor.dealt import (
    parts_from_list,
    parts_of_cells,
    to_dealt,
    word_from_dict,
    word_to_dict,
)
from tablerec.corrections.editor.draft import Window
from tablerec.corrections.editor.head import Head
from tablerec.corrections.editor.label import find_fault
from tablerec.corrections.editor.operations import LIVING, apply, commutes, has_place, replay
from tablerec.corrections.editor.view import state_to_view
from tablerec.corrections.history import History
from tablerec.corrections.refusals import to_chinese
from tablerec.errors import InputError, OutputError, TablerecError
from tablerec.fields import Fields, list_of, number, one_of, short, whole
from tablerec.inputs.images import display_name

FORMAT = "tablerec-corrections"
VERSION = 2
_READ = (1, 2)
"""Versions that are read: the first one knew no words."""
_LARGEST = 256 << 20
"""Bytes of a journal that are read."""
_FARTHEST = 1_000_000
"""Pixels of a picture's side, and of a place from its corner."""

_LONGEST_ID = 40
_LARGE = 500
"""Cells of a table from which a page is told what has changed only."""
_MOST_SEEN = 500
"""Versions whose tables are known still, to say what has changed since."""

Verdict = Literal["open", "saved", "rejected"]
"""What a person said of a table as it is now: nothing yet, that it is right, or that it is none."""

_VERDICTS: dict[Any, Verdict] = {"save": "saved", "reject": "rejected", "reopen": "open"}
_Said = tuple[State, Verdict]
"""A state, and what a person said of it last."""


class Correction:
    """A table, all that was done to it, and the journal of that.

    A journal has one JSON object a line: its head with the table as it was found, then each step. It only grows,
    so that nothing is lost when a page is closed or a machine stops.

    Args:
        path: The journal.
        head: What is corrected.
        start: The table as it was found, with a place for each cell, and the words of its picture.
    """

    def __init__(self, path: Path, head: Head, start: State) -> None:
        self.path = path
        self.head = head
        self.history = History((start,))
        self.version = 0
        """Number of steps so far."""
        self._said: _Said = self.history.now, "open"
        self.lock = threading.RLock()
        self._size = 0
        """Bytes of the journal: more are the steps of somebody else."""
        self._gap = b""
        """A line end, where the last line has none."""
        self._ids: set[str] = set()
        """Of the steps that are done: one that is sent again is not done again."""
        self._seen: deque[tuple[int, State]] = deque([(0, start)], _MOST_SEEN)
        """The last versions and their states."""

    @property
    def state(self) -> State:
        """The table as it is now, and its words."""
        return self.history.now

    @property
    def verdict(self) -> Verdict:
        """What a person said of the table as it is now: who undoes the steps since then has it again."""
        return _verdict(self.history, self._said)

    @property
    def table(self) -> Table:
        """The table as it is now."""
        return self.history.now.table

    def begin(self) -> None:
        """Write the head of the journal.

        Raises:
            OutputError: It cannot be written, or is there.
        """
        head = {"format": FORMAT, "version": VERSION, **asdict(self.head), "table": table_to_dict(self.table)}
        if self.state.words:
            head["words"] = [word_to_dict(word) for word in self.state.words]
            head["words_of_cells"] = [cell.words for cell in self.table.cells]
        try:
            self._append([head], "xb")
        except OutputError:
            if self.path.is_file() and not self.path.stat().st_size:
                self.path.unlink()
            raise

    def do(self, operation: Mapping[str, Any], version: int | None = None) -> None:
        """Do one step and keep it.

        Args:
            operation: See ``tablerec.corrections.editor.operations.apply``; or ``save``, which says that the table is
                right, or ``reject``, which says that it is none, or ``reopen``, which takes that back; or
                ``restore``, which undoes all. Undo and redo go over a line that was moved several times at once.
            version: Number of steps that whoever asks for it has seen; None does not compare.

        Steps that another process, or another object of this one, has added to the journal come first.

        Raises:
            InputError: It is no step, or the table has changed since.
            TableError: The table does not allow it.
            OutputError: The journal cannot be written; then the step is not done.
        """
        with self.lock:
            step, mark = _part_id(operation)
            if self.is_done(operation):
                return
            self.check(version, step)
            before, steps = (self.history, self._said), _to_steps(self.history, step)
            after, lines = before, []
            for each in steps:
                state = after[0].now
                after = _after(*after, each, apply)
                lines.append(_to_line(each, state, after[0].now))
            if after[0] is not before[0] or _verdict(*after) != _verdict(*before):
                if mark:
                    lines[-1] = {**lines[-1], "id": mark}  # the last: half of them is not all
                self._append(lines, "ab")
                self._go_on(*after, len(steps), mark)

    def is_done(self, operation: Mapping[str, Any]) -> bool:
        """Whether the journal has this very step, by its ``id``."""
        with self.lock:
            self._catch_up()
            mark = operation.get("id")
            return isinstance(mark, str) and mark in self._ids

    def check(self, version: int | None, operation: Mapping[str, Any] | None = None) -> None:
        """Refuse a step of somebody who has seen another state; None is not compared.

        A text goes into a cell that nobody has changed since, wherever else the table has.

        Raises:
            InputError: The table has changed since.
            OutputError: The journal is gone.
        """
        self._catch_up()
        if version is None or version == self.version:
            return
        seen = self.state_at(version)
        if seen is None or operation is None or not commutes(operation, seen.table, self.table):
            message = "the table was changed in another window: this one now shows that state"
            raise InputError(message).named("changed_elsewhere")

    def state_at(self, version: int) -> State | None:
        """The state after so many steps; None where that is too long ago."""
        return dict(self._seen).get(version)

    def view(self, since: int | None = None) -> dict[str, Any]:
        """Return what the editor draws, ready for JSON.

        Args:
            since: Version that the page shows: of a large table it is told what has changed since, as
                ``changed_cells``, as ``moved``, row and column where a cell was and where it is, and as ``removed``,
                row and column. None, or one that is too old, gives all ``cells``.
        """
        with self.lock:
            seen = self.state_at(since) if since is not None and len(self.table) > _LARGE else None
            last = len(self.history.states) - 1
            is_saved = self.verdict == "saved"
            fault = find_fault(tidy(self.table), self.head.size_wh) if is_saved else None
            return {
                **state_to_view(self.state, self.head.size_wh, None if seen is None else seen.table),
                "name": self.head.name,
                "source": display_name(self.head.source),
                "page": self.head.page,
                "number": self.head.number,
                "version": self.version,
                "can_undo": self.history.place > 0,
                "can_redo": self.history.place < last,
                "verdict": self.verdict,
                "no_label": fault and str(fault),
                "no_label_zh": fault and to_chinese(fault),
            }

    def _catch_up(self) -> None:
        """Take over what others have added to the journal since it was read."""
        try:
            size = self.path.stat().st_size
        except OSError as error:
            name = display_name(str(self.path))
            message = f"{name}: cannot be found ({error.strerror}); the step was not done: put it back, or start again"
            raise OutputError(message).named("journal_gone", name, error.strerror) from error
        if size == self._size:
            return
        other, problem = read_correction(self.path)
        if problem is not None or other.head != self.head:
            name = display_name(str(self.path))
            raise InputError(problem or f"{name}: is of another table now; start again").named("other_journal", name)
        self.history, self._said, self.version = other.history, other._said, other.version
        self._ids, self._seen = other._ids, other._seen
        self._size, self._gap = other._size, other._gap

    def replay(self, operation: Any) -> None:
        """Do a step that the journal holds."""
        step, mark = _part_id(operation)
        self._go_on(*_after(self.history, self._said, step, replay), 1, mark)

    def _go_on(self, history: History[State], said: _Said, n_steps: int, mark: str | None) -> None:
        self.history, self._said = history, said
        self.version += n_steps
        self._seen.append((self.version, self.state))
        if mark:
            self._ids.add(mark)

    def _append(self, lines: Sequence[Any], mode: str) -> None:
        try:
            texts = [json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":")) for line in lines]
            content = self._gap + ("\n".join(texts) + "\n").encode("utf-8", "backslashreplace")
            with self.path.open(mode, buffering=0) as file:
                size = file.seek(0, os.SEEK_END)
                try:
                    _write_all(file, content)
                except OSError:
                    file.truncate(size)  # half a line would spoil the next one
                    raise
            self._size, self._gap = size + len(content), b""
        except (OSError, ValueError) as error:
            name = display_name(str(self.path))
            message = f"{name}: cannot be written ({error}); the step was not done: make room, try again"
            raise OutputError(message).named("journal_unwritable", name, error) from error


def _write_all(file: IO[bytes], content: bytes) -> None:
    """Write, and wait until it is on the disk; a disk that is nearly full takes a part at first."""
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]
    os.fsync(file.fileno())


def _part_id(operation: Any) -> tuple[Any, str | None]:
    """A step without its ``id``, and that.

    Raises:
        InputError: It is none.
    """
    if not isinstance(operation, Mapping) or "id" not in operation:
        return operation, None
    mark = operation["id"]
    if not isinstance(mark, str) or not 0 < len(mark) <= _LONGEST_ID:
        message = f"the id of a step is {short(mark)}, no text of at most {_LONGEST_ID}: reload the page"
        raise InputError(message).named("bad_step")
    return {key: value for key, value in operation.items() if key != "id"}, mark


def _to_line(step: Any, before: State, after: State) -> Any:
    """A step as the journal has it: with the texts that it dealt."""
    if not after.words or before is after or step["do"] not in LIVING:
        return step
    return {**step, "dealt": to_dealt(before, after)}


def _to_steps(history: History[State], operation: Any) -> list[Any]:
    """The steps of a journal that do what was asked for: there an undo goes back by one state."""
    name = operation.get("do") if isinstance(operation, Mapping) else None
    if name == "undo":
        return [{"do": "undo"}] * history.n_back
    if name == "redo":
        return [{"do": "redo"}] * history.n_on
    if name == "restore":
        return [{"do": "undo"}] * history.place
    return [operation]


def _verdict(history: History[State], said: _Said) -> Verdict:
    state, verdict = said
    return verdict if state is history.now else "open"


def _after(
    history: History[State], said: _Said, operation: Any, do: Callable[[History[State], Any], History[State]]
) -> tuple[History[State], _Said]:
    name = operation.get("do") if isinstance(operation, Mapping) else None
    if isinstance(name, str) and name in _VERDICTS:
        return history, (history.now, _VERDICTS[name])
    return do(history, operation), said


def read_correction(path: Path) -> tuple[Correction, str | None]:
    """Read a journal.

    Returns:
        The correction, and what is wrong with the journal: then the correction is as it was before that.

    Raises:
        InputError: Not even its first line can be used; the message names the file.
    """
    name = display_name(str(path))
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            raise InputError(f"{name}: no journal of corrections (no file, or larger than {_LARGEST >> 20} MB)")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror}); check its permissions") from error
    lines = content.split(b"\n")
    try:
        head = _parse(lines[0])
        table = table_from_dict(head.get("table") or {}, name="the table")
        correction = Correction(path, _to_head(head), _to_state(table, head))
        correction._size, correction._gap = len(content), b"" if content.endswith(b"\n") else b"\n"
        if correction.head.name != path.stem or not all(map(has_place, table.cells)):
            raise InputError("it belongs to another table, or its cells have no places")
    except (TablerecError, ValueError, RecursionError) as error:
        raise InputError(f"{name}: no journal of corrections ({error}); it is kept aside") from error
    for at, line in enumerate(lines[1:], start=2):
        if not line and at == len(lines):
            break
        try:
            correction.replay(_parse(line))
        except (TablerecError, ValueError, RecursionError) as error:
            return correction, f"{name}, line {at}: no step of a correction ({error}); the steps before it are kept"
    return correction, None


def _parse(line: bytes) -> dict[str, Any]:
    data = json.loads(line)
    if not isinstance(data, dict):
        raise ValueError("no JSON object")
    return data


def _to_state(table: Table, head: dict[str, Any]) -> State:
    fields = Fields("line 1", head)
    words = fields.get_or_none("words", list_of(word_from_dict, name="words")) or ()
    if not words:
        return State(table)
    parts = fields.get("words_of_cells", parts_of_cells)
    if len(parts) != len(table):
        raise InputError("its cells are not those that it has words of")
    held = [parts_from_list(each, words) for each in parts]
    return State(replace(table, cells=rewrite(table.cells, words=held)), words)


def _to_head(data: dict[str, Any]) -> Head:
    if data.get("format") != FORMAT or data.get("version") not in _READ:
        raise InputError(f"its first line is not of the format {FORMAT}, version {VERSION}")
    fields = Fields("line 1", data)
    width, height = fields.get("size_wh", list_of(whole(1, _FARTHEST), 2, "whole numbers above 0"))
    return Head(
        name=fields.text("name"),
        source=fields.text("source"),
        page=fields.whole("page"),
        number=fields.whole("number"),
        key=fields.text("key"),
        size_wh=(width, height),
        sureness=fields.get("sureness", number(0, 1)),
        text_height=fields.get_or_none("text_height", _height),
        turn=fields.get("turn", one_of(0, 90, 180, 270), 0),
        window=fields.get_or_none("window", _window),
    )


def _height(value: Any) -> float:
    if not number(0, _FARTHEST)(value):
        raise ValueError("a number above 0")
    return float(value)


def _window(value: Any) -> Window:
    x0, y0, x1, y1 = list_of(whole(), 4, "whole numbers")(value)
    if not (x0 < x1 and y0 < y1):
        raise ValueError("a box of x0, y0, x1, y1")
    return x0, y0, x1, y1
