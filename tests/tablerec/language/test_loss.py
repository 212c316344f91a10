"""Cross entropy by parts of the tokens agrees with the whole, and takes the memory that it says."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from tests.helpers.devices.plugin_process import ask, needs_device

pytestmark = pytest.mark.skipif(importlib.util.find_spec("paddle") is None, reason="needs Paddle")


@pytest.mark.parametrize(("tokens", "rows"), [((2, 7), 5), ((2, 7), 14), ((2, 7), 100), ((3,), 1)])
@pytest.mark.parametrize("transposed", [True, False])
def test_loss_and_gradients_are_those_of_the_whole(tokens: tuple[int, ...], rows: int, transposed: bool) -> None:
    import paddle

    from tablerec.language.loss import head_cross_entropy

    random = np.random.default_rng(0)
    arrays = (
        random.normal(size=(*tokens, 6)),
        random.normal(size=(11, 6) if transposed else (6, 11)),
        random.normal(size=11),
    )
    labels = paddle.to_tensor(np.where(random.random(tokens) < 0.3, -100, random.integers(0, 11, tokens)))
    found = []
    for parts in (True, False):
        hidden, weight, bias = (paddle.to_tensor(array.astype("float32"), stop_gradient=False) for array in arrays)
        if parts:
            loss = head_cross_entropy(hidden, weight, labels, bias, rows=rows, transposed=transposed)
        else:
            logits = paddle.matmul(hidden, weight, transpose_y=transposed) + bias
            loss = paddle.nn.functional.cross_entropy(logits, labels, reduction="sum") / (labels != -100).sum()
        (3 * loss).backward()
        found.append([loss.numpy(), hidden.grad.numpy(), weight.grad.numpy(), bias.grad.numpy()])
    for one, other in zip(*found, strict=True):
        assert one == pytest.approx(other, abs=2e-6)


def test_a_frozen_head_gets_no_gradient() -> None:
    import paddle

    from tablerec.language.loss import head_cross_entropy

    hidden, weight = paddle.randn([4, 3]), paddle.randn([5, 3])
    hidden.stop_gradient = False
    head_cross_entropy(hidden, weight, paddle.to_tensor([1, 2, 3, 4]), rows=2).backward()
    assert hidden.grad.shape == [4, 3] and weight.grad is None


def test_without_any_label_the_loss_is_zero() -> None:
    import paddle

    from tablerec.language.loss import head_cross_entropy

    for tokens in (0, 3):
        hidden, weight = paddle.randn([tokens, 3]), paddle.randn([5, 3])
        hidden.stop_gradient = weight.stop_gradient = False
        loss = head_cross_entropy(hidden, weight, paddle.full([tokens], -100, "int64"))
        loss.backward()
        assert float(loss) == 0 and not (hidden.grad != 0).any()


@needs_device
@pytest.mark.skipif(importlib.util.find_spec("paddleformers") is None, reason="needs PaddleFormers")
def test_models_of_paddleformers_have_the_same_loss_and_gradients() -> None:
    code = """
import numpy as np
from tablerec.language.loss import use_head_loss
from tablerec.language.models import make_batch, make_model
answers = []
for name in ("llama", "ernie4_5"):
    paddle.set_device(plugin.device)
    paddle.seed(3)
    network = make_model(name)
    network.train()
    batch = {key: paddle.to_tensor(value) for key, value in make_batch(name).items()}
    found = []
    for by_parts in (False, True):
        if by_parts:
            use_head_loss(network, rows=16)
        out = network(**batch)
        loss = out[0] if isinstance(out, (tuple, list)) else out.loss
        loss.backward()
        found.append((loss.numpy(), *(p.grad.numpy() for p in network.parameters() if p.grad is not None)))
        network.clear_gradients()
    answers.append([len(found[0]), len(found[1]), max(float(np.abs(a - b).max()) for a, b in zip(*found))])
answer(answers)
"""
    for usual, by_parts, difference in ask(code):
        assert usual == by_parts > 5 and difference < 1e-6


MEMORY = """
import numpy as np
from tablerec.language.loss import cross_entropy_in_place, head_cross_entropy
paddle.set_device(plugin.device)
tokens, width, classes = 128, 8, 4000
whole = 4 * tokens * classes
def run(compute):
    hidden, weight = paddle.randn([tokens, width]), paddle.randn([classes, width])
    hidden.stop_gradient = weight.stop_gradient = False
    labels = paddle.randint(0, classes, [tokens])
    paddle.device.synchronize()
    before = paddle.device.memory_allocated(plugin.device)
    paddle.device.reset_max_memory_allocated(plugin.device)
    compute(hidden, weight, labels).backward()
    return (paddle.device.max_memory_allocated(plugin.device) - before) / whole
def usual(hidden, weight, labels):
    return paddle.nn.functional.cross_entropy(paddle.matmul(hidden, weight, transpose_y=True), labels)
def in_place(hidden, weight, labels):
    return cross_entropy_in_place(paddle.matmul(hidden, weight, transpose_y=True), labels).mean()
def by_parts(hidden, weight, labels):
    return head_cross_entropy(hidden, weight, labels, rows=16)
answer([run(compute) for compute in (usual, in_place, by_parts)])
"""


@needs_device
def test_memory_of_the_logits() -> None:
    usual, in_place, by_parts = ask(MEMORY)
    assert usual < 3.3 and in_place < 1.3 and by_parts < 0.5, (usual, in_place, by_parts)
