"""Training and greedy decoding of language models on any device of Paddle, by PaddleFormers' own code.

``follow_cpu`` compares a device with the CPU. ``training_arguments`` makes the arguments of PaddleFormers' ``Trainer``,
``add_lora`` and ``dpo_trainer`` what else it needs for LoRA and for DPO, and ``train`` returns its losses.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tablerec.devices import parse_device, require_paddle
from tablerec.errors import InputError, MissingDependencyError, SettingsError
from tablerec.language.experts import wait_less
from tablerec.language.loss import ROWS, use_head_loss, use_preference_head_loss
from tablerec.language.models import find_model, make_batch, make_model
from tablerec.language.standins import INSTALL_COMMAND, import_paddleformers

LORA_TARGETS = (".*qkv_proj.*", ".*q_proj.*", ".*k_proj.*", ".*v_proj.*", ".*o_proj.*", ".*gate_proj.*", ".*up_proj.*",
                ".*up_gate_proj.*", ".*down_proj.*")  # fmt: skip
"""Names of the products of matrices in decoders, as PaddleFormers matches them."""

TRAINER_STATE = "trainer_state"
"""The name, without its end, of a file that each checkpoint of PaddleFormers' ``Trainer`` holds."""


@dataclass(frozen=True, slots=True)
class Course:
    """How a short training and a greedy decoding went.

    Args:
        losses: One for each step.
        tokens: The new tokens, ``(batch, count)`` int64.
    """

    losses: tuple[float, ...]
    tokens: np.ndarray

    def loss_error(self, expected: Course) -> float:
        """Return the largest difference of a loss from another course's, relative to it."""
        return max((abs(a - b) / abs(b) for a, b in zip(self.losses, expected.losses, strict=True)), default=0.0)


def set_device(device: str) -> None:
    """Make a device the one that Paddle works on; models and tensors that are made later lie there.

    Args:
        device: ``cpu``, or a device whose plugin is loaded, such as ``tablerec_gpu``.

    Raises:
        MissingDependencyError: Paddle does not know the device: load its plugin first.
        SettingsError: There is no such device.
    """
    require_paddle(parse_device(device))
    import paddle

    paddle.set_device(device)


def draw_state(name: str, seed: int = 3, **changes: Any) -> dict[str, np.ndarray]:
    """Draw weights of a model on the CPU, to start from on several devices; arguments as of ``make_model``."""
    import paddle

    set_device("cpu")
    paddle.seed(seed)
    return {key: value.numpy() for key, value in make_model(name, **changes).state_dict().items()}


def run_course(
    device: str,
    name: str,
    state: Mapping[str, np.ndarray],
    fused: bool = False,
    steps: int = 5,
    new_tokens: int = 6,
    **changes: Any,
) -> Course:
    """Train a model for a few steps with AdamW and global clipping, then let it continue the batch's sequences.

    Args:
        device: A device of Paddle, whose plugin is loaded.
        name: A name out of ``models.MODELS``.
        state: The weights to start from.
        fused: With fused operators, which the CPU lacks.
        steps: Steps on one batch.
        new_tokens: Tokens to decode for each sequence, where PaddleFormers can decode with the model.
        changes: Arguments of the configuration.
    """
    import paddle

    from tablerec.devices.parity import make_optimizer

    set_device(device)
    net = make_model(name, fused, **changes)
    net.set_state_dict({key: paddle.to_tensor(value) for key, value in state.items()})
    batch = {key: paddle.to_tensor(value) for key, value in make_batch(name).items()}
    update = make_optimizer("AdamW", net.parameters(), faster=10)
    net.train()
    losses = []
    for _ in range(steps):
        loss = loss_of(net(**batch))
        loss.backward()
        update.step()
        update.clear_grad()
        losses.append(loss.detach())
    tokens = decode(net, batch, new_tokens) if find_model(name).decodes else np.zeros((len(batch["input_ids"]), 0), int)
    return Course(tuple(float(loss) for loss in losses), tokens)


def loss_of(outputs: Any) -> Any:
    """Return the loss out of what a model of PaddleFormers returns when it is given labels."""
    return outputs[0] if isinstance(outputs, (tuple, list)) else outputs.loss


def decode(net: Any, batch: Mapping[str, Any], count: int) -> np.ndarray:
    """Continue sequences by the likeliest token each time, with a cache.

    Args:
        net: A model of PaddleFormers.
        batch: Tensors by name, with ``input_ids``; labels are left out.
        count: Tokens to add; fewer where all sequences end before.

    Returns:
        The new tokens, ``(batch, count)`` int64.
    """
    import paddle

    net.eval()
    given = {key: value for key, value in batch.items() if key != "labels"}
    with paddle.no_grad():
        tokens, _ = net.generate(**given, max_new_tokens=count, decode_strategy="greedy_search")
    return np.asarray(tokens.numpy())


