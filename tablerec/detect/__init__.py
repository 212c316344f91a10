"""Cell detectors: a picture and its words in, the cells of each table out.

A detector is anything with a ``name`` and a ``detect`` method. Nothing in the
rest of the pipeline depends on which one ran.

- ``factory``: the detector that the settings name
- ``geometric``: rulings, words and white gaps, without weights; ``margins``: empty cells at the edge
- ``cellnet``: our network as a detector of cells; ``text_lines``: as a finder of lines, ``text_maps``: by its maps
- ``passes``: the network in ONNX Runtime or Paddle; ``tiles``: large pictures in parts
- ``combined``: both side by side, and the better grid of each table
- ``paddlex``: PaddleX's detectors of cells
- ``nesting``: tables in the cells of tables; ``cell_pictures``: pictures in them
- ``regions``: tables where a layout model has found them, each processed alone
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from postprocess.word import Word

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from postprocess.arrays import Image
    from postprocess.candidates.candidate import Candidate


@dataclass(frozen=True, slots=True)
class Detection:
    """The cells of one table as a network sees them.

    Args:
        quads: ``(N, 4, 2)`` float64 corners TL, TR, BR, BL in pixels of the picture.
        scores: ``(N,)`` float64, how sure the detector is of each cell, 0 to 1.
        detector: Name of the detector that found them.
    """

    quads: NDArray[np.float64]
    scores: NDArray[np.float64]
    detector: str

    def to_candidate(self) -> Candidate:
        """Infer the grid of the cells."""
        from postprocess.candidates.candidate import quads_to_candidate

        return quads_to_candidate(self.quads, self.scores, self.detector)


class CellDetector(Protocol):
    """Finds the cells of the tables in a picture."""

    name: str

    def detect(self, image: Image, words: Sequence[Word]) -> Sequence[Detection | Candidate]:
        """Find tables.

        Args:
            image: ``(height, width, 3)`` uint8, BGR.
            words: What the OCR engine found; empty without an OCR engine.

        Returns:
            For each table, from top to bottom, its cells as a Detection, or as a Candidate where the detector knows
            their grid; empty where there is none.
        """
        ...
