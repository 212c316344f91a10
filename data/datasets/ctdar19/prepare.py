"""Turn the relabelled ICDAR 2019 cTDaR pages into tables with cell regions, for ``tablerec train``.

    python data/datasets/ctdar19/prepare.py SOURCE -o out/ctdar19

SOURCE is a checkout or the zip archive of the source repository, see README.md beside this file.
The same command goes on where it was stopped.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.parsers import expat

import click
import cv2
import numpy as np
from numpy.typing import NDArray
from regions import NoRegions, check_texts, edges_to_regions, grid_to_edges, text_height
from relations import relations_to_grid

from tablerec.errors import InputError, TablerecError
from tablerec.outputs.files import atomic_file

FOLDER = Path(__file__).resolve().parent
LICENSE_NOTE = (
    "ICDAR 2019 cTDaR modern documents, relabelled by the group of C.-L. Liu (CASIA); labels BSD 2-Clause, "
    "copyright 2022 yanqinqin; the page images come from third-party documents"
)
SETS = {"TrainSet": "train", "TestSet/TrackA": "a"}
"""Folders of the source that are read, and how the names of their tables begin."""

MOST_BYTES = {".xml": 4 << 20, ".jpg": 40 << 20}
MOST_CELLS = 4000
MOST_PIXELS = 80_000_000
MARGIN = 1.5
"""Text heights of the page that are kept around a table."""

Read = Callable[[str], bytes]


@dataclass
class SourceCell:
    """A cell as the source has it: the points of its text, and its neighbours by side."""

    number: int
    neighbours: dict[str, frozenset[int]]
    points: NDArray[np.float64] | None = None


@dataclass
class SourceTable:
    """A table as the source has it."""

    points: NDArray[np.float64] | None = None
    cells: list[SourceCell] = field(default_factory=list)

    def has_place(self) -> bool:
        """Return whether it is anywhere."""
        return any(each.points is not None for each in (self, *self.cells))

    def box(self) -> NDArray[np.float64]:
        """``(4,)`` box of the table and its texts."""
        points = [each.points for each in (self, *self.cells) if each.points is not None]
        return _to_box(np.concatenate(points))


def _to_box(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([points.min(axis=0), points.max(axis=0)])


def open_source(path: Path) -> tuple[Read, list[str]]:
    """Return a function that reads a file of the source, and the names of the annotations, sorted.

    Raises:
        InputError: There is no such source, or it holds no annotations.
    """
    if path.is_dir():
        found = [*(path / "Annotations").rglob("*.xml"), *(path / "Images").rglob("*.jpg")]
        files = {file.relative_to(path).as_posix(): file for file in found if file.is_file()}
        sizes = {name: file.stat().st_size for name, file in files.items()}
        read_all: Read = lambda name: files[name].read_bytes()  # noqa: E731
    else:
        try:
            archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise InputError(f"{path} is no folder and no zip archive ({error}): give a checkout or its zip") from error
        # Nothing is unpacked: names in the archive are looked up, never written. GitHub's archives have one top folder.
        infos = {re.sub(r"^[^/]*/(?=Annotations/|Images/)", "", info.filename): info for info in archive.infolist()}
        sizes = {name: info.file_size for name, info in infos.items()}
        read_all = lambda name: archive.open(infos[name]).read(sizes[name])  # noqa: E731

    def read(name: str) -> bytes:
        if name not in sizes:
            raise InputError(f"{path} holds no {name}: fetch the source again")
        if sizes[name] > MOST_BYTES[Path(name).suffix]:
            raise InputError(f"{name} in {path} has {sizes[name]} bytes, which no page has: fetch the source again")
        try:
            return read_all(name)
        except (OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
            raise InputError(f"{name} in {path} cannot be read ({error}): fetch the source again") from error

    pattern = re.compile(rf"Annotations/({'|'.join(SETS)})/cTDaR_t\d+\.xml")
    names = sorted(name for name in sizes if pattern.fullmatch(name))
    if not names:
        raise InputError(f"{path} holds no Annotations/TrainSet/cTDaR_t*.xml: give the folder that holds Annotations")
    return read, names


def parse_page(data: bytes, name: str) -> list[SourceTable]:
    """Read the annotation of a page.

    Args:
        data: XML.
        name: Of the file, for messages.

    Raises:
        InputError: It is broken, or declares a document type, which could hide entities.
    """
    tables: list[SourceTable] = []
    inside: list[SourceTable | SourceCell] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "table":
            tables.append(SourceTable())
            inside.append(tables[-1])
        elif tag == "cell":
            cell = SourceCell(int(attributes["id"]), _parse_neighbours(attributes.get("neighbors", "")))
            tables[-1].cells.append(cell)
            inside.append(cell)
        elif tag == "Coords":
            points = [[float(value) for value in point.split(",")] for point in attributes["points"].split()]
            inside[-1].points = np.array(points, np.float64).reshape(-1, 2)
            if not points or not np.isfinite(points).all():
                raise ValueError("points that are none")

    def end(tag: str) -> None:
        if tag in ("table", "cell"):
            inside.pop()

    def refuse(*_: Any) -> None:
        raise ValueError("it declares a document type")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.StartDoctypeDeclHandler = start, end, refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, KeyError, IndexError) as error:
        raise InputError(f"{name} is no annotation of a page ({error}): fetch the source again") from error
    return tables


def _parse_neighbours(text: str) -> dict[str, frozenset[int]]:
    pairs = [part.split(":") for part in text.split()]
    return {side: frozenset(int(number) for number, at in pairs if at == side) for side in "LRTB"}


def table_to_grid(table: SourceTable) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return ``(N, 4)`` row, column, rowspan, colspan and ``(N, 4)`` text boxes of a table.

    Raises:
        NoRegions: The relations give no grid.
    """
    cells = table.cells
    if not 4 <= len(cells) <= MOST_CELLS:
        raise NoRegions("fewer than 4 cells or too many")
    if any(cell.points is None for cell in cells):
        raise NoRegions("cell without a box")
    boxes = np.stack([_to_box(cell.points) for cell in cells if cell.points is not None])
    place = {cell.number: k for k, cell in enumerate(cells)}
    if len(place) < len(cells) or (boxes[:, 2:] <= boxes[:, :2]).any():
        raise NoRegions("cell without a box")
    named = set().union(*(side for cell in cells for side in cell.neighbours.values()))
    if not named <= place.keys():
        raise NoRegions("relations give no exact grid")
    neighbours = [
        {at: frozenset(place[number] for number in numbers) for at, numbers in cell.neighbours.items()}
        for cell in cells
    ]
    grid = relations_to_grid(boxes, neighbours)
    if grid is None:
        raise NoRegions("relations give no exact grid")
    if min((grid[:, 0] + grid[:, 2]).max(), (grid[:, 1] + grid[:, 3]).max()) < 2:
        raise NoRegions("one row or column")
    return grid, boxes


