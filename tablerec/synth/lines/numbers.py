"""What stands in columns of numbers: amounts, shares, dates, codes, quantities with their units."""

from __future__ import annotations

from collections.abc import Callable
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


def signed(rng: Random) -> str:
    """Return a number with a sign, or with how a column writes negative ones."""
    number = grouped(rng)
    form = rng.random()
    if form < 0.25:
        return f"-{number}"
    if form < 0.42:
        return f"−{number}"
    if form < 0.5:
        return f"–{number}"
    if form < 0.75:
        return f"({number})"
    if form < 0.85:
        return f"+{number}"
    if form < 0.9:
        return f"±{number}"
    return rng.choice(("({})", "- {}", "{}-", "△{}", "▲{}", "▼ {}", "▲ {}", "<{}", ">{}", "~{}", "≤{}", "≥ {}", "≈{}")).format(
        number
    )


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
    number = rng.choice((whole(rng, 2), f"{whole(rng, 2)}.{digits(rng, rng.randint(1, 2))}", f"{whole(rng, 2)},{digits(rng, 1)}"))
    sign = rng.choice(("%", "%", "%", "%", " %", " %", "‰", "%*", "% p.a.", "%-p"))
    return rng.choice(("{}{}", "{}{}", "{}{}", "{}{}", "-{}{}", "−{}{}", "+{}{}", "({}{})", "<{}{}", "{}{}¹")).format(number, sign)


def date(rng: Random) -> str:
    """Return a date, a period or a time.

    >>> len(date(Random(0))) > 1
    True
    """
    year, month, day = rng.randint(1950, 2035), rng.randint(1, 12), rng.randint(1, 31)
    name = rng.choice(_MONTHS)
    hour, minute, second = rng.randint(0, 23), rng.randint(0, 59), rng.randint(0, 59)
    return rng.choice(
        (
            f"{year}", f"{year}", f"{year}", f"{year}-{month:02}-{day:02}", f"{day:02}.{month:02}.{year}",
            f"{day}.{month}.{year}", f"{month}/{day}/{year}", f"{day:02}/{month:02}/{year}", f"{day:02}/{month:02}/{year % 100:02}",
            f"{day} {name} {year}", f"{name} {day}, {year}", f"{name[:3]} {year}", f"{name[:3]}-{year % 100:02}",
            f"{day}-{name[:3]}-{year}", f"{name} {year}", f"{year}/{(year + 1) % 100:02}", f"{year}–{year + 1}",
            f"{year}-{year + 1}", f"Q{1 + month % 4} {year}", f"{year}Q{1 + month % 4}", f"FY{year}", f"FY {year % 100}",
            f"{hour:02}:{minute:02}", f"{hour}:{minute:02}", f"{hour:02}:{minute:02}:{second:02}", f"{hour % 12 + 1}:{minute:02} p.m.",
            f"{hour % 12 + 1}:{minute:02} AM", f"{hour:02}:{minute:02}–{(hour + 2) % 24:02}:{minute:02}",
            f"{hour}h{minute:02}", f"{year}.{month:02}.{day:02}", f"{year}/{month}/{day}", f"{day}. {name} {year}",
            f"{year}年{month}月{day}日", f"{year}年{month}月", f"{year}年度", f"{month}月", f"{year}年", f"H{1 + month % 2} {year}",
            f"’{year % 100:02}", f"{year}*", f"{year}E", f"{year}¹", f"w{month}", f"{year}-{month:02}-{day:02} {hour:02}:{minute:02}",
        )
    )  # fmt: skip


