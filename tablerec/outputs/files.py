"""Outputs: a Result becomes files, each written whole or not at all."""

from __future__ import annotations

import errno
import io
import itertools
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from postprocess.cell import Quad
from postprocess.table import Table
from postprocess.word import UNREAD
from tablerec.errors import OutputError
from tablerec.inputs.images import OVERLAY_SUFFIX, display_name
from tablerec.result import Page, Result

JSON_FORMAT = "tablerec-result"
JSON_VERSION = 1
"""Raised when a field changes its meaning or goes; new fields alone do not count."""

FORMATS = ("html", "xlsx", "csv", "md", "json", "tex", "overlay")
SUFFIX_TO_FORMAT = {f".{name}": name for name in FORMATS[:-1]} | {
    ".htm": "html",
    ".markdown": "md",
    ".png": "overlay",
    ".jpg": "overlay",
    ".jpeg": "overlay",
}

_HIDDEN = re.compile(r"\.tablerec-[0-9a-f]{12}\.part")
_LEFT_AFTER = 3600.0
"""Seconds without a change after which a hidden file is left over, if nobody has locked it."""

Write = Callable[[BinaryIO], object]


@dataclass(frozen=True, slots=True)
class RenderedPage(Page):
    """A page that is all of its input, with what is written of it, so that the process that writes need not make it.

    Args:
        contents: What ``render_files`` returned, by format.
        mark_below: See ``save``; a result that is to be marked otherwise is rendered anew.
    """

    contents: Mapping[str, Sequence[bytes]] = field(default_factory=dict, repr=False, compare=False)
    mark_below: float | None = None


def render_page(formats: Sequence[str], mark_below: float | None, source: str, page: Page) -> Page:
    """Return the only page of an input with its files, or as it is where they cannot be made: ``save`` says why.

    Args:
        formats: See ``save``.
        mark_below: See ``save``.
        source: Name of the input.
        page: With or without its pixels, of which no file is made but an overlay: that is left to ``save``.
    """
    result = Result(source, (page,))
    try:
        contents = {format: render_files(result, format, mark_below) for format in formats if format != "overlay"}
    except Exception:
        return page
    values = {each.name: getattr(page, each.name) for each in fields(Page)}
    return RenderedPage(**values, contents=contents, mark_below=mark_below)


def save(
    result: Result,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    mark_below: float | None = None,
) -> list[Path]:
    """Write a result as one file, or as several where the format holds one table or page.

    All tables go into one file (a sheet for each in a workbook), but CSV holds a single
    table and an overlay a single page: several tables of a picture are written as
    ``name_1.csv``, ``name_2.csv``, those of a document as ``name_p3_t1.csv``, and its
    pages as ``name_p3.png``, by the document's own numbers. Missing folders are made. A
    file that is there is replaced at once when the new one is complete, and nothing else is
    left behind.

    Args:
        result: What a recognizer returned.
        path: Where to write.
        format: ``html``, ``xlsx``, ``csv``, ``md``, ``json``, ``tex`` or ``overlay``; by
            default the suffix decides, ``.png`` and ``.jpg`` meaning the overlay.
        mark_below: In HTML and workbooks, cells less sure than this, 0 to 1, are marked; None marks none.

    Returns:
        The files written; none for a result without tables, unless the format is
        ``json`` or ``overlay``.

    Raises:
        OutputError: An unknown format, a file that cannot be written, or one that is
            the input itself.
    """
    path = Path(path)
    format = format or path_to_format(path)
    paths = output_paths(result, path, format)
    for target, write in zip(paths, _writers(result, paths, format, mark_below), strict=True):
        _refuse_input(target, result.source)
        with atomic_file(target) as file:
            write(file)
    return paths


def render_files(result: Result, format: str, mark_below: float | None = None) -> list[bytes]:
    """Return what ``save`` would write, in order, without a file.

    >>> render_files(Result("a.png", ()), "html"), len(render_files(Result("a.png", ()), "json"))
    ([], 1)
    """
    path = Path(f"result.{'png' if format == 'overlay' else format}")
    contents = []
    for write in _writers(result, output_paths(result, path, format), format, mark_below):
        content = io.BytesIO()
        write(content)
        contents.append(content.getvalue())
    return contents


