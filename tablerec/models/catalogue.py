"""The models that ``tablerec`` runs: what they are for, how large they are, under which licence, and where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tablerec.errors import ModelNotFoundError, TablerecError
from tablerec.models.folder import DESCRIPTION, LINENET, NAME, ONNX, WEIGHTS, check_files, read_description
from tablerec.paddlex_support import Runtime, find_model, official_model_dir

Origin = Literal["tablerec", "rapidocr", "paddlex"]


@dataclass(frozen=True, slots=True)
class Model:
    """A model by its name.

    Args:
        name: As the command line takes it.
        purpose: What it detects or tells.
        megabytes: Size of the weights, of PaddleX's as its documentation gives it; None where it is not known.
        origin: Who brings it: this package, the wheel of rapidocr, or PaddleX, from its hosts or a folder.
        licence: SPDX identifier.
    """

    name: str
    purpose: str
    megabytes: float | None
    origin: Origin = "paddlex"
    licence: str = "Apache-2.0"


CATALOGUE = (
    Model(NAME, "cells", 3.4, "tablerec"),
    Model(LINENET, "text", 4.2, "tablerec"),
    Model("PP-OCRv6_det_small", "where text is", 9.9, "rapidocr"),
    Model("PP-OCRv6_rec_small", "text", 21.2, "rapidocr"),
    Model("RT-DETR-L_wired_table_cell_det", "cells of ruled tables", 124),
    Model("RT-DETR-L_wireless_table_cell_det", "cells of tables without rulings", 124),
    Model("PP-LCNet_x1_0_table_cls", "whether a table is ruled", 6.6),
    Model("PP-OCRv6_medium_det", "where text is", 59.4),
    Model("PP-OCRv6_medium_rec", "text", 76.6),
    Model("PP-OCRv6_small_det", "where text is", 9.6),
    Model("PP-OCRv6_small_rec", "text", 21.2),
    Model("PP-OCRv5_server_det", "where text is", 84.3),
    Model("PP-OCRv5_server_rec", "text", 81),
    Model("PP-OCRv5_mobile_det", "where text is", 4.7),
    Model("PP-OCRv5_mobile_rec", "text", 16),
    Model("PP-DocLayout_plus-L", "where tables are", 126),
    Model("PP-DocLayout-L", "where tables are", 123.8),
    Model("PP-DocLayout-M", "where tables are", 22.6),
    Model("PP-DocLayout-S", "where tables are", 4.8),
    Model("PicoDet_layout_1x_table", "where tables are", 7.4),
    Model("PP-LCNet_x1_0_doc_ori", "how a page is turned", 7),
    Model("UVDoc", "how a page is curled", 30.3),
)
"""Other models of PaddleX's families go by their names as well; these are listed."""


def find_place(model: Model, runtime: Runtime) -> Path:
    """Find the files of a model.

    Returns:
        The folder, or the file, that holds it.

    Raises:
        ModelNotFoundError: It is not on this machine.
        MissingDependencyError: rapidocr is not installed.
    """
    if model.origin == "tablerec":
        folder = WEIGHTS if model.name == NAME else WEIGHTS / model.name.lower()
        if not any(folder.glob("inference.*")):
            raise ModelNotFoundError(f"{folder} holds no weights: install tablerec again")
        return folder
    if model.origin == "rapidocr":
        from tablerec.ocr.rapidocr import model_paths

        return next(path for path in model_paths().values() if path.stem == model.name)
    return find_model(model.name, runtime)


def expected_place(model: Model, runtime: Runtime) -> Path:
    """Say where a model of PaddleX that is missing would be put."""
    return runtime.models_dir or official_model_dir(model.name)


def verify(model: Model, runtime: Runtime) -> str:
    """Check the files of a model, and that it runs.

    Returns:
        What was checked.

    Raises:
        TablerecError: The model is missing or damaged, or does not run.
    """
    place = find_place(model, runtime)
    if model.origin == "tablerec":
        check_files(place, DESCRIPTION, ONNX, expected=model.name)
        _run_onnx(place / ONNX)
        return "the SHA-256 of each file is right, and it runs"
    if model.origin == "rapidocr":
        _run_onnx(place)
        return "it runs"
    return _run_paddlex(model, runtime)


def _run_onnx(path: Path) -> None:
    """Run a network of pictures on one of the least size."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        given = session.get_inputs()[0]
        shape = [1 if axis == 0 else size if isinstance(size, int) else 64 for axis, size in enumerate(given.shape)]
        session.run(None, {given.name: np.full(shape, 127, np.float32)})
    except Exception as error:  # ONNX Runtime's errors share no other base
        raise ModelNotFoundError(
            f"{path} is damaged ({' '.join(str(error).split())}): install its package again"
        ) from error


def _run_paddlex(model: Model, runtime: Runtime) -> str:
    import numpy as np

    from tablerec.paddlex_support import create_model

    folder = find_model(model.name, runtime)
    sums = read_description(folder, None).get("sha256", {})
    check_files(folder, *sums, expected=None)
    made = create_model(model.name, folder, runtime)
    try:
        next(iter(made.predict(np.full((64, 96, 3), 255, np.uint8))))
    except Exception as error:  # what engines raise shares no other base
        raise TablerecError(
            f"{folder} loads but does not run ({error!r}): delete it, and fetch it again with "
            f"`tablerec models fetch {model.name}`"
        ) from error
    return f"{'the SHA-256 of each file is right' if sums else 'PaddleX gives no sums to compare'}, and it runs"


def by_name(name: str) -> Model:
    """Look a model up; a name that is not listed is one of PaddleX's.

    >>> by_name("CellNet").origin, by_name("PP-OCRv4_server_det").megabytes
    ('tablerec', None)
    """
    return next((model for model in CATALOGUE if model.name == name), Model(name, "", None))
