"""Cells -> exact numbers. A misread cell must not make its column text, so each cell is read by itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from postprocess.table import Table
from postprocess.text.numbers import EMPTY, text_to_kind
from postprocess.values import is_heading
from postprocess.values.conventions import CONVENTIONS, ENGLISH, Convention, digits_by_convention
from postprocess.values.reading import read_text
from postprocess.values.units import LOOKALIKE
from tablerec.corrections.proof.lookalikes import part_marks, to_digits


@dataclass(frozen=True, slots=True)
class Amount:
    """A number as it is printed.

    Args:
        value: What it is worth; a per cent is a hundredth.
        step: What its last digit is worth.
        decimals: Number of digits behind the decimal mark.
        signs: Unit and per cent sign, and an S that may be a dollar sign.
        note: Raised characters behind it.
        has_groups: Whether its thousands are divided; None for one without thousands.
        mended: The text that was read, where the cell's own is no number and only looks like one.
    """

    value: Decimal
    step: Decimal
    decimals: int
    signs: str = ""
    note: str = ""
    has_groups: bool | None = None
    mended: str = ""


@lru_cache(maxsize=1 << 14)
def text_to_amount(text: str, convention: Convention = ENGLISH) -> Amount | None:
    """Read a number under a convention; None where it is none, or may be several.

    >>> text_to_amount("(1,234.50)").value, text_to_amount("12.5%").step
    (Decimal('-1234.5'), Decimal('0.001'))
    """
    numbers = read_text(text).numbers
    value = numbers[0].values.get(convention) if numbers else None
    if value is None or not isinstance(value.value, int | float):
        return None
    number, exact = numbers[0], Decimal(repr(value.value))
    digits = (digits_by_convention(number.core).get(convention) if number.core else None) or "0"
    decimals = len(digits.partition(".")[2])
    printed = Decimal(digits)
    power = (exact / printed).copy_abs().normalize() if printed else Decimal(1)
    has_groups = None if printed < 1000 else any(char in number.core for char in {convention.group, " ", "\u00a0"})
    is_percent = "%" in text or "％" in text
    signs = f"{number.unit}{LOOKALIKE if number.currency == LOOKALIKE else ''}{'%' if is_percent else ''}"
    return Amount(exact, Decimal(1).scaleb(-decimals) * power, decimals, signs, number.note, has_groups)


WORD = re.compile(r"[^\W\d_]{3}")
LONGEST = 24
"""Characters of a number."""
SEVERAL = re.compile(r"[±/–(]|\d-[.\d]|\d\s*[x×]\s*\d")
"""What ranges, fractions and sizes have."""


def mend_number(text: str, rule: Convention) -> str:
    """What a text would be as a number if marks, blanks or letters in it were misread; empty where it is none.

    >>> [mend_number(text, ENGLISH) for text in ("10.218.57", "9 95.98", "1,2O4", "Tea", "(1, 2)", "12")]
    ['10,218.57', '995.98', '1,204', '', '', '']
    """
    if len(text) > LONGEST or WORD.search(text) or text_to_amount(text, rule) is not None:
        return ""
    tight = re.sub(r"(?<=[0-9.,])\s+(?=[0-9.,])", "", text)
    mended = to_digits(text)
    tries = [part_marks(text, rule.decimal), tight, part_marks(tight, rule.decimal)] * (SEVERAL.search(text) is None)
    tries += [mended] * any(map(str.isalnum, text))
    return next((each for each in tries if each and each != text and text_to_amount(each, rule) is not None), "")


@dataclass(frozen=True, slots=True)
class Amounts:
    """The numbers of a table.

    Args:
        cells: The amount of each of ``table.cells``, or None.
        conventions: Of each column.
        is_label: Whether a cell has no digits, nor what looks like a number; empty ones are labels too.
        is_nothing: Whether a cell stands for zero: a dash, or empty.
    """

    cells: tuple[Amount | None, ...]
    conventions: tuple[Convention, ...]
    is_label: tuple[bool, ...]
    is_nothing: tuple[bool, ...]

    def read(self, text: str, col: int) -> Amount | None:
        """Read another text as if it stood in a column."""
        return text_to_amount(text, self.conventions[col])


def table_to_amounts(table: Table) -> Amounts:
    """Read all numbers: what most cells of a column agree with is what its marks mean.

    >>> amounts = table_to_amounts(Table.from_texts([["1.234,50"], ["x"], ["0,5"], ["-"], ["7"]]))
    >>> [amount and str(amount.value) for amount in amounts.cells]
    ['1234.5', None, '0.5', None, '7']
    """
    votes = [Counter[Convention]() for _ in range(table.n_cols)]
    for cell in table.cells:
        if not is_heading(cell):
            for number in read_text(part_marks(cell.text) or cell.text).numbers[:1]:
                votes[cell.col].update(rule for rule, value in number.values.items() if value is not None)
    of_table = sum(votes, Counter())
    chosen = tuple(_choose(of_column, of_table) for of_column in votes)
    return Amounts(
        tuple(None if is_heading(cell) else _read(cell.text, chosen[cell.col]) for cell in table.cells),
        chosen,
        tuple(
            not any(map(str.isdecimal, cell.text)) and text_to_amount(to_digits(cell.text), chosen[cell.col]) is None
            for cell in table.cells
        ),
        tuple(text_to_kind(cell.text) == EMPTY for cell in table.cells),
    )


def _read(text: str, rule: Convention) -> Amount | None:
    amount = text_to_amount(text, rule)
    if amount is None and (mended := mend_number(text, rule)):
        found = text_to_amount(mended, rule)
        return replace(found, mended=mended) if found else None
    return amount


def _choose(of_column: Counter[Convention], of_table: Counter[Convention]) -> Convention:
    return max(sorted(CONVENTIONS), key=lambda rule: (of_column[rule], of_table[rule], rule == ENGLISH))


def column_members(table: Table) -> list[list[int]]:
    """For each column the cells of one slot with a text that head nothing but their row, from top to bottom."""
    members: list[list[int]] = [[] for _ in range(table.n_cols)]
    for index, cell in enumerate(table.cells):
        if cell.colspan == 1 and cell.text.strip() and not is_heading(cell):
            members[cell.col].append(index)
    return members


def heads_of(table: Table, col: int) -> list[str]:
    """The headers above a column, the lowest last."""
    return [cell.text for cell in table.cells if cell.header == "column" and cell.col <= col < cell.end_col]


def usual(values: Sequence[object], share: float, least: int) -> object | None:
    """The value that so large a share of them have, if there are enough of it."""
    if not values:
        return None
    value, count = Counter(values).most_common(1)[0]
    return value if count >= max(least, share * len(values)) else None
