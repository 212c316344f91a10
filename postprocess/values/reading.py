"""Text -> all that it may be to a spreadsheet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from postprocess.characters import clean_text
from postprocess.values.chinese import is_numeral
from postprocess.values.dates import Order, text_to_dates
from postprocess.values.numbers import Number, text_to_numbers
from postprocess.values.value import Value

MAX_CHARS = 64
"""No number and no date is longer."""


@dataclass(frozen=True, slots=True)
class Reading:
    """All that a text may be.

    Args:
        text: The text.
        numbers: Ways to read it as a number.
        dates: The date by order of day and month.
        is_label: Whether it counts nothing: without digits, as are dashes and words.
    """

    text: str
    numbers: tuple[Number, ...] = ()
    dates: Mapping[Order, Value] | None = None
    is_label: bool = False


@lru_cache(maxsize=1 << 14)
def read_text(text: str) -> Reading:
    """Read a text in all ways.

    >>> reading = read_text("1,234")
    >>> sorted({value.value for value in reading.numbers[0].values.values()})
    [1.234, 1234]
    >>> read_text("n.a.").is_label, read_text("see note 3").is_label
    (True, False)
    """
    plain = clean_text(text).strip()
    if not any(map(str.isdecimal, plain)) and not _is_chinese(plain):
        return Reading(text, is_label=True)
    if len(plain) > MAX_CHARS or "\n" in clean_text(text):
        return Reading(text)
    dates = text_to_dates(plain)
    return Reading(text, () if dates else text_to_numbers(plain), dates)


def is_numeric(text: str) -> bool:
    """Whether a text reads as a number under some convention.

    >>> [is_numeric(text) for text in ("1.234", "-0,40", "-5 kg", "-A1", "00123")]
    [True, True, True, False, False]
    """
    return bool(read_text(text).numbers)


def _is_chinese(plain: str) -> bool:
    return is_numeral(plain.strip("-元圆负負整")) or ("年" in plain and bool(text_to_dates(plain)))
