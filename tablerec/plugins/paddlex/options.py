"""What a pipeline file and ``predict`` may say: everything counts or is refused, nothing is passed over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from tablerec.config import Settings
from tablerec.errors import SettingsError
from tablerec.inputs.images import display_name

NAME = "table_recognition_cells"

DOCUMENT_KEYS = ("text_layer", "pages", "password", "max_page_seconds", "max_page_memory")
"""Fields of ``Settings`` that a pipeline file may say, on its first level."""

_KEYS = {
    "": {
        *("pipeline_name", "use_doc_preprocessor", "use_layout_detection", "use_ocr_model", "batch_size"),
        *("SubModules", "SubPipelines", "Serving", "engine", "engine_config", "use_hpip", "hpi_config"),
        *DOCUMENT_KEYS,
    },
    "SubModules": {"LayoutDetection", "TableOrientationClassify", "TableCellsDetection"},
    "SubPipelines": {"DocPreprocessor", "GeneralOCR"},
}

ENGINE_KEYS = ("engine", "engine_config", "use_hpip", "hpi_config", "genai_config", "batch_size")
"""How PaddleX runs a model."""
MODEL_OPTIONS = {
    "LayoutDetection": ("threshold", "layout_nms", "layout_unclip_ratio", "layout_merge_bboxes_mode"),
    "TableCellsDetection": ("threshold",),
}
"""What else the file may say of a model."""
_MODEL_KEYS = {"module_name", "model_name", "model_dir", *ENGINE_KEYS}

DETECTION_OPTIONS = (
    "text_det_limit_side_len",
    "text_det_limit_type",
    "text_det_thresh",
    "text_det_box_thresh",
    "text_det_unclip_ratio",
)
"""Options of ``predict`` that PaddleX's OCR pipeline takes."""

_NO_CHOICE = {
    "use_e2e_wired_table_rec_model": ((None, False), "there is no structure model: cells make the table"),
    "use_e2e_wireless_table_rec_model": ((None, False), "there is no structure model: cells make the table"),
    "use_wired_table_cells_trans_to_html": ((None, False, True), ""),
    "use_wireless_table_cells_trans_to_html": ((None, False, True), ""),
    "use_ocr_results_with_table_cells": ((None, True), "words are always split at the borders of cells"),
    "use_table_cells_ocr_results": ((None, False), "cells are not read one by one"),
}
"""Options of PaddleX's table pipelines about parts that this one has not: the values that change nothing, and why."""


@dataclass(frozen=True, slots=True)
class Request:
    """What one call of ``predict`` asks for; None stands for what the pipeline file says.

    Args:
        use_doc_orientation_classify: Turn the page upright with PaddleX's model, before all else.
        use_doc_unwarping: Flatten the page with PaddleX's model.
        use_layout_detection: Look for tables on the page; False takes the picture as one table.
        use_ocr_model: Read the text; a page of a PDF that holds its text is not read.
        overall_ocr_res: Text that was read before, as PaddleX's ``OCRResult``.
        layout_det_res: Regions that were found before, as PaddleX's ``DetResult``; those labelled ``table`` count.
        use_table_orientation_classify: Stand tables upright that lie on their side or upside down; None is True.
        text_rec_score_thresh: Words below this score are in no cell, 0 to 1.
        text_layer: Whether the text that a PDF holds is believed: ``auto``, ``use`` or ``ignore``.
        pages: Pages of documents to read, such as ``1-3,7``.
        password: Of PDFs that ask for one.
        detection: ``DETECTION_OPTIONS`` that were given.

    Raises:
        SettingsError: Results were given of a part that is asked for at the same time.
    """

    use_doc_orientation_classify: bool | None = None
    use_doc_unwarping: bool | None = None
    use_layout_detection: bool | None = None
    use_ocr_model: bool | None = None
    overall_ocr_res: Mapping[str, Any] | None = None
    layout_det_res: Mapping[str, Any] | None = None
    use_table_orientation_classify: bool | None = None
    text_rec_score_thresh: float | None = None
    text_layer: str | None = None
    pages: str | None = None
    password: str | None = field(default=None, repr=False)
    detection: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for given, switch in (("overall_ocr_res", "use_ocr_model"), ("layout_det_res", "use_layout_detection")):
            if getattr(self, given) is not None and getattr(self, switch):
                raise SettingsError(f"{given} was given and {switch} is True: set {switch}=False, or leave {given} out")

    def document_settings(self, settings: Settings) -> Settings:
        """Return how documents are read: as asked for, or as the pipeline file says.

        Raises:
            SettingsError: What was asked for does not exist.
        """
        asked = {name: getattr(self, name) for name in ("text_layer", "pages", "password")}
        return replace(settings, **{name: value for name, value in asked.items() if value is not None})

    @property
    def given(self) -> list[str]:
        """Options that hold results of one page."""
        return [name for name in ("overall_ocr_res", "layout_det_res") if getattr(self, name) is not None]


