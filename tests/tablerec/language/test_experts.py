"""Mixtures of experts with fewer waits for the host give what PaddleFormers' own give."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from tests.helpers.devices.plugin_process import ask, needs_device

pytestmark = pytest.mark.skipif(importlib.util.find_spec("paddle") is None, reason="needs Paddle")
needs_paddleformers = pytest.mark.skipif(
    importlib.util.find_spec("paddleformers") is None, reason="needs PaddleFormers"
)


@pytest.mark.parametrize("tokens", [9, 1, 0])
def test_tokens_get_what_their_experts_give(tokens: int) -> None:
    import paddle

    from tablerec.language.experts import run_experts

    random = np.random.default_rng(0)
    experts, choices, width = 5, 2, 3
    # The last expert is never chosen.
    chosen = np.array([random.permutation(experts - 1)[:choices] for _ in range(tokens)], int).reshape(tokens, choices)
    arrays = (
        random.normal(size=(tokens, width)),
        random.normal(size=(tokens, choices)),
        random.normal(size=(experts, width, width)),
    )
    found = []
    for routed in (True, False):
        hidden, weights, matrices = (paddle.to_tensor(array, stop_gradient=False) for array in arrays)
        each = paddle.unbind(matrices)
        if routed:
            out = run_experts(
                hidden, paddle.to_tensor(chosen), weights, experts, lambda e, rows, each=each: rows @ each[e]
            )
        else:
            shares = paddle.to_tensor(np.eye(experts)[chosen])
            out = paddle.einsum("tc,tce,tw,ewv->tv", weights, shares, hidden, matrices) if tokens else hidden * 0
        (out * out).sum().backward()
        gradients = [tensor.grad if tensor.grad is not None else tensor * 0 for tensor in (hidden, weights, matrices)]
        found.append([out.numpy(), *(gradient.numpy() for gradient in gradients)])
    for one, other in zip(*found, strict=True):
        assert one == pytest.approx(other, abs=1e-12)


@needs_device
@needs_paddleformers
@pytest.mark.parametrize("name", ["gpt_oss", "qwen3_moe"])
def test_losses_are_the_same_and_the_host_is_waited_for_once_a_layer(name: str) -> None:
    code = f"""
import numpy as np
from tablerec.devices.parity import make_optimizer
from tablerec.language.experts import wait_less
from tablerec.language.models import make_batch, make_model
def train(device, fewer):
    paddle.set_device(device)
    paddle.seed(3)
    net = make_model("{name}")
    net.set_state_dict({{key: paddle.to_tensor(value) for key, value in state.items()}})
    net.train()
    changed = wait_less(net) if fewer else 0
    batch = {{key: paddle.to_tensor(value) for key, value in make_batch("{name}").items()}}
    update = make_optimizer("AdamW", net.parameters())
    plugin.reset()
    losses = []
    for _ in range(5):
        out = net(**batch)
        loss = out[0] if isinstance(out, (tuple, list)) else out.loss
        loss.backward()
        update.step()
        update.clear_grad()
        losses.append(loss)
    waits = plugin.counters()["device_to_host_copies"]
    return [float(loss) for loss in losses], waits, changed
paddle.set_device("cpu")
paddle.seed(3)
state = {{key: value.numpy() for key, value in make_model("{name}").state_dict().items()}}
answer([train("cpu", False), train("cpu", True), train(plugin.device, False), train(plugin.device, True)])
"""
    usual, fewer, usual_on_device, fewer_on_device = ask(code)
    assert fewer[2] == fewer_on_device[2] == 2
    for losses in (fewer[0], usual_on_device[0], fewer_on_device[0]):
        assert losses == pytest.approx(usual[0], rel=1e-6)
    assert fewer_on_device[1] <= 10 < 50 < usual_on_device[1], (fewer_on_device[1], usual_on_device[1])


ERNIE = """
import inspect
from paddleformers.nn.moe import moe_allgather_layer
from tablerec.language.training import draw_state, run_course
state = draw_state("ernie4_5_moe")
losses = [
    run_course(device, "ernie4_5_moe", state, moe_multimodal_dispatch_use_allgather=how).losses
    for how in ("", "v2-unpad") for device in (plugin.device, "cpu")
]
dispatch = moe_allgather_layer.moe_gate_dispatch_partial_nosoftmaxtopk
answer([losses, list(inspect.signature(dispatch).parameters), hasattr(dispatch.__wrapped__, "__wrapped__")])
"""


@needs_device
@needs_paddleformers
def test_ernie_moe_learns_as_with_the_operators_replaced_on_the_cpu_with_padding_and_without() -> None:
    (padded, padded_on_cpu, unpadded, unpadded_on_cpu), parameters, twice = ask(ERNIE)
    assert len(padded) == 5 and padded[-1] < padded[0]
    assert padded == pytest.approx(padded_on_cpu, rel=1e-6)
    assert unpadded == pytest.approx(unpadded_on_cpu, rel=1e-6)
    assert padded == pytest.approx(unpadded, rel=1e-6)
    # PaddleFormers looks at them; and a model was made several times.
    assert "reverse_token_drop" in parameters and not twice
