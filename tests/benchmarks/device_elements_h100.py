"""Time of element-wise kernels, copies and optimizers on a card: python device_elements_h100.py LIBRARY.

Prints the median time of each call and what its bytes take at the card's bandwidth; for optimizers also the launches.
LIBRARY is what `tablerec device build cuda` printed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tablerec.devices.plugin import load_plugin

BYTES_PER_SECOND = 3.35e12  # H100 SXM
FEATURES = (32, 64, 240, 240)


def calls(paddle: Any, x: Any, y: Any, channel: Any) -> Iterator[tuple[str, Callable[[], Any], float]]:
    """Yield name, call, and how many times the elements of a tensor are read or written."""
    functional, mask, weights = paddle.nn.functional, x > 0, paddle.ones_like(x)
    other = "float32" if x.dtype != paddle.float32 else "bfloat16"

    def gradient(result: Any, *operands: Any) -> Callable[[], Any]:
        return lambda: paddle.grad([result], list(operands), [weights], retain_graph=True)

    yield "add", lambda: x + y, 3
    yield "multiply", lambda: x * y, 3
    yield "add [C,1,1]", lambda: x + channel, 2
    yield "multiply [C,1,1]", lambda: x * channel, 2
    yield "add_grad", gradient(x + y, x, y), 4
    yield "multiply_grad", gradient(x * y, x, y), 5
    yield "relu", lambda: functional.relu(x), 2
    yield "relu_grad", gradient(functional.relu(x), x), 3
    yield "silu", lambda: functional.silu(x), 2
    yield "silu_grad", gradient(functional.silu(x), x), 3
    yield "hardswish", lambda: functional.hardswish(x), 2
    yield "scale", lambda: x * 2.0, 2
    yield "where", lambda: paddle.where(mask, x, y), 3
    yield "add_n 4", lambda: paddle.add_n([x, y, x, y]), 5
    yield f"cast {other}", lambda: x.astype(other), 2
    yield "assign", lambda: paddle.assign(x), 2
    yield "full", lambda: paddle.full(FEATURES, 1.0, x.dtype), 1
    yield "concat", lambda: paddle.concat([x, y], 1), 4
    yield "split", lambda: paddle.split(x, 2, 1)[0].contiguous(), 1
    yield "NCHW to NHWC", lambda: paddle.transpose(x, [0, 2, 3, 1]).contiguous(), 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--match", default="")
    options = parser.parse_args()
    plugin = load_plugin(options.library)
    import paddle

    paddle.set_device(plugin.device)
    random = np.random.default_rng(0)
    for dtype in ("float32", "bfloat16"):
        x, y = (paddle.to_tensor(random.normal(size=FEATURES).astype("float32")).astype(dtype) for _ in range(2))
        channel = paddle.to_tensor(random.normal(size=(64, 1, 1)).astype("float32")).astype(dtype)
        x.stop_gradient = y.stop_gradient = False
        for name, call, passes in calls(paddle, x, y, channel):
            if options.match in name:
                floor = passes * x.size * x.element_size() / BYTES_PER_SECOND * 1e6
                spent = _microseconds(paddle, plugin.device, call)
                print(f"{name:24} {dtype:9} {spent:9.1f} us, floor {floor:7.1f}", flush=True)
    for optimizer, more in (
        ("AdamW", {}),
        ("Adam", {}),
        ("Adam", {"use_multi_tensor": True}),
        ("Momentum", {}),
        ("Momentum", {"use_multi_tensor": True}),
    ):
        parameters = [paddle.create_parameter([256, 256], "float32") for _ in range(300)]
        for parameter in parameters:
            parameter.grad = paddle.ones_like(parameter)
        update = getattr(paddle.optimizer, optimizer)(1e-3, parameters=parameters, **more)
        update.step()
        plugin.reset()
        update.step()
        launches = sum(plugin.kernels().values())
        spent = _microseconds(paddle, plugin.device, update.step, 3)
        print(f"{optimizer} {more}, 300 parameters: {spent:9.1f} us, {launches} launches", flush=True)
    return 0


def _microseconds(paddle: Any, device: str, run: Callable[[], Any], repeats: int = 20) -> float:
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
