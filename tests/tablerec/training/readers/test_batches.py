"""The buffer of lines: buckets of width, and how lines change."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

paddle = pytest.importorskip("paddle")

from tablerec.training.readers.batches import (  # noqa: E402
    LineBuffer,
    change_lines,
    choose_change,
    list_widths,
    stack_lines,
)
from tablerec.training.readers.frames import PAPER, FramedLine, LineFrame, frame_line  # noqa: E402
from tablerec.training.readers.sources import Line  # noqa: E402
from tablerec.training.settings import Augmentation  # noqa: E402
from tests.helpers.training import draw_digits  # noqa: E402

STILL = Augmentation(identity_probability=1, contrast=(1, 1), brightness=0, inversion_probability=0, noise_std=0)
FRAME = LineFrame(512, "0123456789")


def sample(width: int, grey: int = 0, text: str = "1") -> FramedLine:
    """Return a line of one colour."""
    return frame_line(Line(np.full((32, width, 3), grey, np.uint8), text), FRAME)


def test_the_widths_cover_the_frame() -> None:
    assert list_widths(128) == [128] and list_widths(96) == [96] and list_widths(1024)[-2:] == [512, 1024]


def test_a_batch_is_of_one_width_and_holds_as_many_pixels() -> None:
    buffer = LineBuffer(100, 8, 512, STILL)
    for number, width in enumerate([20, 128, 129, 256, 257, 512]):
        buffer.put(sample(width, number), number)
    seen = set()
    for seed in range(60):
        batch = buffer.draw(np.random.default_rng(seed))
        count, _, height, width = batch.images.shape
        assert (height, count * width) == (32, 8 * 128)
        assert batch.labels.shape == [count, width // 4] and batch.n_objects == count
        assert batch.first().images.shape[0] == batch.first().n_objects == 1
        seen |= {(width, int(grey)) for grey in batch.images.numpy()[:, 0, 0, 0]}
    assert seen == {(128, 0), (128, 1), (256, 2), (256, 3), (512, 4), (512, 5)}


def test_each_line_is_as_likely_as_any_other() -> None:
    buffer = LineBuffer(100, 16, 512, STILL)
    widths = [60, 100, 120, 200, 500, 500]
    for number, width in enumerate(widths):
        buffer.put(sample(width, 40 * number), number)
    uses: Counter[int] = Counter()
    for seed in range(1500):
        uses.update(np.rint(buffer.draw(np.random.default_rng(seed)).images.numpy()[:, 0, 0, 0]).astype(int).tolist())
    shares = np.array([uses[40 * number] for number in range(6)]) / uses.total()
    np.testing.assert_allclose(shares, 1 / 6, atol=0.03)


def test_the_newest_stay() -> None:
    buffer = LineBuffer(4, 8, 512, STILL)
    assert len(buffer) == 0
    for number, width in enumerate([20, 500, 20, 500, 200, 20]):
        buffer.put(sample(width, 10 * number), number)
    assert len(buffer) == 4 and list(buffer.indices) == [2, 3, 4, 5]
    seen = {int(grey) for seed in range(60) for grey in buffer.draw(np.random.default_rng(seed)).images[:, 0, 0, 0]}
    assert seen == {20, 30, 40, 50}


def test_a_line_that_does_not_change() -> None:
    batch = stack_lines([frame_line(draw_digits(index), FRAME) for index in range(4)])
    change = choose_change(np.random.default_rng(0), np.full(4, 100), 512, STILL)
    changed = change_lines(batch, change)
    np.testing.assert_allclose(changed.images.numpy()[..., :99], batch.images.numpy()[..., :99], atol=0.02)
    assert (changed.labels.numpy() == batch.labels.numpy()).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_changed_line_stays_in_its_frame(seed: int) -> None:
    rng = np.random.default_rng(seed)
    widths = rng.integers(4, 513, 16)
    wild = Augmentation(identity_probability=0, aspect_ratio=1.5, translation=2, noise_std=30)
    change = choose_change(rng, widths, 512, wild)
    assert (change[:, 1] * widths + change[:, 2] <= 512.5).all() and (change[:, 2] >= 0).all()
    images = change_lines(stack_lines([sample(int(width), 250) for width in widths]), change).images.numpy()
    for image, (width, zoom, move, *_) in zip(images, change, strict=True):
        end = move + zoom * width
        assert (image[..., : max(int(move) - 1, 0)] == PAPER).all() and (image[..., int(end) + 2 :] == PAPER).all()
        assert image.min() >= 0 and image.max() <= 255


def test_the_tint_is_that_of_the_settings() -> None:
    inverted = Augmentation(
        identity_probability=1, inversion_probability=1, contrast=(0.5, 0.5), brightness=0, noise_std=0
    )
    batch = stack_lines([frame_line(draw_digits(1), FRAME)])
    width = int(frame_line(draw_digits(1), FRAME).width)
    change = choose_change(np.random.default_rng(0), np.array([width]), 512, inverted)
    found = change_lines(batch, change).images.numpy()[..., : width - 1]
    np.testing.assert_allclose(found, (batch.images.numpy()[..., : width - 1] - PAPER) * -0.5 + PAPER, atol=0.05)
