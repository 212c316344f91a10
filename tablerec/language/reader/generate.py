"""Pictures to tables: token after token, with a key-value cache, several pictures at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import Tensor

from postprocess.arrays import Image
from tablerec.language.reader.grammar import Grammar, complete
from tablerec.language.reader.layers import HIDDEN, Angles, PackedAttention, attend
from tablerec.language.reader.network import Reader
from tablerec.language.reader.patches import Grey, cut, fit
from tablerec.language.reader.vocabulary import BEGIN, N_TOKENS, PAD, PLACES, Written, tokens_to_table

MAX_PATCHES = 2304
"""Of a picture; larger ones are made smaller."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a picture was read as.

    Args:
        written: The table and where its texts begin, in patches of the picture that was seen.
        scale: Of the picture that was seen to the one that was given.
        tokens: ``(N,)`` what the network chose, without ``BEGIN``.
        chances: ``(N,)`` float32 how probable it held each of them, 0 to 1, among those that may follow.
        cut: Whether the table was not at its end when it had as many tokens as it may.
        seconds: Of the whole batch, from patches to tokens.
    """

    written: Written
    scale: float
    tokens: NDArray[np.int64]
    chances: NDArray[np.float32]
    cut: bool
    seconds: float


GROWTH = 256
"""Places by which the cache grows when it is full."""


class CachedAttention:
    """Attention to all that was seen before: keys and values are kept.

    Args:
        angles: Of the positions.
        blocks: Blocks of the decoder.
    """

    def __init__(self, angles: Angles, blocks: int) -> None:
        self._angles = angles
        self._kept: list[list[Tensor]] = [[] for _ in range(blocks)]
        self.end = 0
        """How much is kept."""
        self.length = 0
        """How much there is room for."""
        self.positions: Tensor
        """``(B, L)`` of what comes next."""
        self.hidden: Tensor
        """``(B, 1, 1, L, length)`` added to its scores."""

    def make_room(self, count: int) -> None:
        """Let so many places follow."""
        while self.length < self.end + count:
            self.length += GROWTH

    def __call__(self, block: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """See ``layers.Attention``."""
        q, k = self._angles.turn(q, k, self.positions)
        kept = self._kept[block]
        missing = self.length - (kept[0].shape[1] if kept else 0)
        if missing:
            more = paddle.zeros([k.shape[0], missing, *k.shape[2:]], k.dtype)
            kept[:] = [paddle.concat([each, more], 1) for each in kept] or [more, more.clone()]
        place = slice(self.end, self.end + k.shape[1])
        for store, new in zip(kept, (k, v), strict=True):
            store[:, place] = new
        return attend(q, kept[0], kept[1], self.hidden)


@paddle.no_grad()
def read(net: Reader, pictures: Sequence[Image], max_tokens: int | None = None) -> list[Reading]:
    """Read pictures of a table each, as one batch.

    Args:
        net: The network, in evaluation.
        pictures: ``(H, W, 3)`` uint8 RGB.
        max_tokens: Of a table; by default as many as the network knows.
    """
    fitted = [fit(picture, MAX_PATCHES) for picture in pictures]
    return read_grey(net, [grey for grey, _ in fitted], max_tokens, scales=[scale for _, scale in fitted])


@paddle.no_grad()
def read_grey(
    net: Reader,
    pictures: Sequence[Grey],
    max_tokens: int | None = None,
    *,
    scales: Sequence[float] | None = None,
) -> list[Reading]:
    """Read grey pictures as they are; see ``read``.

    Args:
        net: The network.
        pictures: ``(H, W)`` uint8, with no more patches than it can take.
        max_tokens: Of a table.
        scales: Of the pictures, for the readings.
    """
    if not pictures:
        return []
    begun = time.perf_counter()
    most = min(max_tokens or net.config.max_tokens, net.config.max_tokens) - 1
    patches, counts = _encode(net, pictures)
    decoding = _Decoding(net, patches, counts, most)
    grammars = [Grammar(net.config.places) for _ in pictures]
    chosen: list[list[int]] = [[] for _ in pictures]
    chances: list[list[float]] = [[] for _ in pictures]
    scores = decoding.begin()
    for number in range(most):
        tokens, probable = _choose(scores, grammars)
        for index, grammar in enumerate(grammars):
            if not grammar.done:
                grammar.take(int(tokens[index]))
                chosen[index].append(int(tokens[index]))
                chances[index].append(float(probable[index]))
        if all(grammar.done for grammar in grammars) or number == most - 1:
            break
        scores = decoding.go_on(tokens)
    seconds = time.perf_counter() - begun
    readings = []
    for index, grammar in enumerate(grammars):
        whole = chosen[index] if grammar.done else complete(chosen[index], net.config.places)
        readings.append(
            Reading(
                tokens_to_table(whole),
                1.0 if scales is None else scales[index],
                np.array(chosen[index], np.int64),
                np.array(chances[index], np.float32),
                not grammar.done,
                seconds,
            )
        )
    return readings


def _choose(scores: NDArray[np.float32], grammars: Sequence[Grammar]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The best token of each picture that may follow, and its probability among those."""
    allowed = np.stack([grammar.allowed() for grammar in grammars])
    scores = np.where(allowed, scores, -np.inf)
    best = scores.argmax(1)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return best, (1 / weights.sum(1)).astype(np.float32)


