"""The first line of a journal: what is corrected."""

from __future__ import annotations

from dataclasses import dataclass

from tablerec.corrections.editor.draft import Window


@dataclass(frozen=True, slots=True)
class Head:
    """First line of a journal: what is corrected.

    Args:
        name: Of the table's files.
        source: Name of the input.
        page: Number of the page, from 1.
        number: Of the table on its page, from 1; 0 where none was found.
        key: Identity of the picture's pixels.
        size_wh: Width and height of the picture, px.
        sureness: Probability that the table was right as it was found, 0 to 1.
        text_height: Of its lines, px, where it is known.
        turn: Degrees clockwise by which the page was turned to stand upright.
        window: Where the picture is on the upright page: x0, y0, x1, y1, px; None in journals of former versions.
    """

    name: str
    source: str
    page: int
    number: int
    key: str
    size_wh: tuple[int, int]
    sureness: float
    text_height: float | None = None
    turn: int = 0
    window: Window | None = None
