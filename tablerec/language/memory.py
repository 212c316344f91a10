"""What the tuning of a decoder takes on the device, predicted from its ``config.json``: nothing is run.

With T tokens in a batch of sequences of S, e bytes for a number in the precision, and for each of the L layers the
sizes H (hidden), I (intermediate), A heads of D for queries and K for keys and values:

- *weights*: H (A + 2 K) D + A D H + 3 H I numbers in a layer's products, V H in the embeddings, and again in the head
  where it is not tied. Products take e bytes a number, or 1 in 8 bits, or 1/2 in 4 bits, with e bytes for each scale.
- *adapters*: rank (inputs + outputs) numbers of float32 for each product.
- *gradients*: as much as what is trained.
- *optimizer*: 8 bytes for a trained number with AdamW, 4 more where it has a second copy in float32, 2 with 8 bits.
- *activations*, kept for the gradients in each layer: 4 e (H + I) for the inputs of norms and products, the gate, its
  SiLU and the other half; 8 (A + K) D for queries and keys, which turn in float32; 2 e (A + K) D for them, the values
  and the attention's output; 16 D for the angles of the positions, 8 D in float32. Where attention is computed by
  single operators, keys and values are repeated for the heads, 4 e A D in all, and there are scores: 6 A S, or 4 A S
  in float32. Adapters add what they have reduced, and their copies in bfloat16. If layers are computed again, only
  their inputs e H stay, and one layer's activations at a time. While its gradients are computed, a layer takes 1.5
  times its scores more, or 0.55 times all that it keeps.
- *logits*: V numbers for a token: the softmax in float32, kept; when the loss is computed besides the logits in e
  bytes and in float32. With ``loss_tokens`` only so many tokens have them, and the gradients of e H for a token are
  there at once.

The most is taken at one of four moments: when the loss is computed, when its gradients begin, when they end, when the
optimizer steps. Paddle's pool rounds each tensor up to a chunk.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tablerec.errors import InputError
from tablerec.language.method import Method

CHUNK = 4096
"""Bytes to which the plugin's devices round up a tensor."""
ERROR = 0.1
"""Largest relative error of a predicted peak where it was measured: Llama and ERNIE-4.5 as PaddleFormers sets them.

A fused SwiGLU, which is not the default, keeps a fifth less than is predicted.
"""
_OF_SCORES, _OF_REST = 1.5, 0.55
"""What a layer takes more while its gradients are computed, for each byte of scores, or else of all that it keeps."""
_BUCKET = 1 << 22
_OF_BUCKET = 41
"""Values that the optimizer of 8 bits makes whole at a time, and what each takes meanwhile, in bytes."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """The sizes of a decoder.

    Args:
        layers: Layers.
        hidden: Numbers of a token between layers.
        intermediate: Numbers of a token within the feed-forward part.
        heads: Heads of queries.
        kv_heads: Heads of keys and values.
        head_dim: Numbers of a head.
        vocabulary: Tokens that there are.
        tied: Whether embeddings and head share their weight.
        joined: Whether queries, keys and values come from one product, and both halves of the feed-forward part too.
    """

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied: bool = False
    joined: bool = False

    def products(self) -> list[tuple[int, int]]:
        """Return the inputs and outputs of each product of a layer.

        >>> Decoder(1, 8, 16, 2, 1, 4, 100).products()
        [(8, 8), (8, 4), (8, 4), (8, 8), (8, 16), (8, 16), (16, 8)]
        """
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        wide = self.intermediate
        first = [queries + 2 * keys] if self.joined else [queries, keys, keys]
        halves = [2 * wide] if self.joined else [wide, wide]
        return [
            *((self.hidden, outputs) for outputs in first),
            (queries, self.hidden),
            *((self.hidden, outputs) for outputs in halves),
            (wide, self.hidden),
        ]


_NAMES = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "intermediate": "intermediate_size",
    "heads": "num_attention_heads",
    "vocabulary": "vocab_size",
}
_EXPERTS = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")


def read_decoder(path: Path) -> Decoder:
    """Read the sizes of a model of PaddleFormers or Transformers.

    Args:
        path: ``config.json``, or a folder with it.

    Raises:
        InputError: The file cannot be read or describes no dense decoder; the message names it.
    """
    file = path / "config.json" if path.is_dir() else path
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise InputError(f"{file} cannot be read ({cause}): name the config.json of a model, or its folder") from error
    if not isinstance(values, dict):
        raise InputError(f"{file} holds no object: name the config.json of a model, or its folder")
    if any(values.get(name) for name in _EXPERTS):
        raise InputError(f"{file} is of a mixture of experts, whose memory is not predicted: name a dense decoder")
    found = {field: _size(values, name, file) for field, name in _NAMES.items()}
    kv_heads = _size({"num_key_value_heads": found["heads"], **_given(values)}, "num_key_value_heads", file)
    head_dim = _size({"head_dim": found["hidden"] // found["heads"], **_given(values)}, "head_dim", file)
    kind = str(values.get("model_type", ""))
    tied = bool(values.get("tie_word_embeddings", kind.startswith("ernie4_5")))
    joined = kind.startswith(("ernie4_5", "qwen3"))  # as PaddleFormers has them
    return Decoder(**found, kv_heads=kv_heads, head_dim=head_dim, tied=tied, joined=joined)


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _size(values: dict[str, Any], name: str, file: Path) -> int:
    value = values.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 10**9:
        raise InputError(f"{file}: {name} is {str(value)[:60]}: a decoder has a whole number above 0 there")
    return value


@dataclass(frozen=True, slots=True)
class Predicted:
    """Bytes on the device by part, and the most that is taken at each moment of a step.

    Args:
        weights: Of the model, adapters left out.
        adapters: LoRA's factors.
        gradients: Of all that is trained.
        optimizer: Its state, wherever it is.
        activations: Kept by all layers for the gradients.
        logits: At the most, with softmax and loss.
        loss: Taken when the loss is computed.
        begin: When its gradients begin.
        end: When they end.
        update: When the optimizer steps.
    """

    weights: float
    adapters: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    loss: float
    begin: float
    end: float
    update: float

    @property
    def peak(self) -> float:
        """The most of the whole step."""
        return max(self.loss, self.begin, self.end, self.update)

    @property
    def moment(self) -> str:
        """When the most is taken: loss, begin, end or update."""
        return max(("loss", "begin", "end", "update"), key=lambda name: float(getattr(self, name)))

    def parts(self) -> dict[str, float]:
        """Return the bytes by part."""
        return {each.name: getattr(self, each.name) for each in fields(self)[:6]}


def predict(decoder: Decoder, method: Method, batch: int, length: int) -> Predicted:
    """Predict what a step takes.

    Args:
        decoder: The model's sizes.
        method: How it is tuned.
        batch: Sequences at once.
        length: Tokens of each.

    >>> small = Decoder(28, 1024, 3072, 16, 8, 128, 151936, tied=True)
    >>> full = predict(small, Method(lora=None), 4, 4096)
    >>> little = Method(frozen="int4", recompute=True, loss_tokens=1024)
    >>> lora = predict(small, little, 4, 4096)
    >>> full.moment, round(full.peak / 1e9), lora.peak < full.peak / 4
    ('loss', 66, True)
    """
    e, tokens = (4 if method.precision == "float32" else 2), batch * length
    products = decoder.products() * decoder.layers
    weights, adapters, trained = _weights(decoder, method, e)
    per_number = 4 if method.lora is not None else e
    gradients = float(trained * per_number)
    tensors = 2 * len(products) if method.lora is not None else len(products) + 2 * decoder.layers + 3
    if method.optimizer == "adamw8bit":
        optimizer = trained * (2 + 8 / 256)
    else:
        optimizer = float(trained * (8 + 4 * (per_number == 2)) + 2 * CHUNK * tensors)
    scores = batch * length**2 * decoder.heads * (6 if e == 2 else 4) if method.attention == "plain" else 0
    layer = scores + _layer(decoder, method, e, batch * length)
    more = max(_OF_SCORES * scores, _OF_REST * layer)
    of_input = float(e * tokens * decoder.hidden)
    activations = decoder.layers * (of_input if method.recompute else layer) + of_input
    at_loss, at_begin = _logits(decoder, method, e, tokens)
    fixed = weights + adapters + (0.0 if method.state_on_host else optimizer)
    of_head = 0.0 if method.lora is not None else float(e * decoder.vocabulary * decoder.hidden)
    if (
        method.loss_tokens is not None
    ):  # the gradients of the head come with the loss, the last part's beside all others'
        at_loss += 2 * of_head
    inner = layer + more if method.recompute else more
    whole = _OF_BUCKET * min(trained, _BUCKET) + gradients if method.optimizer == "adamw8bit" else 0.0
    return Predicted(
        weights,
        adapters,
        gradients,
        optimizer,
        activations,
        at_loss,
        loss=fixed + activations + at_loss,
        begin=fixed + activations + max(at_begin, inner) + of_head,
        end=fixed + gradients + of_input + layer + more,
        update=weights + adapters + gradients + optimizer + whole,
    )


def _weights(decoder: Decoder, method: Method, e: int) -> tuple[float, float, int]:
    """Return the bytes of weights and of adapters, and how many numbers are trained."""
    total, numbers = 0.0, 0
    for inputs, outputs in decoder.products():
        group = method.group_size or inputs
        scales = -(-inputs // group) * outputs * e
        bits = {"int8": 8, "int4": 4}.get(method.frozen, 0)
        fits = bits and inputs % 16 == 0 and outputs % (128 // bits) == 0
        total += inputs * outputs * bits / 8 + scales if fits else e * inputs * outputs
        numbers += inputs * outputs
    others = 2 * decoder.layers * decoder.hidden + decoder.hidden
    embeddings = decoder.vocabulary * decoder.hidden * (1 if decoder.tied else 2)
    weights = decoder.layers * total + e * (others + embeddings)
    if method.lora is None:
        return weights, 0.0, decoder.layers * numbers + others + embeddings
    factors = decoder.layers * method.lora.rank * sum(inputs + outputs for inputs, outputs in decoder.products())
    return weights, 4.0 * factors, factors


def _layer(decoder: Decoder, method: Method, e: int, tokens: int) -> float:
    """Return what a layer keeps for its gradients, scores left out."""
    queries, keys = decoder.heads * decoder.head_dim, decoder.kv_heads * decoder.head_dim
    angles = (16 if e == 2 else 8) * decoder.head_dim
    for_token = 4 * e * (decoder.hidden + decoder.intermediate) + 8 * (queries + keys) + angles
    for_token += 4 * e * queries if method.attention == "plain" else 2 * e * (queries + keys) + 4 * decoder.heads
    copies = 0.0
    if method.lora is not None:
        products = decoder.products()
        for_token += 2 * e * method.lora.rank * len(products)
        copies = float(e * method.lora.rank * sum(sum(each) for each in products)) if e == 2 else 0.0
    return tokens * for_token + copies


def _logits(decoder: Decoder, method: Method, e: int, tokens: int) -> tuple[float, float]:
    """Return what logits and loss take when the loss is computed and when its gradients begin."""
    if method.loss_tokens is not None:
        part = float(min(method.loss_tokens, tokens) * decoder.vocabulary)
        kept = float(e * tokens * decoder.hidden)
        return 2 * kept + (4 + e) * part, kept
    all_of_them = float(tokens * decoder.vocabulary)
    return (8 + e) * all_of_them, (4 + e) * all_of_them
