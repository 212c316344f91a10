"""Folders of labels, for the tests."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from tablerec.labels import Label, Problem, read_labels
from tablerec.synth import Sample

SQUARE = [[1.0, 2.0], [11.0, 2.0], [11.0, 8.0], [1.0, 8.0]]
BESIDE = [[11.0, 2.0], [21.0, 2.0], [21.0, 8.0], [11.0, 8.0]]


def write_picture(path: Path, size_wh: tuple[int, int] = (30, 20)) -> Path:
    """Write a white picture."""
    import cv2

    path.parent.mkdir(parents=True, exist_ok=True)
    _, encoded = cv2.imencode(path.suffix, np.full((size_wh[1], size_wh[0], 3), 255, np.uint8))
    path.write_bytes(encoded.tobytes())
    return path


def write_json(path: Path, data: Any) -> Path:
    """Write JSON, NaN included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def write_bench(folder: Path, name: str, quads: list[Any], **meta: Any) -> Path:
    """Write a picture with a label of ours."""
    write_picture(folder / f"{name}.png")
    cells = [{"row": 0, "col": col, "quad": quad} for col, quad in enumerate(quads)]
    return write_json(folder / f"{name}.json", {"image": f"{name}.png", "cells": cells, "meta": meta})


def coco(**changes: Any) -> dict[str, Any]:
    """Return COCO with one picture and two cells."""
    return {
        "images": [{"id": 7, "file_name": "a.png", "width": 30, "height": 20}],
        "annotations": [
            {"id": 1, "image_id": 7, "category_id": 1, "bbox": [1, 2, 10, 6]},
            {
                "id": 2,
                "image_id": 7,
                "category_id": 1,
                "bbox": [0, 0, 1, 1],
                "segmentation": [[x for point in BESIDE for x in point]],
            },
        ],
        "categories": [{"id": 1, "name": "cell"}],
        **changes,
    }


def read(path: Path) -> tuple[list[Label], list[Problem]]:
    """Read labels, and all problems, those of labels included."""
    labels, problems = [], []
    for each in read_labels(path):
        if isinstance(each, Problem):
            problems.append(each)
        else:
            labels.append(each)
            problems += each.problems
    return labels, problems


def fingerprint(sample: Sample) -> str:
    """Return a hash of the picture and of all that is known about it."""
    parts = (sample.image, sample.cells.quads, sample.words.quads)
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
