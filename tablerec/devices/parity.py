"""Comparing a device with the CPU: operator by operator, and reduced networks in training."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tablerec.devices.bench.networks import find_network, stand_in_loss
from tablerec.devices.cases import all_cases
from tablerec.devices.cases.case import HALVES, ROUNDED, STAND_INS, Case

TOLERANCE = {"float32": 2e-6, "float64": 1e-12, "float16": 1e-3, "bfloat16": 8e-3, "float8_e4m3fn": 8e-3}
"""Largest difference by type, over one plus the largest value; a case may multiply it. Integers must be equal.

A type out of ``STAND_INS`` is compared with the stand-in on the CPU, given the same rounded numbers.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a case went.

    Args:
        case: The case's name.
        dtype: The type it ran in.
        error: Largest difference from the CPU, relative to one plus the largest value of the CPU's.
        tolerance: What was allowed.
        problem: Why it did not run, or "".
        operators: The kernels that the device launched, where it counts them.
    """

    case: str
    dtype: str
    error: float
    tolerance: float
    problem: str = ""
    operators: frozenset[str] = frozenset()

    @property
    def passed(self) -> bool:
        """Return whether the device agreed with the CPU."""
        return not self.problem and self.error <= self.tolerance


def compare_operators(
    device: str, cases: Iterable[Case] | None = None, kernels: Callable[[], dict[str, int]] | None = None
) -> Iterator[Outcome]:
    """Run cases on the CPU and on a device.

    Args:
        device: A device of Paddle, whose plugin is loaded.
        cases: What to run; all by default.
        kernels: The device's launches so far (``Plugin.kernels``). Where given, a case fails if
            an operator that it names did not run on the device.

    Yields:
        An outcome for each case and type.
    """
    for case in all_cases() if cases is None else cases:
        for dtype in case.dtypes:
            yield _compare(device, case, dtype, kernels or dict)


def _compare(device: str, case: Case, dtype: str, kernels: Callable[[], dict[str, int]]) -> Outcome:
    import paddle

    random = np.random.default_rng(zlib.crc32(f"{case.name} {dtype}".encode()))
    arrays = [given.draw(random, dtype) for given in case.inputs]
    tolerance = TOLERANCE.get(dtype, 0.0) * (case.half_tolerance if dtype in HALVES else case.tolerance)
    try:
        rounded = [
            _rounded(paddle, array, dtype) if given.dtype is None else array
            for given, array in zip(case.inputs, arrays, strict=True)
        ]
        expected = _run(paddle, "cpu", case, rounded, STAND_INS.get(dtype, dtype))
        before = kernels()
        found = _run(paddle, device, case, rounded, dtype)
        launched = frozenset(name for name, count in kernels().items() if count > before.get(name, 0))
    except Exception as failure:  # whatever Paddle raises is the outcome
        return Outcome(case.name, dtype, float("nan"), tolerance, _first_line(failure))
    # Nothing is launched for a tensor without elements.
    uncounted = kernels is dict or any(array.size == 0 for array in (*arrays, *expected))
    asked = set() if uncounted else case.operators_in(dtype)
    missing = sorted(asked - launched)
    problem = f"the device did not run {', '.join(missing)}" if missing else _unlike(expected, found)
    error = 0.0 if problem else max(map(_difference, expected, found), default=0.0)
    return Outcome(case.name, dtype, error, tolerance, problem, launched)


def _rounded(paddle: Any, array: np.ndarray, dtype: str) -> np.ndarray:
    """Round numbers to a type that NumPy lacks, and back."""
    if dtype not in ROUNDED or array.dtype != np.float32:
        return array
    rounded: np.ndarray = paddle.to_tensor(array, place="cpu").astype(dtype).astype("float32").numpy()
    return rounded


def _run(paddle: Any, device: str, case: Case, arrays: list[np.ndarray], dtype: str) -> list[np.ndarray]:
    """Run a case on a device; ``dtype`` is the type that inputs of the case's own type are given in."""
    paddle.set_device(device)
    paddle.set_flags(dict(case.flags))
    try:
        return _results(paddle, case, arrays, dtype)
    finally:
        paddle.set_flags({name: not value for name, value in case.flags})


def _results(paddle: Any, case: Case, arrays: list[np.ndarray], dtype: str) -> list[np.ndarray]:
    floats = (paddle.float32, paddle.float64, paddle.float16, paddle.bfloat16)
    gradient = case.gradient_in(dtype)
    tensors = [
        _to_tensor(paddle, array, dtype if given.dtype is None else given.dtype)
        for given, array in zip(case.inputs, arrays, strict=True)
    ]
    for tensor in tensors:
        tensor.stop_gradient = not (gradient and tensor.dtype in floats)
    results = case.call(paddle, *tensors)
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    found = [_to_numpy(result) for result in results]
    if gradient:
        for result, value in zip(results, found, strict=True):
            weights = np.linspace(0.5, 1.5, value.size, dtype=value.dtype).reshape(value.shape)
            weights = _rounded(paddle, weights, dtype)
            paddle.autograd.backward([result], [paddle.to_tensor(weights).astype(result.dtype)], retain_graph=True)
        found += [_to_numpy(tensor.grad) for tensor in tensors if tensor.grad is not None]
    return found


