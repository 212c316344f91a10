"""Memory and time of a training step of RT-DETR-L as a function of the cells: it must not grow with them.

Run it as ``python -m tests.benchmarks.benchmark_rtdetr_memory [BATCH...]``; needs the paddle extra. Prints, for each
batch and number of cells a picture, the peak of Paddle's allocator on the CPU over a forward and a backward, and the
seconds of a second step. One process for each batch keeps peaks apart: give one batch a time for exact figures.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import paddle

from postprocess.boxes import boxes_to_quads
from tablerec.training.batches import Batch
from tablerec.training.rtdetr_task import RTDETRTask
from tablerec.training.settings import TrainSettings

SIDE = 640
CELLS = (0, 20, 200, 300, 1500)


def picture_cells(count: int) -> np.ndarray:
    """Return the quads of a regular grid that fills the picture."""
    n_columns = max(1, int(np.sqrt(count / 2)))
    index = np.arange(count)
    row, column = index // n_columns, index % n_columns
    width, height = SIDE / n_columns, SIDE / max(1, -(-count // n_columns))
    low = np.stack([column * width, row * height], 1)
    return boxes_to_quads(np.hstack([low, low + [width, height]])).astype(np.float32)


def main(batches: list[int]) -> None:
    paddle.seed(0)
    task = RTDETRTask(TrainSettings("synth:mixed", Path("unused"), model="rtdetr_l", steps=1, side=SIDE))
    net = task.make()
    net.train()
    stat = paddle.base.core.host_memory_stat_peak_value
    print("batch  cells   MB    s")
    for batch in batches:
        images = paddle.rand([batch, 3, SIDE, SIDE]) * 255
        for count in CELLS:
            quads = paddle.to_tensor(np.stack([picture_cells(count)] * batch))
            sample = Batch(images, images, quads, np.full(batch, count))
            for _ in range(2):
                paddle.base.core.host_memory_stat_reset_peak_value("Allocated", 0)
                start = time.perf_counter()
                task.loss(net, sample, nullcontext)["total"].backward()
                net.clear_gradients()
                seconds = time.perf_counter() - start
            print(f"{batch:5} {count:6} {stat('Allocated', 0) / 1e6:6.0f} {seconds:5.1f}", flush=True)


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or [1])
