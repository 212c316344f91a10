"""CellNet's targets and loss against loops over positions, and what decoding makes of perfect maps."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from postprocess.geometry.boxes import rotate_points
from tablerec.training.data.owners import quads_to_owners
from tests.helpers.grids import grid_quads

paddle = pytest.importorskip("paddle")

from tablerec.models.cellnet import REACH, STRIDE, UNIT, decode  # noqa: E402
from tablerec.training.detectors import cellnet_loss as cl  # noqa: E402

SIZE = (160, 224)
TABLES = {
    "plain": grid_quads([20, 61, 140, 200], [22, 40, 52, 120]),
    "turned": grid_quads([20, 61, 140, 200], [32, 50, 62, 120], 5),
    "dense": grid_quads(range(8, 200, 24), range(12, 140, 8)),
    "wide": grid_quads([4, 220], range(16, 100, 12)),
    "partly outside": grid_quads([-40, 30, 120, 300], [-30, 20, 60, 200]),
    "empty": np.zeros((0, 4, 2), np.float32),
}


def truth(quads: np.ndarray, batch: int = 1) -> tuple[np.ndarray, cl.Targets]:
    owners = quads_to_owners(quads, SIZE)
    padded = np.full((max(len(quads), 1) + 2, 4, 2), 1e6, np.float32)
    padded[: len(quads)] = quads
    return owners, cl.make_targets(paddle.to_tensor(np.stack([owners] * batch)), paddle.to_tensor([padded] * batch))


def expected_at(x: float, y: float, quad: np.ndarray) -> SimpleNamespace:
    """The truth at one position, from its definition."""
    here = np.array([x, y])
    tl, tr, br, bl = quad.astype(np.float64)
    right, down = (tr + br - tl - bl) / 4, (bl + br - tl - tr) / 4
    u, v = np.linalg.solve(np.stack([right, down], 1), here - quad.mean(0))
    spread = [min(cl.SPREAD, cl.WIDEST / np.linalg.norm(half)) for half in (right, down)]

    def crossing(start: np.ndarray, end: np.ndarray, axis: int) -> float:
        values = [start[1 - axis], end[1 - axis]]
        return float(np.interp(here[1 - axis], values, [start[axis], end[axis]])) - here[axis]

    sides_x = [crossing(tl, bl, 0), crossing(tr, br, 0)]
    sides_y = [crossing(tl, tr, 1), crossing(bl, br, 1)]
    return SimpleNamespace(
        heat=np.exp(-0.5 * ((u / spread[0]) ** 2 + (v / spread[1]) ** 2)),
        centre=((here - quad.mean(0) > -STRIDE / 2) & (here - quad.mean(0) <= STRIDE / 2)).all(),
        corners=quad - here,
        sides=(sides_x, sides_y),
        scale=(np.linalg.norm(right) / 2 + 6, np.linalg.norm(down) / 2 + 2.5),
    )


@pytest.mark.parametrize("name", TABLES)
def test_targets_follow_their_definition(name: str) -> None:
    quads = TABLES[name]
    owners, targets = truth(quads)
    assert (targets.inside[0].numpy() == (owners > 0)).all()
    assert (targets.known[0].numpy() == (owners != 0)).all()
    assert not targets.heat[0].numpy()[owners <= 0].any()
    for i, j in np.argwhere(owners)[::3]:
        expected = expected_at(STRIDE * (j + 0.5), STRIDE * (i + 0.5), quads[abs(owners[i, j]) - 1])
        np.testing.assert_allclose(targets.corners[0, i, j].numpy(), expected.corners, atol=1e-3)
        for found, sides in zip(targets.border[0, :, i, j].tolist(), expected.sides, strict=True):
            assert min(abs(found - side) for side in sides) < 1e-3  # of two equally near, either
            assert abs(found) < min(map(abs, sides)) + 1e-3
        np.testing.assert_allclose(targets.scale[0, i, j].numpy(), expected.scale, atol=1e-3)
        if owners[i, j] > 0:
            heat = 1.0 if expected.centre else min(expected.heat, 0.999)
            assert float(targets.heat[0, i, j]) == pytest.approx(heat, abs=1e-4)


@pytest.mark.parametrize("name", [name for name in TABLES if name != "partly outside"])
def test_each_cell_has_one_centre(name: str) -> None:
    assert int(truth(TABLES[name])[1].centre.sum()) == len(TABLES[name])


def reference_loss(maps: np.ndarray, t: SimpleNamespace) -> dict[str, float]:
    """The loss in float64 numpy."""
    p = 1 / (1 + np.exp(-maps[:, 0]))
    focal = np.where(t.centre, -((1 - p) ** 2) * np.log(p), -((1 - t.heat) ** 4) * p**2 * np.log(1 - p))
    near = np.abs(t.border) <= REACH
    p_near, p_table = 1 / (1 + np.exp(-maps[:, 9:11])), 1 / (1 + np.exp(-maps[:, 13]))
    near_loss = -np.where(near, np.log(p_near), np.log(1 - p_near))
    border = np.abs(maps[:, 11:13] - t.border / REACH)[near & t.known[:, None]]
    batch, _, height, width = maps.shape
    corners = (maps[:, 1:9] * UNIT).transpose(0, 2, 3, 1).reshape(batch, height, width, 4, 2)
    error = np.abs(corners - t.corners).mean(-2) / t.scale
    return {
        "heat": focal.sum() / max(t.centre.sum(), 1),
        "near": near_loss[np.broadcast_to(t.known[:, None], near_loss.shape)].sum() / max(2 * t.known.sum(), 1),
        "border": border.sum() / max(border.size, 1),
        "table": -np.where(t.inside, np.log(p_table), np.log(1 - p_table)).mean(),
        "corners": (error * t.share[..., None]).sum() / max(2 * t.share.sum(), 1),
    }


@pytest.mark.parametrize("name", TABLES)
def test_loss_equals_the_reference(name: str) -> None:
    _, targets = truth(TABLES[name], batch=2)
    maps = np.random.default_rng(3).normal(0, 2, (2, 14, SIZE[0] // 4, SIZE[1] // 4)).astype(np.float32)
    parts = {key: float(value) for key, value in cl.cellnet_loss(paddle.to_tensor(maps), targets).items()}
    as_numpy = {key: value.numpy().astype(np.float64) for key, value in targets._asdict().items()}
    for key in ("centre", "known", "inside"):
        as_numpy[key] = as_numpy[key] > 0
    expected = reference_loss(maps.astype(np.float64), SimpleNamespace(**as_numpy))
    for key, value in expected.items():
        assert parts[key] == pytest.approx(value, rel=1e-4, abs=1e-5), key
    assert parts["total"] == pytest.approx(sum(cl.WEIGHTS[key] * value for key, value in expected.items()), rel=1e-4)


def perfect_maps(t: cl.Targets) -> paddle.Tensor:
    batch, height, width = t.heat.shape
    heat = paddle.clip(t.heat, 1e-5, 1 - 1e-5)
    near = paddle.where(t.border.abs() <= REACH, paddle.full_like(t.border, 9.0), paddle.full_like(t.border, -9.0))
    corners = (t.corners / UNIT).reshape([batch, height, width, 8]).transpose([0, 3, 1, 2])
    table = 20 * t.inside.astype("float32") - 10
    logit = paddle.log(heat / (1 - heat))
    return paddle.concat([logit.unsqueeze(1), corners, near, t.border / REACH, table.unsqueeze(1)], 1)


@pytest.mark.parametrize("name", [name for name in TABLES if name != "partly outside"])
def test_perfect_maps_decode_to_the_quads(name: str) -> None:
    owners, targets = truth(TABLES[name], batch=2)
    quads, scores, picture, table = (x.numpy() for x in decode(perfect_maps(targets), 0.5))
    assert picture.tolist() == sorted(picture) and len(scores) == len(quads) == 2 * len(TABLES[name])
    assert ((table[0] > 0.5) == (owners > 0)).all()
    for k in range(2):
        order = np.lexsort(np.round(quads[picture == k].mean(1)).T)
        wanted = TABLES[name][np.lexsort(np.round(TABLES[name].mean(1)).T)]
        np.testing.assert_allclose(quads[picture == k][order], wanted, atol=0.6)


def test_rough_corners_move_to_the_borders() -> None:
    quads = TABLES["turned"]
    _, targets = truth(quads)
    maps = perfect_maps(targets)
    maps[:, 1:9] += paddle.to_tensor(np.random.default_rng(0).uniform(-3, 3, (1, 8, 1, 1)) / UNIT, dtype="float32")
    found = decode(maps, 0.5)[0].numpy()
    off = np.abs(found[:, None] - quads).max((2, 3)).min(0)
    assert off.max() < 0.7 and off.mean() < 0.4


def test_corners_without_a_border_nearby_stay() -> None:
    _, targets = truth(TABLES["plain"])
    maps = perfect_maps(targets)
    maps[:, 9:11] = -9.0
    maps[:, 1:9] += 2 / UNIT
    found = decode(maps, 0.5)[0].numpy()
    assert np.abs(found[:, None] - (TABLES["plain"] + 2)).max((2, 3)).min(0).max() < 1e-3


def test_a_moved_sample_has_moved_targets() -> None:
    """Targets come from quads: a turned sample needs no new owner map but the turned one."""
    quads = TABLES["plain"]
    turned = rotate_points(quads, 2, (110, 70)).astype(np.float32)
    owners = quads_to_owners(turned, SIZE)
    targets = cl.make_targets(paddle.to_tensor(owners[None]), paddle.to_tensor(turned[None]))
    assert int(targets.centre.sum()) == len(quads)
