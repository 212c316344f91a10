"""Keys and values in tensors of fixed length, and the attention that PaddleFormers' layers get over them.

A layer of PaddleFormers hands its new keys and values to a cache, and what it gets back to the attention function that
its configuration names. So a cache and a function of our own are enough; the modelling code stays as it is.
"""

from __future__ import annotations

import importlib
from typing import Any

from tablerec.errors import SettingsError
from tablerec.language.standins import import_paddleformers

ATTENTION = "static_cache"
"""The name under which ``register_attention`` makes the attention known to PaddleFormers."""
KERNEL = "masked_multihead_attention"
CHUNK_KERNEL = "flash_attn_v3"
"""Whose causal mask lets the last query and the last key meet, as a chunk needs it."""


class StaticCache:
    """The keys and values of all layers, and how long the rows are.

    Between ``begin_chunk`` and the next call of a ``begin`` function the layers must see several tokens of the first
    rows at the same positions; after ``begin_step`` one token of every row, each at its row's length.

    Args:
        layers: How many.
        batch: Rows.
        heads: Heads of keys and values.
        places: The most tokens that a row may hold.
        size: Numbers of a head.
        dtype: Type of keys and values.
        fused: Use Paddle's operator for decoding, which the device must have.
        flash: Use flash attention for chunks, likewise, but for layers with a window that hides some of their places.
    """

    def __init__(
        self,
        layers: int,
        batch: int,
        heads: int,
        places: int,
        size: int,
        dtype: Any,
        fused: bool,
        flash: bool,
    ) -> None:
        import paddle

        # Zeros, as what is hidden is multiplied by nought.
        self._kept = [paddle.zeros([2, batch, heads, places, size], dtype) for _ in range(layers)]
        self._places = paddle.arange(places, dtype="int32").unsqueeze(0)
        self.lengths = paddle.zeros([batch, 1], "int32")
        """Tokens that each row holds, int32, ``[batch, 1]``; a step writes at this place and does not change it."""
        self._fused, self._flash, self._dtype = fused, flash, dtype
        self._chunk: tuple[int, int] | None = None
        self._masks: dict[int | None, Any] = {}

    @property
    def n_bytes(self) -> int:
        """Return what keys and values take."""
        return sum(kept.size * kept.element_size() for kept in self._kept)

    def begin_chunk(self, start: int, stop: int) -> None:
        """Let the layers see the tokens at ``start`` to ``stop`` of the first rows, of as many as they are given."""
        self._chunk = start, stop
        self.forget()

    def begin_step(self) -> None:
        """Let the layers see one token of every row, at the row's length."""
        self._chunk = None
        self.forget()

    def forget(self) -> None:
        """Drop what was made for the layers of one call."""
        self._masks = {}

    def update(self, key: Any, value: Any, layer: int, *_: Any) -> tuple[_OfLayer, Any]:
        """Take a layer's new keys and values, ``[batch, heads, tokens, size]``; what comes back is for ``_attend``."""
        return _OfLayer(self, layer, key, value), value

    def attend(self, layer: int, query: Any, key: Any, value: Any, scale: float, window: int | None) -> Any:
        """Keep a layer's new keys and values, and let its queries see all that is kept.

        Args:
            layer: Its index.
            query: ``[batch, heads, tokens, size]``.
            key: ``[batch, heads of keys, tokens, size]``.
            value: The same shape.
            scale: Multiplies the scores.
            window: How many tokens back a query sees, itself included; None for all.

        Returns:
            ``[batch, tokens, heads * size]``.
        """
        if self._chunk is None and self._fused:
            return self._attend_fused(layer, query, key, value, scale, window)
        import paddle

        kept, new = self._kept[layer], paddle.stack([key, value])
        if self._chunk is not None:
            start, stop = self._chunk
            rows = query.shape[0]
            kept[:, :rows, :, start:stop] = new
            if self._flash and (window is None or window >= stop):
                # As which they were made: without a copy.
                both = [key, value] if start == 0 else kept[:, :rows, :, :stop]
                return _attend_flash(query, both[0], both[1], scale)
            kept = kept[:, :rows, :, :stop]
        else:
            paddle.assign(paddle.where((self._places == self.lengths)[:, None, :, None], new, kept), kept)
        return attend(query, kept[0], kept[1], self._mask(window), scale)

    def _attend_fused(self, layer: int, query: Any, key: Any, value: Any, scale: float, window: int | None) -> Any:
        import paddle

        batch, heads, _, size = query.shape
        if abs(scale * size**0.5 - 1) > 1e-6:  # the operator's own is one over the root
            query = query * (scale * size**0.5)
        # Back to [batch, tokens, heads, size], as which they were made: reshaped without a copy.
        rows = [each.transpose([0, 2, 1, 3]).reshape([batch, -1]) for each in (query, key, value)]
        found = paddle.incubate.nn.functional.masked_multihead_attention(
            paddle.concat(rows, 1),
            self._kept[layer],
            src_mask=None if window is None else self._mask(window).reshape([batch, 1, 1, -1]),
            sequence_lengths=self.lengths,
        )
        return found[0].reshape([batch, 1, heads * size])

    def _mask(self, window: int | None) -> Any:
        """Return what is added to scores, 0 or the lowest number; the same for all layers of a call."""
        if window not in self._masks:
            self._masks[window] = self._make_mask(window)
        return self._masks[window]

    def _make_mask(self, window: int | None) -> Any:
        import paddle

        if self._chunk is not None:
            start, stop = self._chunk
            last, shape = paddle.arange(start, stop, dtype="int32").unsqueeze(1), [1, 1, 1, stop - start, stop]
            places = self._places[:, :stop]
        else:
            last, shape, places = self.lengths, [self.lengths.shape[0], 1, 1, 1, -1], self._places
        visible = places <= last
        if window is not None:
            visible = paddle.logical_and(visible, places > last - window)
        dtype = self._dtype if self._chunk is None and self._fused else "float32"
        lowest = paddle.full([1], paddle.finfo(paddle.float16 if dtype == "float16" else paddle.float32).min / 2, dtype)
        return paddle.where(visible, paddle.zeros([1], dtype), lowest).reshape(shape)


