"""Decoding on the simulated device, the CPU fallback off: against the CPU, PaddleFormers, and each row alone."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from tests.helpers.devices.plugin_process import ask, needs_device

pytestmark = [
    needs_device,
    pytest.mark.skipif(importlib.util.find_spec("paddleformers") is None, reason="needs PaddleFormers"),
]

FAMILIES = ("llama", "ernie4_5", "qwen3", "gemma3", "qwen3_moe")
N_TOKENS = 20
LAYERS = 2

# Random weights, scaled so that the most likely token changes from step to step.
SETUP = """
import os
import numpy as np
from tablerec.devices.attention import choose_flash_attention
from tablerec.language.decoding import Decoder, Sampling
from tablerec.language.models import make_model
PROMPTS = [np.random.default_rng(row).integers(3, 1000, count).tolist() for row, count in enumerate([23, 1, 8, 40])]
def make(name, device, fused=False):
    paddle.set_device(device)
    model = make_model(name, fused=fused)
    random = np.random.default_rng(5)
    for key, value in sorted(model.state_dict().items()):
        spread = 0.03 if "embed" in key else 0.3
        drawn = random.normal(0, spread, value.shape) if len(value.shape) > 1 else random.normal(1, 0.1, value.shape)
        value.set_value(paddle.to_tensor(drawn.astype("float32")))
    model.eval()
    return model
def decoder(model, graph=False, **options):
    options = {"batch": 4, "length": 64, "chunk": 16, "look": 8, **options}
    return Decoder(model, plugin=plugin if graph else None, **options)
