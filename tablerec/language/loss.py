"""Cross entropy over very many classes, without a second tensor of tokens by classes.

A language model's logits are its largest tensor by far: 4,096 tokens by 150,000 classes are 2.5 GB in float32. Paddle's
cross entropy keeps their softmax beside them, and whoever casts half precision to float32 first has a third one.

- ``cross_entropy_in_place``: softmax overwrites the logits, and their gradient overwrites the softmax.
- ``head_cross_entropy``: the last product and the loss, some tokens at a time; all logits are never there at once.
- ``head_token_losses``: the same, with a loss for each token.
- ``use_head_loss``: the former in place of the loss of a model of PaddleFormers; ``use_preference_head_loss``: the
  latter in place of its DPO's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from tablerec.errors import SettingsError

ROWS = 1024
"""Tokens whose logits are there at a time."""


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
            loss, found = _by_parts(hidden, weight, bias, *how)
            ctx.gradients = _filled(hidden, weight, bias, found)
            return loss

        @staticmethod
        def backward(ctx: Any, scale: Any) -> Any:
            gradients, ctx.gradients = ctx.gradients, []
            return (*(g if g is None else g.multiply_(scale.astype(g.dtype)) for g in gradients), None)

    return HeadCrossEntropy


def head_token_losses(
    hidden: Any,
    weight: Any,
    labels: Any,
    bias: Any = None,
    ignored: int = -100,
    rows: int = ROWS,
    transposed: bool = True,
) -> Any:
    """Compute the loss of each token, ``rows`` tokens at a time.

    What is to be done with the losses is not known yet, so that each part's product is computed again for its gradient:
    where the mean is wanted ``head_cross_entropy`` is faster.

    Args:
        hidden: As for ``head_cross_entropy``, and so are the others.
        weight: Likewise.
        labels: Likewise.
        bias: Likewise.
        ignored: Likewise; the loss of these tokens is 0.
        rows: Likewise.
        transposed: Likewise.

    Returns:
        float32, the shape of ``labels``.
    """
    return _token_losses().apply(hidden, weight, bias, labels, ignored, rows, transposed)


@functools.cache
def _token_losses() -> Any:
    import paddle

    class HeadTokenLosses(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, hidden: Any, weight: Any, bias: Any, labels: Any, *how: Any) -> Any:
            ctx.given = hidden, weight, bias, labels, *how
            losses = [losses for _, losses in _losses_of_parts(hidden, weight, bias, labels, *how)]
            found = paddle.concat(losses) if losses else paddle.zeros([0], "float32")
            return found.reshape(labels.shape)

        @staticmethod
        def backward(ctx: Any, scale: Any) -> Any:
            (hidden, weight, bias, *how), ctx.given = ctx.given, None
            leaves = _leaf(weight), None if bias is None else _leaf(bias)
            parts, start = [], 0
            with paddle.enable_grad():
                for part, losses in _losses_of_parts(hidden, *leaves, *how):
                    losses.backward(scale.reshape([-1])[start : start + len(part)])
                    parts.append(part.grad)
                    start += len(part)
            return (*_filled(hidden, weight, bias, _gradients(hidden, *leaves, parts)), None)

    return HeadTokenLosses


def _filled(hidden: Any, weight: Any, bias: Any, found: list[Any]) -> list[Any]:
    """Return gradients; one that nobody computed, as there were no tokens, is zero."""
    import paddle

    given = [tensor for tensor in (hidden, weight, bias) if tensor is not None]
    return [
        None if tensor.stop_gradient else paddle.zeros_like(tensor) if gradient is None else gradient
        for tensor, gradient in zip(given, found, strict=True)
    ]


def _by_parts(
    hidden: Any, weight: Any, bias: Any, labels: Any, ignored: int, rows: int, transposed: bool
) -> tuple[Any, list[Any]]:
    """Return the mean loss, and the gradients of hidden, weight and, where there is one, bias."""
    import paddle

    counted = (labels != ignored).astype("float32").sum().clip(min=1.0)
    weight, bias = _leaf(weight), None if bias is None else _leaf(bias)
    parts, total = [], paddle.zeros([], "float32")
    with paddle.enable_grad():
        for part, losses in _losses_of_parts(hidden, weight, bias, labels, ignored, rows, transposed):
            loss = losses.sum() / counted
            del losses
            if not loss.stop_gradient:
                loss.backward()
            total += loss.detach()
            parts.append(part.grad)
    return total, _gradients(hidden, weight, bias, parts)


def _losses_of_parts(
    hidden: Any, weight: Any, bias: Any, labels: Any, ignored: int, rows: int, transposed: bool
) -> Iterator[tuple[Any, Any]]:
    """Yield the tokens of each part, as a leaf, and their losses in float32."""
    import paddle

    tokens, classes = hidden.reshape([-1, hidden.shape[-1]]), labels.reshape([-1])
    for start in range(0, len(tokens), rows):
        part = _leaf(tokens[start : start + rows], hidden.stop_gradient)
        logits = paddle.matmul(part, weight, transpose_y=transposed)
        if bias is not None:
            logits = logits + bias
        losses = cross_entropy_in_place(logits.astype("float32"), classes[start : start + rows], ignored)
        del logits  # the memory of half precision's logits is free before the gradient
        yield part, losses


def _gradients(hidden: Any, weight: Any, bias: Any, parts: list[Any]) -> list[Any]:
    import paddle

    of_hidden = paddle.concat(parts).reshape(hidden.shape) if parts and not hidden.stop_gradient else None
    return [of_hidden, weight.grad, *([] if bias is None else [bias.grad])]


def _leaf(tensor: Any, stop: bool | None = None) -> Any:
    leaf = tensor.detach()
    leaf.stop_gradient = tensor.stop_gradient if stop is None else stop
    return leaf


def use_head_loss(network: Any, rows: int = ROWS, ignored: int = -100) -> Callable[[], None]:
    """Let a causal model of PaddleFormers compute its loss by ``head_cross_entropy`` in training.

    Its head then hands over its weight instead of logits, so the model in training returns no logits.

    Args:
        network: The model, or a ``LoRAModel`` around it.
        rows: Tokens at a time.
        ignored: The label of tokens that do not count.

    Returns:
        What makes the model as it was.

    Raises:
        SettingsError: The model has no head or criterion of PaddleFormers, or changes its logits before the loss.
    """
    model = _with_head(network)
    usual = model.criterion
    give_back = _hand_over(model.lm_head, lambda: model.lm_head.training)
    del model.criterion  # a layer may not be replaced by a function
    model.criterion = HeadLoss(usual, rows, ignored)

    def undo() -> None:
        del model.criterion
        model.criterion = usual
        give_back()

    return undo


def use_preference_head_loss(
    networks: list[Any], criterion: Any, rows: int = ROWS, ignored: int = -100
) -> Callable[[], None]:
    """Let DPO of PaddleFormers compute its losses by ``head_token_losses``; errors as of ``use_head_loss``.

    Args:
        networks: The model that is trained, and the reference where there is one.
        criterion: PaddleFormers' ``CriterionLayer`` for DPO, to which the models' results are given.
        rows: Tokens at a time. Fewer tokens than that are taken together as usual, without computing logits twice.
        ignored: The label of tokens that do not count.

    Returns:
        What makes models and criterion as they were.
    """
    import paddle

    heads = [_with_head(network).lm_head for network in networks]
    undos = [_hand_over(head, lambda: True) for head in heads]
    usual = criterion.loss_func
    forward = criterion.forward

    def compute(outputs: Any, labels: Any, *given: Any, **options: Any) -> Any:
        hidden, weight, bias, transposed = _handed_over(outputs)

        def losses(tokens: Any, classes: Any) -> Any:
            tokens = tokens.astype(weight.dtype)  # PaddleFormers casts to float32 what it takes for logits
            if classes.size > rows:
                found = head_token_losses(tokens, weight, classes.squeeze(-1), bias, ignored, rows, transposed)
                return found.unsqueeze(-1)
            logits = paddle.matmul(tokens, weight, transpose_y=transposed)
            return usual((logits if bias is None else logits + bias).astype("float32"), classes)

        _replace(criterion, "loss_func", losses)
        return forward(hidden, labels, *given, **options)

    criterion.forward = compute

    def undo() -> None:
        del criterion.forward
        _replace(criterion, "loss_func", usual)
        for each in undos:
            each()

    return undo


def _with_head(network: Any) -> Any:
    """Return the causal model in a network, whose logits are what its head gives."""
    model = next((each for each in network.sublayers(include_self=True) if "lm_head" in each._sub_layers), None)
    if model is None or type(model.lm_head).__name__ != "LMHead" or getattr(model, "criterion", None) is None:
        raise SettingsError(
            f"{type(network).__name__} has no lm_head and criterion of PaddleFormers: leave out loss_tokens"
        )
    for name in ("final_logit_softcapping", "num_nextn_predict_layers"):
        if getattr(model.config, name, None):
            raise SettingsError(f"{type(model).__name__} has {name}, which needs all logits: leave out loss_tokens")
    return model


def _hand_over(head: Any, when: Callable[[], bool]) -> Callable[[], None]:
    """Let a head give its input and its weights in place of logits; return what undoes it."""
    import paddle

    before, usual = dict(vars(head)), head.forward

    def forward(hidden: Any, *given: Any, **options: Any) -> Any:
        if not when():
            return usual(hidden, *given, **options)
        weights = (head.weight, head.bias)
        if not paddle.is_grad_enabled():  # as of a reference, whose loss may be computed where gradients are
            weights = tuple(each if each is None else each.detach() for each in weights)
        return (hidden, *weights, True)

    head.forward = forward

    def undo() -> None:
        del head.forward
        if "forward" in before:
            head.forward = usual

    return undo


def _handed_over(outputs: Any) -> tuple[Any, Any, Any, bool]:
    """Find what a head handed over in what a model returns."""
    while not (isinstance(outputs, tuple) and len(outputs) == 4 and outputs[3] is True):
        outputs = outputs[0] if isinstance(outputs, (tuple, list)) else outputs.logits
    return outputs


def _replace(layer: Any, name: str, value: Any) -> None:
    delattr(layer, name)  # a layer may not be replaced by a function
    setattr(layer, name, value)


class HeadLoss:
    """``head_cross_entropy`` as a criterion: of what the head hands over, labels, and a mask of those that count.

    Args:
        usual: The criterion for logits, where the head gives these.
        rows: Tokens at a time.
        ignored: The label of tokens that do not count.
    """

    def __init__(self, usual: Any, rows: int = ROWS, ignored: int = -100) -> None:
        self.usual, self.rows, self.ignored = usual, rows, ignored

    def __call__(self, head: Any, labels: Any, loss_mask: Any = None, **options: Any) -> tuple[Any, Any]:
        """Return the mean loss, and the same without a gradient for the log."""
        import paddle

        if not isinstance(head, tuple):
            found: tuple[Any, Any] = self.usual(head, labels, loss_mask, **options)
            return found
        hidden, weight, bias, transposed = head
        if loss_mask is not None:
            counts = loss_mask.reshape(labels.shape).astype("bool")
            labels = paddle.where(counts, labels, paddle.full_like(labels, self.ignored))
        loss = head_cross_entropy(hidden, weight, labels, bias, self.ignored, self.rows, transposed)
        return loss, loss.detach()
