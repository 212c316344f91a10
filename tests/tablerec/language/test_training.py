"""SFT, LoRA and DPO by PaddleFormers' own code: on the simulated device as on the CPU."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tablerec.errors import InputError, SettingsError
from tablerec.language.training import Course, Pair, pack_pairs, pad_samples, train
from tests.helpers.devices.plugin_process import ask, needs_device

needs_paddleformers = pytest.mark.skipif(
    importlib.util.find_spec("paddleformers") is None, reason="needs PaddleFormers"
)
TUNE = """
import tempfile
import numpy as np
from tablerec.language.models import make_batch, make_model
from tablerec.errors import TablerecError
from tablerec.language.training import (
    Pair, add_lora, dpo_trainer, draw_state, pad_samples, train, training_arguments
)
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
from paddleformers.trainer import Trainer, TrainerCallback
class Stop(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        if state.global_step == 3:
            raise KeyboardInterrupt
trainer = sft(plugin.device)
trainer.add_callback(Stop())
try:
    train(trainer)
except KeyboardInterrupt:
    after = set(vars(trainer.model.lm_head)), type(trainer.model.criterion).__name__
    found["interrupted"] = [before == after, list(train(sft(plugin.device), f"{trainer.args.output_dir}/checkpoint-2"))]
def refuse(name, call):
    try:
        call()
    except TablerecError as error:
        found["refused"][name] = f"{type(error).__name__}: {error}"
found["refused"] = {}
def of(samples, **options):
    return lambda: train(Trainer(model=make(), args=arguments("cpu", 1), train_dataset=samples, **options))
cut = [{key: value[: 5 + row] for key, value in sample.items()} for row, sample in enumerate(samples[:2])]
refuse("no samples", of([]))
refuse("no dataset", of(None))
refuse("no labels", of([{"input_ids": sample["input_ids"]} for sample in samples]))
refuse("unlike lengths", of(cut))
refuse("steps", lambda: arguments("cpu", 0))
refuse("option", lambda: arguments("cpu", 1, batch=2))
refuse("file", lambda: training_arguments(sys.executable, "cpu", 1))
refuse("no pairs", lambda: dpo_trainer(make(), arguments("cpu"), [], make()))
refuse("no reference", lambda: dpo_trainer(make(), arguments("cpu"), pairs))
refuse("loss type", lambda: dpo_trainer(make(), arguments("cpu"), pairs, make(), loss_type="nice"))
refuse("dpo option", lambda: dpo_trainer(make(), arguments("cpu"), pairs, make(), bta=1))
refuse("rank", lambda: add_lora(make(), rank=0))
refuse("target", lambda: add_lora(make(), target_modules=[".*nothing.*"]))
refuse("fused", lambda: (paddle.set_device("cpu"), make_model("llama", fused=True)))
refuse("configuration", lambda: make_model("llama", hidden_size=63))
refuse("checkpoint", lambda: train(sft(plugin.device), f"{folder}/{plugin.device}"))
(whole,) = [train(Trainer(model=make(), args=arguments("cpu", 1), train_dataset=cut, data_collator=pad_samples))]
with paddle.no_grad():
    net = make()
    net.eval()
    alone = [net(**{key: paddle.to_tensor(value[None]) for key, value in sample.items()})[0] for sample in cut]
    counts = [len(sample["labels"]) - (sample["labels"] == -100).sum() for sample in cut]
found["padded"] = [whole[0], float(sum(a * n for a, n in zip(alone, counts)) / sum(counts))]
once = paddle.to_tensor(batch["input_ids"][:1])
trainer = sft(plugin.device)
train(trainer)
once = once._copy_to(trainer.model.lm_head.weight.place, True)
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


@needs_device
@needs_paddleformers
def test_a_training_that_is_interrupted_leaves_the_model_and_a_checkpoint_to_go_on_from(tuned: dict[str, Any]) -> None:
    _, (losses, *_) = tuned["sft"]
    assert tuned["interrupted"] == [True, losses[2:]]


@needs_device
@needs_paddleformers
def test_samples_of_unlike_lengths_learn_side_by_side_as_alone(tuned: dict[str, Any]) -> None:
    padded, alone = tuned["padded"]
    assert padded == pytest.approx(alone, rel=1e-6)


@needs_device
@needs_paddleformers
@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("no samples", "SettingsError: there is nothing to train on: give the trainer a train_dataset"),
        ("no dataset", "SettingsError: there is nothing to train on: give the trainer a train_dataset"),
        ("no labels", "SettingsError: a sample has no labels: give each token the one after it, and -100"),
        # The trainer waited without an end.
        ("unlike lengths", "SettingsError: samples have 5 to 6 tokens, .* give it data_collator=pad_samples"),
        ("steps", "SettingsError: steps is 0: give 1 or more"),
        ("option", "SettingsError: PaddleFormers' TrainingArguments: .*'batch'"),
        ("file", "SettingsError: .* is a file: name a folder for the checkpoints"),
        ("no pairs", "SettingsError: there are no pairs to train on"),
        ("no reference", "SettingsError: .*: give a reference, or a model with add_lora"),
        ("loss type", "SettingsError: PaddleFormers' DPOTrainer: Unknown loss type: nice"),
        ("dpo option", "SettingsError: PaddleFormers' DPOConfig: .*'bta'"),
        ("rank", "SettingsError: PaddleFormers' LoRA: .*positive"),
        ("target", "SettingsError: no product is named as target_modules says"),
        ("fused", "SettingsError: llama: the CPU has no fused operators; leave out fused, or set a device"),
        ("configuration", "SettingsError: llama: PaddleFormers refuses the configuration: hidden_size must be"),
        ("checkpoint", "InputError: .* is no whole checkpoint .*: name .*checkpoint-4, or leave it out"),
    ],
)
def test_what_a_training_cannot_do_is_said_in_a_line(what: str, said: str, tuned: dict[str, Any]) -> None:
    assert re.match(said, tuned["refused"][what]), tuned["refused"][what]


def test_samples_that_are_none_or_hold_something_else() -> None:
    pytest.importorskip("paddle")
    assert pad_samples([])["labels"].shape == [0, 0]
    for sample in ({"input_ids": [1]}, {"input_ids": [1], "labels": [2, 3]}, {"input_ids": [], "labels": [], "x": 1}):
        with pytest.raises(SettingsError, match="give input_ids and labels, of one length"):
            pad_samples([sample])


def test_a_folder_that_is_no_checkpoint_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(
            InputError, match=f"{folder} is no whole checkpoint of PaddleFormers, as trainer_state.bin is"
        ):
            train(None, folder)
    with pytest.raises(SettingsError, match="loss_tokens is 0: give 1 or more, or None"):
        train(None, loss_tokens=0)
