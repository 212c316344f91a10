"""Speed of a whole network on a device, in training and in inference."""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablerec.devices.bench.networks import find_network, inference_network, stand_in_loss
from tablerec.devices.bench.operators import DTYPES, wait
from tablerec.devices.cases.case import HALVES
from tablerec.devices.graph import CapturedNetwork
from tablerec.devices.plugin import Plugin
from tablerec.errors import SettingsError

MODES = ("dygraph", "static", "predictor", "graph")
AMP_LEVELS = ("O1", "O2")


@dataclass(frozen=True, slots=True)
class ModelRun:
    """How a network is run.

    Args:
        network: A name out of ``networks.NETWORKS``.
        batch: Pictures at a time; 0 for the network's own.
        size: The side of the pictures in pixels; 0 for the network's own.
        dtype: One of ``DTYPES``.
        train: Forward, ``stand_in_loss``, backward and AdamW; else forward alone, prepared for inference.
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
        first = [float(loss) for loss in _first_steps(step, losses)]
        wait(device)
        rounds, spent = min(5, steps), []
        if plugin:
            peak = plugin.counters()["peak_bytes_in_use"]
            plugin.reset()
        for _ in range(rounds):
            start = time.perf_counter()
            for _ in range(steps // rounds):
                step()
            wait(device)
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
        memory = _memory_over(step, flat, plugin, paddle, device) if flat else None
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
    step: Callable[[], None], steps: int, plugin: Plugin | None, paddle: Any, device: str
) -> tuple[int, int]:
    def held() -> int:
        wait(device)
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
    return paddle.uniform([batch, 3, size, size], "float32", 0, find_network(run.network).largest)


def _training_step(paddle: Any, run: ModelRun, images: Any) -> tuple[Callable[[], None], list[Any]]:
    net, compare = find_network(run.network).make(), stand_in_loss()
    net.train()
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
        loss = compare(outputs)
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


def _inference_step(
    paddle: Any, run: ModelRun, device: str, plugin: Plugin | None, images: Any, folder: Path
) -> Callable[[], None]:
    net, level = inference_network(run.network, run.pictures[1]), run.amp or "O0"
    if run.dtype in HALVES and not run.amp:
        net.to(dtype=run.dtype)
        images = images.astype(run.dtype)
    _require_amp(paddle, run.dtype, level)
    if run.mode in ("static", "predictor"):
        given = paddle.static.InputSpec(images.shape, images.dtype, "images")
        net = paddle.jit.to_static(net, input_spec=[given], full_graph=True)
    if run.mode == "predictor":
        paddle.jit.save(net, str(folder / "net"))
        return predictor_step(device, folder / "net", images)

    def call(images: Any) -> Any:
        with paddle.no_grad(), _amp(paddle, run.dtype, level):
            return net(images)

    repeat = CapturedNetwork(_require_plugin(plugin), call, [images]) if run.mode == "graph" else call
    return lambda: repeat(images)


def _require_plugin(plugin: Plugin | None) -> Plugin:
    if plugin is None:
        raise SettingsError("mode 'graph' needs a plugin of ours: load one with --plugin")
    return plugin


def predictor_step(device: str, path: Path, images: Any) -> Callable[[], None]:
    """Open a saved static model with ``paddle.inference``; return a step on the images."""
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
