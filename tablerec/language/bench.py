"""Speed and launches of a small language model on a device, with fused operators and without."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tablerec.devices.bench.operators import wait
from tablerec.devices.cases.case import HALVES
from tablerec.devices.plugin import Plugin
from tablerec.errors import SettingsError
from tablerec.language.models import find_model, make_batch, make_model
from tablerec.language.training import decode, loss_of, set_device

NEW_TOKENS = 16
"""Tokens decoded for each sequence in a step of inference."""
_MOST_KERNELS = 12


@dataclass(frozen=True, slots=True)
class LanguageRun:
    """How a language model is run.

    Args:
        model: A name out of ``models.MODELS``.
        batch: Sequences at a time.
        length: Tokens of each.
        dtype: ``float32``, ``bfloat16`` or ``float16``, of all weights.
        train: Forward, backward and AdamW; else greedy decoding of ``NEW_TOKENS``.
        fused: With the model's fused operators.
    """

    model: str
    batch: int = 2
    length: int = 40
    dtype: str = "float32"
    train: bool = True
    fused: bool = False

    def __post_init__(self) -> None:
        """Check that the values exist.

        Raises:
            SettingsError: They do not.
        """
        if not (find_model(self.model).decodes or self.train):
            raise SettingsError(f"{self.model}: PaddleFormers cannot decode with it; measure its training")
        if self.dtype != "float32" and self.dtype not in HALVES:
            raise SettingsError(
                f"dtype {self.dtype!r} is not for language models: choose float32, {' or '.join(HALVES)}"
            )


@dataclass(frozen=True, slots=True)
class LanguageSpeed:
    """How fast a language model ran.

    Args:
        run: What was run.
        seconds: Of a step, median.
        tokens_per_second: Tokens trained on, or new ones.
        launches: Kernels of a step; of a new token in decoding. 0 without a plugin of ours.
        copies_to_host: Likewise.
        kernels: Launches of a step by kernel, most first.
    """

    run: LanguageRun
    seconds: float
    tokens_per_second: float
    launches: float
    copies_to_host: float
    kernels: dict[str, float]

    def lines(self) -> list[str]:
        """Return the result for people."""
        run = self.run
        what, of = ("training", "a step") if run.train else ("decoding", "a token")
        found = [
            f"{run.model} {run.batch}x{run.length} {run.dtype}, {what}, {'fused' if run.fused else 'not fused'}: "
            f"{self.tokens_per_second:.1f} tokens/s, {1000 * self.seconds:.2f} ms a step"
        ]
        if self.launches:
            found.append(f"  {self.launches:g} launches {of}, {self.copies_to_host:g} copies to the host")
            found += [f"  {count:8g} {name}" for name, count in list(self.kernels.items())[:_MOST_KERNELS]]
        return found


def measure_language_model(
    device: str, run: LanguageRun, plugin: Plugin | None = None, steps: int = 20
) -> LanguageSpeed:
    """Measure a language model on a device.

    Args:
        device: A device of Paddle, whose plugin is loaded.
        run: What to run.
        plugin: The device's plugin, where it is ours: it counts.
        steps: Steps to time, after one that is not.
    """
    set_device(device)
    step = _training_step(run) if run.train else _decoding_step(run)
    step()
    wait(device)
    if plugin:
        plugin.reset()
    spent = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        wait(device)
        spent.append(time.perf_counter() - start)
    seconds = statistics.median(spent)
    new = run.length if run.train else NEW_TOKENS
    counters, kernels = (plugin.counters(), plugin.kernels()) if plugin else ({}, {})
    share = steps * (1 if run.train else NEW_TOKENS)
    return LanguageSpeed(
        run,
        seconds,
        run.batch * new / seconds,
        counters.get("kernels", 0) / share,
        counters.get("device_to_host_copies", 0) / share,
        {name: count / share for name, count in sorted(kernels.items(), key=lambda item: -item[1])},
    )


def _make(run: LanguageRun) -> tuple[Any, dict[str, Any]]:
    import paddle

    paddle.seed(0)
    before = paddle.get_default_dtype()
    paddle.set_default_dtype(run.dtype)
    try:
        # No token ends a sequence: each decodes as many.
        net = make_model(run.model, run.fused, eos_token_id=-1, max_position_embeddings=run.length + NEW_TOKENS)
    finally:
        paddle.set_default_dtype(before)
    arrays = make_batch(run.model, run.batch, run.length)
    return net, {key: paddle.to_tensor(value) for key, value in arrays.items()}


def _training_step(run: LanguageRun) -> Callable[[], None]:
    import paddle

    net, batch = _make(run)
    net.train()
    clip = paddle.nn.ClipGradByGlobalNorm(1.0)
    update = paddle.optimizer.AdamW(
        1e-4, parameters=net.parameters(), grad_clip=clip, multi_precision=run.dtype != "float32"
    )

    def step() -> None:
        loss_of(net(**batch)).backward()
        update.step()
        update.clear_grad()

    return step


def _decoding_step(run: LanguageRun) -> Callable[[], None]:
    net, batch = _make(run)

    def step() -> None:
        decode(net, batch, NEW_TOKENS)

    return step
