"""The pipeline ``table_recognition_cells``: PaddleX's models and tablerec's own around one ``Recognizer``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from paddlex.inference.pipelines._parallel import AutoParallelImageSimpleInferencePipeline
from paddlex.utils.device import SUPPORTED_DEVICE_TYPE

from postprocess.arrays import Floats, Image
from postprocess.geometry.boxes import as_boxes, boxes_to_quads, quads_to_boxes
from postprocess.table import Table
from tablerec.detect.regions import RegionDetector
from tablerec.devices import parse_device, require_device
from tablerec.errors import SettingsError
from tablerec.inputs.turning import ask_for_turn, choose_turn, turn_points
from tablerec.ocr import OcrEngine
from tablerec.paddlex_support import LazyModel
from tablerec.pipeline import Recognizer
from tablerec.plugins.paddlex.inputs import InputPage, PageSampler, read_inputs
from tablerec.plugins.paddlex.options import NAME, Request, to_request
from tablerec.plugins.paddlex.parts import Parts
from tablerec.plugins.paddlex.reading import KnownWords, OcrPipelineEngine, ocr_to_words
from tablerec.plugins.paddlex.result import RegionsResult, TablesResult, page_to_result
from tablerec.result import Page, PageImage


class TableRecognitionCellsPipeline(AutoParallelImageSimpleInferencePipeline):
    """What ``paddlex.create_pipeline`` makes of a file with ``pipeline_name: table_recognition_cells``.

    ``predict(input, **options)`` takes what PaddleX's table pipelines take and yields a ``TablesResult`` for each
    page. The options are those of ``table_recognition_v2``: see ``options.Request``.

    Args:
        config: A pipeline file, read.
        device: In PaddleX's syntax; several, as in ``gpu:0,1``, share the pages.
        options: ``engine`` and what else PaddleX gives its pipelines.

    Raises:
        SettingsError: The file names a part that does not exist, or there is no such device.
    """

    entities = NAME

    def __init__(self, config: Any, *, device: str | None = None, **options: Any) -> None:
        super().__init__(config, device=None if device is None else _check_device(device), **options)

    def predict(self, input: Any, **options: Any) -> Iterator[TablesResult]:
        """Read pages.

        Args:
            input: A path, an ``http`` address, a folder, a ``(H, W, 3)`` BGR array, or a list of these.
            options: Fields of ``options.Request`` and ``options.DETECTION_OPTIONS``.

        Raises:
            InputError: An input cannot be read.
            SettingsError: An option is unknown, or asks for a part that the pipeline has not.
        """
        if self.multi_device_inference:
            request = to_request(options)
            if request.given:
                raise SettingsError(f"{' and '.join(request.given)} belong to one page: use one device")
            # PaddleX tells what reads the inputs nothing of the options.
            input = read_inputs(input, request.document_settings(self.settings))
        yield from super().predict(input, **options)

    @property
    def _pipeline_cls(self) -> type[OneDevicePipeline]:
        return OneDevicePipeline

    def _get_batch_size(self, config: Any) -> int:
        return int(config.get("batch_size", 1))

    def _create_batch_sampler(self, batch_size: int) -> PageSampler:
        return PageSampler(batch_size)


class OneDevicePipeline(Parts):
    """The pipeline on one device."""

    def predict(self, input: Any, **options: Any) -> Iterator[TablesResult]:
        """See ``TableRecognitionCellsPipeline``."""
        request = to_request(options)
        self._check(request)
        for number, page in enumerate(read_inputs(input, request.document_settings(self.settings))):
            if number and request.given:
                raise SettingsError(f"{' and '.join(request.given)} belong to one page: call predict for each page")
            yield self._read(page, request)

    def _check(self, request: Request) -> None:
        """Refuse what the pipeline was not made for."""
        wanted = {
            "use_doc_orientation_classify": "doc_preprocessor",
            "use_doc_unwarping": "doc_preprocessor",
            "use_ocr_model": "ocr_model",
            "use_layout_detection": "layout_detection",
        }
        for option, part in wanted.items():
            # Without a model, tables are found by their cells, which needs no preparation.
            is_needed = part != "layout_detection" or self.part("LayoutDetection").get("model_name")
            if getattr(request, option) and is_needed and not self.uses(part):
                raise SettingsError(f"{option}: this part is not loaded; set `use_{part}: True` in the pipeline's file")
        if request.detection and self.ocr is None:
            raise SettingsError(
                f"{', '.join(request.detection)}: the OCR engine of this pipeline has no such option; give the file a "
                "GeneralOCR with `pipeline_name: OCR`"
            )

    def _read(self, page: InputPage, request: Request) -> TablesResult:
        settings = self._model_settings(request)
        preprocessed, picture = self._preprocess(page.picture, settings["use_doc_preprocessor"], request)
        if request.overall_ocr_res is not None:
            picture = replace(picture, words=tuple(ocr_to_words(request.overall_ocr_res)), layer=None)
        elif not settings["use_ocr_model"]:
            picture = replace(picture, words=(), layer=None)
        least = self._least_score(request)
        regions, found = self._recognize(picture, settings["use_layout_detection"], request, least)
        params = self.ocr.get_text_det_params(**request.detection) if self.ocr is not None else {}
        return page_to_result(
            found,
            [word for word in found.words if word.score >= least],
            origin={"input_path": page.path, "page_index": page.index},
            preprocessed=preprocessed,
            regions=regions,
            model_settings=settings,
            reader_settings={"text_det_params": params, "text_rec_score_thresh": least},
        )

    def _model_settings(self, request: Request) -> dict[str, bool]:
        asked = request.use_doc_orientation_classify, request.use_doc_unwarping
        looks, reads = request.use_layout_detection, request.use_ocr_model
        return {
            "use_doc_preprocessor": self.uses("doc_preprocessor") if asked == (None, None) else any(asked),
            "use_layout_detection": request.layout_det_res is None
            and (self.uses("layout_detection") if looks is None else looks),
            "use_ocr_model": request.overall_ocr_res is None and (self.uses("ocr_model") if reads is None else reads),
        }

    def _least_score(self, request: Request) -> float:
        """Words below this are in no cell: as asked for, or as the OCR pipeline has it, or as tablerec has it."""
        if request.text_rec_score_thresh is not None:
            return request.text_rec_score_thresh
        return self.settings.min_ocr_score if self.ocr is None else float(self.ocr.text_rec_score_thresh)

    def _preprocess(self, picture: PageImage, is_used: bool, request: Request) -> tuple[Any, PageImage]:
        """What PaddleX's preprocessor says of a page, and the page that comes out of it."""
        if not is_used:
            return {"output_img": picture.image}, picture
        assert self.preprocessor is not None  # see _check
        with self.lock:
            [done] = self.preprocessor.predict(
                picture.image,
                use_doc_orientation_classify=request.use_doc_orientation_classify,
                use_doc_unwarping=request.use_doc_unwarping,
            )
        # A PDF's own words are no longer where they were.
        return done, replace(picture, image=np.ascontiguousarray(done["output_img"]), words=None, layer=None)

    def _recognize(
        self, picture: PageImage, looks_for_tables: bool, request: Request, least: float
    ) -> tuple[RegionsResult | None, Page]:
        """Where tables are, as layout detection says it, and what the ``Recognizer`` finds in them."""
        engine = self.ocr_engine if self.ocr is None else OcrPipelineEngine(self.ocr, request.detection, self.lock)
        regions = self._regions(picture.image, looks_for_tables, request)
        detector = self.cells_of_page if looks_for_tables else self.cells_of_table
        turn: Any = 0 if request.use_table_orientation_classify is False else "auto"
        if regions is not None:
            boxes = as_boxes([box["coordinate"][:4] for box in regions["boxes"] if box["label"].lower() == "table"])
            turn, engine = self._choose_turn(picture, boxes, engine, request)
            upright = _turn_boxes(boxes, turn, picture.image)
            detector = RegionDetector(self.cells_of_table, lambda image, words: upright)
        elif turn == "auto" and self.orientation is not None:
            turn = _classify(picture.image, as_boxes([[0, 0, *picture.image.shape[1::-1]]]), self.orientation)
        settings = replace(self.settings, turn=turn, min_ocr_score=least)
        [page] = Recognizer(settings, detector=detector, ocr=engine).pages(picture)
        if regions is None and looks_for_tables:
            regions = _to_regions(picture.image, [_table_to_box(table) for table in page.tables])
        return regions, page

    def _regions(self, image: Image, looks_for_tables: bool, request: Request) -> RegionsResult | None:
        """Regions that were given, or that a model of PaddleX finds; None without either."""
        if request.layout_det_res is not None:
            return _to_regions(image, _known_boxes(request.layout_det_res))
        if not looks_for_tables or self.layout is None:
            return None
        with self.lock:
            return RegionsResult(next(iter(self.layout(image))))

    def _choose_turn(
        self, picture: PageImage, boxes: Floats, engine: OcrEngine, request: Request
    ) -> tuple[int, OcrEngine]:
        """How to stand a page upright whose tables are known, and an OCR engine that does not read it twice."""
        if request.use_table_orientation_classify is False:
            return 0, engine
        if self.orientation is not None:
            return _classify(picture.image, boxes, self.orientation), engine
        if picture.words is not None:
            return choose_turn(picture.image, picture.words, None) or 0, engine
        words = engine.read(picture.image)
        turn = choose_turn(picture.image, words, engine) or 0
        return turn, engine if turn else KnownWords(words, engine)


