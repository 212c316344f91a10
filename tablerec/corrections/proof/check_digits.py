"""Numbers that carry a check digit. A table of algorithms: one more is one line in ``ALGORITHMS``.

They are those of ISO 7064, ISO 13616 (IBAN), ISO 2108 (ISBN), GS1 (EAN, UPC), GB 11643 (resident identity numbers of
China) and GB 32100 (its codes of organizations), and of the tax offices. A single misread digit never passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from postprocess.table import Table
from postprocess.values.script import to_plain
from tablerec.corrections.proof.amounts import column_members, heads_of, usual
from tablerec.corrections.proof.finding import Finding
from tablerec.corrections.proof.lookalikes import DIGITS, to_digits


def passes_luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of a payment card.

    >>> passes_luhn("79927398713"), passes_luhn("79927398710")
    (True, False)
    """
    doubled = [int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(digits))]
    return sum(value - 9 * (value > 9) for value in doubled) % 10 == 0


def passes_ean(digits: str) -> bool:
    """Whether the weights 1 and 3 give a multiple of ten, as for EAN, UPC and ISBN of 13 digits.

    >>> passes_ean("9780306406157"), passes_ean("9780306406158")
    (True, False)
    """
    return sum(int(digit) * (1 + 2 * (at % 2)) for at, digit in enumerate(reversed(digits))) % 10 == 0


def passes_isbn10(text: str) -> bool:
    """Whether a book's old number of ten characters passes.

    >>> passes_isbn10("0306406152"), passes_isbn10("080442957X")
    (True, True)
    """
    return sum((10 - at) * (10 if char == "X" else int(char)) for at, char in enumerate(text)) % 11 == 0


def passes_iban(text: str) -> bool:
    """Whether the number of a bank account passes.

    >>> passes_iban("DE89370400440532013000"), passes_iban("DE89370400440532013001")
    (True, False)
    """
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def passes_11_2(text: str) -> bool:
    """Whether ISO 7064 MOD 11-2 holds, as for the resident identity numbers of China.

    >>> passes_11_2("11010519491231002X"), passes_11_2("110105194912310021")
    (True, False)
    """
    total = sum(int(char) * (pow(2, len(text) - 1 - at, 11)) for at, char in enumerate(text[:-1]))
    return (total + (10 if text[-1] == "X" else int(text[-1]))) % 11 == 1


def passes_11_10(digits: str) -> bool:
    """Whether ISO 7064 MOD 11,10 holds, as for the tax numbers of Germany.

    >>> passes_11_10("136695976"), passes_11_10("136695978")
    (True, False)
    """
    product = 10
    for digit in digits[:-1]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return (product + int(digits[-1])) % 10 == 1


_ORGANIZATION = "0123456789ABCDEFGHJKLMNPQRTUWXY"