def follow_cpu(device: str, name: str, fused: bool = False, **options: Any) -> tuple[Course, Course]:
    """Run a course on a device and on the CPU, where nothing is fused, from the same weights; the device's comes first.

    Args:
        device: A device of Paddle, whose plugin is loaded.
        name: A name out of ``models.MODELS``.
        fused: Whether the device runs fused operators.
        options: ``steps``, ``new_tokens`` and arguments of the configuration.
    """
    state = draw_state(name)
    return run_course(device, name, state, fused, **options), run_course("cpu", name, state, **options)


def training_arguments(folder: str | Path, device: str, steps: int, **options: Any) -> Any:
    """Choose a device, and make the arguments of PaddleFormers' ``Trainer`` for it.

    Call this before the model is made: the trainer works where its model lies, and its argument ``device`` is read by
    PaddleFormers' command line alone. In float32, mixed precision is switched off; nothing is reported anywhere, every
    loss is logged, and samples come in their order.

    Args:
        folder: Where checkpoints are written.
        device: As for ``set_device``; of a card also with its number, ``tablerec_gpu:0``.
        steps: Steps to train.
        options: Fields of PaddleFormers' ``TrainingArguments``, such as ``per_device_train_batch_size``, ``bf16``,
            ``learning_rate`` or ``save_steps``.

    Raises:
        MissingDependencyError: PaddleFormers or the device's plugin is missing.
        SettingsError: There is no such device, the folder is a file, or PaddleFormers refuses an option.
    """
    if steps < 1:
        raise SettingsError(f"steps is {steps}: give 1 or more")
    if Path(folder).exists() and not Path(folder).is_dir():
        raise SettingsError(f"{folder} is a file: name a folder for the checkpoints, or one that is not there yet")
    import_paddleformers()
    set_device(device)
    settings = {
        "output_dir": str(folder),
        "device": device,
        "max_steps": steps,
        "logging_steps": 1,
        "save_strategy": "no",
        # The usual format needs a group of processes to be read again.
        "save_checkpoint_format": "unified_checkpoint",
        "load_checkpoint_format": "unified_checkpoint",
        "report_to": [],
        "dataloader_shuffle": False,
        "amp_master_grad": bool(options.get("bf16") or options.get("fp16")),
        **options,
    }
    with _refusing("TrainingArguments"):
        return _import("paddleformers.trainer").TrainingArguments(**settings)


def add_lora(net: Any, rank: int = 8, **options: Any) -> Any:
    """Freeze a model and add low-rank matrices to its products; only these are trained.

    Args:
        net: A model of PaddleFormers.
        rank: Of the matrices.
        options: Fields of PaddleFormers' ``LoRAConfig``: ``lora_alpha``, ``rslora``, ``lora_plus_scale``,
            ``target_modules`` (all products of the decoder by default).

    Returns:
        PaddleFormers' ``LoRAModel``.

    Raises:
        SettingsError: PaddleFormers refuses an option, or no product has one of the names.
    """
    peft = _import("paddleformers.peft")
    settings = {"r": rank, "lora_alpha": 2 * rank, "target_modules": list(LORA_TARGETS), **options}
    with _refusing("LoRA"):
        lora = peft.LoRAModel(net, peft.LoRAConfig(**settings))
    if not any("lora_" in name for name in lora.state_dict()):
        raise SettingsError(f"no product is named as target_modules says, {settings['target_modules']}: leave it out")
    return lora


@dataclass(frozen=True, slots=True)
class Pair:
    """A prompt with an answer that is preferred and one that is not.

    Args:
        prompt: Token ids, at least one.
        chosen: Token ids of the better answer, at least one.
        rejected: Token ids of the other.
    """

    prompt: Sequence[int]
    chosen: Sequence[int]
    rejected: Sequence[int]

    def __post_init__(self) -> None:
        """Check that nothing is empty.

        Raises:
            SettingsError: Something is.
        """
        if not (self.prompt and self.chosen and self.rejected):
            raise SettingsError("a pair needs a prompt and two answers of a token or more each")


