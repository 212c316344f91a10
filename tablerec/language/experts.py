"""Mixtures of experts that wait once a layer for the host, in place of PaddleFormers' two waits for each expert.

PaddleFormers looks up each expert's tokens by ``where``, whose result has a shape that the host must know, and indexes
by numbers that lie on the device. Here choices are sorted by expert once; the host must know how many each has.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

Run = Callable[[int, Any], Any]


def wait_less(network: Any) -> int:
    """Replace how a network's mixtures of experts go through their experts, in training; results differ by rounding.

    Args:
        network: A model of PaddleFormers with blocks of gpt-oss or Qwen3-MoE.

    Returns:
        How many blocks were changed; those that were before are left alone.
    """
    found = 0
    for layer in network.sublayers():
        forward = _FORWARD.get(type(layer).__name__)
        if forward and "forward" not in vars(layer):
            layer.forward = MethodType(forward(layer.forward), layer)
            found += 1
    return found


def run_experts(hidden: Any, chosen: Any, weights: Any, experts: int, run: Run) -> Any:
    """Send each token to the experts that it chose, and sum what they give.

    Experts without a token run on no rows, so that their parameters get a gradient of zero.

    Args:
        hidden: Float, shape (tokens, width).
        chosen: int64, shape (tokens, choices): below ``experts``, different ones in a row.
        weights: Float, as ``chosen``.
        experts: How many there are.
        run: The number of an expert and its tokens' rows (n, width) -> rows (n, width).

    Returns:
        Shape (tokens, width).

    >>> import paddle  # doctest: +SKIP
    >>> chosen, weights = paddle.to_tensor([[0, 1], [1, 2]]), paddle.ones([2, 2])  # doctest: +SKIP
    >>> run_experts(paddle.ones([2, 1]), chosen, weights, 3, lambda e, rows: rows * 10**e).tolist()  # doctest: +SKIP
    [[11.0], [110.0]]
    """
    import paddle

    choices = chosen.shape[-1]
    flat = chosen.flatten()
    with paddle.no_grad():
        order = paddle.argsort(flat, stable=True)
        back = paddle.argsort(order)
        counts = (flat.unsqueeze(-1) == paddle.arange(experts, dtype=flat.dtype)).astype("int32").sum(0).tolist()
    rows = paddle.gather(hidden, order // choices)
    parts = iter(paddle.split(rows, [count for count in counts if count]) if sum(counts) else ())
    given = [run(e, next(parts) if count else rows[:0]) for e, count in enumerate(counts)]
    routed = paddle.gather(paddle.concat(given), back).reshape([-1, choices, hidden.shape[-1]])
    return (routed * weights.unsqueeze(-1).astype(routed.dtype)).sum(1).astype(hidden.dtype)


def _gpt_oss(usual: Callable[..., Any]) -> Callable[..., Any]:
    def forward(self: Any, hidden_states: Any, router_indices: Any = None, routing_weights: Any = None) -> Any:
        import paddle

        if not self.training:
            return usual(hidden_states, router_indices, routing_weights)
        hidden = hidden_states.reshape([-1, self.hidden_size])
        parameters = (self.gate_up_proj, self.gate_up_proj_bias, self.down_proj, self.down_proj_bias)
        own = list(zip(*(paddle.unbind(parameter) for parameter in parameters), strict=True))

        def run(e: int, rows: Any) -> Any:
            up_weight, up_bias, down_weight, down_bias = own[e]
            both = rows @ up_weight + up_bias
            gate = paddle.clip(both[..., ::2], max=self.limit)
            up = paddle.clip(both[..., 1::2], min=-self.limit, max=self.limit)
            gated = (up + 1) * gate * paddle.nn.functional.sigmoid(gate * self.alpha)
            return gated @ down_weight + down_bias

        weights = paddle.take_along_axis(routing_weights, router_indices, 1)
        found = run_experts(hidden, router_indices, weights, routing_weights.shape[1], run)
        return found if self.sequence_parallel else found.reshape([hidden_states.shape[0], -1, self.hidden_size])

    return forward


def _qwen3(usual: Callable[..., Any]) -> Callable[..., Any]:
    def forward(self: Any, hidden_states: Any) -> Any:
        import paddle

        if not self.training or self.sequence_parallel or self.fd_fallback:
            return usual(hidden_states)
        hidden = hidden_states.reshape([-1, hidden_states.shape[-1]])
        logits = self.gate(hidden)
        chances = paddle.nn.functional.softmax(logits, axis=1, dtype="float32")
        weights, chosen = paddle.topk(chances, self.top_k, axis=-1)
        if self.norm_topk_prob:
            weights = weights / weights.sum(-1, keepdim=True)
        experts = self.experts
        found = run_experts(
            hidden, chosen, weights.astype(hidden.dtype), self.num_experts, lambda e, rows: experts[e](rows)
        )
        return found.reshape(hidden_states.shape), logits

    return forward


_FORWARD = {"GptOssExperts": _gpt_oss, "Qwen3MoeSparseMoeBlock": _qwen3}
