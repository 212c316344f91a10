"""Title and notes of a table: the text above and below it that belongs to it.

Each block of text beside a table (``beside``) is judged twice, as a title and as a note, by evidence that has a
name; the probability is a logistic function of it, the larger the better. A block belongs to one table at most.
Where the evidence is missing the text stays outside: prose in a table is worse than a note that is missing. So do
pieces of text side by side, without a mark: they are a row that the table lacks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from postprocess.beside import Block, blocks_beside, pieces_of_text
from postprocess.boxes import (
    Floats,
    array_to_quad,
    as_boxes,
    boxes_to_quads,
    quad_angles,
    quads_to_array,
    quads_to_boxes,
)
from postprocess.reading_order import words_to_text
from postprocess.table import Caption, Table
from postprocess.words import OUTSIDE, Unplaced, Word

MIN_SCORE = 0.7
"""Text belongs to a table from this probability on."""

# Printed by tests/benchmarks/fit_captions.py on 2026-11-28.
_TITLE_WEIGHTS = (-11.157, 4.428, 1.369, 1.815, 1.098, 2.680, 0.658, 0.000, 0.261, 0.000, 4.114, 4.931)
_NOTE_WEIGHTS = (-0.911, 4.821, 8.269, 3.637, 0.000, 4.068, 3.862, 7.619, 0.162, 0.000, 1.478)
"""Log odds: first a constant, then a weight for each piece of evidence."""

_NUMBERED = re.compile(
    r"\s*(?i:table|tab\.|tabelle|tableau|tabla|tabella|tabela|таблица|exhibit|schedule|附?[表錶]|[续續]表)"
    r"\s*(?i:no\.?)?\s*[.:#-]?\s*((?i:[a-z]{0,2}[.-]?\d+(?:[.-]\d+)*|[ivxlc]+\b|[一二三四五六七八九十]+))"
    r"(?![.-]?\d|,?\s+[a-z]|\s*(?:[,，、和与中可是为列]|所示|显示|给出|反映|说明|表明))"
)
"""The word for a table and its number; not where a sentence goes on, as in "Table 3 shows"."""
_MARKED = re.compile(
    r"\s*(?:(?i:notes?|sources?|remarks?|legend|key|abbreviations?|n\.?\s?b|quellen?|anmerkung(?:en)?|fuentes?|notas?)"
    r"\b\s*(?:\(?\w\)?)?\s*[.:：—-]"
    r"|(?:附?[注註]|备注|備註|说明|說明|填表说明|(?:资料|数据|資料|數據)?[来來]源)\s*\d*\s*[:：.、]"
    r"|[*†‡§¶#※∗＊]|[(（]\w{1,2}[)）]|\w[)）]\s|[¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉ]|[a-h]\s[A-Z]|[a-h1-9][A-Z][a-z]"
    r"|[–—-]\s*=?\s*(?i:not|nil|no)\b|\S{1,5}\s*[=＝]\s*\S)"
)
"""How a note begins: a word for it and a colon, or a mark that refers to a cell."""
_UNIT = re.compile(
    r"\s*[(（\[]?\s*(?:(?:计量|金额|计算|貨幣|货币)?[单單]位\b|[单單]位[:：]|币种|人民币|[千万億亿百]*元\s*[)）]?$"
    r"|(?i:(?:all |amounts? |figures? |values? |data )*(?:are |expressed |stated )*in\s+(?:\S+\s+)?"
    r"(?:thousands?|millions?|billions?|percent|per cent|%|[A-Z]{3}\b|us|euros?|dollars?|[$€£¥])"
    r"|units?\s*[:：]|percent|per cent|(?:thousands?|millions?|billions?)\s+of\b|\(?(?:un)?audited\)?$)"
    r"|[(（][^()（）]{1,6}[)）]\s*$"
    r"|(?:[A-Z]{2,3}\s?)?[$€£¥%‰][\s'’]?(?:0{3}s?|m|bn|million|billion|thousand)?\s*[)）\]]?$)"
)
"""What the values are counted in."""
_SENTENCE = re.compile(r".*[.。;；,，:：]\s*$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TitleEvidence:
    """What speaks for a block as the title of a table, each the larger the better.

    Args:
        numbered: 1 where it begins with the word for a table and a number, else 0.
        above: 1 above the table, 0 below it.
        beside: 1 where nothing but units and notes stands between it and the table, else 0.
        close: Minus the logarithm of 1 and the distance to the table in its line heights.
        brief: Minus the logarithm of its number of lines.
        terse: Minus the logarithm of its length in 20 characters, 0 where it is shorter; wide characters count two.
        large: Logarithm of its height in text heights of the table, -0.5 to 0.7.
        aligned: 1 where its left end or its middle is that of the table, else 0.
        apart: Logarithm of the space behind it to the space before it, each with a line height more, -1.5 to 1.5.
        open: 1 where it does not end as a sentence does, else 0.
        worded: 1 where it is no unit, no mark, and has three letters, else 0.
    """

    numbered: float
    above: float
    beside: float
    close: float
    brief: float
    terse: float
    large: float
    aligned: float
    apart: float
    open: float
    worded: float

    @property
    def score(self) -> float:
        """Probability, 0 to 1."""
        return _probability(_TITLE_WEIGHTS, astuple(self))


@dataclass(frozen=True, slots=True)
class NoteEvidence:
    """What speaks for a block as a note, each the larger the better.

    Args:
        marked: 1 where it begins as a note does, else 0.
        unit: 1 where it is a unit above the table, else 0.
        below: 1 below the table, 0 above it.
        beside: See ``TitleEvidence``, as are ``close``, ``brief`` and ``apart``.
        close: See there.
        brief: See there.
        small: Minus the logarithm of its height in text heights of the table, -0.7 to 0.5.
        aligned: 1 where its left end is that of the table, or its right end for a unit, else 0.
        apart: See there.
        worded: 1 where it is a unit or has three letters, else 0.
    """

    marked: float
    unit: float
    below: float
    beside: float
    close: float
    brief: float
    small: float
    aligned: float
    apart: float
    worded: float

    @property
    def score(self) -> float:
        """Probability, 0 to 1."""
        return _probability(_NOTE_WEIGHTS, astuple(self))


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
    tables: Sequence[Table], words: Sequence[Word], unplaced: Sequence[Unplaced]
) -> tuple[list[Table], list[Unplaced]]:
    """Give tables their titles and notes.

    Args:
        tables: Tables of one picture, with quads and texts.
        words: All words of the picture.
        unplaced: Those in no cell, with the reason.

    Returns:
        The tables with title and notes, and the words that are in neither. No word is lost, none is used twice.

    >>> from postprocess.table import Cell
    >>> square = ((0, 40), (90, 40), (90, 60), (0, 60))
    >>> word = Word("Table 1.", ((0, 20), (50, 20), (50, 32), (0, 32)))
    >>> table = Table([Cell(0, 0, quad=square)], square)
    >>> [titled], left = find_captions([table], [word], [Unplaced(word, OUTSIDE)])
    >>> titled.title.text, left
    ('Table 1.', [])
    """
    loose = [index for index, item in enumerate(unplaced) if item.reason == OUTSIDE]
    free = [unplaced[index].word for index in loose]
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
        captioned.append(_with_captions(table, kept, free))
    return captioned, [item for index, item in enumerate(unplaced) if index not in used]


class _Claim(NamedTuple):
    score: float
    kind: str
    table: int
    judged: Judged


def judge_blocks(tables: Sequence[Table], words: Sequence[Word], free: Sequence[Word]) -> list[tuple[int, Judged]]:
    """What speaks for each block of text beside each table.

    Args:
        tables: Tables of one picture.
        words: All its words: those in a table tell its text height.
        free: Those that may be titles and notes; the blocks hold indices of these.

    Returns:
        Index of the table and the block with its evidence, for each pair.
    """
    found = []
    corners, all_corners = (quads_to_array([word.quad for word in each]) for each in (free, words))
    all_corners = all_corners[np.isfinite(all_corners).all(axis=(1, 2))]
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
            partial(_begins_block, [free[index].text for index in along.tolist()], free_boxes[along]),
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


def table_number(text: str) -> str | None:
    """The number that a title gives its table, or None.

    >>> [table_number(text) for text in ("Table 3. Prices", "表2-1 利润表", "TABLE IV", "Prices", "tables 3")]
    ['3', '2-1', 'iv', None, None]
    """
    found = _NUMBERED.match(text)
    return found[1].lower() if found else None


def is_note(text: str) -> bool:
    """Whether a text begins as a note does: with a word for it and a colon, or with a mark.

    >>> [is_note(text) for text in ("Source: survey", "* p < 0.05", "注：未经审计", "Notes payable")]
    [True, True, True, False]
    """
    return _MARKED.match(text) is not None


def _begins_block(texts: Sequence[str], boxes: Floats, above: Sequence[int], line: Sequence[int]) -> bool:
    """Whether a line begins as titles, notes and units do, or the one above it ends a paragraph."""
    last, next_last = boxes[above[-1]], boxes[line[-1]]
    is_short = last[2] < next_last[2] - _SHORT * (last[3] - last[1])
    is_end = is_short and texts[above[-1]].rstrip().endswith((".", "。", ";", "；"))
    return bool(is_end or _begins(" ".join(texts[index] for index in line)))


_SHORT = 2.0
"""A line that ends a sentence so many heights before the next one's end ends a paragraph."""


