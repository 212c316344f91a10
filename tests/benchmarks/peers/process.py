"""A program in another Python that answers jobs, one JSON line each; it may crash, hang, or not be installed."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

START_LIMIT = 300.0
"""Seconds to import a package and load its models."""


class NotInstalledError(Exception):
    """The environment or the package is not there."""


class Adapter:
    """Runs an adapter and starts it again after a crash.

    Args:
        command: Python and script.
        env: Environment variables.
        log: File for what the program prints.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        self.command, self.env, self.log = list(command), dict(env), log
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()

    def start(self) -> dict[str, str]:
        """Start the program and return the versions that it tells.

        Raises:
            NotInstalledError: It cannot be started, or lacks a package.
        """
        self.close()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self.log.open("a", encoding="utf-8") as log:
                self._process = subprocess.Popen(
                    self.command, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
                )
        except OSError as error:
            raise NotInstalledError(f"{self.command[0]}: {error.strerror}") from error
        self._lines = queue.Queue()
        threading.Thread(target=_pass_on, args=(self._process, self._lines), daemon=True).start()
        hello = self._next(START_LIMIT)
        if "versions" not in hello:
            self.close()
            raise NotInstalledError(hello.get("missing") or hello["error"])
        return hello["versions"]

    def ask(self, job: Mapping[str, Any], limit: float) -> dict[str, Any]:
        """Return the answer to a job, or ``error``: its own, a crash, or more than ``limit`` seconds."""
        if self._process is None:
            self.start()
        assert self._process is not None and self._process.stdin is not None
        with suppress(OSError):  # it is dead, as the missing answer will tell
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
        return self._next(limit)

    def close(self) -> None:
        """End the program."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdin is not None
            with suppress(OSError):  # what could not be written, a dead program does not need
                self._process.stdin.close()
            self._process = None

    def _next(self, limit: float) -> dict[str, Any]:
        assert self._process is not None
        try:
            line = self._lines.get(timeout=limit)
        except queue.Empty:
            self.close()
            return {"error": f"took longer than {limit:g} s"}
        if line is not None:
            return json.loads(line)
        code = self._process.wait()
        self.close()
        return {"error": f"crashed (exit code {code}); {self.log} has what it printed"}


def _pass_on(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put(None)
