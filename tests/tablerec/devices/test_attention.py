"""Flash attention on the simulated device: what chooses it, what it returns, and a small Llama that asks for it."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

from tablerec.devices.attention import GPU_FLAGS, choose_flash_attention, with_defaults
from tablerec.errors import SettingsError
from tests.helpers.devices.plugin_process import ROOT, ask, needs_device

TRAIN = """
import numpy as np
from paddleformers import transformers
from tablerec.devices.parity import make_optimizer
ids = np.random.default_rng(0).integers(0, 200, (2, 40))
# Two samples packed into each row: no query sees a key of the sample before its own.
ends = np.repeat([17, 40, 23, 40], [17, 23, 23, 17]).reshape(2, 1, 40, 1).astype("int32")
def train(device, how, packed):
    paddle.set_device(device)
    config = transformers.LlamaConfig(
        vocab_size=200, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=64, fuse_rms_norm=False, _attn_implementation=how,
    )
    net = transformers.LlamaForCausalLM(config)
    if device == "cpu":
        state.update({name: value.numpy() for name, value in net.state_dict().items()})
    net.set_state_dict({name: paddle.to_tensor(value) for name, value in state.items()})
    net.train()
    update = make_optimizer("AdamW", net.parameters())
    extra = {"attn_mask_startend_row_indices": paddle.to_tensor(ends)} if packed else {}
    losses = []
    for _ in range(4):
        found = net(input_ids=paddle.to_tensor(ids), labels=paddle.to_tensor(np.roll(ids, -1, 1)), **extra)
        loss = found[0] if isinstance(found, (tuple, list)) else found.loss
        loss.backward()
        update.step()
        update.clear_grad()
        losses.append(float(loss))
    return losses
def compare(packed):
    paddle.seed(3)
    # On the CPU `sdpa` is Paddle's `math`, which ignores a mask where it is told to be causal; `eager` does not.
    expected = train("cpu", "eager" if packed else "sdpa", packed)
    plugin.reset()
    return [expected, train(plugin.device, "sdpa", packed), train(plugin.device, "flashmask", packed), plugin.kernels()]
state = {}
answer([compare(False), compare(True)])
"""


@needs_device
@pytest.mark.skipif(importlib.util.find_spec("paddleformers") is None, reason="needs PaddleFormers")
def test_a_llama_that_asks_for_flash_attention_trains_as_on_the_cpu() -> None:
    for packed, (expected, by_sdpa, by_flash, kernels) in zip((False, True), ask(TRAIN), strict=True):
        assert by_sdpa == pytest.approx(expected, rel=1e-6)
        assert by_flash == pytest.approx(expected, rel=1e-6)
        assert expected[-1] < expected[0]
        dense = 8 if packed else 16  # two layers, four steps, in one or both of the ways
        assert kernels["flash_attn"] == dense
        assert kernels["flash_attn_grad"] == 2 * dense  # the queries' gradient, and the keys' and values'
        assert kernels.get("flashmask_attention", 0) == (8 if packed else 0)
        assert "softmax" not in kernels


CHOICE = """
import paddle.nn.functional as F
def reaches(call, device=plugin.device, dtype="float32", size=16, keys=40, heads=2):
    paddle.set_device(device)
    q = paddle.ones([1, 40, 2, size], dtype)
    k = paddle.ones([1, keys, heads, size], dtype)
    plugin.reset()
    call(q, k)
    return sorted(name for name in plugin.kernels() if name.startswith("flash_attn") and not name.endswith("_seed"))
