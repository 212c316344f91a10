"""Attention on a card, its errors and its times: ``python -m tests.benchmarks.devices.attention LIBRARY --out FOLDER``.

A developer script, not a test. LIBRARY is what ``tablerec device build cuda`` printed. Each way of attending is a
process of its own; every figure is printed at once and appended to ``attention.jsonl`` in FOLDER, and the tables at
the end are made of that file. Ways that ``--seconds`` cut short are begun again by the next call. With the simulated
library and ``--tiny`` the script itself can be tried.

Ways: ``cudnn``, ``own`` and ``plain`` are the plugin's (``TABLEREC_ATTENTION``); ``fp8`` is its ``flash_attn_v3`` on
numbers rounded to FP8, ``torch-cudnn`` and ``torch-flash`` are PyTorch's on the same card.

Errors are those of 256 rows against attention in float64 of the numbers before any rounding: the root of the mean
square, over that of the exact output. With outliers one number in a thousand is drawn ten times as wide. FP8 is given
as it is, with one descale a tensor, with one for each head, and with queries and keys turned by the same orthogonal
matrix before, which leaves the scores as they are and spreads an outlier over its row. The exact rows are a product of
256 rows with all keys on the host: seconds at the longest length.

Times are of 16,384 tokens in all, 16 heads of queries and 8 of keys (32 and 16 of size 64), in bfloat16.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tablerec.devices.attention import SETTING
from tests.benchmarks.devices.parts import read_records, start_part

RESULTS = "attention.jsonl"
WAYS = ("cudnn", "own", "fp8", "torch-cudnn", "torch-flash", "plain")
TOKENS = 16384
ROWS = 256
LENGTHS = (1024, 2048, 4096, 8192, 16384)
LARGEST = 448.0
"""Of FP8 with four bits of exponent."""
FP8 = ("as it is", "a descale", "by head", "turned")
MARGIN = 15
"""Seconds before the end of ``--seconds`` after which nothing is begun."""


class Log:
    """Prints figures as they come, and keeps them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.path = options.out / RESULTS
        self.way, self.end = options.way, time.time() + options.seconds

    def add(self, text: str, **record: Any) -> None:
        print(f"{self.way:12} {text}", flush=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"way": self.way} | record) + "\n")

    def time_is_left(self) -> bool:
        return float(self.end - time.time()) > MARGIN


# ---- the ways: each takes arrays [batch, steps, heads, size] and attends to them

Attend = Callable[[], Any]


class Ours:
    """Paddle with the plugin."""

    def __init__(self, options: argparse.Namespace) -> None:
        from tablerec.devices.plugin import load_plugin

        self.plugin = load_plugin(options.library)
        import paddle

        self.paddle, self.fp8 = paddle, options.way == "fp8"
        paddle.set_device(self.plugin.device)
        self.causal, self.descales = False, (None, None, None)

    def give(self, arrays: tuple[np.ndarray, ...], gradient: bool = False) -> list[Any]:
        tensors = [self.paddle.to_tensor(array.astype("float32")).astype("bfloat16") for array in arrays]
        if self.fp8:
            host = [self.paddle.to_tensor(array.astype("float32"), place="cpu") for array in arrays]
            tensors = [x.astype("float8_e4m3fn")._copy_to(t.place, True) for x, t in zip(host, tensors, strict=True)]
        for tensor in tensors:
            tensor.stop_gradient = not gradient
        return tensors

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        if not self.fp8:
            return self.paddle._C_ops.flash_attn(q, k, v, None, None, 0.0, self.causal, False, False, "")[0]
        scale, options = q.shape[-1] ** -0.5, (0.0, 1, False, False, 0)
        with self.paddle.no_grad():
            return self.paddle._C_ops.flash_attn_v3(
                q, k, v, None, *self.descales, scale, self.causal, -1, -1, *options
            )[0]

    def describe(self, descales: tuple[np.ndarray, ...] | None) -> None:
        none = (None, None, None)
        self.descales = none if descales is None else tuple(self.paddle.to_tensor(x) for x in descales)

    def back(self, out: Any, tensors: list[Any]) -> Attend:
        weights = self.paddle.ones_like(out)
        return lambda: self.paddle.grad(out, tensors, [weights], retain_graph=True)

    def wait(self) -> None:
        self.paddle.device.synchronize(self.plugin.device)

    def to_array(self, out: Any) -> np.ndarray:
        array: np.ndarray = out.astype("float32").numpy()
        return array

    def reached(self) -> str:
        """Return which of the device's ways ran."""
        told = [name for name in self.plugin.kernels() if "_by_" in name]
        return ", ".join(sorted(told)) or "plain loops"


