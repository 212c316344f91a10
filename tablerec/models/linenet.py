"""LineNet: a small convolutional network that reads a line of text, left to right as it is seen.

The picture of a line, 32 px high, becomes a row of positions, 4 px apart. Each position answers which character ends
there, or none (the blank of CTC: Graves et al., "Connectionist Temporal Classification", 2006). There are thousands of
Chinese characters, and most positions hold none: so there are two heads. The letters head knows the blank, all other
characters, and one class for "a Chinese character"; the Han head tells which one, and recognition runs it there alone.

Classes of a position, ``1 + n_letters + n_han`` of them: 0 the blank, then the characters of the list of
``tablerec.models.characters``, letters before Han.
"""

from __future__ import annotations

from typing import Any

import paddle
from numpy.typing import NDArray
from paddle import Tensor, nn
from paddle.nn import functional as F  # noqa: N812

from tablerec.models.arrays import Arrays
from tablerec.models.cellnet import ConvNorm, Mixer
from tablerec.models.characters import is_han

HEIGHT = 32
"""Of a line, in pixels."""
STRIDE = 4
"""Pixels between two positions."""
PAPER = 127
"""Grey to the right of a line that is narrower than the others of its batch."""


class LineNet(nn.Layer):
    """The network.

    Args:
        n_letters: Characters that are no Chinese ones.
        n_han: Chinese characters; with none of them there is no Han head.
        widths: Channels at heights of 16, 8, 4 and 1, and of each position at the end.
        depths: Mixers at heights of 8, 4 and 1.

    Attributes:
        arguments: The arguments, as JSON and YAML have them.
    """

    def __init__(
        self,
        n_letters: int,
        n_han: int,
        widths: tuple[int, int, int, int, int] = (24, 48, 96, 192, 128),
        depths: tuple[int, int, int] = (2, 3, 5),
    ) -> None:
        super().__init__()
        self.arguments = {"n_letters": n_letters, "n_han": n_han, "widths": list(widths), "depths": list(depths)}
        w16, w8, w4, w1, last = widths
        self.n_letters = n_letters
        self.stage8 = nn.Sequential(ConvNorm(3, w16, 3, 2), ConvNorm(w16, w8, 3, 2), *_mixers(w8, depths[0], 5))
        self.stage4 = nn.Sequential(ConvNorm(w8, w4, 3, (2, 1)), *_mixers(w4, depths[1], 5))
        self.stage1 = nn.Sequential(ConvNorm(w4, w1, (HEIGHT // 8, 1)), *_mixers(w1, depths[2], (1, 9)))
        self.last = ConvNorm(w1, last, 1)
        self.letters = nn.Linear(last, 1 + n_letters + (n_han > 0))
        self.han = nn.Linear(last, n_han) if n_han else None

    def features(self, x: Tensor) -> Tensor:
        """All but the heads, which want full precision.

        Args:
            x: ``(B, 3, 32, W)`` float32, RGB from 0 to 255, ``W`` a multiple of 4.

        Returns:
            ``(B, W / 4, C)``.
        """
        y = self.stage8(paddle.scale(x, 1 / 128, -1.0))
        return self.last(self.stage1(self.stage4(y))).squeeze(2).transpose([0, 2, 1])

    def log_probs(self, features: Tensor) -> Tensor:
        """Put both heads together, as CTC wants them in training.

        Args:
            features: ``(B, T, C)`` of ``features``.

        Returns:
            ``(B, T, 1 + n_letters + n_han)`` float32 logarithms of probabilities, which add up to 1.
        """
        features = features.astype("float32")
        letters = _log_softmax(self.letters(features))
        if self.han is None:
            return letters
        han = _log_softmax(self.han(features)) + letters[:, :, self.n_letters + 1 :]
        return paddle.concat([letters[:, :, : self.n_letters + 1], han], -1)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the logarithms of the probabilities of the classes at each position.

        Args:
            x: ``(B, 3, 32, W)`` float32, RGB from 0 to 255, ``W`` a multiple of 4.

        Returns:
            ``(B, W / 4, 1 + n_letters + n_han)`` float32.
        """
        return self.log_probs(self.features(x))


class LineNetWithDecoder(nn.Layer):
    """The network and the best class of each position as one graph: what is exported.

    Args:
        net: The network.
    """

    def __init__(self, net: LineNet) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Find the best class of each position; the Han head runs only where the letters head says so.

        Args:
            x: ``(B, 3, 32, W)`` pictures as for LineNet.

        Returns:
            ``chars``, ``(B, W / 4)`` int64: 0 for none, else the number of a character, counted from 1; ``scores``,
            ``(B, W / 4)`` float32, their probabilities.
        """
        net = self.net
        features = net.features(x)
        letters = F.softmax(net.letters(features))
        score, best = letters.max(-1), letters.argmax(-1)
        if net.han is None:
            return best, score
        is_han = best == net.n_letters + 1
        # The first row is of no position, so that there is always one.
        rows = paddle.concat([features[:1, 0], paddle.gather_nd(features, paddle.nonzero(is_han))])
        han = F.softmax(net.han(rows))
        row = _count((letters.argmax(-1, keepdim=True) == net.n_letters + 1).astype("int64"))
        chars = best + paddle.gather_nd(han.argmax(-1), row) * is_han.astype("int64")
        scores = paddle.where(is_han, score * paddle.gather_nd(han.max(-1), row), score)
        return chars, scores


def _log_softmax(x: Tensor) -> Tensor:
    """Logarithm of the softmax along the last axis; on the CPU, Paddle 3.3 takes seconds for its own."""
    shifted = x - x.detach().max(-1, keepdim=True)
    return shifted - paddle.log(paddle.exp(shifted).sum(-1, keepdim=True))


def move_classes(arrays: Arrays, characters: str, others: Arrays, wanted: str) -> dict[str, NDArray[Any]]:
    """Make weights for another list of characters: what both lists hold keeps its own.

    Args:
        arrays: Weights by name.
        characters: Their list, letters before Han.
        others: Weights of a network for the other list, whose own characters stay as they are there.
        wanted: The other list.

    Returns:
        Weights by name; those of another shape than in ``others`` for another reason are left.
    """
    moved = dict(arrays)
    for head, offset, chosen in (("letters", 1, lambda char: not is_han(char)), ("han", 0, is_han)):
        old, new = (["", *filter(chosen, each)][1 - offset :] for each in (characters, wanted))
        if head == "letters":  # behind them all, "a Chinese character"
            old, new = [*old, "han"], [*new, "han"]
        at = {char: place for place, char in enumerate(old)}
        pairs = [(place, at[char]) for place, char in enumerate(new) if char in at]
        for name in (f"{head}.weight", f"{head}.bias"):
            moved.pop(name, None)
            if name in others:
                values = others[name].copy()
                for to, source in pairs if name in arrays else ():
                    if to < values.shape[-1] and source < arrays[name].shape[-1]:
                        values[..., to] = arrays[name][..., source]
                moved[name] = values
    return moved


def _count(marked: Tensor) -> Tensor:
    """Number the positions that are marked 1, in the order of ``nonzero``, from 1; ``(B, T, 1)`` to the same.

    No axis is added: in the static models of Paddle 3.3, oneDNN loses it.
    """
    in_line = marked.sum(1, keepdim=True)
    return (paddle.cumsum(marked, 1) + paddle.cumsum(in_line, 0) - in_line) * marked


def _mixers(channels: int, count: int, kernel: int | tuple[int, int]) -> list[nn.Layer]:
    return [Mixer(channels, kernel) for _ in range(count)]
