"""A very small classifier in PaddleX's file format, to see PaddleX run on a device without a download."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tablerec.devices.plugin import Plugin

_CONFIGURATION = """\
Global:
  model_name: ResNet18
PreProcess:
  transform_ops:
  - ResizeImage: {size: [64, 64]}
  - NormalizeImage: {channel_num: 3, mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5], scale: 0.00392156862745098, order: ''}
  - ToCHWImage: null
PostProcess:
  Topk: {topk: 3, label_list: [table, figure, text, formula, seal]}
"""


def save_classifier(folder: str | Path) -> Path:
    """Save an untrained network as a static model, under the name of one that PaddleX knows; imports Paddle.

    Args:
        folder: Where ``inference.json``, ``inference.pdiparams`` and ``inference.yml`` go.

    Returns:
        The folder.
    """
    import paddle
    from paddle import nn

    paddle.seed(5)
    net = nn.Sequential(
        nn.Conv2D(3, 8, 3, 4, 1), nn.ReLU(), nn.Conv2D(8, 16, 3, 4, 1), nn.ReLU(), nn.AdaptiveAvgPool2D(1),
        nn.Flatten(), nn.Linear(16, 5), nn.Softmax(),
    )  # fmt: skip
    net.eval()
    images = paddle.static.InputSpec([None, 3, 64, 64], "float32", "x")
    paddle.jit.save(net, str(Path(folder) / "inference"), input_spec=[images])
    (Path(folder) / "inference.yml").write_text(_CONFIGURATION, encoding="utf-8")
    return Path(folder)


def try_classifier(plugin: Plugin, folder: str | Path) -> list[str]:
    """Save a classifier and let PaddleX run it on a plugin's device; afterwards the plugin has counted that run alone.

    Args:
        plugin: A loaded plugin.
        folder: Where the model goes.

    Returns:
        The labels for a picture of noise, best first.

    Raises:
        SettingsError: PaddleX does not accept the device's name.
    """
    import numpy as np
    import paddle

    from tablerec.paddlex_support import Runtime, create_model

    paddle.set_device("cpu")
    model = create_model("ResNet18", save_classifier(folder), Runtime(f"{plugin.device}:0"))
    picture = np.random.default_rng(0).integers(0, 255, (80, 90, 3)).astype("uint8")
    plugin.reset()
    labels: list[str] = next(iter(model.predict(picture))).json["res"]["label_names"]
    return labels
