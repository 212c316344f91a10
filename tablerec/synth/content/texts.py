"""Texts: words of three languages, and values whose format stays the same within a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

import numpy as np

from tablerec.synth.recipe import Range, Weights, pick

Language = Literal["english", "latin", "chinese"]

_SUPERSCRIPTS = ("a", "b", "c", "1", "2", "3", "*", "**", "†", "‡", "(1)", "(2)", "(a)")
_CURRENCIES = ("$", "$", "$", "€", "£", "¥", "HK$", "US$", "CHF")
_DASHES = ("-", "–", "—", "–", "n/a", "N/A", "nil", "..", "n.a.", "*")


@lru_cache(maxsize=8)
def vocabulary(language: str) -> dict[str, tuple[str, ...]]:
    """Return the words of a language by topic.

    >>> "Revenue" in vocabulary("english")["accounts"]
    True
    """
    text = (resources.files("tablerec.synth") / "vocabulary" / f"{language}.txt").read_text("utf-8")
    sections = (section.partition("]\n") for section in text.removeprefix("[").split("\n["))
    return {
        name: tuple(word.strip() for word in words.replace("\n", ";").split(";") if word.strip())
        for name, _, words in sections
    }


@lru_cache(maxsize=1)
def _hanzi() -> str:
    """Return the 3,755 most frequent Chinese characters, those of GB 2312 level 1."""
    codes = (bytes([high, low]) for high in range(0xB0, 0xD8) for low in range(0xA1, 0xFF))
    return "".join(code.decode("gb2312", "ignore") for code in codes)


@dataclass(frozen=True, slots=True)
class Value:
    """A value and how it is set apart.

    Args:
        text: The value.
        lead: A sign that stands apart on the left.
        trail: A sign that hangs over on the right.
    """

    text: str
    lead: str = ""
    trail: str = ""


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How the numbers of a column are written.

    Args:
        low: Least value.
        high: Largest value.
        decimals: Digits behind the point.
        separator: Between thousands.
        point: Before the decimals.
        negatives: Share of negative numbers.
        parentheses: Whether negative numbers stand in parentheses, else behind a minus.
        prefix: Before each number.
        suffix: Behind each number.
        hangs: Whether suffix and closing parenthesis hang over the edge of the column.
        dash: What stands for zero or nothing.
        dashes: Share of dashes.
        marks: Share of numbers with a footnote mark.
        extra: A second number: ``sd`` for 1.2 ± 0.3, ``paren`` for 12 (3.4), ``range`` for 1–4,
            ``interval`` for 1.2 (0.8, 1.9).
    """

    low: float
    high: float
    decimals: int = 0
    separator: str = ","
    point: str = "."
    negatives: float = 0
    parentheses: bool = True
    prefix: str = ""
    suffix: str = ""
    hangs: bool = False
    dash: str = "–"
    dashes: float = 0
    marks: float = 0
    extra: str = ""

    def write(self, value: float) -> str:
        """Return one number without sign.

        >>> NumberFormat(0, 1, decimals=1).write(1234.56)
        '1,234.6'
        """
        text = f"{abs(value):,.{self.decimals}f}"
        return text.replace(".", "\0").replace(",", self.separator).replace("\0", self.point)


