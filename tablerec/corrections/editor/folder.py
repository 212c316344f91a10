"""The corrections folder: journals, workbooks, and labels that ``tablerec train`` takes.

::

    corrections/
      annotations/instance_train.json   saved tables as COCO, in PaddleX's layout
      annotations/instance_val.json     every fifth of them, so that a training can be validated
      images/NAME.png, NAME.json        each table's picture, and beside it the label of a saved one
      tables/NAME.xlsx, NAME.html       the saved table
      journal/NAME.jsonl                every step
      journal/NAME.begun                a step that writes the files above, until all of them are written
      inputs/                           pictures and PDFs that were given to the page of `tablerec review`
      learnt/                           weights that `tablerec review` learned from saved tables
      outputs/                          all tables as one workbook, archive or document
      alike.json, joined.json           what was done to all tables like one; tables over several pages
      session.json                      port and token of `tablerec review`, for nobody else to read

The pictures are copies, so that the folder can be moved and trained on as it is.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from postprocess.arrays import Image
from postprocess.editing.placing import tidy
from postprocess.editing.state import State
from postprocess.export import tables_to_html
from tablerec.corrections.editor.correction import Correction, read_correction
from tablerec.corrections.editor.draft import Draft
from tablerec.corrections.editor.head import Head
from tablerec.corrections.editor.label import find_fault, table_to_label
from tablerec.corrections.proof import to_workbook
from tablerec.errors import InputError, OutputError
from tablerec.fields import Fields
from tablerec.inputs.images import display_name
from tablerec.labels.bench import is_bench, read_bench
from tablerec.labels.coco import labels_to_coco
from tablerec.labels.files import parse_json, read_text
from tablerec.labels.label import Label
from tablerec.outputs.files import atomic_file, check_folder

OURS = "corrections of tablerec"
"""Says in a COCO file that it can be written anew."""

_PARTS = ("annotations", "images", "inputs", "journal", "learnt", "outputs", "tables", "sources.jsonl")

_BEGUN = ".begun"
_SPLITS = ("train", "val")
_TRAIN_PER_VAL = 4
"""Corrections for training for each one for validation."""
_MANY, _LATER = 100, 1.0
"""Labels from which on the COCO files are written so many seconds after a save: they hold all of them anew."""
_PIECE = 500
"""Entries of a list that are made JSON at once."""

_logger = logging.getLogger(__name__)

_Stamp = tuple[int, int, int]
"""Number of a file, its size and time: another content has another one. Zeros where there is no file."""


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
        for name in _PARTS:
            self.inside(name)
        self.problems: list[str] = []
        """What was found broken; each file is kept under another name."""
        self._lock = threading.RLock()
        self._labels: dict[Path, tuple[_Stamp, Label]] = {}
        """Labels as they were read, and when: each save needs all of them."""
        self._written: dict[Path, _Stamp] = {}
        """COCO files of ours."""
        self._writing = threading.Lock()
        self._waiting: threading.Timer | None = None

    def read(self) -> dict[str, Correction]:
        """Read all journals; a broken one is kept aside and reported in ``problems``.

        Returns:
            Name -> correction, sorted by name.
        """
        found = {}
        for path in sorted((self.folder / "journal").glob("*.jsonl")):
            correction = self._read(path)
            if correction is not None and self._has_picture(correction):
                found[correction.head.name] = correction
        return found

    def read_one(self, name: str) -> Correction | None:
        """Read a journal; None where there is none with a picture. A broken one is kept aside and reported."""
        path = self.folder / "journal" / f"{name}.jsonl"
        if path.name != f"{name}.jsonl" or not path.is_file():
            return None
        correction = self._read(path)
        return correction if correction is not None and self._has_picture(correction) else None

    def inside(self, name: str) -> Path:
        """Return a part of the folder, there or not yet.

        Raises:
            OutputError: It is a link that leads out of the folder.
        """
        path = self.folder / name
        if self._leads_out(path):
            name = display_name(str(path))
            raise OutputError(f"{name}: a link that leads out of the folder; remove it").named("link", name)
        return path

    def splits(self) -> dict[str, str]:
        """The tables that have a label: name -> ``train`` or ``val``."""
        return {label.image.stem: label.split or "train" for label in self._read_labels()}

    def holds(self, path: Path) -> bool:
        """Whether a file is there, and in the folder."""
        return path.is_file() and not self._leads_out(path)

    def mend(self) -> None:
        """Finish what was cut off, and write the COCO files anew: a label may have been removed or broken by hand.

        Raises:
            OutputError: A file cannot be written.
        """
        with self._lock:
            self._finish()
        self._read_labels()
        with self._lock:
            self._update_coco()

    def flush(self) -> None:
        """Write the COCO files, if they wait for it; what goes wrong is in ``problems``."""
        with self._writing:
            with self._lock:
                if self._waiting is None:
                    return
                self._waiting.cancel()
                self._waiting = None
            try:
                self._write_coco()  # without the lock: nobody waits for it
            except OutputError as error:
                self._report(str(error))

    def _update_coco(self) -> None:
        if len(self._labels) < _MANY:
            if any((self.folder / "images").glob("*.json")) or any(self._coco(split).exists() for split in _SPLITS):
                self._write_coco()
        elif self._waiting is None:
            self._waiting = threading.Timer(_LATER, self.flush)
            self._waiting.start()

    @contextmanager
    def _begun(self, correction: Correction, step: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """A step that writes several files: it is noted until all of them and the journal say the same."""
        note = correction.path.with_suffix(_BEGUN)
        _write(note, json.dumps({"step": step, "version": correction.version}).encode())
        yield step
        _remove(note)

    def _finish(self) -> None:
        """Do again what was cut off; where the table has changed since, its files are made those of that state."""
        for note in sorted((self.folder / "journal").glob(f"*{_BEGUN}")):
            journal = note.with_suffix(".jsonl")
            correction = self._read(journal) if journal.is_file() else None
            try:
                fields = Fields(note, parse_json(read_text(note), str(note)))
                version, step = fields.whole("version"), fields.get("step", _begun_step)
            except (InputError, ValueError):
                correction = None
            if correction is not None:
                self._do_again(correction, step, version)
            _remove(note)

    def _do_again(self, correction: Correction, step: dict[str, Any], version: int) -> None:
        state = correction.state_at(version)
        if correction.version == version:
            self.do(correction, step)
        elif state is not None and step["do"] == "save":
            self._write_table(correction, state)
        elif state is not None:
            self._remove_table(correction)

    def open(self, draft: Draft) -> Correction:
        """Go on with the correction of a table, or begin one.

        Raises:
            OutputError: A file cannot be written.
        """
        key = image_to_key(draft.image)
        with self._lock:
            # Not all systems tell capitals from small letters, and the folder may move to one of those.
            there = {path.name.casefold(): path for path in (self.folder / "journal").glob("*.jsonl")}
            for number in itertools.count(1):
                name = draft.name if number == 1 else f"{draft.name}-{number}"
                path = self.folder / "journal" / f"{name}.jsonl"
                if not path.is_file():
                    path = there.get(path.name.casefold(), path)
                known = self._read(path) if path.is_file() else None
                if known is not None and known.head.key == key and known.head.number == draft.number:
                    if not self._has_picture(known):
                        _write(self.picture(known), image_to_png(draft.image))
                    return known
                if known is None and not path.exists():
                    return self._begin(path.with_name(f"{name}.jsonl"), name, key, draft)
        raise AssertionError("counts without end")

    def picture(self, correction: Correction) -> Path:
        """Where the picture of a table is."""
        return self.folder / "images" / f"{correction.head.name}.png"

    def read_picture(self, correction: Correction) -> bytes:
        """Return the PNG file of a table.

        Raises:
            InputError: It cannot be read.
        """
        path = self.picture(correction)
        try:
            if self._leads_out(path):
                name = display_name(str(path))
                raise InputError(f"{name}: a link that leads out of the folder; remove it").named("link", name)
            return path.read_bytes()
        except OSError as error:
            name = display_name(str(path))
            message = f"{name}: cannot be read ({error.strerror}); start again, which writes it anew"
            raise InputError(message).named("no_picture", name, error.strerror) from error

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
            if correction.is_done(step):
                return
            correction.check(version, {key: value for key, value in step.items() if key != "id"})
            mark = {"id": step["id"]} if "id" in step else {}
            if step.get("do") == "save":
                self.save(correction, mark)
            elif step.get("do") == "reject":
                self.reject(correction, mark)
            else:
                correction.do(step)

    def reject(self, correction: Correction, mark: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Take out what was saved of a table that is none, and mark it as done.

        Args:
            correction: Of the table.
            mark: What the step has besides its name: its ``id``.

        Raises:
            OutputError: A file cannot be removed.
        """
        with self._lock, correction.lock:
            correction.check(None)
            with self._begun(correction, {"do": "reject", **mark}) as step:
                self._remove_table(correction)
                correction.do(step, correction.version)

    def save(self, correction: Correction, mark: Mapping[str, Any] = MappingProxyType({})) -> list[Path]:
        """Write workbook, page and labels of a table, and mark it as done.

        Where it reaches out of its picture, it has no label; ``Correction.view`` says so.

        Args:
            correction: Of the table.
            mark: What the step has besides its name: its ``id``.

        Returns:
            The files written.

        Raises:
            OutputError: A file cannot be written.
        """
        with self._lock, correction.lock:
            correction.check(None)
            with self._begun(correction, {"do": "save", **mark}) as step:
                files = self._write_table(correction, correction.state)
                correction.do(step, correction.version)
            return files

    def _write_table(self, correction: Correction, state: State) -> list[Path]:
        """Write the files of a table."""
        name, table = correction.head.name, tidy(state.table)
        workbook = io.BytesIO()
        to_workbook([table]).save(workbook)
        files = {
            self.folder / "tables" / f"{name}.xlsx": workbook.getvalue(),
            self.folder / "tables" / f"{name}.html": tables_to_html([table], name).encode(),
        }
        label = self.folder / "images" / f"{name}.json"
        is_label = find_fault(table, correction.head.size_wh) is None
        if is_label:
            split = self._choose_split(label)
            content = table_to_label(correction.head, table, split, state.words)
            files[label] = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1).encode()
        else:
            _remove(label)
        for path, data in files.items():
            _write(path, data)
        self._update_coco()
        return [*files, self._coco(split)] if is_label else [*files]

    def _remove_table(self, correction: Correction) -> None:
        name = correction.head.name
        for path in (f"tables/{name}.xlsx", f"tables/{name}.html", f"images/{name}.json"):
            _remove(self.folder / path)
        self._update_coco()

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

    def _leads_out(self, path: Path) -> bool:
        # Unlike ``resolve``, it bears a link to itself.
        return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.folder))

    def _has_picture(self, correction: Correction) -> bool:
        return self.holds(self.picture(correction))

    def _read(self, path: Path) -> Correction | None:
        try:
            if self._leads_out(path):
                raise InputError(f"{display_name(str(path))}: a link that leads out of the folder")
            correction, problem = read_correction(path)
        except InputError as error:
            self.set_aside(path, str(error))
            return None
        if problem is not None:
            lines = path.read_bytes().split(b"\n")[: 1 + correction.version]
            self.set_aside(path, problem)
            _write(path, b"\n".join(lines) + b"\n")
            correction, _ = read_correction(path)
        return correction

    def _begin(self, path: Path, name: str, key: str, draft: Draft) -> Correction:
        height, width = draft.image.shape[:2]
        head = Head(
            name, draft.source, draft.page, draft.number, key, (width, height), draft.sureness, draft.text_height,
            draft.turn, draft.window,
        )  # fmt: skip
        correction = Correction(path, head, State(draft.table, draft.words))
        _write(self.picture(correction), image_to_png(draft.image))
        path.parent.mkdir(parents=True, exist_ok=True)
        correction.begin()
        return correction

    def _coco(self, split: str) -> Path:
        return self.folder / "annotations" / f"instance_{split}.json"

    def _write_coco(self) -> None:
        """Write all labels of the folder; a file that somebody else wrote there is kept aside."""
        labels = self._read_labels()
        for split in _SPLITS:
            path = self._coco(split)
            if path.exists() and not self._is_ours(path):
                name = display_name(str(path))
                self.set_aside(path, f"{name}: was not written by the corrections, or is broken")
            chosen = [label for label in labels if label.split == split]
            sizes = [label.size_wh or (0, 0) for label in chosen]
            content = labels_to_coco(chosen, [label.image.name for label in chosen], sizes)
            _write(path, b"".join(_to_pieces({"info": {"description": OURS}, **content})))
            self._written[path] = _stamp(path)

    def _choose_split(self, path: Path) -> str:
        """The split of a label: it keeps the one that it had, and every fifth new one validates."""
        labels = self._read_labels()
        if path in self._labels:  # read just now, or before it was rejected
            return self._labels[path][1].split or "train"
        n_train, n_val = (sum(label.split == split for label in labels) for split in _SPLITS)
        return "val" if n_train >= _TRAIN_PER_VAL * (n_val + 1) else "train"

    def _read_labels(self) -> list[Label]:
        labels = []
        for path in sorted((self.folder / "images").glob("*.json")):
            with self._lock:  # for each one: somebody may wait to do a step
                label = self._read_label(path)
            if label is not None:
                labels.append(label)
        return labels

    def _is_ours(self, path: Path) -> bool:
        if self._written.get(path) == _stamp(path):
            return True
        try:
            data = parse_json(read_text(path), str(path))
        except InputError:
            return False
        return isinstance(data, dict) and data.get("info") == {"description": OURS}

    def _read_label(self, path: Path) -> Label | None:
        stamp = _stamp(path)
        if path in self._labels and self._labels[path][0] == stamp:
            return self._labels[path][1]
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
        label = replace(label, split=label.split or "train")
        self._labels[path] = stamp, label
        return label


