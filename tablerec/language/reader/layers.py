"""What the encoder and the decoder are made of: norms, rotary positions, attention, gated layers.

On a device that a plugin provides each of these is one operator; the CPU has no kernels of some, and gets the same from
plain ones.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import Tensor, nn
from paddle.incubate.nn import functional as fused
from paddle.nn import functional as F  # noqa: N812

from tablerec.language.reader.vocabulary import PLACES

HIDDEN = -30000.0
"""What is added to the score of a key that must not be seen; bfloat16 and float16 hold it."""


class RMSNorm(nn.Layer):
    """Divides by the root mean square (Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019).

    Args:
        size: Length of the last axis.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = self.create_parameter([size], default_initializer=nn.initializer.Constant(1.0))
        self.size = size

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the last axis.

        >>> RMSNorm(2)(paddle.to_tensor([[3.0, 3.0]])).round(3).tolist()
        [[1.0, 1.0]]
        """
        if x.place.is_cpu_place():
            return x * paddle.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * self.weight
        return F.rms_norm(x, [self.size], self.weight, 1e-6)[0]


class Angles(nn.Layer):
    """Sines and cosines of rotary positions (Su et al., "RoFormer", 2021), a row for each position.

    Args:
        angles: ``(P, size / 2)`` radians by which each pair of a head is turned; dimension ``i`` goes with
            ``i + size / 2``.
    """

    def __init__(self, angles: NDArray[np.float64]) -> None:
        super().__init__()
        both = np.concatenate([angles, angles], 1)
        for name, table in (("sines", np.sin(both)), ("cosines", np.cos(both))):
            self.register_buffer(name, paddle.to_tensor(table.astype(np.float32)), persistable=False)

    def turn(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Turn queries and keys.

        Args:
            q: ``(B, L, heads, size)``.
            k: ``(B, L, groups, size)``.
            positions: ``(B, L)`` int64 rows of the table.
        """
        if not q.place.is_cpu_place():
            found = fused.fused_rotary_position_embedding(
                q, k, None, self.sines, self.cosines, positions, use_neox_rotary_style=False
            )
            return found[0], found[1]
        sines, cosines = (F.embedding(positions, table).unsqueeze(2) for table in (self.sines, self.cosines))
        return _turned(q, sines, cosines), _turned(k, sines, cosines)


def _turned(x: Tensor, sines: Tensor, cosines: Tensor) -> Tensor:
    one, other = x.chunk(2, -1)
    return x * cosines + paddle.concat([-other, one], -1) * sines


