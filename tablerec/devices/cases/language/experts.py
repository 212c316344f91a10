"""Mixtures of experts: which token goes to which expert, the way there and back, and how even the load is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tablerec.devices.cases.case import FLOATS, HALVES, INTEGERS, Call, Case, Input, n

_TYPES = FLOATS + HALVES


def cases() -> Iterator[Case]:
    """Yield the cases."""
    yield from _dispatching()
    yield from _combining()
    yield from _counting()


def _dispatching() -> Iterator[Case]:
    for tokens, width, experts, k, capacity, first, last in (
        (7, 6, 4, 2, 7, 0, 4),
        (50, 8, 4, 2, 9, 0, 4),  # some find no place
        (50, 16, 8, 3, 12, 2, 6),  # some experts are elsewhere
        (300, 5, 3, 1, 40, 0, 3),
        (400, 4, 6, 2, 400, 0, 6),  # several runs
    ):
        inputs = n(tokens, width), n(tokens, experts, low=0.1, high=1.0, dtype="float32")
        for padded, last_ones in ((True, False), (False, False), (False, True)):
            call: Call = lambda p, x, c, a=(k, capacity, experts, padded, first, last, last_ones): dispatch_chosen(  # noqa: E731
                p, x, *_top(p, c, a[0]), *a
            )
            label = f"{tokens} x {width}, {k} of {first}-{last} of {experts}, {capacity}"
            label += " padded" * padded + " last" * last_ones
            yield from _routed("moe_gate_dispatch_partial_nosoftmaxtopk", label, call, inputs)
    for tokens, width, experts, k, capacity in (
        (7, 6, 4, 2, 7),
        (50, 8, 4, 2, 9),
        (300, 5, 33, 3, 40),
        (4, 3, 1, 1, 9),
    ):
        inputs = n(tokens, width), n(tokens, experts, low=0.1, high=1.0, dtype="float32")
        for padded in (True, False):
            label = f"{tokens} x {width}, {k} of {experts}, {capacity}" + " padded" * padded
            call = lambda p, x, c, a=(k, capacity, padded): _dispatch(p, x, c, None, *a)  # noqa: E731
            # Without padding Paddle tells the gradient a wrong number of experts.
            yield from _routed("moe_gate_dispatch", label, call, inputs, padded)
            biased: Call = lambda p, x, c, b, a=(k, capacity, padded): _dispatch(p, x, c, b.detach(), *a)  # noqa: E731
            yield from _routed(
                "moe_gate_dispatch", f"{label} biased", biased, (*inputs, n(experts, dtype="float32")), padded
            )
    for grouped in (False, True):
        for of_kind in (0, 4):
            yield Case(
                f"expand_modality_expert_id {of_kind}{' grouped' * grouped}",
                ("expand_modality_expert_id",),
                lambda p, e, a=(of_kind, 5, 1, grouped): expand_kinds(p, e, *a),
                (n(6, 3, low=0, high=8),),
                INTEGERS,
            )
    yield Case(
        "build_src_rank_and_local_expert_id",
        ("build_src_rank_and_local_expert_id",),
        lambda p, x: source_ranks(p, [3, 0, 5, 1], 2),
        (n(1),),
        ("int64",),
    )


def _routed(name: str, label: str, call: Call, inputs: tuple[Input, ...], gradient: bool = True) -> Iterator[Case]:
    """Yield a case of all results, and one of the gradients of rows and weights."""
    numbers: Call = lambda p, *x: [result.detach() for result in call(p, *x)]  # noqa: E731
    yield Case(f"{name} {label}", (name,), numbers, inputs, _TYPES)
    if not gradient:
        return
    both: Call = lambda p, *x: _rows_and_weights(p, *call(p, *x)[:2])  # noqa: E731
    yield Case(f"{name} {label} gradient", (name, f"{name}_grad"), both, inputs, _TYPES, True, 4, 4)


def _combining() -> Iterator[Case]:
    name = "moe_combine"
    for tokens, width, k, places in ((7, 6, 2, 20), (5, 16, 3, 15), (1, 1, 1, 1), (9, 33, 4, 40)):
        yield Case(
            f"{name} {tokens} x {width}, {k} of {places}",
            (name, f"{name}_grad"),
            _combine,
            (n(places, width), n(tokens, k)),
            _TYPES,
            True,
            4,
            4,
        )
    yield Case(f"{name}, empty", (name,), _combine, (n(0, 6), n(0, 2)), FLOATS)


def _counting() -> Iterator[Case]:
    for length, low, high in ((40, 0, 8), (1000, 2, 6), (300, 0, 700), (0, 0, 5)):
        for to in INTEGERS:
            yield Case(
                f"int_bincount {length} in [{low}, {high}) {to}",
                ("int_bincount",),
                lambda p, x, a=(low, high, to): count_numbers(p, x, *a),
                (n(length, low=0, high=700 if high == 700 else 8),),
                INTEGERS,
            )
    name = "cal_aux_loss"
    for tokens, experts, parts, own, everyone in (
        (20, 4, (4,), False, False),
        (20, 4, (4,), True, False),
        (20, 4, (3, 4), True, True),
        (90, 33, (33,), False, True),
        (20, 4, (4,), True, 60),  # of several ranks
    ):
        for grouped in (False, True):
            yield Case(
                f"{name} {tokens} x {experts} {parts} {own} {everyone}{' grouped' * grouped}",
                (name, f"{name}_grad"),
                lambda p, x, c, m, a, how=(own, bool(everyone), grouped): _auxiliary(p, x, c, m, a, *how),
                (
                    n(tokens, experts, low=0.1, high=1.0),
                    n(*parts, low=0, high=9, dtype="int64"),
                    n(tokens, low=0.0, high=1.0),
                    n(60 if everyone == 60 else tokens, dtype="bool"),
                ),
                _TYPES,
                True,
                10,
                8,
            )


def _on_cpu(p: Any) -> bool:
    return bool(p.device.get_device() == "cpu")


def _rows_and_weights(p: Any, rows: Any, weights: Any) -> Any:
    """Return both in one, as Paddle's gradient must have one for each."""
    return p.concat([rows.flatten(), weights.astype(rows.dtype).flatten()])


