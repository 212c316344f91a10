"""Memory of training: what a step took at most, and activations that are computed twice instead of being kept."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import paddle
from paddle import Tensor, nn
from paddle.autograd import PyLayer
from paddle.base import core, framework

from tablerec.devices import parse_device
from tablerec.errors import SettingsError, TrainingError
from tablerec.training.settings import TrainSettings


def peak_memory(device: str) -> int:
    """Return the most bytes that Paddle's tensors took on a device since ``reset_peak_memory``.

    Args:
        device: Its name, for example ``cpu`` or ``gpu:0``.
    """
    kind, number = _split(device)
    if kind == "cpu":
        return int(core.host_memory_stat_peak_value("Allocated", 0))
    return int(core.device_memory_stat_peak_value("Allocated", number))


def current_memory(device: str) -> int:
    """Return the bytes that Paddle's tensors take on a device now."""
    kind, number = _split(device)
    if kind == "cpu":
        return int(core.host_memory_stat_current_value("Allocated", 0))
    return int(core.device_memory_stat_current_value("Allocated", number))


def reset_peak_memory(device: str) -> None:
    """Let ``peak_memory`` begin anew, from what is taken now."""
    kind, number = _split(device)
    if kind == "cpu":
        core.host_memory_stat_reset_peak_value("Allocated", 0)
    else:
        core.device_memory_stat_reset_peak_value("Allocated", number)


