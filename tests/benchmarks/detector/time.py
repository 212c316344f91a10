"""Time of CellNet beside RT-DETR-L on the CPU: ``python -m tests.benchmarks.detector.time [--folder MODEL]``.

A developer script, not a test; needs the extra paddle. All take turns with the same picture of 800 x 800 px, so that a
busy machine is busy for all; the least time counts, and the ratio is what to trust. CellNet: all of ``detect``.
RT-DETR-L: the forward pass alone at its 640 px, with random weights, as Paddle's static model with its norms folded;
PaddleX runs it, after a classifier that is not counted.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import cv2
import numpy as np
import paddle
from paddle import inference

from tablerec.detect.cellnet import CellNetDetector
from tablerec.detect.factory import WEIGHTS
from tablerec.devices.bench.networks import inference_network
from tablerec.models.cellnet import Double
from tablerec.models.export import static_folder
from tablerec.models.folder import STATIC

PICTURE = Path(__file__).resolve().parents[3] / "data/samples/spans.png"
THREADS = 2
RTDETR_SIDE = 640


def open_cellnet(folder: Path) -> Callable[[], object]:
    """Return a call that finds the cells of the picture with the model in a folder."""
    picture = cv2.resize(cv2.imread(str(PICTURE)), (800, 800), interpolation=cv2.INTER_AREA)
    detector = CellNetDetector(folder)
    return lambda: detector.detect(picture, [])


def open_rtdetr(folder: Path) -> Callable[[], object]:
    """Return a call that runs RT-DETR-L on noise."""
    net = inference_network("rtdetr_l", RTDETR_SIDE)
    shape = [1, 3, RTDETR_SIDE, RTDETR_SIDE]
    given = paddle.static.InputSpec(shape, "float32")
    double = Double()
    double.by_copies = True
    with mock.patch("paddle.nn.functional.interpolate", lambda x, **_: double(x)):
        paddle.jit.save(paddle.jit.to_static(net, input_spec=[given], full_graph=True), str(folder / "inference"))
    config = inference.Config(*(str(folder / name) for name in STATIC))
    config.set_cpu_math_library_num_threads(THREADS)
    config.disable_glog_info()
    predictor = inference.create_predictor(config)
    handle = predictor.get_input_handle(predictor.get_input_names()[0])
    handle.copy_from_cpu(np.random.default_rng(0).random(shape, np.float32))
    return predictor.run


def main() -> None:
    """Print one line a detector."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=WEIGHTS)
    parser.add_argument("--repeats", type=int, default=10)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        static, rtdetr = Path(made, "static"), Path(made, "rtdetr")
        static.mkdir()
        for name in STATIC:
            shutil.copy(static_folder(args.folder) / name, static)
        calls = {
            "CellNet, ONNX Runtime": open_cellnet(args.folder),
            "CellNet, Paddle": open_cellnet(static),
            "RT-DETR-L, Paddle": open_rtdetr(rtdetr),
        }
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(args.repeats + 1):
            for name, call in calls.items():
                started = time.perf_counter()
                call()
                taken[name].append(1000 * (time.perf_counter() - started))
    slowest = min(taken["RT-DETR-L, Paddle"][1:])
    for name, each in taken.items():
        print(f"{name:24}{min(each[1:]):8.0f} ms{min(each[1:]) / slowest:8.2f} of RT-DETR-L")


if __name__ == "__main__":
    main()
