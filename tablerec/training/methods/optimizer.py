"""AdamW, and AdamW with a state of 8 bits, behind the same few calls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import Tensor
from paddle.nn import functional as F  # noqa: N812

from tablerec.errors import InputError
from tablerec.training.ranks.sharding import ShardedOptimizer
from tablerec.training.settings import OptimizerSettings

Groups = dict[str, dict[str, NDArray[Any]]]

BLOCK = 256
"""Values that share a scale."""
BUCKET = 1 << 22
"""Values that are updated at once: what they take as float32 is freed before the next ones."""
_MOMENTS = ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


def make_optimizer(parameters: Mapping[str, Tensor], settings: OptimizerSettings, *, sharded: bool = False) -> Any:
    """Make the optimizer that the settings name; ``weight_decay`` is for all but norms and biases.

    Args:
        parameters: The trainable ones, by name.
        settings: ``name``, ``learning_rate``, ``weight_decay`` and ``max_grad_norm``.
        sharded: Divide its state among the ranks, see ``sharding``.

    Returns:
        An object with ``set_lr``, ``step`` and ``clear_grad``.
    """
    decays = {each.name for each in parameters.values() if sum(n > 1 for n in each.shape) > 1}
    clip = paddle.nn.ClipGradByGlobalNorm(settings.max_grad_norm)
    if settings.name == "adamw8bit":
        shares = [settings.weight_decay * (each.name in decays) for each in parameters.values()]
        return AdamW8bit(list(parameters.values()), shares, settings.learning_rate, clip)
    adamw = paddle.optimizer.AdamW(
        settings.learning_rate,
        parameters=list(parameters.values()),
        weight_decay=settings.weight_decay,
        apply_decay_param_fun=decays.__contains__,
        grad_clip=None if sharded else clip,
    )
    return ShardedOptimizer(adamw, list(parameters.values()), clip) if sharded else adamw


def optimizer_arrays(optimizer: Any, parameters: Mapping[str, Tensor]) -> Groups:
    """Copy the state to the host, this rank's part of it, by group and name; empty before the first step."""
    if isinstance(optimizer, AdamW8bit):
        return {"moments8bit": optimizer.arrays()}
    state = optimizer.state_dict()
    return {
        kind: {
            name: state[f"{each.name}_{kind}_0"].numpy()
            for name, each in parameters.items()
            if f"{each.name}_{kind}_0" in state
        }
        for kind in _MOMENTS
        if any(f"{each.name}_{kind}_0" in state for each in parameters.values())
    }


def load_optimizer(optimizer: Any, parameters: Mapping[str, Tensor], groups: Groups) -> None:
    """Take up what ``optimizer_arrays`` returned.

    Raises:
        InputError: It is the state of another optimizer.
    """
    if isinstance(optimizer, AdamW8bit) != ("moments8bit" in groups) and len(
        groups.keys() & {*_MOMENTS, "moments8bit"}
    ):
        raise InputError(
            "the checkpoint has the state of another optimizer: set optimizer.name as it was, or begin anew"
        )
    if isinstance(optimizer, AdamW8bit):
        optimizer.load(groups.get("moments8bit", {}))
        return
    moments = {
        f"{each.name}_{kind}_0": paddle.to_tensor(groups[kind][name])
        for kind in _MOMENTS
        if kind in groups
        for name, each in parameters.items()
    }
    if moments:
        optimizer.set_state_dict(moments)


def quantize_blocks(values: Tensor, noise: Tensor | float, *, signed: bool) -> tuple[Tensor, Tensor]:
    """Round to 8 bits, with a scale for each block.

    What is rounded is a root of the value's share of the largest in its block, the second or without signs the
    fourth, so that small values keep their order of magnitude, as with the dynamic data type of Dettmers et al.,
    "8-bit Optimizers via Block-wise Quantization", 2022.

    Args:
        values: ``(blocks, BLOCK)`` float32.
        noise: 0.5 rounds to the nearest; random numbers from 0 to 1 round up or down, right on average.
        signed: Whether values may be negative; if not, those above zero stay above it.

    Returns:
        ``(blocks, BLOCK)`` uint8 codes; ``(blocks, 1)`` float32 scales.

    >>> codes, scales = quantize_blocks(paddle.to_tensor([[-4.0, 0.0, 1.0]]), 0.5, signed=True)
    >>> codes.tolist(), scales.tolist()
    ([[1, 128, 192]], [[4.0]])
    >>> [round(value, 2) for value in restore_blocks(codes, scales, signed=True)[0].tolist()]
    [-4.0, 0.0, 1.02]
    """
    scales = values.abs().max(1, keepdim=True)
    root = paddle.sqrt((values / paddle.clip(scales, min=1e-38)).abs())
    if signed:
        steps = paddle.clip(paddle.floor(root * 127 + noise), max=127.0)
        return (128 + paddle.sign(values) * steps).astype("uint8"), scales
    steps = paddle.clip(paddle.floor(paddle.sqrt(root) * 255 + noise), max=255.0)
    return paddle.maximum(steps, paddle.sign(values)).astype("uint8"), scales


def restore_blocks(codes: Tensor, scales: Tensor, *, signed: bool) -> Tensor:
    """Return ``(blocks, BLOCK)`` float32 values, within a step of what was rounded."""
    steps = codes.astype("float32")
    if signed:
        root = (steps - 128) / 127
        return scales * root * root.abs()
    square = (steps / 255) ** 2
    return scales * square * square


