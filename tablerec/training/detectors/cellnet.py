"""CellNet as the training loop sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from paddle import Tensor, nn

from postprocess.geometry.boxes import merge_doubles
from tablerec.errors import SettingsError
from tablerec.models.arrays import arrays_to_network, load_arrays, network_to_arrays, save_arrays
from tablerec.models.cellnet import CellNet, decode
from tablerec.models.export import read_arguments
from tablerec.models.folder import LINES, WEIGHTS
from tablerec.training.data.batches import Batch
from tablerec.training.detectors.cellnet_loss import cellnet_loss, make_targets
from tablerec.training.detectors.task import Detections, DetectionTask
from tablerec.training.settings import TrainSettings
from tablerec.training.task import Cast


@contextmanager
def naming_network(arguments: Mapping[str, Any]) -> Iterator[None]:
    """Name the arguments of a network that cannot be made of them.

    Raises:
        SettingsError: In place of what was raised.
    """
    try:
        yield
    except Exception as error:  # whatever Paddle makes of widths that are none
        raise SettingsError(f"network {arguments}: {str(error).strip()[-200:]}; see CellNet's arguments") from error


class CellNetTask(DetectionTask):
    """See ``tablerec.models.cellnet`` and ``cellnet_loss``.

    A branch for lines of text, where the initial weights have one, stays as it is.
    """

    parts = (
        *("stage4", "stage8", "stage16", "stage32", "side32", "side16", "side8", "side4"),
        *("up16", "up8", "narrow", "up4", "head", "maps"),
    )
    head = ("up4", "head", "maps")
    needs_owners = True

    def __init__(self, settings: TrainSettings) -> None:
        self.arguments = {**lines_of(settings.initial), **settings.network}

    def make(self) -> nn.Layer:
        """Make a CellNet.

        Raises:
            SettingsError: ``network`` does not describe one.
        """
        with naming_network(self.arguments):
            net = CellNet(**self.arguments)
            for parameter in net.lines.parameters() if net.lines is not None else ():
                parameter.stop_gradient = True
            return net

    def load(self, net: nn.Layer, path: Path) -> None:
        """Take a safetensors file, a folder of ``tablerec export``, or ``cellnet``, the weights in the package."""
        arrays_to_network(load_arrays(find_weights(path)), net, str(path))

    def save(self, net: nn.Layer, output: Path) -> Path:
        """Write ``cellnet.safetensors``."""
        path = output / "cellnet.safetensors"
        save_arrays(path, network_to_arrays(net), {"network": json.dumps(self.arguments)})
        return path

    def loss(self, net: Any, batch: Batch, cast: Cast) -> dict[str, Tensor]:
        """All but the last layer in the precision of the settings: half of it is pixels."""
        assert batch.owners is not None
        with cast():
            features = net.features(batch.images)
        return cellnet_loss(net.maps(features.astype("float32")), make_targets(batch.owners, batch.quads))

    def detect(self, net: nn.Layer, images: Tensor, threshold: float) -> list[Detections]:
        """Decode the maps and join cells that are detected twice."""
        quads, scores, picture, _ = (each.numpy() for each in decode(net(images), threshold))
        detections = []
        for number in range(images.shape[0]):
            own = Detections(quads[picture == number].astype(np.float64), scores[picture == number].astype(np.float64))
            kept = merge_doubles(*own)
            detections.append(Detections(own.quads[kept], own.scores[kept]))
        return detections


def find_weights(initial: Path) -> Path:
    """The file or folder that ``initial`` names: ``cellnet`` is the package's."""
    return WEIGHTS if initial == Path("cellnet") else initial


def lines_of(initial: Path | None) -> dict[str, Any]:
    """The argument of the branch for lines that initial weights were made with; empty without one."""
    arguments = read_arguments(find_weights(initial)) if initial is not None else {}
    return {name: value for name, value in arguments.items() if name == LINES and value}
