"""Whole documents through docling's own pipeline; its layout model, whose weights are downloaded, has a stand-in."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pytest

pytest.importorskip("docling")
pytest.importorskip("torch", reason="docling's pipeline imports it")
pytest.importorskip("transformers", reason="docling's pipeline imports it")
pytest.importorskip("reportlab")

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = [["Region", "wheat", "rye"], ["North", "12.5", "8.1"], ["South", "9.7", "10.4"]]
XS, YS = [60, 160, 240, 320], [600, 625, 650, 675]


@pytest.fixture(scope="module")
def pdf() -> bytes:
    """Two pages with a title, a paragraph and a ruled table each; the second table holds one row less."""
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(400, 800))
    for rows in (ROWS, ROWS[:2]):
        canvas.drawString(60, 700, "Table 1: harvest")
        canvas.drawString(60, 400, "What follows is text.")
        ys = YS[3 - len(rows) :]
        canvas.grid(XS, ys)
        for row, top in zip(rows, reversed(ys), strict=False):
            for text, left in zip(row, XS, strict=False):
                canvas.drawString(left + 6, top - 17, text)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


@pytest.fixture(scope="module", params=["document", "docling"])
def converter(request: pytest.FixtureRequest) -> Iterator[Any]:
    """docling with tablerec, found by its entry point."""
    from docling.datamodel.base_models import Cluster, InputFormat, LayoutPrediction
    from docling.datamodel.pipeline_options import BaseLayoutOptions, PdfPipelineOptions
    from docling.document_converter import DocumentConverter, PdfFormatOption
    from docling.models.base_layout_model import BaseLayoutModel
    from docling.models.factories import get_layout_factory, get_table_structure_factory
    from docling_core.types.doc import BoundingBox, DocItemLabel

    from tablerec.plugins.docling import TablerecOptions

    class FixedOptions(BaseLayoutOptions):
        kind: ClassVar[str] = "fixed"

    class FixedLayout(BaseLayoutModel):
        """Knows where things are."""

        def __init__(self, **_: Any) -> None:
            pass

        @classmethod
        def get_options_type(cls) -> type[FixedOptions]:
            return FixedOptions

        def predict_layout(self, conv_res: Any, pages: Sequence[Any]) -> list[Any]:
            places = [
                (DocItemLabel.CAPTION, (58, 85, 200, 105)),
                (DocItemLabel.TABLE, (60, 125, 320, 200)),
                (DocItemLabel.TEXT, (58, 385, 300, 405)),
            ]
            boxes = [(label, BoundingBox(l=x0, t=y0, r=x1, b=y1)) for label, (x0, y0, x1, y1) in places]
            return [
                LayoutPrediction(
                    clusters=[Cluster(id=i, label=label, bbox=box) for i, (label, box) in enumerate(boxes)]
                )
                for _ in pages
            ]

    if "tablerec" not in get_table_structure_factory(allow_external_plugins=True).registered_kind:
        pytest.skip("tablerec is not installed, so it has no entry point")
    layouts = get_layout_factory(allow_external_plugins=True)
    layouts.register(FixedLayout, "tests", __name__)
    options = PdfPipelineOptions(
        allow_external_plugins=True,
        do_ocr=False,
        layout_options=FixedOptions(),
        table_structure_options=TablerecOptions(ocr="none", text=request.param),
    )
    yield DocumentConverter(format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=options)})
    del layouts.classes[FixedOptions]


def test_a_document_has_our_tables_in_its_place_between_its_other_texts(converter: Any, pdf: bytes) -> None:
    from docling.datamodel.base_models import DocumentStream

    result = converter.convert(DocumentStream(name="harvest.pdf", stream=io.BytesIO(pdf)))
    document = result.document
    assert (result.status.value, result.errors) == ("success", [])
    grids = [[[cell.text for cell in row] for row in table.data.grid] for table in document.tables]
    assert grids == [ROWS, ROWS[:2]]
    assert [len(table.data.table_cells) for table in document.tables] == [9, 6]
    assert [text.text for text in document.texts] == ["Table 1: harvest", "What follows is text."] * 2
    assert [table.caption_text(document) for table in document.tables] == ["Table 1: harvest"] * 2
    first = document.tables[0].data.table_cells[0]
    assert first.column_header
    assert first.bbox.as_tuple() == pytest.approx((60, 125, 160, 150), abs=1.5)
    assert 0 < result.confidence.table_score <= 1
    assert document.export_to_html().count("<table>") == 2
    assert [line.split() for line in document.export_to_markdown().splitlines() if "North" in line] == (
        [["|", "North", "|", "12.5", "|", "8.1", "|"]] * 2
    )


def test_docling_makes_no_model_of_ours_where_plugins_are_not_allowed() -> None:
    from docling.models.factories import get_table_structure_factory

    from tablerec.plugins.docling import TablerecOptions

    with pytest.raises(RuntimeError, match="tablerec"):
        get_table_structure_factory(allow_external_plugins=False).create_instance(options=TablerecOptions())
