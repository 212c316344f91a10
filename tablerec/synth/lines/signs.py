"""What readers know least: boxes to tick, raised signs, dashes, arrows, mathematics, single characters."""

from __future__ import annotations

from random import Random

from tablerec.models.characters import HAN, LETTERS
from tablerec.synth.lines.lexicon import words
from tablerec.synth.lines.numbers import digits, grouped, unit, whole
from tablerec.synth.lines.wording import chinese_text, cyrillic_text, latin_text

_ANSWERS = (
    "Yes", "No", "yes", "no", "N/A", "Ja", "Nein", "Oui", "Non", "Sí", "M", "F", "Male", "Female", "是", "否", "有", "无",
    "男", "女", "合格", "不合格", "Да", "Нет", "Other", "其他", "Pass", "Fail", "A", "B", "C", "1", "2", "3", "同意", "不同意",
    "Mr", "Ms", "Single", "Married", "已婚", "未婚", "需要", "不需要", "On", "Off", "High", "Low", "正常", "异常",
)  # fmt: skip
_CHEMICALS = (
    "H₂O", "CO₂", "O₂", "N₂", "NO₂", "NO₃", "SO₂", "NH₃", "CH₄", "H₂SO₄", "Na₂CO₃", "CaCl₂", "Fe₂O₃", "SiO₂", "Al₂O₃",
    "NH₄⁺", "Ca²⁺", "Mg²⁺", "Na⁺", "K⁺", "Cl⁻", "SO₄²⁻", "PO₄³⁻", "C₆H₁₂O₆", "PM₂", "P₂O₅", "K₂O", "H₂", "TiO₂", "N₂O",
    "HCO₃⁻", "O₃", "B₁₂", "T₁", "x₁", "x₂", "y₀", "R₁", "C₁₈", "Aβ₄₂", "V₀", "A₁c", "U₂₃₅", "f₀", "n₁", "β₁", "α₂", "d₅₀",
)  # fmt: skip
_POWERS = (
    "m²", "km²", "cm²", "m³", "cm³", "mm²", "R²", "χ²", "η²", "s⁻¹", "m⁻²", "kg/m²", "kg·m⁻³", "W/m²", "m/s²", "10³", "10⁶",
    "10⁻³", "10⁻⁶", "10⁹", "×10³", "×10⁻⁴", "×10⁹/L", "2ⁿ", "x²", "y³", "σ²", "cm⁻¹", "mol⁻¹", "μg/m³", "°C⁻¹", "ft²", "Å³",
)  # fmt: skip
_MARKS = "¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠ"
_LEADERS = (".", ".", ".", ". ", " .", "…", "·")
_ALONE = "abdefghijkmnqrty"
"""Small letters that differ from their capitals in more than size."""


def checkbox_text(rng: Random) -> str:
    """Return boxes with their labels, or a tick or a box alone.

    >>> any(char in "☐☑☒✓✗○●■" for char in checkbox_text(Random(3)))
    True
    """
    box = rng.choice("☐☐☐☐☑☑☑☒☒☒■○●")
    if rng.random() < 0.3:
        return rng.choice("☐☑☒✓✗☐☑☒✓✗✓✗■□○●◎".replace("□", "☐"))
    label = rng.choice(_ANSWERS) if rng.random() < 0.6 else rng.choice((latin_text, latin_text, chinese_text, cyrillic_text))(rng)[:24]
    other = rng.choice("☐☑☒") if box in "☐☑☒" else rng.choice("○●") if box in "○●" else "☐"
    second = rng.choice(_ANSWERS)
    return rng.choice(
        (
            "{0} {1}", "{0} {1}", "{0} {1}", "{0}{1}", "{1} {0}", "{1}{0}", "{0} {1} {2} {3}", "{0} {1} {2} {3}",
            "{0}{1} {2}{3}", "{1} {0} {3} {2}", "✓ {1}", "✗ {1}", "{1} ✓", "{1}: {0}", "{1}：{0}", "{0} {2}", "{0}{2}", "{0} {4}",
            "{4} {0}", "[x] {1}", "[ ] {1}", "({4}) {0} {1}",
        )
    ).format(box, label, other, second, whole(rng, 2))  # fmt: skip