"""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Everything in one process, as importing PaddleFormers takes long."""
    code = f"""
FAMILIES, N = {FAMILIES!r}, {N_TOKENS}
def of_family(name):
    model = make(name, "cpu")
    rows = []
    for prompt in PROMPTS:
        ids = paddle.to_tensor([prompt])
        # With a cache, Gemma3 of PaddleFormers 1.2 hides the wrong places of a prompt that is longer than its window.
        tokens, _ = model.generate(
            ids, max_new_tokens=N, decode_strategy="greedy_search", eos_token_id=None, use_cache=name != "gemma3",
            attention_mask=paddle.ones_like(ids),
        )
        rows.append(tokens[0].tolist())
    result = {{"paddleformers": rows, "cpu": decoder(model).generate(PROMPTS, N, ends=())}}
    sampling = Sampling(temperature=1.5, top_k=100, top_p=0.95, repetition_penalty=1.1)
    result["cpu sampled"] = decoder(model, sampling=sampling).generate(PROMPTS, N, ends=(), seed=3)
    model = make(name, plugin.device)
    result["device"] = decoder(model).generate(PROMPTS, N, ends=())
    result["graph"] = decoder(model, True).generate(PROMPTS, N, ends=())
    result["device sampled"] = decoder(model, sampling=sampling).generate(PROMPTS, N, ends=(), seed=3)
    sampled = decoder(model, sampling=sampling, batch=1)
    result["alone sampled"] = [sampled.generate([p], N, ends=(), seed=3 + row)[0] for row, p in enumerate(PROMPTS)]
    return result
result = {{name: of_family(name) for name in FAMILIES}}

# One family for what does not depend on the layers.
model = make("llama", plugin.device, fused=True)
greedy = result["llama"]["device"]
alone = decoder(model, batch=1)
both = decoder(model, True)
result["fused"] = both.generate(PROMPTS, N, ends=())
sampled = decoder(model, True, sampling=Sampling(1.5, 100, 0.95, 1.1))
result["graph sampled"] = [sampled.generate(PROMPTS, N, ends=(), seed=seed) for seed in (3, 4, [3, 4, 5, 6])]
result["alone"] = [alone.generate([prompt], N, ends=())[0] for prompt in PROMPTS]
ends = [greedy[0][3], greedy[2][11]]
result["ended"] = [ends, both.generate(PROMPTS, N, ends=ends)]
result["again"] = both.generate(PROMPTS, N, ends=())
result["fewer"] = both.generate(PROMPTS[2:3], N, ends=())
result["none"] = [both.generate([], N), both.generate(PROMPTS, 0)]
def places_of_tensors(decoder):
    kept = dict()
    for holder in (decoder, decoder._cache, decoder._rotary):
        for name, value in vars(holder).items():
            for tensor in paddle.utils.flatten(value) if isinstance(value, (list, tuple, dict)) else [value]:
                if isinstance(tensor, paddle.Tensor):
                    kept.setdefault(name, []).append(tensor.data_ptr())
    return kept
shortest = decoder(model, True, length=2)
places = places_of_tensors(shortest)
result["shortest"] = [shortest.generate([[5]], ends=()), decoder(model, length=2).generate([[5]], ends=())]
result["kept"] = [places_of_tensors(shortest) == places, len(places)]
result["single chunk"] = decoder(model, chunk=64, look=64).generate(PROMPTS, N, ends=())
result["tokens a look"] = decoder(model, chunk=1, look=1).generate(PROMPTS, N, ends=())

def counted(decoder, n):
    plugin.reset()
    decoder.generate([[5, 6]] * 4, n, ends=())
    return plugin.counters()
eight, sixteen = counted(both, 8), counted(both, 16)
result["counters of eight tokens"] = {{name: sixteen[name] - eight[name] for name in eight}}
result["kernels of sixteen tokens"] = plugin.kernels()
result["nodes"] = both.nodes
# What it takes to see 40 tokens of four rows in three chunks, beside what a token takes.
def prefill():
    whole = decoder(model)
    counts = []
    for prompts in ([prompt + [7] for prompt in PROMPTS], [[7]] * 4):
        plugin.reset()
        tokens = whole.generate(prompts, 1, ends=())
        counts.append([plugin.counters()["kernels"], plugin.kernels().get("flash_attn_v3", 0), tokens])
    return [counts[0][0] - counts[1][0], counts[0][1], counts[0][2]]
result["prefill"] = [prefill()]
os.environ["TABLEREC_ATTENTION"] = "math"
choose_flash_attention(in_float32=True)
result["prefill"].append(prefill())
result["single operators"] = decoder(model).generate(PROMPTS, N, ends=())
del os.environ["TABLEREC_ATTENTION"]
choose_flash_attention(in_float32=True)
long = decoder(model, batch=1, length=600)
long.generate([[5]], 16, ends=())
in_use = [plugin.counters()["bytes_in_use"]]
plugin.reset()
long.generate([[5, 6, 7]], 590, ends=())
in_use += [plugin.counters()[name] for name in ("bytes_in_use", "peak_bytes_in_use")]
result["memory"] = in_use
def attempt(call):
    try:
        call()
        return ""
    except Exception as error:
        return type(error).__name__ + ": " + str(error)
small = decoder(model, batch=2)
result["refused"] = [
    attempt(lambda: small.generate([[1]] * 3)),
    attempt(lambda: small.generate([[1], []])),
    attempt(lambda: small.generate([[1] * 60], 5)),
    attempt(lambda: small.generate([[1, 1000]], 5)),
    attempt(lambda: small.generate([[-1]], 5)),
    attempt(lambda: small.generate([[1]], -5)),
    attempt(lambda: small.generate([[1]], 5, seed=[1, 2])),
    attempt(lambda: small.generate([[1]], 5, seed=-1)),
    attempt(lambda: decoder(model, batch=0)),
    attempt(lambda: decoder(paddle.nn.Linear(2, 2))),
    attempt(lambda: small.generate("ab")),
    attempt(lambda: small.generate(["ab"])),
    attempt(lambda: small.generate([1, 2])),
    attempt(lambda: decoder(make_model("deepseek_v3"))),
    attempt(lambda: decoder(make_model("paddleocr_vl"))),
    attempt(lambda: small.generate([[1] * 59], 5)),
]
model.train()
def settings():
    return model.config.to_dict(), model.config._attn_implementation, modeling.apply_rotary_pos_emb
modeling = sys.modules[type(model).__module__]
before = settings()
decoder(model).generate([[5]], 1)
result["as before"] = [
    settings() == before,
    all(layer.training for layer in model.sublayers(include_self=True)),
]
answer(result)
"""
    return ask(SETUP + code)


