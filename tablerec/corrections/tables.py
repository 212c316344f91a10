"""What alike tables, joined ones and learning ask of a review."""

from __future__ import annotations

from typing import Protocol

from tablerec.corrections.editor import Correction, CorrectionFolder


class Tables(Protocol):
    """The tables of a review."""

    corrections: CorrectionFolder

    def names(self) -> list[str]:
        """Names of all of them."""

    def correction(self, name: str) -> Correction:
        """One of them."""
