"""What the OCR engine finds and what it costs: ``python -m tests.benchmarks.text.ocr BENCH [--per-source N]``.

A developer script, not a test. ``BENCH`` holds ``<source>/<id>.json`` with the picture beside it, as
``shared/bench/dev``; pictures whose truth has text are read by RapidOCR as it comes and by ``RapidOcrEngine``.
Both use one thread, and seconds are of the CPU, so that a busy machine does not matter: compare within one run.
"""

from __future__ import annotations

import argparse
import json
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from postprocess.word import Word
from tablerec.ocr.rapidocr import RapidOcrEngine

SIGNS = str.maketrans({"–": "-", "—": "-", "−": "-", "‐": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "•": "·"})
COLUMNS = ("true", "read", "right", "singles", "singles missing", "second look", "cells", "cells right", "seconds")


def plain(text: str | None) -> str:
    """Return text without spaces, with one form of each sign."""
    return "".join(unicodedata.normalize("NFKC", (text or "").translate(SIGNS)).translate(SIGNS).split())


def characters(words: Iterable[Word]) -> list[tuple[str, float, float]]:
    """Return each character with the middle of its place."""
    found = []
    for word in words:
        corners = np.array(word.quad)
        even = [(i / len(word.text), (i + 1) / len(word.text)) for i in range(len(word.text))]
        for char, (start, end) in zip(word.text, word.char_spans or even, strict=True):
            share = (start + end) / 2
            x, y = (corners[0] + corners[3]) / 2 * (1 - share) + (corners[1] + corners[2]) / 2 * share
            found.append((plain(char), float(x), float(y)))
    return found


def inside(chars: Sequence[tuple[str, float, float]], box: Sequence[float]) -> str:
    """Return the characters in a box of the truth, which may lie close around the text."""
    x0, y0, x1, y1 = box
    slack = 0.2 * min(y1 - y0, 20)
    return "".join(c for c, x, y in chars if x0 - slack <= x <= x1 + slack and y0 - slack <= y <= y1 + slack)


def measure(truth: dict[str, Any], image: np.ndarray, reader: RapidOcrEngine, words: list[Word]) -> np.ndarray:
    """Return the figures of ``COLUMNS`` but the last for one picture."""
    wanted = Counter("".join(plain(cell["text"]) for cell in truth["cells"]))
    got = Counter("".join(plain(word.text) for word in words))
    chars = characters(words)
    cells = [(plain(cell["text"]), cell["bbox"]) for cell in truth["cells"] if cell["bbox"] and plain(cell["text"])]
    singles = [(text, box) for text, box in cells if len(text) == 1]
    missing = [(text, box) for text, box in singles if text not in inside(chars, box)]
    quads = np.array([[(a, b), (c, b), (c, d), (a, d)] for _, (a, b, c, d) in missing], float).reshape(-1, 4, 2)
    again = [reader.read_quads(image, quad[None]) for quad in quads]
    recovered = sum(bool(seen) and plain(seen[0].text) == text for seen, (text, _) in zip(again, missing, strict=True))
    right = sum(Counter(inside(chars, box)) == Counter(text) for text, box in cells)
    return np.array(
        [wanted.total(), got.total(), (wanted & got).total(), len(singles), len(missing), recovered, len(cells), right]
    )


def as_it_comes() -> Callable[[np.ndarray], list[Word]]:
    """Return RapidOCR with its defaults, but without its classifier and its threshold."""
    from rapidocr import RapidOCR

    params = {"Global.use_cls": False, "Global.log_level": "critical", "Global.text_score": 0.0}
    engine = RapidOCR(params={**params, "EngineConfig.onnxruntime.intra_op_num_threads": 1})

    def read(image: np.ndarray) -> list[Word]:
        found = engine(image)
        if found.boxes is None:
            return []
        corners = [tuple((float(x), float(y)) for x, y in box) for box in found.boxes]
        return [Word(text, quad, score) for text, quad, score in zip(found.txts, corners, found.scores, strict=True)]

    return read


def pictures(folder: Path, per_source: int) -> Iterable[tuple[str, dict[str, Any], np.ndarray]]:
    """Yield source, truth and picture, spread evenly over each source."""
    for source in sorted(path for path in folder.iterdir() if path.is_dir()):
        truths = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(source.glob("*.json"))]
        truths = [truth for truth in truths if truth["meta"].get("has_text")]
        for truth in truths[:: max(1, len(truths) // per_source)][:per_source]:
            image = cv2.imread(str(source / truth["image"]))
            if image is not None:
                yield source.name, truth, image


def main() -> None:
    """Print a line for each OCR engine and source."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--per-source", type=int, default=5)
    options = parser.parse_args()
    ours = RapidOcrEngine(threads=1)
    engines = {"as it comes": as_it_comes(), "tablerec": ours.read}
    sums: dict[tuple[str, str], np.ndarray] = defaultdict(lambda: np.zeros(len(COLUMNS)))
    for source, truth, image in pictures(options.bench, options.per_source):
        for name, read in engines.items():
            started = time.process_time()
            words = read(image)
            seconds = time.process_time() - started
            figures = np.append(measure(truth, image, ours, words), seconds)
            sums[source, name] += figures
            sums["all", name] += figures
    for (source, name), sum_ in sorted(sums.items()):
        true, read_, right, singles, missing, recovered, cells, cells_right, seconds = sum_.tolist()
        print(
            f"{source:18} {name:12} characters found {right / max(true, 1):.4f} right {right / max(read_, 1):.4f}  "
            f"single characters missing {missing:.0f} of {singles:.0f}, second look finds {recovered:.0f}  "
            f"cells exact {cells_right / max(cells, 1):.4f}  CPU seconds {seconds:.1f}"
        )


if __name__ == "__main__":
    main()
