"""The options of the table structure model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from docling.datamodel.accelerator_options import AcceleratorOptions
from docling.datamodel.pipeline_options import BaseTableStructureOptions
from pydantic import Field

from tablerec.config import Settings
from tablerec.devices.cuda import find_obstacle
from tablerec.devices.select import AUTO

DOCLING = "docling"
"""As the OCR engine: what docling's own has read. As the source of text: what docling knows of it."""


class TablerecOptions(BaseTableStructureOptions):
    """How tables are read; those options that ``Settings`` has mean the same here.

    >>> TablerecOptions(detector="rulings").kind
    'tablerec'
    """

    kind: ClassVar[str] = "tablerec"

    text: Annotated[
        Literal["document", "docling"],
        Field(
            description="Where the words of a PDF are from. document: tablerec opens the PDF itself, draws its pages, "
            "and believes their text as far as they show it; docling: what docling knows, as always with ocr=docling."
        ),
    ] = "document"
    detector: Annotated[str, Field(description="What finds cells: auto, cellnet, rulings, words or paddlex.")] = "auto"
    detector_dir: Annotated[Path | None, Field(description="Folder of a CellNet of one's own.")] = None
    ocr: Annotated[
        str,
        Field(
            description="What reads tables whose text the document does not hold: auto, tablerec, rapidocr, paddlex, "
            "none, or docling for the text that docling's OCR engine has read."
        ),
    ] = "auto"
    ocr_dir: Annotated[Path | None, Field(description="Folder of a LineNet of one's own.")] = None
    device: Annotated[
        str | None,
        Field(
            description="cpu, gpu:0 and so on; without it docling's accelerator where that is of CUDA, else the CPU."
        ),
    ] = None
    min_confidence: Annotated[
        float, Field(ge=0, le=1, description="Tables less sure than this are logged, with what to check first.")
    ] = 0.5

    @property
    def reads_documents(self) -> bool:
        """Whether PDFs are opened, besides docling's own reading of them."""
        return self.text == "document" and self.ocr != DOCLING

    def to_settings(self, accelerator: AcceleratorOptions) -> Settings:
        """Say the same as settings of tablerec.

        Raises:
            SettingsError: A value is not possible.
        """
        return Settings(
            detector=self.detector,
            detector_dir=self.detector_dir,
            ocr="none" if self.ocr == DOCLING else self.ocr,
            ocr_dir=self.ocr_dir,
            device=self.device or _to_device(str(getattr(accelerator.device, "value", accelerator.device))),
            layout="table",
        )


def _to_device(accelerator: str) -> str:
    """The device that docling names where it is one of CUDA; with ``auto`` the first card if it can be used."""
    if accelerator.startswith("cuda"):
        return f"gpu{accelerator.removeprefix('cuda')}"
    return "gpu:0" if accelerator == AUTO and find_obstacle((0,)) is None else "cpu"
