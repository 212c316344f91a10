"""The method by which a decoder is tuned within the memory there is: predicted, no step is taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Literal

from tablerec.errors import SettingsError
from tablerec.language.memory import Decoder, Predicted, predict, read_decoder
from tablerec.language.method import Method
from tablerec.training.settings import LoRA

SAFETY = 1.1
"""Predicted bytes times this have to fit: the error of the predictions."""
CHOSEN = "method.yaml"
_LOSS_TOKENS = (None, 1024, 128)


@dataclass(frozen=True, slots=True)
class Choice:
    """A method that fits.

    Args:
        method: How the decoder is tuned.
        batch: Sequences at once.
        accumulation: Batches in a step.
        predicted: What it takes.
    """

    method: Method
    batch: int
    accumulation: int
    predicted: Predicted

    def __str__(self) -> str:
        """Return it in a few words."""
        return f"{describe(self.method)}, {self.batch} sequences x {self.accumulation}"


def describe(method: Method) -> str:
    """Say in a few words how a method tunes.

    >>> describe(Method(frozen="int4", recompute=True))
    'LoRA on int4, bfloat16, layers computed again'
    >>> describe(Method(lora=None, optimizer="adamw8bit"))
    'all weights, bfloat16, AdamW of 8 bits'
    """
    frozen = "" if method.frozen == "whole" else f" on {method.frozen}"
    words = ["all weights" if method.lora is None else f"LoRA{frozen}", method.precision]
    words += ["layers computed again"] if method.recompute else []
    words += [f"loss by {method.loss_tokens} tokens"] if method.loss_tokens else []
    words += ["AdamW of 8 bits"] if method.optimizer == "adamw8bit" else []
    words += ["state on the host"] if method.state_on_host else []
    return ", ".join(words)


def list_methods(
    precision: Literal["float32", "bfloat16"] = "bfloat16", rank: int = 8, *, whole: bool = True
) -> list[Method]:
    """List methods, the one that keeps most of the model's quality and speed first.

    What is trained and in how many bits comes first: all weights, LoRA, LoRA on 8 and on 4 bits. Among these what costs
    no time comes first: the loss in parts; then the optimizer of 8 bits, layers computed again, and the state on the
    host.

    Args:
        precision: Of computation.
        rank: Of LoRA.
        whole: Whether training all weights is wanted, where it fits.

    >>> [describe(method) for method in list_methods()[:2]]
    ['all weights, bfloat16', 'all weights, bfloat16, loss by 1024 tokens']
    """
    kinds = [Method(precision=precision, lora=None)] if whole else []
    lora = Method(precision=precision, lora=LoRA(rank, 2.0 * rank))
    kinds += [lora, replace(lora, frozen="int8"), replace(lora, frozen="int4")]
    methods = []
    for kind, host, again, optimizer, tokens in product(
        kinds, (False, True), (False, True), ("adamw", "adamw8bit"), _LOSS_TOKENS
    ):
        few = kind.lora is not None and (host or optimizer == "adamw8bit")  # the state of adapters is small
        if not few:
            methods.append(
                replace(kind, loss_tokens=tokens, optimizer=optimizer, recompute=again, state_on_host=host)  # type: ignore[arg-type]
            )
    return methods


def choose(
    decoder: Decoder,
    memory_bytes: float,
    length: int,
    sequences: int,
    methods: list[Method],
    report: Callable[[str], None] = lambda line: None,
) -> Choice:
    """Take the first method of which a step fits, with the largest batch that does.

    Args:
        decoder: The model's sizes.
        memory_bytes: What the device has.
        length: Tokens of a sequence.
        sequences: In a step; batches divide them.
        methods: As ``list_methods`` gives them.
        report: Called with a line for each kind of method that does not fit, and with the choice.

    Raises:
        SettingsError: Nothing fits; the message says what the least takes.
    """
    batches = [batch for batch in range(sequences, 0, -1) if sequences % batch == 0]
    least: tuple[float, Method] | None = None
    for method in methods:
        found = [(batch, predict(decoder, method, batch, length)) for batch in batches]
        fitting = [(batch, each) for batch, each in found if SAFETY * each.peak <= memory_bytes]
        if fitting:
            batch, predicted = fitting[0]
            choice = Choice(method, batch, sequences // batch, predicted)
            report(f"{choice}: {predicted.peak / 1e9:.2f} GB predicted, fits")
            return choice
        peak = found[-1][1].peak
        report(f"{describe(method)}: {peak / 1e9:.2f} GB with one sequence, does not fit")
        if least is None or peak < least[0]:
            least = peak, method
    if least is None:
        raise SettingsError("no method is given")
    raise SettingsError(
        f"nothing fits into {memory_bytes / 1e9:.2f} GB: {describe(least[1])} takes {least[0] / 1e9:.2f} GB with one "
        f"sequence of {length} tokens; give shorter ones or a smaller model"
    )


def tune_decoder(
    path: Path,
    output: Path,
    memory_bytes: float,
    length: int,
    sequences: int,
    report: Callable[[str], None],
) -> Path:
    """Choose how to tune a decoder, say why, and write it.

    Args:
        path: ``config.json`` or its folder.
        output: Folder to write to.
        memory_bytes: What the device has.
        length: Tokens of a sequence.
        sequences: In a step.
        report: Called with each line for the user.

    Returns:
        ``method.yaml`` in ``output``, for ``tablerec.language.method.read_method``.

    Raises:
        InputError: The configuration is no dense decoder's.
        SettingsError: Nothing fits.
        OutputError: The file cannot be written.
    """
    import yaml

    from tablerec.outputs.files import atomic_file
    from tablerec.settings_fields import to_values

    decoder = read_decoder(path)
    choice = choose(decoder, memory_bytes, length, sequences, list_methods(), report)
    for name, size in choice.predicted.parts().items():
        report(f"  {name:12} {size / 1e9:9.3f} GB")
    report(f"  {'most':12} {choice.predicted.peak / 1e9:9.3f} GB, at: {_MOMENTS[choice.predicted.moment]}")
    output.mkdir(parents=True, exist_ok=True)
    file = output / CHOSEN
    values = to_values(choice.method)
    said = f"# {choice} of {length} tokens: {choice.predicted.peak / 1e9:.2f} GB predicted\n"
    with atomic_file(file) as whole:
        whole.write((said + yaml.safe_dump(values, sort_keys=False)).encode())
    report(f"chosen: {choice}. Go on with: prepare(model, read_method({str(file)!r}))")
    return file


_MOMENTS = {
    "loss": "computing the loss",
    "begin": "the first gradients",
    "end": "the last gradients",
    "update": "the optimizer's step",
}
