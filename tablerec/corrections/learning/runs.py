"""The steps of a run, each a command of tablerec in a process of its own at low priority."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tablerec.errors import TablerecError
from tablerec.processes import start_process

Report = Callable[[str], None]
"""Called with each line that a command prints."""
RunCommand = Callable[[Sequence[str], Path, Report, threading.Event], bool]
"""Words, working folder, report, whether to stop -> whether it came to its end."""

_PROGRESS = re.compile(r"step (\d+) .* left ([\d.]+) min")
_FINISHED = "finished: "
_POLL = 0.2
_LAST_LINES = 4


def run_command(words: Sequence[str], folder: Path, report: Report, stop: threading.Event) -> bool:
    """Run ``tablerec WORDS`` until it ends or is stopped.

    Args:
        words: Of the command.
        folder: Where it works.
        report: Called with each line of its output.
        stop: Ends it, as Ctrl-C does.

    Returns:
        Whether it ended by itself.

    Raises:
        TablerecError: It failed; the message is its last line of errors.
    """
    errors: list[str] = []
    with start_process("tablerec.corrections.learning.process:main", stderr=subprocess.PIPE) as process:
        streams = ((process.stdout, report), (process.stderr, errors.append))
        readers = [threading.Thread(target=_read_lines, args=each, daemon=True) for each in streams]
        for reader in readers:
            reader.start()
        with suppress(OSError):  # it failed at once, and says why
            process.stdin.write(json.dumps([str(folder.absolute()), list(words)]).encode() + b"\n")
            process.stdin.flush()
        while process.poll() is None:
            if stop.wait(_POLL):
                break
        with suppress(OSError):
            process.stdin.close()
        for reader in readers:
            reader.join()
    if stop.is_set():
        return False
    if process.returncode:
        said = [line for line in errors if line.strip()][-_LAST_LINES:]
        raise TablerecError(said[-1].removeprefix("Error: ") if said else f"tablerec {words[0]} ended without a word")
    return True


def _read_lines(stream: Any, report: Report) -> None:
    for line in stream:
        report(line.decode("utf-8", "replace").rstrip())


def step_and_minutes_left(line: str) -> tuple[int, float] | None:
    """What a line of a training says.

    >>> step_and_minutes_left("step 10 total 1.2 lr 0.0005 1.1 images/s left 9.5 min")
    (10, 9.5)
    >>> step_and_minutes_left("step 0 validation f1_60 0.9") is None
    True
    """
    found = _PROGRESS.match(line)
    return (int(found[1]), float(found[2])) if found else None


def is_finished(line: str) -> bool:
    """Whether a line says that the training came to its end."""
    return line.startswith(_FINISHED)
