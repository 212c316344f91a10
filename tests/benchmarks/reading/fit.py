"""The weights of ``tablerec.ocr.ctc`` and ``tablerec.ocr.cascade``:
``python -m tests.benchmarks.reading.fit [--drawn N] [--crops LIST...] [--model DIR]``.

A developer script, not a test. Lines with known texts are read by LineNet and by PP-OCR: drawn ones that no training
saw, half of them with fonts and effects of training, and crops of real pictures in PaddleOCR's format, such as those of
``data/datasets/agreed_lines``. The texts of these are right by agreement of PP-OCR's readings, which speaks too well of
it; drawn ones are harder than most real ones, which speaks too ill: it is fitted on both. Printed are the weights with
which evidence tells how likely a reading is right in all characters, what that is worth on lines that the fit did not
see, and for several thresholds of the cascade how many lines are read again and how many are right then.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from postprocess.arrays import Flags, Floats
from tablerec.models.folder import LINENET_WEIGHTS
from tablerec.ocr import cascade, ctc
from tablerec.ocr.linenet import LineNetEngine
from tablerec.ocr.rapidocr import RapidOcrEngine
from tests.benchmarks.fitting import (
    FOLDS,
    fit_binary,
    predict,
    report_reliability,
    spread_over_folds,
    to_array,
    to_source,
)
from tests.benchmarks.reading.lines import KnownLine, are_right, drawn_lines, listed_lines

SHRINK = 1.0
"""Half of it times the squared weights is added to the loss."""
THRESHOLDS = (0.9, 0.95, 0.97, 0.98, 0.99, 0.995)
_AT_ONCE = 256


def nothing(image: object) -> Floats:
    """Find no lines: crops are given."""
    return np.zeros((0, 4, 2), np.float32)


def read(
    lines: Sequence[KnownLine], fast: LineNetEngine, slow: RapidOcrEngine
) -> tuple[Floats, Flags, Floats, Flags, Flags]:
    """Read lines with both.

    Returns:
        Evidence of LineNet's readings, and whether they are right; the same of PP-OCR; and whether it knows all the
        characters that LineNet read.
    """
    ours, theirs, texts, their_texts, knows = [], [], [], [], []
    known = slow.characters - cascade.WEAK
    for start in range(0, len(lines), _AT_ONCE):
        crops = [line.crop for line in lines[start : start + _AT_ONCE]]
        for crop, reading in zip(crops, fast.read_lines(crops), strict=True):
            ours.append(ctc.gather_evidence(reading, crop.shape[0]))
            texts.append(reading.text)
            knows.append(known.issuperset(reading.text))
        for line in slow.recognize(crops):
            theirs.append(cascade.gather_evidence(line))
            their_texts.append(line.text)
        print(f"\r{min(start + _AT_ONCE, len(lines))} of {len(lines)} ", end="", flush=True)
    right, their_right = np.array(are_right(texts, lines)), np.array(are_right(their_texts, lines))
    return to_array(ours), right, to_array(theirs), their_right, np.array(knows)


def unseen(evidence: Floats, right: Flags) -> Floats:
    """Probabilities of lines that the fit did not see."""
    folds = spread_over_folds([str(number) for number in range(len(right))])
    chances = np.zeros(len(right))
    for fold in range(FOLDS):
        seen = folds != fold
        chances[~seen] = predict(*fit_binary(evidence[seen], right[seen].astype(float), SHRINK), evidence[~seen])
    return chances


def report_thresholds(ours: Floats, right: Flags, theirs: Floats, their_right: Flags, knows: Flags, n: Flags) -> None:
    """Print what the cascade is worth, by its threshold for a character.

    Args:
        ours: Probabilities that LineNet is right.
        right: Whether it is.
        theirs: The same of PP-OCR.
        their_right: The same of PP-OCR.
        knows: Whether PP-OCR knows the characters that LineNet read.
        n: Number of the characters that it read.
    """
    print(f"LineNet alone {right.mean():.4f}, PP-OCR alone {their_right.mean():.4f}")
    at_best = np.where(knows, 1.0, 1 - ours ** (1 / np.maximum(n, 1)))
    for threshold in THRESHOLDS:
        asked = (ours < threshold ** np.maximum(n, cascade.FEWEST)) & (at_best > ours)
        taken = asked & (theirs * at_best > ours)
        together = np.where(taken, their_right, right).mean()
        print(f"   below {threshold}: {asked.mean():.3f} read again, right {together:.4f}")


def main() -> None:
    """Read, fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drawn", type=int, default=4000, help="drawn lines")
    parser.add_argument("--crops", type=Path, nargs="*", default=[], help="lists of real crops")
    parser.add_argument("--most-crops", type=int, default=2000, help="of each list")
    parser.add_argument("--model", type=Path, default=LINENET_WEIGHTS, help="folder of a LineNet")
    options = parser.parse_args()
    lines = [line for split in ("train", "unseen") for line in drawn_lines(options.drawn // 2, split=split)]
    lines += [line for path in options.crops for line in listed_lines(path, options.most_crops)]
    ours, right, theirs, their_right, knows = read(lines, LineNetEngine(nothing, options.model), RapidOcrEngine())
    print()
    is_drawn = np.array([line.kind != "real" for line in lines])
    bias, weights = fit_binary(ours, right.astype(float), SHRINK)
    print("tablerec/ocr/ctc.py:", f"BIAS = {bias:.3f}", to_source("WEIGHTS", ctc.Evidence(*weights)), sep="\n")
    their_bias, their_weights = fit_binary(theirs[knows], their_right[knows].astype(float), SHRINK)
    source = to_source("WEIGHTS", cascade.Evidence(*their_weights))
    print("tablerec/ocr/cascade.py:", f"BIAS = {their_bias:.3f}", source, sep="\n")
    chances, their_chances = unseen(ours, right), predict(their_bias, their_weights, theirs)
    for name, chosen in (("drawn", is_drawn), ("real", ~is_drawn)):
        if chosen.any():
            report_reliability(f"LineNet, {name}", chances[chosen], right[chosen].astype(float))
    report_reliability("PP-OCR", unseen(theirs[knows], their_right[knows]), their_right[knows].astype(float))
    length = np.expm1(ours[:, list(ctc.Evidence.__dataclass_fields__).index("length")])
    for name, chosen in (("drawn", is_drawn), ("real", ~is_drawn)):
        if chosen.any():
            parts = (each[chosen] for each in (chances, right, their_chances, their_right, knows, length))
            print(name, end=": ")
            report_thresholds(*parts)


if __name__ == "__main__":
    main()