def _to_tensor(paddle: Any, array: np.ndarray, dtype: str) -> Any:
    """Copy an array to the device; types that NumPy lacks are made there."""
    return paddle.to_tensor(array).astype(dtype) if dtype in ROUNDED else paddle.to_tensor(array.astype(dtype))


def _to_numpy(tensor: Any) -> np.ndarray:
    """Copy a tensor to the host, in the stand-in of its type."""
    dtype = str(tensor.dtype)[len("paddle.") :]
    array: np.ndarray = (tensor.astype("float32") if dtype in ROUNDED else tensor).numpy()
    return array.astype(STAND_INS.get(dtype, dtype))


def _unlike(expected: list[np.ndarray], found: list[np.ndarray]) -> str:
    if len(expected) != len(found):
        return f"{len(found)} results, not {len(expected)}"
    for one, other in zip(expected, found, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"gave {other.dtype}{list(other.shape)}, not {one.dtype}{list(one.shape)}"
        if one.dtype.kind == "f" and not np.isfinite(other).all() and np.isfinite(one).all():
            return "gave values that are not finite"
    return ""


def _difference(expected: np.ndarray, found: np.ndarray) -> float:
    if expected.size == 0:
        return 0.0
    one, other = expected.astype(np.float64), found.astype(np.float64)
    return float(np.abs(one - other).max() / (1 + np.abs(one).max()))


def _first_line(error: Exception) -> str:
    lines = [
        line.strip() for line in str(error).splitlines() if "Error" in line or "not registered" in line or "(" in line
    ]
    said = [line for line in lines if not line.startswith("[Hint:")] or lines  # the condition in C++, and its file
    return f"{type(error).__name__}: {said[-1] if said else error}"[:300]


@dataclass(frozen=True, slots=True)
class Training:
    """A short training on the CPU and on the device.

    Args:
        optimizer: The optimizer's name.
        losses: The device's losses, one for each step.
        expected_losses: The CPU's.
        parameter_error: Largest difference of a parameter or statistic at the end, over one plus the largest value.
    """

    optimizer: str
    losses: tuple[float, ...]
    expected_losses: tuple[float, ...]
    parameter_error: float

    @property
    def loss_error(self) -> float:
        """Return the largest relative difference of a loss."""
        return max(abs(a - b) / abs(b) for a, b in zip(self.losses, self.expected_losses, strict=True))


OPTIMIZERS = ("SGD", "Momentum", "Adam", "AdamW")


def compare_training(
    device: str,
    optimizer: str = "Momentum",
    network: str = "cellnet_reduced",
    steps: int = 10,
    dtype: str = "float64",
) -> Training:
    """Train a network for a few steps on the CPU and on a device, from the same state with the same pictures.

    Args:
        device: A device of Paddle, whose plugin is loaded.
        optimizer: A name out of ``OPTIMIZERS``.
        network: A name out of ``bench.networks.NETWORKS``; the loss is ``stand_in_loss``.
        steps: Steps to train.
        dtype: ``float64``, in which rounding hides no wrong operator, or ``float32``, in which a few
            steps make much of it: RT-DETR chooses other queries then.
    """
    import paddle

    paddle.set_device("cpu")
    paddle.seed(3)
    state = {name: value.numpy() for name, value in find_network(network).make().state_dict().items()}
    expected, reached = train_network("cpu", network, optimizer, steps, state, dtype)
    losses, found = train_network(device, network, optimizer, steps, state, dtype)
    error = max(_difference(reached[name], found[name]) for name in state)
    return Training(optimizer, tuple(losses), tuple(expected), error)


def train_network(
    device: str, name: str, optimizer: str, steps: int, state: dict[str, np.ndarray], dtype: str
) -> tuple[list[float], dict[str, np.ndarray]]:
    """Train a network from a state; return the losses and the state reached. Arguments as above."""
    import paddle

    paddle.set_device(device)
    network, compare = find_network(name), stand_in_loss()
    net = network.make()
    net.set_state_dict({key: paddle.to_tensor(value) for key, value in state.items()})
    net.to(dtype=dtype)
    net.train()
    update = make_optimizer(optimizer, net.parameters())
    shape = (network.batch, 3, network.size, network.size)
    images = paddle.to_tensor((np.random.default_rng(0).random(shape) * network.largest).astype(dtype))
    losses = []
    for _ in range(steps):
        loss = compare(net(images))
        loss.backward()
        update.step()
        update.clear_grad()
        losses.append(loss)
    return [float(loss) for loss in losses], {key: value.numpy() for key, value in net.state_dict().items()}


def make_optimizer(name: str, parameters: list[Any], faster: float = 1.0, **options: Any) -> Any:
    """Make an optimizer of Paddle with clipping, and decay where it knows that, at ``faster`` times the usual rate."""
    import paddle

    if name != "Adam":
        options["weight_decay"] = 1e-4
    if name.startswith("Adam"):
        options["epsilon"] = 1e-3  # a gradient that is rounding noise must not move a parameter by a whole step
    rate = 1e-4 if name.startswith("Adam") else 3e-3
    clip = paddle.nn.ClipGradByGlobalNorm(1.0)
    return getattr(paddle.optimizer, name)(faster * rate, parameters=parameters, grad_clip=clip, **options)
