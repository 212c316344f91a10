from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from postprocess.arrays import Image
from postprocess.cell import Cell, Direction
from postprocess.geometry.boxes import boxes_to_quads, quads_to_boxes
from postprocess.table import Table
from postprocess.word import Unplaced, Word
from tablerec.config import Settings
from tablerec.detect import Detection
from tablerec.errors import InputError, ModelNotFoundError
from tablerec.evaluate.runner import Case, Storage, detected_boxes, evaluate, largest_table
from tablerec.evaluate.truth import Truth, read_truth
from tablerec.inputs.turning import turn_image, turn_points
from tablerec.pipeline import Recognizer
from tablerec.result import Dropped, Page, PageImage, Result

QUAD = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))
WORDS = (Word("00", QUAD, 0.5, ((0.0, 0.5), (0.5, 1.0))), Word("lost", QUAD))
GRID = [Cell(r, c, text=f"{r}{c}") for r in range(2) for c in range(2)]


class FakeRecognizer:
    """Finds the true table, or fails, and remembers what it was given."""

    def __init__(self, truths: list[Truth], error: Exception | None = None) -> None:
        self.truths = {truth.id: truth for truth in truths}
        self.error = error
        self.seen: list[Path] = []
        self.given: list[Sequence[Word] | None] = []

    def recognize(self, source: Path, words: Sequence[Word] | None = None) -> Result:
        self.seen.append(source)
        self.given.append(words)
        name = str(source)
        if self.error and name.endswith("b.png"):
            raise self.error
        picture = PageImage(name, 1, np.zeros((9, 9, 3), np.uint8))
        unplaced = (Unplaced(Word("los", QUAD), "outside"),)
        table = self.truths[Path(name).stem].table
        assert isinstance(table, Table)
        return Result(name, (Page(picture, (table,), WORDS, unplaced, (), "fake", {"detect": 0.5}),))


@pytest.fixture
def truths(write_truth: Callable[..., Path]) -> list[Truth]:
    return [read_truth(write_truth(name, GRID)) for name in "abc"]


def ids(cases: list[Case]) -> list[str]:
    return [case.truth.id for case in cases]


def test_no_truths_give_no_cases() -> None:
    assert list(evaluate([], FakeRecognizer([]))) == []


def test_each_picture_is_scored_in_order(truths: list[Truth]) -> None:
    cases = list(evaluate(truths, FakeRecognizer(truths), jobs=1))
    assert ids(cases) == ["a", "b", "c"]
    for case in cases:
        assert case.scores.exact == case.scores.teds == case.scores.detection_f1_80 == 1
        assert case.prediction.characters_kept == pytest.approx(5 / 6)
        assert (case.prediction.detector, case.prediction.n_unplaced) == ("fake", 1)
        assert case.prediction.seconds == {"detect": 0.5}


def test_other_processes_give_the_same_scores(truths: list[Truth]) -> None:
    recognizer = FakeRecognizer(truths)
    here, there = (list(evaluate(truths, recognizer, jobs=jobs)) for jobs in (1, 2))
    assert [case.scores for case in there] == [case.scores for case in here]
    assert ids(there) == ids(here)


def test_a_failing_picture_scores_0_and_does_not_end_the_run(truths: list[Truth]) -> None:
    cases = list(evaluate(truths, FakeRecognizer(truths, RuntimeError("boom")), jobs=1))
    assert [case.prediction.error for case in cases] == ["", "RuntimeError: boom", ""]
    assert [case.scores.exact for case in cases] == [1, 0, 1]
    assert cases[1].scores.missing == 1


def test_what_no_picture_can_do_without_ends_the_run(truths: list[Truth]) -> None:
    with pytest.raises(ModelNotFoundError, match="no model"):
        list(evaluate(truths, FakeRecognizer(truths, ModelNotFoundError("no model")), jobs=1))


def test_words_are_kept_and_used_in_place_of_the_reader(truths: list[Truth], tmp_path: Path) -> None:
    storage = Storage(words=tmp_path / "words")
    first, second = FakeRecognizer(truths), FakeRecognizer(truths)
    cases = list(evaluate(truths, first, storage, jobs=1))
    assert first.given == [None] * 3
    assert not any(case.prediction.words_were_kept for case in cases)
    cases = list(evaluate(truths, second, storage, jobs=1))
    assert all(case.prediction.words_were_kept for case in cases)
    assert second.seen == [truth.image for truth in truths]
    assert second.given == [WORDS] * 3


