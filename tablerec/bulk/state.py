"""The index of a journal, small enough to stay in memory, and its sums."""

from __future__ import annotations

import hashlib
import heapq
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tablerec.bulk.journal import Position, Record

WHOLE = 0
"""In place of a page number: the input as a whole failed, before its pages were counted."""

MOST_NAMED = 100
"""Slowest pages, least sure tables and equal inputs that a summary names, each."""

_SHORT = 16
"""Bytes kept of a digest."""


@dataclass(slots=True)
class OpenInput:
    """An input some pages of which are neither done nor given up.

    Args:
        name: Of the input when its content was first seen.
        left: Numbers of these pages.
        tries: How often a page has failed.
    """

    name: str
    left: set[int]
    tries: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Failure:
    """A page, or a whole input, that was given up.

    Args:
        name: Of the input.
        reason: One line.
        kind: Name of the error.
        tries: How often it was tried.
    """

    name: str
    reason: str
    kind: str
    tries: int = 1


@dataclass(slots=True)
class Sums:
    """What adds up. Seconds are of the clock on the wall (``seconds``) and of stages of pages; memory is in bytes."""

    inputs: int = 0
    size: int = 0
    equal: int = 0
    pages: int = 0
    tables: int = 0
    doubtful: int = 0
    runs: int = 0
    seconds: float = 0.0
    memory: int = 0
    stages: dict[str, float] = field(default_factory=dict)