def path_to_format(path: Path) -> str:
    """Return the format that a file name asks for.

    Raises:
        OutputError: The suffix belongs to no format.

    >>> path_to_format(Path("a.XLSX")), path_to_format(Path("a.png"))
    ('xlsx', 'overlay')
    """
    format = SUFFIX_TO_FORMAT.get(path.suffix.lower())
    if format is None:
        known = " ".join(SUFFIX_TO_FORMAT)
        raise OutputError(f"{display_name(str(path))}: no format has the suffix {path.suffix!r}; use one of {known}")
    return format


def output_paths(result: Result, path: Path, format: str) -> list[Path]:
    """Return the files that ``save`` would write, in order.

    >>> output_paths(Result("a.png", ()), Path("a.html"), "html")
    []
    >>> from tablerec.result import PageImage
    >>> pages = tuple(Page(PageImage("a.pdf", number, np.zeros((9, 9, 3), np.uint8))) for number in (3, 4))
    >>> [path.name for path in output_paths(Result("a.pdf", pages), Path("a.overlay.png"), "overlay")]
    ['a_p3.overlay.png', 'a_p4.overlay.png']
    """
    if format not in FORMATS:
        raise OutputError(f"{format!r} is not a format; choose from {', '.join(FORMATS)}")
    if format == "json":
        return [path]
    if format == "overlay":
        return _numbered(path, [f"p{page.picture.number}" for page in result.pages])
    if format != "csv":
        return [path][: len(result.tables)]
    if result.has_page_numbers:
        return _numbered(path, [f"p{page}_t{index + 1}" for (page, index), *_ in _places(result)])
    return _numbered(path, [str(number + 1) for number in range(len(result.tables))])


def _numbered(path: Path, numbers: list[str]) -> list[Path]:
    if len(numbers) < 2:
        return [path][: len(numbers)]
    # "a.overlay.png" keeps both suffixes at its end, by which a folder's input is told from its output.
    suffix = path.name[-len(OVERLAY_SUFFIX) :] if path.name.lower().endswith(OVERLAY_SUFFIX) else path.suffix
    stem = path.name.removesuffix(suffix)
    return [path.with_name(f"{stem}_{number}{suffix}") for number in numbers]


def _writers(result: Result, paths: list[Path], format: str, mark_below: float | None) -> list[Write]:
    rendered = result.pages[0] if len(result.pages) == 1 else None
    if isinstance(rendered, RenderedPage) and rendered.mark_below == mark_below and format in rendered.contents:
        return [_content_writer(content) for content in rendered.contents[format]]
    # More than one writer only where output_paths gives more than one path; none where it gives none.
    if format == "overlay":
        return [_overlay_writer(page, path) for page, path in zip(result.pages, paths, strict=True)]
    if format == "csv":
        return [_csv_writer(table) for table in result.tables]
    return [_document_writer(result, format, mark_below)][: len(paths)]


def _content_writer(content: bytes) -> Write:
    return lambda file: file.write(content)


def _overlay_writer(page: Page, path: Path) -> Write:
    def write(file: BinaryIO) -> None:
        from PIL import Image

        from tablerec.outputs.overlay import draw_overlay

        picture = Image.fromarray(np.ascontiguousarray(draw_overlay(page)[..., ::-1]))
        picture.save(file, "PNG" if path.suffix.lower() == ".png" else "JPEG")

    return write


def _csv_writer(table: Table) -> Write:
    def write(file: BinaryIO) -> None:
        from postprocess.export import CSV_ENCODING, table_to_csv

        file.write(table_to_csv(table).encode(CSV_ENCODING))

    return write


def _document_writer(result: Result, format: str, mark_below: float | None) -> Write:
    if format == "json":
        return lambda file: file.write(result_to_json(result, indent=1))
    return lambda file: file.write(render([result], format, mark_below=mark_below))


