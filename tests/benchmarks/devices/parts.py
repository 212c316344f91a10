"""What the scripts for a card share: each part in a process of its own, and its figures in a file of JSON lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file; none where it is not there, nor those that were cut when a part was stopped."""
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        try:
            yield json.loads(line)
        except ValueError:
            continue


def start_part(
    module: str, *arguments: object, seconds: float, python: str = sys.executable, **environment: str
) -> int | str:
    """Run a module with arguments; return its exit code, or why there is none."""
    try:
        return subprocess.run(
            [python, "-u", "-W", "ignore", "-m", module, *map(str, arguments)],
            env={**os.environ, "GLOG_minloglevel": "2", "PYTHONUNBUFFERED": "1", **environment},
            check=False,
            timeout=seconds,
        ).returncode
    except subprocess.TimeoutExpired:
        return f"none after {seconds:.0f} s"
