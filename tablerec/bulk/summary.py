"""The state of a store as JSON, as a page, and as lines: what was done, what failed and why, what takes the time."""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from tablerec.bulk.progress import describe, duration
from tablerec.bulk.state import WHOLE, Failure, State
from tablerec.bulk.store import Store
from tablerec.inputs.images import display_name

_MOST_FAILURES = 10_000
_MOST_ON_PAGE = 1_000

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
    "table{border-collapse:collapse;margin:.5em 0 1.5em}th,td{text-align:left;vertical-align:top;padding:.2em .8em;"
    "border-bottom:1px solid #ddd;overflow-wrap:anywhere}td.n{text-align:right;white-space:nowrap}"
)


def summarize(state: State) -> dict[str, Any]:
    """Return what there is to say of a store.

    Args:
        state: Of the store.

    Returns:
        Values as JSON has them. Of failures, equal inputs, slowest pages and least sure tables the first ones only;
        the numbers count all.
    """
    sums = state.sums
    rate = sums.pages / sums.seconds if sums.seconds > 0 else 0.0
    return {
        "format": "tablerec-batch-summary",
        "version": 1,
        "settings": state.header and state.header["settings"],
        "inputs": sums.inputs,
        "bytes": sums.size,
        "equal": sums.equal,
        "incomplete": len(state.open),
        "pages": sums.pages,
        "tables": sums.tables,
        "doubtful": sums.doubtful,
        "min_confidence": state.min_confidence,
        "failures": state.n_failures,
        "runs": sums.runs,
        "seconds": round(sums.seconds, 1),
        "pages_per_second": round(rate, 3),
        "peak_memory_bytes": sums.memory,
        "stages": {stage: round(seconds, 1) for stage, seconds in sums.stages.items()},
        "failed": list(itertools.islice(_failures(state), _MOST_FAILURES)),
        "slowest": [
            {"source": name, "page": number, "seconds": round(seconds, 3)}
            for seconds, name, number in sorted(state.slowest, reverse=True)
        ],
        "least_sure": [
            {"source": name, "page": number, "table": table, "confidence": -negative}
            for negative, name, number, table in sorted(state.least_sure, reverse=True)
        ],
        "equal_inputs": [{"source": name, "first": first} for name, first in state.equal],
    }


def _failures(state: State) -> Iterator[dict[str, Any]]:
    """Inputs that could not be had, and pages that were given up; a page of None is the whole input."""
    numbered = itertools.chain(((WHOLE, each) for each in state.unread.values()), _by_number(state))
    for number, failure in numbered:
        yield {"source": failure.name, "page": None if number == WHOLE else number} | {
            "kind": failure.kind,
            "tries": failure.tries,
            "reason": failure.reason,
        }


def _by_number(state: State) -> Iterator[tuple[int, Failure]]:
    return ((number, failure) for (_, number), failure in state.failed.items())


def write_summary(store: Store, summary: dict[str, Any]) -> None:
    """Write ``summary.json`` and ``summary.html``.

    Raises:
        OutputError: They cannot be written.
    """
    store.write("summary.json", json.dumps(summary, indent=1).encode("ascii") + b"\n")
    store.write("summary.html", to_page(summary, store.name).encode())


def to_lines(state: State, summary: dict[str, Any]) -> str:
    """Return a summary for a terminal.

    >>> state = State()
    >>> print(to_lines(state, summarize(state)))
    0 inputs, 0 pages, 0 tables
    0 s in 0 runs, 0.0 pages/s, at most 0 MB of memory
    """
    lines = [describe(state), _effort(summary)]
    total = sum(summary["stages"].values()) or 1.0
    for stage, seconds in sorted(summary["stages"].items(), key=lambda each: -each[1]):
        lines.append(f"  {stage:<12} {seconds:10.1f} s {seconds / total:5.0%}")
    shown = summary["failed"][:20]
    lines += [f"Failed: {each['reason']}" for each in shown]
    if summary["failures"] > len(shown):
        lines.append(f"... and {summary['failures'] - len(shown):,} more failures, see summary.json")
    return "\n".join(lines)


def _effort(summary: dict[str, Any]) -> str:
    runs = f"{summary['runs']} run{'' if summary['runs'] == 1 else 's'}"
    return (
        f"{duration(summary['seconds'])} in {runs}, {summary['pages_per_second']} pages/s, "
        f"at most {summary['peak_memory_bytes'] / 1e6:,.0f} MB of memory"
    )


def to_page(summary: dict[str, Any], name: str) -> str:
    """Return a summary as a page that needs nothing else.

    Args:
        summary: See ``summarize``.
        name: Of the store.
    """
    title = html.escape(f"tablerec batch: {name}")
    counted = ("inputs", "equal", "incomplete", "pages", "tables", "doubtful", "failures")
    total = sum(summary["stages"].values()) or 1.0
    stages = sorted(summary["stages"].items(), key=lambda each: -each[1])
    failed = summary["failed"][:_MOST_ON_PAGE]
    more = summary["failures"] - len(failed)
    body = [
        f"<h1>{title}</h1><p>{html.escape(_effort(summary))}</p>",
        _table("Counts", ("", ""), [(key, f"{summary[key]:,}") for key in counted]),
        _table("Seconds by stage", ("Stage", "s", ""), [(s, f"{v:,.1f}", f"{v / total:.0%}") for s, v in stages]),
        _table(
            f"Failures: {summary['failures']:,}",
            ("Input", "Page", "Tries", "Reason"),
            [(each["source"], each["page"] or "", each["tries"], each["reason"]) for each in failed],
        ),
        f"<p>and {more:,} more</p>" if more > 0 else "",
        _table(
            f"Least sure tables, of {summary['doubtful']:,} below {summary['min_confidence']:g}",
            ("Input", "Page", "Table", "Score"),
            [(each["source"], each["page"], each["table"], each["confidence"]) for each in summary["least_sure"]],
        ),
        _table(
            "Slowest pages",
            ("Input", "Page", "s"),
            [(each["source"], each["page"], f"{each['seconds']:.2f}") for each in summary["slowest"][:20]],
        ),
        _table(
            f"Inputs with the content of others: {summary['equal']:,}",
            ("Input", "Same as"),
            [(each["source"], each["first"]) for each in summary["equal_inputs"]],
        ),
        _table("Settings", ("", ""), sorted((summary["settings"] or {}).items())),
    ]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style>{''.join(body)}</html>\n"
    )


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{html.escape(each)}</th>' for each in heads) if any(heads) else ""
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<h2>{html.escape(title)}</h2><table><tr>{head}</tr>{lines}</table>"


def _cell(value: Any) -> str:
    text = html.escape(display_name(str(value)))
    return f'<td class="n">{text}</td>' if isinstance(value, (int, float)) else f"<td>{text}</td>"
