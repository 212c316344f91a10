"""From an index to a line: what it says, how it is set, what its picture went through."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import SettingsError
from tablerec.models.characters import TURNED, normalize_label, unknown_characters
from tablerec.synth.drawing.fonts import Script
from tablerec.synth.lines import signs, wording
from tablerec.synth.lines.layout import Ink, Setting, choose_others, lay_out, reshape
from tablerec.synth.lines.numbers import number_text
from tablerec.synth.lines.picture import Surroundings, take_picture
from tablerec.synth.lines.screen import choose_size, take_screenshot
from tablerec.synth.lines.typefaces import Split, can_shape, typefaces, weighted
from tablerec.synth.lines.web import web_text
from tablerec.synth.lines.wording import Word, to_words

Write = Callable[[Random], "str | list[Word]"]


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a kind of line says, in which script, how often, and how small its characters may be.

    Args:
        share: Of all lines.
        write: Returns a text.
        script: Of its fonts.
        least: Size of a font for training, px, near what a person can still read ...
        usual: ... and of lines for measuring, so that these stay the same.
        screens: Share of lines for training that are as a screen shows them.
    """

    share: float
    write: Write
    script: Script = "latin"
    least: float = 7
    usual: float = 9.5
    screens: float = 0.12


KINDS: Mapping[str, _Kind] = {
    "number": _Kind(0.19, number_text),
    "latin": _Kind(0.15, wording.latin_text, least=7.5),
    "chinese": _Kind(0.115, wording.chinese_text, "chinese", 10.5, 12),
    "web": _Kind(0.09, web_text, "chinese", 10.5, 12, screens=0.75),
    "cyrillic": _Kind(0.05, wording.cyrillic_text, "cyrillic", 7.5, 10),
    "greek": _Kind(0.035, wording.greek_text, "greek", 7.5, 10),
    "hebrew": _Kind(0.035, wording.hebrew_words, "hebrew", 8.5, 11),
    "arabic": _Kind(0.125, wording.arabic_words, "arabic", 12, 15),
    "kana": _Kind(0.015, wording.kana_text, "kana", 9.5, 11),
    "checkbox": _Kind(0.045, signs.checkbox_text, least=8),
    "raised": _Kind(0.045, signs.raised_text, least=9, usual=11),
    "noted": _Kind(0.075, signs.noted_text, least=10, usual=11),
    "dash": _Kind(0.05, signs.dash_text, least=8, usual=10),
    "sign": _Kind(0.02, signs.sign_text, least=8, usual=10),
    "single": _Kind(0.02, signs.single_text, least=8),
    "random": _Kind(0.02, signs.random_text, least=8),
    "row": _Kind(0.01, wording.name_and_number),
}
"""Kinds of lines by name."""

MIXED = "mixed"
"""All kinds, each with its share."""

_LARGEST = 44
_SMALL, _SMALLEST_USUAL = 0.16, 11
"""Share of lines that are as small as those of a page of 72 dots an inch, and the largest of these, px."""
_TINY = 9
_MOST_PIXELS = 72
"""Of a font, when a line is drawn larger than it is seen."""
_RESHAPED: Mapping[Script, float] = {
    "latin": 0.06, "chinese": 0.12, "kana": 0.1, "cyrillic": 0.15, "greek": 0.2, "hebrew": 0.25, "arabic": 0.4,
}  # fmt: skip
"""Share of lines for training whose letters get other proportions, more of scripts with few fonts."""
_LEAST_RESHAPED = 14
_SAME_TURNED = frozenset("0168 9bdpqnuoxHNIlzsSZmwMWOX|")
_LONGEST = 60
_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Settings:
    """What lines are like.

    Args:
        split: ``train``, or ``unseen`` with fonts, seals and effects that training does not see.
        upside_down: Share of lines that stand on their head.
        on_side: Share of lines whose characters lie on their side.
        shares: Of kinds of lines, by their names; by default as ``KINDS`` says.
    """

    split: Split = "train"
    upside_down: float = 0.04
    on_side: float = 0.015
    shares: Mapping[str, float] = field(default_factory=lambda: {name: kind.share for name, kind in KINDS.items()})


@dataclass(frozen=True, slots=True)
class LineSample:
    """A drawn line.

    Args:
        image: ``(h, w, 3)`` uint8 RGB, cut as a text detector cuts it.
        text: Its characters from left to right, or ``TURNED``.
        kind: One of ``KINDS``.
    """

    image: NDArray[np.uint8]
    text: str
    kind: str


