"""Markdown of what device_h100.py's stage `operators` measured: python device_table.py FOLDER.

A row for each operator, forward and gradient; a cell for each type: microseconds, and how many times the floor
that is. The floor is the larger of bytes over the measured rate of copies and operations over that of products.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

DTYPES = ("float32", "tf32", "bfloat16", "float16")


def table(records: list[dict[str, Any]]) -> list[str]:
    """Return the lines of the table, the operators farthest above their floor first."""
    rows: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for record in records:
        if record.get("ratio") is not None and not record["problem"]:
            rows.setdefault((record["name"], record["part"]), {})[record["dtype"]] = record
    worst_first = sorted(rows.items(), key=lambda item: -max(found["ratio"] for found in item[1].values()))
    lines = [f"| operator | | floor, µs | {' | '.join(DTYPES)} |", f"| --- | --- | --- | {'--- | ' * len(DTYPES)}"]
    for (name, part), found in worst_first:
        cells = [
            f"{1e6 * found[dtype]['seconds']:.0f} ({found[dtype]['ratio']:.1f})" if dtype in found else ""
            for dtype in DTYPES
        ]
        floor = next((found[dtype]["floor"] for dtype in DTYPES if dtype in found), 0.0)
        lines.append(f"| {name} | {part} | {1e6 * floor:.1f} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    files = sorted(parser.parse_args().folder.glob("operators-*.json"))
    print("\n".join(table([record for file in files for record in json.loads(file.read_text(encoding="utf-8"))])))


if __name__ == "__main__":
    main()
