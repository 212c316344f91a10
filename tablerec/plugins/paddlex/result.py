"""Results with the keys and methods of PaddleX's ``table_recognition_v2``, and with what only tablerec knows.

They draw and write without a font or anything else that would have to be downloaded.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import PIL.ImageDraw
from numpy.typing import NDArray
from paddlex.inference.models.object_detection.result import DetResult
from paddlex.inference.pipelines.ocr.result import OCRResult
from paddlex.inference.pipelines.table_recognition.result import SingleTableRecognitionResult, TableRecognitionResult
from paddlex.utils import logging

from postprocess.arrays import Image
from postprocess.cell import Cell
from postprocess.export import table_from_dict, table_to_html, tables_to_dicts, tables_to_html, write_excel
from postprocess.geometry.boxes import as_quads, cells_to_quads, quads_to_boxes
from postprocess.lineless.regions import words_inside
from postprocess.table import Table, tables_in
from postprocess.text.lines import words_to_text
from postprocess.word import Word
from tablerec.outputs.files import atomic_file, page_to_dict, save
from tablerec.outputs.overlay import draw_overlay
from tablerec.result import Page, Result

_BESIDE = 1.5
"""Text at most so many of its own heights above or below a table is beside it."""


class TableResult(SingleTableRecognitionResult):
    """One table: PaddleX's keys, and ``table`` with every cell as tablerec's JSON has it."""

    def save_to_xlsx(self, save_path: str, *args: Any, **kwargs: Any) -> None:
        """Write a workbook: a file, or ``NAME_table_1.xlsx`` and so on in a folder."""
        path = Path(save_path)
        if path.suffix.lower() != ".xlsx":
            path = path / f"{Path(self._get_input_fn()).stem}_table_{self['table_region_id']}.xlsx"
        content = io.BytesIO()
        write_excel([table_from_dict(self["table"])], content)
        with atomic_file(path) as file:
            file.write(content.getvalue())

    def _to_json(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        data = super()._to_json(*args, **kwargs)
        ours = ("table_region_id", "neighbor_texts", "table")
        return {"res": data["res"] | {key: self[key] for key in ours}}


class TablesResult(TableRecognitionResult):
    """The tables of a page.

    Attributes:
        page: What tablerec's own ``Recognizer`` returned, in pixels of ``doc_preprocessor_res["output_img"]``.
    """

    page: Page

    def save_to_all(self, save_path: str) -> None:
        """Write everything that can be written; the same as ``save_all``."""
        self.save_all(save_path)

    def save_to_xlsx(self, save_path: str, *args: Any, **kwargs: Any) -> None:
        """Write one workbook with a sheet for each table: a file, or ``NAME_tables.xlsx`` in a folder."""
        self._save(Path(save_path), "xlsx", "_tables")

    def save_to_html(self, save_path: str, *args: Any, **kwargs: Any) -> None:
        """Write all tables to one file, or ``NAME_table_1.html`` and so on in a folder."""
        if Path(save_path).suffix.lower() in (".html", ".htm"):
            self._save(Path(save_path), "html", "")
        else:
            super().save_to_html(save_path, *args, **kwargs)

    def _save(self, path: Path, format: str, ending: str) -> None:
        if path.suffix.lower() not in (f".{format}", ".htm"):
            path = path / f"{Path(self._get_input_fn()).stem}{ending}.{format}"
        if not self.page.tables:
            logging.warning("%s: no table found, so %s is not written", Path(self._get_input_fn()).name, path.name)
        save(Result(self.page.picture.source, (self.page,)), path, format)

    def _to_html(self) -> dict[str, str]:
        title = Path(self._get_input_fn()).name
        return {f"table_{number}": tables_to_html([table], title) for number, table in enumerate(self.page.tables, 1)}

    def _to_json(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        data = super()._to_json(*args, **kwargs)
        ours = page_to_dict(self.page)
        del ours["tables"]  # they are in table_res_list
        return {"res": data["res"] | {"page": ours}}

    def _to_img(self) -> dict[str, PIL.Image.Image]:
        pictures = {}
        if self["layout_det_res"]:
            pictures["layout_det_res"] = self["layout_det_res"].img["res"]
        if self["model_settings"]["use_doc_preprocessor"]:
            pictures["preprocessed_img"] = _to_pillow(self["doc_preprocessor_res"]["output_img"])
        pictures |= self["overall_ocr_res"].img
        if self.page.tables:
            pictures["table_cell_img"] = _to_pillow(draw_overlay(self.page))
        return pictures


class RegionsResult(DetResult):
    """Regions of a page; PaddleX's own class downloads a font to draw them."""

    def _to_img(self) -> dict[str, PIL.Image.Image]:
        boxes = [box["coordinate"][:4] for box in self["boxes"]]
        return {"res": _outlined(self["input_img"], [[(a, b), (c, b), (c, d), (a, d)] for a, b, c, d in boxes])}


class WordsResult(OCRResult):
    """The text of a page; PaddleX's own class downloads a font to draw it."""

    def _to_img(self) -> dict[str, PIL.Image.Image]:
        polygons = [[(int(x), int(y)) for x, y in polygon] for polygon in self["rec_polys"]]
        return {"ocr_res_img": _outlined(self["doc_preprocessor_res"]["output_img"], polygons)}


