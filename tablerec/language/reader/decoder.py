"""The decoder: a causal language model like ERNIE 4.5 whose input begins with the patches of a picture.

Patches are tokens like others: their vectors are put behind those of the vocabulary, and a number behind its last token
names one. All patches stand at position 0, since where they are is in their vectors; the table counts from 1.
"""

from __future__ import annotations

import paddle
from paddle import Tensor, nn
from paddle.nn import functional as F  # noqa: N812

from tablerec.language.reader.config import ReaderConfig
from tablerec.language.reader.layers import Angles, Attention, Block, RMSNorm, text_angles
from tablerec.language.reader.vocabulary import N_TOKENS


class Decoder(nn.Layer):
    """The network. The vectors of tokens also score the next one.

    Args:
        config: Its sizes.
    """

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__()
        size = config.size
        self.tokens = self.create_parameter([N_TOKENS, size], default_initializer=nn.initializer.Normal(0.0, 0.02))
        scale = 0.02 / (2 * config.decoder_blocks) ** 0.5
        self.blocks = nn.LayerList(
            Block(size, config.heads, config.groups, config.hidden, scale) for _ in range(config.decoder_blocks)
        )
        self.norm = RMSNorm(size)
        self.angles = Angles(text_angles(config.max_tokens, size // config.heads))

    def forward(self, inputs: Tensor, patches: Tensor | None, attention: Attention) -> Tensor:
        """Score what follows each token.

        Args:
            inputs: ``(B, L)`` int64 tokens; ``N_TOKENS`` + i stands for patch i.
            patches: ``(P, size)`` from the encoder; None where no input names one.
            attention: What each token sees.

        Returns:
            ``(B, L, N_TOKENS)``, before the softmax.
        """
        known = self.tokens if patches is None else paddle.concat([self.tokens, patches])
        x = F.embedding(inputs, known)
        for number, block in enumerate(self.blocks):
            x = block(number, x, attention)
        return paddle.matmul(self.norm(x), self.tokens, transpose_y=True)
