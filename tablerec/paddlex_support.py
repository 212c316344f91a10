"""The one door to PaddleX: imported late, offline unless asked, content with any OpenCV.

Models lie in folders: those that the user names, and PaddleX's own cache. ``find_model`` looks for them there, and only
``fetch_model`` connects to a host.

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
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tablerec.config import Settings
from tablerec.devices import AUTO, parse_device, require_paddle
from tablerec.errors import MissingDependencyError, ModelNotFoundError, SettingsError
from tablerec.models.folder import read_model_name

INSTALL_COMMAND = 'pip install "tablerec[paddle]"'
_OPENCV = "opencv-contrib-python"
ENGINES = ("paddle_static", "paddle_dynamic", "transformers", "onnxruntime", "hpi")
"""What may run a model of PaddleX; ``hpi`` is its high-performance inference."""

_DYNAMIC = ("model.safetensors", "model_state.pdparams", "inference.pdparams")
_WEIGHTS: dict[str | None, tuple[str, ...]] = {
    None: ("inference.pdiparams", *_DYNAMIC),
    "paddle_static": ("inference.pdiparams",),
    "paddle_dynamic": _DYNAMIC,
    "transformers": ("model.safetensors",),
    "onnxruntime": ("inference.onnx",),
    "hpi": ("inference.pdiparams", "inference.onnx", "inference.om"),
}
"""Files by engine, of which one must be there."""
_SUFFIXES = {
    "onnxruntime": ("_onnx", ""),
    "paddle_dynamic": ("_safetensors", ""),
    "transformers": ("_safetensors", ""),
}
"""What PaddleX's cache has behind a model's name, for engines that want other files than Paddle's."""
_FORMATS = {"onnxruntime": ("onnx",), "paddle_dynamic": ("safetensors", "paddle_dyn"), "transformers": ("safetensors",)}
_ENGINE_HELP = {
    "transformers": "run pip install transformers torch",
    "onnxruntime": "run pip install onnxruntime",
    "hpi": "run `paddlex --install hpi-cpu` or `paddlex --install hpi-gpu`, which PaddleX offers for Linux",
}
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


@dataclass(frozen=True, slots=True)
class Runtime:
    """How PaddleX's models run, and where they lie.

    Args:
        device: In PaddleX's syntax; a model runs on the first of several numbers.
        engine: One of ``ENGINES``; None has PaddleX choose Paddle's static or dynamic engine by the files.
        models_dir: Folder with models, each in a folder of its own, looked at before PaddleX's cache.

    Raises:
        SettingsError: There is no such engine.

    >>> Runtime("gpu:0", "onnxruntime").models_dir
    """

    device: str = "cpu"
    engine: str | None = None
    models_dir: Path | None = None

    def __post_init__(self) -> None:
        if self.engine is not None and self.engine not in ENGINES:
            *others, last = ENGINES
            raise SettingsError(f"engine {self.engine!r} is unknown: choose {', '.join(others)} or {last}")


def make_runtime(settings: Settings) -> Runtime:
    """Take from the settings what concerns PaddleX's models."""
    device = str(parse_device(AUTO)) if settings.device == AUTO else settings.device
    return Runtime(device, settings.engine, settings.models_dir)


def create_model(name: str, model_dir: Path | None = None, runtime: Runtime | None = None, **options: Any) -> Any:
    """Load a PaddleX model from a folder; nothing is ever downloaded.

    Args:
        name: PaddleX's name of the model.
        model_dir: Folder with ``inference.yml`` and the weights; None for where ``find_model`` finds it.
        runtime: Device and engine; the CPU and Paddle where None.
        options: Passed on to ``paddlex.create_model``.

    Returns:
        PaddleX's model; ``predict`` takes pictures in BGR order.

    Raises:
        MissingDependencyError: PaddleX, its engine, or Paddle's build for the device, is not installed.
        ModelNotFoundError: The model is not on this machine.
        SettingsError: There is no such device, PaddleX knows no model of this name, or it cannot load it.
    """
    runtime = runtime or Runtime()
    folder = find_model(name, runtime) if model_dir is None else model_dir
    if not (folder / "inference.yml").is_file():
        raise ModelNotFoundError(f"{folder} holds no inference.yml: name the folder of an exported PaddleX model")
    if not _has_weights(folder, runtime.engine):
        wanted = " or ".join(_WEIGHTS[runtime.engine])
        raise ModelNotFoundError(f"{folder} holds no {wanted}, which {runtime.engine or 'Paddle'} runs")
    # PaddleX itself would fall back to the CPU with no more than a warning.
    require_paddle(parse_device(runtime.device))
    paddlex = import_paddlex()
    engine = {} if runtime.engine is None else {"engine": runtime.engine}
    try:
        return paddlex.create_model(name, str(folder), device=runtime.device, **engine, **options)
    except Exception as error:  # what engines raise shares no other base
        if "is not installed" in str(error) and runtime.engine in _ENGINE_HELP:
            raise MissingDependencyError(
                f"the engine {runtime.engine} is not installed: {_ENGINE_HELP[runtime.engine]}"
            ) from error
        how = f"on {runtime.device}" + (f" with {runtime.engine}" if runtime.engine else "")
        raise SettingsError(f"PaddleX cannot load {name} from {folder} {how}: {error!r}") from error


