"""The weights of ``tablerec.ocr.script``:
``python -m tests.benchmarks.scripts.fit FONTS [--real DIR...] [--pictures N] [--lines N] [--epochs N]``.

A developer script, not a test; it needs the packages babel, paddle and onnx, and fontconfig. Lines are drawn with the
fonts below FONTS, but for one family of five, with which the accuracy is measured at the end. ``--real`` names folders
of pictures in Latin letters and Chinese: lines that the OCR engine reads without doubt are trained on too, and teach
what print looks like. Paddle looks the network's source up at the end, so leave this file as it is meanwhile.

The weights of the package: the default options, ``--real ../shared/train/ctdar19_train``, and 860 font files of
Debian's packages fonts-noto-core, fonts-liberation, fonts-freefont-ttf, culmus, fonts-thai-tlwg, fonts-arabeyes,
fonts-unfonts-core and forty more; eight minutes of one processor core on 2026-11-29. Of 6,000 windows, most of them
blurred, noisy or of a single short word, 0.80 were right (Latin 0.86, Chinese or Japanese 0.92, Cyrillic 0.75,
Hebrew 0.88, Greek 0.49);
``unread`` beside this file says what that is worth for pages.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import nn
from paddle.nn import functional as F  # noqa: N812

from postprocess.arrays import Image
from tablerec.models.formats.onnx_graph import layer_to_onnx
from tablerec.ocr.lines import find_lines, quad_to_crop
from tablerec.ocr.rapidocr import RapidOcrEngine
from tablerec.ocr.script import CHINESE, CLASSES, HEIGHT, LATIN, NUMBER, WEIGHTS, WIDTH, to_windows
from tests.benchmarks.scripts.drawing import Drawer, find_fonts

Windows = NDArray[np.uint8]
BATCH = 128
RATE = 3e-3


class ScriptNet(nn.Layer):
    """``(B, 1, HEIGHT, WIDTH)`` windows to ``(B, classes)`` logits."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *_convolution(1, 16, 5, 2),
            *_convolution(16, 32, 3, 2),
            *_convolution(32, 48, 3, 2),
            *_convolution(48, 64, 3, 1),
        )
        self.rows = nn.Conv2D(64, 96, (HEIGHT // 8, 3), padding=(0, 1))
        self.classes = nn.Conv2D(96, len(CLASSES), 1)

    def forward(self, windows: paddle.Tensor) -> paddle.Tensor:
        """See above."""
        return self.classes(F.relu(self.rows(self.features(windows)))).mean([2, 3])


def _convolution(n_in: int, n_out: int, kernel: int, stride: int) -> list[nn.Layer]:
    # Depthwise convolutions would be smaller, and take five times as long to train on a CPU.
    conv = nn.Conv2D(n_in, n_out, kernel, stride, kernel // 2, bias_attr=False)
    return [conv, nn.BatchNorm2D(n_out), nn.ReLU()]


def drawn_windows(drawer: Drawer, count: int) -> tuple[Windows, NDArray[np.int64]]:
    """Windows of drawn lines and their classes."""
    found, classes = [], []
    for _ in range(count):
        script = drawer.script()
        windows = to_windows(drawer.crop(script))
        found.append((255 * windows[drawer.rng.integers(len(windows))]).astype(np.uint8))
        classes.append(CLASSES.index(script))
    return np.stack(found), np.array(classes, np.int64)


def real_windows(folders: Sequence[Path], most: int) -> tuple[Windows, NDArray[np.int64]]:
    """Windows of lines in pictures that the OCR engine reads without doubt."""
    found, classes = [np.zeros((0, 1, HEIGHT, WIDTH), np.uint8)], []
    for crop, script in real_lines(folders, most):
        windows = (255 * to_windows(crop)).astype(np.uint8)[:2]
        found.append(windows)
        classes += [CLASSES.index(script)] * len(windows)
    return np.concatenate(found), np.array(classes, np.int64)


def real_lines(folders: Sequence[Path], most: int) -> Iterator[tuple[Image, str]]:
    """Lines that the OCR engine reads without doubt, and their script."""
    engine = RapidOcrEngine(threads=2)
    for folder in folders:
        paths = sorted(each for each in folder.rglob("*") if each.suffix in (".jpg", ".png"))
        for path in paths[:: max(1, len(paths) // most)]:
            image = cv2.imread(str(path))
            if image is None:
                continue
            crops = [quad_to_crop(image, quad) for quad in find_lines(engine, image)]
            crops = [crop for crop in crops if crop.shape[0] < 1.2 * crop.shape[1]]
            for crop, line in zip(crops, engine.recognize(crops) if crops else (), strict=True):
                script = plain_script(line.text)
                if line.score > 0.97 and script is not None:
                    yield crop, script


def plain_script(text: str) -> str | None:
    """The one script of a text that is long enough to tell, if it has one."""
    n_latin = sum(char.isascii() and char.isalpha() for char in text)
    n_chinese = sum("\u4e00" <= char <= "\u9fff" for char in text)
    if not n_latin and not n_chinese and any(char.isdigit() for char in text):
        return NUMBER
    if n_latin >= 3 and not n_chinese:
        return LATIN
    return CHINESE if n_chinese >= 2 and not n_latin else None


def fit(windows: Windows, classes: NDArray[np.int64], epochs: int, seed: int = 0) -> ScriptNet:
    """Train a network."""
    paddle.seed(seed)
    rng = np.random.default_rng(seed)
    net = ScriptNet()
    n_steps = epochs * (len(windows) // BATCH)
    rate = paddle.optimizer.lr.OneCycleLR(RATE, n_steps)
    optimizer = paddle.optimizer.AdamW(rate, parameters=net.parameters(), weight_decay=0.01)
    for epoch in range(epochs):
        net.train()
        losses = []
        order = rng.permutation(len(windows))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            batch = windows[chosen].astype(np.float32) / 255
            batch = np.roll(batch, (int(rng.integers(-2, 3)), int(rng.integers(0, 4))), axis=(2, 3))
            logits = net(paddle.to_tensor(batch))
            loss = F.cross_entropy(logits, paddle.to_tensor(classes[chosen]))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            rate.step()
            losses.append(float(loss))
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.3f}", flush=True)
    net.eval()
    return net


def report(net: ScriptNet, windows: Windows, classes: NDArray[np.int64]) -> None:
    """Print for each class what it is taken for."""
    parts = [windows[at : at + 512].astype(np.float32) / 255 for at in range(0, len(windows), 512)]
    with paddle.no_grad():
        logits = np.concatenate([net(paddle.to_tensor(part)).numpy() for part in parts])
    taken = logits.argmax(axis=1)
    print(f"right {np.mean(taken == classes):.3f} of {len(classes)} windows in fonts that the training has not seen")
    for index, name in enumerate(CLASSES):
        some = taken[classes == index]
        if len(some):
            others = Counter(CLASSES[each] for each in some if each != index).most_common(3)
            print(f"  {name:20} {len(some):5} right {np.mean(some == index):.3f}  else {others}")


def main() -> None:
    """Draw, train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fonts", type=Path)
    parser.add_argument("--real", type=Path, nargs="*", default=[])
    parser.add_argument("--pictures", type=int, default=20, help="most real pictures of a folder")
    parser.add_argument("--lines", type=int, default=50_000)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("-o", "--output", type=Path, default=WEIGHTS)
    options = parser.parse_args()
    real, real_classes = real_windows(options.real, options.pictures)
    drawn, drawn_classes = drawn_windows(Drawer(find_fonts(options.fonts, held_out=False), 0), options.lines)
    print(f"{len(drawn)} drawn and {len(real)} real windows", flush=True)
    net = fit(np.concatenate([drawn, real]), np.concatenate([drawn_classes, real_classes]), options.epochs)
    report(net, *drawn_windows(Drawer(find_fonts(options.fonts, held_out=True), 1), 6000))
    model = layer_to_onnx(net, {"windows": (-1, 1, HEIGHT, WIDTH)}, ["logits"])
    options.output.write_bytes(model.SerializeToString())
    print(f"{options.output}: {options.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
