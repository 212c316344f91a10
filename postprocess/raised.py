"""Raised and lowered signs: "m²" and "H₂O" hold them as Unicode's own characters, from the picture to each export.

Left alone are ª and º, which are ordinal signs, and ™: text goes in and comes out with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

Position = Literal["sup", "sub"]
"""Raised or lowered, by the names of the HTML elements."""

SUPERSCRIPTS = dict(
    zip(
        "0123456789+\u2212=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡ",
        strict=True,
    )
)
"""Plain -> raised. The minus sign is U+2212, as in Unicode's own decomposition."""

SUBSCRIPTS = dict(
    zip(
        "0123456789+\u2212=()aehijklmnoprstuvxβγρφχ",
        "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ",
        strict=True,
    )
)
"""Plain -> lowered."""

_TABLES: dict[Position, dict[str, str]] = {"sup": SUPERSCRIPTS, "sub": SUBSCRIPTS}
_MINUS = dict.fromkeys("-\u2013", "\u2212")
_TO = {
    position: str.maketrans(table | {char: table[minus] for char, minus in _MINUS.items()})
    for position, table in _TABLES.items()
}
_FROM = {
    position: str.maketrans({raised: plain for plain, raised in table.items()}) for position, table in _TABLES.items()
}
# A comma between two raised signs, as in 7¹,², is raised too; Unicode has no form for it.
_RUNS = re.compile(
    "|".join(
        f"(?P<{position}>[{signs}]+(?:(?:[,./] ?| )[{signs}]+)*)"
        for position, signs in (("sup", "".join(SUPERSCRIPTS.values())), ("sub", "".join(SUBSCRIPTS.values())))
    )
)


def to_superscript(text: str) -> str:
    """Raise each character that has a raised form; others stay. A hyphen or dash becomes a raised minus.

    >>> to_superscript("-3"), to_superscript("1,2"), to_superscript("q*")
    ('⁻³', '¹,²', 'q*')
    """
    return text.translate(_TO["sup"])


def to_subscript(text: str) -> str:
    """Lower each character that has a lowered form; others stay. A hyphen or dash becomes a lowered minus.

    >>> "H" + to_subscript("2") + "O"
    'H₂O'
    """
    return text.translate(_TO["sub"])


def raised_runs(text: str) -> list[tuple[str, Position | None]]:
    """Split a text where it begins or ends to be raised or lowered; each run has its plain characters.

    A comma, point, slash or blank between two raised characters is part of their run.

    >>> raised_runs("7¹,²"), raised_runs("H₂O"), raised_runs("")
    ([('7', None), ('1,2', 'sup')], [('H', None), ('2', 'sub'), ('O', None)], [])
    """
    runs: list[tuple[str, Position | None]] = []
    end = 0
    for match in _RUNS.finditer(text):
        position: Position = "sup" if match["sup"] else "sub"
        runs += [(text[end : match.start()], None), (match[0].translate(_FROM[position]), position)]
        end = match.end()
    return [run for run in [*runs, (text[end:], None)] if run[0]]


def from_runs(runs: Iterable[tuple[str, Position | None]]) -> str:
    """Join runs; the inverse of `raised_runs`.

    >>> from_runs([("10", None), ("-3", "sup")])
    '10⁻³'
    """
    return "".join(text if position is None else text.translate(_TO[position]) for text, position in runs)
