"""Numbers under seals:
``python -m tests.benchmarks.seals.numbers [--count 100] [--seed N] [--ocr NAME] [--pictures FOLDER] [--causes]``.

A developer script, not a test. So many tables of numbers are drawn with a seal over some of them, as ink, under or
over the print, and saved as programs, scanners and cameras do; the seals are those that no training sees. Each is read
as it is (``seals=keep``) and with the seals apart (``separate``). As many without seals, with coloured heads, fills,
rules, negative numbers and logos, and all pictures of FOLDER, show what is taken for a seal that is none.

Per setting: numbers under a seal, share of them right in their cells, seconds a picture; ``no seal`` is of the same
pictures before the seal. Then: seals found, share of their characters read, pictures without a seal in which one was
found, and how many of their numbers are read as they are without separation. ``--causes`` adds why numbers are wrong.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

import cv2
import numpy as np

from postprocess.geometry.boxes import boxes_to_quads
from tablerec import Page, Recognizer, Settings
from tablerec.inputs.seals import find_shapes, without_seals
from tablerec.ocr import OcrEngine, make_ocr_engine
from tests.benchmarks.seals.drawing import Drawn, draw, pictures_in
from tests.benchmarks.text.ocr import plain

SEED = 2029


def text_at(page: Page, box: Sequence[float]) -> str:
    """Text of the cell in which the middle of a box lies."""
    middle = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
    for table in page.tables:
        for cell in table.cells:
            if cell.quad is not None and cv2.pointPolygonTest(np.array(cell.quad, np.float32), middle, False) >= 0:
                return plain(cell.text)
    return ""


def right_numbers(page: Page, drawn: Drawn) -> list[bool]:
    """Which numbers are right in their cells."""
    return [text_at(page, box) == plain(text) for text, box in drawn.numbers]


def likeness(said: str, read: str) -> float:
    """Share of the characters of a text that were read in their order."""
    matched = SequenceMatcher(None, plain(said), plain(read), autojunk=False).get_matching_blocks()
    return sum(block.size for block in matched) / max(1, len(plain(said)))


def causes(page: Page, drawn: Drawn, found: bool, ocr: OcrEngine) -> list[str]:
    """Why numbers are wrong: the first of these that holds.

    ``read wrong without the seal``; ``seal not found``; ``a point or comma``; ``a sign``; ``parted badly``: the
    number's own place without the seal is read wrong as well; ``wrong words``: it is read right there, but not in its
    cell.
    """
    cleaned, _ = without_seals(drawn.image)
    said = []
    for (text, box), ok in zip(drawn.numbers, right_numbers(page, drawn), strict=True):
        wanted, read = plain(text), text_at(page, box)
        if ok:
            continue
        if _read_at(drawn.bare, box, ocr) != wanted:
            said.append("read wrong without the seal")
        elif not found:
            said.append("seal not found")
        elif read.translate(_NO_MARKS) == wanted.translate(_NO_MARKS):
            said.append("a point or comma")
        elif read.lstrip("-") == wanted.lstrip("-"):
            said.append("a sign")
        else:
            said.append("wrong words" if _read_at(cleaned, box, ocr) == wanted else "parted badly")
    return said


_NO_MARKS = str.maketrans("", "", ".,")


def _read_at(image: np.ndarray, box: Sequence[float], ocr: OcrEngine) -> str:
    x0, y0, x1, y1 = box
    ground = 0.22 * (y1 - y0)
    words = ocr.read_quads(image, boxes_to_quads(np.array([[x0 - 6, y0 - ground, x1 + 6, y1 + ground]])))
    return plain("".join(word.text for word in words))


def measure_seals(
    recognizers: dict[str, Recognizer], seed: int, count: int, verbose: bool, ocr: OcrEngine | None = None
) -> None:
    """Print what is read under seals, and of them; why numbers are wrong where an OCR engine is given to find out."""
    wrong_by: Counter[str] = Counter()
    right: dict[str, list[bool]] = {name: [] for name in (*recognizers, "no seal")}
    seconds = dict.fromkeys(recognizers, 0.0)
    found, texts = [], []
    for index in range(count):
        drawn = draw(seed, index, with_seal=True)
        bare = recognizers["keep"].recognize(drawn.bare).pages[0]
        right["no seal"] += right_numbers(bare, drawn)
        for name, recognizer in recognizers.items():
            started = time.perf_counter()
            [page] = recognizer.recognize(drawn.image).pages
            seconds[name] += time.perf_counter() - started
            these = right_numbers(page, drawn)
            right[name] += these
            if name == "separate":
                x0, y0, x1, y1 = drawn.box
                middles = [np.mean(seal.quad, axis=0) for seal in page.seals]
                here = [s for s, (x, y) in zip(page.seals, middles, strict=True) if x0 < x < x1 and y0 < y < y1]
                found.append(bool(here))
                texts.append(max((likeness(drawn.seal, seal.text) for seal in here), default=0.0))
                if ocr is not None:
                    wrong_by.update(causes(page, drawn, bool(here), ocr))
                if verbose:
                    wrong = [
                        f"{text} as {text_at(page, box)!r}"
                        for (text, box), ok in zip(drawn.numbers, these, strict=True)
                        if not ok
                    ]
                    print(index, "found" if here else "MISSED", wrong, [seal.text for seal in here], repr(drawn.seal))
    for name, each in right.items():
        took = f"{seconds[name] / count:6.2f} s" if name in seconds else ""
        print(f"{name:9} {len(each):5} numbers {np.mean(each):7.1%} right {took}")
    print(f"seals     {np.mean(found):7.1%} found {np.mean(texts):7.1%} of their characters read")
    for cause, n_numbers in wrong_by.most_common():
        print(f"wrong     {n_numbers:5} {cause}")


def measure_others(recognizers: dict[str, Recognizer], seed: int, count: int, folder: Path | None) -> None:
    """Print what is taken for a seal where there is none, and whether it changes what is read."""
    with_seal, same, n_numbers = 0, 0, 0
    for index in range(count):
        drawn = draw(seed, index, with_seal=False)
        if not find_shapes(drawn.image):
            continue  # the picture is read as it is
        with_seal += 1
        pages = [recognizer.recognize(drawn.image).pages[0] for recognizer in recognizers.values()]
        texts = [[text_at(page, box) for _, box in drawn.numbers] for page in pages]
        n_numbers += len(texts[0])
        same += sum(a == b for a, b in zip(*texts, strict=True))
    print(
        f"without   {with_seal} of {count} drawn pictures with a seal; {same} of {n_numbers} numbers in these the same"
    )
    if folder is not None:
        paths = pictures_in(folder)
        names = [path.name for path in paths if (image := cv2.imread(str(path))) is not None and find_shapes(image)]
        print(f"pictures  {len(names)} of {len(paths)} with a seal: {', '.join(names)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=SEED, help="a fresh one shows what a change is worth")
    parser.add_argument("--ocr", default=Settings().ocr)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--causes", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    ocr = make_ocr_engine(Settings(ocr=args.ocr))
    recognizers = {name: Recognizer(Settings(ocr=args.ocr, seals=name), ocr=ocr) for name in ("keep", "separate")}  # type: ignore[arg-type]
    measure_seals(recognizers, args.seed, args.count, args.verbose, ocr if args.causes else None)
    measure_others(recognizers, args.seed, args.count, args.pictures)


if __name__ == "__main__":
    main()
