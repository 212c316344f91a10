"""What proves the table of a correction, and what speaks against its cells."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from tablerec.corrections.editor.correction import Correction
from tablerec.corrections.proof import proof_to_view, prove

_known: WeakKeyDictionary[Correction, tuple[int, dict[str, Any]]] = WeakKeyDictionary()
"""The last proof of each correction, with the version that it is of."""


def correction_to_proof(correction: Correction) -> dict[str, Any]:
    """Return what the page wants of the proof of a table as it is now, ready for JSON.

    Steps go on meanwhile: the answer says of which ``version`` it is.
    """
    with correction.lock:
        version, state = correction.version, correction.state
    kept = _known.get(correction)
    if kept is None or kept[0] != version:
        proof = prove(state.table, state.words)
        kept = version, {**proof_to_view(state.table, proof), "version": version}
        _known[correction] = kept
    return kept[1]
