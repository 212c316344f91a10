"""Sources of lines: recognition lists and labelled tables as users have them, and synthetic lines."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from tablerec.errors import InputError, SettingsError
from tablerec.models.characters import CHARACTERS
from tablerec.training.readers.lists import read_lists
from tablerec.training.readers.sources import load_lines, new_characters
from tests.helpers.training import DIGITS, draw_digits, write_line


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    for number in range(6):
        write_line(tmp_path / f"train/{number}.png", str(number))
    (tmp_path / "rec_gt_train.txt").write_text(
        "\n".join(f"train/{number}.png\t{number}" for number in range(4)) + "\r\n", encoding="utf-8"
    )
    (tmp_path / "rec_gt_val.txt").write_text('["train/4.png", "train/5.png"]\tＡ  ﬁ', encoding="utf-8")
    return tmp_path


def test_a_function() -> None:
    assert load_lines(DIGITS, CHARACTERS)(3).text == draw_digits(3).text


def test_lists_of_a_folder(lists: Path) -> None:
    source = load_lines(f"lines:{lists}", CHARACTERS)
    texts = [source(index).text for index in range(18)]
    for start in range(0, 18, 6):  # all are seen before one is seen again
        assert sorted(texts[start : start + 6]) == ["0", "1", "2", "3", "A fi", "A fi"]
    assert len({tuple(texts[start : start + 6]) for start in range(0, 18, 6)}) > 1
    assert source(0).image.dtype == np.uint8 and source(0).image[0, 0].tolist() == [0, 0, 200]


def test_one_list_and_a_split(lists: Path) -> None:
    assert load_lines(f"lines:{lists}#val", CHARACTERS)(0).text == "A fi"
    one = load_lines(f"lines:{lists / 'rec_gt_train.txt'}", CHARACTERS)
    assert {one(index).text for index in range(4)} == {"0", "1", "2", "3"}


def test_shares(lists: Path) -> None:
    source = load_lines(f"lines:{lists}#val*3, {DIGITS}*1", CHARACTERS)
    share = np.mean([source(index).text == "A fi" for index in range(200)])
    assert 0.65 < share < 0.85


def test_text_from_right_to_left_is_written_as_it_is_seen(lists: Path) -> None:
    (lists / "rec_gt_train.txt").write_text("train/0.png\tמחיר (12) ק\n", encoding="utf-8")
    assert load_lines(f"lines:{lists}#train", CHARACTERS)(0).text == "ק (12) ריחמ"


HOSTILE = {
    "no text": "train/0.png\n",
    "an empty text": "train/0.png\t  \n",
    "a picture that is not there": "train/9.png\t1\n",
    "a way out": "../../etc/passwd\t1\n",
    "an absolute path": "/etc/passwd\t1\n",
    "a zero": "a\0b.png\t1\n",
    "a list of no names": "[1, 2]\t1\n",
    "a deep list": "[" * 5000 + "\t1\n",
    "a folder": "train\t1\n",
    "another script": "train/0.png\tราคา\n",
    "signs that are none": "train/0.png\t\x00\x07\n",
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_hostile_lists_are_named(lists: Path, line: str) -> None:
    (lists / "rec_gt_train.txt").write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match="no lines to train on"):
        load_lines(f"lines:{lists}#train", CHARACTERS)
    (lists / "rec_gt_train.txt").write_text(line + "train/1.png\t1\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="skipped"):
        assert load_lines(f"lines:{lists}#train", CHARACTERS)(0).text == "1"


def test_files_that_are_no_lists(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "missing", tmp_path, tmp_path / "a.txt"):
        with pytest.raises(InputError):
            load_lines(f"lines:{path}", CHARACTERS)


def test_a_picture_that_is_none_is_named(lists: Path) -> None:
    (lists / "train/0.png").write_bytes(b"no picture")
    source = load_lines(f"lines:{lists}#train", CHARACTERS)
    with pytest.raises(InputError, match=r"rec_gt_train\.txt, line 1"):
        [source(index) for index in range(4)]


def test_unknown_characters_are_counted_and_named(lists: Path) -> None:
    (lists / "rec_gt_train.txt").write_text("train/0.png\tราคา\ntrain/1.png\t1\ntrain/2.png\tรา\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="does not read: ร า"):
        load_lines(f"lines:{lists}#train", CHARACTERS)
    found = new_characters([f"lines:{lists}#train*2, synth:lines", DIGITS], CHARACTERS)
    assert set(found) == set("ราค") and len(found) == 3 and found[-1] == "ค"


def test_cells_of_labelled_tables(tmp_path: Path) -> None:
    import cv2

    image = np.full((120, 240, 3), 255, np.uint8)
    for x in (5, 120, 235):
        cv2.line(image, (x, 5), (x, 115), (0, 0, 0), 2)
    for y in (5, 45, 115):
        cv2.line(image, (5, y), (235, y), (0, 0, 0), 2)
    cv2.putText(image, "12", (20, 35), cv2.FONT_HERSHEY_SIMPLEX, 0.8, (0, 0, 0), 2)
    for y in (70, 105):
        cv2.putText(image, "34", (20, y), cv2.FONT_HERSHEY_SIMPLEX, 0.8, (0, 0, 0), 2)
    cv2.imwrite(str(tmp_path / "a.png"), image)
    boxes = [
        ([5, 5, 120, 45], "12"),
        ([120, 5, 235, 45], ""),
        ([5, 45, 120, 115], "3434"),
        ([120, 45, 235, 115], "5\n6"),
    ]
    cells = [{"bbox": box, "text": text} for box, text in boxes]
    (tmp_path / "a.json").write_text(json.dumps({"image": "a.png", "cells": cells, "meta": {"bbox_kind": "cell"}}))
    source = load_lines(f"crops:{tmp_path}", CHARACTERS)
    lines = [source(index) for index in range(12)]
    assert {line.text for line in lines} == {"12"}  # one is empty, one of two lines, one said to be
    assert len({line.image.shape for line in lines}) > 3
    for line in lines:
        height, width = line.image.shape[:2]
        assert 16 < height < 34 and 28 < width < 56
        assert (line.image.reshape(-1, 3) > 200).mean() > 0.3
    assert (source(2).image == lines[2].image).all()


def test_labels_without_texts(tmp_path: Path) -> None:
    write_line(tmp_path / "a.png")
    cells = [{"bbox": [1, 1, 20, 20]}]
    (tmp_path / "a.json").write_text(json.dumps({"image": "a.png", "cells": cells}))
    with pytest.raises(InputError, match="no lines to train on"):
        load_lines(f"crops:{tmp_path}", CHARACTERS)


@pytest.mark.parametrize("text", ["synth:mixed", "synth:lines@x", "synth:lines/nothing", "nowhere:f", "lines"])
def test_sources_that_are_none(text: str) -> None:
    with pytest.raises((SettingsError, InputError)):
        load_lines(text, CHARACTERS)


def test_synthetic_lines_are_drawn_again_the_same() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a font is missing
        source, other = load_lines("synth:lines/number", CHARACTERS), load_lines("synth:lines/number@7", CHARACTERS)
        assert (source(5).image == source(5).image).all() and source(5).text == source(5).text
        assert [source(k).text for k in range(4)] != [other(k).text for k in range(4)]


def test_problems_have_a_place(lists: Path) -> None:
    (lists / "rec_gt_train.txt").write_text("\nnothing\n", encoding="utf-8")
    [problem] = read_lists(lists / "rec_gt_train.txt")
    assert "line 2" in str(problem)