def to_request(options: Mapping[str, Any]) -> Request:
    """Read the keyword options of ``predict``.

    Raises:
        SettingsError: One is unknown, or asks for a part that this pipeline has not.

    >>> to_request({"text_det_thresh": 0.2, "use_e2e_wired_table_rec_model": False}).detection
    {'text_det_thresh': 0.2}
    """
    known = {name: value for name, value in options.items() if name in Request.__dataclass_fields__}
    for name, value in options.items():
        if name in _NO_CHOICE and value not in _NO_CHOICE[name][0]:
            raise SettingsError(f"{name} is {value!r}: {_NO_CHOICE[name][1]}; leave it out")
    unknown = options.keys() - known.keys() - _NO_CHOICE.keys() - set(DETECTION_OPTIONS)
    if unknown or "detection" in known:
        names = sorted({*Request.__dataclass_fields__, *DETECTION_OPTIONS} - {"detection"})
        raise SettingsError(f"{', '.join(sorted(unknown))}: no such option of {NAME}; there are {', '.join(names)}")
    given = {name: options[name] for name in DETECTION_OPTIONS if options.get(name) is not None}
    return Request(**known, detection=given)


def check_config(config: Mapping[str, Any]) -> None:
    """Refuse a pipeline file with parts that this pipeline has not.

    Raises:
        SettingsError: It names the part and those there are.

    >>> check_config({"pipeline_name": "table_recognition_cells", "SubModules": {"SealDetection": {}}})
    Traceback (most recent call last):
    postprocess.errors.SettingsError: SubModules of table_recognition_cells: SealDetection is not a part of it; the \
parts are LayoutDetection, TableCellsDetection, TableOrientationClassify
    """
    for place, known in _KEYS.items():
        part = config.get(place) or {} if place else config
        if not isinstance(part, Mapping):
            raise SettingsError(f"{place} of {NAME} is {part!r}: write a name and its settings for each part")
        _refuse_unknown(f"{place} of {NAME}" if place else NAME, part, known)
    for name, part in (config.get("SubModules") or {}).items():
        _refuse_unknown(name, part or {}, _MODEL_KEYS | set(MODEL_OPTIONS.get(name, ())))


def _refuse_unknown(place: str, names: Iterable[str], known: set[str]) -> None:
    unknown = sorted(set(names) - known)
    if unknown:
        raise SettingsError(
            f"{place}: {', '.join(unknown)} is not a part of it; the parts are {', '.join(sorted(known))}"
        )


def no_pipeline(name: str, known: Iterable[str]) -> SettingsError:
    """Say that a pipeline does not exist, and which one may be meant.

    >>> print(no_pipeline("table_recognition_cell", ["OCR", "table_recognition_cells"]))
    no pipeline is called table_recognition_cell; did you mean table_recognition_cells? A file of your own ends in .yaml
    """
    names = sorted(known)
    meant = get_close_matches(name, names, n=1)
    hint = f"did you mean {meant[0]}?" if meant else f"there are {', '.join(names)}."
    return SettingsError(f"no pipeline is called {display_name(name)}; {hint} A file of your own ends in .yaml")


def command_line_arguments() -> list[dict[str, Any]]:
    """The options of ``predict`` as PaddleX's command line wants them: name, type and help.

    >>> [option["name"] for option in command_line_arguments()][:2]
    ['--use_doc_orientation_classify', '--use_doc_unwarping']
    """
    return [{"name": f"--{name}", "type": kind, "help": text} for name, (kind, text) in _ARGUMENTS.items()]


_ARGUMENTS = {
    "use_doc_orientation_classify": (bool, "Turn the page upright with a model, before all else"),
    "use_doc_unwarping": (bool, "Flatten the page with a model"),
    "use_layout_detection": (bool, "Look for tables on the page; False takes the picture as one table"),
    "use_ocr_model": (bool, "Read the text"),
    "use_table_orientation_classify": (bool, "Stand tables upright that lie on their side or upside down"),
    "text_det_limit_side_len": (int, "Limit of the picture's side for PaddleX's text detection"),
    "text_det_limit_type": (str, "What the limit is for: min or max"),
    "text_det_thresh": (float, "Least score of a pixel for PaddleX's text detection"),
    "text_det_box_thresh": (float, "Least score of a box for PaddleX's text detection"),
    "text_det_unclip_ratio": (float, "How far PaddleX's text detection grows its boxes"),
    "text_rec_score_thresh": (float, "Words below this score are in no cell"),
    "text_layer": (str, "Whether the text that a PDF holds is believed: auto, use or ignore"),
    "pages": (str, "Pages of documents to read, such as 1-3,7"),
    "password": (str, "Of PDFs that ask for one"),
}
