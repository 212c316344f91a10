"""What readers know least: boxes to tick, raised signs, dashes, arrows, mathematics, single characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from random import Random

from tablerec.models.characters import HAN, LETTERS
from tablerec.synth.lines.lexicon import words
from tablerec.synth.lines.numbers import digits, fill, whole
from tablerec.synth.lines.wording import chinese_text, cyrillic_text, latin_text

_ANSWERS = (
    "Yes", "No", "yes", "no", "N/A", "Ja", "Nein", "Oui", "Non", "Sí", "M", "F", "Male", "Female", "是", "否", "有",
    "无", "男", "女", "合格", "不合格", "Да", "Нет", "Other", "其他", "Pass", "Fail", "A", "B", "C", "1", "2", "3",
    "同意", "不同意", "Mr", "Ms", "Single", "Married", "已婚", "未婚", "需要", "不需要", "On", "Off", "High", "Low",
    "正常", "异常",
)  # fmt: skip
_CHEMICALS = (
    "H₂O", "CO₂", "O₂", "N₂", "NO₂", "NO₃", "SO₂", "NH₃", "CH₄", "H₂SO₄", "Na₂CO₃", "CaCl₂", "Fe₂O₃", "SiO₂", "Al₂O₃",
    "NH₄⁺", "Ca²⁺", "Mg²⁺", "Na⁺", "K⁺", "Cl⁻", "SO₄²⁻", "PO₄³⁻", "C₆H₁₂O₆", "PM₂", "P₂O₅", "K₂O", "H₂", "TiO₂", "N₂O",
    "HCO₃⁻", "O₃", "B₁₂", "T₁", "x₁", "x₂", "y₀", "R₁", "C₁₈", "Aβ₄₂", "V₀", "A₁c", "U₂₃₅", "f₀", "n₁", "β₁", "α₂",
    "d₅₀",
)  # fmt: skip
_POWERS = (
    "m²", "km²", "cm²", "m³", "cm³", "mm²", "R²", "χ²", "η²", "s⁻¹", "m⁻²", "kg/m²", "kg·m⁻³", "W/m²", "m/s²", "10³",
    "10⁶", "10⁻³", "10⁻⁶", "10⁹", "×10³", "×10⁻⁴", "×10⁹/L", "2ⁿ", "x²", "y³", "σ²", "cm⁻¹", "mol⁻¹", "μg/m³", "°C⁻¹",
    "ft²", "Å³",
)  # fmt: skip
_FIELDS: dict[str, Callable[[Random], str]] = {
    "word": lambda rng: rng.choice(words("english") or ("total", "note", "value")),
    "Word": lambda rng: rng.choice(words("english") or ("total", "note", "value")).title(),
    "WORD": lambda rng: rng.choice(words("english") or ("total", "note", "value")).upper(),
    "label": lambda rng: latin_text(rng)[:24],
    "han": lambda rng: chinese_text(rng)[:8],
    "chem": lambda rng: rng.choice(_CHEMICALS),
    "power": lambda rng: rng.choice(_POWERS),
    "x": lambda rng: rng.choice("abcxyzRFtnABCxyzβσ"),
    "sup": lambda rng: rng.choice("⁰¹²³⁴⁵⁶⁷⁸⁹"),
    "sub": lambda rng: rng.choice("₀₁₂₃₄₅₆₇₈₉"),
    "note": lambda rng: rng.choice(("†", "†", "†", "‡", "††", "*†", "*", "§")),
    "ring": lambda rng: rng.choice("①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"),
}
_LEADERS = (".", ".", ".", ". ", " .", "…", "·")
_ALONE = "abdefghijkmnqrty"
"""Small letters that differ from their capitals in more than size."""


_BOXED = (
    "{0} {1}", "{0} {1}", "{0} {1}", "{0}{1}", "{1} {0}", "{1}{0}", "{0} {1} {2} {3}", "{0} {1} {2} {3}",
    "{0}{1} {2}{3}", "{1} {0} {3} {2}", "✓ {1}", "✗ {1}", "{1} ✓", "{1}: {0}", "{1}：{0}", "{0} {2}", "{0}{2}",
    "{0} {4}", "{4} {0}", "[x] {1}", "[ ] {1}", "({4}) {0} {1}",
)  # fmt: skip


def checkbox_text(rng: Random) -> str:
    """Return boxes with their labels, or a tick or a box alone.

    >>> any(char in "☐☑☒✓✗○●■" for char in checkbox_text(Random(3)))
    True
    """
    if rng.random() < 0.3:
        return rng.choice("☐☑☒✓✗☐☑☒✓✗✓✗■☐○●◎")
    box = rng.choice("☐☐☐☐☑☑☑☒☒☒■○●")
    write = rng.choice((latin_text, latin_text, chinese_text, cyrillic_text))
    label = rng.choice(_ANSWERS) if rng.random() < 0.6 else write(rng)[:24]
    other = rng.choice("☐☑☒" if box in "☐☑☒■" else "○●")
    return rng.choice(_BOXED).format(box, label, other, rng.choice(_ANSWERS), whole(rng, 2))


_RAISED = (
    "{n}{up}", "{n}{up}", "{n}{up}", "{n}{up}", "({n}){up}", "{d}{up}", "{word}{up}", "{Word}{up}", "{word}{up},{up}",
    "{word}{sup}{sup}", "{up} {word}", "{up}{word}", "{up} {label}", "{chem}", "{chem}", "{chem} ({unit})",
    "{word} {chem}", "{power}", "{power}", "{n} {power}", "({power})", "{word} ({power})", "{d}.{d} × 10{exp}",
    "{d}.{d}×10{exp}{sup}", "10{exp}", "10{exp}{sup}", "{x}{sub}", "{x}{sub}{sub}", "{x}{sup}{sup}", "{x}{sub} = {n}",
    "{han}{up}", "{n}%{up}", "{n}{up},{up}", "{n}*{up}", "{word}{note}", "{n}{note}", "{n}{note}", "{Word}{note}",
)  # fmt: skip


def raised_text(rng: Random) -> str:
    """Return a text with raised or lowered signs.

    >>> raised_text(Random(0)).isascii()
    False
    """
    return fill(rng, rng.choice(_RAISED), _FIELDS)


_RAISED_DIGITS, _LOWERED_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹", "₀₁₂₃₄₅₆₇₈₉"
_RAISED_LETTERS = "ᵃᵇᶜᵈᵉᶠⁿ"
_ELEMENTS = ("H", "C", "N", "O", "S", "P", "K", "Na", "Ca", "Mg", "Fe", "Cl", "Al", "Si", "Ti", "Cu", "Zn", "Li", "Ag")
_SET_PLAIN = 0.14
"""Share of texts such as H2O and m2, all on the line."""
_SYMBOLS = "xyzabcdpqrtvABCDEFPQRTVXβσαχτλμ"
_OF_POWERS = ("m", "cm", "km", "mm", "s", "kg", "ft", "in", "mol", "L", "dm", "10", "10", "10", "2", "x", "R", "r", "χ")
_NOTED = (
    "{b}{mark}", "{b}{mark}", "{b}{mark}", "{b}{mark}{mark}", "{b}{mark},{mark}", "{b} {mark}", "{b}{mark} {b}",
    "{b} ({b}){mark}", "({b}{mark})", "{mark} {b}", "{mark}{b}", "{mark}", "{b}{mark}:", "{b}{mark}%", "{n}{mark}",
    "{n}{mark}", "{n}{mark}", "{n}%{mark}", "({n}){mark}", "{y}{mark}", "{n}{mark} {n}", "{formula}", "{formula}",
    "{formula} ({unit})", "{formula}/{formula}", "{b} {formula}", "{formula}{mark}", "{symbol}", "{symbol}", "{symbol}",
    "{symbol} = {n}", "{symbol}, {symbol}", "{power}", "{power}", "{power}/{power}", "({power})", "{b} ({power})",
    "{n} {power}", "{n}/{power}", "{b}/{power}", "{d}.{d} × 10{exponent}", "{d}.{d}{d}×10{exponent}", "×10{exponent}",
    "10{exponent}", "10{exponent} {power}", "{n} × 10{exponent}", "{b}{note}", "{b}{note}", "{n}{note}", "{n}{note}",
    "{note} {b}", "{note}{b}", "*{b}", "{stars}", "{stars}",
    "{n}°", "{n} °C", "{n}°{mark}", "{b}{mark}{note}", "{han}{mark}", "{han}{han}{mark}",
    "{han}（{power}）", "{han}({power})", "{han}/{power}", "{n}{power}", "{symbol}{mark}", "{symbol} {symbol} {symbol}",
)  # fmt: skip


def _few(rng: Random, signs: str, most: int = 3) -> str:
    return "".join(rng.choices(signs, k=rng.choice((1, 1, 2, most))))


def _mark(rng: Random) -> str:
    form = rng.random()
    if form < 0.5:
        return rng.choice(_RAISED_DIGITS[1:])
    if form < 0.7:
        return rng.choice(_RAISED_LETTERS)
    return _few(rng, _RAISED_DIGITS, 2)


def _formula(rng: Random) -> str:
    """Return a formula of chemistry, or what looks like one, at times with its charge."""
    parts = [rng.choice(_ELEMENTS) + ("" if rng.random() < 0.3 else _few(rng, _LOWERED_DIGITS[1:], 2)) for _ in "12"]
    charge = rng.choice(("", "", "", "⁺", "⁻", "²⁺", "²⁻", "³⁺", "³⁻"))
    return "".join(parts[: rng.choice((1, 2, 2))]) + charge


def _exponent(rng: Random) -> str:
    return ("⁻" if rng.random() < 0.55 else "") + _few(rng, _RAISED_DIGITS[1:], 2)


def _symbol(rng: Random) -> str:
    lowered = _few(rng, _LOWERED_DIGITS) if rng.random() < 0.7 else ""
    return rng.choice(_SYMBOLS) + lowered + ("" if lowered else _few(rng, _RAISED_DIGITS + _RAISED_LETTERS))


_NOTES: dict[str, Callable[[Random], str]] = {
    "han": lambda rng: rng.choice(words("chinese") or ("单位", "合计")),
    "b": lambda rng: _base(rng),
    "mark": _mark,
    "note": lambda rng: rng.choice(("*", "*", "**", "***", "†", "‡", "††", "§", "*†", "¹*")),
    "stars": lambda rng: "*" * rng.randint(1, 5),
    "formula": _formula,
    "symbol": _symbol,
    "power": lambda rng: rng.choice(_OF_POWERS) + _exponent(rng),
    "exponent": _exponent,
}


def _base(rng: Random) -> str:
    """Return what bears a mark: a word, a name, capitals, a number."""
    form = rng.random()
    if form < 0.35:
        return rng.choice(words("english") or ("total", "note", "value"))
    if form < 0.6:
        return rng.choice(words("english") or ("total", "note", "value")).title()
    if form < 0.7:
        return rng.choice(words(rng.choice(("french", "german", "spanish"))) or ("total", "note", "value"))
    if form < 0.8:
        return "".join(rng.choices("ABCDEFGHIJKLMNOPRSTUVWXYZ", k=rng.randint(1, 4)))
    return whole(rng, 5) if form < 0.9 else f"{whole(rng, 3)}.{digits(rng, rng.randint(1, 3))}"


def noted_text(rng: Random) -> str:
    """Return a text whose raised or lowered signs its words do not foretell: each has to be seen, or that it is plain.

    >>> noted_text(Random(0)) != ""
    True
    """
    text = fill(rng, rng.choice(_NOTED), _NOTES)
    return text if rng.random() > _SET_PLAIN else unicodedata.normalize("NFKC", text).replace("−", "-")


# A dash before a number is a hyphen or a minus, between numbers never a minus: most fonts draw – and − alike.
_DASHES = (
    "–", "–", "—", "—", "-", "-", "-{n}", "-{n}", "-{n}", "−{n}", "−{n}", "−{n}", "{y}–{y}", "{y}-{y}", "{y}—{y}",
    "{w}–{w}", "{w}-{w}", "{n} – {n}", "{n} - {n}", "{word} – {word}", "{word} — {word}", "{word} - {word}",
    "{word}-{word}", "{word}–{word}", "{word}—{word}", "– {word}", "- {word}", "— {word}", "-{d}", "−{d}", "{x} − {x}",
    "{x}−{d}", "−${n}", "{WORD}-{d}{d}", "({n}–{n})", "({y}-{yy})", "--", "- -", "{han}——{han}",
    "{han}-{d}{d}", "−{d} °C", "{d}{d}–{d}{d} %", "A–Z", "A-{d}", "−0.{d}{d}", "-0.{d}{d}", "−0,{d}{d}",
    "{word}-{word}-{word}",
)  # fmt: skip


def dash_text(rng: Random) -> str:
    """Return a text whose dashes matter.

    >>> any(char in "-–—−" for char in dash_text(Random(1)))
    True
    """
    return fill(rng, rng.choice(_DASHES), _FIELDS)


_OTHERS = (
    "↑ {n}", "↓ {n}", "{n}↑", "{n} ↓", "→ {label}", "A → B", "{d}→{d}", "≥ {n}", "≤{n}", "≠ {n}", "≈ {n}", "± {n}",
    "√{d}{d}", "∑ {n}", "∑x", "∞", "−∞", "{n} × {n}", "{n} ÷ {d}", "{d} + {d} = {d}", "∫f(x)dx", "x ∈ A", "α = 0.05",
    "Δ%", "Δ {n}", "μ ± σ", "β", "λ", "π", "Ω", "θ", "μ = {n}", "★★★☆☆", "★★★★★", "☆☆☆", "●●○", "■ {label}",
    "◆ {label}", "• {label}", "· {label}", "※ {han}", "▲{n}", "▼{n}", "△{n}", "▲ {n}", "{ring}", "{ring} {label}",
    "{ring}{han}", "§ {d}{d}", "¶ {d}", "№ {d}{d}", "†{label}", "‡ {label}", "{d}{d}‰", "{d}{d}°",
    "{d}{d}° {d}{d}′ {d}{d}″", "{d}′", "{d}{d}″", "«»", "“”", "…", "...", "..", "()", "[ ]", "***", "**", "*", "///",
    "|", "<{word}>", "[{d}{d}]", "~{n}", "^{d}", "{word}\\{word}", "http://www.{word}.com", "{word}@{word}.org",
    "№{w}", "≡", "∂x/∂t", "a ∝ b", "≤ 0", "⇒", "⇔", "{d}∼{d}{d}", "₽{n}", "{n} ₽", "{n} ₫", "₪{n}", "°C",
)  # fmt: skip
_MARKS = [char for char in LETTERS if not char.isalnum() and char != " "][:110]
_LONE = "←↑→↓↔⇒•○●■◇◆△▲▽▼☆★◎※†‡§¶*#&@%‰°∞√∑ΔΩ±×÷=+<>?!/|\\~^_"


def sign_text(rng: Random) -> str:
    """Return arrows, mathematics, marks of lists, or a label that dots lead to its number.

    >>> len(sign_text(Random(8))) > 0
    True
    """
    form = rng.random()
    if form < 0.2:
        return leader_text(rng)
    if form < 0.3:
        return rng.choice(_LONE)
    if form < 0.42:
        return "".join(rng.choices(_MARKS, k=rng.randint(1, 4)))
    return fill(rng, rng.choice(_OTHERS), _FIELDS)


def leader_text(rng: Random) -> str:
    """Return a label, dots and mostly a number; the label has one sign for them."""
    dots = rng.choice(_LEADERS) * rng.randint(5, 24)
    label = rng.choice((latin_text, latin_text, chinese_text))(rng)[:20]
    number = whole(rng, 4) if rng.random() < 0.8 else ""
    gap = rng.choice(("", " "))
    return f"{label}{gap}{dots.strip()}{gap}{number}".strip()


def single_text(rng: Random) -> str:
    """Return one character.

    >>> len(single_text(Random(0)))
    1
    """
    form = rng.random()
    if form < 0.5:
        return digits(rng, 1)
    if form < 0.72:
        return rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ")
    if form < 0.8:
        return rng.choice(_ALONE)
    if form < 0.9:
        return rng.choice(HAN[:3755].replace("一", ""))
    return rng.choice("x+*#%$€?/=")


_ALPHABETS = (
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "abcdefghijklmnopqrstuvwxyz",
    LETTERS[1:95],
    "0123456789abcdef",
    "01",
    "ACGT",
    "ACGT",
    "ACDEFGHIKLMNPQRSTVWY",
    "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789-_.",
)


def random_text(rng: Random) -> str:
    """Return characters without meaning: passwords, keys, file names, genes and proteins."""
    letters = rng.choice(_ALPHABETS)
    return "".join(rng.choices(letters, k=rng.randint(2, 24 if letters[:2] == "AC" else 14)))
