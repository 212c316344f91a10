"""Many samples in a folder: resumable, on several processes, as COCO or in the form of the benchmark."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any, Literal

import numpy as np

from tablerec.errors import OutputError
from tablerec.fields import read_json
from tablerec.outputs.files import atomic_file, check_folder
from tablerec.synth.engine import Renderer, draw
from tablerec.synth.labels import write_sample
from tablerec.synth.recipe import Recipe

Format = Literal["coco", "bench"]

MANIFEST = "synth.txt"
"""Says what the folder holds, so that another run does not mix its own samples in."""

VALIDATION_EVERY = 10
"""Of so many samples, one is for validation."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A folder of synthetic samples.

    ``bench`` puts picture and label side by side; ``coco`` is the layout that PaddleX trains on: ``images/``,
    ``annotations/instance_train.json`` and ``instance_val.json``, and the full labels in ``labels/``.

    Args:
        folder: Where everything goes.
        recipe: What is drawn.
        seed: Of the whole set.
        format: Layout of the folder.
        renderer: ``fast`` or ``browser``; None as the recipe says.
    """

    folder: Path
    recipe: Recipe
    seed: int = 0
    format: Format = "coco"
    renderer: Renderer | None = None

    @property
    def images(self) -> Path:
        """Folder of the pictures."""
        return self.folder / "images" if self.format == "coco" else self.folder

    @property
    def labels(self) -> Path:
        """Folder of the labels."""
        return self.folder / "labels" if self.format == "coco" else self.folder

    def draw(self, count: int, jobs: int = 1) -> Iterator[int]:
        """Draw what is missing of the first ``count`` samples, and then write the annotations.

        Args:
            count: Size of the set.
            jobs: Number of processes.

        Yields:
            The index of each sample that is there, in any order.

        Raises:
            OutputError: The folder holds something else, or cannot be written.
            TablerecError: As ``draw``.
        """
        claim_folder(self.folder, self._manifest())
        missing = []
        for index in range(count):
            if (self.labels / f"{name_of(index)}.json").exists():
                yield index
            else:
                missing.append(index)
        yield from map_apart(self._write, missing, jobs)
        if self.format == "coco":
            self._write_annotations(count)

    def _write(self, index: int) -> int:
        sample = draw(self.recipe, self.seed, index, self.renderer)
        write_sample(sample, name_of(index), self.images, self.labels)
        return index

    def _manifest(self) -> str:
        digest = hashlib.sha256(repr(_stable(self.recipe)).encode()).hexdigest()[:16]
        chosen = f"renderer {self.renderer}\n" if self.renderer else ""
        known = f"recipe {self.recipe.name}\nseed {self.seed}\nformat {self.format}\n"
        return f"{known}{chosen}content of the recipe {digest}\n"

    def _write_annotations(self, count: int) -> None:
        labels = (read_json(self.labels / f"{name_of(index)}.json") for index in range(count))
        sets: dict[str, dict[str, Any]] = {name: _empty_coco() for name in ("train", "val")}
        for index, label in enumerate(labels):
            is_validation = index % VALIDATION_EVERY == VALIDATION_EVERY - 1
            add_to_coco(sets["val" if is_validation else "train"], label, index + 1)
        for name, content in sets.items():
            with atomic_file(self.folder / "annotations" / f"instance_{name}.json") as file:
                file.write(json.dumps(content, separators=(",", ":")).encode())


def claim_folder(folder: Path, content: str) -> None:
    """Write down what a folder of samples is for, or check that it is for this.

    Raises:
        OutputError: The folder holds something else, or cannot be written.
    """
    check_folder(folder)
    path = folder / MANIFEST
    found = None
    with suppress(FileNotFoundError):
        found = path.read_text("utf-8")
    if found is None:
        if folder.is_dir() and any(folder.iterdir()):
            raise OutputError(f"{folder}: holds other files; name an empty or a new folder with -o")
        with atomic_file(path) as file:
            file.write(content.encode())
    elif found != content:
        ours, theirs = content.split("\n"), found.split("\n")
        change = next((f"{b!r}, not {a!r}" for a, b in zip(ours, theirs, strict=False) if a != b), "something else")
        raise OutputError(f"{folder}: holds samples with {change}; name another folder with -o")


def map_apart(work: Callable[[int], int], indices: Sequence[int], jobs: int) -> Iterator[int]:
    """Do work, which can be pickled, for each index on several processes; yield what it returns, in order."""
    if jobs == 1 or len(indices) < 2:
        yield from map(work, indices)
        return
    # A forked process would inherit locks that OpenCV's threads hold.
    pool = ProcessPoolExecutor(min(jobs, len(indices)), get_context("spawn"), _begin_worker)
    try:
        yield from pool.map(work, indices, chunksize=4)
    finally:
        pool.shutdown(cancel_futures=True)


def _begin_worker() -> None:
    """Leave Ctrl-C to the main process, and end with it: where that is killed, a pool's processes wait forever."""
    if sys.platform != "win32":
        os.setpgid(0, 0)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def name_of(index: int) -> str:
    """Return the name of a sample's files.

    >>> name_of(7)
    'synth_000007'
    """
    return f"synth_{index:06}"


def add_to_coco(content: dict[str, Any], label: dict[str, Any], image_id: int) -> None:
    """Add a sample to the content of an annotation file: one object a cell, its quad as polygon.

    >>> content = _empty_coco()
    >>> cell = {"bbox": [0, 0, 4, 2], "quad": [[0, 0], [4, 0], [4, 2], [0, 2]]}
    >>> label = {"image": "a.jpg", "meta": {"width": 9, "height": 9}, "tables": [{"cells": [cell]}]}
    >>> add_to_coco(content, label, 1)
    >>> content["annotations"][0]["bbox"], content["annotations"][0]["area"]
    ([0.0, 0.0, 4.0, 2.0], 8.0)
    """
    width, height = label["meta"]["width"], label["meta"]["height"]
    content["images"].append({"id": image_id, "file_name": label["image"], "width": width, "height": height})
    for cell in (cell for table in label["tables"] for cell in table["cells"]):
        box = np.clip(np.array(cell["bbox"], float), 0, [width, height, width, height])
        corner_and_size = np.concatenate([box[:2], box[2:] - box[:2]]).round(2).tolist()
        content["annotations"].append(
            {
                "id": len(content["annotations"]) + 1,
                "image_id": image_id,
                "category_id": 1,
                "bbox": corner_and_size,
                "area": round(_area(cell["quad"]), 2),
                "segmentation": [[value for point in cell["quad"] for value in point]],
                "iscrowd": 0,
            }
        )


def _empty_coco() -> dict[str, Any]:
    return {"images": [], "annotations": [], "categories": [{"id": 1, "name": "cell", "supercategory": "table"}]}


def _area(quad: list[list[float]]) -> float:
    x, y = np.array(quad).T
    return float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2)


def _stable(recipe: Recipe) -> Any:
    """Return the values of a recipe in a form whose text is always the same."""
    values = {}
    for name in sorted(set(Recipe.__dataclass_fields__) - {"own", "about", "parts"}):
        value = getattr(recipe, name)
        values[name] = sorted(value.items()) if isinstance(value, dict) else value
    return [*values.items(), sorted(recipe.own), [(_stable(part), weight) for part, weight in recipe.parts]]