def page_to_result(
    page: Page,
    words: Sequence[Word],
    *,
    origin: dict[str, Any],
    preprocessed: Any,
    regions: RegionsResult | None,
    model_settings: dict[str, bool],
    reader_settings: dict[str, Any],
) -> TablesResult:
    """Put a page into PaddleX's form.

    Args:
        page: What was found.
        words: Those of its words that are sure enough.
        origin: ``input_path`` and ``page_index``.
        preprocessed: ``doc_preprocessor_res``; holds ``output_img``.
        regions: ``layout_det_res``.
        model_settings: ``use_doc_preprocessor``, ``use_layout_detection`` and ``use_ocr_model``.
        reader_settings: ``text_det_params`` and ``text_rec_score_thresh``.
    """
    settings = {"use_doc_preprocessor": False, "use_textline_orientation": False}
    texts = words_to_lists(words)
    read = {
        **origin, "doc_preprocessor_res": {"output_img": page.picture.image}, "dt_polys": texts["rec_polys"],
        "model_settings": settings, "text_type": "general", "return_word_box": False, "vis_fonts": [],
        **reader_settings, **texts,
    }  # fmt: skip
    result = TablesResult(
        {
            **origin,
            "doc_preprocessor_res": preprocessed,
            "layout_det_res": regions,
            "overall_ocr_res": WordsResult(read),
            "table_res_list": [
                TableResult(origin | _table_entry(table, data, number, words))
                for number, (table, data) in enumerate(zip(page.tables, tables_to_dicts(page.tables), strict=True), 1)
            ],
            "model_settings": model_settings,
        }
    )
    result.page = page
    return result


def words_to_lists(words: Sequence[Word]) -> dict[str, Any]:
    """Words as PaddleX's results hold them, in whole pixels.

    >>> words_to_lists([Word("7", ((1, 1), (4, 1), (4, 4), (1, 4)))])["rec_boxes"].tolist()
    [[1, 1, 4, 4]]
    """
    placed = [word for word in words if np.isfinite(word.quad).all()]
    quads = as_quads([word.quad for word in placed]).round()
    return {
        "rec_texts": [word.text for word in placed],
        "rec_scores": [float(word.score) for word in placed],
        "rec_polys": list(quads.astype(np.int32)),
        "rec_boxes": quads_to_boxes(quads).astype(np.int32),
    }


def _table_entry(table: Table, data: dict[str, Any], number: int, words: Sequence[Word]) -> dict[str, Any]:
    quads = table.quads
    inside = words_inside(words, quads)
    return {
        "cell_box_list": quads_to_boxes(cells_to_quads(_in_order(table))).tolist(),
        "pred_html": f"<html><body>{table_to_html(table)}</body></html>",
        "table_ocr_pred": words_to_lists(inside),
        "neighbor_texts": neighbor_texts(quads, words, inside),
        "table_region_id": number,
        "table": data,
    }


def _in_order(table: Table) -> Iterator[Cell]:
    """The cells as the HTML has them: those of a table in a cell after that cell."""
    for cell in table.cells:
        yield cell
        for inner in tables_in(cell):
            yield from _in_order(inner)


def neighbor_texts(quads: NDArray[np.float64], words: Sequence[Word], inside: Sequence[Word]) -> str:
    """Text right above or below a table, such as its title, in reading order; a semicolon and a blank after each.

    Args:
        quads: ``(N, 4, 2)`` cells of the table.
        words: All words.
        inside: Those in the table.

    >>> cells = as_quads([[[0, 20], [90, 20], [90, 40], [0, 40]]])
    >>> neighbor_texts(cells, [Word("Table 1", ((5, 4), (60, 4), (60, 14), (5, 14)))], [])
    'Table 1; '
    """
    taken = set(map(id, inside))
    others = [word for word in words if id(word) not in taken and np.isfinite(word.quad).all()]
    if not others or not len(quads):
        return ""
    boxes = quads_to_boxes(as_quads([word.quad for word in others]))
    (left, top), (right, bottom) = quads.min(axis=(0, 1)), quads.max(axis=(0, 1))
    across = np.minimum(boxes[:, 2], right) > np.maximum(boxes[:, 0], left)
    gap = np.maximum(top - boxes[:, 3], boxes[:, 1] - bottom)
    height = boxes[:, 3] - boxes[:, 1]
    near = across & (gap < _BESIDE * height) & (gap > -height / 2)
    beside = [word for word, is_near in zip(others, near, strict=True) if is_near]
    return "".join(f"{line}; " for line in words_to_text(beside).splitlines())


def _outlined(image: Image, polygons: Sequence[Sequence[tuple[float, float]]]) -> PIL.Image.Image:
    picture = _to_pillow(image)
    draw = PIL.ImageDraw.Draw(picture)
    width = max(1, round(max(picture.size) / 600))
    for polygon in polygons:
        draw.polygon([(float(x), float(y)) for x, y in polygon], outline=(220, 40, 40), width=width)
    return picture


def _to_pillow(image: Image) -> PIL.Image.Image:
    return PIL.Image.fromarray(np.ascontiguousarray(image[..., ::-1]))