class _OfLayer:
    """What a layer hands to its attention function in place of keys."""

    def __init__(self, cache: StaticCache, layer: int, key: Any, value: Any) -> None:
        self.cache, self.layer, self.key, self.value = cache, layer, key, value


def attend(query: Any, keys: Any, values: Any, mask: Any, scale: float) -> Any:
    """Compute attention with single operators; heads that share keys are taken together, no key is repeated.

    Args:
        query: ``[batch, heads, tokens, size]``.
        keys: ``[batch, heads of keys, places, size]``.
        values: The same shape.
        mask: Added to the scores, float32, ``[batch or 1, 1, 1, tokens, places]``.
        scale: Multiplies the scores.

    Returns:
        ``[batch, tokens, heads * size]``.
    """
    import paddle

    batch, heads, tokens, size = query.shape
    kept, places = keys.shape[1:3]
    scores = paddle.matmul(query.reshape([batch, kept, -1, size]), keys, transpose_y=True).astype("float32") * scale
    scores = scores.reshape([batch, kept, heads // kept, tokens, places]) + mask
    weights = paddle.nn.functional.softmax(scores).astype(values.dtype).reshape([batch, kept, -1, places])
    found = paddle.matmul(weights, values).reshape([batch, heads, tokens, size])
    return found.transpose([0, 2, 1, 3]).reshape([batch, tokens, heads * size])


def _attend_flash(query: Any, keys: Any, values: Any, scale: float) -> Any:
    """Compute as ``attend`` does, where the last query sees all places, the one before all but the last, and so on."""
    import paddle

    given = [each.transpose([0, 2, 1, 3]) for each in (query, keys, values)]
    no_scales, no_window = (None, None, None), (-1, -1)
    found = paddle._C_ops.flash_attn_v3(*given, None, *no_scales, scale, True, *no_window, 0.0, 1, False, False, 0)[0]
    return found.reshape([*found.shape[:2], -1])


def register_attention() -> None:
    """Make the attention over a ``StaticCache`` known to PaddleFormers, as ``ATTENTION``.

    Raises:
        MissingDependencyError: PaddleFormers is not installed.
    """
    import_paddleformers()
    importlib.import_module("paddleformers.nn.attention.interface").ALL_ATTENTION_FUNCTIONS.register(ATTENTION, _attend)


def _attend(module: Any, query: Any, key: _OfLayer, value: Any, scaling: float, **given: Any) -> tuple[Any, None]:
    if given.get("sink") is not None:
        raise SettingsError(f"{type(module).__name__} has attention sinks, which decoding with a static cache lacks")
    window = getattr(module, "sliding_window", None)
    return key.cache.attend(key.layer, query, key.key, key.value, scaling, window), None
