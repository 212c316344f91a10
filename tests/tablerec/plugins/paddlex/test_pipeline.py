"""``table_recognition_cells``: what builds it, what it takes, what it yields."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import openpyxl
import pytest
import yaml
from PIL import Image

from postprocess.cell import Cell
from postprocess.export import html_to_tables, table_to_dict
from postprocess.table import Table
from tablerec.detect.factory import WEIGHTS
from tablerec.detect.paddlex import CLASSIFIER, OFFICIAL
from tablerec.errors import InputError, SettingsError
from tablerec.pipeline import Recognizer
from tablerec.result import Page, PageImage
from tests.helpers.models.paddlex_models import (
    CELLS,
    TEXTS,
    save_classifier,
    save_detector,
    save_structure,
    save_text_detector,
    save_text_recognizer,
    to_part,
)
from tests.helpers.pdf import make_document

Config = Callable[..., dict[str, Any]]
SEEN = [[0, 0.9, *box] for box in CELLS]
LAYOUT = "PP-DocLayout-L"
ORIENTATION = "PP-LCNet_x1_0_doc_ori"
TURNS = ["0", "90", "180", "270"]


@pytest.fixture(scope="module")
def pipeline(plugin: ModuleType, config: Config) -> Any:
    """Return a pipeline that finds ruled tables and reads nothing."""
    return plugin.create_pipeline(config=config(), device="cpu")


def grids(result: Any) -> list[list[list[str]]]:
    return [table.to_grid() for entry in result["table_res_list"] for table in html_to_tables(entry["pred_html"])]


# What builds it.


def test_the_name_alone_builds_it(plugin: ModuleType) -> None:
    made = plugin.create_pipeline("table_recognition_cells", device="cpu")
    config = yaml.safe_load(plugin.PIPELINE_FILE.read_text(encoding="utf-8"))
    assert made.part("TableCellsDetection") == config["SubModules"]["TableCellsDetection"]


def test_a_file_builds_it(plugin: ModuleType, config: Config, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config()), encoding="utf-8")
    made = plugin.create_pipeline(str(tmp_path / "mine.yaml"), device="cpu")
    assert made.part("TableCellsDetection")["model_name"] == "rulings"


@pytest.mark.parametrize(
    ("place", "name"), [("SubModules", "WiredTableStructureRecognition"), ("SubPipelines", "Chat"), (None, "use_magic")]
)
def test_parts_that_it_has_not_are_refused(plugin: ModuleType, config: Config, place: str | None, name: str) -> None:
    made = config()
    (made[place] if place else made)[name] = {"model_name": "any"}
    with pytest.raises(SettingsError, match=f"{name} is not a part of it"):
        plugin.create_pipeline(config=made, device="cpu")


def test_what_is_said_of_a_model_counts_or_is_refused(
    plugin: ModuleType, config: Config, image: np.ndarray, tmp_path: Path
) -> None:
    part = to_part(save_detector(tmp_path, OFFICIAL[0], [*SEEN[:3], [0, 0.35, *CELLS[3]]]))
    for threshold, n_found in [(0.3, 4), (0.4, 3)]:
        made = config(TableCellsDetection={**part, "threshold": threshold})
        (result,) = plugin.create_pipeline(config=made, device="cpu").predict(image, use_layout_detection=False)
        cells = result["table_res_list"][0]["table"]["cells"]
        assert sum(cell["detector_score"] is not None for cell in cells) == n_found
    with pytest.raises(SettingsError, match="TableCellsDetection: modle_dir is not a part of it"):
        plugin.create_pipeline(config=config(TableCellsDetection={"modle_dir": "x"}), device="cpu")


def test_a_model_that_is_not_there(plugin: ModuleType, config: Config, tmp_path: Path) -> None:
    part = {"model_name": OFFICIAL[0], "model_dir": str(tmp_path / "none")}
    with pytest.raises(SettingsError, match=f"TableCellsDetection: PaddleX cannot load {OFFICIAL[0]} from .*none"):
        plugin.create_pipeline(config=config(TableCellsDetection=part), device="cpu")


def test_weights_of_cellnet_come_from_a_folder(
    plugin: ModuleType, config: Config, image: np.ndarray, tmp_path: Path
) -> None:
    for name in ("CellNet", "auto"):
        part = {"model_name": name, "model_dir": str(WEIGHTS)}
        (result,) = plugin.create_pipeline(config=config(TableCellsDetection=part), device="cpu").predict(image)
        assert len(result["table_res_list"][0]["cell_box_list"]) == 4
    theirs = save_detector(tmp_path, OFFICIAL[0], SEEN)
    for name, folder in [("auto", theirs), ("CellNet", theirs), ("rulings", WEIGHTS)]:
        part = {"model_name": name, "model_dir": str(folder)}
        with pytest.raises(SettingsError, match=f"{name} cannot take its model from {folder}"):
            plugin.create_pipeline(config=config(TableCellsDetection=part), device="cpu")


def test_our_detectors_take_no_engine(plugin: ModuleType, config: Config) -> None:
    part = {"model_name": "rulings", "engine": "paddle_static"}
    with pytest.raises(SettingsError, match="rulings is not run by PaddleX and takes no engine"):
        plugin.create_pipeline(config=config(TableCellsDetection=part), device="cpu")


def test_an_engine_for_nothing_is_refused(plugin: ModuleType, config: Config) -> None:
    for options in ({"engine": "paddle_static"}, {"use_hpip": True}):
        with pytest.raises(SettingsError, match="engine and use_hpip are for models of PaddleX"):
            plugin.create_pipeline(config=config(), device="cpu", **options)


def test_several_devices_share_the_pages(
    plugin: ModuleType, config: Config, image: np.ndarray, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kind = plugin.TableRecognitionCellsPipeline
    from paddlex.utils import device

    created = []

    def create(self: Any, config: Any, device: str) -> Any:
        created.append(device)
        return self._pipeline_cls(config, device="cpu")

    monkeypatch.setattr(kind, "_create_internal_pipeline", create)
    monkeypatch.setattr("tablerec.plugins.paddlex.pipeline.require_device", lambda device: None)
    several = plugin.create_pipeline(config=config(), device="gpu:0,1")
    assert created == ["gpu:0", "gpu:1"] == [device.constr_device("gpu", [number]) for number in (0, 1)]
    Image.fromarray(image).save(tmp_path / "a.png")
    with pytest.raises(SettingsError, match="use one device"):
        list(several.predict(image, overall_ocr_res={}))
    results = list(several.predict([image, str(tmp_path / "a.png"), image[:, :130]]))
    assert [len(result["table_res_list"][0]["cell_box_list"]) for result in results] == [4, 4, 2]
    assert [result["input_path"] for result in results] == [None, str(tmp_path / "a.png"), None]


# What it takes.


def test_a_page_without_tables(pipeline: Any, tmp_path: Path) -> None:
    (result,) = pipeline.predict(np.full((40, 40, 3), 255, np.uint8))
    assert result["table_res_list"] == result["layout_det_res"]["boxes"] == []
    result.save_to_all(str(tmp_path))
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".png"}


def test_paths_folders_arrays_and_lists(pipeline: Any, image: np.ndarray, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    paths = [str(tmp_path / name) for name in ("a.png", "b.tif", "inner/c.jpg")]
    for path in paths:
        Image.fromarray(image).save(path)
    (tmp_path / "notes.txt").write_text("no picture", encoding="utf-8")
    for inputs, expected in [
        (paths[0], paths[:1]), (image, [None]), (str(tmp_path), paths), ([image, paths[2]], [None, paths[2]]), ([], []),
    ]:  # fmt: skip
        results = list(pipeline.predict(inputs))
        assert [result["input_path"] for result in results] == expected
        assert all(grids(result) == [[["", ""], ["", ""]]] for result in results)


def test_pages_of_a_pdf_are_counted_from_0(pipeline: Any, image: np.ndarray, tmp_path: Path) -> None:
    page = Image.fromarray(image)
    page.save(tmp_path / "a.pdf", save_all=True, append_images=[page], resolution=100)
    results = list(pipeline.predict(str(tmp_path / "a.pdf")))
    assert [(result["page_index"], len(result["table_res_list"])) for result in results] == [(0, 1), (1, 1)]


def test_documents_are_opened_as_the_file_or_the_call_says(
    plugin: ModuleType, config: Config, pipeline: Any, tmp_path: Path
) -> None:
    path = tmp_path / "book.pdf"
    path.write_bytes(make_document(3, "open sesame"))
    made = plugin.create_pipeline(config=config(switches={"password": "open sesame", "pages": "2-"}), device="cpu")

    def pages(pipeline: Any, **options: Any) -> list[int]:
        return [result["page_index"] for result in pipeline.predict(str(path), **options)]

    assert pages(made) == [1, 2]
    assert pages(made, pages="1,3") == [0, 2]
    assert pages(pipeline, password="open sesame", pages="2") == [1]
    with pytest.raises(InputError, match="needs a password"):
        pages(pipeline)
    with pytest.raises(InputError, match="does not open") as caught:
        pages(made, password="wrong one")
    assert "wrong one" not in str(caught.value)
    with pytest.raises(InputError, match="has 3 pages; --pages 7 asks for none"):
        pages(made, pages="7")


def test_several_devices_open_documents_as_the_call_says(
    plugin: ModuleType, config: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kind = plugin.TableRecognitionCellsPipeline
    monkeypatch.setattr(kind, "_create_internal_pipeline", lambda self, made, _: self._pipeline_cls(made, device="cpu"))
    monkeypatch.setattr("tablerec.plugins.paddlex.pipeline.require_device", lambda device: None)
    several = plugin.create_pipeline(config=config(), device="gpu:0,1")
    (tmp_path / "book.pdf").write_bytes(make_document(5, "open sesame"))
    results = several.predict(str(tmp_path / "book.pdf"), password="open sesame", pages="1,3-4")
    assert [result["page_index"] for result in results] == [0, 2, 3]


@pytest.mark.parametrize(
    ("name", "value"),
    [("pages", "0"), ("pages", 3), ("password", 123), ("text_layer", "believe"), ("max_page_seconds", 0)],
)
def test_wrong_settings_of_documents_are_refused(plugin: ModuleType, config: Config, name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=name) as caught:
        plugin.create_pipeline(config=config(switches={name: value}), device="cpu")
    assert "123" not in str(caught.value)


def test_settings_of_documents_reach_what_reads_them(plugin: ModuleType, config: Config) -> None:
    switches = {"text_layer": "use", "pages": "1", "password": "x", "max_page_seconds": 5, "max_page_memory": 1}
    from tablerec.plugins.paddlex.options import to_request

    made = plugin.create_pipeline(config=config(switches=switches), device="cpu")
    request = to_request({"text_layer": "ignore", "pages": None})
    asked = request.document_settings(made.settings)
    assert {name: getattr(asked, name) for name in switches} == {**switches, "text_layer": "ignore"}
    assert "'x'" not in f"{made.settings!r} {to_request({'password': 'x'})!r}"


@pytest.mark.parametrize(
    ("value", "word"), [(3, "int"), (None, "there is no input: give a path.*--input"), ("no such.png", "no such file")]
)
def test_what_is_no_input(pipeline: Any, value: Any, word: str) -> None:
    with pytest.raises(InputError, match=word):
        list(pipeline.predict(value))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use_e2e_wired_table_rec_model": True}, "no structure model"),
        ({"use_ocr_results_with_table_cells": False}, "always split"),
        ({"use_table_cells_ocr_results": True}, "not read one by one"),
        ({"text_det_thresh": 0.2}, "pipeline_name: OCR"),
        ({"use_doc_unwarping": True}, "use_doc_preprocessor: True"),
        ({"use_ocr_model": True}, "use_ocr_model: True"),
        ({"no_such_option": None}, "no such option"),
        ({"detection": {}}, "no such option"),
        ({"overall_ocr_res": {}, "use_ocr_model": True}, "leave overall_ocr_res out"),
        ({"layout_det_res": {}, "use_layout_detection": True}, "leave layout_det_res out"),
        ({"overall_ocr_res": {"rec_texts": ["a"]}}, "overall_ocr_res cannot be used"),
        ({"layout_det_res": {}}, "layout_det_res cannot be used"),
        ({"layout_det_res": {"boxes": [{"label": "table", "coordinate": [1, 2]}]}}, "layout_det_res cannot be used"),
    ],
)
def test_options_count_or_are_refused(pipeline: Any, image: np.ndarray, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        list(pipeline.predict(image, **options))


def test_text_that_was_read_before(pipeline: Any, image: np.ndarray, read: dict[str, Any]) -> None:
    (result,) = pipeline.predict(image, overall_ocr_res=read)
    assert grids(result) == [[TEXTS[:2], TEXTS[2:]]]
    assert result["overall_ocr_res"]["rec_texts"] == TEXTS
    assert result["model_settings"]["use_ocr_model"] is False
    with pytest.raises(SettingsError, match="belong to one page"):
        list(pipeline.predict([image, image], overall_ocr_res=read))


def test_words_below_the_score_are_unplaced(pipeline: Any, image: np.ndarray, read: dict[str, Any]) -> None:
    read["rec_scores"] = [0.9, 0.9, 0.9, 0.5]
    (result,) = pipeline.predict(image, overall_ocr_res=read, text_rec_score_thresh=0.6)
    assert grids(result) == [[TEXTS[:2], ["iron", ""]]]
    assert result["overall_ocr_res"]["rec_texts"] == TEXTS[:3]
    assert [item["text"] for item in result.json["res"]["page"]["unplaced"]] == ["7.87"]


def test_regions_that_were_found_before(pipeline: Any, image: np.ndarray) -> None:
    page = np.full((300, 600, 3), 255, np.uint8)
    page[:120, :240] = page[150:270, 300:540] = image
    regions = {"boxes": [{"cls_id": 0, "label": "table", "score": 0.9, "coordinate": [300, 150, 540, 270]}]}
    (result,) = pipeline.predict(page, layout_det_res=regions)
    (table,) = result["table_res_list"]
    assert np.allclose(table["cell_box_list"], np.add(CELLS, [300, 150, 300, 150]), atol=2)
    assert result["model_settings"]["use_layout_detection"] is False
    assert list(result["layout_det_res"].img) == ["res"]


@pytest.mark.parametrize("turn", [0, 90, 270])
def test_known_text_and_regions_of_a_page_on_its_side(
    pipeline: Any, image: np.ndarray, read: dict[str, Any], turn: int
) -> None:
    from tablerec.inputs.turning import turn_image, turn_points

    lying = turn_image(image, -turn)
    read["rec_polys"] = [turn_points(polygon.astype(float), -turn, (240, 120)) for polygon in read["rec_polys"]]
    height, width = lying.shape[:2]
    regions = {"boxes": [{"label": "table", "coordinate": [0, 0, width, height]}]}
    (result,) = pipeline.predict(lying, overall_ocr_res=read, layout_det_res=regions)
    assert result.page.turn == turn
    assert grids(result) == [[TEXTS[:2], TEXTS[2:]]]
    boxes = np.array(result["table_res_list"][0]["cell_box_list"])
    assert boxes[:, 2].max() <= width and boxes[:, 3].max() <= height


def test_the_whole_picture_is_one_table(pipeline: Any, image: np.ndarray) -> None:
    two = np.hstack([image, image])
    assert [
        len(next(iter(pipeline.predict(two, use_layout_detection=look)))["table_res_list"]) for look in (True, False)
    ] == [2, 1]


# What it yields.


def test_its_tables_are_those_of_the_recognizer(plugin: ModuleType, samples: Path) -> None:
    (result,) = plugin.create_pipeline("table_recognition_cells", device="cpu").predict(str(samples / "one_cell.png"))
    expected = Recognizer().recognize(samples / "one_cell.png").tables
    assert [entry["table"] for entry in result["table_res_list"]] == [table_to_dict(table) for table in expected]


def test_files(pipeline: Any, image: np.ndarray, read: dict[str, Any], tmp_path: Path) -> None:
    Image.fromarray(image).save(tmp_path / "a.png")
    (result,) = pipeline.predict(str(tmp_path / "a.png"), overall_ocr_res=read)
    result.print()
    result.save_to_all(str(tmp_path / "out"))
    written = {path.name for path in (tmp_path / "out").iterdir()}
    pictures = {f"a_{key}.png" for key in ("layout_det_res", "ocr_res_img", "table_cell_img")}
    assert written == {"a_res.json", "a_table_1.html", "a_tables.xlsx"} | pictures
    told = json.loads((tmp_path / "out" / "a_res.json").read_text(encoding="utf-8"))
    assert [cell["text"] for cell in told["table_res_list"][0]["table"]["cells"]] == TEXTS
    assert openpyxl.load_workbook(tmp_path / "out" / "a_tables.xlsx").active["B2"].value == 7.87
    for name, save in [
        ("x.html", result.save_to_html),
        ("x.xlsx", result.save_to_xlsx),
        ("x.json", result.save_to_json),
    ]:
        save(str(tmp_path / name))
        assert (tmp_path / name).stat().st_size


def test_a_page_without_a_table_says_that_no_workbook_is_written(
    pipeline: Any, image: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr("paddlex.utils.logging.warning", lambda text, *values: said.append(text % values))
    Image.fromarray(np.full_like(image, 255)).save(tmp_path / "a.png")
    (result,) = pipeline.predict(str(tmp_path / "a.png"))
    result.save_to_xlsx(str(tmp_path / "out"))
    result.save_to_xlsx(str(tmp_path / "x.xlsx"))
    assert said == [f"a.png: no table found, so {name} is not written" for name in ("a_tables.xlsx", "x.xlsx")]
    assert not (tmp_path / "x.xlsx").exists()


def test_one_table_of_a_result_can_be_saved(pipeline: Any, image: np.ndarray, tmp_path: Path) -> None:
    (result,) = pipeline.predict(image)
    table = result["table_res_list"][0]
    table.save_to_xlsx(str(tmp_path / "one.xlsx"))
    assert openpyxl.load_workbook(tmp_path / "one.xlsx").active.dimensions == "A1:B2"
    table.save_to_html(str(tmp_path / "one.html"))
    assert "<table>" in (tmp_path / "one.html").read_text(encoding="utf-8")
    assert table.json["res"]["table"]["n_rows"] == 2


def test_a_title_above_the_table(pipeline: Any, image: np.ndarray, read: dict[str, Any]) -> None:
    page = np.vstack([np.full((40, 240, 3), 255, np.uint8), image])
    title = np.array([[22, 36], [120, 36], [120, 54], [22, 54]])
    moved = [np.add(polygon, [0, 40]) for polygon in read["rec_polys"]]
    given = {"rec_texts": [*TEXTS, "Table 1"], "rec_scores": [0.9] * 5, "rec_polys": [*moved, title]}
    (result,) = pipeline.predict(page, overall_ocr_res=given)
    assert result["table_res_list"][0]["neighbor_texts"] == "Table 1; "
    assert result["table_res_list"][0]["table_ocr_pred"]["rec_texts"] == TEXTS


# Models of PaddleX.


def test_cells_of_a_model(plugin: ModuleType, config: Config, image: np.ndarray, tmp_path: Path) -> None:
    made = config(TableCellsDetection=to_part(save_detector(tmp_path, OFFICIAL[0], SEEN)))
    (result,) = plugin.create_pipeline(config=made, device="cpu").predict(image, use_layout_detection=False)
    assert np.allclose(result["table_res_list"][0]["cell_box_list"], CELLS, atol=1)
    assert result.page.detector == OFFICIAL[0]


def test_layout_of_a_model(plugin: ModuleType, config: Config, image: np.ndarray, tmp_path: Path) -> None:
    two = np.hstack([image, image])
    layout = to_part(save_detector(tmp_path, LAYOUT, [[0, 0.9, 240, 0, 480, 120]], "[table]"))
    (result,) = plugin.create_pipeline(config=config(LayoutDetection=layout), device="cpu").predict(two)
    assert [box["label"] for box in result["layout_det_res"]["boxes"]] == ["table"]
    assert np.allclose(result["table_res_list"][0]["cell_box_list"], np.add(CELLS, [240, 0, 240, 0]), atol=2)


@pytest.mark.parametrize(("answer", "turn"), [("0", 0), ("90", 270), ("180", 180), ("270", 90)])
def test_orientation_of_a_model(
    plugin: ModuleType, config: Config, image: np.ndarray, tmp_path: Path, answer: str, turn: int
) -> None:
    from tablerec.inputs.turning import turn_image

    classifier = to_part(save_classifier(tmp_path, ORIENTATION, TURNS, answer))
    pipeline = plugin.create_pipeline(config=config(TableOrientationClassify=classifier), device="cpu")
    lying = turn_image(image[:, :130], -turn)
    (result,) = pipeline.predict(lying)
    assert result.page.turn == turn
    # PaddleX's own pipeline turns a picture of this label by this call.
    assert np.array_equal(turn_image(lying, turn), np.rot90(lying, int(answer) // 90))
    (as_it_lies,) = pipeline.predict(lying, use_table_orientation_classify=False)
    assert as_it_lies.page.turn == 0


def test_page_turned_by_the_preprocessor(plugin: ModuleType, config: Config, image: np.ndarray, tmp_path: Path) -> None:
    part = {
        "pipeline_name": "doc_preprocessor", "use_doc_orientation_classify": True, "use_doc_unwarping": False,
        "SubModules": {"DocOrientationClassify": to_part(save_classifier(tmp_path, ORIENTATION, TURNS, "90"))},
    }  # fmt: skip
    made = config({"DocPreprocessor": part}, switches={"use_doc_preprocessor": True})
    (result,) = plugin.create_pipeline(config=made, device="cpu").predict(image)
    assert result["doc_preprocessor_res"]["angle"] == 90
    assert result["doc_preprocessor_res"]["output_img"].shape == (240, 120, 3)
    assert result.img["table_cell_img"].size[0] < result.img["table_cell_img"].size[1]
    assert "preprocessed_img" in result.img
    assert result.json["res"]["doc_preprocessor_res"]["angle"] == 90


def test_ocr_pipeline_of_paddlex(plugin: ModuleType, config: Config, tmp_path: Path) -> None:
    models = {
        "TextDetection": to_part(save_text_detector(tmp_path, "PP-OCRv5_mobile_det")),
        "TextRecognition": to_part(save_text_recognizer(tmp_path, "PP-OCRv5_mobile_rec")) | {"batch_size": 1},
    }
    part = {"pipeline_name": "OCR", "text_type": "general", "SubModules": models}
    part |= {"use_doc_preprocessor": False, "use_textline_orientation": False}
    made = config({"GeneralOCR": part}, switches={"use_ocr_model": True})
    pipeline = plugin.create_pipeline(config=made, device="cpu")
    page = np.full((400, 600, 3), 255, np.uint8)
    for x in (20, 300, 580):
        page[20:380, x : x + 2] = 0
    for y in (20, 200, 380):
        page[y : y + 2, 20:582] = 0
    page[90:130, 80:180] = page[90:130, 380:480] = 0
    (result,) = pipeline.predict(page, use_table_orientation_classify=False, text_rec_score_thresh=0.0)
    assert result["overall_ocr_res"]["rec_texts"]
    assert set("".join(result["overall_ocr_res"]["rec_texts"])) <= {"a", "b"}
    assert result["overall_ocr_res"]["text_det_params"]["thresh"] == 0.3
    (blind,) = pipeline.predict(page, use_table_orientation_classify=False, text_det_thresh=1.0)
    assert blind["overall_ocr_res"]["rec_texts"] == []
    assert blind["overall_ocr_res"]["text_det_params"]["thresh"] == 1.0


# Code for PaddleX's table_recognition_v2.


def consume(pipeline: Any, page: np.ndarray, read: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Use a pipeline as its documentation shows it."""
    output = pipeline.predict(
        page, use_doc_orientation_classify=False, use_doc_unwarping=False, use_layout_detection=True,
        use_ocr_model=False, overall_ocr_res=read, use_table_orientation_classify=False,
    )  # fmt: skip
    seen: dict[str, Any] = {"tables": []}
    for res in output:
        res.print()
        res.save_to_xlsx(str(folder / "x.xlsx"))
        res.save_to_html(str(folder / "x.html"))
        res.save_to_json(str(folder / "x.json"))
        for table in res["table_res_list"]:
            boxes = [[round(value) for value in box] for box in table["cell_box_list"]]
            seen["tables"].append((table["table_region_id"], sorted(boxes), table["table_ocr_pred"]["rec_texts"]))
            seen["grid"] = html_to_tables(table["pred_html"])[0].to_grid()
        seen["keys"] = set(res)
        seen["json"] = set(res.json["res"]) - {"page"}
        seen["table json"] = set(res.json["res"]["table_res_list"][0]) & {
            "cell_box_list",
            "pred_html",
            "table_ocr_pred",
        }
        seen["html"] = set(res.html)
        seen["regions"] = [(box["label"], box["coordinate"]) for box in res["layout_det_res"]["boxes"]]
        seen["texts"] = list(res["overall_ocr_res"]["rec_texts"])
        seen["settings"] = res["model_settings"]
    seen["files"] = sorted(path.name for path in folder.iterdir())
    return seen


