"""The parts of the pipeline, as its file names them: PaddleX's models, or tablerec's own."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from paddlex.inference.pipelines.base import BasePipeline
from paddlex.utils.device import get_default_device

from tablerec.config import Settings
from tablerec.detect import CellDetector
from tablerec.detect.factory import has_cellnet, make_detector
from tablerec.detect.paddlex import THRESHOLD, PaddleXDetector
from tablerec.detect.regions import RegionDetector, detections_to_boxes
from tablerec.errors import SettingsError
from tablerec.inputs.turning import ORIENTATION
from tablerec.ocr import OcrEngine, make_ocr_engine
from tablerec.ocr.paddlex import keep_all_lines
from tablerec.paddlex_support import LazyModel
from tablerec.plugins.paddlex.options import DOCUMENT_KEYS, ENGINE_KEYS, MODEL_OPTIONS, NAME, check_config
from tablerec.plugins.paddlex.reading import OcrPipelineEngine

OUR_READERS = ("auto", "tablerec", "rapidocr")
"""As ``--ocr`` has them; the first is taken where the file names none."""
OUR_DETECTORS = ("auto", "cellnet", "rulings", "words")
"""Not case-sensitive, so that ``CellNet`` may be written as PaddleX writes names of models."""
OUR_NETWORKS = ("auto", "cellnet")
"""Those that take weights from a folder."""


class Parts(BasePipeline):
    """What the pipeline is made of.

    Args:
        config: A pipeline file, read.
        options: ``device``, ``engine`` and what else PaddleX gives its pipelines.

    Raises:
        SettingsError: The file names a part that does not exist or cannot be loaded.
    """

    def __init__(self, config: Mapping[str, Any], **options: Any) -> None:
        super().__init__(**options)
        check_config(config)
        self.config = config
        self.lock = threading.Lock()
        """Held while a model of PaddleX predicts: they are not made for several threads."""
        said = {key: config[key] for key in DOCUMENT_KEYS if config.get(key) is not None}
        self.settings = Settings(device=self.device or get_default_device(), **said)
        self.layout = self._model("LayoutDetection") if self.uses("layout_detection") else None
        orientation = self._model("TableOrientationClassify")
        self.orientation = None if orientation is None else LazyModel(ORIENTATION, model=orientation)
        self.cells_of_table, self.cells_of_page = self._cells()
        self.preprocessor = self._pipeline("DocPreprocessor") if self.uses("doc_preprocessor") else None
        self.ocr, self.ocr_engine = self._reading()
        theirs = (self.layout, self.orientation, self.preprocessor, self.ocr)
        if (self.engine or self.use_hpip) and not (self.has_paddlex_cells or any(part is not None for part in theirs)):
            raise SettingsError(
                f"engine and use_hpip are for models of PaddleX, and {NAME} as it stands has none: leave them out, or "
                "name a model in the pipeline's file"
            )

    @property
    def has_paddlex_cells(self) -> bool:
        """Whether a model of PaddleX finds the cells."""
        return isinstance(self.cells_of_table, PaddleXDetector)

    def uses(self, part: str) -> bool:
        """Whether the file switches ``doc_preprocessor``, ``layout_detection`` or ``ocr_model`` on."""
        return bool(self.config.get(f"use_{part}", part != "doc_preprocessor"))

    def part(self, name: str, place: str = "SubModules") -> Mapping[str, Any]:
        """What the file says of a part; empty where it says nothing."""
        return (self.config.get(place) or {}).get(name) or {}

    def _model(self, name: str) -> Any:
        """A model of PaddleX; None where the file names none."""
        part = self.part(name)
        if not part.get("model_name"):
            return None
        options = {key: part[key] for key in MODEL_OPTIONS.get(name, ()) if part.get(key) is not None}
        try:
            return self.create_model(dict(part), **options)
        except Exception as error:  # PaddleX raises bare Exception for a failed download
            raise SettingsError(
                f"{name}: PaddleX cannot load {part['model_name']} from {part.get('model_dir') or 'its own folder'} "
                f"({error!r}): correct model_name, or give model_dir"
            ) from error

    def _pipeline(self, name: str) -> Any:
        part = self.part(name, "SubPipelines")
        if not part.get("pipeline_name"):
            raise SettingsError(f"SubPipelines of {NAME}: {name} needs its pipeline_name and its SubModules")
        try:
            return self.create_pipeline(dict(part))
        except Exception as error:  # as above
            raise SettingsError(
                f"{name}: PaddleX cannot create it ({error!r}): correct its names, or give model_dir"
            ) from error

    def _cells(self) -> tuple[CellDetector, CellDetector]:
        """What finds the cells of a picture that is one table, and those of a page."""
        part = self.part("TableCellsDetection")
        name = part.get("model_name") or "auto"
        if name.lower() not in OUR_DETECTORS:
            tables = make_detector(self.settings)
            model = self._model("TableCellsDetection")
            cells = PaddleXDetector(name, threshold=part.get("threshold", THRESHOLD), model=model)
            return cells, RegionDetector(cells, lambda image, words: detections_to_boxes(tables.detect(image, words)))
        if given := [key for key in (*ENGINE_KEYS, "threshold") if part.get(key)]:
            raise SettingsError(f"TableCellsDetection: {name} is not run by PaddleX and takes no {', '.join(given)}")
        folder = Path(part["model_dir"]) if part.get("model_dir") else None
        if folder and not (name.lower() in OUR_NETWORKS and has_cellnet(folder)):
            raise SettingsError(
                f"TableCellsDetection: {name} cannot take its model from {folder}: with model_name CellNet or auto it "
                "must hold an exported CellNet; for a model of PaddleX give the model_name that its inference.yml has"
            )
        settings = replace(self.settings, detector=name.lower(), detector_dir=folder)
        return make_detector(replace(settings, layout="table")), make_detector(settings)

    def _reading(self) -> tuple[Any, OcrEngine]:
        """PaddleX's OCR pipeline or None, and the OCR engine."""
        if not self.uses("ocr_model"):
            return None, make_ocr_engine(replace(self.settings, ocr="none"))
        part = self.part("GeneralOCR", "SubPipelines")
        if (name := part.get("pipeline_name", OUR_READERS[0])) in OUR_READERS:
            if given := sorted(part.keys() - {"pipeline_name"}):
                raise SettingsError(f"GeneralOCR: {name} takes no {', '.join(given)}; pipeline_name: OCR does")
            return None, make_ocr_engine(replace(self.settings, ocr=name))
        pipeline = self._pipeline("GeneralOCR")
        keep_all_lines(pipeline.text_det_model)
        return pipeline, OcrPipelineEngine(pipeline, {}, self.lock)
