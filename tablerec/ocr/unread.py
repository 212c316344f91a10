"""Text that was found and not read: said, not lost.

A recogniser of lines returns nothing, or nonsense, where the letters are not among those it was trained on. What looks
like that is cut into words at its gaps, ``script`` says of each in which script it may be, and all lines of a picture
together say which scripts the picture holds: a word is taken for a foreign one more easily beside others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from postprocess.text.bidi import is_right_to_left
from postprocess.word import UNREAD, CharSpans, Word
from tablerec.ocr.ink import ink_boxes
from tablerec.ocr.script import CHINESE, CLASSES, LATIN, NONE, NUMBER, ScriptNet

if TYPE_CHECKING:
    from postprocess.arrays import Flags, Floats, Image
    from tablerec.ocr.line import Line

SURE = 0.9
"""A line with this score and with no ink beside its characters is taken as read."""
GAP = 0.25
"""Least space between words, as a share of the crop's height."""
LETTERS = 0.35
"""Least height of text, as a share of the crop's: what is lower are signs."""
BARE = 0.9
"""Ink this wide without a character, as a share of the crop's height, was not read."""
PAD = 0.15
"""Ground left around a word, as a share of the crop's height."""
RARE = 0.006
"""Share of words that is expected to be in scripts that the OCR engine does not read ..."""
COUNT = 20.0
"""... and how many words that expectation weighs against those of the picture."""
FEWEST = 0.02
"""Share of the words of a picture below which a script is not believed to be in it."""
CLEAR = 0.8
"""A script is believed to be in a picture where the network gives one of its words this probability. Of holes in paper
and of text made illegible it is unsure, but equally so of all of them: together they would convince each other."""
GREEK = 4.0
"""What two Greek letters in a word say for Greek, as a logarithm of odds."""
SAME_LINE = 10.0
"""How many words elsewhere a word of the same line weighs besides."""
MOST = 6.0
"""The network's word, as a logarithm of odds, counts up to this."""
_MOST_ROUNDS = 8

FAMILIES = {
    "Cyrillic": "cyrillic_PP-OCRv5_mobile",
    "Greek": "el_PP-OCRv5_mobile",
    "Korean": "korean_PP-OCRv5_mobile",
    "Arabic": "arabic_PP-OCRv5_mobile",
    "Thai": "th_PP-OCRv5_mobile",
    "Devanagari": "devanagari_PP-OCRv5_mobile",
    "Tamil": "ta_PP-OCRv5_mobile",
    "Telugu": "te_PP-OCRv5_mobile",
    "Kannada": "ka_PP-OCRv3_mobile",
    LATIN: "PP-OCRv6_medium",
    CHINESE: "PP-OCRv6_medium",
}
"""Models of PaddleX that read a script, as ``--ocr paddlex:FAMILY`` names them."""
_SCRIPTS = tuple(name for name in CLASSES if name not in (NUMBER, NONE))


@dataclass
class _Piece:
    """A word in a crop: where it is, which characters were read there, and how likely each class is."""

    start: float
    end: float
    text: str
    spans: CharSpans
    seen: Floats
    """Logarithms of the probabilities by the network."""
    likely: Floats
    """Probabilities by all evidence."""

    @property
    def is_bare(self) -> bool:
        return not self.text.strip()


