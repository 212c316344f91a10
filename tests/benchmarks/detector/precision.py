"""CellNet in float32, half precision and int8: ``python -m tests.benchmarks.detector.precision MODEL [options]``.

A developer script, not a test; needs the extras paddle (onnx) and eval. MODEL is an ``inference.onnx`` of
``tablerec export``. Prints a table: size, milliseconds for one picture of 800 x 800 px on two threads (the least of
many, all models in turn), F1 at 0.6 and 0.8 on a folder of drawn pictures (``--drawn``, see ``make_validation``),
and exact tables and GriTS-Top on labelled tables (``--tables``, spread over the folder, without words).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization

from postprocess.geometry.boxes import quads_to_boxes
from tablerec.config import Settings
from tablerec.detect.cellnet import CellNetDetector
from tablerec.detect.passes import to_input
from tablerec.evaluate.command import spread
from tablerec.evaluate.runner import predict
from tablerec.evaluate.scores import score
from tablerec.evaluate.scoring.cells import detection_f1
from tablerec.evaluate.truth import find_truths
from tablerec.pipeline import Recognizer
from tablerec.synth import draw, load_recipe
from tablerec.synth.labels import read_sample

CALIBRATION_SEED = 7_000_000_001
"""Of the drawn pictures that give the ranges of the activations: neither trained nor validated on."""
STRIP = 9
"""Side of the kernels of the row and column context, whose inputs hold maxima over hundreds of positions."""


def store_as(model: Any, kind: int) -> Any:
    """Weights of 16 bits, widened again when the model is opened; all computing stays in float32."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    casts = []
    for weight in made.graph.initializer:
        if weight.data_type == TensorProto.FLOAT and np.prod(weight.dims) > 64:
            name, array = weight.name, numpy_helper.to_array(weight)
            bits = array.astype(helper.tensor_dtype_to_np_dtype(kind)).tobytes()
            weight.CopyFrom(helper.make_tensor(f"{name}_16", kind, array.shape, bits, raw=True))
            casts.append(helper.make_node("Cast", [f"{name}_16"], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *made.graph.node]
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


def store_as_int8(model: Any) -> Any:
    """Weights of 8 bits with a scale for each output channel, widened again; all computing stays in float32."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    nodes = []
    for weight in list(made.graph.initializer):
        array = numpy_helper.to_array(weight)
        if array.ndim != 4 or array.size <= 64:
            continue
        name = weight.name
        scale = (np.abs(array).max((1, 2, 3), keepdims=True) / 127).astype(np.float32)
        weight.CopyFrom(numpy_helper.from_array(np.rint(array / scale).astype(np.int8), f"{name}_8"))
        made.graph.initializer.append(numpy_helper.from_array(scale, f"{name}_scale"))
        # Not DequantizeLinear: ONNX Runtime does that anew for each picture.
        nodes.append(helper.make_node("Cast", [f"{name}_8"], [f"{name}_cast"], f"{name}_cast", to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Mul", [f"{name}_cast", f"{name}_scale"], [name], f"{name}_widened"))
    nodes += made.graph.node
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


class Drawn(quantization.CalibrationDataReader):
    """Drawn pictures as inputs of the network."""

    def __init__(self, count: int) -> None:
        recipe = load_recipe("mixed")
        pictures = (draw(recipe, CALIBRATION_SEED, index, "fast").image for index in range(count))
        self._inputs = iter([{"image": to_input(picture[:, :, ::-1]).astype(np.float32)} for picture in pictures])

    def get_next(self) -> dict[str, Any] | None:
        """Return the next input; None after the last."""
        return next(self._inputs, None)


def quantize(model: Any, path: Path, *, sides_float: bool, calibration: int) -> None:
    """Write convolutions and residual sums in int8, as QDQ; the last layer and the decoder stay.

    Args:
        model: The model.
        path: Where to write.
        sides_float: Keep the first convolution and the row and column context in float32 too.
        calibration: How many pictures are drawn for the ranges.
    """
    named = onnx.ModelProto()
    named.CopyFrom(model)
    shapes = {weight.name: tuple(weight.dims) for weight in named.graph.initializer}
    convolutions, others = [], []
    for number, node in enumerate(named.graph.node):
        node.name = f"{node.op_type}_{number}"
        if node.op_type == "Conv":
            convolutions.append(node)
        elif node.op_type == "Add":
            others.append(node)
    last = [node.name for node in named.graph.node].index(convolutions[-1].name)
    order = {node.name: number for number, node in enumerate(named.graph.node)}
    kept = {node.name for node in named.graph.node if order[node.name] >= last}
    kept |= {node.name for node in others if set(node.input) & shapes.keys()}  # biases and the epsilon of norms
    if sides_float:
        kept |= {node.name for node in convolutions if STRIP in shapes[node.input[1]][2:]} | {convolutions[0].name}
    source = path.with_suffix(".named.onnx")
    onnx.save(named, source)
    quantization.quantize_static(
        str(source),
        str(path),
        Drawn(calibration),
        quant_format=quantization.QuantFormat.QDQ,
        op_types_to_quantize=["Conv", "Add", "Relu"],
        per_channel=True,
        reduce_range=True,  # without it, processors that lack VNNI overflow in 16 bits
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
        nodes_to_exclude=sorted(kept),
    )
    source.unlink()


def make_models(path: Path, folder: Path, calibration: int) -> dict[str, Path]:
    """Write all variants; each in a folder of its own, as a detector wants it."""
    model = onnx.load(path)
    writers: dict[str, Callable[[Path], object]] = {
        "float32": lambda out: onnx.save(model, out),
        "float16, widened when opened": lambda out: onnx.save(store_as(model, TensorProto.FLOAT16), out),
        "bfloat16, widened when opened": lambda out: onnx.save(store_as(model, TensorProto.BFLOAT16), out),
        "int8, widened when opened": lambda out: onnx.save(store_as_int8(model), out),
        "int8, first layer and row and column context float": lambda out: quantize(
            model, out, sides_float=True, calibration=calibration
        ),
        "int8 but for the last layer": lambda out: quantize(model, out, sides_float=False, calibration=calibration),
    }
    made = {}
    for name, write in writers.items():
        made[name] = folder / str(len(made))
        made[name].mkdir()
        write(made[name] / "inference.onnx")
    return made


def time_in_turn(folders: dict[str, Path], picture: Path, repeats: int) -> dict[str, float]:
    """Least milliseconds of ``detect`` by name; in turn, so that a busy machine is busy for all."""
    image = cv2.resize(cv2.imread(str(picture)), (800, 800), interpolation=cv2.INTER_AREA)
    detectors = {name: CellNetDetector(folder) for name, folder in folders.items()}
    taken: dict[str, list[float]] = {name: [] for name in folders}
    for _ in range(repeats):
        for name, detector in detectors.items():
            started = time.perf_counter()
            detector.detect(image, [])
            taken[name].append(1000 * (time.perf_counter() - started))
    return {name: min(each) for name, each in taken.items()}


def drawn_f1(detector: CellNetDetector, folder: Path) -> tuple[float, float]:
    """F1 at 0.6 and 0.8 over all cells of a folder of drawn pictures."""
    sums = np.zeros(3)
    for label in sorted(folder.rglob("*.json")):
        sample = read_sample(label)
        found = detector.detect(np.ascontiguousarray(sample.image[:, :, ::-1]), [])
        boxes = quads_to_boxes(np.concatenate([each.quads for each in found])) if found else np.zeros((0, 4))
        truth = quads_to_boxes(np.asarray(sample.cells.quads, np.float64))
        weight = len(boxes) + len(truth)
        sums += weight * np.array([detection_f1(boxes, truth, 0.6), detection_f1(boxes, truth, 0.8), 1.0])
    return float(sums[0] / sums[2]), float(sums[1] / sums[2])


def table_scores(detector: CellNetDetector, folder: Path, count: int) -> tuple[float, float]:
    """Share of exact tables and mean GriTS-Top, from the picture alone."""
    detector.layout = "table"
    recognizer = Recognizer(Settings(ocr="none", layout="table"), detector=detector)
    truths = spread([truth for truth in find_truths(folder) if not truth.flawed], count)
    scores = [score(truth, predict(truth, recognizer).table) for truth in truths]
    grits = [each.grits_top for each in scores if each.grits_top is not None]
    return statistics.mean(each.exact for each in scores), statistics.mean(grits)


def rows(args: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Yield the lines of the table."""
    folders = make_models(args.model, folder, args.calibration)
    times = time_in_turn(folders, args.picture, args.repeats)
    yield "| weights | MB | ms | F1 at 0.6 | F1 at 0.8 | exact | GriTS-Top |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name, place in folders.items():
        size = (place / "inference.onnx").stat().st_size / 1e6
        scores = drawn_f1(CellNetDetector(place), args.drawn) if args.drawn else (np.nan, np.nan)
        structure = table_scores(CellNetDetector(place), args.tables, args.count) if args.tables else (np.nan, np.nan)
        figures = " | ".join(f"{value:.3f}" for value in (*scores, *structure))
        yield f"| {name} | {size:.1f} | {times[name]:.0f} | {figures} |"


def main() -> None:
    """Print the table."""
    root = Path(__file__).resolve().parents[3]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?", default=root / "tablerec/models/weights/inference.onnx")
    parser.add_argument("--drawn", type=Path, help="folder of make_validation")
    parser.add_argument("--tables", type=Path, help="folder of labelled tables, as `tablerec eval` reads it")
    parser.add_argument("--count", type=int, default=100, help="labelled tables")
    parser.add_argument("--calibration", type=int, default=32, help="pictures drawn for int8")
    parser.add_argument("--picture", type=Path, default=root / "data/samples/spans.png", help="for the time")
    parser.add_argument("--repeats", type=int, default=20)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for line in rows(args, Path(folder)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