def round_at_random(values: Tensor, dtype: Any) -> Tensor:
    """Round float32 values to half precision, up or down, so that they are right on average.

    >>> from paddle import bfloat16
    >>> many = round_at_random(paddle.full([4096], 1.0 + 2**-9), bfloat16).astype("float32")
    >>> sorted({float(each) for each in many}), abs(float(many.mean()) - 1.0 - 2**-9) < 4e-4
    ([1.0, 1.0078125], True)
    """
    digits, least = (7, 2.0**-119) if dtype == paddle.bfloat16 else (10, 2.0**-14)
    exponent = paddle.floor(paddle.log(paddle.clip(values.abs(), min=least)) / math.log(2.0) + 1e-6)
    step = paddle.exp((exponent - digits) * math.log(2.0))
    return (values + (paddle.rand(values.shape) - 0.5) * step).astype(dtype)


class AdamW8bit:
    """AdamW (Loshchilov and Hutter, 2019) whose two moments are kept in 8 bits.

    The second moment changes by a thousandth in a step, which rounding to the nearest would lose: it is
    rounded at random, with Paddle's generator. So are parameters in half precision, of which there is no second copy.

    Args:
        parameters: The trainable ones.
        decays: Weight decay of each.
        learning_rate: Until ``set_lr``.
        clip: Clips ``(parameter, gradient)`` pairs.
    """

    def __init__(self, parameters: list[Tensor], decays: list[float], learning_rate: float, clip: Any) -> None:
        self._parameters, self._clip = parameters, clip
        self._rate, self._step = learning_rate, 0
        self._buckets: list[list[tuple[Tensor, float]]] = []
        room = 0
        for pair in zip(parameters, decays, strict=True):
            if pair[0].size > room:
                self._buckets.append([])
                room = BUCKET
            self._buckets[-1].append(pair)
            room -= pair[0].size
        self._states: list[tuple[Tensor, ...]] = [_zero_state(bucket) for bucket in self._buckets]

    def set_lr(self, value: float) -> None:
        """Set the learning rate."""
        self._rate = value

    def clear_grad(self) -> None:
        """Forget the gradients."""
        for each in self._parameters:
            each.clear_gradient(set_to_zero=False)

    @paddle.no_grad()
    def step(self) -> None:
        """Follow the gradients; a parameter without one moves as with zeros."""
        self._step += 1
        pairs = [(each, each.grad) for each in self._parameters if each.grad is not None]
        gradients = {each.name: gradient for each, gradient in self._clip(pairs)} if pairs else {}
        for number, bucket in enumerate(self._buckets):
            flat = [gradients.get(each.name, paddle.zeros_like(each)).flatten() for each, _ in bucket]
            change = self._change(number, paddle.concat(flat).astype("float32"))
            parts = paddle.split(change, [each.size for each, _ in bucket]) if len(bucket) > 1 else [change]
            for (each, decay), part in zip(bucket, parts, strict=True):
                value = each.astype("float32") * (1 - self._rate * decay) - part.reshape(each.shape)
                each.set_value(value if each.dtype == value.dtype else round_at_random(value, each.dtype))

    def _change(self, number: int, gradient: Tensor) -> Tensor:
        codes1, scales1, codes2, scales2 = self._states[number]
        size = gradient.shape[0]
        g = F.pad(gradient, [0, -size % BLOCK]).reshape([-1, BLOCK])
        first = restore_blocks(codes1, scales1, signed=True) * _BETA1 + g * (1 - _BETA1)
        second = restore_blocks(codes2, scales2, signed=False) * _BETA2 + g * g * (1 - _BETA2)
        below = paddle.sqrt(second / (1 - _BETA2**self._step)) + _EPSILON
        change = self._rate / (1 - _BETA1**self._step) * first / below
        noise = paddle.rand(second.shape)
        rounded = quantize_blocks(first, 0.5, signed=True), quantize_blocks(second, noise, signed=False)
        self._states[number] = (*rounded[0], *rounded[1])
        return change.flatten()[:size]

    def move(self, place: Any) -> None:
        """Copy the state to another place, where it stays until it is moved back; a step needs it on the device."""
        self._states = [tuple(each._copy_to(place, True) for each in state) for state in self._states]

    def tensors(self) -> list[Tensor]:
        """Return the state, where it lies."""
        return [tensor for state in self._states for tensor in state]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copy the state to the host."""
        kept = {f"{place}": tensor.numpy() for place, tensor in enumerate(self.tensors())}
        return {"step": np.array([self._step]), **kept}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up what ``arrays`` returned.

        Raises:
            InputError: It is of other parameters.
        """
        if not arrays:
            return
        shapes = {f"{place}": tuple(tensor.shape) for place, tensor in enumerate(self.tensors())}
        if {name: array.shape for name, array in arrays.items() if name != "step"} != shapes:
            raise InputError(
                "the checkpoint's optimizer has other parameters: set optimizer.trainable and optimizer.lora as before"
            )
        self._step = int(arrays["step"][0])
        tensors = [paddle.to_tensor(arrays[name]) for name in shapes]
        self._states = [tuple(tensors[start : start + 4]) for start in range(0, len(tensors), 4)]


def _zero_state(bucket: list[tuple[Tensor, float]]) -> tuple[Tensor, ...]:
    n_blocks = -(-sum(each.size for each, _ in bucket) // BLOCK)
    zeros = paddle.zeros([n_blocks, BLOCK])
    return (*quantize_blocks(zeros, 0.5, signed=True), *quantize_blocks(zeros, 0.5, signed=False))