def draw_line(seed: int, index: int, settings: Settings | None = None, kind: str = MIXED) -> LineSample:
    """Draw a line.

    Args:
        seed: Of a whole set.
        index: Of the line in it. The same seed, index, settings, kind and fonts give the same line.
        settings: What lines are like; by default ``Settings()``.
        kind: A name of ``KINDS``, or ``mixed``.

    Raises:
        SettingsError: No such kind.

    >>> sample = draw_line(0, 3)
    >>> sample.image.dtype, sample.image.shape[2], sample.text != ""
    (dtype('uint8'), 3, True)
    """
    if kind != MIXED and kind not in KINDS:
        raise SettingsError(f"kind of line {kind!r} is unknown; choose {MIXED}, {', '.join(KINDS)}")
    settings = settings or Settings()
    digest = hashlib.blake2b(f"{seed}/{index}/{kind}/{settings.split}".encode(), digest_size=16).digest()
    rng = Random(int.from_bytes(digest[:8], "big"))  # noqa: S311 - no secret
    noise = np.random.Generator(np.random.SFC64(int.from_bytes(digest[8:], "big")))
    shares = settings.shares
    name = kind if kind != MIXED else rng.choices(list(shares), list(shares.values()))[0]
    words, label = _compose(KINDS[name], rng)
    is_train = settings.split == "train"
    screen = choose_size(rng) if is_train and rng.random() < KINDS[name].screens else None
    setting, zoom = _set(KINDS[name], label, settings.split, rng, screen)
    ink, text = _ink(words, label, setting, settings, KINDS[name].script, rng)
    if screen:
        return LineSample(take_screenshot(ink, round(zoom), rng), text, name)
    around = _neighbours(setting, rng)
    image = take_picture(ink, zoom, around, settings.split, rng, noise)
    return LineSample(image, text, name)


def _compose(kind: _Kind, rng: Random) -> tuple[list[Word], str]:
    """Return words, not more of them than a line holds, and the label."""
    write = number_text if kind.script == "arabic" and not can_shape() else kind.write
    for _ in range(_ATTEMPTS):
        written = write(rng)
        words = written if isinstance(written, list) else to_words(written)
        while len(words) > 1 and sum(len(word.text) + 1 for word in words) > _LONGEST:
            words = words[:-1]
        if len(words) == 1 and len(words[0].text) > _LONGEST:
            words = to_words(words[0].text[:_LONGEST])
        label = normalize_label(" ".join(word.text for word in words))
        if label and not unknown_characters(label):
            return words, label
    return to_words("0"), "0"


def _set(kind: _Kind, label: str, split: Split, rng: Random, screen: tuple[float, int] | None) -> tuple[Setting, float]:
    """Choose fonts, size and spaces, and how much larger than it is seen the line is drawn; a screen sets the sizes."""
    script = kind.script
    if script == "latin" and any(char >= "\u2e80" for char in label):
        script = "chinese"
    pool = typefaces(script, split)
    if script == "chinese" and rng.random() < 0.25:
        pool = typefaces("latin", split)  # Latin letters of one font, Chinese ones of another
    face = pool[rng.randrange(len(pool))]
    for _ in range(6):
        if face.covers(label) or (script == "chinese" and rng.random() < 0.4):
            break
        face = pool[rng.randrange(len(pool))]
    face = weighted(face, bold=rng.random() < 0.25, italic=rng.random() < 0.08)
    least, chinese = (kind.usual, 12) if split == "unseen" else (kind.least, 10.5)
    if script == "chinese" and least < chinese:
        least = least + 2 if split == "unseen" else chinese
    em = least * (_LARGEST / least) ** (rng.random() ** 1.25)
    if split == "train" and script == "latin" and rng.random() < _SMALL:
        em = rng.uniform(least, _SMALLEST_USUAL)
    zoom = rng.choice((1, 1, 2, 2, 3)) if em < 15 else rng.choice((1, 1, 1, 2, 2))
    if em < _TINY:
        zoom = max(zoom, 2)  # drawn as it is, a font loses strokes
    if em < 12 and zoom == 1 and rng.random() < 0.5:
        zoom = 2
    zoom = min(zoom, _MOST_PIXELS / em) if em * zoom > _MOST_PIXELS else zoom
    if screen:
        em, zoom = max(screen[0], least), screen[1]
    others = choose_others(label, face, split, rng)
    setting = Setting(face, others, round(em * zoom), raises=rng.random() < 0.65, shapes=rng.random() < 0.6)
    setting = _spaced(setting, script, rng)
    if split == "train":
        setting = _with_signs_moved(setting, rng)
    return setting, max(1.0, zoom)


