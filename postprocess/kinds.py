"""What the texts of a table are: labels, years, numbers; the base of all that says what its rows and columns mean."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from postprocess.table import Table
from postprocess.values import parse_value

EMPTY, LABEL, YEAR, NUMBER = range(4)
"""Kinds of content, see `text_to_kind`."""

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def text_to_kind(text: str) -> int:
    """Return ``EMPTY``, ``LABEL``, ``YEAR`` or ``NUMBER``.

    A text without letters and digits, and ``n/a``, count as empty. A year may
    stand in a date or a range. Any other text with more digits than letters is
    a number, such as ``"12.5 (3.4)"``.

    >>> [text_to_kind(text) for text in ("-", "Total", "2016/17", "1,234", "5.2 ± 0.3")]
    [0, 1, 2, 3, 3]
    """
    if _PLAIN_NUMBER.fullmatch(text):
        return NUMBER
    n_digits, n_letters = sum(map(str.isdecimal, text)), sum(map(str.isalpha, text))
    if n_digits + n_letters == 0 or text.strip().lower() in ("n/a", "n.a.", "na", "nil"):
        return EMPTY
    if n_digits == 0:
        return LABEL
    if n_letters <= len("September") and _is_year(text):
        return YEAR
    return NUMBER if n_digits > n_letters else LABEL


_PLAIN_NUMBER = re.compile(r"[-+(]?(?!(?:19|20)[0-9]{2}(?![0-9]))[0-9]+(?:[.,][0-9]+)*[%)]?", re.ASCII)
"""Most numbers; this spares them the closer look."""


def _is_year(text: str) -> bool:
    groups = re.findall("[0-9]+", text)
    years = [group for group in groups if len(group) == 4 and group[:2] in ("19", "20")]
    if not years or any(len(group) > 2 for group in groups if group not in years):
        return False
    return text.strip() in years or not isinstance(parse_value(text).value, (int, float))


_DIGIT = re.compile(r"\d")
_UNIT = re.compile(
    r"[(（\[].*[)）\]]|\w{0,3}\W?[%$€£¥]\W?\w{0,7}|.{1,3}元|EUR|USD|GBP|CHF|JPY|CNY|RMB|HKD|"
    r"[kmμµ]?[glm]|cm|km|mm|ha|t|m[²³]|[km]?W|[kMG]Wh|°[CF]|Hz|[km]?Pa|min|ms"
)
_MAX_UNIT_CHARS = 16


def is_unit(text: str) -> bool:
    """Whether a text names a unit, or stands in brackets as units do.

    >>> [is_unit(text) for text in ("(kg)", "mm", "€m", "千元", "Price", "5%")]
    [True, True, True, True, False, False]
    """
    return len(text) <= _MAX_UNIT_CHARS and text_to_kind(text) != NUMBER and bool(_UNIT.fullmatch(text.strip()))


@dataclass(frozen=True, slots=True)
class Slots:
    """What stands in each slot of a table, arrays ``(R, C)``; a spanning cell stands in all its slots.

    Args:
        owner: Index of the cell.
        kinds: Kind of its text.
        blank: Whether it has no text; a dash is a text, though of the kind ``EMPTY``.
        numbers: Whether it holds an amount. A year is a label above amounts, but a value in a column of years.
        texts: A number for each text, the same where the text is the same but for case.
        lengths: Natural logarithm of 1 + number of characters.
        digits: Whether the text has a digit.
        units: Whether the text is a unit.
        announces: Whether the text ends in a colon.
        colspans: Columns of the cell.
        end_rows: First row below the cell.
    """

    owner: NDArray[np.int32]
    kinds: NDArray[np.int8]
    blank: Mask
    numbers: Mask
    texts: Ints
    lengths: Floats
    digits: Mask
    units: Mask
    announces: Mask
    colspans: Ints
    end_rows: Ints

    @property
    def filled(self) -> Mask:
        """``(R, C)`` where there are letters or digits."""
        return np.asarray(self.kinds != EMPTY)

    @property
    def wide(self) -> Mask:
        """``(R,)`` rows that are one cell as wide as the table."""
        n_cols = self.owner.shape[1]
        return np.asarray((self.colspans[:, 0] == n_cols) & (n_cols > 1))

    @property
    def lone(self) -> Mask:
        """``(R,)`` rows in which no more than one cell holds a text."""
        last = np.where(self.blank, -1, self.owner).max(axis=1, initial=-1)
        return np.asarray((self.blank | (self.owner == last[:, None])).all(axis=1))


def table_to_slots(table: Table) -> Slots:
    """Look at all texts of a table once.

    Args:
        table: Any table.

    >>> slots = table_to_slots(Table.from_texts([["Year", "Sales"], ["2016", "5"], ["2017", "6"]]))
    >>> slots.numbers.tolist(), slots.lone.tolist()
    ([[False, False], [True, True], [True, True]], [False, False, False])
    """
    owner = table.owner
    texts = [cell.text.strip() for cell in table.cells]
    known: dict[str, int] = {}
    kinds = np.array([text_to_kind(text) for text in texts], np.int8)
    labels = np.flatnonzero(kinds != NUMBER)
    units = np.zeros(len(texts), bool)
    units[labels] = [is_unit(texts[index]) for index in labels]
    by_slot = kinds[owner]
    return Slots(
        owner=owner,
        kinds=by_slot,
        blank=np.array([not text for text in texts], bool)[owner],
        numbers=_slots_of_numbers(by_slot),
        texts=np.array([known.setdefault(text.casefold(), len(known)) for text in texts], np.int64)[owner],
        lengths=np.log1p(np.array([len(text) for text in texts], np.float64))[owner],
        digits=np.array([_DIGIT.search(text) is not None for text in texts], bool)[owner],
        units=units[owner],
        announces=np.array([text.endswith((":", "：")) for text in texts], bool)[owner],
        colspans=np.array([cell.colspan for cell in table.cells], np.int64)[owner],
        end_rows=np.array([cell.end_row for cell in table.cells], np.int64)[owner],
    )


def _slots_of_numbers(kinds: NDArray[np.int8]) -> Mask:
    years = kinds == YEAR
    return np.asarray((kinds == NUMBER) | (years & mostly(years, kinds != EMPTY)))


def mostly(wanted: Mask, filled: Mask) -> Mask:
    """``(C,)`` columns in which more than half of the filled slots are wanted ones.

    >>> mostly(np.array([[True, False], [True, True]]), np.array([[True, True], [True, True]])).tolist()
    [True, False]
    """
    return np.asarray(2 * wanted.sum(axis=0) > filled.sum(axis=0))


def count_distinct(texts: Ints, filled: Mask) -> Ints:
    """``(C,)`` how many different texts each column holds.

    >>> count_distinct(np.array([[5], [7], [5], [9]]), np.array([[True], [True], [True], [False]])).tolist()
    [2]
    """
    if not len(texts):
        return np.zeros(texts.shape[1], np.int64)
    ordered = np.sort(np.where(filled, texts, -1), axis=0)
    return np.asarray((np.diff(ordered, axis=0) != 0).sum(axis=0) + (ordered[0] >= 0), np.int64)


def choose(evidence: Floats, weights: tuple[float, ...]) -> Floats:
    """Probabilities of candidates, of which one is right: a softmax of the weighted evidence.

    Args:
        evidence: ``(K, F)`` for each candidate.
        weights: Of the F kinds of evidence.

    Returns:
        ``(K,)``, sum 1.

    >>> choose(np.array([[0.0], [1.0]]), (1.1,)).round(2).tolist()
    [0.25, 0.75]
    """
    scores = evidence @ np.array(weights)
    odds = np.exp(scores - scores.max())
    return np.asarray(odds / odds.sum(), np.float64)
