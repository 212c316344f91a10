"""Parity, training and speed of the CUDA plugin on a card: python device_h100.py LIBRARY [--tf32].

Prints the card, the date, and a table; exit code 1 where the card disagrees with the CPU.
LIBRARY is what `tablerec device build cuda` printed; Paddle's CPU wheel must be importable.

Measured on one NVIDIA H100 80GB HBM3 (driver 580.159.04, cuDNN 9.19, cuBLAS 13.1, 16 CPU cores), 2026-11-28,
`device_h100.py LIBRARY --cpu` and `device_h100.py LIBRARY --tf32`; the network is `parity._detector`:

    880 operator cases, 0 failed; losses differ by at most 1.7e-7 (relative), parameters by at most 6.6e-6
                             forward s            step s                images/s in training
                          CPU  float32   TF32   CPU   float32  TF32     CPU  float32  TF32
    width 4, 8 x 256    0.1817  0.00328 0.00160 0.4234 0.00876 0.00456   19    913    1756
    width 4, 32 x 960        -  0.01203 0.00930      - 0.05545 0.04386    -    577     730
    1,000 steps: memory flat, nothing allocated; no synchronization but the script's own two a step
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tablerec.devices.parity import OPTIMIZERS, _detector, compare_operators, compare_training
from tablerec.devices.plugin import load_plugin


def card() -> str:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()


def step_seconds(paddle, device: str, width: int, batch: int, size: int, train: bool, repeats: int) -> float:
    """Return the median seconds of a forward pass, or of a training step with AdamW."""
    from paddle.nn import functional as F  # noqa: N812

    paddle.set_device(device)
    paddle.seed(1)
    net = _detector(paddle, width)
    update = paddle.optimizer.AdamW(1e-3, parameters=net.parameters())
    images = paddle.to_tensor(np.random.default_rng(0).normal(size=(batch, 3, size, size)).astype("float32"))
    truth = paddle.zeros([batch, 4, size // 4, size // 4])
    if not train:
        net.eval()

    def wait() -> None:
        if device != "cpu":
            paddle.device.synchronize(device)

    def step() -> None:
        with paddle.set_grad_enabled(train):
            scores, sides = net(images)
            if train:
                loss = F.binary_cross_entropy_with_logits(scores, truth) + F.smooth_l1_loss(sides, truth)
                loss.backward()
                update.step()
                update.clear_grad()

    seconds = []
    for k in range(repeats + 2):
        wait()
        start = time.perf_counter()
        step()
        wait()
        if k >= 2:
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--cpu", action="store_true", help="time the CPU too")
    options = parser.parse_args()
    plugin = load_plugin(options.library, tf32=options.tf32)
    import paddle

    print(f"{card()}; {datetime.date.today()}; Paddle {paddle.__version__}; {' '.join(sys.argv)}", flush=True)
    n_failed = 0
    if not options.tf32:
        outcomes = list(compare_operators(plugin.device, kernels=plugin.kernels))
        failed = [outcome for outcome in outcomes if not outcome.passed]
        for outcome in failed[:40]:
            print(
                f"FAILED {outcome.case} {outcome.dtype}: "
                f"{outcome.error:.2g} > {outcome.tolerance:.2g} {outcome.problem}"
            )
        print(f"{len(outcomes)} operator cases, {len(failed)} failed", flush=True)
        n_failed = len(failed)
        for optimizer in OPTIMIZERS:
            t = compare_training(plugin.device, optimizer)
            print(
                f"{optimizer}: losses {t.losses[0]:.5f} .. {t.losses[-1]:.5f}, differ by {t.loss_error:.1e}; "
                f"parameters by {t.parameter_error:.1e}"
            )
            n_failed += t.loss_error > 1e-5 or t.parameter_error > 1e-4
    print("width batch side | forward s, step s on the card" + (" | on the CPU" if options.cpu else ""))
    for width, batch, size in ((4, 8, 256), (4, 32, 960)):
        times = [step_seconds(paddle, plugin.device, width, batch, size, train, 10) for train in (False, True)]
        speed = f"({batch / times[1]:.0f} images/s in training)"
        line = f"{width:5} {batch:5} {size:4} | {times[0]:.5f} {times[1]:.5f} {speed}"
        if options.cpu and size < 960:
            line += " | " + " ".join(
                f"{step_seconds(paddle, 'cpu', width, batch, size, train, 3):.4f}" for train in (False, True)
            )
        print(line, flush=True)
    plugin.reset()
    before = plugin.counters()["bytes_in_use"]
    step_seconds(paddle, plugin.device, 1, 2, 64, True, 1000)
    counters = plugin.counters()
    print(
        f"1000 steps: memory {before} -> {counters['bytes_in_use']} bytes, "
        f"{counters['synchronizations']} synchronizations, {counters}"
    )
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
