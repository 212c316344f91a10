"""A reader that keeps what it read in files, and does not read it again."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.arrays import Image
from postprocess.word import Word
from tablerec.corrections.editor.reading import Reader


class KeptReader:
    """A reader that keeps what it read.

    Args:
        make: Makes the reader, once something is to be read.
        folder: Where it is kept.
        name: Of the reader: what another one reads is another thing.
    """

    def __init__(self, make: Callable[[], Any], folder: Path, name: str) -> None:
        self.make, self.folder, self.name = make, folder, name

    @cached_property
    def reader(self) -> Any:
        """What reads."""
        return self.make()

    @cached_property
    def other(self) -> Reader:
        """What reads otherwise."""
        return KeptReader(lambda: self.reader.other, self.folder, f"{self.name}-other")

    def read(self, image: Image) -> list[Word]:
        """See ``Reader``."""
        return self._keep(lambda: self.reader.read(image), image, np.zeros(0))

    def read_quads(self, image: Image, quads: Any) -> list[Word]:
        """See ``Reader``."""
        return self._keep(lambda: self.reader.read_quads(image, quads), image, np.asarray(quads, np.float64))

    def _keep(self, read: Callable[[], list[Word]], *arrays: Any) -> list[Word]:
        content = b"".join(repr(each.shape).encode() + np.ascontiguousarray(each).tobytes() for each in arrays)
        file = self.folder / f"{self.name}-{hashlib.sha256(content).hexdigest()[:32]}.pickle"
        if not file.is_file():
            self.folder.mkdir(parents=True, exist_ok=True)
            file.write_bytes(pickle.dumps(list(read())))
        words: list[Word] = pickle.loads(file.read_bytes())
        return words
