"""The one door to PaddleX: imported late, offline unless asked, content with any OpenCV.

PaddleX looks for a distribution named ``opencv-contrib-python`` and skips ``import cv2`` without it,
though it uses nothing of contrib. A second distribution that provides ``cv2`` would overwrite files of
the first, so ``tablerec`` installs one, ``opencv-python-headless``, and answers PaddleX's question here.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from tablerec.devices import parse_device, require_device
from tablerec.errors import MissingDependencyError, ModelNotFoundError, SettingsError

INSTALL_COMMAND = 'pip install "tablerec[paddle]"'
_OPENCV = "opencv-contrib-python"
_DOWNLOADS = "https://paddle-model-ecology.bj.bcebos.com/paddlex/official_inference_model/paddle3.0.0"


def import_paddlex(*, network: bool = False) -> ModuleType:
    """Import PaddleX so that every module of it that needs OpenCV finds it.

    Args:
        network: Whether official models that are not on this machine may be downloaded.
            The last call decides, for the whole process.

    Returns:
        The module ``paddlex``.

    Raises:
        MissingDependencyError: PaddleX, Paddle or OpenCV is not installed.
        SettingsError: PaddleX was imported before, without OpenCV.
    """
    for package in ("paddlex", "paddle", "cv2"):
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(f"{package} is not installed: run {INSTALL_COMMAND}")
    imported_before = "paddlex" in sys.modules
    # oneDNN in Paddle 3.3.0 and 3.3.1 cannot run the OCR and table models: PaddlePaddle/Paddle issue 77340.
    os.environ.setdefault("PADDLE_PDX_ENABLE_MKLDNN_BYDEFAULT", "False")
    try:
        with _any_opencv_counts():
            import paddlex
            from paddlex.inference.utils.official_models import official_models
            from paddlex.utils.deps import is_dep_available

            # PaddleX keeps the answer; asked here, it also serves the checks at run time.
            if not is_dep_available(_OPENCV):
                raise SettingsError(
                    f"paddlex was imported before tablerec, without {_OPENCV}: "
                    "import tablerec.plugins.paddlex first, or call tablerec.paddlex_support.import_paddlex() in place "
                    "of `import paddlex`"
                )
    except ImportError as error:
        raise MissingDependencyError(f"paddlex cannot be imported ({error}): run {INSTALL_COMMAND}") from error
    if not imported_before:
        logging.getLogger("paddlex").setLevel(logging.WARNING)
    # No host to ask means no download and no connection; None has PaddleX look for hosts when it needs one.
    official_models._hosters = None if network else []
    return paddlex


def create_model(name: str, model_dir: Path | None = None, device: str = "cpu", **options: Any) -> Any:
    """Load a PaddleX model from a folder, or an official one by name.

    An official model is looked for in ``official_model_dir(name)`` and downloaded when it is not
    there: naming it is the permission. With ``model_dir`` nothing is ever downloaded.

    Args:
        name: PaddleX's name of the model.
        model_dir: Folder with ``inference.yml`` and the weights; None for the official ones.
        device: In PaddleX's syntax.
        options: Passed on to ``paddlex.create_model``.

    Returns:
        PaddleX's model; ``predict`` takes pictures in BGR order.

    Raises:
        MissingDependencyError: PaddleX, or Paddle's build for the device, is not installed.
        ModelNotFoundError: The model is neither on this machine nor to be downloaded.
        SettingsError: There is no such device, PaddleX knows no model of this name, or it cannot load it.
    """
    if model_dir is not None and not (model_dir / "inference.yml").is_file():
        raise ModelNotFoundError(f"{model_dir} holds no inference.yml: name the folder of an exported PaddleX model")
    # PaddleX itself would fall back to the CPU with no more than a warning.
    require_device(parse_device(device))
    is_local = model_dir is not None or official_model_dir(name).is_dir()
    paddlex = import_paddlex(network=not is_local)
    try:
        return paddlex.create_model(name, None if model_dir is None else str(model_dir), device=device, **options)
    except Exception as error:  # PaddleX raises bare Exception for a failed download
        if is_local or isinstance(error, (ValueError, AssertionError)):
            source = model_dir or name
            raise SettingsError(f"PaddleX cannot load {name} from {source} on {device}: {error!r}") from error
        raise ModelNotFoundError(
            f"{name} is not on this machine and cannot be downloaded ({error}). Fetch {_DOWNLOADS}/{name}_infer.tar "
            f"and unpack it so that {official_model_dir(name)} holds its inference.yml"
        ) from error


def official_model_dir(name: str) -> Path:
    """Return the folder where PaddleX keeps an official model.

    >>> official_model_dir("PP-OCRv5_server_det").name
    'PP-OCRv5_server_det'
    """
    cache = os.environ.get("PADDLE_PDX_CACHE_HOME") or str(Path.home() / ".paddlex")
    return Path(cache) / "official_models" / name


@contextmanager
def _any_opencv_counts() -> Iterator[None]:
    """Report the installed OpenCV as ``opencv-contrib-python``, whichever distribution brought it."""
    import cv2

    installed_version = importlib.metadata.version

    def version(distribution_name: str) -> str:
        return cv2.__version__ if distribution_name == _OPENCV else installed_version(distribution_name)

    importlib.metadata.version = version
    try:
        yield
    finally:
        importlib.metadata.version = installed_version
