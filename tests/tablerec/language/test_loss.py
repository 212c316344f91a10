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


@pytest.mark.parametrize(("tokens", "rows"), [((2, 7), 5), ((2, 7), 14), ((2, 7), 100), ((3,), 1)])
def test_losses_of_tokens_and_their_gradients_are_those_of_the_whole(tokens: tuple[int, ...], rows: int) -> None:
    import paddle

    from tablerec.language.loss import head_token_losses

    random = np.random.default_rng(0)
    arrays = random.normal(size=(*tokens, 6)), random.normal(size=(11, 6)), random.normal(size=11)
    labels = paddle.to_tensor(np.where(random.random(tokens) < 0.3, -100, random.integers(0, 11, tokens)))
    shares = paddle.to_tensor(random.normal(size=tokens).astype("float32"))
    found = []
    for parts in (True, False):
        hidden, weight, bias = (paddle.to_tensor(array.astype("float32"), stop_gradient=False) for array in arrays)
        if parts:
            losses = head_token_losses(hidden, weight, labels, bias, rows=rows)
        else:
            logits = paddle.matmul(hidden, weight, transpose_y=True) + bias
            losses = paddle.nn.functional.cross_entropy(logits, labels, reduction="none").reshape(tokens)
        (losses * shares).sum().backward()
        found.append([losses.numpy(), hidden.grad.numpy(), weight.grad.numpy(), bias.grad.numpy()])
    for one, other in zip(*found, strict=True):
        assert one == pytest.approx(other, abs=2e-6)


@pytest.mark.parametrize("name", ["head_cross_entropy", "head_token_losses"])
def test_a_frozen_head_or_frozen_layers_get_no_gradient(name: str) -> None:
    import paddle

    from tablerec.language import loss

    for frozen in (0, 1):
        given = paddle.randn([4, 3]), paddle.randn([5, 3])
        given[1 - frozen].stop_gradient = False
        getattr(loss, name)(*given, paddle.to_tensor([1, 2, 3, 4]), rows=2).sum().backward()
        assert given[frozen].grad is None and given[1 - frozen].grad.shape == given[1 - frozen].shape


@pytest.mark.parametrize("name", ["head_cross_entropy", "head_token_losses"])
def test_without_any_label_the_loss_is_zero(name: str) -> None:
    import paddle

    from tablerec.language import loss

    for tokens in (0, 3):
        hidden, weight = paddle.randn([tokens, 3]), paddle.randn([5, 3])
        hidden.stop_gradient = weight.stop_gradient = False
        found = getattr(loss, name)(hidden, weight, paddle.full([tokens], -100, "int64")).sum()
        found.backward()
        assert float(found) == 0 and not (hidden.grad != 0).any()


@needs_device
@pytest.mark.skipif(importlib.util.find_spec("paddleformers") is None, reason="needs PaddleFormers")
def test_models_of_paddleformers_have_the_same_loss_and_gradients() -> None:
    code = """
import numpy as np
from tablerec.language.loss import use_head_loss
from tablerec.language.models import MODELS, make_batch, make_model
from tablerec.language.training import loss_of
paddle.set_device(plugin.device)
answers = {}
for name in MODELS:
    paddle.seed(3)
    network = make_model(name)
    batch = {key: paddle.to_tensor(value) for key, value in make_batch(name).items()}
    network.eval()
    with paddle.no_grad():
        expected = [float(loss_of(network(**batch))), list(network(**batch)[1].shape)]
    network.train()
    found, undo = [], None
    for by_parts in (False, True, False):
        if by_parts:
            undo = use_head_loss(network, rows=16)
        elif undo:
            undo()
        loss = loss_of(network(**batch))
        loss.backward()
        found.append((loss.numpy(), *(p.grad.numpy() for p in network.parameters() if p.grad is not None)))
        network.clear_gradients()
        if by_parts:
            network.eval()
            with paddle.no_grad():
                in_evaluation = [float(loss_of(network(**batch))), list(network(**batch)[1].shape)]
            network.train()
    apart = [max(float(np.abs(a - b).max()) for a, b in zip(found[0], other)) for other in found[1:]]
    answers[name] = [list(map(len, found)), apart, expected == in_evaluation]
refused = []
for options in ({"final_logit_softcapping": 30.0}, {}):
    network = make_model("gemma3", **options) if options else paddle.nn.Linear(2, 2)
    try:
        use_head_loss(network)
    except Exception as error:
        refused.append(f"{type(error).__name__}: {error}")
answer([answers, refused])
"""
    found, refused = ask(code)
    assert len(found) == 9
    for name, (counts, (by_parts, again), evaluates_as_usual) in found.items():
        assert len(set(counts)) == 1 and counts[0] > 5, name
        assert by_parts < 1e-6 and again == 0 and evaluates_as_usual, name
    assert refused == [
        "SettingsError: Gemma3ForCausalLM has final_logit_softcapping, which needs all logits: leave out loss_tokens",
        "SettingsError: Linear has no lm_head and criterion of PaddleFormers: leave out loss_tokens",
    ]


MEMORY = """
import numpy as np
from tablerec.language.loss import cross_entropy_in_place, head_cross_entropy, head_token_losses
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
def of_tokens(hidden, weight, labels):
    return head_token_losses(hidden, weight, labels, rows=16).mean()
answer([run(compute) for compute in (usual, in_place, by_parts, of_tokens)])
"""


@needs_device
def test_memory_of_the_logits() -> None:
    usual, in_place, by_parts, of_tokens = ask(MEMORY)
    assert usual < 3.3 and in_place < 1.3, (usual, in_place)
    assert by_parts < 0.5 and of_tokens < 0.5, (by_parts, of_tokens)
