"""Memory and time of a training step of RT-DETR-L as a function of the cells: it must not grow with them.

Run it as ``python -m tests.benchmarks.training.rtdetr_memory [--batch N] [--recompute] [CELLS...]``; needs the paddle
extra. Prints, for each number of cells a picture, the peak of Paddle's allocator on the CPU over a forward and a
backward, and their seconds.
"""

from __future__ import annotations

import argparse
import time
from contextlib import nullcontext

import numpy as np
import paddle

from postprocess.geometry.boxes import boxes_to_quads
from tablerec.training.data.batches import Batch
from tablerec.training.detectors.rtdetr import RTDETRTask
from tablerec.training.memory import peak_memory, recompute_parts, reset_peak_memory
from tests.helpers.training import make_settings

SIDE = 640


def picture_cells(count: int) -> np.ndarray:
    """Return the quads of a regular grid that fills the picture."""
    n_columns = max(1, int(np.sqrt(count / 2)))
    index = np.arange(count)
    row, column = index // n_columns, index % n_columns
    width, height = SIDE / n_columns, SIDE / max(1, -(-count // n_columns))
    low = np.stack([column * width, row * height], 1)
    return boxes_to_quads(np.hstack([low, low + np.array([width, height])])).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", type=int, default=[0, 20, 200, 300, 1500])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--recompute", action="store_true")
    chosen = parser.parse_args()
    paddle.seed(0)
    task = RTDETRTask(make_settings(model="rtdetr_l", image_size=SIDE))
    net = task.make()
    net.train()
    if chosen.recompute:
        recompute_parts(net, task.parts)
    images = paddle.rand([chosen.batch, 3, SIDE, SIDE]) * 255
    print("batch  cells   MB    s")
    for count in chosen.cells:
        quads = paddle.to_tensor(np.stack([picture_cells(count)] * chosen.batch))
        reset_peak_memory("cpu")
        start = time.perf_counter()
        sample = Batch(images, quads, np.full(chosen.batch, count))
        task.loss(net, sample, nullcontext)["total"].backward()
        net.clear_gradients(set_to_zero=False)
        seconds = time.perf_counter() - start
        print(f"{chosen.batch:5} {count:6} {peak_memory('cpu') / 1e6:6.0f} {seconds:5.1f}", flush=True)


if __name__ == "__main__":
    main()
