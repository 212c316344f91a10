"""The options of the table structure model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from docling.datamodel.accelerator_options import AcceleratorOptions
from docling.datamodel.pipeline_options import BaseTableStructureOptions
from pydantic import Field

from tablerec.config import Settings

OWN_OCR = "docling"
"""The OCR engine that takes what docling's own has read."""


class TablerecOptions(BaseTableStructureOptions):
    """How tables are read; those options that ``Settings`` has mean the same here.

    >>> TablerecOptions(detector="rulings").kind
    'tablerec'
    """

    kind: ClassVar[str] = "tablerec"

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
        Field(description="cpu, gpu:0 and so on; without it docling's accelerator where that is of CUDA, or the CPU."),
    ] = None
    min_confidence: Annotated[
        float, Field(ge=0, le=1, description="Tables less sure than this are logged, with what to check first.")
    ] = 0.5

    def to_settings(self, accelerator: AcceleratorOptions) -> Settings:
        """Say the same as settings of tablerec.

        Raises:
            SettingsError: A value is not possible.
        """
        return Settings(
            detector=self.detector,
            detector_dir=self.detector_dir,
            ocr="none" if self.ocr == OWN_OCR else self.ocr,
            ocr_dir=self.ocr_dir,
            device=self.device or _cuda_to_gpu(str(getattr(accelerator.device, "value", accelerator.device))),
            layout="table",
        )


def _cuda_to_gpu(device: str) -> str:
    """The device that docling names, where it names one of CUDA; it chooses others by what PyTorch can do."""
    return f"gpu{device.removeprefix('cuda')}" if device.startswith("cuda") else "cpu"
