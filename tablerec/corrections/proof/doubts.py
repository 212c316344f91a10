"""What the reader and the detector themselves doubt, text and structure apart; and where in a text its doubts are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

import numpy as np

from postprocess.candidates.confidence import clip_score, text_score
from postprocess.cell import Cell, Quad
from postprocess.table import Table
from postprocess.word import UNREAD, Word
from tablerec.corrections.proof.finding import Finding

# Chosen by `python -m tests.benchmarks.editor.proofreading --tune`.
TEXT_BELOW = 0.8
"""A text is looked at whose least sure line is right with less than this probability."""
STRUCTURE_BELOW = 0.5
"""A cell whose place and span are less sure is looked at: a probability, by which it is rather wrong than right."""


Span = tuple[int, int]
"""First character of a text, and the one after the last."""

_TOKEN = re.compile(r"\S+")
_BY_READER = ("doubt", "score")


def structure_confidence(cell: Cell) -> float | None:
    """Probability that place and span of a cell are right, whatever it says; None where it is not known.

    >>> structure_confidence(Cell(0, 0, text="7", ocr_score=0.5, confidence=0.4))
    0.8
    """
    if cell.confidence is None or not np.isfinite(cell.confidence):
        return None
    share = text_score(cell)
    return min(1.0, cell.confidence / share) if share else None


def check_doubts(table: Table, words: Sequence[Word] = ()) -> Iterator[Finding]:
    """Find the cells that were read or found with little certainty.

    Args:
        table: As it was recognized.
        words: Those that the cells count; none where they count none.

    >>> table = Table([Cell(0, 0, text="7", ocr_score=0.4, confidence=0.4), Cell(0, 1, text="8", ocr_score=1.0)])
    >>> [(finding.cell, finding.kind) for finding in check_doubts(table)]
    [(0, 'text')]
    """
    for index, cell in enumerate(table.cells):
        has_text = bool(cell.text.strip())
        chance = chance_of_text(cell, words)
        if cell.doubt or UNREAD in cell.text:
            yield Finding(index, "text", "doubt", 0.8, (cell.doubt or UNREAD,))
        elif has_text and chance is not None and chance < TEXT_BELOW:
            yield Finding(index, "text", "score", round(1 - chance, 3), (f"{chance:.2f}",))
        sure = structure_confidence(cell)
        if sure is not None and sure < STRUCTURE_BELOW:
            yield Finding(index, "structure", "borders", round(1 - sure, 3), (f"{sure:.2f}",))


def chance_of_text(cell: Cell, words: Sequence[Word] = ()) -> float | None:
    """Probability that all characters of the least sure line of a cell are right; None where nothing was read.

    The score of a line is that of its characters: of many more go wrong.

    >>> round(chance_of_text(Cell(0, 0, text="abcd", ocr_score=0.9)), 2), chance_of_text(Cell(0, 0))
    (0.66, None)
    """
    own = [words[index] for index, _, _ in cell.words] if words else []
    if own:
        return min(map(chance_of_word, own))
    longest = max(map(len, cell.text.split("\n")))
    return None if cell.ocr_score is None else clip_score(cell.ocr_score) ** longest


def chance_of_word(word: Word) -> float:
    """Probability that all characters of a word are right.

    >>> chance_of_word(Word("ab", ((0, 0),) * 4, 0.9))
    0.81
    """
    return clip_score(word.score) ** len(word.text)


def find_spots(cell: Cell, findings: Sequence[Finding], words: Sequence[Word] = ()) -> tuple[list[Span], list[Quad]]:
    """Find the words of a cell that its findings are about.

    Args:
        cell: Of the table.
        findings: What speaks against it.
        words: Those that the cell counts; none where it counts none.

    Returns:
        Spans of its text, in order, none where all of it is in doubt or it is not known what; and places in the
        picture, in pixels, as far as they are known.

    >>> cell = Cell(0, 0, text="Tea 2O kg")
    >>> find_spots(cell, [Finding(0, "text", "among_digits", 0.9, ("O", "0"), "Tea 20 kg")])
    ([(4, 6)], [])
    """
    parts = list(_parts_in_text(cell, words))
    spans = {span for finding in findings for span in _spans_of(cell, finding, parts, words)}
    kept = sorted(span for span in spans if cell.text[slice(*span)].strip())
    if sum(end - start for start, end in kept) >= len("".join(cell.text.split())):
        return [], []
    quads = [
        words[index].part(first + max(start, begin) - begin, first + min(end, begin + last - first) - begin).quad
        for start, end in kept
        for (index, first, last), begin in parts
        if start < begin + last - first and begin < end
    ]
    return kept, quads


def _spans_of(
    cell: Cell, finding: Finding, parts: Sequence[tuple[tuple[int, int, int], int]], words: Sequence[Word]
) -> Iterator[Span]:
    text = cell.text
    if finding.reason in _BY_READER:
        for (index, first, last), begin in parts:
            if words[index].doubt or chance_of_word(words[index]) < TEXT_BELOW:
                yield begin, begin + last - first
    if finding.reason == "doubt":
        yield from (match.span() for match in _TOKEN.finditer(text) if UNREAD in match[0])
    if finding.mended:
        matcher = SequenceMatcher(None, text, finding.mended, autojunk=False)
        changes = [(start, max(end, start + 1)) for tag, start, end, _, _ in matcher.get_opcodes() if tag != "equal"]
        for match in _TOKEN.finditer(text):
            if any(start < match.end() and end > match.start() for start, end in changes):
                yield match.span()


def _parts_in_text(cell: Cell, words: Sequence[Word]) -> Iterator[tuple[tuple[int, int, int], int]]:
    """The parts of words that a cell has, each with where it begins in its text; but those that are not found there."""
    taken = [False] * len(cell.text)
    for index, first, last in cell.words if words else ():
        piece = words[index].text[first:last]
        start = cell.text.find(piece)
        while start >= 0 and any(taken[start : start + len(piece)]):
            start = cell.text.find(piece, start + 1)
        if start >= 0:
            taken[start : start + len(piece)] = [True] * len(piece)
            yield (index, first, last), start
