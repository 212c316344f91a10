"""RapidOCR: PP-OCR on onnxruntime, with the weights that its wheel holds."""

from __future__ import annotations

import copy
import importlib.util
import math
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tablerec.errors import MissingDependencyError, ModelNotFoundError
from tablerec.models.opening import Network, NetworkFile, opener, runs_on_card, usable_threads
from tablerec.models.opening.buckets import fit
from tablerec.models.opening.card import NETWORKS, PP_OCR_FINDER, PP_OCR_READER
from tablerec.ocr.line import Line
from tablerec.ocr.lines import STRIDE, LineReader, centers_to_spans
from tablerec.ocr.script import scripts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postprocess.arrays import Image

WEIGHTS = {"Det": "PP-OCRv6_det_small.onnx", "Rec": "PP-OCRv6_rec_small.onnx"}

HEIGHT = 48
"""Of crops as the recogniser takes them, in pixels."""
WIDTHS = (160, 192, 224, 256, 320, 384, 480, 640, 960, 1280, 1920)
"""To which crops are padded: each has a width of its own whatever is read with it, as what is padded may decide between
I and l, and a card takes long for each new one. RapidOCR's own least width, 320, takes 1.7 times as long: most cells
are short. Below 160 the last characters suffer."""
_BATCH = 8
"""Crops that are read at once on the CPU."""
SIDES = (320, 480, 640, 800, 960, 1152, 1344, 1600, 1920, 2304, 2720, 3200, 3840)
"""Of pictures in which lines are sought on a card."""
_TAIL = 0.5
"""Grey right of each crop as a share of its height: the recogniser is trained with some, and without it reads the
last character worse."""
_GREY = (127, 127, 127)
_SCALED = (np.arange(256, dtype=np.float32) / 255 - 0.5) / 0.5
"""What the recogniser takes for each value of a pixel."""


class RapidOcrEngine(LineReader):
    """Reads with RapidOCR; never downloads.

    Its angle classifier stays off: it turns ``998`` into ``866``. Its limits stay off too: the default
    score threshold, number of candidates and side length each lose text without a word.

    Args:
        threads: Threads of onnxruntime; None takes the CPUs that this process may use, at most 8.
        device: Its networks run on an NVIDIA card where ONNX Runtime can use it, and else on the CPU.

    Raises:
        MissingDependencyError, SettingsError: The card cannot be used.
    """

    name = "rapidocr"

    def __init__(self, threads: int | None = None, device: str = "cpu") -> None:
        self.threads = threads or usable_threads()
        self._card = _Card(device) if runs_on_card(device) else None
        self._engine: Any = None
        self._reader: Callable[[NDArray[np.float32]], _Best] | None = None
        self._classes: tuple[str, ...] = ()
        """Of its reader, in their order; the first stands for none."""
        self._lock = threading.Lock()

    @property
    def sides(self) -> Sequence[int]:
        """See ``LineReader``."""
        return SIDES if self._card else super().sides

    @property
    def reads(self) -> frozenset[str]:
        """See ``CropReader``."""
        return scripts_of(self.characters)

    @cached_property
    def characters(self) -> frozenset[str]:
        """What it can read."""
        self._load_reader()
        return frozenset(self._classes)

    def detect(self, image: Image) -> NDArray[np.float32]:
        """See ``LineReader``."""
        find = self._card.finder(self.load()) if self._card else self.load()
        boxes = find(image).boxes
        return np.empty((0, 4, 2), np.float32) if boxes is None else np.asarray(boxes, np.float32)

    def recognize(self, crops: Sequence[Image]) -> list[Line]:
        """See ``LineReader``."""
        given: dict[int, list[int]] = defaultdict(list)
        tailed = [_with_tail(crop) for crop in crops]
        for index, crop in enumerate(tailed):
            given[fit(crop.shape[1], WIDTHS)].append(index)
        lines = [Line("", 0.0)] * len(crops)
        for width, indices in sorted(given.items()):
            for index, seen in zip(indices, self._read([tailed[index] for index in indices], width), strict=True):
                height, bare = crops[index].shape[:2]
                stretch = width / tailed[index].shape[1] * (1 + round(_TAIL * height) / bare)
                centers = [(column + 0.5) / seen.n_columns * stretch for column in seen.columns]
                lines[index] = Line(seen.text, seen.score, centers_to_spans(seen.text, centers))
        return lines

    def _read(self, crops: Sequence[Image], width: int) -> list[_Seen]:
        """Read crops of the recogniser's height that are filled up to one width."""
        network = self._load_reader()
        most = NETWORKS[PP_OCR_READER].most((3, HEIGHT, width)) if self._card else _BATCH
        found: list[_Seen] = []
        for start in range(0, len(crops), most):
            best = network(_to_input(crops[start : start + most], width))
            found += [_decode(*each, self._classes) for each in zip(best.best, best.scores, strict=True)]
        return found

    def _load_reader(self) -> Callable[[NDArray[np.float32]], _Best]:
        """The network that reads crops, and its classes, taken from RapidOCR's reader, which is made at the first."""
        engine = self.load()
        with self._lock:
            if self._reader is None:
                engine.recognize_txt([np.full((16, 16, 3), _GREY[0], np.uint8)])
                reader = engine.text_rec
                self._classes = tuple(reader.postprocess_op.character)
                self._reader = self._card.open_reader() if self._card else _best_classes(reader.session)
        return self._reader

    def load(self) -> Any:
        """Load the models, once; the first picture does it too.

        Raises:
            MissingDependencyError, ModelNotFoundError: See ``model_paths``.
        """
        with self._lock:
            if self._engine is None:
                self._engine = _make_engine(self.threads)
        return self._engine


