"""Markdown of what ``card.py`` measured: ``python -m tests.benchmarks.devices.table FOLDER``.

The tables of ``tablerec/devices/MEASURED.md`` by section, and the lines of the stages that are told in words. In the
table of operators a cell holds microseconds of a call, and how many times the floor of its type its kernels alone took:
the larger of bytes over the measured rate of copies and operations over that of products. The floor shown is that of
the first type.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tests.benchmarks.devices.stages import RESULTS

DTYPES = ("float32", "tf32", "bfloat16", "float16")
Record = dict[str, Any]
Cells = dict[str, dict[str, str]]
"""Rows by label, their cells by column."""


def markdown(cells: Cells, columns: list[str]) -> list[str]:
    """Return the lines of a table; what was not measured is empty."""
    lines = [f"| | {' | '.join(columns)} |", f"| --- |{' --- |' * len(columns)}"]
    return lines + [
        f"| {label} | {' | '.join(row.get(name, '') for name in columns)} |" for label, row in cells.items()
    ]


def training(records: list[Record]) -> list[str]:
    """Images/s: with the bench's loss, and with that of the product."""
    cells: Cells = {}
    for record in records:
        run = record.get("run")
        if record["of"].startswith("speed:") and run:
            column = f"{run['dtype']} {run['amp']}".strip()
            label = f"`{run['network']}`, {run['batch']} x {run['size']}: forward, backward, AdamW"
            cells.setdefault(label, {})[column] = f"{record['images_per_second']:,.0f}"
        elif record["of"].startswith("training:") and "seconds" in record:
            column = "tf32" if record["dtype"] == "tf32" else "bfloat16 O1"
            label = f"`{record['network']}`, {record['batch']} x {record['size']}: with the loss of `tablerec.training`"
            cells.setdefault(label, {})[column] = f"{record['batch'] / record['seconds']:,.0f}"
    return markdown(cells, ["tf32", "bfloat16 O1", "bfloat16 O2"])


def inference(records: list[Record]) -> list[str]:
    """RT-DETR: milliseconds for one picture, images/s for several. CellNet: images/s."""
    cells: Cells = {}
    for record in records:
        run = record.get("run")
        if record["of"].startswith("rtdetr:") and run:
            one = run["batch"] == 1
            shown = f"{1000 * record['seconds']:.1f} ms" if one else f"{record['images_per_second']:,.0f} images/s"
            label = f"`{run['network']}`, {run['batch']} x {run['size']}, {run['mode']}"
            cells.setdefault(label, {})[run["dtype"]] = shown
        elif record["of"].startswith("cellnet:") and "seconds" in record:
            label = f"`cellnet`, {record['batch']} x {record['size']}, {record['mode']}"
            cells.setdefault(label, {})[record["dtype"]] = f"{record['batch'] / record['seconds']:,.0f} images/s"
    return markdown(cells, list(DTYPES[:3]))


def operators(records: list[Record]) -> list[str]:
    """The operators farthest above their floor first."""
    rows: dict[tuple[str, str], dict[str, Record]] = {}
    for record in records:
        if record.get("ratio") is not None and not record["problem"]:
            rows.setdefault((record["name"], record["part"]), {})[record["dtype"]] = record
    cells: Cells = {}
    for (name, part), found in sorted(rows.items(), key=lambda row: -max(one["ratio"] for one in row[1].values())):
        shown = {dtype: f"{1e6 * one['seconds']:.0f} ({one['ratio']:.1f})" for dtype, one in found.items()}
        floor = next(found[dtype]["floor"] for dtype in DTYPES if dtype in found)
        cells[f"{name} | {part}"] = {"floor, µs": f"{1e6 * floor:.1f}", **shown}
    head, _, *lines = markdown(cells, ["floor, µs", *DTYPES])
    return [head.replace("| |", "| operator | |", 1), "| --- | --- |" + " --- |" * 5, *lines]


def words(records: list[Record], *stages: str) -> list[str]:
    """What was printed, for the sections in words."""
    return [record["text"] for record in records if record["of"].split(":")[0] in stages and record["text"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    path = parser.parse_args().folder / RESULTS
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    sections = {
        "The card": words(records, "run"),
        "Training, images/s": training(records),
        "Inference": inference(records),
        "Agreement": words(records, "parity", "flat"),
        "Inference, in words": [text for text in words(records, "cellnet", "rtdetr") if "equal to eager" in text],
        "Failures": words(records, "failures"),
        "Operators": [*(text for text in words(records, "operators") if "copy" in text), "", *operators(records)],
    }
    for title, lines in sections.items():
        print("\n".join([f"## {title}", "", *lines, ""]))


if __name__ == "__main__":
    main()
