"""tablerec as a pipeline of PaddleX: importing this registers ``table_recognition_cells``.

>>> from tablerec.plugins.paddlex import create_pipeline
>>> pipeline = create_pipeline("table_recognition_cells", device="cpu")
>>> import numpy as np
>>> [result["table_res_list"] for result in pipeline.predict(np.full((40, 40, 3), 255, np.uint8))]
[[]]

PaddleX knows no plugins, so three of its look-ups are answered here: where the pipeline's file is, what
the command line may say, and what the server runs. ``python -m tablerec.plugins.paddlex`` is PaddleX's
command line with the pipeline registered.

- ``pipeline``: PaddleX's models and tablerec's own around one ``Recognizer``; ``parts``: these models
- ``inputs``, ``options``: what ``predict`` and a pipeline file may say
- ``reading``: PaddleX's OCR pipeline as the one that reads
- ``result``: results with the keys and methods of PaddleX's own
- ``serving``: the pipeline behind PaddleX's server
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tablerec.paddlex_support import import_paddlex

import_paddlex()

from paddlex.inference import pipelines  # noqa: E402
from paddlex.utils import interactive_get_pipeline  # noqa: E402
from paddlex.utils.pipeline_arguments import PIPELINE_ARGUMENTS  # noqa: E402

from tablerec.plugins.paddlex import serving  # noqa: E402
from tablerec.plugins.paddlex.options import NAME, command_line_arguments, no_pipeline  # noqa: E402
from tablerec.plugins.paddlex.pipeline import TableRecognitionCellsPipeline  # noqa: E402
from tablerec.plugins.paddlex.result import TableResult, TablesResult  # noqa: E402
from tablerec.plugins.paddlex_model import CellNetPredictor  # noqa: E402

# Naming a model in a pipeline's file asks for it, as everywhere in PaddleX; our own file names none.
create_pipeline = import_paddlex(network=True).create_pipeline

__all__ = [
    "NAME",
    "PIPELINE_FILE",
    "CellNetPredictor",
    "TableRecognitionCellsPipeline",
    "TableResult",
    "TablesResult",
    "create_pipeline",
]

PIPELINE_FILE = Path(__file__).parent / f"{NAME}.yaml"
"""The pipeline as it stands: a pattern for files of one's own."""


def _with_ours(get_pipeline_path: Callable[[str], Any]) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        found = PIPELINE_FILE if name == NAME else get_pipeline_path(name)
        if found is None:
            raise no_pipeline(name, PIPELINE_ARGUMENTS)
        return found

    return find


for _module in (pipelines, interactive_get_pipeline):
    _module.get_pipeline_path = _with_ours(_module.get_pipeline_path)
PIPELINE_ARGUMENTS[NAME] = command_line_arguments()
sys.modules[f"paddlex.inference.serving.basic_serving._pipeline_apps.{NAME}"] = serving
# import_paddlex makes PaddleX quiet, but the print() of its results is a message of this level.
if logging.getLogger("paddlex").level == logging.WARNING:
    logging.getLogger("paddlex").setLevel(logging.INFO)
