"""Tables, pages and a review desk for the tests of corrections."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from postprocess.candidates.candidate import quads_to_candidate
from postprocess.candidates.trace import TableTrace
from postprocess.cell import Confidence
from postprocess.editing.placing import complete
from postprocess.geometry.boxes import cells_to_quads
from postprocess.table import Table
from postprocess.text.assignment import place_words
from postprocess.word import Word, Words
from tablerec.corrections.editor import CorrectionFolder
from tablerec.corrections.editor.reading import Reader
from tablerec.corrections.learning.learner import Learner
from tablerec.corrections.review.desk import Desk, FindTables
from tablerec.corrections.review.server import ReviewServer
from tablerec.inputs.turning import turn_page_back, turn_picture
from tablerec.result import Page, PageImage
from tablerec.stages import Trace


def make_table(n_rows: int = 3, n_cols: int = 3, box: tuple[int, int, int, int] = (20, 20, 320, 140)) -> Table:
    """A table whose cells are called after their place, in a box of the picture."""
    x0, y0, x1, y1 = (float(value) for value in box)
    plain = Table.from_texts([[f"{row}.{col}" for col in range(n_cols)] for row in range(n_rows)])
    return complete(replace(plain, quad=((x0, y0), (x1, y0), (x1, y1), (x0, y1))), (340, 160))


def make_page(*tables: Table, source: str = "scan.png", number: int = 1, turn: int = 0) -> Page:
    """A page with these tables, in a picture that no other page has."""
    image = np.full((160, 340, 3), [255 - sum(source.encode()) % 50, 255 - number, 255 - len(tables)], np.uint8)
    sure = [replace(t, confidence=Confidence(0.5, (0.5,) * t.n_rows, (0.5,) * t.n_cols, "row 1")) for t in tables]
    return Page(PageImage(source, number, image), tuple(sure), turn=turn)


def make_desk(folder: Path, names: Sequence[str] = ("scan.png",), tables: Sequence[Table] = ()) -> Desk:
    """A desk of pictures, on each of which these tables are found."""
    for number, name in enumerate(names):
        if not (folder / name).exists():
            Image.fromarray(np.full((8, 8, 3), number, np.uint8)).save(folder / name)

    def read(source: str) -> Iterator[Page]:
        yield make_page(*(tables or [make_table()]), source=source)

    return Desk([folder / name for name in names], folder, CorrectionFolder(folder / "corrections"), read)


def make_page_desk(folder: Path, *tables: Table, turn: int = 0) -> Desk:
    """A desk of one page with these tables, in whose frames a table of two by two with a word is found."""
    page = make_page(*tables)
    given = turn_picture(page.picture, -turn % 360)
    Image.fromarray(given.image[..., ::-1]).save(folder / "scan.png")

    def read(source: str) -> Iterator[Page]:
        yield turn_page_back(page, replace(given, source=source), turn)

    def read_frame(picture: PageImage) -> Iterator[Page]:
        height, width = picture.image.shape[:2]
        word = Word("7", ((1, 1), (9, 1), (9, 9), (1, 9)))
        found = complete(Table.from_texts([["a", "b"], ["c", "d"]]), (width, height))
        yield Page(picture, (found,) if width > 50 else (), (word,))

    return Desk([folder / "scan.png"], folder, CorrectionFolder(folder / "corrections"), read, read_frame)


def make_word(text: str, x: float, y: float) -> Word:
    """A word with letters of 6 by 10 pixels."""
    right = x + 6 * len(text)
    return Word(text, ((x, y), (right, y), (right, y + 10), (x, y + 10)), 0.9)


def make_read_page(words: Sequence[Word] | None = None, source: str = "scan.png") -> Page:
    """A page that was read: in each cell of ``make_table`` a word or two, and a word beside the table."""
    if words is None:
        places = [(row, col) for row in range(3) for col in range(3)]
        words = [make_word("beside", 120, 146)]
        words += [make_word(f"{row}{col}.5 km", 30 + 100 * col, 28 + 40 * row) for row, col in places]
        words += [make_word("ab", 90 + 100 * col, 28 + 40 * row) for row, col in places if (row + col) % 2]
    bare = make_table()
    bare = replace(bare, cells=[replace(cell, text="") for cell in bare.cells])
    placement = place_words([bare], words)
    blank = make_page(source=source).picture
    return Page(blank, tuple(placement.tables()), tuple(words), tuple(placement.unplaced))


def make_read_desk(
    folder: Path,
    reader: Reader | None = None,
    words: Sequence[Word] | None = None,
    find: FindTables | None = None,
) -> Desk:
    """A desk of ``make_read_page``."""
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(folder / "scan.png")
    corrections = CorrectionFolder(folder / "corrections")

    def read(source: str) -> Iterator[Page]:
        yield make_read_page(words, source=source)

    return Desk([folder / "scan.png"], folder, corrections, read, reader=reader, find=find)


@contextmanager
def serve(desk: Desk, learner: Learner | None = None) -> Iterator[ReviewServer]:
    """Read everything, and serve the desk."""
    desk.read_all()
    with ReviewServer(desk, learner=learner) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def find_rivals(*tables: Table) -> Callable[[PageImage], Iterator[Page]]:
    """Finds these tables in one place: the first is chosen, the others are its rivals."""

    def find(picture: PageImage) -> Iterator[Page]:
        candidates = [quads_to_candidate(cells_to_quads(table.cells)) for table in tables]
        chosen = replace(candidates[0], rivals=tuple(candidates[1:]))
        traces = (TableTrace(chosen, tables[0]),)
        yield Page(picture, tables[:1], trace=Trace(picture.image, Words(), traces))

    return find
