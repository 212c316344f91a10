"""Seals and stamps: coloured ink over print is told from print, and each is read without the other.

- ``find``: where they are, by colour and shape
- ``inks``: two inks on paper told apart
- ``read``: what is written on them; ``under``: the print below them, read once more
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tablerec.inputs.seals.find import Shape, find_shapes
from tablerec.inputs.seals.inks import Parted, part

if TYPE_CHECKING:
    from postprocess.arrays import Image
    from tablerec.result import PageImage

Found = tuple[Shape, Parted]


def without_seals(image: Image) -> tuple[Image, list[Found]]:
    """Take the seals off a picture.

    Args:
        image: ``(height, width, 3)`` uint8, BGR.

    Returns:
        The print alone, and the seals; the picture itself where there are none.

    >>> import numpy as np
    >>> blank = np.full((60, 60, 3), 255, np.uint8)
    >>> cleaned, seals = without_seals(blank)
    >>> cleaned is blank, seals
    (True, [])
    """
    found: list[Found] = []
    cleaned = image
    for shape in find_shapes(image):
        parted = part(cleaned, shape)
        if parted is not None:
            cleaned = image.copy() if cleaned is image else cleaned
            paste(cleaned, parted)
            found.append((shape, parted))
    return cleaned, found


def paste(image: Image, parted: Parted) -> None:
    """Put the print of a part in its place."""
    x0, y0, x1, y1 = parted.box_xyxy
    image[y0:y1, x0:x1] = parted.print


def without_seals_in_layer(picture: PageImage) -> PageImage:
    """A page of a PDF whose pictures between the words are read without the seals that the whole page shows."""
    layer = picture.layer
    if layer is None or layer.rest.shape != picture.image.shape:
        return picture
    rest = layer.rest
    for shape in find_shapes(picture.image):
        parted = part(rest, shape)
        if parted is not None:
            rest = rest.copy() if rest is layer.rest else rest
            paste(rest, parted)
    return picture if rest is layer.rest else replace(picture, layer=replace(layer, rest=rest))
