"""RT-DETR's matching, losses and denoising here against those of transformers, on random inputs.

Needs ``pip install torch transformers`` beside the paddle extra; nothing is downloaded. Run it as
``python -m tests.benchmarks.training.check_rtdetr_loss``. Prints the greatest difference of each part
and fails above 1e-5.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any
from unittest import mock

import numpy as np
import paddle
import torch
from transformers import RTDetrConfig
from transformers.loss.loss_rt_detr import RTDetrForObjectDetectionLoss, RTDetrHungarianMatcher
from transformers.models.rt_detr import modeling_rt_detr as reference

from tablerec.training.detectors.denoising import HIDDEN, Noise, NoisedQueries, hide_groups, noise_cells
from tablerec.training.detectors.matcher import Truth, match_queries, matching_costs
from tablerec.training.detectors.rtdetr_loss import WEIGHTS, Outputs, rtdetr_loss

N_QUERIES, N_LAYERS = 30, 4
CASES = ([5, 12, 1], [0, 7], [30], [29, 30], [3, 0, 0, 20])
"""Cells in the pictures of a batch; transformers fails where no picture has one."""


def random_boxes(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return np.concatenate([rng.uniform(0.1, 0.9, (*shape, 2)), rng.uniform(0.01, 0.5, (*shape, 2))], -1).astype("f4")


def random_truths(rng: np.random.Generator, sizes: list[int], n_classes: int) -> list[Truth]:
    return [Truth(random_boxes(rng, n), rng.integers(0, n_classes, n)) for n in sizes]


def to_labels(truths: list[Truth]) -> list[dict[str, torch.Tensor]]:
    return [{"boxes": torch.tensor(boxes), "class_labels": torch.tensor(labels)} for boxes, labels in truths]


def check_matching(rng: np.random.Generator, truths: list[Truth], config: Any) -> float:
    """Return the greatest difference between the costs of the two assignments of a picture."""
    logits = rng.normal(0, 2, (len(truths), N_QUERIES, config.num_labels)).astype("f4")
    boxes = random_boxes(rng, len(truths), N_QUERIES)
    outputs = {"logits": torch.tensor(logits), "pred_boxes": torch.tensor(boxes)}
    worst = 0.0
    pairs = RTDetrHungarianMatcher(config)(outputs, to_labels(truths))
    for row, ((queries, cells), truth) in enumerate(zip(pairs, truths, strict=True)):
        ours = match_queries(logits[row : row + 1], boxes[row : row + 1], truth)[0]
        cost = matching_costs(logits[row : row + 1], boxes[row : row + 1], truth)[0] if len(truth.boxes) else None
        assert (ours >= 0).sum() == len(queries)
        if cost is not None:
            mine = cost[np.flatnonzero(ours >= 0), ours[ours >= 0]].sum()
            worst = max(worst, abs(float(mine - cost[queries.numpy(), cells.numpy()].sum())))
    return worst


def check_denoising(seed: int, truths: list[Truth], n_classes: int) -> tuple[float, NoisedQueries, dict[str, Any]]:
    """Return the greatest difference of the noised cells and their masks; both sides draw the same numbers."""
    noised = noise_cells(truths, n_classes, np.random.default_rng(seed), Noise(cells=30))
    assert noised is not None
    rng = np.random.default_rng(seed)
    draw = lambda like, **kind: torch.tensor(rng.random(like.shape)).to(kind.get("dtype", like.dtype))  # noqa: E731
    draw_whole = lambda like, low, high, **kind: torch.tensor(rng.integers(low, high, like.shape))  # noqa: E731
    embed = torch.nn.Embedding(n_classes + 1, 1)
    embed.weight.data = torch.arange(n_classes + 1.0).unsqueeze(1)
    with mock.patch.object(torch, "rand_like", draw), mock.patch.object(torch, "randint_like", draw_whole):
        labels, boxes, mask, meta = reference.get_contrastive_denoising_training_group(
            to_labels(truths), n_classes, N_QUERIES, embed, 30
        )
    hidden = hide_groups(noised.labels.shape[1], noised.n_groups, N_QUERIES)
    assert ((mask.numpy() < 0) == (hidden == HIDDEN)).all()
    assert noised.n_groups == meta["dn_num_group"]
    for cells, wanted in zip(noised.cells, meta["dn_positive_idx"], strict=True):
        assert (np.flatnonzero(cells >= 0) == wanted.numpy()).all()
    assert (labels.detach().numpy()[..., 0] == noised.labels).all()
    # Not the logits: those of an edge at 0 differ by the rounding.
    off = np.abs(torch.sigmoid(boxes).numpy() - np.clip(noised.boxes, 1e-5, 1 - 1e-5)).max()
    return float(off), noised, meta


def check_loss(rng: np.random.Generator, truths: list[Truth], noised: NoisedQueries, meta: Any, config: Any) -> Any:
    """Return the greatest relative difference of a part of the loss, and the greatest one of its gradients."""
    n, n_noised = len(truths), noised.labels.shape[1]
    logits = rng.normal(0, 2, (n, 1 + N_LAYERS, N_QUERIES, config.num_labels)).astype("f4")
    boxes = random_boxes(rng, n, 1 + N_LAYERS, N_QUERIES)
    other_logits = rng.normal(0, 2, (n, N_LAYERS, n_noised, config.num_labels)).astype("f4")
    arrays = [logits, boxes, other_logits, random_boxes(rng, n, N_LAYERS, n_noised)]
    ours = [paddle.to_tensor(each, stop_gradient=False) for each in arrays]
    parts = rtdetr_loss(Outputs(*ours), truths, noised)
    parts["total"].backward()
    theirs = [torch.tensor(each, requires_grad=True) for each in arrays]
    (first, last), (first_boxes, last_boxes) = ((each[:, 0], each[:, 1:]) for each in theirs[:2])
    outputs_class, outputs_coord = torch.cat([theirs[2], last], 2), torch.cat([theirs[3], last_boxes], 2)
    total, expected, _ = RTDetrForObjectDetectionLoss(
        outputs_class[:, -1], to_labels(truths), "cpu", outputs_coord[:, -1], config, outputs_class, outputs_coord,
        first, first_boxes, denoising_meta_values=meta,
    )  # fmt: skip
    total.backward()
    names = {"class": "loss_vfl", "distance": "loss_bbox", "overlap": "loss_giou"}
    pairs = [(parts["total"], total), (parts["noised"], sum(value for name, value in expected.items() if "dn" in name))]
    for name, theirs_name in names.items():
        summed = sum(v for key, v in expected.items() if key.startswith(theirs_name) and "dn" not in key)
        pairs.append((WEIGHTS[name] * parts[name], summed))
    off = max(abs(float(a) - float(b)) / max(abs(float(b)), 1.0) for a, b in pairs)
    slopes = max(np.abs(a.grad.numpy() - b.grad.numpy()).max() for a, b in zip(ours, theirs, strict=True))
    return off, float(slopes)


def main() -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    worst: dict[str, float] = {}
    for n_classes in (1, 4):
        config = RTDetrConfig(num_labels=n_classes, num_queries=N_QUERIES)
        for seed, sizes in enumerate(CASES * 4):
            rng = np.random.default_rng(seed)
            truths = random_truths(rng, sizes, n_classes)
            found = {"matching": check_matching(rng, truths, config)}
            found["denoising"], noised, meta = check_denoising(seed, truths, n_classes)
            found["loss"], found["gradient"] = check_loss(rng, truths, noised, meta, config)
            worst = {name: max(value, worst.get(name, 0.0)) for name, value in found.items()}
    for name, value in worst.items():
        print(f"{name:10} {value:.1e}")
    return int(max(worst.values()) > 1e-5)


if __name__ == "__main__":
    sys.exit(main())
