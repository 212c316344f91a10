"""Columns of one type, with an odd one out: numbers, dates, counts, codes of one form."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date

from postprocess.table import Table
from postprocess.values.dates import ORDERS, Order
from postprocess.values.reading import read_text
from postprocess.values.script import to_plain
from tablerec.corrections.proof.amounts import LONGEST, SEVERAL, WORD, Amount, Amounts, column_members, heads_of, usual
from tablerec.corrections.proof.finding import Finding
from tablerec.corrections.proof.lookalikes import letters_for, to_digits

_LEAST = 3
"""Cells of which a column has a type at least."""
_NUMBERS, _SAME = 0.7, 0.75
"""Share of the cells with digits that are numbers (or dates) in a column of them, and of those written in one way."""
_FORMS = 0.6
"""Share of the codes of a column that have its form."""
_ORDINAL = re.compile(r"[0-9]+(?:st|nd|rd|th)")
_MARK = re.compile(r"[-/.,:() ]")


def check_columns(table: Table, amounts: Amounts) -> tuple[list[int], list[Finding]]:
    """Find the odd ones of each column.

    Args:
        table: With headers marked.
        amounts: Its numbers.

    Returns:
        The cells that count on in a column of counts, which proves them, and the findings.

    >>> from tablerec.corrections.proof.amounts import table_to_amounts
    >>> table = Table.from_texts([["1,204"], ["17"], ["l2"], ["8"], ["1.300"]])
    >>> [(finding.cell, finding.mended) for finding in check_columns(table, table_to_amounts(table))[1]]
    [(2, '12'), (4, '')]
    """
    counted: list[int] = []
    findings: list[Finding] = []
    is_full = [2 * _n_filled(table, row) > table.n_cols for row in range(table.n_rows)]
    for col, members in enumerate(column_members(table)):
        digits = [cell for cell in members if any(map(str.isdecimal, table.cells[cell].text))]
        numbers = [cell for cell in digits if _is_number(table.cells[cell].text, amounts.cells[cell])]
        dates = [cell for cell in digits if read_text(table.cells[cell].text).dates]
        is_named = _DATE.search(" ".join(heads_of(table, col))) is not None
        if len(dates) >= max(_LEAST - is_named, (_DATES_OF_NAMED if is_named else _NUMBERS) * len(digits)):
            findings += _check_dates(table, members, dates)
        elif len(numbers) >= max(_LEAST, _NUMBERS * len(digits)) and not _are_codes(table, numbers):
            right, wrong = _check_count(table, amounts, members)
            counted += right
            findings += wrong
            findings += _check_numbers(table, amounts, members, numbers)
        elif digits:
            findings += _check_forms(table, members)
        findings += _check_gaps(table, col, members, is_full)
    return counted, findings


_DATE = re.compile(r"(?i)\bdate\b|\bdatum\b|\bfecha\b|日期|年月日")
_DATES_OF_NAMED = 0.3
"""Share of dates in a column that is called so."""


_FULL, _MANY = 0.9, 5
"""Share of the rows in which a column is filled, and number of them, from which an empty cell is odd."""


def _check_gaps(table: Table, col: int, members: Sequence[int], is_full: Sequence[bool]) -> Iterator[Finding]:
    """Empty cells amid a column that is full else, in rows that are."""
    rows = [table.cells[cell].row for cell in members]
    if len(rows) < _MANY:
        return
    inner = [int(table.owner[row, col]) for row in range(rows[0], rows[-1]) if is_full[row]]
    empty = [
        cell for cell in inner
        if not table.cells[cell].text.strip() and not table.cells[cell].is_spanning and not table.cells[cell].tables
        and not table.cells[cell].pictures
    ]  # fmt: skip
    if empty and len(inner) - len(empty) >= max(_MANY, _FULL * len(inner)):
        for cell in empty:
            yield Finding(cell, "type", "empty", 0.3)


def _n_filled(table: Table, row: int) -> int:
    return sum(bool(table[row, col].text.strip()) for col in range(table.n_cols))


def _is_number(text: str, amount: Amount | None) -> bool:
    """Whether a text is a number, or is one with other marks; one with other letters may be a code."""
    return amount is not None and not (amount.mended and any(map(str.isalpha, text)))


def _are_codes(table: Table, numbers: Sequence[int]) -> bool:
    """Whether digits of one length, long ones, stand for no amounts."""
    texts = [table.cells[cell].text for cell in numbers]
    return all(text.isdigit() and len(text) > 6 for text in texts) and len({*map(len, texts)}) == 1


# --- numbers ---


def _check_numbers(table: Table, amounts: Amounts, members: Sequence[int], numbers: Sequence[int]) -> Iterator[Finding]:
    lettered = Counter(
        "".join(filter(str.isalpha, table.cells[cell].text))
        for cell in members
        if (amount := amounts.cells[cell]) and amount.mended
    )
    for cell in members:
        letters = "".join(filter(str.isalpha, table.cells[cell].text))
        # Several with the same letter are codes: 7B, 8B.
        is_code = bool(letters) and lettered[letters] > 1
        if ((amount := amounts.cells[cell]) is None or amount.mended) and not is_code:
            yield from _check_no_number(table, amounts, cell)
    known = [(cell, amount) for cell in numbers if (amount := amounts.cells[cell]) is not None and not amount.mended]
    if len(known) <= _LEAST:
        return
    decimals = usual([amount.decimals for _, amount in known], _SAME, _LEAST)
    groups = [amount.has_groups for _, amount in known if amount.has_groups is not None]
    has_groups = usual(groups, _SAME, _LEAST)
    signs = usual([amount.signs for _, amount in known], _SAME, _LEAST)
    for cell, amount in known:
        if decimals is not None and amount.decimals != decimals and not _is_plain_row(table, amounts, cell):
            if amount.value or amount.decimals:
                yield Finding(cell, "type", "decimals", 0.6, (str(amount.decimals), str(decimals)))
        elif amount.note and sum(bool(other.note) for _, other in known) <= len(known) / 4:
            yield Finding(cell, "type", "like_number", 0.4, (to_digits(table.cells[cell].text),))
        if (
            has_groups is not None
            and amount.has_groups is not None
            and amount.has_groups != has_groups
            and not _is_year(amount)
        ):
            yield Finding(cell, "type", "groups", 0.5)
        if signs is not None and amount.signs != signs and not _is_plain_row(table, amounts, cell):
            yield Finding(cell, "type", "unit", 0.5)


def _is_year(amount: Amount) -> bool:
    return not amount.decimals and 1800 <= amount.value <= 2100


def _check_no_number(table: Table, amounts: Amounts, cell: int) -> Iterator[Finding]:
    text, amount = table.cells[cell].text, amounts.cells[cell]
    if amount is not None:
        yield Finding(cell, "type", "like_number", 0.85, (amount.mended,), amount.mended)
    elif any(map(str.isdecimal, text)) and len(text) <= LONGEST and not (WORD.search(text) or SEVERAL.search(text)):
        yield Finding(cell, "type", "no_number", 0.7)


def _is_plain_row(table: Table, amounts: Amounts, cell: int) -> bool:
    """Whether the other numbers of the row are written as this one: a row may have a format of its own."""
    own, row = amounts.cells[cell], table.cells[cell].row
    others = [
        amount
        for index, amount in ((int(each), amounts.cells[int(each)]) for each in {*table.owner[row].tolist()})
        if amount is not None and index != cell
    ]
    return own is not None and any((each.decimals, each.signs) == (own.decimals, own.signs) for each in others)


def _check_count(table: Table, amounts: Amounts, members: Sequence[int]) -> tuple[list[int], list[Finding]]:
    """Of a column that counts its rows the cells that do, and the others."""
    values = [_count_of(amounts.cells[cell]) for cell in members]
    best: tuple[int, int, Sequence[int]] = (0, 0, ())
    ways: list[Sequence[int]] = [range(len(members)), [table.cells[cell].row for cell in members]]
    for places in ways:
        starts = Counter(value - at for at, value in zip(places, values, strict=True) if value is not None)
        if starts:
            start, count = starts.most_common(1)[0]
            best = max(best, (count, start, places), key=lambda each: each[0])
    count, start, places = best
    if count < max(4, _SAME * len(members)):
        return [], []
    wanted = [start + at for at in places]
    right = [cell for cell, value, at in zip(members, values, wanted, strict=True) if value == at]
    wrong = [
        Finding(cell, "type", "count", 0.85, (str(at),), str(at))
        for cell, value, at in zip(members, values, wanted, strict=True)
        if value != at and len(table.cells[cell].text) <= 6 and to_digits(table.cells[cell].text).strip(".").isdigit()
    ]
    return right, wrong


def _count_of(amount: Amount | None) -> int | None:
    is_plain = amount is not None and not (amount.decimals or amount.note or amount.signs or amount.mended)
    return int(amount.value) if amount is not None and is_plain else None


# --- dates ---


def _check_dates(table: Table, members: Sequence[int], dates: Sequence[int]) -> Iterator[Finding]:
    order = _order_of(table, dates)
    known: list[tuple[int, date]] = []
    for cell in members:
        text = table.cells[cell].text
        value = (read_text(text).dates or {}).get(order)
        if value is not None and isinstance(value.value, date):
            known.append((cell, value.value))
        elif any(map(str.isdecimal, text)) and not re.search(r"(?i)total|sum|–| - ", text) and len(text) <= 24:
            mended = to_digits(text)
            is_date = mended != text and order in (read_text(mended).dates or {})
            yield Finding(cell, "date", "no_date", 0.85, (), mended if is_date else "")
    is_filled = any(re.search(r"\b0[1-9]\b", table.cells[cell].text) for cell, _ in known)
    forms = [_date_form(table.cells[cell].text, is_filled) for cell, _ in known]
    form = usual(forms, _SAME, _LEAST)
    if form is not None:
        for (cell, _), own in zip(known, forms, strict=True):
            if own != form:
                yield Finding(cell, "date", "date_format", 0.5)
    yield from _check_order([cell for cell, _ in known], [value.toordinal() for _, value in known])


def _order_of(table: Table, dates: Sequence[int]) -> Order:
    """The order of day and month in which most are dates."""
    counts = Counter(order for cell in dates for order in read_text(table.cells[cell].text).dates or {})
    return max(ORDERS, key=lambda order: counts[order])


def _date_form(text: str, is_filled: bool) -> str:
    """The marks of a date, and how many digits each part has where days below ten are filled with zeros."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"[0-9]" if is_filled else r"[0-9]+", "9", to_plain(text)))


