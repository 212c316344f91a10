"""Collectives of several devices: ``python -m tests.benchmarks.devices.collectives LIBRARY --out FOLDER``.

A developer script, not a test. It starts a process for each rank, which share one host, and prints as it goes:

    collectives  each one in each type and size: milliseconds, GB/s as NCCL's tests count them (what a link carries),
                 and whether all ranks hold exactly what they should
    training     steps of a network by ``paddle.DataParallel`` and by ``group_sharded_parallel``: samples/s of one rank
                 and of all, the bytes of AdamW's moments in each, and how far the gradients are from those of one
                 process with the whole batch
    torch        with ``--torch PYTHON``, the same all-reduces by that interpreter's torch and NCCL

LIBRARY is what ``tablerec device build [simulated|cuda]`` printed. With the simulated library and ``--tiny`` the script
itself can be tried. Results are appended to ``collectives.jsonl`` in FOLDER, and nothing is begun that ``--seconds``
would cut short.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tablerec.devices.plugin import Plugin, load_plugin
from tests.helpers.devices.ranks import rank_environments

MARGIN = 20
"""Seconds before the end in which nothing is begun."""
CARRIED: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "all_to_all": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1.0,
    "reduce": lambda ranks: 1.0,
    "send and receive": lambda ranks: 1.0,
}
"""By collective: of its bytes, the share that each link carries."""
TORCH = """
import os, sys, time, torch, torch.distributed as dist
rank = int(sys.argv[1]); ranks = int(sys.argv[2])
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[3], RANK=str(rank), WORLD_SIZE=str(ranks))
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
for megabytes in map(float, sys.argv[4].split(",")):
    x = torch.ones(int(megabytes * 2**20 / 4), device="cuda")
    repeats = 200 if megabytes < 8 else 20
    for k in range(repeats + 5):
        if k == 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        dist.all_reduce(x)
    torch.cuda.synchronize()
    each = (time.perf_counter() - start) / repeats
    if rank == 0:
        moved = x.numel() * 4 * 2 * (ranks - 1) / ranks
        speed = moved / each / 1e9
        print(f"torch all_reduce float32 {megabytes:g} MiB: {each * 1e3:.3f} ms, {speed:.1f} GB/s", flush=True)
dist.destroy_process_group()
"""


class Rank:
    """This process among the ranks."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.end = options, time.monotonic() + options.seconds - MARGIN
        self.plugin = load_plugin(options.library)
        import paddle
        import paddle.distributed as dist

        self.paddle, self.dist = paddle, dist
        if options.ranks > 1:
            with contextlib.redirect_stderr(io.StringIO()):
                dist.init_parallel_env()
        else:
            paddle.set_device(self.plugin.device)
        self.number = dist.get_rank()

    def report(self, text: str, **figures: Any) -> None:
        """Print and keep a result of the first rank."""
        if self.number == 0:
            print(text, flush=True)
            with (self.options.out / "collectives.jsonl").open("a", encoding="utf-8") as file:
                file.write(
                    json.dumps({"library": self.options.library.parent.name, "ranks": self.options.ranks} | figures)
                    + "\n"
                )

    def time_is_left(self) -> bool:
        """Whether the first rank has time for more; all ranks hear the same."""
        left = self.paddle.to_tensor([float(time.monotonic() < self.end)])
        if self.options.ranks > 1:
            self.dist.broadcast(left, src=0)
        return bool(left.item())

    def seconds_each(self, call: Callable[[], object], repeats: int) -> float:
        """The seconds of one call, after some that are not counted."""
        for _ in range(3):
            call()
        self.wait()
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        self.wait()
        return (time.perf_counter() - start) / repeats

    def wait(self) -> None:
        """Wait for the device."""
        self.paddle.device.synchronize()


