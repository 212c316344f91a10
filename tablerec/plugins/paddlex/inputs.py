"""What ``predict`` takes: paths, addresses, folders, arrays and lists of them, page by page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from paddlex.inference.common.batch_sampler.image_batch_sampler import ImageBatchSampler, ImgBatch

from tablerec.config import Settings
from tablerec.errors import InputError
from tablerec.inputs.images import SUFFIXES, load_pages
from tablerec.result import PageImage

_PAGED = (".pdf", ".tif", ".tiff")
"""Files whose pages PaddleX numbers, also where there is only one."""


@dataclass(frozen=True, slots=True)
class InputPage:
    """A page, and what PaddleX's results say of where it comes from.

    Args:
        path: The file; None for an array.
        index: Number of the page, counted from 0; None where the input has no pages.
        picture: The page itself.
    """

    path: str | None
    index: int | None
    picture: PageImage


def read_inputs(inputs: Any, settings: Settings | None = None) -> Iterator[InputPage]:
    """Read what PaddleX's pipelines take.

    Args:
        inputs: A path; an ``http`` address, which PaddleX downloads; a folder; a ``(H, W, 3)`` BGR array; a
            ``PageImage`` or an ``InputPage``; or a list or an iterator of these.
        settings: How documents are read; the default where None.

    Raises:
        InputError: One of them cannot be read.

    >>> [page.index for page in read_inputs([np.zeros((4, 4, 3), np.uint8)])]
    [None]
    """
    for item in inputs if isinstance(inputs, (list, tuple, Iterator)) else [inputs]:
        if isinstance(item, InputPage):
            yield item
        elif isinstance(item, (str, os.PathLike)):
            for path in _files(os.fspath(item)):
                yield from _pages(path, settings)
        elif isinstance(item, (np.ndarray, PageImage)):
            yield from (InputPage(None, None, picture) for picture in load_pages(item, settings))
        elif item is None:
            raise InputError(
                "there is no input: give a path, a folder, an address or an array (--input on the command line)"
            )
        else:
            raise InputError(f"a {type(item).__name__} is no input: give a path, a folder, an address or an array")


def _files(path: str) -> list[str]:
    if path.startswith(("http://", "https://")):
        return [ImageBatchSampler()._download_from_url(path)]
    if not os.path.isdir(path):
        return [path]
    suffixes = SUFFIXES | {f".{suffix}" for suffix in ImageBatchSampler.IMG_SUFFIX + ImageBatchSampler.PDF_SUFFIX}
    found = sorted(str(file) for file in Path(path).rglob("*") if file.suffix.lower() in suffixes and file.is_file())
    if not found:
        raise InputError(f"{path}: no pictures or PDFs in this folder; check the folder")
    return found


def _pages(path: str, settings: Settings | None) -> Iterator[InputPage]:
    is_paged = path.lower().endswith(_PAGED)
    for picture in load_pages(path, settings):
        yield InputPage(path, picture.number - 1 if is_paged else None, picture)


class PageSampler:
    """Batches of pages, as PaddleX hands them to several devices.

    Args:
        batch_size: Pages in a batch.
    """

    def __init__(self, batch_size: int) -> None:
        self.batch_size = batch_size

    def __call__(self, inputs: Any) -> Iterator[ImgBatch]:
        """Yield batches; the last one may be smaller.

        >>> [len(batch) for batch in PageSampler(2)([np.zeros((4, 4, 3), np.uint8)] * 3)]
        [2, 1]
        """
        batch = ImgBatch()
        for page in read_inputs(inputs):
            batch.append(page, page.path, page.index, None)
            if len(batch) == self.batch_size:
                yield batch
                batch = ImgBatch()
        if len(batch):
            yield batch
