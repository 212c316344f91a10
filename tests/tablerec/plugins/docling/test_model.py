"""The model on pages made by hand: text of documents, pictures, faults."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

pytest.importorskip("docling")

from docling.datamodel.accelerator_options import AcceleratorOptions
from docling.datamodel.base_models import Page, Table
from docling_core.types.doc import DocItemLabel

from postprocess.export.html import html_to_tables, table_to_html
from postprocess.word import Word
from tablerec.errors import SettingsError
from tablerec.plugins.docling import TablerecOptions, table_structure_engines
from tablerec.plugins.docling.model import TablerecModel
from tests.helpers.docling.pages import make_cell, make_cluster, make_page, make_result, to_html
from tests.helpers.drawing import Drawing, Look, draw_table, stack, table_to_spans
from tests.helpers.layouts import box_quad

ROOT = Path(__file__).resolve().parents[4]
ROWS = [
    ["Region", "Yield in 2024", "<"],
    ["^", "wheat", "rye"],
    ["North", "12.5", "8.1"],
    ["South", "9.7", "10.4"],
]
GEOMETRY = {"detector": "rulings"}


@pytest.fixture(scope="module")
def drawing() -> Drawing:
    return draw_table(ROWS, Look(size=20))


def make_model(**options: Any) -> TablerecModel:
    return TablerecModel(
        enabled=True,
        artifacts_path=None,
        options=TablerecOptions(**(GEOMETRY | options)),
        accelerator_options=AcceleratorOptions(device="cpu"),
    )


def page_of(drawing: Drawing, mode: int | None = 0, scale: float | None = None, **cluster: Any) -> Page:
    """A page that is one table, whose lines docling knows as text of a PDF, or by OCR where there is no mode."""
    height, width = drawing.image.shape[:2]
    units = scale or 1.0
    cells = [make_cell(word, units, None if mode is None else height / units, mode) for word in drawing.words]
    found = make_cluster((0, 0, width / units, height / units), cells, **cluster)
    page = make_page(drawing.image, [found], scale)
    if mode is not None:
        page.parsed_page.word_cells = cells
    return page


def read(model: TablerecModel, page: Page) -> Table:
    """The one table of a page."""
    (found,) = model.predict_tables(make_result(), [page])
    assert page.predictions.tablestructure is found
    (table,) = found.table_map.values()
    return table


def spans(table: Table) -> list[tuple[int, int, int, int, str]]:
    return [
        (
            cell.start_row_offset_idx,
            cell.start_col_offset_idx,
            cell.end_row_offset_idx,
            cell.end_col_offset_idx,
            cell.text,
        )
        for cell in table.table_cells
    ]


def test_docling_is_told_of_the_model_and_its_options() -> None:
    assert table_structure_engines() == {"table_structure_engines": [TablerecModel]}
    assert TablerecModel.get_options_type().kind == "tablerec"


def test_no_pages_and_pages_without_tables() -> None:
    model = make_model()
    empty = make_page(np.full((50, 50, 3), 255, np.uint8), [])
    text = make_page(np.full((50, 50, 3), 255, np.uint8), [make_cluster((5, 5, 40, 40), label=DocItemLabel.TEXT)])
    assert model.predict_tables(make_result(), []) == []
    assert [found.table_map for found in model.predict_tables(make_result(), [empty, text])] == [{}, {}]


def test_a_model_that_is_switched_off_loads_nothing_and_lets_pages_pass(drawing: Drawing) -> None:
    model = TablerecModel(False, None, TablerecOptions(), AcceleratorOptions(device="cpu"))
    page = page_of(drawing)
    assert list(model(make_result(), [page])) == [page] and page.predictions.tablestructure is None


@pytest.mark.parametrize("scale", [None, 1.0, 2.0, 200 / 72])
def test_text_of_the_document_is_taken_as_it_is(drawing: Drawing, scale: float | None) -> None:
    table = read(make_model(ocr="none"), page_of(drawing, scale=scale, number=5))
    assert spans(table) == drawing.spans
    assert (table.num_rows, table.num_cols, table.id, table.label) == (4, 3, 5, DocItemLabel.TABLE)
    for cell, drawn in zip(table.table_cells, drawing.table.cells, strict=True):
        expected = np.array(drawn.quad)[[0, 2]].ravel() / (scale or 1.0)
        assert np.allclose(cell.bbox.as_tuple(), expected, atol=3 / (scale or 1.0))


def test_headers_are_marked(drawing: Drawing) -> None:
    cells = read(make_model(ocr="none"), page_of(drawing)).table_cells
    assert [cell.text for cell in cells if cell.column_header] == ["Region", "Yield in 2024", "wheat", "rye"]
    assert [cell.text for cell in cells if cell.row_header] == ["North", "South"]


def test_words_of_a_line_are_joined_and_lines_are_taken_where_there_are_no_words(drawing: Drawing) -> None:
    page = page_of(drawing)
    page.parsed_page.word_cells = []
    assert spans(read(make_model(ocr="none"), page)) == drawing.spans
    parts = [
        line.part(match.start(), match.end()) for line in drawing.words for match in re.finditer(r"\S+", line.text)
    ]
    assert len(parts) == len(drawing.words) + 2
    page.parsed_page.word_cells = [make_cell(word, 1.0, page.size.height, 0) for word in parts]
    assert spans(read(make_model(ocr="none"), page)) == drawing.spans


def test_a_picture_is_read(drawing: Drawing) -> None:
    page = page_of(drawing, mode=None)
    for cell in page.predictions.layout.clusters[0].cells:
        cell.text = "what docling's OCR engine has read"
    assert spans(read(make_model(ocr="tablerec"), page)) == drawing.spans


def test_what_doclings_ocr_engine_has_read_is_taken_where_it_is_wanted(drawing: Drawing) -> None:
    assert spans(read(make_model(ocr="docling"), page_of(drawing, mode=None))) == drawing.spans


def test_pictures_between_words_of_the_document_are_what_doclings_ocr_engine_has_read(drawing: Drawing) -> None:
    page = page_of(drawing)
    written = page.parsed_page.word_cells
    page.parsed_page.word_cells = written[:-1]
    page.predictions.layout.clusters[0].cells = [*written[:-1], make_cell(drawing.words[-1])]
    assert spans(read(make_model(), page)) == drawing.spans


def test_the_hidden_text_of_a_scan_is_not_taken_for_what_the_page_shows(
    drawing: Drawing, caplog: pytest.LogCaptureFixture
) -> None:
    page = page_of(drawing, mode=3)
    for cell in page.parsed_page.word_cells:
        cell.text = "hidden"
    assert spans(read(make_model(ocr="tablerec"), page)) == drawing.spans
    assert "hidden" not in caplog.text


def test_every_text_is_in_a_cell_or_in_the_log(drawing: Drawing, caplog: pytest.LogCaptureFixture) -> None:
    """A title, hidden text and a word far outside of the grid."""
    page = page_of(drawing)
    image = np.vstack([np.full((70, drawing.image.shape[1], 3), 255, np.uint8), drawing.image])
    title = Word("Table 3: harvest by region", box_quad(20, 20, 250, 40))
    words = [title, *(Word(word.text, tuple((x, y + 70) for x, y in word.quad)) for word in drawing.words)]
    cells = [make_cell(word, 1.0, float(len(image)), 0) for word in words]
    hidden = make_cell(Word("secret", box_quad(30, 95, 60, 105)), 1.0, float(len(image)), 3)
    page = make_page(image, [make_cluster((0, 0, image.shape[1], len(image)), [*cells, hidden])])
    page.parsed_page.word_cells = [*cells, hidden]
    table = read(make_model(ocr="none"), page)
    told = [record.args[1] for record in caplog.records if "is in no cell" in record.message]
    assert sorted([cell.text for cell in table.table_cells] + told) == sorted(
        [word.text for word in words] + ["secret"]
    )
    assert title.text in told and "secret" in told
    assert "page 1, table 1" in caplog.text


def test_two_tables_of_a_page_are_read_each_for_itself(drawing: Drawing) -> None:
    other = draw_table([["x", "y"], ["1", "2"]], Look(size=20))
    image, words = stack([drawing, other], gap=30)
    cells = [make_cell(word, 1.0, float(len(image)), 0) for word in words]
    height = drawing.image.shape[0]
    page = make_page(
        image,
        [
            make_cluster((0, 0, image.shape[1], height), number=3),
            make_cluster((0, height + 35, image.shape[1], len(image)), number=9),
            make_cluster((0, height + 2, image.shape[1], height + 20), number=4, label=DocItemLabel.TEXT),
        ],
    )
    page.parsed_page.word_cells = cells
    (found,) = make_model(ocr="none").predict_tables(make_result(), [page])
    assert {number: spans(table) for number, table in found.table_map.items()} == {3: drawing.spans, 9: other.spans}


def test_a_table_that_fails_costs_neither_its_page_nor_the_document(
    drawing: Drawing, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, result = make_model(ocr="none"), make_result()
    page = page_of(drawing)
    page.predictions.layout.clusters.insert(0, make_cluster((-90, -90, -10, -10), number=8))
    (found,) = model.predict_tables(result, [page])
    assert list(found.table_map) == [1]
    assert "page 1, table 1 has no structure: the table that docling has found is not on the page" in caplog.text
    assert [error.module_name for error in result.errors] == ["TablerecModel"]
    assert "Traceback" not in caplog.text

    def explode(*_: object) -> None:
        raise ZeroDivisionError("by chance")

    monkeypatch.setattr(model._recognizer.detector, "detect", explode)
    (found,) = model.predict_tables(result, [page])
    assert found.table_map == {} and len(result.errors) == 3
    assert "ZeroDivisionError('by chance')" in result.errors[-1].error_message and "Traceback" in caplog.text


def test_a_page_that_cannot_be_read_is_let_pass(drawing: Drawing) -> None:
    page = page_of(drawing)
    page._backend.valid = False
    (found,) = make_model(ocr="none").predict_tables(make_result(), [page])
    assert found.table_map == {}


def test_how_sure_tables_are_is_the_pages_table_score(drawing: Drawing, caplog: pytest.LogCaptureFixture) -> None:
    result = make_result()
    make_model(ocr="none", min_confidence=0.0).predict_tables(result, [page_of(drawing)])
    assert 0 < result.confidence.pages[1].table_score <= 1 and "not sure" not in caplog.text
    with caplog.at_level(logging.WARNING):
        make_model(ocr="none", min_confidence=1.0).predict_tables(result, [page_of(drawing)])
    assert "page 1, table 1 is not sure" in caplog.text


@pytest.mark.parametrize(
    ("accelerator", "said", "device"),
    [
        ("auto", None, "cpu"),
        ("cpu", None, "cpu"),
        ("cuda", None, "gpu"),
        ("cuda:1", None, "gpu:1"),
        ("mps", None, "cpu"),
        ("cuda:1", "cpu", "cpu"),
        ("auto", "npu:0", "npu:0"),
    ],
)
def test_the_device_is_what_the_options_say_or_doclings_cuda_device(
    accelerator: str, said: str | None, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablerec.plugins.docling.options.find_obstacle", lambda _: "there is no card")
    options = TablerecOptions(device=said)
    assert options.to_settings(AcceleratorOptions(device=accelerator)).device == device


def test_docling_chooses_the_first_card_where_it_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablerec.plugins.docling.options.find_obstacle", lambda numbers: None)
    assert TablerecOptions().to_settings(AcceleratorOptions(device="auto")).device == "gpu:0"


def test_an_option_that_is_not_possible_is_refused_when_docling_makes_the_model() -> None:
    with pytest.raises(SettingsError, match="choose auto, tablerec"):
        make_model(ocr="guessing")


@pytest.mark.parametrize("name", ["spans.png", "empty_cells.png", "multiline.png", "rotated.jpg"])
def test_doclings_html_of_a_sample_has_the_structure_of_our_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    image = cv2.imread(str(ROOT / "data" / "samples" / name))
    model, pages = make_model(detector="auto", ocr="tablerec"), []
    recognize = model._recognizer.recognize
    monkeypatch.setattr(model._recognizer, "recognize", lambda picture: pages.append(recognize(picture)) or pages[-1])
    table = read(model, make_page(image, [make_cluster((0, 0, image.shape[1], image.shape[0]))]))
    (page,) = pages[0].pages
    assert np.array_equal(page.picture.image, image)
    assert html_spans(to_html(table)) == html_spans(table_to_html(page.tables[0]))


def html_spans(html: str) -> list[tuple[int, int, int, int, str]]:
    """Place and text of each cell, without regard to blanks."""
    return [(*span[:4], " ".join(span[4].split())) for span in table_to_spans(html_to_tables(html)[0])]
