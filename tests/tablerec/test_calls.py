"""How often a picture's grids are inferred and its words are filtered: once for each pass of a network."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postprocess.candidates import candidate, scene
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
from tablerec import Recognizer, Settings, Word
from tablerec.detect import cellnet


def count_calls(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[tuple[Any, ...]]:
    """The arguments of all calls of a function from here on."""
    calls: list[tuple[Any, ...]] = []
    function: Callable[..., Any] = getattr(module, name)

    def counted(*args: Any, **options: Any) -> Any:
        calls.append(args)
        return function(*args, **options)

    monkeypatch.setattr(module, name, counted)
    return calls


@pytest.mark.parametrize("layout", ["page", "table"])
@pytest.mark.parametrize("sample", ["two_tables", "lineless", "spans"])
def test_a_grid_is_inferred_once_a_pass_and_words_are_filtered_once(
    sample: str, layout: Any, samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = json.loads((samples / f"{sample}.json").read_text("utf-8"))
    cells = [cell for table in data.get("tables", [data]) for cell in table["cells"] if cell["text"]]
    words = [Word(cell["text"], array_to_quad(boxes_to_quads([cell["bbox"]])[0])) for cell in cells]
    grids = count_calls(monkeypatch, candidate, "quads_to_grid")
    filtered = count_calls(monkeypatch, scene, "words_inside")
    passes = count_calls(monkeypatch, cellnet.CellNetDetector, "_to_detections")
    page = Recognizer(Settings(layout=layout)).recognize(samples / f"{sample}.png", words).pages[0]
    assert page.tables
    # A pass of the network finds two tables at most in these pictures, and each has a grid of its own.
    assert len(grids) <= len(passes) * (2 if sample == "two_tables" and layout == "page" else 1)
    asked = [(tuple(map(id, words)), quads.tobytes()) for words, quads in filtered]
    assert len(asked) == len(set(asked))
