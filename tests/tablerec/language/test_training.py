"""SFT, LoRA and DPO by PaddleFormers' own code: on the simulated device as on the CPU."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from tablerec.errors import SettingsError
from tablerec.language.training import Course, Pair, pack_pairs
from tests.helpers.devices.plugin_process import ask, needs_device

needs_paddleformers = pytest.mark.skipif(
    importlib.util.find_spec("paddleformers") is None, reason="needs PaddleFormers"
)
TUNE = """
import tempfile
import numpy as np
from tablerec.language.models import make_batch, make_model
from tablerec.language.training import Pair, add_lora, dpo_trainer, draw_state, train, training_arguments
state = draw_state("qwen3")
folder = tempfile.mkdtemp()
batch = make_batch("qwen3", size=8, length=24)
samples = [{key: value[row] for key, value in batch.items()} for row in range(8)]
numbers = np.random.default_rng(1)
pairs = [Pair(*(numbers.integers(3, 1000, size).tolist() for size in (6, 5 + row, 9 - row))) for row in range(4)]

def make():
    net = make_model("qwen3")
    net.set_state_dict({key: paddle.to_tensor(value) for key, value in state.items()})
    return net

def arguments(device, steps=4, **options):
    options = {"per_device_train_batch_size": 2, "learning_rate": 1e-3, "adam_epsilon": 1e-3, **options}
    return training_arguments(f"{folder}/{device}", device, steps, **options)

def lora():
    paddle.seed(5)
    net = add_lora(make(), rank=4, rslora=True, lora_plus_scale=4.0)
    for index, (name, value) in enumerate(sorted(net.state_dict().items())):
        if "lora_" in name:
            value.set_value(np.random.default_rng(index).normal(0, 0.02, value.shape).astype("float32"))
    return net

def sft(device):
    from paddleformers.trainer import Trainer
    given = arguments(device, save_strategy="steps", save_steps=2)
    return Trainer(model=make(), args=given, train_dataset=samples)

def sft_lora(device):
    from paddleformers.trainer import Trainer
    given = arguments(device)
    return Trainer(model=lora(), args=given, train_dataset=samples)

def dpo(device):
    given = arguments(device, 2)
    return dpo_trainer(make(), given, pairs, make())

def dpo_lora(device):
    given = arguments(device, 2)
    return dpo_trainer(lora(), given, pairs)

def measure(make_trainer, device):
    trainer = make_trainer(device)
    plugin.reset()
    losses = train(trainer)
    places = {str(value.place) for value in trainer.model.state_dict().values()}
    return losses, plugin.kernels(), sorted(places)

found = {}
for name in ("sft", "sft_lora", "dpo", "dpo_lora"):
    try:
        found[name] = [measure(globals()[name], device) for device in ("cpu", plugin.device)]
    except Exception as error:
        import traceback
        found[name] = traceback.format_exc()
found["resumed"] = list(train(sft(plugin.device), f"{folder}/{plugin.device}/checkpoint-2"))
answer(found)
"""


def test_a_pair_sees_its_prompt_and_not_the_other_answer() -> None:
    packed = pack_pairs([Pair([5, 6, 7], [10, 11], [20]), Pair([5], [10], [20, 21, 22])])
    assert packed["input_ids"].tolist() == [[5, 6, 7, 10, 7], [5, 5, 20, 21, 0]]
    assert packed["position_ids"].tolist() == [[0, 1, 2, 3, 2], [0, 0, 1, 2, 0]]
    assert packed["response_labels"].tolist() == [[-100, -100, 10, 11, 20], [10, 20, 21, 22, -100]]
    assert packed["response_indexs"].tolist() == [[0, 2, 4, 5], [1, 0, 1, 4]]
    assert packed["attention_mask"][0].astype(int).tolist()[3:] == [[1, 1, 1, 1, 0], [1, 1, 0, 0, 1]]
    assert packed["attention_mask"].any(-1).all()


def test_no_pairs_and_an_empty_answer() -> None:
    assert pack_pairs([])["input_ids"].shape == (0, 0)
    with pytest.raises(SettingsError, match="a pair needs a prompt and two answers"):
        Pair([1], [], [2])


def test_the_error_of_a_loss_is_relative() -> None:
    none = np.zeros((0, 0), "int64")
    assert Course((), none).loss_error(Course((), none)) == 0
    assert Course((2.0, 5.0), none).loss_error(Course((2.0, 4.0), none)) == 0.25


@pytest.fixture(scope="module")
def tuned() -> dict[str, Any]:
    found: dict[str, Any] = ask(TUNE)
    return found


@needs_device
@needs_paddleformers
@pytest.mark.parametrize("method", ["sft", "sft_lora", "dpo", "dpo_lora"])
def test_paddleformers_trainers_follow_the_cpu(method: str, tuned: dict[str, Any]) -> None:
    assert not isinstance(tuned[method], str), tuned[method]
    (expected, none, _), (losses, kernels, places) = tuned[method]
    assert len(losses) == len(expected) > 1 and losses[-1] != losses[0]
    assert losses == pytest.approx(expected, rel=1e-6)
    assert not none and kernels["adamw"] and kernels["embedding"]
    assert places == ["Place(tablerec_gpu:0)"]


@needs_device
@needs_paddleformers
def test_a_training_goes_on_from_a_checkpoint(tuned: dict[str, Any]) -> None:
    _, (losses, *_) = tuned["sft"]
    assert tuned["resumed"] == losses[2:]
