"""Cross entropy over very many classes, without a second tensor of tokens by classes.

A language model's logits are its largest tensor by far: 4,096 tokens by 150,000 classes are 2.5 GB in float32. Paddle's
cross entropy keeps their softmax beside them, and whoever casts half precision to float32 first has a third one.

- ``cross_entropy_in_place``: softmax overwrites the logits, and their gradient overwrites the softmax.
- ``head_cross_entropy``: the last product and the loss, some tokens at a time; all logits are never there at once.
- ``use_head_loss``: the latter in place of the loss of a model of PaddleFormers.
"""

from __future__ import annotations

import functools
from typing import Any

ROWS = 1024


def cross_entropy_in_place(logits: Any, labels: Any, ignored: int = -100) -> Any:
    """Compute the loss of each token; the logits' memory holds their softmax afterwards, and later their gradient.

    In half precision the softmax is a tensor of its own, and the loss is rounded: cast to float32 first.

    Args:
        logits: Float, shape (..., classes); the result of an operator whose gradient does not need it, as of a product.
        labels: int64, shape (...): the number of a class, or ``ignored``.
        ignored: The label of tokens that do not count; their loss is 0.

    Returns:
        Float, shape (...).

    >>> import paddle  # doctest: +SKIP
    >>> cross_entropy_in_place(paddle.zeros([2, 4]) * 1, paddle.to_tensor([3, -100]))  # doctest: +SKIP
    Tensor(shape=[2], ..., [1.38629436, 0.])
    """
    import paddle

    operators = paddle._C_ops
    overwrites = logits.dtype in (paddle.float32, paddle.float64)
    compute = operators.cross_entropy_with_softmax_ if overwrites else operators.cross_entropy_with_softmax
    return compute(logits, labels.unsqueeze(-1), False, True, True, ignored, -1)[1].squeeze(-1)


def head_cross_entropy(
    hidden: Any,
    weight: Any,
    labels: Any,
    bias: Any = None,
    ignored: int = -100,
    rows: int = ROWS,
    transposed: bool = True,
) -> Any:
    """Compute the mean loss of ``hidden @ weight`` and its gradients at once, ``rows`` tokens at a time.

    Each part's logits are cast to float32, and their gradient takes their memory; the product is computed once, not
    again for the gradient. The mean is over all tokens that count, not over the means of parts.

    Args:
        hidden: Float, shape (..., width).
        weight: Shape (classes, width), or (width, classes) where not ``transposed``.
        labels: int64, shape (...): the number of a class, or ``ignored``.
        bias: Shape (classes,), or None.
        ignored: The label of tokens that do not count.
        rows: Tokens at a time; the memory is that of ``rows`` by classes in float32.
        transposed: Whether ``weight`` holds a row for each class.

    Returns:
        float32, shape (). 0 where no token counts.
    """
    return _head_loss().apply(hidden, weight, bias, labels, ignored, rows, transposed)


@functools.cache
def _head_loss() -> Any:
    import paddle

    class HeadCrossEntropy(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, hidden: Any, weight: Any, bias: Any, *how: Any) -> Any:
            given = [tensor for tensor in (hidden, weight, bias) if tensor is not None]
            loss, found = _by_parts(hidden, weight, bias, *how)
            # A gradient that nobody computed, as there were no tokens, is zero.
            ctx.gradients = [
                None if tensor.stop_gradient else paddle.zeros_like(tensor) if gradient is None else gradient
                for tensor, gradient in zip(given, found, strict=True)
            ]
            return loss

        @staticmethod
        def backward(ctx: Any, scale: Any) -> Any:
            gradients, ctx.gradients = ctx.gradients, []
            return (*(g if g is None else g.multiply_(scale.astype(g.dtype)) for g in gradients), None)

    return HeadCrossEntropy


def _by_parts(
    hidden: Any, weight: Any, bias: Any, labels: Any, ignored: int, rows: int, transposed: bool
) -> tuple[Any, list[Any]]:
    """Return the mean loss, and the gradients of hidden, weight and, where there is one, bias."""
    import paddle

    tokens, classes = hidden.reshape([-1, hidden.shape[-1]]), labels.reshape([-1])
    counted = (classes != ignored).astype("float32").sum().clip(min=1.0)
    weight, bias = _leaf(weight), None if bias is None else _leaf(bias)
    parts, total = [], paddle.zeros([], "float32")
    with paddle.enable_grad():
        for start in range(0, len(tokens), rows):
            part = _leaf(tokens[start : start + rows], hidden.stop_gradient)
            logits = paddle.matmul(part, weight, transpose_y=transposed)
            if bias is not None:
                logits = logits + bias
            losses = cross_entropy_in_place(logits.astype("float32"), classes[start : start + rows], ignored)
            loss = losses.sum() / counted
            del logits, losses  # the memory of half precision's logits is free before the gradient
            if not loss.stop_gradient:
                loss.backward()
            total += loss.detach()
            parts.append(part.grad)
    of_hidden = paddle.concat(parts).reshape(hidden.shape) if parts and not hidden.stop_gradient else None
    return total, [of_hidden, weight.grad, *([] if bias is None else [bias.grad])]


def _leaf(tensor: Any, stop: bool | None = None) -> Any:
    leaf = tensor.detach()
    leaf.stop_gradient = tensor.stop_gradient if stop is None else stop
    return leaf


def use_head_loss(network: Any, rows: int = ROWS, ignored: int = -100) -> None:
    """Let a causal model of PaddleFormers compute its loss by ``head_cross_entropy``.

    Its head then hands over its weight instead of logits, so the model returns no logits where it is given labels.

    Args:
        network: The model; it has a ``criterion``, and a ``lm_head`` of PaddleFormers.
        rows: Tokens at a time.
        ignored: The label of tokens that do not count.
    """
    network.config.use_fused_head_and_loss_fn = True
    network.lm_head.config.use_fused_head_and_loss_fn = True
    del network.criterion  # a layer may not be replaced by a function
    network.criterion = HeadLoss(rows, ignored)


class HeadLoss:
    """``head_cross_entropy`` as a criterion: of what the head hands over, labels, and a mask of those that count."""

    def __init__(self, rows: int = ROWS, ignored: int = -100) -> None:
        self.rows, self.ignored = rows, ignored

    def __call__(self, head: Any, labels: Any, loss_mask: Any = None, **_: Any) -> tuple[Any, Any]:
        """Return the mean loss, and the same without a gradient for the log."""
        import paddle

        hidden, weight, bias, transposed = head
        if loss_mask is not None:
            counts = loss_mask.reshape(labels.shape).astype("bool")
            labels = paddle.where(counts, labels, paddle.full_like(labels, self.ignored))
        loss = head_cross_entropy(hidden, weight, labels, bias, self.ignored, self.rows, transposed)
        return loss, loss.detach()