def widen_headers(grid: NDArray[np.int64], headers: Sequence[tuple[int, int, int]]) -> NDArray[np.int64]:
    """Let headers span the columns that they stand over, where the source links them to one of these only.

    Args:
        grid: ``(N, 4)`` row, column, rowspan, colspan.
        headers: Row, first column and colspan of each.

    Raises:
        NoRegions: There is not exactly one cell at one of these places.

    >>> widen_headers(np.array([[0, 2, 1, 1], [1, 1, 1, 1]]), [(0, 1, 3)]).tolist()
    [[0, 1, 1, 3], [1, 1, 1, 1]]
    """
    grid = grid.copy()
    for row, col, colspan in headers:
        rows = (grid[:, 0] <= row) & (row < grid[:, 0] + grid[:, 2])
        at = np.flatnonzero(rows & (grid[:, 1] < col + colspan) & (grid[:, 1] + grid[:, 3] > col))
        if len(at) != 1:
            raise NoRegions("header to widen not found")
        grid[at[0], [1, 3]] = col, colspan
    return grid


def crop_table(
    page: NDArray[np.uint8], tables: Sequence[SourceTable], number: int
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Cut a table out of its page, with a margin that reaches no other table.

    Returns:
        Picture and the ``(2,)`` offset of its corner in the page.
    """
    box = tables[number].box()
    texts = np.stack([_to_box(cell.points) for cell in tables[number].cells if cell.points is not None])
    margin = MARGIN * text_height(texts)
    x0, y0, x1, y1 = (*(box[:2] - margin), *(box[2:] + margin))
    for other in (table.box() for k, table in enumerate(tables) if k != number and table.has_place()):
        if min(box[2], other[2]) > max(box[0], other[0]):  # one above the other
            y0 = max(y0, (box[1] + other[3]) / 2) if other[3] <= box[1] else y0
            y1 = min(y1, (box[3] + other[1]) / 2) if other[1] >= box[3] else y1
        if min(box[3], other[3]) > max(box[1], other[1]):  # side by side
            x0 = max(x0, (box[0] + other[2]) / 2) if other[2] <= box[0] else x0
            x1 = min(x1, (box[2] + other[0]) / 2) if other[0] >= box[2] else x1
    height, width = page.shape[:2]
    left, top = int(np.clip(x0, 0, width)), int(np.clip(y0, 0, height))
    right, bottom = int(np.clip(np.ceil(x1), 0, width)), int(np.clip(np.ceil(y1), 0, height))
    if right - left < 8 or bottom - top < 8:
        raise NoRegions("table outside its page")
    return page[top:bottom, left:right], np.array([left, top], np.float64)


def make_label(
    name: str, suffix: str, image: NDArray[np.uint8], grid: NDArray[np.int64], boxes: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the label of a table: its cells with their regions, empty slots as cells too.

    Args:
        name: Of picture and label, without suffix.
        suffix: Of the picture.
        image: ``(H, W, 3)`` uint8 BGR.
        grid: ``(N, 4)`` row, column, rowspan, colspan of the cells with text.
        boxes: ``(N, 4)`` their text boxes in the picture.

    Raises:
        NoRegions: The regions are not to be had.
    """
    n_rows, n_cols = int((grid[:, 0] + grid[:, 2]).max()), int((grid[:, 1] + grid[:, 3]).max())
    taken = np.zeros((n_rows, n_cols), np.int64)
    for row, col, rowspan, colspan in grid.tolist():
        taken[row : row + rowspan, col : col + colspan] += 1
    if (taken > 1).any():
        raise NoRegions("cells share a slot")
    x, y = grid_to_edges(grid, boxes, image)
    check_texts(edges_to_regions(grid, x, y), boxes)
    empty = np.argwhere(taken == 0)
    everything = np.concatenate([grid, np.column_stack([empty, np.ones_like(empty)])])
    regions = edges_to_regions(everything, x, y).round(1)
    cells = [
        dict(zip(("row", "col", "rowspan", "colspan"), place, strict=True))
        | {"bbox": region, "text": None if k < len(grid) else ""}
        for k, (place, region) in enumerate(zip(everything.tolist(), regions.tolist(), strict=True))
    ]
    return {
        "id": name,
        "source": "ctdar19",
        "license_note": LICENSE_NOTE,
        "image": name + suffix,
        "n_rows": n_rows,
        "n_cols": n_cols,
        "cells": sorted(cells, key=lambda cell: (cell["row"], cell["col"])),
        "meta": {
            "width": image.shape[1],
            "height": image.shape[0],
            "has_text": False,
            "bbox_kind": "cell",
            "text_height": round(text_height(boxes), 1),
        },
    }


def read_chosen(path: Path) -> dict[tuple[str, int], list[tuple[int, int, int]]]:
    """Read a list of tables: ``SET/PAGE NUMBER``, and ``row:col:colspan`` of headers to widen."""
    chosen = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            page, number, *headers = line.split()
            triples = [tuple(int(value) for value in header.split(":")) for header in headers]
            chosen[page, int(number)] = [(row, col, colspan) for row, col, colspan in triples]
    return chosen


def decode_page(data: bytes, name: str) -> NDArray[np.uint8]:
    """``(H, W, 3)`` BGR of a page.

    Raises:
        InputError: It is broken or far too large.
    """
    from PIL import Image  # looks at the size before it decodes

    try:
        with Image.open(BytesIO(data), formats=["JPEG"]) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise InputError(f"{name} has {picture.width} x {picture.height} pixels, which no page has")
            return np.ascontiguousarray(np.asarray(picture.convert("RGB"))[:, :, ::-1])
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"{name} cannot be read as a picture ({error}): fetch the source again") from error


