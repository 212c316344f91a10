"""What cells have to do with one another, and which of them a single misread character may have spoilt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from postprocess.table import Table
from tablerec.corrections.proof.amounts import Amounts
from tablerec.corrections.proof.finding import Evidence, Finding
from tablerec.corrections.proof.lookalikes import Slip, find_slip

State = Literal["exact", "rounded", "off"]
Name = Literal["sum", "product", "balance"]


@dataclass(frozen=True, slots=True)
class Equation:
    """One sum, product or balance.

    Args:
        name: Which of them.
        target: The cell that is computed of the others.
        terms: The others.
        state: Whether it holds: exactly, within what rounded numbers may differ, or not.
        wanted: For each of its cells the number with which it would hold, the others being right.
        is_sure: Whether it is known that it should hold, as others of its kind do.
        rounding: By how much rounded numbers may miss it.
    """

    name: Name
    target: int
    terms: tuple[int, ...]
    state: State
    wanted: Mapping[int, Decimal]
    is_sure: bool = True
    rounding: Decimal = Decimal(0)

    @property
    def cells(self) -> tuple[int, ...]:
        """All its cells."""
        return (self.target, *self.terms)


_SEVERITY: dict[Slip, float] = {"lookalike": 0.9, "mark": 0.9, "missing": 0.8, "digit": 0.65}
_OFF, _RIVALS = 0.5, 0.2
"""Severity of a total that does not agree and that nothing mends, and what each rival takes from a mended cell."""


def judge(table: Table, amounts: Amounts, equations: Sequence[Equation]) -> tuple[dict[int, Evidence], list[Finding]]:
    """Say which cells are proved, and which are to be looked at.

    Args:
        table: Any table.
        amounts: Its numbers.
        equations: What they have to do with one another.

    Returns:
        By cell what proves it, and the findings. An equation that holds exactly proves all its cells; of one that
        does not, the cells that nothing else proves are asked whether one misread character spoilt them.
    """
    proved: dict[int, Evidence] = {}
    for equation in equations:
        if equation.state == "exact":
            proved |= {
                cell: equation.name for cell in equation.cells if cell not in proved and _is_clean(table, amounts, cell)
            }
    failing = [equation for equation in equations if equation.state == "off"]
    mends: dict[int, dict[Decimal, list[tuple[Equation, Slip]]]] = defaultdict(lambda: defaultdict(list))
    for equation in failing:
        for cell, slip in _slips(table, amounts, equation, proved):
            mends[cell][equation.wanted[cell]].append((equation, slip))
    return proved, list(_findings(table, amounts, failing, mends, proved))


def _is_clean(table: Table, amounts: Amounts, cell: int) -> bool:
    """Whether the number is all that the cell says: a raised digit may be a misread one."""
    amount = amounts.cells[cell]
    return bool(table.cells[cell].text.strip()) and not (amount and (amount.note or amount.mended))


def _slips(
    table: Table, amounts: Amounts, equation: Equation, proved: Mapping[int, Evidence]
) -> Iterator[tuple[int, Slip]]:
    for cell, wanted in equation.wanted.items():
        if cell in proved:
            continue
        slip = _slip(table, amounts, cell, wanted)
        if slip is not None:
            yield cell, slip


def _slip(table: Table, amounts: Amounts, cell: int, wanted: Decimal) -> Slip | None:
    text, amount = table.cells[cell].text, amounts.cells[cell]
    if not any(map(str.isalnum, text)) or (amount is not None and amount.value == wanted):
        return None
    if amount is not None and amount.value * wanted < 0 and abs(amount.value) != abs(wanted):
        return None  # two faults at once
    step = amount.step if amount else _usual_step(table, amounts, cell)
    steps = {step, _usual_step(table, amounts, cell)}
    found: list[Slip] = []
    for each in steps:
        units = wanted / each
        if units == units.to_integral_value() and (slip := find_slip(text, str(abs(int(units))))):
            found.append(slip)
    return max(found, key=_SEVERITY.__getitem__, default=None)


def _usual_step(table: Table, amounts: Amounts, cell: int) -> Decimal:
    """What the last digit is worth of most numbers in the column of a cell."""
    col = table.cells[cell].col
    steps = [
        amount.step for other, amount in zip(table.cells, amounts.cells, strict=True) if amount and other.col == col
    ]
    return max(steps, key=steps.count, default=Decimal(1))


def _findings(
    table: Table,
    amounts: Amounts,
    failing: Sequence[Equation],
    mends: Mapping[int, Mapping[Decimal, Sequence[tuple[Equation, Slip]]]],
    proved: Mapping[int, Evidence],
) -> Iterator[Finding]:
    best: dict[int, tuple[Decimal, int, float]] = {}
    for cell, by_value in mends.items():
        value, found = max(
            by_value.items(), key=lambda item: (len(item[1]), max(_SEVERITY[slip] for _, slip in item[1]))
        )
        best[cell] = value, len(found), max(_SEVERITY[slip] for _, slip in found)
    for equation in failing:
        inside = [cell for cell in equation.cells if cell in best and best[cell][0] == equation.wanted[cell]]
        most = max((best[cell][1] for cell in inside), default=0)
        # Who mends two equations at once is it.
        suspects = [
            cell for cell in inside if best[cell][1] == most and not (most == 1 and _is_weak(best, inside, cell))
        ]
        for cell in suspects:
            value, _, severity = best[cell]
            severity = min(0.98, severity + 0.05 * (most > 1) - min(_RIVALS, 0.05 * (len(suspects) - 1)))
            text = write(value, amounts, table, cell)
            yield Finding(cell, "sum", equation.name, severity, (text,), text)
        if not suspects and equation.is_sure:
            yield from _unmended(table, amounts, equation, proved)


def _is_weak(best: Mapping[int, tuple[Decimal, int, float]], inside: Sequence[int], cell: int) -> bool:
    """Whether any digit whatsoever would have to be misread, where a likelier misreading explains it."""
    return best[cell][2] <= _SEVERITY["digit"] and any(best[other][2] > _SEVERITY["digit"] for other in inside)


def _unmended(table: Table, amounts: Amounts, equation: Equation, proved: Mapping[int, Evidence]) -> Iterator[Finding]:
    """The total, and those of its cells that cannot be read as numbers."""
    shown = (
        write(equation.wanted[equation.target], amounts, table, equation.target), f"{equation.rounding.normalize():f}"
    )  # fmt: skip
    unread = [cell for cell in equation.terms if amounts.cells[cell] is None and not amounts.is_label[cell]]
    for cell in [equation.target, *unread]:
        if cell not in proved:
            yield Finding(cell, "sum", f"{equation.name}_off", _OFF, shown)


def write(value: Decimal, amounts: Amounts, table: Table, cell: int) -> str:
    """A number as its column would show it."""
    rule, amount = amounts.conventions[table.cells[cell].col], amounts.cells[cell]
    step = amount.step if amount and value % amount.step == 0 else _usual_step(table, amounts, cell)
    is_percent = "%" in table.cells[cell].text
    shown = value * 100 if is_percent else value
    decimals = max(0, -int((step * 100 if is_percent else step).normalize().as_tuple().exponent))
    text = (
        f"{abs(shown):,.{decimals}f}".replace(",", "\0")
        .replace(".", rule.decimal)
        .replace("\0", _group(table, cell, rule.group))
    )
    is_bracketed = value < 0 and any("(" in each.text for each in table.cells if each.col == table.cells[cell].col)
    text = f"({text})" if is_bracketed else f"-{text}" if value < 0 else text
    return text + "%" * is_percent


def _group(table: Table, cell: int, mark: str) -> str:
    """The mark between thousands, if the column has one."""
    col = table.cells[cell].col
    return (
        mark
        if any(
            mark in each.text.strip() for each in table.cells if each.col == col and any(map(str.isdigit, each.text))
        )
        else ""
    )