def _encode(net: Reader, pictures: Sequence[Grey]) -> tuple[Tensor, list[int]]:
    """``(B * L, size)`` patches of pictures, each in a row of its own, and how many there are of each."""
    parts = [cut(picture) for picture in pictures]
    counts = [len(rows) for _, rows, _ in parts]
    length = max(counts)
    windows = np.full((len(parts), length, 1, *parts[0][0].shape[1:]), 255, np.uint8)
    places, owners = np.zeros((len(parts), length), np.int64), np.zeros((len(parts), length), np.int32)
    for index, (own, rows, columns) in enumerate(parts):
        windows[index, : len(rows), 0] = own
        places[index, : len(rows)] = rows * PLACES + columns
        owners[index, : len(rows)] = 1
    tensors = [paddle.to_tensor(each) for each in (windows.reshape(-1, *windows.shape[2:]), places, owners)]
    within = PackedAttention(net.encoder.angles, tensors[1], tensors[2], False, net.dtype)
    return net.encoder(tensors[0], tensors[1], within), counts


class _Decoding:
    """The decoder with its cache: patches first, then a token of each picture at a time."""

    def __init__(self, net: Reader, patches: Tensor, counts: Sequence[int], max_tokens: int) -> None:
        self._net, self._patches, self._longest = net, patches, max(counts)
        self._n_tokens = 0
        self._cache = CachedAttention(net.decoder.angles, net.config.decoder_blocks)
        lengths = np.array(counts)[:, None]
        # Patches stand at the left; what is between them and the tokens is never seen.
        self._seen = np.zeros((len(counts), self._longest + max_tokens + GROWTH), np.bool_)
        self._seen[:, : self._longest] = np.arange(self._longest) < lengths

    def begin(self) -> NDArray[np.float32]:
        """Score the first token of each picture, ``(B, N_TOKENS)``."""
        count = len(self._seen)
        numbers = np.arange(count)[:, None] * self._longest + np.arange(self._longest)
        inputs = np.where(self._seen[:, : self._longest], N_TOKENS + numbers, PAD)
        inputs = np.append(inputs, np.full((count, 1), BEGIN), 1)
        order = np.arange(self._longest + 1)
        causal = np.arange(self._seen.shape[1])[None, :] <= order[:, None]
        positions = np.broadcast_to((order == self._longest).astype(np.int64), inputs.shape)
        self._seen[:, self._longest] = True
        return self._pass(inputs, positions, causal[None] & self._seen[:, None], self._patches)

    def go_on(self, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        """Add a token to each picture and score the next one."""
        place = self._longest + self._n_tokens
        self._seen[:, place] = True
        positions = np.full((len(tokens), 1), 1 + self._n_tokens)
        return self._pass(tokens[:, None], positions, self._seen[:, None], None)

    def _pass(
        self, inputs: NDArray[np.int64], positions: NDArray[np.int64], seen: NDArray[np.bool_], patches: Tensor | None
    ) -> NDArray[np.float32]:
        cache, net = self._cache, self._net
        cache.make_room(inputs.shape[1])
        cache.positions = paddle.to_tensor(np.ascontiguousarray(positions))
        hidden = np.where(seen[:, :, : cache.length], 0, HIDDEN).astype(np.float32)[:, None, None]
        cache.hidden = paddle.to_tensor(hidden).astype(net.dtype)
        scores = net.decoder(paddle.to_tensor(inputs), patches, cache)[:, -1]
        cache.end += inputs.shape[1]
        self._n_tokens += 1
        found: NDArray[np.float32] = scores.astype("float32").numpy()
        return found