def process_peak_bytes() -> int | None:
    """Most memory that this process has held so far; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _split(device: str) -> tuple[str, int]:
    found = parse_device(device)
    return found.kind, (found.ids or (0,))[0]


@contextmanager
def remedies(settings: TrainSettings) -> Iterator[None]:
    """Turn Paddle's errors for a lack of memory or of a kernel into ones that say what to change.

    Raises:
        TrainingError: There is not enough memory, or the device lacks an operator.
    """
    try:
        yield
    except (MemoryError, RuntimeError, SystemError, OSError) as error:  # Paddle wraps some in OSError
        lacking = _LACKING.search(str(error))
        if lacking:
            raise TrainingError(
                f"{settings.device} cannot do this training ({lacking[0]}): leave out what needs it, or see what the "
                "device lacks with `tablerec device coverage`"
            ) from error
        if not _is_lack_of_memory(error):
            raise
        told = str(error).strip().splitlines() or ["MemoryError"]
        cause = next((line.strip() for line in told if "emory" in line), told[-1])
        raise TrainingError(
            f"not enough memory on {settings.device} ({cause[:160]}). Change with --set, in this order: "
            f"{_changes(settings)}. The last checkpoint in {settings.output} is whole: the same command goes on from it"
        ) from error


_LACKING = re.compile(r"kernel `\w+` is not registered|(?<=\(Unimplemented\) )[^\n]*")
"""How Paddle says that a kernel is missing, and a plugin that a kernel cannot do something."""


def _is_lack_of_memory(error: BaseException) -> bool:
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(each in text for each in ("out of memory", "resourceexhausted"))


def _changes(settings: TrainSettings) -> str:
    """What would take less memory, the cheapest first."""
    data, memory, half = settings.data, settings.memory, settings.data.batch_size // 2
    cells = settings.model != "linenet"
    wanted = [
        f"data.batch_size={half} optimizer.accumulation_steps={settings.samples_per_step // half}" if half else "",
        "memory.recompute=all" if memory.recompute != "all" else "",
        "memory.offload_buffer=true" if cells and not memory.offload_buffer and settings.device != "cpu" else "",
        "optimizer.trainable=lora" if "lora" not in settings.optimizer.trainable else "",
        f"data.image_size={data.image_size * 3 // 4 // 32 * 32}" if data.image_size >= 128 and cells else "",
        f"data.max_cells={data.max_cells // 2}" if data.max_cells > 200 and cells else "",
    ]
    return ", ".join(filter(None, wanted)) or "the device"


def recompute_parts(net: nn.Layer, names: Iterable[str]) -> None:
    """Keep only the inputs of some parts in training; the rest is computed again for the gradients.

    Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016. Gradients are the same, and batch
    normalizations follow the statistics once only. It needs no more than Paddle's operators, on any device.

    Args:
        net: The network.
        names: Sublayers whose outputs are tensors, or nested lists, tuples and dictionaries of them.

    Raises:
        SettingsError: A part drops activations at random: what is computed again would differ.

    >>> net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    >>> recompute_parts(net, ["0", "2"])
    >>> net(paddle.ones([1, 2])).sum().backward()
    >>> list(net[0].weight.grad.shape)
    [2, 8]
    """
    layers = dict(net.named_sublayers())
    for name in names:
        part = layers[name]
        if any(isinstance(each, nn.Dropout) and each.p for each in part.sublayers(include_self=True)):
            raise SettingsError(
                f"recompute: {name} has a dropout; set its share to 0 in network, or memory.recompute: none"
            )
        part.forward = _twice(part, part.forward)


def _twice(part: nn.Layer, forward: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        flat = paddle.utils.flatten([args, kwargs])
        trainable = [each for each in part.parameters() if not each.stop_gradient]
        inputs = [each for each in flat if isinstance(each, Tensor)]
        wanted = trainable or any(not each.stop_gradient for each in inputs)
        if not (part.training and paddle.is_grad_enabled() and wanted):
            return forward(*args, **kwargs)
        call = _Call(part, forward, [args, kwargs])
        found = _Recomputed.apply(call, *inputs, *trainable)
        return paddle.utils.pack_sequence_as(call.form, list(found) if isinstance(found, tuple) else [found])

    return run


class _Call:
    """A call of a part: everything but the tensors."""

    def __init__(self, part: nn.Layer, forward: Callable[..., Any], arguments: Any) -> None:
        self.part, self.forward = part, forward
        flat = paddle.utils.flatten(arguments)
        self.rest = [None if isinstance(each, Tensor) else each for each in flat]
        self.places = [place for place, each in enumerate(flat) if isinstance(each, Tensor)]
        self.arguments = paddle.utils.map_structure(lambda each: None, arguments)
        self.form: Any = None
        tracer = framework._dygraph_tracer()
        self.casts = tracer._amp_level != core.AmpLevel.O0
        self.cast_dtype = tracer._amp_dtype if self.casts else "float16"
        self.lists = tracer._get_amp_op_list()

    def __call__(self, tensors: Iterable[Tensor]) -> list[Tensor]:
        flat = list(self.rest)
        for place, tensor in zip(self.places, tensors, strict=True):
            flat[place] = tensor
        args, kwargs = paddle.utils.pack_sequence_as(self.arguments, flat)
        found = self.forward(*args, **kwargs)
        self.form = paddle.utils.map_structure(lambda each: None, found)
        return list(paddle.utils.flatten(found))


class _Recomputed(PyLayer):
    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: Tensor) -> Any:
        ctx.call, ctx.tensors = call, tensors
        found = call(tensors[: len(call.places)])
        return tuple(found) if len(found) > 1 else found[0]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        call, count = ctx.call, len(ctx.call.places)
        inputs, trainable = ctx.tensors[:count], ctx.tensors[count:]
        ctx.tensors = ()  # the graph lives as long as the loss does; they need not
        again = [_leaf(each) for each in inputs]
        casts = paddle.amp.auto_cast(call.casts, *call.lists, level="O1", dtype=call.cast_dtype)
        with paddle.enable_grad(), _still(call.part), casts:
            found = call(again)
        wanted = [each for each in (*again, *trainable) if not each.stop_gradient]
        pairs = [(each, gradient) for each, gradient in zip(found, gradients, strict=True) if not each.stop_gradient]
        outputs, weights = (list(each) for each in zip(*pairs, strict=True))
        grown = iter(paddle.grad(outputs, wanted, weights, allow_unused=True))
        return tuple(None if each.stop_gradient else next(grown) for each in (*again, *trainable))


def _leaf(tensor: Tensor) -> Tensor:
    leaf = tensor.detach()
    leaf.stop_gradient = tensor.stop_gradient
    return leaf


@contextmanager
def _still(part: nn.Layer) -> Iterator[None]:
    """Batch normalizations keep their statistics."""
    norms = [each for each in part.sublayers(include_self=True) if isinstance(each, nn.BatchNorm2D)]
    momenta = [norm._momentum for norm in norms]
    for norm in norms:
        norm._momentum = 1.0
    try:
        yield
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm._momentum = momentum


_WITH_GRADIENTS = 1.35
"""What a part takes while it is computed again: its activations, and the gradients that pass through them."""


class PartCost(NamedTuple):
    """What a part of the network costs for one picture.

    Args:
        name: Of the sublayer.
        kept_bytes: What its gradients need, if all of it is kept.
        output_bytes: What its outputs take, which is kept in any case.
        seconds: Time of its forward pass.
    """

    name: str
    kept_bytes: float
    output_bytes: float
    seconds: float


class StepCost(NamedTuple):
    """What a step takes.

    Args:
        fixed_bytes: Whatever the batch: weights, gradients, the optimizer's state.
        other_bytes: For each picture beside the parts: targets, losses, the picture itself.
        parts: See ``PartCost``; in the order in which they run.
    """

    fixed_bytes: float
    other_bytes: float
    parts: list[PartCost]

    def peak_bytes(self, again: Collection[str], batch: int) -> float:
        """Predict the peak where some parts are computed again: at the loss, or within one of these parts.

        When the gradients have come back to a part, what later parts had kept is free again.

        >>> cost = StepCost(10, 1, [PartCost("a", 8, 2, 0.1), PartCost("b", 6, 2, 0.2)])
        >>> cost.peak_bytes([], 2), cost.peak_bytes(["a", "b"], 2)
        (40.0, 32.2)
        """
        kept, peaks = 0.0, [0.0]
        for part in self.parts:
            inner = part.kept_bytes - part.output_bytes if part.name in again else 0.0
            kept += part.kept_bytes - inner
            peaks.append(kept + _WITH_GRADIENTS * inner)
        return self.fixed_bytes + batch * (self.other_bytes + max(*peaks, kept))


def choose_parts(cost: StepCost, batch: int, limit_bytes: float) -> list[str]:
    """Choose the parts to compute again so that a step fits, for little time.

    Those that free the most bytes in a second come first (a greedy knapsack); then whatever is not needed is
    left out, the slowest first.

    Args:
        cost: As measured.
        batch: Pictures in a batch.
        limit_bytes: What a step may take.

    Raises:
        SettingsError: It does not fit even where all parts are computed again.

    >>> cost = StepCost(10, 1, [PartCost("a", 8, 2, 0.1), PartCost("b", 9, 2, 0.2), PartCost("c", 4, 3, 0.2)])
    >>> choose_parts(cost, 2, 54), choose_parts(cost, 2, 44), choose_parts(cost, 2, 40)
    ([], ['a'], ['a', 'b'])
    """
    by_worth = sorted(cost.parts, key=lambda part: (part.output_bytes - part.kept_bytes) / max(part.seconds, 1e-9))
    chosen: list[str] = []
    for part in by_worth:
        if cost.peak_bytes(chosen, batch) <= limit_bytes:
            break
        chosen.append(part.name)
    for part in sorted(cost.parts, key=lambda part: -part.seconds):
        fewer = [name for name in chosen if name != part.name]
        if cost.peak_bytes(fewer, batch) <= limit_bytes:
            chosen = fewer
    least = cost.peak_bytes(chosen, batch)
    if least > limit_bytes:
        raise SettingsError(
            f"a step takes {least / 1e9:.2f} GB even where all parts are computed again, and memory.limit_gb is "
            f"{limit_bytes / 1e9:.2f}: lower data.batch_size and raise optimizer.accumulation_steps, or lower "
            "data.image_size"
        )
    return chosen


def measure_step(
    net: nn.Layer, names: Iterable[str], step: Callable[[], None], device: str, state_bytes: float
) -> StepCost:
    """Measure what the parts of a network keep and how long they take, with a batch of one picture.

    Args:
        net: The network in training; statistics of batch normalizations stay.
        names: Its parts.
        step: Computes the loss of one picture and its gradients, which are forgotten.
        device: Where.
        state_bytes: What the optimizer's state will take.
    """
    layers = dict(net.named_sublayers())
    parts: dict[str, PartCost] = {}
    handles = [_watch(layers[name], name, parts, device) for name in names]
    with _still(net):
        step()  # the first one chooses algorithms
        net.clear_gradients()
        before = current_memory(device)
        reset_peak_memory(device)
        step()
        peak = peak_memory(device)
        after = current_memory(device)
        net.clear_gradients()
    for handle in (each for pair in handles for each in pair):
        handle.remove()
    found = list(parts.values())
    gradients = after - before
    other = peak - before - sum(part.kept_bytes for part in found)
    return StepCost(before + gradients + state_bytes, max(0.0, other), found)


def _wait(device: str) -> None:
    if _split(device)[0] != "cpu":
        paddle.device.synchronize(device)


def _watch(layer: nn.Layer, name: str, parts: dict[str, PartCost], device: str) -> tuple[Any, Any]:
    begun: list[tuple[float, int]] = []

    def before(_: nn.Layer, inputs: Any) -> None:
        _wait(device)
        begun.append((time.perf_counter(), current_memory(device)))

    def after(_: nn.Layer, inputs: Any, output: Any) -> None:
        _wait(device)
        start, held = begun.pop()
        kept = current_memory(device) - held
        tensors = [each for each in paddle.utils.flatten(output) if isinstance(each, Tensor)]
        n_bytes = sum(each.size * each.element_size() for each in tensors)
        parts[name] = PartCost(name, max(kept, n_bytes), n_bytes, time.perf_counter() - start)

    return layer.register_forward_pre_hook(before), layer.register_forward_post_hook(after)
