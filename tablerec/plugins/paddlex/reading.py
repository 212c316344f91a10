"""PaddleX's OCR pipeline as an OCR engine, and its results as words."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
from postprocess.word import CharSpans, Word
from tablerec.errors import SettingsError
from tablerec.ocr.line import Line
from tablerec.ocr.lines import CropReader, centers_to_spans
from tablerec.ocr.paddlex import result_to_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postprocess.arrays import Image
    from tablerec.ocr import OcrEngine


class OcrPipelineEngine(CropReader):
    """Reads with an OCR pipeline of PaddleX, whatever its models and settings are.

    Args:
        pipeline: What PaddleX makes of ``pipeline_name: OCR``.
        options: Passed on to its ``predict``.
        lock: Held while it predicts.
    """

    name = "paddlex"

    def __init__(self, pipeline: Any, options: Mapping[str, Any], lock: threading.Lock) -> None:
        self._pipeline = pipeline
        self._options = options
        self._lock = lock

    def read(self, image: Image) -> list[Word]:
        """See ``OcrEngine``."""
        if image.size == 0:
            return []
        with self._lock:
            # Words are left out later, by their score and with a reason.
            options = {**self._options, "text_rec_score_thresh": 0.0, "return_word_box": True}
            [found] = self._pipeline.predict(image, **options)
        return ocr_to_words(found)

    def recognize(self, crops: Sequence[Image]) -> list[Line]:
        """See ``CropReader``."""
        with self._lock:
            found = list(self._pipeline.text_rec_model(list(crops), return_word_box=True))
        return [result_to_line(result["rec_text"], float(result["rec_score"])) for result in found]


class KnownWords:
    """An OCR engine of a picture that was read before.

    Args:
        words: What was read.
        engine: Who read it, and takes the second passes.
    """

    def __init__(self, words: Sequence[Word], engine: OcrEngine) -> None:
        self.name = engine.name
        self._words = words
        self._engine = engine

    def read(self, image: Image) -> list[Word]:
        """See ``OcrEngine``; the picture must be the one that was read."""
        return list(self._words)

    def read_quads(self, image: Image, quads: NDArray[np.floating]) -> list[Word]:
        """See ``OcrEngine``."""
        return self._engine.read_quads(image, quads)


def ocr_to_words(found: Mapping[str, Any]) -> list[Word]:
    """The words of an ``OCRResult``, or of anything with its keys.

    Args:
        found: ``rec_texts``, ``rec_scores``, and ``rec_polys`` with four corners each or ``rec_boxes`` xyxy; where
            it also has ``text_word`` and ``text_word_region``, they tell where characters are.

    Raises:
        SettingsError: A key is missing, or the lists differ in length.

    >>> [word] = ocr_to_words({"rec_texts": ["a", ""], "rec_scores": [0.9, 0.1], "rec_boxes": [[0, 0, 8, 4]] * 2})
    >>> word.text, word.quad[2]
    ('a', (8.0, 4.0))
    """
    try:
        texts, scores = list(found["rec_texts"]), [float(score) for score in found["rec_scores"]]
        polygons = found["rec_polys"] if "rec_polys" in found else boxes_to_quads(found["rec_boxes"])
        quads = np.asarray(polygons, np.float64).reshape(-1, 4, 2)
        if not len(texts) == len(scores) == len(quads):
            raise ValueError(f"{len(texts)} texts, {len(scores)} scores, {len(quads)} places")
    except (KeyError, TypeError, ValueError) as error:
        raise SettingsError(
            f"overall_ocr_res cannot be used ({error!r}): give an OCRResult of PaddleX, with rec_texts, rec_scores and "
            "rec_polys of four corners each"
        ) from error
    places = zip(found.get("text_word", ()), found.get("text_word_region", ()), strict=False)
    spans = [_char_spans(text, quad, *place) for text, quad, place in zip(texts, quads, places, strict=False)]
    spans += [None] * (len(texts) - len(spans))
    rows = zip(texts, quads, scores, spans, strict=True)
    return [Word(text, array_to_quad(quad), score, span) for text, quad, score, span in rows if text]


def _char_spans(
    text: str, quad: NDArray[np.float64], pieces: Sequence[str], regions: Sequence[Any]
) -> CharSpans | None:
    """Where characters are along a line, from the boxes of its pieces: evenly wide inside a piece."""
    along = quad[1] - quad[0]
    length = float(along @ along)
    if not length:
        return None
    centers: list[tuple[float, int]] = []
    order = 0
    for piece, region in zip(pieces, regions, strict=False):
        reach = (np.asarray(region, np.float64).reshape(-1, 2) - quad[0]) @ along / length
        start, end = float(reach.min()), float(reach.max())
        for index, char in enumerate(piece):
            if not char.isspace():
                centers.append((start + (index + 0.5) / len(piece) * (end - start), order))
                order += 1
    return centers_to_spans(text, [center for center, _ in sorted(centers)])