def raised_text(rng: Random) -> str:
    """Return a text with raised or lowered signs.

    >>> raised_text(Random(0)).isascii()
    False
    """
    mark = rng.choice(_MARKS)
    word = rng.choice(words("english") or ("Total", "Note", "Value"))
    return rng.choice(
        (
            f"{grouped(rng)}{mark}", f"{grouped(rng)}{mark}", f"{grouped(rng)}{mark}", f"({grouped(rng)}){mark}", f"{digits(rng, 1)}{mark}",
            f"{word}{mark}", f"{word.title()}{mark}", f"{word}{mark},{rng.choice(_MARKS)}", f"{word}{rng.choice('¹²³')}{digits(rng, 1).translate(_UP)}",
            f"{mark} {word}", f"{mark}{word}", f"{mark} {latin_text(rng)[:20]}", rng.choice(_CHEMICALS), rng.choice(_CHEMICALS),
            f"{rng.choice(_CHEMICALS)} ({unit(rng)})", f"{word} {rng.choice(_CHEMICALS)}", rng.choice(_POWERS), rng.choice(_POWERS),
            f"{grouped(rng)} {rng.choice(_POWERS)}", f"({rng.choice(_POWERS)})", f"{word} ({rng.choice(_POWERS)})",
            f"{digits(rng, 1)}.{digits(rng, 1)} × 10{'⁻' if rng.random() < 0.5 else ''}{digits(rng, rng.randint(1, 2)).translate(_UP)}",
            f"10{'⁻' if rng.random() < 0.5 else ''}{digits(rng, rng.randint(1, 2)).translate(_UP)}",
            f"{rng.choice('abcxyzRFtn')}{digits(rng, 1).translate(_DOWN)}", f"{rng.choice('abcxyzRFtn')}{digits(rng, 2).translate(_UP)}",
            f"{rng.choice('ABCxyz')}{rng.choice('₀₁₂₃')} = {grouped(rng)}", f"{chinese_text(rng)[:8]}{rng.choice('¹²³⁴')}",
            f"{grouped(rng)}%{mark}", f"{grouped(rng)}{rng.choice('ᵃᵇᶜᵈ')},{rng.choice('ᵃᵇᶜᵈ')}",
        )
    )  # fmt: skip


_UP = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_DOWN = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def dash_text(rng: Random) -> str:
    """Return a text whose dashes matter.

    >>> any(char in "-–—−" for char in dash_text(Random(1)))
    True
    """
    year = rng.randint(1960, 2030)
    first, second = (rng.choice(words("english") or ("net", "gross")) for _ in range(2))
    number = grouped(rng)
    return rng.choice(
        (
            "–", "–", "—", "—", "-", "-", "−", f"-{number}", f"-{number}", f"−{number}", f"−{number}", f"–{number}",
            f"{year}–{year + 1}", f"{year}-{year + 1}", f"{year}—{year + 1}", f"{whole(rng, 2)}–{whole(rng, 3)}", f"{whole(rng, 2)}-{whole(rng, 3)}",
            f"{number} – {number}", f"{number} - {number}", f"{first} – {second}", f"{first} — {second}", f"{first} - {second}",
            f"{first}-{second}", f"{first}–{second}", f"{first}—{second}", f"– {first}", f"- {first}", f"— {first}", f"-{digits(rng, 1)}",
            f"−{digits(rng, 1)}", f"{rng.choice('xyab')} − {rng.choice('xy1')}", f"{rng.choice('xyab')}−{digits(rng, 1)}", f"$–{number}", f"−${number}",
            f"{first.upper()}-{digits(rng, 2)}", f"({number}–{number})", f"({year}-{year % 100 + 1})", "--", "- -", f"{chinese_text(rng)[:5]}—{chinese_text(rng)[:5]}",
            f"{chinese_text(rng)[:5]}-{digits(rng, 2)}", f"10−{digits(rng, 1)}", f"−{digits(rng, 1)} °C", f"{digits(rng, 2)}–{digits(rng, 2)} %",
            f"A–{rng.choice('BCDZ')}", f"A-{digits(rng, 1)}", f"−0.{digits(rng, 2)}", f"-0.{digits(rng, 2)}", f"–0,{digits(rng, 2)}",
        )
    )  # fmt: skip


