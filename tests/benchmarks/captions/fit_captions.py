"""The weights of ``postprocess.captions.evidence``: ``python -m tests.benchmarks.captions.fit_captions [--pages 400]``.

A developer script, not a test. Draws pages of ``tablerec.synth`` with text around their tables, of which the titles,
units and notes are known, judges each block of text beside each true table, and prints weights fitted on three
quarters of the pages, and what they are worth on the others: precision and recall of what the pipeline would take,
and reliability.

Printed on 2026-11-28 for 400 pages, 100 of them not seen::

    titles    precision 1.00, recall 0.69 (numbered ones and those that no prose touches)
    notes     precision 0.96, recall 0.78 (those with a mark)
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from postprocess.captions.evidence import _NOTE_BIAS, _NOTE_WEIGHTS, _TITLE_BIAS, _TITLE_WEIGHTS
from postprocess.captions.find import MIN_SCORE, Judged, judge_blocks
from postprocess.word import Word
from tablerec.errors import TableError
from tablerec.synth import load_recipe
from tablerec.synth.description import Page, Paragraph, Placed, TableSpec
from tablerec.synth.drawing.render import render
from tablerec.synth.engine import describe
from tests.benchmarks.fitting import fit_binary, predict, report_reliability, to_array, to_source

SHRINK = 0.5
"""Half of it times the squared weights, of evidence in standard deviations, is added to the loss."""
SEED = 7_000_000_011
"""Of the drawn pages; training uses small ones."""
RECIPES = ("page", "financial", "statistical", "scientific", "journal", "prospectus", "ruled", "lineless")
PROSE_ALONE = 0.25
"""Share of the pages from which titles, units and notes are left out, so that plain prose is beside the tables."""


STRAYS = {
    True: (
        "Date: 12 March",
        "No. 8871-03",
        "Page 3 of 7",
        "机器编号：499099",
        "填表日期：5月6日",
        "Annual report",
        "Details",
    ),
    False: (
        *(
            "Prepared by: Anna Adler",
            "Signature",
            "2 Results and discussion",
            "Figure 4. Rainfall by month",
            "continued",
        ),
        *(
            "Conclusions",
            "Total pages: 3",
            "收款人：王芳",
            "复核：张强",
            "第二节 主要业务",
            "图3 月度产量",
            "www.example.org",
        ),
    ),
}
"""Lines above and below tables that are neither title nor note, as on forms and before the next section."""
STRAY = {True: 0.03, False: 0.4}
"""Share of the tables that have one above, and below."""


@dataclass(frozen=True)
class Example:
    """A block beside a table, and what it is to it."""

    judged: Judged
    is_title: bool
    is_note: bool
    page: int


def is_between(paragraph: Paragraph) -> bool:
    """Whether a paragraph may stand between a title and its table."""
    return paragraph.role == "unit" or paragraph.text in STRAYS[True]


def owners(page: Page) -> list[tuple[Paragraph, int]]:
    """Each paragraph with the number of the table it belongs to, -1 for none.

    A title below a table is followed by no table or by other text before the next one.
    """
    blocks = [placed.block for placed in page.blocks]
    found = []
    for index, block in enumerate(blocks):
        if not isinstance(block, Paragraph):
            continue
        n_before = sum(isinstance(other, TableSpec) for other in blocks[:index])
        rest = [other for other in blocks[index + 1 :] if not (isinstance(other, Paragraph) and is_between(other))]
        leads = bool(rest) and isinstance(rest[0], TableSpec)
        owner = {"none": -1, "unit": n_before, "note": n_before - 1, "title": n_before if leads else n_before - 1}
        found.append((block, owner[block.role]))
    return found


def examples(count: int) -> Iterator[Example]:
    """Blocks beside the tables of drawn pages."""
    for number in range(count):
        rng = np.random.default_rng([SEED, number])
        recipe = replace(load_recipe(RECIPES[number % len(RECIPES)]), surroundings=0.95, framing={"page": 1})
        page = describe(recipe, SEED, number)
        if rng.random() < PROSE_ALONE:
            kept = [each for each in page.blocks if not isinstance(each.block, Paragraph) or each.block.role == "none"]
            page = replace(page, blocks=tuple(kept))
        page = with_strays(page, rng)
        sample = render(page)
        try:
            tables = sample.to_tables()
        except TableError:
            continue
        quads = sample.words.quads.astype(np.float64).tolist()
        words = [
            Word(text, tuple(map(tuple, quad)))  # type: ignore[arg-type]
            for text, quad in zip(sample.words.texts, quads, strict=True)
        ]
        outside = np.flatnonzero(sample.words.cells < 0)
        roles = roles_of(page, [words[index].text for index in outside])
        for table, judged in judge_blocks(tables, words, [words[index] for index in outside]):
            own = [roles[index] for index in judged.block.words]
            is_title = all(each == ("title", table) for each in own)
            is_note = all(each in (("note", table), ("unit", table)) for each in own)
            yield Example(judged, is_title, is_note, number)
        print(f"\r{number + 1} of {count} ", end="", file=sys.stderr, flush=True)


def with_strays(page: Page, rng: np.random.Generator) -> Page:
    """The page with such lines right above and below some of its tables."""
    styles = [each.block.style for each in page.blocks if isinstance(each.block, Paragraph)]
    blocks = []
    for placed in page.blocks:
        around: dict[bool, list[Placed]] = {True: [], False: []}
        for is_above, texts in STRAYS.items():
            if styles and isinstance(placed.block, TableSpec) and rng.random() < STRAY[is_above]:
                style = replace(styles[0], size=styles[0].size * rng.uniform(0.75, 1.2))
                align = rng.choice(["left", "left", "center", "right"])
                paragraph = Paragraph(str(rng.choice(texts)), style, align=align)
                around[is_above].append(Placed(paragraph, style.size * rng.uniform(0.2, 1.5)))
        blocks += [*around[True], placed, *around[False]]
    return replace(page, blocks=tuple(blocks))


def roles_of(page: Page, texts: list[str]) -> list[tuple[str, int]]:
    """Role and table of each word outside the tables, which come in the order of the paragraphs."""
    roles = [("none", -1)] * len(texts)
    start = 0
    for paragraph, owner in owners(page):
        wanted = "".join(paragraph.text.split())
        for first in range(start, len(texts)):
            end, joined = first, ""
            while end < len(texts) and len(joined) < len(wanted):
                joined += "".join(texts[end].split())
                end += 1
            if joined == wanted:
                roles[first:end] = [(paragraph.role, owner)] * (end - first)
                start = end
                break
    return roles


def main() -> None:
    """Draw, fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--list", action="store_true", help="print the blocks that the fitted weights judge wrongly")
    args = parser.parse_args()
    found = list(examples(args.pages))
    seen = np.array([each.page % 4 != 3 for each in found])
    for kind, package in (("title", (_TITLE_BIAS, _TITLE_WEIGHTS)), ("note", (_NOTE_BIAS, _NOTE_WEIGHTS))):
        evidence = to_array([getattr(each.judged, kind) for each in found])
        right = np.array([float(getattr(each, f"is_{kind}")) for each in found])
        # The mean loss of a block, as in `fit_confidence`.
        shrink = SHRINK / seen.sum() * evidence[seen].std(axis=0) ** 2
        bias, weights = fit_binary(
            evidence[seen], right[seen], shrink, counts=np.full(seen.sum(), 1 / seen.sum()), nonnegative=True
        )
        print(f"\n_{kind.upper()}_BIAS = {bias:.3f}")
        print(to_source(f"_{kind.upper()}_WEIGHTS", type(package[1])(*weights), 3))
        of_package = predict(package[0], to_array(package[1:])[0], evidence)
        for label, scores in (("fitted", predict(bias, weights, evidence)), ("package", of_package)):
            chosen = (scores >= MIN_SCORE) & ~seen
            hits = float(right[chosen].sum())
            precision, recall = hits / max(chosen.sum(), 1), hits / max(right[~seen].sum(), 1)
            report_reliability(
                f"{kind}, {label}: precision {precision:.3f}, recall {recall:.3f}", scores[~seen], right[~seen]
            )
            if args.list and label == "fitted":
                for index in np.flatnonzero(((scores >= MIN_SCORE) != (right > 0)) & ~seen):
                    each = found[index]
                    print(f"  {scores[index]:.2f} page {each.page} {each.judged.text[:70]!r}")


if __name__ == "__main__":
    main()
