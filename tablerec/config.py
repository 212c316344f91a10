"""Settings of the main job: one frozen object, read by the CLI, the library and the notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tablerec.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Settings:
    """How a picture becomes tables.

    Args:
        detector: ``auto``, ``rulings``, ``words``, ``cellnet``, or the name of a PaddleX cell
            detector such as ``RT-DETR-L_wired_table_cell_det``. ``auto`` compares what rulings and
            words give with what CellNet finds, where its weights are in the package or in ``detector_dir``.
        detector_dir: Folder of a CellNet to use in place of the package's weights, or of a PaddleX model to
            use in place of the official ones.
        reader: ``rapidocr``, ``none``, ``paddlex`` for PaddleX models on this machine, or
            ``paddlex:FAMILY`` such as ``paddlex:PP-OCRv5_mobile``, which may be downloaded.
        device: Where the models run, in PaddleX's syntax: ``cpu``, ``gpu:0``, ``npu:1``.
        layout: ``page`` looks for any number of tables in the picture;
            ``table`` takes the whole picture as one table, as a user would crop it.
        turn: Degrees clockwise by which pictures are turned before they are read: 0, 90, 180 or 270.
            ``auto`` stands those upright whose text runs upwards, downwards or upside down.
        min_reader_score: Words below this score are reported as unplaced instead of
            written into cells; 0 to 1.
        pdf_dpi: Resolution at which PDF pages are drawn, dots per inch.
        join_pages: Join a table that goes on over several pages of a document; see ``postprocess.continuation``.
        max_megapixels: Larger pictures are refused, in million pixels.
        trace: Keep every stage of each page as ``Page.trace``, to be looked at; it holds the picture.

    Raises:
        SettingsError: A value outside its range.
    """

    detector: str = "auto"
    detector_dir: Path | None = None
    reader: str = "rapidocr"
    device: str = "cpu"
    layout: Literal["page", "table"] = "page"
    turn: Literal["auto", 0, 90, 180, 270] = "auto"
    min_reader_score: float = 0.3
    pdf_dpi: int = 200
    join_pages: bool = False
    max_megapixels: float = 100.0
    trace: bool = False

    def __post_init__(self) -> None:
        if self.layout not in ("page", "table"):
            raise SettingsError(f"layout {self.layout!r} is unknown: choose page or table")
        if self.turn not in ("auto", 0, 90, 180, 270):
            raise SettingsError(f"turn is {self.turn!r}: choose 'auto', 0, 90, 180 or 270")
        if not 0 <= self.min_reader_score <= 1:
            raise SettingsError(f"min_reader_score is {self.min_reader_score}: give a value from 0 to 1")
        if not 36 <= self.pdf_dpi <= 1200:
            raise SettingsError(f"pdf_dpi is {self.pdf_dpi}: give a value from 36 to 1200")
        if not self.max_megapixels > 0:
            raise SettingsError(f"max_megapixels is {self.max_megapixels}: give a value above 0")
