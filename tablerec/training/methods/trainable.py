"""Which parameters are trained, and the plain network that comes of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from paddle import Tensor, nn

from tablerec.errors import SettingsError
from tablerec.models.adapter import fingerprint, is_adapter, merge_adapter, save_adapter
from tablerec.models.arrays import STATISTICS, Arrays, network_to_arrays, trainable
from tablerec.training.methods.lora import add_lora
from tablerec.training.settings import OptimizerSettings


class TrainableWeights:
    """What is trained in a network, and its weights before.

    Args:
        net: The network with its initial weights. What is not trained is frozen, see ``choose``.
        settings: ``trainable``, ``lora`` and ``bn_batches``.
        head: Names of the sublayers that are the head.

    Attributes:
        parameters: What is trained, by name.
        base: ``fingerprint`` of the initial weights; None where all weights are trained.

    Raises:
        SettingsError: Nothing would be trained.
    """

    def __init__(self, net: nn.Layer, settings: OptimizerSettings, head: Collection[str]) -> None:
        given = network_to_arrays(net)
        everything = set(trainable(net))
        self._net, self.scale = net, settings.lora.scale
        self.parameters = choose(net, settings, head)
        partly = set(self.parameters) != everything
        self._given = given if partly else {}
        self.base = fingerprint(given) if partly else None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copy what a training changes to the host: trainable parameters, and statistics of their norms."""
        if self.base is None:
            return network_to_arrays(self._net)
        moving = {name for name, layer in _batch_norms(self._net) if not layer._use_global_stats}
        statistics = {f"{name}{end}" for name in moving for end in STATISTICS}
        wanted = self.parameters.keys() | statistics
        return {name: tensor.numpy() for name, tensor in self._net.state_dict().items() if name in wanted}

    def plain(self, trained: Arrays) -> dict[str, NDArray[Any]]:
        """Return the weights of the plain network: the initial ones with those that were trained.

        Args:
            trained: As from ``arrays``, or only its parameters.
        """
        return merge_adapter(self._given, trained, self.scale) if self._given else dict(trained)

    def save(self, path: Path, trained: Arrays) -> None:
        """Write what was trained as an adapter, where that is not everything."""
        if self.base is not None:
            save_adapter(path, trained, self.scale, self.base)

    def freeze_norms_of(self, plain: nn.Layer) -> None:
        """Let a plain network of this kind keep the statistics that this one keeps."""
        frozen = {name for name, layer in _batch_norms(self._net) if layer._use_global_stats}
        for name, layer in _batch_norms(plain):
            if name in frozen:
                layer._use_global_stats = True


def choose(net: nn.Layer, settings: OptimizerSettings, head: Collection[str]) -> dict[str, Tensor]:
    """Make trainable what the settings name, and freeze the rest.

    Where all that comes before a layer is frozen, Paddle keeps none of its activations. A batch normalization whose own
    parameters are frozen keeps its statistics, in training too; with ``bn_batches`` of 0 all do.

    Args:
        net: The network; with ``lora`` it gets the factors, see ``add_lora``.
        settings: ``trainable`` is ``all``, ``head``, ``norm_bias`` (Zaken et al., "BitFit", 2021), ``lora``,
            several of these joined by ``+``, or ``re:`` and a regular expression for names of parameters.
        head: Names of the sublayers that are the head.

    Returns:
        What is trained, by name.

    Raises:
        SettingsError: Nothing would be trained.
    """
    words = settings.trainable_words
    if "lora" in words:
        add_lora(net, settings.lora)
    before = trainable(net)
    names = {name for word in words for name in _chosen(word, net, before, head)}
    if not names:
        raise SettingsError(
            f"optimizer.trainable {settings.trainable!r} matches no parameter of the network: write another"
        )
    for name, parameter in before.items():
        parameter.stop_gradient = name not in names
    if len(names) < len(before) or not settings.bn_batches:
        _keep_statistics(net, all_of_them=not settings.bn_batches)
    return trainable(net)


def _chosen(word: str, net: nn.Layer, parameters: Iterable[str], head: Collection[str]) -> Iterable[str]:
    """Names of the parameters that a word of ``trainable`` names."""
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


def _batch_norms(net: nn.Layer) -> list[tuple[str, nn.BatchNorm2D]]:
    return [(name, layer) for name, layer in net.named_sublayers() if isinstance(layer, nn.BatchNorm2D)]


def _keep_statistics(net: nn.Layer, *, all_of_them: bool) -> None:
    # ``net.train()`` sets each layer to training; this stays.
    for _, norm in _batch_norms(net):
        if all_of_them or not trainable(norm):
            norm._use_global_stats = True