class Torch:
    """PyTorch on the same card, its tensors in the same layout."""

    def __init__(self, options: argparse.Namespace) -> None:
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel

        backends = {"torch-cudnn": SDPBackend.CUDNN_ATTENTION, "torch-flash": SDPBackend.FLASH_ATTENTION}
        self.torch, self.fp8, self.causal = torch, False, False
        self.choose: Callable[[], Any] = lambda: sdpa_kernel(backends[options.way])
        self.device = "cuda" if torch.cuda.is_available() else "cpu"

    def give(self, arrays: tuple[np.ndarray, ...], gradient: bool = False) -> list[Any]:
        tensors = [
            self.torch.from_numpy(array.astype("float32")).to(self.device, self.torch.bfloat16) for array in arrays
        ]
        return [tensor.requires_grad_(gradient) for tensor in tensors]

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        with self.choose():
            out = self.torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=self.causal, enable_gqa=q.shape[1] != k.shape[1]
            )
        return out.transpose(1, 2)

    def describe(self, descales: tuple[np.ndarray, ...] | None) -> None:
        assert descales is None

    def back(self, out: Any, tensors: list[Any]) -> Attend:
        weights = self.torch.ones_like(out)
        return lambda: self.torch.autograd.grad(out, tensors, [weights], retain_graph=True)

    def wait(self) -> None:
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def to_array(self, out: Any) -> np.ndarray:
        array: np.ndarray = out.detach().float().cpu().numpy()
        return array

    def reached(self) -> str:
        return f"torch {self.torch.__version__}"


# ---- errors


def draw(length: int, outliers: bool) -> tuple[np.ndarray, ...]:
    """Draw queries, keys and values [1, length, heads, 128], 4 heads of queries and 2 of keys, in float64."""
    random = np.random.default_rng(length)
    arrays = [random.standard_normal((1, length, heads, 128)) for heads in (4, 2, 2)]
    if outliers:
        arrays = [x + 10 * random.standard_normal(x.shape) * (random.random(x.shape) < 0.001) for x in arrays]
    return tuple(arrays)


