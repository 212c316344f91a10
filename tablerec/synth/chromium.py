"""One headless Chromium, driven over a pipe by the DevTools protocol.

The pipe needs no package and opens no port that others on the machine could use, and the
browser ends by itself when this process does, however that ends.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from types import TracebackType
from typing import Any

from tablerec.errors import MissingDependencyError, TablerecError

VARIABLE = "TABLEREC_BROWSER"
"""Environment variable that names the program, where it is none of ``NAMES``."""

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

_FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-lcd-text",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "about:blank",
)
# Chromium reads file 3 and writes file 4, which Popen cannot open. The shell can, and it
# removes the profile also where this process was killed.
_LAUNCH = '"$@" 3<&0 4>&1 </dev/null >&2; rm -rf -- "$0"'
_START_SECONDS = 60.0
_CLOSE_SECONDS = 3.0


class BrowserError(TablerecError, RuntimeError):
    """The browser did not start, ended, or did not answer in time."""


def find_browser() -> str:
    """Return the path of Chromium or Chrome.

    Raises:
        MissingDependencyError: There is none, or this is Windows, where the pipe does not exist.
    """
    if sys.platform == "win32":
        raise MissingDependencyError(
            "renderer browser: Chromium is driven over a pipe that Windows lacks; use Linux, macOS or WSL"
        )
    named = os.environ.get(VARIABLE)
    found = next(filter(None, map(shutil.which, [named] if named else NAMES)), None)
    if found is None:
        where = f"{VARIABLE} is {named!r}, which is no program" if named else "Chromium is not installed"
        raise MissingDependencyError(
            f"renderer browser: {where}; install it, such as with `apt install chromium`, "
            f"or name Chrome's program in {VARIABLE}"
        )
    return found


class Chromium:
    """A running browser with one empty page, without network.

    Args:
        program: Path of Chromium or Chrome; by default ``find_browser()``.
        timeout: Seconds that one answer may take.

    Raises:
        MissingDependencyError: There is no browser.
        BrowserError: It does not start; the message has its last words.
    """

    def __init__(self, program: str | None = None, timeout: float = 120) -> None:
        self.timeout = timeout
        self._program = program or find_browser()
        self._folder = tempfile.mkdtemp(prefix="tablerec-browser-")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the browser
        self._unread = bytearray()
        self._last_id = 0
        self._session: str | None = None
        # Chromium refuses to run as root with its sandbox; for others the sandbox stays.
        flags = (*_FLAGS, "--no-sandbox") if os.geteuid() == 0 else _FLAGS
        self._process = subprocess.Popen(  # noqa: S603 - a program that the user installed or named
            ["/bin/sh", "-c", _LAUNCH, self._folder, self._program, f"--user-data-dir={self._folder}", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C is for this process, which then ends the browser
        )
        atexit.register(self.close)
        try:
            self._open_page()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def version(self) -> str:
        """Name and version of the browser, such as ``Chrome/140.0.7339.16``."""
        return str(self.call("Browser.getVersion")["product"])

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Run a command of the DevTools protocol and return its result.

        Raises:
            BrowserError: The browser refuses it, does not answer in time, or has ended.
        """
        self._last_id += 1
        message: dict[str, Any] = {"id": self._last_id, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        deadline = time.monotonic() + self.timeout
        self._send(json.dumps(message).encode() + b"\0", deadline, method)
        while True:
            answer = json.loads(self._receive(deadline, method))
            # Events, and answers that an interrupted call left behind, are passed over.
            if answer.get("method") == "Inspector.targetCrashed":
                raise BrowserError(f"{self._program}: the page crashed in {method}{self._last_words()}")
            if answer.get("id") == self._last_id:
                if "error" in answer:
                    raise BrowserError(f"{self._program}: {method} failed: {answer['error'].get('message')}")
                return dict(answer.get("result", {}))

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page.

        Raises:
            BrowserError: As ``call``; also where the script throws.
        """
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            cause = details.get("exception", {}).get("description") or details.get("text")
            raise BrowserError(f"{self._program}: a script failed: {cause}")
        return answer["result"].get("value")

    def show(self, document: str) -> None:
        """Put a document of HTML in the page; it can load nothing from elsewhere."""
        self.call("Page.setDocumentContent", frameId=self._frame, html=document)

    def close(self) -> None:
        """End the browser and remove its files. May be called twice."""
        atexit.unregister(self.close)
        if self._process.poll() is None:
            with suppress(BrowserError, OSError, ValueError):
                self._session, self.timeout = None, _CLOSE_SECONDS
                self.call("Browser.close")
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_CLOSE_SECONDS)
        # Its helpers, or all of it where it did not listen.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _open_page(self) -> None:
        limit, self.timeout = self.timeout, max(self.timeout, _START_SECONDS)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Network.enable")
        self.call("Network.setBlockedURLs", urls=["*"])
        self._frame = self.call("Page.getFrameTree")["frameTree"]["frame"]["id"]
        self.timeout = limit

    def _send(self, data: bytes, deadline: float, method: str) -> None:
        assert self._process.stdin is not None
        pipe = self._process.stdin.fileno()
        os.set_blocking(pipe, False)
        rest = memoryview(data)
        try:
            while rest:
                self._wait(pipe, select.POLLOUT, deadline, method)
                with suppress(BlockingIOError):
                    rest = rest[os.write(pipe, rest) :]
        except BrokenPipeError as error:
            raise self._ended(method) from error
        finally:
            if rest:  # Half a message would spoil the next one.
                self.close()

    def _receive(self, deadline: float, method: str) -> bytes:
        """Return the next message."""
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        end = self._unread.find(0)
        while end < 0:
            self._wait(pipe, select.POLLIN, deadline, method)
            part = os.read(pipe, 1 << 20)
            if not part:
                raise self._ended(method)
            before = len(self._unread)
            self._unread += part
            end = self._unread.find(0, before)
        message = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return message

    def _wait(self, pipe: int, event: int, deadline: float, method: str) -> None:
        poll = select.poll()
        poll.register(pipe, event)
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(1000 * left):
            raise BrowserError(
                f"{self._program}: no answer to {method} in {self.timeout:g} s; draw fewer at a time, or try again"
            )

    def _ended(self, method: str) -> BrowserError:
        return BrowserError(f"{self._program}: ended in {method}{self._last_words()}; try it with --headless by hand")

    def _last_words(self) -> str:
        # Read in place: the browser writes where the file stands.
        written = os.fstat(self._errors.fileno()).st_size
        lines = os.pread(self._errors.fileno(), 4000, max(0, written - 4000)).decode("utf-8", "replace").split("\n")
        words = " / ".join(line.strip() for line in lines[-6:] if line.strip())
        return f" ({words[-600:]})" if words else ""
