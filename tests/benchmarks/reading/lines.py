"""Lines with known texts, drawn or from real pictures, and whether they were read right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from postprocess.arrays import Image
from tablerec.models.characters import normalize_label
from tablerec.synth.lines import MIXED, Settings, draw_line

SEED = 19_000_000_007
"""Of drawn lines; training uses small ones."""


@dataclass(frozen=True)
class KnownLine:
    """A crop, ``(h, w, 3)`` uint8 BGR, and the label of what it says, from left to right as it is seen."""

    crop: Image
    text: str
    kind: str


def drawn_lines(count: int, kind: str = MIXED, split: str = "train", first: int = 0) -> Iterator[KnownLine]:
    """Lines that stand upright, by the synthetic engine."""
    settings = Settings(split, upside_down=0, on_side=0)  # type: ignore[arg-type]
    for index in range(first, first + count):
        sample = draw_line(SEED, index, settings, kind)
        yield KnownLine(np.ascontiguousarray(sample.image[..., ::-1]), normalize_label(sample.text), sample.kind)


def listed_lines(path: Path, most: int | None = None) -> Iterator[KnownLine]:
    """Crops of a list in PaddleOCR's format: a path beside the list, a tab, the text; evenly, so many at most."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for line in lines[:: max(1, len(lines) // most)][:most] if most else lines:
        name, _, text = line.partition("\t")
        crop = cv2.imread(str(path.parent / name))
        if crop is not None:
            yield KnownLine(np.asarray(crop, np.uint8), normalize_label(text), "real")


def are_right(texts: Sequence[str], lines: Sequence[KnownLine]) -> list[bool]:
    """Whether each text is its line's, written as labels are."""
    return [normalize_label(text) == line.text for text, line in zip(texts, lines, strict=True)]
