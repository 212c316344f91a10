"""The operators that language models ask for, at the shapes of a decoder of a billion parameters and its experts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablerec.devices.bench.workloads import FULL, Given, Scale, Workload

EXPERTS, CHOICES = 64, 6


def language_workloads(scale: Scale = FULL) -> Iterator[Workload]:
    """Yield what is measured."""
    tokens, width, classes = scale.language
    yield from _of_heads(tokens, width, classes)
    yield from _of_experts(tokens, width)
    yield _of_attention(tokens)
    yield from _of_weights(tokens, width, classes // 32 * 32)
    rows, out = Given((tokens, width)), Given((width, width))
    yield Workload(
        f"fused_gemm_epilogue {tokens}x{width}x{width}",
        lambda p, x, y, b: p.incubate.nn.functional.fused_linear(x, y, b),
        (rows, out, Given((width,))),
        2.0 * tokens * width * width,
    )
    heads, places = 16, max(tokens // 8, 1)
    side = Given((4, places, heads, max(width // heads, 1)))
    yield Workload(
        f"einsum bqhd,bkhd->bhqk 4x{places}x{heads}x{side.shape[3]}",
        lambda p, x, y: p.einsum("bqhd,bkhd->bhqk", x, y),
        (side, side),
        2.0 * 4 * heads * places * places * side.shape[3],
    )
    for name in ("float8_e4m3fn", "float8_e5m2"):
        yield Workload(
            f"cast to {name} {tokens}x{width}", lambda p, x, name=name: x.astype(name), (rows,), gradient=False
        )


def _of_weights(tokens: int, width: int, classes: int) -> Iterator[Workload]:
    """Yield products with weights of 8 and 4 bits: of few rows, bound by reading the weight, and of many."""
    for bits, group in ((8, -1), (4, -1), (4, 64)):
        for rows, outputs in ((1, classes), (8, classes), (tokens, width)):
            groups = [-(-width // group)] if group > 0 else []

            def product(p: Any, x: Any, codes: Any, scales: Any, bits: int = bits, group: int = group) -> Any:
                return p.nn.quant.weight_only_linear(x, codes, None, scales, f"int{bits}", 90, group)

            yield Workload(
                f"weight_only_linear int{bits} groups of {group} {rows}x{width}x{outputs}",
                product,
                (Given((rows, width)), Given((outputs * bits // 8, width), "int8", 100), Given((*groups, outputs))),
                2.0 * rows * width * outputs,
                gradient=group == -1 and rows == tokens,
            )


def _of_heads(tokens: int, width: int, classes: int) -> Iterator[Workload]:
    yield Workload(
        f"cross_entropy {tokens}x{classes}",
        lambda p, x, t: p.nn.functional.softmax_with_cross_entropy(x, t, return_softmax=True),
        (Given((tokens, classes)), Given((tokens, 1), "int64", classes)),
        reads_inputs=False,
    )
    for rows in (1, 32):
        for mode in ("truncated", "non-truncated"):
            yield Workload(
                f"top_p_sampling {rows}x{classes} {mode}",
                lambda p, x, ps, mode=mode: p.tensor.top_p_sampling(x / x.shape[1], ps, mode=mode),
                (Given((rows, classes)), Given((rows,))),
                gradient=False,
            )


def _of_attention(tokens: int) -> Workload:
    """Return causal attention with grouped heads of 128; in float32 the device has plain loops alone."""
    batch, heads, kv_heads, size = 4, 16, 8, 128
    steps = max(tokens // batch, 1)
    queries, keys = (Given((batch, steps, h, size)) for h in (heads, kv_heads))
    return Workload(
        f"flash_attn, causal {batch}x{steps}x{heads}x{size}",
        lambda p, q, k, v: p._C_ops.flash_attn(q, k, v, None, None, 0.0, True, False, False, "")[0],
        (queries, keys, keys),
        2.0 * batch * heads * steps * steps * size,
    )


def _of_experts(tokens: int, width: int) -> Iterator[Workload]:
    experts, k = EXPERTS, CHOICES
    capacity = max(2 * tokens * k // experts, 1)
    rows, chances = Given((tokens, width)), Given((tokens, experts), "float32")
    what = f"{tokens}x{width}, {k} of {experts}"
    yield Workload(
        f"moe_gate_dispatch {what}",
        lambda p, x, c: p.incubate.nn.functional.moe_gate_dispatch(x, c, None, k, capacity, True)[:2],
        (rows, chances),
        reads_inputs=False,
    )
    yield Workload(
        f"moe_gate_dispatch_partial_nosoftmaxtopk {what}",
        lambda p, x, w, e: p.incubate.nn.functional.moe_gate_dispatch_partial_nosoftmaxtopk(
            x, w, e, k, capacity, experts, True, 0, experts, False
        )[:2],
        (rows, Given((tokens, k), "float32"), Given((tokens, k), "int32", experts)),
        reads_inputs=False,
    )
    yield Workload(
        f"moe_combine {what}",
        lambda p, x, w, at: p.incubate.nn.functional.moe_combine(x, w, at),
        (Given((tokens * k, width)), Given((tokens, k)), Given((tokens, k), "int32", tokens * k)),
        gradient=False,
    )
    yield Workload(
        f"int_bincount {tokens * k} of {experts}",
        lambda p, x: p.incubate.nn.functional.int_bincount(x, 0, experts, "int64"),
        (Given((tokens * k,), "int32", experts),),
        gradient=False,
        in_halves=False,
    )

    def balance(p: object, c: object, counts: object) -> object:
        from paddle.incubate.nn.functional import cal_aux_loss

        return cal_aux_loss(c, counts, None, None, experts, False, k, 1e-6)[0]

    yield Workload(
        f"cal_aux_loss {tokens} of {experts}",
        balance,
        (Given((tokens, experts), "float32"), Given((experts,), "int64", tokens)),
        in_halves=False,
        reads_inputs=False,
    )