class LazyModel:
    """A model of PaddleX that is loaded at its first picture, and asked by one thread at a time.

    Args:
        name: PaddleX's name.
        model_dir: Its folder; None for where the runtime has it.
        runtime: How it runs.
        model: PaddleX's model, where it is loaded already.
    """

    def __init__(
        self, name: str, model_dir: Path | None = None, runtime: Runtime | None = None, model: Any = None
    ) -> None:
        self._create: Callable[[], Any] = lambda: create_model(name, model_dir, runtime)
        self._model = model
        self._lock = threading.Lock()

    def load(self) -> Any:
        """Return PaddleX's model."""
        with self._lock:
            if self._model is None:
                self._model = self._create()
            return self._model

    def predict(self, image: Any, **options: Any) -> Any:
        """Return PaddleX's result for one picture."""
        model = self.load()
        with self._lock:
            return next(iter(model.predict(image, **options)))


def find_model(name: str, runtime: Runtime | None = None) -> Path:
    """Find the folder of a model: in ``models_dir`` by the name in ``inference.yml``, then in PaddleX's cache.

    Args:
        name: PaddleX's name of the model.
        runtime: Where to look, and which engine's files are wanted.

    Raises:
        ModelNotFoundError: It is in neither place; the message says how to get it.
    """
    runtime = runtime or Runtime()
    cached = [official_model_dir(name + suffix) for suffix in _SUFFIXES.get(runtime.engine or "", ("",))]
    for folder in [*_folders_of(name, runtime.models_dir), *cached]:
        if _has_weights(folder, runtime.engine):
            return folder
    looked = " and ".join(str(place) for place in (runtime.models_dir, cached[0]) if place is not None)
    engine = f" --engine {runtime.engine}" if runtime.engine else ""
    raise ModelNotFoundError(
        f"the model {name} is not on this machine: it was looked for in {looked}. Download it with "
        f"`tablerec models fetch {name}{engine}`, or take {_DOWNLOADS}/{name}_infer.tar and unpack it there"
    )


def fetch_model(name: str, engine: str | None = None) -> Path:
    """Download an official model into PaddleX's cache, from the hosts that PaddleX knows.

    Args:
        name: PaddleX's name of the model.
        engine: The engine that is to run it; None for Paddle.

    Returns:
        The folder where it lies, also if it was there before.

    Raises:
        MissingDependencyError: PaddleX is not installed.
        ModelNotFoundError: No host can be reached, or none has the model.
        SettingsError: PaddleX has no model of this name in this form.
    """
    runtime = Runtime(engine=engine)
    try:
        return find_model(name, runtime)
    except ModelNotFoundError:
        import_paddlex(network=True)
    from paddlex.inference.utils.official_models import official_models

    if name not in official_models:
        raise SettingsError(f"PaddleX has no official model {name!r}: `tablerec models list` shows what is of use")
    try:
        folder = official_models.get_model_path(name, model_formats=_FORMATS.get(engine or ""))
    except ValueError as error:
        raise SettingsError(f"{name} is not offered for the engine {engine}: {error}") from error
    except Exception as error:  # PaddleX raises bare Exception for a failed download
        raise ModelNotFoundError(
            f"{name} cannot be downloaded ({error}). Fetch {_DOWNLOADS}/{name}_infer.tar elsewhere "
            f"and unpack it so that {official_model_dir(name)} holds its inference.yml"
        ) from error
    finally:
        import_paddlex()
    return Path(folder)


def official_model_dir(name: str) -> Path:
    """Return the folder where PaddleX keeps an official model.

    >>> official_model_dir("PP-OCRv5_server_det").name
    'PP-OCRv5_server_det'
    """
    cache = os.environ.get("PADDLE_PDX_CACHE_HOME") or str(Path.home() / ".paddlex")
    return Path(cache) / "official_models" / name


def _folders_of(name: str, models_dir: Path | None) -> list[Path]:
    if models_dir is None:
        return []
    return [path.parent for path in sorted(models_dir.glob("*/inference.yml")) if read_model_name(path.parent) == name]


def _has_weights(folder: Path, engine: str | None) -> bool:
    return any((folder / file).is_file() for file in _WEIGHTS[engine])


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
