from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tablerec.synth.lines import wording
from tablerec.synth.lines.layout import BOXES, Ink, Setting, lay_out, reshape
from tablerec.synth.lines.typefaces import typefaces
from tablerec.synth.lines.wording import arabic_words, hebrew_words, to_words


def setting(**changes: object) -> Setting:
    return Setting(typefaces("latin")[0], (), 32, **changes)  # type: ignore[arg-type]


def test_nothing_to_draw_is_an_empty_picture() -> None:
    ink = lay_out([], setting(), Random(0))
    assert ink.mask.shape == (32, 32) and not ink.mask.any()


def test_words_stand_side_by_side() -> None:
    one, two = (lay_out(to_words(text), setting(), Random(0)) for text in ("In", "In In"))
    assert two.mask.shape[1] > 2 * one.mask.shape[1]
    assert abs(two.baseline - one.baseline) <= 1
    spaced = lay_out(to_words("In"), setting(tracking=0.5), Random(0))
    assert spaced.mask.shape[1] > one.mask.shape[1] + 10


def test_raised_signs_are_small_and_high_and_lowered_ones_low() -> None:
    plain = lay_out(to_words("x"), setting(), Random(0))
    raised = lay_out(to_words("x²"), setting(raises=True), Random(0))
    lowered = lay_out(to_words("x₂"), setting(raises=True), Random(0))
    assert raised.baseline > plain.baseline + 4, "it reaches higher above the baseline"
    below = lowered.mask.shape[0] - lowered.baseline
    assert below > plain.mask.shape[0] - plain.baseline + 2


@pytest.mark.parametrize("sign", BOXES)
def test_boxes_are_shapes_where_wanted_or_where_no_font_has_them(sign: str) -> None:
    for seed in range(5):
        mask = lay_out(to_words(sign), setting(shapes=True), Random(seed)).mask
        assert mask.max() > 100 and 8 < max(mask.shape) < 60
    inner = lay_out(to_words("☐"), setting(shapes=True), Random(1)).mask
    height, width = inner.shape
    assert not inner[height // 2 - 2 : height // 2 + 2, width // 2 - 2 : width // 2 + 2].any()


def test_stacked_characters_stand_below_one_another() -> None:
    mask = lay_out(to_words("ABC"), setting(stacked=True), Random(0)).mask
    assert mask.shape[0] > 2 * mask.shape[1]


def test_words_from_right_to_left_are_labelled_as_they_are_seen() -> None:
    for write in (hebrew_words, arabic_words):
        for seed in range(40):
            for word in write(Random(seed)):
                assert sorted(word.text) != [] and len(word.text) == len(word.drawn)
                if word.leftward and word.drawn.isalpha():
                    assert word.text == word.drawn[::-1]
                if not word.leftward:
                    assert word.text == word.drawn
    assert wording._mirrored("(אב)") == "(בא)"


def test_arabic_words_that_only_their_language_tells_apart_hold_a_letter_of_it() -> None:
    found = 0
    for seed in range(400):
        drawn = [word.drawn for word in arabic_words(Random(seed)) if word.leftward]
        if any(set("یکہھے") & set(word) for word in drawn):
            found += 1
            assert all(set("پچژگٹڈڑ") & set(word) for word in drawn), drawn
    assert found > 10


def test_a_note_is_raised_where_raised_signs_are_small() -> None:
    low, high = (lay_out(to_words("x†"), setting(raises=raises), Random(0)) for raises in (False, True))
    assert high.mask.shape[1] < low.mask.shape[1], "it is smaller"
    assert high.mask.shape[0] - high.baseline <= low.mask.shape[0] - low.baseline, "and hangs no lower"
    alone = (lay_out(to_words("†"), setting(raises=raises), Random(0)).mask.shape for raises in (False, True))
    assert len(set(alone)) == 1


def test_what_follows_a_box_without_a_blank_is_nearer_than_with_one() -> None:
    for seed in range(10):
        joined, apart = (lay_out(to_words(text), setting(shapes=True), Random(seed)).mask for text in ("☐No", "☐ No"))
        assert apart.shape[1] >= joined.shape[1] + 6
        gap = np.diff(np.flatnonzero(joined.any(axis=0))).max()
        assert gap < 0.3 * 32


def test_ink_is_cut_to_its_box() -> None:
    mask = lay_out(to_words("H"), setting(), Random(0)).mask
    assert np.all(mask[[0, -1]].any(axis=1)) and np.all(mask[:, [0, -1]].any(axis=0))


def test_other_proportions_keep_the_line_and_its_baseline_in_it() -> None:
    ink = lay_out(to_words("Typography"), setting(), Random(0))
    for seed in range(30):
        changed = reshape(ink, Random(seed))
        assert changed.mask.dtype == np.uint8 and changed.em == ink.em
        assert 0.7 < changed.mask.shape[0] / ink.mask.shape[0] < 1.35
        assert 0.7 < changed.mask.shape[1] / ink.mask.shape[1] < 1.4
        assert 0 < changed.baseline < changed.mask.shape[0]


def test_ink_above_or_below_its_baseline_is_reshaped_too() -> None:
    for baseline in (-20, 0, 4, 30):
        changed = reshape(Ink(np.full((4, 9), 255, np.uint8), baseline, 20.0), Random(1))
        assert changed.mask.all() and changed.mask.size
