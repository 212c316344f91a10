"""A command of tablerec in a process of its own: at low priority, and only as long as its parent lives."""

from __future__ import annotations

import _thread
import json
import os
import runpy
import sys
import threading

_NICENESS = 19


def main() -> None:
    """Run the command whose working folder and words stand in the first line of standard input, as JSON.

    Its end asks for a stop, as Ctrl-C does; a training leaves a checkpoint. It also comes when the parent is killed.
    """
    folder, words = json.loads(sys.stdin.buffer.readline())
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    sys.path[:] = [os.path.abspath(path) for path in sys.path]  # nothing is imported from the other folder
    os.chdir(folder)
    threading.Thread(target=_watch, daemon=True).start()
    sys.argv[:] = ["tablerec", *words]
    runpy.run_module("tablerec", run_name="__main__")


def _watch() -> None:
    # Not by ``sys.stdin``: Python's end would wait for its lock.
    while os.read(0, 1):
        pass
    _thread.interrupt_main()