def pack_pairs(pairs: Sequence[Pair]) -> dict[str, np.ndarray]:
    """Put each pair into one row, as PaddleFormers' DPO takes it: the prompt, and both answers behind it.

    The rejected answer begins with the prompt's last token again and does not see the chosen one.

    Args:
        pairs: One or more.

    Returns:
        ``input_ids``, ``position_ids`` and ``response_labels``, ``(pairs, length)`` int64; ``attention_mask``,
        ``(pairs, length, length)`` bool: what a row sees; and ``response_indexs``, ``(pairs, 4)`` int64: the row,
        where its chosen labels begin, where its rejected ones do, and where these end.

    >>> packed = pack_pairs([Pair([5, 6], [7, 8], [9])])
    >>> packed["input_ids"].tolist(), packed["response_labels"].tolist(), packed["response_indexs"].tolist()
    ([[5, 6, 7, 6]], [[-100, 7, 8, 9]], [[0, 1, 3, 4]])
    """
    lengths = [len(pair.prompt) + len(pair.chosen) + len(pair.rejected) - 1 for pair in pairs]
    shape = (len(pairs), max(lengths, default=0))
    ids, places, labels = np.zeros(shape, "int64"), np.zeros(shape, "int64"), np.full(shape, -100)
    mask = np.zeros((*shape, shape[1]), bool)
    spans = np.zeros((len(pairs), 4), "int64")
    for row, (pair, length) in enumerate(zip(pairs, lengths, strict=True)):
        first = len(pair.prompt) - 1
        second = first + len(pair.chosen)
        ids[row, :length] = [*pair.prompt, *pair.chosen[:-1], pair.prompt[-1], *pair.rejected[:-1]]
        places[row, :length] = [*range(second), *range(first, first + len(pair.rejected))]
        labels[row, first:length] = [*pair.chosen, *pair.rejected]
        mask[row] = np.tri(shape[1], dtype=bool)
        mask[row, second:, first:second] = False
        spans[row] = row, first, second, length
    return {
        "input_ids": ids,
        "position_ids": places,
        "attention_mask": mask,
        "response_labels": labels,
        "response_indexs": spans,
    }


def dpo_trainer(net: Any, arguments: Any, pairs: Sequence[Pair], reference: Any = None, **options: Any) -> Any:
    """Make PaddleFormers' trainer for direct preference optimization.

    Args:
        net: A model of PaddleFormers, or ``add_lora``'s, which is its own reference with the matrices left out.
        arguments: From ``training_arguments``.
        pairs: What is preferred to what.
        reference: A model that stays as it is, where ``net`` has no LoRA.
        options: Fields of PaddleFormers' ``DPOConfig``: ``beta``, ``loss_type``, ``sft_loss_ratio``.

    Returns:
        Its ``DPOTrainer``.

    Raises:
        SettingsError: There are no pairs, there is neither a reference nor LoRA, or PaddleFormers refuses an option.
    """
    import paddle

    if not pairs:
        raise SettingsError("there are no pairs to train on")
    if reference is None and not isinstance(net, _import("paddleformers.peft").LoRAModel):
        raise SettingsError("there is nothing to compare the model with: give a reference, or a model with add_lora")
    with _refusing("DPOConfig"):
        settings = _import("paddleformers.cli.train.dpo.dpo_argument").DPOConfig(lora=reference is None, **options)
    net.config.dpo_config = settings

    class OneProcess(_import("paddleformers.cli.train.dpo.dpo_trainer").DPOTrainer):  # type: ignore[misc]
        def _wrap_ref_model(self, model: Any) -> Any:
            return model  # PaddleFormers gives it to fleet, which takes no other than PaddleFleet's in one process

    def collate(rows: Sequence[Pair]) -> dict[str, Any]:
        return {key: paddle.to_tensor(value) for key, value in pack_pairs(rows).items()}

    with _refusing("DPOTrainer"):
        return OneProcess(
            net,
            data_collator=collate,
            args=arguments,
            train_dataset=list(pairs),
            ref_model=reference,
            dpo_criterion=_import("paddleformers.nn.criterion").CriterionLayer(net.config),
            dpo_config=settings,
        )


def train(
    trainer: Any, checkpoint: str | Path | None = None, loss_tokens: int | None = ROWS, fewer_waits: bool = True
) -> tuple[float, ...]:
    """Let a trainer of PaddleFormers train.

    Args:
        trainer: Its ``Trainer``, or ``dpo_trainer``'s.
        checkpoint: The folder of a checkpoint to go on from, ``FOLDER/checkpoint-2``.
        loss_tokens: Tokens whose logits are there at a time, in training, which saves memory (``loss.use_head_loss``);
            None for those of the whole batch. A model that changes its logits before the loss, or a trainer with a
            criterion of its own, gets all of them.
        fewer_waits: Let mixtures of experts wait for the host once a layer (``experts.wait_less``); they stay so.

    Returns:
        The loss of each step, as the trainer logs it: with eight digits behind the point.

    Raises:
        InputError: There is no such checkpoint, or its writing was interrupted.
        SettingsError: ``loss_tokens`` is below 1, or the trainer's samples are none, lack labels, or are of unlike
            lengths without ``pad_samples``.
    """
    if loss_tokens is not None and loss_tokens < 1:
        raise SettingsError(f"loss_tokens is {loss_tokens}: give 1 or more, or None for the whole batch")
    _require_checkpoint(checkpoint)
    _require_samples(trainer)
    losses: list[float] = []

    class Note(_import("paddleformers.trainer").TrainerCallback):  # type: ignore[misc]
        def on_log(self, *_: Any, logs: Mapping[str, float], **__: Any) -> None:
            if "loss" in logs:
                losses.append(logs["loss"])

    if fewer_waits:
        wait_less(trainer.model)
    with _loss_in_parts(trainer, loss_tokens):
        trainer.add_callback(Note())
        try:
            trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
        finally:
            trainer.remove_callback(Note)
    return tuple(losses)


