"""Two checkouts of the project side by side: a process for each, which answers line by line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


class Checkout:
    """A process that answers for one checkout: a line of JSON for each line that it is sent.

    Args:
        folder: The checkout, which is on the process's path.
        script: What it runs; it may import nothing that the other checkout lacks.
        arguments: Of the script.
        environment: Variables besides.
    """

    def __init__(self, folder: Path, script: str, *arguments: str, **environment: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, script, *arguments],
            cwd=folder,
            env={**os.environ, **environment, "PYTHONPATH": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, line: str) -> Any:
        """Send a line, and return what comes back."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()
