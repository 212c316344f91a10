"""Texts that look like other texts, and characters that do not fit to their neighbours."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from postprocess.table import Table
from tablerec.corrections.proof.finding import Finding
from tablerec.corrections.proof.lookalikes import skeleton, to_digits

_TOKEN = re.compile(r"\S+")
_BETWEEN = re.compile(r"(?<=[0-9])[OoQlI|SsBZz]+(?=[0-9])|(?<=[0-9][.,])[OolI|SBZ]+|(?<=[0-9][0-9])[OolI|]$")
_AHEAD = re.compile(r"^[-(+]?[OolI|](?=[.,]?[0-9]{2,}|[.,][0-9])")
"""Letters where digits stand: between two of them, behind them, and in front of a number."""
_ORDINAL = re.compile(r"^[Ol|!]+(?=(?:st|th)$)")
_INSIDE = re.compile(
    r"(?<=[a-z])[01](?=[a-z])|(?<=[A-Za-z])[01](?=[a-z]{2})|^[01](?=[a-z]{3})|(?<=[a-z]{3})[01]$|(?<=[A-Z]{2})0(?=[A-Z])"
)
"""Digits where letters stand."""
_CASE = re.compile(r"(?<=[a-z])I(?=[aeouy]|$)|(?<![A-Za-z])l(?=[bcdfghjkmnpqrtvwxz][a-z])")
"""A capital letter amid small ones, and a small one that no word begins with."""
_HARD = "bcdfghjkmnpqstvwxz"
_SQUEEZED = re.compile(rf"(?<=[{_HARD}{_HARD.upper()}])l(?=[{_HARD}])|(?<=r)l(?=[bcfgkpqvwxz])|(?<=l)l(?=l)")
"""A letter l between consonants or its like, where words have a vowel; other languages than English have such words."""
_BLANK = re.compile(r"(?<=[0-9])\s+(?=[.,][0-9])|(?<=[0-9]\.)\s(?=[0-9]{2}(?![0-9.]))")
_LETTER = {"0": "o", "1": "l", "I": "l", "l": "I"}


def check_characters(table: Table) -> Iterator[Finding]:
    """Find letters among digits and digits among letters.

    >>> table = Table.from_texts([["lst", "1O5", "H0", "T0tal", "CO2", "totaI", "B12"]])
    >>> [(finding.cell, finding.mended) for finding in check_characters(table)]
    [(0, '1st'), (1, '105'), (3, 'Total'), (5, 'total')]
    """
    is_plain = not any(char.isalpha() and "\x7f" < char < "\u0250" for cell in table.cells for char in cell.text)
    for index, cell in enumerate(table.cells):
        if (blank := _BLANK.search(cell.text)) is not None:
            mended = cell.text[: blank.start()] + cell.text[blank.end() :]
            yield Finding(index, "text", "blank", 0.7, (), mended)
        for match in _TOKEN.finditer(cell.text):
            token = match[0].strip("()[],.;:%*")
            if (found := _among_digits(token)) is not None:
                wrong, mended = found
                whole = cell.text.replace(token, mended, 1)
                yield Finding(index, "text", "among_digits", 0.9, (wrong, to_digits(wrong)), whole)
                break
            squeezed = _SQUEEZED.search(token) if is_plain and token[1:].islower() else None
            if (inside := _INSIDE.search(token) or _CASE.search(token) or squeezed) is not None:
                letter = "i" if inside is squeezed else _LETTER[inside[0]]
                letter = letter.upper() if token.isupper() else letter
                mended = token[: inside.start()] + letter + token[inside.end() :]
                mended = _SQUEEZED.sub("i", mended) if inside is squeezed else mended
                whole = cell.text.replace(token, mended, 1)
                yield Finding(index, "text", "among_letters", 0.8, (inside[0], letter), whole)
                break


def _among_digits(token: str) -> tuple[str, str] | None:
    """The letter that stands for a digit in a token, and the token with digits."""
    for pattern in (_ORDINAL, _BETWEEN, _AHEAD):
        if (match := pattern.search(token)) is not None and _is_number_else(token, pattern is _ORDINAL):
            letter = match[0].strip("-(+")
            return letter, token.replace(letter, to_digits(letter), 1)
    return None


def _is_number_else(token: str, is_ordinal: bool) -> bool:
    """Whether nothing else of a token is a letter: codes mix both."""
    if is_ordinal:
        return True
    return not re.search(r"[^\W\d_OoQlI|SsBZz]", token) and sum(map(str.isalpha, token)) * 2 <= len(token)


_MOST_CELLS = 20_000
_ENDING = re.compile(r"[0-9](?:st|nd|rd|th)$")


def check_labels(table: Table) -> Iterator[Finding]:
    """Find labels that differ from others in characters that look alike alone.

    >>> table = Table.from_texts([["Total"], ["Totai"], ["Total"], ["Tea"], ["Tee"]])
    >>> [(finding.cell, finding.mended) for finding in list(check_labels(table))[:1]]
    [(1, 'Total')]
    """
    groups: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, cell in enumerate(table.cells[:_MOST_CELLS]):
        text = " ".join(cell.text.split())
        if (
            any(map(str.isalpha, text))
            and len(text) > 1
            and not _ENDING.search(text)
            and sum(map(str.isdecimal, text)) <= 0.5 * len(text)
        ):
            groups[skeleton(text)][text].append(index)
    yield from _check_words(table, groups)
    for by_text in groups.values():
        if len({text.casefold().replace(" ", "") for text in by_text}) > 1:
            yield from _rarer(by_text)
    yield from _near(groups)


_WORD = re.compile(r"[^\W\d_][\w|!]{3,}")


def _check_words(table: Table, labels: dict[str, dict[str, list[int]]]) -> Iterator[Finding]:
    """Words inside of labels that look like words elsewhere."""
    words: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for by_text in labels.values():
        for text, cells in by_text.items():
            for word in _WORD.findall(text):
                words[skeleton(word)][word].update(cells)
    for by_word in words.values():
        if len({*map(str.casefold, by_word)}) > 1:
            ordered = sorted(by_word, key=lambda word: -len(by_word[word]))
            most, other = ordered[0], next(each for each in ordered if each.casefold() != ordered[0].casefold())
            for word, at in by_word.items():
                is_rarer = len(at) < len(by_word[most])
                if is_rarer and word.casefold() != most.casefold():
                    for cell in sorted(at):
                        mended = table.cells[cell].text.replace(word, most)
                        yield Finding(cell, "repeated_label", "other_label", 0.8, (most,), mended)
                elif len(by_word[most]) == len(by_word[other]):  # which one is right?
                    for cell in sorted(at):
                        yield Finding(cell, "repeated_label", "other_label", 0.45, (other,))


def _rarer(by_text: dict[str, list[int]]) -> Iterator[Finding]:
    counts = Counter({text: len(cells) for text, cells in by_text.items()})
    (best, most), *_ = counts.most_common(1)
    for text, cells in by_text.items():
        rivals = [other for other in by_text if other != text and other.casefold() != text.casefold()]
        if not rivals or (text == best and list(counts.values()).count(most) == 1):
            continue
        other = max(rivals, key=lambda each: counts[each])
        is_rarer = counts[text] < counts[other]
        for cell in cells:
            yield Finding(
                cell, "repeated_label", "other_label", 0.85 if is_rarer else 0.5, (other,), other if is_rarer else ""
            )


_LONG = 8
"""Letters of a label from which one letter more or less is no other word, if the right one stands several times."""


def _near(groups: dict[str, dict[str, list[int]]]) -> Iterator[Finding]:
    """Long labels that stand once and have one letter more or less than one that stands more often."""
    once = {
        key: cells
        for key, by_text in groups.items()
        if sum(map(len, by_text.values())) == 1
        for cells in by_text.values()
    }
    often = [key for key, by_text in groups.items() if sum(map(len, by_text.values())) > 1 and len(key) >= _LONG]
    for key in often:
        shorter = {key[:at] + key[at + 1 :] for at in range(len(key))}
        [(text, _), *_] = sorted(groups[key].items(), key=lambda item: -len(item[1]))
        for own, cells in once.items():
            is_near = own in shorter or (
                len(own) == len(key) + 1 and any(own[:at] + own[at + 1 :] == key for at in range(len(own)))
            )
            # Plurals are words of their own.
            if is_near and own + "s" != key and key + "s" != own:
                yield Finding(cells[0], "repeated_label", "other_label", 0.7, (text,), text)
