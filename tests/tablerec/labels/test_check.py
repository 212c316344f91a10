"""The checker names each fault."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from postprocess.geometry.boxes import boxes_to_quads
from tablerec.cli import command
from tablerec.labels import check_labels, find_unusable, read_labels
from tablerec.labels.check import Summary, outlines_texts, overlap_faults, shape_faults
from tablerec.labels.label import Label
from tests.helpers.labels import SQUARE, coco, write_bench, write_json, write_picture

NAN = float("nan")


def errors_of(folder: Path) -> list[str]:
    return [str(problem) for problem in check_labels(read_labels(folder), Summary()) if problem.is_error]


def test_nothing_is_wrong_with_good_labels(samples: Path) -> None:
    assert errors_of(samples) == []


def test_no_cells_is_no_error(tmp_path: Path) -> None:
    write_bench(tmp_path, "a", [])
    assert errors_of(tmp_path) == []
    empty = np.zeros((0, 4, 2))
    assert shape_faults(empty) == overlap_faults(empty) == []
    assert not outlines_texts(empty)


@pytest.mark.parametrize(
    ("quad", "what"),
    [
        ([[NAN, 2], [11, 2], [11, 8], [1, 8]], "is no number"),
        ([[1, 2], [11, 2], [11, 2], [1, 2]], "has no area (10 x 0 px)"),
        (SQUARE[::-1], "run backwards"),
        ([SQUARE[0], SQUARE[2], SQUARE[1], SQUARE[3]], "cross or bend inwards"),
        ([[1, 2], [11, 2], [3, 4], [1, 8]], "cross or bend inwards"),
        ([[1, 10], [41, 10], [41, 16], [1, 16]], "reaches 11 px outside the picture (30 x 20 px)"),
        ([[-9, 10], [11, 10], [11, 16], [-9, 16]], "reaches 9 px outside"),
        (SQUARE, "is there twice"),
        ([[4, 2], [14, 2], [14, 8], [4, 8]], "lies over cell number 1 of the picture by 70%"),
        ([[1, 10], [11, "10"], [11, 16], [1, 16]], "which is no list of numbers"),
        ([1, 10, 11], "which is 3 numbers"),
        ([[1, 2], [11, 2], [11, 1e12], [1, 8]], "beyond any picture"),
    ],
)
def test_a_bad_cell_is_named(tmp_path: Path, quad: Any, what: str) -> None:
    write_bench(tmp_path, "a", [SQUARE, quad])
    found = errors_of(tmp_path)
    assert len(found) == 1 and f"{tmp_path / 'a.json'}: cells[1]: " in found[0] and what in found[0]


def test_a_cell_that_begins_at_another_corner(tmp_path: Path) -> None:
    rows = [[[x + shift, y] for x, y in SQUARE] for shift in (0, 10)]
    write_bench(tmp_path, "a", [*rows, [[x, y + 6] for x, y in SQUARE[1:] + SQUARE[:1]]])
    assert "begins at another corner" in errors_of(tmp_path)[0]
    turned = [row[1:] + row[:1] for row in rows]
    write_bench(tmp_path, "a", turned)  # all of them do: a picture on its side
    assert errors_of(tmp_path) == []


def test_too_many_cells() -> None:
    quads = np.repeat(np.array([SQUARE]), 32_768, axis=0)
    label = Label(Path("a.png"), "a.json", quads, ("x",) * len(quads), (None,) * len(quads))
    assert [str(problem) for problem in find_unusable(label)] == [
        "a.json: has 32,768 cells, more than 32,767: cut the picture"
    ]


def test_pictures_that_are_missing_broken_or_of_another_size(tmp_path: Path) -> None:
    write_bench(tmp_path, "broken", [SQUARE])
    (tmp_path / "broken.png").write_bytes(b"no picture")
    write_bench(tmp_path, "missing", [SQUARE])
    (tmp_path / "missing.png").unlink()
    write_bench(tmp_path, "other", [SQUARE], width=20, height=30)
    broken, missing, other = errors_of(tmp_path)
    assert "broken.json" in broken and "broken.png" in broken
    assert "missing.json: its picture missing.png is not there" in missing
    assert "says 20 x 30 px, but other.png has 30 x 20" in other


def test_boxes_around_texts_are_told_from_cells() -> None:
    edges = np.arange(6) * 20.0
    cells = np.array([[x, y, x + 20, y + 20] for y in edges for x in edges * 3])
    cells[:, 2] = cells[:, 0] + 60
    assert not outlines_texts(boxes_to_quads(cells))
    texts = cells + np.array([8, 5, -12, -5])
    assert outlines_texts(boxes_to_quads(texts))
    dense = cells + np.array([8, 0.5, -12, -0.5])  # lines of text nearly touch above and below
    assert outlines_texts(boxes_to_quads(dense))


def test_the_command(tmp_path: Path) -> None:
    write_picture(tmp_path / "images" / "a.png")
    write_json(tmp_path / "annotations" / "instance_train.json", coco())
    done = CliRunner().invoke(command, ["labels", "check", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "1 pictures, 2 cells, 0 errors, 1 notes" in done.output and "all are for training" in done.output
    content = coco()
    content["annotations"] *= 2
    write_json(tmp_path / "annotations" / "instance_train.json", content)
    done = CliRunner().invoke(command, ["labels", "check", str(tmp_path), "--most", "1"])
    assert done.exit_code == 1 and "instance_train.json, image 7: annotation 1: is there twice" in done.output
    assert "... and 2 more" in done.output
    done = CliRunner().invoke(command, ["labels", "check", str(tmp_path / "none")])
    assert done.exit_code == 1 and "is not there" in done.output and "Traceback" not in done.output


def test_the_command_says_that_boxes_outline_texts(tmp_path: Path) -> None:
    boxes = [[x, y, x + 6, y + 3] for y in range(1, 18, 6) for x in range(1, 28, 10)]
    write_bench(tmp_path, "a", boxes_to_quads(boxes).tolist())
    done = CliRunner().invoke(command, ["labels", "check", str(tmp_path)])
    assert done.exit_code == 0 and "in 1 of 1 the boxes lie apart" in done.output


def test_a_thousand_equal_cells_are_said_at_once() -> None:
    """Each pair of them was named: half a million lines."""
    faults = overlap_faults(np.repeat([SQUARE], 5000, axis=0).astype(float))
    assert faults[0].cell == -1 and "not all were compared" in faults[0].what
    assert faults[1:] == [(cell, "is there twice: delete one") for cell in range(1, len(faults))]
    assert 50 < len(faults) < 200


def test_cells_that_cross_all_others_are_said_at_once() -> None:
    at = np.arange(2000.0)[:, None]
    rows = np.hstack([np.zeros_like(at), at, np.full_like(at, 2000), at + 1])
    quads = boxes_to_quads(np.vstack([rows, rows[:, [1, 0, 3, 2]]]))
    assert [fault.cell for fault in overlap_faults(quads)] == [-1]
    assert not outlines_texts(quads)


@given(st.lists(st.tuples(*[st.integers(0, 20)] * 2, *[st.integers(2, 9)] * 2), max_size=12))
def test_each_cell_over_an_earlier_one_is_named_once(places: list[tuple[int, int, int, int]]) -> None:
    boxes = np.array([[x, y, x + width, y + height] for x, y, width, height in places], float).reshape(-1, 4)
    low, high = np.maximum(boxes[:, None, :2], boxes[:, :2]), np.minimum(boxes[:, None, 2:], boxes[:, 2:])
    shared = np.maximum(high - low, 0).prod(axis=2)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    over = np.triu(shared > 0.2 * np.minimum(areas[:, None], areas), 1).any(axis=0)
    assert [fault.cell for fault in overlap_faults(boxes_to_quads(boxes))] == np.flatnonzero(over).tolist()


@pytest.mark.skipif(os.name == "nt", reason="needs links")
def test_a_picture_that_is_a_link_to_itself_is_not_there(tmp_path: Path) -> None:
    write_bench(tmp_path, "a", [SQUARE])
    (tmp_path / "a.png").unlink()
    (tmp_path / "a.png").symlink_to("a.png")
    (error,) = errors_of(tmp_path)
    assert "its picture a.png" in error


def test_a_name_with_half_of_a_surrogate_pair_names_no_picture(tmp_path: Path) -> None:
    """It was a traceback: no file can be called so."""
    write_json(tmp_path / "a.json", coco(images=[{"id": 7, "file_name": "\ud800.png"}], annotations=[]))
    done = CliRunner().invoke(command, ["labels", "check", str(tmp_path / "a.json")])
    assert done.exit_code == 1 and "names no picture" in done.output and "fault" not in done.output


def test_a_folder_without_labels_is_an_error(tmp_path: Path) -> None:
    """It ended with 0, as if all were right."""
    done = CliRunner().invoke(command, ["labels", "check", str(tmp_path)])
    assert done.exit_code == 1
    assert (
        "all pictures: there are none: name a folder with labels" in done.output
        and "note" not in done.output.splitlines()[0]
    )
