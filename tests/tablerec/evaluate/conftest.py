from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postprocess.cell import Cell

WriteTruth = Callable[..., Path]


def _cell_to_json(cell: Cell, size: float = 20.0) -> dict[str, Any]:
    box = [cell.col * size, cell.row * size, cell.end_col * size, cell.end_row * size]
    return {
        "row": cell.row,
        "col": cell.col,
        "rowspan": cell.rowspan,
        "colspan": cell.colspan,
        "bbox": box,
        "text": cell.text,
    }


@pytest.fixture
def write_truth(tmp_path: Path) -> WriteTruth:
    """Write a truth of the given cells to ``tmp_path/truth/<name>.json`` and return the path."""

    def write(name: str, cells: list[Cell], /, *, source: str = "made", meta: Any = None, **fields: Any) -> Path:
        folder = tmp_path / "truth"
        folder.mkdir(exist_ok=True)
        data = {
            "id": name,
            "source": source,
            "image": f"{name}.png",
            "cells": [_cell_to_json(cell) for cell in cells],
            "meta": {"has_text": True, "bbox_kind": "cell"} if meta is None else meta,
        }
        path = folder / f"{name}.json"
        path.write_text(json.dumps({**data, **fields}), encoding="utf-8")
        return path

    return write
