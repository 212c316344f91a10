"""Labels of each format, good and hostile."""

from __future__ import annotations

import copy
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablerec.errors import InputError
from tablerec.labels import Summary, check_labels, files, find_unusable, load_image, read_labels
from tablerec.labels.label import order_corners
from tests.helpers.labels import BESIDE, SQUARE, coco, read, write_bench, write_json, write_picture

KEYS = ("cells", "quad", "bbox", "points", "label", "id", "tokens", "html", "structure")


def test_an_empty_folder_and_none(tmp_path: Path) -> None:
    assert list(read_labels(tmp_path)) == []
    with pytest.raises(InputError, match="is not there"):
        list(read_labels(tmp_path / "none"))


def test_coco_in_the_layout_of_paddlex(tmp_path: Path) -> None:
    write_picture(tmp_path / "images" / "a.png")
    write_json(tmp_path / "annotations" / "instance_train.json", coco())
    write_json(tmp_path / "annotations" / "instance_val.json", coco(images=[], annotations=[]))
    write_json(tmp_path / "labels" / "a.json", {"cells": []})  # of another format: not read
    labels, problems = read(tmp_path)
    assert problems == [] and len(labels) == 1
    assert labels[0].quads.tolist() == [SQUARE, BESIDE]
    assert labels[0].image == tmp_path / "images" / "a.png" and labels[0].split == "train"
    assert labels[0].size_wh == (30, 20) and labels[0].names == ("annotation 1", "annotation 2")
    alone, _ = read(tmp_path / "annotations" / "instance_train.json")
    assert [label.image for label in alone] == [label.image for label in labels]


def test_bare_coco_beside_its_pictures(tmp_path: Path) -> None:
    write_picture(tmp_path / "a.png")
    labels, problems = read(write_json(tmp_path / "all.json", coco()))
    assert problems == [] and labels[0].image == tmp_path / "a.png" and labels[0].split is None


def test_coco_keeps_cells_and_says_what_it_left(tmp_path: Path) -> None:
    write_picture(tmp_path / "a.png")
    content = coco(categories=[{"id": 1, "name": "table"}, {"id": 2, "name": "table_cell"}])
    content["annotations"][1]["category_id"] = 2
    content["annotations"] += [
        {"id": 3, "image_id": 7, "category_id": 9, "bbox": [0, 0, 1, 1]},
        {"id": 4, "image_id": 8, "category_id": 2, "bbox": [0, 0, 1, 1]},
        {"id": 5, "image_id": 7, "category_id": 2, "bbox": [0, 0, 1]},
    ]
    labels, problems = read(write_json(tmp_path / "all.json", content))
    assert labels[0].quads.tolist() == [BESIDE]
    text = "\n".join(map(str, problems))
    assert "'table' is left out" in text
    assert "image 7: annotation 3: its category 9 is not there" in text
    assert "1 annotations belong to image 8" in text
    assert "annotation 5: its place is [0, 0, 1], which is 3 numbers" in text
    assert labels[0].has_errors


