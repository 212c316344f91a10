"""The networks that a device is measured and compared with: CellNet and PaddleX's RT-DETR-L, whole and reduced.

Paddle is imported when a network is made, not before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tablerec.errors import SettingsError

CELLNET_REDUCED: dict[str, Any] = {"widths": (4, 8, 8, 16, 16), "depths": (1, 1, 1, 1), "pyramid": (16, 8)}
"""CellNet's arguments with few and narrow layers, to train on the simulated device."""

RTDETR_REDUCED: dict[str, Any] = {
    "backbone_config": {
        "model_type": "hgnet_v2",
        "stem_channels": [3, 8, 8],
        "stem_strides": [2, 1, 1, 2, 1],
        "stage_in_channels": [8, 16, 16, 32],
        "stage_mid_channels": [8, 8, 8, 8],
        "stage_out_channels": [16, 16, 32, 32],
        "stage_num_blocks": [1, 1, 2, 1],
        "stage_downsample": [False, True, True, True],
        "stage_downsample_strides": [2, 2, 2, 2],
        "stage_light_block": [False, False, True, True],
        "stage_kernel_size": [3, 3, 5, 5],
        "stage_numb_of_layers": [2, 2, 2, 2],
        "hidden_act": "relu",
        "num_labels": 0,
        "use_learnable_affine_block": False,
    },
    "encoder_in_channels": [16, 32, 32],
    "encoder_hidden_dim": 32,
    "encoder_ffn_dim": 64,
    "encoder_attention_heads": 4,
    "d_model": 32,
    "num_queries": 20,
    "num_labels": 4,
    "decoder_in_channels": [32, 32, 32],
    "decoder_ffn_dim": 64,
    "decoder_n_points": 2,
    "decoder_layers": 2,
    "decoder_attention_heads": 4,
}
"""Arguments of PaddleX's configuration for two decoder layers, 20 queries and 4 classes, likewise."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network and the batch that it is measured with.

    Args:
        make: Makes it, with random parameters.
        batch: Pictures at a time.
        size: The side of the pictures in pixels; others are multiples of 32.
        largest: The largest value of a picture.
    """

    make: Callable[[], Any]
    batch: int
    size: int
    largest: float = 1.0


def find_network(name: str) -> Network:
    """Look a network up.

    Raises:
        SettingsError: There is none of that name.

    >>> find_network("cellnet").size
    960
    >>> find_network("resnet")
    Traceback (most recent call last):
    postprocess.errors.SettingsError: network 'resnet' is unknown: choose cellnet, cellnet_reduced, rtdetr_l or \
rtdetr_reduced
    """
    if name not in NETWORKS:
        *first, last = NETWORKS
        raise SettingsError(f"network {name!r} is unknown: choose {', '.join(first)} or {last}")
    return NETWORKS[name]


def cellnet(reduced: bool = False) -> Any:
    """Make ``tablerec.models.cellnet.CellNet``; see there."""
    from tablerec.models.cellnet import CellNet

    return CellNet(**(CELLNET_REDUCED if reduced else {}))


def rtdetr_l(reduced: bool = False, last_alone: bool = False) -> Any:
    """Make PaddleX's RT-DETR-L, or the same classes with few and narrow layers.

    Images ``(B, 3, S, S)`` in 0 to 1 -> logits ``(B, L, Q, C)`` and boxes ``(B, L, Q, 4)`` (centre, width and height
    in 0 to 1) of the L layers of the decoder.

    Args:
        reduced: With ``RTDETR_REDUCED``.
        last_alone: Give the last layer alone, ``(B, Q, ...)``, as inference does.

    Raises:
        MissingDependencyError: PaddleX is not installed.
    """
    import paddle

    from tablerec.paddlex_support import import_paddlex

    import_paddlex()
    from paddlex.inference.models.object_detection.modeling._config_rt_detr import RTDETRConfig
    from paddlex.inference.models.object_detection.modeling.rt_detr import RTDETR

    class Detector(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.model = RTDETR(RTDETRConfig(**(RTDETR_REDUCED if reduced else {}))).model

        def forward(self, images: Any) -> tuple[Any, Any]:
            found = self.model(images)
            logits, boxes = found["intermediate_logits"], found["intermediate_reference_points"]
            return (logits[:, -1], boxes[:, -1]) if last_alone else (logits, boxes)

    return Detector()


def inference_network(name: str, size: int) -> Any:
    """Make a network for inference: norms folded, RT-DETR prepared for one size and with its last layer alone.

    Args:
        name: A name out of ``NETWORKS``.
        size: The side of the pictures in pixels.
    """
    from tablerec.models.inference import fold_norms, prepare_rtdetr

    if name.startswith("rtdetr"):
        net = rtdetr_l(reduced=name == "rtdetr_reduced", last_alone=True)
        net.eval()
        prepare_rtdetr(net, size)
        return net
    net = find_network(name).make()
    net.eval()
    fold_norms(net)
    return net


def stand_in_loss() -> Callable[[Any], Any]:
    """Make a loss that needs no labelled pictures: squared error of the scores, and L1 of what else there is.

    What it compares with is random, and the same in all calls. It stands in for the losses of
    ``tablerec.training``, whose matching runs on the host. Not cross-entropy: where a logit is exactly 0,
    its gradient on Paddle's CPU is one too low.

    Returns:
        A function from a tensor of logits, or from logits and other tensors, to a scalar.
    """
    targets: list[Any] = []

    def loss(outputs: Any) -> Any:
        from paddle.nn.functional import l1_loss, mse_loss, sigmoid

        made = [_to_full_precision(each) for each in (outputs if isinstance(outputs, tuple) else (outputs,))]
        if not targets:
            targets.extend(_draw_like(each, seed) for seed, each in enumerate(made))
        total = mse_loss(sigmoid(made[0]), targets[0])
        for values, wanted in zip(made[1:], targets[1:], strict=True):
            total = total + l1_loss(values, wanted)
        return total

    return loss


def _to_full_precision(tensor: Any) -> Any:
    return tensor.astype("float32") if tensor.element_size() < 4 else tensor


def _draw_like(tensor: Any, seed: int) -> Any:
    """Numbers in 0 to 1, of the shape and type of a tensor."""
    import numpy as np
    import paddle

    return paddle.to_tensor(np.random.default_rng(seed).random(tensor.shape, "float32")).astype(tensor.dtype)


NETWORKS = {
    "cellnet": Network(cellnet, 32, 960, 255.0),
    "cellnet_reduced": Network(lambda: cellnet(reduced=True), 4, 64, 255.0),
    "rtdetr_l": Network(rtdetr_l, 16, 640),
    "rtdetr_reduced": Network(lambda: rtdetr_l(reduced=True), 2, 64),
}
"""The networks by name."""
