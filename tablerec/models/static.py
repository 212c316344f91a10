"""From dynamic to static: where a graph breaks and why, how far the forms of a network differ, and how fast they are.

Paddle makes a static graph of Python code in two ways. The **AST** way (``full_graph=True``) rewrites the source of
``forward`` and gives one whole graph or an error; only such a graph can be exported. The **SOT** way (symbolic
translation of opcodes, ``full_graph=False``) follows the bytecode and, where it cannot go on, closes the graph, lets
Python run, and begins another: mostly nothing fails, but each break costs time, and the breaks say what an export would
stumble over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import paddle
from numpy.typing import NDArray

from tablerec.models.cellnet import CellNet, CellNetWithDecoder
from tablerec.models.folder import INPUT, ONNX, STATIC
from tablerec.synth import draw, load_recipe

Form = Callable[[NDArray[np.float32]], list[NDArray[Any]]]
"""``(1, 3, H, W)`` float32 RGB to what ``models.cellnet.decode`` returns."""

_PLACE = re.compile(r'File "(.+?)", line (\d+), in \S+')


@dataclass(frozen=True, slots=True)
class Break:
    """A place where SOT could not go on.

    Args:
        file: The source file, or empty where Paddle does not say.
        line: In it, or 0.
        kind: Paddle's class of the reason, such as ``DataDependencyOperationBreak``.
        reason: In Paddle's words.
    """

    file: str
    line: int
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Graphs:
    """What SOT made of a network.

    Args:
        sizes: Operators of each graph; one graph means that nothing broke.
        breaks: Why there are more.
        error: What it failed with, or empty.
    """

    sizes: tuple[int, ...]
    breaks: tuple[Break, ...]
    error: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """One form of a network.

    Args:
        milliseconds: Least time of a call.
        pixels: Greatest distance of a corner from the dynamic network's; infinite where it finds other cells.
        score: Greatest difference of a score.
    """

    milliseconds: float
    pixels: float
    score: float


def find_graphs(net: paddle.nn.Layer, x: paddle.Tensor) -> Graphs:
    """Run a network once through SOT.

    Args:
        net: In evaluation; it stays dynamic.
        x: What it is called with.

    >>> find_graphs(paddle.nn.Linear(2, 2), paddle.ones([1, 2])).breaks
    ()
    """
    from paddle.jit.sot.utils.envs import ENV_MIN_GRAPH_SIZE, ENV_SOT_COLLECT_INFO
    from paddle.jit.sot.utils.info_collector import InfoCollector, InfoType
    from paddle.utils.environments import EnvironmentVariableGuard

    collector = InfoCollector()
    steps: list[Any] = []
    wanted: dict[str, list[str]] = {"breakgraph_reason": [], "subgraph_info": []}
    static = paddle.jit.to_static(lambda x: net(x), full_graph=False)
    error = ""
    # Paddle prints and forgets the graphs after each call; a graph of few operators would not count as one.
    before, collector.clear_step_info = collector.clear_step_info, lambda: None
    with (
        EnvironmentVariableGuard(ENV_SOT_COLLECT_INFO, wanted),
        EnvironmentVariableGuard(ENV_MIN_GRAPH_SIZE, 0),
        redirect_stdout(StringIO()),
        paddle.no_grad(),
    ):
        try:
            static(x)
        except Exception as failed:  # of any kind: what SOT stumbles over is the answer
            error = f"{type(failed).__name__}: {str(failed).strip().splitlines()[-1] if str(failed).strip() else ''}"
        finally:
            collector.clear_step_info = before
            steps = list(collector.get_info_dict(InfoType.STEP_INFO).get("SubGraphInfo", []))
            reasons = [
                item.reason for item in collector.get_info_dict(InfoType.E2E_INFO).get("BreakGraphReasonInfo", [])
            ]
            collector.clear()
    return Graphs(tuple(step.op_num for step in steps), _to_breaks(reasons), error)


def open_forms(net: CellNet, folder: Path, threads: int = 1, threshold: float = 0.1) -> dict[str, Form]:
    """Open a network in each of its forms.

    Args:
        net: In evaluation.
        folder: Where ``export_cellnet`` wrote it, with the same threshold.
        threads: For ONNX Runtime and Paddle's inference; the others have as many as OMP_NUM_THREADS says.
        threshold: Least score of a cell.

    Returns:
        ``dynamic``, ``static, SOT``, ``static, AST``, ``Paddle inference`` and ``ONNX Runtime``.
    """
    whole = CellNetWithDecoder(net, threshold)
    whole.eval()
    return {
        "dynamic": _in_paddle(whole),
        "static, SOT": _in_paddle(paddle.jit.to_static(lambda x: whole(x), full_graph=False)),
        "static, AST": _in_paddle(_compile(net, threshold)),
        "Paddle inference": _open_inference(folder, threads),
        "ONNX Runtime": _open_onnx(folder, threads),
    }


def measure_forms(forms: Mapping[str, Form], picture: NDArray[np.float32], rounds: int = 5) -> dict[str, Measured]:
    """Compare the forms of a network. All take turns, so that a busy machine is busy for all; the least time counts.

    Args:
        forms: The first one is what the others are compared with.
        picture: ``(1, 3, H, W)`` float32 RGB, 0 to 255, height and width multiples of 32.
        rounds: Calls of each after the first, which compiles.
    """
    found = {name: form(picture) for name, form in forms.items()}
    times: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(rounds):
        for name, form in forms.items():
            start = perf_counter()
            form(picture)
            times[name].append(1000 * (perf_counter() - start))
    first = next(iter(found.values()))
    return {name: Measured(min(times[name]), *_distance(first, found[name])) for name in forms}


def draw_picture(side: int) -> NDArray[np.float32]:
    """Draw a table to measure with: ``(1, 3, side, side)`` float32 RGB, the same each time.

    >>> draw_picture(64).shape
    (1, 3, 64, 64)
    """
    import cv2

    image = cv2.resize(draw(load_recipe("ruled"), seed=0, index=0).image, (side, side), interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(image.transpose(2, 0, 1)[None], np.float32)


def report_forms(net: CellNet, folder: Path, threshold: float = 0.1, side: int = 640) -> str:
    """Say where the graph of an exported network breaks, how far its forms differ and how fast they are.

    Args:
        net: In evaluation.
        folder: Where ``export_cellnet`` wrote it, with the same threshold.
        threshold: Least score of a cell.
        side: Of the picture, a multiple of 32.
    """
    picture = draw_picture(side)
    graphs = find_graphs(net, paddle.to_tensor(picture))
    forms = measure_forms(open_forms(net, folder, 1, threshold), picture)
    return f"{format_graphs(graphs)}\n\n{side} x {side} px, one thread:\n{format_forms(forms)}"


def format_graphs(graphs: Graphs) -> str:
    """Return what SOT made of a network as lines.

    >>> print(format_graphs(Graphs((487,), ())))
    SOT: 1 graph of 487 operators, no breaks
    """
    count = f"{len(graphs.sizes)} graph{'s' * (len(graphs.sizes) != 1)} of {', '.join(map(str, graphs.sizes)) or 'no'}"
    lines = [f"SOT: {count} operators, {len(graphs.breaks) or 'no'} break{'s' * (len(graphs.breaks) != 1)}"]
    lines += [f"  {each.file or '?'}:{each.line}: {each.kind}: {each.reason}" for each in graphs.breaks]
    return "\n".join([*lines, *([f"  failed: {graphs.error}"] if graphs.error else [])])


def format_forms(measured: Mapping[str, Measured]) -> str:
    """Return the forms as an aligned table.

    >>> print(format_forms({"dynamic": Measured(40.0, 0.0, 0.0)}))
    form                   ms  speed       px    score
    dynamic              40.0   1.0x  0.0e+00  0.0e+00
    """
    slowest = next(iter(measured.values())).milliseconds
    lines = [f"{'form':<18}{'ms':>7}{'speed':>7}{'px':>9}{'score':>9}"]
    for name, form in measured.items():
        speed = f"{slowest / form.milliseconds:.1f}x"
        lines.append(f"{name:<18}{form.milliseconds:7.1f}{speed:>7}{form.pixels:9.1e}{form.score:9.1e}")
    return "\n".join(lines)


def _to_breaks(reasons: Sequence[Any]) -> tuple[Break, ...]:
    """Take each reason once, at the innermost place that Paddle names; the callers above it say nothing new."""
    texts = [(reason, str(reason).strip() or "no reason given") for reason in reasons]
    placed: dict[tuple[str, int, str], Break] = {}
    plain: dict[str, Break] = {}
    for reason, text in texts:
        *_, last = (line.strip() for line in text.splitlines())
        if places := _PLACE.findall(text):
            file, line = places[-1]
            placed.setdefault((file, int(line), last), Break(file, int(line), type(reason).__name__, last))
        else:
            plain.setdefault(last, Break("", 0, type(reason).__name__, last))
    # Paddle names the place in the calls around a reason, and its kind in the reason alone.
    known = [replace(each, kind=plain[each.reason].kind) if each.reason in plain else each for each in placed.values()]
    return (*known, *(each for reason, each in plain.items() if reason not in {key[2] for key in placed}))


def _in_paddle(run: Callable[[Any], Any]) -> Form:
    def form(picture: NDArray[np.float32]) -> list[NDArray[Any]]:
        with paddle.no_grad():
            return [output.numpy() for output in run(paddle.to_tensor(picture))]

    return form


def _compile(net: CellNet, threshold: float) -> Callable[[Any], Any]:
    whole = CellNetWithDecoder(net, threshold)
    whole.eval()
    spec = [paddle.static.InputSpec([-1, 3, -1, -1], "float32", INPUT)]
    compiled: Callable[[Any], Any] = paddle.jit.to_static(whole, input_spec=spec, full_graph=True)
    return compiled


def _open_inference(folder: Path, threads: int) -> Form:
    from paddle import inference

    config = inference.Config(*(str(folder / name) for name in STATIC))
    config.set_cpu_math_library_num_threads(threads)
    config.disable_glog_info()
    config.disable_mkldnn()  # it says on the console which operators it does not take
    predictor = inference.create_predictor(config)

    def form(picture: NDArray[np.float32]) -> list[NDArray[Any]]:
        predictor.get_input_handle(predictor.get_input_names()[0]).copy_from_cpu(picture)
        predictor.run()
        return [predictor.get_output_handle(name).copy_to_cpu() for name in predictor.get_output_names()]

    return form


def _open_onnx(folder: Path, threads: int) -> Form:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(folder / ONNX), options, ["CPUExecutionProvider"])

    def form(picture: NDArray[np.float32]) -> list[NDArray[Any]]:
        found: list[NDArray[Any]] = session.run(None, {INPUT: picture})
        return found

    return form


def _distance(a: list[NDArray[Any]], b: list[NDArray[Any]]) -> tuple[float, float]:
    if a[0].shape != b[0].shape:
        return float("inf"), float("inf")
    return float(np.abs(a[0] - b[0]).max(initial=0.0)), float(np.abs(a[1] - b[1]).max(initial=0.0))
