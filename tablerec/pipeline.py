"""Picture -> words -> cells -> grid -> words in cells -> tables -> how sure they are."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from postprocess.ambiguous import settle_strokes
from postprocess.boxes import array_to_quad, quads_to_array, quads_to_boxes, quads_to_polygons, word_height
from postprocess.captions import find_captions
from postprocess.confidence import rate
from postprocess.explanation import explain
from postprocess.grid import Grid, quads_to_grid
from postprocess.headers import mark_headers
from postprocess.regions import words_inside
from postprocess.table import Cell, Table
from postprocess.trace import Candidate, TableTrace
from postprocess.words import Unplaced, Word, words_to_tables
from tablerec.config import Settings
from tablerec.detect import CellDetector, Detection, make_detector
from tablerec.devices import parse_device, require_device
from tablerec.errors import SettingsError
from tablerec.ocr import TextReader, make_reader
from tablerec.paddlex_support import LazyModel, make_runtime
from tablerec.result import Dropped, Image, Page, PageImage, Result
from tablerec.trace import Trace
from tablerec.turning import ORIENTATION, ask_for_turn, choose_turn, turn_page_back, turn_picture
from tablerec.unwarping import Map, Unwarper, unflatten_page

if TYPE_CHECKING:
    from postprocess.rulings import Rulings

_MOST_LINES = 4
"""Cells lower than this many text heights are looked at again when they are empty."""

_logger = logging.getLogger(__name__)


class Recognizer:
    """Turns pictures and documents into tables; models are loaded once, at first use.

    Args:
        settings: What to use; the defaults where None.
        detector: Any object with the ``CellDetector`` protocol, in place of ``settings.detector``.
        reader: Any object with the ``TextReader`` protocol, in place of ``settings.reader``.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        detector: CellDetector | None = None,
        reader: TextReader | None = None,
    ) -> None:
        self.settings = settings or Settings()
        require_device(parse_device(self.settings.device))
        self.detector = detector or make_detector(self.settings)
        self.reader = reader or make_reader(self.settings)
        runtime = make_runtime(self.settings)
        self._orientation = LazyModel(ORIENTATION, None, runtime) if self.settings.turn == ORIENTATION else None
        self._unwarper = Unwarper(runtime) if self.settings.unwarp else None

    def recognize(self, source: Any, words: Sequence[Word] | None = None) -> Result:
        """Read all pages of one input.

        Args:
            source: Path, bytes, binary file, ``(H, W, 3)`` BGR array, PIL picture or PageImage.
            words: Words in the picture, in place of the reader's; for inputs with one page.

        Raises:
            InputError: The input cannot be read; the message names it and says why.
        """
        pages = tuple(self.pages(source, words))
        name = pages[0].picture.source if pages else str(source)
        return Result(name, pages, self.settings.join_pages)

    def pages(self, source: Any, words: Sequence[Word] | None = None) -> Iterator[Page]:
        """Read one input page by page, so that long documents need not fit into memory."""
        from tablerec.images import load_pages

        started = time.perf_counter()
        for number, picture in enumerate(load_pages(source, self.settings)):
            if number and words is not None:
                raise SettingsError(
                    f"{picture.source} has several pages, but words were given for one: pass each page as a PageImage"
                )
            given = picture if words is None else replace(picture, words=tuple(words))
            load_seconds = time.perf_counter() - started
            yield self._page(given, load_seconds)
            started = time.perf_counter()

    def _page(self, picture: PageImage, load_seconds: float) -> Page:
        seconds = {"load": load_seconds}
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
        with _timed(seconds, "read"):
            found = self._words(picture)
            turn = self._choose_turn(picture, found) if self.settings.turn == "auto" else 0
            turned = turn_picture(picture, turn)
            found = self._words(turned) if turn else found
        page = self._find(turned, found, seconds)
        return turn_page_back(page, picture, turn) if turn else page

    def _choose_turn(self, picture: PageImage, words: Sequence[Word]) -> int:
        from tablerec.images import display_name

        turn = choose_turn(picture.image, words, self.reader if picture.words is None else None)
        if turn is None:
            _logger.warning(
                "%s: page %d has text in several directions and was read as it lies; --turn turns it",
                display_name(picture.source),
                picture.number,
            )
        return turn or 0

    def _words(self, picture: PageImage) -> list[Word]:
        return self.reader.read(picture.image) if picture.words is None else list(picture.words)

    def _find(self, picture: PageImage, found: list[Word], seconds: dict[str, float]) -> Page:
        """The tables of an upright picture."""
        with _timed(seconds, "detect"):
            words = _with_place(self._sure(found))
            detections = self.detector.detect(picture.image, words)
        with _timed(seconds, "grid"):
            grids = [quads_to_grid(detection.quads, detection.scores) for detection in detections]
            built = [grid_to_table(grid, detection) for grid, detection in zip(grids, detections, strict=True)]
        with _timed(seconds, "snap"):
            rulings = _rulings(picture.image, detections, words)
            tables = [_snap(table, rulings) for table, _ in built]
        with _timed(seconds, "place"):
            filled, unplaced = words_to_tables(tables, self._sure(found))
        if picture.words is None:
            with _timed(seconds, "second look"):
                seen = self.reader.read_quads(picture.image, _empty_quads(filled, _with_place(found)))
                if seen:
                    found = found + seen
                    filled, unplaced = words_to_tables(tables, self._sure(found))
        with _timed(seconds, "headers"):
            marked = [mark_headers(settle_strokes(table)) for table in filled]
        with _timed(seconds, "captions"):
            marked, unplaced = find_captions(marked, self._sure(_with_place(found)), unplaced)
        with _timed(seconds, "rate"):
            traces = tuple(
                _rate(table, grid, detection, words, rulings)
                for table, grid, detection in zip(marked, grids, detections, strict=True)
                if len(table)
            )
        return Page(
            picture=picture,
            tables=tuple(trace.table for trace in traces),
            words=tuple(found),
            unplaced=tuple(unplaced + self._doubtful(found)),
            dropped=tuple(lost for _, dropped in built for lost in dropped),
            detector="+".join(sorted({detection.detector for detection in detections})) or self.detector.name,
            seconds=seconds,
            trace=Trace(picture.image, tuple(words), rulings, traces) if self.settings.trace else None,
        )

    def _sure(self, words: Sequence[Word]) -> list[Word]:
        return [word for word in words if word.score >= self.settings.min_reader_score]

    def _doubtful(self, words: Sequence[Word]) -> list[Unplaced]:
        least = self.settings.min_reader_score
        reason = "the reader's score {:.2f} is below {:.2f}"
        return [Unplaced(word, reason.format(word.score, least)) for word in words if not word.score >= least]


