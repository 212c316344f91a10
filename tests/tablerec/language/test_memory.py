"""What a tuning takes is predicted from config.json, and by the simulated device's count it is so."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tablerec.errors import InputError
from tablerec.language.memory import ERROR, Decoder, predict, read_decoder
from tablerec.language.method import Method
from tablerec.settings_fields import to_values
from tests.helpers.devices.plugin_process import ask, needs_device

SMALL = Decoder(4, 256, 512, 8, 4, 32, 4096)
CONFIG = {
    "num_hidden_layers": 2,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 16,
    "vocab_size": 1024,
    "max_position_embeddings": 256,
}
METHODS = [
    Method(lora=None),
    Method(lora=None, precision="float32"),
    Method(),
    Method(frozen="int8", recompute=True, attention="plain"),
    Method(frozen="int4", recompute=True, loss_tokens=64, state_on_host=True),
    Method(lora=None, state_on_host=True, recompute=True, loss_tokens=64),
    Method(lora=None, optimizer="adamw8bit"),
]


def write(folder: Path, **values: Any) -> Path:
    (folder / "config.json").write_text(json.dumps({**CONFIG, **values}))
    return folder


def test_sizes_are_read(tmp_path: Path) -> None:
    assert read_decoder(write(tmp_path)) == Decoder(2, 128, 256, 8, 4, 16, 1024)
    config = write(tmp_path, head_dim=None, model_type="ernie4_5") / "config.json"
    assert read_decoder(config) == Decoder(2, 128, 256, 8, 4, 16, 1024, tied=True, joined=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be read"),
        ("[]", "holds no object"),
        ("{}", "num_hidden_layers is None"),
        (json.dumps({**CONFIG, "hidden_size": "128"}), "hidden_size is 128"),
        (json.dumps({**CONFIG, "vocab_size": -1}), "vocab_size is -1"),
        (json.dumps({**CONFIG, "num_experts": 8}), "mixture of experts"),
    ],
)
def test_what_is_no_decoder_is_said(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(InputError, match=said):
        read_decoder(tmp_path)


def test_weights_are_those_of_the_config() -> None:
    products = 4 * (256 * 256 * 2 + 256 * 128 * 2 + 3 * 256 * 512)
    others = 2 * 4096 * 256 + 4 * 2 * 256 + 256
    assert predict(SMALL, Method(lora=None), 1, 64).weights == 2 * (products + others)
    int4 = predict(SMALL, Method(frozen="int4", group_size=64), 1, 64).weights
    assert int4 == products / 2 + products / 64 * 2 + 2 * others


@pytest.mark.parametrize("method", METHODS)
def test_more_tokens_and_layers_never_take_less(method: Method) -> None:
    peak = predict(SMALL, method, 2, 128).peak
    assert predict(SMALL, method, 3, 128).peak >= peak
    assert predict(SMALL, method, 2, 256).peak >= peak
    larger = Decoder(5, 256, 512, 8, 4, 32, 4096)
    assert predict(larger, method, 2, 128).peak > peak


def test_each_remedy_takes_less() -> None:
    many = Decoder(28, 1024, 3072, 16, 8, 128, 151936, tied=True)
    methods = [
        Method(lora=None),
        Method(),
        Method(frozen="int8"),
        Method(frozen="int4"),
        Method(frozen="int4", recompute=True),
        Method(frozen="int4", recompute=True, loss_tokens=512),
    ]
    peaks = [predict(many, method, 4, 1024).peak for method in methods]
    assert peaks == sorted(peaks, reverse=True) and len(set(peaks)) == len(peaks)
    assert peaks[-1] < peaks[0] / 4


@needs_device
@pytest.mark.skipif(importlib.util.find_spec("paddleformers") is None, reason="needs PaddleFormers")
def test_the_peak_is_as_predicted(tmp_path: Path) -> None:
    cases = [("Llama", method) for method in METHODS[2:]] + [("Ernie4_5", method) for method in METHODS[4:5]]
    code = f"""
import gc
import numpy as np
from pathlib import Path
from paddleformers import transformers
from tablerec.language.measure import measure_steps
from tablerec.language.method import Method, prepare
from tablerec.settings_fields import to_settings
from tablerec.training.memory import current_memory
ids = np.random.default_rng(0).integers(0, 1024, (2, 128))
found = []
for name, values in {[(name, to_values(method)) for name, method in cases]!r}:
    paddle.set_device("cpu")
    paddle.seed(0)
    config = getattr(transformers, name + "Config")(**{CONFIG!r}, tie_word_embeddings=False)
    net = getattr(transformers, name + "ForCausalLM")(config)
    paddle.set_device(plugin.device)
    gc.collect()
    before = current_memory(plugin.device)
    tuned = prepare(net, to_settings(Method, values))
    given = paddle.to_tensor(ids), paddle.to_tensor(np.roll(ids, -1, 1))
    taken = measure_steps(tuned, *given)
    found.append([each - before for each in (taken.peak, taken.forward, taken.backward, taken.update)])
    del net, tuned, given, taken
answer(found)
"""
    wrong = []
    for (name, method), (peak, *moments) in zip(cases, ask(code), strict=True):
        decoder = read_decoder(write(tmp_path, model_type=name.lower(), tie_word_embeddings=False))
        predicted = predict(decoder, method, 2, 128)
        if abs(predicted.peak - peak) > ERROR * peak:
            said = [round(each) for each in (predicted.loss, predicted.begin, predicted.end, predicted.update)]
            wrong.append(f"{name}, {method}: {said}, measured {moments}")
    assert wrong == []
