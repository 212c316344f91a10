"""PaddleOCR's recognition lists: on each line the path of a picture, a tab, and the text that it shows.

They are files of users: nothing outside their folder is read, and what cannot be used is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from postprocess.text.bidi import has_right_to_left, mirror_brackets, visual_to_logical
from tablerec.errors import InputError
from tablerec.fields import parse_json
from tablerec.inputs.images import display_name
from tablerec.labels.files import find_picture, read_text
from tablerec.labels.label import Problem
from tablerec.models.characters import normalize_label

_MOST_LISTS = 1000


class ListedLine(NamedTuple):
    """A line of a list.

    Args:
        image: The picture.
        text: What it shows, from left to right.
        where: The place in the list, for messages.
    """

    image: Path
    text: str
    where: str


def read_lists(path: Path, split: str = "") -> Iterator[ListedLine | Problem]:
    """Read the lists of a folder, or one list.

    Args:
        path: A list, or a folder with lists ``*.txt``, such as ``rec_gt_train.txt`` and ``rec_gt_val.txt``. Paths of
            pictures are relative to the list.
        split: Only lists whose name ends so, such as ``train``; empty for all.

    Yields:
        A line for each picture, or what is wrong with it.

    Raises:
        InputError: There is no such file or folder, or it cannot be read.
    """
    if not path.exists():
        raise InputError(f"{display_name(str(path))} is not there: name a folder with recognition lists, or a list")
    files = sorted(path.glob("*.txt"))[:_MOST_LISTS] if path.is_dir() else [path]
    for file in files:
        if path.is_dir() and not file.stem.endswith(split):
            continue
        for number, line in enumerate(read_text(file).split("\n"), start=1):
            if line.strip():
                yield from _read_line(file, number, line.rstrip("\r"))


def _read_line(file: Path, number: int, line: str) -> Iterator[ListedLine | Problem]:
    where = f"{display_name(str(file))}, line {number}"
    names, tab, text = line.partition("\t")
    label = to_visual(normalize_label(text))
    if not tab or not label:
        yield Problem(where, "there is no text after a tab: write PICTURE<tab>TEXT")
        return
    for name in _names(names):
        try:
            yield ListedLine(
                find_picture(
                    name,
                    [file.parent],
                    file.parent,
                ),
                label,
                where,
            )
        except InputError as error:
            yield Problem(where, str(error))


def _names(text: str) -> list[str]:
    """PaddleOCR's lists may name several pictures of one text, as a JSON list."""
    if not text.startswith("["):
        return [text]
    try:
        found = parse_json(text)
    except ValueError:
        return [text]
    return found if isinstance(found, list) and all(isinstance(each, str) for each in found) else [text]


def to_visual(text: str) -> str:
    """Write a text from left to right as it is seen.

    >>> to_visual("12 kg"), to_visual("(מחיר) 12")
    ('12 kg', '12 (ריחמ)')
    """
    if not has_right_to_left(text):
        return text
    # Reversing runs undoes itself.
    return "".join(mirror_brackets([text[index] for index in visual_to_logical(text)]))
