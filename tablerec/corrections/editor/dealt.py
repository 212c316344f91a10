"""Words and what was made of them, as a journal keeps it.

A step in a journal has the texts that it dealt: what a person saw stays, even where a later version deals otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from postprocess.cell import Cell, WordPart
from postprocess.editing.state import State
from postprocess.word import Word
from tablerec.errors import InputError
from tablerec.fields import Fields, list_of, number, pair, text, whole

_FARTHEST = 1_000_000
_MOST_WORDS = 1_000_000
_PLAIN = Cell(0, 0)
_KEPT = ("text", "ocr_score", "confidence", "doubt", "typed", "confirmed", "words")
"""What dealing changes in a cell."""
_kept = attrgetter(*_KEPT)


def word_to_dict(word: Word) -> dict[str, Any]:
    """A word, ready for JSON: text, place, score, and what else is known of it."""
    data: dict[str, Any] = {"text": word.text, "quad": [list(point) for point in word.quad], "score": word.score}
    if word.char_spans is not None:
        data["char_spans"] = [list(span) for span in word.char_spans]
    return data | ({"doubt": word.doubt} if word.doubt else {})


def word_from_dict(data: Any) -> Word:
    """Read what ``word_to_dict`` returned; nothing in it is trusted.

    Raises:
        InputError: It is no word in a picture, or has no text.

    >>> word_from_dict({"text": "7", "quad": [[0, 0], [9, 0], [9, 9], [0, 9]]}).score
    1.0
    """
    fields = Fields("a word", data)
    quad = fields.points("quad", 4)
    if any(abs(value) > _FARTHEST for point in quad for value in point):
        raise InputError("a word lies outside every picture")
    content = fields.text("text")
    if not content.strip():
        raise InputError("a word has no text")
    spans = fields.get_or_none("char_spans", list_of(pair, len(content)))
    score, doubt = fields.get("score", number(0, 1), 1.0), fields.get_or_none("doubt", text) or ""
    return Word(content, (quad[0], quad[1], quad[2], quad[3]), score, spans, doubt)


def rounded(word: Word, offset: tuple[int, int] = (0, 0)) -> Word:
    """The word with no more digits than a journal keeps, in pixels of a part of the picture that begins there.

    >>> rounded(Word("7", ((1.239, 2), (9, 2), (9, 9), (1, 9)), 0.98765), (1, 2)).quad[0]
    (0.24, 0.0)
    """
    a, b, c, d = ((round(float(x) - offset[0], 2), round(float(y) - offset[1], 2)) for x, y in word.quad)
    spans = word.char_spans and tuple((round(float(start), 4), round(float(end), 4)) for start, end in word.char_spans)
    return replace(word, quad=(a, b, c, d), score=round(float(word.score), 4), char_spans=spans)


def to_dealt(before: State, after: State) -> list[dict[str, Any]]:
    """What a step has made of the cells that it touched, without their places."""
    known = {cell.quad: cell for cell in before.table.cells}
    return [
        {"row": cell.row, "col": cell.col, **_differences(cell, _PLAIN)}
        for cell in after.table.cells
        if cell.quad not in known or _kept(cell) != _kept(known[cell.quad])
    ]


def _differences(cell: Cell, other: Cell) -> dict[str, Any]:
    return {key: value for key in _KEPT if (value := getattr(cell, key)) != getattr(other, key)}


def patch(state: State, dealt: Any) -> State:
    """The state with cells as ``to_dealt`` wrote them down; nothing in it is trusted.

    Raises:
        InputError: It is not of this state.
    """
    try:
        entries = [Fields("dealt", each) for each in list_of(lambda each: each)(dealt)]
    except ValueError as error:
        raise InputError(f"dealt is no list ({error})") from None
    at = {(cell.row, cell.col): index for index, cell in enumerate(state.table.cells)}
    cells = list(state.table.cells)
    for entry in entries:
        index = at.get((entry.whole("row"), entry.whole("col")))
        if index is None:
            raise InputError("dealt names a cell that is none")
        cells[index] = replace(
            cells[index],
            text=entry.text("text", ""),
            ocr_score=entry.get_or_none("ocr_score", number(0, 1)),
            confidence=entry.get_or_none("confidence", number(0, 1)),
            doubt=entry.text("doubt", ""),
            typed=entry.flag("typed", False),
            confirmed=entry.flag("confirmed", False),
            words=parts_from_list(entry.get_or_none("words", list_of(_numbers)) or (), state.words),
        )
    return replace(state, table=replace(state.table, cells=cells))


def parts_from_list(parts: Any, words: Sequence[Word]) -> tuple[WordPart, ...]:
    """Read parts of words as JSON has them.

    Raises:
        InputError: They are no parts of these words.
    """
    for index, start, end in parts:
        if not (index < len(words) and start < end <= len(words[index].text)):
            raise InputError("a cell has a word that is none")
    return tuple(parts)


def _numbers(value: Any) -> WordPart:
    first, second, third = list_of(whole(0, _MOST_WORDS), 3)(value)
    return first, second, third


def parts_of_cells(value: Any) -> tuple[tuple[WordPart, ...], ...]:
    """Check the parts of words of each cell."""
    return list_of(list_of(_numbers))(value)