def prepare(source: Path, output: Path, *, everything: bool = False) -> Iterator[tuple[int, Counter[str]]]:
    """Write the tables that are not there yet.

    Args:
        source: Checkout or zip archive.
        output: Folder of pictures and labels.
        everything: All tables, and not only those listed in ``tables.txt``.

    Yields:
        After each page: the number of pages, and so far how many tables were written (``written``), were there
        (``there``), or were left out, by reason.

    Raises:
        InputError: The source is broken.
        OutputError: A file cannot be written.
    """
    read, names = open_source(source)
    chosen = None if everything else read_chosen(FOLDER / "tables.txt")
    counts: Counter[str] = Counter()
    for name in names:
        folder, page_name = name.removeprefix("Annotations/").removesuffix(".xml").rsplit("/", 1)
        page_key = f"{folder}/{page_name}"
        if chosen is None or any(page == page_key for page, _ in chosen):
            tables = parse_page(read(name), name)
            page: NDArray[np.uint8] | None = None
            for number, table in enumerate(tables):
                if chosen is not None and (page_key, number + 1) not in chosen:
                    continue
                target = output / f"ctdar19_{SETS[folder]}_{page_name}_t{number + 1}"
                if target.with_suffix(".json").exists():
                    counts["there"] += 1
                    continue
                try:
                    grid, boxes = table_to_grid(table)
                    grid = widen_headers(grid, (chosen or {}).get((page_key, number + 1), []))
                    if page is None:
                        picture = f"Images/{page_key}.jpg"
                        page = decode_page(read(picture), picture)
                    image, corner = crop_table(page, tables, number)
                    label = make_label(target.name, ".png", image, grid, boxes - np.tile(corner, 2))
                except NoRegions as reason:
                    counts[str(reason)] += 1
                    continue
                _write(target, image, label)
                counts["written"] += 1
        yield len(names), counts


def _write(target: Path, image: NDArray[np.uint8], label: dict[str, Any]) -> None:
    """Write the picture, and then the label, so that a label means that both are there."""
    gray = image[:, :, 0]
    plain = gray if (image == gray[:, :, None]).all() else image
    with atomic_file(target.with_suffix(".png")) as file:
        file.write(cv2.imencode(".png", plain)[1].tobytes())
    with atomic_file(target.with_suffix(".json")) as file:
        file.write(json.dumps(label).encode())


@click.command(help=__doc__)
@click.argument("source", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
@click.option("--all", "everything", is_flag=True, help="All tables; by default those listed in tables.txt.")
def main(source: Path, output: Path, everything: bool) -> None:
    """Write the tables and say what was left out."""
    counts: Counter[str] = Counter()
    try:
        steps = prepare(source, output, everything=everything)
        total, counts = next(steps)
        with click.progressbar(length=total, label="Pages", file=sys.stderr) as bar:
            bar.update(1)
            for _ in steps:
                bar.update(1)
    except TablerecError as error:
        raise click.ClickException(str(error)) from error
    for what, count in sorted(counts.items()):
        click.echo(f"{count:5d} {what}")


if __name__ == "__main__":
    main()
