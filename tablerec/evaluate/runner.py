"""The pipeline over many pictures with known tables."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from postprocess.geometry.boxes import as_quads, box_areas, cells_to_quads, quads_to_boxes
from postprocess.table import Table, all_tables
from postprocess.word import Word
from tablerec.errors import MissingDependencyError, ModelNotFoundError, SettingsError
from tablerec.evaluate.files import DetectedBox, Prediction, read_prediction, read_words, write_prediction, write_words
from tablerec.evaluate.scores import Scores, score
from tablerec.evaluate.scoring.cells import characters_kept
from tablerec.evaluate.scoring.libraries import require_libraries
from tablerec.evaluate.truth import Truth
from tablerec.inputs.turning import turn_points, turned_size
from tablerec.result import Page, Result


class RecognizesTables(Protocol):
    """A ``tablerec.pipeline.Recognizer``, or anything that does the same."""

    def recognize(self, source: Path, words: Sequence[Word] | None = None) -> Result:
        """Return the tables of one picture; ``words`` stand in for the OCR engine's."""


@dataclass(frozen=True, slots=True)
class Case:
    """One table: what is there, what was found, and how well they agree."""

    truth: Truth
    prediction: Prediction
    scores: Scores


@dataclass(frozen=True, slots=True)
class Storage:
    """Where a run keeps its files.

    Args:
        predictions: Folder for one file a picture, or None to keep none.
        resume: Whether to reuse the files in it that the same settings made.
        made_with: The settings, as JSON values.
        words: Folder of the OCR engine's words, one file a picture. Words found there are
            used in place of the OCR engine; words that are not there yet are added.
    """

    predictions: Path | None = None
    resume: bool = False
    made_with: Mapping[str, Any] = field(default_factory=dict)
    words: Path | None = None


def evaluate(
    truths: Iterable[Truth], recognizer: RecognizesTables, storage: Storage | None = None, *, jobs: int = 2
) -> Iterator[Case]:
    """Recognize each picture and score it, in order.

    A picture that fails is a case with ``prediction.error`` that scores 0. Scores are computed
    in ``jobs`` other processes while the next pictures are read; with 1, in this process.
    Leave the iterator early (Ctrl-C) and what was recognized stays in the storage.

    Raises:
        MissingDependencyError, ModelNotFoundError, SettingsError: What no picture could do without; the libraries
            of the scores are asked for before the first one.
        OutputError: The storage cannot be written.
    """
    require_libraries()
    storage = storage or Storage()
    waiting: deque[tuple[Truth, Prediction, Future[Scores]]] = deque()
    with _scoring(jobs) as submit:
        for truth in truths:
            prediction = _predict_or_reuse(truth, recognizer, storage)
            if prediction.table is not None:
                prediction = replace(prediction, table=truth.in_its_order(prediction.table))
            waiting.append((truth, prediction, submit(score, truth, prediction.table)))
            while waiting and waiting[0][2].done():
                yield _to_case(*waiting.popleft())
        while waiting:
            yield _to_case(*waiting.popleft())


def predict(truth: Truth, recognizer: RecognizesTables, words_file: Path | None = None) -> Prediction:
    """Recognize one picture; a failure becomes the prediction's ``error``.

    Args:
        truth: Names the picture.
        recognizer: Does the work.
        words_file: Words to use in place of the OCR engine, or to write where there are none.

    Raises:
        MissingDependencyError, ModelNotFoundError, SettingsError: What no picture could do without.
    """
    try:
        words = read_words(words_file) if words_file else None
        start = perf_counter()
        page = recognizer.recognize(truth.image, words).pages[0]
        total_seconds = perf_counter() - start
        if words_file and words is None:
            write_words(words_file, page.words)
    except (MissingDependencyError, ModelNotFoundError, SettingsError):
        raise
    except Exception as error:  # one picture's failure, of any kind, must not end the run
        return Prediction(truth.id, error=f"{type(error).__name__}: {error}")
    return _page_to_prediction(truth.id, page, total_seconds, words_were_kept=words is not None)


def largest_table(tables: Iterable[Table]) -> Table | None:
    """Return the table with the largest outline, or of those without outline the one with most cells."""
    return max(tables, key=_extent, default=None)


