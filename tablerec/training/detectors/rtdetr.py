"""RT-DETR as the training loop sees it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import paddle
from paddle import Tensor, nn

from postprocess.geometry.boxes import boxes_to_quads
from tablerec.errors import InputError, SettingsError
from tablerec.fields import parse_json, read_text
from tablerec.models.arrays import arrays_to_network, network_to_arrays
from tablerec.models.folder import read_description, read_model_name
from tablerec.models.rtdetr import CONFIG, load_rtdetr, save_rtdetr
from tablerec.training.data.batches import Batch
from tablerec.training.detectors.denoising import Noise, noise_cells
from tablerec.training.detectors.matcher import Truth
from tablerec.training.detectors.rtdetr_loss import rtdetr_loss
from tablerec.training.detectors.rtdetr_network import RTDETRInTraining
from tablerec.training.detectors.task import Detections, DetectionTask
from tablerec.training.settings import TrainSettings
from tablerec.training.task import Cast

FOLDER = "rtdetr"
NAME = "RT-DETR-L_wired_table_cell_det"
"""Whose place the network takes in PaddleX, where it starts from no other."""
MAX_LAYERS = 100
"""A file that asks for more layers than this is broken."""
MIN_SIDE = 1.0
"""Pixels of a cell on the canvas, in width and in height, below which it is not asked for."""


class RTDETRTask(DetectionTask):
    """PaddleX's RT-DETR; see ``rtdetr_network`` and ``rtdetr_loss``.

    ``network`` holds arguments of PaddleX's configuration, such as ``freeze_backbone_batch_norms``: true where
    the training starts from weights, false where it does not, as fixed statistics are of use only where they fit.
    RT-DETR was trained with ``image_size`` 640, ``learning_rate`` and ``weight_decay`` 1e-4, ``max_grad_norm`` 0.1.

    Raises:
        InputError: ``config.json`` in the folder of the initial weights is missing or broken.
        SettingsError: The canvas has fewer places than the network has queries.
    """

    stretch = True

    def __init__(self, settings: TrainSettings) -> None:
        size = settings.data.image_size
        self.arguments = _arguments(settings)
        try:
            shape = RTDETRShape(self.arguments)
        except (TypeError, ValueError, AttributeError) as error:
            raise SettingsError(f"network makes no RT-DETR ({error}): use PaddleX's names and sizes") from error
        self.max_cells, self.parts, self.head = shape.n_queries, shape.parts(), shape.head()
        n_places = sum((size // stride) ** 2 for stride in shape.strides)
        if n_places < shape.n_queries:
            raise SettingsError(
                f"data.image_size is {size}: RT-DETR sees {n_places} places there and asks {shape.n_queries}; give 640"
            )
        self.description = _description(settings)

    def make(self) -> nn.Layer:
        """Make an RT-DETR."""
        return RTDETRInTraining(self.arguments)

    def load(self, net: nn.Layer, path: Path) -> None:
        """Take a folder as PaddleX's engine ``paddle_dynamic`` loads it, and as ``save`` writes it."""
        arrays = network_to_arrays(load_rtdetr(path))
        arrays_to_network(arrays, net, str(path))

    def save(self, net: Any, output: Path) -> Path:
        """Write the folder ``rtdetr``."""
        save_rtdetr(net.paddlex[0], output / FOLDER, self.description)
        return output / FOLDER

    def loss(self, net: Any, batch: Batch, cast: Cast) -> dict[str, Tensor]:
        """The network in the precision of the settings, the loss in float32."""
        truths = read_truths(batch)
        # The generator of the device follows from the number of the step; so does this one.
        rng = np.random.default_rng(paddle.randn([4]).numpy().view(np.uint32).tolist())
        config = net.config
        noise = Noise(config.num_denoising, config.box_noise_scale, config.label_noise_ratio)
        noised = noise_cells(truths, config.num_labels, rng, noise)
        with cast():
            outputs = net(batch.images, noised)
        return rtdetr_loss(outputs, truths, noised)

    def detect(self, net: Any, images: Tensor, threshold: float) -> list[Detections]:
        """Return the boxes of the last layer whose first class is as sure as the threshold, the best first."""
        outputs = net(images)
        scores = nn.functional.sigmoid(outputs.logits[:, -1, :, 0].astype("float32")).numpy().astype(np.float64)
        boxes = outputs.boxes[:, -1].astype("float32").numpy().astype(np.float64) * images.shape[-1]
        detections = []
        for of_one, at in zip(scores, boxes, strict=True):
            order = np.argsort(-of_one, kind="stable")
            order = order[of_one[order] >= threshold]
            middle, half = at[order, :2], at[order, 2:] / 2
            quads = boxes_to_quads(np.hstack([middle - half, middle + half]))
            detections.append(Detections(quads, of_one[order]))
        return detections


