"""Settings of the main job: one frozen object, read by the CLI, the library and the notebooks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypedDict

from tablerec.errors import SettingsError
from tablerec.page_numbers import PageNumbers, parse_pages


@dataclass(frozen=True, slots=True)
class Settings:
    """How a picture becomes tables.

    Args:
        detector: ``auto``, ``rulings``, ``words``, ``cellnet``, ``paddlex``, or the name of a PaddleX cell
            detector such as ``RT-DETR-L_wired_table_cell_det``. ``auto`` compares what rulings and
            words give with what CellNet finds, where its weights are in the package or in ``detector_dir``;
            ``paddlex`` the same with PaddleX's two detectors, ``PP-LCNet_x1_0_table_cls`` has PaddleX's
            classifier of tables choose one of the two.
        detector_dir: Folder of a CellNet to use in place of the package's weights, or of a PaddleX model to
            use in place of the official ones.
        ocr: ``auto``, ``tablerec``, ``rapidocr``, ``none``, ``paddlex``, or ``paddlex:FAMILY`` such as
            ``paddlex:PP-OCRv5_mobile``. ``tablerec`` reads with LineNet, the network of the package; ``auto`` has
            ``rapidocr`` read again what LineNet is not sure of.
        device: Where the models run, in PaddleX's syntax: ``cpu``, ``gpu:0``, ``npu:1``; several, as in
            ``gpu:0,1``, share the inputs of the command line. ``gpu`` is an NVIDIA card, on which ONNX Runtime runs our
            networks (extra ``gpu``) and Paddle those of PaddleX. ``auto`` is all cards that ONNX Runtime can use, and
            with a warning the CPU where there are none; with any other name nothing falls back.
        layout: ``page`` looks for any number of tables in the picture;
            ``table`` takes the whole picture as one table, as a user would crop it.
        turn: Degrees clockwise by which pictures are turned before they are read: 0, 90, 180 or 270.
            ``auto`` stands those upright whose text runs upwards, downwards or upside down;
            ``PP-LCNet_x1_0_doc_ori`` asks PaddleX's classifier of orientations.
        seals: ``separate`` reads print without the seals and stamps of coloured ink that lie over it, and these apart
            (``Page.seals``); ``keep`` leaves the picture as it is.
        cell_pictures: Keep photographs, drawings and logos that lie in cells as ``Cell.pictures``, for HTML and
            workbooks.
        min_ocr_score: Words below this score are reported as unplaced instead of
            written into cells; 0 to 1.
        pdf_dpi: Resolution at which PDF pages are drawn, dots per inch.
        text_layer: ``auto`` believes the text of a PDF page as far as the page shows it, and reads the rest;
            ``use`` takes all text that is there, also what is hidden; ``ignore`` reads the picture.
        pages: Pages of a document to read, counted from 1, such as ``1-3,7`` or ``5-``; all where None. Counts for
            files; pictures and arrays that are handed over one by one are all read.
        password: Of PDFs that ask for one. It is in no message, log, trace or result.
        max_page_seconds: Time for drawing a page of a PDF, in seconds, after which it is refused.
        max_page_memory: Memory for drawing it, in GiB; counts on Linux.
        join_pages: Join a table that goes on over several pages of a document; see
            ``postprocess.captions.continuation``.
        max_megapixels: Larger pictures are refused, in million pixels.
        trace: Keep every stage of each page as ``Page.trace``, to be looked at; it holds the picture.
        engine: What runs PaddleX's models: ``paddle_static``, ``paddle_dynamic``, ``transformers``,
            ``onnxruntime`` or ``hpi``; None has PaddleX choose one of Paddle's by the files of the model.
        models_dir: Folder with PaddleX models, each in a folder of its own, looked at before PaddleX's cache.
        layout_model: A PaddleX layout model such as ``PP-DocLayout-S``, which says where the tables of a page are;
            each is then read as ``table``.
        unwarp: ``auto`` flattens bent pages by their lines of text, their rulings and their edges; ``UVDoc`` has this
            network flatten every picture first; ``off`` reads the picture as it is. Corners are in pixels of the
            picture as given, but with ``UVDoc`` of the flattened one where the engine tells no map.
        ocr_dir: Folder of a LineNet to use in place of the package's weights, with ``auto`` and ``tablerec``.

    Raises:
        SettingsError: A value outside its range.
    """

    detector: str = "auto"
    detector_dir: Path | None = None
    ocr: str = "auto"
    device: str = "cpu"
    layout: Literal["page", "table"] = "page"
    turn: Literal["auto", "PP-LCNet_x1_0_doc_ori", 0, 90, 180, 270] = "auto"
    seals: Literal["separate", "keep"] = "separate"
    cell_pictures: bool = False
    min_ocr_score: float = 0.3
    pdf_dpi: int = 200
    text_layer: Literal["auto", "use", "ignore"] = "auto"
    pages: str | None = None
    password: str | None = field(default=None, repr=False)
    max_page_seconds: float = 60.0
    max_page_memory: float = 2.0
    join_pages: bool = False
    max_megapixels: float = 100.0
    trace: bool = False
    engine: str | None = None
    models_dir: Path | None = None
    layout_model: str | None = None
    unwarp: Literal["auto", "UVDoc", "off"] = "auto"
    ocr_dir: Path | None = None

    def __post_init__(self) -> None:
        if self.layout not in ("page", "table"):
            raise SettingsError(f"layout {self.layout!r} is unknown: choose page or table")
        if self.turn not in ("auto", "PP-LCNet_x1_0_doc_ori", 0, 90, 180, 270):
            raise SettingsError(f"turn is {self.turn!r}: choose 'auto', 'PP-LCNet_x1_0_doc_ori', 0, 90, 180 or 270")
        if self.seals not in ("separate", "keep"):
            raise SettingsError(f"seals {self.seals!r} is unknown: choose separate or keep")
        if self.unwarp not in ("auto", "UVDoc", "off"):
            raise SettingsError(f"unwarp is {self.unwarp!r}: choose 'auto', 'UVDoc' or 'off'")
        if not 0 <= self.min_ocr_score <= 1:
            raise SettingsError(f"min_ocr_score is {self.min_ocr_score}: give a value from 0 to 1")
        if not 36 <= self.pdf_dpi <= 1200:
            raise SettingsError(f"pdf_dpi is {self.pdf_dpi}: give a value from 36 to 1200")
        if self.text_layer not in ("auto", "use", "ignore"):
            raise SettingsError(f"text_layer {self.text_layer!r} is unknown: choose auto, use or ignore")
        for name in ("max_page_seconds", "max_page_memory"):
            if not 0 < getattr(self, name) < float("inf"):
                raise SettingsError(f"{name} is {getattr(self, name)}: give a value above 0")
        parse_pages(self.pages)
        if not isinstance(self.password, (str, type(None))):
            raise SettingsError("password is no text: write it in quotes")
        if not self.max_megapixels > 0:
            raise SettingsError(f"max_megapixels is {self.max_megapixels}: give a value above 0")

    @property
    def page_numbers(self) -> PageNumbers:
        """``pages``, read."""
        return parse_pages(self.pages)


class RecognizeOptions(TypedDict, total=False):
    """The fields of ``Settings`` as keyword options, so that editors and type checkers know those of ``recognize``."""

    detector: str
    detector_dir: Path | None
    ocr: str
    device: str
    layout: Literal["page", "table"]
    turn: Literal["auto", "PP-LCNet_x1_0_doc_ori", 0, 90, 180, 270]
    seals: Literal["separate", "keep"]
    cell_pictures: bool
    min_ocr_score: float
    pdf_dpi: int
    text_layer: Literal["auto", "use", "ignore"]
    pages: str | None
    password: str | None
    max_page_seconds: float
    max_page_memory: float
    join_pages: bool
    max_megapixels: float
    trace: bool
    engine: str | None
    models_dir: Path | None
    layout_model: str | None
    unwarp: Literal["auto", "UVDoc", "off"]
    ocr_dir: Path | None