class _Card:
    """RapidOCR with its networks on a card: its steps before and after them, and few shapes between.

    RapidOCR makes the parts that it needs with a session on the CPU; ours then takes the session's place.
    """

    def __init__(self, device: str) -> None:
        paths = model_paths()
        self._open_reader = opener(NetworkFile(paths["Rec"], device, PP_OCR_READER))
        self._open_finder = opener(NetworkFile(paths["Det"], device, PP_OCR_FINDER))
        self._finder: Any = None
        self._lock = threading.Lock()

    def finder(self, engine: Any) -> Any:
        """RapidOCR's finder of lines, made of the engine's at the first picture."""
        with self._lock:
            if self._finder is None:
                engine(np.full((STRIDE, STRIDE, 3), 255, np.uint8))
                self._finder = copy.copy(engine.text_det)
                self._finder.session = _first_output(self._open_finder())
        return self._finder

    def open_reader(self) -> Callable[[NDArray[np.float32]], _Best]:
        """What takes the place of the session of RapidOCR's reader of crops."""
        network = self._open_reader()
        return lambda images: _Best(*network(images))


def _first_output(network: Network) -> Callable[[NDArray[np.float32]], NDArray[Any]]:
    return lambda images: network(images)[0]


def _best_classes(
    session: Callable[[NDArray[np.float32]], NDArray[np.float32]],
) -> Callable[[NDArray[np.float32]], _Best]:
    """A session whose ``(B, T, C)`` probabilities, 18,000 at each place, are looked through once."""

    def read(images: NDArray[np.float32]) -> _Best:
        found = session(images)
        best = found.argmax(axis=2)
        return _Best(best, np.take_along_axis(found, best[..., None], axis=2)[..., 0])

    return read


