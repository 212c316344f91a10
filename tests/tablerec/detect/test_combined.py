"""The combined detector, with stand-ins for what it combines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from postprocess.arrays import Image
from postprocess.candidates.candidate import Candidate
from postprocess.candidates.choice import best_tables, explain_tables
from postprocess.candidates.scene import Scene
from postprocess.geometry.boxes import boxes_to_quads
from postprocess.word import Word
from tablerec.config import Settings
from tablerec.detect import Detection, factory
from tablerec.detect.combined import CombinedDetector
from tablerec.detect.factory import has_cellnet, make_detector
from tablerec.detect.geometric import GeometricDetector
from tablerec.errors import ModelNotFoundError
from tests.helpers.candidates import RIGHT, WORDS, candidate_of, make_scene, slots
from tests.helpers.layouts import make_word

PICTURE = np.full((400, 300, 3), 255, np.uint8)
NO_COLUMNS = slots([0, 200], [0, 20, 40, 60])
TWO_ROWS = slots([0, 100, 200], [0, 20, 60])


class Network:
    def __init__(self, first: Sequence[list[list[float]]], second: Sequence[list[list[float]]]) -> None:
        self.found = [[detection(boxes) for boxes in tables] for tables in (first, second)]

    def detect_twice(self, image: Image, picture: Scene) -> list[list[Detection]]:
        return self.found


class Geometry:
    layout = "page"

    def __init__(self, tables: Sequence[list[list[float]]], name: str = "words", score: float = 0.9) -> None:
        self.found = [candidate_of(boxes, name, score) for boxes in tables]

    def detect_in(self, picture: Scene) -> list[Candidate]:
        return [each.in_scene(picture) for each in self.found]


def detection(boxes: list[list[float]], score: float = 0.9) -> Detection:
    return Detection(boxes_to_quads(boxes), np.full(len(boxes), score), "cellnet")


def scores(candidates: list[list[Candidate]], words: Sequence[Word]) -> list[float]:
    scene = make_scene(words)
    known = [[each.in_scene(scene) for each in tables] for tables in candidates]
    return [tables[0].explanation.score for tables in explain_tables(known, scene) if tables[0].explanation]


def combine(geometry: list[list[list[float]]], *passes: list[list[list[float]]]) -> list[Candidate]:
    made = CombinedDetector(Network(*passes), Geometry(geometry))  # type: ignore[arg-type]
    return made.detect(PICTURE, WORDS)


def lower(boxes: list[list[float]], by: float) -> list[list[float]]:
    return [[x0, y0 + by, x1, y1 + by] for x0, y0, x1, y1 in boxes]


def test_nothing_found() -> None:
    assert combine([], [], []) == []
    made = CombinedDetector(Network([], []), GeometricDetector("auto"))  # type: ignore[arg-type]
    assert made.detect(np.zeros((0, 0, 3), np.uint8), []) == []


@pytest.mark.parametrize(
    ("geometry", "first", "second", "name"),
    [
        (RIGHT, NO_COLUMNS, NO_COLUMNS, "words"),
        (NO_COLUMNS, RIGHT, NO_COLUMNS, "cellnet"),
        (NO_COLUMNS, NO_COLUMNS, RIGHT, "cellnet"),
        (RIGHT, RIGHT, RIGHT, "words"),
    ],
)
def test_the_better_explained_grid_wins(
    geometry: list[list[float]], first: list[list[float]], second: list[list[float]], name: str
) -> None:
    [chosen] = combine([geometry], [first], [second])
    assert (len(chosen.quads), chosen.detector) == (6, name)


def test_what_only_one_finds_stays() -> None:
    tables = combine([RIGHT], [lower(RIGHT, 100)], [lower(RIGHT, 200)])
    assert [float(table.quads.min(axis=(0, 1))[1]) for table in tables] == [0, 100, 200]


def test_a_table_in_two_halves_competes_with_the_whole() -> None:
    halves = [slots([0, 100], [0, 20, 40, 60]), slots([100, 200], [0, 20, 40, 60])]
    [chosen] = combine(halves, [RIGHT], [])
    assert chosen.detector == "cellnet"


def test_auto_uses_the_network_where_its_weights_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "WEIGHTS", tmp_path)
    assert isinstance(make_detector(Settings()), GeometricDetector)
    (tmp_path / "inference.onnx").touch()
    (tmp_path / "inference.yml").write_text("Global:\n  model_name: CellNet\n", encoding="utf-8")
    assert isinstance(make_detector(Settings()), CombinedDetector)
    assert isinstance(make_detector(Settings(detector_dir=tmp_path)), CombinedDetector)
    assert isinstance(make_detector(Settings(detector="rulings")), GeometricDetector)


def test_weights_of_the_package_without_a_file_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged installation does not fall back on another detector without a word."""
    monkeypatch.setattr(factory, "WEIGHTS", tmp_path)
    (tmp_path / "inference.yml").write_text("Global:\n  model_name: CellNet\n", encoding="utf-8")
    with pytest.raises(ModelNotFoundError, match=r"holds no inference\.onnx"):
        make_detector(Settings())