def _top(p: Any, chances: Any, k: int) -> Any:
    weights, experts = p.topk(chances, k, -1)
    return weights, experts.astype("int32").detach()


def dispatch_chosen(
    p: Any,
    x: Any,
    weights: Any,
    chosen: Any,
    k: int,
    capacity: int,
    experts: int,
    padded: bool,
    first: int,
    last: int,
    last_ones: bool,
) -> Any:
    """Send tokens to experts; on the CPU, which lacks the operator, by NumPy and gathering."""
    if not _on_cpu(p):
        return p.incubate.nn.functional.moe_gate_dispatch_partial_nosoftmaxtopk(
            x, weights, chosen, k, capacity, experts, padded, first, last, last_ones
        )
    expert = chosen.numpy()
    tokens = len(expert)
    places: list[int] = []
    kept, slots = np.zeros((tokens, k), bool), np.zeros((k, tokens), "int32")
    own = np.zeros(experts, "int64")
    for e in range(first, last):
        found = [(choice, token) for choice in range(k) for token in range(tokens) if expert[token, choice] == e]
        taken = sorted(found[-capacity:] if last_ones and not padded else found[:capacity], key=lambda c: (c[1], c[0]))
        own[e] = len(found if padded else taken)
        for rank, (choice, token) in enumerate(taken):
            kept[token, choice] = True
            slots[choice, token] = (e - first) * capacity + rank if padded else len(places) + rank
        places += [token for _, token in taken] + [tokens] * (capacity - len(taken) if padded else 0)
    sources = np.array(places, "int32")
    rows = p.concat([x, p.zeros([1, x.shape[1]], x.dtype)])[p.to_tensor(sources)]
    counts = np.bincount(expert.reshape(-1), minlength=experts).astype("int64")
    numbers = [p.to_tensor(array) for array in (slots, sources, counts, own)]
    return [rows, weights * p.to_tensor(kept.astype("float32")), *numbers]


