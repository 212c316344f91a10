"""Starts the ranks of a training with Paddle's launcher. Nothing here imports Paddle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tablerec.devices import parse_device
from tablerec.errors import TrainingError
from tablerec.settings_fields import to_json
from tablerec.training.ranks.meeting import FAILED
from tablerec.training.settings import TrainSettings

LOGS = "ranks"
"""In the output: what each rank printed."""
WEIGHTS = "weights.txt"
"""Beside it: where the first rank wrote the weights."""


_QUIET = {"GLOG_minloglevel": "1", "PYTHONWARNINGS": "ignore:No ccache found"}
"""Paddle speaks of each connection, and of a compiler that nobody needs."""
_PARENT = "TABLEREC_LAUNCHED_BY"


def is_launched() -> bool:
    """Whether ``paddle.distributed.launch`` has started this process beside others."""
    return int(os.environ.get("PADDLE_TRAINERS_NUM", "1")) > 1


def is_deserted() -> bool:
    """Whether the process that called ``launch_ranks`` has been killed."""
    parent = int(os.environ.get(_PARENT, "0"))
    if not parent or os.name != "posix":
        return False
    try:
        os.kill(parent, 0)
    except OSError:
        return True
    return False


def launch_ranks(settings: TrainSettings, report: Callable[[str], None], plugin: str | Path | None = None) -> Path:
    """Train with several ranks, each a process that runs ``tablerec train``; returns the file of weights.

    Args:
        settings: See ``TrainSettings``; written to ``ranks/settings.json`` in the output.
        report: Called with each line that the first rank prints.
        plugin: See ``tablerec.training.train``.

    Raises:
        TrainingError: A rank has failed; all have then ended.
    """
    folder = settings.output / LOGS
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "settings.json"
    path.write_text(to_json(settings), encoding="utf-8")
    launcher = subprocess.Popen(  # noqa: S603
        _command(settings, path, plugin),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env={**_QUIET, **os.environ, _PARENT: str(os.getpid())},
        start_new_session=True,  # Ctrl-C reaches this process alone, which passes it on once
    )
    with launcher, _passing_signals_on(launcher, report) as stopped:
        assert launcher.stdout is not None
        for line in launcher.stdout:
            if line.strip() and not line.startswith("LAUNCH"):
                report(line.rstrip())
    if launcher.returncode and not stopped:
        raise TrainingError(f"a process of this training has failed{_last_words(folder)}: see its messages in {folder}")
    if stopped:
        report(f"stopped; the same command goes on: {settings.output}")
    written = folder / WEIGHTS
    return Path(written.read_text(encoding="utf-8")) if written.is_file() else settings.output


def _last_words(folder: Path) -> str:
    """What the ranks said that failed first: the launcher shows one, which may be one that missed another."""
    found = []
    for path in sorted(folder.glob("workerlog.*")):
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        if "Error" in last and FAILED not in last:
            found.append(last)
    return f" ({'; '.join(dict.fromkeys(found))})" if found else ""


def _command(settings: TrainSettings, path: Path, plugin: str | Path | None) -> list[str]:
    ids = parse_device(settings.device).ids
    devices = ["--devices", ",".join(map(str, ids))] if ids else []
    launch = ["-m", "paddle.distributed.launch", "--log_level", "ERROR", "--log_overwrite", "True"]
    own = ["--nproc_per_node", str(settings.ranks), "--log_dir", str(path.parent), *devices]
    train = [sys.executable, "-m", "tablerec", "train", str(path), "--allow-import"]
    train += ["--plugin", str(plugin)] if plugin else []
    return [sys.executable, *launch, *own, *train]


@contextmanager
def _passing_signals_on(process: subprocess.Popen[str], report: Callable[[str], None]) -> Iterator[list[int]]:
    """Pass SIGINT and SIGTERM on to the launcher, which passes them on to the ranks; end it with this process."""
    received: list[int] = []

    def receive(number: int, frame: Any) -> None:
        received.append(number)
        report("stopping after this step; once more to stop at once")
        process.send_signal(signal.SIGTERM)

    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, receive) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if process.poll() is None:
            process.terminate()
