"""Samples on the canvas, and augmentation that keeps picture, owner map and quads in step."""

from __future__ import annotations

import numpy as np
import pytest

from tablerec.training.data.owners import quads_to_owners
from tablerec.training.data.samples import PAPER, Canvas, Sample, place_pictures
from tablerec.training.settings import Augmentation
from tests.helpers.grids import Drawn, draw_ruled, grid_quads

paddle = pytest.importorskip("paddle")

from tablerec.training.data import batches  # noqa: E402
from tablerec.training.methods.ema import WeightEMA, recompute_statistics  # noqa: E402

SIDE = 128


def place_sample(drawn: Drawn, index: int, size: int, max_cells: int) -> Sample:
    return place_pictures([drawn], index, Canvas(size, max_cells, with_owners=True))


def test_a_small_picture_is_placed_whole() -> None:
    drawn = draw_ruled(3)
    places = {tuple(place_sample(drawn, index, SIDE, 64).quads[0, 0]) for index in range(20)}
    assert tuple(drawn.quads[0, 0]) in places and len(places) > 5
    sample = place_sample(drawn, 1, SIDE, 64)
    left, top = (sample.quads[0, 0] - drawn.quads[0, 0]).astype(int)
    height, width = drawn.image.shape[:2]
    assert (sample.image[top : top + height, left : left + width] == drawn.image).all()
    assert (sample.image == PAPER).all(-1).sum() == SIDE**2 - height * width
    assert int(sample.n_cells) == len(drawn.quads) and not sample.quads[len(drawn.quads) :].any()


def test_a_large_picture_is_cut_or_made_smaller() -> None:
    drawn = Drawn(np.random.default_rng(0).integers(0, 255, (300, 90, 3), np.uint8), grid_quads([0, 90], [0, 150, 300]))
    tops = set()
    for index in range(12):
        sample = place_sample(drawn, index, SIDE, 64)
        (left, top), (right, bottom) = sample.quads[0, 0], sample.quads[1, 2]
        if bottom - top == 300:
            part = drawn.image[int(-top) : int(-top) + SIDE]
            assert (sample.image[:, int(left) : int(left) + 90] == part).all()
        else:
            assert (bottom - top, right - left) == pytest.approx((128, 38), abs=0.1)
        tops.add(float(top))
    assert len(tops) > 3 and 0.0 in tops


def test_small_pictures_are_stacked() -> None:
    drawn = [draw_ruled(index) for index in range(9)]
    sample = place_pictures(drawn, 0, Canvas(256, 64, max_images=9))
    heights = np.cumsum([each.image.shape[0] for each in drawn])
    count = sum(len(each.quads) for each in drawn[: int((heights <= 256).sum())])
    assert int(sample.n_cells) == count > len(drawn[0].quads)
    boxes = sample.quads[:count]
    assert boxes.min() >= 0 and boxes.max() <= 256
    for corners in boxes.astype(int):  # each with its own lines
        assert (sample.image[corners[0, 1], corners[0, 0] : corners[1, 0]] < 60).all()
    assert int(place_pictures(drawn, 0, Canvas(256, len(drawn[0].quads), max_images=9)).n_cells) == len(drawn[0].quads)


def test_of_too_many_cells_a_part_is_shown() -> None:
    drawn = draw_ruled(0)
    sample = place_sample(drawn, 0, SIDE, 3)
    assert 1 <= int(sample.n_cells) <= 3
    sizes = {tuple(size) for size in (drawn.quads[:, 2] - drawn.quads[:, 0]).tolist()}
    assert {tuple(size) for size in (sample.quads[:1, 2] - sample.quads[:1, 0]).tolist()} <= sizes


def test_more_cells_upon_one_another_than_a_canvas_holds() -> None:
    drawn = Drawn(np.zeros((40, 40, 3), np.uint8), np.repeat(grid_quads([0, 40], [0, 40]), 9, 0))
    with pytest.raises(ValueError, match="lie upon one another"):
        place_sample(drawn, 0, SIDE, 8)


def test_contents_change_places_and_cells_stay() -> None:
    drawn = draw_ruled(0)
    plain, pasted = (place_pictures([drawn], 0, Canvas(SIDE, 64, copy_paste=share)) for share in (0.0, 1.0))
    assert plain.n_cells == pasted.n_cells and plain.quads.shape == pasted.quads.shape


def test_no_cells() -> None:
    sample = place_sample(Drawn(np.zeros((40, 40, 3), np.uint8), np.zeros((0, 4, 2))), 0, SIDE, 8)
    assert not sample.owners.any() and int(sample.n_cells) == 0


def test_a_picture_can_fill_the_canvas() -> None:
    drawn = draw_ruled(3)
    sample = place_pictures([drawn], 0, Canvas(SIDE, 64, stretch=True))
    height, width = drawn.image.shape[:2]
    shares = drawn.quads / [width, height]
    np.testing.assert_allclose(sample.quads[: len(shares)] / SIDE, shares, atol=1e-6)
    assert (sample.image == PAPER).all(-1).mean() < 0.02


def stacked(index: int) -> batches.Batch:
    sample = place_sample(draw_ruled(index), index, SIDE, 32)
    return batches.stack_samples([sample] * 6)


