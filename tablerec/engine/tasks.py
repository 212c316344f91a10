"""What a worker is made of, and what is asked of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tablerec.config import Settings
from tablerec.result import Page

Finish = Callable[[str, Page], Page]
"""Does with a page of an input, of this name, what is left to do."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a process listens that runs networks for others.

    Args:
        name: A socket of the machine, or the name of a pipe.
        key: Shared by both sides.
    """

    name: str
    key: bytes


@dataclass(frozen=True, slots=True)
class Setup:
    """What a reader of pages is made of.

    Args:
        settings: What to use.
        networks: Who runs the networks; None has them opened by the worker itself.
    """

    settings: Settings
    networks: Address | None = None


@dataclass(frozen=True, slots=True)
class PageTask:
    """A page to read.

    Args:
        name: Of the input, for messages and results.
        source: Its path, or the bytes of the file.
        folder: That a relative path starts from.
        number: Of the page, counted from 1.
        password: See ``Settings``.
        keep_pixels: Whether the picture comes back; else only its shape does, in its place.
        settings: How it is read, where that is not as the worker was told; ``device`` does not count.
        encode: What the worker makes of the page, see ``Engine.submit_encoded``; None has it return the page.
        finish: Called by the worker with the name and the page; what it returns takes the place of the page.
    """

    name: str
    source: str | bytes
    folder: str
    number: int
    password: str | None = None
    keep_pixels: bool = False
    settings: Settings | None = None
    encode: Callable[[Page], Any] | None = None
    finish: Finish | None = None
