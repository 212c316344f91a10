"""A review whose pictures are read by nobody: the pages are made up."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from postprocess.table import Table
from tablerec.editor import CorrectionFolder
from tablerec.result import Page
from tablerec.review.desk import Desk
from tablerec.review.server import ReviewServer
from tests.tablerec.editor.samples import make_page, make_table


def make_desk(folder: Path, names: Sequence[str] = ("scan.png",), tables: Sequence[Table] = ()) -> Desk:
    """A desk of pictures, on each of which these tables are found."""
    for number, name in enumerate(names):
        if not (folder / name).exists():
            Image.fromarray(np.full((8, 8, 3), number, np.uint8)).save(folder / name)

    def read(source: str) -> Iterator[Page]:
        yield make_page(*(tables or [make_table()]), source=source)

    return Desk([folder / name for name in names], folder, CorrectionFolder(folder / "corrections"), read)


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
