"""Standard input, output and error of the command line, which may be closed, full, or a terminal that obeys texts."""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from tablerec.errors import OutputError

# Sequences of our own and of progress bars come first: a color, the rest of a line cleared, the cursor hidden.
_CONTROLS = re.compile(
    "(\x1b\\[[0-9;]*[mK]|\x1b\\[\\?25[hl])|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


class StandardOutputError(OutputError):
    """Standard output takes nothing: every other line would meet this as well."""


def escape_controls(text: str) -> str:
    r"""Return a text in which nothing commands a terminal, or turns its lines around, but colors and cleared lines.

    >>> print(escape_controls("a\x1b]0;title\x07b\u202e"))
    a\x1b]0;title\x07b\u202e
    """
    return _CONTROLS.sub(lambda match: match[1] or match[0].encode("unicode_escape").decode("ascii"), text)


class _Output(io.BufferedWriter):
    """Standard output: the first write that fails is told, and what comes after it goes nowhere."""

    _failed = False

    # Not in the raw file: Ctrl-C in a method of ours there makes this one write the same again.
    def write(self, content: Any, /) -> int:
        if self._failed:
            return len(content)
        with self._telling():
            super().write(content)
        return len(content)

    def flush(self) -> None:
        if not self._failed:
            with self._telling():
                super().flush()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._failed = True
            if isinstance(error, BrokenPipeError):  # its reader has seen enough
                raise
            reason = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise StandardOutputError(
                f"standard output: cannot be written ({reason}); send it to a file or a program that takes it"
            ) from error


class _Messages(_Output):
    """Standard error: where no message can be shown, the exit code is left to tell."""

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self._failed = True


class _Lines(io.TextIOWrapper):
    def write(self, text: str, /) -> int:
        return super().write(escape_controls(text))


def guard_streams() -> None:
    """Make the standard streams fit for any text and any state; to be called once, by the program.

    What a terminal cannot show is escaped, commands to it too. A closed stream is opened so that its use fails: its
    number would go to the next file that is opened, which would then get what libraries print. A write to standard
    output that fails raises ``StandardOutputError``, or ``BrokenPipeError``; to standard error it is no matter.
    """
    if sys.stdin is None:
        closed = io.FileIO(os.open(os.devnull, os.O_WRONLY))
        closed.name = "<stdin>"
        sys.stdin = io.TextIOWrapper(io.BufferedReader(closed))
    sys.stdout = _guard(sys.stdout, "<stdout>", _Output, os.O_RDONLY)
    sys.stderr = _guard(sys.stderr, "<stderr>", _Messages, os.O_WRONLY)


def _guard(stream: TextIO | None, name: str, kind: type[_Output], mode: int) -> TextIO:
    try:
        number = os.open(os.devnull, mode) if stream is None else stream.fileno()
    except OSError:  # a stream of a test, or of a notebook
        number = -1
    if stream is not None and (number < 0 or (os.name == "nt" and stream.isatty())):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
        return stream
    encoding = "utf-8" if stream is None or codecs.lookup(stream.encoding).name == "ascii" else stream.encoding
    lines = stream is None or bool(getattr(stream, "line_buffering", True))
    if stream is not None:
        stream.flush()
    raw = io.FileIO(number, "wb", closefd=False)
    raw.name = name
    return _Lines(kind(raw), encoding, "backslashreplace", line_buffering=lines)