def text_angles(length: int, size: int) -> NDArray[np.float64]:
    """``(length, size / 2)`` angles of tokens. Half of the pairs stand still: a patch has no place in a text.

    >>> text_angles(3, 8)[:, 2:].tolist()
    [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    """
    turning = size // 4
    frequencies = 10000.0 ** (-np.arange(turning) / turning)
    return np.pad(np.arange(length)[:, None] * frequencies, ((0, 0), (0, size // 2 - turning)))


def patch_angles(size: int) -> NDArray[np.float64]:
    """``(PLACES * PLACES, size / 2)`` angles of patches: half of the pairs turn with the row, half with the column."""
    turning = size // 4
    along = np.arange(PLACES)[:, None] * 100.0 ** (-np.arange(turning) / turning)
    rows, columns = np.divmod(np.arange(PLACES * PLACES), PLACES)
    return np.concatenate([along[rows], along[columns]], 1)


class Attention(Protocol):
    """What a block sees: it turns queries and keys, and adds up values."""

    def __call__(self, block: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Attend.

        Args:
            block: Number of the block.
            q: ``(B, L, heads, size)``.
            k: ``(B, L, groups, size)``.
            v: The same shape.

        Returns:
            ``(B, L, heads * size)``.
        """


def attend(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor) -> Tensor:
    """Attention by products and a softmax; several heads share a group of keys (Ainslie et al., "GQA", 2023).

    Args:
        q: ``(B, L, heads, size)``.
        k: ``(B, M, groups, size)``.
        v: The same shape.
        hidden: ``(B, 1, 1, L, M)`` added to the scores.

    Returns:
        ``(B, L, heads * size)``.
    """
    batch, length, heads, size = q.shape
    groups, each = k.shape[2], heads // k.shape[2]
    q = (q * size**-0.5).reshape([batch, length, groups, each, size]).transpose([0, 2, 3, 1, 4])
    scores = paddle.matmul(q.reshape([batch, groups, each * length, size]), k.transpose([0, 2, 1, 3]), transpose_y=True)
    weights = F.softmax(scores.reshape([batch, groups, each, length, -1]) + hidden)
    y = paddle.matmul(weights.reshape([batch, groups, each * length, -1]), v.transpose([0, 2, 1, 3]))
    y = y.reshape([batch, groups, each, length, size]).transpose([0, 3, 1, 2, 4])
    return y.reshape([batch, length, heads * size])


class PackedAttention:
    """Attention within the examples of packed rows.

    Args:
        angles: Of the positions.
        positions: ``(B, L)`` int64.
        owners: ``(B, L)`` int32: the example of each place.
        causal: Whether a token sees those before it and itself alone.
        dtype: Of the network.
        bounds: ``(S + 1,)`` int32, see ``packing.bounds_of``: then the device's flash attention is used, which wants
            bfloat16 or float16. None: products and a softmax.
    """

    def __init__(
        self, angles: Angles, positions: Tensor, owners: Tensor, causal: bool, dtype: str, bounds: Tensor | None = None
    ) -> None:
        self._angles, self._positions, self._causal, self._bounds = angles, positions, causal, bounds
        self._length = owners.shape[1]
        if bounds is None:
            seen = owners.unsqueeze(1) == owners.unsqueeze(2)
            if causal:
                order = paddle.arange(self._length, dtype="int32")
                seen = seen & (order.unsqueeze(0) <= order.unsqueeze(1)).unsqueeze(0)
            self._hidden = ((1.0 - seen.astype("float32")) * HIDDEN).astype(dtype).unsqueeze([1, 2])

    def __call__(self, block: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """See ``Attention``."""
        q, k = self._angles.turn(q, k, self._positions)
        if self._bounds is None:
            return attend(q, k, v, self._hidden)
        flat = [each.reshape([-1, *each.shape[2:]]) for each in (q, k, v)]
        found, _ = F.flash_attention.flash_attn_unpadded(
            *flat, self._bounds, self._bounds, self._length, self._length, q.shape[3] ** -0.5, causal=self._causal
        )
        return found.reshape([*q.shape[:2], -1])


class Block(nn.Layer):
    """Attention and a gated layer, each normalized before and added to what came in.

    Args:
        size: Of a place.
        heads: Of the queries, each of ``size / heads``.
        groups: Of keys and values; ``heads`` is a multiple.
        hidden: Size of the gated layer (SwiGLU; Shazeer, "GLU Variants Improve Transformer", 2020).
        scale: Standard deviation of the weights of what is added, at first.
    """

    def __init__(self, size: int, heads: int, groups: int, hidden: int, scale: float) -> None:
        super().__init__()
        self.heads, self.groups, self.head_size = heads, groups, size // heads
        self.norm, self.gated_norm = RMSNorm(size), RMSNorm(size)
        self.qkv = linear(size, (heads + 2 * groups) * self.head_size)
        self.out = linear(size, size, scale)
        self.gate_up = linear(size, 2 * hidden)
        self.down = linear(hidden, size, scale)

    def forward(self, number: int, x: Tensor, attention: Attention) -> Tensor:
        """Go through the block.

        Args:
            number: Of the block.
            x: ``(B, L, size)``.
            attention: What is seen.
        """
        mixed = self.qkv(self.norm(x)).reshape([*x.shape[:2], -1, self.head_size])
        q, k, v = paddle.split(mixed, [self.heads, self.groups, self.groups], 2)
        x = x + self.out(attention(number, q, k, v))
        return x + self.down(F.swiglu(self.gate_up(self.gated_norm(x))))


def linear(inputs: int, outputs: int, scale: float = 0.02) -> nn.Linear:
    """Make a product without bias, its weights normal at first."""
    return nn.Linear(
        inputs, outputs, weight_attr=paddle.ParamAttr(initializer=nn.initializer.Normal(0.0, scale)), bias_attr=False
    )
