"""Labels of PPOCRLabel: lines of ``Label.txt``, and lines of tables as PubTabNet and PaddleX have them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from postprocess.raised import to_subscript, to_superscript
from tablerec.errors import InputError
from tablerec.labels.files import parse_json, split_of
from tablerec.labels.label import NO_SLOT, Label, LabelBuilder, Problem

_MOST_SLOTS = 1_000_000


def is_lines(text: str) -> bool:
    """Return whether the first line of a file is a label.

    >>> is_lines('a/b.png\\t[]'), is_lines('{"filename": "a.png", "html": {}}'), is_lines("a/b.png\\t1")
    (True, True, False)
    """
    first = text.lstrip().partition("\n")[0]
    return bool(re.match(r'[^\t]+\t\s*\[|\{.*"html"\s*:\s*\{', first))


def read_lines(path: Path, text: str, root: Path) -> Iterator[Label | Problem]:
    """Read all labels of a file.

    A line is the path of a picture, a tab, and a JSON list of objects with ``points`` and ``transcription``; or a
    JSON object with ``filename``, and in ``html`` the ``structure`` and the ``cells`` with their ``bbox``.

    Yields:
        A label for each line, or what is wrong with it.
    """
    for number, line in enumerate(text.split("\n"), start=1):  # texts may hold other breaks of lines
        if line.strip():
            where = f"{path}, line {number}"
            try:
                yield _read_table(path, where, line, root) if line[0] == "{" else _read_line(path, where, line, root)
            except InputError as error:
                yield Problem(where, str(error).removeprefix(f"{where} "))


def _read_line(path: Path, where: str, line: str, root: Path) -> Label:
    name, _, rest = line.partition("\t")
    items = parse_json(rest, where)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InputError(f"{where} is no label (no list of objects after the tab): remove it or repair it")
    builder = LabelBuilder(where)
    for index, item in enumerate(items):
        builder.add(f"box {index + 1}", item.get("points"), text=item.get("transcription"))
    return _finish(builder, path, name, root)


def _read_table(path: Path, where: str, line: str, root: Path) -> Label:
    data = parse_json(line, where)
    html = data.get("html") if isinstance(data, dict) else None
    structure, cells = (html.get("structure"), html.get("cells")) if isinstance(html, dict) else (None, None)
    tokens = structure.get("tokens") if isinstance(structure, dict) else None
    if not isinstance(tokens, list) or not isinstance(cells, list) or not all(isinstance(c, dict) for c in cells):
        raise InputError(f"{where} is no label (html has no structure with tokens and cells): remove it or repair it")
    slots = tokens_to_slots(tokens, where)
    builder = LabelBuilder(where)
    if len(slots) != len(cells):
        builder.refuse("html", f"{len(slots)} cells in structure and {len(cells)} in cells: they must agree")
        slots = [NO_SLOT] * len(cells)
    for index, (cell, slot) in enumerate(zip(cells, slots, strict=True)):
        if cell.get("bbox"):
            builder.add(f"cell {index + 1}", cell["bbox"], text=_plain(_join(cell.get("tokens"))), slot=slot)
    split = data.get("split")
    return _finish(builder, path, data.get("filename"), root, split if isinstance(split, str) else None)


def _join(tokens: Any) -> str:
    return "".join(token for token in tokens if isinstance(token, str)) if isinstance(tokens, list) else ""


def _plain(markup: str) -> str:
    """The text of a cell without its tags; what is raised or lowered becomes characters that are."""
    bare = re.sub(r"</?(?!su[pb]>)\w+>", "", markup)
    raised = re.sub("<sup>(.*?)</sup>", lambda match: to_superscript(match[1]), bare)
    return re.sub("</?su[pb]>", "", re.sub("<sub>(.*?)</sub>", lambda match: to_subscript(match[1]), raised))


def _finish(builder: LabelBuilder, path: Path, name: Any, root: Path, split: str | None = None) -> Label:
    # PPOCRLabel writes the folder's own name before the picture's; find_picture falls back on the last part.
    image = builder.find_picture(name, [path.parent, path.parent / "images", path.parent.parent], root, path)
    return builder.finish(image, split=split or split_of(path))


def tokens_to_slots(tokens: list[Any], where: str) -> list[tuple[int, int, int, int, int]]:
    """Return table, row, column and spans of each cell of a structure, placed as a browser places them.

    Raises:
        InputError: The spans cover more than a million slots.

    >>> tokens_to_slots(["<tr>", "<td", ' rowspan="2"', ">", "</td>", "<td>", "</td>", "</tr>", "<tr>", "<td>"], "")
    [(0, 0, 0, 2, 1), (0, 0, 1, 1, 1), (0, 1, 1, 1, 1)]
    """
    structure = _join(tokens)
    slots: list[tuple[int, int, int, int, int]] = []
    taken: set[tuple[int, int]] = set()
    row, col = -1, 0
    for match in re.finditer(r"<tr\b|<t[dh]\b([^>]*)", structure):
        if match[1] is None:
            row, col = row + 1, 0
            continue
        spans = dict(re.findall(r'(rowspan|colspan)="?(\d{1,4})', match[1]))
        rowspan, colspan = (max(1, int(spans.get(key, 1))) for key in ("rowspan", "colspan"))
        if len(taken) + rowspan * colspan > _MOST_SLOTS:
            raise InputError(f"{where} is no label (its cells cover more than {_MOST_SLOTS:,} slots): repair it")
        row = max(row, 0)
        while (row, col) in taken:
            col += 1
        taken |= {(row + down, col + right) for down in range(rowspan) for right in range(colspan)}
        slots.append((0, row, col, rowspan, colspan))
        col += colspan
    return slots


def label_to_line(label: Label, image: str) -> str:
    """Return a line of ``Label.txt``; the inverse of ``read_lines`` but for rows and columns.

    Args:
        label: Of a picture.
        image: Path of the picture, with the folder's own name before it.
    """
    items = [
        {"transcription": text or "", "points": quad, "difficult": False}
        for quad, text in zip(label.quads.tolist(), label.texts, strict=True)
    ]
    return f"{image}\t{json.dumps(items, ensure_ascii=False)}"
