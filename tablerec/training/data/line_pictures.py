"""Real pictures with lines of text as labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Image
from postprocess.geometry.boxes import quads_to_boxes, word_height
from tablerec.errors import InputError
from tablerec.fields import read_json
from tablerec.labels import load_image
from tablerec.training.data.crops import crop_anew

Quads = NDArray[np.float32]


class PictureOfLines(NamedTuple):
    """A picture and its lines of text.

    Args:
        image: ``(H, W, 3)`` uint8 RGB.
        lines: ``(N, 4, 2)`` float32 pixels, TL, TR, BR, BL.
    """

    image: NDArray[np.uint8]
    lines: Quads


class LineFolder:
    """Pictures of a folder, cropped, scaled and compressed anew each time; in another order each time that all were.

    Beside each picture is a JSON file with ``image``, its name, ``lines``, corners of each, and maybe ``ignore``,
    corners of what may be text or not: the picture is blank there.

    Args:
        folder: The folder.

    Raises:
        InputError: It holds no such labels, or a broken one.
    """

    def __init__(self, folder: Path) -> None:
        self.members = [member for path in sorted(folder.glob("*.json")) if (member := _read(path))]
        if not self.members:
            raise InputError(
                f"source lines:{folder} holds no labels of lines: for each picture give a JSON file beside it, with "
                "`image` and `lines`, the four corners of each"
            )

    def __call__(self, index: int) -> PictureOfLines:
        """Return a picture; the same index gives the same."""
        turn, place = divmod(index, len(self.members))
        order = np.random.default_rng([turn, 6]).permutation(len(self.members))
        path, lines, ignored = self.members[int(order[place])]
        image = blank(load_image(path), ignored)
        rng = np.random.default_rng([index, 7])
        return PictureOfLines(
            *crop_anew(image, lines, word_height(lines.astype(np.float64)) if len(lines) else None, rng)
        )


def _read(path: Path) -> tuple[Path, Quads, Quads] | None:
    """Read a label: picture, lines and what is ignored; None where it has no lines."""
    try:
        label = read_json(path)
        if not isinstance(label, dict) or "lines" not in label:
            return None
        lines, ignored = (_to_quads(label.get(name, [])) for name in ("lines", "ignore"))
        return path.parent / Path(str(label["image"])).name, lines, ignored
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: is no label of lines ({error}): give `image` and `lines`, corners of each"
        ) from error


def _to_quads(value: Any) -> Quads:
    quads = np.array(value, np.float32).reshape(-1, 4, 2)
    if not np.isfinite(quads).all():
        raise ValueError("a corner is no number")
    return quads


def blank(image: Image, quads: Quads) -> Image:
    """Fill the boxes of quads with the colour around each.

    Args:
        image: ``(H, W, 3)`` uint8.
        quads: ``(N, 4, 2)`` pixels.

    >>> page = np.full((20, 40, 3), 200, np.uint8)
    >>> page[8:12, 10:30] = 0
    >>> int(blank(page, np.array([[[8, 6], [32, 6], [32, 14], [8, 14]]])).min())
    200
    """
    filled = image.copy()
    height, width = image.shape[:2]
    for box in quads_to_boxes(quads):
        x0, y0 = np.floor(box[:2]).astype(int).clip(0, [width - 1, height - 1]).tolist()
        x1, y1 = np.ceil(box[2:]).astype(int).clip(1, [width, height]).tolist()
        part = filled[y0:y1, x0:x1]
        if part.size:
            part[...] = np.median(np.concatenate([part[0], part[-1], part[:, 0], part[:, -1]]), axis=0)
    return filled
