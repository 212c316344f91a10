"""Results of a run as JSON and as an aligned table."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from postprocess.geometry.boxes import quads_to_boxes
from tablerec.errors import InputError
from tablerec.evaluate.runner import Case
from tablerec.evaluate.scores import METRICS, mean_of
from tablerec.evaluate.scoring.average_precision import PictureBoxes, average_precision
from tablerec.fields import Fields, number, read_json
from tablerec.inputs.images import display_name

FORMAT_VERSION = 1

T = TypeVar("T")

Entry = Mapping[str, Any]
"""One table in results.json: id, source, missing, scores, seconds and what else is known."""

Summary = Mapping[str, Mapping[str, Any]]
"""Values by source, for ``ALL``, and for ``SOUND``: without the tables whose truth is one of two fair readings."""

MEANS = (*METRICS, "characters_kept", "seconds")
"""Values of an entry that are averaged by source."""

HEADINGS = {
    "n": "n",
    "missing": "miss",
    "grid_size": "grid",
    "adjacency_f1": "adj F1",
    "grits_top": "GriTS",
    "teds_struct": "TEDS-S",
    "teds": "TEDS",
    "exact": "exact",
    "detection_f1_60": "det@.6",
    "detection_f1_80": "det@.8",
    "ap": "AP",
    "ap_50": "AP50",
    "ap_75": "AP75",
    "characters_kept": "kept",
    "seconds": "s",
}
"""Columns of the printed table, by the name in the JSON."""

_PACKAGES = (
    "tablerec numpy opencv-python opencv-python-headless opencv-contrib-python onnxruntime rapidocr "
    "paddlepaddle paddlepaddle-gpu paddlex apted rapidfuzz pycocotools"
)


def to_report(cases: Sequence[Case], settings: Mapping[str, Any], *, interrupted: bool = False) -> dict[str, Any]:
    """Return everything about a run as JSON values."""
    entries = [case_to_entry(case) for case in cases]
    return {
        "format": "tablerec eval",
        "format_version": FORMAT_VERSION,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": versions(),
        "settings": dict(settings),
        "interrupted": interrupted,
        "sources": _with_precision(summarize(entries), cases),
        "tables": entries,
    }


def read_report(path: Path) -> list[Entry]:
    """Return the tables of an earlier results.json.

    Raises:
        InputError: The file is no such thing.
    """
    fields = Fields(path, read_json(path))
    if fields.text("format", "") != "tablerec eval" or fields.whole("format_version", 0) > FORMAT_VERSION:
        raise InputError(f"{path}: is not a results.json of this version of `tablerec eval`")
    return [
        {
            "id": entry.text("id"),
            "source": entry.text("source"),
            "missing": entry.number("missing"),
            "overall": entry.number("overall"),
            **{name: entry.get_or_none(name, number()) for name in MEANS},
        }
        for entry in fields.children("tables")
    ]


def case_to_entry(case: Case) -> Entry:
    """Return one table of the report as JSON values."""
    found, scores = case.prediction, case.scores
    return {
        "id": case.truth.id,
        "source": case.truth.source,
        "is_convention": case.truth.is_convention,
        "missing": scores.missing,
        "error": found.error,
        "detector": found.detector,
        "n_tables": found.n_tables,
        "n_unplaced": found.n_unplaced,
        "n_dropped": found.n_dropped,
        **{name: getattr(scores, name) for name in METRICS},
        "overall": scores.overall,
        "characters_kept": found.characters_kept,
        "seconds": None if found.error else found.total_seconds,
        "seconds_by_stage": dict(found.seconds),
        "words_were_kept": found.words_were_kept,
    }


def summarize(entries: Iterable[Entry]) -> dict[str, dict[str, Any]]:
    """Return number, missing tables and means for each source, for ALL and, where they differ, for SOUND.

    >>> entry = {"source": "a", "missing": 0.0, "exact": 1.0}
    >>> summarize([entry, {**entry, "exact": 0.0}])["ALL"]["exact"]
    0.5
    """
    known = [(entry, entry["source"], entry.get("is_convention", False)) for entry in entries]
    return {name: _summarize_group(group) for name, group in _groups(known).items()}


def _groups(known: Iterable[tuple[T, str, bool]]) -> dict[str, list[T]]:
    """Things of some source, of which some are conventions, as the lines of a report."""
    groups: dict[str, list[T]] = {}
    sound: list[T] = []
    for each, source, is_convention in known:
        groups.setdefault(source, []).append(each)
        if not is_convention:
            sound.append(each)
    groups["ALL"] = [each for group in groups.values() for each in group]
    return groups if len(sound) == len(groups["ALL"]) else {**groups, "SOUND": sound}


def _with_precision(summary: Summary, cases: Sequence[Case]) -> dict[str, dict[str, Any]]:
    """The summary with the average precision of each source: it is of all its cells, no mean over tables."""
    groups = _groups((case, case.truth.source, case.truth.is_convention) for case in cases)
    return {name: {**summary[name], **average_precision(_to_boxes(group))} for name, group in groups.items()}


def _to_boxes(cases: Sequence[Case]) -> list[PictureBoxes]:
    known = [case for case in cases if case.truth.boxes_are_cells]
    detected = [np.array(case.prediction.detected, float).reshape(-1, 5) for case in known]
    return [
        PictureBoxes(quads_to_boxes(case.truth.table.quads), each[:, :4], each[:, 4])
        for case, each in zip(known, detected, strict=True)
    ]


def format_summary(summary: Summary, *, signed: bool = False) -> str:
    """Return a summary as lines of aligned columns; values that cannot be told are ``-``."""
    rows = [["source", *HEADINGS.values()]]
    for source, values in summary.items():
        rows.append([display_name(source), *(_format_value(name, values.get(name), signed) for name in HEADINGS)])
    return align(rows)


def align(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as lines of columns, the first one flush left and the others flush right.

    >>> print(align([["", "n"], ["all", "12"]]))
          n
    all  12
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(_pad(row, widths)) for row in rows)


def versions() -> dict[str, str]:
    """Return the versions of Python, the system and the packages that matter, those that are installed."""
    installed = {package: _version(package) for package in _PACKAGES.split()}
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        **{package: version for package, version in installed.items() if version},
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _summarize_group(entries: Sequence[Entry]) -> dict[str, Any]:
    return {
        "n": len(entries),
        "missing": int(sum(entry["missing"] for entry in entries)),
        "failed": sum(bool(entry.get("error")) for entry in entries),
        **{name: mean_of([entry.get(name) for entry in entries]) for name in MEANS},
        "seconds_by_stage": _mean_seconds(entries),
    }


def _mean_seconds(entries: Sequence[Entry]) -> dict[str, float]:
    stages = dict.fromkeys(stage for entry in entries for stage in entry.get("seconds_by_stage", {}))
    return {stage: mean_of([entry["seconds_by_stage"].get(stage) for entry in entries]) or 0.0 for stage in stages}


def _format_value(name: str, value: float | None, signed: bool) -> str:
    if value is None:
        return "-"
    sign = "+" if signed and name != "n" else ""
    return f"{value:{sign}d}" if isinstance(value, int) else f"{value:{sign}.{2 if name == 'seconds' else 3}f}"


def _pad(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
