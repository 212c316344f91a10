"""Totals and subtotals, differences, and what is computed row by row: exactly, in whole numbers of the last digit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postprocess.meaning.totals import is_total_name
from postprocess.table import Table
from tablerec.corrections.proof.amounts import Amounts, heads_of
from tablerec.corrections.proof.equation import Equation, State
from tablerec.corrections.proof.lookalikes import find_slip

Whole = NDArray[Any]
"""Whole numbers, where they are large Python's own."""

_DIGITS, _DIGITS_OF_NAMED = 4.0, 2.0
"""So many digits of a sum must agree in all columns together; of one that is called a total."""
_MOST_DECIMALS = 8
_MOST_COLUMNS = 12
"""Of numbers, among which products and balances are looked for."""
_MOST_TERMS = 60
"""Rows that are added up at most where nothing says where a sum begins."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Rows (or columns) of numbers to add up along the first axis.

    Args:
        owner: ``(N, M)`` index of the cell in each slot, -1 where it is no number's place.
        values: ``(N, M)`` its number in units of the smallest last digit, 0 where there is none.
        known: ``(N, M)`` whether there is one.
        steps: ``(N, M)`` worth of its last digit, in the same units.
        named: ``(N,)`` whether the line is called a total.
        breaks: ``(N,)`` whether the line heads others.
    """

    owner: NDArray[np.int64]
    values: Whole
    known: NDArray[np.bool_]
    steps: Whole
    named: Sequence[bool]
    breaks: Sequence[bool]

    def turned(self, named: Sequence[bool]) -> Lines:
        """Columns in place of rows."""
        return Lines(self.owner.T, self.values.T, self.known.T, self.steps.T, named, [False] * self.owner.shape[1])

    def select(self, lines: Sequence[int]) -> Lines:
        """Some of the lines, in the order given."""
        at = list(lines)
        return Lines(
            self.owner[at], self.values[at], self.known[at], self.steps[at],
            [self.named[line] for line in at], [self.breaks[line] for line in at],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Relation:
    """A line that is computed of others: their sum, or the first less the rest."""

    target: int
    terms: tuple[int, ...]
    is_difference: bool = False
    is_sure: bool = True

    def signs(self) -> list[int]:
        return [-1 if self.is_difference and at else 1 for at in range(len(self.terms))]


def find_equations(table: Table, amounts: Amounts) -> list[Equation]:
    """Find what the numbers of a table have to do with one another.

    Args:
        table: With headers marked.
        amounts: Its numbers.

    >>> from tablerec.corrections.proof.amounts import table_to_amounts
    >>> table = Table.from_texts([["Tea", "25.10"], ["Milk", "171.05"], ["Total", "196.15"]])
    >>> [equation.state for equation in find_equations(table, table_to_amounts(table))]
    ['exact']
    """
    lines, unit = _to_lines(table, amounts)
    if not lines.known.any():
        return []
    numeric = _numeric_columns(lines)
    by_row = Lines(
        lines.owner[:, numeric], lines.values[:, numeric], lines.known[:, numeric], lines.steps[:, numeric],
        lines.named, lines.breaks,
    )  # fmt: skip
    heads = [["", *heads_of(table, col)][-1] for col in numeric]
    body = [row for row in range(table.n_rows) if by_row.known[row].any()]
    by_col = by_row.select(body).turned([is_total_name(head, exactly=True) for head in heads])
    found = list(_sums(table, amounts, by_row, unit))
    found += _sums(table, amounts, by_col, unit)
    found += _whole_shares(table, amounts, by_row, unit, heads, {equation.target for equation in found})
    if len(numeric) <= _MOST_COLUMNS:
        found += _products(by_col, unit)
        found += _balances(by_col, unit)
    return found


def _to_lines(table: Table, amounts: Amounts) -> tuple[Lines, Decimal]:
    shape = table.owner.shape
    read = [amount for amount in amounts.cells if amount is not None]
    exponents = [int(amount.step.normalize().as_tuple().exponent) for amount in read]
    unit = Decimal(1).scaleb(max(-_MOST_DECIMALS, min([0, *exponents])))
    owner = np.full(shape, -1, np.int64)
    values, steps = np.zeros(shape, object), np.ones(shape, object)
    known, heads = np.zeros(shape, bool), np.zeros(shape, bool)
    for index, cell in enumerate(table.cells):
        if cell.header in ("column", "section"):
            heads[cell.row : cell.end_row, cell.col : cell.end_col] = True
        if cell.is_spanning or cell.header is not None:
            continue
        amount = amounts.cells[index]
        owner[cell.row, cell.col] = index
        if amount is not None and amount.value % unit == 0:
            values[cell.row, cell.col] = int(amount.value / unit)
            steps[cell.row, cell.col] = max(1, int(amount.step / unit))
            known[cell.row, cell.col] = True
    for col in range(table.n_cols):
        at = known[:, col] & (values[:, col] != 0)
        steps[at, col] = np.maximum(steps[at, col], _common_step(values[at, col].tolist()))
    if max(map(abs, values.flat), default=0) < _LARGE:
        values, steps = values.astype(np.int64), steps.astype(np.int64)
    named = [_is_named(table, row) for row in range(table.n_rows)]
    breaks = [bool(heads[row].any()) and not known[row].any() for row in range(table.n_rows)]
    return Lines(owner, values, known, steps, named, breaks), unit


_LARGE = 1 << 40
"""Numbers below this are added up by the machine's own arithmetic, which is as exact and faster."""
_FEW, _ROUND = 5, 0.9
"""Numbers, and the share of them, that end in zeros where all are rounded."""


def _common_step(values: Sequence[int]) -> int:
    """The power of ten to which numbers are rounded.

    >>> _common_step([120, 30, 450, 990, 10]), _common_step([120, 30])
    (10, 1)
    """
    step = 1
    while len(values) >= _FEW and sum(value % (10 * step) == 0 for value in values) >= _ROUND * len(values):
        step *= 10
    return step


def _is_named(table: Table, row: int) -> bool:
    texts = [table[row, col].text for col in range(table.n_cols)]
    return any(is_total_name(text) for text in texts if text.strip() and not any(map(str.isdigit, text)))


def _numeric_columns(lines: Lines) -> list[int]:
    """Columns with numbers that may be added up: no codes of many digits without marks, and no counts of rows."""
    chosen = []
    for col in range(lines.known.shape[1]):
        at = np.flatnonzero(lines.known[:, col])
        values = [int(value) for value in lines.values[at, col]]
        steps = [b - a for a, b in pairwise(values)]
        if values and not (len(steps) > 1 and steps.count(int(lines.steps[at[0], col])) >= 0.7 * len(steps)):
            chosen.append(col)
    return chosen


# --- sums ---


def _sums(table: Table, amounts: Amounts, lines: Lines, unit: Decimal) -> Iterator[Equation]:
    count = len(lines.owner)
    if count < 3 or not lines.owner.shape[1]:
        return
    relations = _find_relations(table, amounts, lines, unit)
    if not relations:
        order = list(range(count))[::-1]
        relations = [
            replace(each, target=order[each.target], terms=tuple(order[term] for term in each.terms))
            for each in _find_relations(table, amounts, lines.select(order), unit)
        ]
    by_column = [
        [equation for each in relations for equation in _to_equations(amounts, lines, each, unit, [col])]
        for col in range(lines.owner.shape[1])
    ]
    for equations in by_column:
        # Shares, errors and the like do not add up, whatever the other columns do.
        adds_up = any(equation.state != "off" for equation in equations)
        yield from (replace(equation, is_sure=equation.is_sure and adds_up) for equation in equations)


def _find_relations(table: Table, amounts: Amounts, lines: Lines, unit: Decimal) -> list[_Relation]:
    """Go through the lines; what a total adds up is taken off the stack, and the total stands for it."""
    stack: list[int] = []
    since, found = 0, []
    for line in range(len(lines.owner)):
        if lines.breaks[line]:
            since = len(stack)
            continue
        if not lines.known[line].any():
            continue
        relation = _explain(lines, stack, line)
        if relation is None and lines.named[line] and len(stack) > 1:
            starts = sorted({0, min(since, len(stack) - 2)}, reverse=True)
            relation = _explain_by_slip(table, amounts, lines, stack, line, starts, unit)
        if relation is not None:
            found.append(relation)
            del stack[len(stack) - len(relation.terms) :]
            since = min(since, len(stack))
        stack.append(line)
    return found


def _explain(lines: Lines, stack: Sequence[int], line: int) -> _Relation | None:
    """The sum, or the difference, that a line is of the last ones on the stack."""
    if len(stack) < 2:
        return None
    last = list(stack[::-1][:_MOST_TERMS])
    terms = lines.values[last]
    sums = np.cumsum(terms, axis=0)[1:]
    counts = np.cumsum(lines.known[last] & (terms != 0), axis=0)[1:]
    differences = 2 * terms[1:] - sums
    best: tuple[float, _Relation] | None = None
    need = _DIGITS_OF_NAMED if lines.named[line] else _DIGITS
    for candidates, is_difference in ((sums, False), (differences, True)):
        scores = _agreement(lines, line, candidates, counts)
        at = int(len(scores) - 1 - np.argmax(scores[::-1]))
        if scores[at] >= need + (is_difference and not lines.named[line]) and (best is None or scores[at] > best[0]):
            best = float(scores[at]), _Relation(line, tuple(stack[len(stack) - at - 2 :]), is_difference)
    return best[1] if best else None


def _agreement(lines: Lines, line: int, candidates: Whole, counts: Whole) -> NDArray[np.float64]:
    """``(K,)`` digits in which each candidate agrees with a line, 0 where fewer than half of the columns do."""
    target, steps = lines.values[line], lines.steps[line]
    compared = (counts > 1) & lines.known[line] & (target != 0)
    errors = np.abs(candidates - target)
    exact = compared & (errors == 0)
    near = compared & ~exact & (2 * errors <= steps * (counts + 1)) & (np.abs(target) > 20 * errors)
    size = np.log10(np.maximum(np.abs(target / steps).astype(np.float64), 1.0))
    digits = (exact * size + near * np.maximum(size - 1, 0)).sum(axis=1)
    enough = 2 * (exact.sum(axis=1) + near.sum(axis=1)) >= compared.sum(axis=1)
    return np.where(enough, digits, 0.0).astype(np.float64)


def _explain_by_slip(
    table: Table, amounts: Amounts, lines: Lines, stack: Sequence[int], line: int, starts: Sequence[int], unit: Decimal
) -> _Relation | None:
    """What a line called a total adds up where no column agrees: then one misread character must explain each."""
    for start in starts:
        relation = _Relation(line, tuple(stack[start:]), is_sure=False)
        equations = list(_to_equations(amounts, lines, relation, unit, range(lines.owner.shape[1])))
        mended = [
            any(
                table.cells[cell].text and _is_slip(table.cells[cell].text, amounts, cell, wanted)
                for cell, wanted in equation.wanted.items()
            )
            for equation in equations
        ]
        if equations and all(mended):
            return relation
    return None


def _is_slip(text: str, amounts: Amounts, cell: int, wanted: Decimal) -> bool:
    amount = amounts.cells[cell]
    if amount is None or wanted % amount.step:
        return False
    return find_slip(text, str(abs(int(wanted / amount.step)))) in ("lookalike", "mark")


def _to_equations(
    amounts: Amounts, lines: Lines, relation: _Relation, unit: Decimal, cols: Iterable[int]
) -> Iterator[Equation]:
    target, terms = relation.target, list(relation.terms)
    signs = relation.signs()
    for col in cols:
        cells = [(int(lines.owner[term, col]), sign, term) for term, sign in zip(terms, signs, strict=True)]
        cells = [each for each in cells if each[0] >= 0 and not _is_text(amounts, each[0])]
        goal = int(lines.owner[target, col])
        filled = [each for each in cells if lines.known[each[2], col]]
        if goal < 0 or amounts.is_label[goal] or not filled:
            continue
        unread = [each for each in cells if not lines.known[each[2], col] and not amounts.is_label[each[0]]]
        total = sum(sign * int(lines.values[term, col]) for _, sign, term in cells)
        value, is_known = int(lines.values[target, col]), bool(lines.known[target, col])
        if len(filled) < 2 and (not is_known or total != value):
            continue
        wanted = {goal: Decimal(total) * unit}
        for cell, sign, term in cells:
            wanted[cell] = Decimal(int(lines.values[term, col]) + sign * (value - total)) * unit
        steps = sorted(int(lines.steps[line, col]) for line in (*(term for _, _, term in filled), target))
        step = steps[len(steps) // 2]  # one that lacks its last digit is misread, not rounded
        state = _state(value - total, step, len(filled)) if is_known and not unread else "off"
        if is_known and len(unread) + (not is_known) > 1:
            continue
        yield Equation(
            "sum",
            goal,
            tuple(cell for cell, _, _ in cells),
            state,
            wanted,
            relation.is_sure,
            _rounding(step, len(filled)) * unit,
        )


def _is_text(amounts: Amounts, cell: int) -> bool:
    return amounts.cells[cell] is None and amounts.is_label[cell]


def _state(error: int, step: int, count: int) -> State:
    if not error:
        return "exact"
    return "rounded" if abs(error) <= _rounding(step, count) and count > 1 else "off"


def _rounding(step: int, count: int) -> Decimal:
    """By how much the sum of so many rounded numbers may miss another rounded number."""
    return Decimal(step * (count + 1)) / 2


def _whole_shares(
    table: Table, amounts: Amounts, lines: Lines, unit: Decimal, heads: Sequence[str], done: set[int]
) -> Iterator[Equation]:
    """Columns of per cents, and rows of them, that add up to a hundred without saying so."""
    for col, head in enumerate(heads):
        rows = [row for row in range(len(lines.owner)) if lines.known[row, col]]
        cells = [int(lines.owner[row, col]) for row in rows]
        is_percent = all("%" in table.cells[cell].text for cell in cells)
        if len(cells) < 3 or not (is_percent or "%" in head or "percent" in head.casefold()) or done & {*cells}:
            continue
        whole = int((Decimal(1) if is_percent else Decimal(100)) / unit)
        values = [int(lines.values[row, col]) for row in rows]
        error, step = whole - sum(values), int(lines.steps[rows[0], col])
        if min(values) < 0 or abs(error) * 10 > whole:
            continue
        wanted = {cell: Decimal(value + error) * unit for cell, value in zip(cells, values, strict=True)}
        yield Equation("sum", cells[-1], tuple(cells[:-1]), _state(error, step, len(cells)), wanted, is_sure=False)


# --- row by row ---


def _products(lines: Lines, unit: Decimal) -> Iterator[Equation]:
    """Columns of which one is the product of two others."""
    count = len(lines.owner)
    taken: set[int] = set()
    for third in range(count)[::-1]:
        best: tuple[float, list[Equation]] | None = None
        for first, second in combinations([each for each in range(count) if each != third], 2):
            if not _may_multiply(lines, first, second, third, float(unit)):
                continue
            equations, digits = _multiply(lines, first, second, third, unit)
            n_right = sum(equation.state == "exact" for equation in equations)
            if (
                n_right >= 2
                and 2 * n_right > len(equations)
                and digits >= _DIGITS
                and (best is None or digits > best[0])
            ):
                best = digits, equations
        if best and third not in taken:
            yield from best[1]
            taken.add(third)


def _may_multiply(lines: Lines, first: int, second: int, third: int, unit: float) -> bool:
    a, b, c = (lines.values[line, :_SAMPLE].astype(np.float64) for line in (first, second, third))
    errors = np.abs(a * b * unit - c)
    return bool(np.mean((errors <= lines.steps[third, :_SAMPLE].astype(np.float64)) & (c != 0)) >= _GLANCE)


def _multiply(lines: Lines, first: int, second: int, third: int, unit: Decimal) -> tuple[list[Equation], float]:
    found, digits = [], 0.0
    for row in range(lines.owner.shape[1]):
        at = [int(lines.owner[line, row]) for line in (first, second, third)]
        known = [bool(lines.known[line, row]) for line in (first, second, third)]
        if min(at) < 0 or not all(known):
            continue
        a, b, c = (Decimal(int(lines.values[line, row])) * unit for line in (first, second, third))
        steps = [Decimal(int(lines.steps[line, row])) * unit for line in (first, second, third)]
        product = _round(a * b, steps[2])
        wanted = {at[2]: product}
        for cell, other, step in ((at[0], b, steps[0]), (at[1], a, steps[1])):
            if other and _round(_round(c / other, step) * other, steps[2]) == c:
                wanted[cell] = _round(c / other, step)
        is_right = product == c
        if is_right and abs(a) != 1 and abs(b) != 1 and c:
            digits += len(str(abs(int(c / steps[2])))) - 0.5
        found.append(Equation("product", at[2], (at[0], at[1]), "exact" if is_right else "off", wanted))
    return found, digits


def _round(value: Decimal, step: Decimal) -> Decimal:
    return (value / step).quantize(Decimal(1), ROUND_HALF_UP) * step


_RIGHT, _LONG = 0.55, 3.0
"""Share of the balances that agree, and digits of each: small numbers agree by chance."""


def _balances(lines: Lines, unit: Decimal) -> Iterator[Equation]:
    """A column in which each number is the one before with what the others bring and take."""
    count, n_rows = lines.owner.shape
    if n_rows < 2:
        return
    best: tuple[float, list[Equation]] | None = None
    for order in (range(n_rows), range(n_rows)[::-1]):
        sample = list(order[:_SAMPLE])
        for balance in range(count):
            others = [each for each in range(count) if each != balance]
            moves: list[tuple[tuple[int, int], ...]] = []
            moves += [((each, sign),) for each in others for sign in (1, -1)]
            moves += [((a, sign), (b, -sign)) for a, b in combinations(others, 2) for sign in (1, -1)]
            changes = np.diff(lines.values[balance][sample])
            for move in moves:
                brought = sum(sign * lines.values[line][sample][1:] for line, sign in move)
                if np.mean(changes == brought) < _GLANCE:
                    continue
                equations, digits = _run_on(lines, balance, move, list(order), unit)
                n_right = sum(equation.state == "exact" for equation in equations)
                enough = n_right >= max(3, _RIGHT * len(equations)) and digits > max(2 * _DIGITS, _LONG * n_right)
                if enough and (best is None or digits > best[0]):
                    best = digits, equations
    if best:
        yield from best[1]


_SAMPLE, _GLANCE = 33, 0.25
"""Rows that are looked at first, and the share of them that must agree."""


def _run_on(
    lines: Lines, balance: int, move: Sequence[tuple[int, int]], order: Sequence[int], unit: Decimal
) -> tuple[list[Equation], float]:
    found, digits, before = [], 0.0, -1
    for row in order:
        if not lines.known[balance, row]:
            before = -1
            continue
        if before >= 0:
            moved = [(line, sign) for line, sign in move if lines.known[line, row]]
            start, end = int(lines.values[balance, before]), int(lines.values[balance, row])
            total = start + sum(sign * int(lines.values[line, row]) for line, sign in moved)
            error = end - total
            goal, first = int(lines.owner[balance, row]), int(lines.owner[balance, before])
            wanted = {goal: Decimal(total) * unit, first: Decimal(start + error) * unit}
            for line, sign in moved:
                wanted[int(lines.owner[line, row])] = Decimal(int(lines.values[line, row]) + sign * error) * unit
            if moved or error:
                terms = (first, *(int(lines.owner[line, row]) for line, _ in moved))
                found.append(Equation("balance", goal, terms, "off" if error else "exact", wanted))
                digits += 0 if error else len(str(abs(end))) - 0.5
        before = row
    return found, digits
