"""Speed of a device: operators against the floor that its memory and its products set, and whole networks."""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablerec.devices.graph import CapturedNetwork, CaptureError
from tablerec.devices.networks import find_network, fold_norms, prepare_rtdetr, rtdetr_l
from tablerec.devices.plugin import Plugin
from tablerec.devices.workloads import FULL, HALVES, Given, Scale, Workload, workloads
from tablerec.errors import SettingsError

DTYPES = ("float32", "tf32", "bfloat16", "float16")
"""What can be measured; ``tf32`` is float32 with a plugin that was loaded with ``tf32``."""

MODES = ("dygraph", "static", "predictor", "graph")
AMP_LEVELS = ("O1", "O2")

_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What the device reached in this run.

    Args:
        bytes_per_second: Read and written by a large copy within the device.
        operations_per_second: By type, of a large product of matrices.
    """

    bytes_per_second: float
    operations_per_second: dict[str, float]

    def floor(self, n_bytes: float, operations: float, dtype: str) -> float:
        """Return the seconds that a call must take at least.

        >>> Ceilings(100.0, {"float32": 10.0}).floor(200, 50, "float32")
        5.0
        """
        return max(n_bytes / self.bytes_per_second, operations / self.operations_per_second[dtype])


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """How long an operator took.

    Args:
        name: The workload's name.
        dtype: One of ``DTYPES``.
        part: ``forward`` or ``gradient``.
        seconds: Of a call, in a row of calls with one wait at its end; None where it did not run.
        kernel_seconds: Time of its kernels on the device, where the plugin measures that.
        floor: The least that bytes and operations allow.
        problem: Why it did not run, or "".
    """

    name: str
    dtype: str
    part: str
    seconds: float | None
    kernel_seconds: float | None
    floor: float
    problem: str = ""

    @property
    def ratio(self) -> float:
        """Return how many times the floor the device worked; with the call's own costs where kernels are not timed."""
        spent = self.kernel_seconds or self.seconds
        return spent / self.floor if spent and self.floor else 0.0


def measure_ceilings(device: str, dtypes: Iterable[str], side: int = 8192) -> Ceilings:
    """Measure a copy within the device and products by type.

    Args:
        device: A device of Paddle, whose plugin is loaded.
        dtypes: Types out of ``DTYPES``.
        side: Rows of the matrices; the copy is of two such matrices in float32.
    """
    import paddle

    paddle.set_device(device)
    source = paddle.zeros([2 * side, side])
    with paddle.no_grad():
        copy = 2 * 4 * 2 * side * side / seconds_per_call(lambda: paddle.assign(source), device)
        products = {}
        for dtype in dtypes:
            x, y = (_draw(paddle, Given((side, side)), dtype) for _ in range(2))
            with contextlib.suppress(Exception):  # a type that the device lacks has no ceiling
                products[dtype] = 2.0 * side**3 / seconds_per_call(_product(paddle, x, y), device)
    return Ceilings(copy, products)


def _product(paddle: Any, x: Any, y: Any) -> Callable[[], Any]:
    return lambda: paddle.matmul(x, y)


def measure_operators(
    device: str,
    ceilings: Ceilings,
    scale: Scale = FULL,
    match: str = "",
    plugin: Plugin | None = None,
    seconds: float = 0.02,
) -> Iterator[OperatorTime]:
    """Measure the operators of ``workloads`` in the types that have a ceiling.

    Args:
        device: A device of Paddle, whose plugin is loaded.
        ceilings: Of the same device and run.
        scale: The networks' batches and sides.
        match: Only workloads whose name holds this.
        plugin: Measures kernels, where it is ours.
        seconds: How long a row of calls shall last.
    """
    for workload in workloads(scale):
        if match not in workload.name:
            continue
        for dtype in ceilings.operations_per_second:
            if dtype not in HALVES or workload.in_halves:
                yield from _measure_operator(device, ceilings, workload, dtype, plugin, seconds)


