"""What the user names - files, folders, globs, URLs, lists of them - as names of inputs, one after another."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from tablerec.bulk.fetching import filesystem, full_url, is_url
from tablerec.errors import InputError
from tablerec.inputs.images import OVERLAY_SUFFIX, SUFFIXES, display_name


@dataclass(frozen=True, slots=True)
class Source:
    """An input by its name.

    Args:
        name: Path or URL.
        info: What a listing said of it, as fsspec has it; None where nothing is known yet.
    """

    name: str
    info: Mapping[str, Any] | None = None


def find_sources(
    given: Sequence[str],
    lists: Sequence[Path] = (),
    recursive: bool = False,
    on_error: Callable[[str, InputError], None] | None = None,
) -> Iterator[Source]:
    """Yield the inputs that arguments name; folders are looked into when it is their turn.

    Nothing is kept of what was yielded: an input that is named twice comes twice.

    Args:
        given: Files, folders, globs, URLs of files, of folders, and with globs.
        lists: Files with the path or URL of an input on each line, as it is: no globs, no folders.
        recursive: Whether folders inside folders count too.
        on_error: Called with each argument that names nothing, so that the others go on.

    Raises:
        InputError: A folder without pictures, a glob without a match, a list that cannot be read; without ``on_error``.
        MissingDependencyError: A URL is given, and fsspec or what it needs for this one is not installed.

    >>> [source.name for source in find_sources(["data/samples/ruled.png"])]
    ['data/samples/ruled.png']
    """
    steps: Iterable[tuple[str, Iterator[Source]]] = [
        *((name, _expand(name, recursive)) for name in given),
        *((str(path), _lines(path)) for path in lists),
    ]
    for name, found in steps:
        try:
            yield from found
        except InputError as error:
            if on_error is None:
                raise
            on_error(name, error)


def _expand(name: str, recursive: bool) -> Iterator[Source]:
    if is_url(name) and not os.path.lexists(name):
        yield from _expand_url(name, recursive)
    elif os.path.isdir(name):
        yield from _some(_in_folder(name, recursive), name, _hint(recursive))
    elif os.path.lexists(name) or not glob.has_magic(name):
        yield Source(name)
    else:
        matches = (Source(path) for path in sorted(glob.iglob(name, recursive=True)) if _is_input_file(path))
        yield from _some(matches, name, "no picture or PDF has such a name; check the pattern")


def _some(found: Iterator[Source], name: str, otherwise: str) -> Iterator[Source]:
    """Yield what was found, or raise an error where that is nothing."""
    source = None
    for source in found:
        yield source
    if source is None:
        raise InputError(f"{display_name(name)}: {otherwise}")


def _hint(recursive: bool) -> str:
    hint = "check the folder" if recursive else "name another one, or use --recursive for the folders inside"
    return f"no pictures or PDFs in this folder; {hint}"


def _in_folder(folder: str, recursive: bool) -> Iterator[Source]:
    # os.walk does not follow links to folders, so a circle of links cannot trap us.
    for parent, folders, names in os.walk(folder):
        folders.sort()
        paths = (os.path.join(parent, name) for name in sorted(names))
        yield from (Source(path) for path in paths if _is_input_file(path))
        if not recursive:
            return


def _is_input_file(path: str) -> bool:
    # A dangling link stays, to be reported; pipes and devices would block.
    return _is_input_name(os.path.basename(path)) and (os.path.isfile(path) or not os.path.exists(path))


def _is_input_name(name: str) -> bool:
    lower = name.lower()
    return not name.startswith(".") and PurePosixPath(lower).suffix in SUFFIXES and not lower.endswith(OVERLAY_SUFFIX)


def _expand_url(url: str, recursive: bool) -> Iterator[Source]:
    files, path = filesystem(url)
    try:
        if glob.has_magic(path):
            found = files.glob(path, detail=True).items()
            matches = (each for each in sorted(found) if each[1]["type"] == "file" and _is_input_name(_last(each[0])))
            sources = (Source(full_url(files, name), info) for name, info in matches)
            yield from _some(sources, url, "no picture or PDF has such a name; check the pattern")
        elif url.endswith("/") or files.isdir(path):
            yield from _some(_in_remote_folder(files, path, recursive), url, _hint(recursive))
        else:
            yield Source(url)
    except InputError:
        raise
    except Exception as error:  # each file system has its own
        raise InputError(f"{display_name(url)}: cannot be listed ({display_name(str(error))}); check it") from error


def _in_remote_folder(files: Any, path: str, recursive: bool) -> Iterator[Source]:
    for _, folders, found in files.walk(path, detail=True, on_error="raise"):
        for name, info in sorted(found.items()):
            if _is_input_name(name):
                yield Source(full_url(files, info["name"]), info)
        if not recursive:
            folders.clear()


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _lines(path: Path) -> Iterator[Source]:
    """The lines of a file, which is never in memory as a whole."""
    name = display_name(str(path))
    try:
        with open_list(path) as file:
            for line in file:
                # Names are bytes: those that are no text are kept.
                text = os.fsdecode(line.rstrip(b"\r\n"))
                if text:
                    yield Source(text)
    except OSError as error:
        raise InputError(f"{name}: the list cannot be read ({error.strerror or error}); check the name") from error


def open_list(path: Path) -> BinaryIO:
    """Open a list of inputs."""
    return path.open("rb")