def test_the_same_code_runs_with_both_pipelines(
    plugin: ModuleType, config: Config, image: np.ndarray, read: dict[str, Any], tmp_path: Path
) -> None:
    from paddlex.inference.pipelines.ocr.result import OCRResult

    tokens = [1, 3, 3, 2, 1, 3, 3, 2, 4]
    cells = to_part(save_detector(tmp_path, OFFICIAL[0], SEEN))
    wireless = to_part(save_detector(tmp_path, OFFICIAL[1], SEEN))
    kinds = ["wired_table", "wireless_table"]
    layout = to_part(save_detector(tmp_path, LAYOUT, [[0, 0.9, 0, 0, 240, 120]], "[table]"))
    theirs = {
        "pipeline_name": "table_recognition_v2", "use_doc_preprocessor": False, "use_layout_detection": True,
        "use_ocr_model": False,
        "SubModules": {
            "LayoutDetection": layout,
            "TableClassification": to_part(save_classifier(tmp_path, CLASSIFIER, kinds, kinds[0])),
            "WiredTableStructureRecognition": to_part(save_structure(tmp_path, "SLANeXt_wired", tokens)),
            "WirelessTableStructureRecognition": to_part(save_structure(tmp_path, "SLANeXt_wireless", tokens)),
            "WiredTableCellsDetection": cells,
            "WirelessTableCellsDetection": wireless,
        },
    }  # fmt: skip
    given = OCRResult(read | {"doc_preprocessor_res": {"output_img": image}})
    given |= {"input_path": None, "page_index": None, "model_settings": {"use_doc_preprocessor": False}}
    given |= {"dt_polys": read["rec_polys"], "text_det_params": {}, "text_type": "general"}
    given |= {"text_rec_score_thresh": 0.0, "return_word_box": False, "vis_fonts": []}
    seen = []
    for name, made in [("theirs", theirs), ("ours", config(LayoutDetection=layout, TableCellsDetection=cells))]:
        (tmp_path / name).mkdir()
        seen.append(consume(plugin.create_pipeline(config=made, device="cpu"), image, given, tmp_path / name))
    assert seen[0] == seen[1]
    assert seen[1]["grid"] == [TEXTS[:2], TEXTS[2:]]


def test_boxes_of_a_table_in_a_cell_follow_that_of_the_cell_as_in_the_html(plugin: ModuleType) -> None:
    from tablerec.plugins.paddlex.result import page_to_result

    def cell(x0: float, x1: float, col: int = 0, *tables: Table) -> Cell:
        return Cell(0, col, text=str(x0), quad=((x0, 0), (x1, 0), (x1, 9), (x0, 9)), tables=tables)

    table = Table([cell(0, 50, 0, Table([cell(10, 20)])), cell(50, 90, 1)])
    page = Page(PageImage("a.png", 1, np.zeros((9, 90, 3), np.uint8)), (table,))
    places: dict[str, Any] = {"origin": {"input_path": "a.png", "page_index": None}, "preprocessed": {}}
    settings: dict[str, Any] = {"model_settings": {}, "reader_settings": {}}
    [entry] = page_to_result(page, [], regions=None, **places, **settings)["table_res_list"]
    assert [box[0] for box in entry["cell_box_list"]] == [0, 10, 50]
    assert re.findall(r"<td>(\d+)", entry["pred_html"]) == ["0", "10", "50"]
