"""How well drawn lines are read that no training saw:
``python -m tests.benchmarks.reading.scripts_drawn [--ocr tablerec --ocr auto] [--count N] [--kind KIND...]``.

A developer script, not a test. Lines of each kind are drawn with fonts and effects that are kept from training, cut as
a text detector cuts them. By kind and engine: error rate of characters and share of lines without an error, in all
characters; and of the signs that the kind is about, such as check boxes, raised signs and dashes, the share that was
read in its place. ``--examples`` prints misread lines. Without dictionaries of the languages on the machine or in the
folder of TABLEREC_FONTS words are random letters, which are read four times as badly: it says so.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from postprocess.raised import SUBSCRIPTS, SUPERSCRIPTS
from tablerec.config import Settings
from tablerec.models.characters import normalize_label
from tablerec.ocr import make_ocr_engine
from tablerec.ocr.ctc import to_reading_order
from tablerec.ocr.line import Line
from tablerec.ocr.lines import CropReader
from tablerec.synth.lines.lexicon import LANGUAGES, words
from tests.benchmarks.reading.lines import KnownLine, drawn_lines
from tests.benchmarks.reading.tables import error_count

SIGNS = {
    "checkbox": frozenset("☐☑☒✓✗"),
    "raised": frozenset((*SUPERSCRIPTS.values(), *SUBSCRIPTS.values(), "°")),
    "dash": frozenset("-–—−"),
}
"""The signs that a kind of lines is about."""
KINDS = ("cyrillic", "greek", "hebrew", "arabic", *SIGNS, "number", "latin", "chinese")
_AT_ONCE = 128


def signs_right(true: Sequence[str], read: Sequence[str], signs: frozenset[str]) -> tuple[int, int]:
    """How many signs of the texts were read as such in the best alignment of both, and how many there are.

    >>> signs_right(["a-b–"], ["a-b-"], SIGNS["dash"])
    (1, 2)
    """
    from rapidfuzz.distance import Levenshtein

    n_right = 0
    for wanted, found in zip(true, read, strict=True):
        wrong = {
            place
            for each in Levenshtein.opcodes(wanted, found)
            if each.tag != "equal"
            for place in range(each.src_start, each.src_end)
        }
        n_right += sum(char in signs and place not in wrong for place, char in enumerate(wanted))
    return n_right, sum(char in signs for text in true for char in text)


def read(engine: CropReader, lines: Sequence[KnownLine]) -> list[str]:
    """The texts that an engine reads, as labels, in reading order."""
    texts: list[str] = []
    for start in range(0, len(lines), _AT_ONCE):
        crops = [line.crop for line in lines[start : start + _AT_ONCE]]
        texts += [normalize_label(line.text) for line in engine.check(crops, engine.recognize(crops))]
    return texts


def main() -> None:
    """Draw, read, and print a line for each kind and engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ocr", action="append", help="as of tablerec; several are compared  [tablerec]")
    parser.add_argument("--kind", nargs="*", default=KINDS)
    parser.add_argument("--count", type=int, default=300, help="lines of each kind")
    parser.add_argument("--examples", type=int, default=0, help="misread lines to print of each kind")
    options = parser.parse_args()
    without = [language for language in LANGUAGES if not words(language)]
    if without:
        print(f"random letters for want of dictionaries: {', '.join(without)}")
    engines = {name: make_ocr_engine(Settings(ocr=name)) for name in options.ocr or ["tablerec"]}
    for kind in options.kind:
        lines = list(drawn_lines(options.count, kind, "unseen"))
        true = [normalize_label(to_reading_order(Line(line.text, 1.0)).text) for line in lines]
        for name, engine in engines.items():
            found = read(engine, lines)  # type: ignore[arg-type]
            errors = error_count(found, true) / max(1, sum(map(len, true)))
            right = sum(a == b for a, b in zip(true, found, strict=True)) / max(1, len(true))
            n_right, n_signs = signs_right(true, found, SIGNS.get(kind, frozenset()))
            signs = f"  signs {n_signs:5}, right {n_right / n_signs:.4f}" if n_signs else ""
            print(f"{kind:10} {name:10} lines {len(lines)}  CER {errors:.4f}  right {right:.4f}{signs}")
            wrong = [pair for pair in zip(true, found, strict=True) if pair[0] != pair[1]]
            for wanted, got in wrong[: options.examples]:
                print(f"    {wanted!r} read as {got!r}")


if __name__ == "__main__":
    main()
