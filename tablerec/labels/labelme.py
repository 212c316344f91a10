"""Labels of labelme: a JSON file beside each picture, with rectangles and polygons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tablerec.labels.files import cell_names, split_of
from tablerec.labels.label import Label, LabelBuilder, to_size


def is_labelme(data: Any) -> bool:
    """Return whether the content of a JSON file is such a label."""
    return isinstance(data, dict) and isinstance(data.get("shapes"), list)


def read_labelme(path: Path, data: dict[str, Any], root: Path) -> Label:
    """Read a label; ``description`` of a shape is the text of its cell."""
    builder = LabelBuilder(str(path))
    shapes = [(index, shape) for index, shape in enumerate(data["shapes"]) if isinstance(shape, dict)]
    if len(shapes) < len(data["shapes"]):
        builder.refuse("shapes", "some are no objects: save it with labelme again")
    kept, note = cell_names(str(shape.get("label")) for _, shape in shapes)
    if note:
        builder.note(note)
    for index, shape in shapes:
        kind = shape.get("shape_type", "polygon")
        if str(shape.get("label")) not in kept:
            continue
        if kind not in ("rectangle", "polygon"):
            builder.refuse(f"shapes[{index}]", f"a {str(kind)[:40]!r} is no cell: draw a rectangle or a polygon")
        else:
            builder.add(f"shapes[{index}]", shape.get("points"), text=shape.get("description"))
    image = builder.find_picture(data.get("imagePath"), [path.parent], root, path)
    size = to_size(data.get("imageWidth"), data.get("imageHeight"))
    return builder.finish(image, split=split_of(path), size_wh=size)


def label_to_labelme(label: Label, image: str, size_wh: tuple[int, int]) -> dict[str, Any]:
    """Return a label, ready for JSON; the inverse of ``read_labelme``.

    Args:
        label: Of a picture.
        image: Name of the picture beside the file.
        size_wh: Of the picture, px.
    """
    shapes = [
        {"label": "cell", "points": quad, "group_id": None, "description": text, "shape_type": "polygon", "flags": {}}
        for quad, text in zip(label.quads.tolist(), label.texts, strict=True)
    ]
    return {
        "version": "5.4.1",
        "flags": {},
        "shapes": shapes,
        "imagePath": image,
        "imageData": None,
        "imageHeight": size_wh[1],
        "imageWidth": size_wh[0],
    }