def _spaced(setting: Setting, script: Script, rng: Random) -> Setting:
    space = rng.choice((0.25, 0.27, 0.3, rng.uniform(0.2, 0.7)))
    tracking = 0.0
    form = rng.random()
    if form < 0.05:
        tracking = rng.uniform(0.05, 0.4) if script != "chinese" else rng.uniform(0.1, 0.9)
    elif form < 0.12:
        tracking = rng.uniform(-0.04, 0.06)
    if script == "arabic":
        tracking = 0
    small, lift = rng.uniform(0.55, 0.72), rng.uniform(0.3, 0.46)
    return replace(setting, space=space + max(0, tracking), tracking=tracking, small=small, lift=lift)


def _with_signs_moved(setting: Setting, rng: Random) -> Setting:
    """Raise and lower signs more or less, at times as large as browsers do."""
    if rng.random() < 0.3:
        setting = replace(setting, small=rng.uniform(0.7, 0.84), lift=rng.uniform(0.28, 0.5))
    return replace(setting, drop=rng.uniform(0.08, 0.26))


def _ink(
    words: list[Word], label: str, setting: Setting, settings: Settings, script: Script, rng: Random
) -> tuple[Ink, str]:
    """Return the ink of a line, turned at times, and its label."""
    form = rng.random()
    if form < settings.upside_down and _shows_turn(label):
        ink = lay_out(words, setting, rng)
        return _upside_down(ink), TURNED
    on_side = settings.upside_down <= form < settings.upside_down + settings.on_side
    is_short = 2 <= len(label.replace(" ", "")) <= 14 and not any(word.leftward for word in words)
    if on_side and is_short and _shows_turn(label):
        stacked = lay_out(words, replace(setting, stacked=True), rng)
        mask = np.ascontiguousarray(np.rot90(stacked.mask, rng.choice((1, 3))))
        return Ink(mask, round(0.86 * mask.shape[0]), stacked.em), TURNED
    ink = lay_out(words, setting, rng)
    if settings.split == "train" and setting.size >= _LEAST_RESHAPED and rng.random() < _RESHAPED[script]:
        ink = reshape(ink, rng)
    return ink, label


def _shows_turn(label: str) -> bool:
    """Whether a line looks like none when it is turned: three letters or digits, two of them unlike any turned one.

    >>> _shows_turn("1608"), _shows_turn("Total"), _shows_turn("12")
    (False, True, False)
    """
    letters = [char for char in label if char.isalnum()]
    return len(letters) >= 3 and len({char for char in letters if char not in _SAME_TURNED}) >= 2


def _upside_down(ink: Ink) -> Ink:
    height = ink.mask.shape[0]
    return Ink(np.ascontiguousarray(ink.mask[::-1, ::-1]), round(height - ink.baseline + 0.72 * ink.em), ink.em)


def _neighbours(setting: Setting, rng: Random) -> Surroundings:
    """Return lines above and below, rarely."""
    form = rng.random()
    if form > 0.16:
        return Surroundings()
    plain = replace(setting, stacked=False)
    above = lay_out(to_words(_short(rng)), plain, rng) if form < 0.1 else None
    below = lay_out(to_words(_short(rng)), plain, rng) if form > 0.06 else None
    return Surroundings(above, below)


def _short(rng: Random) -> str:
    return rng.choice((number_text, wording.latin_text))(rng)[:24]


def load_line_source(name: str = MIXED, seed: int = 0) -> Callable[[int], LineSample]:
    """Return a function from an index to a line.

    Args:
        name: ``mixed``, ``unseen``, a kind of line such as ``cyrillic``, or ``unseen/cyrillic``.
        seed: Of the whole set.

    Raises:
        SettingsError: No such kind.

    >>> load_line_source("number", seed=5)(0).kind
    'number'
    """
    first, _, second = name.partition("/")
    split: Split = "unseen" if first == "unseen" else "train"
    kind = (second or MIXED) if split == "unseen" else first
    if kind != MIXED and kind not in KINDS:
        raise SettingsError(
            f"lines {name!r} are unknown; write {MIXED}, unseen, KIND or unseen/KIND: {', '.join(KINDS)}"
        )
    settings = Settings(split) if split == "train" else Settings(split, upside_down=0, on_side=0)
    return lambda index: draw_line(seed, index, settings, kind)
