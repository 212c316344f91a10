"""A very small RT-DETR, its settings and batches; needs the paddle extra."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import paddle

from tablerec.devices.bench.networks import RTDETR_REDUCED
from tablerec.training.data.batches import Batch
from tablerec.training.detectors.rtdetr import RTDETRTask
from tablerec.training.settings import Augmentation, TrainSettings
from tests.helpers.grids import grid_quads
from tests.helpers.training import make_settings

BACKBONE = {**RTDETR_REDUCED["backbone_config"], "stage_num_blocks": [1, 1, 1, 1], "stage_numb_of_layers": [1, 1, 1, 1]}
NETWORK = {**RTDETR_REDUCED, "backbone_config": BACKBONE, "num_labels": 1}
SIDE = 96
STILL = Augmentation(identity_probability=1, contrast=(1, 1), brightness=0, inversion_probability=0, noise_std=0)


def settings(output: Path, **changes: Any) -> TrainSettings:
    """Return settings of three steps, with changes as of ``make_settings``."""
    values = {
        "source": "tests.helpers.grids:draw_ruled", "output": output, "model": "rtdetr_l", "network": NETWORK,
        "steps": 3, "batch_size": 2, "image_size": SIDE, "max_cells": 32, "buffer_size": 2, "min_buffer": 2,
        "uses_per_sample": 1e9, "warmup_steps": 10, "bn_batches": 2, "validation_first_index": 0,
        "validation_samples": 2, "log_every": 1, "validation_pictures": 0, "augmentation": STILL,
    }  # fmt: skip
    return make_settings(**{**values, **changes})


def make(task: RTDETRTask, seed: int = 0) -> paddle.nn.Layer:
    """Make a network whose norms have seen pictures, in training."""
    paddle.seed(seed)
    net = task.make()
    net.train()
    with paddle.no_grad():
        for _ in range(5):
            net(paddle.rand([2, 3, SIDE, SIDE]) * 255)
    return net


def batch_of(*pictures: np.ndarray) -> Batch:
    """Return a batch of noise with these cells in each picture."""
    paddle.seed(5)
    quads = np.zeros((len(pictures), 40, 4, 2), np.float32)
    for row, cells in enumerate(pictures):
        quads[row, : len(cells)] = cells
    images = paddle.rand([len(pictures), 3, SIDE, SIDE]) * 255
    return Batch(images, paddle.to_tensor(quads), np.array([len(cells) for cells in pictures]))


EMPTY = np.zeros((0, 4, 2), np.float32)
SMALL, LARGE = grid_quads([5, 40, 80], [8, 30, 60, 90]), grid_quads(range(4, 96, 15), range(4, 96, 15))
