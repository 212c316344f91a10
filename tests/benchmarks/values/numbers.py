"""Numbers as people write them, read again: ``python -m tests.benchmarks.values.numbers [--soffice]``.

Known numbers, 5,000 by default, are written in 30 conventions, and read alone and in columns: with dashes, totals and
words, with a table and a page that say what the column does not, and in columns that must stay text, be it whole. By
convention: numbers; those read right alone, those that are text since nothing decides, and those with a comma before
three last digits, which alone is taken for the mark of thousands; those read right in their columns, those in columns
that say nothing; columns that are half numbers and half text, and values that changed. The last two must be 0.

``--soffice`` writes the tables as workbooks, has LibreOffice show them and write them again, and counts cells whose
shown text has other digits than the text that was read, and numbers that are none any more.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np

from postprocess.export import write_excel
from postprocess.table import Table
from postprocess.values import Value, parse_value, table_to_values, tables_to_values
from tests.postprocess.values.spreadsheet import CSV_FILTER, convert, digits_of, read_csv, without_marks

SEED = 4_000_000_007
PER_COLUMN = 8

Rng = np.random.Generator
Write = Callable[[Decimal], str]


def grouped(whole: str, mark: str, *, is_indian: bool = False) -> str:
    """Digits with a mark between their groups, written without the code under test."""
    size = 2 if is_indian else 3
    head, tail = whole[:-3], whole[-3:]
    groups = [tail]
    while head:
        groups.insert(0, head[-size:])
        head = head[:-size]
    return mark.join(groups)


def digits(decimal: str = ".", mark: str = "", *, is_indian: bool = False) -> Write:
    """How a convention writes a number without its sign."""

    def write(number: Decimal) -> str:
        whole, _, rest = f"{abs(number):f}".partition(".")
        return grouped(whole, mark, is_indian=is_indian) + (decimal + rest if rest else "")

    return write


def signed(write: Write, template: str = "{}", minus: str = "-{}") -> Write:
    """The same with a sign, and something around it."""
    return lambda number: template.format(minus.format(write(number)) if number < 0 else write(number))


def around(write: Write, positive: str, negative: str) -> Write:
    """The same with something around it that depends on the sign."""
    return lambda number: (negative if number < 0 else positive).format(write(number))


def in_script(write: Write, digits: str) -> Write:
    """The same in digits of another script."""
    return lambda number: write(number).translate(str.maketrans("0123456789", digits))


def noted(write: Write) -> Write:
    """The same, now and then with the mark of a note."""
    marks = ("", "", "¹", "²,³", "ᵃ", "*", " †", "‡")
    return lambda number: write(number) + marks[int(str(number.as_tuple().digits[-1])) % len(marks)]


def scientific(number: Decimal, times: str) -> str:
    """One digit before the point, and a power of ten."""
    mantissa, exponent = f"{number:.2E}".split("E")
    if times == "E":
        return f"{mantissa}E{exponent[0]}{int(exponent[1:]):02}"
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa}{times}10{raised}"


def chinese(number: Decimal) -> str:
    """Everyday numerals by the plain rule: each digit with its unit, one zero for a gap."""
    whole, text, gap = int(number), "", False
    sections = [(10**8, "亿"), (10**4, "万"), (1, "")]
    for worth, name in sections:
        section = whole // worth % 10**4
        part = ""
        for unit, unit_name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
            digit = section // unit % 10
            if digit:
                part += ("零" if gap and (part or text) else "") + "零一二三四五六七八九"[digit] + unit_name
            gap = not digit
        text += (part + name) if part else ""
    return text.removeprefix("一") if text.startswith("一十") else text


def financial(number: Decimal) -> str:
    """The same in the characters of cheques."""
    plain = chinese(number)
    plain = "一" + plain if plain.startswith("十") else plain
    return plain.translate(str.maketrans("一二三四五六七八九十百千", "壹贰叁肆伍陆柒捌玖拾佰仟")) + "元整"


NUMERALS = (chinese, financial)


@dataclass(frozen=True)
class Style:
    """A convention.

    Args:
        write: Number -> text.
        sizes: Digits before and after the decimal mark, at most.
        worth: What a written one counts.
        is_signed: Whether there are negative ones.
    """

    write: Write
    sizes: tuple[int, int] = (7, 3)
    worth: Decimal = Decimal(1)
    is_signed: bool = True


ENGLISH, GERMAN, FRENCH = digits(".", ","), digits(",", "."), digits(",", "\u202f")
INDIAN = digits(".", ",", is_indian=True)
PERCENT = Decimal("0.01")
STYLES = {
    "1,234.56": Style(signed(ENGLISH)),
    "1234.56": Style(signed(digits())),
    "1.234,56": Style(signed(GERMAN)),
    "1234,56": Style(signed(digits(","))),
    "1 234,56 (U+202F)": Style(signed(FRENCH)),
    "1 234,56 (U+00A0), U+2212": Style(signed(digits(",", "\u00a0"), minus="\u2212{}")),
    "1 234.56 (U+2009), en dash": Style(signed(digits(".", "\u2009"), minus="–{}")),
    "1'234.56": Style(signed(digits(".", "'"))),
    "12,34,567.89": Style(signed(INDIAN)),
    "(1,234.56)": Style(around(ENGLISH, "{}", "({})")),
    "1.234,56-": Style(around(GERMAN, "{}", "{}-")),
    "+1,234.56": Style(around(ENGLISH, "+{}", "-{}"), (5, 2)),
    "$1,234.56 and ($ 5)": Style(around(ENGLISH, "${}", "($ {})")),
    "1.234,56 €": Style(signed(GERMAN, "{} €")),
    "CHF 1’234.50": Style(signed(digits(".", "’"), "CHF {}")),
    "1 234,56 zł": Style(signed(digits(",", " "), "{} zł")),
    "¥1,234 and ￥": Style(around(ENGLISH, "¥{}", "￥-{}")),
    "₹ 12,34,567": Style(around(INDIAN, "₹ {}", "-₹ {}")),
    "12.5%": Style(around(digits(), "{}%", "({}%)"), (3, 2), PERCENT),
    "12,5 %": Style(signed(digits(","), "{} %"), (3, 2), PERCENT),
    "1,234.5 kg": Style(signed(ENGLISH, "{} kg")),
    "-12,5 °C": Style(signed(digits(","), "{} °C"), (3, 1)),
    "１，２３４．５": Style(in_script(digits("．", "，"), "０１２３４５６７８９"), is_signed=False),
    "١٬٢٣٤٫٥": Style(signed(in_script(digits("٫", "٬"), "٠١٢٣٤٥٦٧٨٩"))),
    "۱۲۳۴٫۵": Style(signed(in_script(digits("٫"), "۰۱۲۳۴۵۶۷۸۹"))),
    "一千二百三十四, 壹仟元整": Style(lambda number: NUMERALS[int(number) % 2](number), (7, 0), is_signed=False),
    "1.5万, 3亿": Style(lambda number: f"{number:f}{'万亿'[int(number) % 2]}", (4, 2), is_signed=False),
    "5.20E+04": Style(lambda number: scientific(number, "E"), (6, 3)),
    "5.20×10⁴": Style(lambda number: scientific(number, "×"), (6, 3)),
    "24.91², 7*": Style(noted(signed(ENGLISH))),
}
WORDS = ("—", "-", "n.a.", "–", "", "nil", "n/a")


def draw(rng: Rng, style: Style) -> Decimal:
    """A number of a style: as many digits as it allows, at times many, at times few."""
    n_whole, n_decimals = int(rng.integers(1, style.sizes[0] + 1)), int(rng.integers(0, style.sizes[1] + 1))
    # Numerals of one character are ordinals.
    whole = int(rng.integers(1 if style.sizes[1] else 10, max(10**n_whole, 100)))
    number = Decimal(whole) + Decimal(int(rng.integers(0, 10**n_decimals))).scaleb(-n_decimals)
    return -number if style.is_signed and rng.random() < 0.3 else number


def true_value(name: str, number: Decimal) -> Decimal:
    """What the text of a number is worth."""
    if name.startswith("5.20"):
        return Decimal(f"{number:.2E}")
    if name.startswith("1.5万"):
        return number * (10**8 if int(number) % 2 else 10**4)
    return number * STYLES[name].worth


def is_same(value: Value, wanted: Decimal) -> bool:
    """Whether a value is a number, and this one."""
    return isinstance(value.value, int | float) and Decimal(repr(value.value)) == wanted


OPEN = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}|[1-9][0-9]{0,2}([. '’\u00a0\u2009\u202f][0-9]{3})+,[0-9]{3}")
"""One mark before three last digits may be either mark, and 1.234,567 a misread 1,234,567."""


def is_open(text: str) -> bool:
    """Whether a text alone does not say what its marks are."""
    plain = text.translate(str.maketrans("．，０１２３４５６７８９", ".,0123456789"))
    return any(OPEN.fullmatch(core) for core in re.findall(r"[0-9](?:.*[0-9])?", plain, re.ASCII))


def draw_column(rng: Rng, name: str, count: int) -> tuple[list[str], list[Decimal | None]]:
    """Texts of a column, with dashes and words among its numbers, and the value of each."""
    texts, wanted = ["Amount"], [None]
    for _ in range(count):
        if rng.random() < 0.2:
            texts, wanted = [*texts, str(rng.choice(WORDS))], [*wanted, None]
        number = draw(rng, STYLES[name])
        texts, wanted = [*texts, STYLES[name].write(number)], [*wanted, true_value(name, number)]
    return texts, wanted


def to_table(*columns: Sequence[str]) -> Table:
    """A table of these columns."""
    height = max(map(len, columns))
    return Table.from_texts([[column[row] if row < len(column) else "" for column in columns] for row in range(height)])


def misleading(rng: Rng) -> Iterator[tuple[str, list[str]]]:
    """Columns that are no numbers, or nobody knows which: numbers, and what spoils them, in any order."""

    def whole(low: int, high: int) -> str:
        return str(rng.integers(low, high))

    def some(make: Callable[[], str], *others: str) -> list[str]:
        return list(rng.permutation([*(make() for _ in range(5)), *others]))

    yield "codes with leading zeros", some(lambda: whole(10**4, 10**5), "0" + whole(1000, 9999))
    yield "more than 15 digits", some(lambda: whole(10**15, 10**16))
    yield "mobile phones", some(lambda: "138" + whole(10**7, 10**8))
    yield "phones", some(lambda: f"+49 30 {whole(10**5, 10**6)}")
    yield "versions", some(lambda: f"{whole(1, 9)}.{whole(0, 20)}.{whole(0, 9)}")
    yield "addresses of computers", some(lambda: ".".join(whole(100, 255) for _ in range(4)))
    yield "ranges", some(lambda: f"{whole(1, 9)}-{whole(10, 99)}", "100")
    yield "ratios", some(lambda: f"{whole(1, 9)}/{whole(10, 99)}", "7")
    yield "times", some(lambda: f"{whole(10, 23)}:{whole(10, 59)}")
    yield "points and three digits", some(lambda: f"{whole(1, 999)}.{whole(100, 999)}", "12")
    yield "two decimal marks", some(lambda: f"{whole(1, 999)}.{whole(10, 99)}", "12,5")
    yield "two kinds of groups", some(lambda: f"{whole(100, 999)},{whole(100, 999)}", "12,34,567")
    yield "a letter for a digit", some(lambda: whole(100, 999), "1O0")
    yield "a mark misread", some(lambda: f"1,{whole(100, 999)}.50", "1.23.4")
    yield "limits", some(lambda: f"0.{whole(10, 99)}", "<0.01")
    yield "mean and deviation", some(lambda: f"{whole(10, 99)}.5", "12.5 (3.4)")
    yield "units differ", some(lambda: f"{whole(1, 99)} kg", "5 mm")
    yield "a unit is missing", some(lambda: f"{whole(1, 99)} kg", "7")
    yield "currencies differ", some(lambda: f"${whole(1, 99)}", "€7")
    yield "debit and credit", some(lambda: f"{whole(1, 99)}.50 Dr", "7.50 Cr")
    yield "powers or notes", ["10²", "10³", *some(lambda: whole(10, 99))]
    yield "days or months", some(lambda: f"0{whole(1, 9)}/0{whole(1, 9)}/2026")
    yield "days and months", some(lambda: f"0{whole(1, 9)}/0{whole(1, 9)}/2026", "31/01/2026", "01/31/2026")
    yield "dates and numbers", some(lambda: whole(1, 99), "2026-01-02")
    yield "ordinals", ["一", "二", "三", *some(lambda: whole(1, 99))]
    yield "lists", some(lambda: f"{whole(1, 9)},{whole(1, 9)}", "1,2,3")


def undecided(rng: Rng) -> Iterator[tuple[list[Table], int]]:
    """Tables whose first column needs the second one, or the second table, and what its last number is worth."""
    for decimal, worth in ((",", 1000), (".", 1)):
        number = int(rng.integers(1000, 10**6))
        texts, proof = ["Sum", f"{number // 1000}.{number % 1000:03}"], ["Rate", f"0{decimal}5"]
        yield [to_table(texts, proof)], number * worth
        yield [to_table(texts), to_table(proof)], number * worth


def round_trip(tables: dict[str, list[Table]], soffice: str) -> Counter[str]:
    """What LibreOffice shows and stores otherwise than it was read: cells shown with other digits, numbers lost."""
    import openpyxl

    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [f"{index}.xlsx" for index in range(len(tables))]
        for file, many in zip(files, tables.values(), strict=True):
            write_excel(many, folder / file, [f"t{number}" for number in range(len(many))])
        convert(soffice, folder, files, CSV_FILTER)
        (folder / "again").mkdir()
        convert(soffice, folder, ["--outdir", "again", *files], "xlsx")
        for index, many in enumerate(tables.values()):
            again = openpyxl.load_workbook(folder / "again" / files[index])
            for number, (table, values) in enumerate(zip(many, tables_to_values(many), strict=True)):
                shown = dict(enumerate("".join(row) for row in read_csv(folder / f"{index}-t{number}.csv")))
                for cell, value in zip(table.cells, values.cells, strict=True):
                    stored = again[f"t{number}"].cell(cell.row + 1, 1)
                    found["cells"] += 1
                    found["numbers"] += not value.is_text
                    found["other digits"] += not is_shown(shown.get(cell.row, ""), cell.text, value)
                    found["lost"] += not value.is_text and (stored.data_type != "n" or stored.value != value.value)
    return found


def is_shown(shown: str, text: str, value: Value) -> bool:
    """Whether a cell shows the characters that were read, but for decimal and group marks, and ×10⁴ as E+4."""
    if value.is_text:
        return shown == text
    return digits_of(shown) == digits_of(text) and ("×" in text or without_marks(shown) == without_marks(text))


def main() -> None:
    """Print a line for each convention and each kind of misleading column; fail if a value is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--count", type=int, default=5000, help="numbers")
    parser.add_argument("--soffice", action="store_true", help="show the tables with LibreOffice too")
    args = parser.parse_args()
    rng = np.random.default_rng(SEED)
    wrong, tables = 0, {}
    print(f"{'convention':28}" + "".join(f"{name:>{len(name) + 2}}" for name in COUNTS))
    for name in STYLES:
        counts, tables[name] = measure(rng, name, args.count // len(STYLES) + 1)
        print(f"{name:28}" + "".join(f"{counts[key]:>{len(key) + 2}}" for key in COUNTS))
        wrong += counts["half"] + counts["changed"] + counts["unlike"]
    wrong += measure_others(rng)
    if args.soffice:
        soffice = shutil.which("soffice")
        if soffice is None:
            sys.exit("LibreOffice is missing: install it, or leave --soffice out")
        found = round_trip(tables, soffice)
        print("LibreOffice: " + ", ".join(f"{count:,} {key}" for key, count in found.items()))
        wrong += found["other digits"] + found["lost"]
    sys.exit(f"{wrong} wrong" if wrong else 0)


def measure(rng: Rng, name: str, count: int) -> tuple[Counter[str], list[Table]]:
    """Read numbers of a style alone and in columns, each with its total."""
    counts: Counter[str] = Counter()
    tables = []
    while counts["numbers"] < count:
        texts, wanted = draw_column(rng, name, min(PER_COLUMN, count - counts["numbers"]))
        tables.append(to_table(texts))
        found = zip(texts, table_to_values(tables[-1]).cells, wanted, strict=True)
        numbers = [(text, value, true) for text, value, true in found if true is not None]
        n_texts = sum(value.is_text for _, value, _ in numbers)
        n_right = sum(is_same(value, true) for _, value, true in numbers)
        is_undecided = n_texts == len(numbers) and any(is_open(text) for text, _, _ in numbers)
        counts["numbers"] += len(numbers)
        counts["in columns"] += n_right
        counts["undecided"] += len(numbers) * is_undecided
        counts["half"] += 0 < n_texts < len(numbers)
        counts["changed"] += len(numbers) - n_texts - n_right
        counts["unlike"] += n_texts * (not is_undecided)
        for text, _, true in numbers:
            counts[read_alone(text, true)] += 1
    return counts, tables


COUNTS = ("numbers", "alone", "open", "thousands", "in columns", "undecided", "half", "changed")


def read_alone(text: str, true: Decimal) -> str:
    """What becomes of a number that stands alone: one of ``COUNTS``, or ``"unlike"`` where it is wrong."""
    value = parse_value(text)
    if is_same(value, true):
        return "alone"
    if not is_open(text):
        return "unlike"
    return "open" if value.is_text else "thousands"


def measure_others(rng: Rng) -> int:
    """Read columns that must stay text, and those that others decide; how many are wrong."""
    spoilt: Counter[str] = Counter()
    for _ in range(20):
        for name, texts in misleading(rng):
            found = table_to_values(to_table(["Head", *texts]))
            spoilt[name] += not all(value.is_text for value in found.cells)
    for name, count in spoilt.items():
        print(f"{name:28} 20 columns must stay text, {count} do not")
    cases = [case for _ in range(20) for case in undecided(rng)]
    missed = sum(
        not is_same(tables_to_values(tables)[0].cells[tables[0].n_cols], Decimal(worth) / 1000)
        for tables, worth in cases
    )
    print(f"{'decided by table or page':28} {len(cases)} columns, {missed} are not")
    return spoilt.total() + missed


if __name__ == "__main__":
    main()
