"""What a few steps of a training take: memory and time, in a process of their own."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from tablerec.errors import TrainingError
from tablerec.settings_fields import to_json
from tablerec.training.settings import TrainSettings, read_settings


@dataclass(frozen=True, slots=True)
class Measured:
    """What steps took.

    Args:
        peak_bytes: Most that Paddle's tensors took on the device, weights and samples included.
        seconds: Of a step, the median.
        process_bytes: Most that the process took of the host's memory, libraries included.
        n_cells: Cells in a picture of the batch, at most.
        problem: Why nothing was measured; else empty.
    """

    peak_bytes: float = 0.0
    seconds: float = 0.0
    process_bytes: float = 0.0
    n_cells: int = 0
    problem: str = ""


def measure_here(settings: TrainSettings, steps: int = 3) -> Measured:
    """Take steps in this process, which should have done nothing else.

    Args:
        settings: What is trained; samples come from ``data.source``.
        steps: How many are taken after the first one, which chooses algorithms.
    """
    import paddle

    from tablerec.training.data.feed import SampleFeed
    from tablerec.training.memory import peak_memory, process_peak_bytes, remedies, reset_peak_memory
    from tablerec.training.trainer import Trainer

    s, device = settings.data, settings.device_of(0)
    paddle.set_device(device)
    reset_peak_memory(device)
    seconds = []
    with remedies(settings):
        trainer = Trainer(settings)
        feed = SampleFeed(s.source, s.first_index, trainer.task.preparation(settings), 0)
        buffer = trainer.task.buffer(settings, s.min_buffer)
        n_cells = 0
        for index in range(s.min_buffer):
            sample = feed.take(wait=True)
            n_cells = max(n_cells, int(getattr(sample, "n_cells", 0)))
            buffer.put(sample, index)
        for _ in range(1 + steps):
            begun = time.perf_counter()
            float(trainer.train_step(buffer, 0.0)["total"])
            seconds.append(time.perf_counter() - begun)
    return Measured(peak_memory(device), statistics.median(seconds[1:]), float(process_peak_bytes() or 0), n_cells)


def measure_apart(
    settings: TrainSettings, steps: int = 3, timeout: float = 600.0, plugin: str | None = None
) -> Measured:
    """Take steps in a new process, so that the peak is that of these settings alone.

    Args:
        settings: See ``measure_here``; ``data.min_buffer`` samples are prepared.
        steps: See ``measure_here``.
        timeout: Seconds after which it is given up.
        plugin: Device plugin that the process loads first.

    Raises:
        TrainingError: The process failed for another reason than a lack of memory or settings that cannot be.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "settings.json"
        path.write_text(to_json(settings), encoding="utf-8")
        command = [sys.executable, "-m", "tablerec.training.tuning.measure", str(path), str(steps), plugin or ""]
        try:
            done = subprocess.run(  # noqa: S603
                command, capture_output=True, text=True, timeout=timeout, env=child_environment(), check=False
            )
        except subprocess.TimeoutExpired:
            return Measured(problem=f"no step within {timeout:.0f} s")
    lines = done.stdout.strip().splitlines()
    if done.returncode < 0:
        return Measured(problem=f"the process was ended by signal {-done.returncode}, perhaps for lack of memory")
    if done.returncode or not lines:
        raise TrainingError(f"steps cannot be measured: {done.stderr.strip()[-1000:] or 'the process said nothing'}")
    return Measured(**json.loads(lines[-1]))


def child_environment() -> dict[str, str]:
    """Return the environment in which another Python finds what this one finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _main(path: str, steps: str, plugin: str) -> None:
    from tablerec.errors import TablerecError
    from tablerec.training.start import load_device_plugin

    try:
        load_device_plugin(plugin or None)
        # The process that began this one has read these settings, and asked its user where they import code.
        found = measure_here(read_settings(Path(path), allow_import=True), int(steps))
    except TablerecError as error:
        found = Measured(problem=str(error))
    sys.stdout.write(json.dumps(asdict(found)) + "\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
