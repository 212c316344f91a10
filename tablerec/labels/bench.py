"""Labels as this project writes them: a JSON file beside each picture, see ``tablerec.evaluate.truth``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tablerec.errors import InputError
from tablerec.labels.files import split_of
from tablerec.labels.label import NO_SLOT, Label, LabelBuilder, to_size, to_text_height

_SLOT = ("row", "col", "rowspan", "colspan")


def is_bench(data: Any) -> bool:
    """Return whether the content of a JSON file is such a label."""
    return isinstance(data, dict) and ("cells" in data or "tables" in data)


def read_bench(path: Path, data: dict[str, Any], root: Path) -> Label:
    """Read a label.

    Cells are outlined by ``quad``, or by ``bbox`` where ``meta`` has the ``bbox_kind`` ``cell``. A cell without
    either is an empty slot that nobody outlined.

    Raises:
        InputError: It is none.
    """
    builder = LabelBuilder(str(path))
    meta = data.get("meta") if isinstance(data.get("meta"), dict) else {}
    assert meta is not None
    cells = list(_cells(path, data))
    has_quads = all(cell.get("quad") for _, _, cell in cells)
    outlines_cells = has_quads or meta.get("bbox_kind") == "cell"
    for name, table, cell in cells:
        place = cell.get("quad" if has_quads else "bbox")
        if place:
            slot = [cell.get(key, default) for key, default in zip(_SLOT, NO_SLOT[1:], strict=True)]
            builder.add(name, place, text=cell.get("text"), slot=(table, *slot))
    if not outlines_cells:
        kind = meta.get("bbox_kind") or "something else"
        builder.note(f"its boxes outline {kind}, not whole cells: it is left out of a training; say bbox_kind `cell`")
    image = builder.find_picture(data.get("image"), [path.parent], root, path)
    split = meta.get("split")
    return builder.finish(
        image,
        keep_order=True,
        outlines_cells=outlines_cells,
        size_wh=to_size(meta.get("width"), meta.get("height")),
        split=split if isinstance(split, str) else split_of(path),
        text_height=to_text_height(meta.get("text_height")),
    )


def _cells(path: Path, data: dict[str, Any]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield name, number of the table, and cell."""
    has_tables = "tables" in data
    tables = data["tables"] if has_tables else [data]
    for number, table in enumerate(tables if isinstance(tables, list) else [None]):
        cells = table.get("cells") if isinstance(table, dict) else None
        if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
            raise InputError(f"{path} is no label (cells are no list of objects): remove it or repair it")
        for index, cell in enumerate(cells):
            yield f"tables[{number}].cells[{index}]" if has_tables else f"cells[{index}]", number, cell


def label_to_bench(label: Label, name: str, image: str, size_wh: tuple[int, int]) -> dict[str, Any]:
    """Return a label, ready for JSON; the inverse of ``read_bench``.

    Args:
        label: Of a picture.
        name: Of the files, without suffix.
        image: Name of the picture beside the file.
        size_wh: Of the picture, px.
    """
    tables: dict[int, list[dict[str, Any]]] = {}
    for quad, text, (table, *slot) in zip(label.quads.tolist(), label.texts, label.slots.tolist(), strict=True):
        xs, ys = zip(*quad, strict=True)
        cell = {"bbox": [min(xs), min(ys), max(xs), max(ys)], "quad": quad, "text": text}
        known = dict(zip(_SLOT, slot, strict=True)) if slot[0] >= 0 else {}
        tables.setdefault(max(table, 0), []).append({**known, **cell})
    meta: dict[str, Any] = {
        "width": size_wh[0],
        "height": size_wh[1],
        "bbox_kind": "cell" if label.outlines_cells else "text",
    }
    if label.split:
        meta["split"] = label.split
    if label.text_height:
        meta["text_height"] = label.text_height
    listed = [{"cells": tables[table]} for table in sorted(tables)]
    alone = listed[0] if len(listed) == 1 else {}
    return {"id": name, "source": "", "image": image, **alone, "tables": listed, "meta": meta}
