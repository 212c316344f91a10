"""A review whose pictures are read by nobody: the pages are made up."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from postprocess.placing import complete
from postprocess.table import Table
from postprocess.words import Word
from tablerec.editor import CorrectionFolder
from tablerec.result import Page, PageImage
from tablerec.review.desk import Desk
from tablerec.review.server import ReviewServer
from tablerec.turning import turn_page_back, turn_picture
from tests.tablerec.editor.samples import make_page, make_table


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


@contextmanager
def serve(desk: Desk) -> Iterator[ReviewServer]:
    """Read everything, and serve the desk."""
    desk.read_all()
    with ReviewServer(desk) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
