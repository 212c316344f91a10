"""Title and notes of a table: the text above and below it that belongs to it.

Each block of text beside a table (``beside``) is judged twice, as a title and as a note (``caption_evidence``), and
belongs to one table at most.
Where the evidence is missing the text stays outside: prose in a table is worse than a note that is missing. So do
pieces of text side by side, without a mark: they are a row that the table lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from postprocess.arrays import Floats
from postprocess.captions.blocks import Block, blocks_beside, pieces_of_text
from postprocess.captions.evidence import (
    NoteEvidence,
    TitleEvidence,
    begins_caption,
    gather_evidence,
    is_unit_line,
    may_belong,
)
from postprocess.cell import Caption
from postprocess.geometry.boxes import (
    array_to_quad,
    as_boxes,
    boxes_to_quads,
    quad_angles,
    quads_to_array,
    quads_to_boxes,
)
from postprocess.meaning.roles import is_note
from postprocess.table import Table
from postprocess.text.assignment import OUTSIDE
from postprocess.text.lines import words_to_text
from postprocess.word import Unplaced, Word, Words

MIN_SCORE = 0.6
"""Text belongs to a table from this probability on."""


class Judged(NamedTuple):
    """A block beside a table, as one of them may see it.

    Args:
        block: Its words by index, and its place in the level frame of the table.
        text: Its text.
        title: What speaks for it as a title.
        note: What speaks for it as a note.
    """

    block: Block
    text: str
    title: TitleEvidence
    note: NoteEvidence


def find_captions(
    tables: Sequence[Table], words: Iterable[Word], unplaced: Sequence[Unplaced]
) -> tuple[list[Table], list[Unplaced]]:
    """Give tables their titles and notes.

    Args:
        tables: Tables of one picture, with quads and texts.
        words: All words of the picture.
        unplaced: Those in no cell, with the reason.

    Returns:
        The tables with title and notes, and the words that are in neither. No word is lost, none is used twice.

    >>> from postprocess.cell import Cell
    >>> square = ((0, 40), (90, 40), (90, 60), (0, 60))
    >>> word = Word("Table 1.", ((0, 20), (50, 20), (50, 32), (0, 32)))
    >>> table = Table([Cell(0, 0, quad=square)], square)
    >>> [titled], left = find_captions([table], [word], [Unplaced(word, OUTSIDE)])
    >>> titled.title.text, left
    ('Table 1.', [])
    """
    loose = [index for index, item in enumerate(unplaced) if item.reason == OUTSIDE]
    free = Words(unplaced[index].word for index in loose)
    if not free or not any(table.quad and len(table) for table in tables):
        return list(tables), list(unplaced)
    claims = [
        _Claim(score, kind, number, judged)
        for number, judged in judge_blocks(tables, words, free)
        for kind, score in (("title", judged.title.score), ("note", judged.note.score))
        if score >= MIN_SCORE
    ]
    won: list[list[_Claim]] = [[] for _ in tables]
    taken: set[int] = set()
    for claim in sorted(claims, key=lambda claim: -claim.score):
        if taken.isdisjoint(claim.judged.block.words):
            won[claim.table].append(claim)
            taken.update(claim.judged.block.words)
    captioned: list[Table] = []
    used: set[int] = set()
    for table, own in zip(tables, won, strict=True):
        kept = _settle(own)
        used.update(loose[word] for claim in kept for word in claim.judged.block.words)
        captioned.append(_with_captions(table, kept))
    return captioned, [item for index, item in enumerate(unplaced) if index not in used]


class _Claim(NamedTuple):
    score: float
    kind: str
    table: int
    judged: Judged


def judge_blocks(tables: Sequence[Table], words: Iterable[Word], free: Iterable[Word]) -> list[tuple[int, Judged]]:
    """What speaks for each block of text beside each table.

    Args:
        tables: Tables of one picture.
        words: All its words: those in a table tell its text height.
        free: Those that may be titles and notes; the blocks hold indices of these.

    Returns:
        Index of the table and the block with its evidence, for each pair.
    """
    found = []
    words, free = Words.of(words), Words.of(free)
    corners, all_corners = free.quads, words.quads[words.have_place]
    outlines = [number for number, table in enumerate(tables) if table.quad and len(table)]
    quads = quads_to_array([quad for table in tables if (quad := table.quad) and len(table)])
    angles = quad_angles(corners)
    for place, number in enumerate(outlines):
        level = _level(quads[place])
        boxes, free_boxes = quads_to_boxes(quads @ level), quads_to_boxes(corners @ level)
        # Text that runs another way, as at the side of a page, has no lines here.
        across = np.abs((angles - quad_angles(quads[place : place + 1]) + 180) % 360 - 180) > _ASKEW
        along = np.flatnonzero(~across)
        blocks = blocks_beside(
            boxes[place],
            np.delete(boxes, place, axis=0),
            free_boxes[along],
            partial(_begins_block, free.select(along).texts, free_boxes[along]),
        )
        blocks = [
            replace(block, lines=tuple(tuple(along[list(line)].tolist()) for line in block.lines)) for block in blocks
        ]
        if blocks:
            height = _text_height(quads_to_boxes(all_corners @ level), boxes[place])
            found += [(number, judged) for judged in _judge(blocks, free, boxes[place], height)]
    return found


_ASKEW = 20.0
"""Degrees by which text may run another way than its table."""


def _level(quad: Floats) -> Floats:
    """``(2, 2)`` matrix that turns points of the picture level with a table."""
    x, y = quad[1] + quad[2] - quad[0] - quad[3]
    length = max(float(np.hypot(x, y)), 1e-9)
    return np.array([[x, -y], [y, x]]) / length


def _begins_block(texts: Sequence[str], boxes: Floats, above: Sequence[int], line: Sequence[int]) -> bool:
    """Whether a line begins as titles, notes and units do, or the one above it ends a paragraph."""
    last, next_last = boxes[above[-1]], boxes[line[-1]]
    is_short = last[2] < next_last[2] - _SHORT * (last[3] - last[1])
    is_end = is_short and texts[above[-1]].rstrip().endswith((".", "。", ";", "；"))
    return bool(is_end or begins_caption(" ".join(texts[index] for index in line)))


_SHORT = 2.0
"""A line that ends a sentence so many heights before the next one's end ends a paragraph."""