@contextlib.contextmanager
def _loss_in_parts(trainer: Any, tokens: int | None) -> Iterator[None]:
    undo: Callable[[], None] | None = None
    if tokens is not None and trainer.criterion is None:
        with contextlib.suppress(SettingsError):  # the model needs all its logits
            if hasattr(trainer, "dpo_criterion"):
                nets = [net for net in (trainer.model, trainer.ref_model) if net is not None]
                undo = use_preference_head_loss(nets, trainer.dpo_criterion, tokens)
            else:
                undo = use_head_loss(trainer.model, tokens)
    try:
        yield
    finally:
        if undo:
            undo()


def _require_checkpoint(checkpoint: str | Path | None) -> None:
    if checkpoint is None or _is_whole(Path(checkpoint)):
        return
    near = [each for folder in (Path(checkpoint), Path(checkpoint).parent) for each in folder.glob("checkpoint-*")]
    whole = sorted((each for each in near if _is_whole(each)), key=lambda each: each.stat().st_mtime)
    name = f"name {whole[-1]}" if whole else "name a folder such as out/checkpoint-2"
    raise InputError(
        f"{checkpoint} is no whole checkpoint of PaddleFormers, as {TRAINER_STATE}.bin is missing in it: {name}, "
        "or leave it out to begin anew"
    )


def _is_whole(folder: Path) -> bool:
    """Return whether a checkpoint was written to its end, as far as one can see: its state comes after its weights."""
    return any(folder.glob(f"{TRAINER_STATE}.*"))


def _require_samples(trainer: Any) -> None:
    """Refuse what PaddleFormers fails on without a reason, or waits for without an end."""
    samples = trainer.train_dataset
    if samples is None or (hasattr(samples, "__len__") and not len(samples)):
        raise SettingsError("there is nothing to train on: give the trainer a train_dataset with samples in it")
    rows = [sample for sample in samples if isinstance(sample, Mapping)] if isinstance(samples, (list, tuple)) else []
    if rows and trainer.criterion is None and not all("labels" in row for row in rows):
        raise SettingsError("a sample has no labels: give each token the one after it, and -100 where there is none")
    if getattr(trainer.data_collator, "__name__", "") == "default_data_collator":
        lengths = {len(row["input_ids"]) for row in rows if "input_ids" in row}
        if len(lengths) > 1 and trainer.args.per_device_train_batch_size > 1:
            raise SettingsError(
                f"samples have {min(lengths)} to {max(lengths)} tokens, and the trainer puts them side by side as they "
                "are: give it data_collator=pad_samples"
            )


def pad_samples(samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Make a batch of samples of unlike lengths, as a trainer's ``data_collator``: behind the shorter ones is nothing.

    Args:
        samples: ``input_ids`` and ``labels`` each, of one length, with a token's label being the one after it.

    Returns:
        Tensors ``(samples, longest)`` int64; behind a sample ids are 0 and labels -100, which do not count.

    Raises:
        SettingsError: A sample holds something else, or ids and labels of unlike lengths.

    >>> samples = [{"input_ids": [5, 6], "labels": [6, -100]}, {"input_ids": [7], "labels": [-100]}]
    >>> batch = pad_samples(samples)  # doctest: +SKIP
    >>> batch["input_ids"].tolist(), batch["labels"].tolist()  # doctest: +SKIP
    ([[5, 6], [7, 0]], [[6, -100], [-100, -100]])
    """
    import paddle

    fills = {"input_ids": 0, "labels": -100}
    for sample in samples:
        if sample.keys() != fills.keys() or len(sample["input_ids"]) != len(sample["labels"]):
            raise SettingsError(f"a sample holds {', '.join(sample)}: give input_ids and labels, of one length")
    longest = max((len(sample["labels"]) for sample in samples), default=0)
    batch = {key: np.full((len(samples), longest), fill, "int64") for key, fill in fills.items()}
    for row, sample in enumerate(samples):
        for key in fills:
            batch[key][row, : len(sample[key])] = sample[key]
    return {key: paddle.to_tensor(array) for key, array in batch.items()}


@contextlib.contextmanager
def _refusing(what: str) -> Iterator[None]:
    try:
        yield
    except (AssertionError, TypeError, ValueError) as error:
        raise SettingsError(f"PaddleFormers' {what}: {error}") from error


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(f"{name} cannot be imported ({error}): run {INSTALL_COMMAND}") from error