def _measure_operator(
    device: str, ceilings: Ceilings, workload: Workload, dtype: str, plugin: Plugin | None, seconds: float
) -> Iterator[OperatorTime]:
    import paddle

    paddle.set_device(device)
    part = "forward"
    try:
        tensors = [_draw(paddle, given, dtype) for given in workload.inputs]
        with paddle.no_grad():
            forward = _forward(paddle, workload, tensors)
            results = _as_list(forward())
            read, written = sum(map(_bytes, tensors)), sum(map(_bytes, results))
            floor = ceilings.floor(read + written, workload.operations, dtype)
            yield _time(workload.name, dtype, part, forward, device, floor, plugin, seconds)
        if not workload.gradient:
            return
        part = "gradient"
        floats = [tensor for tensor in tensors if tensor.is_floating_point()]
        for tensor in floats:
            tensor.stop_gradient = False
        results = [result for result in _as_list(forward()) if not result.stop_gradient]
        weights = [paddle.ones_like(result) for result in results]
        # Read the output's gradient, and the inputs where it has to; write theirs.
        moved = sum(map(_bytes, results)) + read * (1 + workload.reads_inputs)
        floor = ceilings.floor(moved, 2 * workload.operations, dtype)

        def backward() -> Any:
            return paddle.grad(results, floats, weights, retain_graph=True, allow_unused=True)

        yield _time(workload.name, dtype, part, backward, device, floor, plugin, seconds)
    except Exception as failure:  # an operator that the device lacks is a line of the table
        yield OperatorTime(workload.name, dtype, part, None, None, 0.0, _reason(failure))


def _forward(paddle: Any, workload: Workload, tensors: Sequence[Any]) -> Callable[[], Any]:
    return lambda: workload.call(paddle, *tensors)


def measure_optimizers(
    device: str, ceilings: Ceilings, network: str = "cell_detector", plugin: Plugin | None = None, seconds: float = 0.02
) -> Iterator[OperatorTime]:
    """Measure a step of each optimizer, and of one with clipping, over the parameters of a network."""
    import paddle

    paddle.set_device(device)
    # Reads and writes of numbers for each parameter: itself, its gradient, the optimizer's state.
    for name, numbers, clip in (("SGD", 3, 0), ("Momentum", 5, 0), ("AdamW", 7, 0), ("AdamW and clipping", 10, 1)):
        parameters = [p for p in find_network(network).make().parameters() if not p.stop_gradient]
        count = sum(p.size for p in parameters)
        floor = ceilings.floor(
            4.0 * numbers * count, 0, "float32" if "float32" in ceilings.operations_per_second else "tf32"
        )
        label = f"{name} {len(parameters)} tensors, {count} numbers"
        try:
            paddle.autograd.backward([sum((p * p).sum() for p in parameters)])
            make = getattr(paddle.optimizer, name.split()[0])
            update = make(1e-3, parameters=parameters, grad_clip=paddle.nn.ClipGradByGlobalNorm(5.0) if clip else None)
            yield _time(label, "float32", "forward", update.step, device, floor, plugin, seconds)
        except Exception as failure:  # as above
            yield OperatorTime(label, "float32", "forward", None, None, 0.0, _reason(failure))


def _time(
    name: str,
    dtype: str,
    part: str,
    call: Callable[[], Any],
    device: str,
    floor: float,
    plugin: Plugin | None,
    seconds: float,
) -> OperatorTime:
    spent = seconds_per_call(call, device, seconds)
    on_device = None
    if plugin:
        with plugin.profile() as times:
            for _ in range(_ROUNDS):
                call()
        on_device = sum(time.milliseconds for time in times.values()) / 1000 / _ROUNDS
    return OperatorTime(name, dtype, part, spent, on_device, floor)


def seconds_per_call(call: Callable[[], Any], device: str, seconds: float = 0.02, rounds: int = _ROUNDS) -> float:
    """Return the median over rounds of a call's time, each round many calls and one wait for the device."""
    wait = _waiter(device)
    call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    repeats = max(1, min(1000, int(seconds / max(time.perf_counter() - start, 1e-7))))
    spent = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        wait()
        spent.append((time.perf_counter() - start) / repeats)
    return statistics.median(spent)


def _waiter(device: str) -> Callable[[], None]:
    import paddle

    if device == "cpu":
        return lambda: None
    return lambda: paddle.device.synchronize(device)


def _draw(paddle: Any, given: Given, dtype: str) -> Any:
    import numpy as np

    wanted = given.dtype or ("float32" if dtype == "tf32" else dtype)
    if wanted == "bool" or wanted.startswith("int"):
        drawn = np.random.default_rng(0).integers(0, given.below, given.shape)
        return paddle.to_tensor(drawn.astype(wanted))
    return paddle.uniform(list(given.shape), "float32", 0.05, 0.95).astype(wanted)


def _as_list(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (list, tuple)) else [results]


def _bytes(tensor: Any) -> int:
    return int(tensor.size * tensor.element_size())