def render(results: Sequence[Result], format: str, *, mark_below: float | None = None) -> bytes:
    """Write the tables of results into one document: a page, a workbook, or one text.

    Args:
        results: What a recognizer returned, one or more.
        format: ``html``, ``xlsx``, ``csv``, ``md`` or ``tex``; in CSV an empty line parts two tables.
        mark_below: As for ``save``.

    >>> render([Result("a.png", ())], "md")
    b''
    """
    from postprocess import export

    tables = [table for result in results for table in result.tables]
    names = _names(results[0]) if len(results) == 1 else [name for result in results for name in _full_names(result)]
    if format == "html":
        title = display_name(Path(results[0].source).name) if len(results) == 1 else "Tables"
        return export.tables_to_html(tables, title, names=names, mark_below=mark_below).encode()
    if format == "xlsx":
        content = io.BytesIO()
        export.write_excel(tables, content, names, mark_below=mark_below)
        return content.getvalue()
    if format == "csv":
        return export.tables_to_csv(tables).encode(export.CSV_ENCODING)
    to_text = {"md": export.tables_to_markdown, "tex": export.tables_to_latex}[format]
    return to_text(tables, names).encode()


def _names(result: Result) -> list[str] | None:
    """What sheets and headings call the tables of a document; None for a picture, where their order is enough."""
    if not result.has_page_numbers:
        return None
    return [f"Page {page} Table {index + 1}" for (page, index), *_ in _places(result)]


def _full_names(result: Result) -> list[str]:
    """The same for a result among others: with the name of the input, and no more than is needed."""
    stem = display_name(Path(result.source).stem)
    if result.has_page_numbers:
        return [f"{stem} p{page} t{index + 1}" for (page, index), *_ in _places(result)]
    n_tables = len(result.tables)
    return [stem] if n_tables == 1 else [f"{stem} t{number}" for number in range(1, n_tables + 1)]


def result_to_json(result: Result, indent: int | None = None) -> bytes:
    """Return a result as UTF-8 JSON, on one line unless ``indent`` says otherwise, with a line end.

    Raises:
        OutputError: A coordinate, score or time is not a finite number.
    """
    return dict_to_json(result_to_dict(result), result.source, indent)


def dict_to_json(data: dict[str, Any], name: str, indent: int | None = None) -> bytes:
    """Return what ``result_to_dict`` or ``page_to_dict`` gave, or holds it, as ``result_to_json`` writes it.

    Raises:
        OutputError: A coordinate, score or time is not a finite number; the message begins with ``name``.
    """
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=indent, default=_to_plain)
    except ValueError as error:
        shown = display_name(name)
        raise OutputError(f"{shown}: JSON cannot hold a number of the result ({error}); report it") from error
    # What commands a terminal, and half a surrogate pair, as in an undecodable file name, become JSON's own \\uXXXX.
    text = re.sub("[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", text)
    return (text + "\n").encode("utf-8", "backslashreplace")


def result_to_dict(result: Result) -> dict[str, Any]:
    """Return everything in a result but its pictures, as JSON has it.

    What the marks in numbers mean is decided by all tables together, as in a workbook.

    >>> result_to_dict(Result("a.png", ()))
    {'format': 'tablerec-result', 'version': 1, 'source': 'a.png', 'pages': []}
    """
    from postprocess.export import tables_to_dicts

    tables = iter(tables_to_dicts([table for page in result.pages for table in page.tables]))
    pages = [_page_to_dict(page, list(itertools.islice(tables, len(page.tables)))) for page in result.pages]
    data = {"format": JSON_FORMAT, "version": JSON_VERSION, "source": result.source, "pages": pages}
    return data | {"joined": _joined_to_list(result)} if result.join_pages else data


def _joined_to_list(result: Result) -> list[dict[str, Any]]:
    """Each table that goes on over several pages: where its parts are, and all of it; its cells have no place."""
    from postprocess.export import tables_to_dicts

    return [
        {"parts": [{"page": page, "table": index} for page, index in places], "table": table}
        for table, places in zip(tables_to_dicts(result.tables), _places(result), strict=True)
        if len(places) > 1
    ]


def _places(result: Result) -> list[list[tuple[int, int]]]:
    """For each of ``tables`` the number of the page of each of its parts, and its place among the tables there."""
    places = iter([(page.picture.number, index) for page in result.pages for index in range(len(page.tables))])
    return [list(itertools.islice(places, len(parts))) for parts in result.parts]


def page_to_dict(page: Page) -> dict[str, Any]:
    """Return everything of a page but its picture, as JSON has it."""
    from postprocess.export import tables_to_dicts

    return _page_to_dict(page, tables_to_dicts(page.tables))