class Writer:
    """Writes texts in one language.

    Args:
        rng: Source of chance.
        language: Of the words.

    >>> Writer(np.random.default_rng(0), "english").label("fields") in vocabulary("english")["fields"]
    True
    """

    def __init__(self, rng: np.random.Generator, language: Language) -> None:
        self.rng = rng
        self.language = language
        self.words = vocabulary(language)
        self._english = vocabulary("english")
        self.decimal_comma = language == "latin" and self.chance(0.75)

    @property
    def is_chinese(self) -> bool:
        """Whether words are written without spaces."""
        return self.language == "chinese"

    def chance(self, probability: float) -> bool:
        """Return True as often as said."""
        return bool(self.rng.random() < probability)

    def choose(self, items: Sequence[str]) -> str:
        """Return any of the items."""
        return items[int(self.rng.integers(len(items)))]

    def pick(self, weights: Weights) -> str:
        """Return a name, chosen by weight."""
        name: str = pick(self.rng, weights)
        return name

    def whole(self, bounds: Range) -> int:
        """Return a whole number between the bounds, both included."""
        return int(self.rng.integers(int(bounds[0]), int(bounds[1]) + 1))

    def real(self, bounds: Range) -> float:
        """Return a number between the bounds."""
        return float(self.rng.uniform(*bounds))

    def choose_real(self, *values: float) -> float:
        """Return any of the values."""
        return values[int(self.rng.integers(len(values)))]

    def label(self, topic: str) -> str:
        """Return a label of the topic; an English one where the language has none."""
        return self.choose(self.words.get(topic) or self._english[topic])

    def short_total(self) -> str:
        """Return the label of a row of totals that fits into a narrow column."""
        known = self.words.get("account_totals") or self._english["account_totals"]
        return self.choose([word for word in known if len(word) < 10])

    def labels(self, topic: str, count: int) -> list[str]:
        """Return labels of the topic, different ones as long as there are enough."""
        known = self.words.get(topic) or self._english[topic]
        order = self.rng.permutation(max(len(known), 1))
        return [known[int(order[index % len(order)])] for index in range(count)]

    def prose(self, bounds: Range) -> str:
        """Return a sentence with so many words."""
        count = self.whole(bounds)
        if self.is_chinese:
            return self._chinese_prose(count)
        words = [self.choose(self.words["words"]) for _ in range(count)]
        for index in range(4, count - 1, 7):
            if self.chance(0.5):
                words[index] += ","
            elif self.chance(0.3):
                words[index] = self.choose(["2019", "15%", "(ii)", "12.5", "§ 4", "Table 3", "ISO 9001", "€ 250"])
        text = " ".join(words)
        return text[:1].upper() + text[1:]

    def _chinese_prose(self, count: int) -> str:
        parts = []
        for index in range(count):
            if self.chance(0.7):
                parts.append(self.choose(self.words["words"]))
            else:
                parts.append("".join(self.choose(_hanzi()) for _ in range(self.whole((1, 3)))))
            if index % 6 == 5 and index < count - 1:
                parts.append(self.choose("，，、；"))
        return "".join(parts)

    def hanzi(self, bounds: Range) -> str:
        """Return so many characters without meaning."""
        return "".join(self.choose(_hanzi()) for _ in range(self.whole(bounds)))

    def person(self) -> str:
        """Return an invented name."""
        if self.is_chinese:
            return self.choose(self.words["surnames"]) + self.choose(self.words["given_names"])
        first, last = self.choose(self._english["first_names"]), self.choose(self._english["last_names"])
        form = self.rng.integers(4)
        return (f"{first} {last}", f"{last}, {first}", f"{first[0]}. {last}", f"{first} {last}")[form]

    def company(self) -> str:
        """Return an invented company."""
        if self.is_chinese:
            place = self.choose(["北京", "上海", "南京", "深圳", "杭州", "广州", "苏州", ""])
            return place + self.choose(self.words["company_names"]) + self.choose(self.words["company_kinds"])
        return f"{self.choose(self._english['company_names'])} {self.choose(self._english['company_kinds'])}"

    def year(self) -> int:
        """Return a year, mostly a recent one."""
        return int(2026 - min(self.rng.exponential(8), 60))

    def date_format(self) -> str:
        """Return how the dates of a column are written, for ``date``."""
        if self.is_chinese:
            return self.choose(["{y}年{m}月{d}日", "{y}-{m:02}-{d:02}", "{y}.{m}.{d}", "{y}/{m}/{d}", "{y}年{m}月"])
        return self.choose(
            ["{y}-{m:02}-{d:02}", "{d:02}.{m:02}.{y}", "{m}/{d}/{y}", "{d} {b} {y}", "{b} {d}, {y}",
             "{d:02}/{m:02}/{y}", "{b} {y}", "{m:02}-{s:02}"]
        )  # fmt: skip

    def date(self, form: str) -> str:
        """Return a date."""
        month = int(self.rng.integers(12))
        year = self.year()
        return form.format(
            y=year, s=year % 100, m=month + 1, d=int(self.rng.integers(1, 29)), b=self._english["months"][month][:3]
        )

    def code_format(self) -> str:
        """Return a pattern for the codes of a column: ``A`` is a letter, ``9`` a digit."""
        return self.choose(
            ["9999", "A-999", "AA9999", "999-99-99", "AAA", "A9", "99.99", "AA-9999-99", "9999999", "A99.9", "99/999",
             "AAA 999", "9999 9999 99", "99", "9.9.9", "0x99", "AA99A"]
        )  # fmt: skip

    def code(self, form: str) -> str:
        """Return a code of that pattern."""
        letters, digits = "ABCDEFGHKLMNPRSTUVWXYZ", "0123456789"
        return "".join(
            self.choose(letters) if sign == "A" else self.choose(digits) if sign == "9" else sign for sign in form
        )

    def money_format(self) -> NumberFormat:
        """Return how the amounts of an account are written."""
        scale = 10 ** self.real((2, 7.2))
        decimals = int(self.pick({"0": 6, "1": 1.5, "2": 2}))
        separator, point = self._separators()
        return NumberFormat(
            scale / 300,
            scale,
            decimals,
            separator,
            point,
            negatives=self.real((0, 0.4)) if self.chance(0.7) else 0,
            parentheses=self.chance(0.8),
            hangs=self.chance(0.5),
            dash=self.choose(_DASHES[:6]),
            dashes=self.real((0, 0.25)) if self.chance(0.6) else 0,
            marks=0.02 if self.chance(0.1) else 0,
        )

    def number_format(self) -> NumberFormat:
        """Return how the numbers of a column are written: any of the usual ways."""
        kind = self.pick(
            {"count": 5, "large": 4, "decimal": 5, "percent": 4, "money": 2, "signed": 2, "small": 1, "long": 0.5,
             "sd": 1, "paren": 1.5, "range": 0.6, "unit": 0.6}
        )  # fmt: skip
        separator, point = self._separators()
        shared: dict[str, Any] = {
            "separator": separator,
            "point": point,
            "dash": self.choose(_DASHES),
            "dashes": self.real((0, 0.3)) if self.chance(0.25) else 0.0,
            "marks": self.real((0, 0.15)) if self.chance(0.1) else 0.0,
        }
        forms = {
            "count": NumberFormat(0, 10 ** self.real((0.6, 3.5)), **shared),
            "large": NumberFormat(500, 10 ** self.real((4, 7.5)), **shared),
            "decimal": NumberFormat(0, 10 ** self.real((0, 3)), self.whole((1, 3)), **shared),
            "percent": NumberFormat(
                0, 100, self.whole((0, 2)), suffix=self.choose(["%", "%", " %", ""]), hangs=self.chance(0.2), **shared
            ),
            "money": NumberFormat(1, 9999, 2, prefix=self.choose(["", *_CURRENCIES]), **shared),
            "signed": NumberFormat(0, 30, self.whole((0, 2)), negatives=0.4, parentheses=self.chance(0.3), **shared),
            "small": NumberFormat(0, 1, self.whole((3, 5)), **shared),
            "long": NumberFormat(1e8, 1e12, 0, **{**shared, "separator": self.choose(["", ",", " "])}),
            "sd": NumberFormat(0, 10 ** self.real((0, 2)), self.whole((1, 2)), extra="sd", **shared),
            "paren": NumberFormat(1, 900, 0, extra="paren", **shared),
            "range": NumberFormat(0, 90, 0, extra="range", **shared),
            "unit": NumberFormat(1, 500, self.whole((0, 1)), suffix=self.choose([" kg", " mm", " °C", " V"]), **shared),
        }
        return forms[kind]

    def number(self, form: NumberFormat, value: float | None = None) -> Value:
        """Return a number of that format, of that value where one is given."""
        if value is None:
            if form.dashes and self.chance(form.dashes):
                return Value(form.dash)
            # The logarithm is spread evenly, so that digits vary within a column as they do in print.
            low = max(form.low, form.high / 1000, 10.0**-form.decimals)
            value = low * (max(form.high, low) / low) ** self.rng.random()
            value = -value if form.negatives and self.chance(form.negatives) else value
        text = form.prefix + form.write(value)
        trail = ""
        if value < 0 and form.parentheses:
            text, trail = f"({text}", ")"
        elif value < 0:
            text = self.choose(["-", "−"] if form.low else ["-"]) + text
        trail = form.suffix + trail
        text += self._second_number(form, abs(value))
        if form.marks and self.chance(form.marks):
            trail += self.choose(["*", "**", "†", "a", "b"])
        return Value(text, trail=trail) if form.hangs and " " not in trail else Value(text + trail)

    def mark(self) -> str:
        """Return a footnote mark."""
        return self.choose(_SUPERSCRIPTS)

    def currency(self) -> str:
        """Return the sign of a currency."""
        return self.choose(_CURRENCIES)

    def dash(self) -> str:
        """Return what stands for nothing."""
        return self.choose(_DASHES)

    def _second_number(self, form: NumberFormat, value: float) -> str:
        second = value * self.real((0.05, 0.6))
        if form.extra == "sd":
            return f" ± {form.write(second)}"
        if form.extra == "paren":
            return f" ({self.real((0, 100)):.1f})"
        if form.extra == "range":
            return f"–{form.write(value + second + 1)}"
        if form.extra == "interval":
            return f" ({form.write(value * 0.7)}, {form.write(value * 1.4)})"
        return ""

    def _separators(self) -> tuple[str, str]:
        if self.decimal_comma:
            return self.choose([".", " ", " "]), ","
        return self.choose([",", ",", ",", ",", "", " "]), "."
