"""Two runs against each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tablerec.evaluate.reporting.report import MEANS, Entry, format_summary, summarize

MIN_CHANGE = 0.005
"""Change of a table's overall score that is worth a line."""

MAX_LINES = 15
"""Tables that are listed as worse, and as better."""


@dataclass(frozen=True, slots=True)
class Change:
    """A table whose overall score changed."""

    id: str
    old: float
    new: float

    @property
    def gain(self) -> float:
        """New minus old."""
        return self.new - self.old


@dataclass(frozen=True, slots=True)
class Comparison:
    """The tables that are in both runs.

    Args:
        deltas: New minus old by source, for ALL and for SOUND, see ``Summary``.
        worse: Tables that lost, the largest loss first.
        better: Tables that gained, the largest gain first.
    """

    deltas: dict[str, dict[str, Any]]
    worse: tuple[Change, ...]
    better: tuple[Change, ...]


def compare(old: Iterable[Entry], new: Iterable[Entry]) -> Comparison:
    """Compare two runs over the tables that both have.

    >>> a = {"id": "t", "source": "s", "missing": 0.0, "overall": 0.5, "exact": 0.0}
    >>> compare([a], [{**a, "overall": 0.75, "exact": 1.0}]).better[0].gain
    0.25
    """
    old_by_id = {entry["id"]: entry for entry in old}
    both = [(old_by_id[entry["id"]], entry) for entry in new if entry["id"] in old_by_id]
    # An earlier run may not have known which truths are conventions.
    before = summarize({**a, "is_convention": b.get("is_convention", False)} for a, b in both)
    after = summarize({**b, "source": a["source"]} for a, b in both)
    changes = sorted((Change(b["id"], a["overall"], b["overall"]) for a, b in both), key=lambda change: change.gain)
    return Comparison(
        deltas={source: _subtract(after[source], before[source]) for source in before},
        worse=tuple(change for change in changes if change.gain <= -MIN_CHANGE),
        better=tuple(change for change in reversed(changes) if change.gain >= MIN_CHANGE),
    )


def format_comparison(comparison: Comparison) -> str:
    """Return a comparison as lines of text."""
    parts = [format_summary(comparison.deltas, signed=True)]
    parts += _format_changes("worse", comparison.worse) + _format_changes("better", comparison.better)
    return "\n".join(parts)


def _subtract(after: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    known = [name for name in ("missing", *MEANS) if after[name] is not None and before[name] is not None]
    return {"n": after["n"], **{name: after[name] - before[name] for name in known}}


def _format_changes(word: str, changes: Sequence[Change]) -> list[str]:
    if not changes:
        return []
    lines = [f"{word}: {len(changes)}"]
    lines += [
        f"  {change.gain:+.3f}  {change.old:.3f} -> {change.new:.3f}  {change.id}" for change in changes[:MAX_LINES]
    ]
    left = len(changes) - MAX_LINES
    return lines + ([f"  and {left} more"] if left > 0 else [])
