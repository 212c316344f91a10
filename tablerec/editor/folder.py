"""The corrections folder: journals, workbooks, and labels that ``tablerec train`` takes.

::

    corrections/
      annotations/instance_train.json   saved tables as COCO, in PaddleX's layout
      annotations/instance_val.json     every fifth of them by its name, so that a training can be validated
      images/NAME.png, NAME.json        each table's picture, and beside it the label of a saved one
      tables/NAME.xlsx, NAME.html       the saved table
      journal/NAME.jsonl                every step

The pictures are copies, so that the folder can be moved and trained on as it is.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.boxes import quads_to_boxes
from postprocess.export import table_to_html, tables_to_html, write_excel
from postprocess.placing import tidy
from postprocess.table import Table
from tablerec.editor.correction import Correction, Head, read_correction
from tablerec.editor.draft import Draft
from tablerec.errors import InputError, OutputError
from tablerec.images import display_name
from tablerec.labels.bench import is_bench, read_bench
from tablerec.labels.coco import labels_to_coco
from tablerec.labels.convert import choose_split
from tablerec.labels.files import parse_json, read_text
from tablerec.labels.label import Label
from tablerec.output import atomic_file, check_folder
from tablerec.result import Image

OURS = "corrections of tablerec"
"""Says in a COCO file that it can be written anew."""

_TRAIN = 0.8
"""Share of the corrections for training."""

_logger = logging.getLogger(__name__)


class CorrectionFolder:
    """A folder of corrections, there or not yet.

    Args:
        folder: Where.

    Raises:
        OutputError: Nothing can be written there.
    """

    def __init__(self, folder: Path) -> None:
        check_folder(folder)
        self.folder = folder
        self.problems: list[str] = []
        """What was found broken; each file is kept under another name."""
        self._lock = threading.RLock()

    def read(self) -> dict[str, Correction]:
        """Read all journals; a broken one is kept aside and reported in ``problems``.

        Returns:
            Name -> correction, sorted by name.
        """
        found = {}
        for path in sorted((self.folder / "journal").glob("*.jsonl")):
            correction = self._read(path)
            if correction is not None and self.picture(correction).is_file():
                found[correction.head.name] = correction
        return found

    def open(self, draft: Draft) -> Correction:
        """Go on with the correction of a table, or begin one.

        Raises:
            OutputError: A file cannot be written.
        """
        key = image_to_key(draft.image)
        with self._lock:
            for number in itertools.count(1):
                name = draft.name if number == 1 else f"{draft.name}-{number}"
                path = self.folder / "journal" / f"{name}.jsonl"
                known = self._read(path) if path.is_file() else None
                if known is not None and known.head.key == key and known.head.number == draft.number:
                    return known
                if known is None and not path.exists():
                    return self._begin(path, name, key, draft)
        raise AssertionError("counts without end")

    def picture(self, correction: Correction) -> Path:
        """Where the picture of a table is."""
        return self.folder / "images" / f"{correction.head.name}.png"

    def write_picture(self, correction: Correction, image: Image) -> None:
        """Write another picture of the same size for a table.

        Raises:
            OutputError: It cannot be written.
        """
        with self._lock:
            _write(self.picture(correction), image_to_png(image))

    def do(self, correction: Correction, step: Mapping[str, Any], version: int | None = None) -> None:
        """Do a step of a correction, with all that belongs to it; see ``Correction.do``."""
        with self._lock, correction.lock:
            correction.check(version)
            if step.get("do") == "save":
                self.save(correction)
            elif step.get("do") == "reject":
                self.reject(correction)
            else:
                correction.do(step)

    def reject(self, correction: Correction) -> None:
        """Take out what was saved of a table that is none, and mark it as done.

        Raises:
            OutputError: A file cannot be removed.
        """
        name = correction.head.name
        files = [self.folder / "tables" / f"{name}.xlsx", self.folder / "tables" / f"{name}.html"]
        files.append(self.folder / "images" / f"{name}.json")
        with self._lock, correction.lock:
            was_saved = any(path.exists() for path in files)
            for path in files:
                try:
                    path.unlink(missing_ok=True)
                except OSError as error:
                    shown = display_name(str(path))
                    raise OutputError(f"{shown}: cannot be removed ({error.strerror}); close it") from error
            if was_saved:
                self._write_coco()
            correction.do({"do": "reject"})

    def save(self, correction: Correction) -> list[Path]:
        """Write workbook, page and labels of a table, and mark it as done.

        Raises:
            OutputError: A file cannot be written.
        """
        name = correction.head.name
        with self._lock, correction.lock:
            table = tidy(correction.table)
            workbook = io.BytesIO()
            write_excel([table], workbook)
            label = json.dumps(self._label(correction, table), ensure_ascii=False, allow_nan=False, indent=1)
            files = {
                self.folder / "tables" / f"{name}.xlsx": workbook.getvalue(),
                self.folder / "tables" / f"{name}.html": tables_to_html([table], name).encode(),
                self.folder / "images" / f"{name}.json": label.encode(),
            }
            for path, content in files.items():
                _write(path, content)
            self._write_coco()
            correction.do({"do": "save"})
            return [*files, self._coco(choose_split(self.picture(correction).name, _TRAIN))]

    def set_aside(self, path: Path, reason: str) -> None:
        """Give a broken file another name, so that it is kept, and report it."""
        for number in itertools.count(1):
            kept = path.with_name(f"{path.name}.broken-{number}")
            if not kept.exists():
                break
        try:
            path.rename(kept)
        except OSError as error:
            raise OutputError(
                f"{display_name(str(path))}: cannot be renamed ({error.strerror}); move it away"
            ) from error
        self._report(f"{reason}; kept as {display_name(kept.name)}")

    def _report(self, problem: str) -> None:
        _logger.warning("%s", problem)
        self.problems.append(problem)

    def _read(self, path: Path) -> Correction | None:
        try:
            correction, problem = read_correction(path)
        except InputError as error:
            self.set_aside(path, str(error))
            return None
        if problem is not None:
            lines = path.read_bytes().split(b"\n")[: 1 + correction.version]
            self.set_aside(path, problem)
            _write(path, b"\n".join(lines) + b"\n")
        return correction

    def _begin(self, path: Path, name: str, key: str, draft: Draft) -> Correction:
        height, width = draft.image.shape[:2]
        head = Head(
            name, draft.source, draft.page, draft.number, key, (width, height), draft.sureness, draft.text_height,
            draft.turn, draft.window,
        )  # fmt: skip
        correction = Correction(path, head, draft.table)
        _write(self.picture(correction), image_to_png(draft.image))
        path.parent.mkdir(parents=True, exist_ok=True)
        correction.begin()
        return correction

    def _label(self, correction: Correction, table: Table) -> dict[str, Any]:
        """The label in the form that ``tablerec eval`` reads, see ``tablerec.evaluate.truth``."""
        head = correction.head
        cells = []
        for cell in table.cells:
            entry: dict[str, Any] = {key: getattr(cell, key) for key in ("row", "col", "rowspan", "colspan", "text")}
            assert cell.quad is not None  # a correction has a place for each cell
            quad = np.round(_inside(np.array(cell.quad), head.size_wh), 2)
            entry |= {"bbox": quads_to_boxes([quad])[0].tolist(), "quad": quad.tolist()}
            cells.append(entry if cell.header is None else {**entry, "header": cell.header})
        content = {"n_rows": table.n_rows, "n_cols": table.n_cols, "cells": cells, "html": table_to_html(table)}
        meta: dict[str, Any] = {"width": head.size_wh[0], "height": head.size_wh[1]}
        meta |= {"bbox_kind": "cell", "has_text": True, "page": head.page}
        if head.text_height:
            meta["text_height"] = round(head.text_height, 2)
        place = {"id": head.name, "source": "corrections", "image": f"{head.name}.png"}
        return {**place, "original": display_name(head.source), **content, "meta": meta}

    def _coco(self, split: str) -> Path:
        return self.folder / "annotations" / f"instance_{split}.json"

    def _write_coco(self) -> None:
        """Write all labels of the folder; a file that somebody else wrote there is kept aside."""
        labels = [label for label in map(self._read_label, sorted((self.folder / "images").glob("*.json"))) if label]
        for split in ("train", "val"):
            path = self._coco(split)
            if path.exists() and not self._is_ours(path):
                name = display_name(str(path))
                self.set_aside(path, f"{name}: was not written by the corrections, or is broken")
            chosen = [label for label in labels if choose_split(label.image.name, _TRAIN) == split]
            sizes = [label.size_wh or (0, 0) for label in chosen]
            content = labels_to_coco(chosen, [label.image.name for label in chosen], sizes)
            _write(path, json.dumps({"info": {"description": OURS}, **content}, ensure_ascii=False).encode())

    def _is_ours(self, path: Path) -> bool:
        try:
            data = parse_json(read_text(path), str(path))
        except InputError:
            return False
        return isinstance(data, dict) and data.get("info") == {"description": OURS}

    def _read_label(self, path: Path) -> Label | None:
        try:
            data = parse_json(read_text(path), str(path))
            if not is_bench(data):
                raise InputError(f"{display_name(str(path))}: is no label")
            label = read_bench(path, data, self.folder)
            if label.has_errors:
                raise InputError(str(label.problems[0]))
        except InputError as error:
            self.set_aside(path, str(error))
            return None
        return label


def image_to_png(image: Image) -> bytes:
    """Encode ``(H, W, 3)`` uint8 BGR without loss."""
    import cv2

    return bytes(cv2.imencode(".png", image)[1])


def image_to_key(image: Image) -> str:
    """Return what tells pictures apart: equal pixels, equal key."""
    digest = hashlib.sha256(repr(image.shape).encode())
    digest.update(image.tobytes())
    return digest.hexdigest()


def _inside(points: np.ndarray[Any, Any], size_wh: tuple[int, int]) -> np.ndarray[Any, Any]:
    """Points moved into the picture: a label may not leave it."""
    return np.clip(points, 0, size_wh)


def _write(path: Path, content: bytes) -> None:
    with atomic_file(path) as file:
        file.write(content)
