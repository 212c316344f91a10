"""The body of a request as a file that ends where the body ends."""

from __future__ import annotations

from typing import Protocol

_CHUNK = 1 << 16


class Readable(Protocol):
    """What can be read like a file."""

    def read(self, size: int = -1, /) -> bytes:
        """Read so many bytes, or fewer; all that are left where it is negative."""


class Body:
    """A file of so many bytes of a connection.

    Args:
        stream: The connection.
        length: Bytes of the body.

    >>> import io
    >>> body = Body(io.BytesIO(b"abcdef"), 4)
    >>> body.read(3), body.read(), body.read()
    (b'abc', b'd', b'')
    """

    def __init__(self, stream: Readable, length: int) -> None:
        self._stream, self._left = stream, length

    def read(self, size: int = -1, /) -> bytes:
        """Read so many bytes, or fewer; all that are left where it is negative.

        Raises:
            ConnectionError: The connection ends before the body does.
        """
        wanted = self._left if size < 0 else min(size, self._left)
        content = self._stream.read(wanted)
        if not content and wanted:
            raise ConnectionResetError("the body ends early")
        self._left -= len(content)
        return content

    def skip(self) -> None:
        """Read what is left, for nobody."""
        while self.read(_CHUNK):
            pass