def test_an_unchanged_batch() -> None:
    batch = stacked(4)
    still = Augmentation(identity_probability=1, contrast=(1, 1), brightness=0, inversion_probability=0, noise_std=0)
    changed = batches.change_batch(batch, batches.choose_change(np.random.default_rng(0), 6, SIDE, still))
    np.testing.assert_allclose(batch.images.numpy(), changed.images.numpy(), atol=1e-3)
    np.testing.assert_allclose(batch.quads.numpy(), changed.quads.numpy(), atol=1e-3)
    np.testing.assert_array_equal(batch.owners.numpy()[:, 1::2, 1::2], changed.owners.numpy())


@pytest.mark.parametrize("tilted", [0, 1])
def test_picture_owners_and_quads_move_together(tilted: float) -> None:
    batch = stacked(4)
    moving = Augmentation(
        identity_probability=0,
        rotation_std=3,
        perspective_probability=tilted,
        contrast=(1, 1),
        brightness=0,
        inversion_probability=0,
        noise_std=0,
    )
    change = batches.choose_change(np.random.default_rng(1), 6, SIDE, moving)
    moved = batches.change_batch(batch, change)
    images, owners, quads = (each.numpy() for each in (moved.images, moved.owners, moved.quads))
    n_cells = len(draw_ruled(4).quads)
    for k in range(6):
        expected = quads_to_owners(quads[k, :n_cells], (SIDE, SIDE))
        assert (np.maximum(expected, 0) != np.maximum(owners[k], 0)).mean() < 0.05
        # The bar in the middle of each cell is darker than the cell.
        x, y = np.rint(quads[k, :n_cells].mean(1) - 0.5).astype(int).T
        seen = (x > 2) & (x < SIDE - 3) & (y > 2) & (y < SIDE - 3)
        assert (images[k, 0, y[seen], x[seen]] < 200).all()


def test_tilted_samples_are_seen_from_the_side() -> None:
    change = batches.choose_change(
        np.random.default_rng(1), 400, SIDE, Augmentation(identity_probability=0, perspective_probability=0.3)
    )
    tilted = change.matrix[:, 2, :2].any(axis=1)
    assert tilted.mean() == pytest.approx(0.3, abs=0.1)
    angles = np.degrees(np.arctan2(change.matrix[:, 1, 0], change.matrix[:, 0, 0]))
    assert angles[~tilted].std() < 1 < 3 < angles[tilted].std()
    # The canvas stays in front of the viewer.
    assert np.abs(change.matrix[:, 2, :2] * (SIDE / 2)).sum(axis=1).max() < 0.5


def test_tints() -> None:
    batch = stacked(2)
    settings = Augmentation(
        identity_probability=1, inversion_probability=1, noise_std=0, contrast=(0.5, 0.5), brightness=0
    )
    images = batches.change_batch(batch, batches.choose_change(np.random.default_rng(0), 6, SIDE, settings)).images
    expected = (batch.images.numpy() - PAPER) * -0.5 + PAPER
    np.testing.assert_allclose(images.numpy(), expected, atol=1e-2)
    noisy = Augmentation(identity_probability=1, inversion_probability=0, noise_std=50, contrast=(1, 1), brightness=0)
    change = batches.choose_change(np.random.default_rng(0), 6, SIDE, noisy)
    difference = batches.change_batch(batch, change).images.numpy() - batch.images.numpy()
    paper = batch.images.numpy() == PAPER
    for k in range(6):
        assert difference[k][paper[k]].std() == pytest.approx(change.noise[k], rel=0.1, abs=0.1)


def test_the_buffer_keeps_the_newest() -> None:
    still = Augmentation(identity_probability=1, inversion_probability=0, noise_std=0, contrast=(1, 1), brightness=0)
    buffer = batches.SampleBuffer(3, 50, still)
    for index in range(5):
        sample = place_sample(draw_ruled(index), index, SIDE, 32)
        buffer.put(sample._replace(owners=np.full_like(sample.owners, index)), index)
    assert list(buffer.indices) == [2, 3, 4] and len(buffer) == 3
    drawn = buffer.draw(np.random.default_rng(0))
    assert drawn.images.shape == [50, 3, SIDE, SIDE]
    assert set(drawn.owners.numpy()[:, 0, 0].tolist()) == {2, 3, 4}


def test_average_and_statistics() -> None:
    net = paddle.nn.Sequential(paddle.nn.Conv2D(1, 2, 1), paddle.nn.BatchNorm2D(2))
    average = WeightEMA(net, 0.5)
    before = {name: array.copy() for name, array in average.arrays().items()}
    assert set(before) == {"0.weight", "0.bias", "1.weight", "1.bias"}
    with paddle.no_grad():
        net[0].weight.set_value(net[0].weight + 1.0)
    average.update(100)
    np.testing.assert_allclose(average.arrays()["0.weight"], before["0.weight"] + 0.5, rtol=1e-6)
    average.load(before)
    np.testing.assert_array_equal(average.arrays()["0.weight"], before["0.weight"])
    images = [paddle.randn([4, 1, 8, 8]) * 3 + k for k in range(5)]
    recompute_statistics(net, images.__getitem__, 5)
    seen = np.concatenate([net[0](image).numpy() for image in images]).transpose(1, 0, 2, 3).reshape(2, -1)
    np.testing.assert_allclose(net[1]._mean.numpy(), seen.mean(1), rtol=1e-3, atol=1e-3)
    assert not net.training and net[1]._momentum == 0.9
