"""Memory and time of a head's loss over many classes: ``python -m tests.benchmarks.devices.entropy [LIBRARY]``.

A developer script, not a test. A product of tokens with the head's weight, cross entropy, and both gradients:

    usual      Paddle's cross entropy of logits in float32
    in place   ``cross_entropy_in_place``: softmax and gradient in the logits' memory
    by parts   ``head_cross_entropy``: some tokens at a time

Memory is the most in use beyond what was there before, as Paddle counts it, also in units of one tensor of tokens by
classes in float32. Losses are to be compared with each other. ``--torch`` measures PyTorch on its own device
instead, in a process of its own. Without LIBRARY the simulated device is built; use small sizes there.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any


def measure_paddle(options: argparse.Namespace) -> list[dict[str, Any]]:
    from tablerec.devices.plugin import load_plugin

    plugin = load_plugin(options.library)
    import paddle

    from tablerec.language.loss import cross_entropy_in_place, head_cross_entropy

    paddle.set_device(plugin.device)
    paddle.seed(0)
    hidden = (paddle.randn([options.tokens, options.width]) / options.width**0.5).astype(options.dtype)
    weight = paddle.randn([options.classes, options.width]).astype(options.dtype)
    labels = paddle.randint(0, options.classes, [options.tokens])
    hidden.stop_gradient = weight.stop_gradient = False

    def logits() -> Any:
        return paddle.matmul(hidden, weight, transpose_y=True).astype("float32")

    ways = {
        "usual": lambda: paddle.nn.functional.cross_entropy(logits(), labels),
        "in place": lambda: cross_entropy_in_place(logits(), labels).mean(),
        "by parts": lambda: head_cross_entropy(hidden, weight, labels, rows=options.rows),
    }
    found = []
    for name, compute in ways.items():
        spent = []
        for _ in range(options.repeats + 1):
            paddle.device.synchronize(plugin.device)
            before = paddle.device.memory_allocated(plugin.device)
            paddle.device.reset_max_memory_allocated(plugin.device)
            start = time.perf_counter()
            loss = compute()
            loss.backward()
            paddle.device.synchronize(plugin.device)
            spent.append(time.perf_counter() - start)
            most = paddle.device.max_memory_allocated(plugin.device) - before
            hidden.clear_gradient(False)
            weight.clear_gradient(False)
        found.append(_line(f"paddle, {name}", float(loss), most, min(spent[1:] or spent), options))
        paddle.device.empty_cache()
    return found


def measure_torch(options: argparse.Namespace) -> list[dict[str, Any]]:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = getattr(torch, options.dtype)
    torch.manual_seed(0)
    hidden = (torch.randn(options.tokens, options.width, device=device) / options.width**0.5).to(dtype).requires_grad_()
    weight = torch.randn(options.classes, options.width, device=device).to(dtype).requires_grad_()
    labels = torch.randint(0, options.classes, (options.tokens,), device=device)
    spent, most = [], 0
    for _ in range(options.repeats + 1):
        hidden.grad = weight.grad = None
        if device == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated() if device == "cuda" else 0
        start = time.perf_counter()
        loss = torch.nn.functional.cross_entropy((hidden @ weight.T).float(), labels)
        loss.backward()
        if device == "cuda":
            torch.cuda.synchronize()
            most = torch.cuda.max_memory_allocated() - before
        spent.append(time.perf_counter() - start)
    return [_line(f"torch on {device}", float(loss), most, min(spent[1:] or spent), options)]


def _line(name: str, loss: float, most: int, seconds: float, options: argparse.Namespace) -> dict[str, Any]:
    whole = 4 * options.tokens * options.classes
    line = {"name": name, "loss": loss, "bytes": most, "tensors": round(most / whole, 2), "seconds": seconds}
    print(
        f"{name:18} loss {loss:.6f}  {most / 2**20:9.1f} MB = {most / whole:5.2f} tensors  {seconds * 1e3:9.2f} ms",
        flush=True,
    )
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?", help="the plugin; by default the simulated one is built")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--classes", type=int, default=2344)
    parser.add_argument("--rows", type=int, default=16, help="tokens at a time")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--torch", action="store_true", help="measure PyTorch")
    parser.add_argument("--out", type=Path, help="a folder to which the lines are added, in entropy.jsonl")
    options = parser.parse_args()
    found = measure_torch(options) if options.torch else measure_paddle(options)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        with (options.out / "entropy.jsonl").open("a", encoding="utf-8") as file:
            for line in found:
                sizes = {key: getattr(options, key) for key in ("tokens", "width", "classes", "rows", "dtype")}
                file.write(json.dumps({**line, **sizes}) + "\n")


if __name__ == "__main__":
    main()
