"""Picture -> words -> cells -> grid -> words in cells -> tables -> how sure they are."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from postprocess.arrays import Floats
from postprocess.candidates.confidence import rate
from postprocess.captions.edge_rows import without_captions
from postprocess.captions.find import find_captions
from postprocess.geometry.boxes import cells_to_quads, inner_quads, quads_to_boxes, quads_to_polygons, word_height
from postprocess.meaning.headers import mark_headers
from postprocess.table import Table
from postprocess.text.admission import check_words, place_in_picture
from postprocess.text.assignment import place_words
from postprocess.text.direction import in_reading_order
from postprocess.text.lookalikes import settle_strokes
from postprocess.word import UNREAD, Unplaced, Word, Words
from tablerec.config import Settings
from tablerec.detect import CellDetector
from tablerec.detect.cell_pictures import add_pictures, lie_in_pictures
from tablerec.detect.factory import make_detector
from tablerec.detect.nesting import detect_with_inner
from tablerec.engine.tasks import PageTask, Setup
from tablerec.errors import InputError, SettingsError, TablerecError
from tablerec.inputs.bending import flatten
from tablerec.inputs.seals import Found, without_seals, without_seals_in_layer
from tablerec.inputs.seals.read import read_seal
from tablerec.inputs.seals.under import read_empty, read_under
from tablerec.inputs.text_layer import compare_hidden, hidden_words, trust_layer
from tablerec.inputs.turning import ORIENTATION, ask_for_turn, choose_turn, turn_page_back, turn_picture
from tablerec.inputs.unwarping import UVDOC, Map, Unwarper, unflatten_page
from tablerec.models.opening import require_networks
from tablerec.ocr import OcrEngine, make_ocr_engine
from tablerec.ocr.unread import unread_notes
from tablerec.paddlex_support import LazyModel, make_runtime
from tablerec.result import Page, PageImage, Result, summarize_page, without_pixels
from tablerec.stages import Trace

if TYPE_CHECKING:
    from typing_extensions import Unpack  # for type checkers alone: it need not be installed

    from postprocess.candidates.candidate import Candidate
    from tablerec.config import RecognizeOptions

_MOST_LINES = 4
"""Cells lower than this many text heights are read once more when they are empty."""

_logger = logging.getLogger(__name__)


class Recognizer:
    """Turns pictures and documents into tables; models are loaded once, at first use.

    Args:
        settings: What to use; the defaults where None.
        detector: Any object with the ``CellDetector`` protocol, in place of ``settings.detector``.
        ocr: Any object with the ``OcrEngine`` protocol, in place of ``settings.ocr``.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        detector: CellDetector | None = None,
        ocr: OcrEngine | None = None,
    ) -> None:
        self.settings = settings or Settings()
        require_networks(self.settings.device)
        self._has_own_parts = detector is not None or ocr is not None
        self.detector = detector or make_detector(self.settings)
        self.ocr = ocr or make_ocr_engine(self.settings)
        runtime = make_runtime(self.settings)
        self._orientation = LazyModel(ORIENTATION, None, runtime) if self.settings.turn == ORIENTATION else None
        self._unwarper = Unwarper(runtime) if self.settings.unwarp == UVDOC else None

    def use_password(self, password: str) -> None:
        """Open documents that are read from now on with another password."""
        self.settings = replace(self.settings, password=password)

    def stream(
        self,
        sources: Iterable[Any],
        jobs: int | str = 1,
        on_error: Callable[[Any, TablerecError], object] | None = None,
    ) -> Iterator[Result]:
        """Read many inputs, in their order, without keeping any.

        Args:
            sources: See ``recognize``; with several jobs paths, bytes and binary files only.
            jobs: Processes that read pages side by side, or ``auto``; see ``Engine``, which is told the settings alone:
                a detector or an OCR engine that was handed over reads with one job.
            on_error: Called with an input that fails, so that the next ones go on; without it the error is raised.

        Yields:
            A result for each input that was read; pictures are blank with several jobs.

        Raises:
            TablerecError: An input fails, and there is no ``on_error``; or as ``Engine`` says.
        """
        from tablerec.engine import Engine
        from tablerec.engine.engine import to_jobs

        if to_jobs(jobs, self.settings) > 1:
            if self._has_own_parts:
                raise SettingsError(f"jobs is {jobs}: a detector or OCR engine that was handed over reads with jobs=1")
            with Engine(self.settings, jobs) as engine:
                yield from engine.stream(sources, on_error)
            return
        for source in sources:
            try:
                yield self.recognize(source)
            except TablerecError as error:
                if on_error is None:
                    raise
                on_error(source, error)

    def recognize(self, source: Any, words: Sequence[Word] | None = None) -> Result:
        """Read all pages of one input.

        Args:
            source: Path, bytes, binary file, ``(H, W, 3)`` BGR array, PIL picture or PageImage.
            words: Words in the picture, in place of the OCR engine's; for inputs with one page.

        Raises:
            InputError: The input cannot be read; the message names it and says why.
        """
        pages = tuple(self.pages(source, words))
        name = pages[0].picture.source if pages else str(source)
        return Result(name, pages, self.settings.join_pages)

    def pages(self, source: Any, words: Sequence[Word] | None = None) -> Iterator[Page]:
        """Read one input page by page, so that long documents need not fit into memory."""
        from tablerec.inputs.images import load_pages

        started = time.perf_counter()
        for number, picture in enumerate(load_pages(source, self.settings)):
            if number and words is not None:
                raise SettingsError(
                    f"{picture.source} has several pages, but words were given for one: pass each page as a PageImage"
                )
            given = picture if words is None else replace(picture, words=tuple(words), layer=None)
            load_seconds = time.perf_counter() - started
            yield self._page(given, load_seconds)
            started = time.perf_counter()

    def _page(self, picture: PageImage, load_seconds: float) -> Page:
        seconds = {"load": load_seconds}
        with _timed(seconds, "compare"):
            if self.settings.seals == "separate":
                picture = without_seals_in_layer(picture)
            picture = trust_layer(picture, self.ocr)
        with _timed(seconds, "straighten"):
            turn = self._known_turn(picture)
            upright = turn_picture(picture, turn)
            flat, flat_map = self._flatten(upright)
        page = self._flat_page(flat, seconds)
        if flat_map is not None:
            page = unflatten_page(page, upright, flat_map)
        elif flat is not upright:
            # Nothing says where its points lie in the picture as given: the flat one takes its place.
            picture = turn_picture(flat, -turn % 360)
        return turn_page_back(page, picture, turn) if turn else page

    def _known_turn(self, picture: PageImage) -> int:
        """Degrees clockwise that are known before the text is read."""
        if self.settings.turn == "auto":
            return 0
        if self._orientation is not None:
            return ask_for_turn(picture.image, self._orientation)
        return int(self.settings.turn)

    def _flatten(self, picture: PageImage) -> tuple[PageImage, Map | None]:
        return (picture, None) if self._unwarper is None else self._unwarper.flatten(picture)

    def _flat_page(self, picture: PageImage, seconds: dict[str, float]) -> Page:
        """The page of a picture that is as straight as is known before its text is read."""
        cleaned, seals = self._without_seals(picture, seconds)
        with _timed(seconds, "read"):
            found = self._words(cleaned, seals)
            is_upright = picture.layer is not None and picture.layer.is_upright
            turn = self._choose_turn(cleaned, found) if self.settings.turn == "auto" and not is_upright else 0
        upright = turn_picture(picture, turn)
        if turn:
            cleaned, seals = self._without_seals(upright, seconds)
        with _timed(seconds, "read"):
            found = self._words(cleaned, seals) if turn else found
        with _timed(seconds, "straighten"):
            level, level_map = self._unbend(cleaned, found)
        with _timed(seconds, "read"):
            found = compare_hidden(level, found if level_map is None else self._words(level))
        page = self._find(level, found, seconds, seals if level_map is None else ())
        if level_map is not None:
            page = unflatten_page(page, cleaned, level_map)
        with _timed(seconds, "seals"):
            page = replace(page, picture=upright, seals=tuple(read_seal(*seal, self.ocr) for seal in seals))
        return turn_page_back(page, picture, turn) if turn else page

    def _unbend(self, picture: PageImage, words: Sequence[Word]) -> tuple[PageImage, Map | None]:
        """A picture whose text is known, flat, and its map if it was bent."""
        bent = flatten(picture, Words(words).quads) if self.settings.unwarp == "auto" else None
        return bent or (picture, None)

    def _without_seals(self, picture: PageImage, seconds: dict[str, float]) -> tuple[PageImage, list[Found]]:
        """A picture as it is read, and the seals that are read apart."""
        if self.settings.seals == "keep":
            return picture, []
        with _timed(seconds, "seals"):
            image, seals = without_seals(picture.image)
        return replace(picture, image=image) if seals else picture, seals

    def _choose_turn(self, picture: PageImage, words: Sequence[Word]) -> int:
        from tablerec.inputs.images import display_name

        turn = choose_turn(picture.image, words, self.ocr if picture.words is None else None)
        if turn is None:
            _logger.warning(
                "%s: page %d has text in several directions and was read as it lies; --turn turns it",
                display_name(picture.source),
                picture.number,
            )
        return turn or 0

    def _words(self, picture: PageImage, seals: Sequence[Found] = ()) -> list[Word]:
        if picture.words is not None:
            return check_words(picture.words)
        words = check_words(self.ocr.read(picture.image))
        return check_words(read_under(words, picture.image, seals, self.ocr)) if seals else words

    def _find(
        self, picture: PageImage, found: list[Word], seconds: dict[str, float], seals: Sequence[Found] = ()
    ) -> Page:
        """The tables of an upright picture."""
        from postprocess.candidates.choice import explained
        from postprocess.candidates.nesting import nest_tables
        from postprocess.candidates.trace import TableTrace

        with _timed(seconds, "detect"):
            inside, beyond = place_in_picture(found, picture.image.shape)
            words = Words(self._sure(inside))
            found_tables, inner = detect_with_inner(self.detector, picture.image, words)
            outermost = [without_captions(each) for each in found_tables]
            candidates = outermost + inner
        with _timed(seconds, "snap"):
            tables = [_snapped(each).to_table() for each in candidates]
        if self.settings.cell_pictures:
            with _timed(seconds, "pictures"):
                areas = np.zeros((0, 4)) if picture.layer is None else picture.layer.areas
                tables = add_pictures(tables, picture.image, words, areas)
                pictured = lie_in_pictures(tables, words)
                beyond = beyond + [Unplaced(word, "it lies in a picture") for word in words.select(pictured)]
                words = words.select(~pictured)
        with _timed(seconds, "place"):
            placement = place_words(tables, words)
        if picture.words is None or (picture.layer is not None and len(picture.layer.areas)):
            with _timed(seconds, "second pass"):
                # A word that is not sure keeps its cell from being read once more.
                quads = _empty_quads(placement.tables(), inside)
                seen = check_words(self.ocr.read_quads(picture.image, quads))
                if seals:
                    seen += check_words(read_empty(quads, seen, picture.image, seals, self.ocr))
                found, inside = found + seen, inside + seen
                placement = placement.with_more(self._sure(seen))
        with _timed(seconds, "headers"):
            marked = [mark_headers(in_reading_order(settle_strokes(table))) for table in placement.tables()]
        with _timed(seconds, "captions"):
            titled, unplaced = find_captions(
                marked[: len(outermost)], placement.words.select(placement.words.have_place), placement.unplaced
            )
        with _timed(seconds, "rate"):
            lost = unplaced + self._doubtful(inside)
            # Only a trace asks how well a table explains its words.
            shown = map(explained, candidates) if self.settings.trace else candidates
            traces = tuple(
                TableTrace(candidate, rate(table, candidate, words, lost))
                for table, candidate in zip(titled + marked[len(outermost) :], shown, strict=True)
                if len(table)
            )
            n_outermost = sum(len(table) > 0 for table in titled)
            rated = [trace.table for trace in traces]
        self._note_unread(picture, found)
        return Page(
            picture=picture,
            tables=tuple(nest_tables(rated[:n_outermost], rated[n_outermost:])),
            words=tuple(found),
            unplaced=tuple(lost + beyond + hidden_words(picture)),
            dropped=tuple(cell for candidate in candidates for cell in candidate.dropped),
            detector="+".join(sorted({candidate.detector for candidate in candidates})) or self.detector.name,
            seconds=seconds,
            trace=Trace(picture.image, words, traces) if self.settings.trace else None,
        )

    def _note_unread(self, picture: PageImage, words: Sequence[Word]) -> None:
        from tablerec.inputs.images import display_name

        for note in unread_notes(words, self.ocr.name):
            _logger.warning("%s: page %d has %s", display_name(picture.source), picture.number, note)

    def _is_sure(self, word: Word) -> bool:
        """Whether a word is placed; one that was not read is, whatever its score, so that its cell shows it."""
        return word.score >= self.settings.min_ocr_score or UNREAD in word.text

    def _sure(self, words: Sequence[Word]) -> list[Word]:
        return [word for word in words if self._is_sure(word)]

    def _doubtful(self, words: Sequence[Word]) -> list[Unplaced]:
        least = self.settings.min_ocr_score
        reason = "the OCR engine's score {:.2f} is below {:.2f}"
        return [Unplaced(word, reason.format(word.score, least)) for word in words if not self._is_sure(word)]


