"""Where samples come from: functions from an index to a picture with its cells."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postprocess.boxes import boxes_to_quads
from tablerec.errors import InputError, SettingsError
from tablerec.training.crops import crop_anew

Source = Callable[[int], Any]
"""From an index to anything with an ``image``, ``(H, W, 3)`` uint8 RGB, and ``quads`` or ``cells.quads``, \
``(N, 4, 2)`` px; the same index gives the same sample."""


class LabelledPicture(NamedTuple):
    """A picture and its cells.

    Args:
        image: ``(H, W, 3)`` uint8 RGB.
        quads: ``(N, 4, 2)`` float32 pixels, TL, TR, BR, BL.
    """

    image: NDArray[np.uint8]
    quads: NDArray[np.float32]


def load_source(text: str) -> Source:
    """Make a source from its description.

    Args:
        text: One of ``synth:RECIPE`` or ``synth:RECIPE@SEED``, tables that ``tablerec.synth`` draws;
            ``folder:PATH``, pictures with their labels beside them; ``crops:PATH``, the same, cropped,
            scaled and compressed anew each time (``crops.crop_anew``); ``MODULE:FUNCTION``. Several of
            them, separated by commas, each with its share: ``synth:mixed*3, crops:tables*1``.

    Raises:
        SettingsError: There is no such recipe or function.
        InputError: The folder holds no labels of cells.
    """
    parts = [part.strip().partition("*") for part in text.split(",")]
    if len(parts) == 1:
        return _load_one(parts[0][0])
    try:
        shares = np.array([float(share) if star else 1.0 for _, star, share in parts])
    except ValueError as error:
        raise SettingsError(f"source {text!r}: a share is no number ({error}); write SOURCE*SHARE, SOURCE") from error
    sources = [_load_one(name) for name, _, _ in parts]
    ends = np.cumsum(shares) / shares.sum()

    def draw(index: int) -> Any:
        chosen = np.searchsorted(ends, np.random.default_rng([index, 3]).random(), side="right")
        return sources[min(int(chosen), len(sources) - 1)](index)

    return draw


def _load_one(text: str) -> Source:
    kind, _, name = text.partition(":")
    if kind in ("folder", "crops"):
        return _Folder(Path(name), anew=kind == "crops")
    if kind == "synth":
        return _load_recipe(name)
    try:
        found: Source = getattr(import_module(kind), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(
            f"source {text!r} cannot be loaded ({error}): write synth:RECIPE, folder:PATH, crops:PATH or "
            "MODULE:FUNCTION"
        ) from error
    return found


def _load_recipe(text: str) -> Source:
    name, _, seed = text.partition("@")
    try:
        synth = import_module("tablerec.synth")
        first = int(seed or 0)
    except (ImportError, ValueError) as error:
        raise SettingsError(f"source 'synth:{text}' cannot be loaded ({error}): write synth:RECIPE@SEED") from error
    recipe = synth.load_recipe(name)
    return lambda index: synth.draw(recipe, first, index)


class _Folder:
    """Labelled pictures, in another order each time that all have been seen."""

    def __init__(self, folder: Path, *, anew: bool) -> None:
        self.anew = anew
        self.paths = [path for path in sorted(folder.rglob("*.json")) if _quads_of(_read_label(path), path) is not None]
        if not self.paths:
            raise InputError(
                f"source folder:{folder} holds no labels of cells: each picture needs a JSON file beside it, with "
                "`image` and `cells` with `quad` or `bbox`, and bbox_kind `cell` in `meta`"
            )

    def __call__(self, index: int) -> LabelledPicture:
        turn, place = divmod(index, len(self.paths))
        path = self.paths[_shuffled(turn, len(self.paths))[place]]
        label = _read_label(path)
        quads = _quads_of(label, path)
        assert quads is not None  # as when the folder was read
        image = _read_image(path, label)
        if self.anew:
            text_height = label.get("meta", {}).get("text_height")
            image, quads = crop_anew(image, quads, text_height, np.random.default_rng([index, 5]))
        return LabelledPicture(image, quads)


def _read_image(path: Path, label: dict[str, Any]) -> NDArray[np.uint8]:
    """``(H, W, 3)`` RGB of the picture beside a label."""
    import cv2

    try:
        image = path.parent / label["image"]
        read = cv2.imdecode(np.fromfile(image, np.uint8), cv2.IMREAD_COLOR)
    except (OSError, KeyError, TypeError, cv2.error) as error:
        raise InputError(f"{path}: its picture cannot be read ({error!r}): remove {path.name} or repair it") from error
    if read is None:
        raise InputError(f"{image} cannot be read as a picture: remove {path.name} or repair it")
    return np.ascontiguousarray(read[:, :, ::-1], np.uint8)


@lru_cache(maxsize=2)
def _shuffled(turn: int, count: int) -> Sequence[int]:
    return np.random.default_rng([turn, 4]).permutation(count).tolist()


def _read_label(path: Path) -> dict[str, Any]:
    try:
        label = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is no label ({error!r}): remove it or repair it") from error
    if not isinstance(label, dict):
        raise InputError(f"{path} is no label (it is a {type(label).__name__}): remove it or repair it")
    return label


def _quads_of(label: dict[str, Any], path: Path) -> NDArray[np.float32] | None:
    """``(N, 4, 2)`` cells of a label, of all its tables; None where the label does not outline cells."""
    try:
        tables = label.get("tables", [label])
        cells = [cell for table in tables for cell in table["cells"]]
        if all(cell.get("quad") for cell in cells):
            quads = [cell["quad"] for cell in cells]
        elif label.get("meta", {}).get("bbox_kind") == "cell":
            # A cell without a box is an empty slot that nobody outlined.
            quads = boxes_to_quads([cell["bbox"] for cell in cells if cell.get("bbox")]).tolist()
        else:
            return None
        return np.array(quads, np.float32).reshape(-1, 4, 2)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is no label ({error!r}): remove it or repair it") from error
