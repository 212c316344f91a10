"""Compiling a plugin from chosen files, running code on it, and showing what its runtime is made of."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tablerec.devices.build import SOURCES, build_plugin, paddle_folder
from tablerec.errors import SettingsError

LAB = Path(__file__).parent

_PREAMBLE = """
import json, sys, warnings
warnings.simplefilter("ignore")
from tablerec.devices.plugin import load_plugin
plugin = load_plugin(sys.argv[1], **json.loads(sys.argv[2]))
import numpy as np
import paddle
paddle.set_device(plugin.device)
answers = []
answer = answers.append
"""
_POSTAMBLE = """
with open(sys.argv[3], "w") as file:
    json.dump([answers[-1] if answers else None, plugin.counters(), plugin.kernels()], file)
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of code that ran on a device.

    Args:
        answer: What the code passed to ``answer`` last, or None.
        kernels: The kernels that the device launched, with how often. The only proof that it computed anything.
        counters: Copies, bytes, allocations and synchronizations.
        error: One line on why the code ended early, or "".
        output: What the code printed.
    """

    answer: Any = None
    kernels: dict[str, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    error: str = ""
    output: str = ""


def build(*sources: str | Path) -> Path:
    """Compile a plugin for the simulated device from chosen files.

    Args:
        sources: A path, or the name of a file of the lab (``empty.cc``) or of the plugin (``counters.cc``).
            Without any, the whole plugin is compiled.

    Raises:
        SettingsError: A source is missing.
        PluginBuildError: The compiler refused one; the message holds its first error.
    """
    return build_plugin(sources=[_find(source) for source in sources] if sources else None)


def run(code: str, library: str | Path, seconds: float = 600, **options: Any) -> Ran:
    """Run code in a fresh process with a plugin loaded and its device chosen.

    The code sees ``paddle``, ``np``, ``plugin`` (``tablerec.devices.plugin.Plugin``) and ``answer``,
    which takes a value back; it must fit into JSON.

    Args:
        code: Python statements.
        library: The plugin, as ``build`` returned it.
        seconds: How long it may take.
        options: For ``load_plugin``: ``fallback``, ``device_name``, ``tf32``.

    Raises:
        subprocess.TimeoutExpired: It took longer.
    """
    with tempfile.TemporaryDirectory() as folder:
        script, result = Path(folder) / "step.py", Path(folder) / "result.json"
        # A file, not -c: Paddle reads the source of a network to make it static.
        script.write_text(f"{_PREAMBLE}{code}\n{_POSTAMBLE}", encoding="utf-8")
        path = os.pathsep.join(filter(None, [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]))
        done = subprocess.run(  # noqa: S603
            [sys.executable, str(script), str(library), json.dumps(options), str(result)],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=seconds,
        )
        if not result.is_file():
            return Ran(error=_reason(done.returncode, done.stderr), output=done.stdout)
        answer, counters, kernels = json.loads(result.read_text(encoding="utf-8"))
    return Ran(answer, kernels, counters, "", done.stdout)


def table_of_functions(source: str | Path) -> list[tuple[str, bool]]:
    """List the functions that Paddle's table has room for, and whether a runtime fills them in.

    Args:
        source: A runtime's C++ file, or its name.

    Returns:
        Names in the order of Paddle's header ``device_ext.h``.
    """
    header = paddle_folder() / "include" / "paddle" / "phi" / "backends" / "device_ext.h"
    names = re.findall(r"^  C_Status \(\*(\w+)\)", header.read_text(encoding="utf-8"), re.MULTILINE)
    path = _find(source)
    text = path.read_text(encoding="utf-8")
    if "TABLEREC_FILL_INTERFACE" in text:
        text += "".join((SOURCES / name).read_text(encoding="utf-8") for name in ("runtime.h", "collectives.h"))
    filled = set(re.findall(r"table->(\w+) =", text))
    return [(name, name in filled) for name in names]


def side_by_side(function: str) -> str:
    """Show a function of the simulated runtime beside that of the CUDA runtime, as HTML.

    Raises:
        SettingsError: A runtime has no such function.
    """
    columns = []
    for kind in ("simulated", "cuda"):
        text = (SOURCES / f"runtime_{kind}.cc").read_text(encoding="utf-8")
        head = rf"^static C_Status {re.escape(function)}\("
        match = re.search(rf"{head}[^\n]*}}$|{head}.*?^}}$", text, re.MULTILINE | re.DOTALL)
        if match is None:
            raise SettingsError(f"runtime_{kind}.cc has no function {function!r}")
        columns.append(f"<td style='text-align:left;vertical-align:top'><pre>{html.escape(match[0])}</pre></td>")
    left = "<th style='text-align:left'>"
    return f"<table><tr>{left}simulated</th>{left}CUDA</th></tr><tr>{''.join(columns)}</tr></table>"


def _find(source: str | Path) -> Path:
    path = Path(source)
    places = [path, LAB / path, SOURCES / path]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise SettingsError(f"{source} is missing: name a C++ file, or one of {', '.join(_own_sources())}")
    return found


def _own_sources() -> list[str]:
    return sorted(path.name for folder in (LAB, SOURCES) for path in folder.glob("*.cc"))


def _reason(code: int, errors: str) -> str:
    """Say in a line why a process ended: by a signal, or with an error of Paddle or Python."""
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    lines = [line.strip() for line in errors.splitlines()]
    causes = [line for line in lines if re.match(r"\(\w+\) |\w*Error\b|[\w.]+Error: ", line)]
    return causes[-1] if causes else f"ended with code {code}"
