"""What speaks for a text beside a table as its title or as a note of it.

Two logistic functions of evidence that has a name, the larger the better; no weight is negative.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

import numpy as np

from postprocess.arrays import Floats
from postprocess.captions.blocks import Block
from postprocess.meaning.roles import is_note
from postprocess.odds import to_probability, weigh

_NUMBERED = re.compile(
    r"\s*(?i:table|tab\.|tabelle|tableau|tabla|tabella|tabela|таблица|exhibit|schedule|附?[表錶]|[续續]表)"
    r"\s*(?:(?i:no\.?)\s*)?(?:[.:#-]\s*)?((?i:(?:[a-z]{0,2}[.-]?|[ivxlc]+[.-])\d+(?:[.-]\d+)*|[ivxlc]+\b|[一二三四五六七八九十]+))"
    r"(?![.-]?\d|,?\s+[a-z]|\s*(?:[,，、和与中可是为列]|所示|显示|给出|反映|说明|表明))"
)
"""The word for a table and its number; not where a sentence goes on, as in "Table 3 shows"."""
_UNIT = re.compile(
    r"\s*(?:[(（\[]\s*)?(?:(?:计量|金额|计算|貨幣|货币)?[单單]位\b|[单單]位[:：]|币种|人民币|[千万億亿百]*元\s*[)）]?$"
    r"|(?i:(?:all |amounts? |figures? |values? |data )*(?:are |expressed |stated )*in\s+(?:\S+\s+)?"
    r"(?:thousands?|millions?|billions?|percent|per cent|%|[A-Z]{3}\b|us|euros?|dollars?|[$€£¥])"
    r"|units?\s*[:：]|percent|per cent|(?:thousands?|millions?|billions?)\s+of\b|\(?(?:un)?audited\)?$)"
    r"|[(（][^()（）]{1,6}[)）]\s*$"
    r"|(?:[A-Z]{2,3}\s?)?[$€£¥%‰][\s'’]?(?:0{3}s?|m|bn|million|billion|thousand)?\s*[)）\]]?$)"
)
"""What the values are counted in."""
_FIGURE = re.compile(
    r"\s*(?i:fig(?:ure|\.)?|abb(?:ildung|\.)|chart|[图圖])\s*(?:[.:#-]\s*)?(?:\d|[IVX]+\b|[一二三四五六七八九十])"
)
_SENTENCE_ENDS = tuple(".。;；,，:：")


@dataclass(frozen=True, slots=True)
class TitleEvidence:
    """What speaks for a block as the title of a table, each the larger the better.

    Args:
        numbered: 1 where it begins with the word for a table and a number, else 0.
        above: 1 above the table, 0 below it.
        beside: 1 where nothing but units and notes stands between it and the table, else 0.
        close: Minus the logarithm of 1 and the distance to the table in its line heights.
        brief: Minus the logarithm of its number of lines, 0 where it is numbered: then it may be long.
        terse: Minus the logarithm of its length in 20 characters, 0 where it is shorter or numbered; wide characters
            count two.
        large: Logarithm of its height in text heights of the table, -0.5 to 0.7.
        aligned: 1 where its left end or its middle is that of the table, else 0.
        apart: Logarithm of the space behind it to the space before it, each with a line height more, -1.5 to 1.5.
        open: 1 where it is numbered or does not end as a sentence does, else 0.
        plain: 1 where it is neither a unit nor begun as a note, else 0.
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
    plain: float

    @property
    def score(self) -> float:
        """Probability, 0 to 1."""
        return float(to_probability(weigh(self, _TITLE_WEIGHTS, _TITLE_BIAS)))


@dataclass(frozen=True, slots=True)
class NoteEvidence:
    """What speaks for a block as a note, each the larger the better.

    Args:
        marked: 1 where it begins as a note does, else 0.
        unit: 1 where it is a unit above the table, else 0.
        below: 1 below the table, 0 above it.
        close: See ``TitleEvidence``.
        brief: Minus the logarithm of its number of lines.
        small: Minus the logarithm of its height in text heights of the table, -0.5 to 0.2.
        aligned: 1 where its left end is that of the table, or its right end for a unit, else 0.
    """

    marked: float
    unit: float
    below: float
    close: float
    brief: float
    small: float
    aligned: float

    @property
    def score(self) -> float:
        """Probability, 0 to 1."""
        return float(to_probability(weigh(self, _NOTE_WEIGHTS, _NOTE_BIAS)))


