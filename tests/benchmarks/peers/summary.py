"""Scores and times of several peers on the same tables, as one table in Markdown and as JSON values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tablerec.evaluate.scores import mean_of

OURS = "tablerec"
METRICS = {
    "grits_top": "GriTS-Top",
    "teds_struct": "TEDS-Struct",
    "teds": "TEDS",
    "exact": "exact",
    "adjacency_f1": "adjacency F1",
}
"""The scores that are compared, and their headings."""

MOST_LISTED = 30
"""Tables that are listed as better in a peer."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one peer made of one table.

    Args:
        peer: Its name.
        source: The collection that the table comes from.
        id: The table's name.
        scores: By metric; None where it cannot be told. A failure has zeros.
        missing: Whether no table was found.
        error: What went wrong, or empty.
        seconds: Measured times, those that were; empty where none was.
    """

    peer: str
    source: str
    id: str
    scores: Mapping[str, float | None]
    missing: bool = False
    error: str = ""
    seconds: Sequence[float] = field(default=())


def summarize(rows: Iterable[Row]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return source -> peer -> values; the last source is ``all``.

    >>> rows = [Row("tablerec", "s", "t", {"exact": 1.0}, seconds=[0.1, 0.3]), Row("p", "s", "t", {"exact": 0.0})]
    >>> summary = summarize(rows)
    >>> list(summary), summary["all"]["p"]["exact"], summary["s"]["tablerec"]["seconds"]
    (['s', 'all'], 0.0, 0.2)
    """
    rows = list(rows)
    peers, sources = dict.fromkeys(row.peer for row in rows), sorted({row.source for row in rows})
    ours = {row.id: median(row.seconds) for row in rows if row.peer == OURS and row.seconds}
    groups = {source: [row for row in rows if row.source == source] for source in sources} | {"all": rows}
    return {
        source: {peer: _summarize([row for row in group if row.peer == peer], ours) for peer in peers}
        for source, group in groups.items()
    }


def _summarize(rows: Sequence[Row], ours: Mapping[str, float]) -> dict[str, Any]:
    seconds = {row.id: median(row.seconds) for row in rows if row.seconds}
    ratios = [value / ours[name] for name, value in seconds.items() if ours.get(name)]
    return {
        "n": len(rows),
        **{metric: mean_of([row.scores.get(metric) for row in rows]) for metric in METRICS},
        "missing": sum(row.missing and not row.error for row in rows),
        "failed": sum(bool(row.error) for row in rows),
        "timed": len(seconds),
        "seconds": median(seconds.values()) if seconds else None,
        "times_ours": median(ratios) if ratios else None,
    }


def to_markdown(rows: Sequence[Row], left_out: Mapping[str, str], versions: Mapping[str, Mapping[str, str]]) -> str:
    """Return the table, what is not ahead, failures, and peers that are left out with what to do about it."""
    summary = summarize(rows)
    parts = [_table(summary), _times(summary), _behind(summary), _better(rows), _failures(rows)]
    parts.append("".join(f"- left out: {peer}: {why}\n" for peer, why in left_out.items()))
    told = {peer: ", ".join(f"{name} {version}" for name, version in found.items()) for peer, found in versions.items()}
    parts.append("".join(f"- {peer}: {text}\n" for peer, text in told.items() if text))
    return "\n".join(filter(None, parts))


def not_ahead(summary: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[tuple[str, str, str, float, float]]:
    """Return source, metric, peer, its score and ours, wherever ours is not higher.

    >>> not_ahead({"s": {"tablerec": {"exact": 0.5}, "p": {"exact": 0.5}, "q": {"exact": 0.4}}})
    [('s', 'exact', 'p', 0.5, 0.5)]
    """
    found = []
    for source, by_peer in summary.items():
        ours = by_peer.get(OURS, {})
        for peer, values in by_peer.items():
            for metric in METRICS if peer != OURS else ():
                theirs, mine = values.get(metric), ours.get(metric)
                if theirs is not None and mine is not None and theirs >= mine:
                    found.append((source, metric, peer, theirs, mine))
    return found


def _table(summary: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    lines = [["source", "tables", "", *METRICS.values(), "no table", "failed", "seconds", "times ours"]]
    lines.append(["---", "---:", "---", *["---:"] * (len(lines[0]) - 3)])
    for source, by_peer in summary.items():
        best = {metric: max((v[metric] for v in by_peer.values() if v[metric] is not None), default=None)
                for metric in METRICS}  # fmt: skip
        for peer, values in by_peer.items():
            scores = [_score(values[metric], best[metric]) for metric in METRICS]
            counts = [str(values["missing"]), str(values["failed"])]
            times = [_number(values["seconds"], 3), _number(values["times_ours"], 1)]
            lines.append([source, str(values["n"]), peer, *scores, *counts, *times])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _score(value: float | None, best: float | None) -> str:
    text = _number(value, 3)
    return f"**{text}**" if value is not None and value == best else text


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _times(summary: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    timed = max((values["timed"] for values in summary["all"].values()), default=0)
    if not timed:
        return ""
    return f"Seconds: median over {timed} pictures, without reading. Times ours: median of the ratios, by picture.\n"


def _behind(summary: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    lines: dict[tuple[str, str], list[str]] = {}
    for source, metric, peer, theirs, ours in not_ahead(summary):
        lines.setdefault((source, peer), []).append(f"{METRICS[metric]} ({theirs:.3f}, ours {ours:.3f})")
    return "".join(f"- {source}: not ahead of {peer} in {', '.join(told)}\n" for (source, peer), told in lines.items())


def _better(rows: Sequence[Row]) -> str:
    ours = {row.id: _overall(row) for row in rows if row.peer == OURS}
    gains = [(_overall(row) - ours[row.id], row) for row in rows if row.peer != OURS and row.id in ours]
    best: dict[str, tuple[float, Row]] = {}
    for gain, row in gains:
        if gain > 0.005 and gain > best.get(row.id, (0.0, row))[0]:
            best[row.id] = (gain, row)
    ranked = sorted(best.values(), key=lambda item: -item[0])
    lines = [f"- {row.id}: {row.peer} {_overall(row):.3f}, {OURS} {ours[row.id]:.3f}\n" for _, row in ranked]
    if not lines:
        return ""
    shown = "".join(lines[:MOST_LISTED])
    return f"Better in a peer (mean of the scores but exact): {len(lines)} tables, the furthest:\n\n{shown}"


def _overall(row: Row) -> float:
    return mean_of([row.scores.get(metric) for metric in METRICS if metric != "exact"]) or 0.0


def _failures(rows: Sequence[Row]) -> str:
    return "".join(f"- {row.peer} failed: {row.id}: {row.error}\n" for row in rows if row.error)
