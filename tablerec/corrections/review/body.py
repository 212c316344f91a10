"""The body of a request as a file that ends where the body ends."""

from __future__ import annotations

import io
from typing import BinaryIO

_CHUNK = 1 << 16


class Body(io.RawIOBase):
    """A file of so many bytes of a connection.

    Args:
        stream: The connection.
        length: Bytes of the body.

    >>> body = Body(io.BytesIO(b"abcdef"), 4)
    >>> body.read(3), body.read(), body.read()
    (b'abc', b'd', b'')
    """

    def __init__(self, stream: BinaryIO, length: int) -> None:
        self._stream, self._left = stream, length

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read some bytes.

        Raises:
            ConnectionError: The connection ends before the body does.
        """
        content = self._stream.read(min(len(buffer), self._left))
        if not content and buffer and self._left:
            raise ConnectionResetError("the body ends early")
        buffer[: len(content)] = content
        self._left -= len(content)
        return len(content)

    def skip(self) -> None:
        """Read what is left, for nobody."""
        while self.read(_CHUNK):
            pass
