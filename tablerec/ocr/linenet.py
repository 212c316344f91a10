"""LineNet as an OCR engine: lines of text by a small network of our own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from postprocess.word import Word
from tablerec.devices import parse_device
from tablerec.errors import ModelNotFoundError
from tablerec.fields import parse_yaml, read_text
from tablerec.models.folder import DESCRIPTION, LINENET, LINENET_OUTPUTS, LINENET_WEIGHTS, ONNX, STATIC
from tablerec.models.opening import Network, choose_network, runs_on_card, usable_threads
from tablerec.ocr.ctc import Reading, decode, to_line
from tablerec.ocr.doubts import settle_scripts
from tablerec.ocr.edges import settle
from tablerec.ocr.line import Line
from tablerec.ocr.lines import CropReader, distinct, read_found
from tablerec.ocr.script import scripts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postprocess.arrays import Image

HEIGHT = 32
"""Of the network's input, in pixels."""
STRIDE = 4
"""Pixels between two positions of its output."""
PAPER = 127
"""Grey to the right of a line, as in training."""
WIDTHS = (64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
"""Of the network's input: few, since every new shape costs time on a card. A longer line is squeezed into the last."""
BATCH_PIXELS = 2**18
"""Pixels that go through the network at once: 64 lines of 128 pixels, in which a word has room."""


class LineNetEngine(CropReader):
    """Reads with LineNet.

    Args:
        find: Finds the lines of a picture of any size, as ``lines.find_lines`` does.
        model: Folder with ``inference.yml`` and the network, see ``models.opening``.
        device: Where the network runs, in PaddleX's syntax.
        threads: Threads of ONNX Runtime; None takes the CPUs that this process may use, at most 8.

    Raises:
        ModelNotFoundError: The folder holds no LineNet, or a damaged one.
    """

    name = "tablerec"

    def __init__(
        self,
        find: Callable[[Image], NDArray[np.float32]],
        model: Path = LINENET_WEIGHTS,
        device: str = "cpu",
        threads: int | None = None,
    ) -> None:
        self.model = model
        self._find = find
        self._open = choose_network(model, device, LINENET, LINENET_OUTPUTS, threads or usable_threads())
        # On a card, lines of several pages go through the network together, and are filled up then.
        self._fills_batches = parse_device(device).kind != "cpu" and not runs_on_card(device)
        self._network: Network | None = None
        self._lock = threading.Lock()

    @cached_property
    def characters(self) -> tuple[str, ...]:
        """What it can read, in the order of the network's classes."""
        return read_characters(self.model / DESCRIPTION)

    @property
    def reads(self) -> frozenset[str]:
        """See ``CropReader``."""
        return scripts_of(self.characters)

    def find(self, image: Image) -> NDArray[np.float32]:
        """Find the lines of a picture, with ground at their ends as in training: tightly cut letters are misread.

        Returns:
            ``(N, 4, 2)`` float32 corners TL, TR, BR, BL in whole pixels.
        """
        return settle(self._find(image), image)

    def read(self, image: Image) -> list[Word]:
        """See ``OcrEngine``."""
        return read_found(self, image, self.find(image))

    def recognize(self, crops: Sequence[Image]) -> list[Line]:
        """See ``CropReader``."""
        readings = self.read_lines(crops)
        lines = [to_line(reading, crop.shape[0]) for reading, crop in zip(readings, crops, strict=True)]
        return [line if line.text.isascii() else replace(line, text=settle_scripts(line.text)) for line in lines]

    def read_lines(self, crops: Sequence[Image]) -> list[Reading]:
        """Read each crop as it is seen; crops that are equal once they are scaled are read once."""
        scaled = [scale_crop(crop) for crop in crops]
        firsts, owners = distinct(scaled)
        found: dict[int, Reading] = {}
        for chosen, width in plan_batches([scaled[index].shape[1] for index in firsts]):
            lines = [scaled[firsts[place]] for place in chosen]
            chars, scores = self._run(fill_batch(lines, width, self._fills_batches))
            lengths = [line.shape[1] / STRIDE for line in lines]
            found |= zip(chosen, decode(chars, scores, self.characters, lengths), strict=True)
        return [found[owner] for owner in owners]

    def _run(self, images: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        with self._lock:
            if self._network is None:
                self._network = self._open()
            network = self._network
        chars, scores = network(images)
        return np.asarray(chars, np.int64), np.asarray(scores, np.float64)


def has_linenet(folder: Path = LINENET_WEIGHTS) -> bool:
    """Whether a folder holds an exported LineNet."""
    return (folder / DESCRIPTION).is_file() and any((folder / name).is_file() for name in (ONNX, STATIC[0]))


def scale_crop(crop: Image) -> Image:
    """Scale a crop to the network's height, and no wider than the widest input; BGR to RGB.

    Args:
        crop: ``(h, w, 3)`` uint8, BGR.

    Returns:
        ``(HEIGHT, w', 3)`` uint8, RGB.

    >>> scale_crop(np.zeros((48, 96, 3), np.uint8)).shape
    (32, 64, 3)
    """
    import cv2

    height, width = crop.shape[:2]
    wanted = min(max(STRIDE, round(width * HEIGHT / height)), WIDTHS[-1])
    way = cv2.INTER_AREA if height > HEIGHT else cv2.INTER_LINEAR
    scaled = cv2.resize(crop, (wanted, HEIGHT), interpolation=way)
    return np.asarray(cv2.cvtColor(scaled, cv2.COLOR_BGR2RGB), np.uint8)


def plan_batches(widths: Sequence[int]) -> Iterator[tuple[list[int], int]]:
    """Say which lines go through the network together.

    Args:
        widths: Of the scaled lines, at most the last of ``WIDTHS``.

    Yields:
        Numbers of lines, and the width of their batch.

    >>> list(plan_batches([300, 20, 64, 70]))
    [([1, 2], 64), ([3], 128), ([0], 384)]
    """
    buckets = np.searchsorted(WIDTHS, widths)
    for bucket in np.unique(buckets):
        width = WIDTHS[bucket]
        most = max(1, BATCH_PIXELS // (HEIGHT * width))
        inside = np.flatnonzero(buckets == bucket).tolist()
        yield from ((inside[start : start + most], width) for start in range(0, len(inside), most))


def fill_batch(lines: Sequence[Image], width: int, to_power_of_two: bool = False) -> NDArray[np.uint8]:
    """Put scaled lines into one array, filled up with grey.

    Args:
        lines: ``(HEIGHT, w, 3)`` uint8, RGB.
        width: Of the batch.
        to_power_of_two: Whether lines without text are added until there are 1, 2, 4, 8, ...

    Returns:
        ``(B, 3, HEIGHT, width)`` uint8.

    >>> fill_batch([np.zeros((32, 20, 3), np.uint8)] * 3, 64, to_power_of_two=True).shape
    (4, 3, 32, 64)
    """
    count = 2 ** (len(lines) - 1).bit_length() if to_power_of_two else len(lines)
    filled = np.full((count, 3, HEIGHT, width), PAPER, np.uint8)
    for place, line in enumerate(lines):
        filled[place, :, :, : line.shape[1]] = line.transpose(2, 0, 1)
    return filled


def read_characters(path: Path) -> tuple[str, ...]:
    """Read the characters of a recogniser from its ``inference.yml``, without parsing all of it: that takes a second.

    Raises:
        ModelNotFoundError: There is no such file, or no list of characters in it.
    """
    try:
        lines = iter(read_text(path).replace("\r", "").split("\n"))
        for line in lines:
            if line.strip() == "character_dict:":
                return tuple(_items(lines))
    except (ValueError, OSError) as error:
        raise ModelNotFoundError(
            f"{path} cannot be read ({error}): name the folder of an exported {LINENET}"
        ) from error
    raise ModelNotFoundError(f"{path} has no character_dict: name the folder of an exported {LINENET}")


def _items(lines: Iterable[str]) -> Iterator[str]:
    """The texts of a YAML list, one a line, plain or quoted."""
    for line in lines:
        mark, _, item = line.lstrip().partition("- ")
        if mark:
            return
        if item.startswith("'"):
            yield item.strip()[1:-1].replace("''", "'")
        elif item.startswith('"'):
            yield str(parse_yaml(item))
        else:
            yield item
