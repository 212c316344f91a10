"""What stands in columns of numbers: amounts, shares, dates, codes, quantities with their units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December", "janvier", "février", "mars", "avril", "juin", "juillet", "août", "septembre", "Januar", "März",
    "Mai", "Oktober", "Dezember", "enero", "agosto", "marzo", "maggio", "janeiro", "stycznia", "září",
)  # fmt: skip
_MONEY = ("$", "$", "€", "€", "£", "¥", "US$", "HK$", "₽", "₹", "₩", "CHF ", "R$", "A$", "¢", "₺", "₪", "USD ", "EUR ")
_UNITS = (
    "kg", "g", "mg", "t", "m", "cm", "mm", "km", "km²", "m²", "m³", "ha", "l", "ml", "h", "min", "s", "ms", "kW",
    "kWh", "MW", "V", "A", "Hz", "kHz", "MHz", "GB", "MB", "°C", "°F", "°", "μm", "μg", "nm", "Pa", "kPa", "bar",
    "mol/l", "mg/l", "kg/m³", "m/s", "km/h", "pcs", "Stk.", "x", "bn", "m", "k", "M", "Mio.", "pp", "bps", "dB", "J",
    "kJ", "kcal", "W", "Ω", "in", "ft", "lb", "oz", "yrs", "mg/dL", "cm⁻¹", "m/s²",
)  # fmt: skip
_SEPARATORS = (",", ",", ",", ".", ".", " ", " ", "'", "’", "")


def digits(rng: Random, count: int) -> str:
    """Return so many digits.

    >>> digits(Random(0), 4).isdigit()
    True
    """
    return "".join(rng.choices("0123456789", k=count))


def whole(rng: Random, most: int = 7) -> str:
    """Return a whole number of 1 to ``most`` digits without separators, short ones more often."""
    count = min(most, 1 + int(rng.random() ** 1.3 * most))
    return str(rng.randrange(10 ** (count - 1) if count > 1 else 0, 10**count))


class _Fields(dict[str, Callable[[Random], str]]):
    """What stands for a name in a pattern, made anew each time."""

    def __init__(self, rng: Random, more: Mapping[str, Callable[[Random], str]]) -> None:
        super().__init__({**_FIELDS, **more})
        self._rng = rng

    def __getitem__(self, name: str) -> str:  # type: ignore[override]
        return super().__getitem__(name)(self._rng)


def fill(rng: Random, pattern: str, more: Mapping[str, Callable[[Random], str]] | None = None) -> str:
    """Return a text like a pattern: ``{d}`` is a digit, ``{n}`` a number, and so on.

    Args:
        rng: Source of chance.
        pattern: As of ``str.format``.
        more: Functions for other names.

    >>> fill(Random(0), "{d}-{d}{x}", {"x": lambda rng: "!"})
    '8-7!'
    """
    return pattern.format_map(_Fields(rng, more or {}))


def _short(rng: Random) -> str:
    return whole(rng, 2) + ("." + digits(rng, rng.randint(1, 3)) if rng.random() < 0.8 else "")


def _exponent(rng: Random) -> str:
    return rng.choice("²³⁴⁵⁶⁷⁸⁹") if rng.random() < 0.4 else "⁻" + rng.choice("¹²³⁴⁵⁶⁷⁸⁹")


def grouped(rng: Random) -> str:
    """Return a number in one of the conventions, without sign.

    >>> grouped(Random(3))[0].isdigit()
    True
    """
    separator = rng.choice(_SEPARATORS)
    number = whole(rng, 9)
    if separator and len(number) > 3:
        if rng.random() < 0.03:  # as in India
            head, tail = number[:-3], number[-3:]
            pairs = [head[max(0, end - 2) : end] for end in range(len(head), 0, -2)][::-1]
            number = ",".join([*pairs, tail])
        else:
            number = f"{int(number):,}".replace(",", separator)
    decimals = rng.choice((0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4))
    if decimals and len(number) < 14:
        point = "," if separator in (".", " ") or (not separator and rng.random() < 0.25) else "."
        if rng.random() < 0.02:
            return point + digits(rng, decimals)
        number += point + digits(rng, decimals)
    return number


_ODD_SIGNS = (
    "({})", "- {}", "{}-", "△{}", "▲{}", "▼ {}", "▲ {}", "<{}", ">{}", "~{}", "≤{}", "≥ {}", "≈{}", "±{}", "+{}",
    "({})",
)  # fmt: skip


def signed(rng: Random) -> str:
    """Return a number with a sign, or with how a column writes negative ones."""
    number, form = grouped(rng), rng.random()
    if form < 0.25:
        return f"-{number}"
    if form < 0.5:
        return f"−{number}"
    return f"({number})" if form < 0.72 else rng.choice(_ODD_SIGNS).format(number)


def money(rng: Random) -> str:
    """Return an amount with its currency."""
    number, sign = grouped(rng), rng.choice(_MONEY)
    form = rng.random()
    if form < 0.45:
        return sign + number
    if form < 0.6:
        return f"{sign.strip()} {number}"
    if form < 0.85:
        return f"{number} {sign.strip()}"
    return rng.choice(("({}{})", "-{}{}", "−{}{}", "{}({})", "{}-{}")).format(sign.strip(), number)


def percentage(rng: Random) -> str:
    """Return a share."""
    sign = rng.choice(("%", "%", "%", "%", " %", " %", "‰", "%*", "% p.a.", "%-p"))
    number = fill(rng, rng.choice(("{w}", "{w}.{d}", "{w}.{d}{d}", "{d}{d}.{d}", "{w},{d}", "{d}{d}")))
    form = rng.choice(("{}{}", "{}{}", "{}{}", "{}{}", "-{}{}", "−{}{}", "+{}{}", "({}{})", "<{}{}", "{}{}¹"))
    return form.format(number, sign)


_DATES = (
    "{y}", "{y}", "{y}", "{y}-{mm}-{DD}", "{DD}.{mm}.{y}", "{D}.{m}.{y}", "{m}/{D}/{y}", "{DD}/{mm}/{y}",
    "{DD}/{mm}/{yy}", "{D} {month} {y}", "{month} {D}, {y}", "{mon} {y}", "{mon}-{yy}", "{D}-{mon}-{y}", "{month} {y}",
    "{y}/{yy}", "{y}–{y}", "{y}-{y}", "{y}–{yy}", "Q{q} {y}", "{y}Q{q}", "FY{y}", "FY {yy}", "{h}:{min}",
    "{h}:{min}:{min}", "{h}:{min} p.m.", "{h}:{min} AM", "{h}:{min}–{h}:{min}", "{h}h{min}", "{y}.{mm}.{DD}",
    "{y}/{m}/{D}", "{D}. {month} {y}", "{y}年{m}月{D}日", "{y}年{m}月", "{y}年度", "{m}月", "{y}年", "{m}月{D}日",
    "H{q} {y}", "’{yy}", "{y}*", "{y}E", "{y}¹", "w{m}", "{y}-{mm}-{DD} {h}:{min}", "{month}", "{mon}.", "{D}.{m}.",
)  # fmt: skip


def date(rng: Random) -> str:
    """Return a date, a period or a time.

    >>> date(Random(0)) != ""
    True
    """
    return fill(rng, rng.choice(_DATES))


_CODES = (
    "9999", "A-999", "AA9999", "999-99-99", "AAA", "A9", "99.99", "AA-9999-99", "9999999", "A99.9", "99/999",
    "AAA 999", "9999 9999 99", "99", "9.9.9", "0x99", "AA99A", "+99 999 9999999", "AA99 9999 9999 9999 9999 99",
    "999-9-99-999999-9", "#999", "No. 99", "№ 99", "Nr. 9", "9.9", "9.9.9.9", "A.9", "A_99", "a9-a9", "AA/99",
    "ISO 9999", "EN 9999-9", "v9.9.9", "aaa_aaa", "99a", "99A", "9-9", "A9999999", "9999-AAA-9", "§ 99", "(99)",
    "[99]", "9)", "(9)", "(a)", "a)", "9.", "99.", "A.", "(A)", "99.9.99", "999:9", "*99*", "99999-999", "AAA-AAA",
    "999999999999", "9999999999999", "A9:A99", "99-99", "99–99", "p. 99", "AA 9.9", "99'9", "9'99\"", "99°99'",
    "A9A9", "Aa-9", "AA-9", "a9A9",
)  # fmt: skip
_SIGNS = {"A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "9": "0123456789", "a": "abcdefghijklmnopqrstuvwxyz"}


def code(rng: Random) -> str:
    """Return the number of an article, an account, a standard.

    >>> code(Random(1)) != ""
    True
    """
    return "".join(rng.choice(_SIGNS.get(sign, sign)) for sign in rng.choice(_CODES))


def quantity(rng: Random) -> str:
    """Return a number with its unit."""
    return f"{grouped(rng)}{rng.choice((' ', ' ', ' ', ''))}{rng.choice(_UNITS)}"


def unit(rng: Random) -> str:
    """Return a unit as a head of a column names it."""
    return rng.choice(_UNITS)


_STATISTICS = (
    "{s} ± {s}", "{s}±{s}", "{s} ({s})", "{s} [{s}, {s}]", "{s} ({s}{to}{s})", "{s}{to}{s}", "{s} {to} {s}",
    "{s} to {s}", "p < 0.{d}{d}{d}", "<0.{d}{d}", "p = 0.{d}{d}", "n = {w}", "(n={w})", "{s}*", "{s}**", "{s}***",
    "{s}†", "{s} × 10{exp}", "{s}×10{exp}", "10{exp}", "{s}E-0{d}", "{s}e+{d}", "{w}/{w}", "{d}:{d}", "{w}×{w}",
    "{w} x {w}", "{s}{up}", "{s} / {s}", "r² = 0.{d}{d}", "χ² = {s}", "({s})", "[{s}]", "{w}½", "{half}",
    "{w} ({d}{d}%)", "Σ = {w}", "{s}; {s}", "{s}, {s}", "{s}|{s}", "{s}{up},{up}", "{s} ({s}, {s})", "≤{s}",
    "({s}–{s})",
)  # fmt: skip


def statistic(rng: Random) -> str:
    """Return a number with its uncertainty, an interval, a test.

    >>> statistic(Random(0)) != ""
    True
    """
    return fill(rng, rng.choice(_STATISTICS))


_CHINESE = ("{}元", "¥{}", "¥{}", "{}万元", "{}亿", "人民币{}元", "{}%", "约{}", "{}个", "{}次", "{}倍", "{}人", "{}天")


def chinese_number(rng: Random) -> str:
    """Return a number with a Chinese unit, or written in Chinese."""
    form = rng.random()
    if form < 0.3:
        return rng.choice(_CHINESE).format(grouped(rng))
    if form < 0.5:
        return "".join(rng.choices("零壹贰叁肆伍陆柒捌玖拾佰仟万亿元角分整", k=rng.randint(3, 12)))
    count = "".join(rng.choices("一二三四五六七八九十", k=rng.randint(1, 2)))
    return rng.choice(("第{}章", "第{}节", "第{}季", "（{}）", "({})", "{}、", "{}、", "{}.")).format(count)


_FIELDS: dict[str, Callable[[Random], str]] = {
    "d": lambda rng: digits(rng, 1),
    "n": grouped,
    "w": lambda rng: whole(rng, 3),
    "s": _short,
    "unit": unit,
    "exp": _exponent,
    "to": lambda rng: rng.choice("–––-—~"),
    "up": lambda rng: rng.choice("¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠ"),
    "half": lambda rng: rng.choice("½¼¾⅓⅔⅛"),
    "y": lambda rng: str(rng.randint(1950, 2035)),
    "yy": lambda rng: f"{rng.randint(0, 99):02}",
    "m": lambda rng: str(rng.randint(1, 12)),
    "mm": lambda rng: f"{rng.randint(1, 12):02}",
    "D": lambda rng: str(rng.randint(1, 31)),
    "DD": lambda rng: f"{rng.randint(1, 31):02}",
    "h": lambda rng: str(rng.randint(0, 23)),
    "min": lambda rng: f"{rng.randint(0, 59):02}",
    "q": lambda rng: str(rng.randint(1, 4)),
    "month": lambda rng: rng.choice(_MONTHS),
    "mon": lambda rng: rng.choice(_MONTHS)[:3],
}

_FORMS: dict[Callable[[Random], str], float] = {
    grouped: 0.34,
    signed: 0.11,
    money: 0.08,
    percentage: 0.09,
    date: 0.1,
    code: 0.09,
    quantity: 0.05,
    statistic: 0.12,
    chinese_number: 0.02,
}


def number_text(rng: Random) -> str:
    """Return the text of a cell in a column of numbers.

    >>> text = number_text(Random(0))
    >>> 0 < len(text) < 40
    True
    """
    if rng.random() < 0.07:
        return digits(rng, 1)
    return rng.choices(list(_FORMS), list(_FORMS.values()))[0](rng)
