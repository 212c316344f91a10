"""Passes of CellNet over pictures: by ONNX Runtime on the CPU and on NVIDIA's cards, by Paddle on other devices.

Whoever looks for cells and whoever looks for lines of text share one network and its last passes.
"""

from __future__ import annotations

import threading
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary, ref

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Floats
from tablerec.detect.text_maps import decode_lines
from tablerec.detect.tiles import Tile, detect_in_tiles, join_lines, plan_tiles
from tablerec.errors import SettingsError
from tablerec.models.folder import LINES, NAME, OUTPUTS, read_description
from tablerec.models.opening import Network, choose_network

if TYPE_CHECKING:
    from postprocess.arrays import Image

THRESHOLD = 0.4
"""Least score of a cell. A missed cell is filled in by the grid, a false one may cost a row: it pays to be strict."""
MULTIPLE = 32
"""Height and width of the network's input are multiples of this."""
STRIDE = 4
"""Pixels between two positions of the table map."""
PAPER = 127
"""Grey around a picture, as in training."""
MOST_PIXELS, LONGEST = 24_000_000, 40_000
"""Pixels, and those of a side: a picture goes through the network no larger, however small its text."""
_KEPT = 3
"""Passes that a thread keeps: at the first scale, the one for its text, and a third for comparison."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What a pass found, in pixels of the picture.

    Args:
        scale: How much the picture was enlarged before.
        quads: ``(N, 4, 2)`` float64 cells.
        scores: ``(N,)`` float64 how sure each is.
        tables: ``(h, w)`` float32 probability of a table, over the whole picture.
        lines: ``(M, 4, 2)`` float64 lines of text; none where the network does not look for them.
    """

    scale: float
    quads: Floats
    scores: Floats
    tables: NDArray[np.float32]
    lines: Floats