@pytest.mark.parametrize("name", FAMILIES)
def test_greedy_tokens_are_those_of_paddleformers(found: dict[str, Any], name: str) -> None:
    rows = found[name]["paddleformers"]
    assert [len(row) for row in rows] == [N_TOKENS] * 4
    assert all(len(set(row)) > N_TOKENS // 2 for row in rows), "the weights give no text to compare"
    assert found[name]["cpu"] == rows


@pytest.mark.parametrize("name", FAMILIES)
def test_the_device_writes_what_the_cpu_writes(found: dict[str, Any], name: str) -> None:
    assert found[name]["device"] == found[name]["cpu"]
    assert found[name]["graph"] == found[name]["cpu"]


@pytest.mark.parametrize("name", FAMILIES)
def test_sampled_tokens_are_the_same_on_each_device_and_in_each_batch(found: dict[str, Any], name: str) -> None:
    of = found[name]
    assert of["cpu sampled"] != of["cpu"]
    assert of["device sampled"] == of["cpu sampled"]
    assert of["alone sampled"] == of["cpu sampled"]


def test_a_graph_draws_new_numbers_each_time_and_the_same_for_the_same_seed(found: dict[str, Any]) -> None:
    first, other, again = found["graph sampled"]
    assert first == again == found["llama"]["cpu sampled"]
    assert first != other


def test_fused_operators_write_the_same(found: dict[str, Any]) -> None:
    assert found["fused"] == found["llama"]["cpu"]


def test_unlike_prompts_side_by_side_write_what_each_writes_alone(found: dict[str, Any]) -> None:
    assert found["alone"] == found["llama"]["cpu"]


def test_chunks_of_the_prompt_and_looks_of_the_host_change_nothing(found: dict[str, Any]) -> None:
    assert found["single chunk"] == found["llama"]["cpu"] == found["tokens a look"]


def test_prompts_are_attended_to_by_flash_attention_in_fewer_launches(found: dict[str, Any]) -> None:
    (flash, attended, tokens), (single, not_attended, same_tokens) = found["prefill"]
    assert attended == 3 * LAYERS and not_attended == 0
    assert flash <= single - 3 * 8 * LAYERS, (flash, single)
    assert tokens == same_tokens and found["single operators"] == found["llama"]["cpu"]


def test_rows_end_at_their_end_and_leave_the_others_alone(found: dict[str, Any]) -> None:
    ends, rows = found["ended"]
    whole = found["llama"]["cpu"]
    expected = []
    for row in whole:
        last = next((place for place, token in enumerate(row) if token in ends), N_TOKENS)
        expected.append(row[: last + 1])
    assert rows == expected
    assert min(map(len, rows)) < N_TOKENS and len(set(map(len, rows))) > 1


def test_a_decoder_forgets_what_it_wrote_before(found: dict[str, Any]) -> None:
    assert found["again"] == found["llama"]["cpu"]
    assert found["fewer"] == found["llama"]["cpu"][2:3]


def test_nothing_that_a_step_makes_outlives_it(found: dict[str, Any]) -> None:
    """A graph goes on writing where a tensor of its capture was, also when others have got its memory."""
    same, count = found["kept"]
    assert same and count > 10


def test_a_decoder_may_be_as_short_as_a_prompt_and_its_answer(found: dict[str, Any]) -> None:
    captured, called = found["shortest"]
    assert captured == called and len(captured[0]) == 1


def test_no_prompts_or_no_tokens_give_nothing(found: dict[str, Any]) -> None:
    assert found["none"] == [[], [[], [], [], []]]


def test_a_step_asks_the_host_for_nothing(found: dict[str, Any]) -> None:
    """Eight tokens more are one look more: what was written, whether all have ended, and the place set back."""
    more = found["counters of eight tokens"]
    assert more["device_to_host_copies"] == 2 and more["host_to_device_copies"] == 1
    assert more["kernels"] == pytest.approx(8 * found["nodes"], abs=8)


def test_launches_of_a_token_are_counted(found: dict[str, Any]) -> None:
    kernels = found["kernels of sixteen tokens"]
    assert kernels["masked_multihead_attention"] == 16 * LAYERS
    assert found["nodes"] <= 62, "a step takes more launches than it did"


def test_memory_stays_flat_over_a_long_text(found: dict[str, Any]) -> None:
    before, after, peak = found["memory"]
    assert before == after == peak


def test_the_model_is_as_before_afterwards(found: dict[str, Any]) -> None:
    assert found["as before"] == [True, True]


def test_what_cannot_be_decoded_is_refused_with_the_reason(found: dict[str, Any]) -> None:
    expected = (
        "batch of 2",
        "prompt 1 is empty",
        "prompt 0 has 60 tokens",
        "token 1000",
        "token -1",
        "max_tokens is -5",
        "2 seeds for 1 prompts",
        "a seed is -1",
        "batch is 0",
        "Linear lacks embed_tokens",
        "prompts are lists of token ids",
        "prompt 0 is text",
        "prompts are lists of token ids",
        "DeepseekV3Attention has no heads of keys",
        "PaddleOCRVLForConditionalGeneration looks at pictures",
    )
    *refused, accepted = found["refused"]
    assert accepted == ""
    assert len(refused) == len(expected)
    for text, part in zip(refused, expected, strict=True):
        assert text.startswith("SettingsError") and part in text
