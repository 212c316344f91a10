"""Which operators a program asks Paddle for, and which of them a device has."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tablerec.devices.plugin import registered_kernels
from tablerec.errors import InputError

_KERNEL = re.compile(r"\] (\w+) (?:API )?kernel key: \[\w+, [^\]]+, (\w+)\]")
_CHOSEN = re.compile(r"\] (\w+) (?:API )?kernel: \{")
_SHAPE = re.compile(r"^\s*Shape: ?([\d, ]*)")
_LAST_LINES = 8


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator that was asked for.

    Args:
        name: Paddle's name of the kernel; gradients end in ``_grad``.
        dtype: The type by which the kernel is chosen.
        shapes: Shapes of the input tensors, where Paddle's log shows them.
    """

    name: str
    dtype: str
    shapes: tuple[tuple[int, ...], ...] = ()


def trace_script(script: str | Path, arguments: Sequence[str] = ()) -> Counter[Operator]:
    """Run a Python program on the CPU and read from Paddle's log what it asks for, forward and backward.

    What a kernel calls inside, and what a compiled graph fuses, is not seen.

    Args:
        script: The program: it builds a model and runs or trains it for a step.
        arguments: The program's arguments.

    Returns:
        Operators with how often they ran.

    Raises:
        InputError: There is no such program, or it failed.
    """
    path = Path(script)
    if not path.is_file():
        raise InputError(f"{path} is missing: name a Python program that runs the model")
    return _trace(str(path), [str(path), *arguments])


def trace_module(module: str, arguments: Sequence[str] = ()) -> Counter[Operator]:
    """Run a module as ``python -m`` does, and read what it asks for; all else as in ``trace_script``."""
    return _trace(module, ["-m", module, *arguments])


def _trace(name: str, arguments: Sequence[str]) -> Counter[Operator]:
    # Level 6 is below all others, so whoever has asked for a quiet Paddle is overruled.
    log = {"GLOG_v": "6", "GLOG_minloglevel": "0", "GLOG_logtostderr": "1"}
    environment = {**os.environ, **log, "PYTHONUNBUFFERED": "1"}
    environment.pop("CUSTOM_DEVICE_ROOT", None)  # a plugin that is loaded here would be the program's device
    command = [sys.executable, *arguments]
    last: list[str] = []
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", env=environment
    ) as process:
        assert process.stderr is not None
        found = parse_log(_remember(process.stderr, last))
    if process.returncode:
        raise InputError(f"{name} failed with code {process.returncode}:\n{''.join(last[-_LAST_LINES:]).rstrip()}")
    return found


def parse_log(lines: Iterable[str]) -> Counter[Operator]:
    """Read operators from Paddle's log at level 6.

    A line names the kernel; the tensors that went into it are printed after it ran.

    >>> parse_log(["I1 a.cc:1] relu API kernel key: [CPU, NCHW, float32]", "Input: [", "  Shape: 2, 3,", "Output: ["])
    Counter({Operator(name='relu', dtype='float32', shapes=((2, 3),)): 1})
    """
    found: Counter[Operator] = Counter()
    name = dtype = ""
    shapes: list[tuple[int, ...]] = []
    reading = False

    def finish() -> None:
        if name:
            found[Operator(name, dtype, tuple(shapes))] += 1

    for line in lines:
        if match := _KERNEL.search(line):
            finish()
            name, dtype = match[1].removesuffix("_"), match[2]  # adamw_ is adamw in place
            shapes, reading = [], False
        elif name and (match := _CHOSEN.search(line)):  # not always named as what was called: arange runs arange_tensor
            name = match[1].removesuffix("_")
        elif "Running_AD_API" in line or "Output:" in line:
            reading = False
            if shapes or "Running_AD_API" in line:
                finish()
                name, shapes = "", []
        elif "Input: [" in line:
            reading = bool(name)
        elif reading and (match := _SHAPE.match(line)):
            shapes.append(tuple(int(size) for size in match[1].split(",") if size.strip()))
    finish()
    return found


def missing_operators(operators: Iterable[Operator], kind: str) -> list[tuple[str, str, str]]:
    """List what a device lacks; imports Paddle.

    Args:
        operators: What a program asks for.
        kind: A kind of custom device whose plugin is loaded, ours or a vendor's.

    Returns:
        Name, type, and why: no kernel at all, or none for the type. These run on the CPU
        where Paddle's fallback is on, and fail where it is off.
    """
    own = registered_kernels(kind)
    given = _given_to_all(kind) - set(own)
    lacking = []
    for name, dtype in sorted({(operator.name, operator.dtype) for operator in operators}):
        if name in given or dtype in own.get(name, ()):
            continue
        lacking.append((name, dtype, f"has {', '.join(sorted(own[name]))}" if name in own else "has no kernel"))
    return lacking


def _given_to_all(kind: str) -> set[str]:
    """Return all names under which Paddle finds a kernel for a kind: the plugin's, and the views given to all."""
    import paddle

    core, place = paddle.base.core, f"Place({kind}:"
    names = {
        name for name, keys in core._get_all_register_op_kernels("phi").items() if any(place in key for key in keys)
    }
    return names | {core._get_phi_kernel_name(name) for name in names}


def _remember(lines: Iterable[str], last: list[str]) -> Iterable[str]:
    """Pass lines on, and keep those that are not of the log: a failing program's traceback is among them."""
    for line in lines:
        if not re.match(r"[IWV]\d{4} |[\s\]}({=]", line):
            last.append(line)
            del last[:-50]
        yield line
