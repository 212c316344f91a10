"""Lines of text found, CellNet's pass and PP-OCR's two passes side by side:
``python -m tests.benchmarks.reading.lines_found FOLDER [--detector-dir DIR] [--count N] [--sheet FILE]``.

A developer script, not a test. ``FOLDER`` holds tables whose texts or cells have boxes, such as those of
``../shared/bench/dev``; both finders see each picture in one run, in turns. A true box is found if lines cover 70 % of
its ink and none of them reaches into another box by more than a fifth of the ink there: a line over two cells finds
neither. By source, for each finder: the share of boxes found (recall), the share of lines in the table whose middle
lies in a true box (precision), boxes lost to lines that reach too far (joined), and seconds a picture. ``--sheet`` is
a picture of what was missed by CellNet's pass alone.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats, Image
from postprocess.geometry.boxes import cells_to_quads, quads_to_boxes
from tablerec.config import Settings
from tablerec.detect.factory import make_line_finder
from tablerec.evaluate.truth import Truth
from tablerec.inputs.images import load_pages
from tablerec.ocr.edges import settle
from tablerec.ocr.lines import find_lines
from tablerec.ocr.rapidocr import RapidOcrEngine
from tests.benchmarks.reading.tables import sample_truths

COVERED = 0.7
"""Share of the ink of a box that lines cover, where it is found."""
TOO_FAR = 0.2
"""Share of the ink of another box that a line may touch."""
INK = 40
"""Difference from the ground, of 255."""
RULE = 50
"""Pixels: what goes on for so long without a gap is a rule or a fill, no ink of text."""

Finder = Callable[[Image], NDArray[np.float32]]


@dataclass
class Sums:
    """Of the pictures of a source."""

    boxes: int = 0
    found: int = 0
    joined: int = 0
    lines: int = 0
    right: int = 0
    seconds: float = 0.0
    pictures: int = 0

    def __str__(self) -> str:
        recall, precision, joined = (
            100 * part / max(whole, 1)
            for part, whole in ((self.found, self.boxes), (self.right, self.lines), (self.joined, self.boxes))
        )
        return f"{recall:7.2f}{precision:8.2f}{joined:8.2f}{self.seconds / max(self.pictures, 1):8.2f}"


def true_boxes(truth: Truth, image: Image) -> Floats:
    """``(N, 4)`` boxes with text in them; of cells and grid regions without their rulings."""
    placed = [cell for cell in truth.table.cells if cell.quad is not None]
    boxes = quads_to_boxes(cells_to_quads(placed)) if placed else np.empty((0, 4))
    if truth.boxes_are_cells or truth.source.startswith("scitsr"):
        boxes = boxes + np.array([3, 3, -3, -3])
    boxes = boxes.clip(0, np.array([image.shape[1], image.shape[0]] * 2))
    return boxes[(boxes[:, 2:] - boxes[:, :2]).min(axis=1, initial=9e9) >= 3] if len(boxes) else boxes


def find_ink(image: Image) -> NDArray[np.bool_]:
    """Where a picture differs from the ground around, without rules and fills."""
    import cv2

    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    ground = cv2.medianBlur(grey, min(51, 2 * (min(grey.shape) // 2) - 1)) if min(grey.shape) > 4 else grey
    ink = (np.abs(grey.astype(np.int16) - ground) > INK).astype(np.uint8)
    runs = [cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones(size, np.uint8)) for size in ((1, RULE), (RULE, 1))]
    return np.asarray((ink > 0) & (cv2.dilate(cv2.max(*runs), np.ones((3, 3), np.uint8)) == 0))


def judge(quads: NDArray[np.float32], boxes: Floats, ink: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], int, int, int]:
    """Which boxes are found, how many are lost to joined lines; lines in the table, and those with text in it."""
    import cv2

    covers = np.zeros(ink.shape, np.int32)
    reach = np.zeros((len(quads), len(boxes)))
    spans = [tuple(slice(int(a), int(np.ceil(b))) for a, b in ((y0, y1), (x0, x1))) for x0, y0, x1, y1 in boxes]
    totals = np.array([ink[span].sum() for span in spans], float).reshape(-1)
    held = np.zeros((len(quads), len(boxes)))
    for line, quad in enumerate(quads):
        mask = np.zeros(ink.shape, np.uint8)
        cv2.fillConvexPoly(mask, np.rint(quad).astype(np.int32), 1)
        covers[mask > 0] = line + 1
        x0, y0, x1, y1 = quads_to_boxes(quad[None])[0]
        near = (boxes[:, 0] < x1) & (boxes[:, 2] > x0) & (boxes[:, 1] < y1) & (boxes[:, 3] > y0)
        for index in np.flatnonzero(near):
            held[line, index] = (mask[spans[index]] & ink[spans[index]]).sum()
    reach = held / np.maximum(totals, 1)
    has_ink = totals >= 4
    own = np.zeros(len(boxes))
    joined = np.zeros(len(boxes), bool)
    for line in range(len(quads)):
        touched = np.flatnonzero((reach[line] > TOO_FAR) & has_ink)
        if len(touched) > 1:
            joined[touched] |= reach[line, touched] > 0.5
        elif len(touched) == 1:
            own[touched[0]] += held[line, touched[0]]
    found = own >= COVERED * np.maximum(totals, 1)
    middles = quads.mean(axis=1)[:, None]
    inside = ((middles >= boxes[:, :2]) & (middles <= boxes[:, 2:])).all(axis=2).any(axis=1)
    low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    in_table = ((middles[:, 0] > low) & (middles[:, 0] < high)).all(axis=1)
    return found[has_ink], int((joined & ~found)[has_ink].sum()), int(in_table.sum()), int((in_table & inside).sum())


def main() -> None:
    """Compare the finders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--detector-dir", type=Path, default=None, help="an exported CellNet; none: the package's")
    parser.add_argument("--count", type=int, default=None, help="so many tables, sources taking turns")
    parser.add_argument("--source", default="", help="only sources that begin so")
    parser.add_argument("--sheet", type=Path, default=None)
    options = parser.parse_args()
    ours = make_line_finder(Settings(detector="cellnet", detector_dir=options.detector_dir))
    if ours is None:
        raise SystemExit("the network has no branch for lines: name one that has with --detector-dir")
    engine = RapidOcrEngine()
    finders: dict[str, Finder] = {"PP-OCR": lambda image: find_lines(engine, image), "CellNet": lambda image: settle(ours.find(image), image)}
    sums: dict[tuple[str, str], Sums] = defaultdict(Sums)
    missed: list[Image] = []
    for truth in sample_truths(options.folder, options.count, with_text=False):
        image = next(iter(load_pages(truth.image, Settings()))).image
        boxes, ink = true_boxes(truth, image), find_ink(image)
        if not len(boxes) or not truth.source.startswith(options.source):
            continue
        found: dict[str, NDArray[np.bool_]] = {}
        for name, finder in finders.items():
            started = time.perf_counter()
            quads = finder(image)
            seconds = time.perf_counter() - started
            found[name], joined, n_lines, n_right = judge(quads, boxes, ink)
            for key in (truth.source, "all"):
                total = sums[key, name]
                total.boxes, total.found = total.boxes + len(found[name]), total.found + int(found[name].sum())
                total.joined, total.lines, total.right = (
                    total.joined + joined,
                    total.lines + n_lines,
                    total.right + n_right,
                )
                total.seconds, total.pictures = total.seconds + seconds, total.pictures + 1
        if options.sheet and (lost := ~found["CellNet"] & found["PP-OCR"]).sum() > 2:
            missed.append(_draw(image, quads, boxes[_has_ink(boxes, ink)][lost], truth.id))
    print(f"{'source':<20}{'boxes':>7}" + "".join(f"{name:>10}: recall  prec.  joined   s" for name in finders))
    for source in dict.fromkeys(source for source, _ in sums):
        print(
            f"{source:<20}{sums[source, 'CellNet'].boxes:>7}  "
            + "    ".join(str(sums[source, name]) for name in finders)
        )
    if options.sheet:
        _write_sheet(options.sheet, missed)


