"""Lines of text in real pictures, where two readings of PP-OCR agree, for ``tablerec train``.

    python data/datasets/agreed_lines/prepare.py PICTURES... -o out/agreed_lines

Each picture is read twice, as it is and at another size. A line that both find in one place is a label for CellNet's
line maps; a place where they differ is neither text nor ground, and is left out of the loss. Where both read the
same, surely, the crop is a label for LineNet. See README.md beside this file.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from postprocess.arrays import Floats, Image
from tablerec.errors import InputError, TablerecError
from tablerec.inputs.images import load_pages
from tablerec.ocr.line import Line
from tablerec.ocr.lines import find_lines, quad_to_crop
from tablerec.ocr.rapidocr import RapidOcrEngine
from tablerec.outputs.files import atomic_file, check_folder

SUFFIXES = (".jpg", ".jpeg", ".png")
LIST = "rec_gt.txt"
"""The lines that were read alike: path of the crop, a tab, the text, as PaddleOCR has it."""
SCALES = (1.4, 0.7)
"""The size of the second reading, for pictures of up to ``LARGE`` pixels and for larger ones."""
LARGE = 2.5e6
SAME_PLACE = 0.6
"""Intersection over union of the same line in both readings."""
SURE = 0.9
"""Least score of a reading that is believed."""
GROUND = 0.12
"""Ground around a crop, as a share of the line's height: a detector of lines cuts more or less tightly."""


class Reading(NamedTuple):
    """Lines of a picture: ``(N, 4, 2)`` corners in its pixels, and what they say."""

    quads: Floats
    lines: list[Line]


def read(engine: RapidOcrEngine, image: Image, scale: float) -> Reading:
    """Read a picture at a scale; corners are in pixels of the picture as given."""
    import cv2

    height, width = image.shape[:2]
    size = max(1, round(width * scale)), max(1, round(height * scale))
    way = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    scaled = image if scale == 1 else np.asarray(cv2.resize(image, size, interpolation=way), np.uint8)
    quads = find_lines(engine, scaled)
    lines = engine.recognize([quad_to_crop(scaled, quad) for quad in quads]) if len(quads) else []
    return Reading(quads.astype(np.float64) / (size[0] / width, size[1] / height), list(lines))


def match(first: Floats, second: Floats) -> list[tuple[int, int]]:
    """Pair the quads that lie in the same place, each with one at most.

    >>> box = np.array([[[0, 0], [9, 0], [9, 9], [0, 9]]], float)
    >>> match(box, box + [[1, 0]]), match(box, box + [[8, 0]]), match(box[:0], box)
    ([(0, 0)], [], [])
    """
    import shapely

    if not len(first) or not len(second):
        return []
    ones, others = shapely.polygons(first), shapely.polygons(second)
    one, other = shapely.STRtree(others).query(ones, predicate="intersects")
    shared = shapely.area(shapely.intersection(ones[one], others[other]))
    together = shapely.area(ones[one]) + shapely.area(others[other]) - shared
    return [(int(i), int(j)) for i, j, iou in zip(one, other, shared / together, strict=True) if iou > SAME_PLACE]


def label(image: Image, first: Reading, second: Reading) -> tuple[dict[str, Any], list[tuple[Image, str]]]:
    """Turn two readings into the labels of a picture: its lines and places left out, and crops with their texts."""
    pairs = match(first.quads, second.quads)
    agreed = [(first.quads[i] + second.quads[j]) / 2 for i, j in pairs]
    alone = [first.quads[i] for i in sorted({*range(len(first.quads))} - {i for i, _ in pairs})]
    alone += [second.quads[j] for j in sorted({*range(len(second.quads))} - {j for _, j in pairs})]
    crops = []
    for (i, j), quad in zip(pairs, agreed, strict=True):
        one, other = first.lines[i], second.lines[j]
        if one.text.strip() and one.text == other.text and min(one.score, other.score) >= SURE:
            crops.append((quad_to_crop(image, grow(quad)), one.text.strip()))
    labels = {"lines": np.round(agreed, 1).tolist(), "ignore": np.round(alone, 1).tolist()}
    return labels, crops


def grow(quad: Floats) -> Any:
    """Lay ground around a line; its corners are TL, TR, BR, BL."""
    height = (np.linalg.norm(quad[3] - quad[0]) + np.linalg.norm(quad[2] - quad[1])) / 2
    along, across = quad[1] - quad[0], quad[3] - quad[0]
    x = along / max(np.linalg.norm(along), 1) * height * GROUND
    y = across / max(np.linalg.norm(across), 1) * height * GROUND
    return np.array([quad[0] - x - y, quad[1] + x - y, quad[2] + x + y, quad[3] - x + y], np.float32)


def pictures_in(folders: Sequence[Path]) -> Iterator[Path]:
    """The pictures of folders, shuffled in an order of their own, so that any number of them is a fair sample.

    Raises:
        InputError: There are none.
    """
    found = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    if not found:
        raise InputError(f"{', '.join(map(str, folders))} holds no pictures: give folders with PNG or JPEG files")
    random.Random(0).shuffle(found)
    yield from found


def write_labels(engine: RapidOcrEngine, path: Path, output: Path) -> int:
    """Label a picture: its copy and its JSON in the output, its crops beneath; returns the number of crops."""
    import cv2

    image = next(iter(load_pages(path))).image
    small = image.shape[0] * image.shape[1] <= LARGE
    labels, crops = label(image, read(engine, image, 1.0), read(engine, image, SCALES[0 if small else 1]))
    entries = []
    for number, (crop, text) in enumerate(crops):
        name = f"crops/{path.stem}/{number}.png"
        with atomic_file(output / name) as file:
            file.write(cv2.imencode(".png", crop)[1].tobytes())
        entries.append(f"{name}\t{text}\n")
    with atomic_file(output / "crops" / path.stem / LIST) as file:
        file.write("".join(entries).encode())
    with atomic_file(output / path.name) as file:
        file.write(path.read_bytes())
    # Last: a picture that has its labels is complete.
    with atomic_file(output / f"{path.stem}.json") as file:
        file.write(json.dumps({"image": path.name, **labels}).encode())
    return len(crops)


@click.command(help=__doc__)
@click.argument("pictures", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder.")
@click.option("--threads", type=click.IntRange(1), help="Threads of PP-OCR; by default all.")
def main(pictures: tuple[Path, ...], output: Path, threads: int | None) -> None:
    """Label the pictures that have no labels in the output yet."""
    try:
        check_folder(output)
        engine = RapidOcrEngine(threads)
        for number, path in enumerate(pictures_in(pictures), start=1):
            if not (output / f"{path.stem}.json").exists():
                click.echo(f"{number} {path.name} {write_labels(engine, path, output)}")
        lists = sorted((output / "crops").glob(f"*/{LIST}"))
        with atomic_file(output / LIST) as file:
            file.write("".join(each.read_text("utf-8") for each in lists).encode())
    except TablerecError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
