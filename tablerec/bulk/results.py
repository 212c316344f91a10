"""Pages become files, or rows of one Parquet dataset."""

from __future__ import annotations

import io
import json
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from postprocess.export import table_to_html, tables_to_dicts
from tablerec.bulk.store import Store
from tablerec.errors import MissingDependencyError
from tablerec.outputs.files import render_files
from tablerec.result import Page, Result

if TYPE_CHECKING:
    from pyarrow import Schema

TABLES = "tables"
"""Folder of a store for what was read."""

DEFAULT_FORMATS = ("html", "json")
"""For people, and with everything that is known, for programs."""

_FAN_OUT = 3
"""Hex digits of a folder's name: 4,096 folders, of 500 files each for a million of files in two formats."""

_DIGEST = 20
"""Hex digits of the content in the name of a file."""

_MOST_STEM = 60
"""Bytes of an input's own name in the name of a file."""

File = tuple[str, bytes]
"""Name in the store, and content."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a page comes from.

    Args:
        name: Of the input when its content was first seen.
        content: SHA-256 as hex.
        is_single: Whether page 1 is all of it.
    """

    name: str
    content: str
    is_single: bool


Encode: TypeAlias = Callable[[Origin, Page], Sequence[Any]]
"""Makes files, or rows, of a page."""


class Results(Protocol):
    """What pages become: ``encode`` and ``add`` are called page by page, ``finish`` when a group is to be written."""

    group_pages: int
    """Pages in a group, at most: what is done once more after a kill."""
    group_seconds: float
    """Seconds from one group to the next, about."""
    size: int
    """Bytes that wait for ``finish``, about."""

    @property
    def settings(self) -> dict[str, Any]:
        """What a store holds the same for all its pages, for its journal."""

    @property
    def encode(self) -> Encode:
        """What makes of a page that which ``add`` takes in; it may be pickled, and run on another machine."""

    def add(self, encoded: Sequence[Any]) -> None:
        """Take in a page that was encoded."""

    def finish(self) -> list[File]:
        """Return the files of the pages since the last call."""

    def check(self, store: Store, parts: set[str]) -> None:
        """Remove from a store what no record of its journal names.

        Args:
            store: The store.
            parts: What its journal names, see ``part``.
        """

    def part(self, files: Sequence[File]) -> str | None:
        """Return the name under which the journal is to know these files, where their names are not always the same."""


class FileResults:
    """Each page as a file of each format: ``tables/3fa/scan-3fa9....html``, ``_p7`` for page 7 of a document.

    Args:
        formats: See ``outputs.files.FORMATS``.
        mark_below: See ``outputs.files.save``.
    """

    group_pages = 64
    group_seconds = 2.0

    def __init__(self, formats: Sequence[str] = DEFAULT_FORMATS, mark_below: float | None = None) -> None:
        self._formats = tuple(dict.fromkeys(formats))
        self._mark_below = mark_below
        self._files: list[File] = []
        self.size = 0

    @property
    def settings(self) -> dict[str, Any]:
        """What stays the same in a store; see ``Results``."""
        return {"as": "files", "format": ",".join(self._formats)}

    @property
    def encode(self) -> Encode:
        """What makes files of a page; see ``Results``."""
        return partial(_to_files, self._formats, self._mark_below)

    def add(self, encoded: Sequence[File]) -> None:
        """Take in the files of a page; see ``Results``."""
        self._files += encoded
        self.size += sum(len(content) for _, content in encoded)

    def finish(self) -> list[File]:
        """Return the files; see ``Results``."""
        files, self._files, self.size = self._files, [], 0
        return files

    def check(self, store: Store, parts: set[str]) -> None:
        """Nothing is to be removed: a page that is done once more has the same names."""

    def part(self, files: Sequence[File]) -> str | None:
        """There is none: each page has its own files."""
        return None


