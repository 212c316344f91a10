"""Label files of any format, recognized by what they hold."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from tablerec.errors import InputError
from tablerec.inputs.images import display_name
from tablerec.labels.bench import is_bench, read_bench
from tablerec.labels.coco import SPLITS, is_coco, read_coco
from tablerec.labels.files import parse_json, read_text
from tablerec.labels.label import Label, Problem
from tablerec.labels.labelme import is_labelme, read_labelme
from tablerec.labels.ppocrlabel import is_lines, read_lines

_LINES = ("Label.txt", "gt.txt", "train.txt", "val.txt", "test.txt")
_MOST_FILES = 2_000_000


def read_labels(path: Path) -> Iterator[Label | Problem]:
    """Read all labels of a folder or a file.

    Args:
        path: A folder: with COCO in ``annotations/instance_*.json``, as PaddleX has it; else with ``Label.txt`` of
            PPOCRLabel, or lines of tables in ``gt.txt``, ``train.txt`` and ``val.txt``; else with JSON files of ours
            or of labelme. All but the first may lie in folders below it, of which ``train``, ``val`` and ``test``
            name the split. Or one such file.

    Yields:
        A label for each picture, and what could not be read.

    Raises:
        InputError: There is no such file or folder.

    >>> labels = list(read_labels(Path("data/samples/ruled.json")))
    >>> len(labels), labels[0].image.name, labels[0].quads.shape[1:]
    (1, 'ruled.png', (4, 2))
    """
    if not path.exists():
        raise InputError(f"{display_name(str(path))} is not there: name a folder with labels, or a label file")
    root = path if path.is_dir() else _root_of(path)
    for file in label_files(path):
        try:
            yield from _read_file(file, root)
        except InputError as error:
            yield Problem(str(file), str(error).removeprefix(f"{file} "))


def _root_of(file: Path) -> Path:
    return file.parent.parent if file.parent.name == "annotations" else file.parent


def label_files(path: Path) -> list[Path]:
    """Return the files of a folder that hold labels, sorted; the file itself where it is one."""
    if not path.is_dir():
        return [path]
    paddlex = [path / "annotations" / f"{name}.json" for name in SPLITS]
    found = [file for file in paddlex if file.is_file()]
    if found:
        return found
    # rglob follows no links to folders below, so that a circle of them ends.
    below = [file for file in itertools.islice(path.rglob("*"), _MOST_FILES) if file.is_file()]
    found = [file for file in below if file.name in _LINES and is_lines(read_text(file))]
    return sorted(found or [file for file in below if file.suffix.lower() == ".json"])


def _read_file(file: Path, root: Path) -> Iterator[Label | Problem]:
    text = read_text(file)
    if file.suffix.lower() != ".json":
        if not is_lines(text):
            raise InputError(f"{file} is no label (no lines of a picture and its cells): remove it or repair it")
        yield from read_lines(file, text, root)
        return
    data = parse_json(text, str(file))
    if is_coco(data):
        yield from read_coco(file, data, root)
    elif is_labelme(data):
        yield read_labelme(file, data, root)
    elif is_bench(data):
        yield read_bench(file, data, root)
    else:
        what = f"neither COCO, nor labelme's, nor ours, but a {type(data).__name__}"
        raise InputError(f"{file} is no label ({what}): remove it or repair it")
