"""Whether docling gets our tables whole: ``python -m tests.benchmarks.outputs.docling_html FOLDER... [--count N]``.

Each picture is a page of docling that is one table. The HTML that docling exports of what the plugin gives it is
compared with our own HTML of the same picture, cell by cell: place, spans and text. Prints the pictures that differ,
the tables that are in the one only, how many texts were logged because no cell has them, and the seconds of each way.
Needs ``docling``, or ``docling-slim`` without its models.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path

SUFFIXES = {".png", ".jpg", ".jpeg"}

Span = tuple[int, int, int, int, str]


def spans(html: str) -> list[Span]:
    """Row, column, end row, end column and text of each cell of the first table, blanks made one."""
    from postprocess.export.html import html_to_tables

    return [
        (cell.row, cell.col, cell.end_row, cell.end_col, " ".join(cell.text.split()))
        for table in html_to_tables(html)[:1]
        for cell in table.cells
    ]


class Told(logging.Handler):
    """Counts what the plugin logs of texts in no cell."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count a record."""
        self.texts += "is in no cell" in record.getMessage()


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--count", type=int, help="of each folder, evenly spread; all where it is not given")
    parser.add_argument("--ocr", default="tablerec", help="what reads the pictures")
    options = parser.parse_args(arguments)

    import cv2
    import numpy as np
    from docling.datamodel.accelerator_options import AcceleratorOptions

    from postprocess.export.html import table_to_html
    from postprocess.table import flatten
    from tablerec import Recognizer, Settings
    from tablerec.plugins.docling import TablerecOptions
    from tablerec.plugins.docling.model import TablerecModel
    from tests.helpers.docling.pages import make_cluster, make_page, make_result, to_html

    model = TablerecModel(True, None, TablerecOptions(ocr=options.ocr), AcceleratorOptions(device="cpu"))
    recognizer = Recognizer(Settings(layout="table", ocr=options.ocr))
    told = Told()
    logging.getLogger("tablerec.plugins.docling").addHandler(told)
    logging.getLogger("tablerec.plugins.docling").propagate = False
    blank = np.full((64, 64, 3), 255, np.uint8)
    model.predict_tables(make_result(), [make_page(blank, [make_cluster((0, 0, 64, 64))])])  # loads the models
    recognizer.recognize(blank)
    equal = total = 0
    seconds = {"our own": 0.0, "docling": 0.0}
    for folder in options.folders:
        pictures = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
        step = max(1, len(pictures) // options.count) if options.count else 1
        for path in pictures[::step][: options.count]:
            image = cv2.imread(str(path))
            page = make_page(image, [make_cluster((0, 0, image.shape[1], image.shape[0]))])
            started = time.perf_counter()
            (found,) = model.predict_tables(make_result(), [page])
            middle = time.perf_counter()
            ours = recognizer.recognize(image).tables[:1]
            seconds["docling"] += middle - started
            seconds["our own"] += time.perf_counter() - middle
            total += 1
            theirs = [spans(to_html(table)) for table in found.table_map.values()]
            expected = [spans(table_to_html(flatten(table).from_left())) for table in ours]
            equal += theirs == expected
            if theirs != expected:
                print(
                    f"{path.name}: {list(map(len, theirs))} cells in docling's HTML, {list(map(len, expected))} in ours"
                )
    print(f"{equal} of {total} pictures have the same cells; {told.texts} texts are in no cell, and were logged")
    print(", ".join(f"{name}: {value:.1f} s" for name, value in seconds.items()))


if __name__ == "__main__":
    main()