def _text_height(words: Floats, table: Floats) -> float:
    """Median height of the lines of text in a table; NaN without any."""
    middles = (words[:, :2] + words[:, 2:]) / 2
    inside = words[((middles > table[:2]) & (middles < table[2:])).all(axis=1)]
    pieces = pieces_of_text(inside)
    if not pieces:
        return float("nan")
    ordered, starts = inside[np.concatenate(pieces)], np.cumsum([0, *map(len, pieces[:-1])])
    heights = np.maximum.reduceat(ordered[:, 3], starts) - np.minimum.reduceat(ordered[:, 1], starts)
    return float(np.median(heights))


def _judge(blocks: Sequence[Block], free: Words, table: Floats, text_height: float) -> list[Judged]:
    found = []
    texts = [words_to_text(free.select(np.array(block.words))) for block in blocks]
    for number, (block, text) in enumerate(zip(blocks, texts, strict=True)):
        between = [
            other
            for block_between, other in zip(blocks[:number], texts, strict=False)
            if block_between.is_above == block.is_above and block_between.gap < block.gap
        ]
        is_beside = all(is_note(other) or is_unit_line(other) for other in between)
        if may_belong(text) and (block.is_alone or begins_caption(text)):
            found.append(Judged(block, text, *gather_evidence(block, text, table, text_height, is_beside)))
    return found


def _settle(claims: Sequence[_Claim]) -> list[_Claim]:
    """The notes, and of the titles the surest with others on its side; none behind one that has a number."""
    titles = [claim for claim in claims if claim.kind == "title"]
    notes = [claim for claim in claims if claim.kind == "note"]
    if not titles:
        return notes
    best = max(titles, key=lambda claim: claim.score)
    reach = best.judged.block.gap if best.judged.title.numbered else np.inf
    return notes + [
        claim
        for claim in titles
        if claim.judged.block.is_above == best.judged.block.is_above and claim.judged.block.gap <= reach
    ]


def _with_captions(table: Table, claims: Sequence[_Claim]) -> Table:
    if not claims or table.quad is None:
        return table
    back = _level(quads_to_array([table.quad])[0]).T
    ordered = sorted(claims, key=lambda claim: (claim.judged.block.box_xyxy[1], claim.judged.block.box_xyxy[0]))
    titles, notes = ([claim for claim in ordered if claim.kind == kind] for kind in ("title", "note"))
    title = _to_caption(titles, back) if titles else None
    return replace(table, title=title, notes=[_to_caption([claim], back) for claim in notes])


def _to_caption(claims: Sequence[_Claim], back: Floats) -> Caption:
    boxes = as_boxes([claim.judged.block.box_xyxy for claim in claims])
    hull = np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])
    quad = array_to_quad((boxes_to_quads(hull) @ back)[0])
    return Caption("\n".join(claim.judged.text for claim in claims), quad, max(claim.score for claim in claims))
