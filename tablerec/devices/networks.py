"""Networks to measure a device with: the detectors that this project trains and runs.

Paddle is imported when a network is made, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tablerec.errors import MissingDependencyError, SettingsError

STRIDE = 4
"""Pixels between two positions of a detector's output."""

CORNER_UNIT = 32.0
"""Pixels for 1 in the corners that the cell detector puts out."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network and how it is trained.

    Args:
        make: Makes it, with random parameters.
        targets: Batch and side of the pictures -> what the loss compares with, random.
        loss: What the network gives, and the targets -> a number.
        batch: The batch that a full-size run takes.
        size: The side of its pictures; others are multiples of 32.
    """

    make: Callable[[], Any]
    targets: Callable[[int, int], Sequence[Any]]
    loss: Callable[..., Any]
    batch: int
    size: int


def find_network(name: str) -> Network:
    """Look a network up.

    Raises:
        SettingsError: There is none of that name.

    >>> find_network("cell_detector").size
    960
    >>> find_network("resnet")
    Traceback (most recent call last):
    postprocess.errors.SettingsError: network 'resnet' is unknown: choose small_detector, cell_detector, rtdetr_l or \
rtdetr_reduced
    """
    if name not in NETWORKS:
        *first, last = NETWORKS
        raise SettingsError(f"network {name!r} is unknown: choose {', '.join(first)} or {last}")
    return NETWORKS[name]


def small_detector(width: int = 1) -> Any:
    """Make a small detector: a backbone with a depth-wise layer, one step up with a skip connection, two heads.

    Images ``[B, 3, S, S]`` -> scores and sides, each ``[B, 4, S / 4, S / 4]``.
    """
    import paddle

    nn = paddle.nn

    def block(into: int, out: int, stride: int = 1, groups: int = 1) -> Any:
        convolution = nn.Conv2D(into, out, 3, stride, 1, groups=groups, bias_attr=False)
        return nn.Sequential(convolution, nn.BatchNorm2D(out), nn.ReLU())

    class Detector(nn.Layer):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            a, b = 8 * width, 16 * width
            self.stem = nn.Sequential(block(3, a, 2), nn.MaxPool2D(3, 2, 1))
            self.fine = block(a, a, groups=a)
            self.coarse = block(a, b, 2)
            self.lateral = nn.Conv2D(b, a, 1)
            self.fuse = block(2 * a, b)
            self.score, self.side = nn.Conv2D(b, 4, 1), nn.Conv2D(b, 4, 1)

        def forward(self, images: Any) -> tuple[Any, Any]:
            fine = self.fine(self.stem(images))
            up = nn.functional.interpolate(self.lateral(self.coarse(fine)), scale_factor=2, mode="nearest")
            fused = self.fuse(paddle.concat([fine, up], 1))
            return self.score(fused), self.side(fused)

    return Detector()