class UnreadFinder:
    """Finds what an OCR engine could not read.

    Args:
        engine: Its name.
        reads: The scripts that it reads.
        net: Tells scripts apart.
    """

    def __init__(self, engine: str, reads: Collection[str], net: ScriptNet | None = None) -> None:
        self.engine = engine
        self.net = net or ScriptNet()
        self.readable: Flags = np.array([name in reads or name in (NUMBER, NONE) for name in CLASSES])

    def mark(self, crops: Sequence[Image], lines: Sequence[Line]) -> list[Line]:
        """Write ``UNREAD`` in place of each word that was not read, and say why in ``doubt``.

        Args:
            crops: The crops of one picture.
            lines: What the OCR engine read in them; an empty text where it read nothing.

        Returns:
            The lines, in their order; those without text that hold no text stay empty.
        """
        asked = [index for index, line in enumerate(lines) if _is_suspect(crops[index], line)]
        pieces = self._pieces(crops, lines, asked)
        n_read = sum(bool(line.text.strip()) for line in lines) - len(asked)
        self._weigh(lines, pieces, max(0, n_read))
        if len(asked) < len(lines) and any(self._is_foreign(each) for some in pieces.values() for each in some):
            pieces |= self._pieces(crops, lines, sorted({*range(len(lines))} - {*asked}))
            self._weigh(lines, pieces, 0)
        return [self._marked(line, pieces[i]) if i in pieces else line for i, line in enumerate(lines)]

    def _pieces(self, crops: Sequence[Image], lines: Sequence[Line], chosen: Sequence[int]) -> dict[int, list[_Piece]]:
        places = [(index, *place) for index in chosen for place in _words_in(crops[index])]
        cuts = []
        for index, start, end in places:
            pad = round(PAD * crops[index].shape[0])
            cuts.append(crops[index][:, max(0, start - pad) : end + pad])
        found: dict[int, list[_Piece]] = {index: [] for index in chosen}
        for (index, start, end), seen in zip(places, self.net(cuts), strict=True):
            width = crops[index].shape[1]
            found[index].append(_Piece(start / width, end / width, "", (), seen, seen))
        for index in chosen:
            _hand_out(lines[index], found[index])
        return found

    def _odds(self, line: Line, piece: _Piece) -> Floats:
        """How much speaks for each class: the network, and against readable ones what the engine read."""
        odds = np.maximum(piece.seen - piece.seen.max(), -MOST)
        # Signs alone, such as the point of an abbreviation, do not say that the letters beside them were read.
        score = line.score if any(char.isalnum() for char in piece.text) else 0.0
        odds[~self.readable] += np.clip(10 * (0.8 - score), -4, 3)
        if sum("\u0370" <= char <= "\u03ff" for char in piece.text) >= 2:
            # PP-OCRv6 has plain Greek letters for formulas and lacks those with accents, which every Greek word has.
            odds[CLASSES.index("Greek")] += GREEK
        return odds

    def _weigh(self, lines: Sequence[Line], pieces: dict[int, list[_Piece]], n_read: int) -> None:
        """Set what each word is likely to be, by expectation and maximization: by itself and by the words beside it.

        Args:
            lines: All lines.
            pieces: Words of some of them.
            n_read: Number of the other lines.
        """
        words = [(index, piece) for index, some in pieces.items() for piece in some]
        if not words:
            return
        n_readable = int(self.readable.sum())
        expected = np.where(self.readable, (1 - RARE) / n_readable, RARE / max(1, len(CLASSES) - n_readable))
        known = COUNT * expected + np.where(self.readable, n_read / n_readable, 0)
        odds = np.exp(np.array([self._odds(lines[index], piece) for index, piece in words]))
        _, of_line = np.unique([index for index, _ in words], return_inverse=True)
        likely = np.zeros_like(odds)
        for _ in range(_MOST_ROUNDS):
            # A word does not speak for itself: without that a single unclear one would convince itself.
            in_line = np.zeros((of_line.max() + 1, len(CLASSES)))
            np.add.at(in_line, of_line, likely)
            likely = odds * (known + likely.sum(axis=0) - likely + SAME_LINE * (in_line[of_line] - likely))
            likely /= likely.sum(axis=1, keepdims=True)
        clearest = np.max([np.exp(piece.seen) for _, piece in words], axis=0)
        few = likely.sum(axis=0) < FEWEST * (n_read + len(words))
        likely[:, ~self.readable & (few | (clearest < CLEAR))] *= 1e-9
        for (_, piece), row in zip(words, likely, strict=True):
            piece.likely = row / row.sum()

    def _marked(self, line: Line, pieces: Sequence[_Piece]) -> Line:
        """The line with what was not read."""
        reasons = [self._reason(piece) for piece in pieces]
        if not any(reasons):
            return line
        text = ""
        spans: list[tuple[float, float]] = []
        in_order = -1 if is_right_to_left(line.text) else 1
        for piece, reason in list(zip(pieces, reasons, strict=True))[::in_order]:
            if piece.is_bare and not reason:
                continue
            gap = (spans[-1][1], piece.start) if spans else (0.0, 0.0)
            text += " " * bool(text)
            spans += [gap] * bool(spans)
            text += UNREAD if reason else piece.text
            spans += [(piece.start, piece.end)] if reason else piece.spans
        is_lost = not text.replace(UNREAD, "").strip()
        return replace(
            line,
            text=text,
            score=0.0 if is_lost else line.score,
            char_spans=tuple(spans),
            doubt=next(filter(None, reasons)),
        )

    def _is_foreign(self, piece: _Piece) -> bool:
        return bool(piece.likely[~self.readable].sum() > 0.5)

    def _reason(self, piece: _Piece) -> str:
        """Why a word was not read; empty where it was."""
        if self._is_foreign(piece):
            return doubt_of(CLASSES[int(np.argmax(np.where(self.readable, 0, piece.likely)))], self.engine)
        if piece.is_bare and piece.likely[CLASSES.index(NONE)] < 0.05:
            return doubt_of(None, self.engine)
        return ""


