"""Seconds from Table to each format: ``python -m tests.benchmarks.outputs.excel``.

A developer script, not a test: times depend on the machine. Wanted are 10,000
cells in a workbook within 2 seconds, 1,000 cells in HTML within a few milliseconds.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable

from postprocess import export
from postprocess.cell import Cell
from postprocess.meaning.headers import mark_headers
from postprocess.table import Table

TEXTS = ["1,234.50", "(5.2)", "12.5%", "2026-01-02", "表格 内容", "a longer text with\na second line", "=1+1", ""]


def make_table(n_rows: int, n_cols: int) -> Table:
    """Return a table of data with a header row of spans and a stub column."""
    head = [Cell(0, col, colspan=2, text=f"Group {col // 2}") for col in range(0, n_cols, 2)]
    body = [
        Cell(row, col, text=TEXTS[(row + col) % len(TEXTS)] if col else f"Item {row}")
        for row in range(1, n_rows)
        for col in range(n_cols)
    ]
    return Table(head + body)


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the shortest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print one line for each format and size."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for n_rows, n_cols, repeats in [(100, 10, 20), (1000, 10, 3)]:
        table = make_table(n_rows, n_cols)
        html = export.table_to_html(table)
        works: dict[str, Callable[[], object]] = {
            "mark_headers": lambda table=table: mark_headers(table),
            "HTML": lambda table=table: export.table_to_html(table),
            "HTML, read back": lambda html=html: export.html_to_table(html),
            "CSV": lambda table=table: export.table_to_csv(table),
            "Markdown": lambda table=table: export.table_to_markdown(table),
            "LaTeX": lambda table=table: export.table_to_latex(table),
            "JSON": lambda table=table: export.tables_to_json([table]),
            "Excel": lambda table=table: export.write_excel([table], io.BytesIO()),
        }
        for name, work in works.items():
            print(f"{n_rows * n_cols:6,} cells -> {name:16} {1000 * seconds(work, repeats):8.1f} ms")


if __name__ == "__main__":
    main()
