"""SFT, LoRA and DPO by PaddleFormers' own code: on the simulated device as on the CPU."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tablerec.errors import InputError, SettingsError
from tablerec.language.training import Course, Pair, pack_pairs, train
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

def make(name="qwen3", state=state):
    net = make_model(name)
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

def experts(device):
    from paddleformers.trainer import Trainer
    given = arguments(device)
    return Trainer(model=make("qwen3_moe", state_of_experts), args=given, train_dataset=samples)

def measure(make_trainer, device, **options):
    trainer = make_trainer(device)
    plugin.reset()
    losses = train(trainer, **options)
    places = {str(value.place) for value in trainer.model.state_dict().values()}
    return losses, plugin.kernels(), sorted(places), plugin.counters()

found = {}
for name in ("sft", "sft_lora", "dpo", "dpo_lora"):
    try:
        found[name] = [measure(globals()[name], device) for device in ("cpu", plugin.device)]
    except Exception as error:
        import traceback
        found[name] = traceback.format_exc()
state_of_experts = draw_state("qwen3_moe")
WAYS = {"usual": (None, False), "in parts": (10, False), "fewer waits": (None, True), "default": (1024, True)}
for name in ("sft", "sft_lora", "dpo", "dpo_lora", "experts"):
    found[f"ways of {name}"] = ways = {}
    for way, (tokens, fewer) in WAYS.items():
        losses, _, _, counters = measure(
            globals()[name], plugin.device, **({} if way == "default" else dict(loss_tokens=tokens, fewer_waits=fewer))
        )
        ways[way] = losses, counters["kernels"], counters["device_to_host_copies"]
trainer = sft(plugin.device)
before = set(vars(trainer.model.lm_head)), type(trainer.model.criterion).__name__
train(trainer)
after = set(vars(trainer.model.lm_head)), type(trainer.model.criterion).__name__
once = paddle.to_tensor(batch["input_ids"][:1])
trainer.model.train()
found["as before"] = [before == after, list(trainer.model(input_ids=once, labels=once)[1].shape)]
with open(f"{folder}/{plugin.device}/checkpoint-2/config.json") as file:
    found["saved"] = json.load(file).get("use_fused_head_and_loss_fn", False)
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
    (expected, none, *_), (losses, kernels, places, _) = tuned[method]
    assert len(losses) == len(expected) > 1 and losses[-1] != losses[0]
    assert losses == pytest.approx(expected, rel=1e-6)
    assert not none and kernels["adamw"] and kernels["embedding"]
    assert places == ["Place(tablerec_gpu:0)"]


@needs_device
@needs_paddleformers
def test_a_training_goes_on_from_a_checkpoint(tuned: dict[str, Any]) -> None:
    _, (losses, *_) = tuned["sft"]
    assert tuned["resumed"] == losses[2:]


@needs_device
@needs_paddleformers
@pytest.mark.parametrize("method", ["sft", "sft_lora", "dpo", "dpo_lora", "experts"])
def test_losses_are_the_same_in_parts_and_with_fewer_waits(method: str, tuned: dict[str, Any]) -> None:
    ways = {way: losses for way, (losses, *_) in tuned[f"ways of {method}"].items()}
    assert len(ways) == 4 and len(ways["usual"]) > 1
    for losses in ways.values():
        assert losses == pytest.approx(ways["usual"], rel=1e-6)


@needs_device
@needs_paddleformers
def test_what_a_training_does_by_default_takes_no_more_launches_and_fewer_waits(tuned: dict[str, Any]) -> None:
    for method in ("sft", "sft_lora", "dpo", "dpo_lora", "experts"):
        ways = tuned[f"ways of {method}"]
        (_, usual_launches, usual_waits), (_, launches, waits) = ways["usual"], ways["default"]
        assert launches <= usual_launches and waits <= usual_waits, (method, ways)
    assert waits < 0.5 * usual_waits, ways


@needs_device
@needs_paddleformers
def test_a_model_gives_logits_again_after_a_training_and_its_checkpoints_say_nothing_of_parts(
    tuned: dict[str, Any],
) -> None:
    assert tuned["as before"] == [True, [1, 24, 1000]] and tuned["saved"] is False


def test_a_folder_that_is_no_checkpoint_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError, match=f"{folder} is no checkpoint of PaddleFormers, as trainer_state.bin is"):
            train(None, folder)
    with pytest.raises(SettingsError, match="loss_tokens is 0: give 1 or more, or None"):
        train(None, loss_tokens=0)
