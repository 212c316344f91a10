"""What of a page's text was lost, invented, or read as another number without a word."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from postprocess.cell import Cell
from postprocess.table import Table
from postprocess.word import UNREAD
from tablerec import Page
from tests.benchmarks.pdfs.case import Case

STRICT = 0.9
"""Least score of a table that ``tablerec --strict`` believes."""

_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹣-⁃"), "-")
_CONTROLS = dict.fromkeys(
    [0x061C, 0x200B, *range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF]
)
_TRAILING_MINUS = re.compile(r"^\s*([\d.,٫٬]+[%٪]?)-\s*$")
"""Where the text runs from right to left, a minus before a number is seen behind it: both are taken as the same."""
_CJK = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"


def is_raised(letter: str) -> bool:
    """Whether a character is a superscript or a subscript: these keep their meaning by their place.

    >>> [is_raised(letter) for letter in "²₂2"]
    [True, True, False]
    """
    return unicodedata.decomposition(letter).startswith(("<super>", "<sub>"))


def fold(text: str) -> str:
    """Return a text as it is compared: NFKC but for raised signs, dashes alike, one blank for several.

    >>> fold("ﬁn \\n 1−2²"), fold("Under-\\nstanding")
    ('fin 1-2²', 'Understanding')
    """
    text = "".join(letter if is_raised(letter) else unicodedata.normalize("NFKC", letter) for letter in text)
    text = unicodedata.normalize("NFC", text).translate(_CONTROLS).translate(_DASHES).replace("\xad", "-")
    text = _TRAILING_MINUS.sub(r"-\1", text)
    text = " ".join(re.sub(r"(?<=[^\W\d])-\s*\n\s*(?=[^\W\d])", "", text).split())
    return re.sub(rf"(?<=[{_CJK}]) | (?=[{_CJK}])", "", text)


def letters(text: str) -> Counter[str]:
    """The characters of a text without blanks."""
    return Counter(fold(text).replace(" ", ""))


def values(text: str) -> str:
    """Return the numbers of a text: digits, raised signs, separators between digits, a sign before them.

    >>> values("Sales¹ -1,029.5%"), values("a-b"), values("7²") == values("72")
    ('¹ -1,029.5%', '', False)
    """
    raised = "".join(letter for letter in set(text) if is_raised(letter))
    pattern = rf"-?[\d{raised}](?:[.,٫٬ ]?[\d{raised}×⁻])*%?" if raised else r"-?\d(?:[.,٫٬ ]?\d)*[%٪]?"
    return " ".join(found.replace(" ", "") for found in re.findall(pattern, fold(text)))


def is_number(text: str) -> bool:
    """Whether a text is a number, with signs and marks: it has digits and no letters but raised ones.

    >>> is_number("-1,029.5%ᵃ"), is_number("Sales 2023"), is_number("CO₂")
    (True, False, False)
    """
    plain = [letter for letter in fold(text) if not is_raised(letter)]
    return any(map(str.isdigit, plain)) and not any(map(str.isalpha, plain))


@dataclass
class Score:
    """Of one PDF.

    Args:
        grid: Whether there is one table, with the right shape and spans.
        cells: Number of cells in the truth.
        exact: Those with the right place, span and text.
        lost: Visible characters in no cell where they belong, and not reported.
        reported: Visible characters that are missing in their cell, and reported: unplaced, unread or in doubt.
        invented: Characters in cells without doubt which are not seen there.
        wrong: Cells whose number is not the true one.
        silent: Those of which nothing is said: no doubt or unread character in the cell, no unplaced text for an
            empty one, no warning in the log, no low score of the table.
        messages: Doubts of cells and warnings of the log.
        direction: Whether the direction of the table is right.
        seconds: For the page.
        notes: What is wrong, to be read by people.
        error: The message of an exception.
    """

    grid: bool = False
    cells: int = 0
    exact: int = 0
    lost: int = 0
    reported: int = 0
    invented: int = 0
    wrong: int = 0
    silent: int = 0
    messages: list[str] = field(default_factory=list)
    direction: bool = True
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    error: str = ""


Spans = tuple[int, int, int, int]


def place(cell: Cell) -> Spans:
    """Row, column and spans."""
    return cell.row, cell.col, cell.rowspan, cell.colspan


def score(case: Case, pages: Sequence[Page], warnings: Sequence[str]) -> Score:
    """Compare what was read with what a viewer shows."""
    tables = [table for page in pages for table in page.tables]
    truth = {place(cell): cell for cell in case.truth.cells}
    grid = len(tables) == 1 and {place(cell) for cell in tables[0].cells} == truth.keys()
    result = Score(grid, len(truth), messages=list(warnings))
    result.messages += [f"({c.row}, {c.col}) {c.doubt}" for t in tables for c in t.cells if c.doubt]
    if tables:
        result.direction = all(table.direction == case.truth.direction for table in tables)
    unplaced = [item.word.text for page in pages for item in page.unplaced]
    captions = [caption.text for table in tables for caption in table.captions]
    spare = sum(map(letters, [*unplaced, *captions]), Counter())
    found = {place(cell): cell for table in tables[:1] for cell in table.cells}
    result.exact = sum(key in found and _accepts(cell, found[key].text, case) for key, cell in truth.items())
    quiet = not warnings and bool(tables) and min(map(_sureness, tables)) >= STRICT
    if grid:
        _score_cells(case, truth, found, spare, quiet, result)
    else:
        shapes = [table.shape for table in tables]
        result.notes.append(f"grid: {case.truth.shape} expected, {shapes} found")
        _score_pool(case, [cell for table in tables for cell in table.cells], spare, quiet, result)
    missing = sum(map(letters, case.outside), Counter()) - spare
    if missing:
        result.lost += missing.total()
        result.notes.append(f"outside the table lost: {_listed(missing)}")
    return result


def _sureness(table: Table) -> float:
    return 1.0 if table.confidence is None else table.confidence.table


def _endings(cell: Cell, case: Case) -> list[str]:
    """The accepted texts of a cell: with none, some or all of what is cut."""
    maybe = case.maybe.get((cell.row, cell.col), "")
    return [cell.text + maybe[:length] for length in range(len(maybe) + 1)]


def _accepts(cell: Cell, text: str, case: Case) -> bool:
    return any(fold(text) == fold(each) for each in _endings(cell, case))


def _score_cells(
    case: Case, truth: dict[Spans, Cell], found: dict[Spans, Cell], spare: Counter[str], quiet: bool, result: Score
) -> None:
    for key, cell in truth.items():
        got = found[key]
        if _accepts(cell, got.text, case):
            continue
        accepted = _endings(cell, case)
        missing = letters(cell.text) - letters(got.text)
        extra = letters(got.text) - letters(accepted[-1])
        unread = extra.pop(UNREAD, 0)
        seen = missing.total() if got.doubt else min(missing.total(), unread)
        elsewhere = (missing & spare) if not got.doubt else Counter()
        spare -= elsewhere
        lost = max(0, missing.total() - seen - elsewhere.total())
        result.reported += missing.total() - lost
        result.lost += lost
        result.invented += 0 if got.doubt else extra.total()
        numeric = is_number(got.text) or is_number(cell.text)
        wrong = numeric and values(got.text) not in {values(each) for each in accepted}
        said = got.doubt or UNREAD in got.text or (not got.text and elsewhere == missing)
        silent = wrong and quiet and not said
        result.wrong += wrong
        result.silent += silent
        result.notes.append(
            f"({cell.row}, {cell.col}) {cell.text!r} read as {got.text!r}"
            + (f", doubt: {got.doubt}" if got.doubt else "")
            + (", SILENT" if silent else "")
            + (f", lost {_listed(missing)}" if lost else "")
        )


def _score_pool(case: Case, cells: Sequence[Cell], spare: Counter[str], quiet: bool, result: Score) -> None:
    """Where the grids differ, characters and numbers are compared over the whole page."""
    wanted = _pool(cell.text for cell in case.truth.cells)
    got = _pool(cell.text for cell in cells)
    maybe = _pool(case.maybe.values())
    missing, extra = wanted - got, got - wanted - maybe
    doubted = _pool(cell.text for cell in cells if cell.doubt)
    unread = extra.pop(UNREAD, 0)
    reported = (missing & spare).total() + unread
    lost = max(0, missing.total() - reported)
    result.lost, result.reported = lost, missing.total() - lost
    result.invented = (extra - doubted).total()
    result.notes += [f"lost {_listed(missing)}"] * bool(lost) + [f"invented {_listed(extra)}"] * bool(extra)
    true = Counter(values(cell.text) for cell in case.truth.cells)
    sure = Counter(values(cell.text) for cell in cells if not cell.doubt and is_number(cell.text))
    accepted = {values(each) for cell in case.truth.cells for each in _endings(cell, case)}
    wrong = sum(count for value, count in (sure - true).items() if value not in accepted)
    result.wrong = wrong
    result.silent = wrong if quiet else 0
    result.notes += [f"numbers that are not there: {sorted((sure - true).keys() - accepted)}"] * bool(wrong)


def _pool(texts: Iterable[str]) -> Counter[str]:
    return sum(map(letters, texts), Counter())


def _listed(found: Counter[str]) -> str:
    return "".join(sorted(found.elements()))