def code(rng: Random) -> str:
    """Return the number of an article, an account, a standard.

    >>> code(Random(1)) != ""
    True
    """
    pattern = rng.choice(
        (
            "9999", "A-999", "AA9999", "999-99-99", "AAA", "A9", "99.99", "AA-9999-99", "9999999", "A99.9", "99/999",
            "AAA 999", "9999 9999 99", "99", "9.9.9", "0x99", "AA99A", "+99 999 9999999", "AA99 9999 9999 9999 9999 99",
            "999-9-99-999999-9", "#999", "No. 99", "№ 99", "Nr. 9", "9.9", "9.9.9.9", "A.9", "A_99", "a9-a9", "AA/99",
            "ISO 9999", "EN 9999-9", "v9.9.9", "aaa_aaa", "99a", "99A", "9-9", "A9999999", "9999-AAA-9", "§ 99", "(99)",
            "[99]", "9)", "(9)", "(a)", "a)", "9.", "99.", "A.", "(A)", "99.9.99", "999:9", "*99*", "99999-999", "AAA-AAA",
            "999999999999", "9999999999999", "A9:A99", "99-99", "99–99", "p. 99", "AA 9.9", "99'9", "9'99\"", "99°99'",
        )
    )  # fmt: skip
    signs = {"A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "9": "0123456789", "a": "abcdefghijklmnopqrstuvwxyz"}
    return "".join(rng.choice(signs[sign]) if sign in signs else sign for sign in pattern)


def quantity(rng: Random) -> str:
    """Return a number with its unit."""
    return f"{grouped(rng)}{rng.choice((' ', ' ', ' ', ''))}{rng.choice(_UNITS)}"


def unit(rng: Random) -> str:
    """Return a unit as a head of a column names it."""
    return rng.choice(_UNITS)


def statistic(rng: Random) -> str:
    """Return a number with its uncertainty, an interval, a test.

    >>> statistic(Random(0)) != ""
    True
    """
    def short() -> str:
        return f"{whole(rng, 2)}.{digits(rng, rng.randint(1, 3))}" if rng.random() < 0.8 else whole(rng, 3)

    dash = rng.choice("–––-—~")
    exponent = rng.choice("²³⁴⁵⁶⁷⁸⁹") if rng.random() < 0.4 else "⁻" + rng.choice("¹²³⁴⁵⁶⁷⁸⁹")
    return rng.choice(
        (
            f"{short()} ± {short()}", f"{short()}±{short()}", f"{short()} ({short()})", f"{short()} [{short()}, {short()}]",
            f"{short()} ({short()}{dash}{short()})", f"{short()}{dash}{short()}", f"{short()} {dash} {short()}",
            f"{short()} to {short()}", f"p < 0.{digits(rng, 3)}", f"<0.{digits(rng, 2)}", f"p = 0.{digits(rng, 2)}",
            f"n = {whole(rng, 4)}", f"(n={whole(rng, 3)})", f"{short()}*", f"{short()}**", f"{short()}***", f"{short()}†",
            f"{short()} × 10{exponent}", f"{short()}×10{exponent}", f"10{exponent}", f"{short()}E-0{digits(rng, 1)}",
            f"{short()}e+{digits(rng, 1)}", f"{whole(rng, 2)}/{whole(rng, 3)}", f"{digits(rng, 1)}:{digits(rng, 1)}",
            f"{whole(rng, 2)}×{whole(rng, 2)}", f"{whole(rng, 3)} x {whole(rng, 3)}", f"{short()}{rng.choice('¹²³⁴⁵ᵃᵇᶜᵈ')}",
            f"{short()} / {short()}", f"r² = 0.{digits(rng, 2)}", f"χ² = {short()}", f"({short()})", f"[{short()}]",
            f"{whole(rng, 2)}½", f"{rng.choice('½¼¾⅓⅔⅛')}", f"{whole(rng, 3)} ({digits(rng, 2)}%)", f"Σ = {whole(rng, 4)}",
            f"{short()}; {short()}", f"{short()}, {short()}", f"{short()}|{short()}", f"{short()}{rng.choice('¹²³')},{rng.choice('²³⁴')}",
        )
    )  # fmt: skip


def chinese_number(rng: Random) -> str:
    """Return a number with a Chinese unit, or written in Chinese."""
    number = grouped(rng)
    if rng.random() < 0.3:
        return rng.choice(("{}元", "￥{}", "¥{}", "{}万元", "{}亿", "人民币{}元", "{}%", "约{}", "{}个", "{}次", "{}倍", "{}人", "{}天")).format(
            number
        ).replace("￥", "¥")
    if rng.random() < 0.3:
        return "".join(rng.choices("零壹贰叁肆伍陆柒捌玖拾佰仟万亿元角分整", k=rng.randint(3, 12)))
    if rng.random() < 0.5:
        return rng.choice("第（(") + "".join(rng.choices("一二三四五六七八九十", k=rng.randint(1, 2))) + rng.choice("、章节条）)季")
    return rng.choice("一二三四五六七八九十") + rng.choice("、.．").replace("．", ".")


_FORMS: tuple[tuple[float, Callable[[Random], str]], ...] = (
    (0.34, grouped),
    (0.11, signed),
    (0.08, money),
    (0.09, percentage),
    (0.1, date),
    (0.09, code),
    (0.05, quantity),
    (0.12, statistic),
    (0.02, chinese_number),
)


def number_text(rng: Random) -> str:
    """Return the text of a cell in a column of numbers.

    >>> text = number_text(Random(0))
    >>> 0 < len(text) < 40
    True
    """
    if rng.random() < 0.07:
        return digits(rng, 1)
    place = rng.random() * sum(share for share, _ in _FORMS)
    for share, form in _FORMS:
        place -= share
        if place < 0:
            break
    return form(rng)