def test_a_folder_of_something_else_is_no_cellnet(tmp_path: Path) -> None:
    assert not has_cellnet(tmp_path)
    (tmp_path / "inference.yml").write_bytes(b"\xff\xfe")
    assert not has_cellnet(tmp_path)
    (tmp_path / "inference.yml").write_text("Global:\n  model_name: CellNetwork\n", encoding="utf-8")
    assert not has_cellnet(tmp_path)


def test_words_of_all_candidates_count() -> None:
    """A candidate that leaves a column out does not win by having less to explain."""
    more = [*WORDS, *[make_word("99", 210, 5 + 20 * row) for row in range(3)]]
    wide = slots([0, 100, 200, 300], [0, 20, 40, 60])
    made = CombinedDetector(Network([wide], []), Geometry([RIGHT]))  # type: ignore[arg-type]
    [chosen] = made.detect(PICTURE, more)
    assert len(chosen.quads) == 9


@pytest.mark.parametrize("layout", ["page", "table"])
@pytest.mark.parametrize(
    ("score", "second", "cells"),
    [(0.99, [], 3), (0.99, [NO_COLUMNS], 3), (0.99, [RIGHT], 6), (0.99, [TWO_ROWS], 6), (0.9, [], 6)],
    ids=[
        "ruled",
        "ruled, one pass agrees",
        "ruled, both deny it",
        "ruled, both deny it and differ",
        "not wholly ruled",
    ],
)
def test_cells_that_are_wholly_ruled_stay_unless_both_passes_deny_them(
    layout: str, score: float, second: list[list[list[float]]], cells: int
) -> None:
    geometry = Geometry([NO_COLUMNS], "rulings", score)
    geometry.layout = layout
    made = CombinedDetector(Network([RIGHT], second), geometry)  # type: ignore[arg-type]
    [chosen] = made.detect(PICTURE, WORDS)
    assert len(chosen.quads) == cells


def test_the_grid_that_the_others_agree_with_wins() -> None:
    """A third line of words is a row or the rest of the second: the shares of one grid alone cannot tell."""
    ys = {"three": [0, 20, 40, 60], "two": [0, 20, 60]}
    three, two = (candidate_of(slots([0, 100, 200], ys[name]), "words") for name in ("three", "two"))
    alone, agreed = (scores(each, WORDS) for each in ([[three], [two]], [[three], [three], [two]]))
    assert agreed[0] > alone[0]
    assert agreed[0] - agreed[2] > alone[0] - alone[1]


@pytest.mark.parametrize("y", [5, 15], ids=["empty below", "cut"])
@pytest.mark.parametrize("geometry_is_right", [False, True])
def test_between_equal_scores_cut_words_and_empty_cells_decide(y: int, geometry_is_right: bool) -> None:
    """A label beside two rows is one cell over both, wherever its word stands."""
    apart = slots([0, 100, 200, 300], [0, 20, 40, 60])
    spanned = [[0.0, 0.0, 100.0, 40.0], *(box for box in apart if box[0] > 0 or box[1] >= 40)]
    words = [make_word("North", 10, y), make_word("South", 10, 45)]
    words += [make_word(text, 10 + 100 * col, 5 + 20 * row) for row in range(3) for col, text in ((1, "a"), (2, "5"))]
    right, wrong = candidate_of(spanned, "words"), candidate_of(apart, "words")
    candidates = [[right], [wrong]] if geometry_is_right else [[wrong], [right]]
    one, two = scores(candidates, words)
    assert one == two
    first, second = ([spanned], [apart]) if geometry_is_right else ([apart], [spanned])
    made = CombinedDetector(Network(second, []), Geometry(first))  # type: ignore[arg-type]
    [chosen] = made.detect(PICTURE, words)
    assert len(chosen.quads) == len(spanned)


