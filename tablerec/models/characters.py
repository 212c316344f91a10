"""The characters that our recogniser of text lines knows, and how a text is written in them.

One look, one character: what no reader could tell apart is written in one way, see ``normalize_label``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from postprocess.raised import SUBSCRIPTS, SUPERSCRIPTS

TURNED = "⟲"
"""The whole label of a line that stands on its head, or whose characters lie on their side."""

HAN_SIGN = "〓"
"""Stands for any Chinese character where the letters are told from one another; no text holds it."""


def _span(first: str, last: str) -> str:
    return "".join(map(chr, range(ord(first), ord(last) + 1)))


_LATIN = (
    _span(" ", "~")
    + "".join(char for char in _span("¡", "ÿ") if char not in "¤¦¨¬\u00ad¯´µ¸")
    + "".join(char for char in _span("Ā", "ž") if char not in "ĿŀŉĲĳ")
    + "ƠơƯưǍǎǏǐǑǒǓǔǙǚǛǜȘșȚțƏəẞ"
    + _span("Ạ", "ỹ")
)
_GREEK = "ΆΈΉΊΌΎΏΐ" + "".join(char for char in _span("Α", "ώ") if char != "\u03a2")
_CYRILLIC = _span("Ё", "Ќ") + "ЎЏ" + _span("А", "я") + _span("ё", "ќ") + "ўџҐґ"
_HEBREW = _span("א", "ת") + "־₪"
_ARABIC = _span("ء", "غ") + _span("ف", "ي") + "پچژکگیٹڈڑںھہے" + _span("٠", "٩") + "۴۵۶" + "،؛؟٪٫٬"
_KANA = _span("ぁ", "ゖ") + _span("ァ", "ヺ") + "ー・々〇"
_SIGNS = (
    "–—−•…‰†‡“”„‘’‚‹›′″€₽₹₩₺₫№™×÷≤≥≈≠≡∞√∑∏∫∂∈∝∼←↑→↓↔⇒⇔☐☑☒✓✗○●■◇◆△▲▽▼☆★◎※、。，；：？！（）【】《》〈〉「」『』〔〕⅓⅔⅛"
) + _span("①", "⑳")
_RAISED = "".join(SUPERSCRIPTS[char] for char in "0123456789+−abcdefn") + "".join(
    SUBSCRIPTS[char] for char in "0123456789+"
)


def _han() -> str:
    codes = (bytes([high, low]) for high in range(0xB0, 0xF8) for low in range(0xA1, 0xFF))
    return "".join(code.decode("gb2312", "ignore") for code in codes)


LETTERS = "".join(dict.fromkeys(_LATIN + _GREEK + _CYRILLIC + _HEBREW + _ARABIC + _KANA + _SIGNS + _RAISED))
"""All characters that are not Chinese, ASCII first."""

HAN = _han()
"""The 6,763 Chinese characters of GB 2312, the more frequent 3,755 first."""

CHARACTERS = LETTERS + TURNED + HAN
"""The default list of a reader: its class ``index + 1`` is ``CHARACTERS[index]``, class 0 is blank."""

_KNOWN = frozenset(CHARACTERS)
# These keep the look that NFKC takes from them: what is raised, circled or as wide as a Chinese character.
_KEPT = frozenset(_LATIN + _SIGNS + _RAISED)
_SAME_LOOK = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\ufe63", "-"),
        **dict.fromkeys("\u2012\ufe58", "–"),
        **dict.fromkeys("\u2015\u2500", "—"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u0640\ufe0e\ufe0f"),
        **dict(zip("۰۱۲۳۷۸۹", "٠١٢٣٧٨٩", strict=True)),
        **dict(zip("□▢✔✘✕✖☓◦∙⋅‧⋯", "☐☐✓✗✗✗✗○···…", strict=True)),
        **dict(zip("∗∕⁄∶ǀ∣〜ʼ׳״˚∘＂＇▪◾⬜⬛", "*//:||~''\"°°\"'■■☐■", strict=True)),
        **dict(zip("ꞏ￡￠￦￥˗¬´∆", "·£¢₩¥--'Δ", strict=True)),
        "㎡": "m²",
        "㎥": "m³",
        "㎢": "km²",
    }
)
_LEADER = re.compile(r"\.{3,}|…+|·{3,}|(?:\. ){2,}\.+")
_MARKS = re.compile("[\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670]")


def normalize_label(text: str) -> str:
    """Write a text as the label of a line: one blank between words, and one character for one look.

    Composed (NFC); what NFKC makes of full-width letters and digits, ligatures, Roman numerals and Arabic shapes;
    raised, lowered and circled signs and wide punctuation stay. Points of Hebrew and marks of Arabic are left out.
    Three dots or more are one sign, however many lead to a number.

    Returns:
        The label, which may hold characters that are not in the list: see ``unknown_characters``.

    >>> normalize_label("Ｎｏ．Ⅳ  ﬁne\u00a0x² （a）‐ ㎡")
    'No.IV fine x² （a）- m²'
    """
    composed = unicodedata.normalize("NFC", text).translate(_SAME_LOOK)
    kept = "".join(char if char in _KEPT else unicodedata.normalize("NFKC", char) for char in composed)
    plain = " ".join(unicodedata.normalize("NFC", _MARKS.sub("", kept).translate(_SAME_LOOK)).split())
    return _LEADER.sub("…", plain)


def unknown_characters(text: str, known: Iterable[str] = _KNOWN) -> str:
    """Return the characters of a label that a list lacks, each once; no text where it has all.

    >>> unknown_characters("price แพง, 表"), unknown_characters("")
    ('แพง', '')
    """
    known = known if isinstance(known, frozenset) else frozenset(known)
    return "".join(char for char in dict.fromkeys(text) if char not in known)


def is_han(char: str) -> bool:
    """Whether a character is a Chinese one, in any of Unicode's blocks of them.

    >>> is_han("表"), is_han("〇"), is_han("あ")
    (True, False, False)
    """
    return "\u3400" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff" or "\U00020000" <= char <= "\U0003ffff"


def sort_characters(characters: str) -> str:
    """Put Chinese characters behind all others, which otherwise stay in their order.

    >>> sort_characters("表a格b")
    'ab表格'
    """
    return "".join(sorted(characters, key=is_han))


def count_letters(characters: str) -> int:
    """Count the characters that are no Chinese ones.

    >>> count_letters("ab表格")
    2
    """
    return sum(not is_han(char) for char in characters)
