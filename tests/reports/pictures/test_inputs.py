"""Unusual input is read, or refused with our error; nothing else crashes."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import PIL.Image
import PIL.ImageCms
import pytest

from postprocess.cell import Cell
from postprocess.geometry.boxes import boxes_to_quads
from postprocess.grid.build import quads_to_grid
from postprocess.grid.layout import grid_to_layout
from postprocess.meaning.headers import mark_headers
from postprocess.table import Table
from postprocess.text.assignment import words_to_tables
from postprocess.word import Word
from tablerec import Recognizer, Settings
from tablerec.errors import InputError
from tablerec.ocr import NoOcr
from tests.helpers.drawing import Look, Read, draw_table, table_to_spans
from tests.helpers.layouts import box_quad, make_word

ROWS = [["a", "b", "<"], ["c", "d", "e"], ["f", "g", "h"]]
DRAWING = draw_table(ROWS, Look(gap=15))
READER = Recognizer(Settings(ocr="none", layout="table"))


# PaddleX#4326, PaddleX#2151
@pytest.mark.parametrize("layout", ["page", "table"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (500, 1), (2, 3), (200, 200)])
@pytest.mark.parametrize("value", [0, 255])
def test_blank_pictures(read: Read, shape: tuple[int, int], value: int, layout: str) -> None:
    assert read(np.full((*shape, 3), value, np.uint8), [], layout).tables == ()


# PaddleOCR#17446
@pytest.mark.parametrize("layout", ["page", "table"])
def test_noise(read: Read, layout: str) -> None:
    image = np.random.default_rng(0).integers(0, 256, (200, 300, 3), np.uint8)
    page = read(image, [], layout)
    assert all(table.shape > (0, 0) for table in page.tables)


@pytest.mark.parametrize("layout", ["page", "table"])
def test_one_word(read: Read, layout: str) -> None:
    page = read(np.full((60, 120, 3), 255, np.uint8), [make_word("word", 20, 20)], layout)
    found = [cell.text for table in page.tables for cell in table.cells if cell.text]
    assert found + [item.word.text for item in page.unplaced] == ["word"]


@pytest.mark.parametrize("layout", ["page", "table"])
def test_one_cell(read: Read, layout: str) -> None:
    drawing = draw_table([["alone"]])
    [table] = read(drawing.image, drawing.words, layout).tables
    assert table_to_spans(table) == drawing.spans


# PaddleX#2151
def test_page_of_prose_has_no_table(read: Read) -> None:
    lines = ["Lorem ipsum dolor sit amet consectetur adipiscing elit sed do", "eiusmod tempor incididunt ut labore et",
             "dolore magna aliqua ut enim ad minim veniam quis nostrud"]  # fmt: skip
    drawing = draw_table([["\n".join(lines * 3)]], Look(rules="none"))
    page = read(drawing.image, drawing.words)
    assert page.tables == ()
    assert [item.word for item in page.unplaced] == drawing.words


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize("bad", [
    [NAN] * 4, [INFINITE] * 4, [0, 0, INFINITE, 10], [5, 5, 5, 5], [9, 9, 3, 3], [-1e300, 0, 1e300, 5],
], ids=str)  # fmt: skip
def test_boxes_that_are_no_boxes_are_dropped_with_a_reason(bad: list[float]) -> None:
    good = [[0, 0, 50, 20], [50, 0, 100, 20], [0, 20, 50, 40], [50, 20, 100, 40]]
    grid = quads_to_grid(boxes_to_quads([*good, bad]))
    assert sorted([*grid.kept.tolist(), *(index for index, _ in grid.dropped)]) == [0, 1, 2, 3, 4]
    assert grid.kept.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("score", [NAN, -1.0, 0.0, 7.0])
def test_scores_that_are_no_scores_lose_no_cell(score: float) -> None:
    boxes = [[0, 0, 50, 20], [50, 0, 100, 20], [0, 20, 50, 40], [50, 20, 100, 40]]
    assert len(quads_to_grid(boxes_to_quads(boxes), [score, 1, 1, 1]).kept) == 4


@pytest.mark.parametrize("quad", [
    box_quad(NAN, NAN, NAN, NAN), box_quad(5, 5, 5, 5), box_quad(-1e9, 0, 1e9, 5), box_quad(30, 8, 10, 2),
    ((0, 0), (INFINITE, 0), (9, 9), (0, 9)),
], ids=str)  # fmt: skip
def test_words_in_impossible_places_are_kept(read: Read, quad: object) -> None:
    odd = Word("odd", quad)
    page = read(DRAWING.image, [*DRAWING.words, odd], "table")
    texts = "".join(cell.text for table in page.tables for cell in table.cells)
    texts += "".join(item.word.text for item in page.unplaced)
    assert sorted(texts.replace(" ", "").replace("\n", "")) == sorted("abcdefghodd")


class OddReader(NoOcr):
    """Returns a word without a place, beside those of the picture."""

    def read(self, image: np.ndarray) -> list[Word]:
        return [*DRAWING.words, Word("odd", box_quad(NAN, 0, NAN, 9))]


def test_reader_that_does_not_know_the_place_of_a_word() -> None:
    [page] = Recognizer(Settings(layout="table"), ocr=OddReader()).recognize(DRAWING.image).pages
    assert [table_to_spans(table) for table in page.tables] == [DRAWING.spans]
    assert [item.word.text for item in page.unplaced] == ["odd"]


@pytest.mark.parametrize(
    "text",
    ["", " ", "\x00", "\ud800", "👩‍👩‍👧", "a" * 5000],
    ids=["empty", "blank", "nul", "surrogate", "family", "long"],
)
def test_any_text(read: Read, text: str) -> None:
    [first, *rest] = DRAWING.words
    page = read(DRAWING.image, [Word(text, first.quad), *rest], "table")
    assert [table.shape for table in page.tables] == [(3, 3)]


# PaddleX#4326, PaddleOCR#18117, PaddleOCR#8205
def test_nothing_at_every_stage() -> None:
    assert grid_to_layout(quads_to_grid([])).outline is None
    assert words_to_tables([], []) == ([], [])
    assert mark_headers(Table([])) == Table([])
    assert words_to_tables([Table([Cell(0, 0)])], [make_word("a", 0, 0)])[1][0].reason


MODES = ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "I", "F", "LAB", "HSV"]


@pytest.mark.parametrize("mode", MODES)
def test_pictures_of_every_mode(mode: str) -> None:
    rgb = PIL.Image.fromarray(DRAWING.image[..., ::-1])
    if mode == "I;16":
        grey = np.asarray(rgb.convert("L"), np.uint16) * 257
        picture = PIL.Image.fromarray(grey)
    elif mode == "LAB":
        profiles = PIL.ImageCms.createProfile("sRGB"), PIL.ImageCms.createProfile("LAB")
        picture = PIL.ImageCms.applyTransform(rgb, PIL.ImageCms.buildTransform(*profiles, "RGB", "LAB"))
    else:
        picture = rgb.convert(mode)
    [table] = READER.recognize(picture, DRAWING.words).tables
    assert table_to_spans(table) == DRAWING.spans


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.uint16, np.float32, np.float64])
def test_arrays_of_every_type(dtype: type) -> None:
    grey = DRAWING.image[..., 0]
    values = {np.bool_: grey > 127, np.uint8: grey, np.uint16: grey.astype(np.uint16) * 257}.get(dtype, grey / 255)
    [table] = READER.recognize(values.astype(dtype), DRAWING.words).tables
    assert table_to_spans(table) == DRAWING.spans


def test_transparent_ground_is_white() -> None:
    ink = 255 - DRAWING.image[..., 0]
    picture = PIL.Image.fromarray(np.dstack([np.zeros_like(DRAWING.image), ink]))
    [table] = READER.recognize(picture, DRAWING.words).tables
    assert table_to_spans(table) == DRAWING.spans


@pytest.mark.parametrize("format", ["PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF"])
def test_files_of_every_format(format: str) -> None:
    buffer = io.BytesIO()
    PIL.Image.fromarray(DRAWING.image[..., ::-1]).save(buffer, format)
    [table] = READER.recognize(buffer.getvalue(), DRAWING.words).tables
    assert table_to_spans(table) == DRAWING.spans


@pytest.mark.parametrize("format", ["GIF", "WEBP", "PNG"])
def test_animation_is_its_first_frame(format: str) -> None:
    first = PIL.Image.fromarray(DRAWING.image[..., ::-1])
    buffer = io.BytesIO()
    first.save(buffer, format, save_all=True, append_images=[PIL.Image.new("RGB", first.size)] * 2)
    result = READER.recognize(buffer.getvalue(), DRAWING.words)
    assert [table_to_spans(table) for table in result.tables] == [DRAWING.spans]


@pytest.mark.parametrize("orientation", [1, 2, 3, 4, 5, 6, 7, 8])
def test_exif_orientation(orientation: int) -> None:
    turns = PIL.Image.Transpose
    # What the camera stored, so that the orientation in the file stands it upright.
    undo = {2: turns.FLIP_LEFT_RIGHT, 3: turns.ROTATE_180, 4: turns.FLIP_TOP_BOTTOM, 5: turns.TRANSPOSE,
            6: turns.ROTATE_90, 7: turns.TRANSVERSE, 8: turns.ROTATE_270}  # fmt: skip
    picture = PIL.Image.fromarray(DRAWING.image[..., ::-1])
    stored = picture.transpose(undo[orientation]) if orientation in undo else picture
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    buffer = io.BytesIO()
    stored.save(buffer, "PNG", exif=exif)
    [table] = READER.recognize(buffer.getvalue(), DRAWING.words).tables
    assert table_to_spans(table) == DRAWING.spans


@pytest.mark.parametrize(
    "content", [b"", b"\x89PNG\r\n\x1a\n", b"not a picture", b"%PDF-1.7", b"\xff\xd8\xff", b"\0" * 99]
)
def test_broken_files_are_our_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.png"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"broken\.png: .+; .+"):
        READER.recognize(path)


def test_half_a_picture_is_our_error() -> None:
    buffer = io.BytesIO()
    PIL.Image.fromarray(DRAWING.image).save(buffer, "PNG")
    with pytest.raises(InputError, match="incomplete"):
        READER.recognize(buffer.getvalue()[: buffer.tell() // 2])


def test_far_too_large_a_picture_is_refused_before_it_is_decoded() -> None:
    buffer = io.BytesIO()
    PIL.Image.new("1", (11_000, 11_000)).save(buffer, "PNG")
    with pytest.raises(InputError, match="megapixel"):
        READER.recognize(buffer.getvalue())


@pytest.mark.parametrize("shape", [(0, 0, 3), (0, 9, 3), (9, 0), (4, 4, 2), (4, 4, 5), (4,), (2, 2, 2, 2)])
def test_arrays_that_are_no_pictures_are_our_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError):
        READER.recognize(np.zeros(shape, np.uint8))


@pytest.mark.parametrize("size", [(3000, 12), (12, 3000)])
def test_long_strips(read: Read, size: tuple[int, int]) -> None:
    image = np.full((*size, 3), 255, np.uint8)
    image[::7] = 0
    page = read(image, [])
    assert page.unplaced == ()
