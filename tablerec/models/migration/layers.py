"""What each layer of a network gives, and the first layer where two networks differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Output:
    """One array that a layer gave.

    Args:
        kind: Class of the layer.
        shape: Of the array.
        values: All its values in order, or a sample of them.
    """

    kind: str
    shape: tuple[int, ...]
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """How far two outputs of one name lie apart.

    Args:
        name: Of the layer.
        kind: Class of the layer in the reference.
        largest: Greatest absolute difference; infinite for other shapes.
        relative: The same in parts of the greatest absolute value of the reference.
    """

    name: str
    kind: str
    largest: float
    relative: float


def record_layers(net: Any, run: Callable[[], Any], count: int | None = None) -> dict[str, Output]:
    """Run a network and keep what each of its layers gives, in the order in which they finish.

    Args:
        net: A network of Paddle or of PyTorch.
        run: Calls it.
        count: Values to keep of each array, evenly spread; by default all.

    Returns:
        Outputs by name of the layer; a second call of a layer has the name with ``(2)``, a second array of one output
        ``[1]``. The network as a whole is called ``network``.
    """
    outputs: dict[str, Output] = {}
    calls: dict[str, int] = {}

    def keep(name: str) -> Callable[[Any, Any, Any], None]:
        def hook(layer: Any, inputs: Any, output: Any) -> None:
            calls[name] = calls.get(name, 0) + 1
            call = f"({calls[name]})" if calls[name] > 1 else ""
            for index, array in enumerate(arrays_of(output)):
                part = f"[{index}]" if index else ""
                outputs[f"{name}{call}{part}"] = digest(array, count, type(layer).__name__)

        return hook

    hooks = [_add_hook(layer, keep(name or "network")) for name, layer in _named_layers(net)]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    return outputs


def compare_layers(reference: Mapping[str, Output], converted: Mapping[str, Output]) -> list[Difference]:
    """Compare what two networks gave, layer by layer, in the order of the reference.

    Layers that only one of them has are left out: frameworks cut some layers, such as attention, differently.

    >>> a, b = digest(np.array([1.0, 2.0]), kind="Conv2d"), digest(np.array([1.0, 2.5]))
    >>> compare_layers({"stem": a, "other": a}, {"stem": b})
    [Difference(name='stem', kind='Conv2d', largest=0.5, relative=0.25)]
    """
    common = [name for name in reference if name in converted]
    return [compare_outputs(name, reference[name], converted[name]) for name in common]


def compare_outputs(name: str, reference: Output, converted: Output) -> Difference:
    """Compare two outputs."""
    if reference.shape != converted.shape or len(reference.values) != len(converted.values):
        return Difference(name, reference.kind, float("inf"), float("inf"))
    gap = np.abs(reference.values - converted.values)
    largest = float("inf") if np.isnan(gap).any() else float(gap.max(initial=0.0))
    scale = float(np.abs(reference.values).max(initial=0.0))
    return Difference(name, reference.kind, largest, largest / scale if scale else largest)


def first_difference(differences: Sequence[Difference], tolerance: float = 1e-3) -> Difference | None:
    """Return the first layer whose relative difference exceeds the tolerance: the place to look at."""
    return next((difference for difference in differences if not difference.relative <= tolerance), None)


def worst_by_kind(differences: Sequence[Difference]) -> dict[str, Difference]:
    """Return for each class of layers the one that differs most, relatively."""
    worst: dict[str, Difference] = {}
    for difference in differences:
        if difference.kind not in worst or difference.relative > worst[difference.kind].relative:
            worst[difference.kind] = difference
    return worst


def digest(array: Array, count: int | None = None, kind: str = "") -> Output:
    """Keep the values of an array, or ``count`` of them evenly spread.

    >>> digest(np.arange(100), 3).values.tolist()
    [0.0, 49.0, 99.0]
    """
    flat = np.asarray(array).reshape(-1)
    if count is not None and count < len(flat):
        flat = flat[np.linspace(0, len(flat) - 1, count).astype(int)]
    return Output(kind, tuple(np.shape(array)), flat.astype(np.float64))


def arrays_of(value: Any) -> Iterator[Array]:
    """Yield the tensors in tuples, lists and mappings as arrays, in order."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from arrays_of(item)
    elif hasattr(value, "detach"):
        # A copy: the next layer may work in place.
        yield np.array(value.detach().numpy())


def _named_layers(net: Any) -> list[tuple[str, Any]]:
    if hasattr(net, "named_sublayers"):
        return list(net.named_sublayers(include_self=True))
    return list(net.named_modules())


def _add_hook(layer: Any, hook: Callable[[Any, Any, Any], None]) -> Any:
    add = getattr(layer, "register_forward_post_hook", None) or layer.register_forward_hook
    return add(hook)
