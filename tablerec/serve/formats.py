"""What an answer is written as: chosen by Accept, rendered from what was read of each file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from tablerec.outputs.files import dict_to_json, page_to_dict, render, result_to_dict
from tablerec.result import Page, Result
from tablerec.serve.problems import Problem, RefusedError

MEDIA_TYPES = {
    "json": "application/json",
    "html": "text/html; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "csv": "text/csv; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "tex": "application/x-tex",
    "ndjson": "application/x-ndjson",
    "zip": "application/zip",
}
"""By the names of formats; the first is what ``*/*`` gets."""

RESULTS_FORMAT = "tablerec-results"
RESULTS_VERSION = 1


@dataclass(slots=True)
class FileResult:
    """What was read of one file.

    Args:
        name: The client's name for it.
        n_pages: How many pages are wanted.
        pages: Those that were read.
        failures: Problems of the others by their numbers; None for the file as a whole.
        n_read: How many pages were read.
        n_tables: How many tables are on them.
    """

    name: str
    n_pages: int = 0
    pages: list[Page] = field(default_factory=list)
    failures: list[tuple[int | None, Problem]] = field(default_factory=list)
    n_read: int = 0
    n_tables: int = 0

    def add(self, page: Page) -> None:
        """Keep a page that was read."""
        self.pages.append(page)
        self.n_read += 1
        self.n_tables += len(page.tables)

    def to_result(self, join_pages: bool) -> Result:
        """Return the pages in their order."""
        return Result(self.name, tuple(sorted(self.pages, key=lambda page: page.picture.number)), join_pages)

    def to_dict(self, join_pages: bool) -> dict[str, Any]:
        """Return it as JSON has it; ``failed`` is there where something failed."""
        data = result_to_dict(self.to_result(join_pages))
        return data | {"failed": self.failed()} if self.failures else data

    def failed(self) -> list[dict[str, Any]]:
        """Return the failures as JSON has them."""
        return [
            {"page": number, **problem.to_dict()}
            for number, problem in sorted(self.failures, key=lambda each: each[0] or 0)
        ]


def choose_format(accept: str, asked: str | None = None) -> str:
    """Return the name of the format that a client wants most.

    Args:
        accept: The header of its request; empty for anything.
        asked: ``format`` in the address, which comes first.

    Raises:
        RefusedError: There is no such format.

    >>> choose_format(""), choose_format("text/html, */*;q=0.1"), choose_format("text/csv;q=0.5, text/markdown")
    ('json', 'html', 'md')
    """
    if asked is not None:
        if asked in MEDIA_TYPES:
            return asked
        raise RefusedError(406, "format", f"format is {asked[:40]!r}: choose from {', '.join(MEDIA_TYPES)}")
    wanted = sorted(map(_to_range, (accept or "*/*").split(",")), key=lambda each: -each[1])
    for kind, quality in wanted:
        for name, media_type in MEDIA_TYPES.items():
            plain = media_type.partition(";")[0]
            if quality > 0 and (kind in ("*/*", plain) or (kind.endswith("/*") and plain.startswith(kind[:-1]))):
                return name
    known = ", ".join(each.partition(";")[0] for each in MEDIA_TYPES.values())
    raise RefusedError(406, "format", f"Accept names no format that there is: choose from {known}")


def _to_range(text: str) -> tuple[str, float]:
    kind, *parameters = (part.strip().lower() for part in text.split(";"))
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return kind, float(parameter[2:])
            except ValueError:
                return kind, 0.0
    return kind, 1.0


def write(files: Sequence[FileResult], format: str, *, join_pages: bool, mark_below: float | None = None) -> bytes:
    """Write an answer: a file alone as ``tablerec`` itself would, several in one document.

    Args:
        files: What was read, one or more.
        format: A name of ``MEDIA_TYPES``; ``ndjson`` has each page on a line.
        join_pages: Whether tables that go on over pages are one.
        mark_below: In HTML and workbooks, cells less sure than this are marked; None marks none.
    """
    if format == "json":
        if len(files) == 1:
            return dict_to_json(files[0].to_dict(join_pages), files[0].name)
        results = [each.to_dict(join_pages) for each in files]
        return dict_to_json({"format": RESULTS_FORMAT, "version": RESULTS_VERSION, "results": results}, "results")
    if format == "ndjson":
        return b"".join(lines_of(files))
    if format == "zip":
        return _to_zip(files, join_pages, mark_below)
    return render([each.to_result(join_pages) for each in files], format, mark_below=mark_below)


def page_line(index: int, name: str, page: Page) -> bytes:
    """Return the line of a page that was read."""
    return dict_to_json({"type": "page", "file": index, "source": name, "page": page_to_dict(page)}, name)


def failure_line(index: int | None, name: str, number: int | None, problem: Problem) -> bytes:
    """Return the line of a page, or of a file, that was not."""
    data = {"type": "failed", "file": index, "source": name, "page": number, "problem": problem.to_dict()}
    return dict_to_json(data, name)


def end_line(n_pages: int, n_failed: int) -> bytes:
    """Return the last line, by which a client knows that nothing is missing."""
    return dict_to_json({"type": "end", "pages": n_pages, "failed": n_failed}, "end")


def lines_of(files: Sequence[FileResult]) -> list[bytes]:
    """Return all lines of what was read, in order."""
    lines = []
    for index, each in enumerate(files):
        lines += [page_line(index, each.name, page) for page in each.to_result(False).pages]
        lines += [failure_line(index, each.name, number, problem) for number, problem in each.failures]
    return [*lines, end_line(sum(len(each.pages) for each in files), sum(len(each.failures) for each in files))]


def _to_zip(files: Sequence[FileResult], join_pages: bool, mark_below: float | None) -> bytes:
    content = io.BytesIO()
    taken: set[str] = set()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in files:
            stem = _unique(PurePath(each.name).stem, taken)
            archive.writestr(f"{stem}.json", dict_to_json(each.to_dict(join_pages), each.name))
            result = each.to_result(join_pages)
            if result.tables:
                for format in ("html", "xlsx", "csv", "md"):
                    archive.writestr(f"{stem}.{format}", render([result], format, mark_below=mark_below))
        if any(each.failures for each in files):
            failed = [{"source": each.name, "failed": each.failed()} for each in files if each.failures]
            archive.writestr("failed.json", dict_to_json({"failed": failed}, "failed"))
    return content.getvalue()


def _unique(stem: str, taken: set[str]) -> str:
    """A name that the archive has not yet, whatever the case."""
    unique, count = stem, 1
    while unique.lower() in {*taken, "failed"}:
        count += 1
        unique = f"{stem} ({count})"
    taken.add(unique.lower())
    return unique