def _reason(failure: Exception) -> str:
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    told = [line for line in lines if "Error:" in line or "not registered" in line or "not supported" in line]
    return f"{type(failure).__name__}: {(told or lines or [''])[-1]}"[:200]


# ---- whole networks


@dataclass(frozen=True, slots=True)
class ModelRun:
    """How a network is run.

    Args:
        network: A name out of ``networks.NETWORKS``.
        batch: Pictures at a time; 0 for the network's own.
        size: The side of the pictures; 0 for the network's own.
        dtype: One of ``DTYPES``.
        train: Forward, backward and AdamW; else forward alone, prepared for inference.
        amp: ``O1`` or ``O2`` for ``paddle.amp``; "" for O1 in training in half precision, and for
            all numbers in half precision in inference.
        mode: ``dygraph``, ``static`` (``paddle.jit.to_static``), ``predictor`` (``paddle.inference``) or ``graph``
            (``graph.CapturedNetwork``, with our plugins).
    """

    network: str
    batch: int = 0
    size: int = 0
    dtype: str = "float32"
    train: bool = True
    amp: str = ""
    mode: str = "dygraph"

    def __post_init__(self) -> None:
        """Check that the values exist and fit.

        Raises:
            SettingsError: They do not.
        """
        find_network(self.network)
        for value, allowed, name in (
            (self.dtype, DTYPES, "dtype"),
            (self.mode, MODES, "mode"),
            (self.amp or "O1", AMP_LEVELS, "amp"),
        ):
            if value not in allowed:
                raise SettingsError(f"{name} {value!r} is unknown: choose {', '.join(allowed)}")
        if self.train and self.mode != "dygraph":
            raise SettingsError(f"mode {self.mode!r} is for inference: choose dygraph to train")
        if self.mode in ("static", "predictor") and self.dtype in HALVES:
            raise SettingsError(
                f"mode {self.mode!r} in {self.dtype}: Paddle checks the types of static graphs against its CPU "
                "kernels, which have few in half precision; choose float32 or tf32, or the mode dygraph or graph"
            )
        if self.amp and self.dtype not in HALVES:
            raise SettingsError(f"amp {self.amp} needs half precision: choose the dtype bfloat16 or float16")
        if self.size % 32:
            raise SettingsError(f"size {self.size}: choose a multiple of 32")

    @property
    def pictures(self) -> tuple[int, int]:
        """Return batch and side, with the network's own where none was asked for."""
        network = find_network(self.network)
        return self.batch or network.batch, self.size or network.size


@dataclass(frozen=True, slots=True)
class ModelSpeed:
    """How fast a network ran.

    Args:
        run: What was run.
        seconds: Of a step, median of rounds with one wait at the end of each.
        images_per_second: The batch over that.
        peak_bytes: Most of the device's memory that was held, or None.
        per_step: The plugin's counters for a step, empty without ours.
        kernels: Milliseconds and launches for a step by kernel, longest first; empty without ours.
        losses: The first and the last loss in training.
        memory: Bytes held before and after the steps that were asked for with ``flat``.
    """

    run: ModelRun
    seconds: float
    images_per_second: float
    peak_bytes: int | None
    per_step: dict[str, float]
    kernels: dict[str, tuple[float, float]]
    losses: tuple[float, ...] = ()
    memory: tuple[int, int] | None = None

    def lines(self) -> list[str]:
        """Return the result for people."""
        run, (batch, size) = self.run, self.run.pictures
        what = "training" if run.train else f"inference, {run.mode}"
        found = [
            f"{run.network} {batch}x{size} {run.dtype}{run.amp and f' {run.amp}'}, {what}: "
            f"{self.images_per_second:.1f} images/s, {1000 * self.seconds:.2f} ms a step"
            + (f", at most {self.peak_bytes / 2**20:.0f} MiB" if self.peak_bytes else "")
        ]
        if self.losses:
            found.append(f"  loss {self.losses[0]:.5f} to {self.losses[-1]:.5f}")
        if self.per_step:
            names = ("kernels", "device_to_host_copies", "host_to_device_copies", "synchronizations")
            found.append("  a step: " + ", ".join(f"{self.per_step[name]:g} {name}" for name in names))
        total = sum(spent for spent, _ in self.kernels.values()) or 1.0
        for name, (spent, launches) in list(self.kernels.items())[:12]:
            found.append(f"  {100 * spent / total:5.1f} % {name}: {spent:.3f} ms in {launches:g} launches")
        if self.kernels:
            found.append(f"  {total:.3f} ms of kernels in all")
        if self.memory:
            found.append(f"  memory held {self.memory[0]} -> {self.memory[1]} bytes")
        return found


