"""Lines in frames, and their batches."""

from __future__ import annotations

import numpy as np
import pytest

from tablerec.training.readers.frames import PAPER, FramedLine, LineFrame, check_length, encode, frame_line
from tablerec.training.readers.sources import Line
from tests.helpers.training import DIGITS, draw_digits

FRAME = LineFrame(256, "0123456789")


@pytest.mark.parametrize("index", range(8))
def test_a_line_fills_the_height_of_its_frame(index: int) -> None:
    drawn = draw_digits(index)
    framed = frame_line(drawn, FRAME)
    assert framed.image.shape == (32, 256, 3) and framed.image.dtype == np.uint8
    width = int(framed.width)
    assert width == pytest.approx(drawn.image.shape[1] * 32 / drawn.image.shape[0], abs=1)
    assert (framed.image[:, width:] == PAPER).all() and framed.image[:, :width].std() > 20
    assert [int(char) + 1 for char in drawn.text] == framed.label[: int(framed.length)].tolist()
    assert not framed.label[int(framed.length) :].any()


@pytest.mark.parametrize("size", [(1, 1), (3, 900), (400, 3), (32, 256)])
def test_any_size_fits(size: tuple[int, int]) -> None:
    framed = frame_line(Line(np.zeros((*size, 3), np.uint8), "1"), FRAME)
    assert 4 <= int(framed.width) <= 256


@pytest.mark.parametrize(("text", "problem"), [("", "empty"), ("1a", "'a'"), ("1" * 40, "positions")])
def test_labels_that_cannot_be_learned(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        frame_line(Line(np.zeros((32, 128, 3), np.uint8), text), FRAME)


def test_like_characters_need_a_position_between_them() -> None:
    check_length(encode("1234", FRAME.characters), 16)
    with pytest.raises(ValueError, match="positions"):
        check_length(encode("1123", FRAME.characters), 16)


def test_the_layout_is_that_of_a_sample() -> None:
    sample = FRAME.prepare(FRAME.load(DIGITS), 3)
    layout = FRAME.layout()
    assert list(layout) == list(FramedLine._fields)
    for name, (kind, shape) in layout.items():
        assert getattr(sample, name).dtype == kind and getattr(sample, name).shape == shape
    made = FRAME.make(sample._asdict())
    assert isinstance(made, FramedLine)