def _check_order(cells: Sequence[int], days: Sequence[int]) -> Iterator[Finding]:
    """The dates that stand outside of the longest rise, or fall, where they are few."""
    if len(cells) < 4:
        return
    kept = max((_longest_rise(days), _longest_rise([-day for day in days])), key=len)
    out = sorted({*range(len(cells))} - {*kept})
    if out and len(out) <= max(1, len(cells) // 8):
        for at in out:
            yield Finding(cells[at], "date", "date_order", 0.6)


def _longest_rise(values: Sequence[int]) -> list[int]:
    """Places of a longest sequence that never falls.

    >>> _longest_rise([1, 9, 2, 3])
    [0, 2, 3]
    """
    ends: list[int] = []
    places: list[int] = []
    before = [-1] * len(values)
    for at, value in enumerate(values):
        place = bisect_right(ends, value)
        before[at] = places[place - 1] if place else -1
        ends[place : place + 1] = [value]
        places[place : place + 1] = [at]
    found, at = [], places[-1] if places else -1
    while at >= 0:
        found.append(at)
        at = before[at]
    return found[::-1]


# --- codes ---


def _check_forms(table: Table, members: Sequence[int]) -> Iterator[Finding]:
    """Codes of which most have the same form: so many letters, digits and marks."""
    codes = [cell for cell in members if _is_code(table.cells[cell].text)]
    forms = [text_to_form(table.cells[cell].text) for cell in codes]
    form = usual(forms, _FORMS, _LEAST)
    if not isinstance(form, str) or "9" not in form or len(form) < 2:
        return
    for cell, own in zip(codes, forms, strict=True):
        if own == form:
            continue
        text, example = table.cells[cell].text.strip(), form.replace("o", "").replace("a", "x")
        mended = to_form(text, form)
        if mended:
            yield Finding(cell, "type", "like_form", 0.9, (example, mended), mended)
        elif _MARK.sub("", own) == _MARK.sub("", form):
            yield Finding(cell, "type", "form", 0.7, (example,))


def _is_code(text: str) -> bool:
    plain = text.strip()
    return 1 < len(plain) <= 40 and to_digits(plain).isascii() and not re.search(r"[a-z]{3}|[A-Z][a-z]{2}|\n", plain)


def text_to_form(text: str) -> str:
    """What a code looks like: 9 for a digit, A and a for letters; of an ordinal its ending, which tells nothing.

    >>> text_to_form("AB-12"), text_to_form("21st"), text_to_form("lst")
    ('AA-99', '9o', 'aaa')
    """
    plain = to_plain(text)
    if _ORDINAL.fullmatch(plain):
        return "9o"
    return "".join(
        "9" if char.isdecimal() else "A" if char.isupper() else "a" if char.islower() else char for char in plain
    )


def to_form(text: str, form: str) -> str:
    """The text with other characters that look like its own, so that it has a form; empty where it cannot.

    >>> to_form("HO", "A9"), to_form("lst", "9o"), to_form("A8-12", "AA-99"), to_form("K-12", "AA-99")
    ('H0', '1st', 'AB-12', '')
    """
    if form == "9o":
        match = re.fullmatch(r"(\S{1,3})(st|nd|rd|th)", text)
        mended = to_digits(match[1]) + match[2] if match else ""
        return mended if _ORDINAL.fullmatch(mended) else ""
    if len(text) != len(form):
        return ""
    mended = "".join(map(_to_class, text, form))
    return mended if text_to_form(mended) == form else ""


def _to_class(char: str, wanted: str) -> str:
    if wanted == "9":
        return to_digits(char)
    if wanted in "Aa":
        letters = letters_for(char) or char
        return next((each for each in letters if each.isupper() == (wanted == "A")), char)
    return char
