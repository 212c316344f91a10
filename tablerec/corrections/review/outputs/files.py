"""Workbook, archive, JSON and CSV of all tables, each written whole or not at all."""

from __future__ import annotations

import io
import json
import re
import secrets
import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from postprocess.arrays import Image
from postprocess.export import CSV_ENCODING, table_to_csv, table_to_dict, tables_to_html
from postprocess.export.json import FORMAT, VERSION
from tablerec.corrections.editor import Correction, CorrectionFolder
from tablerec.corrections.editor.answers import png_to_image
from tablerec.corrections.review.outputs.crops import crops
from tablerec.corrections.review.outputs.entries import Entry
from tablerec.corrections.review.outputs.workbook import CROPS, write_workbook
from tablerec.errors import InputError, OutputError
from tablerec.inputs.images import display_name
from tablerec.outputs.files import atomic_file

FOLDER = "outputs"
"""Of the corrections folder."""
NAMES = {"xlsx": "tables.xlsx", "zip": "tables.zip", "json": "tables.json", "csv": "tables_csv.zip"}
"""Kind -> name of the file."""

_BEGIN = f'{{"format": "{FORMAT}", "version": {VERSION}, "tables": [\n'.encode()
_END = b"\n]}\n"
_CropNames = dict[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asks for.

    Args:
        kind: One of ``NAMES``.
        with_crops: Whether the cells of workbooks lead to their pictures.
        language: Of the sheet of contents.
    """

    kind: str
    with_crops: bool = False
    language: str = "en"


def write_output(entries: Sequence[Entry], folder: CorrectionFolder, wanted: Wanted) -> Path:
    """Write all tables as one file, beside a folder of crops where a workbook leads to them.

    Raises:
        InputError: A picture cannot be read.
        OutputError: The file cannot be written, or a table does not fit in it.
    """
    target = folder.inside(FOLDER) / NAMES[wanted.kind]
    if wanted.kind == "xlsx":
        crop_names = _write_crops(entries, folder) if wanted.with_crops else None
        with atomic_file(target) as file:
            write_workbook(entries, file, wanted.language, crop_names)
        return target
    write: dict[str, Callable[[BinaryIO], None]] = {
        "json": lambda file: _write_json(entries, file),
        "csv": lambda file: _write_csv(entries, file),
        "zip": lambda file: _write_zip(entries, folder, wanted, file),
    }
    with atomic_file(target) as file:
        write[wanted.kind](file)
    return target


def _write_json(entries: Sequence[Entry], file: BinaryIO) -> None:
    """One document that ``postprocess.export.tables_from_json`` reads; table by table, as all may be many."""
    file.write(_BEGIN)
    for number, entry in enumerate(entries):
        file.write((b",\n" if number else b"") + _to_json(entry))
    file.write(_END)


def _to_json(entry: Entry) -> bytes:
    head = entry.parts[0].head
    about: dict[str, Any] = {"name": entry.name, "source": display_name(head.source), "pages": entry.pages}
    about |= {"verdict": entry.verdict, "share_proved": entry.share_proved}
    try:
        text = json.dumps({**about, **table_to_dict(entry.table)}, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise OutputError(f"{entry.name}: a coordinate or score is not a finite number ({error})") from error
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def _write_csv(entries: Sequence[Entry], file: BinaryIO) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in entries:
            archive.writestr(f"{entry.name}.csv", _to_csv(entry))


def _to_csv(entry: Entry) -> bytes:
    return table_to_csv(entry.table).encode(CSV_ENCODING, "replace")


def _write_zip(entries: Sequence[Entry], folder: CorrectionFolder, wanted: Wanted, file: BinaryIO) -> None:
    folder.flush()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        crop_names: _CropNames = {}
        for entry in entries:
            page = tables_to_html([entry.table], entry.name).encode("utf-8", "replace")
            archive.writestr(f"html/{entry.name}.html", page)
            archive.writestr(f"csv/{entry.name}.csv", _to_csv(entry))
            archive.writestr(f"json/{entry.name}.json", _BEGIN + _to_json(entry) + _END)
            if wanted.with_crops:
                names = []
                for name, content in _crops_of(entry, folder):
                    archive.writestr(f"{CROPS}/{entry.name}/{name}", content, zipfile.ZIP_STORED)
                    names.append(name)
                crop_names[entry.name] = frozenset(names)
        for path, name in _label_files(entries, folder):
            archive.write(path, f"labels/{name}", zipfile.ZIP_STORED if path.suffix == ".png" else zipfile.ZIP_DEFLATED)
        workbook = io.BytesIO()
        write_workbook(entries, workbook, wanted.language, crop_names if wanted.with_crops else None)
        archive.writestr(NAMES["xlsx"], workbook.getvalue())


def _label_files(entries: Sequence[Entry], folder: CorrectionFolder) -> Iterator[tuple[Path, str]]:
    """The labels of what is saved, as they lie in the corrections folder: a training takes them unpacked."""
    for part in (part for entry in entries for part in entry.parts if part.verdict == "saved"):
        for suffix in ("json", "png"):
            path = folder.inside("images") / f"{part.head.name}.{suffix}"
            if folder.holds(path):
                yield path, f"images/{path.name}"
    for split in ("train", "val"):
        path = folder.inside("annotations") / f"instance_{split}.json"
        if folder.holds(path):
            yield path, f"annotations/{path.name}"


def _crops_of(entry: Entry, folder: CorrectionFolder) -> Iterator[tuple[str, bytes]]:
    for part, cells in zip(entry.parts, entry.cells_of_parts(), strict=True):
        yield from crops(cells, _picture(part, folder))


def _picture(part: Correction, folder: CorrectionFolder) -> Image:
    try:
        return png_to_image(folder.read_picture(part))
    except InputError as error:
        raise InputError(f"{part.head.name}.png: {error}") from error


def _write_crops(entries: Sequence[Entry], folder: CorrectionFolder) -> _CropNames:
    """Write the pictures of all cells; those of before give way when the new ones are complete."""
    target = folder.inside(FOLDER) / CROPS
    hidden = target.with_name(f".{CROPS}-{secrets.token_hex(6)}")
    names: _CropNames = {}
    try:
        for entry in entries:
            of_table = hidden / entry.name
            of_table.mkdir(parents=True)
            written = []
            for name, content in _crops_of(entry, folder):
                (of_table / name).write_bytes(content)
                written.append(name)
            names[entry.name] = frozenset(written)
        if target.is_symlink():
            target.unlink()
        elif target.exists():
            shutil.rmtree(target)
        hidden.rename(target)
    except OSError as error:
        message = f"{target.name}: cannot be written ({error.strerror}); make room, or close it"
        raise OutputError(message).named("unwritable", target.name, error.strerror) from error
    finally:
        with suppress(OSError):
            shutil.rmtree(hidden)
    return names
