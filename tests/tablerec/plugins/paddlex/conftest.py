"""The plugin in PaddleX, with models that give fixed answers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml

from tests.helpers.models.paddlex_models import CELLS, TEXTS, needs_paddlex


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip all of it without PaddleX, whose import warns of many things."""
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(needs_paddlex)
            item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture(scope="session")
def plugin() -> ModuleType:
    """Return the plugin."""
    import tablerec.plugins.paddlex

    return tablerec.plugins.paddlex


@pytest.fixture(scope="session")
def config(plugin: ModuleType) -> Callable[..., dict[str, Any]]:
    """Return a maker of pipeline files: ours, with some parts replaced; quick unless they say otherwise."""

    def make(pipelines: dict[str, Any] | None = None, *, switches: dict[str, Any] | None = None, **modules: Any) -> Any:
        made = yaml.safe_load(plugin.PIPELINE_FILE.read_text(encoding="utf-8"))
        made["SubModules"]["TableCellsDetection"]["model_name"] = "rulings"
        made["use_ocr_model"] = False
        made["SubPipelines"] |= copy.deepcopy(pipelines or {})
        made["SubModules"] |= copy.deepcopy(modules)
        return made | (switches or {})

    return make


@pytest.fixture
def image() -> np.ndarray:
    """Return a ruled table of 2 x 2."""
    picture = np.full((120, 240, 3), 255, np.uint8)
    for x in (20, 120, 220):
        picture[20:101, x : x + 1] = 0
    for y in (20, 60, 100):
        picture[y : y + 1, 20:221] = 0
    return picture


@pytest.fixture
def read(image: np.ndarray) -> dict[str, Any]:
    """Return what an OCR pipeline would say of it."""
    boxes = [[left + 10, top + 10, left + 80, top + 30] for left, top, _, _ in CELLS]
    polygons = [np.array([[a, b], [c, b], [c, d], [a, d]]) for a, b, c, d in boxes]
    return {"rec_texts": TEXTS, "rec_scores": [0.9] * 4, "rec_polys": polygons, "rec_boxes": np.array(boxes)}
