"""The tables on the desk: pictures are read one after the other while a person already corrects the first."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import threading
from collections import OrderedDict
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
from tablerec.corrections.editor.reading import Reader, other_reader
from tablerec.errors import InputError, TablerecError
from tablerec.inputs.images import display_name, load_pages
from tablerec.inputs.turning import turn_picture
from tablerec.result import Page, PageImage

Read = Callable[[str], Iterable[Page]]
"""From a path to the pages in that file, as ``Recognizer.pages`` gives them."""
ReadFrame = Callable[[PageImage], Iterable[Page]]
"""From a picture that is one table to its page."""

FindTables = Callable[[PageImage], Iterable[Page]]
"""From a picture of one table, with its words, to its page with a trace: nothing is read, turned or bent."""

_Known = dict[str, dict[str, list[str]]]
"""SHA-256 of each file that was read -> pages that were asked for, empty for all -> names of their tables."""

INPUTS = "inputs"
"""Folder of the corrections folder: pictures that were given to the page."""

_IN_MEMORY = 64
"""Tables with all their states; the others are read again from their journals when somebody asks for them."""

_PATIENCE = 30.0
"""Seconds that the end of a page is waited for."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    source: str
    sha256: str
    number: int
    """Its place among the inputs."""


@dataclass(slots=True)
class _Listed:
    """What the list says of a table."""

    summary: dict[str, Any]
    revision: int
    """Of the list, when that changed last."""

    @property
    def order(self) -> tuple[bool, float, str]:
        """The most doubtful first; pages on which none was found after all tables."""
        return not self.summary["number"], self.summary["sureness"], self.summary["name"]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A reader that waits for its turn."""

    reader: Reader
    turn: threading.Lock

    @property
    def other(self) -> Reader | None:
        with self.turn:
            other = other_reader(self.reader)
        return other and _Waiting(other, self.turn)

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
        inputs: Files, all inside ``folder``. Those that were given to the page of an earlier review join them.
        folder: Names of inputs are relative to it.
        corrections: Where everything is kept.
        read: Reads a file.
        read_frame: Reads a part of a page that a person says is a table; with None nothing is recognized there.
        settings: How ``read`` opens documents: their password, and the pages that count; the default where None.
        reader: Reads cells again, see ``tablerec.corrections.editor.answers``.
        find: Finds the grids of a table again; with None no others are offered.

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
        find: FindTables | None = None,
    ) -> None:
        dropped = sorted(path for path in (corrections.folder / INPUTS).glob("*") if path.is_file())
        self.inputs, self.folder, self.corrections = [*inputs, *dropped], folder, corrections
        self._read = read
        self.settings = settings or Settings()
        self._read_frame = read_frame or (lambda picture: [Page(picture)])
        self._find = find
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        """One page is read at a time: the networks are not made for more."""
        self.reader = None if reader is None else _Waiting(reader, self._reading)
        self._recent: OrderedDict[str, Correction] = OrderedDict()
        self._listed: dict[str, _Listed] = {}
        self._files: dict[str, _File] = {}
        """Name of a table -> where it is from."""
        self._revision = 0
        self._run = secrets.token_hex(4)
        """Revisions of another run mean nothing."""
        self._problems: list[str] = []
        self._n_read = 0
        self._stop = threading.Event()
        self._worker: threading.Thread | None = None

    def start(self) -> None:
        """Read the inputs in the background."""
        with self._lock:
            if self._worker is None and not self._stop.is_set():
                self._worker = threading.Thread(target=self.read_all, name="reader", daemon=True)
                self._worker.start()

    def stop(self) -> None:
        """End the reading after the page that is being read, which is waited for, but not for ever."""
        self._stop.set()
        # Python may hang at its end while a thread still imports or computes.
        worker = self._worker
        if worker is not None:
            worker.join(_PATIENCE)
        self._reading.acquire(timeout=_PATIENCE)  # and kept: no frame is read after this

    def use(self, read: Read, read_frame: ReadFrame, find: FindTables | None = None) -> None:
        """Read with other weights, from the next page on."""
        with self._reading:
            self._read, self._read_frame, self._find = read, read_frame, find

    @property
    def finds(self) -> bool:
        """Whether the grids of a table can be found again."""
        return self._find is not None

    def find(self, picture: PageImage) -> list[Page]:
        """Find the grids of a table again, see ``FindTables``; nothing where that cannot be done."""
        with self._reading:
            return [] if self._find is None else list(self._find(picture))

    def add_input(self, path: Path) -> None:
        """Read one more file, in the background.

        Args:
            path: In the folder ``INPUTS`` of the corrections.
        """
        with self._lock:
            if path not in self.inputs:
                self.inputs.append(path)
        self.start()

    def read_all(self) -> None:
        """Read all inputs that were not read before; what cannot be read is a problem of the list."""
        try:
            known = self._known()
        except OSError as error:
            self._problems.append(str(error))
            with self._lock:
                self._n_read, self._worker = len(self.inputs), None
            return
        while (path := self._next_input()) is not None:
            try:
                self._read_one(path, known)
                if not self._n_read:
                    self.corrections.mend()  # reads all labels, so not before there is something to see
            except TablerecError as error:
                self._problems.append(str(error))
            except Exception as error:
                _logger.exception("%s", path)
                self._problems.append(f"{display_name(str(path))}: cannot be read ({error!r}); report it")
            with self._lock:
                self._n_read += 1

    def _next_input(self) -> Path | None:
        with self._lock:
            if self._n_read < len(self.inputs) and not self._stop.is_set():
                return self.inputs[self._n_read]
            self._worker = None
            return None

    def correction(self, name: str) -> Correction:
        """Return a table by its name.

        Raises:
            InputError: There is none, or its journal is gone.
        """
        with self._lock:
            found, is_known = self._recent.get(name), name in self._listed
            if found is not None:
                self._recent.move_to_end(name)
                return found
        found = self.corrections.read_one(name) if is_known else None
        if found is None:
            shown = display_name(name[:100])
            raise InputError(f"there is no table {shown!r}: go back to the list").named("no_table", shown)
        with self._lock:
            return self._remember_recent(found)

    def _remember_recent(self, correction: Correction) -> Correction:
        """Keep a table in memory, if it is not there, and let go of the one that nobody asked for longest."""
        kept = self._recent.setdefault(correction.head.name, correction)
        self._recent.move_to_end(correction.head.name)
        while len(self._recent) > _IN_MEMORY:
            _, left = self._recent.popitem(last=False)
            self._list(left)
        return kept

    def _list(self, correction: Correction) -> None:
        """Note what the list says of a table, where that has changed."""
        name, summary = correction.head.name, _summary(correction)
        if name not in self._listed or self._listed[name].summary != summary:
            self._revision += 1
            self._listed[name] = _Listed(summary, self._revision)

    def names(self) -> list[str]:
        """Names of all tables, in the order of their inputs."""
        with self._lock:
            return sorted(self._listed, key=self._place)

    def _place(self, name: str) -> tuple[int, int, int]:
        summary = self._listed[name].summary
        return self._files[name].number, summary["page"], summary["number"]

    def page(self, name: str) -> PageImage:
        """Return the page that a table is on, upright.

        Raises:
            InputError: There is no such table, or its file is not what it was.
        """
        head, file = self.correction(name).head, self._files[name]
        page = next(load_pages(str(file.path), replace(self.settings, pages=None), first=head.page), None)
        turned = None if page is None else turn_picture(page, head.turn)
        if turned is None or (head.window and image_to_key(cut(turned.image, head.window)) != head.key):
            shown = display_name(str(file.path))
            message = f"{shown}: has changed since it was read; start the review again"
            raise InputError(message).named("changed_since", shown)
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
        on_file = map(self.correction, self._names_of(file))
        here = [each for each in on_file if each.head.page == head.page]
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

    def listing(self, since: str = "") -> dict[str, Any]:
        """Return the list of tables, the most doubtful first, ready for JSON.

        Args:
            since: ``revision`` of an earlier listing: only tables that have changed after it are in the list.
        """
        run, _, number = since.partition("-")
        after = int(number) if run == self._run and number.isascii() and number.isdigit() else 0
        with self._lock:
            for each in self._recent.values():
                self._list(each)
            changed = [each for each in self._listed.values() if each.revision > after]
            n_read, n_inputs, revision = self._n_read, len(self.inputs), self._revision
        return {
            "n_inputs": n_inputs,
            "n_read": n_read,
            "problems": [*self.corrections.problems, *self._problems],
            "folder": display_name(self.corrections.folder.name),
            "revision": f"{self._run}-{revision}",
            "is_whole": not after,
            "tables": [each.summary for each in sorted(changed, key=lambda each: each.order)],
        }

    def _read_one(self, path: Path, known: _Known) -> None:
        is_dropped = path.parent == self.corrections.folder / INPUTS
        source = path.name if is_dropped else str(path.relative_to(self.folder))
        file = _File(path, source, _digest(path), self.inputs.index(path))
        notes, wanted = known.get(file.sha256, {}), self.settings.page_numbers
        kept = {name: self.corrections.read_one(name) for names in notes.values() for name in names}
        # What a person added is found by no reading.
        here = [each for each in kept.values() if each is not None and each.head.page in wanted]
        names = notes.get(wanted.text, notes.get(""))
        if names is not None and all(kept[name] is not None for name in names):
            self._add(here, file)
            return
        pages = iter(self._read(str(path)))
        while (page := self._next(pages)) is not None:
            drafts = [replace(draft, source=file.source) for draft in page_to_drafts(page)]
            self._add([self.corrections.open(draft) for draft in drafts], file)
            if self._stop.is_set():
                return
        self._add([each for each in here if each.head.name not in self._listed], file)
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
                self._files[each.head.name] = file
                self._list(each)
                self._remember_recent(each)

    def _names_of(self, file: _File) -> list[str]:
        with self._lock:
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
        entry = {"source": file.source, "sha256": file.sha256, "tables": self._names_of(file)}
        if self.settings.page_numbers.text:
            entry["pages"] = self.settings.page_numbers.text
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
        message = f"{name}: cannot be read ({error.strerror}); check the file"
        raise InputError(message).named("unreadable", name, error.strerror) from error
