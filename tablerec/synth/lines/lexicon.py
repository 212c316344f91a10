"""Words of many languages: of the dictionaries on this machine, of the package where there are none."""

from __future__ import annotations

import gzip
import os
import re
import unicodedata
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tablerec.models.characters import CHARACTERS
from tablerec.synth.content.texts import vocabulary
from tablerec.synth.drawing.fonts import FOLDER_SETTING

LANGUAGES = {
    "english": ("dict/american-english", "hunspell/en_US.dic"),
    "french": ("dict/french", "hunspell/fr_FR.dic", "hunspell/fr.dic"),
    "german": ("dict/ngerman", "hunspell/de_DE.dic"),
    "spanish": ("dict/spanish", "hunspell/es_ES.dic"),
    "italian": ("dict/italian", "hunspell/it_IT.dic"),
    "portuguese": ("dict/portuguese", "hunspell/pt_PT.dic"),
    "dutch": ("dict/dutch", "hunspell/nl_NL.dic"),
    "swedish": ("hunspell/sv_SE.dic",),
    "polish": ("dict/polish", "hunspell/pl_PL.dic"),
    "czech": ("hunspell/cs_CZ.dic",),
    "hungarian": ("hunspell/hu_HU.dic",),
    "turkish": ("hunspell/tr_TR.dic",),
    "vietnamese": ("hunspell/vi_VN.dic",),
    "romanian": ("dict/romanian", "hunspell/ro_RO.dic"),
    "russian": ("dict/russian", "hunspell/ru_RU.dic"),
    "ukrainian": ("dict/ukrainian", "hunspell/uk_UA.dic"),
    "bulgarian": ("dict/bulgarian", "hunspell/bg_BG.dic"),
    "greek": ("hunspell/el_GR.dic",),
    "hebrew": ("hunspell/he_IL.dic",),
    "arabic": ("hunspell/ar.dic",),
}
"""Where Debian keeps the words of a language, below /usr/share."""

_SHARED = Path("/usr/share")
_MOST_WORDS = 25_000
_WORD = re.compile(r"(?=.{1,18}$)[^\W\d_]+(?:['’-][^\W\d_]+)*")
_KNOWN = frozenset(CHARACTERS)
_SET = re.compile(r"^SET\s+(\S+)", re.MULTILINE)


@lru_cache(maxsize=32)
def words(language: str) -> tuple[str, ...]:
    """Return words of a language of ``LANGUAGES``, or of ``chinese``; none where this machine has no dictionary.

    >>> words("klingon")
    ()
    """
    named = os.environ.get(FOLDER_SETTING)
    packed = Path(named, f"{language}.txt.gz") if named else None
    if packed and packed.is_file():
        return tuple(gzip.decompress(packed.read_bytes()).decode("utf-8").split("\n"))
    if language == "chinese":
        return _chinese()
    for name in LANGUAGES.get(language, ()):
        found = _read(_SHARED / name)
        if found:
            return found
    return ()


def _read(path: Path) -> tuple[str, ...]:
    """Return words spread over a word list or a dictionary of hunspell, whose flags are left out."""
    try:
        data = path.read_bytes()
        aff = path.with_suffix(".aff")
        named = _SET.search(aff.read_text("latin-1")) if path.suffix == ".dic" and aff.is_file() else None
        lines = data.decode(named[1] if named else "utf-8", "ignore").split("\n")
    except (OSError, LookupError):
        return ()
    step = max(1, len(lines) // _MOST_WORDS)
    found = (unicodedata.normalize("NFC", line.partition("/")[0].strip()) for line in lines[::step])
    return tuple(dict.fromkeys(word for word in found if _WORD.fullmatch(word) and _KNOWN.issuperset(word)))


def _chinese() -> tuple[str, ...]:
    """Return the frequent words of jieba's dictionary where that is installed, else those of the package."""
    own = [word for topic in vocabulary("chinese").values() for word in topic]
    spec = find_spec("jieba")
    if spec is None or spec.origin is None:
        return tuple(own)
    counted = []
    for line in Path(spec.origin).with_name("dict.txt").read_text("utf-8").split("\n"):
        word, _, rest = line.partition(" ")
        if 2 <= len(word) <= 6 and _KNOWN.issuperset(word):
            counted.append((int(rest.split(" ")[0]), word))
    return (*own, *(word for _, word in sorted(counted, reverse=True)[:60_000]))
