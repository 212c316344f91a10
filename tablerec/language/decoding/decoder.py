"""Prompts in, tokens out, by a decoder of PaddleFormers."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence, Sized
from typing import Any

import numpy as np

from tablerec.devices.attention import chooses_flash_attention
from tablerec.devices.graph import CapturedNetwork
from tablerec.devices.plugin import Plugin, registered_kernels
from tablerec.errors import SettingsError
from tablerec.language.decoding import cache, rotary
from tablerec.language.decoding.cache import ATTENTION, StaticCache, register_attention
from tablerec.language.decoding.rotary import FUNCTION, Rotary
from tablerec.language.decoding.sampling import Sampling, choose, draw

GREEDY = Sampling()
_PAD = 0
"""Written after a row's end, and cut off again."""
_STEPS = 64
_NEEDED = ("embed_tokens", "layers", "norm", "rotary_emb")


class Decoder:
    """Writes tokens with a causal language model of PaddleFormers, whose parameters it reads where they lie.

    The embedding, the layers, the norm and the head are PaddleFormers' own. The loop over the layers is ours, and so is
    the attention, over a cache of fixed length; the angles of rotary positions are computed once, by the model, for all
    positions, and turned by Paddle's fused operator where the device has it. Llama, ERNIE-4.5, Qwen3 and Gemma3 are
    tried. Parameters may be trained between calls, but not replaced.

    Args:
        model: The model, on Paddle's current device.
        batch: The most rows at once. Fewer take the same time.
        length: The most tokens of a row, prompt and answer together.
        sampling: How tokens are chosen.
        plugin: The device's plugin, to capture a step as a graph and repeat it; without it every
            step is called in Python. Tokens are the same.
        chunk: Tokens of a prompt that go through the model at once.
        look: Tokens that are written between two looks of the host, which sees only then that all rows have ended.

    Raises:
        MissingDependencyError: PaddleFormers is missing.
        SettingsError: A number is below 1, or the model is not built as PaddleFormers' decoders are.

    Examples:
        >>> decoder = Decoder(model, batch=2, length=512, plugin=plugin)  # doctest: +SKIP
        >>> decoder.generate([[1, 5, 9], [1, 7]], max_tokens=100)  # doctest: +SKIP
        [[23, 42, 2], [17, 2]]
    """

    def __init__(
        self,
        model: Any,
        batch: int = 1,
        length: int = 1024,
        sampling: Sampling = GREEDY,
        plugin: Plugin | None = None,
        chunk: int = 256,
        look: int = 16,
    ) -> None:
        register_attention()
        import paddle

        for name, value in {"batch": batch, "length": length, "chunk": chunk, "look": look}.items():
            if value < 1:
                raise SettingsError(f"{name} is {value}: choose 1 or more")
        self._model, self._base = model, _base_of(model)
        self._batch, self._length, self._chunk, self._look = batch, length, chunk, look
        self._sampling, self._plugin = sampling, plugin
        self._graph: CapturedNetwork | None = None
        attention = self._base.layers[0].self_attn
        weight = self._base.embed_tokens.weight
        self._vocabulary, dtype = int(weight.shape[0]), weight.dtype
        named = registered_kernels(paddle.get_device().partition(":")[0])
        type_name = str(dtype).removeprefix("paddle.")
        kernels = {kernel for kernel, dtypes in named.items() if type_name in dtypes}
        self._flash = cache.CHUNK_KERNEL in kernels and chooses_flash_attention(type_name, attention.head_dim)
        with paddle.no_grad():
            self._cache = StaticCache(
                len(self._base.layers),
                batch,
                attention.num_key_value_heads,
                length,
                attention.head_dim,
                dtype,
                fused=cache.KERNEL in kernels,
                flash=self._flash,
            )
            self._rotary = Rotary(self._base, length, dtype, rotary.KERNEL in kernels)
            # What changes from step to step, set in place: a graph reads and writes where it was captured.
            self._token = paddle.zeros([batch, 1], "int64")
            self._done = paddle.zeros([batch, 1], "bool")
            self._place = paddle.zeros([1, 1], "int64")
            self._written = paddle.zeros([batch, look], "int64")
            self._draws = paddle.zeros([batch, look], "float32")
            self._seen = paddle.zeros([batch, self._vocabulary if sampling.remembers else 1], "bool")
            # And what does not.
            self._is_end = paddle.zeros([self._vocabulary], "bool")
            self._pad = paddle.full([1, 1], _PAD, "int64")
            self._columns = paddle.arange(look, dtype="int64").unsqueeze(0)
            self._tokens = paddle.arange(self._seen.shape[1], dtype="int64").unsqueeze(0)

    @property
    def cache_bytes(self) -> int:
        """Return what the keys and values of all layers take."""
        return self._cache.n_bytes

    @property
    def nodes(self) -> int:
        """Return the launches in the captured graph of a step, 0 where there is none yet."""
        return self._graph.nodes if self._graph else 0

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        max_tokens: int | None = None,
        ends: Collection[int] | int | None = None,
        seed: int | Sequence[int] = 0,
    ) -> list[list[int]]:
        """Continue prompts; what a row gets does not depend on the other rows.

        Args:
            prompts: Token ids, at least one in each row; rows may differ in length.
            max_tokens: The most tokens to write for a row; by default what is left beside the longest prompt.
            ends: The tokens that end a row; by default those of the model's configuration.
            seed: Of the random numbers. Row ``r`` draws from the stream of ``seed + r``, or of ``seed[r]``.

        Returns:
            For each prompt the tokens that follow it, up to an end, which is kept.

        Raises:
            SettingsError: Too many rows or tokens, an empty prompt, or a token that the vocabulary lacks.
        """
        import paddle

        if isinstance(prompts, str) or not all(isinstance(prompt, Sized) for prompt in prompts):
            raise SettingsError("prompts are lists of token ids, one for each row: [[1, 5, 9]]")
        if max_tokens is None:
            max_tokens = max(self._length - max(map(len, prompts), default=0), 1)
        self._check(prompts, max_tokens)
        if not prompts or not max_tokens:
            return [[] for _ in prompts]
        ends = self._ends(ends)
        seeds = [seed + row for row in range(len(prompts))] if isinstance(seed, int) else list(seed)
        if len(seeds) != len(prompts):
            raise SettingsError(f"{len(seeds)} seeds for {len(prompts)} prompts: give one, or one for each")
        if min(seeds) < 0:
            raise SettingsError(f"a seed is {min(seeds)}: choose 0 or more")
        # The longest first: what is left of the prompts then belongs to the first rows.
        order = sorted(range(len(prompts)), key=lambda row: -len(prompts[row]))
        prompts, seeds = [prompts[row] for row in order], [seeds[row] for row in order]
        with paddle.no_grad(), _in_use(self._model, self._base, self._rotary):
            if self._plugin and self._graph is None:
                _set(self._done, np.ones((self._batch, 1), bool))  # rows that do not grow
                self._graph = CapturedNetwork(self._plugin, self._step, [])
            self._begin(prompts, ends)
            self._prefill(prompts)
            rows = self._write(max_tokens, self._padded(draw(seeds, max_tokens)))
        found = {row: _cut(tokens, ends) for row, tokens in zip(order, rows.tolist(), strict=False)}
        return [found[row] for row in range(len(prompts))]

    def _check(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> None:
        if len(prompts) > self._batch:
            raise SettingsError(f"{len(prompts)} prompts: the decoder was made for a batch of {self._batch}")
        if max_tokens < 0:
            raise SettingsError(f"max_tokens is {max_tokens}: choose 0 or more")
        for row, prompt in enumerate(prompts):
            if isinstance(prompt, str):
                raise SettingsError(f"prompt {row} is text: give the ids of its tokens, as the model's tokenizer does")
            if not len(prompt):
                raise SettingsError(f"prompt {row} is empty: begin it with the token for the begin of a text")
            if len(prompt) + max_tokens > self._length:
                raise SettingsError(
                    f"prompt {row} has {len(prompt)} tokens, and {max_tokens} are to be written: the decoder was made "
                    f"for {self._length} together; make it longer, or ask for fewer"
                )
            if not 0 <= min(prompt) <= max(prompt) < self._vocabulary:
                raise SettingsError(
                    f"prompt {row} holds token {min(prompt) if min(prompt) < 0 else max(prompt)}: "
                    f"the vocabulary has tokens 0 to {self._vocabulary - 1}"
                )

    def _ends(self, ends: Collection[int] | int | None) -> set[int]:
        if ends is None:
            ends = getattr(self._model.config, "eos_token_id", None)
        found = {ends} if isinstance(ends, int) else set(ends or ())
        return {end for end in found if 0 <= end < self._vocabulary}

    def _padded(self, rows: np.ndarray) -> np.ndarray:
        """Add rows of zeros up to the batch."""
        return np.pad(rows, ((0, self._batch - len(rows)), (0, 0)))

    def _begin(self, prompts: Sequence[Sequence[int]], ends: set[int]) -> None:
        """Set the state to before the prompts' last tokens, which are the first to go through ``_step``."""
        n_rows = len(prompts)
        _set(self._token, self._padded(np.array([[prompt[-1]] for prompt in prompts], "int64")))
        _set(self._cache.lengths, self._padded(np.array([[len(prompt) - 1] for prompt in prompts], "int32")))
        _set(self._done, np.arange(self._batch)[:, None] >= n_rows)
        _set(self._is_end, np.isin(np.arange(self._vocabulary), list(ends)))
        if self._sampling.remembers:
            seen = np.zeros(self._seen.shape, bool)
            for row, prompt in enumerate(prompts):
                seen[row, list(prompt)] = True
            _set(self._seen, seen)

    def _prefill(self, prompts: Sequence[Sequence[int]]) -> None:
        """Let all tokens but the last of each row through the layers, in chunks.

        Rows whose tokens have ended drop out. What rows that are shorter leave behind their end is never looked at:
        their next tokens overwrite it.
        """
        import paddle

        longest = max(len(prompt) for prompt in prompts) - 1
        tokens = np.full((self._batch, self._length), _PAD, "int64")
        for row, prompt in enumerate(prompts):
            tokens[row, : len(prompt) - 1] = prompt[:-1]
        for start in range(0, longest, self._chunk):
            stop = min(start + self._chunk, longest)
            if self._flash:
                stop = min(start + self._chunk, start + _round_up(stop - start), self._length)
            some = sum(len(prompt) - 1 > start for prompt in prompts)
            rows = min(1 << (some - 1).bit_length(), self._batch)
            self._cache.begin_chunk(start, stop)
            angles = self._rotary.begin_chunk(rows, start, stop)
            self._layers(paddle.to_tensor(tokens[:rows, start:stop]), angles)

    def _write(self, max_tokens: int, draws: np.ndarray) -> np.ndarray:
        """Take steps, and look at what they wrote after every few."""
        found = []
        for first in range(0, max_tokens, self._look):
            count = min(self._look, max_tokens - first)
            _set(self._place, np.zeros((1, 1), "int64"))
            if not self._sampling.greedy:
                numbers = draws[:, first : first + count]
                _set(self._draws, np.pad(numbers, ((0, 0), (0, self._look - count))))
            for _ in range(count):
                if self._graph:
                    self._graph()
                else:
                    self._step()
            found.append(self._written.numpy()[:, :count])
            if self._done.numpy().all():
                break
        return np.concatenate(found, 1)

    def _step(self) -> None:
        """Write one token in each row. Nothing here asks the host, whatever the tokens are."""
        import paddle

        self._cache.begin_step()
        lengths = self._cache.lengths
        hidden = self._base.norm(self._layers(self._token, self._rotary.begin_step(lengths)))
        logits = self._model.lm_head(hidden)[:, 0]
        cap = getattr(self._model.config, "final_logit_softcapping", None)
        if cap is not None:
            logits = paddle.tanh(logits / cap) * cap
        here = self._columns == self._place
        draws = None
        if not self._sampling.greedy:
            draws = paddle.index_select(self._draws, self._place.reshape([1]), 1)
        token = paddle.where(self._done, self._pad, choose(logits, self._sampling, draws, self._seen))
        paddle.assign(paddle.where(here, token, self._written), self._written)
        if self._sampling.remembers:
            paddle.assign(paddle.logical_or(self._seen, self._tokens == token), self._seen)
        # A row that has ended stays where it is, and writes over its last place.
        paddle.assign(lengths + paddle.logical_not(self._done).astype("int32"), lengths)
        paddle.assign(paddle.logical_or(self._done, paddle.gather(self._is_end, token[:, 0])[:, None]), self._done)
        paddle.assign(token, self._token)
        paddle.assign(self._place + 1, self._place)
        # What is kept of a captured step would go back to the pool later, and the graph would write there.
        self._cache.forget()
        self._rotary.forget()

    def _layers(self, tokens: Any, angles: tuple[Any, Any]) -> Any:
        weight = self._base.embed_tokens.weight
        hidden = self._base.embed_tokens(tokens)
        if hidden.dtype != weight.dtype:
            hidden = hidden.astype(weight.dtype)
        for layer in self._base.layers:
            hidden = layer(
                hidden,
                position_embeddings=angles,
                past_key_values=self._cache,
                # Not looked at, but Gemma3 takes another attention where it is given nothing.
                attn_mask_startend_row_indices=self._cache.lengths,
                use_cache=True,
            )
            if isinstance(hidden, tuple):  # with what a router gave
                hidden = hidden[0]
        return hidden

    def close(self) -> None:
        """Give the captured graph's memory back; the next call captures it again."""
        if self._graph:
            self._graph.close()
            self._graph = None


def _round_up(count: int) -> int:
    """Round up to few different numbers: cuDNN makes a plan for each shape that it sees, in tenths of a second.

    >>> _round_up(1), _round_up(64), _round_up(65)
    (64, 64, 128)
    """
    return -(-count // _STEPS) * _STEPS


def _base_of(model: Any) -> Any:
    """Return the part of a causal language model that holds the layers."""
    base: Any = getattr(model, "model", None)
    missing = [name for name in _NEEDED if not hasattr(base, name)] + ["lm_head"] * (not hasattr(model, "lm_head"))
    if getattr(getattr(model, "config", None), "vision_config", None) is not None:
        raise SettingsError(f"{type(model).__name__} looks at pictures, which this does not: use the model's generate")
    attention = None if missing or not len(base.layers) else getattr(base.layers[0], "self_attn", None)
    if attention is not None and not (hasattr(attention, "num_key_value_heads") and hasattr(attention, "head_dim")):
        raise SettingsError(
            f"{type(attention).__name__} has no heads of keys (num_key_value_heads, head_dim) to keep in a cache"
        )
    if attention is None:
        raise SettingsError(
            f"{type(model).__name__} lacks {', '.join(missing) or 'layers with self_attn'}: give a causal language "
            "model of PaddleFormers, such as LlamaForCausalLM; of a LoRAModel give its model"
        )
    return base


@contextlib.contextmanager
def _in_use(model: Any, base: Any, angles: Rotary) -> Iterator[None]:
    """Switch a model to inference, to our attention and the fused turning; everything is as before afterwards."""
    holders = [model.config, base.config, *(layer.self_attn.config for layer in base.layers)]
    changes: list[tuple[Any, str, Any]] = [(each, "_attn_implementation", ATTENTION) for each in holders]
    changes += [(each, "apply_rope_fusion", False) for each in holders]  # it knows no positions
    changes += [(each, "use_fused_head_and_loss_fn", False) for each in holders]  # it gives no logits
    # Some layers note the name when they are made.
    changes += [(layer.self_attn, "attn_implementation", ATTENTION) for layer in base.layers]
    if angles.replaces:
        changes.append((angles.home, FUNCTION, angles.replacement))
    changes = [(each, name, value) for each, name, value in changes if hasattr(each, name)]
    before = [(each, name, getattr(each, name)) for each, name, _ in changes]
    trains = [layer for layer in model.sublayers(include_self=True) if layer.training]
    try:
        for each, name, value in changes:
            setattr(each, name, value)
        model.eval()
        yield
    finally:
        for each, name, value in before[::-1]:
            setattr(each, name, value)
        for layer in trains:
            layer.training = True


def _set(state: Any, values: np.ndarray) -> None:
    import paddle

    state.copy_(paddle.to_tensor(values, place=paddle.CPUPlace()), True)


def _cut(row: list[int], ends: set[int]) -> list[int]:
    """Cut a row after its first end.

    >>> _cut([5, 2, 0, 0], {2}), _cut([5, 2], {9})
    ([5, 2], [5, 2])
    """
    last = next((place for place, token in enumerate(row) if token in ends), len(row))
    return row[: last + 1]
