"""Time of the operators that a convolutional detector spends its time in: python network_kernels_h100.py LIBRARY.

For each operator, shape and type: milliseconds forward, milliseconds backward, and how many times the floor that is
(bytes that must move, at 3.35 TB/s; or operations at the peak, where that is longer). LIBRARY is what
`tablerec device build cuda` printed; Paddle's CPU wheel must be importable. With TABLEREC_AUTOTUNE=report each
convolution also says what it chose among. `--scale 0.05` shrinks the pictures, to try the script elsewhere.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tablerec.devices.plugin import load_plugin

BYTES_A_SECOND = 3.35e12
OPERATIONS_A_SECOND = {"float32": 67e12, "float32 tf32": 494e12, "bfloat16": 989e12, "float16": 989e12}

# Input channels, output channels, side of the input at 960, kernel, stride, groups.
CONVOLUTIONS = (
    (3, 24, 960, 3, 2, 1),
    (24, 32, 480, 3, 2, 1),
    (32, 32, 240, 3, 1, 1),
    (32, 64, 240, 3, 2, 1),
    (64, 64, 120, 7, 1, 64),
    (64, 128, 120, 1, 1, 1),
    (128, 64, 120, 1, 1, 1),
    (64, 128, 120, 3, 2, 1),
    (128, 128, 60, 7, 1, 128),
    (128, 256, 60, 1, 1, 1),
    (256, 256, 30, 7, 1, 256),
    (256, 512, 30, 1, 1, 1),
    (64, 64, 240, 5, 1, 64),
    (64, 128, 240, 1, 1, 1),
    (128, 64, 240, 1, 1, 1),
    (96, 10, 240, 1, 1, 1),
)
BATCH_NORMS = ((24, 480), (32, 240), (64, 120), (128, 240), (64, 240), (256, 60), (512, 30))
GROUP_NORMS = ((128, 60), (256, 30), (64, 60))


def milliseconds(wait: Callable[[], None], run: Callable[[], object], repeats: int = 10) -> float:
    """Return the mean time of a call."""
    for _ in range(2):
        run()
    wait()
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    wait()
    return (time.perf_counter() - start) / repeats * 1e3


def calls(
    paddle: Any, batch: int, scale: float, dtype: str
) -> Iterator[tuple[str, Callable[[], Any], list[Any], float]]:
    """Yield name, call, the tensors with a gradient (the input first), and operations."""
    functional = paddle.nn.functional

    def tensor(*shape: int, kind: str = dtype) -> Any:
        made = paddle.randn(shape).astype(kind)
        made.stop_gradient = False
        return made

    for channels, out, side, kernel, stride, groups in CONVOLUTIONS:
        size = max(int(side * scale), 4)
        x, w = tensor(batch, channels, size, size), tensor(out, channels // groups, kernel, kernel)
        operations = 2.0 * batch * out * (size // stride) ** 2 * (channels // groups) * kernel**2
        yield (
            f"conv2d {list(x.shape)} -> {out}, {kernel} x {kernel} / {stride}, groups {groups}",
            lambda x=x, w=w, s=stride, k=kernel, g=groups: functional.conv2d(x, w, stride=s, padding=k // 2, groups=g),
            [x, w],
            operations,
        )
    for channels, side in BATCH_NORMS:
        size = max(int(side * scale), 4)
        x, s, b = tensor(batch, channels, size, size), *(tensor(channels, kind="float32") for _ in range(2))
        mean, variance = paddle.zeros([channels]), paddle.ones([channels])
        yield (
            f"batch_norm {list(x.shape)}",
            lambda x=x, s=s, b=b, m=mean, v=variance: functional.batch_norm(x, m, v, s, b, training=True),
            [x, s, b],
            0.0,
        )
    for channels, side in GROUP_NORMS:
        size = max(int(side * scale), 4)
        x, s, b = tensor(batch, channels, size, size), tensor(channels), tensor(channels)
        norm = lambda x=x, s=s, b=b: functional.group_norm(x, 8, 1e-5, s, b)  # noqa: E731
        yield f"group_norm {list(x.shape)}", norm, [x, s, b], 0.0


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    plugin = load_plugin(options.library, tf32=options.tf32)
    import paddle

    paddle.set_device(plugin.device)

    def wait() -> None:
        paddle.device.synchronize(plugin.device)

    print("type | operator | forward ms | backward ms | times the floor, forward and backward")
    for dtype in ("float32", "bfloat16"):
        peak = OPERATIONS_A_SECOND[f"{dtype} tf32" if options.tf32 and dtype == "float32" else dtype]
        for name, call, inputs, operations in calls(paddle, options.batch, options.scale, dtype):
            # Depth-wise convolutions do not use tensor cores.
            rate = OPERATIONS_A_SECOND["float32"] if "groups" in name and not name.endswith("groups 1") else peak
            forward = milliseconds(wait, call)
            result = call()
            direction = paddle.ones(result.shape).astype(result.dtype)
            backward = milliseconds(
                wait, lambda r=result, d=direction, i=inputs: paddle.grad([r], i, [d], retain_graph=True)
            )
            width = 4 if dtype == "float32" else 2
            x, y = inputs[0].size * width, result.size * width
            # A norm reads its input twice; the gradient of each of the two reads x and dy twice or as often.
            moved = (x + y, 2 * y + 2 * x) if operations else (2 * x + y, 2 * (x + y) + x)
            floor = [max(m / BYTES_A_SECOND, k * operations / rate) * 1e3 for k, m in zip((1, 2), moved, strict=True)]
            print(
                f"{dtype} | {name} | {forward:.3f} | {backward:.3f} | "
                f"{forward / floor[0]:.1f} {backward / floor[1]:.1f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
