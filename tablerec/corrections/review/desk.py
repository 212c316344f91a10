"""The tables on the desk: pictures are read one after the other while a person already corrects the first."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats, Image
from postprocess.geometry.boxes import quads_to_boxes
from postprocess.word import Word
from tablerec.config import Settings
from tablerec.corrections.editor import Correction, CorrectionFolder, page_to_drafts
from tablerec.corrections.editor.draft import cut
from tablerec.corrections.editor.folder import image_to_key
from tablerec.corrections.editor.framing import crop_picture, frame_to_draft, hide, to_window, turn_window
from tablerec.corrections.editor.reading import Reader
from tablerec.errors import InputError, TablerecError
from tablerec.inputs.images import display_name, load_pages
from tablerec.inputs.turning import turn_picture
from tablerec.result import Page, PageImage

Read = Callable[[str], Iterable[Page]]
"""From a path to the pages in that file, as ``Recognizer.pages`` gives them."""
ReadFrame = Callable[[PageImage], Iterable[Page]]
"""From a picture that is one table to its page."""

_Known = dict[str, dict[str, list[str]]]
"""SHA-256 of each file that was read -> pages that were asked for, empty for all -> names of their tables."""

_PATIENCE = 30.0
"""Seconds that the end of a page is waited for."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    source: str
    sha256: str


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A reader that waits for its turn."""

    reader: Reader
    turn: threading.Lock

    def read(self, image: Image) -> list[Word]:
        with self.turn:
            return self.reader.read(image)

    def read_quads(self, image: Image, quads: NDArray[np.floating]) -> list[Word]:
        with self.turn:
            return self.reader.read_quads(image, quads)


class Desk:
    """All tables of a review, and how far the reading is.

    What was read is in ``sources.jsonl`` of the corrections folder: a picture is read once, whatever its name,
    unless its tables are missing.

    Args:
        inputs: Files, all inside ``folder``.
        folder: Names of inputs are relative to it.
        corrections: Where everything is kept.
        read: Reads a file.
        read_frame: Reads a part of a page that a person says is a table; with None nothing is recognized there.
        settings: How ``read`` opens documents: their password, and the pages that count; the default where None.
        reader: Reads cells again, see ``tablerec.corrections.editor.answers``.

    Raises:
        OutputError: A broken journal cannot be kept aside.
    """

    def __init__(
        self,
        inputs: Sequence[Path],
        folder: Path,
        corrections: CorrectionFolder,
        read: Read,
        read_frame: ReadFrame | None = None,
        settings: Settings | None = None,
        reader: Reader | None = None,
    ) -> None:
        self.inputs, self.folder, self.corrections = list(inputs), folder, corrections
        self._read = read
        self._settings = settings or Settings()
        self._read_frame = read_frame or (lambda picture: [Page(picture)])
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        """One page is read at a time: the networks are not made for more."""
        self.reader = None if reader is None else _Waiting(reader, self._reading)
        self._tables: dict[str, Correction] = {}
        self._files: dict[str, _File] = {}
        """Name of a table -> where it is from."""
        self._problems: list[str] = []
        self._n_read = 0
        self._stop = threading.Event()
        self._worker = threading.Thread(target=self.read_all, name="reader", daemon=True)

    def start(self) -> None:
        """Read the inputs in the background."""
        self._worker.start()

    def stop(self) -> None:
        """End the reading after the page that is being read, which is waited for, but not for ever."""
        self._stop.set()
        # Python may hang at its end while a thread still imports or computes.
        if self._worker.is_alive():
            self._worker.join(_PATIENCE)
        self._reading.acquire(timeout=_PATIENCE)  # and kept: no frame is read after this

    def read_all(self) -> None:
        """Read all inputs that were not read before; what cannot be read is a problem of the list."""
        try:
            kept, known = self.corrections.read(), self._known()
            self.corrections.mend()
        except (TablerecError, OSError) as error:
            self._problems.append(str(error))
            self._n_read = len(self.inputs)
            return
        for path in self.inputs:
            if self._stop.is_set():
                return
            try:
                self._read_one(path, kept, known)
            except TablerecError as error:
                self._problems.append(str(error))
            except Exception as error:
                _logger.exception("%s", path)
                self._problems.append(f"{display_name(str(path))}: cannot be read ({error!r}); report it")
            with self._lock:
                self._n_read += 1

    def correction(self, name: str) -> Correction:
        """Return a table by its name.

        Raises:
            InputError: There is none.
        """
        with self._lock:
            found = self._tables.get(name)
        if found is None:
            raise InputError(f"there is no table {display_name(name[:100])!r}: go back to the list")
        return found

    def page(self, name: str) -> PageImage:
        """Return the page that a table is on, upright.

        Raises:
            InputError: There is no such table, or its file is not what it was.
        """
        head, file = self.correction(name).head, self._files[name]
        page = next(load_pages(str(file.path), replace(self._settings, pages=None), first=head.page), None)
        turned = None if page is None else turn_picture(page, head.turn)
        if turned is None or (head.window and image_to_key(cut(turned.image, head.window)) != head.key):
            shown = display_name(str(file.path))
            raise InputError(f"{shown}: was changed since it was read; start the review again")
        return turned

    def add(self, name: str, box_xyxy: Sequence[float], shape: tuple[int, int] | None = None) -> Correction:
        """Begin a table that was missed, on the page of another one.

        Where no table was known on that page, the page itself, if nobody touched it, is marked as none. What the
        pictures of others show of the new one is painted over: their labels say nothing of it.

        Args:
            name: Of any table on that page.
            box_xyxy: Around the table, pixels of ``page(name)``; what is outside the page is cut off.
            shape: Numbers of even rows and columns; None takes the table that is found there.

        Raises:
            InputError: There is no such table or page, or the box is no box on it.
            OutputError: It cannot be kept.
        """
        page, head, file = self.page(name), self.correction(name).head, self._files[name]
        frame = to_window(box_xyxy, page)
        with self._reading:
            [found] = self._read_frame(replace(crop_picture(page, frame), source=str(file.path)))
        height, width = page.image.shape[:2]
        frame = turn_window(frame, found.turn, (width, height))
        turn = (head.turn + found.turn) % 360
        with self._lock:
            here = [self._tables[each] for each in self._names_of(file) if self._tables[each].head.page == head.page]
        number = 1 + max(each.head.number for each in here)
        others = {each.head.name: box for each in here if (box := _box_on_page(each, turn)) is not None}
        draft = frame_to_draft(found, frame, list(others.values()), number, shape)
        added = self.corrections.open(replace(draft, source=head.source, turn=turn))
        self._add([added], file)
        self._remember(file)
        for each in here:
            if each.head.number == 0 and each.version == 0:
                self.corrections.do(each, {"do": "reject"})
        self._hide(added, [each for each in here if each.head.name in others], turn_picture(page, found.turn))
        return added

    def listing(self) -> dict[str, Any]:
        """Return the list of tables, the most doubtful first, ready for JSON."""
        with self._lock:
            tables = sorted(self._tables.values(), key=lambda table: (table.head.sureness, table.head.name))
            n_read = self._n_read
        return {
            "n_inputs": len(self.inputs),
            "n_read": n_read,
            "problems": [*self.corrections.problems, *self._problems],
            "folder": display_name(self.corrections.folder.name),
            "tables": [_summary(table) for table in tables],
        }

    def _read_one(self, path: Path, kept: dict[str, Correction], known: _Known) -> None:
        file = _File(path, str(path.relative_to(self.folder)), _digest(path))
        notes, wanted = known.get(file.sha256, {}), self._settings.page_numbers
        # What a person added is found by no reading.
        here = [kept[name] for names in notes.values() for name in names if name in kept]
        here = [each for each in here if each.head.page in wanted]
        names = notes.get(wanted.text, notes.get(""))
        if names is not None and all(name in kept for name in names):
            self._add(here, file)
            return
        pages = iter(self._read(str(path)))
        while (page := self._next(pages)) is not None:
            drafts = [replace(draft, source=file.source) for draft in page_to_drafts(page)]
            self._add([self.corrections.open(draft) for draft in drafts], file)
            if self._stop.is_set():
                return
        self._add([each for each in here if each.head.name not in self._tables], file)
        self._remember(file)

    def _hide(self, added: Correction, others: Sequence[Correction], page: PageImage) -> None:
        """Paint a table over in the pictures of others on its page."""
        boxes = {each.head.name: _box_on_page(each, added.head.turn) for each in (added, *others)}
        for each in others:
            own, window = boxes[each.head.name], each.head.window
            assert own is not None and window is not None  # they are beside it
            offset, seen = np.tile(window[:2], 2), cut(page.image, window)
            beside = [box - offset for name, box in boxes.items() if name != each.head.name and box is not None]
            painted = hide(seen, own - offset, beside)
            if painted is not seen:
                self.corrections.write_picture(each, painted)

    def _next(self, pages: Iterator[Page]) -> Page | None:
        with self._reading:
            return next(pages, None)

    def _add(self, corrections: Sequence[Correction], file: _File) -> None:
        with self._lock:
            for each in corrections:
                self._tables[each.head.name], self._files[each.head.name] = each, file

    def _names_of(self, file: _File) -> list[str]:
        return [name for name, each in self._files.items() if each.sha256 == file.sha256]

    @property
    def _sources(self) -> Path:
        return self.corrections.folder / "sources.jsonl"

    def _known(self) -> _Known:
        """What was read before; a broken line only means reading it again."""
        known: _Known = {}
        if not self._sources.is_file():
            return known
        for line in self._sources.read_text("utf-8", errors="replace").splitlines():
            try:
                data = json.loads(line)
                notes = known.setdefault(str(data["sha256"]), {})
                notes[str(data.get("pages", ""))] = [str(name) for name in data["tables"]]
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
        return known

    def _remember(self, file: _File) -> None:
        """Note what tables a file has; of several notes on the same pages of it the last counts."""
        with self._lock:
            entry = {"source": file.source, "sha256": file.sha256, "tables": self._names_of(file)}
        if self._settings.page_numbers.text:
            entry["pages"] = self._settings.page_numbers.text
        try:
            with self._sources.open("ab") as notes:
                notes.write((json.dumps(entry, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))
        except OSError as error:
            self._problems.append(f"{self._sources.name}: cannot be written ({error.strerror}); make room")


def _summary(table: Correction) -> dict[str, Any]:
    head, now = table.head, table.table
    return {
        "name": head.name,
        "source": display_name(head.source),
        "page": head.page,
        "number": head.number,
        "turn": head.turn,
        "window": head.window,
        "sureness": round(head.sureness, 3),
        "n_rows": now.n_rows,
        "n_cols": now.n_cols,
        "n_steps": table.version,
        "verdict": table.verdict,
    }


def _box_on_page(table: Correction, turn: int) -> Floats | None:
    """``(4,)`` where a table is on its page; None where it is none, or that is not known."""
    head, quad = table.head, table.table.quad
    if head.window is None or head.turn != turn or not head.number or table.verdict == "rejected" or quad is None:
        return None
    box: Floats = quads_to_boxes([quad])[0] + np.tile(head.window[:2], 2)
    return box


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            digest = hashlib.sha256()
            while chunk := file.read(1 << 20):
                digest.update(chunk)
            return digest.hexdigest()
    except OSError as error:
        name = display_name(str(path))
        raise InputError(f"{name}: cannot be read ({error.strerror}); check the file") from error
