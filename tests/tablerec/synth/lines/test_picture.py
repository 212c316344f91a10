from __future__ import annotations

from random import Random

import cv2
import numpy as np
import pytest

from tablerec.synth.lines import picture


def printed(color: tuple[int, int, int] = (20, 20, 20), ground: int = 255) -> picture.Floats:
    image = np.full((64, 220, 3), ground, np.uint8)
    cv2.putText(image, "12,345.6", (6, 46), cv2.FONT_HERSHEY_SIMPLEX, 1.3, color, 3, cv2.LINE_AA)
    return image.astype(np.float32)


def test_a_seal_that_was_taken_off_leaves_little_colour_and_the_print() -> None:
    changed = 0
    for seed in range(25):
        sealed, freed = (press(printed(), "train", Random(seed)) for press in (picture._seal, picture._without_seal))
        changed += not np.array_equal(freed, printed())
        assert freed.shape == printed().shape and freed.min() >= 0 and freed.max() <= 255
        assert np.ptp(freed, axis=2).mean() <= np.ptp(sealed, axis=2).mean() + 1
        dark = printed().mean(axis=2) < 60
        assert freed[dark].mean() < 110 < 190 < freed[~dark].mean()
    assert changed > 8, "seals lay over the line"


@pytest.mark.parametrize("image", [printed((200, 20, 30)), printed((250, 250, 250), 40)], ids=["coloured", "on dark"])
def test_no_seal_is_taken_off_coloured_print_or_dark_paper(image: picture.Floats) -> None:
    for seed in range(5):
        assert np.array_equal(picture._without_seal(image.copy(), "train", Random(seed)), image)