def cell_detector() -> Any:
    """Make the detector of table cells, 3.36 M parameters: residual stem, mixers, row and column context, a pyramid.

    Images ``[B, 3, S, S]`` in 0 to 255 -> ``[B, 10, S / 4, S / 4]``: the logit of a cell's centre, eight offsets
    to its corners in units of ``CORNER_UNIT`` pixels, the logit of the table's mask.
    """
    import paddle

    nn, relu = paddle.nn, paddle.nn.functional.relu

    def convolution(into: int, out: int, size: int, stride: int = 1, groups: int = 1, active: bool = True) -> Any:
        layers = [nn.Conv2D(into, out, size, stride, size // 2, groups=groups, bias_attr=False), nn.BatchNorm2D(out)]
        return nn.Sequential(*layers, *([nn.ReLU()] if active else []))

    class Residual(nn.Layer):  # type: ignore[name-defined]
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.first = convolution(channels, channels, 3)
            self.second = convolution(channels, channels, 3, active=False)

        def forward(self, x: Any) -> Any:
            return relu(x + self.second(self.first(x)))

    class Mixer(nn.Layer):  # type: ignore[name-defined]
        """Depth-wise over space, then point-wise over channels."""

        def __init__(self, channels: int, size: int = 7) -> None:
            super().__init__()
            self.space = convolution(channels, channels, size, groups=channels, active=False)
            self.widen = convolution(channels, 2 * channels, 1)
            self.narrow = convolution(2 * channels, channels, 1, active=False)

        def forward(self, x: Any) -> Any:
            return relu(x + self.narrow(self.widen(self.space(x))))

    class Strip(nn.Layer):  # type: ignore[name-defined]
        """Every position sees the mean and the maximum of its row and of its column."""

        def __init__(self, channels: int) -> None:
            super().__init__()
            half = channels // 2
            self.reduce = convolution(channels, half, 1)
            self.rows, self.columns = (
                nn.Sequential(nn.Conv1D(channels, half, 9, padding=4), nn.ReLU(), nn.Conv1D(half, half, 9, padding=4))
                for _ in range(2)
            )
            # Not batch norm: the running variance of this branch explodes.
            self.merge = nn.Sequential(nn.Conv2D(3 * half, channels, 1, bias_attr=False), nn.GroupNorm(8, channels))

        def forward(self, x: Any) -> Any:
            y = self.reduce(x)
            rows = self.rows(paddle.concat([y.mean(3), y.max(3)], 1)).unsqueeze(3).expand(y.shape)
            columns = self.columns(paddle.concat([y.mean(2), y.max(2)], 1)).unsqueeze(2).expand(y.shape)
            return relu(x + self.merge(paddle.concat([y, rows, columns], 1)))

    class Detector(nn.Layer):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            deep = 64  # channels of the pyramid
            self.level4 = nn.Sequential(convolution(3, 24, 3, 2), convolution(24, 32, 3, 2), Residual(32))
            self.level8 = nn.Sequential(convolution(32, 64, 3, 2), Mixer(64), Mixer(64))
            self.level16 = nn.Sequential(convolution(64, 128, 3, 2), *(Mixer(128) for _ in range(5)), Strip(128))
            self.level32 = nn.Sequential(convolution(128, 256, 3, 2), *(Mixer(256) for _ in range(4)), Strip(256))
            self.laterals = nn.LayerList([convolution(into, deep, 1, active=False) for into in (128, 64, 32)])
            self.top = convolution(256, deep, 1, active=False)
            self.merges = nn.LayerList([nn.Sequential(Mixer(deep, 5), Strip(deep)), Mixer(deep, 5), Mixer(deep, 5)])
            self.head = nn.Sequential(
                convolution(deep, deep, 5, groups=deep, active=False), convolution(deep, 96, 1), nn.Conv2D(96, 10, 1)
            )
            last = self.head[2]
            last.weight.set_value(paddle.normal(0.0, 0.01, last.weight.shape))
            last.bias.set_value(paddle.to_tensor([-4.0] + [0.0] * 9))  # few positions are a centre

        def forward(self, images: Any) -> Any:
            level4 = self.level4(images * (2 / 255) - 1)
            level8 = self.level8(level4)
            level16 = self.level16(level8)
            x = self.top(self.level32(level16))
            for k, level in enumerate((level16, level8, level4)):
                side = self.laterals[k](level)
                up = paddle.nn.functional.interpolate(x, size=side.shape[2:], mode="bilinear", align_corners=False)
                x = self.merges[k](side + up)
            return self.head(x)

    return Detector()


def cell_detector_loss(outputs: Any, heat: Any, corners: Any, scale: Any, mask: Any) -> Any:
    """Add up the cell detector's losses: penalty-reduced focal on the heat, L1 on the corners, and the mask's.

    Args:
        outputs: ``[B, 10, H, W]``, what the network gave.
        heat: ``[B, H, W]``, 1 at a cell's centre, falling off around it.
        corners: ``[B, 8, H, W]``, offsets to the corners in pixels.
        scale: ``[B, 8, H, W]``, pixels that count as an error of 1: they grow with the cell.
        mask: ``[B, H, W]``, 1 inside tables.
    """
    import paddle

    outputs = outputs.astype("float32")
    found = paddle.nn.functional.sigmoid(outputs[:, 0]).clip(1e-5, 1 - 1e-5)
    centre = heat == 1
    missed, far = 1 - found, (1 - heat) * (1 - heat)
    focal = paddle.where(centre, missed * missed * found.log(), far * far * found * found * missed.log())
    # Corners are learnt near the centre alone.
    weight = heat * (heat > 0.25).astype("float32")
    apart = ((outputs[:, 1:9] * CORNER_UNIT - corners).abs() / scale).mean(1)
    in_table = paddle.nn.functional.binary_cross_entropy_with_logits(outputs[:, 9], mask)
    n_centres = centre.astype("float32").sum().clip(min=1)
    return 1.5 * (apart * weight).sum() / weight.sum().clip(min=1) - focal.sum() / n_centres + in_table


def rtdetr_l(reduced: bool = False, last_alone: bool = False) -> Any:
    """Make PaddleX's RT-DETR-L, or the same classes with few and narrow layers.

    Images ``[B, 3, S, S]`` -> logits ``[B, L, Q, C]`` and boxes ``[B, L, Q, 4]`` (centre, width and height in
    0 to 1) of the L layers of the decoder.

    Args:
        reduced: Two layers, 20 queries and 4 classes, to train on the simulated device.
        last_alone: Give the last layer alone, ``[B, Q, ...]``, as inference does.

    Raises:
        MissingDependencyError: PaddleX is not installed.
    """
    import paddle

    try:
        from paddlex.inference.models.object_detection.modeling._config_rt_detr import RTDETRConfig
        from paddlex.inference.models.object_detection.modeling.rt_detr import RTDETR
    except ImportError as error:
        raise MissingDependencyError(f"RT-DETR needs PaddleX ({error}): pip install 'tablerec[paddle]'") from error

    class Detector(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.model = RTDETR(RTDETRConfig(**(_REDUCED if reduced else {}))).model

        def forward(self, images: Any) -> tuple[Any, Any]:
            found = self.model(images)
            logits, boxes = found["intermediate_logits"], found["intermediate_reference_points"]
            if last_alone:
                logits, boxes = logits[:, -1], boxes[:, -1]
            return logits, boxes

    return Detector()


_REDUCED: dict[str, Any] = {
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


def rtdetr_loss(logits: Any, boxes: Any, classes: Any, truth: Any) -> Any:
    """Add focal and L1 losses of all layers, each query with a target of its own.

    It stands in for the matching, whose cost is the host's.

    Args:
        logits: ``[B, L, Q, C]``.
        boxes: ``[B, L, Q, 4]``.
        classes: ``[B, 1, Q, 1]``, 1 where a query shall find the first class.
        truth: ``[B, 1, Q, 4]``, the boxes that they shall find.
    """
    import paddle

    logits, boxes = logits.astype("float32"), boxes.astype("float32")
    wanted = paddle.zeros_like(logits) + classes
    focal = paddle.nn.functional.sigmoid_focal_loss(logits, wanted, reduction="mean")
    return focal + (boxes - truth).abs().mean()


def fold_norms(network: Any) -> int:
    """Put batch norms with fixed statistics into the convolutions before them, for inference.

    A norm is folded where it was defined right after a convolution, as all networks here run
    them in that order.

    Returns:
        How many norms there were.
    """
    import numpy as np
    import paddle

    n_folded = 0
    for layer in [network, *network.sublayers()]:
        children = list(layer.named_children())
        for (_, convolution), (name, norm) in pairwise(children):
            if not isinstance(convolution, paddle.nn.Conv2D) or not hasattr(norm, "_variance"):
                continue
            deviation = np.sqrt(norm._variance.numpy() + getattr(norm, "_epsilon", 1e-5))
            factor = norm.weight.numpy() / deviation
            shift = norm.bias.numpy() - norm._mean.numpy() * factor
            if convolution.bias is None:
                convolution.bias = convolution.create_parameter([len(shift)], is_bias=True)
            else:
                shift = shift + convolution.bias.numpy() * factor
            convolution.weight.set_value(convolution.weight.numpy() * factor[:, None, None, None])
            convolution.bias.set_value(shift)
            setattr(layer, name, paddle.nn.Identity())
            n_folded += 1
    return n_folded


def prepare_rtdetr(network: Any, size: int) -> None:
    """Shorten RT-DETR for inference at one size: norms folded, constants computed once, sampling in fewer calls.

    It is also what makes a static graph of it possible: PaddleX transposes tensors of rank 5 by four axes,
    which Paddle's views accept and its static graphs do not.

    Args:
        network: What ``rtdetr_l`` made, in evaluation.
        size: The side of the pictures.
    """
    import paddle

    class Constant(paddle.nn.Layer):
        def __init__(self, value: Any) -> None:
            super().__init__()
            self.register_buffer("value", value)

        def forward(self, *_: Any, **__: Any) -> Any:
            return self.value

    class Sampling(paddle.nn.Layer):
        """Values ``[B, S, H, D]``, places ``[B, Q, H, L, P, 2]``, weights ``[B, Q, H, L, P]`` -> ``[B, Q, H D]``."""

        def forward(
            self, value: Any, _shapes: Any, sizes: Any, _starts: Any, places: Any, weights: Any, _step: Any
        ) -> Any:
            batch, n_values, n_heads, depth = value.shape
            _, n_queries, _, n_levels, n_points, _ = places.shape
            value = value.transpose([0, 2, 3, 1]).reshape([batch * n_heads, depth, n_values])
            places = (2 * places - 1).transpose([0, 2, 3, 1, 4, 5])
            places = places.reshape([batch * n_heads, n_levels, n_queries, n_points, 2])
            weights = weights.transpose([0, 2, 1, 3, 4]).reshape([batch * n_heads, 1, n_queries, n_levels * n_points])
            sampled, start = [], 0
            for level in range(n_levels):
                height, width = sizes[level]
                plane = value[:, :, start : start + height * width].reshape([batch * n_heads, depth, height, width])
                sampled.append(paddle.nn.functional.grid_sample(plane, places[:, level], align_corners=False))
                start += height * width
            found = (paddle.concat(sampled, -1) * weights).sum(-1)
            return found.reshape([batch, n_heads * depth, n_queries]).transpose([0, 2, 1])

    fold_norms(network)
    model = network.model
    sides = [size // stride for stride in model.config.feat_strides]
    with paddle.no_grad():
        anchors, valid = model.generate_anchors([(side, side) for side in sides])
        for layer in model.encoder.aifi:
            layer.position_embedding = Constant(layer.position_embedding(sides[-1], sides[-1], "float32"))
    model.register_buffer("anchors", anchors)
    model.register_buffer("valid_anchors", valid)
    model.generate_anchors = lambda *_, **__: (model.anchors, model.valid_anchors)
    for layer in network.sublayers():
        if hasattr(layer, "sampling_offsets"):
            layer.attn = Sampling()


def _maps(batch: int, size: int, *channels: int | None) -> list[Any]:
    """Draw maps uniform in 0 to 1, ``[B, C, H, W]``, or ``[B, H, W]`` for None."""
    import numpy as np
    import paddle

    random, side = np.random.default_rng(batch), size // STRIDE
    shapes = [(batch, side, side) if count is None else (batch, count, side, side) for count in channels]
    return [paddle.to_tensor(random.random(shape, "float32")) for shape in shapes]


def _small_targets(batch: int, size: int) -> list[Any]:
    scores, sides = _maps(batch, size, 4, 4)
    return [(scores < 0.1).astype("float32"), sides]


def _small_loss(outputs: Any, scores: Any, sides: Any) -> Any:
    import paddle.nn.functional as F  # noqa: N812

    return F.binary_cross_entropy_with_logits(outputs[0].astype("float32"), scores) + F.smooth_l1_loss(
        outputs[1].astype("float32"), sides
    )


def _cell_targets(batch: int, size: int) -> list[Any]:
    heat, corners, scale, mask = _maps(batch, size, None, 8, 8, None)
    centre = (heat > 0.98).astype("float32")
    return [heat * (1 - centre) + centre, corners * 64 - 32, scale * 20 + 4, (mask < 0.5).astype("float32")]


def _rtdetr_network(reduced: bool, batch: int, size: int) -> Network:
    n_queries = _REDUCED["num_queries"] if reduced else 300

    def targets(batch: int, size: int) -> list[Any]:
        import numpy as np
        import paddle

        random = np.random.default_rng(batch)
        classes = (random.random((batch, 1, n_queries, 1)) < 0.1).astype("float32")
        truth = random.uniform(0.2, 0.8, (batch, 1, n_queries, 4)).astype("float32")
        return [paddle.to_tensor(classes), paddle.to_tensor(truth)]

    def loss(outputs: Any, classes: Any, truth: Any) -> Any:
        logits, boxes = outputs
        return rtdetr_loss(logits, boxes, classes, truth)

    return Network(lambda: rtdetr_l(reduced), targets, loss, batch, size)


NETWORKS = {
    "small_detector": Network(lambda: small_detector(4), _small_targets, _small_loss, 32, 960),
    "cell_detector": Network(cell_detector, _cell_targets, cell_detector_loss, 32, 960),
    "rtdetr_l": _rtdetr_network(False, 16, 640),
    "rtdetr_reduced": _rtdetr_network(True, 2, 64),
}
"""The networks by name."""
