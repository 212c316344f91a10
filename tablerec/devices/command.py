"""``tablerec device``: build, look at and test devices that reach Paddle through a plugin."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from tablerec.errors import MissingDependencyError, SettingsError

_N_WORST = 5
_PLUGIN_HELP = "Plugin to load: simulated, cuda (both are built if need be) or a library that build_plugin made."


class _NeedsPaddle(click.Command):
    """A verb that Paddle runs; what it does is explained without."""

    def invoke(self, ctx: click.Context) -> Any:
        # Looked up, not imported: a plugin must be loaded before Paddle.
        if importlib.util.find_spec("paddle") is None:
            raise MissingDependencyError(
                f'tablerec device {self.name} needs Paddle: run pip install "tablerec[paddle]"'
            )
        return super().invoke(ctx)


@click.group("device")
def command() -> None:
    """Build, inspect and test devices.

    NVIDIA's cards are used through ONNX Runtime: doctor gpu:0 says what is missing.
    A device that Paddle's wheel does not know reaches it through a CustomDevice plugin. Ours
    is loaded with --plugin; a vendor's is found by Paddle itself and named with --device.
    """


@command.command("build", cls=_NeedsPaddle)
@click.argument("kind", type=click.Choice(["simulated", "cuda"]), default="simulated")
@click.option("--jobs", type=click.IntRange(1), help="Compilers at a time.  [default: one per CPU]")
@click.option("--architecture", default="sm_90", show_default=True, help="What nvcc compiles for.")
def build_command(kind: str, jobs: int | None, architecture: str) -> None:
    """Compile the plugin and print its path.

    simulated runs anywhere and needs g++ only; cuda needs nvcc and NVIDIA's headers. What was
    compiled before is kept.
    """
    from tablerec.devices.build import build_plugin

    click.echo(build_plugin(kind, jobs=jobs, architecture=architecture))


@command.command("list")
@click.option("--plugin", metavar="KIND|PATH", help=_PLUGIN_HELP)
def list_command(plugin: str | None) -> None:
    """List the CPU, NVIDIA's cards and the devices that Paddle sees, with memory and kernels."""
    from tablerec.devices.doctor import list_devices

    loaded = _load(plugin)
    for line in list_devices(loaded):
        click.echo(line)


@command.command("doctor")
@click.argument("device", default="")
@click.option("--plugin", metavar="KIND|PATH", help=_PLUGIN_HELP)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="A PaddleX model to look up; may be repeated.  [default: those of --detector paddlex]",
)
@click.pass_context
def doctor_command(ctx: click.Context, device: str, plugin: str | None, models: tuple[str, ...]) -> None:
    """Say whether DEVICE can be used, and what stands in the way.

    Exit code: 0 if nothing does, 1 otherwise.
    """
    from tablerec.devices.doctor import examine

    loaded = _load(plugin)
    findings = examine(device or (loaded.device if loaded else ""), models, loaded)
    for finding in findings:
        click.echo(f"{'ok     ' if finding.ok else 'PROBLEM'} {finding.text}")
    if not all(finding.ok for finding in findings):
        ctx.exit(1)