def _dispatch(p: Any, x: Any, chances: Any, bias: Any, k: int, capacity: int, padded: bool) -> Any:
    """Choose experts and send tokens to them; without padding places are left empty where an expert had too many."""
    if not _on_cpu(p):
        return p.incubate.nn.functional.moe_gate_dispatch(x, chances, bias, k, capacity, padded)
    _, chosen = p.topk(chances if bias is None else chances + bias, k, -1)
    weights = p.take_along_axis(chances, chosen, -1)
    expert, experts = chosen.numpy(), chances.shape[1]
    tokens = len(expert)
    sources = np.full(experts * capacity if padded else tokens * k, tokens)
    kept, slots, ends, start = np.zeros((tokens, k), bool), np.zeros((k, tokens), "int32"), [], 0
    for e in range(experts):
        found = [(choice, token) for token in range(tokens) for choice in range(k) if expert[token, choice] == e]
        for rank, (choice, token) in enumerate(sorted(found)[:capacity] if padded else found[:capacity]):
            at = e * capacity + rank if padded else start + rank
            kept[token, choice], slots[choice, token], sources[at] = True, at, token
        start += len(found)
        ends.append(start)
    rows = p.concat([x, p.zeros([1, x.shape[1]], x.dtype)])[p.to_tensor(sources)]
    numbers = [p.to_tensor(array) for array in (slots, np.array(ends, "int64"), expert.astype("int32"))]
    return [rows, weights * p.to_tensor(kept.astype("float32")), *numbers]


def expand_kinds(p: Any, e: Any, of_kind: int, group: int, kind: int, grouped: bool) -> Any:
    """Number experts of several kinds side by side on a rank; on the CPU by NumPy."""
    if not _on_cpu(p):
        return p.incubate.nn.functional.expand_modality_expert_id(e, of_kind, group, kind, grouped)
    chosen = e.numpy() + (np.arange(e.shape[1]) * group if grouped else 0)
    if of_kind:
        chosen = chosen // of_kind * of_kind * 2 + chosen % of_kind + kind * of_kind
    return p.to_tensor(chosen.astype(str(e.dtype)[len("paddle.") :]))


def source_ranks(p: Any, counts: list[int], of_rank: int) -> Any:
    """Return rank and own number of the expert of each place; on the CPU by NumPy."""
    if not _on_cpu(p):
        given = p.to_tensor(counts, "int64")
        return p.incubate.nn.functional.build_src_rank_and_local_expert_id(given, counts, of_rank)
    experts = np.repeat(np.arange(len(counts)), counts)
    return [p.to_tensor((experts // of_rank).astype("int32")), p.to_tensor((experts % of_rank).astype("int32"))]


def _combine(p: Any, x: Any, weights: Any) -> Any:
    """Weigh and sum rows; each place is led to by at most one choice, as after dispatching."""
    places = np.random.default_rng(0).permutation(len(x))[: weights.size].reshape(weights.shape).astype("int32")
    at = p.to_tensor(places)
    if _on_cpu(p):
        return (x[at] * weights.unsqueeze(-1)).sum(1)

    class Combined(p.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any, weights: Any) -> Any:
            ctx.save_for_backward(x, weights)
            return p.incubate.nn.functional.moe_combine(x, weights, at)

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            x, weights = ctx.saved_tensor()
            dx, products = p._C_ops.moe_combine_grad(x, weights, at, dy)
            return dx, products.sum(-1).reshape(weights.shape)

    return Combined.apply(x, weights)


def count_numbers(p: Any, x: Any, low: int, high: int, to: str) -> Any:
    """Count each number; on the CPU by NumPy."""
    if not _on_cpu(p):
        return p.incubate.nn.functional.int_bincount(x, low, high, to)
    return p.to_tensor(np.bincount(x.numpy(), minlength=high)[low:high].astype(to))


def _auxiliary(
    p: Any, chances: Any, counts: Any, tokens: Any, everyone: Any, own: bool, of_all: bool, grouped: bool
) -> Any:
    tokens = tokens.detach()
    experts, k, least = 2 * chances.shape[1], 3, 1e-6
    if not _on_cpu(p):
        from paddle.incubate.nn.functional import cal_aux_loss

        return cal_aux_loss(
            chances, counts, tokens if own else None, everyone if of_all else None, experts, grouped, k, least
        )[0]
    number, scale = p.to_tensor(chances.size / experts, chances.dtype), 1.0
    if own:
        number = tokens.sum()
    if of_all:
        number = everyone.astype(chances.dtype).sum()
        if own and len(everyone) != len(chances):
            scale = float(number) / max(float(tokens.sum()), least)
    shares = (counts.sum(0) if counts.ndim > 1 else counts).astype(chances.dtype) / number
    loss = (chances.sum(0) / number * shares).sum() * experts / (k if grouped else 1)
    return loss + (scale - 1) * loss.detach()