class CellNetPasses:
    """A network, opened at the first pass, and its last passes.

    Args:
        model: Folder with ``inference.onnx``, or ``inference.json`` and ``inference.pdiparams`` for Paddle; or a
            network that others have opened: see ``models.cellnet.CellNetWithDecoder`` for what it returns.
        device: See ``models.opening.choose_network``.
        threshold: Least score of a cell, 0 to 1.

    Raises:
        SettingsError: The threshold is outside its range.
        ModelNotFoundError: The folder holds no model, or a damaged one.
    """

    def __init__(self, model: Path | Network, device: str = "cpu", threshold: float = THRESHOLD) -> None:
        if not 0 <= threshold <= 1:
            raise SettingsError(f"threshold is {threshold}: give a value from 0 to 1")
        self.threshold = threshold
        if isinstance(model, Path):
            outputs = (*OUTPUTS, LINES) if finds_lines(model) else OUTPUTS
            self._open: Callable[[], Network] = choose_network(model, device, NAME, outputs)
        else:
            self._open = lambda: lambda images: model(images.astype(np.float32))
        self._network: Network | None = None
        self._lock = threading.Lock()
        self._last = _LastPasses()

    def run(self, image: Image, scale: float, like: float = 1.0) -> Pass:
        """Let the network see a picture, or return one of the last passes over the same picture.

        Args:
            image: ``(H, W, 3)`` uint8 BGR, not empty.
            scale: How much it is enlarged before; limited by ``largest_scale``.
            like: A pass will do whose scale differs by this factor at most.
        """
        scale = min(scale, largest_scale(image.shape[:2]))
        key = self._last.key_of(image)
        for kept_key, kept in tuple(self._last.passes):
            if kept_key == key and max(kept.scale / scale, scale / kept.scale) <= like:
                return kept
        with self._lock:
            if self._network is None:
                self._network = self._open()
        found = self._run(self._network, image, scale)
        self._last.passes.append((key, found))
        return found

    def _run(self, network: Network, image: Image, scale: float) -> Pass:
        import cv2

        size_wh = tuple(max(1, round(scale * side)) for side in image.shape[1::-1])
        scaled = (
            image
            if scale == 1
            else np.asarray(cv2.resize(image, size_wh, interpolation=_interpolation(scale)), np.uint8)
        )
        factor = np.array(image.shape[1::-1]) / np.array(scaled.shape[1::-1])
        lines: dict[Tile, Floats] = {}

        def detect(tile: Tile, shrink: float) -> tuple[Floats, Floats, NDArray[np.float32]]:
            x0, y0, x1, y1 = tile.box_xyxy
            part = scaled[y0:y1, x0:x1]
            if shrink < 1:
                size = [max(1, round(shrink * side)) for side in part.shape[1::-1]]
                part = np.asarray(cv2.resize(part, size, interpolation=cv2.INTER_AREA), np.uint8)
            quads, scores, _, tables, *maps = network(to_input(part))
            sure = scores >= self.threshold
            steps = np.array([x1 - x0, y1 - y0]) / np.array(part.shape[1::-1])
            height, width = (-(-side // STRIDE) for side in part.shape[:2])
            if maps and shrink == 1:
                lines[tile] = np.add(decode_lines(maps[0][0, :, :height, :width])[0], (x0, y0), dtype=np.float64)
            return quads[sure] * steps + (x0, y0), scores[sure].astype(np.float64), tables[0, :height, :width]

        quads, scores, tables = detect_in_tiles(detect, plan_tiles(scaled.shape[:2]))
        return Pass(scale, quads * factor, scores, tables, join_lines(lines) * factor)


Key = tuple[int, ...]
"""Shape and checksum of a picture."""


class _LastPasses(threading.local):
    """Those of a thread, which reads one picture after the other."""

    def __init__(self) -> None:
        self.passes: deque[tuple[Key, Pass]] = deque(maxlen=_KEPT)
        self._image: Callable[[], Image | None] = lambda: None
        self._key: Key = ()

    def key_of(self, image: Image) -> Key:
        """What tells a picture from others; the one asked for last is known if nobody can have changed it."""
        if image is not self._image() or image.flags.writeable:
            self._image, self._key = ref(image), (*image.shape, zlib.crc32(np.ascontiguousarray(image).data))
        return self._key


_shared: WeakValueDictionary[tuple[Path, str, float], CellNetPasses] = WeakValueDictionary()
_shared_lock = threading.Lock()


def share_passes(model: Path | Network, device: str = "cpu", threshold: float = THRESHOLD) -> CellNetPasses:
    """Return the passes of a model, the same for all who ask while one of them holds them; see ``CellNetPasses``.

    A network that others have opened is not shared.
    """
    if not isinstance(model, Path):
        return CellNetPasses(model, device, threshold)
    key = model.absolute(), device, threshold
    with _shared_lock:
        passes = _shared.get(key)
        if passes is None:
            passes = _shared[key] = CellNetPasses(model, device, threshold)
    return passes


def finds_lines(folder: Path) -> bool:
    """Whether the network of a folder looks for lines of text, which its ``inference.yml`` says.

    >>> finds_lines(Path("no such folder"))
    False
    """
    network = read_description(folder).get("network")
    return isinstance(network, dict) and bool(network.get(LINES))


def largest_scale(size_hw: tuple[int, ...]) -> float:
    """The scale up to which a pass takes some seconds at most.

    >>> largest_scale((3000, 2000)), round(largest_scale((10_000, 10_000)), 2)
    (2.0, 0.49)
    """
    height, width = (max(side, 1) for side in size_hw)
    return float(min((MOST_PIXELS / (height * width)) ** 0.5, LONGEST / max(height, width)))


def to_input(image_bgr: Image) -> NDArray[np.uint8]:
    """``(H, W, 3)`` uint8 BGR to the network's ``(1, 3, H', W')`` RGB, filled up at the right and at the bottom.

    >>> to_input(np.zeros((30, 70, 3), np.uint8)).shape
    (1, 3, 32, 96)
    """
    import cv2

    height, width = image_bgr.shape[:2]
    filled = np.full((1, 3, -(-height // MULTIPLE) * MULTIPLE, -(-width // MULTIPLE) * MULTIPLE), PAPER, np.uint8)
    for plane, channel in zip(filled[0], reversed(cv2.split(image_bgr)), strict=True):
        plane[:height, :width] = channel
    return filled


def _interpolation(scale: float) -> int:
    import cv2

    return cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