sdpa = F.scaled_dot_product_attention
causal = lambda q, k: sdpa(q, k, k, is_causal=True)
function = lambda q, k: F.flash_attention.flash_attention(q, k, k, causal=True)
answer({
    "float32": reaches(causal), "bfloat16": reaches(causal, dtype="bfloat16"),
    "float16": reaches(causal, dtype="float16"),
    "grouped": reaches(causal, heads=1), "masked": reaches(lambda q, k: sdpa(q, k, k, paddle.zeros([40, 40]))),
    "function": reaches(function),
    "double": reaches(causal, dtype="float64"), "odd size": reaches(causal, size=12),
    "causal and unlike lengths": reaches(causal, keys=7), "scaled": reaches(lambda q, k: sdpa(q, k, k, scale=0.5)),
    "cpu": reaches(causal, device="cpu"), "cpu by function": reaches(function, "cpu"),
})
"""


@needs_device
def test_paddles_functions_choose_flash_attention_where_the_device_has_it() -> None:
    reached = ask(CHOICE, {"FLAGS_flash_attn_version": "3"})
    assert reached.pop("function") == ["flash_attn_v3"]
    chosen = ["float32", "bfloat16", "float16", "grouped", "masked"]
    assert {name: reached[name] for name in chosen} == {name: ["flash_attn"] for name in chosen}
    assert not any(kernels for name, kernels in reached.items() if name not in chosen)


@needs_device
def test_one_setting_leaves_paddles_choice_as_it_is() -> None:
    assert not any(ask(CHOICE, {"TABLEREC_ATTENTION": "math"}).values())


def test_a_way_that_is_unknown_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLEREC_ATTENTION", "flash")
    with pytest.raises(
        SettingsError, match="TABLEREC_ATTENTION='flash' is no way to attend: choose cudnn, own, plain or"
    ):
        choose_flash_attention(in_float32=True)


def test_flags_that_paddle_lacks_have_defaults_and_the_others_are_asked_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    get_flags = with_defaults(lambda names: dict.fromkeys(names, "its own"), list(GPU_FLAGS))
    assert get_flags("FLAGS_flash_attn_version") == {"FLAGS_flash_attn_version": 2}
    assert get_flags(["FLAGS_a", "FLAGS_cudnn_deterministic"]) == {"FLAGS_a": "its own", "FLAGS_cudnn_deterministic": 0}
    monkeypatch.setenv("FLAGS_flash_attn_version", "3")
    assert get_flags(("FLAGS_flash_attn_version",)) == {"FLAGS_flash_attn_version": 3}
    assert get_flags([]) == {}


RESULTS = """
import numpy as np
ops = paddle._C_ops
paddle.set_device(plugin.device)
q, k = paddle.ones([2, 5, 4, 8]), paddle.ones([2, 3, 2, 8])
def problem(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
def dense(dropout=0.0, softmax=False, mask=None):
    return ops.flash_attn(q, k, k, None, mask, dropout, False, softmax, False, "")
def third(q, k, causal=False, softcap=0.0, window=(-1, -1), descale=None):
    plain = 1, False, False, 0
    return ops.flash_attn_v3(q, k, k, None, descale, descale, descale, 0.5, causal, *window, softcap, *plain)
out, _, sums, seed = dense()
hidden = paddle.zeros([2, 1, 3, 1], "int32")
nothing, _, unseen, _ = ops.flashmask_attention(q, k, k, hidden, None, 0.0, True, False, False, "")
late, late_sums = third(q, k, causal=True)  # the last of five queries meets the last of three keys
starts = paddle.to_tensor([0, 2, 9], dtype="int32"), paddle.to_tensor([0, 1, 5], dtype="int32")
rows = paddle.ones([10, 4, 8]), paddle.ones([6, 2, 8])
options = 7, 4, 0.5, 0.0, False, False, False, ""
packed = ops.flash_attn_unpadded(*rows, rows[1], *starts, None, None, *options)
eight = [x.cpu().astype("float8_e4m3fn")._copy_to(q.place, True) for x in (q, k)]
eight = third(*eight, descale=paddle.to_tensor([2.0]))
three = q[:, :, :3]
answer({
    "sums": [str(sums.dtype), sums.shape, float((sums - (8**0.5 + np.log(3))).abs().max())],
    "out": float((out - 1).abs().max()), "seed": seed.numpy().tolist(),
    "nothing": [float(nothing.abs().max()), bool((unseen.numpy() == np.inf).all())],
    "late": [late[0, :, 0, 0].numpy().tolist(), np.isneginf(late_sums[0, 0].numpy()).tolist()],
    "packed": [packed[0].shape, packed[0][:, 0, 0].numpy().tolist()],
    "eight": [str(eight[0].dtype), float(eight[0].astype("float32").mean()), float(eight[1][0, 0, 0])],
    "problems": [problem(lambda: dense(dropout=0.1)), problem(lambda: dense(softmax=True)),
                 problem(lambda: dense(mask=paddle.zeros([2, 3, 5, 3]))), problem(lambda: third(q, k, softcap=1.0)),
                 problem(lambda: ops.flash_attn(q, three, three, None, None, 0.0, False, False, False, ""))],
})
"""


@needs_device
def test_what_attention_returns_and_what_it_refuses() -> None:
    found = ask(RESULTS)
    assert found["sums"][:2] == ["paddle.float32", [2, 4, 5]] and found["sums"][2] < 1e-6
    assert found["out"] < 1e-6 and found["seed"] == [0, 0]
    assert found["nothing"] == [0.0, True]  # queries that see no key give zeros
    assert found["late"] == [[0, 0, 1, 1, 1], [True, True, False, False, False]]
    assert found["packed"] == [[10, 4, 8], [1.0] * 9 + [0.0]]  # the last row belongs to no sequence
    # Descales of 2 on ones: scores of 0.5 * 8 * 4, values of 2.
    assert found["eight"] == ["paddle.bfloat16", 2.0, pytest.approx(16 + 1.0986123)]
    told = ["dropout", "returns its softmax", "the mask must be", "softcap", "no multiple"]
    for problem, words in zip(found["problems"], told, strict=True):
        assert words in problem


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_the_hopper_kernels_layouts_give_attention_in_an_emulation_of_its_units(tmp_path: Path) -> None:
    program = tmp_path / "emulation"
    source = Path(__file__).with_name("hopper_emulation.cc")
    headers = ROOT / "tablerec" / "devices" / "csrc"
    subprocess.run(["g++", "-std=c++17", "-O1", "-Wall", "-Werror", f"-I{headers}", source, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout
    cases = dict(line.split(": ") for line in done.stdout.splitlines())
    assert len(cases) == 8 and max(map(float, cases.values())) < 2e-5, done.stdout
