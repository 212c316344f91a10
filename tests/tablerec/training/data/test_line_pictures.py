"""Pictures with lines of text, real and drawn, on their way to the training."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from tablerec.errors import InputError
from tablerec.training.data.line_pictures import LineFolder, blank
from tablerec.training.data.samples import Canvas, _turn, place_pictures
from tablerec.training.data.sources import load_source

LINE = [[10, 20], [60, 20], [60, 32], [10, 32]]


def write(folder: Path, **label: object) -> None:
    page = np.full((80, 120, 3), 230, np.uint8)
    page[22:30, 12:58] = 20
    page[50:60, 70:100] = 20
    Image.fromarray(page).save(folder / "a.png")
    (folder / "a.json").write_text(json.dumps({"image": "a.png", **label}))


def test_no_labels(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no labels of lines"):
        LineFolder(tmp_path)
    write(tmp_path, cells=[])
    with pytest.raises(InputError, match="holds no labels of lines"):
        load_source(f"lines:{tmp_path}")


@pytest.mark.parametrize("lines", [[[1, 2, 3]], "text", [[[0, 0], [1, 0], [1, 1], ["a", 1]]], [[[0, 0]] * 3], None])
def test_a_broken_label_is_named(lines: object, tmp_path: Path) -> None:
    write(tmp_path, lines=lines)
    with pytest.raises(InputError, match=r"a\.json"):
        LineFolder(tmp_path)


def test_lines_stay_on_their_ink_and_what_is_doubtful_goes(tmp_path: Path) -> None:
    write(tmp_path, lines=[LINE], ignore=[[[66, 46], [104, 46], [104, 64], [66, 64]]])
    folder = LineFolder(tmp_path)
    for index in range(6):
        picture = folder(index)
        (x0, y0), (x1, y1) = picture.lines[0][0], picture.lines[0][2]
        dark = picture.image.mean(axis=2) < 120
        rows, columns = np.nonzero(dark)
        assert len(rows) and columns.min() > x0 - 1 and columns.max() < x1 + 1
        assert rows.min() > y0 - 1 and rows.max() < y1 + 1
    assert np.array_equal(folder(3).image, folder(3).image)


def test_a_picture_without_lines(tmp_path: Path) -> None:
    write(tmp_path, lines=[])
    sample = place_pictures([LineFolder(tmp_path)(0)], 0, Canvas(128, 4, with_owners=True, of_lines=True))
    assert sample.n_cells == 0 and sample.owners is not None and not sample.owners.any()


def test_blank_leaves_the_rest() -> None:
    page = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    assert np.array_equal(blank(page, np.zeros((0, 4, 2))), page)
    assert np.array_equal(blank(page, np.full((1, 4, 2), 100.0)), page)


@pytest.mark.parametrize("turns", range(4))
def test_quads_turn_with_the_picture(turns: int) -> None:
    page = np.zeros((40, 90, 3), np.uint8)
    page[10:20, 30:70] = 255
    quads = np.array([[[30, 10], [70, 10], [70, 20], [30, 20]]], np.float32)
    image, turned = _turn(page, quads, turns)
    rows, columns = np.nonzero(image[..., 0])
    (x0, y0), (x1, y1) = turned[0, 0], turned[0, 2]
    assert (x0, y0, x1, y1) == (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)


def test_some_pictures_are_turned() -> None:
    line = np.array([[[5, 5], [50, 5], [50, 15], [5, 15]]])
    wide = SimpleNamespace(image=np.zeros((20, 60, 3), np.uint8), lines=line)
    canvas = Canvas(64, 4, with_owners=True, of_lines=True)
    sides = [np.ptp(place_pictures([wide], index, canvas).quads[0], axis=0) for index in range(60)]
    assert 1 <= sum(height > width for width, height in sides) <= 15