def passes_organization(text: str) -> bool:
    """Whether the code of an organization of China passes.

    >>> passes_organization("91350100M000100Y43"), passes_organization("91350100M000100Y44")
    (True, False)
    """
    total = sum(_ORGANIZATION.index(char) * pow(3, at, 31) for at, char in enumerate(text[:-1]))
    return (total + _ORGANIZATION.index(text[-1])) % 31 == 0


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A kind of number with a check digit.

    Args:
        name: Of it.
        form: What it looks like without blanks, hyphens and points.
        passes: Whether one of that form is right.
        heads: What names it above a column or beside a cell.
        is_clear: Whether its form says that it is one; else its column must: by its head, or since most of it pass.
    """

    name: str
    form: re.Pattern[str]
    passes: Callable[[str], bool]
    heads: re.Pattern[str]
    is_clear: bool = False


def _algorithm(name: str, form: str, passes: Callable[[str], bool], heads: str, *, is_clear: bool = False) -> Algorithm:
    return Algorithm(name, re.compile(form), passes, re.compile(heads, re.IGNORECASE), is_clear)


ALGORITHMS: tuple[Algorithm, ...] = (
    _algorithm("ISBN", r"97[89][0-9]{10}", passes_ean, r"\bISBN\b|书号", is_clear=True),
    _algorithm("ISBN", r"[0-9]{9}[0-9X]", passes_isbn10, r"\bISBN\b|书号"),
    _algorithm("IBAN", r"[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}", passes_iban, r"\bIBAN\b", is_clear=True),
    _algorithm(
        "resident ID", r"[1-9][0-9]{5}(?:18|19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:[0-2][0-9]|3[01])[0-9]{3}[0-9X]",
        passes_11_2, r"身份证|公民身份号码|resident id", is_clear=True,
    ),
    _algorithm(
        "social credit code", r"[0-9A-HJ-NP-RTUWXY]{2}[0-9]{6}[0-9A-HJ-NP-RTUWXY]{10}", passes_organization,
        r"信用代码|纳税人识别号|税号",
    ),
    _algorithm("EAN", r"[0-9]{13}", passes_ean, r"\b(?:EAN|GTIN|bar ?code)\b|条码|条形码"),
    _algorithm("EAN", r"[0-9]{8}", passes_ean, r"\b(?:EAN|GTIN|bar ?code)\b"),
    _algorithm("UPC", r"[0-9]{12}", passes_ean, r"\bUPC\b"),
    _algorithm("GTIN", r"[0-9]{14}", passes_ean, r"\bGTIN\b"),
    _algorithm("card number", r"[0-9]{15,19}", passes_luhn, r"\bcard\b|卡号"),
    _algorithm("IMEI", r"[0-9]{15}", passes_luhn, r"\bIMEI\b"),
    _algorithm("VAT number", r"DE[0-9]{9}", lambda text: passes_11_10(text[2:]), r"\bVAT\b|USt|MwSt"),
    _algorithm("VAT number", r"IT[0-9]{11}", lambda text: passes_luhn(text[2:]), r"\bVAT\b|IVA"),
    _algorithm(
        "VAT number", r"BE[01][0-9]{9}", lambda text: int(text[2:-2]) % 97 == 97 - int(text[-2:]), r"\bVAT\b|TVA|BTW"
    ),
)  # fmt: skip

_LEAST, _SHARE = 3, 0.6
"""So many numbers of a column, and such a share of them, pass where nothing else says what they are."""
_LONG = re.compile(r"[0-9A-Z]{2,}[0-9A-Z |.·/\-]*")


def check_codes(table: Table) -> tuple[dict[int, str], list[Finding]]:
    """Check all numbers with check digits.

    Returns:
        By cell the name of what passed, and the findings about those that do not.

    >>> rows = [["9780306406157"], ["978-0-306-40615-7"], ["9780306406151"]]
    >>> passed, [finding] = check_codes(Table.from_texts(rows))
    >>> sorted(passed), finding.cell, finding.values
    ([0, 1], 2, ('ISBN',))
    """
    passed: dict[int, str] = {}
    findings: list[Finding] = []
    for col, members in enumerate(column_members(table)):
        codes = {cell: _bare(table.cells[cell].text) for cell in members}
        codes = {cell: code for cell, code in codes.items() if len(code) >= 8 and any(map(str.isdigit, code))}
        if not codes:
            continue
        above = _heads(table, col)
        heads = {cell: f"{above} {_label(table, cell)}" for cell in codes}
        for algorithm in ALGORITHMS:
            fit = [cell for cell, code in codes.items() if cell not in passed and algorithm.form.fullmatch(code)]
            right = [cell for cell in fit if algorithm.passes(codes[cell])]
            odd = _odd_forms(table, right)
            is_usual = len(right) >= max(_LEAST, _SHARE * len(codes))
            named = {cell for cell in codes if algorithm.heads.search(heads[cell])}
            known = set(codes) if is_usual else named
            passed |= {cell: algorithm.name for cell in right if algorithm.is_clear or cell in known}
            findings += [Finding(cell, "check_digit", "grouping", 0.5) for cell in odd if cell in passed]
            if len(right) == len(codes):
                break
            is_told = is_usual or bool(named and (right or algorithm.is_clear))
            if is_told or algorithm.is_clear:
                wrong = (set(fit) if algorithm.is_clear else set()) | (known if is_told else set())
                findings += (
                    _finding(table, cell, codes[cell], algorithm) for cell in sorted(wrong - {*right} - passed.keys())
                )
    return passed, _one_each(findings, passed)


def _odd_forms(table: Table, cells: Sequence[int]) -> list[int]:
    """Those whose blanks and hyphens stand at other places than in most."""
    forms = [re.sub(r"[0-9A-Za-z]", "9", table.cells[cell].text.strip()) for cell in cells]
    form = usual(forms, 0.3, 2)
    return [cell for cell, own in zip(cells, forms, strict=True) if form is not None and own != form]


def _one_each(findings: Sequence[Finding], passed: dict[int, str]) -> list[Finding]:
    best: dict[int, Finding] = {}
    for finding in findings:
        if (finding.reason == "grouping" or finding.cell not in passed) and finding.severity > (
            best[finding.cell].severity if finding.cell in best else 0
        ):
            best[finding.cell] = finding
    return [best[cell] for cell in sorted(best)]


def _bare(text: str) -> str:
    plain = to_plain(text).upper()
    plain = re.sub(r"^ISBN(?:-1[03])?:?\s*", "", plain)
    return re.sub(r"[\s\-.·]", "", plain)


def _heads(table: Table, col: int) -> str:
    return " ".join(heads_of(table, col)) or (
        table[0, col].text if not any(map(str.isdigit, table[0, col].text)) else ""
    )


def _label(table: Table, cell: int) -> str:
    """What stands before a cell in its row, as in a form."""
    row, col = table.cells[cell].row, table.cells[cell].col
    return table[row, col - 1].text if col else ""


def _finding(table: Table, cell: int, code: str, algorithm: Algorithm) -> Finding:
    mends = sorted({text for text in _one_other(code) if algorithm.form.fullmatch(text) and algorithm.passes(text)})
    likely = to_digits(code) if code not in mends and to_digits(code) in mends else ""
    mended = likely or (mends[0] if len(mends) == 1 else "")
    return Finding(cell, "check_digit", "check_digit", 0.95, (algorithm.name,), mended)


def _one_other(code: str) -> Iterator[str]:
    """The codes with one character that looks like the one that was read, or all letters as digits."""
    yield to_digits(code)
    for at, char in enumerate(code):
        for other in DIGITS.get(char, to_digits(char)):
            yield code[:at] + other + code[at + 1 :]
    for at, (first, second) in enumerate(pairwise(code)):
        if first == second:
            yield code[:at] + code[at + 1 :]