def recognize(source: Any, words: Sequence[Word] | None = None, **options: Any) -> Result:
    """Find the tables in one picture or document.

    Args:
        source: Path, bytes, binary file, ``(H, W, 3)`` BGR array, or PIL picture.
        words: Words in the picture, in place of the reader's.
        **options: Fields of ``Settings``.

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


def detection_to_table(detection: Detection) -> tuple[Table, list[Dropped]]:
    """The grid of detected cells, completed with empty cells, and the cells that found no place."""
    return grid_to_table(quads_to_grid(detection.quads, detection.scores), detection)


def grid_to_table(grid: Grid, detection: Detection) -> tuple[Table, list[Dropped]]:
    """The same where the grid of the detection is known."""
    dropped = [
        Dropped(array_to_quad(detection.quads[index]), float(detection.scores[index]), reason)
        for index, reason in grid.dropped
    ]
    cells = [
        Cell(
            row, col, end_row - row, end_col - col,
            quad=array_to_quad(detection.quads[index]),
            detector_score=float(detection.scores[index]),
            alignment_score=float(alignment),
        )
        for index, (row, col, end_row, end_col), alignment in zip(
            grid.kept, grid.spans.tolist(), grid.alignment, strict=True
        )
    ]  # fmt: skip
    return Table([*cells, *grid.empty_cells()], grid.outline()), dropped


def _rulings(image: Image, detections: Sequence[Detection], words: Sequence[Word]) -> Rulings | None:
    """The rulings that the detector saw, or those of the picture; None where there is nothing to compare with them."""
    if not detections:
        return None
    from postprocess.rulings import image_to_rulings

    seen = next((detection.rulings for detection in detections if detection.rulings is not None), None)
    return seen or image_to_rulings(image, quads_to_array([word.quad for word in words]))


def _snap(table: Table, rulings: Rulings | None) -> Table:
    """The table with its cells on the lines that are drawn."""
    from postprocess.snapping import snap_table

    return table if rulings is None else snap_table(table, rulings)


def _rate(table: Table, grid: Grid, detection: Detection, words: Sequence[Word], rulings: Rulings | None) -> TableTrace:
    """The table with its confidence, and what that rests on."""
    assert rulings is not None  # there is a detection
    rivals = tuple(_candidate(rival, words) for rival in detection.rivals)
    everything = np.concatenate([detection.quads, *(rival.quads for rival in rivals)])
    shares = explain(grid, words_inside(words, everything), rulings)
    drawn = detection.detector == "rulings"
    rated = rate(table, [each.table for each in rivals], shares, n_dropped=len(grid.dropped), drawn=drawn)
    chosen = Candidate(detection.detector, detection.quads, detection.scores, table)
    return TableTrace(chosen, rivals, grid, shares, rated)


def _candidate(detection: Detection, words: Sequence[Word]) -> Candidate:
    [filled], _ = words_to_tables([detection_to_table(detection)[0]], words)
    return Candidate(detection.detector, detection.quads, detection.scores, settle_strokes(filled))


def _with_place(words: Sequence[Word]) -> list[Word]:
    """Words whose corners are numbers; the others belong to no table, and detectors compute with corners."""
    return [word for word in words if np.isfinite(word.quad).all()]


def _empty_quads(tables: Sequence[Table], words: Sequence[Word]) -> NDArray[np.float64]:
    """``(N, 4, 2)`` cells without text, low enough for one line: a single character may have been missed there.

    A cell that a word of its neighbour reaches into would show a part of that word, so it is left out.
    """
    import shapely

    quads = quads_to_array([cell.quad for table in tables for cell in table.cells if cell.quad and not cell.text])
    if not words or not len(quads):
        return quads[:0]
    corners = quads_to_array([word.quad for word in words])
    middle = corners.mean(axis=1, keepdims=True)
    inner = quads_to_polygons(middle + 0.7 * (corners - middle))
    reached, _ = shapely.STRtree(inner).query(quads_to_polygons(quads), predicate="intersects")
    boxes = quads_to_boxes(quads)
    free = boxes[:, 3] - boxes[:, 1] < _MOST_LINES * word_height(corners)
    free[reached] = False
    return np.asarray(quads[free])


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - started