def detected_boxes(page: Page) -> tuple[DetectedBox, ...]:
    """Return the cells of all tables of a page as the detector gave them to the grid.

    They are known where ``page.trace`` is; else they are the cells of the tables that have a score of the detector,
    which may have been moved onto lines, and the dropped ones.

    >>> from tablerec.result import Dropped, PageImage
    >>> box = ((0.0, 0.0), (9.0, 1.0), (9.0, 7.0), (0.0, 6.0))
    >>> detected_boxes(Page(PageImage("a", 1, np.zeros((9, 9, 3), np.uint8)), dropped=(Dropped(box, 0.5, ""),)))
    ((0.0, 0.0, 9.0, 7.0, 0.5),)
    """
    if page.trace is None:
        tables = all_tables(page.tables)
        cells = [cell for table in tables for cell in table.cells if cell.quad and cell.detector_score is not None]
        quads = cells_to_quads(cells)
        scores = np.array([cell.detector_score for cell in cells], float)
    else:
        chosen = [table.chosen for table in page.trace.tables]
        quads = np.concatenate([np.zeros((0, 4, 2)), *(each.detected_quads for each in chosen)])
        quads = turn_points(quads, -page.turn, turned_size(page.picture.image, page.turn))
        scores = np.concatenate([np.zeros(0), *(each.scores[each.is_detected] for each in chosen)])
    quads = np.concatenate([quads, as_quads([each.quad for each in page.dropped])])
    scores = np.concatenate([scores, [each.score for each in page.dropped]])
    return tuple(map(tuple, np.column_stack([quads_to_boxes(quads), scores]).tolist()))


def _extent(table: Table) -> tuple[float, int]:
    area = float(box_areas(quads_to_boxes([table.quad]))[0]) if table.quad else 0.0
    return area, len(table.cells)


def _predict_or_reuse(truth: Truth, recognizer: RecognizesTables, storage: Storage) -> Prediction:
    kept = storage.predictions / f"{truth.id}.json" if storage.predictions else None
    if kept and storage.resume and (found := read_prediction(kept, storage.made_with)):
        return found
    words_file = storage.words / f"{truth.id}.json" if storage.words else None
    prediction = predict(truth, recognizer, words_file)
    if kept:
        write_prediction(kept, prediction, storage.made_with)
    return prediction


def _page_to_prediction(name: str, page: Page, total_seconds: float, *, words_were_kept: bool) -> Prediction:
    written = [cell.text for table in all_tables(page.tables) for cell in table.cells]
    written += [caption.text for table in page.tables for caption in table.captions]
    written += [item.word.text for item in page.unplaced]
    return Prediction(
        id=name,
        table=largest_table(page.tables),
        n_tables=len(page.tables),
        detector=page.detector,
        n_unplaced=len(page.unplaced),
        n_dropped=len(page.dropped),
        characters_kept=characters_kept((word.text for word in page.words), written),
        seconds=dict(page.seconds),
        total_seconds=total_seconds,
        words_were_kept=words_were_kept,
        detected=detected_boxes(page),
    )


def _to_case(truth: Truth, prediction: Prediction, scores: Future[Scores]) -> Case:
    return Case(truth, prediction, scores.result())


Submit = Callable[..., "Future[Scores]"]


def _scoring(jobs: int) -> AbstractContextManager[Submit]:
    return nullcontext(_run_here) if jobs <= 1 else _Pool(jobs)


def _run_here(function: Callable[..., Scores], *args: Any) -> Future[Scores]:
    done: Future[Scores] = Future()
    done.set_result(function(*args))
    return done


class _Pool:
    """Other processes; on an early end what has not begun is given up."""

    def __init__(self, jobs: int) -> None:
        # Spawned, since forking a process with OCR threads can lock up; Ctrl-C is this process's business.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(jobs, context, signal.signal, (signal.SIGINT, signal.SIG_IGN))

    def __enter__(self) -> Submit:
        return self._pool.submit

    def __exit__(self, *exception: object) -> None:
        self._pool.shutdown(cancel_futures=True)
