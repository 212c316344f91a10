"""Speed of operators against the floor that the device's memory and its products set."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tablerec.devices.bench.language import language_workloads
from tablerec.devices.bench.networks import find_network
from tablerec.devices.bench.workloads import FULL, Given, Scale, Workload, workloads
from tablerec.devices.cases.case import HALVES
from tablerec.devices.plugin import Plugin

DTYPES = ("float32", "tf32", "bfloat16", "float16")
"""What can be measured; ``tf32`` is float32 with a plugin that was loaded with ``tf32``."""

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
    """Measure the operators of ``workloads`` and of ``language_workloads`` in the types that have a ceiling.

    Args:
        device: A device of Paddle, whose plugin is loaded.
        ceilings: Of the same device and run.
        scale: The networks' batches and sides.
        match: Only workloads whose name holds this.
        plugin: Measures kernels, where it is ours.
        seconds: How long a row of calls shall last.
    """
    for workload in (*workloads(scale), *language_workloads(scale)):
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
    device: str, ceilings: Ceilings, network: str = "cellnet", plugin: Plugin | None = None, seconds: float = 0.02
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
    call()
    wait(device)
    start = time.perf_counter()
    call()
    wait(device)
    repeats = max(1, min(1000, int(seconds / max(time.perf_counter() - start, 1e-7))))
    spent = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        wait(device)
        spent.append((time.perf_counter() - start) / repeats)
    return statistics.median(spent)


def wait(device: str) -> None:
    """Wait until a device has done all that it was given."""
    import paddle

    if device != "cpu":
        paddle.device.synchronize(device)


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
