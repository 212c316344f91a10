"""Messages between the process that draws pages and ours: one line of JSON, then the bytes of its arrays.

Nothing in a message is run or unpickled: the other side has read an untrusted document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

MAX_HEADER = 1 << 20
MAX_ARRAY = 1 << 33
"""Bytes; more is no message of ours."""


def send(stream: BinaryIO, header: Mapping[str, Any], arrays: Sequence[NDArray[Any]] = ()) -> None:
    """Write one message.

    Args:
        stream: The writing end of a pipe.
        header: What JSON can hold.
        arrays: Plain or structured arrays, which travel behind it.
    """
    described = [{"dtype": _describe(array.dtype), "shape": array.shape} for array in arrays]
    stream.write(json.dumps({**header, "arrays": described}).encode() + b"\n")
    for array in arrays:
        stream.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Read one message.

    Raises:
        EOFError: The other side is gone, or what came is no message.
    """
    line = stream.readline(MAX_HEADER)
    try:
        header = json.loads(line)
        described = header.pop("arrays")
        return header, [_receive_array(stream, each["dtype"], each["shape"]) for each in described]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise EOFError("no message") from error


def _describe(dtype: np.dtype[Any]) -> Any:
    return dtype.descr if dtype.names else dtype.str


def _receive_array(stream: BinaryIO, description: Any, shape: Sequence[int]) -> NDArray[Any]:
    fields = [tuple(field) for field in description] if isinstance(description, list) else description
    dtype = np.dtype(
        [(name, kind, *map(tuple, size)) for name, kind, *size in fields] if isinstance(fields, list) else fields
    )
    if dtype.hasobject or any(not isinstance(side, int) or side < 0 for side in shape):
        raise EOFError("no array")
    n_bytes = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if n_bytes > MAX_ARRAY:
        raise EOFError("too large an array")
    array = np.empty(shape, dtype)
    if n_bytes and stream.readinto(array.reshape(-1).data.cast("B")) != n_bytes:  # type: ignore[attr-defined]
        raise EOFError("the other side ended within an array")
    return array
