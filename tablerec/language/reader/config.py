"""Sizes of the network, and what a training is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tablerec.errors import SettingsError


@dataclass(frozen=True, slots=True)
class ReaderConfig:
    """Sizes of the network.

    Args:
        size: Of the vector of a patch or token; a multiple of ``heads``.
        heads: Of attention, in both parts.
        groups: Of keys and values in the decoder; ``heads`` is a multiple.
        hidden: Of the gated layers.
        encoder_blocks: Blocks of the encoder.
        decoder_blocks: Blocks of the decoder.
        stem: Channels of the three convolutions in front of the encoder.
        max_tokens: Of a table.
        places: Whether two tokens of place stand before each text.

    Raises:
        SettingsError: Sizes do not go together.
    """

    size: int = 384
    heads: int = 6
    groups: int = 2
    hidden: int = 1024
    encoder_blocks: int = 6
    decoder_blocks: int = 8
    stem: tuple[int, int, int] = (32, 64, 128)
    max_tokens: int = 1536
    places: bool = True

    def __post_init__(self) -> None:
        if self.size % self.heads or self.size // self.heads % 4 or self.heads % self.groups:
            raise SettingsError(
                f"size {self.size}, heads {self.heads} and groups {self.groups} do not go together: size / heads must "
                "be a multiple of 4, and heads of groups"
            )


SIZES: Mapping[str, ReaderConfig] = {
    "full": ReaderConfig(),
    "small": ReaderConfig(128, 4, 2, 352, 3, 4, (16, 32, 64)),
    "mini": ReaderConfig(64, 2, 1, 176, 2, 3, (8, 16, 32), 256),
    "tiny": ReaderConfig(32, 2, 1, 64, 1, 1, (4, 8, 8), 256),
}
"""Networks by name: 24 million parameters, 1.6 million, 0.3 million for a CPU, and one for tests."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command is told.

    Args:
        output: Folder of the run.
        levels: What is drawn, by name.
        pace: Samples of each level, as a multiple of what the levels say.
        size: Of the network, by name.
        minutes: Of the whole training; the learning rate falls at their end.
        stop_after: Seconds after which this call saves and ends, whatever is left; None: when the training ends.
        precision: ``bfloat16`` keeps the weights in float32 beside those that compute; or ``float32``.
        attention: ``flash``, ``plain``, or ``auto``: flash where the device has it and is faster with it.
        budget: Places in rows of tokens, in a batch.
        learning_rate: The highest.
        warmup: Steps until it is reached.
        fall: Share of the time in which it falls to 0.
        weight_decay: Of all but norms.
        seed: Of weights and tables.
        scripts: Languages by weight.
        places: Whether tokens of place are written.
        workers: Processes that draw.
        buffer: Examples that are kept and drawn from.
        min_buffer: Examples that must be there before the first step.
        uses: How often an example is used; more often where workers do not draw fast enough.
        log_every: Steps.
        validate_every: Seconds; 0: never.
        save_every: Seconds.
    """

    output: Path
    levels: str = "tables"
    pace: float = 1.0
    size: str = "full"
    minutes: float = 20.0
    stop_after: float | None = None
    precision: str = "float32"
    attention: str = "auto"
    budget: int = 65536
    learning_rate: float = 1e-3
    warmup: int = 300
    fall: float = 0.35
    weight_decay: float = 0.05
    seed: int = 0
    scripts: tuple[tuple[str, float], ...] = (("english", 8), ("latin", 1))
    places: bool = True
    workers: int = 0
    buffer: int = 20_000
    min_buffer: int = 1_000
    uses: float = 1.0
    log_every: int = 50
    validate_every: float = 120.0
    save_every: float = 120.0