def test_spans_are_settled_by_words_and_rulings() -> None:
    """Two heads over two columns each, under a rule: the detectors boxed the head over its text only."""
    picture = PICTURE.copy()
    picture[20:22, 100:300] = 0
    words = [make_word("2026", 180, 5)]
    words += [
        make_word(text, 10 + 100 * col, 25 + 20 * row) for row in range(2) for col, text in enumerate(["a", "5", "7"])
    ]
    boxes = slots([0, 100, 200, 300], [0, 20, 40, 60])
    made = CombinedDetector(Network([boxes], [boxes]), Geometry([]))  # type: ignore[arg-type]
    [chosen] = made.detect(picture, words)
    table = chosen.to_table()
    assert [(cell.row, cell.col, cell.colspan) for cell in table.cells if cell.colspan > 1] == [(0, 1, 2)]
    assert len(chosen.scores) == len(chosen.quads) == 8


def test_the_network_does_not_run_where_ruled_cells_leave_no_doubt() -> None:
    geometry = Geometry([RIGHT], "rulings", 0.99)
    geometry.layout = "table"
    made = CombinedDetector(None, geometry)  # type: ignore[arg-type]
    assert len(made.detect(PICTURE, WORDS)[0].quads) == 6


@pytest.mark.parametrize("score", [0.9, 0.99], ids=["not wholly ruled", "wholly ruled"])
def test_rows_that_no_detector_saw_are_parted(score: float) -> None:
    """Two numbers above each other are two rows, unless all borders are ruled; the others are rivals still."""
    joined = slots([0, 100, 200], [0, 20, 60])
    geometry = Geometry([joined], "rulings", score)
    made = CombinedDetector(Network([joined], [joined]), geometry)  # type: ignore[arg-type]
    [chosen] = made.detect(PICTURE, WORDS)
    assert len(chosen.quads) == (6 if score < 0.95 else 4)
    assert [len(rival.quads) for rival in chosen.rivals] == [4, 4]


@pytest.mark.parametrize("layout", ["page", "table"])
@pytest.mark.parametrize(
    ("boxes", "score", "is_table"),
    [(RIGHT, 0.9, True), (RIGHT, 0.5, False), (slots([0, 100, 200], [0, 20]), 0.9, False)],
    ids=["table", "chart", "line of words"],
)
def test_on_a_page_unsure_cells_and_a_line_of_words_are_no_table(
    layout: str, boxes: list[list[float]], score: float, is_table: bool
) -> None:
    network, geometry = Network([boxes], [boxes]), Geometry([])
    network.found, geometry.layout = [[detection(boxes, score)]] * 2, layout
    made = CombinedDetector(network, geometry)  # type: ignore[arg-type]
    assert bool(made.detect(PICTURE, WORDS)) == (is_table or layout == "table")


def test_ruled_cells_are_not_parted_into_empty_ones() -> None:
    """A label of two lines beside three rows, one cell by its rulings, was three."""
    words = [make_word("Total", 10, 5), make_word("sales", 10, 25), *WORDS[1::2]]
    spanned = [[0.0, 0.0, 100.0, 60.0], *(box for box in RIGHT if box[0] > 0)]
    made = CombinedDetector(Network([RIGHT], [RIGHT]), Geometry([spanned], "rulings", 0.99))  # type: ignore[arg-type]
    [chosen] = made.detect(PICTURE, words)
    assert len(chosen.quads) == 4


def test_a_ruled_table_is_not_lost_where_both_passes_see_one_row() -> None:
    one_row = slots([0, 100, 200], [0, 60])
    made = CombinedDetector(Network([one_row], [one_row]), Geometry([RIGHT], "rulings", 0.99))  # type: ignore[arg-type]
    [chosen] = made.detect(PICTURE, WORDS[:2])
    assert (len(chosen.quads), chosen.detector) == (6, "rulings")


@pytest.mark.parametrize(("detector", "wins"), [("rulings", True), ("words", False)])
def test_of_two_grids_that_explain_the_words_alike_the_ruled_one_is_taken(detector: str, wins: bool) -> None:
    """A head of two lines in a ruled cell was parted, since a row of one line explains a trifle more."""
    words = [make_word("Year", 10, 5), make_word("sold", 10, 13), make_word("n", 110, 5), make_word("kg", 110, 13)]
    words += [make_word("7", x, 25 + 20 * row) for row in range(20) for x in (10, 110)]
    ys = [0.0, *(20.0 * k for k in range(1, 22))]
    ruled, parted = slots([0, 100, 200], ys), slots([0, 100, 200], [0, 12, *ys[1:]])
    first, second = candidate_of(ruled, detector, 0.9), candidate_of(parted)
    scene = make_scene(words)
    number, _ = best_tables([[first.in_scene(scene)], [second.in_scene(scene)]], scene)
    explained = [each for [each] in explain_tables([[first.in_scene(scene)], [second.in_scene(scene)]], scene)]
    assert abs(explained[0].explanation.score - explained[1].explanation.score) < 0.01  # type: ignore[union-attr]
    assert (number == 0) == wins