def _check_device(text: str) -> str:
    """The name in PaddleX's syntax; PaddleX's own check is an assertion without a word."""
    device = parse_device(text)
    if device.kind not in SUPPORTED_DEVICE_TYPE:
        raise SettingsError(f"device {text!r} is unknown to PaddleX: choose from {', '.join(SUPPORTED_DEVICE_TYPE)}")
    require_device(device)
    return str(device)


def _known_boxes(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    try:
        boxes = [{"score": 1.0, "cls_id": 0, **box} for box in given["boxes"]]
        as_boxes([box["coordinate"][:4] for box in boxes if box["label"].lower() == "table"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SettingsError(
            f"layout_det_res cannot be used ({error!r}): give a DetResult of PaddleX, with label and coordinate"
        ) from error
    return boxes


def _classify(image: Image, boxes: Floats, classifier: LazyModel) -> int:
    """Degrees clockwise, as PaddleX's classifier says of most of the tables' area."""
    shares = dict.fromkeys((0, 90, 180, 270), 0)
    for left, top, right, bottom in boxes.round().clip(0).astype(int).tolist():
        crop = np.ascontiguousarray(image[top:bottom, left:right])
        shares[ask_for_turn(crop, classifier)] += crop.size
    return max(shares, key=lambda turn: shares[turn])


def _turn_boxes(boxes: Floats, turn: int, image: Image) -> Floats:
    return quads_to_boxes(turn_points(boxes_to_quads(boxes), turn, (image.shape[1], image.shape[0])))


def _to_regions(image: Image, boxes: Sequence[Any]) -> RegionsResult:
    return RegionsResult({"input_path": None, "page_index": None, "input_img": image, "boxes": boxes})


def _table_to_box(table: Table) -> dict[str, Any]:
    """A table that was found by its cells, as layout detection would say it."""
    corners = table.quads.reshape(-1, 2)
    scores = [cell.detector_score for cell in table.cells if cell.detector_score is not None]
    coordinate = [*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist()]
    return {"cls_id": 0, "label": "table", "score": float(np.mean(scores)) if scores else 1.0, "coordinate": coordinate}