def test_lines_of_ppocrlabel(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    write_picture(folder / "a.png")
    items = [
        {"transcription": "x", "points": SQUARE[2:] + SQUARE[:2], "difficult": False},
        {"transcription": "###", "points": [*BESIDE, [16, 1]], "key_cls": "None"},
    ]
    text = f"\ufeffmine/a.png\t{json.dumps(items)}\nmine/b.png\t[]\nmine/a.png\t{{}}\n"
    (folder / "Label.txt").write_text(text, encoding="utf-8")
    (folder / "rec_gt.txt").write_text("crop/a.png\tx\n")
    labels, problems = read(folder)
    assert labels[0].quads.tolist() == [SQUARE, [[11, 1], [21, 1], [21, 8], [11, 8]]]
    assert labels[0].texts == ("x", "###") and labels[0].image == folder / "a.png"
    assert [str(problem).split("Label.txt, ")[1][:30] for problem in problems] == [
        "line 2: its picture mine/b.png",
        "line 3: is no label (no list o",
    ]


def test_lines_of_tables(tmp_path: Path) -> None:
    write_picture(tmp_path / "images" / "a.png")
    structure = ["<thead>", "<tr>", "<td", ' colspan="2"', ">", "</td>", "</tr>", "</thead>", "<tr>", "<td>", "<td>"]
    cells = [{"tokens": ["<b>", "a", "b", "</b>"], "bbox": [1, 2, 11, 8]}, {"tokens": []}, {"bbox": BESIDE}]
    line = {"filename": "images/a.png", "html": {"structure": {"tokens": structure}, "cells": cells}}
    (tmp_path / "train.txt").write_text(json.dumps(line), encoding="utf-8")
    labels, problems = read(tmp_path)
    assert problems == [] and labels[0].split == "train"
    assert labels[0].texts == ("ab", "") and labels[0].slots.tolist() == [[0, 0, 0, 1, 2], [0, 1, 1, 1, 1]]
    line["html"]["cells"] = cells[:2]
    (tmp_path / "train.txt").write_text(json.dumps(line), encoding="utf-8")
    assert "3 cells in structure and 2 in cells" in str(read(tmp_path)[1][0])


def test_raised_and_lowered_tokens_are_characters(tmp_path: Path) -> None:
    write_picture(tmp_path / "images" / "a.png")
    tokens = [
        "H",
        "<sub>",
        "2",
        "</sub>",
        "O",
        "<b>",
        "<sup>",
        "<i>",
        "a",
        "</i>",
        ",",
        "1",
        "</sup>",
        "</b>",
        "</sup>",
    ]
    html = {"structure": {"tokens": ["<tr>", "<td>"]}, "cells": [{"tokens": tokens, "bbox": [1, 2, 11, 8]}]}
    (tmp_path / "train.txt").write_text(json.dumps({"filename": "images/a.png", "html": html}), encoding="utf-8")
    assert read(tmp_path)[0][0].texts == ("H₂Oᵃ,¹",)


def test_labelme(tmp_path: Path) -> None:
    write_picture(tmp_path / "val" / "a.png")
    shapes = [
        {"label": "cell", "shape_type": "rectangle", "points": [[11, 8], [1, 2]], "description": "x"},
        {"label": "cell", "shape_type": "polygon", "points": BESIDE[::-1]},
        {"label": "cell", "shape_type": "circle", "points": SQUARE[:2]},
        {"label": "table", "points": SQUARE},
    ]
    write_json(tmp_path / "val" / "a.json", {"shapes": shapes, "imagePath": "..\\val\\a.png"})
    labels, problems = read(tmp_path)
    assert labels[0].quads.tolist() == [SQUARE, BESIDE] and labels[0].texts == ("x", None)
    assert labels[0].split == "val" and len(problems) == 2 and "'circle' is no cell" in str(problems[1])


def test_ours(samples: Path) -> None:
    labels, problems = read(samples)
    assert problems == [] and len(labels) == 12
    two = next(label for label in labels if label.image.stem == "two_tables")
    assert set(two.slots[:, 0].tolist()) == {0, 1} and all(two.texts[:3])


def test_boxes_of_text_are_known_as_such(tmp_path: Path) -> None:
    write_picture(tmp_path / "a.png")
    label = {"image": "a.png", "cells": [{"bbox": [1, 2, 11, 8]}, {"bbox": None}], "meta": {"bbox_kind": "text"}}
    labels, problems = read(write_json(tmp_path / "a.json", label))
    assert not labels[0].outlines_cells and len(labels[0].quads) == 1 and "outline text" in str(problems[0])


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "link.png", "folder/a.png", "", "a\0.png", None, 3])
def test_no_label_leads_out_of_its_folder(tmp_path: Path, name: object) -> None:
    folder = tmp_path / "labels"
    write_picture(tmp_path / "secret.png")
    folder.mkdir()
    os.symlink(tmp_path / "secret.png", folder / "link.png")
    os.symlink(tmp_path, folder / "folder")
    write_picture(tmp_path / "a.png")
    for data in (
        {"image": name, "cells": []},
        {"imagePath": name, "shapes": []},
        coco(images=[{"id": 1, "file_name": name}]),
    ):
        labels, problems = read(write_json(folder / "x.json", data))
        assert [label.image.resolve().parent for label in labels] == [folder.resolve()]
        assert labels[0].has_errors and ("picture" in str(problems[0]))


def test_what_is_no_label_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "broken.json").write_text('{"images": [')
    write_json(tmp_path / "other.json", {"name": "package"})
    write_json(tmp_path / "cells.json", {"image": "a.png", "cells": {"a": 1}})
    write_json(tmp_path / "coco.json", {"images": [1, {"id": 1}], "annotations": None})
    monkeypatch.setattr(files, "MOST_BYTES", 200_000)
    (tmp_path / "large.json").write_text(" " * 200_001)
    labels, problems = read(tmp_path)
    named = {str(problem).partition(".json")[0].rpartition("/")[2] for problem in problems}
    assert named == {"deep", "bytes", "broken", "other", "cells", "coco", "large"}
    assert [label.where.rpartition("/")[2] for label in labels] == ["coco.json, image 1"]


