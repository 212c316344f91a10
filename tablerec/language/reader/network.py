"""The whole network, and its files."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import Tensor, nn
from paddle.nn import functional as F  # noqa: N812

from tablerec.errors import InputError
from tablerec.language.reader.config import ReaderConfig
from tablerec.language.reader.decoder import Decoder
from tablerec.language.reader.encoder import Encoder
from tablerec.language.reader.layers import PackedAttention
from tablerec.language.reader.packing import IGNORED, Batch, bounds_of
from tablerec.models.arrays import Arrays, arrays_to_network, load_arrays, load_notes, network_to_arrays, save_arrays

LARGEST_FILE = 15 << 20
"""Bytes of a file of weights at most."""


PATCH_WEIGHT = 2.0
"""Of the loss of the patches; most of them are empty."""


class Losses(NamedTuple):
    """What a training minimizes.

    Args:
        total: ``written`` and ``PATCH_WEIGHT`` times ``seen``.
        written: Mean cross-entropy of the tokens, in nats.
        seen: The same of the characters that patches hold.
        scores: ``(token rows, tokens, N_TOKENS)`` of what follows each token.
    """

    total: Tensor
    written: Tensor
    seen: Tensor
    scores: Tensor


class Reader(nn.Layer):
    """A network that reads a picture and writes a table.

    Args:
        config: Its sizes.
    """

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder, self.decoder = Encoder(config), Decoder(config)

    @property
    def dtype(self) -> str:
        """What it computes in."""
        return str(self.decoder.tokens.dtype).rpartition(".")[2]

    def forward(self, batch: Batch, flash: bool = False) -> tuple[Tensor, Tensor]:
        """Score what follows each token of a batch, and what each patch holds.

        Args:
            batch: See ``packing.Batch``.
            flash: Attend by the device's flash attention; else by products and a softmax.

        Returns:
            ``(token rows, tokens, N_TOKENS)`` and ``(patch rows * patches, N_TOKENS)``.
        """
        tensors = [paddle.to_tensor(each) for each in batch[:6]]
        windows, places, patch_owners, inputs, positions, owners = tensors
        bounds = [paddle.to_tensor(bounds_of(each)) if flash else None for each in (batch.patch_owners, batch.owners)]
        within = PackedAttention(self.encoder.angles, places, patch_owners, False, self.dtype, bounds[0])
        before = PackedAttention(self.decoder.angles, positions, owners, True, self.dtype, bounds[1])
        patches = self.encoder(windows, places, within)
        # The decoder copies what it sees: a patch shall look like the token of its character.
        held = paddle.matmul(patches, self.decoder.tokens, transpose_y=True)
        return self.decoder(inputs, patches, before), held

    def loss(self, batch: Batch, flash: bool = False) -> Losses:
        """Compute the losses of a batch; see ``forward``."""
        scores, held = self(batch, flash)
        written = _cross_entropy(scores.flatten(0, 1), batch.labels)
        seen = _cross_entropy(held, batch.patch_labels)
        return Losses(written + PATCH_WEIGHT * seen, written, seen, scores)


def _cross_entropy(scores: Tensor, labels: NDArray[np.int64]) -> Tensor:
    """Its mean over the labels that count, which is not Paddle's."""
    total = F.cross_entropy(
        scores.astype("float32"), paddle.to_tensor(labels.reshape(-1)), ignore_index=IGNORED, reduction="sum"
    )
    return total / max(1, int((labels != IGNORED).sum()))


def seconds_of_attention(net: Reader, batch: Batch, *, flash: bool, rounds: int = 3) -> float:
    """Measure attention in a block of the decoder, with its gradient.

    Args:
        net: The network.
        batch: Whose examples attend.
        flash: See ``Reader.forward``.
        rounds: Of which the quickest counts, after one more.
    """
    config, (rows, length) = net.config, batch.inputs.shape
    tensors = [
        paddle.randn([rows, length, heads, config.size // config.heads]).astype(net.dtype)
        for heads in (config.heads, config.groups, config.groups)
    ]
    for each in tensors:
        each.stop_gradient = False
    positions, owners = paddle.to_tensor(batch.positions), paddle.to_tensor(batch.owners)
    bounds = paddle.to_tensor(bounds_of(batch.owners)) if flash else None
    attention = PackedAttention(net.decoder.angles, positions, owners, True, net.dtype, bounds)
    seconds = []
    for _ in range(rounds + 1):
        paddle.device.synchronize()
        begun = time.perf_counter()
        attention(0, *tensors).sum().backward()
        paddle.device.synchronize()
        seconds.append(time.perf_counter() - begun)
    return min(seconds[1:])


def count_parameters(net: nn.Layer) -> int:
    """Return how many numbers are trained."""
    return sum(int(each.size) for each in net.parameters())


def save_reader(folder: Path, net: Reader, arrays: Arrays | None = None, **notes: str) -> list[Path]:
    """Write the weights as float16, in files of at most ``LARGEST_FILE`` bytes.

    Args:
        folder: Where; files of earlier weights there are replaced.
        net: The network.
        arrays: Its weights by name, where they are kept more precisely elsewhere.
        notes: Texts to keep beside them.

    Returns:
        The files: ``reader-1-of-4.safetensors`` and so on, none of which needs the others to be read.
    """
    parts: list[dict[str, NDArray[Any]]] = [{}]
    size = 0
    for name, array in (arrays or _as_float32(net)).items():
        half = array.astype(np.float16)
        if parts[-1] and size + half.nbytes > LARGEST_FILE:
            parts.append({})
            size = 0
        parts[-1][name] = half
        size += half.nbytes
    for old in folder.glob("reader-*.safetensors"):
        old.unlink()
    config = json.dumps(asdict(net.config))
    paths = [folder / f"reader-{number}-of-{len(parts)}.safetensors" for number in range(1, len(parts) + 1)]
    for path, part in zip(paths, parts, strict=True):
        save_arrays(path, part, {"config": config, **notes})
    return paths


def _as_float32(net: nn.Layer) -> dict[str, NDArray[Any]]:
    return (
        network_to_arrays(net)
        if net.dtype == "float32"
        else {name: tensor.astype("float32").numpy() for name, tensor in net.state_dict().items()}
    )


def load_reader(folder: Path) -> Reader:
    """Read what ``save_reader`` wrote; the network is in float32, ready to write tables.

    Raises:
        InputError: Files are missing or broken.
    """
    paths = sorted(folder.glob("reader-*-of-*.safetensors"))
    if not paths or len(paths) != _n_parts(paths[0]):
        raise InputError(
            f"{folder}: holds {len(paths)} files of weights, not all: name a folder with reader-1-of-N and its fellows"
        )
    config = load_notes(paths[0]).get("config")
    try:
        values = json.loads(config or "")
        net = Reader(ReaderConfig(**{**values, "stem": tuple(values["stem"])}))
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{paths[0]}: does not say the sizes of its network ({error}): write it again") from error
    arrays: dict[str, NDArray[Any]] = {}
    for path in paths:
        arrays |= load_arrays(path)
    arrays_to_network(arrays, net, str(folder))
    net.eval()
    return net


def _n_parts(path: Path) -> int:
    digits = path.stem.rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0
