"""What stands in columns of words, in every script of the reader."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random
from typing import NamedTuple

from tablerec.models.characters import HAN, LETTERS
from tablerec.synth.content.texts import vocabulary
from tablerec.synth.lines.lexicon import words
from tablerec.synth.lines.numbers import code, fill, number_text

LATIN = (
    "english", "english", "english", "french", "german", "spanish", "italian", "portuguese", "dutch", "swedish",
    "polish", "czech", "hungarian", "turkish", "vietnamese", "romanian",
)  # fmt: skip
CYRILLIC = ("russian", "russian", "ukrainian", "bulgarian")


class Word(NamedTuple):
    """What stands between two blanks.

    Args:
        text: Its characters from left to right, as the label says.
        drawn: The same in the order in which they are read.
        leftward: Whether it runs from right to left.
    """

    text: str
    drawn: str
    leftward: bool = False


def to_words(text: str) -> list[Word]:
    """Split a text that runs from left to right.

    >>> [word.text for word in to_words("1 234")]
    ['1', '234']
    """
    return [Word(part, part) for part in text.split()]


def _letters(first: str, last: str) -> str:
    return "".join(char for char in LETTERS if first <= char <= last and char.isalpha())


_LATIN_LETTERS = "".join(char for char in LETTERS if char.isalpha() and "LATIN" in unicodedata.name(char))
_CYRILLIC_LETTERS, _GREEK_LETTERS = _letters("Ѐ", "ґ"), _letters("Ά", "ώ")
_HEBREW_LETTERS, _ARABIC_LETTERS = _letters("א", "ת"), _letters("ء", "ي")
# Inside of a word ی looks like ي, at its beginning ہ like ه: a word has letters of one language, one of them its own.
_PERSIAN_LETTERS = "".join(char for char in _ARABIC_LETTERS if char not in "يكىةؤإأ") + "یک"
_URDU_LETTERS = _PERSIAN_LETTERS.replace("ه", "") + "ہھپچگ"
_OTHER_ARABIC = (_PERSIAN_LETTERS, "پچژگ", ("",)), (_URDU_LETTERS, "ٹڈڑ", ("", "", "ں", "ے"))
"""By language: letters, those of its own, and what stands at the end only."""
_HIRAGANA = "".join(char for char in LETTERS if "ぁ" <= char <= "ん")
_KATAKANA = "".join(char for char in LETTERS if "ァ" <= char <= "ヶ")
# Alone, these could as well be Latin.
_LOOK_LATIN = frozenset("АВЕЅІЇЈКМНОРСТУХаеёѕіїјорсухЁΑΒΕΖΗΙΚΜΝΟΡΤΥΧΪΫοόνυρκι")
KANA_WORDS = (
    "データ", "テスト", "コード", "メートル", "サービス", "システム", "グループ", "センター", "ページ", "リスト",
    "サイズ", "カラー", "ドル", "ユーロ", "パーセント", "キログラム", "エネルギー", "レベル", "タイプ", "モデル",
    "です", "ます", "および", "または", "その他", "平均", "年度", "大阪",
    "のため", "について", "による", "ある", "なし", "あり", "すべて", "株式会社", "スケジュール",
    "ソフトウェア", "ケース", "コスト",
)  # fmt: skip
"""Frequent words of Japanese tables."""


@lru_cache(maxsize=4)
def _terms(language: str) -> tuple[str, ...]:
    return tuple(term for topic in vocabulary(language).values() for term in topic)


def _lay_out(rng: Random, text: str) -> str:
    """Write in capitals, with capitals first, or as it is."""
    form = rng.random()
    if form < 0.12:
        return text.upper()
    if form < 0.2:
        return text.title()
    return text[:1].upper() + text[1:] if form < 0.6 else text


def _random_word(rng: Random, letters: str, longest: int = 9) -> str:
    return "".join(rng.choices(letters, k=rng.randint(2, longest)))


def _some_words(rng: Random, languages: Sequence[str], letters: str, most: int) -> str:
    """Return words of one of the languages, or of random letters where there are none."""
    known = words(rng.choice(languages))
    count = min(most, 1 + int(rng.expovariate(0.9)))
    if not known:
        return " ".join(_random_word(rng, letters) for _ in range(count))
    return " ".join(rng.choice(known) for _ in range(count))


def latin_text(rng: Random) -> str:
    """Return a label, a name or a phrase in Latin letters.

    >>> latin_text(Random(2)) != ""
    True
    """
    form = rng.random()
    if form < 0.3:
        text = rng.choice(_terms("english"))
    elif form < 0.4:
        text = rng.choice(_terms("latin"))
    elif form < 0.93:
        text = _lay_out(rng, _some_words(rng, LATIN, "etaoinshrdlcum", 6))
    elif form < 0.97:
        text = _lay_out(rng, _random_word(rng, _LATIN_LETTERS.lower() if rng.random() < 0.6 else _LATIN_LETTERS))
    else:
        text = f"{rng.choice('ABCDEFGHJKLMNPRSTVW')}. {rng.choice(vocabulary('english')['last_names'])}"
    return _around(rng, text)


_AROUND = (
    "{t}:", "{t}:", "{t}.", "{t},", "{t};", "{t}*", "{t}¹", "{t}²", "{t}³", "{t}ᵃ", "{t}†", "{t}‡", "{t} ({unit})",
    "({t})", "“{t}”", "„{t}“", "«{t}»", "‘{t}’", "‚{t}‘", '"{t}"', "'{t}'", "{t} – {o}", "{t} - {o}", "{t} & {o}",
    "{t} / {o}", "{t}/{o}", "{t}, {o}", "{w}. {t}", "{w}) {t}", "({w}) {t}", "• {t}", "– {t}", "- {t}", "* {t}",
    "{t} {n}", "{t} {n}", "{t}: {n}", "{t} = {n}", "{t} (%)", "{t} ({n})", "{t} [{unit}]", "{t}, {unit}", "{t}?",
    "{t}!", "{t}…", "{t} %", "{t} {w}", "{t} No. {w}", "{t}-{o}", "{t} + {o}", "{t} → {o}", "{t} — {o}", "{t} ({w})",
    "§ {w} {t}", "{t}™", "{t}®", "© {t}", "{t} > {o}", "{t} x{w}", "#{t}", "{t}_{o}", "@{t}", "{t}({w})", "{t} | {o}",
    "{d}-{o} {t}", "{t} {w}-{o}",
)  # fmt: skip


def _around(rng: Random, text: str) -> str:
    """Add what stands around labels: numbering, notes, units, quotes, a second label."""
    if rng.random() < 0.6:
        return text
    other = rng.choice(_terms("english")).split()[0]
    return fill(rng, rng.choice(_AROUND), {"t": lambda _: text, "o": lambda _: other})


def cyrillic_text(rng: Random) -> str:
    """Return words in Cyrillic letters."""
    return _foreign(rng, CYRILLIC, _CYRILLIC_LETTERS)


def greek_text(rng: Random) -> str:
    """Return words in Greek letters; capitals mostly lose their accent."""
    text = _foreign(rng, ("greek",), _GREEK_LETTERS)
    if text.isupper() and rng.random() < 0.7:
        text = unicodedata.normalize("NFD", text).replace("\u0301", "")
    return unicodedata.normalize("NFC", text).replace("\u0301", "")


def _foreign(rng: Random, languages: Sequence[str], letters: str) -> str:
    for _ in range(20):
        if rng.random() < 0.08:
            text = _lay_out(rng, _random_word(rng, letters.lower()))
        else:
            text = _lay_out(rng, _some_words(rng, languages, letters.lower(), 5))
        # Final sigma stands at the end only.
        if any(char.isalpha() and char not in _LOOK_LATIN for char in text):
            break
    return _beside(rng, text)


_BESIDE = (
    "{t}:", "{t}.", "{t}, {w}", "{t} ({w})", "({t})", "«{t}»", "{t} – {w}", "{t} {w}", "{w}. {t}", "{t} %", "{t}*",
    "№ {w} {t}", "{t}¹", "{t} {n}", "{t} - {w}", "{t}: {n}",
)  # fmt: skip


def _beside(rng: Random, text: str) -> str:
    if rng.random() < 0.7:
        return text
    return fill(rng, rng.choice(_BESIDE), {"t": lambda _: text})


_KANA_FORMS = (
    "{0}",
    "{0}",
    "{0}",
    "{0}({1})",
    "{0}（{1}）",
    "{0}：{1}",
    "「{0}」",
    "{0}・{1}",
    "{0}、",
    "{0}。",
    "{0} {1}",
)


def kana_text(rng: Random) -> str:
    """Return Japanese words, most of them in kana."""
    form = rng.random()
    if form < 0.5:
        text = "".join(rng.choice(KANA_WORDS) for _ in range(rng.randint(1, 3)))
    else:
        letters = _KATAKANA + "ーーー" if form < 0.75 else _HIRAGANA
        text = "".join(rng.choices(letters, k=rng.randint(2, 9))).lstrip("ー") + "ン"
    return rng.choice(_KANA_FORMS).format(text, rng.choice(KANA_WORDS))


_AROUND_CHINESE = (
    "{t}：", "{t}:", "（{t}）", "({t})", "{t}（{z}）", "{t}({z})", "{t}、{z}", "{t}，{z}", "{t}；{z}", "《{t}》",
    "“{t}”", "【{t}】", "「{t}」", "『{t}』", "〈{t}〉", "{t}/{z}", "{t}-{z}", "{t}——{z}", "{t} {z}", "{d}、{t}",
    "{d}.{t}", "（{d}）{t}", "({d}){t}", "{d}{t}", "{t}{d}", "{t}{d}%", "{t}{n}", "{n}{t}", "{t} {latin}",
    "{latin}{t}", "{t}({latin})", "{t}（{count}）", "{t}({count})", "其中：{t}", "减：{t}", "{t}。", "{t}？", "{t}！",
    "{t}·{z}", "{t}*", "※{t}", "★{t}", "①{t}", "{t}：{n}", "{t}:{d}", "{t}〔{y}〕{d}号", "<{t}>", "{t}¥{n}", "√{t}",
    "{t}→{z}", "第{d}{t}", "{t}…", "二〇二{t}", "{y}年{t}", "{t}({code})", "{t}（{code}，{code}）", "{code}{t}",
    "{t}{code}", "({code}{z})（{count}）",
)  # fmt: skip
_COUNTED = ("万元", "元", "%", "kg", "m²", "亿元", "个", "人", "°C")


def chinese_text(rng: Random) -> str:
    """Return Chinese words, or characters without meaning so that each is seen.

    >>> len(chinese_text(Random(5))) > 0
    True
    """
    form = rng.random()
    if form < 0.3:
        text = rng.choice(_terms("chinese"))
    elif form < 0.52:
        text = "".join(rng.choice(words("chinese")) for _ in range(rng.randint(1, 4)))
    elif form < 0.68:
        text = "".join(rng.choices(HAN[:3755], k=rng.randint(1, 8)))
    else:
        text = "".join(rng.choices(HAN, k=min(18, 1 + int(rng.expovariate(0.25)))))
    if text == "一":  # alone it looks like a dash
        text = "一二"
    if rng.random() < 0.62:
        return text[:40]
    more: dict[str, Callable[[Random], str]] = {
        "t": lambda _: text[:20],
        "z": lambda rng: rng.choice(words("chinese")),
        "latin": lambda rng: rng.choice(words("english") or _terms("english")),
        "count": lambda rng: rng.choice(_COUNTED),
        "code": code,
    }
    return fill(rng, rng.choice(_AROUND_CHINESE), more)[:48]


def hebrew_words(rng: Random) -> list[Word]:
    """Return Hebrew words from left to right, as they are seen."""
    return _leftward(rng, "hebrew", _HEBREW_LETTERS)


def arabic_words(rng: Random) -> list[Word]:
    """Return Arabic words from left to right, as they are seen; letters are not joined in the label.

    >>> all(word.text == word.drawn[::-1] for word in arabic_words(Random(1)) if word.drawn.isalpha())
    True
    """
    return _leftward(rng, "arabic", _ARABIC_LETTERS)


def _leftward(rng: Random, language: str, letters: str) -> list[Word]:
    known = words(language)
    count = min(5, 1 + int(rng.expovariate(0.8)))
    form = rng.random()
    if language == "arabic" and form < 0.1:
        read = [_own_word(rng, *_OTHER_ARABIC[form < 0.04]) for _ in range(count)]
    else:
        read = [
            rng.choice(known) if known and rng.random() < 0.92 else _random_word(rng, letters, 7) for _ in range(count)
        ]
    place = rng.random()
    if place < 0.12:
        read[-1] += rng.choice(":.،؟؛" if language == "arabic" else ":.,?")
    elif place < 0.16:
        read[-1] = f"({read[-1]})"
    if language == "hebrew" and rng.random() < 0.03:
        read[-1] = f"{read[-1]}־{rng.choice(letters)}{rng.choice(letters)}"
    laid = [Word(_mirrored(word), word, leftward=True) for word in reversed(read)]
    if rng.random() < 0.3:
        number = _number_among(rng, arabic=language == "arabic")
        laid.insert(rng.choice((0, 0, len(laid))), Word(number, number))
    return laid


def _own_word(rng: Random, letters: str, own: str, ends: Sequence[str]) -> str:
    """Return random letters, one of which no other language of the script has."""
    word = _random_word(rng, letters, 6)
    place = rng.randint(0, len(word))
    return word[:place] + rng.choice(own) + word[place:] + rng.choice(ends)


def _mirrored(word: str) -> str:
    return word[::-1].translate(str.maketrans("()[]«»", ")(][»«"))


def _number_among(rng: Random, *, arabic: bool) -> str:
    if not arabic or rng.random() < 0.45:
        return fill(
            rng, rng.choice(("{w}", "{w}", "({w})", "{d}{d}%", "{w}.{d}", "{d},{d}{d}{d}", "{y}", "{w},{d}{d}{d}"))
        )
    eastern = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩" if rng.random() < 0.85 else "٠١٢٣۴۵۶٧٨٩")
    return fill(
        rng, rng.choice(("{w}", "{w}{w}", "{y}", "({w})", "٪{w}", "{w}٫{d}", "{d}/{d}/{y}", "{w}٬{d}{d}{d}"))
    ).translate(eastern)


def name_and_number(rng: Random) -> str:
    """Return a label with the number of its row, as lines across narrow columns have it."""
    write: Callable[[Random], str] = rng.choice((latin_text, latin_text, chinese_text))
    return f"{write(rng)[:30]} {number_text(rng)}"