def test_resume_reuses_what_the_same_settings_made(truths: list[Truth], tmp_path: Path) -> None:
    storage = Storage(tmp_path / "predictions", resume=True, made_with={"detector": "fake"})
    first = list(evaluate(truths, FakeRecognizer(truths, RuntimeError("boom")), storage, jobs=1))
    again = FakeRecognizer(truths)
    second = list(evaluate(truths, again, storage, jobs=1))
    assert again.seen == [truths[1].image]  # the one that failed
    assert second[0].prediction == first[0].prediction
    assert second[1].scores.exact == 1
    other = FakeRecognizer(truths)
    list(evaluate(truths, other, replace(storage, made_with={"detector": "rulings"}), jobs=1))
    assert len(other.seen) == 3


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_early_end_keeps_what_was_recognized(truths: list[Truth], tmp_path: Path, jobs: int) -> None:
    class Stopped(FakeRecognizer):
        def recognize(self, source: Path, words: Sequence[Word] | None = None) -> Result:
            if len(self.seen) == 2:
                raise KeyboardInterrupt
            return super().recognize(source, words)

    storage = Storage(tmp_path / "predictions", resume=True)
    with pytest.raises(KeyboardInterrupt):
        list(evaluate(truths, Stopped(truths), storage, jobs=jobs))
    rest = FakeRecognizer(truths)
    assert ids(list(evaluate(truths, rest, storage, jobs=1))) == ["a", "b", "c"]
    assert rest.seen == [truths[2].image]


def test_the_largest_of_several_tables_counts() -> None:
    small = Table([Cell(0, 0), Cell(0, 1)], QUAD)
    large = Table([Cell(0, 0)], ((0.0, 0.0), (90.0, 0.0), (90.0, 9.0), (0.0, 9.0)))
    assert largest_table([]) is None
    assert largest_table([small, large]) is large
    assert largest_table([Table([Cell(0, 0)]), Table(GRID)]) == Table(GRID)


def test_a_page_without_anything_has_no_detected_cells() -> None:
    assert detected_boxes(Page(PageImage("a", 1, np.zeros((9, 9, 3), np.uint8)))) == ()


def test_detected_cells_are_those_with_a_score_and_the_dropped_ones() -> None:
    box = ((1.0, 0.0), (9.0, 1.0), (8.0, 6.0), (0.0, 5.0))
    cells = [Cell(0, 0, quad=QUAD, detector_score=0.5), Cell(0, 1, quad=box)]
    picture = PageImage("a", 1, np.zeros((9, 9, 3), np.uint8))
    page = Page(picture, (Table(cells),), dropped=(Dropped(box, 0.25, "outside"),))
    assert detected_boxes(page) == ((0.0, 0.0, 9.0, 9.0, 0.5), (0.0, 0.0, 9.0, 6.0, 0.25))


@pytest.mark.parametrize("turn", [0, 90])
def test_detected_cells_of_a_turned_picture_lie_where_they_are_in_it(turn: int) -> None:
    boxes = [[10.0 + 30 * col, 10.0 + 20 * row, 40.0 + 30 * col, 30.0 + 20 * row] for row in (0, 1) for col in (0, 1)]

    class Four:
        name = "four"

        def detect(self, image: Image, words: Sequence[Word]) -> list[Detection]:
            return [Detection(boxes_to_quads(boxes), np.array([0.9, 0.8, 0.7, 0.6]), self.name)]

    image = np.full((60, 80, 3), 255, np.uint8)
    settings = Settings(trace=True, ocr="none", layout="table", turn=turn)  # type: ignore[arg-type]
    [page] = Recognizer(settings, detector=Four()).recognize(turn_image(image, -turn)).pages
    found = np.array(detected_boxes(page))
    expected = quads_to_boxes(turn_points(boxes_to_quads(boxes), -turn, (80, 60)))
    assert np.allclose(found[:, :4], expected)
    assert found[:, 4].tolist() == [0.9, 0.8, 0.7, 0.6]


@pytest.mark.parametrize(("direction", "exact", "teds"), [(None, 1, 1), ("rtl", 1, 1), ("ltr", 0, 0)])
def test_a_table_from_right_to_left_is_compared_in_the_order_of_the_truth(
    write_truth: Callable[..., Path], direction: Direction | None, exact: float, teds: float
) -> None:
    """A truth without a direction has its columns from left to right, as the picture shows them."""
    cells = [Cell(0, 0, colspan=2, text="ab"), Cell(0, 2, text="c"), *(Cell(1, col, text=str(col)) for col in range(3))]
    truth = replace(read_truth(write_truth("a", cells)), direction=direction)
    assert isinstance(truth.table, Table)
    found = truth.table.mirrored() if direction is None else replace(truth.table, direction="rtl")
    if direction == "ltr":
        found = found.mirrored()
    [case] = evaluate([truth], FakeRecognizer([replace(truth, table=found)]), jobs=1)
    assert case.scores.exact == exact and (case.scores.teds == 1) == (teds == 1)


def test_the_direction_of_a_truth_is_read(write_truth: Callable[..., Path]) -> None:
    path = write_truth("a", GRID)
    assert read_truth(path).direction is None
    data = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**data, "direction": "rtl"}), encoding="utf-8")
    truth = read_truth(path)
    assert truth.direction == "rtl" and isinstance(truth.table, Table) and truth.table.direction == "rtl"
    path.write_text(json.dumps({**data, "direction": "up"}), encoding="utf-8")
    with pytest.raises(InputError, match="direction"):
        read_truth(path)
