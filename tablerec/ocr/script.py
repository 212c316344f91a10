"""Scripts: in which letters a line is written, for OCR engines that do not know all of them.

A small convolutional network looks at windows of a line and says for each how likely each script is; its weights are
made by ``tests/benchmarks/scripts/fit.py`` from drawn lines.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tablerec.errors import ModelNotFoundError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postprocess.arrays import Image

LATIN, CHINESE, NUMBER, NONE = "Latin", "Chinese or Japanese", "number", "no text"
CLASSES = (
    *(LATIN, CHINESE, NUMBER, NONE, "Greek", "Cyrillic", "Korean", "Arabic", "Hebrew", "Thai", "Lao", "Devanagari"),
    *("Bengali", "Gujarati", "Gurmukhi", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Khmer", "Burmese"),
    *("Georgian", "Armenian", "Ethiopic"),
)
"""What a line may be: a script, numbers and signs that all scripts share, or no text at all."""
SAMPLES = {
    LATIN: "abcdefghilmnoprstu",
    CHINESE: "的一是不了在人有我他",
    "Greek": "αβγδεικλμνοπρστάέήί",
    "Cyrillic": "абвгдежзиклмнопрстуя",
    "Korean": "가나다라이사지에의",
    "Arabic": "ابتدرسعلمنوهي",
    "Hebrew": "אבגדהוילמנרשת",
    "Thai": "กขคงจดตนมรลวสอา",
    "Lao": "ກຂຄງຈດຕນມລວສອາ",
    "Devanagari": "कगचतदनपमयरलवसह",
    "Bengali": "কগচতদনপমযরলসহ",
    "Gujarati": "કગચતદનપમયરલવસહ",
    "Gurmukhi": "ਕਗਚਤਦਨਪਮਰਲਵਸਹ",
    "Tamil": "கசடதநபமயரலவ",
    "Telugu": "కగచతదనపమయరలవసహ",
    "Kannada": "ಕಗಚತದನಪಮಯರಲವಸಹ",
    "Malayalam": "കഗചതദനപമയരലവസഹ",
    "Sinhala": "කගචතදනපමයරලවසහ",
    "Khmer": "កគចតនបមយរលវសហ",
    "Burmese": "ကခငစတနပမယရလသ",
    "Georgian": "აბგდევილმნორსტ",
    "Armenian": "աբգդեիլմնոստ",
    "Ethiopic": "ለመሰረበተነአከወ",
}
"""Usual letters of each script: a recogniser that lacks one of them does not read the script."""
HEIGHT, WIDTH = 32, 128
"""Size of a window in pixels."""
WEIGHTS = Path(__file__).parent / "script.onnx"


def to_windows(crop: Image) -> NDArray[np.float32]:
    """Cut a line into windows: ink is 1, ground is 0, whatever their colours.

    Args:
        crop: ``(h, w, 3)`` uint8, a line or a part of one with some ground around it.

    Returns:
        ``(N, 1, HEIGHT, WIDTH)`` float32, 0 to 1; at least one window.

    >>> to_windows(np.zeros((20, 300, 3), np.uint8)).shape
    (4, 1, 32, 128)
    """
    import cv2

    width = max(4, round(crop.shape[1] * HEIGHT / crop.shape[0]))
    way = cv2.INTER_AREA if crop.shape[0] > HEIGHT else cv2.INTER_LINEAR
    line = cv2.resize(crop, (width, HEIGHT), interpolation=way).astype(np.float32)
    ground = np.median(line.reshape(-1, 3), axis=0)
    ink = np.abs(line - ground).max(axis=2)
    ink = np.clip(ink / max(24.0, float(np.quantile(ink, 0.98))), 0, 1)
    count = -(-width // WIDTH)
    starts = np.linspace(0, max(0, width - WIDTH), count).round().astype(int)
    framed = np.pad(ink, ((0, 0), (0, max(0, WIDTH - width))))
    return np.stack([framed[None, :, start : start + WIDTH] for start in starts]).astype(np.float32)


class ScriptNet:
    """The network; it is opened at its first line, and any number of threads may ask it."""

    def __init__(self, weights: Path = WEIGHTS) -> None:
        self.weights = weights
        self._session: Any = None
        self._lock = threading.Lock()

    def __call__(self, crops: Sequence[Image]) -> NDArray[np.float64]:
        """Tell the scripts of lines or words.

        Args:
            crops: ``(h, w, 3)`` uint8 each, upright, with some ground around the text.

        Returns:
            ``(N, len(CLASSES))`` logarithms of the probabilities, the means over the windows of each crop.

        Raises:
            ModelNotFoundError: The weights are missing or damaged.
        """
        if not crops:
            return np.zeros((0, len(CLASSES)))
        windows = [to_windows(crop) for crop in crops]
        (logits,) = self._open().run(None, {"windows": np.concatenate(windows)})
        top = logits.max(axis=1, keepdims=True)
        likely = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
        counts = [len(each) for each in windows]
        starts = np.cumsum([0, *counts[:-1]])
        return np.asarray(np.add.reduceat(likely, starts) / np.array(counts)[:, None], np.float64)

    def _open(self) -> Any:
        import onnxruntime

        with self._lock:
            if self._session is None:
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = 1  # the network is small: threads cost more than they save
                try:
                    self._session = onnxruntime.InferenceSession(
                        str(self.weights), options, providers=["CPUExecutionProvider"]
                    )
                except Exception as error:  # what ONNX Runtime raises shares no other base
                    raise ModelNotFoundError(
                        f"{self.weights} cannot be opened ({type(error).__name__}): install tablerec again, "
                        "pip install --force-reinstall --no-deps tablerec"
                    ) from error
            return self._session


def scripts_of(characters: Iterable[str]) -> frozenset[str]:
    """The scripts of which a recogniser knows the usual letters.

    >>> sorted(scripts_of("abcdefghijklmnopqrstuvwxyz" + SAMPLES["Greek"]))
    ['Greek', 'Latin']
    """
    known = set(characters)
    return frozenset(script for script, sample in SAMPLES.items() if known.issuperset(sample))
