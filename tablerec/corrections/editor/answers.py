"""What an editor in a browser or a notebook asks for, and what it is answered."""

from __future__ import annotations

from typing import Any

from postprocess.arrays import Image
from tablerec.corrections.editor.correction import Correction
from tablerec.corrections.editor.folder import CorrectionFolder
from tablerec.corrections.editor.reading import Reader, to_read_step
from tablerec.corrections.refusals import error_to_dict
from tablerec.errors import InputError, TablerecError


def answer(
    folder: CorrectionFolder, correction: Correction, message: Any, reader: Reader | None = None
) -> tuple[bool, dict[str, Any]]:
    """Do a step that a page asks for.

    Args:
        folder: Of the correction.
        correction: What is corrected.
        message: A step of ``Correction.do``, or ``{"do": "read", ...}`` with a block of cells to read again; with the
            ``version`` that the page shows, and with ``since``, that version again, where it wants to know no more
            than what has changed. Nothing in it is trusted.
        reader: Reads cells again; None where nothing can.

    Returns:
        Whether the step is done, now or when it was asked for before; and the new view. Where it is not,
        ``{"error", "error_zh", "table", "lost"}``: why, the table as it is, and the step.
    """
    try:
        if not isinstance(message, dict) or type(message.get("version")) is not int:
            raise InputError("a step has no version: reload the page").named("bad_step")
        step = {key: value for key, value in message.items() if key not in ("version", "since")}
        since = message["since"] if type(message.get("since")) is int else None
        if step.get("do") == "read" and not correction.is_done(step):
            correction.check(message["version"])
            step = {**_read(folder, correction, step, reader), **({"id": step["id"]} if "id" in step else {})}
        folder.do(correction, step, message["version"])
    except TablerecError as error:
        return False, {**error_to_dict(error), "table": show(correction, reader), "lost": message}
    return True, show(correction, reader, since)


def show(correction: Correction, reader: Reader | None = None, since: int | None = None) -> dict[str, Any]:
    """The view of a correction, and whether its cells can be read again."""
    return {**correction.view(since), "has_reader": reader is not None}


def _read(
    folder: CorrectionFolder, correction: Correction, step: dict[str, Any], reader: Reader | None
) -> dict[str, Any]:
    if reader is None:
        message = "nothing reads cells here: open the table with `tablerec review`, or give the editor a reader"
        raise InputError(message).named("no_reader")
    return to_read_step(step, correction.table, png_to_image(folder.read_picture(correction)), reader)


def png_to_image(content: bytes) -> Image:
    """Decode a picture that ``image_to_png`` wrote.

    Raises:
        InputError: It is none.
    """
    import cv2
    import numpy as np

    image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR) if content else None
    if image is None:
        message = "the picture of the table is broken: start again, which writes it anew"
        raise InputError(message).named("broken_picture")
    return np.asarray(image, np.uint8)
