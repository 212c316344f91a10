"""This checkout of tablerec with its defaults; also tells the boxes of cells that its grid was built of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from serve import Answer, Job, serve


class Recording:
    """A detector that keeps what it found last."""

    def __init__(self, detector: Any) -> None:
        self.detector = detector
        self.name = detector.name
        self.found: list[Any] = []

    def detect(self, image: Any, words: Sequence[Any]) -> list[Any]:
        """Find tables and keep them."""
        self.found = self.detector.detect(image, words)
        return self.found


def load() -> Callable[[Job], Answer]:
    """Load CellNet; the words come with each job, so that no OCR engine is loaded."""
    from postprocess.export import table_to_html
    from postprocess.geometry.boxes import quads_to_boxes
    from postprocess.word import Word
    from tablerec.config import Settings
    from tablerec.detect.factory import make_detector
    from tablerec.evaluate.runner import largest_table
    from tablerec.pipeline import Recognizer

    settings = Settings(layout="table")
    detector = Recording(make_detector(settings))
    recognizer = Recognizer(settings, detector=detector)

    def recognize(job: Job) -> Answer:
        words = [
            Word(word["text"], tuple(map(tuple, word["quad"])), word["score"], word["char_spans"])
            for word in job["words"]
        ]
        table = largest_table(recognizer.recognize(job["image"], words).tables)
        # Without the cells that only complete the grid.
        found = [(quads_to_boxes(each.detected_quads), each.scores[each.is_detected]) for each in detector.found]
        boxes, scores = max(found, key=lambda each: len(each[0]), default=([], []))
        return {
            "html": "" if table is None else table_to_html(table),
            "boxes": [list(map(float, box)) for box in boxes],
            "box_scores": list(map(float, scores)),
        }

    return recognize


if __name__ == "__main__":
    serve(load, ["numpy", "onnxruntime"])
