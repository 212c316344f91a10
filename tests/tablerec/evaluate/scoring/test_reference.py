"""Scores agree with the independent scorer that lies beside the checkout, where it does."""

from __future__ import annotations

import html
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postprocess.cell import Cell
from postprocess.table import Table, fill_holes
from tablerec.evaluate.scores import Scores, score
from tablerec.evaluate.truth import RaggedTable, Truth, find_truths, read_truth

BENCH = Path(__file__).resolve().parents[5] / "shared" / "bench"
pytestmark = pytest.mark.skipif(not (BENCH / "score.py").exists(), reason="needs ../shared/bench beside the checkout")

NAMES = {
    "dim": "grid_size",
    "adj": "adjacency_f1",
    "grits": "grits_top",
    "tedss": "teds_struct",
    "teds": "teds",
    "exact": "exact",
}


def drop_cell(cells: list[Cell], rng: random.Random) -> list[Cell]:
    cells.pop(rng.randrange(len(cells)))
    return list(fill_holes(cells))


def merge(cells: list[Cell], rng: random.Random) -> list[Cell]:
    pairs = [
        (a, b)
        for a in cells
        for b in cells
        if (a.row, a.rowspan, a.end_col) == (b.row, b.rowspan, b.col)
        or (a.col, a.colspan, a.end_row) == (b.col, b.colspan, b.row)
    ]
    if not pairs:
        return cells
    a, b = rng.choice(pairs)
    joined = replace(a, rowspan=b.end_row - a.row, colspan=b.end_col - a.col, text=a.text + b.text)
    return [cell for cell in cells if cell not in (a, b)] + [joined]


def shift_texts(cells: list[Cell], rng: random.Random) -> list[Cell]:
    start = rng.randrange(len(cells))
    texts = [cell.text for cell in cells]
    moved = [*texts[:start], "x<y & z", *texts[start:-1]]
    return [replace(cell, text=text) for cell, text in zip(cells, moved, strict=True)]


def split_row(cells: list[Cell], rng: random.Random) -> list[Cell]:
    at = rng.choice(cells).row
    split = []
    for cell in cells:
        if cell.row > at:
            split.append(replace(cell, row=cell.row + 1))
        elif cell.row == at and cell.rowspan == 1:
            split += [cell, replace(cell, row=at + 1, text="")]
        else:
            split.append(replace(cell, rowspan=cell.rowspan + 1) if cell.end_row > at else cell)
    return split


def keep(cells: list[Cell], rng: random.Random) -> list[Cell]:
    return cells


PERTURBATIONS: list[Callable[[list[Cell], random.Random], list[Cell]]] = [
    drop_cell,
    merge,
    shift_texts,
    split_row,
    keep,
]


def perturb(truth: Truth, index: int) -> Table:
    rng = random.Random(index)
    cells = PERTURBATIONS[index % len(PERTURBATIONS)](list(truth.table.cells), rng)
    if not truth.has_text:  # some texts, as an OCR engine finds them
        cells = [replace(cell, text=rng.choice(["", "7"])) for cell in cells]
    return Table(cells)


def to_html(table: Table | RaggedTable) -> str:
    rows: list[str] = [""] * table.owner.shape[0]
    for cell in table.cells:
        span = f' rowspan="{cell.rowspan}" colspan="{cell.colspan}"'
        rows[cell.row] += f"<td{span}>{html.escape(cell.text)}</td>"
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def run_reference(truths: list[Truth], predicted: dict[str, Table], folder: Path, **env: str) -> dict[str, Any]:
    gt, pred = folder / "gt", folder / "pred"
    gt.mkdir()
    pred.mkdir()
    for truth in truths:
        shutil.copy(truth.image.with_suffix(".json"), gt / f"{truth.id}.json")
        if truth.id in predicted:
            (pred / f"{truth.id}.html").write_text(to_html(predicted[truth.id]), encoding="utf-8")
    command = [sys.executable, str(BENCH / "score.py"), str(gt), str(pred)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **env})
    return {item["id"]: item for item in json.loads((folder / "pred.scores.json").read_text(encoding="utf-8"))}


def assert_agrees(scores: Scores, reference: dict[str, Any]) -> None:
    ours = {key: getattr(scores, name) for key, name in NAMES.items()}
    theirs = {key: reference[key] for key in NAMES}
    assert ours == pytest.approx(theirs, abs=5e-4), reference["id"]
    assert scores.missing == reference.get("miss", 0)


def test_perturbed_truths_score_as_the_reference(tmp_path: Path) -> None:
    small = [truth for truth in find_truths(BENCH / "dev") if len(truth.table.cells) <= 40]
    truths = small[:: len(small) // 25]
    predicted = {truth.id: perturb(truth, index) for index, truth in enumerate(truths)}
    reference = run_reference(truths, predicted, tmp_path, ALL_TABLES="1")
    assert len(reference) == len(truths) >= 25
    assert {truth.has_text for truth in truths} == {True, False}
    for truth in truths:
        assert_agrees(score(truth, predicted[truth.id]), reference[truth.id])


def test_unusual_cases_score_as_the_reference(tmp_path: Path, write_truth: Callable[..., Path]) -> None:
    def make(name: str, cells: list[Cell], **meta: Any) -> Truth:
        table = read_truth(write_truth(name, cells)).table
        return read_truth(write_truth(name, cells, html=to_html(table), meta=meta))

    grid = [Cell(r, c, text=str(r * c)) for r in range(3) for c in range(3)]
    wide = [Cell(r, c, text="7") for r in range(13) for c in range(17)]
    truths = [
        make("missing", grid, has_text=True),
        make("hole_and_clash", [*grid[:4], Cell(1, 1, 2, 2, text="big"), *grid[6:]], has_text=True),
        make("hole_at_the_end", grid[:-1], has_text=True),
        make("beyond_teds", wide, has_text=True),
        make("prediction_beyond_teds", grid, has_text=True),
        make("says_nothing_of_text", [replace(cell, text="") for cell in grid]),
        make("flawed", grid, has_text=True, suspect_spans=True),
        make("wrong", grid, has_text=True, audit="wrong"),
    ]
    large = Table([Cell(r, c) for r in range(21) for c in range(20)])
    predicted = {truth.id: Table(grid) for truth in truths if truth.id != "missing"}
    predicted["prediction_beyond_teds"] = large
    reference = run_reference(truths, predicted, tmp_path)
    assert set(reference) == {truth.id for truth in truths if not truth.flawed}
    for truth in truths[:-2]:
        assert_agrees(score(truth, predicted.get(truth.id)), reference[truth.id])
