"""Tokens a second of Qwen3-0.6B's shape: ``python -m tests.benchmarks.devices.decoding LIBRARY --out FOLDER``.

A developer script, not a test. Random weights, bfloat16, greedy, batches of 1 and 8, a prompt of 128 tokens. Each part
is a process of its own, so that one that fails or hangs leaves the others. Every result is printed at once and appended
to ``results.jsonl`` in FOLDER; parts that are complete there are skipped, so that a run that ``--seconds`` cut short
goes on when it is called again. LIBRARY is what ``tablerec device build cuda`` printed; with the simulated library and
``--tiny`` the script itself can be tried.

    parity      the attention of one token against the CPU; tokens of small models, graph, dygraph and CPU
    graph       tokens/s with a step captured as a graph; launches a token; memory over the run
    dygraph     tokens/s where each step is called in Python
    sampling    as graph, with temperature, top-k and top-p, and a repetition penalty
    attention   time of the attention of one token by length of the cache, against the bytes that it must read
    torch       transformers' generate on the same card: with its dynamic cache, and its static one compiled
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks.devices.parts import read_records, start_part
from tests.benchmarks.devices.stages import RESULTS, Report

PARTS = {
    "parity": 100,
    "graph 1": 60,
    "dygraph 1": 60,
    "graph 8": 60,
    "dygraph 8": 60,
    "sampling 1": 60,
    "attention": 40,
    "torch 1": 60,
    "torch 8": 60,
    "compiled 1": 150,
}
"""The most seconds that each may take."""
MARGIN = 10
PROMPT = 128
TINY = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "vocab_size": 1000}


def shape(tiny: bool) -> dict[str, Any]:
    from tablerec.language.models import QWEN3_06B

    return {**QWEN3_06B, **TINY} if tiny else dict(QWEN3_06B)


def prompts(batch: int, vocabulary: int) -> list[list[int]]:
    import numpy as np

    return np.random.default_rng(0).integers(3, vocabulary, (batch, PROMPT)).tolist()


def seconds_per_token(write: Callable[[int], Any], few: int, many: int) -> tuple[float, float]:
    """Time two texts; the difference is free of the prompt. Returns seconds of a token, and of the prompt.

    ``write`` writes so many tokens and waits for them.
    """
    taken = {}
    for count in (few, many, few, many):
        start = time.perf_counter()
        write(count)
        taken[count] = min(time.perf_counter() - start, taken.get(count, float("inf")))
    each = (taken[many] - taken[few]) / (many - few)
    return each, taken[few] - few * each


def ours(report: Report, plugin: Any, part: str, batch: int, tiny: bool) -> None:
    import paddle

    from tablerec.language.decoding import Decoder, Sampling
    from tablerec.language.models import make_model

    paddle.set_device(plugin.device)
    paddle.set_default_dtype("bfloat16" if plugin.uses_cuda() else "float32")
    paddle.seed(0)
    model = make_model("qwen3", fused=True, **shape(tiny))
    sampling = Sampling(0.8, 50, 0.95, 1.1) if part == "sampling" else Sampling()
    graph = part != "dygraph"
    few, many = (16, 48) if tiny or not graph else (16, 512)
    decoder = Decoder(model, batch, PROMPT + many, sampling, plugin if graph else None)
    given = prompts(batch, shape(tiny)["vocab_size"])
    start = time.perf_counter()
    decoder.generate(given, few, ends=())
    first = time.perf_counter() - start
    print(f"  first text, with the capture: {first:.1f} s", flush=True)
    plugin.reset()
    decoder.generate(given, few, ends=())
    before = plugin.counters()
    plugin.reset()
    decoder.generate(given, 2 * few, ends=())
    twice = plugin.counters()
    launches = (twice["kernels"] - before["kernels"]) / few
    each, prefill = seconds_per_token(lambda count: decoder.generate(given, count, ends=()), few, many)
    after = plugin.counters()
    with plugin.profile() as times:
        decoder.generate(given, few, ends=())
    longest = sorted(times.items(), key=lambda item: -item[1].milliseconds)[:12]
    in_use, grown = before["bytes_in_use"], after["bytes_in_use"] - before["bytes_in_use"]
    report.add(
        f"{part}, batch {batch}: {batch / each:.1f} tokens/s ({each * 1e3:.3f} ms a step), prompt of {PROMPT} in "
        f"{prefill * 1e3:.1f} ms, {launches:.0f} launches a step, cache {decoder.cache_bytes / 2**20:.0f} MiB, memory "
        f"{in_use / 2**20:.1f} MiB, {grown / 2**20:+.3f} MiB over the run",
        part=part, batch=batch, tokens_per_second=batch / each, seconds_per_step=each, prefill=prefill,
        launches=launches, nodes=decoder.nodes, memory=in_use, grown=grown, first=first,
    )  # fmt: skip
    for name, spent in longest:
        report.add(f"    {name:32} {spent.launches:6} launches, {spent.milliseconds:9.2f} ms", kernel=name)


def parity(report: Report, plugin: Any, tiny: bool) -> None:
    import paddle

    from tablerec.devices.cases.language import decoding
    from tablerec.devices.parity import compare_operators
    from tablerec.language.decoding import Decoder, Sampling
    from tablerec.language.models import make_model

    outcomes = list(compare_operators(plugin.device, decoding.cases(), plugin.kernels))
    for outcome in outcomes:
        if not outcome.passed:
            why = outcome.problem or f"{outcome.error:.2g} > {outcome.tolerance:.2g}"
            report.add(f"FAILED {outcome.case} {outcome.dtype}: {why}", failed=outcome.case)
    report.add(
        f"{len(outcomes)} operator cases, {sum(not each.passed for each in outcomes)} failed", cases=len(outcomes)
    )
    given = [row[: 30 + 9 * place] for place, row in enumerate(prompts(4, 1000))]

    def tokens(device: str, captured: bool, sampling: Sampling, state: dict[str, Any], name: str, size: int) -> Any:
        paddle.set_device(device)
        # Heads of a size that the fast kernel takes.
        model = make_model(name, head_dim=size, hidden_size=4 * size)
        if state:
            model.set_state_dict({key: paddle.to_tensor(value) for key, value in state.items()})
        else:
            state.update({key: value.numpy() for key, value in model.state_dict().items()})
        decoder = Decoder(model, 4, 128, sampling, plugin if captured else None)
        return decoder.generate(given, 40, ends=(), seed=1)

    for name in ("llama", "ernie4_5", "qwen3", "gemma3")[: 1 if tiny else 4]:
        for sampling in (Sampling(), Sampling(1.0, 50, 0.95, 1.1)):
            state: dict[str, Any] = {}
            paddle.seed(0)
            expected = tokens("cpu", False, sampling, state, name, 64)
            found = {
                way: tokens(plugin.device, way == "graph", sampling, state, name, 64) for way in ("dygraph", "graph")
            }
            same = {way: sum(a == b for a, b in zip(expected, rows, strict=True)) for way, rows in found.items()}
            report.add(
                f"{name}, {'greedy' if sampling.greedy else 'sampled'}, float32: rows equal to the CPU's {same} of 4; "
                f"graph equal to dygraph: {found['graph'] == found['dygraph']}",
                model=name, same=same, graph_is_dygraph=found["graph"] == found["dygraph"],
            )  # fmt: skip


def attention(report: Report, plugin: Any, tiny: bool) -> None:
    import paddle

    from tablerec.devices.bench.operators import seconds_per_call

    paddle.set_device(plugin.device)
    dtype = "bfloat16" if plugin.uses_cuda() else "float32"
    heads, kept, size = 16, 8, 128
    for batch in (1, 8):
        for length in (32, 64) if tiny else (512, 2048, 8192, 32768):
            caches = [
                paddle.zeros([2, batch, kept, length, size], dtype) for _ in range(1 if tiny else 8)
            ]  # beyond the L2
            x = paddle.randn([batch, (heads + 2 * kept) * size]).astype(dtype)
            lengths = paddle.full([batch, 1], length - 1, "int32")

            def call(x: Any = x, caches: list[Any] = caches, lengths: Any = lengths) -> None:
                for cache in caches:
                    paddle.incubate.nn.functional.masked_multihead_attention(x, cache, sequence_lengths=lengths)

            with paddle.no_grad():
                spent = seconds_per_call(call, plugin.device) / len(caches)
                with plugin.profile() as times:
                    call()
            kernel = times["masked_multihead_attention"]
            on_device = kernel.milliseconds / kernel.launches / 1e3
            n_bytes = 2 * batch * kept * length * size * caches[0].element_size()
            report.add(
                f"attention, batch {batch}, {length} places: {spent * 1e6:.1f} us a call, {on_device * 1e6:.1f} us "
                f"on the device, {n_bytes / max(on_device, 1e-9) / 1e12:.2f} TB/s of keys and values",
                batch=batch, length=length, seconds=spent, device_seconds=on_device, bytes=n_bytes,
            )  # fmt: skip


def by_torch(report: Report, part: str, batch: int, tiny: bool) -> None:
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    options = {key: value for key, value in shape(tiny).items() if key != "rope_theta"}
    config = Qwen3Config(**options, eos_token_id=None, bos_token_id=None)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device(device):
        model = Qwen3ForCausalLM(config).eval()
    given = torch.tensor(prompts(batch, config.vocab_size), device=device)
    more = {"cache_implementation": "static"} if part == "compiled" else {}

    def write(count: int) -> None:
        options = {"max_new_tokens": count, "min_new_tokens": count, "do_sample": False, "pad_token_id": 0, **more}
        found = model.generate(given, attention_mask=torch.ones_like(given), **options)
        assert found[:, PROMPT:].cpu().shape == (batch, count)

    few, many = (4, 12) if tiny else (16, 144)
    with torch.no_grad():
        for _ in range(2):
            start = time.perf_counter()
            write(few)
            print(f"  a text of {few} tokens: {time.perf_counter() - start:.1f} s", flush=True)
        each, prefill = seconds_per_token(write, few, many)
    what = "static cache, compiled" if part == "compiled" else "dynamic cache"
    report.add(
        f"torch {torch.__version__}, {what}, batch {batch}: {batch / each:.1f} tokens/s ({each * 1e3:.3f} ms a step), "
        f"prompt in {prefill * 1e3:.1f} ms",
        part=part, batch=batch, tokens_per_second=batch / each, seconds_per_step=each, prefill=prefill,
    )  # fmt: skip


def run_part(part: str, library: Path, out: Path, tiny: bool) -> None:
    name, _, batch = part.partition(" ")
    report = Report(out, "decoding", part)
    if name in ("torch", "compiled"):
        work = partial(by_torch, report, name, int(batch), tiny)
    else:
        from tablerec.devices.plugin import load_plugin

        plugin = load_plugin(library)
        if name in ("parity", "attention"):
            work = partial({"parity": parity, "attention": attention}[name], report, plugin, tiny)
        else:
            work = partial(ours, report, plugin, name, int(batch), tiny)
    report.attempt(part, work)
    report.add("", done=part)


def records(out: Path) -> list[dict[str, Any]]:
    return list(read_records(out / RESULTS))


def summary(out: Path) -> str:
    speed = {
        (each["part"], each["batch"]): each["tokens_per_second"] for each in records(out) if "tokens_per_second" in each
    }
    lines = [
        f"batch {batch}: the graph writes {speed['graph', batch] / speed[other, batch]:.2f} times the tokens of {other}"
        for batch in (1, 8)
        for other in ("dygraph", "torch", "compiled")
        if ("graph", batch) in speed and (other, batch) in speed
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path, metavar="LIBRARY")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--part", action="append", choices=PARTS, help="repeatable; all by default")
    parser.add_argument("--seconds", type=float, default=550, help="no part is begun that could go on after these")
    parser.add_argument("--tiny", action="store_true", help="small shapes, to try the script")
    parser.add_argument("--inside", choices=PARTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.inside:
        run_part(arguments.inside, arguments.library, arguments.out, arguments.tiny)
        return
    end = time.monotonic() + arguments.seconds - MARGIN
    for part in arguments.part or PARTS:
        left = end - time.monotonic()
        if any(each.get("done") == part for each in records(arguments.out)) or left < 15:
            continue
        print(f"== {part}", flush=True)
        inside = [arguments.library, "--out", arguments.out, "--inside", part, *(["--tiny"] * arguments.tiny)]
        seconds = min(left, PARTS[part])
        code = start_part("tests.benchmarks.devices.decoding", *inside, seconds=seconds)
        if isinstance(code, str):
            Report(arguments.out, "decoding", part).add(f"FAILED {part}: longer than {seconds:.0f} s", failed=part)
    print(summary(arguments.out), flush=True)


if __name__ == "__main__":
    main()
