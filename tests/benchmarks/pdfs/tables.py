"""Tables to be written: labels, numbers and spans by seed, in four languages."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from postprocess.cell import Cell, rewrite
from postprocess.table import Table


@dataclass(frozen=True)
class Words:
    """Texts of a language."""

    heads: tuple[str, ...]
    labels: tuple[str, ...]
    group: str
    total: str


WORDS = {
    "en": Words(
        ("Item", "Amount", "Share", "Rate", "Change"),
        (
            "Net sales",
            "Operating costs",
            "Office supplies",
            "Rolled steel",
            "Freight",
            "Energy",
            "Wages",
            "Rent and leases",
            "Interest paid",
            "Depreciation",
            "Insurance",
            "Repairs",
            "Travel",
            "Water",
        ),
        "Year 2023",
        "Total",
    ),
    "zh": Words(
        ("项目", "金额", "比例", "单价", "变动"),
        (
            "营业收入",
            "营业成本",
            "办公用品",
            "钢材",
            "运费",
            "能源费用",
            "职工薪酬",
            "房屋租金",
            "利息支出",
            "折旧费",
            "保险费",
        ),
        "二〇二三年",
        "合计",
    ),
    "he": Words(
        ("פריט", "סכום", "חלק", "מחיר", "שינוי"),
        (
            "הכנסות",
            "עלות המכר",
            "ציוד משרדי",
            "פלדה",
            "הובלה",
            "אנרגיה",
            "שכר עבודה",
            "שכירות",
            "ריבית",
            "פחת",
            "ביטוח",
        ),
        "שנה קודמת",
        "סך הכל",
    ),
    "ar": Words(
        ("البند", "المبلغ", "النسبة", "السعر", "التغير"),
        ("الإيرادات", "تكلفة البيع", "لوازم مكتبية", "حديد", "نقل", "طاقة", "أجور", "إيجار", "فوائد", "إهلاك", "تأمين"),
        "السنة السابقة",
        "المجموع",
    ),
}
RTL = ("he", "ar")


def number(rng: random.Random) -> str:
    """Return a number as statements have them: thousands, decimals, negative ones, shares."""
    makers: tuple[Callable[[], str], ...] = (
        lambda: f"{rng.uniform(10, 99999):,.2f}",
        lambda: f"{rng.randint(1000, 9999999):,}",
        lambda: f"{rng.uniform(0, 99):.1f}%",
        lambda: f"-{rng.uniform(1, 999):.2f}",
        lambda: f"{rng.uniform(1, 99):.3f}",
    )
    return rng.choice(makers)()


def make_table(
    seed: int, language: str = "en", *, grouped: bool = False, rows: int | None = None, cols: int | None = None
) -> Table:
    """Return a table with a header row, row labels and numbers; ``grouped`` has a head above two columns."""
    rng = random.Random(f"{language}{seed}")
    words = WORDS[language]
    n_cols = cols or rng.randint(4 if grouped else 3, 5)
    labels = rng.sample(words.labels, (rows or rng.randint(5, 9)) - 1)
    heads = [words.heads[0], *rng.sample(words.heads[1:], n_cols - 1)]
    texts = [[label, *(number(rng) for _ in heads[1:])] for label in [*labels, words.total]]
    if grouped:
        cells = [
            Cell(1, col, text=text, header="column") if col in (1, 2) else Cell(0, col, 2, text=text, header="column")
            for col, text in enumerate(heads)
        ]
        cells.append(Cell(0, 1, colspan=2, text=words.group, header="column"))
    else:
        cells = [Cell(0, col, text=text, header="column") for col, text in enumerate(heads)]
    cells += [
        Cell(row, col, text=text)
        for row, line in enumerate(texts, start=2 if grouped else 1)
        for col, text in enumerate(line)
    ]
    return Table(cells, direction="rtl" if language in RTL else "ltr")


def with_texts(table: Table, change: Callable[[Cell], str]) -> Table:
    """Return the table with other texts."""
    return table.with_cells(rewrite(table.cells, text=[change(cell) for cell in table.cells]))


def is_number(cell: Cell) -> bool:
    """Whether the cell holds one of ``number``."""
    return cell.header is None and cell.col > 0


def other_digits(text: str) -> str:
    """Return the text with each digit replaced by another one.

    >>> other_digits("1,029.5%")
    '4,352.8%'
    """
    return text.translate(str.maketrans("0123456789", "3456789012"))
