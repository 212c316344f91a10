"""LineNet as an OCR engine, with a network in its place that reads grey columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.arrays import Image
from tablerec.errors import ModelNotFoundError
from tablerec.models.characters import CHARACTERS
from tablerec.ocr import linenet
from tablerec.ocr.linenet import (
    BATCH_PIXELS,
    HEIGHT,
    STRIDE,
    WIDTHS,
    LineNetEngine,
    fill_batch,
    has_linenet,
    plan_batches,
    read_characters,
    scale_crop,
)

LETTERS = "abcdefghij"


class Columns:
    """A network: a column of 4 pixels as bright as ten times a number is that character; paper and white are none."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def __call__(self, images: np.ndarray) -> list[np.ndarray]:
        self.shapes.append(images.shape)
        assert images.dtype == np.uint8
        count, _, height, width = images.shape
        bright = images.reshape(count, 3, height, width // STRIDE, STRIDE).mean(axis=(1, 2, 4))
        numbers = np.rint(bright / 10).astype(np.int64)
        return [np.where(numbers <= len(LETTERS), numbers, 0), np.full(numbers.shape, 0.99, np.float32)]


def crop_of(text: str, scale: int = 1) -> Image:
    """A crop that ``Columns`` reads: a letter, then ground."""
    row = [value for char in text for value in (10 * (LETTERS.index(char) + 1), 255)]
    line = np.repeat(np.array([row], np.uint8), STRIDE, axis=1)
    return np.ascontiguousarray(np.repeat(np.repeat(line, HEIGHT * scale, 0), scale, 1)[:, :, None].repeat(3, 2))


@pytest.fixture
def network() -> Columns:
    return Columns()


@pytest.fixture
def engine(network: Columns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LineNetEngine:
    write_description(tmp_path, LETTERS)
    monkeypatch.setattr(linenet, "choose_network", lambda *_: lambda: network)
    return LineNetEngine(lambda image: np.zeros((0, 4, 2), np.float32), tmp_path)


def write_description(folder: Path, characters: Sequence[str]) -> None:
    import yaml

    description = {
        "Global": {"model_name": "LineNet"},
        "PostProcess": {"name": "CTCLabelDecode", "character_dict": list(characters)},
        "sha256": {},
    }
    text = yaml.safe_dump(description, allow_unicode=True, sort_keys=False)
    (folder / "inference.yml").write_text(text, encoding="utf-8")


def test_nothing_to_read(engine: LineNetEngine, network: Columns) -> None:
    assert engine.recognize([]) == []
    assert engine.read(np.zeros((0, 0, 3), np.uint8)) == []
    assert network.shapes == []


def test_order_is_kept_whatever_the_widths(engine: LineNetEngine) -> None:
    texts = ["abc", "a", "abcdefghij" * 6, "ab", "abcdefghij", "j" * 3 + "a", "b"]
    assert [line.text for line in engine.recognize([crop_of(text) for text in texts])] == texts


@given(st.lists(st.text(LETTERS, min_size=1, max_size=30), max_size=12))
def test_a_line_reads_the_same_alone_and_among_others(texts: list[str]) -> None:
    engine = LineNetEngine.__new__(LineNetEngine)
    engine.__dict__.update(_network=Columns(), _fills_batches=True, _lock=linenet.threading.Lock(), characters=LETTERS)
    assert [reading.text for reading in engine.read_lines([crop_of(text) for text in texts])] == texts


def test_equal_crops_are_read_once(engine: LineNetEngine, network: Columns) -> None:
    lines = engine.recognize([crop_of("ab"), crop_of("ab", 2), crop_of("ba"), crop_of("ab")])
    assert [line.text for line in lines] == ["ab", "ab", "ba", "ab"]
    assert sum(shape[0] for shape in network.shapes) == 2


def test_characters_stand_where_they_are(engine: LineNetEngine) -> None:
    [line] = engine.recognize([crop_of("abc", 3)])
    assert line.char_spans is not None
    middles = [(start + end) / 2 for start, end in line.char_spans]
    assert middles == pytest.approx([0.5 / 6, 2.5 / 6, 4.5 / 6], abs=0.05)


def test_shapes_come_from_few_buckets(engine: LineNetEngine, network: Columns) -> None:
    engine.recognize([crop_of(LETTERS[: 1 + number % 10] * (1 + number // 10)) for number in range(90)])
    assert {width for _, _, _, width in network.shapes} <= set(WIDTHS)
    assert all(count * height * width <= BATCH_PIXELS for count, _, height, width in network.shapes)


@given(st.lists(st.integers(1, WIDTHS[-1]), max_size=200))
def test_batches_hold_each_line_once(widths: list[int]) -> None:
    plans = list(plan_batches(widths))
    assert sorted(index for indices, _ in plans for index in indices) == list(range(len(widths)))
    assert all(widths[index] <= width for indices, width in plans for index in indices)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9000), (9000, 1), (32, 4), (500, 30_000)])
def test_crops_of_any_shape_are_scaled(shape: tuple[int, int]) -> None:
    height, width, _ = scale_crop(np.zeros((*shape, 3), np.uint8)).shape
    assert height == HEIGHT and 1 <= width <= WIDTHS[-1]


def test_colours_are_rgb_and_the_rest_is_grey() -> None:
    blue = np.zeros((HEIGHT, 8, 3), np.uint8)
    blue[..., 0] = 200
    filled = fill_batch([scale_crop(blue)], 64)
    assert filled[0, :, 0, 0].tolist() == [0, 0, 200]
    assert (filled[..., 8:] == linenet.PAPER).all()


@pytest.mark.parametrize("characters", [LETTERS, "'\"-#: ~0123456789%@&*!|>{}[],?`\\", "\u3000\u00a0ｙnÿ\x7f⟲一"])
def test_characters_are_those_that_were_written(tmp_path: Path, characters: str) -> None:
    write_description(tmp_path, characters)
    assert "".join(read_characters(tmp_path / "inference.yml")) == characters


def test_the_whole_list_of_characters(tmp_path: Path) -> None:
    write_description(tmp_path, CHARACTERS)
    assert "".join(read_characters(tmp_path / "inference.yml")) == CHARACTERS


def test_files_that_are_missing_or_no_linenet_say_so(tmp_path: Path) -> None:
    assert not has_linenet(tmp_path)
    with pytest.raises(ModelNotFoundError, match=r"inference\.onnx: name the folder of an exported LineNet"):
        LineNetEngine(lambda image: np.zeros((0, 4, 2), np.float32), tmp_path)
    (tmp_path / "inference.yml").write_text("Global: {model_name: LineNet}\n", encoding="utf-8")
    with pytest.raises(ModelNotFoundError, match="character_dict"):
        read_characters(tmp_path / "inference.yml")
    with pytest.raises(ModelNotFoundError, match="cannot be read"):
        read_characters(tmp_path / "no_such.yml")
