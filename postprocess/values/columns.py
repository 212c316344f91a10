"""What a column of readings is: numbers under one convention, dates in one order, or text as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from postprocess.values.conventions import CONVENTIONS, ENGLISH
from postprocess.values.dates import ORDERS, is_ordered
from postprocess.values.numbers import Number
from postprocess.values.reading import Reading
from postprocess.values.units import LOOKALIKE
from postprocess.values.value import Value, text_to_value

Kind = Literal["number", "date", "text", "empty"]
Source = Literal["column", "table", "page", "default"]

Rule = Any
"""A `Convention` for numbers, an `Order` for dates."""


@dataclass(frozen=True, slots=True)
class Column:
    """What was decided about a column.

    Args:
        kind: What its cells are, but for headings, words and dashes, which are text in each.
        decimal: Mark before the decimals, where the numbers have decimals.
        group: Mark between groups of digits, where they have groups.
        date_order: ``"day-month"`` or ``"month-day"``, where dates have numbers for both.
        unit: Unit that all its numbers carry.
        decided_by: Who said which marks and which order: the column itself, the table, the page, or nobody, so that
            the comma in 1,234 is taken for the mark of thousands. None where there was nothing to decide.
        reason: Why cells with digits are text, in words.
    """

    kind: Kind
    decimal: str | None = None
    group: str | None = None
    date_order: str | None = None
    unit: str | None = None
    decided_by: Source | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A column as far as it is known by itself.

    Args:
        kind: What its cells may be.
        readings: Those of its cells that count: with digits.
        numbers: The number of each reading, where the kind is ``"number"``.
        options: For each reading its value by rule.
        allowed: Rules under which each reading has a value.
        reason: Why it is text.
    """

    kind: Kind
    readings: Sequence[Reading] = ()
    numbers: Sequence[Number] = ()
    options: Sequence[Mapping[Rule, Value | None]] = ()
    allowed: frozenset[Rule] = frozenset()
    reason: str = ""


def draft_column(readings: Iterable[Reading]) -> Draft:
    """See what a column is by itself.

    Args:
        readings: Its cells, without headings.

    >>> from postprocess.values.reading import read_text
    >>> draft_column(map(read_text, ["1,5", "-", "1.5"]))  # doctest: +ELLIPSIS
    Draft(kind='text', ..., reason='"1,5" and "1.5" have different decimal marks')
    """
    counted = [reading for reading in readings if not reading.is_label]
    if not counted:
        return Draft("text")
    strange = next((each for each in counted if not each.numbers and not each.dates), None)
    if strange is not None:
        return Draft("text", reason=f'"{_cut(strange.text)}" has digits and is no number')
    if all(reading.dates for reading in counted):
        return _draft_dates(counted)
    if any(reading.dates for reading in counted):
        return Draft("text", reason="dates stand among numbers")
    return _draft_numbers(counted)


def _draft_dates(readings: Sequence[Reading]) -> Draft:
    options = [reading.dates or {} for reading in readings]
    allowed = frozenset(ORDERS).intersection(*options)
    if not allowed:
        return Draft("text", reason="day and month change their order")
    return Draft("date", readings, (), options, allowed)


def _draft_numbers(readings: Sequence[Reading]) -> Draft:
    numbers = _choose(readings)
    reason = _unlike(readings, numbers)
    if reason:
        return Draft("text", reason=reason)
    options = [number.values for number in numbers]
    allowed = CONVENTIONS.intersection(*options)
    if not allowed:
        return Draft("text", reason=_contradiction(readings, options))
    return Draft("number", readings, numbers, options, allowed)


def _choose(readings: Sequence[Reading]) -> list[Number]:
    """One number for each reading: whether a raised digit is an exponent or a note, the others say; or none."""
    clear = [reading.numbers[0] for reading in readings if len(reading.numbers) == 1]
    if len(clear) == len(readings):
        return clear
    has_powers, has_notes = any(each.is_power for each in clear), any(each.note for each in clear)
    if has_powers == has_notes:
        return []
    return [
        next(each for each in reading.numbers if each in clear or each.is_power == has_powers) for reading in readings
    ]


def _unlike(readings: Sequence[Reading], numbers: Sequence[Number]) -> str:
    """Why numbers must not be added, or nothing."""
    if not numbers:
        text = next(reading.text for reading in readings if len(reading.numbers) > 1)
        return f'"{text}" is a power or has a note'
    units, currencies = {number.unit for number in numbers}, {number.currency for number in numbers} - {""}
    if len(units) > 1:
        return f"units differ: {_listed(units)}"
    if LOOKALIKE in currencies and "$" not in currencies:
        return f'"{LOOKALIKE}" stands before a number'
    if len(currencies - {LOOKALIKE}) > 1:
        return f"currencies differ: {_listed(currencies)}"
    return ""