def recognize(source: Any, words: Sequence[Word] | None = None, **options: Unpack[RecognizeOptions]) -> Result:
    """Find the tables in one picture or document.

    Args:
        source: Path, bytes, binary file, ``(H, W, 3)`` BGR array, or PIL picture.
        words: Words in the picture, in place of the OCR engine's.
        **options: Fields of ``Settings``, such as ``pages="1-3"`` or ``turn=90``.

    Returns:
        A Result with ``tables`` and, by page, what did not become part of them.

    Raises:
        TablerecError: The input or an option cannot be used.
    """
    try:
        settings = Settings(**options)
    except TypeError as error:
        raise SettingsError(f"{error}; the options are {', '.join(Settings.__dataclass_fields__)}") from None
    return Recognizer(settings).recognize(source, words)


def make_page_reader(setup: Setup) -> Callable[[PageTask], Page | tuple[Page, Any]]:
    """What a worker of ``tablerec.engine`` does: it makes a recognizer, and reads a page when asked.

    What it returns is the page, or a summary of it and what the task had made of it.
    """
    import cv2

    from tablerec.engine.networks import use_networks_of
    from tablerec.inputs.images import NamedBytes

    cv2.setNumThreads(1)
    if setup.networks is not None:
        use_networks_of(setup.networks)
    settings = setup.settings
    recognizers = _Recognizers(settings)

    def read(task: PageTask) -> Page | tuple[Page, Any]:
        os.chdir(task.folder)  # the process is a worker's own
        asked = replace(task.settings or settings, device=settings.device)
        recognizer = recognizers.get(asked)
        recognizer.settings = replace(asked, pages=str(task.number), password=task.password)
        source = NamedBytes(task.source, task.name) if isinstance(task.source, bytes) else task.source
        pages = list(recognizer.pages(source))
        if len(pages) != 1:
            raise InputError(f"{task.name}: page {task.number} is not there any more; keep the file while it is read")
        [page] = pages
        if task.finish is not None:
            page = task.finish(task.name, page)
        if task.keep_pixels:
            return page
        if task.encode is not None:
            page = without_pixels(page)
            return _with_shape(summarize_page(page)), task.encode(page)
        return _with_shape(page)

    return read