def calls_of(rank: Rank, count: int, dtype: str) -> dict[str, tuple[Callable[[], object], Any, Any]]:
    """By collective: the call, the tensor that it fills, and what must be in it after one call."""
    paddle, dist, ranks, me = rank.paddle, rank.dist, rank.options.ranks, rank.number
    # Small whole numbers: their sums are exact in any order and type.
    base = paddle.to_tensor(np.resize(np.arange(7, dtype=np.float32), count)).astype(dtype)
    own, total, share = base + me, base * ranks + ranks * (ranks - 1) // 2, count // ranks
    mine = slice(me * share, (me + 1) * share)
    reduced, sent, rooted, turned, passed = own.clone(), own.clone(), own.clone(), own.clone(), own.clone()
    gathered, part = paddle.empty([count * ranks], dtype), paddle.empty([share], dtype)

    def pass_on() -> None:
        if me % 2 == 0 and me + 1 < ranks:
            dist.send(own, me + 1)
        elif me % 2:
            dist.recv(passed, me - 1)

    return {
        "all_reduce": (lambda: dist.all_reduce(reduced), reduced, total),
        "broadcast": (lambda: dist.broadcast(sent, src=ranks - 1), sent, base + ranks - 1),
        "reduce": (lambda: dist.reduce(rooted, dst=0), rooted, total if me == 0 else own),
        "all_gather": (
            lambda: dist.stream.all_gather(gathered, own),
            gathered,
            paddle.concat([base + other for other in range(ranks)]),
        ),
        "reduce_scatter": (lambda: dist.stream.reduce_scatter(part, own), part, total[mine]),
        "all_to_all": (
            lambda: dist.alltoall_single(turned, own),
            turned,
            paddle.concat([base[mine] + other for other in range(ranks)]),
        ),
        "send and receive": (pass_on, passed, base + (me - 1 if me % 2 else me)),
    }