def _begins(text: str) -> bool:
    return any(pattern.match(text) for pattern in (_NUMBERED, _MARKED, _UNIT))


def _text_height(words: Floats, table: Floats) -> float:
    """Median height of the lines of text in a table; NaN without any."""
    middles = (words[:, :2] + words[:, 2:]) / 2
    inside = words[((middles > table[:2]) & (middles < table[2:])).all(axis=1)]
    heights = [np.ptp(inside[piece][:, [1, 3]]) for piece in pieces_of_text(inside)]
    return float(np.median(heights)) if heights else float("nan")


def _judge(blocks: Sequence[Block], free: Sequence[Word], table: Floats, text_height: float) -> list[Judged]:
    found = []
    texts = [words_to_text([free[index] for index in block.words]) for block in blocks]
    for number, (block, text) in enumerate(zip(blocks, texts, strict=True)):
        between = [
            other
            for block_between, other in zip(blocks[:number], texts, strict=False)
            if block_between.is_above == block.is_above and block_between.gap < block.gap
        ]
        is_beside = all(_MARKED.match(other) or _UNIT.match(other) for other in between)
        if text.strip() and (block.is_alone or _begins(text)):
            found.append(Judged(block, text, *_evidence(block, text, table, text_height, is_beside)))
    return found


def _evidence(
    block: Block, text: str, table: Floats, text_height: float, is_beside: bool
) -> tuple[TitleEvidence, NoteEvidence]:
    height = max(block.height, 1e-9)
    size = float(np.log(height / text_height)) if text_height > 0 else 0.0
    left, right = np.abs(block.box_xyxy[[0, 2]] - table[[0, 2]]) < height
    middle = abs(block.box_xyxy[[0, 2]].mean() - table[[0, 2]].mean()) < height
    close, brief = -float(np.log1p(block.gap / height)), -float(np.log(len(block.lines)))
    behind = min(block.behind, 1e3 * height)
    apart = float(np.clip(np.log((behind + height) / (block.before + height)), -1.5, 1.5))
    is_unit, is_marked = bool(_UNIT.match(text)), bool(_MARKED.match(text))
    has_words = sum(map(str.isalpha, text)) >= 3
    title = TitleEvidence(
        numbered=float(bool(_NUMBERED.match(text))),
        above=float(block.is_above),
        beside=float(is_beside),
        close=close,
        brief=brief,
        terse=-max(float(np.log(max(_width(text), 1) / 20)), 0.0),
        large=float(np.clip(size, -0.5, 0.7)),
        aligned=float(left or middle),
        apart=apart,
        open=float(not _SENTENCE.match(text)),
        worded=float(has_words and not is_unit and not is_marked),
    )
    note = NoteEvidence(
        marked=float(is_marked),
        unit=float(is_unit and block.is_above),
        below=float(not block.is_above),
        beside=float(is_beside),
        close=close,
        brief=brief,
        small=float(np.clip(-size, -0.7, 0.5)),
        aligned=float(left or (is_unit and right)),
        apart=apart,
        worded=float(is_unit or has_words),
    )
    return title, note


def _width(text: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def _settle(claims: Sequence[_Claim]) -> list[_Claim]:
    """The notes, and of the titles the surest with those that go on from it on the same side."""
    titles = [claim for claim in claims if claim.kind == "title"]
    notes = [claim for claim in claims if claim.kind == "note"]
    if not titles:
        return notes
    best = max(titles, key=lambda claim: claim.score)
    return notes + [claim for claim in titles if claim.judged.block.is_above == best.judged.block.is_above]


def _with_captions(table: Table, claims: Sequence[_Claim], free: Sequence[Word]) -> Table:
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


def _probability(weights: Sequence[float], evidence: Sequence[float]) -> float:
    bias, *rest = weights
    return float(1 / (1 + np.exp(-np.clip(bias + np.dot(rest, evidence), -40, 40))))