def _cut(text: str) -> str:
    return text.split("\n")[0][:40]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name or "none" for name in sorted(names))


def _contradiction(readings: Sequence[Reading], options: Sequence[Mapping[Rule, Value | None]]) -> str:
    allowed = CONVENTIONS
    first = readings[0]
    for reading, values in zip(readings, options, strict=True):
        if not allowed & values.keys():
            return f'"{first.text}" and "{reading.text}" have different decimal marks'
        if allowed & values.keys() != allowed:
            first, allowed = reading, allowed & values.keys()
    return ""


def shared_rules(drafts: Iterable[Draft], kind: Kind) -> frozenset[Rule]:
    """Rules that agree with all columns of a kind; none where two contradict one another.

    Columns share the decimal mark and the order of dates; one may have groups of digits where another has none.
    """
    if kind == "date":
        return frozenset(ORDERS).intersection(*(draft.allowed for draft in drafts if draft.kind == kind))
    decimals = [{each.decimal for each in draft.allowed} for draft in drafts if draft.kind == kind]
    return frozenset(each for each in CONVENTIONS if all(each.decimal in found for found in decimals))


Wider = Sequence[tuple[Source, Mapping[Kind, frozenset[Rule]]]]
"""What the table and the page allow, by kind, from near to far."""


def settle(draft: Draft, wider: Wider = ()) -> tuple[Column, list[Value]]:
    """Decide a column.

    Args:
        draft: What it is by itself.
        wider: What others may say where it does not.

    Returns:
        What was decided, and the value of each of ``draft.readings``; no values for text.
    """
    if draft.kind not in ("number", "date"):
        return Column(draft.kind, reason=draft.reason), []
    rule, source = _find_rule(draft, wider)
    if source is None:
        return Column("text", reason=_open(draft)), []
    values = [options[rule] for options in draft.options]
    kept = [value for value in values if value is not None]
    if len(kept) < len(values):
        text = draft.readings[values.index(None)].text
        return Column("text", reason=f'"{text}" has other marks than the rest'), []
    return (_number_column(draft, rule, source) if draft.kind == "number" else _date_column(draft, rule, source)), kept


def _find_rule(draft: Draft, wider: Wider) -> tuple[Rule, Source | None]:
    rules = draft.allowed
    levels: Wider = [("column", {draft.kind: rules}), *wider]
    for source, said in levels:
        # Who contradicts himself says nothing.
        rules = rules & said[draft.kind] or rules
        if said[draft.kind] and not _open_readings(draft, rules):
            return min(rules), source
    # Nobody says what the comma is.
    is_usual = (
        all("." not in draft.numbers[index].core for index in _open_readings(draft, rules)) if draft.numbers else False
    )
    nearest = wider[0][1][draft.kind] if wider else rules
    return ENGLISH, "default" if is_usual and ENGLISH in rules and nearest else None


def _open_readings(draft: Draft, rules: frozenset[Rule]) -> list[int]:
    """The readings whose value depends on which of the rules holds."""
    return [index for index, options in enumerate(draft.options) if len({options[rule] for rule in rules}) > 1]


def _open(draft: Draft) -> str:
    text = draft.readings[_open_readings(draft, draft.allowed)[0]].text
    what = "the decimal mark" if draft.kind == "number" else "the day"
    return f'nothing says which is {what} in "{text}"'


def _number_column(draft: Draft, rule: Rule, source: Source) -> Column:
    cores = [number.core for number in draft.numbers]
    has_decimals = any(rule.decimal in core for core in cores)
    groups = {char for core in cores for char in core if not char.isdigit() and char != rule.decimal}
    unit = next((number.unit for number in draft.numbers if number.unit), None)
    return Column(
        "number",
        decimal=rule.decimal if has_decimals else None,
        group=rule.group if groups else None,
        unit=unit,
        decided_by=source if has_decimals or groups else None,
    )


def _date_column(draft: Draft, rule: Rule, source: Source) -> Column:
    is_said = any(is_ordered(reading.text) for reading in draft.readings)
    return Column("date", date_order=rule if is_said else None, decided_by=source if is_said else None)


def reading_to_value(reading: Reading, wider: Wider = ()) -> Value:
    """The value of a cell that stands alone, such as one that spans several columns."""
    _, values = settle(draft_column([reading]), wider)
    return values[0] if values else text_to_value(reading.text)