def _begun_step(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or value.get("do") not in ("save", "reject"):
        raise ValueError("a step that writes files")
    return value


def image_to_png(image: Image) -> bytes:
    """Encode ``(H, W, 3)`` uint8 BGR without loss."""
    import cv2

    return bytes(cv2.imencode(".png", image)[1])


def image_to_key(image: Image) -> str:
    """Return what tells pictures apart: equal pixels, equal key."""
    digest = hashlib.sha256(repr(image.shape).encode())
    digest.update(image.tobytes())
    return digest.hexdigest()


def _to_pieces(content: Mapping[str, Any]) -> Iterator[bytes]:
    """JSON in pieces: no other thread works while one is made.

    >>> b"".join(_to_pieces({"a": [1, 2], "b": "c"}))
    b'{"a": [1, 2], "b": "c"}'
    """
    sign = "{"
    for key, value in content.items():
        parts = [value[at : at + _PIECE] for at in range(0, len(value), _PIECE)] if isinstance(value, list) else []
        texts = (json.dumps(part, ensure_ascii=False)[1:-1] for part in parts)
        yield f"{sign}{json.dumps(key)}: ".encode()
        if isinstance(value, list):
            yield b"["
            for number, text in enumerate(texts):
                yield f"{', ' if number else ''}{text}".encode()
            yield b"]"
        else:
            yield json.dumps(value, ensure_ascii=False).encode()
        sign = ", "
    yield b"}"


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        name = display_name(str(path))
        message = f"{name}: cannot be removed ({error.strerror}); close it"
        raise OutputError(message).named("unremovable", name, error.strerror) from error


def _stamp(path: Path) -> _Stamp:
    try:
        stat = path.stat()
    except OSError:
        return 0, 0, 0
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _write(path: Path, content: bytes) -> None:
    with atomic_file(path) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())  # else a machine that stops may leave a new name without content
