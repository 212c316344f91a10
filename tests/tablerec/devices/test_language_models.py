"""Small language models of PaddleFormers on the simulated device, with the CPU fallback off."""

from __future__ import annotations

import importlib.util

import pytest

from tests.helpers.plugin_process import ask, needs_device

pytestmark = [
    needs_device,
    pytest.mark.skipif(importlib.util.find_spec("paddleformers") is None, reason="needs PaddleFormers"),
]

# On the CPU nothing is fused: Paddle's fused norm is a kernel of GPUs alone.
TRAIN = """
import numpy as np
from paddleformers import transformers
from tablerec.devices.parity import make_optimizer
ids = np.random.default_rng(0).integers(0, 1000, (2, 40))
def make(fused):
    config = getattr(transformers, NAME + "Config")(
        vocab_size=1000, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=64, fuse_rms_norm=fused, fuse_swiglu=fused,
    )
    return getattr(transformers, NAME + "ForCausalLM")(config)
def train(device, fused):
    paddle.set_device(device)
    net = make(fused)
    net.set_state_dict({name: paddle.to_tensor(value) for name, value in state.items()})
    net.train()
    update = make_optimizer("AdamW", net.parameters())
    losses = []
    for _ in range(5):
        found = net(input_ids=paddle.to_tensor(ids), labels=paddle.to_tensor(np.roll(ids, -1, 1)))
        loss = found[0] if isinstance(found, (tuple, list)) else found.loss
        loss.backward()
        update.step()
        update.clear_grad()
        losses.append(float(loss))
    return losses
paddle.set_device("cpu")
paddle.seed(3)
state = {name: value.numpy() for name, value in make(False).state_dict().items()}
"""


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("name", ["Ernie4_5", "Llama"])
def test_five_steps_of_training_follow_the_cpu(name: str, fused: bool) -> None:
    code = f"""
NAME = "{name}"
{TRAIN}
answer([train("cpu", False), train(plugin.device, {fused}), plugin.kernels()])
"""
    expected, losses, kernels = ask(code)
    assert len(losses) == 5 and losses[-1] < losses[0]
    assert losses == pytest.approx(expected, rel=1e-6)
    assert kernels["embedding"] and kernels["embedding_grad"] and kernels["adamw"]
    assert ("fused_rms_norm_ext_grad" in kernels and "swiglu_grad" in kernels) == fused
