"""``tablerec device``: build, look at and test devices that reach Paddle through a plugin."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import click

from tablerec.errors import MissingDependencyError, SettingsError

_PLUGIN_HELP = "Plugin to load: simulated, cuda (both are built if need be) or a library that build_plugin made."


@click.group("device", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.pass_context
def command(ctx: click.Context) -> None:
    """Build, inspect and test devices for Paddle.

    A device that Paddle's wheel does not know reaches it through a CustomDevice plugin. Ours
    is loaded with --plugin; a vendor's is found by Paddle itself and named with --device.
    """
    asks_for_help = any(word in ctx.help_option_names for word in sys.argv)
    # Looked up, not imported: a plugin must be loaded before Paddle.
    if not asks_for_help and importlib.util.find_spec("paddle") is None:
        raise MissingDependencyError(
            f'tablerec device {ctx.invoked_subcommand} needs Paddle: run pip install "tablerec[paddle]"'
        )


@command.command("build")
@click.argument("kind", type=click.Choice(["simulated", "cuda"]), default="simulated")
@click.option("--jobs", type=click.IntRange(1), help="Compilers at a time.  [default: one a processor]")
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
    """List the devices that Paddle sees, with memory and kernels."""
    from tablerec.devices.doctor import list_devices

    _load(plugin)
    for line in list_devices():
        click.echo(line)


@command.command("doctor")
@click.argument("device", default="")
@click.option("--plugin", metavar="KIND|PATH", help=_PLUGIN_HELP)
@click.option("--model", "models", multiple=True, metavar="NAME", help="A PaddleX model to look up; may be repeated.")
@click.pass_context
def doctor_command(ctx: click.Context, device: str, plugin: str | None, models: tuple[str, ...]) -> None:
    """Say whether DEVICE can be used, and what stands in the way.

    Exit code: 0 if nothing does, 1 otherwise.
    """
    from tablerec.devices.doctor import examine

    loaded = _load(plugin)
    findings = examine(device or (loaded.device if loaded else ""), models)
    for finding in findings:
        click.echo(f"{'ok     ' if finding.ok else 'PROBLEM'} {finding.text}")
    if not all(finding.ok for finding in findings):
        ctx.exit(1)


@command.command("trace", context_settings={"ignore_unknown_options": True})
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


@command.command("coverage", context_settings={"ignore_unknown_options": True})
@click.argument("script", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--plugin", metavar="KIND|PATH", help=_PLUGIN_HELP)
@click.option("--device", metavar="KIND", help="The kind of device, where its plugin is not ours.")
@click.pass_context
def coverage_command(
    ctx: click.Context, script: Path, arguments: tuple[str, ...], plugin: str | None, device: str | None
) -> None:
    """Compare what a program asks for with what a device has.

    What is missing runs on the CPU where Paddle's fallback is on, and fails where it is off.
    Exit code: 0 if nothing is missing, 1 otherwise.
    """
    from tablerec.devices.trace import missing_operators, trace_script

    loaded = _load(plugin)
    kind = device or (loaded.device if loaded else None)
    if kind is None:
        raise SettingsError("nothing to compare with: name a --device, or a --plugin to load")
    found = trace_script(script, arguments)
    missing = missing_operators(found, kind)
    for name, dtype, why in missing:
        click.echo(f"MISSING {name} {dtype}: {kind} {why}")
    n_asked = len({(operator.name, operator.dtype) for operator in found})
    click.echo(f"{n_asked} operators by type, {len(missing)} missing on {kind}")
    if missing:
        ctx.exit(1)


@command.command("parity")
@click.option("--plugin", metavar="KIND|PATH", help=_PLUGIN_HELP)
@click.option("--device", metavar="NAME", help="The device to test, where its plugin is not ours.")
@click.option("--match", default="", metavar="TEXT", help="Only cases whose name holds this.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each result.")
@click.pass_context
def parity_command(ctx: click.Context, plugin: str | None, device: str | None, match: str, as_json: bool) -> None:
    """Compare a device with the CPU: each operator by type, and a small detector in training.

    The CPU fallback is off for our plugins. Exit code: 0 if all agree, 1 otherwise.
    """
    from tablerec.devices.cases import all_cases
    from tablerec.devices.parity import OPTIMIZERS, compare_operators, compare_training

    loaded = _load(plugin)
    name = device or (loaded.device if loaded else None)
    if name is None:
        raise SettingsError("nothing to compare: name a --device, or a --plugin to load")
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
            f"10 steps of {optimizer}: loss {training.losses[0]:.5f} to {training.losses[-1]:.5f}, "
            f"differs by {training.loss_error:.1e} (relative); parameters by {training.parameter_error:.1e}"
        )
        n_failed += training.loss_error > 1e-5 or training.parameter_error > 1e-4
    if n_failed:
        ctx.exit(1)


def _shape(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _load(plugin: str | None) -> Any:
    """Load a plugin by kind or path; Paddle must not have been imported."""
    if plugin is None:
        return None
    from tablerec.devices.build import KINDS, build_plugin
    from tablerec.devices.plugin import load_plugin

    if "paddle" in sys.modules:
        raise SettingsError("--plugin: Paddle is imported already; run this in a process of its own")
    return load_plugin(build_plugin(plugin) if plugin in KINDS else Path(plugin))
