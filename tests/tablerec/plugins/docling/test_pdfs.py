"""Tables of PDFs, with the words that tablerec reads itself, and with those that docling knows."""

from __future__ import annotations

import pytest

pytest.importorskip("docling")
pytest.importorskip("rtree", reason="docling's reading of PDFs by PDFium imports it")

from docling.datamodel.accelerator_options import AcceleratorOptions

from tablerec.plugins.docling import TablerecOptions
from tablerec.plugins.docling.model import TablerecModel
from tests.helpers.docling.pages import make_cluster, open_pdf
from tests.helpers.pdf import make_document, make_pdf, text

pytestmark = pytest.mark.filterwarnings("ignore")

BOX = (50, 50, 250, 150)
"""The table of each page of ``make_document``, and of ``draw``."""


def draw(*extra: str) -> str:
    """Lines and texts of a table with two rows and two columns."""
    lines = [f"50 {y} m 250 {y} l S " for y in (50, 100, 150)] + [f"{x} 50 m {x} 150 l S " for x in (50, 150, 250)]
    texts = [text(60, 120, "a"), text(160, 120, "b"), text(60, 70, "c"), text(160, 70, "d")]
    return "".join([*lines, *texts, *extra])


def grid(content: bytes, number: int = 1, **options: str) -> list[list[str]]:
    """What docling gets of the table of a page."""
    result, page = open_pdf(content, [make_cluster(BOX)], number)
    said = TablerecOptions(**({"detector": "rulings", "ocr": "none"} | options))
    model = TablerecModel(True, None, said, AcceleratorOptions(device="cpu"))
    (found,) = model.predict_tables(result, [page])
    assert result.errors == []
    (table,) = found.table_map.values()
    rows = [[""] * table.num_cols for _ in range(table.num_rows)]
    for cell in table.table_cells:
        rows[cell.start_row_offset_idx][cell.start_col_offset_idx] = cell.text
        assert cell.bbox is not None
        left, top = 50 + 100 * cell.start_col_offset_idx, 50 + 50 * cell.start_row_offset_idx
        assert cell.bbox.as_tuple() == pytest.approx((left, top, left + 100, top + 50), abs=1.5)
    return rows


@pytest.mark.parametrize("said", ["document", "docling"])
def test_each_page_has_its_table(said: str) -> None:
    pdf = make_document(2)
    assert grid(pdf, 1, text=said) == [["a", "b"], ["c", "1"]]
    assert grid(pdf, 2, text=said) == [["a", "b"], ["c", "2"]]


@pytest.mark.parametrize("said", ["document", "docling"])
@pytest.mark.parametrize("page", [{"media": "-20 -10 280 190"}, {"page_extra": "/CropBox [20 10 280 190]"}])
def test_a_page_that_does_not_begin_at_nought(page: dict[str, str], said: str) -> None:
    """The place of the table moves with the page."""
    left, top = (20, -10 + 0) if "media" in page else (-20, -10)
    result, opened = open_pdf(make_pdf(draw(), **page), [make_cluster((50 + left, 50 + top, 250 + left, 150 + top))])
    model = TablerecModel(
        True, None, TablerecOptions(detector="rulings", ocr="none", text=said), AcceleratorOptions(device="cpu")
    )
    (found,) = model.predict_tables(result, [opened])
    assert [cell.text for cell in found.table_map[1].table_cells] == ["a", "b", "c", "d"]
    first = found.table_map[1].table_cells[0].bbox.as_tuple()
    assert first == pytest.approx((50 + left, 50 + top, 150 + left, 100 + top), abs=1.5)


def test_text_that_the_page_does_not_show_is_no_text_of_the_table(caplog: pytest.LogCaptureFixture) -> None:
    """A white box covers the text "gone"."""
    pdf = make_pdf(draw(text(200, 120, "gone"), "1 1 1 rg 195 112 40 20 re f "))
    assert grid(pdf) == [["a", "b"], ["c", "d"]]
    assert "'gone' is in no cell: the text layer holds it, but the page does not show it" in caplog.text
    assert grid(pdf, text="docling") == [["a", "b gone"], ["c", "d"]]


def test_a_document_that_tablerec_cannot_open_is_read_as_docling_knows_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tablerec.errors import InputError
    from tablerec.plugins.docling import model

    def refuse(*_: object) -> None:
        raise InputError("file.pdf needs a password")

    monkeypatch.setattr(model, "read_page", refuse)
    assert grid(make_document()) == [["a", "b"], ["c", "1"]]
    assert "page 1: file.pdf needs a password; docling's picture and text are taken instead" in caplog.text


def test_what_doclings_ocr_engine_has_read_is_never_mixed_with_our_own_reading() -> None:
    assert TablerecOptions().reads_documents and not TablerecOptions(ocr="docling").reads_documents
    assert grid(make_document(), ocr="docling") == [["a", "b"], ["c", "1"]]
