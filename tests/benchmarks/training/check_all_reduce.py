"""Measure what two ranks exchange in a step, ours against Paddle's DataParallel, with and without accumulation.

    python -m tests.benchmarks.training.check_all_reduce

Bytes are those of the loopback device, so nothing is taken on trust (Linux). Both learn from the same batches.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
STEPS = 20


def loopback_bytes() -> int:
    for line in Path("/proc/net/dev").read_text(encoding="utf-8").splitlines():
        name, _, numbers = line.strip().partition(":")
        if name == "lo":
            return int(numbers.split()[0])
    raise SystemExit("this machine shows no loopback device")


def be_rank(output: str) -> None:
    import numpy as np
    import paddle

    from tablerec.models.arrays import trainable
    from tablerec.models.cellnet import CellNet
    from tablerec.training.ranks.collective import join_ranks
    from tests.helpers.training import make_settings

    lines = []
    with join_ranks(make_settings(Path(output), ranks=2)) as ranks:
        images = np.random.default_rng(ranks.number).random((1, 3, 64, 64), np.float32)
        for ours in (True, False):
            for accumulate in (1, 4):
                paddle.seed(0)
                net = CellNet()
                parameters = list(trainable(net).values())
                optimizer = paddle.optimizer.AdamW(1e-3, parameters=parameters)
                shared = net if ours else paddle.DataParallel(net, find_unused_parameters=False)
                reduced = ranks.n_reduced

                def step(shared=shared, parameters=parameters, optimizer=optimizer, n=accumulate, ours=ours) -> None:
                    for _ in range(n):
                        (shared(paddle.to_tensor(images)).square().mean() / n).backward()
                    if ours:
                        ranks.mean_gradients(parameters, 1.0, paddle.zeros([1]))
                    optimizer.step()
                    optimizer.clear_grad()

                step()
                ranks.meet()
                begun, before = time.monotonic(), loopback_bytes()
                for _ in range(STEPS):
                    step()
                ranks.meet()
                lines.append({
                    "how": "ours" if ours else "DataParallel", "accumulate": accumulate,
                    "parameters_mb": sum(each.size for each in parameters) * 4e-6,
                    "all_reduces_a_step": (ranks.n_reduced - reduced) / (STEPS + 1) if ours else None,
                    "loopback_mb_a_step": (loopback_bytes() - before) / STEPS / 1e6,
                    "seconds_a_step": (time.monotonic() - begun) / STEPS,
                })  # fmt: skip
                ranks.meet()
        if ranks.number == 0:
            Path(output).write_text(json.dumps(lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rank-output", help=argparse.SUPPRESS)
    rank_output = parser.parse_args().rank_output
    if rank_output:
        be_rank(rank_output)
        return
    with tempfile.TemporaryDirectory() as folder:
        output = f"{folder}/lines.json"
        launch = [sys.executable, "-m", "paddle.distributed.launch", "--nproc_per_node", "2", "--log_dir", folder]
        done = subprocess.run(
            [*launch, __file__, "--rank-output", output],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        for line in json.loads(Path(output).read_text(encoding="utf-8")):
            counted = "?" if line["all_reduces_a_step"] is None else f"{line['all_reduces_a_step']:.2f}"
            print(
                f"{line['how']:<13} accumulate {line['accumulate']}: {counted} all-reduces, "
                f"{line['loopback_mb_a_step']:.1f} MB over the loopback and {line['seconds_a_step']:.2f} s a step "
                f"({line['parameters_mb']:.1f} MB of gradients)"
            )


if __name__ == "__main__":
    main()