def _has_ink(boxes: Floats, ink: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.array(
        [ink[int(y0) : int(np.ceil(y1)), int(x0) : int(np.ceil(x1))].sum() >= 4 for x0, y0, x1, y1 in boxes]
    )


def _draw(image: Image, quads: NDArray[np.float32], lost: Floats, name: str) -> Image:
    import cv2

    drawn = image.copy()
    cv2.polylines(drawn, list(np.rint(quads).astype(np.int32)), True, (0, 160, 0), 1)
    for x0, y0, x1, y1 in lost.round().astype(int).tolist():
        cv2.rectangle(drawn, (x0, y0), (x1, y1), (0, 0, 230), 1)
    cv2.putText(drawn, name, (2, 10), cv2.FONT_HERSHEY_SIMPLEX, 0.35, (200, 0, 0), 1)
    return np.asarray(drawn[:800, :900], np.uint8)


def _write_sheet(path: Path, pictures: list[Image]) -> None:
    import cv2

    rows = []
    for start in range(0, len(pictures), 3):
        row = pictures[start : start + 3]
        height = max(each.shape[0] for each in row)
        padded = [
            cv2.copyMakeBorder(each, 0, height - each.shape[0], 0, 900 - each.shape[1], cv2.BORDER_CONSTANT)
            for each in row
        ]
        padded += [np.zeros((height, 900, 3), np.uint8)] * (3 - len(row))
        rows.append(np.hstack(padded))
    if rows:
        cv2.imwrite(str(path), np.vstack(rows[:12]))


if __name__ == "__main__":
    main()