def sign_text(rng: Random) -> str:
    """Return arrows, mathematics, marks of lists, or a label that dots lead to its number.

    >>> len(sign_text(Random(8))) > 0
    True
    """
    number = grouped(rng)
    if rng.random() < 0.2:
        return leader_text(rng)
    if rng.random() < 0.12:
        return rng.choice("←↑→↓↔⇒•○●■◇◆△▲▽▼☆★◎※†‡§¶*#&@%‰°∞√∑∆Ω±×÷=+<>?!/|\\~^_".replace("∆", "Δ"))
    if rng.random() < 0.15:
        return "".join(rng.choices([char for char in LETTERS if not char.isalnum() and char != " "][:110], k=rng.randint(1, 4)))
    return rng.choice(
        (
            f"↑ {number}", f"↓ {number}", f"{number}↑", f"{number} ↓", f"→ {latin_text(rng)[:20]}", f"A → B", f"{digits(rng, 1)}→{digits(rng, 1)}",
            f"≥ {number}", f"≤{number}", f"≠ {number}", f"≈ {number}", f"± {number}", f"√{digits(rng, 2)}", f"∑ {number}", f"∑x", "∞", "−∞", f"{number} × {number}",
            f"{number} ÷ {digits(rng, 1)}", f"{digits(rng, 1)} + {digits(rng, 1)} = {digits(rng, 1)}", "∫f(x)dx", "x ∈ A", "α = 0.05", "Δ%", f"Δ {number}",
            "μ ± σ", "β", "λ", "π", "Ω", "θ", f"μ = {number}", f"★★★☆☆", "★★★★★", "☆☆☆", "●●○", f"■ {latin_text(rng)[:20]}", f"◆ {latin_text(rng)[:20]}",
            f"• {latin_text(rng)[:25]}", f"· {latin_text(rng)[:20]}", f"※ {chinese_text(rng)[:20]}", f"▲{number}", f"▼{number}", f"△{number}", f"► ".replace("►", "▲") + number,
            f"{rng.choice('①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳')}", f"{rng.choice('①②③④⑤⑥⑦⑧⑨⑩')} {latin_text(rng)[:20]}", f"{rng.choice('①②③④⑤⑥⑦⑧⑨⑩')}{chinese_text(rng)[:12]}",
            f"§ {digits(rng, 2)}", f"¶ {digits(rng, 1)}", f"№ {digits(rng, 2)}", f"†{latin_text(rng)[:20]}", f"‡ {latin_text(rng)[:15]}", f"{digits(rng, 2)}‰", f"{digits(rng, 2)}°",
            f"{digits(rng, 2)}° {digits(rng, 2)}′ {digits(rng, 2)}″", f"{digits(rng, 1)}′", f"{digits(rng, 2)}″", "«»", "“”", "…", "...", "..", "()", "[ ]", "{ }", "***", "**", "*", "///", "|",
            f"{{{digits(rng, 1)}, {digits(rng, 1)}}}", f"<{latin_text(rng)[:12]}>", f"[{digits(rng, 2)}]", f"~{number}", f"^{digits(rng, 1)}", f"{latin_text(rng)[:10]}\\{latin_text(rng)[:10]}",
            f"http://www.{rng.choice(words('english') or ('table',)).lower()}.com", f"{rng.choice(words('english') or ('info',)).lower()}@{rng.choice(words('english') or ('mail',)).lower()}.org",
            f"№{digits(rng, 3)}", "≡", "∂x/∂t", "a ∝ b", "≤ 0", "⇒", "⇔", f"{digits(rng, 1)}∼{digits(rng, 2)}", f"₽{number}", f"{number} ₽", f"{number} ₫", f"₪{number}", f"℃".replace("℃", "°C"),
        )
    )  # fmt: skip


def leader_text(rng: Random) -> str:
    """Return a label, dots and mostly a number; the label of the line has three dots, see ``normalize_label``."""
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


def random_text(rng: Random) -> str:
    """Return characters without meaning: passwords, keys, file names."""
    letters = rng.choice(
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "abcdefghijklmnopqrstuvwxyz", LETTERS[1:95], "0123456789abcdef", "01", "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789-_.")
    )  # fmt: skip
    return "".join(rng.choices(letters, k=rng.randint(2, 14)))
