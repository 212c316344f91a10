"""What tuning a decoder takes by method, predicted and measured.

``python -m tests.benchmarks.devices.memory_language LIBRARY --out FOLDER``

A developer script, not a test. LIBRARY is what ``tablerec device build`` printed; PaddleFormers must be installed. Each
method is a process of its own; what it finds is printed at once and appended to ``results.jsonl`` in FOLDER, and
methods that are there are skipped, so that a run that ``--seconds`` cut short goes on when it is called again. At the
end, and with ``--table`` alone, a table in Markdown is printed: the most bytes of a step by Paddle's count of its
tensors, weights included, what ``tablerec tune`` predicts, and the share of full tuning.

``--shape tiny`` has two narrow layers, for the simulated device; ``--shape qwen3-0.6b`` is for a card.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from tablerec.language.memory import Decoder, predict
from tablerec.language.method import Method
from tablerec.language.models import QWEN3_06B
from tablerec.settings_fields import to_settings, to_values
from tests.benchmarks.devices.parts import read_records, start_part

MARGIN, LEAST = 20, 30
"""Seconds that are kept for whoever called, and with fewer of which no method is begun."""
RESULTS = "results.jsonl"
TINY = {
    "vocab_size": 4096,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 512,
    "tie_word_embeddings": True,
}
SHAPES: dict[str, tuple[str, dict[str, Any], int, int]] = {
    "tiny": ("ernie4_5", TINY, 2, 64),
    "qwen3-0.6b": ("qwen3", QWEN3_06B, 4, 4096),
}
"""Model, configuration, sequences at once, tokens of each."""
LITTLE = Method(frozen="int4", recompute=True, loss_tokens=128)
METHODS: dict[str, Method] = {
    "full": Method(lora=None),
    "full, state on the host": Method(lora=None, state_on_host=True),
    "full, AdamW of 8 bits": Method(lora=None, optimizer="adamw8bit"),
    "full, recompute, loss in parts": Method(lora=None, recompute=True, loss_tokens=128),
    "LoRA": Method(),
    "LoRA, recompute": Method(recompute=True),
    "int8, LoRA": Method(frozen="int8"),
    "int4, LoRA": Method(frozen="int4"),
    "int4, LoRA, recompute": Method(frozen="int4", recompute=True),
    "int4, LoRA, recompute, loss in parts": LITTLE,
}


def run_method(options: argparse.Namespace) -> None:
    """Measure one method, in this process."""
    from tablerec.devices.plugin import load_plugin

    plugin = load_plugin(options.library)
    import numpy as np
    import paddle

    from tablerec.language.measure import measure_steps
    from tablerec.language.method import prepare
    from tablerec.language.models import make_batch, make_model

    model, shape, batch, length = sizes(options)
    method = METHODS[options.one]
    paddle.set_device(plugin.device)
    paddle.seed(0)
    begun = time.monotonic()
    tuned = prepare(make_model(model, fused=options.shape != "tiny", **shape), method)
    arrays = make_batch(model, batch, length, vocabulary=shape["vocab_size"])
    given = [paddle.to_tensor(arrays[name]) for name in ("input_ids", "labels")]
    ready = time.monotonic()
    taken = measure_steps(tuned, *given, steps=2)
    stepped = time.monotonic()
    losses = []
    for _ in range(options.steps):
        loss = tuned.net(input_ids=given[0], labels=given[1])[0]
        loss.backward()
        tuned.step()
        losses.append(loss.detach())
        del loss
    losses = [float(np.asarray(loss)) for loss in losses]
    each = (time.monotonic() - stepped) / max(1, options.steps)
    record = {
        "method": options.one,
        "values": to_values(method),
        "shape": options.shape,
        "batch": batch,
        "length": length,
        "before": taken.before,
        "forward": taken.forward,
        "backward": taken.backward,
        "update": taken.update,
        "peak": taken.peak,
        "seconds": each,
        "losses": losses,
        "made": ready - begun,
    }
    with (options.out / RESULTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    said = f"{taken.peak / 1e9:.3f} GB (loss {taken.forward / 1e9:.3f}, gradients {taken.backward / 1e9:.3f}, "
    said += f"update {taken.update / 1e9:.3f}), {each:.3f} s a step, losses {[round(loss, 3) for loss in losses]}"
    print(f"{options.one}: {said}", flush=True)


def sizes(options: argparse.Namespace) -> tuple[str, dict[str, Any], int, int]:
    """Return model, configuration, sequences and tokens of each."""
    model, shape, batch, length = SHAPES[options.shape]
    return model, shape, options.batch or batch, options.length or length


def read_results(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Read what was measured of this shape and batch, by method; a line that was cut short does not count."""
    _, _, batch, length = sizes(options)
    return {
        record["method"]: record
        for record in read_records(options.out / RESULTS)
        if (record["shape"], record["batch"], record["length"]) == (options.shape, batch, length)
    }


def print_table(options: argparse.Namespace) -> None:
    """Print what was measured, as Markdown."""
    results = read_results(options)
    model, shape, batch, length = sizes(options)
    decoder = Decoder(
        shape["num_hidden_layers"],
        shape["hidden_size"],
        shape["intermediate_size"],
        shape["num_attention_heads"],
        shape["num_key_value_heads"],
        shape["head_dim"],
        shape["vocab_size"],
        tied=True,
        joined=model != "llama",
    )
    full = results.get("full", {}).get("peak", 0)
    print(f"\n{options.shape}, {batch} sequences of {length} tokens, bfloat16\n")
    print("| method | most, GB | predicted, GB | of full | s a step |\n| --- | --- | --- | --- | --- |")
    for name, record in results.items():
        method = to_settings(Method, record["values"])
        predicted = predict(decoder, method, batch, length).peak
        share = f"{record['peak'] / full:.2f}" if full else "-"
        print(
            f"| {name} | {record['peak'] / 1e9:.3f} | {predicted / 1e9:.3f} | {share} | {record['seconds']:.3f} |",
            flush=True,
        )


def main() -> None:
    """Measure all methods, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path, nargs="?", help="by default the simulated device")
    parser.add_argument("--shape", choices=list(SHAPES), default="tiny")
    parser.add_argument("--batch", type=int, help="sequences at once")
    parser.add_argument("--length", type=int, help="tokens of each")
    parser.add_argument("--steps", type=int, default=3, help="that are timed, after the two that are measured")
    parser.add_argument("--method", action="append", choices=list(METHODS), help="may be repeated; all by default")
    parser.add_argument("--out", type=Path, default=Path("out/memory_language"))
    parser.add_argument("--seconds", type=float, default=600.0, help=f"ends {MARGIN} s before so many have passed")
    parser.add_argument("--table", action="store_true", help="only print what is there")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.one:
        run_method(options)
        return
    end = time.monotonic() + options.seconds - MARGIN
    for name in [] if options.table else options.method or METHODS:
        if name in read_results(options):
            continue
        left = end - time.monotonic()
        if left < LEAST:
            print(f"{name}: {left:.0f} s left, not begun", flush=True)
            break
        arguments = [options.library] if options.library else []
        arguments += ["--one", name, "--shape", options.shape, "--out", options.out, "--steps", options.steps]
        for flag, value in (("--batch", options.batch), ("--length", options.length)):
            arguments += [flag, value] if value else []
        code = start_part("tests.benchmarks.devices.memory_language", *arguments, seconds=left)
        if code:
            print(f"{name}: ended with {code}", flush=True)
    print_table(options)


if __name__ == "__main__":
    main()
