"""What a run writes while it goes: a line of losses for each step, the validations, and TensorBoard's files."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import Tensor

from tablerec.errors import MissingDependencyError
from tablerec.fields import parse_json
from tablerec.outputs.files import atomic_file

LOG = "log.jsonl"
"""In the output: the losses, a line for each step."""
CURVE = "curve.jsonl"
"""In the output: the validations, a line each."""


class Means(NamedTuple):
    """The steps since the last reading.

    Args:
        values: Means of the parts of the loss.
        steps: How many steps there were.
        seconds: How long they took.
    """

    values: dict[str, float]
    steps: int
    seconds: float


class TrainingLog:
    """Keeps the losses on the device until they are asked for, so that no step waits for its own.

    Args:
        output: Folder of the run.
        tensorboard: Also write files for TensorBoard, into ``tensorboard`` in the output.

    Raises:
        MissingDependencyError: TensorBoard's files are wanted and tensorboardX is missing.
    """

    def __init__(self, output: Path, *, tensorboard: bool = False) -> None:
        self.output = output
        self._writer = _open_writer(output / "tensorboard") if tensorboard else None
        self._waiting: list[Tensor] = []
        self._notes: list[dict[str, Any]] = []
        self._names: list[str] = []
        self._since = time.monotonic()

    def take_over(self, earlier: Path, step: int) -> None:
        """Go on from the log of an earlier run, or of this one: lines of later steps are dropped."""
        for name in (LOG, CURVE):
            path = self.output / name
            if earlier != self.output and (earlier / name).is_file():
                shutil.copyfile(earlier / name, path)
            if path.is_file():
                kept = [line for line in path.read_text(encoding="utf-8").splitlines() if _step_of(line) <= step]
                with atomic_file(path) as file:
                    file.write("".join(line + "\n" for line in kept).encode())

    def add(self, parts: Mapping[str, Tensor], **notes: Any) -> None:
        """Remember a step: parts of the loss, still on the device, and what else its line says."""
        self._names = list(parts)
        self._waiting.append(paddle.stack(list(parts.values())))
        self._notes.append(notes)

    def read(self) -> Means | None:
        """Write the lines of the steps since the last reading; returns their means, None where there were none."""
        if not self._waiting:
            return None
        values: NDArray[np.float32] = paddle.stack(self._waiting).numpy()
        now = time.monotonic()
        means = Means(self._by_name(values.mean(0)), len(values), max(now - self._since, 1e-9))
        for notes, row in zip(self._notes, values, strict=True):
            self._write(LOG, {**notes, **self._by_name(row)})
        self._waiting, self._notes, self._since = [], [], now
        return means

    def scores(self, step: int, values: Mapping[str, Any]) -> None:
        """Write a validation."""
        self._write(CURVE, {"step": step, **values})

    def picture(self, step: int, name: str, path: Path) -> None:
        """Show a picture in TensorBoard."""
        if self._writer is not None and path.is_file():
            import cv2

            image = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)
            assert image is not None  # ours
            self._writer.add_image(name, image[:, :, ::-1], step, dataformats="HWC")

    def close(self) -> None:
        """Write what is still waiting."""
        self.read()
        if self._writer is not None:
            self._writer.close()

    def _by_name(self, row: NDArray[np.float32]) -> dict[str, float]:
        return dict(zip(self._names, row.tolist(), strict=True))

    def _write(self, name: str, line: Mapping[str, Any]) -> None:
        with (self.output / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        if self._writer is not None:
            for key, value in line.items():
                if key != "step" and isinstance(value, (int, float)):
                    self._writer.add_scalar(f"{name.partition('.')[0]}/{key}", value, line["step"])


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines; a last line that was cut off when the process died is left out."""
    lines = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else ():
        try:
            lines.append(parse_json(line))
        except ValueError:
            break
    return lines


def _step_of(line: str) -> float:
    try:
        return float(parse_json(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")  # cut off when the process died


def _open_writer(folder: Path) -> Any:
    try:
        from tensorboardX import SummaryWriter
    except ImportError as error:
        raise MissingDependencyError(
            'tensorboard: true needs tensorboardX: run pip install "tablerec[train]", or leave it out'
        ) from error
    return SummaryWriter(str(folder))