def _with_shape(page: Page) -> Page:
    """The page with a shape for a picture, of which the engine makes a blank one: pickled, all pixels would travel."""
    shape: Any = page.picture.image.shape
    return replace(page, picture=replace(page.picture, image=shape, layer=None))


class _Recognizers:
    """Recognizers of a few settings, the last ones asked for, which share what reads the text if they can.

    Args:
        settings: Of the first.
    """

    _MOST = 4
    _OF_READERS = ("ocr", "ocr_dir", "detector", "detector_dir", "engine", "models_dir")
    """What the OCR engine depends on: a network may find cells and lines in one pass."""
    _OF_PAGES = (
        *("pages", "password", "join_pages", "max_megapixels", "max_page_seconds", "max_page_memory", "pdf_dpi"),
        *("text_layer", "min_ocr_score", "seals", "cell_pictures", "trace"),
    )
    """What a recognizer looks up for each page: no model depends on it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._first = Recognizer(settings)
        self._known = {self._key(settings): self._first}

    def get(self, settings: Settings) -> Recognizer:
        """Return a recognizer with the models that the settings ask for."""
        key = self._key(settings)
        recognizer = self._known.pop(key, None)
        if recognizer is None:
            is_same = all(getattr(settings, name) == getattr(self._settings, name) for name in self._OF_READERS)
            recognizer = Recognizer(settings, ocr=self._first.ocr if is_same else None)
        self._known[key] = recognizer
        if len(self._known) > self._MOST:
            self._known.pop(next(iter(self._known)))
        return recognizer

    def _key(self, settings: Settings) -> Settings:
        default = Settings()
        return replace(settings, **{name: getattr(default, name) for name in self._OF_PAGES})


def _snapped(candidate: Candidate) -> Candidate:
    """The candidate with its cells on the lines that are ruled."""
    from postprocess.grid.snapping import snap_quads

    assert candidate.scene is not None
    return replace(candidate, quads=snap_quads(candidate.quads, candidate.scene.rulings))


def _empty_quads(tables: Sequence[Table], words: Words) -> Floats:
    """``(N, 4, 2)`` cells without text, low enough for one line: a single character may have been missed there.

    A cell that a word of its neighbour reaches into would show a part of that word, so it is left out.
    """
    import shapely

    quads = cells_to_quads(cell for table in tables for cell in table.cells if not cell.text and not cell.pictures)
    if not words or not len(quads):
        return quads[:0]
    inner = quads_to_polygons(inner_quads(words.quads, 0.7))
    reached, _ = shapely.STRtree(inner).query(quads_to_polygons(quads), predicate="intersects")
    boxes = quads_to_boxes(quads)
    free = boxes[:, 3] - boxes[:, 1] < _MOST_LINES * word_height(words.quads)
    free[reached] = False
    return np.asarray(quads[free])


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - started
