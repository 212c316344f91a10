"""Samples as files: a picture, and a JSON file in the form that ``tablerec eval`` reads."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postprocess.export.html import table_to_html
from postprocess.geometry.boxes import quads_to_boxes
from tablerec.errors import InputError
from tablerec.fields import parse_json, read_text
from tablerec.outputs.files import atomic_file
from tablerec.synth.sample import Cells, Sample, Tables, Words

LICENSE_NOTE = "drawn by tablerec.synth, invented content"

_RULING = {"grid": "wired", "dashed": "wired", "none": "lineless", "header": "lineless", "sums": "lineless"}
_QUALITY = 95


def sample_to_label(sample: Sample, name: str, source: str = "synth") -> dict[str, Any]:
    """Return what is known of a sample, ready for JSON.

    Each table is in ``tables``, with ``n_rows``, ``n_cols``, ``quad``, ``html`` and ``cells``; with
    exactly one table these also stand at the top, as ``tablerec eval`` wants them. A cell has
    ``row``, ``col``, ``rowspan``, ``colspan``, ``bbox`` (the hull of ``quad``), ``quad``, ``text``,
    ``kind`` and, for headers, ``header``. A word has ``quad``, ``text``, ``cell``, its index in the order of
    all cells, or -1, and ``type``, see ``Words``; outside of the tables also ``role``, where that is known.

    Args:
        sample: A sample.
        name: Of picture and label, without suffix.
        source: The set that the picture belongs to: ``tablerec eval`` reports on each.
    """
    height, width = sample.image.shape[:2]
    tables = [_table_to_dict(sample, index) for index in range(len(sample.tables))]
    words = sample.words
    label: dict[str, Any] = {
        "id": name,
        "source": source,
        "license_note": LICENSE_NOTE,
        "image": f"{name}.jpg",
        **{key: tables[0][key] for key in ("n_rows", "n_cols", "cells", "html") if len(tables) == 1},
        "tables": tables,
        "words": [
            {"quad": _quad(quad), "text": text, "cell": int(cell), "type": _quad(kind)}
            | ({"role": role} if words.roles and cell < 0 else {})
            for quad, text, cell, kind, role in zip(
                words.quads,
                words.texts,
                words.cells,
                words.quads if words.types is None else words.types,
                words.roles or ("none",) * len(words),
                strict=True,
            )
        ],
        "meta": {
            **sample.about,
            "width": width,
            "height": height,
            "language": sample.about.get("script", ""),
            "ruling_est": _RULING.get(sample.about.get("rules", ""), "partial"),
            "has_text": True,
            "bbox_kind": "cell",
        },
    }
    return label


def label_to_sample(label: dict[str, Any], image: NDArray[np.uint8]) -> Sample:
    """Return the sample of a label; the inverse of ``sample_to_label``.

    >>> from tablerec.synth import draw, load_recipe
    >>> sample = draw(load_recipe("ruled"), 0, 0)
    >>> again = label_to_sample(sample_to_label(sample, "a"), sample.image)
    >>> again.cells.texts == sample.cells.texts, bool(np.allclose(again.cells.quads, sample.cells.quads, atol=0.01))
    (True, True)
    """
    tables = label["tables"]
    cells = [(cell, index) for index, table in enumerate(tables) for cell in table["cells"]]

    def column(name: str) -> NDArray[np.int32]:
        return np.array([cell[name] for cell, _ in cells], np.int32)

    def quads(items: list[dict[str, Any]]) -> NDArray[np.float32]:
        return np.array([item["quad"] for item in items], np.float32).reshape(-1, 4, 2)

    words = label["words"]
    return Sample(
        image=image,
        cells=Cells(
            quads=quads([cell for cell, _ in cells]),
            rows=column("row"),
            cols=column("col"),
            rowspans=column("rowspan"),
            colspans=column("colspan"),
            tables=np.array([index for _, index in cells], np.int32),
            kinds=tuple(cell["kind"] for cell, _ in cells),
            texts=tuple(cell["text"] for cell, _ in cells),
        ),
        words=Words(
            quads(words),
            tuple(word["text"] for word in words),
            np.array([word["cell"] for word in words], np.int32),
            np.array([word.get("type", word["quad"]) for word in words], np.float32).reshape(-1, 4, 2),
            tuple(word.get("role", "none") for word in words),
        ),
        tables=Tables(
            quads(tables),
            np.array([table["n_rows"] for table in tables], np.int32),
            np.array([table["n_cols"] for table in tables], np.int32),
        ),
        about={key: value for key, value in label["meta"].items() if isinstance(value, str)},
    )


def write_sample(sample: Sample, name: str, images: Path, labels: Path, source: str = "synth") -> None:
    """Write picture and label; the label comes last, so that where it is, the picture is.

    Raises:
        OutputError: A file cannot be written.
    """
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(sample.image).save(buffer, "JPEG", quality=_QUALITY, subsampling=0)
    with atomic_file(images / f"{name}.jpg") as file:
        file.write(buffer.getvalue())
    with atomic_file(labels / f"{name}.json") as file:
        label = sample_to_label(sample, name, source)
        text = json.dumps(label, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        file.write(text.encode("utf-8"))


def read_sample(label: Path, images: Path | None = None) -> Sample:
    """Read a sample that ``write_sample`` wrote.

    Args:
        label: The JSON file.
        images: Folder of the picture; by default that of the label.

    Raises:
        InputError: A file is missing or is none of ours.
    """
    from PIL import Image

    try:
        data = parse_json(read_text(label))
        with Image.open((images or label.parent) / data["image"]) as picture:
            return label_to_sample(data, np.array(picture.convert("RGB")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{label}: is no label of tablerec synth ({error}); draw it again") from error


def _table_to_dict(sample: Sample, index: int) -> dict[str, Any]:
    cells = sample.cells
    mine = np.flatnonzero(cells.tables == index)
    boxes = quads_to_boxes(cells.quads[mine]).round(2).tolist()
    entries = []
    for at, box in zip(mine.tolist(), boxes, strict=True):
        kind = cells.kinds[at]
        entry = {
            "row": int(cells.rows[at]),
            "col": int(cells.cols[at]),
            "rowspan": int(cells.rowspans[at]),
            "colspan": int(cells.colspans[at]),
            "bbox": box,
            "quad": _quad(cells.quads[at]),
            "text": cells.texts[at],
            "kind": kind,
        }
        if kind in ("column", "row", "section"):
            entry["header"] = kind
        entries.append(entry)
    return {
        "n_rows": int(sample.tables.n_rows[index]),
        "n_cols": int(sample.tables.n_cols[index]),
        "quad": _quad(sample.tables.quads[index]),
        "cells": entries,
        "html": table_to_html(sample.to_tables()[index]),
    }


def _quad(corners: NDArray[np.float32]) -> list[list[float]]:
    quad: list[list[float]] = np.round(corners.astype(float), 2).tolist()
    return quad
