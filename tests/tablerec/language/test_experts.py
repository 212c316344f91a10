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
import paddleformers.nn.moe.utils
paddleformers.nn.moe.utils.async_loader = None  # PaddleFormers forgets it where no fleet was made
import numpy as np
from paddle.incubate.nn.functional.cal_aux_loss import math_cal_aux_loss
from paddleformers import transformers
from paddleformers.nn.moe import moe_allgather_layer, moe_alltoall_layer, topk_gate
from tablerec.devices.cases.language.experts import count_numbers, dispatch_chosen, expand_kinds, source_ranks
from tablerec.devices.parity import make_optimizer

ids = np.random.default_rng(0).integers(0, 1000, (2, 40))

def make():
    return transformers.Ernie4_5_MoeForCausalLM(transformers.Ernie4_5_MoeConfig(
        vocab_size=1000, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=64, fuse_rms_norm=False, moe_num_experts=4,
        moe_intermediate_size=16, moe_k=2, moe_layer_start_index=0, moe_group="dummy", num_nextn_predict_layers=0,
        moe_multimodal_dispatch_use_allgather=how))

def train(device):
    paddle.set_device(device)
    net = make()
    net.set_state_dict({name: paddle.to_tensor(value) for name, value in state.items()})
    net.train()
    update = make_optimizer("AdamW", net.parameters())
    losses = []
    for _ in range(4):
        loss = net(input_ids=paddle.to_tensor(ids), labels=paddle.to_tensor(np.roll(ids, -1, 1)))[0]
        loss.backward()
        update.step()
        update.clear_grad()
        losses.append(float(loss))
    return losses

# What the CPU lacks, as the cases of these operators have it. The signatures are looked at.
def dispatch(x, weights, chosen, k, capacity, experts, padded, expert_start_index, expert_end_index,
             reverse_token_drop):
    return dispatch_chosen(paddle, x, weights, chosen, k, capacity, experts, padded, expert_start_index,
                           expert_end_index, reverse_token_drop)
def expand(chosen, num_expert_per_modality, group_size, modality_offset, is_group_expert):
    return expand_kinds(paddle, chosen, num_expert_per_modality, group_size, modality_offset, is_group_expert)
def ranks(counts, known, of_rank):
    return source_ranks(paddle, known, of_rank)
def combine(x, weights, at):
    return (x[at] * weights.unsqueeze(-1)).sum(1)
def count(x, low, high, dtype):
    return count_numbers(paddle, x, low, high, "int64")
def keep(tensor, loader):
    return tensor, None
REPLACED = (
    (moe_allgather_layer, "async_offload", keep),
    (moe_allgather_layer, "moe_gate_dispatch_partial_nosoftmaxtopk", dispatch),
    (moe_allgather_layer, "expand_modality_expert_id", expand),
    (moe_allgather_layer, "build_src_rank_and_local_expert_id", ranks),
    (moe_alltoall_layer, "combining", combine),
    (topk_gate, "int_bincount", count),
    (topk_gate, "cal_aux_loss", math_cal_aux_loss),
)
answers = []
for how in ("", "v2-unpad"):
    paddle.set_device("cpu")
    paddle.seed(3)
    state = {name: value.numpy() for name, value in make().state_dict().items()}
    answers.append(train(plugin.device))
    kept = [getattr(module, name) for module, name, _ in REPLACED]
    for module, name, function in REPLACED:
        setattr(module, name, function)
    answers.append(train("cpu"))
    for (module, name, _), function in zip(REPLACED, kept):
        setattr(module, name, function)
answer(answers)
"""


@needs_device
@needs_paddleformers
def test_ernie_moe_learns_as_with_the_operators_replaced_on_the_cpu() -> None:
    padded, padded_on_cpu, unpadded, unpadded_on_cpu = ask(ERNIE)
    assert padded[-1] < padded[0]
    assert padded == pytest.approx(padded_on_cpu, rel=1e-6)
    assert unpadded == pytest.approx(unpadded_on_cpu, rel=1e-6)
    assert padded == pytest.approx(unpadded, rel=1e-6)
