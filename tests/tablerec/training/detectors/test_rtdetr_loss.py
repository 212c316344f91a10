"""RT-DETR's loss against loops over pairs, with overlaps by shapely."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

paddle = pytest.importorskip("paddle")
pytest.importorskip("scipy")

from tablerec.training.detectors.denoising import Noise, noise_cells  # noqa: E402
from tablerec.training.detectors.matcher import Truth, match_queries  # noqa: E402
from tablerec.training.detectors.rtdetr_loss import WEIGHTS, Outputs, detection_loss, overlaps, rtdetr_loss  # noqa: E402


def random_boxes(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return np.concatenate([rng.uniform(0.2, 0.8, (*shape, 2)), rng.uniform(0.02, 0.4, (*shape, 2))], -1).astype("f4")


def random_truths(rng: np.random.Generator, sizes: list[int], n_classes: int = 2) -> list[Truth]:
    return [Truth(random_boxes(rng, n), rng.integers(0, n_classes, n)) for n in sizes]


def to_polygon(box: np.ndarray) -> shapely.Polygon:
    x, y, w, h = box.astype(float).tolist()
    return shapely.box(x - w / 2, y - h / 2, x + w / 2, y + h / 2)


def reference_overlaps(box: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    a, b = to_polygon(box), to_polygon(other)
    union = a.union(b)
    hull = shapely.box(*union.bounds).area
    overlap = a.intersection(b).area / union.area
    return overlap, overlap - (hull - union.area) / hull


def reference_loss(logits: np.ndarray, boxes: np.ndarray, cells: np.ndarray, truths: list[Truth]) -> dict[str, float]:
    """Sums over all queries from their definitions."""
    sums = dict.fromkeys(WEIGHTS, 0.0)
    for row, layer, query in np.ndindex(*cells.shape):
        cell, truth = cells[row, layer, query], truths[row]
        p = 1 / (1 + np.exp(-logits[row, layer, query].astype(float)))
        sure, weight = np.zeros(len(p)), 0.75 * p**2
        if cell >= 0:
            box, other = boxes[row, layer, query], truth.boxes[cell]
            overlap, generalized = reference_overlaps(box, other)
            sure[truth.labels[cell]] = weight[truth.labels[cell]] = overlap
            sums["distance"] += float(np.abs(box - other).sum())
            sums["overlap"] += 1 - generalized
        sums["class"] += float((-weight * (sure * np.log(p) + (1 - sure) * np.log(1 - p))).sum())
    return sums


def random_answers(rng: np.random.Generator, n: int, n_noised: int = 0, n_classes: int = 2) -> list[np.ndarray]:
    shapes = [(n, 3, 12)] + [(n, 2, n_noised)] * bool(n_noised)
    drawn = [(rng.normal(0, 2, (*shape, n_classes)).astype("f4"), random_boxes(rng, *shape)) for shape in shapes]
    return [each for pair in drawn for each in pair]


def test_overlaps_are_those_of_polygons() -> None:
    rng = np.random.default_rng(0)
    boxes, others = random_boxes(rng, 50), random_boxes(rng, 50)
    found = np.stack([each.numpy() for each in overlaps(paddle.to_tensor(boxes), paddle.to_tensor(others))], 1)
    wanted = [reference_overlaps(box, other) for box, other in zip(boxes, others, strict=True)]
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("sizes", [[0, 0], [4, 0], [12, 7], [30, 1]])
def test_loss_equals_the_reference(sizes: list[int]) -> None:
    """Also without any cell, and with more cells than queries."""
    rng = np.random.default_rng(1)
    truths = random_truths(rng, sizes)
    noised = noise_cells(truths, 2, np.random.default_rng(2), Noise(cells=10))
    n_noised = 0 if noised is None else noised.labels.shape[1]
    arrays = random_answers(rng, 2, n_noised)
    found = rtdetr_loss(Outputs(*map(paddle.to_tensor, arrays)), truths, noised)
    cells = np.stack([match_queries(*each, truth) for *each, truth in zip(*arrays[:2], truths, strict=True)])
    n_cells = max(sum(min(n, 12) for n in sizes), 1)
    wanted = {name: value / n_cells for name, value in reference_loss(*arrays[:2], cells, truths).items()}
    for name, value in wanted.items():
        assert float(found[name]) == pytest.approx(value, rel=1e-4, abs=1e-5), name
    total, of_noised = sum(WEIGHTS[name] * value for name, value in wanted.items()), 0.0
    if noised is not None:
        others = reference_loss(*arrays[2:], np.repeat(noised.cells[:, None], 2, 1), truths)
        of_noised = sum(WEIGHTS[name] * value for name, value in others.items()) / (n_cells * noised.n_groups)
    assert float(found["noised"]) == pytest.approx(of_noised, rel=1e-4)
    assert float(found["total"]) == pytest.approx(total + of_noised, rel=1e-4)


def test_gradients_are_finite_and_push_the_right_way() -> None:
    rng = np.random.default_rng(3)
    truths = random_truths(rng, [3, 0], 1)
    logits, boxes = (paddle.to_tensor(each, stop_gradient=False) for each in random_answers(rng, 2, n_classes=1))
    cells = np.full((2, 3, 12), -1)
    cells[0, :, :3] = [2, 0, 1]
    parts = detection_loss(logits, boxes, cells, truths, 3.0)
    paddle.add_n(list(parts.values())).backward()
    assert np.isfinite(logits.grad.numpy()).all() and np.isfinite(boxes.grad.numpy()).all()
    assert (logits.grad.numpy()[cells < 0] >= 0).all()  # less sure where there is no cell
    assert (boxes.grad.numpy()[cells < 0] == 0).all() and (boxes.grad.numpy()[cells >= 0] != 0).any(-1).all()


def test_right_answers_cost_next_to_nothing() -> None:
    rng = np.random.default_rng(4)
    (truth,) = random_truths(rng, [5], 1)
    boxes = np.tile(np.concatenate([truth.boxes, random_boxes(rng, 4)]), (1, 2, 1, 1))
    logits = np.where(np.arange(9) < 5, 12.0, -12.0).astype("f4")[None, None, :, None].repeat(2, 1)
    found = rtdetr_loss(Outputs(paddle.to_tensor(logits), paddle.to_tensor(boxes)), [truth], None)
    assert float(found["total"]) < 1e-3