def doubt_of(script: str | None, engine: str) -> str:
    """What a word's ``doubt`` says of a script that an OCR engine does not read; None where the script is no reason.

    >>> doubt_of("Thai", "rapidocr")
    'is Thai, which rapidocr does not read'
    """
    return f"is {script}, which {engine} does not read" if script else f"was found and not read by {engine}"


def unread_notes(words: Iterable[Word], engine: str) -> list[str]:
    """Say which text of a picture was found and not read, and what to do: a sentence for each script.

    >>> place = ((0, 0), (9, 0), (9, 9), (0, 9))
    >>> unread_notes([Word(UNREAD, place, doubt=doubt_of("Hebrew", "x"))] * 2, "x")
    ['2 lines of Hebrew, which x does not read: their cells are marked; no OCR engine here reads it, so write them in']
    """
    counts = Counter(word.doubt for word in words if word.doubt)
    notes = []
    for script in _SCRIPTS:
        count = counts[doubt_of(script, engine)]
        if count:
            family = FAMILIES.get(script)
            advice = f"--ocr paddlex:{family} reads it" if family else "no OCR engine here reads it, so write them in"
            cells = "its cell is" if count == 1 else "their cells are"
            lines = "1 line" if count == 1 else f"{count} lines"
            notes.append(f"{lines} of {script}, which {engine} does not read: {cells} marked; {advice}")
    return notes


def _is_suspect(crop: Image, line: Line) -> bool:
    """Whether a line may hold text that was not read."""
    return not line.text.strip() or line.score < SURE or _has_bare_ink(crop, line)


def _has_bare_ink(crop: Image, line: Line) -> bool:
    """Whether there is ink of the size of letters away from all characters."""
    if line.char_spans is None:
        return False
    height, width = crop.shape[:2]
    spans = sorted(span for span, char in zip(line.char_spans, line.text, strict=True) if not char.isspace())
    ends = accumulate((end for _, end in spans), max, initial=0.0)
    starts = [*(start for start, _ in spans), 1.0]
    gaps = [(end * width, start * width) for end, start in zip(ends, starts, strict=True)]
    gaps = [(end, start) for end, start in gaps if start - end > BARE * height]
    if not gaps:
        return False
    _, boxes = ink_boxes(crop)
    boxes = boxes[boxes[:, 3] - boxes[:, 1] >= LETTERS * height]
    middles = (boxes[:, 0] + boxes[:, 2]) / 2
    for start, end in gaps:
        inside = boxes[(middles > start) & (middles < end)]
        if (inside[:, 2] - inside[:, 0]).sum() > BARE / 2 * height:
            return True
    return False


def _words_in(crop: Image) -> list[tuple[int, int]]:
    """Where the words of a crop begin and end, in pixels; signs that are no letters are none."""
    _, boxes = ink_boxes(crop)
    height = crop.shape[0]
    words: list[list[int]] = []
    for x0, y0, x1, y1 in sorted(boxes.tolist()):
        if words and x0 - words[-1][1] < GAP * height:
            words[-1][1] = max(words[-1][1], x1)
            words[-1][2] = max(words[-1][2], y1 - y0)
        else:
            words.append([x0, x1, y1 - y0])
    return [(x0, x1) for x0, x1, tall in words if tall >= LETTERS * height]


def _hand_out(line: Line, pieces: Sequence[_Piece]) -> None:
    """Give each character to the word that is nearest to it."""
    if not pieces or not line.text.strip():
        return
    spans = line.char_spans or Word(line.text, ((0, 0), (1, 0), (1, 1), (0, 1))).spans()
    starts, ends = np.array([piece.start for piece in pieces]), np.array([piece.end for piece in pieces])
    for char, (start, end) in zip(line.text, spans, strict=True):
        middle = (start + end) / 2
        nearest = pieces[int(np.argmin(np.maximum(np.maximum(starts - middle, middle - ends), 0)))]
        nearest.text += char
        nearest.spans += ((start, end),)
    for piece in pieces:
        kept = [index for index, char in enumerate(piece.text) if not char.isspace()]
        first, last = (kept[0], kept[-1] + 1) if kept else (0, 0)
        piece.text, piece.spans = piece.text[first:last], piece.spans[first:last]
