"""Settings of small trainings, and what they wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablerec.settings_fields import list_fields, merge, to_settings
from tablerec.training.settings import TrainSettings

SOURCE = "tests.helpers.grids:draw_ruled"
NETWORK = {"widths": [8, 8, 16, 16, 16], "depths": [0, 1, 0, 0], "pyramid": [16, 16]}
PATHS = {path.replace(".", "_"): path for path, _, _ in list_fields(TrainSettings)}
PATHS |= {path.rpartition(".")[2]: path for path in [*PATHS.values()][::-1] if not path.startswith("validation")}


def make_settings(output: Path = Path("out"), **changes: Any) -> TrainSettings:
    """Return settings of one step on synthetic tables, with changes.

    Args:
        output: Folder to write to.
        **changes: By the last part of their path, as in ``batch_size``; validation's as in ``validation_samples``.
    """
    values = {"output": output, "data": {"source": "synth:mixed"}, "schedule": {"steps": 1}}
    return to_settings(TrainSettings, merge(values, {PATHS[name]: value for name, value in changes.items()}))


def settings(output: Path, **changes: Any) -> TrainSettings:
    """Return settings of eight steps of a very small CellNet on ruled tables, with changes as of ``make_settings``."""
    values = {
        "source": SOURCE, "output": output, "network": NETWORK, "steps": 8, "batch_size": 4, "image_size": 96,
        "max_cells": 32, "buffer_size": 6, "min_buffer": 4, "uses_per_sample": 4.0, "warmup_steps": 5,
        "ema_decay": 0.9, "bn_batches": 2, "validation_samples": 2, "validation_every": 100,
        "checkpoint_every": 100, "log_every": 1, "validation_pictures": 2,
    }  # fmt: skip
    return make_settings(**{**values, **changes})


def lines(output: Path, name: str = "log.jsonl") -> list[dict[str, Any]]:
    """Return what a training wrote of each step."""
    return [json.loads(line) for line in (output / name).read_text().splitlines()]


def losses(output: Path) -> list[float]:
    """Return the loss of each step."""
    return [line["total"] for line in lines(output)]


DIGITS = "tests.helpers.training:draw_digits"
LINENET = {"characters": "0123456789", "widths": [8, 16, 32, 64, 32], "depths": [0, 0, 1]}


class DrawnLine(NamedTuple):
    """What a source of lines returns."""

    image: NDArray[np.uint8]
    text: str


def draw_digits(index: int) -> DrawnLine:
    """Draw a number of one to six digits."""
    import cv2

    rng = np.random.default_rng(index)
    text = "".join(map(str, rng.integers(0, 10, rng.integers(1, 7))))
    (width, height), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.9, 2)
    image = np.full((height + 12, width + 12, 3), 235, np.uint8)
    cv2.putText(image, text, (6, height + 6), cv2.FONT_HERSHEY_SIMPLEX, 0.9, (20, 20, 20), 2, cv2.LINE_AA)
    return DrawnLine(image, text)


def line_settings(output: Path, **changes: Any) -> TrainSettings:
    """Return settings of eight steps of a very small LineNet on digits, with changes as of ``make_settings``."""
    values = {"source": DIGITS, "network": LINENET, "model": "linenet", "image_size": 256, "batch_size": 8}
    return settings(output, **{**values, **changes})


def write_line(path: Path, text: str = "12") -> None:
    """Write a picture of a line whose first pixel is blue."""
    import cv2

    path.parent.mkdir(parents=True, exist_ok=True)
    image = np.full((40, 30 + 20 * len(text), 3), 255, np.uint8)
    cv2.putText(image, text, (10, 30), cv2.FONT_HERSHEY_SIMPLEX, 0.8, (0, 0, 0), 2)
    image[0, 0] = (200, 0, 0)  # blue, as OpenCV writes
    cv2.imwrite(str(path), image)
