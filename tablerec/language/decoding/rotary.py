"""The angles of rotary positions, computed once, and the turning of queries and keys in one launch each."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

KERNEL = "fused_rotary_position_embedding"
FUNCTION = "apply_rotary_pos_emb"
"""What turns queries and keys in each of PaddleFormers' modules of models."""


class Rotary:
    """The angles of every position of a model, in its own type, as it would compute them in each call.

    PaddleFormers' models turn with some ten operators a layer, of which a step of one token has the launches to pay.
    Where the device has Paddle's fused operator, and that gives what the model's function gives, it can take the
    function's place: ``replacement``.

    Args:
        base: The part of a model that holds the layers.
        places: Positions.
        dtype: The model's type.
        fused: Whether the device has the fused operator.
    """

    def __init__(self, base: Any, places: int, dtype: Any, fused: bool) -> None:
        import paddle

        positions = paddle.arange(places, dtype="int64").unsqueeze(0)
        # Of the model's input only the type is asked for. [places, numbers of a head] each.
        self._tables = [paddle.assign(table[0]) for table in base.rotary_emb(paddle.zeros([1, 1, 1], dtype), positions)]
        self._positions: Any = None
        self.home = sys.modules[type(base.layers[0].self_attn).__module__]
        """The module whose ``FUNCTION`` may be replaced."""
        self._side_by_side = False
        self.replaces = fused and hasattr(self.home, FUNCTION) and self._finds_style()

    def begin_chunk(self, batch: int, start: int, stop: int) -> tuple[Any, Any]:
        """Return what a layer takes for tokens at ``start`` to ``stop`` of every row."""
        import paddle

        if self.replaces:
            self._positions = paddle.arange(start, stop, dtype="int64").unsqueeze(0).tile([batch, 1])
            return self._fused_tables
        cosines, sines = (table[start:stop].unsqueeze(0) for table in self._tables)
        return cosines, sines

    def begin_step(self, lengths: Any) -> tuple[Any, Any]:
        """Return what a layer takes for one token a row, at its row's length, int32, ``[batch, 1]``."""
        import paddle

        if self.replaces:
            self._positions = lengths.astype("int64")
            return self._fused_tables
        cosines, sines = (paddle.nn.functional.embedding(lengths, table) for table in self._tables)
        return cosines, sines

    def forget(self) -> None:
        """Drop what was made for the layers of one call."""
        self._positions = None

    def replacement(self, query: Any, key: Any, cosines: Any, sines: Any, *_: Any) -> tuple[Any, Any]:
        """Turn ``[batch, heads, tokens, size]`` as the model's function does."""
        import paddle

        # As which they were made: without a copy.
        given = [each.transpose([0, 2, 1, 3]) for each in (query, key)]
        turned = paddle.incubate.nn.functional.fused_rotary_position_embedding(
            *given, None, sines, cosines, self._positions, use_neox_rotary_style=self._side_by_side
        )
        query, key = (each.transpose([0, 2, 1, 3]) for each in turned[:2])
        return query, key

    def _finds_style(self) -> bool:
        """Look which way of pairing gives what the model's function gives; whether one does."""
        import paddle

        cosines, sines = self._tables
        places, size = min(len(cosines), 8), cosines.shape[1]
        drawn = paddle.to_tensor(np.random.default_rng(0).normal(size=(1, 2, places, size)).astype("float32"))
        drawn = drawn.astype(cosines.dtype)
        expected = getattr(self.home, FUNCTION)(
            drawn, drawn, cosines[:places].unsqueeze(0), sines[:places].unsqueeze(0)
        )
        self._positions = paddle.arange(places, dtype="int64").unsqueeze(0)
        for self._side_by_side in (False, True):
            half = [table[:, : size // 2] for table in self._tables]
            # Pairs that lie side by side have their angles there too.
            tables = [each.repeat_interleave(2, -1) for each in half] if self._side_by_side else self._tables
            self._fused_tables = tables[0].reshape([1, -1, 1, size]), tables[1].reshape([1, -1, 1, size])
            found = self.replacement(drawn, drawn, *self._fused_tables)
            apart = [(a - b).abs().astype("float32").max().item() for a, b in zip(expected, found, strict=True)]
            if max(apart) < 0.1:  # half precision; pairs that are not pairs are apart by more than one
                break
        else:
            return False
        self.forget()
        return True
