"""Each fault that was reproduced in PaddleX 3.7.2 is absent in our pipeline, with the same cells and texts.

``tests/reports/test_faults.py`` has them for the library, and names the reports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import openpyxl
import pytest

from postprocess.export import html_to_table
from tablerec.detect.paddlex import OFFICIAL, PaddleXDetector
from tablerec.errors import SettingsError
from tests.helpers.layouts import even_layout, plain_table

Run = Callable[..., Any]
Boxes = Sequence[Sequence[float]] | np.ndarray


class Seen:
    """A model of PaddleX that sees these boxes."""

    def __init__(self, boxes: Boxes) -> None:
        self.boxes = boxes

    def predict(self, image: np.ndarray, threshold: float) -> Any:
        yield {"boxes": [{"coordinate": list(box), "score": 0.9, "label": "cell"} for box in self.boxes]}


@pytest.fixture(scope="module")
def run(plugin: ModuleType, config: Callable[..., dict[str, Any]]) -> Run:
    """Return the pipeline, given what its models see: boxes of cells, and texts with the boxes around them."""
    pipeline = plugin.create_pipeline(config=config(), device="cpu")

    def predict(boxes: Boxes, texts: Sequence[tuple[str, Sequence[float]]] = (), **options: Any) -> Any:
        pipeline._pipeline.cells_of_table = PaddleXDetector(OFFICIAL[0], model=Seen(boxes))
        places = [place for _, place in texts]
        corners = np.array([*boxes, *places, [0, 0, 40, 40]])
        image = np.full((int(corners[:, 3].max()) + 20, int(corners[:, 2].max()) + 20, 3), 255, np.uint8)
        read = {"rec_texts": [text for text, _ in texts], "rec_scores": [0.9] * len(texts), "rec_boxes": places}
        asked = {"overall_ocr_res": read, "use_layout_detection": False, "use_table_orientation_classify": False}
        (result,) = pipeline.predict(image, **asked | options)
        return result

    return predict


def grid(result: Any) -> list[list[str]]:
    (table,) = result["table_res_list"]
    return html_to_table(table["pred_html"]).to_grid()


def inside(boxes: Boxes, texts: Sequence[str]) -> list[tuple[str, list[float]]]:
    """A text near the upper left corner of each box."""
    return [(text, [x0 + 4, y0 + 4, x0 + 24, y0 + 14]) for text, (x0, y0, _, _) in zip(texts, boxes, strict=True)]


def shape(result: Any) -> tuple[int, int, int]:
    (table,) = result["table_res_list"]
    return table["table"]["n_rows"], table["table"]["n_cols"], len(table["table"]["cells"])


def test_no_cells(run: Run) -> None:
    assert run([], [("lost?", [5, 5, 30, 15])])["table_res_list"] == []


def test_a_hundred_cells_and_their_texts_all_survive(run: Run) -> None:
    boxes = even_layout(plain_table(10, 10)).boxes
    texts = [str(number) for number in range(100, 200)]
    assert [text for row in grid(run(boxes, inside(boxes, texts))) for text in row] == texts


def test_a_text_without_a_cell(run: Run) -> None:
    result = run([[0, 0, 90, 20]], [("in", [5, 5, 25, 15]), ("out", [300, 5, 330, 15])])
    assert grid(result) == [["in"]]
    assert [item["text"] for item in result.json["res"]["page"]["unplaced"]] == ["out"]


def test_gaps_of_6_pixels(run: Run) -> None:
    assert shape(run([[0, 0, 50, 20], [56, 0, 106, 20], [0, 26, 50, 46], [56, 26, 106, 46]])) == (2, 2, 4)


@pytest.mark.parametrize("scale", [1, 2, 4])
def test_jitter_at_any_scale(run: Run, scale: int) -> None:
    boxes = even_layout(plain_table(4, 4), 40, 12).boxes + np.random.default_rng(0).uniform(-1, 1, (16, 4))
    assert shape(run(np.clip(scale * boxes, 0, None))) == (4, 4, 16)


def test_two_ragged_texts_in_each_row(plugin: ModuleType, config: Callable[..., dict[str, Any]]) -> None:
    places = [[10, 10, 70, 20], [110, 11, 122, 21], [12, 30, 42, 40], [92, 31, 134, 41]]
    texts = ["Name of it", "12", "Total", "1234567"]
    pipeline = plugin.create_pipeline(config=config(TableCellsDetection={"model_name": "words"}), device="cpu")
    read = {"rec_texts": texts, "rec_scores": [0.9] * 4, "rec_boxes": places}
    page = np.full((60, 200, 3), 255, np.uint8)
    (result,) = pipeline.predict(page, use_layout_detection=False, overall_ocr_res=read)
    assert grid(result) == [texts[:2], texts[2:]]


def test_rows_of_4_pixels(run: Run) -> None:
    assert shape(run(even_layout(plain_table(12, 4), 40, 4).boxes)) == (12, 4, 48)


def test_one_row_whose_tops_differ_by_18_pixels(run: Run) -> None:
    boxes = [[60 * col, 60 * row + 6 * col, 60 * col + 60, 60 * row + 60] for row in range(2) for col in range(4)]
    assert shape(run(boxes)) == (2, 4, 8)


def test_text_of_which_60_percent_is_inside_a_cell(run: Run) -> None:
    assert grid(run([[0, 0, 100, 20]], [("kept", [76, 5, 116, 15])])) == [["kept"]]


@pytest.mark.parametrize("text", ["x<b", "p<0.05 & q", "<script>alert(1)</script>", "</td></table>"])
def test_text_is_not_markup(run: Run, text: str, tmp_path: Path) -> None:
    result = run([[0, 0, 90, 20]], [(text, [5, 5, 85, 15])])
    assert grid(result) == [[text]]
    result.save_to_xlsx(str(tmp_path / "x.xlsx"))
    assert openpyxl.load_workbook(tmp_path / "x.xlsx").active["A1"].value == text


def test_amounts_are_numbers_and_formulas_are_text(run: Run, tmp_path: Path) -> None:
    boxes = [[60 * col, 0, 60 * col + 60, 20] for col in range(5)]
    run(boxes, inside(boxes, ["00123", "12.5", "1,234", "12%", "=1+1"])).save_to_xlsx(str(tmp_path / "x.xlsx"))
    cells = openpyxl.load_workbook(tmp_path / "x.xlsx").active[1]
    assert [cell.value for cell in cells] == ["00123", 12.5, 1234, 0.12, "=1+1"]
    assert cells[4].data_type == "s"


def test_merges_do_not_overlap(run: Run, tmp_path: Path) -> None:
    result = run([[0, 0, 120, 20], [40, 0, 80, 60], [0, 20, 40, 40], [80, 20, 120, 40], [0, 40, 40, 60]])
    result.save_to_xlsx(str(tmp_path / "x.xlsx"))
    merged = [set(area.cells) for area in openpyxl.load_workbook(tmp_path / "x.xlsx").active.merged_cells.ranges]
    assert sum(map(len, merged)) == len(set().union(*merged))


def test_control_characters(run: Run, tmp_path: Path) -> None:
    run([[0, 0, 90, 20]], [("a\x00b\x07", [5, 5, 85, 15])]).save_to_all(str(tmp_path))
    (workbook,) = tmp_path.glob("*.xlsx")
    assert openpyxl.load_workbook(workbook).active["A1"].value == "ab"


@pytest.mark.parametrize("device", ["mps", "", "gpu:x", "cpu:1", "toaster:0"])
def test_devices_that_are_none_say_what_to_write(plugin: ModuleType, device: str) -> None:
    with pytest.raises(SettingsError, match="cpu"):
        plugin.create_pipeline("table_recognition_cells", device=device)


def test_two_tables_are_two_sheets_of_one_file(
    plugin: ModuleType, config: Callable[..., dict[str, Any]], image: np.ndarray, tmp_path: Path
) -> None:
    two = np.vstack([image, np.full((200, 240, 3), 255, np.uint8), image])
    (result,) = plugin.create_pipeline(config=config(), device="cpu").predict(two)
    result.save_to_all(str(tmp_path))
    (workbook,) = tmp_path.glob("*.xlsx")
    assert len(openpyxl.load_workbook(workbook).worksheets) == 2


def test_scores_and_corners_are_in_the_json(run: Run) -> None:
    boxes = even_layout(plain_table(2, 2)).boxes
    result = run(boxes, inside(boxes, ["Name", "Weight", "iron", "7.87"]))
    cell = result.json["res"]["table_res_list"][0]["table"]["cells"][0]
    assert cell["detector_score"] == cell["ocr_score"] == 0.9
    assert np.shape(cell["quad"]) == (4, 2)


def test_a_text_over_two_rows_is_split_between_them(run: Run) -> None:
    upwards = [[5, 110], [5, 10], [15, 10], [15, 110]]
    read = {"rec_texts": ["iron 7.87"], "rec_scores": [0.9], "rec_polys": [upwards]}
    assert grid(run([[0, 0, 20, 60], [0, 60, 20, 120]], overall_ocr_res=read)) == [["7.87"], ["iron"]]


def test_no_list_of_models_by_device_is_asked(plugin: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    # PaddleX asks when it creates a model; as it stands, the pipeline has none of PaddleX's.
    monkeypatch.setattr("paddlex.inference.models.create_predictor", None)
    pipeline = plugin.create_pipeline("table_recognition_cells", device="cpu")
    assert list(pipeline.predict(np.full((40, 40, 3), 255, np.uint8)))
