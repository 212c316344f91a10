"""Titles and notes of the tables in a folder:
``python -m tests.benchmarks.captions.list_captions FOLDER [--words DIR] [--draw OUT]``.

A developer script, not a test: prints for each picture what was found beside its tables, with its score, and the
words that stayed outside. ``--words`` keeps the OCR engine's words, as ``tablerec eval --words`` does, and takes them
from there; ``--draw`` writes the overlays.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tablerec import Recognizer, Result, Settings, TablerecError, save
from tablerec.evaluate.files import read_words, write_words
from tests.benchmarks.outputs.check_outputs import pictures


def describe(result: Result) -> str:
    """A line for each title, note and table, and one for the words outside."""
    lines = []
    for page in result.pages:
        for number, table in enumerate(page.tables, 1):
            lines.append(f"  table {number}, {table.n_rows} x {table.n_cols}")
            for kind, caption in [("title", table.title)] * bool(table.title) + [
                ("note", note) for note in table.notes
            ]:
                lines.append(f"    {kind} {caption.score:.2f}: {caption.text!r}")
        rest = [item.word.text for item in page.unplaced]
        lines.append(f"  outside, {len(rest)} words: {' | '.join(rest)[:200]!r}")
    return "\n".join(lines)


def main() -> None:
    """Read all pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--words", type=Path)
    parser.add_argument("--draw", type=Path)
    parser.add_argument("--layout", default="page", choices=["page", "table"])
    parser.add_argument("--detector", default="auto")
    args = parser.parse_args()
    recognizer = Recognizer(Settings(layout=args.layout, detector=args.detector))
    for path in pictures(args.folder):
        kept = args.words / f"{path.stem}.json" if args.words else None
        try:
            words = read_words(kept) if kept else None
            result = recognizer.recognize(path, words)
        except TablerecError as error:
            print(f"{path.name}: {error}", flush=True)
            continue
        if kept and words is None:
            write_words(kept, [word for page in result.pages for word in page.words])
        print(f"{path.name}\n{describe(result)}", flush=True)
        if args.draw:
            save(result, args.draw / f"{path.stem}.overlay.png", "overlay")


if __name__ == "__main__":
    main()
