"""wired_table_rec 1.1.10 or lineless_table_rec 0.0.9 (LORE), as table_cls 1.1.3 decides; models in the packages."""

from __future__ import annotations

from collections.abc import Callable

from serve import Answer, Job, LastWarning, serve, words_to_ocr


def load() -> Callable[[Job], Answer]:
    """Load the classifier and the two recognisers."""
    from lineless_table_rec import LinelessTableRecognition
    from table_cls import TableCls
    from wired_table_rec import WiredTableRecognition

    classify = TableCls()
    engines = {"wired": WiredTableRecognition(), "wireless": LinelessTableRecognition()}
    warning = LastWarning()

    def recognize(job: Job) -> Answer:
        warning.line = ""
        kind, _ = classify(job["image"])
        # rec_again would read empty cells with an OCR engine of its own: all get the same words.
        html = engines[kind](job["image"], words_to_ocr(job["words"]), rec_again=False)[0]
        if not html and warning.line:
            raise RuntimeError(f"{kind}: {warning.line}")
        return {"html": html}

    return recognize


if __name__ == "__main__":
    serve(load, ["wired-table-rec", "lineless-table-rec", "table-cls", "onnxruntime"])
