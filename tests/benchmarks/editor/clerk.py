"""What a clerk does in the old and the new editor: ``python -m tests.benchmarks.editor.clerk [FOLDER] [--count 30]``.

FOLDER holds pictures, each of one table, with labels of grid and places; ``../shared/train`` by default. From all kinds
of it, in an order by chance, tables are taken that come out wrong. A scripted clerk corrects each twice, step by step
in a real journal, until grid, spans and texts are right: as in the editor before living text, which keeps no words,
and as it is now. Header rows are not in the labels and left as they are; so is the very place of a line. Printed
are keystrokes, clicks, typed characters and steps, table by table and in sum; then what was done how often. What each
thing costs is in ``tests/helpers/clerk/costs.py``.

The first thirty were looked at when the commands of the editor were chosen: ``--skip 30`` takes those that come next,
of other documents, by which nothing was chosen. ``--without-proposals`` leaves other grids and other readings out.

What was read is kept in ``--kept`` and not read again.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from postprocess.cell import rewrite
from tablerec.config import Settings
from tablerec.corrections.editor import CorrectionFolder, Draft
from tablerec.corrections.proposals.grids import Find
from tablerec.pipeline import Recognizer
from tablerec.result import Page, PageImage
from tests.helpers.clerk.clerking import Clerk, Tally
from tests.helpers.clerk.kept_reader import KeptReader
from tests.helpers.clerk.wrong_tables import WrongTable, grid_of, read_wrong_tables, recognizer

ROOT = Path(__file__).resolve().parents[3]
COUNTS = ("keystrokes", "clicks", "characters", "steps")
AIMS = {"characters": 1 / 5, "steps": 1 / 2}
"""Of what it took before."""


def without_words(draft: Draft) -> Draft:
    """The draft as the editor before living text had it."""
    table = draft.table
    return replace(draft, words=(), table=replace(table, cells=rewrite(table.cells, words=[()] * len(table))))


def correct(wrong: WrongTable, kept: Path, *, is_new: bool, has_proposals: bool) -> tuple[Tally, bool]:
    """Correct a table; returns what it took, and whether it is right now."""
    with tempfile.TemporaryDirectory() as folder:
        draft = wrong.draft if is_new else without_words(wrong.draft)
        correction = CorrectionFolder(Path(folder)).open(draft)
        reader = KeptReader(lambda: recognizer().ocr, kept / "read", "auto") if is_new else None
        find = kept_find(kept / "found") if is_new and has_proposals else None
        clerk = Clerk(correction, wrong, reader, find)
        return clerk.correct(), clerk.is_right


def kept_find(folder: Path) -> Find:
    """Finds the grids of a table as the review does, and keeps them."""

    def find(picture: PageImage) -> list[Page]:
        file = folder / f"{picture.source}.pickle"
        if not file.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            file.write_bytes(pickle.dumps(list(tracer().pages(picture))))
        pages: list[Page] = pickle.loads(file.read_bytes())
        return pages

    return find


@cache
def tracer() -> Recognizer:
    """What finds grids again."""
    settings = Settings(layout="table", turn=0, unwarp="off", seals="keep", trace=True)
    return Recognizer(settings, ocr=recognizer().ocr)


def print_row(name: str, old: Tally, new: Tally, note: str = "") -> None:
    """Print a line of the table."""
    values = "  ".join(f"{getattr(old, count):6}{getattr(new, count):6}" for count in COUNTS)
    print(f"{name:36}  {values}  {note}", flush=True)


def print_actions(old: Tally, new: Tally) -> None:
    """Print what was done how often."""
    print("\nwhat was done, old and new; typed characters of it, old and new")
    for name in sorted({*old.actions, *new.actions}, key=lambda name: -old.actions[name] - new.actions[name]):
        values = old.actions[name], new.actions[name], old.by_action[name], new.by_action[name]
        print(f"{name:36}  {values[0]:6}{values[1]:6}  {values[2]:6}{values[3]:6}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT.parent / "shared" / "train")
    parser.add_argument("--count", type=int, default=30, help="tables to correct")
    parser.add_argument("--skip", type=int, default=0, help="tables that are left out first, with their documents")
    parser.add_argument("--without-proposals", action="store_true", help="neither other grids nor other readings")
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "tablerec-clerk")
    args = parser.parse_args(arguments)
    sums, of_grids, n_wrong = (Tally(), Tally()), (Tally(), Tally()), [0, 0]
    print(f"{'table':36}  " + "  ".join(f"{count:>12}" for count in COUNTS) + "  (old, new)")
    has_proposals = not args.without_proposals
    for wrong in read_wrong_tables(args.folder, args.kept, args.count, args.skip):
        done = [correct(wrong, args.kept, is_new=is_new, has_proposals=has_proposals) for is_new in (False, True)]
        for at, (tally, is_right) in enumerate(done):
            sums[at].add(tally)
            if grid_of(wrong.draft.table) != grid_of(wrong.true):
                of_grids[at].add(tally)
            n_wrong[at] += not is_right
        note = "" if all(right for _, right in done) else f"not right: {[right for _, right in done]}"
        print_row(wrong.name, done[0][0], done[1][0], note)
    print_row("sum", *sums)
    print_row("of it those with a wrong grid", *of_grids)
    for count, aim in AIMS.items():
        before, now = (max(getattr(tally, count), 1) for tally in sums)
        print(f"{count}: {now / before:.1%} of what it took before (aim: at most {aim:.0%})")
    print(f"not right at the end: {n_wrong[0]} in the old editor, {n_wrong[1]} in the new one")
    print_actions(*sums)


if __name__ == "__main__":
    main()