def test_spans_of_a_hostile_table(tmp_path: Path) -> None:
    write_picture(tmp_path / "a.png")
    tokens = ["<tr>"] + ['<td rowspan="9999" colspan="9999">'] * 5
    line = {"filename": "a.png", "html": {"structure": {"tokens": tokens}, "cells": []}}
    (tmp_path / "gt.txt").write_text(json.dumps(line))
    labels, problems = read(tmp_path)
    assert labels == [] and "1,000,000 slots" in str(problems[0])


def test_corners_are_put_in_order() -> None:
    quads = np.array([[[3, 1], [13, 2], [12, 8], [2, 7]]], float)
    assert order_corners(np.zeros((0, 4, 2))).shape == (0, 4, 2)
    for start in range(4):
        for step in (1, -1):
            assert (order_corners(np.roll(quads, start, axis=1)[:, ::step]) == quads).all()


def test_pictures_are_read_as_the_pipeline_reads_them(tmp_path: Path) -> None:
    import PIL.Image

    picture = PIL.Image.new("RGB", (30, 20), (200, 10, 20))
    exif = picture.getexif()
    exif[0x0112] = 6
    picture.save(tmp_path / "turned.png", exif=exif)
    assert load_image(tmp_path / "turned.png").shape == (30, 20, 3)
    assert load_image(tmp_path / "turned.png")[0, 0].tolist() == [200, 10, 20]
    PIL.Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    PIL.Image.fromarray(np.full((4, 4), 65535, np.uint16)).save(tmp_path / "deep.png")
    assert (load_image(tmp_path / "clear.png") == 255).all() and (load_image(tmp_path / "deep.png") == 255).all()


def test_ours_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_bench(tmp_path, "a", [SQUARE, BESIDE], split="dev", text_height=5)
    labels, problems = read(tmp_path)
    assert problems == [] and labels[0].split == "dev" and labels[0].text_height == 5
    assert labels[0].slots.tolist() == [[0, 0, 0, 1, 1], [0, 0, 1, 1, 1]]


numbers = st.integers() | st.floats() | st.integers(-9, 40)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=3) | st.just("a.png"),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
spoilt = st.lists(st.tuples(st.integers(0, 99), values), min_size=1, max_size=3)


@settings(max_examples=60)
@given(st.sampled_from(["coco", "labelme", "bench", "lines", "tables"]), spoilt)
def test_whatever_a_label_holds_is_read_or_named(format: str, changes: list[tuple[int, Any]]) -> None:
    """Values of sound labels are replaced by others: nothing is raised, and what stays is sound."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_picture(folder / "a.png")
        content = copy.deepcopy(sound(format))
        for place, value in changes:
            places = list(places_of(content))
            holder, key = places[place % len(places)]
            holder[key] = value
        text = json.dumps(content)
        if format == "lines":
            text = f"a.png\t{text}"
        (folder / ("Label.txt" if format in ("lines", "tables") else "a.json")).write_text(text)
        list(check_labels(read_labels(folder), Summary()))
        for label in read(folder)[0]:
            assert len(label.quads) == len(label.names) == len(label.texts) == len(label.slots)
            if not find_unusable(label):
                assert np.isfinite(label.quads).all() and label.image.is_file()


def sound(format: str) -> Any:
    """Return the content of a sound label."""
    box = {"transcription": "x", "points": SQUARE}
    cell = {"row": 0, "col": 0, "quad": SQUARE, "bbox": [1, 2, 11, 8], "text": "x"}
    html = {
        "structure": {"tokens": ["<tr>", "<td>", "</td>", "</tr>"]},
        "cells": [{"tokens": ["x"], "bbox": [1, 2, 9, 8]}],
    }
    shapes = [{"label": "cell", "shape_type": "polygon", "points": SQUARE}]
    return {
        "coco": coco(),
        "labelme": {"shapes": shapes, "imagePath": "a.png", "imageWidth": 30, "imageHeight": 20},
        "bench": {"image": "a.png", "tables": [{"cells": [cell]}], "meta": {"split": "train", "text_height": 9}},
        "lines": [box, dict(box)],
        "tables": {"filename": "a.png", "html": html, "split": "train"},
    }[format]


def places_of(content: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container and key, however deep."""
    keys = range(len(content)) if isinstance(content, list) else list(content)
    for key in keys:
        yield content, key
        if isinstance(content[key], (list, dict)):
            yield from places_of(content[key])
