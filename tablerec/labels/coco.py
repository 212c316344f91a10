"""Labels as COCO: one JSON file for many pictures, as PaddleX and PaddleDetection train on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.arrays import Floats
from postprocess.geometry.boxes import quads_to_boxes
from tablerec.labels.files import cell_names
from tablerec.labels.label import Label, LabelBuilder, Problem, to_size, to_text_height

SPLITS = {"instance_train": "train", "instance_val": "val", "instance_test": "test"}
"""Names of the files of PaddleX's layout."""


def is_coco(data: Any) -> bool:
    """Return whether the content of a JSON file is COCO."""
    return isinstance(data, dict) and isinstance(data.get("images"), list) and "annotations" in data


def read_coco(path: Path, data: dict[str, Any], root: Path) -> Iterator[Label | Problem]:
    """Read all labels of a file.

    A cell is outlined by its ``segmentation`` where that is one polygon of four corners, else by its ``bbox``.
    Pictures lie in ``images/`` beside ``annotations/``, or beside the file.

    Yields:
        A label for each picture, and what is wrong with the file.
    """
    where = str(path)
    images, annotations, names = (_objects(data, key) for key in ("images", "annotations", "categories"))
    of_image: dict[Any, list[dict[str, Any]]] = {}
    for annotation in annotations:
        of_image.setdefault(_key(annotation.get("image_id")), []).append(annotation)
    categories = {_key(each.get("id")): str(each.get("name")) for each in names}
    kept, note = cell_names(categories.values())
    if note:
        yield Problem(where, note, is_error=False)
    counts = {key: len(data[key]) if isinstance(data.get(key), list) else 0 for key in ("images", "annotations")}
    if counts != {"images": len(images), "annotations": len(annotations)}:
        yield Problem(where, "some images or annotations are no objects: export it again")
    seen = set()
    for image in images:
        key = _key(image.get("id"))
        if key in seen:
            yield Problem(f"{where}, image {key}", "this id stands twice: give each picture an id of its own")
            continue
        seen.add(key)
        yield _read_image(path, image, of_image.get(key, []), categories, kept, root)
    for key in [key for key in of_image if key not in seen][:100]:
        yield Problem(where, f"{len(of_image[key])} annotations belong to image {key}, which is not there: delete them")


def _objects(data: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = data.get(key)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _key(value: Any) -> Any:
    return value if isinstance(value, (int, str)) else repr(value)[:40]


def _read_image(
    path: Path,
    image: Mapping[str, Any],
    annotations: Sequence[Mapping[str, Any]],
    categories: Mapping[Any, str],
    kept: set[str],
    root: Path,
) -> Label:
    builder = LabelBuilder(f"{path}, image {_key(image.get('id'))}")
    for annotation in annotations:
        name = f"annotation {_key(annotation.get('id'))}"
        category = _key(annotation.get("category_id"))
        if category not in categories:
            builder.refuse(name, f"its category {category} is not there: add it to categories, or delete it")
        elif categories[category] in kept:
            builder.add(name, _place(annotation))
    folders = [path.parent.parent / "images", path.parent.parent, path.parent, path.parent / "images"]
    return builder.finish(
        builder.find_picture(image.get("file_name"), folders, root, path),
        split=SPLITS.get(path.stem),
        size_wh=to_size(image.get("width"), image.get("height")),
        text_height=to_text_height(image.get("text_height")),
    )


def _place(annotation: Mapping[str, Any]) -> Any:
    polygons, box = annotation.get("segmentation"), annotation.get("bbox")
    if isinstance(polygons, list) and len(polygons) == 1 and isinstance(polygons[0], list) and len(polygons[0]) == 8:
        return polygons[0]
    if isinstance(box, list) and len(box) == 4 and all(type(value) in (int, float) for value in box):
        return [box[0], box[1], box[0] + box[2], box[1] + box[3]]
    return box


def labels_to_coco(labels: Sequence[Label], images: Sequence[str], sizes: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Return labels, ready for JSON; the inverse of ``read_coco``.

    Args:
        labels: Of the pictures.
        images: Names of the pictures.
        sizes: Their widths and heights, px.
    """
    content: dict[str, Any] = {
        "images": [],
        "annotations": [],
        "categories": [{"id": 1, "name": "cell", "supercategory": "table"}],
    }
    for number, (label, image, (width, height)) in enumerate(zip(labels, images, sizes, strict=True), start=1):
        place = {"id": number, "file_name": image, "width": width, "height": height}
        # A field of our own, which other OCR engines skip: pictures are scaled by it for training.
        content["images"].append(place | ({"text_height": label.text_height} if label.text_height else {}))
        content["annotations"] += _to_annotations(label.quads, len(content["annotations"]) + 1, number)
    return content


def _to_annotations(quads: Floats, first: int, image: int) -> list[dict[str, Any]]:
    """The cells of a picture, all at once: a folder has hundreds of thousands."""
    boxes, following = quads_to_boxes(quads), np.roll(quads, -1, axis=1)
    doubled = (quads[..., 0] * following[..., 1] - quads[..., 1] * following[..., 0]).sum(axis=1)
    numbers = (np.hstack([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]]), np.abs(doubled) / 2, quads.reshape(-1, 8))
    return [
        {
            "id": number,
            "image_id": image,
            "category_id": 1,
            "bbox": box,
            "area": round(area, 2),
            "segmentation": [corners],
            "iscrowd": 0,
        }
        for number, (box, area, corners) in enumerate(zip(*(each.tolist() for each in numbers), strict=True), first)
    ]
