"""CellNet's branch for lines: its targets and loss, and that the rest of the network stays as it is."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from postprocess.geometry.boxes import boxes_to_quads, rotate_points
from tablerec.detect.text_maps import decode_lines
from tablerec.training.data.owners import lines_to_owners

paddle = pytest.importorskip("paddle")

from tablerec.errors import InputError, SettingsError  # noqa: E402
from tablerec.models.arrays import network_to_arrays, save_arrays  # noqa: E402
from tablerec.models.cellnet import CORE, LINE_UNIT, CellNet  # noqa: E402
from tablerec.models.export import load_cellnet  # noqa: E402
from tablerec.training.data.batches import Batch  # noqa: E402
from tablerec.training.detectors import cellnet_lines_loss as ll  # noqa: E402
from tablerec.training.detectors.cellnet import CellNetTask  # noqa: E402
from tablerec.training.detectors.cellnet_lines import CellNetLinesTask  # noqa: E402
from tablerec.training.settings import DataSettings, ScheduleSettings, TrainSettings  # noqa: E402

SIZE = (160, 224)
SMALL = {"widths": [8, 8, 8, 8, 8], "depths": [1, 1, 1, 1], "pyramid": [8, 8]}
LINES = {
    "plain": boxes_to_quads([[10, 10, 130, 26], [150, 11, 162, 27], [12, 40, 200, 54]]),
    "turned": rotate_points(boxes_to_quads([[40, 40, 180, 56]]).reshape(-1, 2), 5, (100.0, 60.0)).reshape(-1, 4, 2),
    "set tightly": boxes_to_quads([[10, 10 + 14 * k, 200, 25 + 14 * k] for k in range(9)]),
    "on their side": boxes_to_quads([[20, 20, 36, 150], [60, 100, 75, 118]]),
    "beyond the edge": boxes_to_quads([[-30, 50, 60, 66], [200, 100, 300, 118]]),
    "empty": np.zeros((0, 4, 2)),
}


def truth(quads: np.ndarray, batch: int = 1) -> ll.LineTargets:
    owners = lines_to_owners(quads, SIZE)
    padded = np.full((max(len(quads), 1) + 2, 4, 2), 1e6, np.float32)
    padded[: len(quads)] = quads
    return ll.make_line_targets(paddle.to_tensor(np.stack([owners] * batch)), paddle.to_tensor([padded] * batch))


def perfect(targets: ll.LineTargets) -> np.ndarray:
    return np.concatenate([18 * targets.core.numpy() - 9, targets.sides.numpy().clip(-99, 99) / LINE_UNIT], axis=1)


@pytest.mark.parametrize("name", LINES)
def test_the_core_is_the_line_without_its_margin(name: str) -> None:
    core = truth(LINES[name]).core.numpy()[0]
    y, x = np.mgrid[2 : SIZE[0] : 4, 2 : SIZE[1] : 4].astype(float)
    quarters = [(-1, -1), (1, -1), (-1, 1), (1, 1)]
    for channel, (dx, dy) in enumerate(quarters):
        expected = np.zeros_like(x, bool)
        for tl, tr, br, bl in LINES[name]:
            along, down = (tr - tl) / np.linalg.norm(tr - tl), (bl - tl) / np.linalg.norm(bl - tl)
            at = np.stack([x + dx, y + dy], -1) - tl
            u, v = at @ along, at @ down
            width, height = np.linalg.norm(tr - tl), np.linalg.norm(br - tr)
            margin = CORE * min(width, height)
            expected |= np.minimum(np.minimum(u, width - u), np.minimum(v, height - v)) > margin + 1e-3
        assert (core[channel] != expected).mean() < 0.002


@pytest.mark.parametrize("name", LINES)
def test_perfect_maps_cost_nothing_and_give_the_lines(name: str) -> None:
    targets = truth(LINES[name])
    maps = perfect(targets)
    losses = {key: float(value) for key, value in ll.lines_loss(paddle.to_tensor(maps), targets).items()}
    assert losses["pixels"] < 1e-3 and losses["total"] < 0.02
    quads, _ = decode_lines(maps[0])
    assert len(quads) == len(LINES[name])
    for line in LINES[name]:
        assert np.abs(quads - line).max(axis=(1, 2)).min() < 0.6


def test_wrong_maps_cost_more() -> None:
    targets = truth(LINES["plain"], 2)
    maps = np.concatenate([perfect(truth(LINES["plain"]))] * 2)

    def total(changed: np.ndarray) -> float:
        return float(ll.lines_loss(paddle.to_tensor(changed), targets)["total"])

    shifted, missed, invented = maps.copy(), maps.copy(), maps.copy()
    shifted[:, 5] += 0.3
    missed[:, :4, :8] = -9
    invented[:, :4, 20:30] = 9
    assert all(total(changed) > total(maps) + 0.1 for changed in (shifted, missed, invented))


def test_lines_that_are_too_low_do_not_count() -> None:
    low = boxes_to_quads([[10, 90, 100, 90 + ll.LEAST_HEIGHT - 1]])
    targets = truth(np.concatenate([LINES["plain"], low]))
    maps = perfect(targets)
    assert float(ll.lines_loss(paddle.to_tensor(maps), targets)["total"]) < 0.02
    maps[:, :4, 22:24, 4:24] = 9
    assert float(ll.lines_loss(paddle.to_tensor(maps), targets)["total"]) < 0.1


@pytest.fixture
def initial(tmp_path: Path) -> Path:
    paddle.seed(3)
    net = CellNet(**SMALL)
    net(paddle.rand([2, 3, 64, 64]) * 255)
    path = tmp_path / "cells.safetensors"
    save_arrays(path, network_to_arrays(net), {"network": json.dumps(net.arguments)})
    return path


def settings(initial: Path | None, **network: list[int]) -> TrainSettings:
    return TrainSettings(
        Path("out"), DataSettings("a:b"), ScheduleSettings(steps=1), network={**SMALL, **network}, initial=initial
    )


def test_cells_stay_as_they_are_to_the_last_bit(initial: Path, tmp_path: Path) -> None:
    task = CellNetLinesTask(settings(initial, lines=[8, 1]))
    net = task.make()
    task.load(net, initial)
    owners = paddle.to_tensor(np.stack([lines_to_owners(LINES["plain"], (96, 224))] * 2).astype(np.int32))
    quads = paddle.to_tensor(np.stack([LINES["plain"]] * 2).astype(np.float32))
    batch = Batch(paddle.rand([2, 3, 96, 224]) * 255, quads, np.array([3, 3]), owners)
    before = network_to_arrays(net)
    optimizer = paddle.optimizer.SGD(0.1, parameters=[p for p in net.parameters() if not p.stop_gradient])
    net.train()
    task.loss(net, batch, nullcontext)["total"].backward()
    optimizer.step()
    after = network_to_arrays(net)
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert changed and all(name.startswith("net.lines.") for name in changed)
    again, old = load_cellnet(task.save(net, tmp_path)), load_cellnet(initial)
    assert np.array_equal(again(batch.images).numpy(), old(batch.images).numpy())
    assert again.lines is not None and old.lines is None


def test_the_branch_is_taken_up_again(initial: Path, tmp_path: Path) -> None:
    task = CellNetLinesTask(settings(initial, lines=[8, 1]))
    net = task.make()
    task.load(net, initial)
    path = task.save(net, tmp_path)
    more = CellNetLinesTask(settings(path))
    taken = more.make()
    more.load(taken, path)
    assert all(np.array_equal(a, b) for a, b in zip(*map(_values, (net, taken)), strict=True))
    cells = CellNetTask(settings(path))
    fine = cells.make()
    cells.load(fine, path)
    assert all(p.stop_gradient for p in fine.lines.parameters())
    assert load_cellnet(cells.save(fine, tmp_path)).lines is not None


def _values(net: paddle.nn.Layer) -> list[np.ndarray]:
    return list(network_to_arrays(net).values())


def test_what_is_no_network(initial: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="CellNet's arguments"):
        CellNetLinesTask(settings(None, lines=[1, 2, 3])).make()
    broken = tmp_path / "broken.safetensors"
    save_arrays(broken, {"maps.bias": np.zeros(14, np.float32)})
    task = CellNetLinesTask(settings(None))
    with pytest.raises(InputError, match="name a whole CellNet"):
        task.load(task.make(), broken)
