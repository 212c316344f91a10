"""PaddleX's RT-DETR as it is trained: the same layers and names, with the outputs that a loss needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import paddle
from paddle import Tensor, nn

from tablerec.errors import SettingsError
from tablerec.paddlex_support import import_paddlex
from tablerec.training.detectors.denoising import NoisedQueries, hide_groups
from tablerec.training.detectors.rtdetr_loss import Outputs

RARE = 0.01
"""Share of the queries that have a cell, as a new network believes (Lin et al. 2017)."""


class RTDETRInTraining(nn.Layer):
    """RT-DETR (Zhao et al. 2023) with the layers of PaddleX.

    PaddleX's own forward keeps the encoder's proposals to itself and takes no queries, so this one stands in its
    place. The boxes are computed of the chosen proposals alone, not of all places: they are the same.

    Args:
        arguments: Of PaddleX's ``RTDETRConfig``; those left out are RT-DETR-L's.

    Raises:
        MissingDependencyError: PaddleX is not installed.
        SettingsError: The arguments make no network that can be trained.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__()
        import_paddlex()
        from paddlex.inference.models.object_detection.modeling._config_rt_detr import RTDETRConfig
        from paddlex.inference.models.object_detection.modeling.rt_detr import RTDETR

        fixed = bool(arguments.get("freeze_backbone_batch_norms", True))
        try:
            network = RTDETR(RTDETRConfig(**{**arguments, "freeze_backbone_batch_norms": False}))
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            raise SettingsError(
                f"network makes no RT-DETR ({error!r}): leave it out, or use PaddleX's names and sizes"
            ) from error
        self.config = network.config
        self.config.freeze_backbone_batch_norms = fixed
        if fixed:
            fix_norms(network.model.backbone)
        if self.config.learn_initial_query or self.config.num_feature_levels != len(self.config.decoder_in_channels):
            raise SettingsError(
                "network: RT-DETR is trained with learn_initial_query false and a feature level for each decoder input"
            )
        self.model = network.model
        self.paddlex = (network,)  # in a tuple, as its layers are here already
        self.model.generate_anchors = _once(self.model.generate_anchors)
        for layer in self.model.encoder.aifi:
            layer.position_embedding.forward = _once(layer.position_embedding.forward)
        initialize(self.model)

    def forward(self, images: Tensor, noised: NoisedQueries | None = None) -> Outputs:
        """Detect cells.

        Args:
            images: ``(B, 3, S, S)`` float32 RGB, 0 to 255.
            noised: Queries to be repaired beside.
        """
        model, config = self.model, self.config
        levels = model.backbone(images / 255)[-len(model.encoder_input_proj) :]
        levels = model.encoder([project(x) for project, x in zip(model.encoder_input_proj, levels, strict=True)])
        levels = [project(x) for project, x in zip(model.decoder_input_proj, levels, strict=True)]
        sizes = tuple((level.shape[2], level.shape[3]) for level in levels)
        memory = paddle.concat([level.flatten(2).transpose([0, 2, 1]) for level in levels], 1)
        anchors, valid = model.generate_anchors(sizes)
        tokens = model.enc_output(memory * valid.astype(memory.dtype))
        scores = model.enc_score_head(tokens)
        best = paddle.topk(scores.detach().max(-1), config.num_queries, axis=1)[1].unsqueeze(-1)
        tokens, scores = _take(tokens, best), _take(scores, best)
        places = model.enc_bbox_head(tokens).astype("float32") + _take(anchors.expand([len(images), -1, -1]), best)
        queries, mask = tokens.detach(), None
        starts = places.detach()
        if noised is not None:
            queries, starts, mask = self._join(noised, queries, starts)
        decoded = model.decoder(
            inputs_embeds=queries,
            encoder_hidden_states=memory,
            encoder_attention_mask=mask,
            reference_points=starts,
            spatial_shapes_list=sizes,
        )
        n_noised = queries.shape[1] - config.num_queries
        logits, boxes = decoded["intermediate_logits"], decoded["intermediate_reference_points"]
        first = nn.functional.sigmoid(places).unsqueeze(1).astype(boxes.dtype)
        return Outputs(
            paddle.concat([scores.unsqueeze(1).astype(logits.dtype), logits[:, :, n_noised:]], 1),
            paddle.concat([first, boxes[:, :, n_noised:]], 1),
            logits[:, :, :n_noised] if n_noised else None,
            boxes[:, :, :n_noised] if n_noised else None,
        )

    def _join(self, noised: NoisedQueries, queries: Tensor, starts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The noised queries before the plain ones, and what their attention may not see."""
        logits = np.log(np.maximum(noised.boxes, 1e-5)) - np.log(np.maximum(1 - noised.boxes, 1e-5))
        # A product, as not every device has an operator for embeddings; no cell has a row of zeros.
        rows = np.eye(self.config.num_labels + 1, dtype=np.float32)
        rows[-1] = 0
        embedded = paddle.matmul(paddle.to_tensor(rows[noised.labels]), self.model.denoising_class_embed.weight)
        mask = hide_groups(noised.labels.shape[1], noised.n_groups, queries.shape[1])
        return (
            paddle.concat([embedded.astype(queries.dtype), queries], 1),
            paddle.concat([paddle.to_tensor(logits), starts], 1),
            paddle.to_tensor(mask).astype(queries.dtype),
        )


def _once(compute: Any) -> Any:
    """Compute constants of the network once for each size, in float32 whatever the precision of the step."""

    @lru_cache(maxsize=4)
    def kept(*sizes: Any, dtype: Any = None, **named: Any) -> Any:
        with paddle.no_grad(), paddle.amp.auto_cast(enable=False):
            return compute(*sizes, dtype="float32", **named)

    return kept


def _take(values: Tensor, index: Tensor) -> Tensor:
    """``(B, Q, C)`` rows of ``(B, S, C)`` values at ``(B, Q, 1)`` places."""
    return paddle.take_along_axis(values, index.expand([-1, -1, values.shape[-1]]), 1)


def fix_norms(layer: nn.Layer) -> None:
    """Let batch normalizations keep what they have, in training too.

    PaddleX has a layer for that, of two operators that compute in float32 in every precision: it keeps a quarter
    more memory in bfloat16.
    """
    for norm in layer.sublayers(include_self=True):
        if isinstance(norm, nn.BatchNorm2D):
            norm._use_global_stats = True
            norm.weight.stop_gradient = norm.bias.stop_gradient = True


@paddle.no_grad()
def initialize(model: Any) -> None:
    """Set the weights from which RT-DETR is trained; Paddle's own are right for the rest.

    Few queries have a cell, boxes start as the anchors, and each attention head looks in a direction of its own
    (Deformable DETR, Zhu et al. 2021).

    Args:
        model: PaddleX's ``RTDETRModel``.
    """
    decoder = model.decoder
    for head in (model.enc_score_head, *decoder.class_embed):
        head.bias.set_value(paddle.full(head.bias.shape, -math.log((1 - RARE) / RARE)))
    for head in (model.enc_bbox_head, *decoder.bbox_embed):
        _clear(head.layers[-1])
    for layer in decoder.layers:
        attention = layer.encoder_attn
        _clear(attention.sampling_offsets, _directions(attention.n_heads, attention.n_levels, attention.n_points))
        _clear(attention.attention_weights)
    embedding = model.denoising_class_embed.weight
    values = paddle.randn(embedding.shape)
    values[-1] = 0.0  # that of no cell
    embedding.set_value(values)


def _clear(linear: Any, bias: Any = 0.0) -> None:
    linear.weight.set_value(paddle.zeros(linear.weight.shape))
    linear.bias.set_value(paddle.to_tensor(np.broadcast_to(np.float32(bias), linear.bias.shape).copy()))


def _directions(n_heads: int, n_levels: int, n_points: int) -> Any:
    """Offsets of the places that each head looks at: on a ray of its own, one step further each."""
    angle = 2 * np.pi * np.arange(n_heads) / n_heads
    ray = np.stack([np.cos(angle), np.sin(angle)], -1)
    ray /= np.abs(ray).max(-1, keepdims=True)
    steps = np.arange(1, n_points + 1)[:, None]
    return np.broadcast_to(ray[:, None, None] * steps, (n_heads, n_levels, n_points, 2)).ravel()
