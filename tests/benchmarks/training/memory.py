"""Memory and time of a training step by what is trained and what is kept.

Run as ``python -m tests.benchmarks.training.memory --device cpu --batch 2 --side 960 --cells 200``.
Each row is a process of its own. The peak is what Paddle's tensors took at most on the device; the process is what
the operating system counts on the host.
"""

from __future__ import annotations

import argparse
from typing import Any

from tablerec.training.settings import LoRA
from tablerec.training.tuning.measure import measure_apart
from tests.helpers.training import make_settings

LATE = LoRA(target_modules="stage32|up16|up8|up4|head|maps")
AGAIN = {"recompute": "all"}
ROWS: dict[str, dict[str, Any]] = {
    "all": {},
    "all, recompute": AGAIN,
    "all, recompute, adamw8bit": {**AGAIN, "optimizer_name": "adamw8bit"},
    "norm_bias": {"trainable": "norm_bias"},
    "norm_bias, recompute": {"trainable": "norm_bias", **AGAIN},
    "head": {"trainable": "head"},
    "lora": {"trainable": "lora"},
    "lora, recompute": {"trainable": "lora", **AGAIN},
    "lora late": {"trainable": "lora", "lora": LATE},
    "lora late, recompute": {"trainable": "lora", "lora": LATE, **AGAIN},
    "lora late, recompute, bfloat16": {"trainable": "lora", "lora": LATE, **AGAIN, "frozen_precision": "bfloat16"},
    "lora late, recompute, int8": {"trainable": "lora", "lora": LATE, **AGAIN, "frozen_precision": "int8"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="cellnet")
    parser.add_argument("--initial")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--side", type=int, default=960)
    parser.add_argument("--cells", choices=["50", "200", "1500", "mixed"], default="200")
    parser.add_argument("--rows", default="", help="only rows with this in their name")
    chosen = parser.parse_args()
    source = f"tests.benchmarks.training.pictures:draw_{chosen.cells}"
    print(f"{chosen.model} {chosen.device} batch {chosen.batch} side {chosen.side} cells {chosen.cells}")
    print(f"{'':<36} {'peak MB':>9} {'of all':>7} {'s/step':>7} {'process MB':>11}")
    whole = None
    for name, changes in ROWS.items():
        if chosen.rows not in name:
            continue
        settings = make_settings(
            source=source, model=chosen.model, initial=chosen.initial, device=chosen.device,
            precision=chosen.precision, batch_size=chosen.batch, image_size=chosen.side, max_cells=1600,
            max_images_per_canvas=1, min_buffer=chosen.batch, buffer_size=chosen.batch, **changes,
        )  # fmt: skip
        found = measure_apart(settings, steps=2)
        if found.problem:
            print(f"{name:<36} {found.problem}", flush=True)
            continue
        whole = whole or found.peak_bytes
        share = found.peak_bytes / whole
        print(
            f"{name:<36} {found.peak_bytes / 1e6:>9.0f} {share:>7.2f} {found.seconds:>7.2f} "
            f"{found.process_bytes / 1e6:>11.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
