"""Text from right to left: from the order in which it is seen to the order in which it is read.

The rules are those of the Unicode Bidirectional Algorithm, https://www.unicode.org/reports/tr9/, without embeddings:
what is seen from left to right is ordered as the algorithm orders what is read. Reversing runs undoes itself; two rules
look at the neighbour that is read before, which is here the one to the right.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby

from postprocess.cell import Direction
from postprocess.text.numbers import is_unit

_RIGHT = ("R", "AL")
_NUMBERS = ("EN", "AN")
_NEUTRAL = ("B", "S", "WS", "ON")


def has_right_to_left(text: str) -> bool:
    """Whether a text has a letter of a script that is written from right to left.

    >>> has_right_to_left("12 ק\\"ג"), has_right_to_left("12 kg")
    (True, False)
    """
    return not text.isascii() and any(unicodedata.bidirectional(char) in _RIGHT for char in text)


def text_direction(text: str) -> Direction | None:
    """Which way most letters of a text run; None where as many run either way, as in a number.

    >>> text_direction("שלום 12"), text_direction("Sales"), text_direction("-5.2 %")
    ('rtl', 'ltr', None)
    """
    if text.isascii():
        return "ltr" if any(map(str.isalpha, text)) else None
    kinds = [unicodedata.bidirectional(char) for char in text if char.isalpha()]
    rtl, ltr = sum(kind in _RIGHT for kind in kinds), kinds.count("L")
    return None if rtl == ltr else "rtl" if rtl > ltr else "ltr"


def is_right_to_left(text: str) -> bool:
    """Whether most letters of a text run from right to left.

    >>> is_right_to_left("מחיר"), is_right_to_left("price of מחיר"), is_right_to_left("12")
    (True, False, False)
    """
    return not text.isascii() and text_direction(text) == "rtl"


def visual_to_logical(units: Sequence[str], *, in_right_to_left: bool = False) -> list[int]:
    """Order in which units that are seen from left to right are read.

    Args:
        units: Characters with their marks, or words, from left to right.
        in_right_to_left: Whether they belong to a text from right to left, whatever most of their letters are.

    Returns:
        Their indices in reading order.

    >>> seen = "5% הניבג"
    >>> "".join(seen[index] for index in visual_to_logical(seen))
    'גבינה 5%'
    >>> visual_to_logical(["unit", "price"])
    [0, 1]
    """
    text = "".join(units)
    if not (in_right_to_left or has_right_to_left(text)):
        return list(range(len(units)))
    base = int(in_right_to_left or is_right_to_left(text))
    classes = [_class_of(unit) for unit in units]
    if base and len(units) == len(text):
        _set_units_apart(text, classes)
    levels = _levels(classes, base)
    order = list(range(len(units)))
    for level in range(max(levels, default=0), 0, -1):
        order = _reverse_runs(order, levels, level)
    return order


_BRACKETS = ("()", "[]", "{}", "<>", "«»", "（）")


def mirror_brackets(units: Sequence[str]) -> list[str]:
    """Turn brackets round that close before they open.

    In text from right to left an opening bracket looks like a closing one. Some documents name the character that is
    read, others the one that is seen.

    Args:
        units: Characters in reading order.

    >>> "".join(mirror_brackets(")2026( תאריך"))
    '(2026) תאריך'
    """
    mirrored = list(units)
    for opening, closing in map(tuple, _BRACKETS):
        places = [index for index, unit in enumerate(units) if unit in (opening, closing)]
        if places and units[places[0]] == closing:
            for index in places:
                mirrored[index] = opening if units[index] == closing else closing
    return mirrored


def _reverse_runs(order: list[int], levels: Sequence[int], least: int) -> list[int]:
    turned: list[int] = []
    for is_high, run in groupby(order, key=lambda index: levels[index] >= least):
        indices = list(run)
        turned += reversed(indices) if is_high else indices
    return turned


_UNIT_AND_NUMBER = re.compile(r"(?<![A-Za-z])([A-Za-z]{1,4})([ \u00a0])[-+(]?[0-9][0-9.,]*%?")


def _set_units_apart(text: str, classes: list[str]) -> None:
    """A unit that is seen left of its number is read after it: as after a letter from right to left, not a word.

    Both orders look the same; "1,250 km" is written more often than "km 1,250".
    """
    for match in _UNIT_AND_NUMBER.finditer(text):
        if is_unit(match[1]):
            classes[match.start(2)] = "R"


def _class_of(unit: str) -> str:
    """Bidirectional class of a character, or of a word by its letters, else by its digits."""
    classes = [unicodedata.bidirectional(char) for char in unit] or ["ON"]
    if len(classes) == 1:
        return classes[0]
    for wanted in (*_RIGHT, "L", *_NUMBERS):
        if wanted in classes and (wanted != "L" or not is_right_to_left(unit)):
            return wanted if wanted not in _RIGHT or is_right_to_left(unit) else "L"
    return classes[0]


def _levels(classes: list[str], base: int) -> list[int]:
    """Embedding level of each unit: rules W1 to W7, N1, N2, I1 and I2."""
    edge = "R" if base else "L"
    kinds = _separators(_arabic_numbers(_marks(classes, edge)))
    strong = edge
    for index, kind in enumerate(kinds):
        strong = kind if kind in ("L", "R") else strong
        kinds[index] = "L" if kind == "EN" and strong == "L" else kind
    _neutrals(kinds, edge)
    if base:
        return [1 if kind == "R" else 2 for kind in kinds]
    return [{"L": 0, "R": 1}.get(kind, 2) for kind in kinds]


def _marks(classes: list[str], edge: str) -> list[str]:
    kinds: list[str] = []
    for kind in classes:
        kinds.append((kinds[-1] if kinds else edge) if kind == "NSM" else kind)
    return kinds


def _arabic_numbers(kinds: list[str]) -> list[str]:
    """After Arabic letters, which are seen to their right, European digits are ordered as Arabic ones."""
    strong = ""
    for index in reversed(range(len(kinds))):
        if kinds[index] in ("L", *_RIGHT):
            strong = kinds[index]
        elif kinds[index] == "EN" and strong == "AL":
            kinds[index] = "AN"
    return ["R" if kind == "AL" else kind for kind in kinds]


def _separators(kinds: list[str]) -> list[str]:
    for index in range(1, len(kinds) - 1):
        before, after = kinds[index - 1], kinds[index + 1]
        if before == after and (
            (before == "EN" and kinds[index] in ("ES", "CS")) or (before == "AN" and kinds[index] == "CS")
        ):
            kinds[index] = before
    for order in (range(len(kinds)), reversed(range(len(kinds)))):
        last = ""
        for index in order:
            if kinds[index] == "ET" and last == "EN":
                kinds[index] = "EN"
            last = kinds[index]
    return ["ON" if kind in ("ES", "ET", "CS", "BN") else kind for kind in kinds]


def _neutrals(kinds: list[str], edge: str) -> None:
    """Neutral units go with their neighbours where these agree, else with the whole."""
    index = 0
    while index < len(kinds):
        end = index
        while end < len(kinds) and kinds[end] in _NEUTRAL:
            end += 1
        if end > index:
            before = _side(kinds[index - 1]) if index else edge
            after = _side(kinds[end]) if end < len(kinds) else edge
            kinds[index:end] = [before if before == after else edge] * (end - index)
        index = end + 1


def _side(kind: str) -> str:
    return "R" if kind in _NUMBERS else kind
