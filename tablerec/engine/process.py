"""One worker process, seen from ours: a hostile page ends it, not us."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

from tablerec.engine.child import MEMORY, Note
from tablerec.errors import PageFailedError, PageMemoryError, PageTimeoutError, TablerecError, WorkerLostError
from tablerec.processes import start_process


class WorkerProcess:
    """A process that answers one request at a time. Not for several threads at once.

    Args:
        target: What makes its handler, as ``module:function``.
        argument: What it is made of; it is pickled.
        threads: That numerical libraries may use there.
        gibibytes: Memory that it may take; None does not limit it. Counts on Linux.
    """

    def __init__(self, target: str, argument: Any, threads: int = 1, gibibytes: float | None = None) -> None:
        stderr = None if os.environ.get("TABLEREC_DEBUG") else subprocess.DEVNULL
        # A session of its own: Ctrl-C is for us, and it is ended with all that it started.
        self._process = start_process("tablerec.engine.child:main", threads, stderr, start_new_session=True)
        self._gibibytes = gibibytes
        self._is_late = False
        try:
            _, notes = self._exchange((target, argument, gibibytes), None)
        except TablerecError:
            self.close()
            raise
        self.notes: list[Note] = notes

    def ask(self, request: Any, seconds: float | None = None) -> tuple[Any, list[Note]]:
        """Send a request and wait for its answer, and for what was logged meanwhile.

        Raises:
            TablerecError: What the handler raised. Of ``PageFailedError``, those but the plain one end the process.
        """
        try:
            return self._exchange(request, seconds)
        except (WorkerLostError, PageTimeoutError, PageMemoryError):
            self.close()
            raise

    def _exchange(self, request: Any, seconds: float | None) -> tuple[Any, list[Note]]:
        timer = None if seconds is None else threading.Timer(seconds, self._stop_late)
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            pickle.dump(request, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()
            value, failure, notes = pickle.load(self._process.stdout)  # noqa: S301 - our own process
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
            if self._is_late:
                raise PageTimeoutError(
                    f"takes longer than {seconds:g} seconds; raise the limit, or cut out the table"
                ) from error
            raise self._lost() from error
        finally:
            if timer is not None:
                timer.cancel()
        if isinstance(failure, TablerecError):
            raise failure
        if failure is not None:
            kind, text = failure
            raise (
                self._too_large(text)
                if kind == MEMORY
                else PageFailedError(f"met a fault of tablerec ({text}); report it, TABLEREC_DEBUG=1 shows the place")
            )
        return value, notes

    def _lost(self) -> TablerecError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        code = self._process.returncode
        if self._gibibytes is not None and code in (-signal.SIGABRT, -signal.SIGSEGV):
            return self._too_large(f"ended with {code}")
        how = f"signal {-code}" if code is not None and code < 0 else f"code {code}"
        memory = ", maybe for lack of memory" if code == -getattr(signal, "SIGKILL", 9) else ""
        return WorkerLostError(f"was lost: its process ended with {how}{memory}; try it alone, or with fewer jobs")

    def _too_large(self, text: str) -> PageMemoryError:
        most = "there is" if self._gibibytes is None else f"the limit of {self._gibibytes:g} GiB"
        return PageMemoryError(f"takes more memory than {most} ({text}); raise the limit, or cut out the table")

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked again."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process, and those that it started."""
        self._kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what was still to be written has no reader
                stream.close()

    def _stop_late(self) -> None:
        self._is_late = True
        self._kill()

    def _kill(self) -> None:
        if self._process.poll() is None:
            if sys.platform == "win32":
                self._process.kill()
            else:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
