"""Conventions: which mark stands before the decimals, and which one between groups of digits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from postprocess.values.script import BLANKS
from postprocess.values.value import MAX_DIGITS


class Convention(NamedTuple):
    """How digits are divided.

    Args:
        decimal: Mark before the decimals: point, comma or the Arabic one.
        group: Mark between groups: comma, point, blank, apostrophe or the Arabic one.
        is_indian: Whether groups have two digits, but for the last: 12,34,567.
    """

    decimal: str
    group: str
    is_indian: bool = False


APOSTROPHES = "'\u2019\u02bc\u2032"
MARKS = f".,٫٬{APOSTROPHES}{BLANKS}"
"""All that may stand between two digits of one number."""

CONVENTIONS = frozenset(
    Convention(decimal, group, is_indian)
    for decimal, group, is_indian in product(".,٫", ",. '٬", (False, True))
    if decimal != group and (not is_indian or group in ",٬")
)
ENGLISH = Convention(".", ",")


def digits_by_convention(core: str) -> Mapping[Convention, str | None]:
    """What digits are worth under each convention that allows them.

    Args:
        core: ASCII digits with `MARKS` between them.

    Returns:
        Digits with a point before the decimals. None where the convention takes the text for a misread one:
        1.234,567 in a table of decimal points may be 1,234,567. A convention that does not allow it is left out.

    >>> found = digits_by_convention("1,234")
    >>> found[ENGLISH], found[Convention(",", ".")], Convention(",", " ") in found
    ('1234', '1.234', True)
    >>> digits_by_convention("1.23.4")
    {}
    """
    same = core.translate(_ONE_MARK)
    if not 0 < sum(map(str.isdigit, same)) <= MAX_DIGITS:
        return {}
    if same.isdigit():
        return dict.fromkeys(CONVENTIONS, same) if _is_whole(same) else {}
    found: dict[Convention, str | None] = {}
    for convention, pattern in _patterns().items():
        match = pattern.fullmatch(same)
        if match and _is_whole(whole := re.sub("[^0-9]", "", match["whole"])):
            found[convention] = f"{whole or '0'}.{match['rest']}" if match["rest"] else whole
    if _MISREAD.fullmatch(same):
        found |= dict.fromkeys((each for each in CONVENTIONS if each.decimal == "."), None)
    return found


_ONE_MARK = str.maketrans({**dict.fromkeys(BLANKS, " "), **dict.fromkeys(APOSTROPHES, "'")})
_MISREAD = re.compile(r"[0-9]{1,3}([. '][0-9]{3})+,[0-9]{3}")


def _is_whole(digits: str) -> bool:
    # Leading zeros belong to codes.
    return len(digits) < 2 or not digits.startswith("0")


@lru_cache(maxsize=1)
def _patterns() -> dict[Convention, re.Pattern[str]]:
    return {each: _pattern(each) for each in sorted(CONVENTIONS)}


def _pattern(convention: Convention) -> re.Pattern[str]:
    group, decimal = re.escape(convention.group), re.escape(convention.decimal)
    few = f"[0-9]{{1,2}}(?:{group}[0-9]{{2}})*" if convention.is_indian else f"[0-9]{{1,3}}(?:{group}[0-9]{{3}})*"
    grouped = f"{few}{group}[0-9]{{3}}"
    return re.compile(f"(?P<whole>{grouped}|[0-9]*)(?:{decimal}(?P<rest>[0-9]+))?")
