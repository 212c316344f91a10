"""Files: what is written is read back, a stopped run goes on, nothing is mixed up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from tablerec.errors import InputError, OutputError
from tablerec.evaluate.truth import find_truths
from tablerec.synth import draw, load_recipe
from tablerec.synth.command import command
from tablerec.synth.dataset import Dataset, name_of
from tablerec.synth.labels import read_sample
from tablerec.synth.sheet import contact_sheet


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_bench_files_are_read_back(tmp_path: Path) -> None:
    recipe = load_recipe("horizontal")
    assert sorted(Dataset(tmp_path, recipe, 1, "bench").draw(3)) == [0, 1, 2]
    truths = find_truths(tmp_path)
    assert [truth.id for truth in truths] == [name_of(index) for index in range(3)]
    for index, truth in enumerate(truths):
        sample, again = draw(recipe, 1, index), read_sample(tmp_path / f"{name_of(index)}.json")
        assert truth.boxes_are_cells and truth.has_text
        assert truth.table.owner.shape == (sample.tables.n_rows[0], sample.tables.n_cols[0])
        assert [cell.text for cell in truth.table.cells] == list(sample.cells.texts)
        assert again.words.texts == sample.words.texts
        np.testing.assert_allclose(again.cells.quads, sample.cells.quads, atol=0.01)
        assert np.abs(again.image.astype(int) - sample.image).mean() < 4


def test_pages_with_several_tables_keep_them_all(tmp_path: Path) -> None:
    path = tmp_path / "pages.yaml"
    path.write_text("extends: ruled\ntables: 2\nrows: [2, 4]\nframing: page\n", encoding="utf-8")
    list(Dataset(tmp_path / "out", load_recipe(path), 0, "bench").draw(1))
    label = json.loads((tmp_path / "out" / f"{name_of(0)}.json").read_text("utf-8"))
    assert len(label["tables"]) == 2
    assert "cells" not in label
    assert len(read_sample(tmp_path / "out" / f"{name_of(0)}.json").to_tables()) == 2


def test_coco_files_agree_with_the_labels(tmp_path: Path) -> None:
    list(Dataset(tmp_path, load_recipe("photo"), 2).draw(11))
    content = {
        name: json.loads((tmp_path / f"annotations/instance_{name}.json").read_text()) for name in ("train", "val")
    }
    assert [len(content[name]["images"]) for name in ("train", "val")] == [10, 1]
    for part in content.values():
        assert [category["name"] for category in part["categories"]] == ["cell"]
        ids = [item["id"] for item in part["annotations"]]
        assert ids == list(range(1, len(ids) + 1))
        for image in part["images"]:
            with Image.open(tmp_path / "images" / image["file_name"]) as picture:
                assert picture.size == (image["width"], image["height"])
            label = json.loads((tmp_path / "labels" / f"{Path(image['file_name']).stem}.json").read_text("utf-8"))
            quads = [cell["quad"] for table in label["tables"] for cell in table["cells"]]
            mine = [item for item in part["annotations"] if item["image_id"] == image["id"]]
            polygons = [np.array(item["segmentation"][0]).reshape(4, 2).tolist() for item in mine]
            assert polygons == quads
            assert all(item["area"] > 0 and min(item["bbox"]) >= 0 for item in mine)


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path) -> None:
    recipe = load_recipe("ruled")
    run = Dataset(tmp_path / "stopped", recipe, 3).draw(4)
    next(run)
    next(run)
    run.close()
    assert len(list((tmp_path / "stopped" / "labels").iterdir())) in (1, 2)
    assert not (tmp_path / "stopped" / "annotations").exists()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "stopped").rglob("*.jpg")}
    assert sorted(Dataset(tmp_path / "stopped", recipe, 3).draw(4)) == [0, 1, 2, 3]
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    list(Dataset(tmp_path / "whole", recipe, 3).draw(4))
    assert files_of(tmp_path / "stopped") == files_of(tmp_path / "whole")


def test_several_processes_draw_the_same(tmp_path: Path) -> None:
    recipe = load_recipe("lineless")
    list(Dataset(tmp_path / "one", recipe, 4, "bench").draw(3))
    assert sorted(Dataset(tmp_path / "two", recipe, 4, "bench").draw(3, jobs=2)) == [0, 1, 2]
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_samples_are_not_mixed(tmp_path: Path) -> None:
    list(Dataset(tmp_path, load_recipe("ruled"), 0).draw(1))
    with pytest.raises(OutputError, match="holds samples with 'seed 0', not 'seed 1'; name another folder"):
        list(Dataset(tmp_path, load_recipe("ruled"), 1).draw(1))
    with pytest.raises(OutputError, match="holds samples with 'recipe ruled'"):
        list(Dataset(tmp_path, load_recipe("dashed"), 0).draw(1))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(OutputError, match="holds other files"):
        list(Dataset(tmp_path / "other", load_recipe("ruled"), 0).draw(1))


def test_a_broken_label_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}")
    with pytest.raises(InputError, match=r"a\.json: is no label of tablerec synth"):
        read_sample(path)


def test_contact_sheet_shows_all() -> None:
    recipe = load_recipe("ruled")
    sheet = contact_sheet([draw(recipe, 0, index) for index in range(3)], columns=2, side=100)
    assert sheet.shape[1] == 200 and 20 < sheet.shape[0] <= 200
    assert len(np.unique(sheet.reshape(-1, 3), axis=0)) > 10


def test_command_draws_and_shows(tmp_path: Path) -> None:
    out, sheet = tmp_path / "out", tmp_path / "sheet.png"
    done = CliRunner().invoke(command, ["ruled", "-n", "2", "-o", str(out), "--sheet", str(sheet), "--format", "bench"])
    assert done.exit_code == 0, done.output
    assert f"wrote {out} (2 samples, bench)" in done.output
    with Image.open(sheet) as picture:
        assert picture.format == "PNG"
    assert sorted(path.suffix for path in out.iterdir()) == [".jpg", ".jpg", ".json", ".json", ".txt"]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--list"], 0, "financial"),
        ([], 2, "name a RECIPE"),
        (["ruled"], 2, "name a folder with -o"),
        (["nope", "-o", "x"], 1, "recipe 'nope' is unknown"),
        (["ruled", "-o", "x", "-n", "0"], 2, "-n"),
    ],
)
def test_command_answers(
    args: list[str], code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(command, args)
    assert done.exit_code == code
    assert message in done.output
    assert list(tmp_path.iterdir()) == []


def test_workers_end_with_a_killed_command(repository: Path, tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from tablerec.synth import load_recipe; from tablerec.synth.dataset import Dataset\n"
        f"for index in Dataset(Path({str(tmp_path / 'out')!r}), load_recipe('ruled')).draw(100_000, jobs=2):\n"
        "    print('runs', flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=repository, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "runs\n"
        process.kill()
        process.communicate(timeout=60)  # until the workers, which have the same stdout, have ended
