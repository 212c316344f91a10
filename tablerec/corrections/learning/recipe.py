"""How it trains: as ``data/training/corrections.yaml`` does, which says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

STEPS = 290
"""Of training: some ten minutes on two idle cores."""


def to_recipe(output: Path, n_held_out: int, steps: int = STEPS) -> dict[str, Any]:
    """Return the settings of ``tablerec train``, ready for JSON; its working folder is that of the corrections.

    Args:
        output: Of the run, below the working folder.
        n_held_out: Tables that validate.
        steps: Of training.

    >>> to_recipe(Path("learnt/1"), 2)["data"]["source"]
    'crops:.#train*1, synth:mixed*1'
    """
    return {
        "initial": "cellnet",
        "output": output.as_posix(),
        "device": "cpu",
        "seed": 0,
        "data": {
            "source": "crops:.#train*1, synth:mixed*1",
            "batch_size": 2,
            "image_size": 640,
            "workers": 0,
            "buffer_size": 64,
            "min_buffer": 16,
        },
        "schedule": {"steps": steps, "warmup_steps": 20, "checkpoint_every": 60, "log_every": 10},
        "optimizer": {"learning_rate": 5.0e-4, "ema_decay": 0.97, "bn_batches": 0},
        "validation": {
            "source": "folder:.#val",
            "first_index": 0,
            "samples": n_held_out,
            "every": 1000,
        },
    }
