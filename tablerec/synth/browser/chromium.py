"""One headless Chromium, driven by Playwright."""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import sys
from collections.abc import Coroutine
from concurrent.futures import TimeoutError
from contextlib import AsyncExitStack, suppress
from threading import Thread
from typing import Any, TypeVar

from tablerec.errors import MissingDependencyError, TablerecError

Result = TypeVar("Result")

VARIABLE = "TABLEREC_BROWSER"
"""Environment variable that names the program, where it is none of ``NAMES``."""

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

_FLAGS = ["--disable-gpu", "--disable-lcd-text", "--host-resolver-rules=MAP * ~NOTFOUND"]
_CLOSE_SECONDS = 10.0


class BrowserError(TablerecError, RuntimeError):
    """The browser did not start, ended, or did not answer in time."""


def find_browser() -> str:
    """Return the path of Chromium or Chrome.

    Raises:
        MissingDependencyError: There is none.
    """
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
    """A running browser with one empty page, without network; it ends with this process, however that ends.

    Args:
        program: Path of Chromium or Chrome; by default ``find_browser()``.
        timeout: Seconds that the start, and one answer, may take.

    Raises:
        MissingDependencyError: Playwright or the browser is not installed.
        BrowserError: The browser does not start; the message has its last words.
    """

    def __init__(self, program: str | None = None, timeout: float = 120) -> None:
        try:
            from playwright.async_api import async_playwright
        except ImportError as error:
            message = 'renderer browser needs Playwright: pip install "tablerec[browser]"'
            raise MissingDependencyError(message) from error
        self.timeout = timeout
        self._program = program or find_browser()
        # A loop in a thread of its own works from any thread, and in notebooks, where the main thread runs another.
        self._loop = asyncio.new_event_loop()
        # By default, what a killed browser leaves unanswered is printed; the caller has its BrowserError.
        self._loop.set_exception_handler(lambda loop, context: None)
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._running = AsyncExitStack()
        atexit.register(self.close)
        try:
            self._run(self._open_page(async_playwright()))
        except BaseException:
            self.close()
            raise

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Run a command of the DevTools protocol and return its result.

        Raises:
            BrowserError: The browser refuses it, does not answer in time, or has ended.
        """
        return self._run(self._session.send(method, params))

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page.

        Raises:
            BrowserError: As ``call``; also where the script throws.
        """
        return self._run(self._page.evaluate(expression))

    def show(self, document: str) -> None:
        """Put a document of HTML in the page; it can load nothing from elsewhere.

        Raises:
            BrowserError: As ``call``.
        """
        self._run(self._page.set_content(document))

    def close(self) -> None:
        """End the browser and remove its files. May be called twice."""
        atexit.unregister(self.close)
        if self._thread.is_alive():  # It is not in a forked process.
            self.timeout = _CLOSE_SECONDS
            with suppress(BrowserError):
                self._run(self._running.aclose())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        from playwright.async_api import Error

        answer = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return answer.result(self.timeout)
        except TimeoutError as error:
            advice = "draw fewer at a time, or try again"
            raise BrowserError(f"{self._program}: no answer in {self.timeout:g} s; {advice}") from error
        except Error as error:
            raise BrowserError(f"{self._program}: {_last_words(error.message)}") from error
        finally:
            answer.cancel()

    async def _open_page(self, context: Any) -> None:
        playwright = await self._running.enter_async_context(context)
        # Chromium refuses to run as root with its sandbox; for others the sandbox stays.
        sandbox = sys.platform == "win32" or os.geteuid() != 0
        browser = await playwright.chromium.launch(executable_path=self._program, args=_FLAGS, chromium_sandbox=sandbox)
        self._page = await browser.new_page(no_viewport=True, offline=True)
        self._page.set_default_timeout(1000 * self.timeout)
        self._session = await self._page.context.new_cdp_session(self._page)


def _last_words(message: str) -> str:
    """Return what went wrong, and the last lines that the browser wrote, without its long command line."""
    lines = message.partition("Call log:")[0].splitlines()
    said = [line for line in lines if line and not line.startswith("<laun")]
    return " / ".join([*said[:1], *said[1:][-6:]])