class State:
    """Which inputs and pages are done, as a journal tells. An input is known by the place of its first record.

    Memory grows with each input by what two short digests need, and with each failure by its message.

    Args:
        min_confidence: Tables less sure than this are counted as doubtful.
    """

    def __init__(self, min_confidence: float = 0.9) -> None:
        self.min_confidence = min_confidence
        self.header: Record | None = None
        self.sums = Sums()
        self.open: dict[Position, OpenInput] = {}
        self.failed: dict[tuple[Position, int], Failure] = {}
        self.unread: dict[str, Failure] = {}
        self.parts: set[str] = set()
        self.equal: list[tuple[str, str]] = []
        self.slowest: list[tuple[float, str, int]] = []
        self.least_sure: list[tuple[float, str, int, int]] = []
        self._to_retry: dict[Position, list[int]] = {}
        self._contents: dict[bytes, Position] = {}
        self._names: dict[bytes, Position] = {}
        self._at = 0.0

    def load(self, records: Iterable[tuple[Position, Record]]) -> State:
        """Take in records, and return the state."""
        for position, record in records:
            self.add(position, record)
        return self

    def add(self, position: Position, record: Record) -> None:
        """Take in one record."""
        if "header" in record:
            self.header = self.header or record["header"]
        elif "run" in record:
            self.sums.runs += 1
            # Each run asks for them again.
            self.unread.clear()
            self._at = record["run"]["at"]
        elif "input" in record:
            self._add_input(position, record["input"])
        elif "unread" in record:
            failure = Failure(**record["unread"])
            self.unread[failure.name] = failure
        elif "group" in record:
            for page in record["group"]["pages"]:
                self.add_page(page)
            for failure in record["group"]["failed"]:
                self.add_failure(failure)
            self.end_group(record["group"])

    @property
    def n_failures(self) -> int:
        """Pages and inputs that were given up, and inputs that could not be had."""
        return len(self.failed) + len(self.unread)

    def position(self, content: str) -> Position | None:
        """Return the place of an input by its SHA-256 as hex; None where it is new."""
        return self._contents.get(_short(content))

    def is_named(self, key: str | None) -> bool:
        """Whether a record tells the content of an input as it is now; see ``name_key``."""
        return key is not None and bytes.fromhex(key) in self._names

    def is_settled(self, key: str) -> bool:
        """Whether an input was seen as it is now, and nothing of it is left to do; see ``name_key``."""
        position = self._names.get(bytes.fromhex(key))
        return position is not None and position not in self.open and position not in self._to_retry

    def retry_failed(self) -> None:
        """Have what was given up tried once more, where its input comes by."""
        self._to_retry = {}
        for position, number in self.failed:
            self._to_retry.setdefault(position, []).append(number)

    def reopen(self, position: Position) -> None:
        """Take up what is to be tried once more of an input."""
        numbers = self._to_retry.pop(position, [])
        if numbers:
            failed = {number: self.failed[position, number] for number in numbers}
            tries = {number: failure.tries for number, failure in failed.items()}
            self.open[position] = OpenInput(failed[numbers[0]].name, set(numbers), tries)

    def _add_input(self, position: Position, record: Record) -> None:
        content = _short(record["content"])
        first = self._contents.setdefault(content, position)
        if record["key"] is not None:
            self._names[bytes.fromhex(record["key"])] = first
        self.unread.pop(record["name"], None)
        if "pages" not in record:
            self.sums.equal += record["name"] != record["first"]
            if record["name"] != record["first"] and len(self.equal) < MOST_NAMED:
                self.equal.append((record["name"], record["first"]))
            return
        if first == position:
            self.sums.inputs += 1
            self.sums.size += record["size"]
        # A whole input that failed, and whose pages could be counted later, begins anew, by its first name.
        failure = self.failed.pop((first, WHOLE), None)
        before = self.open.get(first) or failure
        if record["pages"]:
            name = record["name"] if before is None else before.name
            self.open[first] = OpenInput(name, set(ranges_to_numbers(record["pages"])))

    def add_page(self, page: Record) -> None:
        """Take in a page that is done."""
        position, number = page["input"], page["page"]
        name = self._settle(position, number)
        self.failed.pop((position, number), None)
        self.sums.pages += 1
        self.sums.tables += len(page["sure"])
        for stage, seconds in page["seconds"].items():
            self.sums.stages[stage] = self.sums.stages.get(stage, 0.0) + seconds
        _keep_greatest(self.slowest, (sum(page["seconds"].values()), name, number))
        for table, sure in enumerate(page["sure"], start=1):
            if sure is not None and sure < self.min_confidence:
                self.sums.doubtful += 1
                _keep_greatest(self.least_sure, (-sure, name, number, table))

    def add_failure(self, failure: Record) -> None:
        """Take in a page that failed, for now or for good."""
        position, number = failure["input"], failure["page"]
        if failure["final"]:
            name = self._settle(position, number)
            self.failed[position, number] = Failure(name, failure["reason"], failure["kind"], failure["tries"])
        elif position in self.open:
            self.open[position].tries[number] = failure["tries"]

    def end_group(self, group: Record) -> None:
        """Take in when a group of pages and failures was recorded, and what it became."""
        self.sums.seconds += max(0.0, group["at"] - self._at)
        self._at = group["at"]
        self.sums.memory = max(self.sums.memory, group["memory"])
        if group["part"] is not None:
            self.parts.add(group["part"])

    def _settle(self, position: Position, number: int) -> str:
        """Take a page off what is left of its input, and return the name of this."""
        entry = self.open.get(position)
        if entry is None:
            failure = self.failed.get((position, number))
            return "" if failure is None else failure.name
        entry.left.discard(number)
        if not entry.left:
            del self.open[position]
        return entry.name


def name_key(name: str, changes: str) -> str:
    """Return a short digest, as hex, of an input as it is now.

    Args:
        name: Path or URL.
        changes: What ``fetching.stamp`` says of it.
    """
    return hashlib.sha256(os.fsencode(name) + b"\0" + changes.encode(errors="replace")).hexdigest()[: 2 * _SHORT]


def numbers_to_ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Write page numbers as first and last number of each run of them.

    >>> numbers_to_ranges([1, 2, 3, 7])
    [[1, 3], [7, 7]]
    """
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


def ranges_to_numbers(ranges: Sequence[Sequence[int]]) -> list[int]:
    """Undo ``numbers_to_ranges``.

    >>> ranges_to_numbers([[1, 3], [7, 7]])
    [1, 2, 3, 7]
    """
    return [number for first, last in ranges for number in range(first, last + 1)]


def _short(content: str) -> bytes:
    return bytes.fromhex(content)[:_SHORT]


def _keep_greatest(heap: list[Any], item: Any) -> None:
    if len(heap) < MOST_NAMED:
        heapq.heappush(heap, item)
    else:
        heapq.heappushpop(heap, item)
