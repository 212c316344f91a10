"""Which parameters learn."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from paddle import Tensor, nn

from tablerec.errors import SettingsError
from tablerec.models.adapter import is_adapter
from tablerec.models.weights import trainable
from tablerec.training.lora import add_lora
from tablerec.training.settings import TrainSettings, learns_words


def choose(net: nn.Layer, settings: TrainSettings, head: Collection[str]) -> dict[str, Tensor]:
    """Let learn what ``learns`` names, and nothing else.

    Where all that comes before a layer is frozen, Paddle keeps none of its activations. A batch
    normalization whose own parameters do not learn keeps its statistics, in training too.

    Args:
        net: The network; with ``lora`` it gets the factors, see ``add_lora``.
        settings: ``learns`` is ``all``, ``head``, ``norm_bias`` (Zaken et al., "BitFit", 2021), ``lora``,
            several of these joined by ``+``, or ``re:`` and a regular expression for names of parameters.
        head: Names of the sublayers that are the head.

    Returns:
        What learns, by name.

    Raises:
        SettingsError: Nothing would learn.
    """
    words = learns_words(settings.learns)
    if "lora" in words:
        add_lora(net, settings.lora)
    before = trainable(net)
    names = {name for word in words for name in _chosen(word, net, before, head)}
    if not names:
        raise SettingsError(f"learns {settings.learns!r} matches no parameter of the network: write another")
    for name, parameter in before.items():
        parameter.stop_gradient = name not in names
    if len(names) < len(before):
        _keep_statistics(net)
    return trainable(net)


def _chosen(word: str, net: nn.Layer, parameters: Iterable[str], head: Collection[str]) -> Iterable[str]:
    """Names of the parameters that a word of ``learns`` names."""
    if word == "all":
        return [name for name in parameters if not is_adapter(name)]
    if word == "head":
        within = tuple(f"{part}." for part in head)
        return [name for name in parameters if name.startswith(within) and not is_adapter(name)]
    if word == "norm_bias":
        return _norms_and_biases(net)
    if word == "lora":
        return filter(is_adapter, parameters)
    return filter(re.compile(word.removeprefix("re:")).search, parameters)


def _norms_and_biases(net: nn.Layer) -> list[str]:
    """Biases, and all parameters of layers that are neither convolutions nor linear."""
    found = []
    for prefix, layer in net.named_sublayers(include_self=True):
        weighted = isinstance(layer, nn.Conv2D | nn.Linear | nn.Embedding)
        for name, parameter in layer.named_parameters(prefix, include_sublayers=False):
            is_vector = sum(n > 1 for n in parameter.shape) <= 1
            if not parameter.stop_gradient and (name.endswith("bias") or (is_vector and not weighted)):
                found.append(name)
    return found


def frozen_norms(net: nn.Layer) -> list[nn.Layer]:
    """Return the batch normalizations of which nothing learns."""
    norms = [layer for layer in net.sublayers(include_self=True) if isinstance(layer, nn.BatchNorm2D)]
    return [norm for norm in norms if not trainable(norm)]


def _keep_statistics(net: nn.Layer) -> None:
    # ``net.train()`` sets each layer to training; this stays.
    for norm in frozen_norms(net):
        norm._use_global_stats = True
