"""The child process: makes a handler, answers one request after another, and says what was logged meanwhile."""

from __future__ import annotations

import logging
import os
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from tablerec.errors import TablerecError
from tablerec.processes import give_back_memory

Note = tuple[str, int, str]
"""Logger, level and message; the level of a warning is 0."""

MEMORY, FAULT = "memory", "fault"
"""Kinds of failures besides errors of ours, which travel as they are."""

_BETWEEN_TRIMS = 4
"""Answers from one time to the next that unused memory is given back: it takes some milliseconds."""

_SECONDS_BETWEEN = 1.0
"""Between two looks at whether the process that asks is still there."""


def main() -> None:
    """Serve over standard input and output; whatever else is printed goes to standard error."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    threading.Thread(target=end_with_parent, args=[os.getppid()], daemon=True).start()
    serve(sys.stdin.buffer, answers)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until the other side is gone.

    The first one is ``(target, argument, gibibytes)``: ``target`` names as ``module:function`` what makes a handler of
    the argument. Each answer is ``(value, failure, notes)``, where a failure is an error of ours, or a kind and a text.
    Both sides are our own processes: what they unpickle comes from one another.
    """
    notes = collect_notes()
    try:
        target, argument, gibibytes = pickle.load(requests)  # noqa: S301 - see above
    except EOFError:
        return
    _limit_memory(gibibytes)
    handle: Callable[[Any], Any] | None = None
    module, name = target.split(":")
    request: Any = argument
    n_answers = 0
    run: Callable[[Any], Any] = lambda argument: getattr(import_module(module), name)(argument)  # noqa: E731
    while True:
        value, failure = _answer(run, request)
        if handle is None and failure is None:
            run, handle, value = value, value, None
        try:
            pickle.dump((value, failure, list(notes)), answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()
        except OSError:
            return
        notes.clear()
        value = None
        n_answers += 1
        if n_answers % _BETWEEN_TRIMS == 0:
            give_back_memory()
        if failure is not None and (handle is None or _is_memory(failure)):
            return  # what is left of the memory is not known: a new process takes over
        try:
            request = pickle.load(requests)  # noqa: S301 - see above
        except EOFError:
            return


def _answer(run: Callable[[Any], Any], request: Any) -> tuple[Any, Any]:
    try:
        return run(request), None
    except TablerecError as error:
        if isinstance(error.__cause__, MemoryError):
            return None, (MEMORY, str(error))
        return None, error.with_traceback(None)
    except MemoryError as error:
        return None, (MEMORY, str(error))
    except Exception as error:
        # What OpenCV and ONNX Runtime say where memory ends.
        text = f"{type(error).__name__}: {error}"
        ended = getattr(error, "code", None) == -4 or "bad_alloc" in text or "Failed to allocate" in text
        if os.environ.get("TABLEREC_DEBUG"):
            import traceback

            text = traceback.format_exc()
        return None, (MEMORY if ended else FAULT, text)


def _is_memory(failure: Any) -> bool:
    return isinstance(failure, tuple) and failure[0] == MEMORY


def collect_notes() -> list[Note]:
    """A list that grows by what is logged and warned of."""
    notes: list[Note] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            notes.append((record.name, record.levelno, record.getMessage()))

    logger = logging.getLogger("tablerec")
    logger.handlers, logger.propagate = [Collector()], False
    warnings.showwarning = lambda message, category, filename, *_: (
        notes.append(("", 0, str(message))) if category is UserWarning and "tablerec" in Path(filename).parts else None
    )
    return notes


def _limit_memory(gibibytes: float | None) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if gibibytes is None:
        return
    # Of what is written to, not of addresses, which ONNX Runtime and its threads take in plenty.
    n_bytes, hard = int(gibibytes * 2**30), resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft = n_bytes if hard == resource.RLIM_INFINITY else min(n_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def end_with_parent(parent: int) -> None:
    """End this process and those that it started when its parent was killed in the midst of a page."""
    import signal

    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN)
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
