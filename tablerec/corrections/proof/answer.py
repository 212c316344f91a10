"""What proves the table of a correction, and what speaks against its cells."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from postprocess.arrays import Image
from tablerec.corrections.editor.correction import Correction
from tablerec.corrections.proof import proof_to_view, prove

_known: WeakKeyDictionary[Correction, tuple[int, dict[str, Any]]] = WeakKeyDictionary()
"""The last proof of each correction, with the version that it is of."""


def correction_to_proof(correction: Correction, picture: bytes = b"") -> dict[str, Any]:
    """Return what the page wants of the proof of a table as it is now, ready for JSON.

    Steps go on meanwhile: the answer says of which ``version`` it is.

    Args:
        correction: Of a table.
        picture: Its PNG file; without it, ink that nobody read is not looked for.
    """
    with correction.lock:
        version, state = correction.version, correction.state
    kept = _known.get(correction)
    if kept is None or kept[0] != version:
        proof = prove(state.table, state.words, _to_image(picture))
        kept = version, {**proof_to_view(state.table, proof, state.words), "version": version}
        _known[correction] = kept
    return kept[1]


def _to_image(picture: bytes) -> Image | None:
    """The picture, BGR; None where there is none that can be read."""
    import cv2

    image = cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR) if picture else None
    return None if image is None else np.asarray(image, np.uint8)
