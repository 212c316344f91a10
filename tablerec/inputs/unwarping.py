"""Photographed pages flattened by PaddleX's UVDoc before recognition; results are mapped back where they can be."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tablerec.paddlex_support import LazyModel, Runtime
from tablerec.result import Page, PageImage, move_page

if TYPE_CHECKING:
    from postprocess.arrays import Image

UVDOC = "UVDoc"

Map = NDArray[np.float32]
"""``(H, W, 2)`` for each pixel of the flat picture where it lies in the picture as given, x and y in pixels."""


class Unwarper:
    """Flattens pictures with UVDoc.

    PaddleX's static models give the flat picture alone. Its network in ``paddle_dynamic`` tells the map besides.

    Args:
        runtime: How the model runs, and where it lies.
    """

    def __init__(self, runtime: Runtime | None = None) -> None:
        self._model = LazyModel(UVDOC, None, runtime)

    def flatten(self, picture: PageImage) -> tuple[PageImage, Map | None]:
        """Make a picture flat.

        Returns:
            The flat picture, as large as the one given, and its map if the model tells it. A page whose words are known
            was not photographed: it is returned as it is, with no map.
        """
        if picture.words is not None or picture.image.size == 0:
            return picture, None
        model = self._model.load()
        network = getattr(getattr(model, "runner", None), "_model", None)
        if hasattr(network, "backbone"):
            flat_map = _ask_for_map(network, picture.image)
            return replace(picture, image=remap(picture.image, flat_map)), flat_map
        # PaddleX turns the order of the channels round.
        flat = np.ascontiguousarray(self._model.predict(picture.image)["doctr_img"][:, :, ::-1])
        warnings.warn(
            f"{UVDOC} tells no map with this engine: corners are in pixels of the flattened picture; "
            "the engine paddle_dynamic has it",
            stacklevel=2,
        )
        return replace(picture, image=flat), None


def _ask_for_map(network: Any, image: Image) -> Map:
    """Run the network up to the places of the picture, as its ``forward`` does before it samples."""
    import paddle

    height, width = image.shape[:2]
    pixels = np.ascontiguousarray(image.transpose(2, 0, 1)[None], np.float32) / 255
    pixels = paddle.to_tensor(pixels, place=network.parameters()[0].place)
    with paddle.no_grad():
        small = paddle.nn.functional.interpolate(
            pixels, size=network.upsample_size, mode=network.upsample_mode, align_corners=True
        )
        places = network.head(paddle.concat(network.backbone(small), axis=1))
        places = paddle.nn.functional.interpolate(
            places, size=(height, width), mode=network.upsample_mode, align_corners=True
        )
    scaled = (places.numpy()[0].transpose(1, 2, 0) + 1) / 2 * (width - 1, height - 1)
    return np.ascontiguousarray(scaled, np.float32)


def remap(image: Image, flat_map: Map, *, fill: bool = False) -> Image:
    """Make a picture flat.

    Args:
        image: ``(height, width)`` or ``(height, width, channels)`` uint8.
        flat_map: See ``Map``.
        fill: Whether the median colour of its edge is beyond the picture; if not, the edge goes on.
    """
    import cv2

    x, y = flat_map[:, :, 0], flat_map[:, :, 1]
    if not fill:
        return np.asarray(cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE), np.uint8)
    edge = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
    color = np.median(edge, axis=0).ravel().tolist()
    flat = cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=color)
    return np.asarray(flat, np.uint8)


def unflatten_page(page: Page, picture: PageImage, flat_map: Map) -> Page:
    """Say of a flat picture's tables and words where they are in the picture as given.

    Args:
        page: What was found in the flat picture.
        picture: The picture as given.
        flat_map: Where its pixels lie in that.
    """
    return move_page(page, picture, partial(unflatten_points, flat_map=flat_map))


def unflatten_points(points: NDArray[np.float64], flat_map: Map) -> NDArray[np.float64]:
    """Take points of the flat picture to their places in the picture as given.

    Args:
        points: ``(N, 2)`` x and y in pixels, from the corner of the picture.
        flat_map: See ``Map``.

    >>> across, down = np.meshgrid(np.arange(4.0), np.arange(3.0))
    >>> unflatten_points(np.array([[1.5, 1.0]]), np.stack([across + 10, down + 20], axis=2).astype(np.float32)).tolist()
    [[11.5, 21.0]]
    """
    height, width = flat_map.shape[:2]
    # A pixel's value is that of its middle.
    at = np.clip(points - 0.5, 0, [width - 1, height - 1])
    low = np.minimum(np.floor(at), [max(width - 2, 0), max(height - 2, 0)]).astype(int)
    x, y = low.T
    right, below = np.minimum(x + 1, width - 1), np.minimum(y + 1, height - 1)
    along, down = (at - low).T[..., None]
    upper = flat_map[y, x] * (1 - along) + flat_map[y, right] * along
    lower = flat_map[below, x] * (1 - along) + flat_map[below, right] * along
    return np.asarray(upper * (1 - down) + lower * down + 0.5, np.float64)