@dataclass(frozen=True, slots=True)
class _Best:
    """The best class of each column of crops, ``(B, T)``, and its probability."""

    best: NDArray[np.int64]
    scores: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was read in a crop: the text, its score, and of ``n_columns`` those in which its visible characters are."""

    text: str
    score: float
    columns: list[int]
    n_columns: int


def model_paths() -> dict[str, Path]:
    """Return the weights in RapidOCR's wheel by section of its configuration.

    Raises:
        MissingDependencyError: RapidOCR or onnxruntime is not installed.
        ModelNotFoundError: The wheel does not hold the weights.
    """
    specs = {package: importlib.util.find_spec(package) for package in ("rapidocr", "onnxruntime")}
    for package, spec in specs.items():
        if spec is None:
            raise MissingDependencyError(f'{package} is not installed: run pip install "rapidocr==3.10.*" onnxruntime')
    folder = Path(str(getattr(specs["rapidocr"], "origin", ""))).parent / "models"
    paths = {section: folder / name for section, name in WEIGHTS.items()}
    missing = [str(path) for path in paths.values() if not path.is_file()]
    if missing:
        raise ModelNotFoundError(
            f"RapidOCR's weights are missing ({', '.join(missing)}): they come with the wheel of rapidocr 3.10, "
            'run pip install --force-reinstall --no-deps "rapidocr==3.10.*"'
        )
    return paths


def _make_engine(threads: int) -> Any:
    paths = model_paths()
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,
            "Global.use_rec": False,
            "Global.return_word_box": True,
            # Sizes are chosen by find_lines.
            "Global.use_preprocess_img": False,
            "Global.use_vertical_padding": False,
            "Det.limit_side_len": STRIDE,
            "Det.limit_type": "min",
            "Det.max_candidates": 1_000_000,
            # Boxes of the default, 1.6, reach over rulings and into neighbouring lines.
            "Det.unclip_ratio": 1.4,
            "Rec.rec_img_shape": [3, HEIGHT, WIDTHS[0]],
            "Rec.rec_batch_num": _BATCH,
            **{f"{section}.model_path": str(path) for section, path in paths.items()},
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
        }
    )


def _with_tail(crop: Image) -> Image:
    """A crop with some grey on its right, at the height that the recogniser takes."""
    import cv2

    height, width = crop.shape[:2]
    tailed = _fill_up(crop, width + round(_TAIL * height))
    return np.asarray(cv2.resize(tailed, (math.ceil(HEIGHT * tailed.shape[1] / height), HEIGHT)), np.uint8)


def _fill_up(crop: Image, width: int) -> Image:
    filled = np.full((len(crop), width, 3), _GREY[0], np.uint8)
    filled[:, : crop.shape[1]] = crop
    return filled


def _to_input(crops: Sequence[Image], width: int) -> NDArray[np.float32]:
    """``(B, 3, HEIGHT, width)``, filled up with grey, from -1 to 1 as RapidOCR has it.

    >>> _to_input([np.zeros((48, 100, 3), np.uint8)], 160)[0, 0, 0, [0, 99]].tolist()
    [-1.0, -1.0]
    """
    import cv2

    filled = np.full((len(crops), 3, HEIGHT, width), _GREY[0], np.uint8)
    for place, crop in zip(filled, crops, strict=True):
        place[:, :, : crop.shape[1]] = crop.transpose(2, 0, 1)
    scaled = cv2.LUT(filled.reshape(-1, width), _SCALED)
    return np.asarray(scaled, np.float32).reshape(filled.shape)


def _decode(best: NDArray[np.int64], scores: NDArray[np.float32], classes: Sequence[str]) -> _Seen:
    """Read the classes of the columns of a crop as RapidOCR does, whose score is a mean of rounded ones, rounded.

    >>> _decode(np.array([0, 2, 2, 0, 2, 1]), np.full(6, 0.5, np.float32), ["none", " ", "a"])
    _Seen(text='aa ', score=0.5, columns=[1, 4], n_columns=6)
    """
    numbers = best.tolist()
    places = [at for at, number in enumerate(numbers) if number and (not at or number != numbers[at - 1])]
    text = "".join(classes[numbers[at]] for at in places)
    each = [round(score, 5) for score in scores[places].tolist()] or [0.0]
    columns = [at for at, char in zip(places, text, strict=True) if not char.isspace()]
    return _Seen(text, float(np.mean(each).round(5)), columns, len(numbers))
