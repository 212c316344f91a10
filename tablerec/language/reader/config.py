"""Sizes of the network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    "mini": ReaderConfig(64, 2, 1, 176, 2, 2, (8, 16, 32), 256),
    "tiny": ReaderConfig(32, 2, 1, 64, 1, 1, (4, 8, 8), 256),
}
"""Networks by name: 24 million parameters, 1.5 million, 0.2 million for a CPU, and one for tests."""
