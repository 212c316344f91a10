"""CellNet's branch for lines of text as the training loop sees it: the rest of the network stays as it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import paddle
from paddle import Tensor, nn

from tablerec.detect.text_maps import decode_lines
from tablerec.errors import InputError
from tablerec.models.arrays import arrays_to_network, load_arrays, network_to_arrays, save_arrays
from tablerec.models.cellnet import LINES, CellNet
from tablerec.training.data.batches import Batch
from tablerec.training.data.samples import Canvas
from tablerec.training.detectors.cellnet import find_weights, lines_of, naming_network
from tablerec.training.detectors.cellnet_lines_loss import lines_loss, make_line_targets
from tablerec.training.detectors.task import Detections, DetectionTask
from tablerec.training.settings import TrainSettings
from tablerec.training.task import Cast


class LinesOfCellNet(nn.Layer):
    """A CellNet of which only the branch for lines runs and learns."""

    def __init__(self, net: CellNet) -> None:
        super().__init__()
        assert net.lines is not None
        self.net = net
        for name, parameter in net.named_parameters():
            if not name.startswith("lines."):
                parameter.stop_gradient = True
        for name, layer in net.named_sublayers():
            if isinstance(layer, nn.BatchNorm2D) and not name.startswith("lines."):
                layer._use_global_stats = True  # its statistics stay, in training too

    def features(self, x: Tensor) -> Tensor:
        """All but the last layer; see ``CellNet.forward``."""
        with paddle.no_grad():
            trunk = self.net.trunk(x)
        assert self.net.lines is not None
        return self.net.lines.features(*trunk)

    def forward(self, x: Tensor) -> Tensor:
        """``(B, 3, H, W)`` pictures to ``(B, 8, H / 4, W / 4)`` maps of lines."""
        return self.maps(self.features(x))

    def maps(self, features: Tensor) -> Tensor:
        """The last layer."""
        assert self.net.lines is not None
        maps: Tensor = self.net.lines.maps(features)
        return maps


class CellNetLinesTask(DetectionTask):
    """See ``tablerec.models.cellnet`` and ``cellnet_lines_loss``; what it detects are lines of text.

    Cells are found as before, to the last bit. ``initial`` is a CellNet with or without the branch.
    """

    parts = ("net",)
    head = ("net.lines",)
    needs_owners = True

    def __init__(self, settings: TrainSettings) -> None:
        self.arguments = {"lines": list(LINES), **lines_of(settings.initial), **settings.network}

    def preparation(self, settings: TrainSettings, *, validation: bool = False) -> Canvas:
        """Samples are pictures with lines of text."""
        return super().preparation(settings, validation=validation)._replace(of_lines=True)

    def make(self) -> nn.Layer:
        """Make a CellNet with the branch.

        Raises:
            SettingsError: ``network`` does not describe one.
        """
        with naming_network(self.arguments):
            return LinesOfCellNet(CellNet(**self.arguments))

    def load(self, net: Any, path: Path) -> None:
        """Take a safetensors file, a folder of ``tablerec export``, or ``cellnet``, the weights in the package."""
        own, found = network_to_arrays(net.net), load_arrays(find_weights(path))
        unset = sorted(name for name in own if name not in found and not name.startswith("lines."))
        if unset:
            raise InputError(f"{path} lacks {unset[0]}: name a whole CellNet as initial")
        arrays_to_network({**own, **found}, net.net, str(path))

    def save(self, net: Any, output: Path) -> Path:
        """Write ``cellnet.safetensors``: the whole network."""
        path = output / "cellnet.safetensors"
        save_arrays(path, network_to_arrays(net.net), {"network": json.dumps(self.arguments)})
        return path

    def loss(self, net: Any, batch: Batch, cast: Cast) -> dict[str, Tensor]:
        """All but the last layer in the precision of the settings: half of it is pixels."""
        assert batch.owners is not None
        with cast():
            features = net.features(batch.images)
        return lines_loss(net.maps(features.astype("float32")), make_line_targets(batch.owners, batch.quads))

    def detect(self, net: nn.Layer, images: Tensor, threshold: float) -> list[Detections]:
        """Decode the maps."""
        found: Sequence[Any] = [decode_lines(maps, threshold) for maps in net(images).numpy()]
        return [Detections(quads.astype(np.float64), scores.astype(np.float64)) for quads, scores in found]
