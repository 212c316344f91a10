from __future__ import annotations

import numpy as np
import pytest

from tablerec.synth.lines.seals import draw_seal
from tablerec.synth.lines.typefaces import Split


@pytest.mark.parametrize("split", ["train", "unseen"])
def test_seals_have_ink_of_one_colour_and_text(split: Split) -> None:
    texts = set()
    for seed in range(12):
        seal, text = draw_seal(np.random.default_rng(seed), split, side=120)
        assert seal.shape == (120, 120, 4) and seal.dtype == np.uint8
        assert len(np.unique(seal[..., :3].reshape(-1, 3), axis=0)) == 1
        assert 0.01 < (seal[..., 3] > 60).mean() < 0.75
        assert text.strip() and all(text.split("\n"))
        texts.add(text)
    assert len(texts) > 6


def test_the_same_chance_gives_the_same_seal() -> None:
    first, second = (draw_seal(np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(first[0], second[0]) and first[1] == second[1]
