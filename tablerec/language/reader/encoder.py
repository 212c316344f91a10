"""The encoder: patches of pictures of any size to vectors that know their surroundings.

As in NaViT, the patches of several pictures share a row, a place is the sum of a vector for its row and one for its
column, and attention stays within a picture; queries and keys are turned by row and column besides.
"""

from __future__ import annotations

import paddle
from paddle import Tensor, nn
from paddle.nn import functional as F  # noqa: N812

from tablerec.language.reader.config import ReaderConfig
from tablerec.language.reader.layers import Angles, Attention, Block, RMSNorm, linear, patch_angles
from tablerec.language.reader.vocabulary import PLACES


class Encoder(nn.Layer):
    """The network.

    Args:
        config: Its sizes.
    """

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__()
        size, (a, b, c) = config.size, config.stem
        # A window of 24 x 16 px: 11 x 7, 5 x 3, and 2 x 1 places of 8 px each, which are merged into one.
        self.stem = nn.Sequential(
            nn.Conv2D(1, a, 4, 2), nn.GELU(), nn.Conv2D(a, b, 3, 2), nn.GELU(), nn.Conv2D(b, c, 3, 2), nn.GELU()
        )
        self.merge = linear(2 * c, size, (2 * c) ** -0.5)
        self.of_rows, self.of_columns = (_embedding(PLACES, size) for _ in range(2))
        scale = 0.02 / (2 * config.encoder_blocks) ** 0.5
        self.blocks = nn.LayerList(
            Block(size, config.heads, config.heads, config.hidden, scale) for _ in range(config.encoder_blocks)
        )
        self.norm = RMSNorm(size)
        self.project = linear(size, size)
        self.angles = Angles(patch_angles(size // config.heads))

    def forward(self, windows: Tensor, places: Tensor, attention: Attention) -> Tensor:
        """Encode.

        Args:
            windows: ``(B * L, 1, 24, 16)`` uint8.
            places: ``(B, L)`` int64, see ``packing.Batch``.
            attention: Within each picture.

        Returns:
            ``(B * L, size)``: patches as the decoder takes them.
        """
        pixels = paddle.scale(windows.astype("float32"), 1 / 64, -2.0).astype(self.merge.weight.dtype)
        x = self.merge(self.stem(pixels).flatten(1)).reshape([*places.shape, -1])
        x = x + F.embedding(places // PLACES, self.of_rows) + F.embedding(places % PLACES, self.of_columns)
        for number, block in enumerate(self.blocks):
            x = block(number, x, attention)
        return self.project(self.norm(x)).flatten(0, 1)


def _embedding(count: int, size: int) -> Tensor:
    return paddle.create_parameter([count, size], "float32", default_initializer=nn.initializer.Normal(0.0, 0.02))
