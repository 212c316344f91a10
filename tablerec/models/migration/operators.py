"""Every kind of call that a network makes, alone, in both frameworks."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablerec.models.migration.conversion import set_apart
from tablerec.models.migration.layers import Difference, Output, arrays_of, compare_outputs, digest
from tablerec.outputs.files import atomic_file

Array = NDArray[Any]
N_VALUES = 16
"""Values kept of each result."""
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "matmul": "@"}
"""PyTorch calls these by name where the code has a sign."""


@dataclass(frozen=True, slots=True)
class Input:
    """A tensor that goes into a call.

    Args:
        shape: Its shape.
        dtype: NumPy's name of its type.
        values: Flat values of whole numbers and flags, which are positions or choices that must fit; floats are drawn.
    """

    shape: tuple[int, ...]
    dtype: str
    values: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Call:
    """One call, as PyTorch code, and what PyTorch gives.

    Args:
        name: Such as ``torch.nn.functional.conv2d`` or ``torch.Tensor.flatten``.
        code: An expression of ``a0``, ``a1`` and so on.
        inputs: What these are.
        outputs: What comes out.
    """

    name: str
    code: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]


def record_calls(run: Callable[[], Any]) -> list[Call]:
    """Run a PyTorch network and keep one call of each kind: of one name, with as many arguments by the same keywords.

    Each is made again with drawn numbers in place of the network's, so that anybody can repeat it.

    Args:
        run: Calls the network.
    """
    import torch
    from torch.overrides import TorchFunctionMode, resolve_name

    calls: dict[str, Call] = {}

    class Recorder(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            name = resolve_name(func) or ""
            if not name.startswith("torch.") or "__" in name or "._" in name:
                return result
            written = _write(name, args, kwargs or {})
            if written and written.kind not in calls:
                inputs = tuple(map(_to_input, written.tensors))
                again = eval(written.code, {"torch": torch}, _named(inputs, torch.from_numpy))  # noqa: S307, our own code
                outputs = tuple(digest(array, N_VALUES) for array in arrays_of(again))
                calls[written.kind] = Call(name, written.code, inputs, outputs)
            return result

    with torch.no_grad(), Recorder():
        run()
    return [call for call in calls.values() if call.outputs]


def write_calls(calls: Sequence[Call], folder: Path) -> None:
    """Write calls as PyTorch code for PaConvert, each as the function ``call`` of a file of its own.

    So one that cannot be converted does not spoil the others.

    Raises:
        OutputError: The folder cannot be written.
    """
    for index, call in enumerate(calls):
        with atomic_file(folder / f"call_{index}.py") as file:
            file.write(call_to_source(call).encode())


def call_to_source(call: Call) -> str:
    """Write one call as PyTorch code.

    >>> print(call_to_source(Call("torch.abs", "torch.abs(a0)", (Input((2,), "float32", None),), ())))
    import torch
    <BLANKLINE>
    <BLANKLINE>
    def call(a0: torch.Tensor):
        return torch.abs(a0)
    <BLANKLINE>
    """
    names = ", ".join(f"a{index}: torch.Tensor" for index in range(len(call.inputs)))
    return f"import torch\n\n\ndef call({names}):\n    return {call.code}\n"


def check_calls(calls: Sequence[Call], folder: Path) -> list[Difference]:
    """Make the calls in Paddle and compare.

    Args:
        calls: With PyTorch's results.
        folder: Where ``convert`` put what ``write_calls`` wrote. Its files are run.

    Returns:
        A difference for each call, with its code as name and the name of the function as kind; of one that cannot be
        converted or made, the kind is the error, and it is infinitely far off.
    """
    return [_check(call, folder / f"call_{index}.py") for index, call in enumerate(calls)]


def _check(call: Call, path: Path) -> Difference:
    import paddle

    try:
        with set_apart(), paddle.no_grad():
            function = runpy.run_path(str(path))["call"]
            found = [digest(array, N_VALUES) for array in arrays_of(function(**_named(call.inputs, paddle.to_tensor)))]
    except Exception as error:  # whatever it is, it is the finding
        message = "marked by PaConvert" if isinstance(error, SyntaxError) else f"{type(error).__name__}: {error}"
        return Difference(call.code, message.strip().splitlines()[0], float("inf"), float("inf"))
    if len(found) != len(call.outputs):
        return Difference(call.code, f"{len(found)} results, not {len(call.outputs)}", float("inf"), float("inf"))
    differences = [compare_outputs(call.code, a, b) for a, b in zip(call.outputs, found, strict=True)]
    worst = max(differences, key=lambda difference: difference.relative)
    return Difference(call.code, call.name, worst.largest, worst.relative)


@dataclass(frozen=True, slots=True)
class _Written:
    kind: str
    code: str
    tensors: list[Any]


def _write(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> _Written | None:
    """Write a call as code; None where an argument has no literal."""
    tensors: list[Any] = []
    try:
        plain = [_literal(value, tensors) for value in args]
        named = [f"{key}={_literal(value, tensors)}" for key, value in kwargs.items() if not key.startswith("_")]
    except TypeError:
        return None
    if not tensors:
        return None
    kind = f"{name}/{len(plain)}/{','.join(sorted(kwargs))}/{[tensor.dim() for tensor in tensors]}"
    method = name.rpartition(".")[2]
    if name.startswith("torch.Tensor.") and method in SIGNS and len(plain) == 2:
        return _Written(kind, f"{plain[0]} {SIGNS[method]} {plain[1]}", tensors)
    if name.startswith("torch.Tensor."):
        return _Written(kind, f"{plain[0]}.{method}({', '.join([*plain[1:], *named])})", tensors)
    return _Written(kind, f"{name}({', '.join([*plain, *named])})", tensors)


def _literal(value: Any, tensors: list[Any]) -> str:
    if hasattr(value, "detach"):
        tensors.append(value.detach())
        return f"a{len(tensors) - 1}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_literal(item, tensors) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if value is None or type(value) in (int, bool, str) or (type(value) is float and isfinite(value)):
        return repr(value)
    if type(value).__name__ == "dtype":
        return str(value)
    raise TypeError(f"{type(value)} has no literal")


def _to_input(tensor: Any) -> Input:
    array = tensor.numpy()
    values = None if array.dtype.kind == "f" else tuple(int(value) for value in array.reshape(-1))
    return Input(tuple(array.shape), array.dtype.name, values)


def _named(inputs: Sequence[Input], to_tensor: Callable[[Array], Any]) -> dict[str, Any]:
    return {f"a{index}": to_tensor(_draw(item, index)) for index, item in enumerate(inputs)}


def _draw(item: Input, index: int) -> Array:
    """Floats between 0.1 and 0.9, where logarithms and roots are defined; no two are equal."""
    if item.values is None:
        rng = np.random.default_rng([index, len(item.shape)])
        return rng.uniform(0.1, 0.9, item.shape).astype(item.dtype)
    return np.array(item.values, item.dtype).reshape(item.shape)
