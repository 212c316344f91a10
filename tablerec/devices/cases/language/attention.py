"""Attention: dense, of packed sequences, with FlashMask's ranges, and version 3 with FP8.

Paddle has these kernels for GPUs alone; the CPU computes the same by single operators, scores and all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tablerec.devices.cases.case import HALVES, Call, Case, Input, n

_TYPES = ("float32", *HALVES)
_SHAPES = {  # batch, steps of queries, of keys, heads of queries, of keys, size
    "": (2, 5, 5, 4, 4, 16),
    "grouped heads": (2, 6, 6, 6, 2, 8),
    "one head of keys, odd lengths": (1, 37, 37, 4, 1, 24),
    "more than a tile": (1, 150, 150, 2, 1, 8),
    "fewer queries than keys": (2, 3, 7, 4, 2, 8),
    "more queries than keys": (2, 7, 3, 4, 2, 8),
    "heads of 64": (1, 70, 70, 2, 2, 64),
    "heads of 128": (1, 9, 130, 2, 1, 128),
    "no batch": (0, 4, 4, 2, 2, 8),
    "no queries": (2, 0, 4, 2, 2, 8),
}
_NO_DROPOUT = (False, False, "")  # no softmax wanted, in training, Paddle's own generator


def cases() -> Iterator[Case]:
    """Yield the cases."""
    yield from _dense()
    yield from _packed()
    yield from _flash_mask()
    yield from _third()


def _inputs(shape: tuple[int, ...]) -> tuple[Input, Input, Input]:
    batch, queries, keys, heads, kv_heads, size = shape
    return n(batch, queries, heads, size), n(batch, keys, kv_heads, size), n(batch, keys, kv_heads, size)


def _case(name: str, operator: str, call: Call, inputs: tuple[Input, ...]) -> Case:
    return Case(name, (operator, f"{operator}_grad"), call, inputs, _TYPES, True, 4, 4)


def _dense() -> Iterator[Case]:
    for what, shape in _SHAPES.items():
        for causal in (False, True):
            call: Call = lambda p, q, k, v, c=causal: _flash_attn(p, q, k, v, None, c)  # noqa: E731
            yield _case(f"flash_attn {what}{', causal' * causal}", "flash_attn", call, _inputs(shape))
    masked: Call = lambda p, q, k, v, m: _flash_attn(p, q, k, v, m.detach(), False)  # noqa: E731
    both: Call = lambda p, q, k, v, m: _flash_attn(p, q, k, v, m.detach(), True)  # noqa: E731
    shape = _SHAPES["grouped heads"]
    for mask in ((2, 6, 6, 6), (2, 1, 6, 6), (1, 6, 6, 6), (1, 1, 1, 6)):
        yield _case(f"flash_attn masked by {mask}", "flash_attn", masked, (*_inputs(shape), n(*mask)))
    yield _case("flash_attn masked and causal", "flash_attn", both, (*_inputs(shape), n(2, 1, 6, 6)))
    steep = (n(1, 40, 2, 8, low=-30, high=30), n(1, 40, 2, 8, low=-30, high=30), n(1, 40, 2, 8))
    plain: Call = lambda p, q, k, v: _flash_attn(p, q, k, v, None, True)  # noqa: E731
    yield Case("flash_attn, steep", ("flash_attn",), plain, steep, _TYPES, False, 16, 4)
    sums: Call = lambda p, q, k, v: _flash_attn(p, q, k, v, None, True, 1)  # noqa: E731
    yield Case("flash_attn log-sums", ("flash_attn",), sums, _inputs((2, 9, 9, 4, 2, 16)), _TYPES, False, 4)


def _flash_attn(p: Any, q: Any, k: Any, v: Any, mask: Any, causal: bool, result: int = 0) -> Any:
    if p.device.get_device() == "cpu":
        return _attend(p, q, k, v, _below(q.shape[1], k.shape[1], causal), mask)[result]
    return p._C_ops.flash_attn(q, k, v, None, mask, 0.0, causal, *_NO_DROPOUT)[2 * result]


def _packed() -> Iterator[Case]:
    ends = {"": ([0, 3, 10, 11], [0, 5, 12, 13]), "an empty sequence": ([0, 4, 4, 9], [0, 3, 5, 13])}
    for what, (q_ends, k_ends) in ends.items():
        for causal in (False, True):
            call: Call = lambda p, q, k, v, e=(q_ends, k_ends, causal): _flash_attn_unpadded(p, q, k, v, e)  # noqa: E731
            rows = (n(q_ends[-1], 4, 16), n(k_ends[-1], 2, 16), n(k_ends[-1], 2, 16))
            yield _case(f"flash_attn_unpadded {what}{', causal' * causal}", "flash_attn_unpadded", call, rows)
    no_rows: Call = lambda p, q, k, v: _flash_attn_unpadded(p, q, k, v, ([0, 0], [0, 0], True))  # noqa: E731
    yield _case("flash_attn_unpadded of nothing", "flash_attn_unpadded", no_rows, (n(0, 2, 8), n(0, 2, 8), n(0, 2, 8)))


def _flash_attn_unpadded(p: Any, q: Any, k: Any, v: Any, how: tuple[list[int], list[int], bool]) -> Any:
    q_ends, k_ends, causal = how
    if p.device.get_device() == "cpu":
        parts = []
        for i in range(len(q_ends) - 1):
            queries, keys = slice(q_ends[i], q_ends[i + 1]), slice(k_ends[i], k_ends[i + 1])
            seen = _below(q_ends[i + 1] - q_ends[i], k_ends[i + 1] - k_ends[i], causal)
            sequence = q[queries].unsqueeze(0), k[keys].unsqueeze(0), v[keys].unsqueeze(0)
            parts.append(_attend(p, sequence[0], sequence[1], sequence[2], seen, None, 0.3)[0][0])
        return p.concat(parts)
    starts = (p.to_tensor(ends, dtype="int32") for ends in (q_ends, k_ends))
    longest = (max(int(steps) for steps in np.diff(ends)) for ends in (q_ends, k_ends))
    return p._C_ops.flash_attn_unpadded(q, k, v, *starts, None, None, *longest, 0.3, 0.0, causal, *_NO_DROPOUT)[0]


def _flash_mask() -> Iterator[Case]:
    shape = _SHAPES["grouped heads"]
    keys = shape[2]
    for causal, numbers in ((True, 1), (True, 2), (False, 2), (False, 4)):
        for heads in (1, shape[4], shape[3]):
            rows = n(2, heads, keys, numbers, low=0, high=keys + 1, dtype="int32")
            call: Call = lambda p, q, k, v, r, c=causal: _flashmask_attention(p, q, k, v, r, c)  # noqa: E731
            name = f"flashmask_attention {numbers} of {heads}{', causal' * causal}"
            yield _case(name, "flashmask_attention", call, (*_inputs(shape), rows))


def _flashmask_attention(p: Any, q: Any, k: Any, v: Any, rows: Any, causal: bool) -> Any:
    if p.device.get_device() == "cpu":
        numbers = np.repeat(rows.numpy(), q.shape[2] // rows.shape[1], axis=1)[
            :, :, None
        ]  # [batch, heads, 1, keys, ...]
        i = np.arange(q.shape[1])[:, None]
        if numbers.shape[-1] == 1:
            hidden = i >= numbers[..., 0]
        elif numbers.shape[-1] == 4:
            hidden = ((i >= numbers[..., 0]) & (i < numbers[..., 1])) | ((i >= numbers[..., 2]) & (i < numbers[..., 3]))
        elif causal:
            hidden = (i >= numbers[..., 0]) & (i < numbers[..., 1])
        else:
            hidden = (i >= numbers[..., 0]) | (i < numbers[..., 1])
        return _attend(p, q, k, v, _below(q.shape[1], k.shape[1], causal) & ~hidden, None)[0]
    return p._C_ops.flashmask_attention(q, k, v, rows, None, 0.0, causal, *_NO_DROPOUT)[0]


def _third() -> Iterator[Case]:
    name = "flash_attn_v3"
    for what, shape in _SHAPES.items():
        for causal, window in ((False, (-1, -1)), (True, (-1, -1)), (False, (2, 1))):
            call: Call = lambda p, q, k, v, c=causal, w=window: _flash_attn_v3(p, q, k, v, c, w)  # noqa: E731
            how = f"{', causal' * causal}{', a window' * (window[0] > 0)}"
            yield _case(f"{name} {what}{how}", name, call, _inputs(shape))
    for descaled in (False, True):
        for causal in (False, True):
            call = lambda p, q, k, v, d, c=causal, a=descaled: _in_fp8(p, q, k, v, d if a else None, c)  # noqa: E731
            scales = n(3, 2, 2, low=0.5, high=2, dtype="float32")
            inputs = (n(2, 20, 4, 16), n(2, 33, 2, 16), n(2, 33, 2, 16), scales)
            fp8 = f"{name} in FP8{', descaled' * descaled}{', causal' * causal}"
            # A card's output is FP8 before it is bfloat16: half a sixteenth apart, and its weights are rounded to FP8.
            yield Case(fp8, (name,), call, inputs, ("float8_e4m3fn",), tolerance=6)


def _flash_attn_v3(p: Any, q: Any, k: Any, v: Any, causal: bool, window: tuple[int, int]) -> Any:
    if p.device.get_device() == "cpu":
        seen = _near(q.shape[1], k.shape[1], window[0], 0 if causal else window[1])
        return _attend(p, q, k, v, seen, None, 0.3)[0]
    return _third_operator(p, q, k, v, (None, None, None), causal, window)


def _third_operator(
    p: Any, q: Any, k: Any, v: Any, descales: tuple[Any, Any, Any], causal: bool, window: tuple[int, int]
) -> Any:
    return p._C_ops.flash_attn_v3(q, k, v, None, *descales, 0.3, causal, *window, 0.0, 1, False, False, 0)[0]


def _in_fp8(p: Any, q: Any, k: Any, v: Any, scales: Any, causal: bool) -> Any:
    """Attend to numbers of one byte, on the CPU to the same numbers in float32; the result is bfloat16."""
    if p.device.get_device() != "cpu":
        descales = (None, None, None) if scales is None else (scales[0], scales[1], scales[2])
        return _third_operator(p, q, k, v, descales, causal, (-1, -1))
    if scales is not None:
        q_scales, k_scales, v_scales = (scales[i][:, None, :, None] for i in range(3))
        q = q * q_scales.repeat_interleave(q.shape[2] // k.shape[2], 2)
        k, v = k * k_scales, v * v_scales
    return _attend(p, q, k, v, _near(q.shape[1], k.shape[1], -1, 0 if causal else -1), None, 0.3)[0]


def _below(queries: int, keys: int, causal: bool) -> np.ndarray:
    """Return which keys each query sees: all, or none that is later, counted from the first of both."""
    seen: np.ndarray = np.tri(queries, keys, dtype=bool) if causal else np.ones((queries, keys), bool)
    return seen


def _near(queries: int, keys: int, left: int, right: int) -> np.ndarray:
    """Return which keys each query sees in a window, where the last query and the last key meet; -1 is no bound."""
    apart = np.arange(keys)[None, :] - np.arange(queries)[:, None] - (keys - queries)
    seen: np.ndarray = (apart >= (-left if left >= 0 else -apart.size)) & (
        apart <= (right if right >= 0 else apart.size)
    )
    return seen


def _attend(p: Any, q: Any, k: Any, v: Any, seen: np.ndarray, mask: Any, scale: float | None = None) -> tuple[Any, Any]:
    """Attend by single operators; return the output, zeros where nothing is seen, and the log-sums."""
    if q.size == 0:
        return q + (k.sum() + v.sum()) * 0.0, q.sum(-1).transpose([0, 2, 1])
    group = q.shape[2] // k.shape[2]
    k, v = (x.repeat_interleave(group, 2) if group > 1 else x for x in (k, v))
    q, k, v = (x.transpose([0, 2, 1, 3]) for x in (q, k, v))
    scores = p.matmul(q, k, transpose_y=True) * (q.shape[3] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores + mask
    seen_too = p.to_tensor(np.broadcast_to(seen, scores.shape).copy())
    scores = p.where(seen_too, scores, p.full_like(scores, -1e30))
    weights = p.nn.functional.softmax(scores) * seen_too.astype(scores.dtype)
    return p.matmul(weights, v).transpose([0, 2, 1, 3]), p.logsumexp(scores, -1)
