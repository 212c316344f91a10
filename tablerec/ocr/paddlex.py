"""PaddleX's text models: any family of PP-OCR."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from postprocess.word import CharSpans
from tablerec import paddlex_support
from tablerec.ocr.line import Line
from tablerec.ocr.lines import STRIDE, LineReader, centers_to_spans
from tablerec.ocr.script import scripts_of
from tablerec.paddlex_support import Runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postprocess.arrays import Image

DEFAULT_FAMILY = "PP-OCRv6_medium"
"""What the OCR pipeline of PaddleX 3.7 takes."""
RECOGNIZERS = ("PP-OCRv5_mobile_rec", "PP-OCRv5_server_rec")
"""Recognisers of PaddleX whose place an exported LineNet takes."""


class PaddleXOcrEngine(LineReader):
    """Reads with a text detector and a text recogniser of PaddleX.

    Pages are neither turned nor unwarped, and lines are not classified by direction.

    Args:
        detection: PaddleX's name of the detector.
        recognition: PaddleX's name of the recogniser.
        runtime: How they run, and where they lie.
    """

    name = "paddlex"

    def __init__(self, detection: str, recognition: str, runtime: Runtime | None = None) -> None:
        self.detection = detection
        self.recognition = recognition
        self.runtime = runtime or Runtime()
        self._models: tuple[Any, Any] | None = None
        self._lock = threading.Lock()

    @classmethod
    def of_family(cls, family: str = "", runtime: Runtime | None = None) -> PaddleXOcrEngine:
        """Create an OCR engine from the detector and recogniser of a family.

        Args:
            family: Such as ``PP-OCRv6_small``, or ``cyrillic_PP-OCRv5_mobile`` for a recogniser of other letters.
                Empty takes ``DEFAULT_FAMILY``.
            runtime: How its models run, and where they lie.

        >>> ocr = PaddleXOcrEngine.of_family("cyrillic_PP-OCRv5_mobile")
        >>> ocr.detection, ocr.recognition
        ('PP-OCRv5_mobile_det', 'cyrillic_PP-OCRv5_mobile_rec')
        """
        chosen = family or DEFAULT_FAMILY
        letters, mark, rest = chosen.partition("PP-OCR")
        detection = f"{mark}{rest}_det" if mark else f"{letters}_det"
        return cls(detection, f"{chosen}_rec", runtime)

    @property
    def reads(self) -> frozenset[str]:
        """See ``CropReader``."""
        _, recognizer = self._load()
        return scripts_of(getattr(getattr(recognizer, "post_op", None), "character", ()))

    def detect(self, image: Image) -> NDArray[np.float32]:
        """See ``LineReader``."""
        detector, _ = self._load()
        with self._lock:
            found = next(iter(detector.predict(image)))
        return np.asarray(found["dt_polys"], np.float32).reshape(-1, 4, 2)

    def recognize(self, crops: Sequence[Image]) -> list[Line]:
        """See ``LineReader``."""
        _, recognizer = self._load()
        with self._lock:
            found = list(recognizer.predict(list(crops), return_word_box=True))
        return [result_to_line(result["rec_text"], float(result["rec_score"])) for result in found]

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._models is None:
                # Sizes are chosen by find_lines; PaddleX keeps coordinates as 16 bit integers.
                detector = self._create(self.detection, limit_side_len=STRIDE, limit_type="min", max_side_limit=32_000)
                keep_all_lines(detector)
                # One crop at a time: in larger batches PaddleX 3.7 mixes up the widths that place the characters.
                self._models = detector, self._create(self.recognition, batch_size=1)
        return self._models

    def _create(self, name: str, **options: Any) -> Any:
        return paddlex_support.create_model(name, None, self.runtime, **options)


def keep_all_lines(detector: Any) -> None:
    """Let a text detector of PaddleX return every line: by default it drops those beyond 1000 without telling."""
    if hasattr(detector, "post_op"):
        detector.post_op.max_candidates = 1_000_000


def result_to_line(found: Any, score: float) -> Line:
    """Read PaddleX's answer: the text, or the text with the columns in which its characters were seen."""
    if isinstance(found, str):
        return Line(found, score)
    text, (n_columns, _, columns_by_word, _) = found
    return Line(
        text, score, _columns_to_spans(text, [column for word in columns_by_word for column in word], n_columns)
    )


def _columns_to_spans(text: str, columns: Sequence[int], n_columns: float) -> CharSpans | None:
    # PaddleX counts spaces as characters.
    if len(columns) != len(text) or not n_columns:
        return None
    places = [(column + 0.5) / n_columns for column, char in zip(columns, text, strict=True) if not char.isspace()]
    return centers_to_spans(text, places)
