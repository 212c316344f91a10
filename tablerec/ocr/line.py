"""A line: what a recogniser read in a crop."""

from __future__ import annotations

from dataclasses import dataclass

from postprocess.word import CharSpans


@dataclass(frozen=True, slots=True)
class Line:
    """What a recogniser read in a crop.

    Args:
        text: May be empty.
        score: 0 to 1.
        char_spans: See ``Word``; fractions of the crop's width.
        doubt: See ``Word``.
        is_turned: The recogniser says that the line stands on its head, or its characters lie on their side.
    """

    text: str
    score: float
    char_spans: CharSpans | None = None
    doubt: str = ""
    is_turned: bool = False
