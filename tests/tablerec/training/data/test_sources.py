"""Sources of samples: folders, functions, mixtures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tablerec.errors import InputError, SettingsError
from tablerec.labels import read_labels
from tablerec.labels.convert import convert_labels
from tablerec.training.data.sources import load_source
from tests.helpers.grids import draw_ruled

RULED = "tests.helpers.grids:draw_ruled"


def write(folder: Path, name: str, label: dict) -> None:
    import cv2

    folder.mkdir(parents=True, exist_ok=True)
    image = np.zeros((20, 30, 3), np.uint8)
    image[..., 0] = 200  # blue, as OpenCV writes
    cv2.imwrite(str(folder / f"{name}.png"), image)
    (folder / f"{name}.json").write_text(json.dumps({"image": f"{name}.png", **label}))


BOX = {"bbox": [1, 2, 11, 8]}
QUAD = {"quad": [[1, 2], [11, 3], [11, 9], [1, 8]]}


def test_a_function() -> None:
    assert (load_source(RULED)(3).image == draw_ruled(3).image).all()


def test_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "boxes", {"cells": [BOX, {"bbox": None}], "meta": {"bbox_kind": "cell"}})
    write(tmp_path / "pages", "quads", {"tables": [{"cells": [QUAD]}, {"cells": [QUAD, QUAD]}]})
    write(tmp_path, "texts", {"cells": [BOX], "meta": {"bbox_kind": "text"}})
    source = load_source(f"folder:{tmp_path}")
    samples = [source(index) for index in range(40)]
    assert {len(sample.quads) for sample in samples} == {1, 3}
    assert samples[0].image.shape == (20, 30, 3) and samples[0].image[0, 0].tolist() == [0, 0, 200]
    for start in range(0, 40, 2):  # all are seen before one is seen again
        assert len(samples[start].quads) != len(samples[start + 1].quads)
    assert len({len(samples[start].quads) for start in range(0, 40, 2)}) == 2  # in changing order
    boxes = next(sample for sample in samples if len(sample.quads) == 1)
    assert boxes.quads.tolist() == [[[1, 2], [11, 2], [11, 8], [1, 8]]]


def test_a_page_without_tables_is_a_sample(tmp_path: Path) -> None:
    write(tmp_path, "prose", {"tables": []})
    assert load_source(f"folder:{tmp_path}")(0).quads.shape == (0, 4, 2)


def test_crops_of_a_folder_differ_each_time(tmp_path: Path) -> None:
    write(tmp_path, "a", {"cells": [QUAD], "meta": {"text_height": 6}})
    source = load_source(f"crops:{tmp_path}")
    samples = [source(index) for index in range(20)]
    assert len({sample.image.shape for sample in samples}) > 5
    assert all(len(sample.quads) == 1 for sample in samples)
    assert (source(3).image == samples[3].image).all() and (source(3).quads == samples[3].quads).all()


def test_a_picture_that_is_missing_or_broken(tmp_path: Path) -> None:
    write(tmp_path, "a", {"cells": [QUAD]})
    for data in (b"", b"no picture", None):
        if data is None:
            (tmp_path / "a.png").unlink()
        else:
            (tmp_path / "a.png").write_bytes(data)
        with pytest.raises(InputError, match=r"a\.(png|json)"):
            load_source(f"folder:{tmp_path}")(0)


def test_a_folder_without_labels(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no labels of cells"):
        load_source(f"folder:{tmp_path}")
    (tmp_path / "odd.json").write_text("[1]")
    with pytest.raises(InputError, match=r"odd\.json: is no label"):
        load_source(f"folder:{tmp_path}")


def test_a_mixture_has_its_shares(tmp_path: Path) -> None:
    write(tmp_path, "a", {"cells": [QUAD]})
    source = load_source(f"{RULED}*3, folder:{tmp_path}")
    of_folder = [len(source(index).quads) == 1 for index in range(200)]
    assert 30 < sum(of_folder) < 70
    assert of_folder == [len(source(index).quads) == 1 for index in range(200)]


def test_wrong_descriptions() -> None:
    for text, message in {
        "nowhere:draw": "MODULE:FUNCTION",
        "json": "MODULE:FUNCTION",
        f"{RULED}*many, {RULED}": "share",
        "synth:mixed@x": "RECIPE@SEED",
    }.items():
        with pytest.raises(SettingsError, match=message):
            load_source(text)


def test_one_split_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "a", {"cells": [QUAD], "meta": {"split": "train"}})
    write(tmp_path, "b", {"cells": [QUAD, QUAD], "meta": {"split": "val"}})
    assert {len(load_source(f"folder:{tmp_path}#train")(index).quads) for index in range(6)} == {1}
    assert {len(load_source(f"crops:{tmp_path}#val")(index).quads) for index in range(6)} == {2}
    assert {len(load_source(f"folder:{tmp_path}")(index).quads) for index in range(6)} == {1, 2}
    with pytest.raises(InputError, match="its splits are train, val"):
        load_source(f"folder:{tmp_path}#test")


def test_a_picture_with_a_bad_label_is_skipped_and_named(tmp_path: Path) -> None:
    write(tmp_path, "good", {"cells": [QUAD]})
    write(tmp_path, "flat", {"cells": [QUAD, {"quad": [[1, 2], [11, 2], [11, 2], [1, 2]]}]})
    write(tmp_path, "gone", {"cells": [QUAD, QUAD]})
    (tmp_path / "gone.png").unlink()
    with pytest.warns(UserWarning, match="2 bad labels are skipped") as warned:
        source = load_source(f"folder:{tmp_path}")
    message = str(warned[0].message)
    assert "flat.json: cells[1]: has no area" in message and "gone.json: its picture gone.png is not there" in message
    assert {len(source(index).quads) for index in range(6)} == {1}


def test_coco_is_a_folder_too(tmp_path: Path) -> None:
    write(tmp_path / "in", "a", {"cells": [QUAD]})
    list(convert_labels(read_labels(tmp_path / "in"), tmp_path / "out", "coco"))
    assert load_source(f"folder:{tmp_path / 'out'}#train")(0).quads.tolist() == [QUAD["quad"]]
