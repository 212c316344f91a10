"""Currencies, units and words for powers of ten, as they stand beside numbers."""

from __future__ import annotations

import re

_SIGNS = r"[A-Z]{0,3}\$|[€£¥￥₩₹₽₺₫₪₴฿¢]"
_CODES = (
    "USD|EUR|GBP|CHF|JPY|CNY|RMB|HKD|TWD|KRW|INR|AUD|CAD|NZD|SGD|SEK|NOK|DKK|PLN|CZK|HUF|RUB|TRY|BRL|MXN|ZAR|ILS|THB|"
    "AED|SAR|EGP|IRR"
)
_NAMES = r"zł|kr|Kč|Ft|Fr\.|Rs\.?|руб\.|р\.|元|圆|円|원|美元|欧元|港元|日元|英镑"
CURRENCY = f"(?:{_SIGNS}|{_CODES}|{_NAMES})"

LOOKALIKE = "S"
"""What OCR engines read for a dollar sign; it is one where other cells of the column have the sign."""

SCALES = {"千": 3, "万": 4, "萬": 4, "百万": 6, "千万": 7, "亿": 8, "億": 8, "万亿": 12}
SCALE = f"(?:{'|'.join(sorted(SCALES, key=len, reverse=True))})"

_BASE = (
    "[kmMGTcµμnhd]?[gmlLWVJN]|[kmMGT]?(?:Hz|Wh|eV|bit|cal|mol|VA|Sv|Bq)|[kMGTP]i?B|[kMm]?[hP]?Pa|m?bar|[kMm]?Ω|[mµμkM]A|"
    "t|kt|Mt|ha|ft|lbs?|oz|mi|mph|yd|gal|psi|mmHg|lm|lx|cd|rpm|dB|dBA|ppm|ppb|IU|U|h|min|s|ms|d|yr"
)
_POWER = "(?:[²³]|⁻[¹²³]|\\^[23])?"
_WORDS = (
    "years?|months?|weeks?|days?|hours?|hrs?|minutes?|mins|seconds?|secs?|people|persons|pcs|pieces|units?|items?|times|"
    "points?|pts?|pp|bps|bn|billion|mn|million|thousand|Mio\\.?|Mrd\\.?|Tsd\\.?|Stk\\.?|Stück|Jahre|Tage|Stunden|x|×|"
    "[A-Z](?<=[ \u00a0\u202f][A-Z])|°|°C|°F|℃|℉|‰|″"
)
_CHINESE = (
    "个|個|件|台|套|只|人次|人|次|项|本|张|辆|户|家|名|天|小时|分钟|秒|岁|层|间|棵|倍|度|分|点|吨|公斤|千克|毫克|克|斤|"
    "平方公里|平方千米|平方米|立方米|公里|千米|厘米|毫米|米|公顷|亩|毫升|升|千瓦时|千瓦|兆瓦|瓦|万千瓦时"
)
UNIT = f"(?:(?:{_BASE}){_POWER}(?:[/·](?:{_BASE}){_POWER})*|{_WORDS}|{_CHINESE})(?![A-Za-z])"

_SAME = {"￥": "¥", "US$": "USD", "RMB": "CNY", "圆": "元", "Rs": "₹", "Rs.": "₹", "INR": "₹"}


def same_currency(currency: str) -> str:
    """One name for the ways to write a currency.

    >>> same_currency("US$"), same_currency("$")
    ('USD', '$')
    """
    return _SAME.get(currency, currency)


def same_unit(unit: str) -> str:
    """One name for a unit, be it one or several.

    >>> same_unit("days"), same_unit("ms")
    ('day', 'ms')
    """
    return re.sub("(?<=[a-z]{3})s$", "", unit)