def measure_model(
    device: str, run: ModelRun, plugin: Plugin | None = None, steps: int = 20, flat: int = 0
) -> ModelSpeed:
    """Measure a network on a device; the device is waited for at the end of a round of steps only.

    Args:
        device: A device of Paddle, whose plugin is loaded.
        run: What to run.
        plugin: The device's plugin, where it is ours: for counters and the profile.
        steps: Steps to time.
        flat: More steps, with the memory compared before and after.
    """
    import paddle

    paddle.set_device(device)
    paddle.seed(0)
    batch, _ = run.pictures
    if plugin:
        plugin.reset()
    with tempfile.TemporaryDirectory() as folder:
        step, losses = _step(paddle, run, device, plugin, Path(folder))
        wait = _waiter(device)
        first = [float(loss) for loss in _first_steps(step, losses)]
        wait()
        rounds, spent = min(5, steps), []
        if plugin:
            peak = plugin.counters()["peak_bytes_in_use"]
            plugin.reset()
        for _ in range(rounds):
            start = time.perf_counter()
            for _ in range(steps // rounds):
                step()
            wait()
            spent.append((time.perf_counter() - start) / (steps // rounds))
        n_steps = rounds * (steps // rounds)
        per_step: dict[str, float] = {}
        kernels: dict[str, tuple[float, float]] = {}
        peak_bytes = _peak_bytes(paddle, device)
        if plugin:
            counters = plugin.counters()
            peak_bytes = max(peak, counters["peak_bytes_in_use"])
            per_step = {name: count / n_steps for name, count in counters.items() if "bytes_in_use" not in name}
            kernels = _profile(plugin, step)
        memory = _memory_over(step, wait, flat, plugin, paddle, device) if flat else None
        last = [float(losses[-1])] if losses else []
    seconds = statistics.median(spent)
    return ModelSpeed(run, seconds, batch / seconds, peak_bytes, per_step, kernels, tuple(first[:1] + last), memory)


def _first_steps(step: Callable[[], None], losses: list[Any], count: int = 3) -> list[Any]:
    """Take the steps in which a device chooses its algorithms and grows its pools."""
    found = []
    for _ in range(count):
        step()
        found += losses[-1:]
    return found


def _profile(plugin: Plugin, step: Callable[[], None], steps: int = 2) -> dict[str, tuple[float, float]]:
    with plugin.profile() as times:
        for _ in range(steps):
            step()
    found = {name: (spent.milliseconds / steps, spent.launches / steps) for name, spent in times.items()}
    return dict(sorted(found.items(), key=lambda item: -item[1][0]))


def _memory_over(
    step: Callable[[], None], wait: Callable[[], None], steps: int, plugin: Plugin | None, paddle: Any, device: str
) -> tuple[int, int]:
    def held() -> int:
        wait()
        return plugin.counters()["bytes_in_use"] if plugin else int(paddle.device.memory_reserved(device))

    before = held()
    for _ in range(steps):
        step()
    return before, held()


def _peak_bytes(paddle: Any, device: str) -> int | None:
    try:
        return int(paddle.device.max_memory_reserved(device))
    except Exception:  # not every kind of device counts
        return None


def _step(
    paddle: Any, run: ModelRun, device: str, plugin: Plugin | None, folder: Path
) -> tuple[Callable[[], None], list[Any]]:
    """Make a step without arguments, and the list in which training leaves its last loss."""
    images = _draw_images(paddle, run)
    if run.train:
        return _training_step(paddle, run, images)
    return _inference_step(paddle, run, device, plugin, images, folder), []


def _draw_images(paddle: Any, run: ModelRun) -> Any:
    batch, size = run.pictures
    return paddle.uniform([batch, 3, size, size], "float32", 0, 255 if run.network == "cell_detector" else 1)


def _training_step(paddle: Any, run: ModelRun, images: Any) -> tuple[Callable[[], None], list[Any]]:
    network = find_network(run.network)
    net = network.make()
    net.train()
    targets = network.targets(*run.pictures)
    half = run.dtype in HALVES
    level = (run.amp or "O1") if half else "O0"
    _require_amp(paddle, run.dtype, level)
    update = paddle.optimizer.AdamW(1e-4, epsilon=1e-6, parameters=net.parameters(), weight_decay=0.02)
    if level == "O2":
        net, update = paddle.amp.decorate(net, update, level=level, dtype=run.dtype)
    losses: list[Any] = []

    def step() -> None:
        with _amp(paddle, run.dtype, level):
            outputs = net(images)
        loss = network.loss(outputs, *targets)
        loss.backward()
        update.step()
        update.clear_grad()
        losses[:] = [loss.detach()]

    return step, losses


def _amp(paddle: Any, dtype: str, level: str) -> Any:
    return paddle.amp.auto_cast(level=level, dtype=dtype) if level != "O0" else contextlib.nullcontext()


def _require_amp(paddle: Any, dtype: str, level: str) -> None:
    """Make sure that automatic casts happen: Paddle turns them off for devices that it does not list."""
    if level == "O0":
        return
    with paddle.no_grad(), _amp(paddle, dtype, level):
        made = str(paddle.matmul(paddle.ones([2, 2]), paddle.ones([2, 2])).dtype).rpartition(".")[2]
    if made != dtype:
        raise SettingsError(
            f"paddle.amp does not cast to {dtype} on {paddle.get_device()}: Paddle does not list the device"
        )


def inference_network(paddle: Any, name: str, size: int) -> Any:
    """Make a network for inference: norms folded, RT-DETR prepared for one size and with its last layer alone."""
    if not name.startswith("rtdetr"):
        net = find_network(name).make()
        net.eval()
        fold_norms(net)
        return net
    net = rtdetr_l(reduced=name == "rtdetr_reduced", last_alone=True)
    net.eval()
    prepare_rtdetr(net, size)
    return net


def _inference_call(paddle: Any, run: ModelRun) -> tuple[Any, Callable[[Any], Any], str]:
    """Make a network in the type of a run; return it, a call of it, and the type of its pictures."""
    net = inference_network(paddle, run.network, run.pictures[1])
    dtype, level = "float32", run.amp or "O0"
    if run.dtype in HALVES and not run.amp:
        dtype = run.dtype
        net.to(dtype=dtype)
    _require_amp(paddle, run.dtype, level)

    def call(images: Any) -> Any:
        with paddle.no_grad(), _amp(paddle, run.dtype, level):
            return net(images)

    return net, call, dtype


def _inference_step(
    paddle: Any, run: ModelRun, device: str, plugin: Plugin | None, images: Any, folder: Path
) -> Callable[[], None]:
    batch, size = run.pictures
    net, call, dtype = _inference_call(paddle, run)
    images = images.astype(dtype)
    if run.mode == "graph":
        captured = CapturedNetwork(_require_plugin(plugin), call, [images])
        return lambda: captured(images)
    if run.mode != "dygraph":
        given = paddle.static.InputSpec([batch, 3, size, size], dtype, "images")
        net = paddle.jit.to_static(net, input_spec=[given], full_graph=True)
    if run.mode == "predictor":
        paddle.jit.save(net, str(folder / "net"))
        return _predictor(device, folder / "net", images)
    if run.mode == "static":

        def call(images: Any) -> Any:
            with paddle.no_grad():
                return net(images)

    return lambda: call(images)


def _require_plugin(plugin: Plugin | None) -> Plugin:
    if plugin is None:
        raise SettingsError("mode 'graph' needs a plugin of ours: load one with --plugin")
    return plugin


def _predictor(device: str, path: Path, images: Any) -> Callable[[], None]:
    from paddle.inference import Config, create_predictor

    config = Config(f"{path}.json", f"{path}.pdiparams")
    if device != "cpu":
        kind, _, number = device.partition(":")
        config.enable_custom_device(kind, int(number or 0))
    config.disable_glog_info()
    predictor = create_predictor(config)
    predictor.get_input_handle(predictor.get_input_names()[0]).share_external_data(images)

    def step() -> None:
        predictor.run()

    return step


# ---- captured graphs


@dataclass(frozen=True, slots=True)
class GraphCheck:
    """How far a captured network is from the same network called, on pictures that it had not seen.

    Args:
        run: What was run.
        nodes: Launches and copies in the graph.
        rounds: Pictures compared.
        exact: In how many rounds all numbers were equal.
        difference: The largest difference, over one plus the largest value.
    """

    run: ModelRun
    nodes: int
    rounds: int
    exact: int
    difference: float


def check_graph(device: str, run: ModelRun, plugin: Plugin, rounds: int = 4) -> GraphCheck:
    """Compare a captured network with the same network called, while others fill the device's memory.

    Before each round tensors of many sizes are allocated and filled, some of which stay: they would
    overwrite what the graph keeps in blocks that are not its own, or be overwritten by it.

    Args:
        device: A device of Paddle, whose plugin is loaded.
        run: An inference.
        plugin: The device's plugin.
        rounds: How many pictures to compare.

    Raises:
        CaptureError: A replay has overwritten memory of others.
    """
    import paddle

    paddle.set_device(device)
    paddle.seed(0)
    _, call, dtype = _inference_call(paddle, run)
    captured = CapturedNetwork(plugin, call, [_draw_images(paddle, run).astype(dtype)])
    others: list[Any] = []
    exact, difference = 0, 0.0
    for index in range(rounds):
        images = _draw_images(paddle, run).astype(dtype)
        others += [paddle.full([1 << power], float("nan")) for power in range(8, 22, 1 + index % 2)]
        found = [tensor.astype("float32") for tensor in paddle.utils.flatten(captured(images))]
        if not all(bool(other.isnan().all()) for other in others):
            raise CaptureError(f"{run.network}: a replay has overwritten tensors that are not the graph's")
        expected = [tensor.astype("float32") for tensor in paddle.utils.flatten(call(images))]
        apart = max(float((a - b).abs().max() / (1 + b.abs().max())) for a, b in zip(found, expected, strict=True))
        exact += apart == 0
        difference = max(difference, apart)
        del others[::3]
    return GraphCheck(run, captured.nodes, rounds, exact, difference)


# ---- RT-DETR's boxes


@dataclass(frozen=True, slots=True)
class BoxCheck:
    """How far RT-DETR's boxes on a device are from the CPU's, in float32.

    Args:
        queries: Boxes compared.
        same_queries: How many of the places that the device chose for its queries the CPU chose too.
        pixels: Largest difference of an edge with the CPU's choice of places.
        logits: Largest difference of a logit, likewise.
    """

    queries: int
    same_queries: int
    pixels: float
    logits: float


def compare_boxes(device: str, reduced: bool = False, size: int = 640, prepared: bool = False) -> BoxCheck:
    """Compare RT-DETR with random parameters on a device and on the CPU.

    A query starts at one of the best places; where two are alike, rounding decides, and all boxes
    change places. So the device runs twice: with its own choice, and with the CPU's.

    Args:
        device: A device of Paddle, whose plugin is loaded.
        reduced: The small configuration.
        size: The side of the picture.
        prepared: On the device, as ``prepare_rtdetr`` makes it for inference.
    """
    import numpy as np
    import paddle

    paddle.set_device("cpu")
    paddle.seed(5)
    made = rtdetr_l(reduced, last_alone=True)
    state = {name: value.numpy() for name, value in made.state_dict().items()}
    picture = np.random.default_rng(0).random((1, 3, size, size), "float32")

    def run(where: str, chosen: Any = None) -> tuple[Any, Any, Any]:
        paddle.set_device(where)
        net = rtdetr_l(reduced, last_alone=True)
        net.set_state_dict({name: paddle.to_tensor(value) for name, value in state.items()})
        net.eval()
        if prepared and where != "cpu":
            prepare_rtdetr(net, size)
        with paddle.no_grad(), _chosen_places(paddle, chosen) as places:
            logits, boxes = net(paddle.to_tensor(picture))
        return logits.numpy().astype(np.float64), boxes.numpy().astype(np.float64), places[0]

    expected_logits, expected_boxes, places = run("cpu")
    _, _, own = run(device)
    logits, boxes, _ = run(device, places)
    apart = np.abs(_edges(boxes) - _edges(expected_boxes)).max() * size
    same = len(set(own.ravel().tolist()) & set(places.ravel().tolist()))
    return BoxCheck(places.size, same, float(apart), float(np.abs(logits - expected_logits).max()))


def _edges(boxes: Any) -> Any:
    import numpy as np

    centre, sides = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([centre - sides / 2, centre + sides / 2], -1)


@contextlib.contextmanager
def _chosen_places(paddle: Any, chosen: Any) -> Iterator[list[Any]]:
    """Note what ``paddle.topk`` chooses, or let it choose what is given."""
    original, noted = paddle.topk, []

    def topk(x: Any, *arguments: Any, **options: Any) -> tuple[Any, Any]:
        values, indices = original(x, *arguments, **options)
        noted.append(indices.numpy())
        return values, indices if chosen is None else paddle.to_tensor(chosen)

    paddle.topk = topk
    try:
        yield noted
    finally:
        paddle.topk = original
