"""Labels written in another format, with their pictures."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tablerec.errors import InputError, OutputError
from tablerec.labels.bench import label_to_bench
from tablerec.labels.check import find_unusable
from tablerec.labels.coco import SPLITS, labels_to_coco
from tablerec.labels.label import Label, Problem, load_image
from tablerec.labels.labelme import label_to_labelme
from tablerec.labels.ppocrlabel import label_to_line
from tablerec.outputs.files import atomic_file, check_folder

Format = Literal["coco", "bench", "ppocrlabel", "labelme"]

_ORIENTATION = 0x0112


class Written(NamedTuple):
    """A label whose picture is written: the name of the picture, and its width and height, px."""

    label: Label
    image: str
    size_wh: tuple[int, int]


def convert_labels(
    labels: Iterable[Label | Problem], folder: Path, format: Format, split: float | None = None
) -> Iterator[Label | Problem]:
    """Write labels and pictures to a new folder.

    Args:
        labels: As ``read_labels`` gives them.
        folder: Is made; its label files are written last.
        format: ``coco``: PaddleX's layout. ``bench``: ours. ``ppocrlabel``: ``Label.txt``. ``labelme``.
            Rows and columns are kept by ``bench`` alone, texts by all but ``coco``.
        split: Share of the pictures for training, the others are for validation; by their names, so that a picture
            stays on its side as the set grows. None keeps the split that they have.

    Yields:
        Each label that was written, and the problems of those that were left out.

    Raises:
        OutputError: The folder is not empty, or cannot be written.
    """
    check_folder(folder)
    if folder.is_dir() and any(folder.iterdir()):
        raise OutputError(f"{folder}: is not empty; name a new folder with -o")
    written: list[Written] = []
    taken: set[str] = set()
    for label in labels:
        problems = [label] if isinstance(label, Problem) else find_unusable(label)
        if isinstance(label, Problem) or problems:
            yield from problems
            continue
        named = label if split is None else replace(label, split=choose_split(label.image.name, split))
        try:
            written.append(_write_picture(named, folder, format, taken))
        except InputError as error:
            yield Problem(label.where, str(error))
            continue
        yield named
    _WRITERS[format](folder, written)


def choose_split(name: str, share: float) -> str:
    """Return ``train`` or ``val`` for a picture, always the same for its name.

    >>> choose_split("a.png", 1.0), choose_split("a.png", 0.0)
    ('train', 'val')
    """
    return "train" if zlib.crc32(name.encode("utf-8", "replace")) < share * (1 << 32) else "val"


def _write_picture(label: Label, folder: Path, format: Format, taken: set[str]) -> Written:
    height, width = load_image(label.image).shape[:2]
    content, suffix = _content(label.image)
    below = Path("images") if format == "coco" else Path(label.split or "") if format != "bench" else Path()
    stem, number = label.image.stem, 1
    while (str(below / stem)).casefold() in taken:
        number += 1
        stem = f"{label.image.stem}_{number}"
    taken.add(str(below / stem).casefold())
    with atomic_file(folder / below / f"{stem}{suffix}") as file:
        file.write(content)
    return Written(label, f"{stem}{suffix}", (width, height))


def _content(path: Path) -> tuple[bytes, str]:
    """Bytes and suffix of a picture; one that its camera turned is written upright, as not all tools turn it."""
    import cv2
    import PIL.Image

    with PIL.Image.open(path) as picture:
        turned = picture.getexif().get(_ORIENTATION, 1) != 1
    if not turned:
        return path.read_bytes(), path.suffix
    _, encoded = cv2.imencode(".png", load_image(path)[:, :, ::-1])
    return encoded.tobytes(), ".png"


def _write_json(path: Path, data: Any) -> None:
    with atomic_file(path) as file:
        file.write(json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace"))


def _write_coco(folder: Path, written: list[Written]) -> None:
    names = {split: name for name, split in SPLITS.items()}
    for split in sorted({"train", "val", *(each.label.split or "train" for each in written)}):
        chosen = [each for each in written if (each.label.split or "train") == split]
        content = labels_to_coco(*([each[field] for each in chosen] for field in range(3)))  # type: ignore[arg-type]
        _write_json(folder / "annotations" / f"{names.get(split, f'instance_{split}')}.json", content)


def _write_bench(folder: Path, written: list[Written]) -> None:
    for label, image, size_wh in written:
        name = Path(image).stem
        _write_json(folder / f"{name}.json", label_to_bench(label, name, image, size_wh))


def _write_ppocrlabel(folder: Path, written: list[Written]) -> None:
    for split in sorted({each.label.split or "" for each in written}):
        chosen = [each for each in written if (each.label.split or "") == split]
        place = folder / split
        lines = [label_to_line(each.label, f"{place.name}/{each.image}") for each in chosen]
        with atomic_file(place / "Label.txt") as file:
            file.write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))


def _write_labelme(folder: Path, written: list[Written]) -> None:
    for label, image, size_wh in written:
        content = label_to_labelme(label, image, size_wh)
        _write_json(folder / (label.split or "") / f"{Path(image).stem}.json", content)


_WRITERS: dict[Format, Callable[[Path, list[Written]], None]] = {
    "coco": _write_coco,
    "bench": _write_bench,
    "ppocrlabel": _write_ppocrlabel,
    "labelme": _write_labelme,
}