def measure_collectives(rank: Rank) -> None:
    """Time each collective, and compare what it gives."""
    paddle, ranks, tiny = rank.paddle, rank.options.ranks, rank.options.tiny
    for dtype in ("float32", "bfloat16") if tiny else ("float32", "bfloat16", "float16", "int64"):
        bytes_each = {"float32": 4, "int64": 8}.get(dtype, 2)
        for megabytes in (0.004, 0.25) if tiny else (0.004, 0.0625, 1, 16, 64, 256):
            count = max(int(megabytes * 2**20 / bytes_each) // ranks * ranks, ranks)
            repeats = 3 if tiny else max(5, min(200, int(2**9 / max(megabytes, 1))))
            for name, (call, result, expected) in calls_of(rank, count, dtype).items():
                if not rank.time_is_left():
                    rank.report("stopped: no time is left")
                    return
                call()
                equal = paddle.to_tensor([float((result == expected).all())])
                rank.dist.all_reduce(equal, rank.dist.ReduceOp.MIN)
                right = bool(equal.item())
                seconds = rank.seconds_each(call, repeats)
                volume = count * bytes_each * (ranks if name == "all_gather" else 1)
                speed = volume * CARRIED[name](ranks) / seconds / 1e9
                rank.report(
                    f"{name} {dtype} {volume / 2**20:.3f} MiB: {seconds * 1e3:.3f} ms, {speed:.2f} GB/s"
                    + ("" if right else ", NOT EQUAL"),
                    part=name,
                    dtype=dtype,
                    bytes=volume,
                    milliseconds=seconds * 1e3,
                    gigabytes=speed,
                    equal=right,
                )


def measure_training(rank: Rank) -> None:
    """Time steps of data parallel and sharded training; compare the gradients with those of the whole batch."""
    paddle, dist, ranks, tiny = rank.paddle, rank.dist, rank.options.ranks, rank.options.tiny
    width, depth, batch, repeats = (64, 2, 8, 2) if tiny else (4096, 8, 8192, 20)

    def make() -> Any:
        paddle.seed(1)
        layers = [part for _ in range(depth) for part in (paddle.nn.Linear(width, width), paddle.nn.GELU())]
        return paddle.nn.Sequential(*layers, paddle.nn.Linear(width, 16))

    random = np.random.default_rng(2)
    whole = random.standard_normal((batch * ranks, width)).astype(np.float32)
    mine = paddle.to_tensor(whole[rank.number * batch : (rank.number + 1) * batch])

    def loss_of(net: Any, x: Any) -> Any:
        with paddle.amp.auto_cast(enable=not tiny, level="O1", dtype="bfloat16"):
            return net(x).astype("float32").square().mean()

    if ranks > 1:
        net, alone = make(), make()
        with paddle.amp.auto_cast(enable=False):
            x, few = mine[:8], paddle.concat([paddle.to_tensor(whole[k * batch : k * batch + 8]) for k in range(ranks)])
            parallel = paddle.DataParallel(net)  # kept: its hooks point into it
            parallel(x).square().mean().backward()
            alone(few).square().mean().backward()
        worst = max(
            float((a.grad - b.grad).abs().max() / b.grad.abs().max())
            for a, b in zip(net.parameters(), alone.parameters(), strict=True)
        )
        rank.report(f"gradients of {ranks} ranks, float32: {worst:.1e} from one process", part="gradients", worst=worst)
    for kind in ("plain",) if ranks == 1 else ("data parallel", "os", "os_g", "p_g_os"):
        if not rank.time_is_left():
            rank.report("stopped: no time is left")
            return
        net = make()
        update = paddle.optimizer.AdamW(1e-4, parameters=net.parameters())
        run = net
        if kind == "data parallel":
            run = paddle.DataParallel(net)
        elif kind != "plain":
            from paddle.distributed.sharding import group_sharded_parallel

            with contextlib.redirect_stderr(io.StringIO()):
                run, update, _ = group_sharded_parallel(net, update, kind)

        def step(run: Any = run, update: Any = update) -> None:
            loss_of(run, mine).backward()
            update.step()
            update.clear_grad()

        seconds = rank.seconds_each(step, repeats)
        moments = getattr(update, "_optim", update)._accumulators
        size = sum(4 * int(np.prod(m.shape)) for name in ("moment1", "moment2") for m in moments[name].values())
        sizes: list[int] = [size]
        if ranks > 1:
            sizes = []
            dist.all_gather_object(sizes, size)
        speed = batch * ranks / seconds
        rank.report(
            f"{kind}, {ranks} rank(s): {seconds * 1e3:.1f} ms a step, {speed:.0f} samples/s, moments in MiB "
            + ", ".join(f"{each / 2**20:.1f}" for each in sizes),
            part="training",
            kind=kind,
            milliseconds=seconds * 1e3,
            samples=speed,
            moments=sizes,
        )
        del net, update, run, step


def run_torch(options: argparse.Namespace) -> None:
    sizes = "0.25" if options.tiny else "0.0625,1,16,64,256"
    port = rank_environments(1)[0]["PADDLE_CURRENT_ENDPOINT"].rpartition(":")[2]
    processes = [
        subprocess.Popen([options.torch, "-c", TORCH, str(rank), str(options.ranks), port, sizes])
        for rank in range(options.ranks)
    ]
    for process in processes:
        try:
            process.wait(timeout=max(options.seconds, 1))
        except subprocess.TimeoutExpired:
            process.kill()


def start_ranks(options: argparse.Namespace, ranks: int, part: str, seconds: float) -> None:
    """Run a part in so many processes; the first one's lines are shown, the others' are kept."""
    arguments = [str(options.library), "--out", str(options.out), "--ranks", str(ranks), "--seconds", str(seconds)]
    command = [sys.executable, "-u", "-m", "tests.benchmarks.devices.collectives", *arguments, "--part", part]
    devices = list(range(ranks)) if Plugin("", options.library).uses_cuda() else None
    processes = []
    for rank, environment in enumerate(rank_environments(ranks, devices)):
        log = (options.out / f"{part}-{ranks}-{rank}.log").open("w", encoding="utf-8")
        told = {"stdout": log} if rank else {}
        environment["TABLEREC_COLLECTIVE_SECONDS"] = os.environ.get("TABLEREC_COLLECTIVE_SECONDS", "60")
        processes.append(
            subprocess.Popen(
                [*command, *(["--tiny"] if options.tiny else [])], env={**os.environ, **environment}, stderr=log, **told
            )
        )
    for rank, process in enumerate(processes):
        try:
            code = process.wait(timeout=seconds + MARGIN)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        if code:
            print(
                f"{part}, rank {rank} of {ranks}: ended with {code}; see {options.out}/{part}-{ranks}-{rank}.log",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path, help="the compiled plugin")
    parser.add_argument("--out", type=Path, required=True, help="folder for results and the ranks' messages")
    parser.add_argument("--ranks", type=int, default=2, help="processes, each with a device (default: 2)")
    parser.add_argument("--seconds", type=float, default=240, help="when to stop (default: 240)")
    parser.add_argument("--tiny", action="store_true", help="small sizes, to try the script")
    parser.add_argument("--torch", help="a Python with torch to compare with")
    parser.add_argument("--part", choices=["collectives", "training"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.part:
        rank = Rank(options)
        {"collectives": measure_collectives, "training": measure_training}[options.part](rank)
        return
    end = time.monotonic() + options.seconds
    for part, ranks in (("collectives", options.ranks), ("training", 1), ("training", options.ranks)):
        left = end - time.monotonic() - MARGIN
        if left > MARGIN:
            start_ranks(options, ranks, part, left)
    if options.torch and end - time.monotonic() > MARGIN:
        run_torch(options)


if __name__ == "__main__":
    main()