class ParquetResults:
    """All tables as rows of one dataset, ``tables/part-....parquet``: a part for each group of pages.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """

    group_pages = 1000
    group_seconds = 60.0

    def __init__(self) -> None:
        try:
            import pyarrow as pa
        except ImportError as error:
            raise MissingDependencyError('--as parquet needs pyarrow; run: pip install "tablerec[batch]"') from error
        self.schema: Schema = pa.schema(
            [
                ("source", pa.string()),
                ("content", pa.string()),
                ("page", pa.int32()),
                ("number", pa.int32()),
                ("rows", pa.int32()),
                ("cols", pa.int32()),
                ("confidence", pa.float32()),
                ("weakest", pa.string()),
                ("title", pa.string()),
                ("html", pa.string()),
                ("cells", pa.string()),
                ("detector", pa.string()),
                ("seconds", pa.float32()),
            ]
        )
        self._rows: list[dict[str, Any]] = []
        self.size = 0

    @property
    def settings(self) -> dict[str, Any]:
        """What stays the same in a store; see ``Results``."""
        return {"as": "parquet"}

    @property
    def encode(self) -> Encode:
        """What makes rows of a page; see ``Results``."""
        return _to_rows

    def add(self, encoded: Sequence[dict[str, Any]]) -> None:
        """Take in the rows of a page; see ``Results``."""
        self._rows += encoded
        self.size += sum(len(row["html"]) + len(row["cells"]) for row in encoded)

    def finish(self) -> list[File]:
        """Return the part of the rows since the last call; see ``Results``."""
        if not self._rows:
            return []
        import pyarrow as pa
        import pyarrow.parquet

        rows, self._rows, self.size = self._rows, [], 0
        content = io.BytesIO()
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows, self.schema), content, compression="zstd")
        return [(f"{TABLES}/part-{secrets.token_hex(8)}.parquet", content.getvalue())]

    def check(self, store: Store, parts: set[str]) -> None:
        """Remove parts that were written, and not recorded before a kill: their pages are read once more."""
        for name in store.list(TABLES):
            if re.fullmatch(r"part-[0-9a-f]{16}\.parquet", name) and f"{TABLES}/{name}" not in parts:
                store.remove(f"{TABLES}/{name}")

    def part(self, files: Sequence[File]) -> str | None:
        """Return the name of the part; see ``Results``."""
        return files[0][0] if files else None


def _to_files(formats: Sequence[str], mark_below: float | None, origin: Origin, page: Page) -> list[File]:
    result = Result(origin.name, (page,))
    name = file_name(origin, page.picture.number)
    files = []
    for format in formats:
        contents = render_files(result, format, mark_below)
        for number, content in enumerate(contents, start=1):
            table = f"_t{number}" if len(contents) > 1 else ""
            files.append((f"{name}{table}.{format}", content))
    return files


def _to_rows(origin: Origin, page: Page) -> list[dict[str, Any]]:
    seconds = sum(page.seconds.values())
    values = tables_to_dicts(page.tables)
    rows = []
    for number, (table, data) in enumerate(zip(page.tables, values, strict=True), start=1):
        sure = table.confidence
        rows.append(
            {
                "source": _as_text(origin.name),
                "content": origin.content,
                "page": page.picture.number,
                "number": number,
                "rows": table.n_rows,
                "cols": table.n_cols,
                "confidence": None if sure is None else sure.table,
                "weakest": None if sure is None else _as_text(sure.weakest),
                "title": None if table.title is None else _as_text(table.title.text),
                "html": _as_text(table_to_html(table)),
                "cells": json.dumps(data["cells"], ensure_ascii=True, allow_nan=False, default=float),
                "detector": page.detector,
                "seconds": seconds,
            }
        )
    return rows


def file_name(origin: Origin, number: int) -> str:
    """Return the name of a page's files in the store, without the suffix.

    It holds what a person knows the input by, and enough of the content to tell it from all others. Nothing in it
    leads out of its folder.

    >>> file_name(Origin("scans/../a b/invoice 7.png", "3fa9" + "0" * 60, True), 1)
    'tables/3fa/invoice_7-3fa90000000000000000'
    >>> file_name(Origin("s3://bucket/..", "0" * 64, False), 12)
    'tables/000/input-00000000000000000000_p12'
    """
    stem = re.sub(r"[^\w.-]+", "_", PurePath(origin.name.replace("\\\\", "/")).stem).strip("._")
    short = stem.encode("utf-8", "ignore")[:_MOST_STEM].decode("utf-8", "ignore") or "input"
    page = "" if origin.is_single else f"_p{number}"
    return f"{TABLES}/{origin.content[:_FAN_OUT]}/{short}-{origin.content[:_DIGEST]}{page}"


def _as_text(text: str) -> str:
    """A text without halves of surrogate pairs, as in names with bytes that are no text."""
    return text.encode("utf-8", "backslashreplace").decode()
