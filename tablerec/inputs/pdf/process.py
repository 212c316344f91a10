"""The process that draws PDF pages, seen from ours: a broken or hostile document ends it, not us.

PDFium takes all memory that a document asks for and aborts where there is none: see ``child``.
"""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import suppress
from typing import Any

from numpy.typing import NDArray

from tablerec.errors import MissingDependencyError
from tablerec.inputs.pdf.channel import receive, send
from tablerec.processes import start_process

_OPENING_SECONDS = 60.0
_MOST_IDLE = 2


class RenderError(Exception):
    """A document or page that cannot be drawn.

    Args:
        kind: ``password``, ``broken``, ``memory`` or ``time``.
        reason: What is known about it.
    """

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind, self.reason = kind, reason


class Renderer:
    """One child process. Not for several threads at a time."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._process = start_process("tablerec.inputs.pdf.child:main")
        self._late = False

    def ask(
        self, request: dict[str, Any], arrays: list[NDArray[Any]] | None = None, seconds: float = _OPENING_SECONDS
    ) -> tuple[dict[str, Any], list[NDArray[Any]]]:
        """Send a request and wait for its answer.

        Raises:
            RenderError: It failed, took too long, or ended the process.
        """
        timer = threading.Timer(seconds, self._stop_late)
        timer.start()
        try:
            send(self._process.stdin, request, arrays or ())
            answer, results = receive(self._process.stdout)
        except (EOFError, OSError, ValueError, MemoryError) as error:
            self.close()
            if self._late:
                raise RenderError("time", f"it takes longer than {seconds:g} seconds") from error
            raise RenderError("memory", f"the process that draws it ended with {self._process.returncode}") from error
        except BaseException:  # Ctrl-C: the answer to come is of no use to the next request
            self.close()
            raise
        finally:
            timer.cancel()
        if "error" in answer:
            raise RenderError(str(answer["error"]), str(answer.get("reason")))
        return answer, results

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked again."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self.close_streams()

    def close_streams(self) -> None:
        """Let go of the process without ending it."""
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what was still to be written has no reader
                stream.close()

    def _stop_late(self) -> None:
        self._late = True
        self._process.kill()


_idle: list[Renderer] = []
_lock = threading.Lock()


def take_renderer() -> Renderer:
    """A process that is not at work, or a new one."""
    try:
        import pypdfium2  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("PDF needs pypdfium2; run: pip install pypdfium2") from error
    with _lock:
        while _idle:
            renderer = _idle.pop()
            if renderer.pid != os.getpid():  # after a fork it belongs to the parent
                renderer.close_streams()
            elif renderer.is_alive:
                return renderer
            else:
                renderer.close()
    return Renderer()


def give_back(renderer: Renderer) -> None:
    """Keep a process for the next document, or end it; it lets go of the file of this one."""
    with suppress(RenderError):
        renderer.ask({"close": True})
    with _lock:
        if renderer.is_alive and len(_idle) < _MOST_IDLE:
            _idle.append(renderer)
            return
    renderer.close()


@atexit.register
def _close_idle() -> None:
    with _lock:
        while _idle:
            renderer = _idle.pop()
            if renderer.pid == os.getpid():
                renderer.close()
