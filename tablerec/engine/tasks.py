"""What is asked of a worker."""

from __future__ import annotations

from dataclasses import dataclass


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
    """

    name: str
    source: str | bytes
    folder: str
    number: int
    password: str | None = None
    keep_pixels: bool = False