def _page_to_dict(page: Page, tables: list[dict[str, Any]]) -> dict[str, Any]:
    height, width = page.picture.image.shape[:2]
    return {
        "number": page.picture.number,
        "width": width,
        "height": height,
        "turn": page.turn,
        "detector": page.detector,
        "seconds": dict(page.seconds),
        "n_words": len(page.words),
        "n_unread": sum(UNREAD in word.text for word in page.words),
        "tables": tables,
        "unplaced": [
            {"text": item.word.text, "quad": _known(item.word.quad), "score": item.word.score, "reason": item.reason}
            for item in page.unplaced
        ],
        "dropped": [{"quad": item.quad, "score": item.score, "reason": item.reason} for item in page.dropped],
        "seals": [
            {"text": seal.text, "quad": seal.quad, "score": seal.score, "color": seal.color} for seal in page.seals
        ],
    }


def _known(quad: Quad) -> Quad | None:
    """The place of a word; JSON has no form for one that is not a number."""
    return quad if np.isfinite(quad).all() else None


def _to_plain(value: object) -> object:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that appears at ``path`` only when the block ends without an error.

    Missing folders are made. The content waits in a hidden file beside ``path``, which is
    removed on any error and on Ctrl-C.

    Raises:
        OutputError: The file cannot be written; the message says why and what to do.
    """
    name = display_name(str(path))
    try:
        if path.is_symlink():
            target = display_name(str(path.readlink()))
            raise OutputError(f"{name}: a link to {target}; remove it, or write to {target} itself")
        if path.exists() and not path.is_file():
            raise OutputError(f"{name}: a folder or device, not a file; give another name with -o")
        path.parent.mkdir(parents=True, exist_ok=True)
        with _hidden_file(path) as file:
            yield file
    except OutputError as error:
        message = str(error)
        raise OutputError(message if message.startswith(name) else f"{name}: {message}") from error
    except OSError as error:
        raise OutputError(f"{name}: cannot be written ({error.strerror or error}); {_next_step(error)}") from error


@contextmanager
def _hidden_file(path: Path) -> Iterator[BinaryIO]:
    _remove_leftovers(path.parent)
    hidden = path.with_name(f".tablerec-{secrets.token_hex(6)}.part")
    file = hidden.open("xb")
    try:
        with file:
            _lock(file)
            yield file
        if path.exists():
            hidden.chmod(path.stat().st_mode & 0o777)
        hidden.replace(path)
    finally:
        hidden.unlink(missing_ok=True)


@cache
def _remove_leftovers(folder: Path) -> None:
    """Remove hidden files that are old and that nobody locks: processes that were killed have left them."""
    for path in folder.glob(".tablerec-*.part"):
        with suppress(OSError), path.open("rb") as file:
            is_old = time.time() - os.fstat(file.fileno()).st_mtime > _LEFT_AFTER
            if _HIDDEN.fullmatch(path.name) and is_old and _lock(file):
                path.unlink()


def _lock(file: BinaryIO) -> bool:
    """Lock a file for as long as it is open, and return whether no other process has."""
    try:
        import fcntl
    except ImportError:  # Windows removes no file that is open
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def check_folder(folder: Path) -> None:
    """Refuse a folder in which nothing can be written, before any work is done.

    Raises:
        OutputError: The folder, or the part of it that exists, is closed or a file.
    """
    try:
        existing = next((parent for parent in (folder, *folder.absolute().parents) if parent.exists()), folder)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise OutputError(
            f"{display_name(str(folder))}: no folder ({reason}); choose another folder with -o"
        ) from error
    if not existing.is_dir():
        raise OutputError(f"{display_name(str(existing))}: a file, not a folder; choose another folder with -o")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise OutputError(
            f"{display_name(str(existing))}: no permission to write in this folder; choose another with -o"
        )


def _next_step(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "make room on the disk, or choose another folder with -o"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "choose another folder with -o, or close the program that has the file open"
    return "choose another name or folder with -o"


def _refuse_input(path: Path, source: str) -> None:
    try:
        is_input = path.samefile(source)
    except (OSError, ValueError):
        return
    if is_input:
        raise OutputError(f"{display_name(str(path))}: is the input itself; give another name with -o")
