"""What decoding asks for: the attention of one new token in each row over a cache of fixed length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablerec.devices.cases.case import FLOATS, HALVES, Call, Case, n

_NAME = "masked_multihead_attention"
_TYPES = FLOATS + HALVES


def cases() -> Iterator[Case]:
    """Yield the cases."""
    # Batch, heads, heads of the cache, places, numbers of a head.
    small = ((3, 4, 2, 7, 8), (2, 3, 3, 1, 6), (0, 2, 1, 5, 8))
    for shape in (*small, (1, 6, 1, 40, 64), (2, 10, 2, 300, 128), (1, 2, 2, 70, 256)):
        batch, heads, kept, places, size = shape
        x, cache = n(batch, (heads + 2 * kept) * size), n(2, batch, kept, places, size)
        lengths = n(batch, 1, low=0, high=places, dtype="int32")
        call: Call = lambda p, x, cache, lengths: _attend(p, x, cache, lengths, None)  # noqa: E731
        yield Case(f"{_NAME} {shape}", (_NAME,), call, (x, cache, lengths), _TYPES, tolerance=2, half_tolerance=2)
    x, cache, mask = n(2, 8 * 64), n(2, 2, 2, 30, 64), n(2, 1, 1, 20, low=-5, high=5)
    for name, low, high in (("full", 29, 30), ("past the end", 30, 40), ("empty", 0, 1), ("below nought", -9, 0)):
        lengths = n(2, 1, low=low, high=high, dtype="int32")
        given = x, cache, lengths, mask
        yield Case(f"{_NAME}, masked, {name}", (_NAME,), _attend, given, _TYPES, tolerance=2, half_tolerance=2)


def _attend(p: Any, x: Any, cache: Any, lengths: Any, mask: Any) -> list[Any]:
    if p.device.get_device() != "cpu":
        found = p.incubate.nn.functional.masked_multihead_attention(x, cache, src_mask=mask, sequence_lengths=lengths)
        return list(found[:2])
    # A kernel of GPUs alone: on the CPU in single operators.
    _, batch, kept, places, size = cache.shape
    heads = x.shape[1] // size - 2 * kept
    query, key, value = x.reshape([batch, -1, size]).split([heads, kept, kept], 1)
    at = p.arange(places, dtype="int32").reshape([1, 1, -1, 1])
    last = lengths.clip(0, places - 1).reshape([-1, 1, 1, 1])
    cache = p.where(at == last, p.stack([key, value]).unsqueeze(3), cache)  # [2, batch, kept, places, size]
    scores = p.matmul(query.reshape([batch, kept, -1, size]), cache[0], transpose_y=True) / size**0.5
    if mask is not None:
        scores = scores + p.nn.functional.pad(mask, [0, places - mask.shape[-1]], value=0.0)
    hidden = p.full([], -1e9, scores.dtype)
    weights = p.nn.functional.softmax(p.where((at <= last).transpose([0, 1, 3, 2]), scores, hidden))
    return [p.matmul(weights, cache[1]).reshape([batch, heads * size]), cache]
