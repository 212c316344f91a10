"""Time of reductions, selections, pooling and resizing on a card: python device_operators_h100.py LIBRARY.

Prints for each call, forward and with its gradient, the median time and what reading the inputs and writing the
results once would take at the card's bandwidth. LIBRARY is what `tablerec device build cuda` printed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tablerec.devices.plugin import load_plugin

BYTES_PER_SECOND = 3.35e12  # H100 SXM

Call = Callable[[Any, Any], Any]


def calls() -> list[tuple[str, tuple[int, ...], Call, bool]]:
    """List name, shape of the input, call, and whether it has a gradient."""
    features, wide = (32, 64, 120, 120), (32, 64, 240, 240)
    interpolate = {"scale_factor": 2, "mode": "bilinear"}
    return [
        ("sum [N,C,H,W] -> [C]", features, lambda p, x: x.sum([0, 2, 3]), True),
        ("sum [B,L,C] -> [C]", (32, 8400, 256), lambda p, x: x.sum([0, 1]), True),
        ("mean over W", features, lambda p, x: x.mean(3, keepdim=True), True),
        ("mean over H", features, lambda p, x: x.mean(2, keepdim=True), True),
        ("max over W", features, lambda p, x: x.max(3, keepdim=True), True),
        ("max over H", features, lambda p, x: x.max(2, keepdim=True), True),
        ("mean of 10 million", (10_000_000,), lambda p, x: x.mean(), True),
        ("max of 10 million", (10_000_000,), lambda p, x: x.max(), True),
        ("sum over the last 16", (1_000_000, 16), lambda p, x: x.sum(1), True),
        ("argmax over 80", (16, 8400, 80), lambda p, x: x.argmax(-1), False),
        ("topk 300 of 16 x 8400", (16, 8400), lambda p, x: p.topk(x, 300)[0], True),
        ("topk 1500 of 57600", (1, 57600), lambda p, x: p.topk(x, 1500)[0], True),
        ("topk 1500 of 32 x 57600", (32, 57600), lambda p, x: p.topk(x, 1500)[0], True),
        ("argsort 100000", (100_000,), lambda p, x: p.argsort(x), False),
        ("cumsum of 32 x 160 x 160 over H", (32, 160, 160), lambda p, x: x.cumsum(1), True),
        ("cumsum of a million", (1_000_000,), lambda p, x: x.cumsum(0), True),
        ("nonzero of a million", (1_000_000,), lambda p, x: p.nonzero(x > 1), False),
        ("gather 8400 of 8400 x 256", (8400, 256), lambda p, x: p.gather(x, p.arange(8400)), True),
        ("nms 2000", (2000, 4), lambda p, x: p._C_ops.nms(p.concat([x[:, :2], x[:, :2] + 3], 1), 0.5), False),
        ("max pool 3 x 3 / 2", wide, lambda p, x: p.nn.functional.max_pool2d(x, 3, 2, 1), True),
        ("global average pool", features, lambda p, x: p.nn.functional.adaptive_avg_pool2d(x, 1), True),
        ("bilinear x 2", features, lambda p, x: p.nn.functional.interpolate(x, **interpolate), True),
        ("nearest x 2", features, lambda p, x: p.nn.functional.interpolate(x, scale_factor=2), True),
    ]


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--match", default="")
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    plugin = load_plugin(options.library)
    import paddle

    paddle.set_device(plugin.device)
    print(f"{'call':36} {'type':9} forward us (floor)   with gradient us (floor)")
    for name, shape, call, has_gradient in calls():
        if options.match not in name:
            continue
        values = np.random.default_rng(0).normal(size=shape).astype("float32")
        for dtype in ("float32", "bfloat16"):
            x = paddle.to_tensor(values).astype(dtype)
            x.stop_gradient = not has_gradient
            result = call(paddle, x)
            weights = paddle.ones(result.shape, "float32").astype(result.dtype)
            size = x.element_size()
            floor = (x.size + result.size) * size / BYTES_PER_SECOND * 1e6
            forward = _microseconds(paddle, plugin.device, options.repeats, lambda x=x, call=call: call(paddle, x))
            line = f"{name:36} {dtype:9} {forward:9.1f} ({floor:6.1f})"
            if has_gradient:

                def both(x: Any = x, call: Call = call, weights: Any = weights) -> None:
                    paddle.grad([call(paddle, x)], [x], [weights])

                whole = _microseconds(paddle, plugin.device, options.repeats, both)
                line += f"     {whole:9.1f} ({floor * 2:6.1f})"
            print(line, flush=True)
    return 0


def _microseconds(paddle: Any, device: str, repeats: int, run: Callable[[], Any]) -> float:
    """Return the median time of a call among several that are queued together, as a training queues them."""
    times = []
    for k in range(5):
        paddle.device.synchronize(device)
        start = time.perf_counter()
        for _ in range(repeats):
            run()
        paddle.device.synchronize(device)
        if k:
            times.append((time.perf_counter() - start) / repeats * 1e6)
    return statistics.median(times)


if __name__ == "__main__":
    sys.exit(main())
