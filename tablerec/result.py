"""What the pipeline returns: a Result for each input, with a Page for each picture in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Image
from postprocess.candidates.candidate import Dropped
from postprocess.captions.continuation import group_parts, join_tables
from postprocess.cell import Quad
from postprocess.geometry.boxes import array_to_quad
from postprocess.table import Move, Table
from postprocess.word import Unplaced, Word

if TYPE_CHECKING:
    from postprocess.candidates.trace import TableTrace


@dataclass(frozen=True, slots=True)
class TextLayer:
    """What is known of the text of a PDF page besides the words that it shows.

    Args:
        fonts: Of each word of the page its font, as a number that means nothing outside of the document.
        doubtful_fonts: Those whose glyphs have not the shape of the characters that they are said to be, and which.
        hidden: Text that is no word of the page, with the reason: covered, clipped, invisible, in a layer that is off.
        areas: ``(A, 4)`` xyxy in pixels: what may hold text that is no word, such as pictures.
        rest: The page without its words where there are such areas, else an empty picture.
        is_upright: Whether the page shows its text upright.
    """

    fonts: tuple[int, ...]
    doubtful_fonts: dict[int, str]
    hidden: tuple[Unplaced, ...]
    areas: NDArray[np.float64]
    rest: Image
    is_upright: bool


@dataclass(frozen=True, slots=True)
class PageImage:
    """A picture to read: a picture file, one frame of a TIFF, or one page of a PDF.

    Args:
        source: Name of the input for messages and file names.
        number: Page number, counted from 1.
        image: The picture.
        words: Words of a PDF's text layer in pixels of ``image``; None where an OCR engine is needed.
        layer: What else is known of the text of a PDF page, before it is compared with the picture.
    """

    source: str
    number: int
    image: Image = field(repr=False)
    words: tuple[Word, ...] | None = None
    layer: TextLayer | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Seal:
    """A seal or stamp, which was read apart from the print below it.

    Args:
        text: What is written on it, that along the rim first; empty where nothing could be read.
        score: Of the text, 0 to 1.
        quad: Corners in pixels: around an oval, or of its frame or letters in reading direction.
        color: Of its ink, as ``#rrggbb``.
    """

    text: str
    score: float
    quad: Quad
    color: str


class Stages(Protocol):
    """Every stage of one picture, kept and drawable; see ``tablerec.stages.Trace``."""

    @cached_property
    def tables(self) -> tuple[TableTrace, ...]:
        """How each table came about."""

    def show(self, stage: str) -> Any:
        """Draw one stage."""

    def sheet(self) -> Any:
        """Draw all stages."""


@dataclass(frozen=True, slots=True)
class Page:
    """The tables of one picture and everything that did not become part of them.

    Args:
        picture: The picture that was read.
        tables: Tables from top to bottom.
        words: All words that the OCR engine returned.
        unplaced: Words outside all cells, titles and notes, with the reason.
        dropped: Detected cells outside all grids, with the reason.
        detector: Name of the detector that found the cells.
        seconds: Time by stage.
        turn: Degrees clockwise by which the picture was turned to be read. All corners are in pixels of
            ``picture``, which is as it was given (or flattened, see ``Settings.unwarp``), and in reading direction:
            in one that lies on its side, TL of a table is where its first cell is.
        trace: Every stage, where ``Settings.trace`` asked for it, in pixels of the picture as it was read.
        seals: Seals and stamps of coloured ink, whose text is in no cell, title or note.
    """

    picture: PageImage
    tables: tuple[Table, ...] = ()
    words: tuple[Word, ...] = ()
    unplaced: tuple[Unplaced, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    detector: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    turn: int = 0
    trace: Stages | None = None
    seals: tuple[Seal, ...] = ()

    def _repr_html_(self) -> str:
        """What a notebook shows: the picture with the cells, and the tables beside it."""
        from tablerec.outputs.display import pages_to_html

        return pages_to_html([self])


@dataclass(frozen=True)
class Result:
    """What was found in one input. Joined tables are computed once, when they are asked for.

    Args:
        source: Name of the input.
        pages: One for each picture in the input.
        join_pages: Whether a table that goes on over several pages is one of ``tables``; ``pages`` keep its parts.
    """

    source: str
    pages: tuple[Page, ...]
    join_pages: bool = False

    def _repr_html_(self) -> str:
        """What a notebook shows: each picture with the cells, and its tables beside it."""
        from tablerec.outputs.display import pages_to_html

        return pages_to_html(self.pages)

    @property
    def has_page_numbers(self) -> bool:
        """Whether names and messages need the numbers of pages: there are several, or one from amid a document."""
        return [page.picture.number for page in self.pages] not in ([], [1])

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """All tables, page by page."""
        return tuple(join_tables(parts) for parts in self.parts)

    @cached_property
    def parts(self) -> list[list[Table]]:
        """For each of ``tables`` its parts on the pages; one where the table ends on its page."""
        if self.join_pages:
            return group_parts([page.tables for page in self.pages])
        return [[table] for page in self.pages for table in page.tables]


def without_pixels(page: Page) -> Page:
    """Keep the size of a picture only, in one byte, and no layer: a book's pages do not fit into memory."""
    blank = np.broadcast_to(np.uint8(255), page.picture.image.shape)
    return replace(page, picture=replace(page.picture, image=blank, layer=None))


def summarize_page(page: Page) -> Page:
    """How sure its tables are and how long they took, without cells, words and pixels.

    >>> summarize_page(Page(PageImage("a.png", 1, np.zeros((2, 3, 3), np.uint8)), seconds={"read": 1.0})).seconds
    {'read': 1.0}
    """
    tables = tuple(Table([], confidence=table.confidence) for table in page.tables)
    return replace(without_pixels(page), tables=tables, words=(), unplaced=(), dropped=(), seals=(), trace=None)


def move_page(page: Page, picture: PageImage, move: Move) -> Page:
    """Say of a page's tables and words where they are in another picture of it.

    Args:
        page: What was found.
        picture: The other picture.
        move: From pixels of the page's picture to pixels of the other.
    """
    return replace(
        page,
        picture=picture,
        tables=tuple(table.moved(move) for table in page.tables),
        words=tuple(move_word(word, move) for word in page.words),
        unplaced=tuple(replace(item, word=move_word(item.word, move)) for item in page.unplaced),
        dropped=tuple(replace(item, quad=_moved(item.quad, move)) for item in page.dropped),
        seals=tuple(replace(seal, quad=_moved(seal.quad, move)) for seal in page.seals),
    )


def move_picture(picture: PageImage, image: Image, move: Move) -> PageImage:
    """Say of the words that are known of a picture where they are in another one.

    Args:
        picture: A picture.
        image: The pixels of the other.
        move: From pixels of the picture to pixels of the other.
    """
    words = picture.words and tuple(move_word(word, move) for word in picture.words)
    hidden = picture.layer.hidden if picture.layer is not None else ()
    layer = picture.layer and replace(
        picture.layer, hidden=tuple(replace(item, word=move_word(item.word, move)) for item in hidden)
    )
    return replace(picture, image=image, words=words, layer=layer)


def move_word(word: Word, move: Move) -> Word:
    """Return the word at its place in another picture."""
    return replace(word, quad=_moved(word.quad, move))


def _moved(quad: Quad, move: Move) -> Quad:
    return array_to_quad(move(np.asarray(quad, np.float64)))