@command.command("trace", cls=_NeedsPaddle, context_settings={"ignore_unknown_options": True})
@click.argument("script", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each operator.")
def trace_command(script: Path, arguments: tuple[str, ...], as_json: bool) -> None:
    """List the operators that a Python program asks Paddle for, with types and shapes.

    SCRIPT builds a model and runs it, or trains it for a step; it runs on the CPU, with
    ARGUMENTS as its own.
    """
    from tablerec.devices.trace import trace_script

    found = trace_script(script, arguments)
    for operator, count in sorted(found.items(), key=lambda item: (item[0].name, item[0].dtype, item[0].shapes)):
        if as_json:
            record = {"name": operator.name, "dtype": operator.dtype, "shapes": operator.shapes, "count": count}
            click.echo(json.dumps(record))
        else:
            click.echo(f"{count:6} {operator.name} {operator.dtype} {' '.join(map(_shape, operator.shapes))}".rstrip())


@command.command("coverage", cls=_NeedsPaddle, context_settings={"ignore_unknown_options": True})
@click.argument("script", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--plugin", metavar="KIND|PATH", help=_PLUGIN_HELP)
@click.option("--device", metavar="KIND", help="The kind of device, where its plugin is not ours.")
@click.option("--list", "list_all", is_flag=True, help="Also list what the device has, with how often it is asked for.")
@click.pass_context
def coverage_command(
    ctx: click.Context,
    script: Path,
    arguments: tuple[str, ...],
    plugin: str | None,
    device: str | None,
    list_all: bool,
) -> None:
    """Compare what a program asks for with what a device has.

    SCRIPT is a program as for trace, or a small language model of PaddleFormers, which is
    trained for a step and decodes three tokens: ernie4_5, ernie4_5_moe, llama, gemma3,
    gpt_oss, qwen3, qwen3_moe, paddleocr_vl or deepseek_v3.

    What is missing runs on the CPU where Paddle's fallback is on, and fails where it is off.
    Exit code: 0 if nothing is missing, 1 otherwise.
    """
    from tablerec.devices.trace import missing_operators, trace_module, trace_script
    from tablerec.language.models import MODELS
    from tablerec.language.standins import require_paddleformers

    loaded = _load(plugin)
    kind = device or (loaded.device if loaded else None)
    if kind is None:
        raise SettingsError("nothing to compare with: name a --device, or a --plugin to load")
    if str(script) in MODELS and not script.exists():
        require_paddleformers()
        found = trace_module("tablerec.language.sample", [str(script)])
    else:
        found = trace_script(script, arguments)
    missing = missing_operators(found, kind)
    asked: Counter[tuple[str, str]] = Counter()
    for operator, count in found.items():
        asked[operator.name, operator.dtype] += count
    lacking = {(name, dtype) for name, dtype, _ in missing}
    for (name, dtype), count in sorted(asked.items()) if list_all else ():
        if (name, dtype) not in lacking:
            click.echo(f"{count:7} {name} {dtype}")
    for name, dtype, why in missing:
        click.echo(f"MISSING {name} {dtype}: {kind} {why}")
    click.echo(f"{len(asked)} operators by type, {len(missing)} missing on {kind}")
    if missing:
        ctx.exit(1)


@command.command("parity", cls=_NeedsPaddle)
@click.option("--plugin", metavar="KIND|PATH", help=_PLUGIN_HELP)
@click.option("--device", metavar="NAME", help="The device to test, where its plugin is not ours.")
@click.option("--match", default="", metavar="TEXT", help="Only cases whose name holds this.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each result.")
@click.pass_context
def parity_command(ctx: click.Context, plugin: str | None, device: str | None, match: str, as_json: bool) -> None:
    """Compare a device with the CPU: each operator by type, and a reduced CellNet in training.

    The CPU fallback is off for our plugins. Exit code: 0 if all agree, 1 otherwise.
    """
    from tablerec.devices.cases import all_cases
    from tablerec.devices.parity import OPTIMIZERS, compare_operators, compare_training

    loaded = _load(plugin)
    name = _device_name(device, loaded, "compare")
    cases = [case for case in all_cases() if match in case.name]
    n_failed = n_cases = 0
    for outcome in compare_operators(name, cases, loaded.kernels if loaded else None):
        n_cases += 1
        n_failed += not outcome.passed
        if as_json:
            record = {
                "case": outcome.case,
                "dtype": outcome.dtype,
                "error": outcome.error,
                "tolerance": outcome.tolerance,
            }
            click.echo(json.dumps({**record, "problem": outcome.problem, "passed": outcome.passed}))
        elif not outcome.passed:
            why = outcome.problem or f"differs by {outcome.error:.2g}, allowed are {outcome.tolerance:.2g}"
            click.echo(f"FAILED {outcome.case} in {outcome.dtype}: {why}")
    click.echo(f"{n_cases} cases, {n_failed} failed")
    for optimizer in () if match else OPTIMIZERS:
        training = compare_training(name, optimizer)
        click.echo(
            f"10 steps of {optimizer} in float64: loss {training.losses[0]:.5f} to {training.losses[-1]:.5f}, "
            f"differs by {training.loss_error:.1e} (relative); parameters by {training.parameter_error:.1e}"
        )
        n_failed += training.loss_error > 1e-10 or training.parameter_error > 1e-9
    if n_failed:
        ctx.exit(1)


@command.command("bench", cls=_NeedsPaddle)
@click.option("--plugin", metavar="KIND|PATH", help=_PLUGIN_HELP)
@click.option("--device", metavar="NAME", help="The device to measure, where its plugin is not ours.")
@click.option(
    "--dtype", "dtypes", multiple=True, metavar="TYPE", help="float32, tf32, bfloat16 or float16; repeatable."
)
@click.option("--match", default="", metavar="TEXT", help="Only operators whose name holds this.")
@click.option("--tiny", is_flag=True, help="Small shapes, for the simulated device.")
@click.option(
    "--model",
    metavar="NAME",
    help="A whole network: cellnet, cellnet_reduced, rtdetr_l, rtdetr_reduced, or a small language model: ernie4_5, "
    "ernie4_5_moe, llama, gemma3, gpt_oss, qwen3, qwen3_moe, paddleocr_vl, deepseek_v3.",
)
@click.option(
    "--batch",
    type=click.IntRange(1),
    default=None,
    help="Pictures or sequences at a time.  [default: the network's own]",
)
@click.option(
    "--size",
    type=click.IntRange(32),
    default=None,
    help="Their side in pixels, or their tokens.  [default: the network's own]",
)
@click.option(
    "--train/--infer", default=True, show_default=True, help="A training step, or a forward pass or decoding."
)
@click.option("--amp", type=click.Choice(["O1", "O2"]), help="Level of paddle.amp, in half precision.")
@click.option(
    "--mode", type=click.Choice(["dygraph", "static", "predictor", "graph"]), default="dygraph", show_default=True
)
@click.option("--steps", type=click.IntRange(1), default=20, show_default=True, help="Steps to time.")
@click.option("--flat", type=click.IntRange(1), help="Also run so many steps and compare the memory held.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, a line for each result.")
def bench_command(plugin: str | None, device: str | None, **options: Any) -> None:
    """Measure a device: operators against the floor of bytes and operations, or a whole network.

    Operators are those of CellNet and RT-DETR-L, sorted by how many times the floor they take; the
    floor comes from a copy and a product measured in the same run.
    """
    from tablerec.devices.bench.operators import DTYPES

    dtypes = options["dtypes"] or ("float32",)
    for dtype in dtypes:
        if dtype not in DTYPES:
            raise SettingsError(f"--dtype {dtype!r} is unknown: choose {', '.join(DTYPES)}")
    if {"float32", "tf32"} <= set(dtypes):
        raise SettingsError("--dtype: the plugin is loaded with TF32 or without; measure float32 and tf32 in two runs")
    loaded = _load(plugin, tf32="tf32" in dtypes)
    name = _device_name(device, loaded, "measure")
    from tablerec.language.models import MODELS

    measure = _bench_operators if options["model"] is None else _bench_model
    (_bench_language if options["model"] in MODELS else measure)(name, loaded, dtypes, options)


def _bench_operators(name: str, loaded: Any, dtypes: tuple[str, ...], options: dict[str, Any]) -> None:
    from tablerec.devices.bench.operators import measure_ceilings, measure_operators, measure_optimizers
    from tablerec.devices.bench.workloads import FULL, TINY

    tiny, as_json = options["tiny"], options["as_json"]
    ceilings = measure_ceilings(name, dtypes, 128 if tiny else 8192)
    if not as_json:
        products = ", ".join(f"{dtype} {rate / 1e12:.3g}" for dtype, rate in ceilings.operations_per_second.items())
        click.echo(f"copy {ceilings.bytes_per_second / 1e9:.4g} GB/s; products in TFLOP/s: {products}")
        for dtype in set(dtypes) - set(ceilings.operations_per_second):
            click.echo(f"{dtype}: not measured, as {name} has no product of matrices in it")
    scale, seconds = (TINY, 0.001) if tiny else (FULL, 0.02)
    found = list(measure_operators(name, ceilings, scale, options["match"], loaded, seconds))
    if not options["match"]:
        network = "cellnet_reduced" if tiny else "cellnet"
        found += measure_optimizers(name, ceilings, network, loaded, seconds)
    found.sort(key=lambda spent: -spent.ratio)
    if as_json:
        click.echo(json.dumps({"ceilings": asdict(ceilings)}))
        for spent in found:
            click.echo(json.dumps({**asdict(spent), "ratio": spent.ratio}))
        return
    click.echo(f"  {'ratio':>7} {'call us':>9} {'kernel us':>9} {'floor us':>9}")
    for rank, spent in enumerate(found):
        what = f"{spent.name} {spent.dtype} {spent.part}"
        if spent.seconds is None:
            click.echo(f"- {what}: {spent.problem}")
            continue
        kernel = f"{1e6 * spent.kernel_seconds:9.1f}" if spent.kernel_seconds else " " * 9
        mark = "*" if rank < _N_WORST else " "
        click.echo(f"{mark} {spent.ratio:7.2f} {1e6 * spent.seconds:9.1f} {kernel} {1e6 * spent.floor:9.1f} {what}")


def _bench_model(name: str, loaded: Any, dtypes: tuple[str, ...], options: dict[str, Any]) -> None:
    from tablerec.devices.bench.runs import ModelRun, measure_model

    for dtype in dtypes:
        run = ModelRun(
            options["model"],
            options["batch"] or 0,
            options["size"] or 0,
            dtype,
            options["train"],
            options["amp"] or "",
            options["mode"],
        )
        speed = measure_model(name, run, loaded, options["steps"], options["flat"] or 0)
        if options["as_json"]:
            click.echo(json.dumps(asdict(speed)))
            continue
        for line in speed.lines():
            click.echo(line)


def _bench_language(name: str, loaded: Any, dtypes: tuple[str, ...], options: dict[str, Any]) -> None:
    """Without fused operators, then with them: how many launches they save."""
    from tablerec.language.bench import LanguageRun, measure_language_model

    if options["mode"] != "dygraph" or options["amp"]:
        raise SettingsError("language models run in the mode dygraph, with all weights in --dtype: leave out --amp")
    given = {"batch": options["batch"], "length": options["size"]}
    shape = {key: value for key, value in given.items() if value is not None}
    for dtype in dtypes:
        for fused in (False, True):
            run = LanguageRun(options["model"], dtype=dtype, train=options["train"], fused=fused, **shape)
            speed = measure_language_model(name, run, loaded, options["steps"])
            for line in [json.dumps(asdict(speed))] if options["as_json"] else speed.lines():
                click.echo(line)


def _shape(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _device_name(device: str | None, loaded: Any, verb: str) -> str:
    """Return the device to work on, after making sure that it is there."""
    from tablerec.devices.select import parse_device, require_paddle

    name = device or (loaded.device if loaded else None)
    if name is None:
        raise SettingsError(f"nothing to {verb}: name a --device, or a --plugin to load")
    require_paddle(parse_device(name))
    return str(name)


def _load(plugin: str | None, tf32: bool = False) -> Any:
    """Load a plugin by kind or path; Paddle must not have been imported."""
    if plugin is None:
        return None
    from tablerec.devices.build import KINDS, build_plugin
    from tablerec.devices.plugin import load_plugin

    if "paddle" in sys.modules:
        raise SettingsError("--plugin: Paddle is imported already; run this in a process of its own")
    return load_plugin(build_plugin(plugin) if plugin in KINDS else Path(plugin), tf32=tf32)
