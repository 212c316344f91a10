from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tablerec.errors import SettingsError
from tablerec.models.characters import TURNED, unknown_characters
from tablerec.synth.drawing.fonts import find_families
from tablerec.synth.lines import KINDS, Settings, draw_line, engine, load_line_source
from tablerec.synth.lines.typefaces import is_unseen, typefaces

UPRIGHT = Settings(upside_down=0, on_side=0)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_picture_and_a_label_of_known_characters(kind: str) -> None:
    for index in range(12):
        sample = draw_line(7, index, UPRIGHT, kind)
        height, width, channels = sample.image.shape
        assert sample.image.dtype == np.uint8 and channels == 3
        assert 5 <= height <= 200 and width >= 4
        assert sample.text and sample.text == sample.text.strip()
        assert unknown_characters(sample.text) == "" and TURNED not in sample.text
        assert sample.kind == kind
        assert np.ptp(sample.image) > 20, "the print can be seen"


def test_the_same_index_gives_the_same_line_whatever_was_drawn_before() -> None:
    first = [draw_line(1, index) for index in range(6)]
    again = [draw_line(1, index) for index in reversed(range(6))][::-1]
    for one, other in zip(first, again, strict=True):
        assert one.text == other.text and np.array_equal(one.image, other.image)
    assert [sample.text for sample in first] != [draw_line(2, index).text for index in range(6)]


def test_turned_lines_say_so_and_nothing_else() -> None:
    for settings in (Settings(upside_down=1, on_side=0), Settings(upside_down=0, on_side=1)):
        texts = [draw_line(3, index, settings, "latin").text for index in range(30)]
        turned = [text for text in texts if TURNED in text]
        assert len(turned) > 12
        assert set(turned) == {TURNED}


@pytest.mark.parametrize("text", ["", "12", "1608", "0.80", "oxo", "NON", "–––", "69-96"])
def test_what_looks_alike_turned_is_never_called_turned(text: str) -> None:
    assert not engine._shows_turn(text)


def test_unseen_fonts_are_not_in_training() -> None:
    for script in ("latin", "cyrillic", "greek"):
        families = [family.name for family in find_families() if script in family.scripts]
        if len({is_unseen(name) for name in families}) < 2:
            continue
        train = {face.family for face in typefaces(script, "train")}
        unseen = {face.family for face in typefaces(script, "unseen")}
        assert not train & unseen
        assert all(map(is_unseen, unseen)) and not any(map(is_unseen, train))


def test_many_lines_of_training_are_as_small_as_on_a_page_that_was_rendered_small() -> None:
    small = [image for index in range(150) if len(image := draw_line(5, index, UPRIGHT, "number").image) < 12]
    assert 15 < len(small) < 90
    plain = [image for image in small if np.ptp(image, axis=2).max() < 12 and np.median(image) > 240]
    assert len(plain) > 0.4 * len(small), "dark on white"


def test_a_dash_before_a_number_is_never_one_that_stands_between_numbers() -> None:
    from tablerec.synth.lines.numbers import signed
    from tablerec.synth.lines.signs import dash_text

    texts = [write(Random(seed)) for write in (signed, dash_text) for seed in range(500)]
    assert not [text for text in texts if text[:1] in "–—" and text[1:2].isdigit()]


def test_sources_by_name() -> None:
    assert load_line_source("greek")(4).kind == "greek"
    assert load_line_source("unseen/dash")(0).kind == "dash"
    assert load_line_source("unseen")(0).kind in KINDS
    seen = {load_line_source(seed=5)(index).kind for index in range(40)}
    assert len(seen) > 3
    for name in ("", "klingon", "unseen/klingon"):
        with pytest.raises(SettingsError, match="number, latin"):
            load_line_source(name)
    with pytest.raises(SettingsError, match="klingon"):
        draw_line(0, 0, kind="klingon")


def test_lines_without_dictionaries_fonts_or_shaping(monkeypatch: pytest.MonkeyPatch) -> None:
    from tablerec.synth.lines import signs, wording

    for module in (wording, signs):
        monkeypatch.setattr(module, "words", lambda language: ("表格",) if language == "chinese" else ())
    monkeypatch.setattr(engine, "can_shape", lambda: False)
    for kind in KINDS:
        for index in range(4):
            assert draw_line(11, index, UPRIGHT, kind).text


def test_a_line_is_never_longer_than_a_reader_takes() -> None:
    for kind in KINDS.values():
        for seed in range(60):
            assert len(engine._compose(kind, Random(seed))[1]) <= 61