# Printed by `python -m tests.benchmarks.captions.fit_captions` on 2026-11-28.
_TITLE_BIAS = -9.432
_TITLE_WEIGHTS = TitleEvidence(
    numbered=3.578,
    above=2.311,
    beside=0.869,
    close=1.315,
    brief=2.593,
    terse=0.633,
    large=0.530,
    aligned=0.501,
    apart=0.006,
    open=2.797,
    plain=4.312,
)
_NOTE_BIAS = -3.336
_NOTE_WEIGHTS = NoteEvidence(
    marked=4.347,
    unit=8.962,
    below=3.360,
    close=1.039,
    brief=2.611,
    small=4.431,
    aligned=0.740,
)


def table_number(text: str) -> str | None:
    """The number that a title gives its table, or None.

    >>> [table_number(text) for text in ("Table 3. Prices", "表2-1 利润表", "TABLE IV", "Table III.1-15", "tables 3")]
    ['3', '2-1', 'iv', 'iii.1-15', None]
    """
    found = _NUMBERED.match(text)
    return found[1].lower() if found else None


def is_unit_line(text: str) -> bool:
    """Whether a line beside a table says what its values are counted in; for a cell see ``postprocess.text.numbers``.

    >>> [is_unit_line(text) for text in ("(in thousands of euros)", "单位：万元", "US$ million", "Unit price")]
    [True, True, True, False]
    """
    return _UNIT.match(text) is not None


def begins_caption(text: str) -> bool:
    """Whether a line begins as numbered titles, notes and units do, or as the title of a figure.

    >>> [begins_caption(text) for text in ("Table 3. Prices", "Note: late", "(%)", "Prices")]
    [True, True, True, False]
    """
    return is_note(text) or any(pattern.match(text) for pattern in (_NUMBERED, _UNIT, _FIGURE))


def may_belong(text: str) -> bool:
    """Whether a text may be a title or note: no page number, no speck, no title of a figure.

    >>> [may_belong(text) for text in ("Prices", "价格", "- 12 -", "(%)", "Figure 4. Rain")]
    [True, True, False, True, False]
    """
    if _FIGURE.match(text):
        return False
    return _width("".join(filter(str.isalpha, text))) >= 3 or is_unit_line(text)


def _width(text: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def gather_evidence(
    block: Block, text: str, table: Floats, text_height: float, is_beside: bool
) -> tuple[TitleEvidence, NoteEvidence]:
    """Put together what speaks for a block.

    Args:
        block: The block beside a table.
        text: Its text.
        table: ``(4,)`` the table, in the same frame as the block.
        text_height: Median height of the lines of text in the table; NaN where it is not known.
        is_beside: Whether nothing but units and notes stands between it and the table.
    """
    height = max(block.height, 1e-9)
    size = float(np.log(height / text_height)) if text_height > 0 else 0.0
    left, right = np.abs(block.box_xyxy[[0, 2]] - table[[0, 2]]) < height
    middle = abs(block.box_xyxy[[0, 2]].mean() - table[[0, 2]].mean()) < height
    close, brief = -float(np.log1p(block.gap / height)), -float(np.log(len(block.lines)))
    behind = min(block.behind, 1e3 * height)
    apart = float(np.clip(np.log((behind + height) / (block.before + height)), -1.5, 1.5))
    has_unit, is_marked = is_unit_line(text), is_note(text)
    is_numbered = _NUMBERED.match(text) is not None
    title = TitleEvidence(
        numbered=float(is_numbered),
        above=float(block.is_above),
        beside=float(is_beside),
        close=close,
        brief=0.0 if is_numbered else brief,
        terse=0.0 if is_numbered else -max(float(np.log(max(_width(text), 1) / 20)), 0.0),
        large=float(np.clip(size, -0.5, 0.7)),
        aligned=float(left or middle),
        apart=apart,
        open=float(is_numbered or not text.rstrip().endswith(_SENTENCE_ENDS)),
        plain=float(not has_unit and not is_marked),
    )
    note = NoteEvidence(
        marked=float(is_marked),
        unit=float(has_unit and block.is_above),
        below=float(not block.is_above),
        close=close,
        brief=brief,
        small=float(np.clip(-size, -0.5, 0.2)),
        aligned=float(left or (has_unit and right)),
    )
    return title, note