def exact(arrays: tuple[np.ndarray, ...], rows: np.ndarray, causal: bool) -> np.ndarray:
    """Attend in float64, for some rows: [rows, heads, size]."""
    q, k, v = (x[0] for x in arrays)
    group = q.shape[1] // k.shape[1]
    out = np.empty((len(rows), *q.shape[1:]))
    for head in range(q.shape[1]):
        scores = q[rows, head] @ k[:, head // group].T / np.sqrt(q.shape[2])
        if causal:
            scores[np.arange(k.shape[0])[None, :] > rows[:, None]] = -np.inf
        scores = np.exp(scores - scores.max(1, keepdims=True))
        out[:, head] = scores @ v[:, head // group] / scores.sum(1, keepdims=True)
    return out


def in_range(arrays: tuple[np.ndarray, ...], how: str) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...] | None]:
    """Bring numbers into FP8's range; return them with the descales [1] or [batch, heads of keys] that undo it."""
    q, k, v = arrays
    if how == "turned":  # an orthogonal matrix, the same for queries and keys: their products stay
        turn = np.linalg.qr(np.random.default_rng(0).standard_normal((q.shape[3], q.shape[3])))[0]
        q, k = q @ turn, k @ turn
    if how == "as it is":
        return tuple(np.clip(x, -LARGEST, LARGEST) for x in (q, k, v)), None
    batch, kv_heads = k.shape[0], k.shape[2]
    scaled, descales = [], []
    for x in (q, k, v):
        by_group = np.abs(x).reshape(batch, x.shape[1], kv_heads, -1)
        most = by_group.max((1, 3)) if how == "by head" else np.full((batch, kv_heads), np.abs(x).max())
        descale = most / LARGEST
        scaled.append(x / descale.repeat(x.shape[2] // kv_heads, 1)[:, None, :, None])
        descales.append((descale if how == "by head" else descale.reshape(-1)[:1]).astype("float32"))
    return tuple(scaled), tuple(descales)


def measure_errors(way: Ours | Torch, log: Log, lengths: tuple[int, ...]) -> None:
    for length in lengths:
        for outliers in (False, True):
            if not log.time_is_left():
                return
            arrays = draw(length, outliers)
            rows = np.sort(np.random.default_rng(1).choice(length, min(ROWS, length), replace=False))
            for causal in (False, True):
                expected = exact(arrays, rows, causal)
                for how in FP8 if way.fp8 else ("",):
                    given, descales = in_range(arrays, how) if how else (arrays, None)
                    way.causal = causal
                    way.describe(descales)
                    found = way.to_array(way.attend(*way.give(given)))[0, rows].astype("float64")
                    error = float(np.sqrt(np.mean((found - expected) ** 2) / np.mean(expected**2)))
                    worst = float(np.abs(found - expected).max() / np.abs(expected).max())
                    what = f"{length:6} {'outliers' * outliers:8} {'causal' * causal:6} {how:9}"
                    text = f"error {what} {error:.2e}, worst {worst:.2e} ({way.reached()})"
                    log.add(text, error=error, worst=worst, length=length, outliers=outliers, causal=causal, how=how)


# ---- times


def seconds_of(call: Attend, wait: Callable[[], None], seconds: float) -> float:
    """Return the median over five rounds of a call's time, each round many calls and one wait."""
    call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    repeats = max(1, min(200, int(seconds / max(time.perf_counter() - start, 1e-6))))
    spent = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        wait()
        spent.append((time.perf_counter() - start) / repeats)
    return float(np.median(spent))


def shapes(lengths: tuple[int, ...], tokens: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield batch, length, heads of queries, of keys, size."""
    for size, heads, kv_heads in ((128, 16, 8), (64, 32, 16)):
        for length in lengths:
            yield max(1, tokens // length), length, heads, kv_heads, size


def measure_times(way: Ours | Torch, log: Log, lengths: tuple[int, ...], tokens: int) -> None:
    for batch, length, heads, kv_heads, size in shapes(lengths, tokens):
        random = np.random.default_rng(0)
        arrays = tuple(random.standard_normal((batch, length, h, size), "float32") for h in (heads, kv_heads, kv_heads))
        for causal in (True, False):
            if not log.time_is_left():
                return
            way.causal = causal
            way.describe(tuple(np.ones(1, "float32") for _ in range(3)) if way.fp8 else None)
            tensors = way.give(arrays, gradient=not way.fp8)
            operations = 4.0 * batch * heads * length**2 * size / (2 if causal else 1)
            what = {"length": length, "size": size, "causal": causal}
            out = way.attend(*tensors)
            parts: dict[str, tuple[Attend, float]] = {"forward": (lambda t=tensors: way.attend(*t), operations)}  # type: ignore[misc]
            if not way.fp8:
                parts["backward"] = (way.back(out, tensors), 2.5 * operations)
            for part, (call, count) in parts.items():
                try:
                    spent = seconds_of(call, way.wait, 0.1)
                except Exception as failure:  # a way that lacks a shape is a line of the table
                    log.add(f"time  {length:6} {size:4} {part}: {str(failure).strip().splitlines()[-1][:150]}")
                    continue
                text = f"time  {length:6} of {size:3} {'causal' * causal:6} {part:8} {spent * 1e3:8.3f} ms, "
                log.add(
                    f"{text}{count / spent / 1e12:5.0f} TFLOP/s ({way.reached()})", part=part, seconds=spent, **what
                )


# ---- the whole


def run_way(options: argparse.Namespace) -> None:
    log = Log(options)
    try:
        way = (Torch if options.way.startswith("torch") else Ours)(options)
    except ModuleNotFoundError as error:
        sys.exit(f"{options.way}: {error.name} is not installed")
    lengths = options.lengths or ((48, 130) if options.tiny else LENGTHS)
    if options.part != "times":
        measure_errors(way, log, tuple(lengths))
    if options.part != "errors" and (options.way != "plain" or options.tiny):  # plain loops take minutes
        measure_times(way, log, tuple(lengths), 130 if options.tiny else TOKENS)
    if log.time_is_left():
        log.add("complete", complete=True)


def read(path: Path) -> list[dict[str, Any]]:
    """Read the records of ways that are complete, and drop the others."""
    records = list(read_records(path))
    complete = {record["way"] for record in records if record.get("complete")}
    return [record for record in records if record["way"] in complete]


def tell(records: list[dict[str, Any]]) -> None:
    """Print the tables: errors by length, and times beside torch's cuDNN."""
    errors = [record for record in records if "error" in record]
    print("\nroot mean square error, of the exact output's\n")
    lengths = sorted({record["length"] for record in errors})
    print(f"{'':44}" + "".join(f"{length:>10}" for length in lengths))
    rows: dict[tuple[Any, ...], dict[int, float]] = {}
    for r in errors:
        rows.setdefault((r["way"], r["how"], r["outliers"], r["causal"]), {})[r["length"]] = r["error"]
    for (way, how, outliers, causal), found in rows.items():
        name = f"{way} {how} {'outliers' * outliers} {'causal' * causal}"
        print(f"{name:44}" + "".join(f"{found[length]:10.2e}" if length in found else " " * 10 for length in lengths))
    times = {
        (r["size"], r["causal"], r["part"], r["length"], r["way"]): r["seconds"] for r in records if "seconds" in r
    }
    ways = [way for way in WAYS if any(key[4] == way for key in times)]
    print("\nmilliseconds, and how many times as fast as torch's cuDNN\n")
    print(f"{'':34}" + "".join(f"{way:>19}" for way in ways))
    for key in sorted({key[:4] for key in times}):
        size, causal, part, length = key
        usual = times.get((*key, "torch-cudnn"))
        cells = []
        for way in ways:
            spent = times.get((*key, way))
            ratio = f" ({usual / spent:5.2f})" if usual and spent else ""
            cells.append(f"{spent * 1e3:.3f}{ratio}" if spent else "")
        print(f"{size:4} {'causal' * causal:7} {part:9} {length:7}     " + "".join(f"{cell:>19}" for cell in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("--out", type=Path, default=Path("out/attention"))
    parser.add_argument("--ways", nargs="+", choices=WAYS, help="all by default")
    parser.add_argument("--part", choices=("errors", "times"), help="both by default")
    parser.add_argument("--lengths", type=int, nargs="+", help=f"{' '.join(map(str, LENGTHS))} by default")
    parser.add_argument("--seconds", type=float, default=600.0, help=f"nothing begins {MARGIN} s before so many passed")
    parser.add_argument("--tiny", action="store_true", help="small shapes, to try the script on the simulated device")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.way:
        run_way(options)
        return
    end = time.time() + options.seconds
    results = options.out / RESULTS
    kept = read(results)
    results.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")
    left = [way for way in options.ways or WAYS if way not in {record["way"] for record in kept}]
    while left and end - time.time() > 2 * MARGIN:
        way = left.pop(0)
        print(f"== {way}, {end - time.time():.0f} s left", flush=True)
        seconds = end - time.time()
        arguments = [*sys.argv[1:], "--way", way, "--seconds", seconds]
        chosen = {SETTING: "cudnn" if way == "fp8" else way}
        code = start_part("tests.benchmarks.devices.attention", *arguments, seconds=seconds, **chosen)
        print(f"== {way}: code {code}", flush=True)
    tell(read(results))
    print(f"\nnot begun: {', '.join(left) or 'nothing'}", flush=True)


if __name__ == "__main__":
    main()