class RTDETRShape:
    """How many parts of each kind an RT-DETR has.

    Args:
        arguments: Of PaddleX's configuration.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self.n_stages = len(arguments.get("backbone_config", {}).get("stage_in_channels", range(4)))
        self.strides = arguments.get("feat_strides", arguments.get("feature_strides", (8, 16, 32)))
        self.n_attentions = len(arguments.get("encode_proj_layers", (2,)))
        self.n_layers = int(arguments.get("decoder_layers", 6))
        self.n_queries = int(arguments.get("num_queries", 300))
        if not (0 < self.n_layers <= MAX_LAYERS and self.n_queries > 0):
            raise ValueError(f"decoder_layers is {self.n_layers}, num_queries {self.n_queries}")

    def parts(self) -> tuple[str, ...]:
        """Sublayers in the order in which they run; ``dict(net.named_sublayers())`` finds them.

        >>> RTDETRShape({}).parts()[:2]
        ('model.backbone.model.embedder', 'model.backbone.model.encoder.stages.0')
        """
        levels, between = range(len(self.strides)), range(len(self.strides) - 1)
        return (
            "model.backbone.model.embedder",
            *(f"model.backbone.model.encoder.stages.{n}" for n in range(self.n_stages)),
            *(f"model.encoder_input_proj.{n}" for n in levels),
            *(f"model.encoder.aifi.{n}" for n in range(self.n_attentions)),
            *(f"model.encoder.{name}.{n}" for n in between for name in ("lateral_convs", "fpn_blocks")),
            *(f"model.encoder.{name}.{n}" for n in between for name in ("downsample_convs", "pan_blocks")),
            *(f"model.decoder_input_proj.{n}" for n in levels),
            *self.head(),
        )

    def head(self) -> tuple[str, ...]:
        """Those behind the maps: the choice of the proposals, and the decoder."""
        return (
            *("model.enc_output", "model.enc_score_head", "model.enc_bbox_head"),
            *("model.denoising_class_embed", "model.decoder.query_pos_head"),
            *(
                f"model.decoder.{name}.{n}"
                for n in range(self.n_layers)
                for name in ("layers", "bbox_embed", "class_embed")
            ),
        )


def read_truths(batch: Batch) -> list[Truth]:
    """Copy the cells of a batch to the host, as upright boxes.

    Cells are cut at the sides of the canvas; those whose centre lies outside, or of which too little is left, are
    not asked for.

    Args:
        batch: Samples, moved as they are to be seen.

    Returns:
        The truth of each picture.
    """
    side = batch.images.shape[-1]
    truths = []
    for corners, n_cells in zip(batch.quads.numpy(), batch.n_cells.tolist(), strict=True):
        quads = corners[:n_cells]
        middle = quads.mean(1)
        low, high = (np.clip(edge, 0, side) for edge in (quads.min(1), quads.max(1)))
        kept = ((middle >= 0) & (middle < side) & (high - low >= MIN_SIDE)).all(1)
        boxes = np.concatenate([(low + high) / 2, high - low], 1)[kept] / side
        truths.append(Truth(boxes.astype(np.float32), np.zeros(len(boxes), np.int64)))
    return truths


def _arguments(settings: TrainSettings) -> dict[str, Any]:
    """The configuration of the initial weights, if there are any, and over it that of the settings."""
    read: dict[str, Any] = {"num_labels": 1}
    if settings.initial:
        path = settings.initial / CONFIG
        try:
            read = {**parse_json(read_text(path)), "freeze_backbone_batch_norms": True}
        except (ValueError, TypeError) as error:
            raise InputError(
                f"{path} cannot be read ({error}): `initial` is the folder of an RT-DETR with model.safetensors, "
                "config.json and inference.yml"
            ) from error
    else:
        read["freeze_backbone_batch_norms"] = False
    return {**read, **settings.network}


def _description(settings: TrainSettings) -> dict[str, Any]:
    """What ``inference.yml`` says: that of the initial weights with our size, or the usual."""
    resize = {
        "type": "Resize",
        "interp": 2,
        "keep_ratio": False,
        "target_size": [settings.data.image_size, settings.data.image_size],
    }
    usual: dict[str, Any] = {
        "Global": {"model_name": NAME},
        "mode": "paddle",
        "draw_threshold": 0.5,
        "metric": "COCO",
        "use_dynamic_shape": False,
        "arch": "DETR",
        "min_subgraph_size": 3,
        "Preprocess": [
            resize,
            {"type": "NormalizeImage", "mean": [0.0, 0.0, 0.0], "std": [1.0, 1.0, 1.0], "norm_type": "none"},
            {"type": "Permute"},
        ],
        "label_list": ["cell"],
    }
    given = settings.initial or Path()
    read = read_description(given, expected=None) if settings.initial else {}
    if not read:
        return usual
    labels = read.get("label_list", usual["label_list"])
    return {**usual, "Global": {"model_name": read_model_name(given)}, "label_list": labels}
